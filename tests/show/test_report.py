"""The HTML report of a model: what it contains, what it must not contain, and its size."""

from __future__ import annotations

import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sample_tables import mixed_table
from treewright import (
    BaggingRegressor,
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    VotingClassifier,
    cross_validate_score,
    datasets,
    report,
)
from treewright.show.report_effects import representative


class Page(HTMLParser):
    """The tags and addresses of a page, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(model: Any, X: Any, y: Any, tmp_path: Path, **options: Any) -> str:
    text = report(model, X, y, tmp_path / "report.html", folds=3, **options).read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert page.addresses == []
    assert len(text.encode()) < 500_000
    return text


def test_the_score_the_tree_and_the_confusions_are_shown(tmp_path: Path) -> None:
    iris = datasets.load_iris()
    model = C45Classifier().fit(iris.X, iris.y)
    text = page_of(model, iris.X, iris.y, tmp_path, command="treewright fit iris")
    found = cross_validate_score(C45Classifier(), iris.X, iris.y, folds=3)
    assert f"accuracy {found.score.value:.3f}" in text
    assert "petal_width &lt;= 0.6: setosa (50.0)" in text
    wrong = pd.Series(found.predictions)[found.predictions != np.array(iris.y)].groupby(
        np.array(iris.y)[found.predictions != np.array(iris.y)]
    )
    for (actual, predicted), count in wrong.value_counts().items():
        assert f'<td>{actual}</td><td>{predicted}</td><td class="r">{count}</td>' in text
    assert "treewright fit iris" in text
    assert "gain by chance" in text


def test_numbers_have_errors_by_the_size_of_the_target(tmp_path: Path) -> None:
    X, _, y = mixed_table(80, seed=1)
    text = page_of(DecisionTreeRegressor(max_depth=3).fit(X, y), X, y, tmp_path)
    errors = cross_validate_score(DecisionTreeRegressor(max_depth=3), X, y, folds=3).predictions.astype(float) - y
    assert f"The largest error is {abs(errors).max():.3f}" in text


@pytest.mark.parametrize("model", [RandomForestClassifier(5, random_state=0), VotingClassifier()])
def test_ensembles_have_reports(model: Any, tmp_path: Path) -> None:
    iris = datasets.load_iris()
    text = page_of(model.fit(iris.X, iris.y), iris.X, iris.y, tmp_path)
    assert f"{type(model).__name__} is an ensemble. It has {len(model.estimators_)} members." in text


def test_ids_constants_rare_classes_and_leaks_are_warned_of(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    y = np.array(["yes"] * 3 + ["no"] * 97)
    X = {
        "name": [f"person {k}" for k in range(100)],
        "constant": [1] * 100,
        "after": np.where(y == "yes", 9.0, 1.0),
        "noise": draw.normal(size=100),
    }
    with pytest.warns(UserWarning, match="name"):
        model = DecisionTreeClassifier().fit(X, y)
    with pytest.warns(UserWarning, match="name"):
        text = page_of(model, X, y, tmp_path)
    for words in (
        "Column &#x27;name&#x27;",
        "100 different",
        "Column &#x27;constant&#x27; has the same value",
        "Class &#x27;yes&#x27; is rare: 3 of 100 rows.",
        "Column &#x27;after&#x27; predicts the target nearly alone",
    ):
        assert words in text
    assert "person" not in text.split("<h3>Data</h3>")[1].split("<h3>Model</h3>")[0]


def test_a_large_and_hostile_table_gives_a_small_page(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    X = {f"<script>{k}" + "x" * 1000: draw.normal(size=300) for k in range(80)}
    y = np.array([f"<b>class {k}" for k in draw.integers(0, 40, 300)])
    text = page_of(DecisionTreeClassifier().fit(X, y), X, y, tmp_path)
    assert "<script>" not in text
    assert "<b>" not in text


def test_no_value_of_a_row_is_in_the_page(tmp_path: Path) -> None:
    iris = datasets.load_iris()
    X = pd.DataFrame(iris.X)
    X["secret"] = np.random.default_rng(0).integers(10**8, 10**9, 150).astype(float)
    text = page_of(C45Classifier().fit(X, iris.y), X, iris.y, tmp_path)
    seen = {f"{value:.0f}" for value in X["secret"]}
    inside = sorted(X["secret"])[1:-1]  # the lowest and the highest are the range of the column
    assert not {f"{value:.0f}" for value in inside} & set(re.findall(r"\d{9}", text))
    assert len(seen) > 100


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(categorical="multiway"),
        DecisionTreeClassifier(categorical="best_subset"),
        RandomForestClassifier(5, max_features=1.0, random_state=0),
    ],
)
def test_names_of_rows_are_not_in_the_page_even_where_a_tree_splits_on_them(model: Any, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    names = [f"patient-{number}" for number in draw.permutation(60)]
    X = {"name": names, "size": draw.normal(size=60)}
    y = draw.integers(0, 2, 60).astype(str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        text = page_of(model, X, y, tmp_path)
    assert "patient-" not in text
    assert "name" in text


def test_the_digest_changes_with_the_data(tmp_path: Path) -> None:
    iris = datasets.load_iris()
    model = C45Classifier().fit(iris.X, iris.y)
    found = [re.findall(r"[0-9a-f]{64}", page_of(model, iris.X, iris.y, tmp_path)) for _ in range(2)]
    changed = pd.DataFrame(iris.X)
    changed.iloc[3, 2] += 0.1
    assert found[0] == found[1] != re.findall(r"[0-9a-f]{64}", page_of(model, changed, iris.y, tmp_path))


def test_several_targets_are_one_sentence(tmp_path: Path) -> None:
    y = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, 1.0], [5.0, 2.0]])
    with pytest.raises(ValueError, match="several targets"):
        report(DecisionTreeRegressor().fit({"x": [1, 2, 3, 4]}, y), {"x": [1, 2, 3, 4]}, y, tmp_path / "r.html")


@pytest.mark.parametrize("learner", [RandomForestClassifier, BaggingRegressor])
def test_the_representative_tree_predicts_most_like_the_ensemble(learner: Any, tmp_path: Path) -> None:
    iris = datasets.load_iris()
    y = iris.y if learner is RandomForestClassifier else iris.X["petal_width"]
    X = iris.X[["sepal_length", "sepal_width", "petal_length"]]
    model = learner(n_estimators=12, random_state=0).fit(X, y)
    classes = hasattr(model, "predict_proba")
    whole = model.predict_proba(X) if classes else model.predict(X)
    distances = [
        np.mean(((member.predict_proba(X) if classes else member.predict(X)) - whole) ** 2)
        for member in model.estimators_
    ]
    assert representative(model, X) == int(np.argmin(distances))
    page = report(model, X, y, tmp_path / "r.html", folds=2).read_text(encoding="utf-8")
    assert "A representative tree" in page
    assert page.count("<polyline") == 3  # a curve for each column


def test_effects_of_categories_are_dots_with_their_names(tmp_path: Path) -> None:
    orchard = datasets.load_orchard()
    model = CARTClassifier(max_depth=3, prune=None).fit(orchard.X, orchard.y)
    page = report(model, orchard.X, orchard.y, tmp_path / "r.html", folds=2).read_text(encoding="utf-8")
    assert "Effects of columns" in page
    assert "<title>Boskoop: 0." in page
    assert len(page) < 500_000
