"""Shapley values against their definition: all sets of columns, on the tree itself."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from treewright import (
    AdaBoostRegressor,
    BaggingClassifier,
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ObliviousTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSubspaceClassifier,
    ShapValues,
    VotingClassifier,
    shap_values,
)
from treewright.estimators.base import read_rows
from treewright.tree.descent import fractions_of_branches


def mixed_rows(n_rows: int = 60, seed: int = 0) -> tuple[dict[str, list[Any]], np.ndarray, np.ndarray]:
    """Numbers and categories with missing values, two numbers to predict from, three classes and a number."""
    draw = np.random.default_rng(seed)
    a, b = draw.normal(size=n_rows).round(1), draw.normal(size=n_rows).round(1)
    c = draw.choice(["red", "green", "blue", "grey"], n_rows)
    d = draw.choice(["yes", "no"], n_rows)
    y = a * (c == "red") + b * (d == "yes") + (c == "blue") + draw.normal(0, 0.2, n_rows)
    table = {
        "a": [None if draw.random() < 0.15 else float(x) for x in a],
        "b": [None if draw.random() < 0.1 else float(x) for x in b],
        "c": [None if draw.random() < 0.15 else str(x) for x in c],
        "d": [str(x) for x in d],
    }
    return table, np.digitize(y, [-0.4, 0.6]), y


def game_of(tree: Any, row: np.ndarray, background: np.ndarray | None) -> dict[frozenset[int], np.ndarray]:
    """The prediction of a tree for each set of known columns.

    A split on a known column follows the row. Any other split follows all branches by the fractions of training rows,
    or the branch of a background row.
    """
    own, stops = (found[0] for found in fractions_of_branches(tree, row[None]))
    hidden = [None] if background is None else list(fractions_of_branches(tree, background)[0])

    def worth(known: frozenset[int], others: np.ndarray | None, node: int = 0) -> np.ndarray:
        is_known = tree.column[node] in known
        if tree.n_children[node] == 0 or (is_known and stops[node]):
            return tree.predictions[node]
        children = range(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
        if is_known or others is not None:
            parts = [(own if is_known else others)[child] for child in children]
        else:
            parts = [tree.weight[child] / sum(tree.weight[one] for one in children) for child in children]
        return sum(part * worth(known, others, child) for part, child in zip(parts, children, strict=True) if part)

    columns = range(len(tree.columns))
    sets = [frozenset(one) for size in range(len(columns) + 1) for one in itertools.combinations(columns, size)]
    return {known: np.mean([worth(known, others) for others in hidden], axis=0) for known in sets}


def shapley_by_definition(game: dict[frozenset[int], np.ndarray], n_columns: int) -> np.ndarray:
    """The mean effect of knowing a column, over all orders in which columns become known: [column, output]."""
    values = []
    for column in range(n_columns):
        total = 0.0
        for known, worth in game.items():
            if column not in known:
                size = len(known)
                share = math.factorial(size) * math.factorial(n_columns - size - 1) / math.factorial(n_columns)
                total = total + share * (game[known | {column}] - worth)
        values.append(total)
    return np.array(values)


def interactions_by_definition(game: dict[frozenset[int], np.ndarray], n_columns: int) -> np.ndarray:
    """Half of the Shapley interaction index of each pair (Lundberg and others 2020), and the rest of each column."""
    values = np.zeros((n_columns, n_columns, len(game[frozenset()])))
    for i, j in itertools.permutations(range(n_columns), 2):
        for known, worth in game.items():
            if not known & {i, j}:
                size = len(known)
                share = math.factorial(size) * math.factorial(n_columns - size - 2) / math.factorial(n_columns - 1) / 2
                values[i, j] += share * (game[known | {i, j}] - game[known | {i}] - game[known | {j}] + worth)
    for i, alone in enumerate(shapley_by_definition(game, n_columns)):
        values[i, i] = alone - values[i].sum(axis=0)
    return values


SINGLE_TREES = {
    "gini": DecisionTreeClassifier(max_depth=5),
    "fractional instances": DecisionTreeClassifier(missing="fractional", max_depth=4),
    "multiway": DecisionTreeClassifier(categorical="multiway", criterion="information_gain", max_depth=4),
    "stop at unseen": DecisionTreeClassifier(categorical="multiway", unseen="stop", max_depth=4),
    "surrogates": CARTClassifier(missing="surrogate", prune=None, max_depth=4),
    "imputation": DecisionTreeClassifier(missing="model", max_depth=4),
    "own branch": DecisionTreeClassifier(missing="branch", max_depth=4),
    "all branches": DecisionTreeClassifier(missing="all_branches", categorical="multiway", max_depth=3),
    "C4.5": C45Classifier(),
    "numbers": DecisionTreeRegressor(max_depth=5),
    "oblivious": ObliviousTreeRegressor(max_depth=3),
}


def new_rows(table: dict[str, list[Any]]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Rows to explain, with missing and unseen values, and background rows."""
    rows = {name: list(cells[:4]) for name, cells in table.items()}
    rows["c"][0], rows["c"][1], rows["a"][2] = "never seen", None, None
    return rows, {name: cells[5:9] for name, cells in table.items()}


