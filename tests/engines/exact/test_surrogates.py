"""Surrogates, of splits in two and in many: their agreement counted row by row, and rows sent as they say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treewright import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier
from treewright.engines.missing_values import SURROGATE
from treewright.table import read_like
from treewright.table.column import Column, Kind
from treewright.tree import Node, SplitKind, Target, Tree
from treewright.tree.descent import descend_rows
from treewright.tree.grow import grow

COLUMNS = (
    Column("x", Kind.NUMERIC),
    Column("c", Kind.CATEGORICAL, tuple("abcd")),
    Column("d", Kind.CATEGORICAL, tuple("uvw")),
    Column("o", Kind.ORDERED, ("low", "mid", "high")),
)
MODES = ("multiway", "subset", "one_vs_rest")


@st.composite
def tables(draw):
    n_rows = draw(st.integers(4, 24))
    lines = []
    for size in (5, 4, 3, 3):
        cells = st.integers(0, size - 1).map(float) | st.just(math.nan)
        lines.append(draw(st.lists(cells, min_size=n_rows, max_size=n_rows)))
    target = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    weights = draw(st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=n_rows, max_size=n_rows))
    return np.array(lines).T.copy(), np.array(target), np.array(weights)


def grown(make_recipe, table, mode, **choices) -> Tree:
    values, target, weights = table
    recipe = make_recipe("gini", mode, strategy=int(SURROGATE), **choices)
    labels = target.astype(np.uint16)
    return grow(COLUMNS, values, Target("y", (0, 1, 2)), recipe=recipe, weights=weights, labels=labels, n_classes=3)


def branch_of(tree: Tree, node: int, value: float) -> int | None:
    """The branch that a node's own question tells."""
    if math.isnan(value):
        return None
    if tree.kind[node] == SplitKind.THRESHOLD:
        return int(value > tree.threshold[node])
    if tree.kind[node] == SplitKind.MULTIWAY:
        return int(value)
    return int(value not in tree.category_set(node))


def agreeing(line, ways, weights, groups) -> float:
    """The weight of rows that agree when each group of values goes where most of it goes."""
    total = 0.0
    for group in groups:
        by_way: dict[int, float] = {}
        for value, way, weight in zip(line, ways, weights, strict=True):
            if value in group:
                by_way[way] = by_way.get(way, 0.0) + weight
        total += max(by_way.values(), default=0.0)
    return total


def best_agreement(column: Column, line, ways, weights) -> float:
    """The most agreement of any threshold with two rows on each side, or of the categories; 0 if there is none."""
    values = sorted(set(line))
    if column.is_categorical:
        return agreeing(line, ways, weights, [{value} for value in values])
    best = 0.0
    for value in values[:-1]:
        sides = [{low for low in values if low <= value}, {high for high in values if high > value}]
        if min(sum(one in side for one in line) for side in sides) >= 2:
            best = max(best, agreeing(line, ways, weights, sides))
    return best


def branch_by(surrogate: Any, value: float) -> int | None:
    """The branch that a surrogate tells, from its tests as a user sees them."""
    for test, branch in zip(surrogate.tests, surrogate.branches, strict=True):
        met = {"in": lambda test=test: value in test.operand, "<=": lambda test=test: value <= test.operand}
        if not math.isnan(value) and met.get(test.relation, lambda test=test: value > test.operand)():
            return int(branch)
    return None


def check_node(node: Node, values, weights, rows: list[int]) -> dict[int, list[int]]:
    """Hold the surrogates of a node against a search through all; returns the rows of each branch."""
    tree, asked = node.tree, int(node.tree.column[node.index])
    ways = {row: branch_of(tree, node.index, values[row, asked]) for row in rows}
    known = [row for row in rows if ways[row] is not None]
    by_way = {way: sum(weights[row] for row in known if ways[row] == way) for way in range(len(node.children))}
    total, majority = sum(by_way.values()), max(by_way.values())
    assert node.missing_branch == next(way for way in by_way if by_way[way] == majority)
    expected = {}
    for place, column in enumerate(COLUMNS):
        both = [row for row in known if not math.isnan(values[row, place])]
        line = [values[row, place] for row in both]
        best = best_agreement(column, line, [ways[row] for row in both], [weights[row] for row in both])
        if place != asked and best > majority + 1e-9:
            expected[column.name] = best / total
    found = {surrogate.tests[0].column.name: surrogate for surrogate in node.surrogates}
    assert found.keys() == expected.keys()
    for name, surrogate in found.items():
        assert surrogate.agreement == pytest.approx(expected[name], abs=1e-9)
        share = majority / total
        assert surrogate.adjusted == pytest.approx((surrogate.agreement - share) / (1 - share), abs=1e-9)
        place = [column.name for column in COLUMNS].index(name)
        agrees = sum(weights[row] for row in known if branch_by(surrogate, values[row, place]) == ways[row])
        assert agrees / total == pytest.approx(surrogate.agreement, abs=1e-9)
    order = [surrogate.agreement for surrogate in node.surrogates]
    assert order == sorted(order, reverse=True)
    branches: dict[int, list[int]] = {way: [] for way in by_way}
    for row in rows:
        way = ways[row]
        for surrogate in node.surrogates if way is None else ():
            way = branch_by(surrogate, values[row, COLUMNS.index(surrogate.tests[0].column)])
            if way is not None:
                break
        branches[node.missing_branch if way is None else way].append(row)
    return branches


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_surrogates_are_the_best_of_all_and_rows_go_where_they_say(make_recipe, mode):
    @examples(80)
    @given(tables())
    def check(table):
        values, target, weights = table
        tree = grown(make_recipe, table, mode, max_depth=3)
        waiting = [(tree.root, list(range(len(target))))]
        while waiting:
            node, rows = waiting.pop()
            counts = [sum(weights[row] for row in rows if target[row] == label) for label in range(3)]
            assert node.distribution.tolist() == pytest.approx(counts)
            if not node.is_leaf:
                branches = check_node(node, values, weights, rows)
                waiting.extend((child, branches[way]) for way, child in enumerate(node.children))

    check()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_new_rows_go_where_training_put_the_same_rows(make_recipe, mode):
    @examples(40)
    @given(tables())
    def check(table):
        values, target, weights = table
        tree = grown(make_recipe, table, mode)
        reached = descend_rows(tree, values)
        found = np.zeros_like(tree.distribution)
        np.add.at(found, (reached.nodes, target), weights)
        leaf = tree.kind == SplitKind.LEAF
        assert found[leaf] == pytest.approx(tree.distribution[leaf])

    check()


