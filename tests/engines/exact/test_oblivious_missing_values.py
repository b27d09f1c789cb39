"""Oblivious trees with missing values: each level is followed in plain Python, and held against all other questions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treewright.engines.missing_values import ALL_BRANCHES, EVERY_VALUE, FRACTIONAL, LEARNED, OWN_BRANCH, SURROGATE
from treewright.insight import measures
from treewright.table.column import Column, Kind
from treewright.tree import SplitKind, Target
from treewright.tree.descent import descend_rows
from treewright.tree.grow import grow

STRATEGIES = {
    "learned": LEARNED,
    "fractional": FRACTIONAL,
    "every_value": EVERY_VALUE,
    "all_branches": ALL_BRANCHES,
    "branch": OWN_BRANCH,
    "surrogate": SURROGATE,
}
NUMBERS = ("squared_error", "poisson")
LEFT_OUT = ("fractional", "all_branches", "surrogate")
COLUMNS = (
    Column("x", Kind.NUMERIC),
    Column("c", Kind.CATEGORICAL, tuple("abcd")),
    Column("o", Kind.ORDERED, ("low", "mid", "high")),
)

# A row in a node with a weight.
Entry = tuple[int, int, float]


@st.composite
def tables(draw):
    n_rows = draw(st.integers(4, 14))
    lines = []
    for size in (5, 4, 3):
        cells = st.integers(0, size - 1).map(float) | st.just(math.nan)
        lines.append(draw(st.lists(cells, min_size=n_rows, max_size=n_rows)))
    target = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    weights = draw(st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=n_rows, max_size=n_rows))
    return np.array(lines).T.copy(), np.array(target), np.array(weights)


def disorder(entries: list[tuple[int, float]], target, criterion) -> float:
    """Impurity times weight of rows with weights, by the formulas of the field."""
    weight = sum(part for _, part in entries)
    if weight <= 0.0:
        return 0.0
    if criterion in NUMBERS:
        mean = sum(part * target[row] for row, part in entries) / weight
        if criterion == "poisson":
            return sum(part * target[row] * math.log(target[row] / mean) for row, part in entries)
        return sum(part * (target[row] - mean) ** 2 for row, part in entries)
    counts = [sum(part for row, part in entries if target[row] == k) for k in range(3)]
    return weight * {"gini": measures.gini, "information_gain": measures.entropy}[criterion](counts)


def parts_of(entries, sides, missing, values_on, home):
    """Which part of each entry goes to each side, by the strategy: {0: part, 1: part}, and {} if it is left out."""
    spread = {}
    for node in {node for _, node, _ in entries}:
        here = [entry for entry in entries if entry[1] == node and sides[entry[0]] is not None]
        if missing == "every_value":
            counts = [len({values_on[row] for row, _, _ in here if sides[row] == side}) for side in (0, 1)]
        else:
            counts = [sum(weight for row, _, weight in here if sides[row] == side) for side in (0, 1)]
        if sum(counts) == 0:
            known = [entry for entry in entries if sides[entry[0]] is not None]
            if missing == "every_value":
                counts = [len({values_on[row] for row, _, _ in known if sides[row] == side}) for side in (0, 1)]
            else:
                counts = [sum(weight for row, _, weight in known if sides[row] == side) for side in (0, 1)]
        spread[node] = {side: count / sum(counts) for side, count in enumerate(counts) if count > 0}
    parts = []
    for row, node, _ in entries:
        if sides[row] is not None:
            parts.append({sides[row]: 1.0})
        elif home is not None:
            parts.append({home[node] if isinstance(home, dict) else home: 1.0})
        else:
            parts.append(spread[node])
    return parts


def gain_of(entries, sides, missing, values_on, home, target, criterion) -> float:
    """What a question gains in all nodes together."""
    if missing in LEFT_OUT:
        entries = [entry for entry in entries if sides[entry[0]] is not None]
    parts = parts_of(entries, sides, missing, values_on, home)
    gain = 0.0
    for node in {node for _, node, _ in entries}:
        here = [(row, weight, part) for (row, at, weight), part in zip(entries, parts, strict=True) if at == node]
        gain += disorder([(row, weight) for row, weight, _ in here], target, criterion)
        for side in (0, 1):
            branch = [(row, weight * part[side]) for row, weight, part in here if side in part]
            gain -= disorder(branch, target, criterion)
    return gain


def best_homes(entries, sides, target, criterion) -> dict[int, int]:
    """The side of each node where its missing values are best.

    For ties either is right, so this only tells the gain.
    """
    homes = {}
    for node in {node for _, node, _ in entries}:
        here = [entry for entry in entries if entry[1] == node]
        gains = [gain_of(here, sides, "learned", None, side, target, criterion) for side in (0, 1)]
        homes[node] = int(gains[1] > gains[0])
    return homes


def questions(values, categorical, missing):
    """Every split: its sides by row (None for a missing value), its values, and where all missing values may go."""
    for place, column in enumerate(COLUMNS):
        line = [None if math.isnan(value) else value for value in values[:, place]]
        present = sorted({value for value in line if value is not None})
        has_missing = None in line
        homes = [0, 1] if missing == "branch" and has_missing else [None]
        if column.kind is not Kind.CATEGORICAL:
            firsts = [set(present[:size]) for size in range(1, len(present))]
        elif categorical == "one_vs_rest":
            firsts = [{value} for value in present] if len(present) > 1 or (has_missing and missing == "branch") else []
            homes = [1] if missing == "branch" and has_missing else [None]
        else:
            firsts = []  # subsets follow an ordering and are looked at by another test
        for first in firsts:
            yield [None if value is None else int(value not in first) for value in line], line, homes
        if missing in ("branch", "learned") and has_missing and present:
            yield [None if value is None else 0 for value in line], line, [1]


def asked_by(tree, node, values):
    """The sides of a node's question by row, and the values asked for."""
    line = [None if math.isnan(value) else value for value in values[:, tree.column[node]]]
    if tree.kind[node] == SplitKind.THRESHOLD:
        return [None if value is None else int(value > tree.threshold[node]) for value in line], line
    inside = tree.category_set(node)
    return [None if value is None else int(value not in inside) for value in line], line


