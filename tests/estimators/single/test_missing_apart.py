"""The strategy `learned` can separate missing from known values: in every learner, and as scikit-learn does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier as ReferenceClassifier
from sklearn.tree import DecisionTreeRegressor as ReferenceRegressor

from properties import examples
from treewright import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ObliviousTreeClassifier,
    ObliviousTreeRegressor,
    RandomTreeClassifier,
)
from treewright.show.text import draw

TARGET = [0, 0, 0, 1, 1] * 4
NUMBERS = [[0.0], [0.0], [0.0], [np.nan], [np.nan]] * 4
CATEGORIES = [["a"], ["a"], ["a"], [None], [None]] * 4

LEARNERS = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="information_gain", splitter="random", random_state=0),
    DecisionTreeClassifier(criterion="gain_ratio", categorical="multiway"),
    DecisionTreeClassifier(criterion="error", categorical="one_vs_rest"),
    DecisionTreeClassifier(splitter=("among", 3), random_state=0),
    CARTClassifier(),
    C45Classifier(missing="learned"),
    DecisionStumpClassifier(),
    RandomTreeClassifier(random_state=0),
    ObliviousTreeClassifier(),
    BaggingClassifier(n_estimators=5, random_state=0),
    AdaBoostClassifier(n_estimators=5, random_state=0),
    DecisionTreeRegressor(),
    DecisionTreeRegressor(criterion="absolute_error"),
    DecisionTreeRegressor(criterion="sdr", categorical="multiway"),
    DecisionTreeRegressor(criterion="absolute_error", splitter="random", random_state=0),
    CARTRegressor(),
    DecisionStumpRegressor(),
    ObliviousTreeRegressor(),
    BaggingRegressor(n_estimators=5, random_state=0),
    AdaBoostRegressor(n_estimators=5, random_state=0),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("table", [NUMBERS, CATEGORIES], ids=["numbers", "categories"])
def test_a_table_where_only_missing_matters_is_learned(learner: Any, table: list[list[Any]]) -> None:
    assert learner.fit(table, TARGET).predict(table).tolist() == pytest.approx(TARGET)


def test_id3_separates_missing_from_known_categories() -> None:
    model = ID3Classifier().fit({"sky": ["sun", "sun", "rain", None]}, ["no", "no", "no", "yes"])
    assert str(model.rules()) == "sky is missing: yes (1.0)\nsky is known: no (3.0)"


def fold(weights: np.ndarray) -> float:
    """The Gini impurity, as a criterion of the user."""
    shares = weights / weights.sum()
    return float(1.0 - (shares**2).sum())


def spread(weight: float, mean: float, variance: float) -> float:
    return variance


@pytest.mark.parametrize("table", [NUMBERS, CATEGORIES], ids=["numbers", "categories"])
def test_a_criterion_of_the_user_separates_missing_from_known_values(table: list[list[Any]]) -> None:
    assert DecisionTreeClassifier(criterion=fold).fit(table, TARGET).score(table, TARGET) == 1.0
    assert DecisionTreeRegressor(criterion=spread).fit(table, TARGET).score(table, TARGET) == 1.0


cells = st.integers(0, 6).map(float) | st.just(np.nan)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "information_gain"])
def test_the_root_gains_as_much_as_that_of_scikit_learn(criterion: str, n_classes: int) -> None:
    @examples(60)
    @given(st.data(), st.integers(4, 30), st.integers(1, 3))
    def check(data: st.DataObject, n_rows: int, min_leaf: int) -> None:
        lines = st.lists(cells, min_size=n_rows, max_size=n_rows)
        table = np.array([data.draw(lines), data.draw(lines)]).T
        target = data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows))
        options = {"max_depth": 1, "min_samples_leaf": min_leaf}
        theirs = ReferenceClassifier(criterion={"gini": "gini"}.get(criterion, "entropy"), **options).fit(table, target)
        ours = DecisionTreeClassifier(criterion=criterion, **options).fit(table, target)
        assert ours.tree_.root.gain == pytest.approx(gain_of(theirs.tree_), abs=1e-12)

    check()


@examples(60)
@given(st.data(), st.integers(4, 30), st.integers(1, 3))
def test_the_root_of_a_regression_gains_as_much_as_that_of_scikit_learn(
    data: st.DataObject, n_rows: int, min_leaf: int
) -> None:
    lines = st.lists(cells, min_size=n_rows, max_size=n_rows)
    table = np.array([data.draw(lines), data.draw(lines)]).T
    target = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n_rows, max_size=n_rows)), dtype=float)
    options = {"max_depth": 1, "min_samples_leaf": min_leaf}
    theirs = ReferenceRegressor(**options).fit(table, target)
    ours = DecisionTreeRegressor(**options).fit(table, target)
    assert ours.tree_.root.gain == pytest.approx(gain_of(theirs.tree_), abs=1e-9)


def gain_of(tree: Any) -> float:
    """The gain of the root of a tree of scikit-learn, 0 if it is a leaf."""
    if tree.node_count == 1:
        return 0.0
    shares = tree.weighted_n_node_samples[1:3] / tree.weighted_n_node_samples[0]
    return float(tree.impurity[0] - shares @ tree.impurity[1:3])


def test_a_split_below_a_threshold_that_separates_missing_values_is_readable() -> None:
    """Missing values go with the low ones first, and are separated from them below."""
    x = [1, 1, 1, 2, 2, 2, None, None, 8, 8, 8, 9]
    y = ["a", "a", "a", "a", "a", "a", "b", "b", "c", "c", "c", "c"]
    model = DecisionTreeClassifier(max_depth=2).fit({"x": x}, y)
    assert set(str(model.rules()).splitlines()) == {"x is missing: b (2.0)", "x <= 5: a (6.0)", "x > 5: c (4.0)"}
    assert "x is missing: b (2.0)" in draw(model.tree_)
    assert model.predict({"x": [None, 1, 9]}).tolist() == ["b", "a", "c"]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_of_two_branches_of_equal_weight_the_second_gets_unseen_missing_values(criterion: str) -> None:
    X, y = np.array([[0.0, 1, 2, 3, 8, 9, 11, 12]]).T, np.array([0.1, 0.2, 0.3, 0.2, 1.4, 1.4, 1.5, 1.6])
    ours = DecisionTreeRegressor(criterion=criterion, max_depth=1).fit(X, y)
    theirs = ReferenceRegressor(criterion=criterion, max_depth=1).fit(X, y)
    assert ours.predict([[np.nan]]) == pytest.approx(theirs.predict([[np.nan]]))
    assert ours.predict([[np.nan]])[0] > 1.0


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_of_two_equally_good_branches_the_second_gets_missing_values(criterion: str) -> None:
    X = np.array([[1, 2, 3, 5, np.nan, 10, 20, 30, 60, np.nan]]).T
    y = np.repeat([0, 1], 5)
    new = [[np.nan], [2.3], [34.2]]
    theirs = ReferenceClassifier(max_depth=1, criterion=criterion).fit(X, y)
    for ours in (DecisionTreeClassifier, DecisionStumpClassifier, ObliviousTreeClassifier):
        model = ours(max_depth=1) if ours is not DecisionStumpClassifier else ours()
        assert model.fit(X, y).predict(new).tolist() == theirs.predict(new).tolist() == [1, 0, 1]