def test_a_value_between_those_of_training_follows_the_threshold():
    table = {"height": [1, 1, 1, 2, 2, 2, None, None, None], "weight": [0, 0, 0, 10, 10, 10, 4, 6, 4]}
    model = DecisionTreeClassifier(missing="surrogate", max_depth=1).fit(table, list("aaabbbbab"))
    assert str(model.tree_.root.surrogates[0]) == "weight <= 5 (agrees 1.000, adjusted 1.000)"
    assert model.tree_.distribution.tolist() == [[4, 5], [3, 2], [1, 3]]


def big_table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of many and of few values, and categories more than a byte can tell; a fifth of all cells empty."""
    random = np.random.default_rng(8)
    state = random.integers(0, 4, n_rows)
    values = np.column_stack(
        [
            state + random.normal(0.0, 0.7, n_rows),
            np.round(2 * state + random.normal(0.0, 2.0, n_rows)),
            np.where(random.random(n_rows) < 0.7, state, random.integers(0, 4, n_rows)),
            state * 90 + random.integers(0, 90, n_rows),
        ]
    )
    values[random.random(values.shape) < 0.2] = np.nan
    return values, np.where(random.random(n_rows) < 0.9, state, 0)


@pytest.mark.parametrize("mode", MODES)
def test_both_forms_of_the_kernels_and_any_number_of_threads_find_the_same(mode, monkeypatch):
    values, target = big_table(600)
    monkeypatch.setattr("treewright.engines.exact.engine.MIN_CELLS_FOR_THREADS", 1)
    trees = []
    for form, n_jobs in (("plain", 1), ("compiled", 1), ("compiled", 2)):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        learner = DecisionTreeClassifier(
            missing="surrogate", categorical=mode, categorical_features=[2, 3], max_depth=4, n_jobs=n_jobs
        )
        trees.append(learner.fit(values, target).tree_)
    assert trees[0].to_dict() == trees[1].to_dict() == trees[2].to_dict()
    assert any(node.surrogates for node in trees[0])


@pytest.mark.parametrize(
    "learner",
    [
        C45Classifier(missing="surrogate"),
        C45Classifier(missing="surrogate", prune="reduced_error"),
        C45Classifier(missing="surrogate", variant="c4.5r8"),
        ID3Classifier(missing="surrogate"),
        DecisionTreeClassifier(missing="surrogate", categorical="multiway", max_leaf_nodes=12),
        DecisionTreeRegressor(missing="surrogate", categorical="multiway", criterion="absolute_error", max_depth=4),
    ],
    ids=str,
)
def test_learners_with_a_branch_per_category_ask_surrogates(learner):
    values, target = big_table(500)
    table = {"c": [None if math.isnan(value) else f"c{value:g}" for value in values[:, 2]]}
    table["big"] = [None if math.isnan(value) else f"b{value // 30:g}" for value in values[:, 3]]
    if not isinstance(learner, ID3Classifier):
        table |= {"x": values[:, 0].tolist(), "z": values[:, 1].tolist()}
    model = learner.fit(table, target)
    tree = model.tree_
    assert any(node.surrogates and node.kind is SplitKind.MULTIWAY for node in tree)
    assert (tree.missing_branch >= 0).all()
    majority = max(np.bincount(target)) / len(target)
    score = model.score(table, target)
    assert score > (majority + 0.1 if hasattr(model, "classes_") else 0.3)
    reached = descend_rows(tree, read_like(table, tree.columns, named=True, learner=""))
    assert len(reached.nodes) == len(target)


def test_a_tree_refuses_surrogates_that_lead_nowhere(make_recipe):
    random = np.random.default_rng(1)
    state = random.integers(0, 4, 80)
    values = np.column_stack([state + random.normal(size=80), state, np.minimum(state, 2), np.minimum(state, 2)])
    tree = grown(make_recipe, (values, np.minimum(state, 2), np.ones(80)), "multiway", max_depth=1)
    found = tree.surrogates
    assert (found.column[0] >= 0).sum() == 3
    for field, wrong, match in (
        ("column", 7, "a column that the tree does not have"),
        ("low_branch", 9, "a branch that its node does not have"),
        ("high_branch", -2, "a branch that its node does not have"),
        ("map_start", 10**6, "extends beyond"),
    ):
        arrays = {name: np.array(getattr(found, name)) for name in found.__dataclass_fields__}
        arrays[field][0, :3] = wrong
        with pytest.raises(ValueError, match=match):
            tree.replace(surrogates=type(found)(**arrays))
