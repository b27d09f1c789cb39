"""The documents are true: their examples run, the files they name exist, and their words are those of the field."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from documents import DOCUMENTS, PACKAGE, ROOT, Block, blocks_of, prose_of, run_python, run_shell

ARCHITECTURE = ROOT / "docs" / "architecture.md"

# The blocks of this page are additions to the library; test_extending.py runs them.
WITH_ADDITIONS = ROOT / "docs" / "extending.md"

# Documents whose examples fit ensembles.
TAKES_LONG = {ROOT / "README.md", ROOT / "docs" / "ensembles.md"}

LANGUAGES = {"python", "sh", "text"}

# Words of everyday language, and the word of the field to write instead.
PLAIN_WORDS = {
    r"gaps?": "missing values",
    r"(?:parts?|fragments?) of (?:a |the )?rows?": "fractional instances",
    r"fill(?:s|ed|ing)? (?:in |it |them |with )": "impute",
    r"answer(?:s|ed|ing)?": "prediction, target",
    r"(?:held|hold|holds|holding) (?:\w+ )?back": "validation set",
    r"judg(?:e|es|ed|ing|ement)": "validate, rate",
    r"stand-ins?": "surrogates",
    r"disorder": "impurity",
    r"tall(?:y|ies|ied|ying)": "histogram",
    r"to part|parts? (?:the |all |these )?(?:rows|words)|parting": "partition",
    r"tells?|told|telling": "shows, is treated as",
    r"rooms?": "package",
    r"(?:takes?|taken|taking|took) (?:\w+ ){0,2}off": "reduce, subtract",
    r"st(?:ands?|ood|anding)": "is, represents",
    r"groves?": "workspace",
    r"read as": "is treated as, has the kind",
}

# Where such a word has its ordinary meaning.
ALLOWED = {
    "docs/ensembles.md": ["more rooms"],  # a column of houses
    "docs/missing_values.md": ['"a gap"'],  # printed by the examples
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks_in(path: Path, language: str) -> list[Block]:
    return [block for block in blocks_of(path.read_text(encoding="utf-8")) if block.language == language]


def documents_with(language: str) -> list[Any]:
    """The documents with blocks in a language; those whose blocks take more than a few seconds are marked."""
    found = [path for path in DOCUMENTS if path != WITH_ADDITIONS and blocks_in(path, language)]
    return [pytest.param(path, marks=pytest.mark.slow) if path in TAKES_LONG else path for path in found]


def unknown_languages(text: str) -> list[str]:
    return [f"line {block.line}: {block.language!r}" for block in blocks_of(text) if block.language not in LANGUAGES]


def everyday_words(text: str, allowed: list[str]) -> list[str]:
    """Each word of everyday language with its line and the word to write instead."""
    for words in allowed:
        text = text.replace(words, "")
    return [
        f"line {number}: {found[0]!r}; write: {instead}"
        for number, line in enumerate(prose_of(text).split("\n"), 1)
        for pattern, instead in PLAIN_WORDS.items()
        for found in re.finditer(rf"(?i)\b(?:{pattern})\b", line)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", documents_with("python"), ids=name_of)
def test_the_python_of_a_document_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(blocks_in(path, "python"), name_of(path))


@pytest.mark.parametrize("path", documents_with("sh"), ids=name_of)
def test_the_commands_of_a_document_run(path: Path, tmp_path: Path) -> None:
    run_shell(blocks_in(path, "sh"), tmp_path)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_block_is_in_a_language_that_is_tested_or_marked_as_text(path: Path) -> None:
    assert unknown_languages(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("language", ["", "bash", "console", "py", "json"])
def test_a_block_in_another_language_is_noticed(language: str) -> None:
    assert unknown_languages(f"# Page\n\n```{language}\nx\n```\n") == [f"line 4: {language!r}"]


def test_an_example_that_fails_is_noticed() -> None:
    with pytest.raises(AssertionError):
        run_python([Block("python", ">>> 1 + 1\n3\n\n", 1)], "page")
    with pytest.raises(ZeroDivisionError):
        run_python([Block("python", "1 / 0\n", 1)], "page")


def test_a_command_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="No rule to make target"):
        run_shell([Block("sh", "make no-such-target\ntrue\n", 1)], tmp_path)


def test_the_first_command_of_the_readme_is_the_demonstration() -> None:
    assert blocks_in(ROOT / "README.md", "sh")[0].code.split("\n")[0] == "make demo"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_make_target_that_a_document_names_exists(path: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"\bmake ((?:bench|test|lint|demo|clean|help)[\w-]*)", path.read_text("utf-8"))) <= targets


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_link_within_the_project_leads_somewhere(path: Path) -> None:
    for file, _, heading in re.findall(r"\]\((?!https?:)([^)#]*)(#([^)]*))?\)", path.read_text(encoding="utf-8")):
        linked = path.parent / file if file else path
        assert linked.exists(), file
        if not heading:  # a picture has none
            continue
        headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert heading in [re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings]


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.name != "CHANGELOG.md"], ids=name_of)
def test_every_source_file_that_a_document_names_exists(path: Path) -> None:
    named = set(re.findall(r"`([\w./]+/\w+\.py)`", path.read_text(encoding="utf-8")))
    created = set(re.findall(r"^Create `([^`]+)`:", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    lost = [name for name in named - created if not any((place / name).exists() for place in (PACKAGE, ROOT))]
    assert lost == []


def test_the_architecture_describes_every_module_once_and_no_other() -> None:
    described = re.findall(r"^\| `([\w/]+\.py)` \|", ARCHITECTURE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    modules = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    # A package file holds names only, unless there is nothing else in the package.
    files = {name for name in modules if not name.endswith("/__init__.py") or name in described}
    assert sorted(described) == sorted(files)


def test_the_architecture_names_only_what_the_files_hold() -> None:
    rows = re.findall(r"^\| `([\w/]+\.py)` \| (.*) \|$", ARCHITECTURE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lost = [
        f"{path}: {name}"
        for path, held in rows
        for name in re.findall(r"`(\w+)`", held)
        if not re.search(rf"\b{name}\b", (PACKAGE / path).read_text(encoding="utf-8"))
    ]
    assert lost == []


def test_the_architecture_names_the_files_that_import_numba() -> None:
    rule = ARCHITECTURE.read_text(encoding="utf-8").split("\n## The import rule\n")[1].split("\n## ")[0]
    named = re.findall(r"`((?:runtime|encoding|engines|tree)/[\w/]+\.py)`", rule)
    imports = re.compile(r"^\s*(?:from|import) (?:numba|llvmlite)\b", flags=re.MULTILINE)
    importing = [path for path in PACKAGE.rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))]
    assert sorted(named) == sorted(path.relative_to(PACKAGE).as_posix() for path in importing)


def test_the_architecture_describes_every_package() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    packages = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py")} - {"."}
    assert [name for name in packages if not re.search(rf"(?<!\w)`?{name}[`/*\n]", text)] == []


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.name != "CHANGELOG.md"], ids=name_of)
def test_a_document_uses_the_words_of_the_field(path: Path) -> None:
    assert everyday_words(path.read_text(encoding="utf-8"), ALLOWED.get(name_of(path), [])) == []


def test_a_word_of_everyday_language_is_noticed_in_prose_only() -> None:
    text = "A table with gaps.\n`fill_gaps` is code.\n\n```text\ngaps\n```\n"
    assert everyday_words(text, []) == ["line 1: 'gaps'; write: missing values"]


def test_every_figure_of_the_readme_is_in_the_page_on_performance() -> None:
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/performance.md"))
    rows = [line for line in readme.split("\n") if re.search(r"`make bench-[\w-]+` \|$", line)]
    assert len(rows) >= 6
    for row in rows:
        cells = [cell.strip(" *") for cell in row.split("|")[2:5]]
        for figure in (cell.split(" ")[0] for cell in cells if cell != "-"):
            assert re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.]*\d)", page), (figure, row)
