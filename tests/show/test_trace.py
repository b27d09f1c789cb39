"""The worked trace for people: text, HTML, Markdown, LaTeX, exercises, notations."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from treewright import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ObliviousTreeClassifier,
    datasets,
    trace,
)
from treewright.show.trace import Trace


@pytest.fixture(scope="module")
def weather() -> Trace:
    table = datasets.load_weather()
    return trace(ID3Classifier().fit(table.X, table.y), table.X, table.y)


def of_iris(model: Any, **options: Any) -> Trace:
    table = datasets.load_iris()
    return trace(model.fit(table.X, table.y), table.X, table.y, **options)


def test_the_text_has_the_figures_that_the_lecture_prints(weather: Trace, lectures: dict[str, Any]) -> None:
    text = str(weather)
    printed = lectures["weather"]["printed"]
    assert f"{printed['entropy']:.4f}" in text
    for column, gain in printed["information_gain"].items():
        found = re.search(rf"Gain\(S, {column}\) = .*?= (-?[\d.]+)\n(?:  Gain|Split)", text, re.DOTALL)
        assert found is not None
        assert float(found.group(1)) == pytest.approx(gain, abs=5e-4)


def test_a_formula_has_the_numbers_put_in(weather: Trace) -> None:
    text = weather.to_text(width=200)
    assert "Entropy(S) = -Σ p_i log2 p_i = -5/14 log2(5/14) - 9/14 log2(9/14) = 0.9403" in text
    assert "0.9403 - 5/14 · 0.9710 - 4/14 · 0.0000 - 5/14 · 0.9710 = 0.2467" in text


def test_the_notation_of_breiman_writes_delta_i() -> None:
    text = of_iris(CARTClassifier(prune=None, max_depth=1), notation="breiman").to_text(width=200)
    assert "i(t) = 1 - Σ p_i² = 1 - (50/150)² - (50/150)² - (50/150)² = 0.6667" in text
    assert "Δi(petal_length, t) = i(t) - Σ p_k i(t_k)" in text
    assert "Entropy" not in text


def test_c45_shows_split_information_penalty_and_the_lowered_threshold() -> None:
    text = of_iris(C45Classifier()).to_text(width=220)
    assert "Less the penalty for the choice of a threshold, log2(20)/150 = 0.0288." in text
    assert "SplitInfo(S, petal_width) = -Σ |S_v|/|S| log2(|S_v|/|S|) = -50/150 log2(50/150)" in text
    assert "petal_width <= 0.8 is lowered to the largest value not above it: petal_width <= 0.6." in text


def test_an_exercise_has_blanks_and_then_all_figures_of_the_solution() -> None:
    table = datasets.load_weather()
    model = ID3Classifier().fit(table.X, table.y)
    solved = trace(model, table.X, table.y)
    exercise = trace(model, table.X, table.y, exercise=True)
    questions, answers = exercise.to_text().split("Solution sheet")
    assert "0.2467" not in questions
    assert "______" in questions
    assert "______" not in answers
    for line in solved.to_text().splitlines()[4:]:
        assert line in answers


class Page(HTMLParser):
    """The tags, the text and the addresses of a page; every tag must be closed."""

    VOID = ("meta", "br", "line")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_has_a_section_per_step_buttons_and_no_address(weather: Trace, tmp_path: Any) -> None:
    path = tmp_path / "trace.html"
    page = weather.to_html(path)
    assert path.read_text(encoding="utf-8") == page
    found = Page(page)
    assert sum(tag == "section" for tag, _ in found.tags) == len(weather.steps)
    assert sum(tag == "button" for tag, _ in found.tags) == 3
    assert not any("src" in attributes or "href" in attributes for _, attributes in found.tags)
    assert "http" not in page
    assert "0.2467" in found.words


def test_thresholds_are_on_a_number_line_with_the_best_marked() -> None:
    page = of_iris(DecisionTreeClassifier(max_depth=1)).to_html()
    lines = [attributes for tag, attributes in Page(page).tags if tag == "svg"]
    assert any("the best is 2.45" in (attributes["aria-label"] or "") for attributes in lines)
    marked = re.findall(r'<g stroke="#d55e00" stroke-width="4"><path [^>]*><title>(.*?)</title></path></g>', page)
    assert len(marked) == 4
    assert [text.rpartition(":")[0] for text in marked[2:]] == ["petal_length &lt;= 2.45", "petal_width &lt;= 0.8"]


def test_names_cannot_break_any_form() -> None:
    name = "<b>|`_$%&\\{}~^#\n\"'אבג" + "x" * 1000
    X = {name: ["<script>", "|", "|", "<script>"], "n_1": [1, 2, 3, 4]}
    y = ["a&b", "c|d", "c|d", "a&b"]
    worked = trace(ID3Classifier(categorical_features=["n_1"]).fit(X, y), X, y)
    page = worked.to_html()
    assert "<script>|" not in page
    assert page.count("<script>") == 1
    Page(page)
    for line in worked.to_markdown().splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 6
    assert re.search(r"(?<!\\)[%#]", worked.to_latex()) is None
    assert worked.to_text()


def test_markdown_and_latex_have_a_part_per_step(weather: Trace) -> None:
    assert weather.to_markdown().count("\n## Step") == len(weather.steps)
    latex = weather.to_latex()
    assert latex.count(r"\subsection*{Step") == len(weather.steps)
    assert latex.count(r"\begin{") == latex.count(r"\end{")


def test_a_notebook_gets_a_part_of_a_page(weather: Trace) -> None:
    part = weather._repr_html_()
    assert part.startswith("<div")
    assert "<html" not in part


def test_the_data_is_plain_json() -> None:
    for model in (C45Classifier(), ObliviousTreeClassifier(max_depth=2)):
        described = json.loads(json.dumps(of_iris(model).to_dict(), allow_nan=False))
        assert described["steps"][0]["winner"] in ("petal_length", "petal_width")


def test_regression_shows_variances_and_means() -> None:
    X, y = {"x": [1, 2, 3, 4]}, [1.0, 1.0, 3.0, 3.0]
    text = trace(DecisionTreeRegressor().fit(X, y), X, y).to_text(width=200)
    assert "Var(S) = Σ (y - mean)² / n = 4 / 4 = 1.0000" in text
    assert "<= 2.5 [2 rows, mean 1.0000]; > 2.5 [2 rows, mean 3.0000]" in text


@pytest.mark.slow
def test_a_criterion_without_a_formula_shows_its_impurity_alone() -> None:
    def purity(counts: Any) -> float:
        return float(1.0 - counts.max() / counts.sum())

    worked = of_iris(DecisionTreeClassifier(criterion=purity, max_depth=1))
    assert "Impurity by own: 0.6667." in str(worked)
    assert "log2" not in str(worked)
    assert worked.notes[0].startswith("The candidates of the criterion 'purity' are not compared again")


def test_one_leaf_is_a_trace_of_one_step() -> None:
    X, y = {"x": [1, 2]}, ["a", "a"]
    worked = trace(DecisionTreeClassifier().fit(X, y), X, y)
    assert len(worked) == 1
    assert "all rows have the same class" in str(worked)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"notation": "mitchell"}, "notation is 'mitchell'; give 'quinlan' or 'breiman'"),
        ({"max_depth": -1}, "max_depth is -1; give a whole number of 0 or more"),
        ({"n_rounds": None}, "n_rounds is None"),
        ({"row": 150}, "row is 150, and the table has the rows 0 to 149"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        of_iris(DecisionTreeClassifier(max_depth=1), **options)
