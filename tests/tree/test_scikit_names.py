"""The arrays of a tree under scikit-learn's names are those of scikit-learn's tree."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from treewright import DecisionTreeClassifier, DecisionTreeRegressor


def lines_of(tree, node=0):
    """The tree from a node on, in the order of its branches: figures that do not depend on how nodes are numbered."""
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    figures = (int(tree.n_node_samples[node]), round(float(tree.weighted_n_node_samples[node]), 9))
    impurity = round(float(tree.impurity[node]), 6)
    if left == right == -1:
        assert tree.feature[node] == -2
        return [(*figures, impurity)]
    split = (int(tree.feature[node]), round(float(tree.threshold[node]), 6))
    return [(*figures, impurity, *split), *lines_of(tree, left), *lines_of(tree, right)]


@pytest.mark.parametrize("depth", [1, 3])
def test_a_walk_through_the_tree_is_that_through_scikit_learns(depth):
    X, y = load_iris(return_X_y=True)
    ours = DecisionTreeClassifier(max_depth=depth).fit(X, y).tree_
    theirs = TheirClassifier(max_depth=depth, random_state=0).fit(X, y).tree_
    if depth == 1:  # deeper, two columns tie
        assert lines_of(ours)[0][:3] == lines_of(theirs)[0][:3]
    for name in ("node_count", "max_depth", "n_features", "n_outputs", "n_leaves"):
        assert getattr(ours, name) == getattr(theirs, name), name
    X, y = load_diabetes(return_X_y=True)
    weights = 1.0 + np.arange(len(y)) % 3
    ours = DecisionTreeRegressor(max_depth=depth).fit(X, y, weights).tree_
    theirs = TheirRegressor(max_depth=depth, random_state=0).fit(X, y, weights).tree_
    assert lines_of(ours) == lines_of(theirs)


def test_values_and_thresholds_are_those_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X = np.where(X > 0.08, np.nan, X)
    targets = {
        DecisionTreeClassifier: (TheirClassifier, [y > 150, np.column_stack([y > 150, y // 100])]),
        DecisionTreeRegressor: (TheirRegressor, [y, np.column_stack([y, np.sqrt(y)])]),
    }
    for learner, (theirs, forms) in targets.items():
        for target in forms:
            ours = learner(max_depth=1).fit(X, target).tree_
            other = theirs(max_depth=1).fit(X, target).tree_
            np.testing.assert_allclose(ours.value, other.value)
            np.testing.assert_allclose(ours.threshold, other.threshold)
            assert ours.max_n_classes == other.max_n_classes
            assert ours.missing_go_to_left[0] == other.missing_go_to_left[0]


def test_rows_reach_the_nodes_by_hand():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=4).fit(X, y).tree_
    reached = []
    for row in X:
        node = 0
        while tree.children_left[node] != -1:
            goes_left = row[tree.feature[node]] <= tree.threshold[node]
            node = tree.children_left[node] if goes_left else tree.children_right[node]
        reached.append(node)
    np.testing.assert_array_equal(tree.apply(X.astype(np.float32).astype(float)), tree.apply(X))
    np.testing.assert_array_equal(tree.apply(X), reached)
    np.testing.assert_array_equal(tree.predict(X), tree.predictions[reached])
    assert tree.decision_path(X).shape == (150, tree.node_count)


def test_a_tree_with_many_branches_has_no_left_child():
    table = {"colour": ["red", "green", "blue"]}
    tree = DecisionTreeClassifier(categorical="multiway").fit(table, ["a", "b", "c"]).tree_
    assert not hasattr(tree, "children_left")
    with pytest.raises(AttributeError, match="more than two branches; see first_child"):
        tree.children_right  # noqa: B018


@pytest.mark.parametrize("normalize", [False, True])
def test_importances_are_those_of_scikit_learn(normalize):
    X, y = load_diabetes(return_X_y=True)
    weights = 1.0 + np.arange(len(y)) % 3
    ours = DecisionTreeRegressor(max_depth=3).fit(X, y, weights).tree_
    theirs = TheirRegressor(max_depth=3, random_state=0).fit(X, y, weights).tree_
    found = ours.compute_feature_importances(normalize=normalize)
    np.testing.assert_allclose(found, theirs.compute_feature_importances(normalize=normalize), rtol=1e-9)
