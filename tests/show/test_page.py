"""The interactive page, driven in Chromium: collapse, search, path, pruning, keys, and no request to any network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treewright
from treewright.show.picture.rows import read_table

pytestmark = pytest.mark.slow


def find_chromium() -> str:
    """The path of Chromium; outside of CI its absence skips the tests, in CI it is installed or the tests fail."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and os.environ.get("CI") and hasattr(os, "geteuid") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update"], check=False, capture_output=True)
        subprocess.run(["apt-get", "install", "-y", "chromium"], check=True, capture_output=True)
        found = shutil.which("chromium")
    if found is None and os.environ.get("CI"):
        pytest.fail("the tests of pages need Chromium in CI; install the package 'chromium'")
    if found is None:
        pytest.skip("Chromium is not installed; install the package 'chromium' to run the tests of pages")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not os.environ.get("CI"):
        pytest.importorskip("playwright", reason="playwright is not installed")
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


class Visit:
    """A page that is open, with what went wrong in it."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.requests: list[str] = []
        self.problems: list[str] = []
        self.page = browser.new_page(viewport={"width": 1200, "height": 800})
        self.page.set_default_timeout(5000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(path.as_uri())
        self.address = path.as_uri()

    def nodes(self) -> int:
        return int(self.page.locator("[role=treeitem]").count())

    def status(self) -> str:
        return str(self.page.locator("#status").inner_text())

    def close(self) -> None:
        """Nothing but the file was loaded, and nothing went wrong."""
        assert self.requests == [self.address]
        assert self.problems == []
        self.page.close()


@pytest.fixture
def orchard(browser: Any, tmp_path: Path) -> Iterator[tuple[Visit, Any, Any]]:
    data = treewright.datasets.load_orchard()
    model = treewright.CARTClassifier(ccp_alpha=0.0).fit(data.X, data.y)
    visit = Visit(browser, model.plot(X=data.X, y=data.y).save(tmp_path / "tree.html"))
    yield visit, model, data
    visit.close()


def test_branches_collapse_and_expand_by_mouse_and_keys(orchard: Any) -> None:
    visit, model, _ = orchard
    page = visit.page
    page.click("#expand")
    assert visit.nodes() == model.tree_.n_nodes
    page.click("#n0")
    assert visit.nodes() == 1
    page.click("#collapse")
    page.focus("#n0")
    assert page.get_attribute("#n0", "aria-expanded") == "false"
    page.keyboard.press("ArrowRight")
    assert visit.nodes() == 1 + model.tree_.n_children[0]
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == f"n{model.tree_.first_child[0]}"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert visit.nodes() == 1 + model.tree_.n_children[0]


def test_search_finds_every_node_of_a_column(orchard: Any) -> None:
    visit, model, _ = orchard
    names = [model.tree_.columns[place].name for place in model.tree_.column if place >= 0]
    name = max(set(names), key=lambda one: (len(one), one))
    visit.page.click("#collapse")
    visit.page.fill("#search", name)
    assert int(visit.status().split()[0]) >= names.count(name)
    visit.page.press("#search", "Enter")
    assert visit.page.locator("#tree .found").count() >= 1
    assert visit.status().startswith("1 of ")


def test_pruning_shows_the_training_error_of_the_pruned_tree(orchard: Any) -> None:
    visit, model, data = orchard
    tree = model.tree_
    wrong = int((model.predict(data.X) != np.asarray(data.y)).sum())
    assert f"Training error: {wrong} of {len(data.y)} rows" in visit.status()
    child = int(tree.first_child[0] + np.argmax(tree.n_children[tree.first_child[0] :][: tree.n_children[0]] > 0))
    visit.page.click("#scissors")
    visit.page.click(f"#n{child}")
    # The rows that reach the node are then predicted as its majority class.
    reached = model.decision_path(data.X).toarray()[:, child] > 0
    predicted = np.where(reached, tree.node(child).prediction, model.predict(data.X))
    wrong = int((predicted != np.asarray(data.y)).sum())
    assert f"Training error: {wrong} of {len(data.y)} rows" in visit.status()
    visit.page.click("#restore")
    assert f"{tree.n_leaves} leaves" in visit.status()
    visit.page.focus(f"#n{child}")
    visit.page.keyboard.press("p")
    assert f"Training error: {wrong} of" in visit.status()


def test_a_row_entered_in_the_form_is_followed_to_its_leaf(orchard: Any) -> None:
    visit, model, data = orchard
    page = visit.page
    used = sorted({int(place) for place in model.tree_.column if place >= 0})
    row = {column.name: data.frame[column.name][5] for column in model.tree_.columns}
    for place, column in enumerate(used):
        value = row[model.tree_.columns[column].name]
        field = page.locator(f"#f{place}")
        if field.evaluate("f => f.tagName") == "SELECT":
            field.select_option(str(value))
        else:
            field.fill(str(value))
    predicted = model.predict(data.X)[5]
    assert page.inner_text("#outcome") == f"Prediction: {predicted}"
    leaf = int(model.apply(data.X)[5])
    assert "way" in page.get_attribute(f"#n{leaf}", "class")
    page.click("#forget")
    assert page.locator("#tree .way").count() == 0


def test_every_part_has_an_accessible_name(orchard: Any) -> None:
    visit, _, _ = orchard
    unnamed = visit.page.evaluate(
        "[...document.querySelectorAll('button,input,select,[role=treeitem],[role=tree]')]"
        ".filter(e => !(e.getAttribute('aria-label') || e.innerText || (e.labels && e.labels.length))).length"
    )
    assert unnamed == 0
    assert visit.page.locator("[role=treeitem][tabindex='0']").count() == 1
    visit.page.hover("#n0")
    assert "Prediction" in visit.page.inner_text("#node")


def with_missing(seed: int) -> tuple[Any, np.ndarray]:
    """A table of text and numbers, with missing values, and a target with a rule."""
    rng = np.random.default_rng(seed)
    n = 400
    colour = rng.choice(np.array(["red", "green", "blue", None], dtype=object), n)
    size, age = rng.normal(size=n).round(2), rng.normal(size=n).round(2)
    y = np.where((size > 0) ^ (colour == "red"), "yes", np.where(age > 1, "maybe", "no"))
    size[rng.random(n) < 0.15] = np.nan
    return {"colour": colour, "size": size, "age": age}, y


LEARNERS = {
    **{
        missing: treewright.DecisionTreeClassifier(missing=missing, min_samples_leaf=3)
        for missing in ("learned", "fractional", "majority", "class_majority", "surrogate", "branch", "all_branches")
    },
    "c45": treewright.C45Classifier(),
    "oner": treewright.OneRClassifier(),
    "oblivious": treewright.ObliviousTreeClassifier(),
    "stop": treewright.ID3Classifier(unseen="stop", missing="fractional"),
    "heaviest": treewright.DecisionTreeClassifier(unseen="majority"),
    "costs": treewright.C45Classifier(misclassification_costs={("maybe", "no"): 5.0}),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_the_page_predicts_rows_as_the_model_does(browser: Any, tmp_path: Path, name: str) -> None:
    X, y = with_missing(3)
    model = LEARNERS[name]
    if name == "stop":  # ID3 has a branch per category
        X = {"colour": X["colour"], "large": np.where(np.nan_to_num(X["size"]) > 0, "yes", "no").astype(object)}
    model.fit(X, y)
    visit = Visit(browser, model.plot().save(tmp_path / "tree.html"))
    unseen = {"colour": ["pink", None, "red"], "size": [0.3, None, -0.2], "age": [None, 2.0, None]}
    unseen["large"] = ["yes", "no", None]
    for table in ({column: values[:60] for column, values in X.items()}, {column: unseen[column] for column in X}):
        found = visit.page.evaluate(FOLLOW, rows_of(model, table))
        assert found == model.predict(table).tolist()
    visit.close()


FOLLOW = "rows => rows.map(row => window.treewright.follow(row).prediction)"


def rows_of(model: Any, table: Any) -> list[list[float | None]]:
    """Rows as the page reads them from its form: the columns that the tree tests, categories as indices."""
    tree = model.tree_
    used = {int(place) for place in tree.column if place >= 0}
    if tree.surrogates is not None:
        used |= {int(place) for place in tree.surrogates.column.ravel() if place >= 0}
    values = read_table(tree, model, table)[:, sorted(used)]
    return [[None if np.isnan(value) else float(value) for value in line] for line in values]


@pytest.mark.parametrize("missing", ["learned", "fractional", "surrogate"])
def test_the_page_predicts_numbers_as_the_model_does(browser: Any, tmp_path: Path, missing: str) -> None:
    X, _ = with_missing(5)
    y = np.nan_to_num(X["size"]) * 3 + (X["colour"] == "red")
    model = treewright.DecisionTreeRegressor(missing=missing, max_depth=4).fit(X, y)
    visit = Visit(browser, model.plot().save(tmp_path / "tree.html"))
    table = {column: values[:60] for column, values in X.items()}
    found = visit.page.evaluate(FOLLOW, rows_of(model, table))
    assert np.array(found, dtype=float) == pytest.approx(model.predict(table), rel=1e-5)
    visit.close()


def test_missing_values_that_another_tree_imputes_are_explained(browser: Any, tmp_path: Path) -> None:
    X, y = with_missing(3)
    model = treewright.DecisionTreeClassifier(missing="model").fit(X, y)
    visit = Visit(browser, model.plot().save(tmp_path / "tree.html"))
    visit.page.fill("#f2", "0.5")
    assert "are imputed by another tree; enter a value" in visit.page.inner_text("#outcome")
    visit.close()


def test_a_page_of_1000_nodes_is_small_and_one_of_50000_starts_collapsed(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(110_000, 4)), rng.integers(0, 3, 110_000)
    small = treewright.DecisionTreeClassifier(max_leaf_nodes=500).fit(X, y)
    assert small.tree_.n_nodes == 999
    assert len(small.plot(X=X, y=y).html.encode()) < 150_000
    large = treewright.DecisionTreeClassifier(max_leaf_nodes=25_001).fit(X, y)
    assert large.tree_.n_nodes > 50_000
    visit = Visit(browser, large.plot().save(tmp_path / "tree.html"))
    assert 1 < visit.nodes() <= 60
    visit.page.click("#expand")
    assert visit.nodes() <= 2000
    assert "open others by hand" in visit.status()
    visit.close()
