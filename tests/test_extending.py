"""The additions that docs/extending.md describes, applied to a copy of the library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

import pytest

from documents import PACKAGE, ROOT, Block, blocks_of, run_shell

PAGE = ROOT / "docs" / "extending.md"

# Additions are blocks after a paragraph like the first two, or a sentence like the last two.
CREATE = re.compile(r"Create `(?P<path>[^`]+)`:")
ADD = re.compile(r"Add to `(?P<path>[^`]+)`, (?P<where>before|after) the line `(?P<anchor>[^`]+)`:")
ADD_LINE = re.compile(
    r"^Add to `(?P<path>[^`]+)`, (?P<where>before|after) the line `(?P<anchor>[^`]+)`, the line `(?P<code>[^`]+)`\.$",
    flags=re.MULTILINE,
)
REPLACE = re.compile(
    r"^In `(?P<path>[^`]+)`, replace `(?P<anchor>[^`]+)` with `(?P<code>[^`]+)`\.$", flags=re.MULTILINE
)


@dataclass(frozen=True)
class Addition:
    """Code that the page adds to a file: before, after or in place of a line, or as the whole file."""

    path: str
    where: str
    code: str
    anchor: str = ""

    def apply(self, package: Path) -> None:
        file = package / self.path
        if self.where == "create":
            assert not file.exists()
            file.write_text(self.code, encoding="utf-8")
            return
        lines = file.read_text(encoding="utf-8").split("\n")
        at = next((number for number, line in enumerate(lines) if line.strip() == self.anchor), None)
        assert at is not None, f"{self.path} has no line {self.anchor!r}"
        margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        new = indent(self.code.rstrip("\n"), margin).split("\n")
        if not margin and len(new) > 1:
            new += ["", ""]  # a function or class
        first, last = {"before": (at, at), "after": (at + 1, at + 1), "replace": (at, at + 1)}[self.where]
        lines[first:last] = new
        file.write_text("\n".join(lines), encoding="utf-8")


def read_page() -> tuple[list[Addition], list[Block]]:
    """The additions, and all other blocks."""
    text = PAGE.read_text(encoding="utf-8")
    lines = text.split("\n")
    additions = [Addition(**found.groupdict()) for found in ADD_LINE.finditer(text)]
    others = []
    for block in blocks_of(text):
        before = lines[block.line - 4]  # a blank line and the fence are between
        if found := CREATE.fullmatch(before):
            additions.append(Addition(found["path"], "create", block.code))
        elif found := ADD.fullmatch(before):
            additions.append(Addition(**found.groupdict(), code=block.code))
        else:
            others.append(block)
    additions += [Addition(**found.groupdict(), where="replace") for found in REPLACE.finditer(text)]
    return additions, others


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a copy of the library with all additions."""
    directory = tmp_path_factory.mktemp("extended")
    package = directory / "treewright"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    additions = read_page()[0]
    assert len(additions) == len(
        re.findall("^(?:Add to|Create|In) `[^`]+`, |^Create", PAGE.read_text("utf-8"), flags=re.M)
    )
    for addition in additions:
        addition.apply(package)
    return directory


@pytest.mark.slow
def test_the_examples_of_the_page_run_with_its_additions(extended: Path, tmp_path: Path) -> None:
    examples = [block for block in read_page()[1] if block.language == "python"]
    assert len(examples) == 5
    (tmp_path / "page.txt").write_text("\n".join(block.code for block in examples), encoding="utf-8")
    script = (
        "import doctest, sys, treewright\n"
        "assert treewright.__file__.startswith(sys.argv[1]), treewright.__file__\n"
        "result = doctest.testfile('page.txt', module_relative=False)\n"
        "sys.exit(1 if result.failed or not result.attempted else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(extended)],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(extended), "TREEWRIGHT_FORM": "plain"},
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_new_command_runs_and_reads_the_new_format(extended: Path, tmp_path: Path) -> None:
    (tmp_path / "fruit.psv").write_text("colour|weight\ngreen|120\nred|?\n", encoding="utf-8")
    commands = [block for block in read_page()[1] if block.language == "sh"]
    printed = run_shell(commands, tmp_path, extended, TREEWRIGHT_FORM="plain")
    assert re.search(r"variety +categories +30", printed)
    assert re.search(r"weight +number +1", printed)


@pytest.mark.slow
def test_the_new_algorithm_has_a_name_on_the_command_line(extended: Path, tmp_path: Path) -> None:
    block = Block("sh", "treewright fit weather --model significance\n", 1)
    assert "SignificanceTreeClassifier" in run_shell([block], tmp_path, extended, TREEWRIGHT_FORM="plain")


def test_every_function_that_the_page_names_is_in_the_file_that_it_names() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"((?:`\w+`(?:, | and )?)+) (?:in|of) `([\w/]+\.py)`", text)
    assert named
    for names, path in named:
        source = (PACKAGE / path).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"\b{name}\b", source), f"{path} has no {name}"