@pytest.mark.parametrize("with_background", [False, True])
@pytest.mark.parametrize("name", SINGLE_TREES)
def test_values_of_a_tree_are_those_of_the_definition(name: str, with_background: bool) -> None:
    table, classes, numbers = mixed_rows()
    model = clone(SINGLE_TREES[name]).fit(table, classes if is_classifier(SINGLE_TREES[name]) else numbers)
    new, rest = new_rows(table)
    found = shap_values(model, new, background=rest if with_background else None)
    pairs = shap_values(model, new, background=rest if with_background else None, interactions=True)
    background = read_rows(model, rest) if with_background else None
    for number, row in enumerate(read_rows(model, new)):
        game = game_of(model.tree_, row, background)
        expected = shapley_by_definition(game, 4)
        np.testing.assert_allclose(found.values[number].reshape(expected.shape), expected, atol=1e-12)
        expected = interactions_by_definition(game, 4)
        np.testing.assert_allclose(pairs.values[number].reshape(expected.shape), expected, atol=1e-12)
    assert_adds_up(model, new, found)
    assert_adds_up(model, new, pairs)


def assert_adds_up(model: Any, rows: Any, found: ShapValues) -> None:
    """The base value and all contributions are the prediction."""
    if hasattr(model, "decision_function"):
        predicted = model.decision_function(rows)
    else:
        predicted = model.predict_proba(rows) if is_classifier(model) else model.predict(rows)
    np.testing.assert_allclose(found.predictions, predicted, rtol=1e-12, atol=1e-12)


ENSEMBLES = {
    "forest of three classes": RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0),
    "forest of numbers": RandomForestRegressor(n_estimators=5, random_state=0),
    "extra trees": ExtraTreesRegressor(n_estimators=5, max_depth=6, random_state=0),
    "forest tree by tree": RandomForestClassifier(n_estimators=3, missing="fractional", max_depth=4, random_state=0),
    "boosting of classes": GradientBoostingClassifier(n_estimators=5, min_samples_leaf=2, random_state=0),
    "boosting of numbers": GradientBoostingRegressor(n_estimators=5, min_samples_leaf=2, random_state=0),
    "bagging": BaggingClassifier(n_estimators=3, random_state=0),
    "random subspaces": RandomSubspaceClassifier(n_estimators=3, random_state=0),
}


def trees_of(model: Any) -> list[tuple[Any, np.ndarray, int]]:
    """The trees of an ensemble, the columns of the table that each tests, and the output to which each adds."""
    if hasattr(model, "forests_"):
        origin = model.target_encoding_.origin
        return [(tree, origin, output) for output, forest in enumerate(model.forests_) for tree in forest]
    if hasattr(model, "forest_"):
        return [(tree, np.arange(4), -1) for tree in model.forest_]
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    return [(member.tree_, places, -1) for member, places in pairs]