def grown(make_recipe, table, criterion, categorical, missing, depth=3, n_classes=3, oblivious=True):
    values, target, weights = table
    recipe = make_recipe(criterion, categorical, max_depth=depth, strategy=int(STRATEGIES[missing]))
    options = {"recipe": recipe, "weights": weights, "oblivious": oblivious}
    if criterion in NUMBERS:
        return grow(COLUMNS, values, Target("y"), numbers=target.astype(float), **options)
    goal = Target("y", tuple(range(n_classes)))
    return grow(COLUMNS, values, goal, labels=target.astype(np.uint16), n_classes=n_classes, **options)


def follow(tree, table, criterion, categorical, missing, judge=True):
    """Follow the entries of all rows down the levels, and hold the tree against them at each."""
    values, target, weights = table
    entries: list[Entry] = [(row, 0, weight) for row, weight in enumerate(weights)]
    levels = [np.flatnonzero(tree.depth_of == depth) for depth in range(tree.depth + 1)]
    for level in levels:
        for place, node in enumerate(level):
            here = [(row, weight) for row, at, weight in entries if at == place]
            assert tree.rows[node] == len(here)
            assert tree.weight[node] == pytest.approx(sum(weight for _, weight in here), abs=1e-9)
            if here and criterion in NUMBERS:
                mean = sum(weight * target[row] for row, weight in here) / sum(weight for _, weight in here)
                assert tree.distribution[node, 0] == pytest.approx(mean, abs=1e-9)
            elif here:
                counts = [sum(weight for row, weight in here if target[row] == k) for k in range(3)]
                assert tree.distribution[node] == pytest.approx(counts, abs=1e-9)
        if tree.kind[level[0]] == SplitKind.LEAF:
            break
        assert len({node.tests for node in map(tree.node, level)}) == 1
        sides, line = asked_by(tree, level[0], values)
        home = {place: int(tree.missing_branch[node]) for place, node in enumerate(level)}
        if missing != "learned" and missing not in ("fractional", "every_value", "all_branches"):
            assert len(set(home.values())) == 1
        if missing in ("fractional", "every_value", "all_branches"):
            assert set(home.values()) == {-1}
            home = None
        chosen = gain_of(entries, sides, missing, line, home, target, criterion)
        stored = sum(tree.gain[level] * tree.weight[level])
        assert stored == pytest.approx(chosen, abs=1e-9)
        if judge:
            best = -math.inf
            for other, asked, homes in questions(values, categorical, missing):
                for to in homes:
                    to = best_homes(entries, other, target, criterion) if missing == "learned" else to
                    best = max(best, gain_of(entries, other, missing, asked, to, target, criterion))
            assert chosen >= best - 1e-9
        if missing == "surrogate":
            sides = settle(tree.node(level[0]), sides, values)
        parts = parts_of(entries, sides, missing, line, home)
        entries = [
            (row, 2 * node + side, weight * (1.0 if missing == "all_branches" else part[side]))
            for (row, node, weight), part in zip(entries, parts, strict=True)
            for side in (0, 1)
            if side in part
        ]


def settle(node, sides, values):
    """The side of every row, those without a value by the surrogates as they print themselves, or with the most."""
    settled = list(sides)
    for row, side in enumerate(sides):
        for surrogate in node.surrogates if side is None else ():
            test = surrogate.tests[0]
            value = values[row, COLUMNS.index(test.column)]
            if math.isnan(value):
                continue
            if test.relation == "in":
                branches = [branch for test, branch in zip(surrogate.tests, surrogate.branches, strict=True)
                        if value in test.operand]  # fmt: skip
            else:
                branches = [int((value <= test.operand) != (test.relation == "<="))]
            if branches:
                settled[row] = branches[0]
                break
        if settled[row] is None:
            settled[row] = node.missing_branch
    return settled


