"""Targets, weights and columns of extreme magnitude: the same tree as for ordinary ones."""

import numpy as np
import pytest

from treewright import (
    AdaBoostRegressor,
    BaggingRegressor,
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ObliviousTreeRegressor,
    OneRClassifier,
    RandomForestRegressor,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 3))
Y = X[:, 0] + 0.1 * RANDOM.normal(size=200)
LABELS = (Y > 0.0).astype(int)

NUMBERS = [
    DecisionTreeRegressor(),
    DecisionTreeRegressor(criterion="sdr"),
    DecisionTreeRegressor(criterion="absolute_error"),
    CARTRegressor(),
    ObliviousTreeRegressor(),
    BaggingRegressor(n_estimators=5, random_state=0),
    AdaBoostRegressor(n_estimators=5, random_state=0),
    RandomForestRegressor(n_estimators=5, random_state=0),
    RandomForestRegressor(n_estimators=3, criterion="absolute_error", random_state=0),
]
CLASSES = [
    DecisionTreeClassifier(),
    CARTClassifier(),
    C45Classifier(),
    OneRClassifier(),
]
# Powers of two change no digit of the predictions.
SCALES = [2.0**power for power in (-660, -300, -50, 50, 265, 490)]


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("learner", NUMBERS, ids=str)
def test_a_target_in_another_unit_gives_the_same_tree(learner, scale):
    expected = learner.fit(X, Y).predict(X)
    np.testing.assert_allclose(learner.fit(X, Y * scale).predict(X) / scale, expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [2.0**-250, 2.0**250])
def test_the_least_gain_is_in_the_unit_of_the_target(scale):
    expected = DecisionTreeRegressor(min_split_gain=1e-2).fit(X, Y)
    scaled = DecisionTreeRegressor(min_split_gain=1e-2 * scale**2).fit(X, Y * scale)
    assert 2 < scaled.get_n_leaves() == expected.get_n_leaves() < DecisionTreeRegressor().fit(X, Y).get_n_leaves()
    np.testing.assert_allclose(scaled.tree_.impurity, expected.tree_.impurity * scale**2, rtol=1e-12)


def test_a_target_whose_squares_exceed_the_floats_is_refused():
    with pytest.raises(ValueError, match="y has values up to 1e\\+200, whose squares are too large"):
        DecisionTreeRegressor().fit([[0], [1]], [0.0, 1e200])


@pytest.mark.slow
@pytest.mark.parametrize("weight", [2.0**-1000, 2.0**-500, 2.0**-20, 2.0**500, 2.0**1000])
@pytest.mark.parametrize("learner", NUMBERS + CLASSES, ids=str)
def test_equal_weights_of_any_magnitude_change_nothing(learner, weight):
    if weight > 1.0 and isinstance(learner, C45Classifier | OneRClassifier):
        pytest.skip("a weight of 2 counts as two rows, and more rows permit more splits")
    y = LABELS if learner in CLASSES else Y
    expected = learner.fit(X, y).predict(X)
    found = learner.fit(X, y, np.full(200, weight)).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("learner", [GradientBoostingClassifier, GradientBoostingRegressor, C45Classifier])
def test_weights_that_sum_to_one_are_fractions_of_the_table(learner):
    y = Y if learner is GradientBoostingRegressor else LABELS
    weights = RANDOM.uniform(0.5, 1.5, 200)
    options = {} if learner is C45Classifier else {"n_estimators": 10}
    expected = learner(**options).fit(X, y, weights / weights.mean()).predict(X)
    np.testing.assert_allclose(learner(**options).fit(X, y, weights / weights.sum()).predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize("unit", [2.0**-14, 2.0**-40, 2.0**-1000])
def test_c45_splits_columns_in_small_units(unit):
    ordinary = C45Classifier().fit(X, LABELS)
    small = C45Classifier().fit(X * unit, LABELS)
    assert small.get_n_leaves() == ordinary.get_n_leaves() > 1
    splits = ordinary.tree_.n_children > 0
    np.testing.assert_array_equal(small.tree_.threshold[splits] / unit, ordinary.tree_.threshold[splits])
    np.testing.assert_array_equal(small.predict(X * unit), ordinary.predict(X))


def test_c45_scales_only_columns_in_small_units():
    both = np.column_stack([X[:, 0] * 1e-5, X[:, 1]])
    expected = C45Classifier().fit(X[:, :2], LABELS)
    np.testing.assert_array_equal(C45Classifier().fit(both, LABELS).predict(both), expected.predict(X[:, :2]))


@pytest.mark.parametrize("scale", [2.0**-300, 2.0**300])
def test_a_given_alpha_is_in_the_unit_of_the_target(scale):
    usual = DecisionTreeRegressor(prune="cost_complexity", ccp_alpha=0.01).fit(X, Y)
    scaled = DecisionTreeRegressor(prune="cost_complexity", ccp_alpha=0.01 * scale**2).fit(X, Y * scale)
    assert scaled.get_n_leaves() == usual.get_n_leaves() > 1
    assert scaled.ccp_alpha_ == pytest.approx(0.01 * scale**2)
