"""min_weight_fraction_leaf: no leaf weighs less, and the best of the splits that are left is taken."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn import tree as sklearn_tree

from treewright import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

STRATEGIES = ("learned", "branch", "fractional", "every_value", "all_branches", "surrogate")


def table(n_rows: int, seed: int, missing: float = 0.2) -> tuple[dict[str, list[Any]], np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    size, town = random.integers(0, 6, n_rows).astype(float), random.choice(list("abcd"), n_rows).astype(object)
    y = (size + 2 * (town == "a") + random.standard_normal(n_rows) > 3).astype(int)
    size[random.random(n_rows) < missing] = np.nan
    town[random.random(n_rows) < missing] = None
    return {"size": size.tolist(), "town": town.tolist()}, y, random.uniform(0.2, 4.0, n_rows)


@pytest.mark.parametrize("categorical", ["subset", "one_vs_rest"])
@pytest.mark.parametrize("missing", ["learned", "branch", "majority"])
@pytest.mark.parametrize("learner", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_no_leaf_weighs_less(learner: Any, missing: str, categorical: str) -> None:
    X, y, weights = table(300, seed=1)
    model = learner(min_weight_fraction_leaf=0.06, missing=missing, categorical=categorical).fit(X, y, weights)
    leaf = model.tree_.n_children == 0
    assert leaf.sum() > 3
    assert model.tree_.weight[leaf].min() >= 0.06 * weights.sum() * (1 - 1e-9)


def gini_of(y: np.ndarray, weights: np.ndarray) -> float:
    total = weights.sum()
    return float(total - sum(weights[y == k].sum() ** 2 for k in np.unique(y)) / total) if total > 0 else 0.0


def variance_of(y: np.ndarray, weights: np.ndarray) -> float:
    return float(weights @ (y - np.average(y, weights=weights)) ** 2) if weights.sum() > 0 else 0.0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("learner", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_the_best_split_of_those_that_are_heavy_enough_is_taken(learner: Any, seed: int) -> None:
    X, y, weights = table(40, seed=seed)
    model = learner(min_weight_fraction_leaf=0.3, max_depth=1).fit(X, y, weights)
    measure = gini_of if learner is DecisionTreeClassifier else variance_of
    size, town = np.array(X["size"], float), np.array(X["town"], object)
    sides = []
    for cut in np.unique(size[~np.isnan(size)])[:-1]:
        sides.append((size <= cut, np.isnan(size)))
    groups = sorted({name for name in X["town"] if name is not None})
    for n_chosen in range(1, len(groups)):
        for chosen in combinations(groups, n_chosen):
            sides.append((np.isin(town.astype(str), chosen), np.array([name is None for name in X["town"]])))
    least, whole = 0.3 * weights.sum(), measure(y, weights)
    gains = [0.0]
    for known_left, is_missing in sides:
        for to_left in (True, False):
            left = np.where(is_missing, to_left, known_left)
            if min(weights[left].sum(), weights[~left].sum()) >= least:
                gains.append(whole - measure(y[left], weights[left]) - measure(y[~left], weights[~left]))
    gained = float(model.tree_.gain[0] * model.tree_.weight[0])
    assert gained == pytest.approx(max(gains), abs=1e-9 * whole)


@pytest.mark.parametrize("learner", [RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_no_leaf_of_a_forest_weighs_less_than_the_fraction_of_its_bag(learner: Any, n_classes: int) -> None:
    random = np.random.default_rng(3)
    X = np.column_stack([random.standard_normal((2_000, 3)), random.integers(0, 5, 2_000)])
    y = np.digitize(X[:, 0] + 0.3 * random.standard_normal(2_000), np.linspace(-1, 1, n_classes - 1))
    weights = random.uniform(0.1, 3.0, 2_000)
    model = learner(n_estimators=5, min_weight_fraction_leaf=0.04, random_state=0).fit(X, y, weights)
    for tree in model.forest_:
        leaf = tree.n_children == 0
        assert leaf.sum() > 4
        assert tree.weight[leaf].min() >= 0.04 * tree.weight[0] * (1 - 1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_forest_without_chance_grows_the_single_tree(n_classes: int) -> None:
    random = np.random.default_rng(4)
    X = random.integers(0, 40, (800, 4)).astype(float)
    y = np.digitize(X[:, 0] + X[:, 1] * (X[:, 2] > 20) + 8 * random.standard_normal(800), [25, 45][: n_classes - 1])
    shape: dict[str, Any] = {"min_weight_fraction_leaf": 0.03, "max_features": None}
    tree = DecisionTreeClassifier(**shape).fit(X, y)
    forest = RandomForestClassifier(n_estimators=1, bootstrap=False, min_samples_leaf=1, **shape).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), tree.predict(X))
    assert forest.forest_[0].n_leaves == tree.tree_.n_leaves


@pytest.mark.parametrize("wrong", [-0.1, 0.6, "some", True])
def test_other_fractions_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"min_weight_fraction_leaf is .*; give a fraction of the total weight"):
        DecisionTreeClassifier(min_weight_fraction_leaf=wrong).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("fraction", [*np.linspace(0.0, 0.5, 6), 0.1 + 0.2])
def test_the_limit_for_rows_without_weights_is_exact_as_in_scikit_learn(fraction: float) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2)), np.arange(30) % 2
    ours = DecisionTreeClassifier(min_weight_fraction_leaf=fraction).fit(X, y)
    theirs = sklearn_tree.DecisionTreeClassifier(min_weight_fraction_leaf=fraction, random_state=0).fit(X, y)
    for model in (ours, theirs):
        leaves = model.tree_.weighted_n_node_samples[model.tree_.children_left < 0]
        assert leaves.min() >= 30 * fraction
    assert ours.tree_.node_count == theirs.tree_.node_count
