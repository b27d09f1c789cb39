"""The chosen split is the best of all allowed splits: compared with a search through every one of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treewright.insight import measures
from treewright.table.column import Column, Kind
from treewright.tree import SplitKind, Target
from treewright.tree.grow import grow

CLASS_CRITERIA = ["information_gain", "gain_ratio", "gini", "error"]
NUMBER_CRITERIA = ["squared_error", "sdr", "absolute_error", "poisson"]
MODES = ["multiway", "subset", "one_vs_rest"]


def class_impurity(criterion, target, weights):
    counts = [sum(w for t, w in zip(target, weights, strict=True) if t == k) for k in sorted(set(target))]
    if criterion == "gini":
        return measures.gini(counts)
    if criterion == "error":
        return measures.error_rate(counts)
    return measures.entropy(counts)


def number_impurity(criterion, target, weights):
    y, w = np.array(target, dtype=float), np.array(weights, dtype=float)
    mean = (y * w).sum() / w.sum()
    if criterion == "squared_error":
        return (w * (y - mean) ** 2).sum() / w.sum()
    if criterion == "sdr":
        return math.sqrt((w * (y - mean) ** 2).sum() / w.sum()) if len(set(target)) > 1 else 0.0
    if criterion == "absolute_error":
        return min((w * np.abs(y - m)).sum() for m in y) / w.sum()
    if mean <= 0:
        return math.inf
    return sum(b * (a * math.log(a / mean) if a > 0 else 0.0) for a, b in zip(y, w, strict=True)) / w.sum()


def score(branches, target, weights, criterion, multiway=False):
    """Gain (or gain ratio) of a split given as a branch per row, -inf if the criterion forbids it.

    A side of zeros is forbidden to poisson, unless it is one of the branches of a multiway split.
    """
    impurity = class_impurity if criterion in CLASS_CRITERIA else number_impurity
    total = sum(weights)
    after = bits = 0.0
    for branch in set(branches):
        rows = [i for i, b in enumerate(branches) if b == branch]
        share = sum(weights[i] for i in rows) / total
        value = impurity(criterion, [target[i] for i in rows], [weights[i] for i in rows])
        if value == math.inf and multiway:
            value = 0.0
        if value == math.inf:
            return -math.inf
        after += share * value
        bits -= share * math.log2(share)
    gain = impurity(criterion, target, weights) - after
    return gain / bits if criterion == "gain_ratio" else gain


def send_missing(branches, weights, n_branches):
    """Rows without a value (None) follow the heaviest branch; all equally heavy ones are possible."""
    known = [sum(w for b, w in zip(branches, weights, strict=True) if b == k) for k in range(n_branches)]
    heaviest = [k for k in range(n_branches) if known[k] == max(known)]
    return [[h if b is None else b for b in branches] for h in heaviest]


def allowed_splits(values, column, mode, weights, min_leaf):
    """Every allowed split of one column, as lists of possible branches per row (several if the sides tie)."""
    present = sorted({v for v in values if not math.isnan(v)})
    if len(present) < 2:
        return
    if column.kind is Kind.CATEGORICAL and mode == "multiway":
        branches = [None if math.isnan(v) else int(v) for v in values]
        enough = sum(branches.count(int(c)) >= min_leaf for c in present) >= 2
        if enough:
            yield send_missing(branches, weights, len(column.categories))[:1]
        return
    if column.kind is not Kind.CATEGORICAL:
        firsts = [set(present[:i]) for i in range(1, len(present))]
    elif mode == "one_vs_rest":
        firsts = [{c} for c in present]
    else:
        sizes = range(1, len(present))
        firsts = [set(chosen) for size in sizes for chosen in itertools.combinations(present, size)]
    for first in firsts:
        branches = [None if math.isnan(v) else int(v not in first) for v in values]
        both = send_missing(branches, weights, 2)
        possible = [b for b in both if min(b.count(0), b.count(1)) >= min_leaf]
        if len(possible) == len(both):
            yield possible


def branch_taken(tree, values):
    """The branch of each row at the root, from what the tree says about itself."""
    column = tree.columns[tree.column[0]]
    for value in values:
        if math.isnan(value):
            yield int(tree.missing_branch[0])
        elif tree.kind[0] == SplitKind.THRESHOLD:
            yield int(value > tree.threshold[0])
        elif tree.kind[0] == SplitKind.MULTIWAY:
            yield int(value)
        else:
            assert column.kind is Kind.CATEGORICAL
            yield int(value not in tree.category_set(0))


@st.composite
def tables(draw, target):
    n_rows = draw(st.integers(2, 12))
    columns, lines = [], []
    for index in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from([Kind.NUMERIC, Kind.CATEGORICAL, Kind.ORDERED]))
        size = draw(st.integers(2, 5))
        cells = st.integers(0, size - 1).map(float)
        if draw(st.booleans()):
            cells |= st.just(math.nan)
        categories = () if kind is Kind.NUMERIC else tuple("abcdefgh"[:size])
        columns.append(Column(f"x{index}", kind, categories))
        lines.append(draw(st.lists(cells, min_size=n_rows, max_size=n_rows)))
    weights = draw(st.lists(st.sampled_from([1.0, 0.5, 2.0, 3.0]), min_size=n_rows, max_size=n_rows))
    if draw(st.booleans()):
        weights = [1.0] * n_rows
    # Two classes have loops and an ordering of their own.
    classes = st.integers(0, draw(st.integers(1, 2)))
    cells = classes if target == "classes" else st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0])
    return tuple(columns), lines, draw(st.lists(cells, min_size=n_rows, max_size=n_rows)), weights


def check_root(make_recipe, table, criterion, mode, min_leaf):
    columns, lines, target, weights = table
    options = {"recipe": make_recipe(criterion, mode, max_depth=1, min_samples_leaf=min_leaf)}
    if criterion in CLASS_CRITERIA:
        n_classes = max(2, max(target) + 1)
        options |= {"labels": np.array(target, np.uint16), "n_classes": n_classes}
        goal = Target("y", tuple(range(n_classes)))
    else:
        options |= {"numbers": np.array(target)}
        goal = Target("y")
    tree = grow(columns, np.array(lines).T.copy(), goal, weights=np.array(weights), **options)
    scores = [
        min(
            score(branches, target, weights, criterion, mode == "multiway" and column.kind is Kind.CATEGORICAL)
            for branches in possible
        )
        for values, column in zip(lines, columns, strict=True)
        for possible in allowed_splits(values, column, mode, weights, min_leaf)
    ]
    best = max(scores, default=-math.inf)
    if tree.n_nodes == 1:
        pure = len(set(target)) == 1
        assert pure or len(target) < 2 * min_leaf or best == -math.inf
        return
    taken = list(branch_taken(tree, lines[tree.column[0]]))
    scale = max(1.0, tree.impurity[0])
    multiway = tree.kind[0] == SplitKind.MULTIWAY
    assert score(taken, target, weights, criterion, multiway) >= best - 1e-12 * scale
    sizes = [int(tree.rows[c.index]) for c in tree.root.children]
    assert sizes == [taken.count(branch) for branch in range(len(sizes))]


relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("criterion", CLASS_CRITERIA)
def test_no_split_of_classes_beats_the_chosen_one(make_recipe, criterion, mode):
    @relaxed
    @given(tables("classes"), st.integers(1, 3))
    def check(table, min_leaf):
        check_root(make_recipe, table, criterion, mode, min_leaf)

    check()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("criterion", NUMBER_CRITERIA)
def test_no_split_of_numbers_beats_the_chosen_one(make_recipe, criterion, mode):
    @relaxed
    @given(tables("numbers"), st.integers(1, 3))
    def check(table, min_leaf):
        check_root(make_recipe, table, criterion, mode, min_leaf)

    check()


def test_a_category_of_zeros_does_not_hide_the_best_split_by_poisson(make_recipe):
    columns = (Column("x", Kind.CATEGORICAL, ("a", "b", "c")),)
    values = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0]
    target = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.5]
    check_root(make_recipe, (columns, [values], target, [1.0] * 8), "poisson", "subset", 1)