@pytest.mark.slow
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("criterion", ["gini", "information_gain", *NUMBERS])
def test_each_level_has_the_split_that_gains_most_and_sends_missing_values_as_it_says(make_recipe, criterion, missing):
    @examples(25)
    @given(tables())
    def check(table):
        if criterion == "poisson":
            table = table[0], table[1] + 1, table[2]  # counts above 0, so that no side is without a rate
        tree = grown(make_recipe, table, criterion, "one_vs_rest", missing)
        follow(tree, table, criterion, "one_vs_rest", missing)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_subset_splits_send_missing_values_as_they_say(make_recipe, criterion, missing):
    @examples(25)
    @given(tables())
    def check(table):
        tree = grown(make_recipe, table, criterion, "subset", missing)
        follow(tree, table, criterion, "subset", missing, judge=False)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("missing", [missing for missing in STRATEGIES if missing != "learned"])
@pytest.mark.parametrize("criterion", ["squared_error", "gini"])
def test_one_level_gains_as_much_as_the_stump_of_the_ordinary_tree(make_recipe, criterion, missing):
    # With two classes, or a mean to order them by, both know the best set of categories. A level that learns where the
    # missing values of each node go cannot take them for one of the categories that it orders.
    @examples(40)
    @given(tables())
    def check(table):
        values, target, weights = table
        table = values, np.minimum(target, 1), weights
        one, other = (
            grown(make_recipe, table, criterion, "subset", missing, depth=1, n_classes=2, oblivious=oblivious)
            for oblivious in (True, False)
        )
        assert one.gain[0] == pytest.approx(other.gain[0], abs=1e-9)
        if missing == "surrogate" and one.n_nodes > 1 and one.root.tests == other.root.tests:
            assert one.root.surrogates == other.root.surrogates

    check()


@pytest.mark.parametrize("missing", ["fractional", "every_value"])
def test_the_parts_of_a_row_add_up_to_the_row(make_recipe, missing):
    @examples(25)
    @given(tables())
    def check(table):
        values, _, weights = table
        tree = grown(make_recipe, table, "gini", "subset", missing, depth=5)
        reached = descend_rows(tree, values)
        assert np.bincount(reached.rows, reached.fractions) == pytest.approx(1.0, abs=1e-9)
        found = np.bincount(reached.nodes, reached.fractions * weights[reached.rows], minlength=tree.n_nodes)
        leaf = tree.kind == SplitKind.LEAF
        assert found[leaf] == pytest.approx(tree.weight[leaf], abs=1e-9)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("missing", STRATEGIES)
def test_both_forms_of_the_kernels_and_any_number_of_threads_grow_the_same_tree(make_recipe, missing, monkeypatch):
    random = np.random.default_rng(5)
    values = np.column_stack([random.normal(size=300), random.integers(0, 4, 300), random.integers(0, 3, 300)])
    values[random.random(values.shape) < 0.3] = np.nan
    target = (np.nan_to_num(values[:, 0]) > 0) + (random.random(300) < 0.2)
    monkeypatch.setattr("treewright.engines.exact.oblivious.MIN_CELLS_FOR_THREADS", 1)
    recipe = make_recipe("gini", "subset", max_depth=5, strategy=int(STRATEGIES[missing]))
    trees = []
    for form, n_jobs in (("plain", 1), ("compiled", 1), ("compiled", 2)):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        options = {"recipe": recipe, "weights": np.ones(300), "oblivious": True, "n_jobs": n_jobs}
        labels = target.astype(np.uint16)
        trees.append(grow(COLUMNS, values, Target("y", (0, 1, 2)), labels=labels, n_classes=3, **options))
    assert trees[0].to_dict() == trees[1].to_dict() == trees[2].to_dict()
    assert trees[0].depth == 5


def test_a_level_of_parts_of_rows_worked_out_by_hand(make_recipe):
    # Known: x 1 a, 1 a, 2 b; a missing value: b. D(n, m) = 2nm / (n + m). The known rows gain D(2, 1) = 4/3. Of the row
    # with the missing value, 2/3 goes to the first side and 1/3 to the second.
    values = np.array([[1.0], [1.0], [2.0], [math.nan]])
    tree = grow(
        COLUMNS[:1],
        values,
        Target("y", ("a", "b")),
        oblivious=True,
        recipe=make_recipe("gini", "subset", max_depth=1, strategy=int(FRACTIONAL)),
        labels=np.array([0, 0, 1, 1], np.uint16),
        n_classes=2,
        weights=np.ones(4),
    )
    assert tree.gain[0] == pytest.approx((4 / 3) / 4)
    assert tree.distribution.tolist() == pytest.approx(np.array([[2, 2], [2, 2 / 3], [0, 4 / 3]]))
    assert tree.share.tolist() == pytest.approx([0, 2 / 3, 1 / 3])
