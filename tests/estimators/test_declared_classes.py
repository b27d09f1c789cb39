"""Targets that declare their classes: categories of pandas and polars, and nominal attributes of ARFF files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from treewright import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    ID3Classifier,
    datasets,
    prune,
    read_table,
)

# In neither order of the alphabet, and one that no row has.
DECLARED = ["medium", "low", "never", "high"]
LEARNERS = [DecisionTreeClassifier, CARTClassifier, C45Classifier, ID3Classifier]

ANSWERS = ["low", "low", "high", "high", "medium", "medium", "low", "high", "medium", "low", "high", "medium"]
X = {
    "size": ["s", "s", "l", "l", "m", "m", "s", "l", "m", "l", "s", "s"],
    "tint": ["r", "g", "r", "g", "r", "g", "g", "g", "r", "r", "r", "g"],
}


def as_pandas(answers: list[str], ordered: bool) -> pd.Series:
    return pd.Series(pd.Categorical(answers, categories=DECLARED, ordered=ordered), name="grade")


def as_arff(answers: list[str], folder: Path) -> Any:
    lines = ["@relation grades", "@attribute row numeric", f"@attribute grade {{{','.join(DECLARED)}}}", "@data"]
    lines += [f"{row},{answer}" for row, answer in enumerate(answers)]
    (folder / "grades.arff").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_table(folder / "grades.arff")["grade"]


def declared(answers: list[str], source: str, folder: Path) -> Any:
    """The same answers as a column of each kind that declares its classes."""
    if source == "arff":
        return as_arff(answers, folder)
    if source == "polars":
        return pl.Series("grade", answers, dtype=pl.Enum(DECLARED))
    if source == "frame":
        return as_pandas(answers, ordered=False).to_frame()
    return as_pandas(answers, ordered=source == "pandas-ordered")


SOURCES = ["pandas", "pandas-ordered", "polars", "arff", "frame"]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_classes_are_sorted_and_only_those_that_occur(learner: Any, source: str, tmp_path: Path) -> None:
    model = learner().fit(X, declared(ANSWERS, source, tmp_path))
    assert list(model.classes_) == ["high", "low", "medium"]
    assert model.n_classes_ == 3
    assert model.tree_.target.classes == tuple(DECLARED)
    assert model.tree_.target.name == "grade"
    assert model.predict_proba(X).shape == (12, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert set(model.predict(X)) <= {"high", "low", "medium"}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_columns_of_the_shares_follow_the_classes(learner: Any, source: str, tmp_path: Path) -> None:
    options = {"smoothing": None} if "smoothing" in learner().get_params() else {}
    model = learner(**options).fit(X, declared(ANSWERS, source, tmp_path))
    leaves, actual = model.apply(X), np.array(ANSWERS)
    shares = model.predict_proba(X)
    for row, leaf in enumerate(leaves):
        inside = actual[leaves == leaf]
        assert shares[row] == pytest.approx([np.mean(inside == name) for name in ("high", "low", "medium")])
    is_sure = np.sort(shares, axis=1)[:, -1] > np.sort(shares, axis=1)[:, -2] + 1e-9
    assert (model.predict(X)[is_sure] == model.classes_[shares.argmax(axis=1)][is_sure]).all()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("learner", [DecisionTreeClassifier, C45Classifier])
def test_of_equals_the_class_declared_first_is_answered(learner: Any, source: str, tmp_path: Path) -> None:
    same = [[1.0]] * 6
    for answers, first in [
        (["high", "low", "medium"] * 2, "medium"),
        (["high", "low"] * 3, "low"),
        (["high", "medium"] * 3, "medium"),
    ]:
        model = learner().fit(same, declared(answers, source, tmp_path))
        assert model.predict([[1.0]]).tolist() == [first]
        assert model.tree_.root.prediction == first
        # Plain text has no other order than the alphabet's.
        assert learner().fit(same, answers).predict([[1.0]]).tolist() == ["high"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_order_declared_changes_nothing_but_ties(learner: Any) -> None:
    if learner is ID3Classifier:
        table = datasets.load_concept()
        features, answers = table.X, np.asarray(table.y).tolist()
    else:
        iris = datasets.load_iris()
        features, answers = iris.X, np.asarray(iris.y).tolist()
    plain = learner().fit(features, answers)
    order = sorted(set(answers))[::-1]
    turned = learner().fit(features, pd.Series(pd.Categorical(answers, categories=[*order, "never"])))
    assert (plain.classes_ == turned.classes_).all()
    np.testing.assert_allclose(turned.predict_proba(features), plain.predict_proba(features), atol=1e-12)
    assert [node.tests for node in plain.tree_] == [node.tests for node in turned.tree_]


def test_plain_text_is_learned_as_ever() -> None:
    model = DecisionTreeClassifier().fit(X, ANSWERS)
    assert model.tree_.target.classes == ("high", "low", "medium")
    assert list(model.classes_) == ["high", "low", "medium"]
    # A category that declares nothing new in an order of the alphabet is plain text.
    same = DecisionTreeClassifier().fit(X, pd.Series(ANSWERS, dtype="category"))
    assert same.tree_.to_dict() == model.tree_.to_dict()


def test_a_categorical_of_polars_declares_nothing() -> None:
    elsewhere = pl.Series(["zebra", "low"], dtype=pl.Categorical)
    model = DecisionTreeClassifier().fit(X, pl.Series(ANSWERS, dtype=pl.Categorical))
    assert "zebra" in elsewhere
    assert model.tree_.target.classes == ("high", "low", "medium")
    assert model.tree_.to_dict() == DecisionTreeClassifier().fit(X, ANSWERS).tree_.to_dict()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_pickled_model_answers_the_same(learner: Any, source: str, tmp_path: Path) -> None:
    model = learner().fit(X, declared(ANSWERS, source, tmp_path))
    again = pickle.loads(pickle.dumps(model))
    assert again.tree_.target.classes == tuple(DECLARED)
    assert (again.classes_ == model.classes_).all()
    assert (again.predict(X) == model.predict(X)).all()
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.tree_.to_dict() == model.tree_.to_dict()


def test_declared_numbers_stay_numbers() -> None:
    answers = pd.Series(pd.Categorical([3, 3, 1, 1, 1, 3], categories=[5, 3, 1]))
    model = DecisionTreeClassifier().fit([[0]] * 6, answers)
    assert model.classes_.tolist() == [1, 3]
    assert model.predict([[0]]).tolist() == [3]


@pytest.mark.parametrize("source", SOURCES)
def test_weights_and_pruning_know_classes_by_name(source: str, tmp_path: Path) -> None:
    y = declared(ANSWERS, source, tmp_path)
    model = DecisionTreeClassifier(class_weight={"high": 100, "low": 1, "medium": 1}, max_depth=0).fit(X, y)
    assert set(model.predict(X)) == {"high"}
    assert DecisionTreeClassifier(class_weight="balanced").fit(X, y).score(X, y) > 0.5
    full = DecisionTreeClassifier().fit(X, y)
    smaller = prune(full, "reduced_error", X=X, y=y)
    assert smaller.score(X, y) == full.score(X, y)
    costly = DecisionTreeClassifier(
        misclassification_costs={("high", "low"): 50, ("high", "medium"): 50}, max_depth=0
    ).fit(X, y)
    assert set(costly.predict(X)) == {"high"}


def test_some_rows_may_lack_a_class() -> None:
    # As in cross-validation: the part has fewer classes than were declared.
    y = as_pandas(ANSWERS, ordered=True)
    part = [row for row, answer in enumerate(ANSWERS) if answer != "low"]
    features = pd.DataFrame(X)
    model = DecisionTreeClassifier().fit(features.iloc[part], y.iloc[part])
    assert model.classes_.tolist() == ["high", "medium"]
    assert model.predict_proba(features).shape == (12, 2)
    np.testing.assert_allclose(model.predict_proba(features).sum(axis=1), 1.0)
