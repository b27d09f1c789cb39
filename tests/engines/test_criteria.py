"""The table of criteria: formulas against textbook definitions, and what happens to a name that is not there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright import (
    C45Classifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    OneRClassifier,
    RandomForestClassifier,
    measures,
)
from treewright.engines import criteria
from treewright.engines.boosting.losses import derive_rows
from treewright.engines.criteria import CODES, CRITERIA, class_impurity, moments_impurity, two_class_impurity
from treewright.runtime.forms import run_plain

WEIGHTS = st.lists(st.floats(0.01, 100.0), min_size=2, max_size=6)
MEASURES = {
    "gini": measures.gini,
    "information_gain": measures.entropy,
    "gain_ratio": measures.entropy,
    "error": measures.error_rate,
}


@given(WEIGHTS)
def test_the_weighted_impurity_of_classes_is_the_measure_times_the_weight(weights: list[float]) -> None:
    counts, total = np.array(weights), sum(weights)
    for name, measure in MEASURES.items():
        expected = total * measure(weights)
        assert class_impurity(counts, total, CODES[name]) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        pair = total_of_two = weights[0] + weights[1]
        pair = two_class_impurity(weights[0], weights[1], CODES[name])
        assert pair == pytest.approx(total_of_two * measure(weights[:2]), rel=1e-9, abs=1e-9)


@given(st.lists(st.floats(0.1, 50.0), min_size=1, max_size=8))
def test_the_weighted_impurity_of_numbers_follows_from_their_moments(numbers: list[float]) -> None:
    y = np.array(numbers)
    n, mean, squares = float(len(y)), float(y.mean()), float(((y - y.mean()) ** 2).sum())
    of = {name: moments_impurity(n, mean, squares, 2.0, CODES[name]) for name in ("squared_error", "sdr", "poisson")}
    assert of["squared_error"] == pytest.approx(n * y.var(), abs=1e-9)
    assert of["sdr"] == pytest.approx(n * y.std(), abs=1e-6)
    assert of["poisson"] == pytest.approx(-float((y * math.log(mean / 2.0)).sum()), rel=1e-9, abs=1e-9)


def test_an_unknown_criterion_has_no_impurity() -> None:
    assert math.isnan(class_impurity(np.array([1.0, 2.0]), 3.0, 99))
    assert math.isnan(two_class_impurity(1.0, 2.0, 99))
    assert math.isnan(moments_impurity(2.0, 1.0, 1.0, 1.0, 99))


def test_an_unknown_loss_has_no_gradient() -> None:
    gradients, hessians = np.zeros((1, 2)), np.zeros((1, 2))
    run_plain(derive_rows)(99, 0.0, np.zeros((1, 2)), np.zeros(2), np.empty(0), 0, 2, gradients, hessians)
    assert np.isnan(gradients).all()
    assert np.isnan(hessians).all()


def test_names_and_codes_are_one_table() -> None:
    assert list(CODES) == list(CRITERIA) == list(criteria.NAMES)
    assert [CODES[name] for name in CRITERIA] == list(range(len(CRITERIA)))


def own(counts: np.ndarray) -> float:
    return 1.0 - float(((counts / counts.sum()) ** 2).sum())


@pytest.mark.parametrize(
    ("model", "criterion"),
    [
        (DecisionTreeClassifier(), "gini"),
        (DecisionTreeClassifier(criterion="error"), "error"),
        (DecisionTreeClassifier(criterion=own), "own"),
        (C45Classifier(), "gain_ratio"),
        (OneRClassifier(), "error"),
        (DecisionTreeRegressor(criterion="sdr"), "sdr"),
        (CARTRegressor(), "squared_error"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_tree_stores_its_criterion(model, criterion) -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]] * 3, [0, 0, 1, 1] * 3
    tree = model.fit(X, y).tree_
    assert tree.criterion == criterion
    assert (tree.own_criterion == "own") == (criterion == "own")


def test_forests_and_boosting_store_their_criterion() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    forest = RandomForestClassifier(n_estimators=2, criterion="information_gain", random_state=0).fit(X, y).forest_
    assert (forest.criterion, forest[0].criterion) == ("information_gain", "information_gain")
    boosted = GradientBoostingRegressor(n_estimators=2, random_state=0).fit(X, y)
    assert boosted.forests_[0].criterion == "gradient"


@pytest.mark.parametrize("wrong", ["squared_error", "entropy", "", "own"])
def test_a_tree_refuses_a_criterion_that_does_not_fit(wrong: str) -> None:
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"]).tree_
    with pytest.raises(ValueError, match="criterion"):
        tree.replace(criterion=wrong)
