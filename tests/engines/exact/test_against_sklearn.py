"""On numeric tables our trees and scikit-learn's leave the same impurity, and cut at the same places."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treewright.table.column import Column, Kind
from treewright.tree import Target
from treewright.tree.descent import leaves_of
from treewright.tree.grow import grow

THEIR_NAME = {"information_gain": "entropy"}
CLASSES = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}


def ours(X, y, recipe, weights=None):
    columns = tuple(Column(f"x{i}", Kind.NUMERIC) for i in range(X.shape[1]))
    weights = np.ones(len(y)) if weights is None else weights
    if y.dtype.kind == "f":
        return grow(columns, X, Target("y"), recipe=recipe, numbers=y, weights=weights)
    n_classes = int(y.max()) + 1
    target = Target("y", tuple(range(n_classes)))
    return grow(columns, X, target, recipe=recipe, labels=y.astype(np.uint16), n_classes=n_classes, weights=weights)


def theirs(X, y, criterion, weights=None, **options):
    learner = DecisionTreeRegressor if y.dtype.kind == "f" else DecisionTreeClassifier
    model = learner(criterion=THEIR_NAME.get(criterion, criterion), random_state=0, **options)
    return model.fit(X, y, sample_weight=weights)


def total_impurity(impurity, weight, is_leaf):
    return float((impurity * weight)[is_leaf].sum())


def compare(X, y, criterion, depth, make_recipe, weights=None, weight_fraction=0.0):
    least = weight_fraction * (len(y) if weights is None else weights.sum())
    tree = ours(X, y, make_recipe(criterion, max_depth=depth, min_weight_leaf=least), weights)
    model = theirs(X, y, criterion, weights, max_depth=depth, min_weight_fraction_leaf=weight_fraction)
    other = model.tree_
    left = total_impurity(tree.impurity, tree.weight, tree.kind == 0)
    right = total_impurity(other.impurity, other.weighted_n_node_samples, other.children_left < 0)
    assert left == pytest.approx(right, rel=1e-9, abs=1e-9 * tree.weight[0])
    weights = np.ones(len(y)) if weights is None else weights
    leaves = leaves_of(tree, X)
    if y.dtype.kind == "f":
        return
    wrong = float(weights[np.argmax(tree.predictions[leaves], axis=1) != y].sum())
    assert wrong == pytest.approx(float(weights[model.predict(X) != y].sum()), abs=1e-9 * weights.sum())


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 7, 99])
@pytest.mark.parametrize("criterion", ["gini", "information_gain"])
@pytest.mark.parametrize("name", list(CLASSES))
def test_real_tables_of_classes(make_recipe, name, criterion, depth):
    X, y = CLASSES[name](return_X_y=True)
    compare(X.astype(float), y, criterion, depth, make_recipe)


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 6, 99])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_diabetes(make_recipe, criterion, depth):
    X, y = datasets.load_diabetes(return_X_y=True)
    compare(X, y, criterion, depth, make_recipe)


@pytest.mark.parametrize("depth", [1, 2, 4, 8, 99])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("criterion", ["gini", "information_gain", "squared_error"])
def test_generated_tables_with_ties_and_weights(make_recipe, criterion, seed, depth):
    random = np.random.default_rng(seed)
    X = random.standard_normal((400, 6))
    # Values that tie within a column, but no two columns that part the rows alike.
    X[:, :3] = np.round(X[:, :3] * 4)
    weights = random.uniform(0.1, 5.0, 400)
    y = X[:, 0] + X[:, 3] ** 2 + random.standard_normal(400)
    if criterion != "squared_error":
        y = np.digitize(y, [-0.5, 1.0, 2.0])
    compare(X, y, criterion, depth, make_recipe, weights)


@pytest.mark.parametrize("weight_fraction", [0.005, 0.03, 0.2])
@pytest.mark.parametrize("criterion", ["gini", "information_gain", "squared_error", "absolute_error", "poisson"])
def test_a_least_weight_of_leaves(make_recipe, criterion, weight_fraction):
    random = np.random.default_rng(7)
    X = random.standard_normal((500, 5))
    X[:, 3:] = np.round(X[:, 3:] * 5)
    weights = random.uniform(0.1, 5.0, 500)
    y = 3.0 + X[:, 0] + X[:, 3] / 5 + X[:, 1] ** 2 + random.standard_normal(500)
    if criterion == "poisson":
        y = np.abs(y) + 0.1
    if criterion in ("gini", "information_gain"):
        y = np.digitize(y, [2.0, 4.0])
    compare(X, y, criterion, 99, make_recipe, weights, weight_fraction)


@pytest.mark.parametrize("n_leaves", [2, 3, 5, 9, 20, 60])
def test_best_first_growth_takes_the_same_leaves(make_recipe, n_leaves):
    random = np.random.default_rng(5)
    X = random.standard_normal((600, 5))
    y = (X[:, 0] * X[:, 1] + 0.5 * random.standard_normal(600) > 0).astype(int)
    tree = ours(X, y, make_recipe("gini", max_leaf_nodes=n_leaves))
    other = theirs(X, y, "gini", max_leaf_nodes=n_leaves).tree_
    assert tree.n_leaves == n_leaves == other.n_leaves
    assert total_impurity(tree.impurity, tree.weight, tree.kind == 0) == pytest.approx(
        total_impurity(other.impurity, other.weighted_n_node_samples, other.children_left < 0)
    )


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_thresholds_are_the_same_where_no_two_splits_tie(make_recipe, criterion):
    random = np.random.default_rng(11)
    X = random.standard_normal((2_000, 8)).astype(np.float32).astype(float)
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * random.standard_normal(2_000)
    if criterion == "gini":
        y = (y > 0).astype(int)
    # With many rows in each node no two columns part them equally well.
    tree = ours(X, y, make_recipe(criterion, max_depth=4))
    other = theirs(X, y, criterion, max_depth=4).tree_
    splits = sorted((int(c), float(t)) for c, t in zip(tree.column, tree.threshold, strict=True) if c >= 0)
    their_splits = sorted((int(c), float(t)) for c, t in zip(other.feature, other.threshold, strict=True) if c >= 0)
    assert len(splits) == 15
    np.testing.assert_allclose(splits, their_splits, rtol=0, atol=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_wide_and_narrow_columns_agree_with_scikit_learn_on_a_larger_table(make_recipe, criterion):
    random = np.random.default_rng(3)
    X = random.standard_normal((6_000, 6))
    X[:, 3:] = np.round(X[:, 3:] * 10)  # about 60 distinct values: counted, not sorted
    y = X[:, 0] + 0.1 * X[:, 3] + random.standard_normal(6_000)
    if criterion == "gini":
        y = (y > 0).astype(int)
    for depth in (1, 3, 6):
        compare(X, y, criterion, depth, make_recipe)