@pytest.mark.slow
@pytest.mark.parametrize("n_copies", [1, 6])  # few rows are walked, more are explained by tables
@pytest.mark.parametrize("with_background", [False, True])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_values_of_an_ensemble_are_those_of_its_trees(name: str, with_background: bool, n_copies: int) -> None:
    table, classes, numbers = mixed_rows(80)
    model = clone(ENSEMBLES[name]).fit(table, classes if is_classifier(ENSEMBLES[name]) else numbers)
    new, rest = new_rows(table)
    background = read_rows(model, rest) if with_background else None
    copies = {column: cells * n_copies for column, cells in new.items()}
    found = shap_values(model, copies, background=rest if with_background else None)
    pairs = shap_values(model, copies, background=rest if with_background else None, interactions=True)
    assert_adds_up(model, copies, found)
    np.testing.assert_allclose(pairs.values.sum(axis=2), found.values, atol=1e-12)
    weight = 1.0 if hasattr(model, "forests_") else 1.0 / len(model.estimators_)
    for number, row in enumerate(read_rows(model, new)):
        expected = np.zeros((4, found.values.shape[2] if found.values.ndim == 3 else 1))
        for tree, origin, output in trees_of(model):
            if hasattr(model, "forests_"):
                rows, others = model.target_encoding_.apply(row[None])[0], background
                others = None if others is None else model.target_encoding_.apply(others)
            else:
                rows, others = row[origin], None if background is None else background[:, origin]
            values = shapley_by_definition(game_of(tree, rows, others), len(tree.columns))
            for place, contributions in zip(origin, values, strict=True):
                expected[place, slice(None) if output < 0 else output] += weight * contributions.squeeze()
        for copy in range(n_copies):
            got = found.values[number + copy * 4].reshape(expected.shape)
            np.testing.assert_allclose(got, expected, atol=1e-12)


def test_values_do_not_depend_on_the_number_of_threads() -> None:
    draw = np.random.default_rng(1)
    X = draw.normal(size=(3000, 6))
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    for choices in ({}, {"background": X[:700]}, {"interactions": True}):
        one, two = (shap_values(model, X, n_jobs=n_jobs, **choices) for n_jobs in (1, 2))
        assert one.values.tobytes() == two.values.tobytes()
        assert one.base_values.tobytes() == two.base_values.tobytes()


def test_deep_trees_with_many_columns_on_a_path_add_up() -> None:
    draw = np.random.default_rng(2)
    X = draw.normal(size=(4000, 40))
    model = RandomForestRegressor(n_estimators=2, random_state=0).fit(X, X[:, :30].sum(axis=1))
    assert max(tree.depth for tree in model.forest_) > 16
    assert_adds_up(model, X[:30], shap_values(model, X[:30]))


def test_models_that_are_no_sum_of_trees_try_all_sets_of_columns() -> None:
    table, classes, numbers = mixed_rows()
    new, rest = new_rows(table)
    model = AdaBoostRegressor(n_estimators=4, random_state=0).fit(table, numbers)
    with pytest.raises(ValueError, match="needs background rows; give some training rows as background"):
        shap_values(model, new)
    found = shap_values(model, new, background=rest)
    np.testing.assert_allclose(found.predictions, model.predict(new), atol=1e-12)
    tree = DecisionTreeClassifier(max_depth=3)
    alone, voting = (
        clone(tree).fit(table, classes),
        VotingClassifier([("tree", tree)], voting="soft").fit(table, classes),
    )
    # The vote of a single tree is the prediction of this tree.
    np.testing.assert_allclose(
        shap_values(voting, new, background=rest).values, shap_values(alone, new, background=rest).values, atol=1e-12
    )


def test_an_unfitted_model_and_an_empty_background_get_one_sentence() -> None:
    table, classes, _ = mixed_rows()
    with pytest.raises(NotFittedError):
        shap_values(DecisionTreeClassifier(), table)
    model = DecisionTreeClassifier(max_depth=2).fit(table, classes)
    with pytest.raises(ValueError, match="a minimum of 1 is required"):
        shap_values(model, table, background={name: [] for name in table})


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(max_depth=3), RandomForestClassifier(n_estimators=3)])
def test_several_targets_have_an_output_each(learner: Any) -> None:
    draw = np.random.default_rng(3)
    X = draw.normal(size=(60, 3))
    Y = np.column_stack([X[:, 0] > 0, np.digitize(X[:, 1], [-0.5, 0.5])])
    found = shap_values(learner.fit(X, Y), X)
    np.testing.assert_allclose(found.predictions, np.hstack(learner.predict_proba(X)), atol=1e-12)
    assert found.output_names == ("y0 = 0", "y0 = 1", "y1 = 0", "y1 = 1", "y1 = 2")


def test_a_single_leaf_gives_its_value_to_no_column() -> None:
    found = shap_values(DecisionTreeRegressor().fit([[1], [2]], [5, 5]), [[1], [9]])
    assert found.values.tolist() == [[0.0], [0.0]]
    assert found.base_values.tolist() == [5.0, 5.0]
