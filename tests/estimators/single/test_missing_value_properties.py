"""What must hold for any table with missing values.

No part of a row is lost, and what tells nothing changes nothing.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from properties import examples
from treewright import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ObliviousTreeClassifier,
    OneRClassifier,
    cost_complexity_path,
    prune,
)
from treewright.engines.exact.engine import MIN_CELLS_FOR_THREADS
from treewright.table import read_like
from treewright.tree import SplitKind, Tree
from treewright.tree.descent import ReachedNodes, descend_rows

# A table without missing values is the same to all of these.
STRATEGIES = (
    "learned",
    "fractional",
    "every_value",
    "all_branches",
    "branch",
    "majority",
    "class_majority",
    "model",
)
CATEGORICAL = ("subset", "multiway", "one_vs_rest")

Rows = dict[str, list[Any]]


@st.composite
def tables(draw: st.DrawFn, with_missing: bool = True, least_rows: int = 4) -> tuple[Rows, list[str]]:
    """A number, a number of few values, a category and a switch, some of them missing; and two or three classes."""
    n_rows = draw(st.integers(least_rows, 30))
    seed = draw(st.integers(0, 2**32 - 1))
    share = draw(st.sampled_from([0.1, 0.3, 0.6])) if with_missing else 0.0
    n_classes = draw(st.integers(2, 3))
    random = np.random.default_rng(seed)
    columns = {
        "size": random.normal(size=n_rows).round(2).tolist(),
        "count": random.integers(0, 4, n_rows).astype(float).tolist(),
        "kind": random.choice(["ash", "elm", "fir", "oak"], n_rows).tolist(),
        "wet": random.choice([False, True], n_rows).tolist(),
    }
    table = {
        name: [
            None if is_missing else value for value, is_missing in zip(line, random.random(n_rows) < share, strict=True)
        ]
        for name, line in columns.items()
    }
    target = random.choice(["no", "perhaps", "yes"][:n_classes], n_rows).tolist()
    assume(len(set(target)) > 1)
    assume(all(any(value is not None for value in line) for line in table.values()))
    return table, target


def read(model: Any, table: Rows) -> np.ndarray:
    return read_like(table, model.tree_.columns, named=True, learner=type(model).__name__)


def reached(model: Any, table: Rows) -> ReachedNodes:
    return descend_rows(model.tree_, read(model, table))


def labels_of(model: Any, target: list[str]) -> np.ndarray:
    return np.array([model.tree_.target.classes.index(answer) for answer in target])


def arrays_of(tree: Tree) -> dict[str, np.ndarray]:
    return {
        field.name: getattr(tree, field.name)
        for field in fields(tree)
        if isinstance(getattr(tree, field.name), np.ndarray)
    }


def paths(tree: Tree) -> dict[tuple[str, ...], tuple[bool, float]]:
    """Each node by the tests on the way to it: whether it is a leaf, and its weight."""
    found = {}
    waiting = [((), tree.root)]
    while waiting:
        path, node = waiting.pop()
        found[path] = node.is_leaf, node.weight
        waiting.extend(((*path, str(test)), child) for test, child in zip(node.tests, node.children, strict=True))
    return found


def same_tree(one: Tree, other: Tree) -> bool:
    """Do both ask the same, with the same weights but for rounding?"""
    if paths(one).keys() != paths(other).keys():
        return False
    return np.allclose([weight for _, weight in paths(one).values()], [weight for _, weight in paths(other).values()])


def is_nested(smaller: Tree, larger: Tree) -> bool:
    """Is the smaller tree the larger one with some of its nodes made leaves?"""
    above, below = paths(larger), paths(smaller)
    return all(
        path in above and weight == above[path][1] and (is_leaf or not above[path][0])
        for path, (is_leaf, weight) in below.items()
    )


@examples(60)
@given(
    tables(),
    st.sampled_from(["fractional", "every_value"]),
    st.sampled_from(CATEGORICAL),
    st.sampled_from(["gini", "information_gain", "gain_ratio"]),
)
def test_the_parts_of_a_row_add_up_to_the_row(rows, strategy, categorical, criterion):
    table, target = rows
    model = DecisionTreeClassifier(missing=strategy, categorical=categorical, criterion=criterion).fit(table, target)
    tree = model.tree_
    at = reached(model, table)
    assert (tree.kind[at.nodes] == SplitKind.LEAF).all()
    assert (at.fractions > 0.0).all()
    assert np.bincount(at.rows, at.fractions) == pytest.approx(1.0, abs=1e-9)
    assert tree.weight[tree.kind == SplitKind.LEAF].sum() == pytest.approx(len(target), abs=1e-9)
    inner = np.flatnonzero(tree.n_children)
    below = np.bincount(tree.parent[1:], tree.weight[1:], minlength=tree.n_nodes)
    assert below[inner] == pytest.approx(tree.weight[inner], abs=1e-9)


@examples(60)
@given(tables(), st.sampled_from(["fractional", "every_value", "all_branches"]), st.sampled_from(CATEGORICAL))
def test_rows_land_where_growing_put_them(rows, strategy, categorical):
    table, target = rows
    model = DecisionTreeClassifier(missing=strategy, categorical=categorical, max_depth=5).fit(table, target)
    tree = model.tree_
    at = reached(model, table)
    found = np.zeros_like(tree.distribution)
    parts = np.ones_like(at.fractions) if strategy == "all_branches" else at.fractions
    np.add.at(found, (at.nodes, labels_of(model, target)[at.rows]), parts)
    leaf = tree.kind == SplitKind.LEAF
    assert found[leaf] == pytest.approx(tree.distribution[leaf], abs=1e-9)


@examples(60)
@given(
    tables(),
    st.sampled_from(["fractional", "every_value", "all_branches"]),
    st.sampled_from([ObliviousTreeClassifier(max_depth=4), OneRClassifier(min_bucket=2), C45Classifier(prune=None)]),
)
def test_no_part_of_a_row_is_lost_in_other_learners(rows, strategy, learner):
    table, target = rows
    tree = learner.set_params(missing=strategy).fit(table, target).tree_
    at = reached(learner, table)
    assert (tree.kind[at.nodes] == SplitKind.LEAF).all()
    assert np.bincount(at.rows, at.fractions) == pytest.approx(1.0, abs=1e-6)
    found = np.zeros_like(tree.distribution)
    parts = np.ones_like(at.fractions) if strategy == "all_branches" else at.fractions
    np.add.at(found, (at.nodes, labels_of(learner, target)[at.rows]), parts)
    leaf = tree.kind == SplitKind.LEAF
    assert found[leaf] == pytest.approx(tree.distribution[leaf], abs=1e-6)


@examples(40)
@given(tables(), st.sampled_from(CATEGORICAL))
def test_the_medians_of_a_tree_are_those_of_the_parts_that_end_there(rows, categorical):
    table, _ = rows
    numbers = np.arange(len(table["size"]), dtype=float) ** 2 % 11
    learner = DecisionTreeRegressor(missing="every_value", criterion="absolute_error", categorical=categorical)
    tree = learner.fit(table, numbers).tree_
    at = reached(learner, table)
    for node in np.unique(at.nodes):
        here = at.nodes == node
        parts, ends = at.fractions[here], numbers[at.rows[here]]
        assert parts.sum() == pytest.approx(tree.weight[node], abs=1e-9)
        distances = {answer: (parts * np.abs(ends - answer)).sum() for answer in [*ends, tree.distribution[node, 0]]}
        assert distances[tree.distribution[node, 0]] == pytest.approx(min(distances.values()), abs=1e-9)
        assert tree.impurity[node] * tree.weight[node] == pytest.approx(min(distances.values()), abs=1e-9)


@examples(30)
@given(tables(), st.sampled_from(["fractional", "every_value"]))
def test_rows_of_a_regression_tree_land_where_growing_put_them(rows, strategy):
    table, _ = rows
    numbers = np.arange(len(table["size"]), dtype=float) % 7
    model = DecisionTreeRegressor(missing=strategy).fit(table, numbers)
    tree = model.tree_
    at = reached(model, table)
    weight = np.bincount(at.nodes, at.fractions, minlength=tree.n_nodes)
    total = np.bincount(at.nodes, at.fractions * numbers[at.rows], minlength=tree.n_nodes)
    leaf = (tree.kind == SplitKind.LEAF) & (tree.rows > 0)
    assert weight[leaf] == pytest.approx(tree.weight[leaf], abs=1e-9)
    assert total[leaf] == pytest.approx(tree.weight[leaf] * tree.distribution[leaf, 0], abs=1e-8)


NO_FILLING = ("fractional", "learned", "every_value", "all_branches", "branch", "surrogate")
MANY_LEARNERS = (
    *(DecisionTreeClassifier(categorical=categorical, max_depth=5) for categorical in CATEGORICAL),
    *(ObliviousTreeClassifier(categorical=categorical, max_depth=4) for categorical in ("subset", "one_vs_rest")),
    OneRClassifier(min_bucket=2),
)


@examples(60)
@given(tables(), st.sampled_from(NO_FILLING), st.sampled_from(MANY_LEARNERS))
def test_a_column_of_nothing_but_missing_values_changes_nothing(rows, strategy, learner):
    table, target = rows
    learner.set_params(missing=strategy)
    without = learner.fit(table, target).tree_
    for place in (0, 2, 4):
        names = list(table)
        names.insert(place, "empty")
        filled_up = {name: table.get(name, [None] * len(target)) for name in names}
        with_it = learner.fit(filled_up, target).tree_
        assert with_it.to_dict() == without.to_dict()


@examples(30)
@given(tables(), st.integers(0, 4))
def test_a_column_of_nothing_but_missing_values_changes_nothing_in_c45(rows, place):
    table, target = rows
    without = C45Classifier(min_samples_leaf=1).fit(table, target)
    names = list(table)
    names.insert(place, "empty")
    filled_up = {name: table.get(name, [None] * len(target)) for name in names}
    with_it = C45Classifier(min_samples_leaf=1).fit(filled_up, target)
    assert with_it.tree_.to_dict() == without.tree_.to_dict()


@examples(40)
@given(
    tables(with_missing=False),
    st.sampled_from(CATEGORICAL),
    st.sampled_from(["gini", "information_gain", "gain_ratio"]),
)
def test_without_missing_values_all_strategies_grow_the_same_tree(rows, categorical, criterion):
    table, target = rows
    models = {
        strategy: DecisionTreeClassifier(missing=strategy, categorical=categorical, criterion=criterion).fit(
            table, target
        )
        for strategy in STRATEGIES
    }
    for strategy, model in models.items():
        assert same_tree(model.tree_, models["learned"].tree_), strategy
        assert np.array_equal(model.predict_proba(table), models["learned"].predict_proba(table))


@examples(20)
@given(tables(with_missing=False))
def test_without_missing_values_all_strategies_grow_the_same_regression_tree(rows):
    table, _ = rows
    numbers = np.array(table["size"]) * 2.0 + np.array(table["count"])
    models = [DecisionTreeRegressor(missing=strategy).fit(table, numbers) for strategy in STRATEGIES]
    for model in models[1:]:
        assert paths(model.tree_).keys() == paths(models[0].tree_).keys()
        assert model.predict(table) == pytest.approx(models[0].predict(table), abs=1e-12)


@pytest.mark.slow
@examples(30)
@given(tables(with_missing=False), st.sampled_from(["subset", "one_vs_rest"]))
def test_without_missing_values_all_strategies_grow_the_same_oblivious_tree(rows, categorical):
    table, target = rows
    models = [
        ObliviousTreeClassifier(missing=strategy, categorical=categorical, max_depth=4).fit(table, target)
        for strategy in (*STRATEGIES, "surrogate")
    ]
    for model in models[1:]:
        assert same_tree(model.tree_, models[0].tree_)
        assert np.array_equal(model.predict_proba(table), models[0].predict_proba(table))


@pytest.mark.parametrize("strategy", ["fractional", "learned"])
def test_the_tree_does_not_depend_on_the_number_of_threads(strategy):
    n_columns = 8
    n_rows = MIN_CELLS_FOR_THREADS // n_columns + 1
    random = np.random.default_rng(4)
    X = random.normal(size=(n_rows, n_columns))
    X[:, 4:] = random.integers(0, 12, (n_rows, 4))
    y = (X[:, 0] + 0.3 * X[:, 4] > 1.5) ^ (random.random(n_rows) < 0.1)
    X[random.random(X.shape) < 0.1] = np.nan
    trees = [
        DecisionTreeClassifier(missing=strategy, max_depth=7, categorical_features=[5, 6], n_jobs=n_jobs)
        .fit(X, y)
        .tree_
        for n_jobs in (1, 2)
    ]
    one, two = (arrays_of(tree) for tree in trees)
    assert trees[0].n_leaves > 64
    for name, array in one.items():
        assert np.array_equal(array, two[name], equal_nan=array.dtype.kind == "f"), name


def repeat_rows(table: Rows, target: list[str], weights: list[int]) -> tuple[Rows, list[str]]:
    order = [row for row, weight in enumerate(weights) for _ in range(weight)]
    return {name: [line[row] for row in order] for name, line in table.items()}, [target[row] for row in order]


@examples(40)
@given(tables(), st.sampled_from(["fractional", "every_value", "all_branches", "learned", "branch"]), st.data())
def test_a_weight_of_two_is_the_row_twice(rows, strategy, data):
    # A single row is pure, so a least of two rows to split decides nothing as long as rows are whole. Parts of rows
    # count as parts whatever they weigh: halves of two rows are one row and stay a leaf, halves of the same rows
    # taken twice are two rows and may be split. So there only the first split is compared.
    table, target = rows
    weights = data.draw(st.lists(st.sampled_from([1, 2, 4]), min_size=len(target), max_size=len(target)))
    whole = strategy in ("learned", "branch")
    learner = DecisionTreeClassifier(missing=strategy, max_depth=None if whole else 1)
    weighted = learner.fit(table, target, sample_weight=weights).tree_
    repeated = learner.fit(*repeat_rows(table, target, weights)).tree_
    assert same_tree(repeated, weighted)
    assert repeated.gain == pytest.approx(weighted.gain, abs=1e-12)
    assert repeated.distribution == pytest.approx(weighted.distribution, abs=1e-9)


@examples(40)
@given(tables(least_rows=14), st.data())
def test_a_weight_of_two_is_the_row_twice_in_c45(rows, data):
    # C4.5 asks for weights, not for rows. Only "too many categories" are a share of the rows, 3 in 10, and so the
    # four categories of the table need fourteen of them.
    table, target = rows
    weights = data.draw(st.lists(st.sampled_from([1, 2, 4]), min_size=len(target), max_size=len(target)))
    weighted = C45Classifier().fit(table, target, sample_weight=weights).tree_
    repeated = C45Classifier().fit(*repeat_rows(table, target, weights)).tree_
    assert same_tree(repeated, weighted)
    assert repeated.distribution == pytest.approx(weighted.distribution, abs=1e-9)


GROWN = (
    ("learned", DecisionTreeClassifier),
    ("fractional", DecisionTreeClassifier),
    ("every_value", DecisionTreeClassifier),
    ("fractional", CARTClassifier),
)


@examples(40)
@given(
    tables(least_rows=12),
    st.sampled_from(GROWN),
    st.sampled_from(["cost_complexity", "error_based", "pessimistic", "minimum_description_length", "collapse"]),
)
def test_pruning_never_enlarges_a_tree_with_missing_values(rows, grown, method):
    table, target = rows
    strategy, learner = grown
    full = learner(missing=strategy, prune=None).fit(table, target)
    afterwards = prune(full, method)
    assert is_nested(afterwards.tree_, full.tree_)
    price = {"ccp_alpha": 0.0} if method == "cost_complexity" else {}
    while_fitting = learner(missing=strategy, prune=method, **price).fit(table, target)
    assert while_fitting.tree_.to_dict() == afterwards.tree_.to_dict()
    assert while_fitting.tree_.n_nodes <= full.tree_.n_nodes


@examples(40)
@given(tables(least_rows=12), st.sampled_from([None, "error_based", "reduced_error"]), st.booleans())
def test_c45_never_ends_with_more_nodes_than_it_grew(rows, method, raising):
    table, target = rows
    # Held-back rows grow another tree, so that one is only limited by its rows.
    learner = C45Classifier(prune=method, subtree_raising=raising, min_samples_leaf=1).fit(table, target)
    plain = C45Classifier(prune=None, min_samples_leaf=1).fit(table, target)
    if method == "error_based":
        assert learner.tree_.n_nodes <= plain.tree_.n_nodes
    tree = learner.tree_
    assert tree.weight[tree.kind == SplitKind.LEAF].sum() == pytest.approx(tree.weight[0], abs=1e-6)
    assert learner.predict_proba(table).sum(axis=1) == pytest.approx(1.0, abs=1e-9)


@examples(30)
@given(
    tables(least_rows=12),
    st.sampled_from(["learned", "fractional", "every_value"]),
    st.sampled_from(["error", "impurity"]),
)
def test_trees_with_missing_values_are_nested_along_the_price_of_a_leaf(rows, strategy, risk):
    table, target = rows
    model = DecisionTreeClassifier(missing=strategy).fit(table, target)
    path = cost_complexity_path(model, risk=risk)
    assert (np.diff(path.ccp_alphas) > 0.0).all()
    assert (np.diff(path.leaves) < 0).all()
    assert path.leaves[-1] == 1
    before = model.tree_
    for ccp_alpha, leaves in zip(path.ccp_alphas, path.leaves, strict=True):
        smaller = prune(model, "cost_complexity", ccp_alpha=ccp_alpha, risk=risk).tree_
        assert smaller.n_leaves == leaves
        assert is_nested(smaller, before)
        before = smaller


def wrong_weight(model: Any, table: Rows, target: list[str]) -> float:
    """The weight of all fractional instances that end in a leaf of another class."""
    at = reached(model, table)
    return float(
        at.fractions[model.tree_.predictions[at.nodes].argmax(axis=1) != labels_of(model, target)[at.rows]].sum()
    )


@examples(40)
@given(tables(least_rows=16), st.sampled_from(["learned", "fractional", "every_value", "all_branches", "branch"]))
def test_reduced_error_pruning_is_never_worse_on_fractional_instances(rows, strategy):
    # Pruning counts the errors of fractions in their leaves, not those of the predictions, which join the fractions.
    table, target = rows
    half = len(target) // 2
    assume(len(set(target[:half])) > 1 and set(target[half:]) <= set(target[:half]))
    grown_from, validation = (
        {name: line[at] for name, line in table.items()} for at in (slice(half), slice(half, None))
    )
    assume(all(any(value is not None for value in line) for line in grown_from.values()))
    model = DecisionTreeClassifier(missing=strategy, max_depth=5).fit(grown_from, target[:half])
    smaller = prune(model, "reduced_error", X=validation, y=target[half:])
    assert is_nested(smaller.tree_, model.tree_)
    assert wrong_weight(smaller, validation, target[half:]) <= wrong_weight(model, validation, target[half:]) + 1e-6


def test_raising_leaves_surrogates_with_their_nodes() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = DecisionTreeClassifier(missing="surrogate").fit(X, y)
    smaller = prune(model, "error_based", X=X, y=y).tree_
    assert smaller.n_nodes < model.tree_.n_nodes
    assert len(smaller.surrogates.column) == smaller.n_nodes
    for node in smaller:
        if not node.is_leaf:
            assert sum(child.weight for child in node.children) == pytest.approx(node.weight)


@pytest.mark.parametrize("form", ["plain", "compiled"])
def test_c45_can_ask_whether_there_is_a_value_at_all(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEWRIGHT_FORM", form)
    missing = float("nan")
    table = {"x": [missing, missing, missing, 5, 5, 5], "z": [1, 2, 3, 1, 2, 3]}
    model = C45Classifier(missing="branch", prune=None).fit(table, list("pppqqq"))
    assert [str(test) for test in model.tree_.root.tests] == ["x is known", "x is missing"]


@pytest.mark.parametrize("unseen", ["as_missing", "majority", "stop"])
def test_an_ordered_surrogate_cannot_tell_a_category_it_never_saw(unseen: str) -> None:
    grades = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    a = [1.0] * 6 + [2.0] * 10
    o = ["low"] * 6 + ["high"] * 10
    frame = pd.DataFrame({"a": a, "o": pd.Series(o, dtype=grades)})
    model = DecisionTreeClassifier(missing="surrogate", max_depth=1, unseen=unseen).fit(frame, ["q"] * 6 + ["p"] * 10)
    new = pd.DataFrame({"a": [np.nan] * 3, "o": ["low", "strange", None]})
    assert model.predict(new).tolist() == ["q", "p", "p"]


def test_parts_of_rows_add_up_whatever_the_weights() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.3] = np.nan
    weights = np.where(rng.random(200) < 0.5, 1e6, 1e-3)
    model = DecisionTreeClassifier(missing="fractional").fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)


def test_an_unseen_category_does_not_follow_the_rows_without_a_value() -> None:
    table = {"c": [None] * 9 + ["u", "v", "u", "v"]}
    target = ["gap"] * 9 + ["known"] * 4
    for categorical in ("multiway", "subset"):
        model = DecisionTreeClassifier(missing="branch", unseen="majority", categorical=categorical).fit(table, target)
        assert model.predict({"c": ["new", None]}).tolist() == ["known", "gap"]


def test_reduced_error_does_not_depend_on_the_unit_of_the_target() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=400)
    sizes = {DecisionTreeRegressor(prune="reduced_error").fit(X, y * unit).tree_.n_leaves for unit in (1.0, 1e-6, 1e6)}
    assert len(sizes) == 1


def test_poisson_trees_are_pruned_although_a_fold_has_no_counts() -> None:
    X = np.arange(100.0)[:, None]
    y = np.zeros(100)
    y[7] = 1.0
    model = DecisionTreeRegressor(criterion="poisson", prune="cost_complexity").fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_the_impurities_of_a_pruned_tree_keep_their_unit() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = DecisionTreeClassifier().fit(X, y)
    tree = prune(model, "error_based", X=X, y=y).tree_
    shares = tree.distribution / tree.distribution.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(tree.impurity, (shares * (1 - shares)).sum(axis=1), atol=1e-12)
