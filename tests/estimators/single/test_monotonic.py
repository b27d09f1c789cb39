"""Monotonic constraints of single trees: predictions that only rise or fall with a column, as in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import tree as sklearn_tree

from one_way import assert_first_column_moves_answers_one_way
from properties import examples
from treewright import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

NUMBERS = ("squared_error", "absolute_error", "poisson", "sdr")
CLASSES = ("gini", "information_gain", "gain_ratio", "error")


def noisy_table(seed: int, n_rows: int = 150, values: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three columns and a number that rises with the first, falls with the second and is a wave along the third."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3)) if values == 0 else random.integers(0, values, (n_rows, 3)).astype(float)
    return X, X[:, 0] - X[:, 1] + 2.0 * np.sin(2.0 * X[:, 2]) + 2.0 * random.normal(size=n_rows)


def target_for(learner: type, criterion: str, y: np.ndarray) -> np.ndarray:
    if "Classifier" in learner.__name__:
        return y > np.median(y)
    return np.exp(0.5 * y) if criterion == "poisson" else y


@pytest.mark.parametrize(
    ("learner", "criterion"),
    [*((DecisionTreeRegressor, name) for name in NUMBERS), *((DecisionTreeClassifier, name) for name in CLASSES)],
)
@pytest.mark.parametrize(
    "parameters",
    [{}, {"max_leaf_nodes": 12}, {"splitter": "random", "random_state": 1}, {"max_features": 1, "random_state": 0}],
    ids=str,
)
@pytest.mark.parametrize("direction", [1, -1])
def test_predictions_follow_the_constrained_column(learner, criterion, parameters, direction):
    X, y = noisy_table(0)
    y = target_for(learner, criterion, y)
    model = learner(criterion=criterion, monotonic_cst=[direction, 0, 0], **parameters).fit(X, y)
    assert model.get_n_leaves() > 3
    assert_first_column_moves_answers_one_way(model, direction, np.random.default_rng(1), slack=0.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"criterion": "squared_error", "min_samples_leaf": 5},
        {"criterion": "squared_error", "max_leaf_nodes": 12},
        {"criterion": "absolute_error", "max_depth": 4},
        {"criterion": "absolute_error", "max_leaf_nodes": 9},
        {"criterion": "poisson", "min_samples_leaf": 5},
        {"criterion": "poisson", "max_leaf_nodes": 12, "max_depth": 5},
        {"criterion": "gini", "max_leaf_nodes": 10},
        {"criterion": "entropy", "max_leaf_nodes": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_tree_is_that_of_scikit_learn(parameters, weighted):
    kind = "Classifier" if parameters["criterion"] in ("gini", "entropy") else "Regressor"
    ours, theirs = globals()[f"DecisionTree{kind}"], getattr(sklearn_tree, f"DecisionTree{kind}")
    X, y = noisy_table(3, 300)
    y = target_for(ours, parameters["criterion"], y)
    weights = np.random.default_rng(4).random(len(y)) + 0.5 if weighted else None
    model = ours(monotonic_cst=[1, -1, 0], **parameters).fit(X, y, weights)
    peer = theirs(monotonic_cst=[1, -1, 0], random_state=0, **parameters).fit(X, y, weights)
    assert model.get_n_leaves() == peer.get_n_leaves()
    probe = np.random.default_rng(5).normal(size=(500, 3))
    if kind == "Classifier":
        np.testing.assert_allclose(model.predict_proba(probe), peer.predict_proba(probe), atol=1e-12)
    else:
        np.testing.assert_allclose(model.predict(probe), peer.predict(probe), rtol=1e-12)


@given(
    seed=st.integers(0, 10**6),
    criterion=st.sampled_from((*NUMBERS, *CLASSES)),
    n_values=st.sampled_from([0, 3, 8]),
    missing=st.sampled_from([0.0, 0.2]),
    max_leaf_nodes=st.sampled_from([None, 6]),
)
@examples(60)
def test_nodes_stay_on_their_side_of_every_constrained_split_above(seed, criterion, n_values, missing, max_leaf_nodes):
    learner = DecisionTreeClassifier if criterion in CLASSES else DecisionTreeRegressor
    X, y = noisy_table(seed, 60, n_values)
    y = target_for(learner, criterion, y)
    X[np.random.default_rng(seed).random(X.shape) < missing] = np.nan
    model = learner(criterion=criterion, monotonic_cst={0: 1, 1: -1}, max_leaf_nodes=max_leaf_nodes).fit(X, y)
    tree = model.tree_
    value = tree.predictions[:, -1]
    for node in tree:
        if node.is_leaf or node.column.name == "x2" or node.tests[0].relation == "is known":
            continue
        low, high = (below_of(tree, child.index) for child in node.children)
        low, high = (low, high) if tree.column[node.index] == 0 else (high, low)
        # All nodes of one side, leaves or not, so that pruning keeps the order.
        assert value[low].max() <= value[high].min() + 1e-12


def below_of(tree, node: int) -> list[int]:
    """A node and all nodes below it."""
    found = [node]
    for one in found:
        found.extend(range(tree.first_child[one], tree.first_child[one] + tree.n_children[one]))
    return found


def test_threads_grow_the_same_constrained_tree():
    random = np.random.default_rng(0)
    X = random.normal(size=(60_000, 9))
    y = X[:, 0] - X[:, 1] + random.normal(size=len(X))
    trees = [
        DecisionTreeRegressor(monotonic_cst={0: 1, 1: -1}, min_samples_leaf=40, n_jobs=n_jobs).fit(X, y).tree_
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(trees[0].distribution, trees[1].distribution)
    np.testing.assert_array_equal(trees[0].threshold, trees[1].threshold)


def test_weights_of_two_classes_keep_their_sum_within_bounds():
    X, y = noisy_table(0, 300)
    tree = DecisionTreeClassifier(monotonic_cst=[1, -1, 0]).fit(X, y > 0.0).tree_
    assert tree.distribution.min() >= 0.0
    np.testing.assert_allclose(tree.distribution.sum(axis=1), tree.weight)


@pytest.mark.parametrize("prune", ["cost_complexity", "reduced_error"])
def test_pruned_trees_keep_their_constraints(prune):
    X, y = noisy_table(2, 300)
    model = DecisionTreeRegressor(monotonic_cst=[1, -1, 0], prune=prune, random_state=0).fit(X, y)
    assert_first_column_moves_answers_one_way(model, 1, np.random.default_rng(1), slack=0.0)


@pytest.mark.parametrize(
    ("learner", "parameters"),
    [
        (RandomForestClassifier, {"criterion": "information_gain"}),
        (RandomForestClassifier, {"max_leaf_nodes": 10}),
        (RandomForestRegressor, {"criterion": "absolute_error"}),
        (ExtraTreesRegressor, {"criterion": "poisson"}),
    ],
)
def test_forests_of_every_recipe_have_constraints(learner, parameters):
    X, y = noisy_table(1)
    y = target_for(learner, parameters.get("criterion", ""), y)
    model = learner(n_estimators=5, monotonic_cst=[1, 0, 0], random_state=0, **parameters).fit(X, y)
    assert_first_column_moves_answers_one_way(model, 1, np.random.default_rng(1), slack=1e-12)


@pytest.mark.parametrize(
    ("parameters", "y", "words"),
    [
        ({}, np.arange(30) % 3, "y has 3 classes"),
        ({"missing": "surrogate"}, np.arange(30) % 2, "missing is 'surrogate'"),
        ({"missing": "fractional"}, np.arange(30) % 2, "missing is 'fractional'"),
        ({"smoothing": "laplace"}, np.arange(30) % 2, "smoothing=None"),
        ({"monotonic_cst": [2, 0, 0]}, np.arange(30) % 2, "array-like of -1, 0 or 1, but 2 for column"),
        ({"monotonic_cst": [1, 0]}, np.arange(30) % 2, "has shape 2 but the input data X has 3 features"),
    ],
)
def test_what_cannot_be_constrained_is_named(parameters, y, words):
    X = noisy_table(0, 30)[0]
    with pytest.raises(ValueError, match=words):
        DecisionTreeClassifier(**{"monotonic_cst": [1, 0, 0], **parameters}).fit(X, y)


@pytest.mark.parametrize("limit", [0.003, 0.008, 0.02])
@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_the_least_decrease_is_that_of_scikit_learn(kind, limit):
    X, y = noisy_table(3, 300)
    y = y if kind == "Regressor" else y > 0.0
    weights = np.random.default_rng(4).random(len(y)) + 0.5  # so that columns do not tie
    ours, theirs = globals()[f"DecisionTree{kind}"], getattr(sklearn_tree, f"DecisionTree{kind}")
    model = ours(min_impurity_decrease=limit).fit(X, y, weights)
    peer = theirs(min_impurity_decrease=limit, random_state=0).fit(X, y, weights)
    assert model.get_n_leaves() == peer.get_n_leaves() > 1
    np.testing.assert_allclose(np.sort(model.tree_.impurity), np.sort(peer.tree_.impurity), atol=1e-9)


def test_forests_have_a_least_decrease():
    X, y = noisy_table(3, 300)
    sizes = [
        RandomForestRegressor(n_estimators=3, min_impurity_decrease=limit, random_state=0).fit(X, y).apply(X).max()
        for limit in (0.0, 0.05, 100.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] == 0


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "gini"])
def test_plain_and_compiled_kernels_grow_the_same_tree(criterion, monkeypatch):
    learner = DecisionTreeClassifier if criterion in CLASSES else DecisionTreeRegressor
    X, y = noisy_table(0)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    trees = []
    for form in ("plain", "compiled"):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        model = learner(criterion=criterion, monotonic_cst=[1, -1, 0])
        trees.append(model.fit(X, target_for(learner, criterion, y)).tree_)
    for name in ("column", "threshold", "distribution", "impurity", "gain", "missing_branch"):
        np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))
