"""The chosen split is the best of all allowed splits: compared with a search through every one of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from own_criteria import tsallis
from properties import examples
from treewright.insight import measures
from treewright.table.column import Column, Kind
from treewright.tree import SplitKind, Target
from treewright.tree.grow import grow

CLASS_CRITERIA = ["information_gain", "gain_ratio", "gini", "error"]
NUMBER_CRITERIA = ["squared_error", "sdr", "absolute_error", "poisson"]
MODES = ["multiway", "subset", "one_vs_rest"]
STRATEGIES = {"learned": 0, "fractional": 1, "every_value": 2, "branch": 4}


def lopsided(weights):
    """Concave, but an error in one class counts more; and small nodes are dearer than their shares tell."""
    return weights[0] / weights.sum() * (1 - weights[0] / weights.sum()) ** 0.25 + 0.1 / weights.sum()


def wavy(weights):
    """Neither concave nor positive."""
    return np.sin(9.0 * weights[0] / weights.sum()) - weights[1] / weights.sum()


def gamma_deviance(weight, mean, variance):
    return math.log(0.1 + mean)


def wavy_number(weight, mean, variance):
    return math.sin(3.0 * mean) + variance / (1.0 + weight)


OWN_CLASS_CRITERIA = [tsallis, lopsided, wavy]
OWN_NUMBER_CRITERIA = [gamma_deviance, wavy_number]


def number_of_classes(criterion, target):
    """The classes of a table; a criterion of one's own is compiled for each number of them, so it gets few numbers."""
    needed = max(2, max(target) + 1)
    return next(number for number in (2, 3, 41) if number >= needed) if callable(criterion) else needed


def class_impurity(criterion, target, weights):
    if callable(criterion):
        n_classes = number_of_classes(criterion, target)
        return criterion(np.bincount(np.array(target, dtype=int), weights, minlength=n_classes))
    counts = [sum(w for t, w in zip(target, weights, strict=True) if t == k) for k in sorted(set(target))]
    if criterion == "gini":
        return measures.gini(counts)
    if criterion == "error":
        return measures.error_rate(counts)
    return measures.entropy(counts)


def number_impurity(criterion, target, weights):
    y, w = np.array(target, dtype=float), np.array(weights, dtype=float)
    mean = (y * w).sum() / w.sum()
    if callable(criterion):
        return criterion(w.sum(), mean, (w * (y - mean) ** 2).sum() / w.sum())
    if criterion == "squared_error":
        return (w * (y - mean) ** 2).sum() / w.sum()
    if criterion == "sdr":
        return math.sqrt((w * (y - mean) ** 2).sum() / w.sum()) if len(set(target)) > 1 else 0.0
    if criterion == "absolute_error":
        return min((w * np.abs(y - m)).sum() for m in y) / w.sum()
    if mean <= 0:
        return math.inf
    return sum(b * (a * math.log(a / mean) if a > 0 else 0.0) for a, b in zip(y, w, strict=True)) / w.sum()


def score(parts, target, weights, criterion, multiway=False):
    """Gain (or gain ratio) of a split, -inf if the criterion forbids it.

    `parts` tells for each row which part of it goes down each branch; a row without any branch was left out, which
    scales the gain by what is left and counts as one more branch in the split information. A side of zeros is
    forbidden to poisson, unless it is one of the branches of a multiway split.
    """
    impurity = class_impurity if criterion in CLASS_CRITERIA + OWN_CLASS_CRITERIA else number_impurity
    total = sum(weights)
    known = [i for i, row in enumerate(parts) if row]
    known_weight = sum(weights[i] for i in known)
    after = bits = 0.0
    for branch in sorted({branch for row in parts for branch in row}):
        rows = [i for i in known if parts[i].get(branch, 0.0) > 0.0]
        pieces = [weights[i] * parts[i][branch] for i in rows]
        value = impurity(criterion, [target[i] for i in rows], pieces)
        if value == math.inf and multiway:
            value = 0.0
        if value == math.inf:
            return -math.inf
        after += sum(pieces) / known_weight * value
        bits -= sum(pieces) / total * math.log2(sum(pieces) / total)
    if known_weight < total:
        bits -= (1 - known_weight / total) * math.log2(1 - known_weight / total)
    before = impurity(criterion, [target[i] for i in known], [weights[i] for i in known])
    gain = known_weight / total * (before - after)
    return gain / bits if criterion == "gain_ratio" else gain


def with_missing_values(branches, n_values, missing, homes):
    """The splits that a split of the known rows may be, by what becomes of missing values (None): fractions of rows.

    `n_values` tells how many values go down each branch, `homes` the branches that all missing values may go down
    together.
    """
    known = [{} if b is None else {b: 1.0} for b in branches]
    if None not in branches or missing == "fractional":
        return [known]
    if missing == "every_value":
        total = sum(n_values.values())
        spread = {b: n / total for b, n in n_values.items()}
        return [[row or spread for row in known]]
    return [[row or {home: 1.0} for row in known] for home in homes]


def large_enough(parts, min_leaf):
    return min(sum(row == {b: 1.0} for row in parts) for b in (0, 1)) >= min_leaf


def allowed_splits(values, column, mode, missing, min_leaf):
    """Every allowed split of one column, as the parts of each row in each branch."""
    present = sorted({v for v in values if not math.isnan(v)})
    own = missing == "branch" and any(math.isnan(v) for v in values)
    multiway = column.kind is Kind.CATEGORICAL and mode == "multiway"
    apart = [{int(math.isnan(v)): 1.0} for v in values]
    if (missing == "learned" or (own and not multiway)) and large_enough(apart, min_leaf):
        yield apart
    if len(present) + own < 2 or not present:
        return
    if multiway:
        branches = [None if math.isnan(v) else int(v) for v in values]
        sizes = [branches.count(int(c)) for c in present] + [branches.count(None)] * own
        if sum(size >= min_leaf for size in sizes) >= 2:
            homes = [len(column.categories)] if own else [int(c) for c in present]
            yield from with_missing_values(branches, {int(c): 1 for c in present}, missing, homes)
        return
    if column.kind is not Kind.CATEGORICAL:
        firsts = [set(present[:i]) for i in range(1, len(present))]
    elif mode == "one_vs_rest":
        firsts = [{c} for c in present] if len(present) > 1 else []
    else:
        sizes = range(1, len(present))
        firsts = [set(chosen) for size in sizes for chosen in itertools.combinations(present, size)]
    homes = [1] if own and column.kind is Kind.CATEGORICAL and mode == "one_vs_rest" else [0, 1]
    for first in firsts:
        branches = [None if math.isnan(v) else int(v not in first) for v in values]
        n_values = {0: len(first), 1: len(present) - len(first)}
        found = with_missing_values(branches, n_values, missing, homes)
        yield from (parts for parts in found if large_enough(parts, min_leaf))


def parts_taken(tree, values, missing):
    """Which part of each row goes down each branch of the root, from what the tree says about itself."""
    children = tree.root.children
    for value in values:
        if math.isnan(value) and missing == "fractional":
            yield {}
        elif math.isnan(value) and tree.missing_branch[0] < 0:
            yield {b: child.share for b, child in enumerate(children) if child.share > 0.0}
        elif math.isnan(value):
            yield {int(tree.missing_branch[0]): 1.0}
        elif tree.kind[0] == SplitKind.THRESHOLD:
            yield {int(value > tree.threshold[0]): 1.0}
        elif tree.kind[0] == SplitKind.MULTIWAY:
            yield {int(value): 1.0}
        else:
            yield {int(value not in tree.category_set(0)): 1.0}


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
    # Two classes have loops and an ordering of their own, and so have many classes of which few occur.
    classes = st.integers(0, draw(st.sampled_from([1, 2, 2, 40])))
    cells = classes if target == "classes" else st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0])
    return tuple(columns), lines, draw(st.lists(cells, min_size=n_rows, max_size=n_rows)), weights


def check_root(make_recipe, table, criterion, mode, missing, min_leaf):
    columns, lines, target, weights = table
    limits = {"max_depth": 1, "min_samples_leaf": min_leaf}
    options = {"recipe": make_recipe(criterion, mode, strategy=STRATEGIES[missing], **limits)}
    if criterion in CLASS_CRITERIA + OWN_CLASS_CRITERIA:
        n_classes = number_of_classes(criterion, target)
        options |= {"labels": np.array(target, np.uint16), "n_classes": n_classes}
        goal = Target("y", tuple(range(n_classes)))
    else:
        options |= {"numbers": np.array(target)}
        goal = Target("y")
    tree = grow(columns, np.array(lines).T.copy(), goal, weights=np.array(weights), **options)
    scores = [
        score(parts, target, weights, criterion, mode == "multiway" and column.kind is Kind.CATEGORICAL)
        for values, column in zip(lines, columns, strict=True)
        for parts in allowed_splits(values, column, mode, missing, min_leaf)
    ]
    best = max(scores, default=-math.inf)
    if tree.n_nodes == 1:
        pure = len(set(target)) == 1
        # By a criterion of one's own the best split may be worse than none.
        assert pure or len(target) < 2 * min_leaf or best == -math.inf or (callable(criterion) and best < 1e-12)
        return
    values = lines[tree.column[0]]
    taken = list(parts_taken(tree, values, missing))
    scale = max(1.0, abs(tree.impurity[0]))
    multiway = tree.kind[0] == SplitKind.MULTIWAY
    assert score(taken, target, weights, criterion, multiway) >= best - 1e-12 * scale
    parts_of_missing = {b: 1.0 for b, child in enumerate(tree.root.children) if child.share > 0.0}
    for branch, child in enumerate(tree.root.children):
        reaches = [parts or parts_of_missing for parts in taken]
        assert child.rows == sum(branch in parts for parts in reaches)
        part = [
            weight * (parts[branch] if parts else child.share)
            for parts, weight in zip(taken, weights, strict=True)
            if branch in (parts or parts_of_missing)
        ]
        assert math.isclose(child.weight, sum(part), abs_tol=1e-9)


relaxed = examples(6, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.slow
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("criterion", CLASS_CRITERIA + OWN_CLASS_CRITERIA)
def test_no_split_of_classes_beats_the_chosen_one(make_recipe, criterion, mode, missing):
    @relaxed
    @given(tables("classes"), st.integers(1, 3))
    def check(table, min_leaf):
        check_root(make_recipe, table, criterion, mode, missing, min_leaf)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("missing", STRATEGIES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("criterion", NUMBER_CRITERIA + OWN_NUMBER_CRITERIA)
def test_no_split_of_numbers_beats_the_chosen_one(make_recipe, criterion, mode, missing):
    @relaxed
    @given(tables("numbers"), st.integers(1, 3))
    def check(table, min_leaf):
        check_root(make_recipe, table, criterion, mode, missing, min_leaf)

    check()


def test_a_category_of_zeros_does_not_hide_the_best_split_by_poisson(make_recipe):
    columns = (Column("x", Kind.CATEGORICAL, ("a", "b", "c")),)
    values = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0]
    target = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.5]
    check_root(make_recipe, (columns, [values], target, [1.0] * 8), "poisson", "subset", "learned", 1)


@pytest.mark.parametrize("criterion", ["gini", "information_gain"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_no_cut_of_many_values_and_classes_beats_the_chosen_one(make_recipe, criterion, weighted, missing):
    draw = np.random.default_rng(5)
    for n_classes in (20, 60, 300):
        values = draw.normal(size=400)
        target = np.where(draw.random(400) < 0.5, draw.integers(0, n_classes, 400), (values > 0.7) * (n_classes - 1))
        values[draw.random(400) < missing] = math.nan
        weights = draw.choice([0.5, 1.0, 2.0], 400) if weighted else np.ones(400)
        table = ((Column("x", Kind.NUMERIC),), [values.tolist()], target.tolist(), weights.tolist())
        recipe = make_recipe(criterion, max_depth=1, min_samples_leaf=3)
        options = {"recipe": recipe, "labels": target.astype(np.uint16), "n_classes": n_classes, "weights": weights}
        tree = grow(table[0], values[:, None].copy(), Target("y", tuple(range(n_classes))), **options)
        best = max(gains_of_cuts(values, target, weights, criterion, 3))
        assert tree.gain[0] == pytest.approx(best, rel=1e-9)


def gains_of_cuts(values, target, weights, criterion, min_leaf):
    """The gains of all cuts with at least so many rows on both sides, missing values on either side or alone on one."""

    def impurity(rows):
        shares = np.bincount(target[rows], weights[rows]) / weights[rows].sum()
        shares = shares[shares > 0.0]
        unit = 1.0 - (shares**2).sum() if criterion == "gini" else -(shares * np.log2(shares)).sum()
        return unit * weights[rows].sum() / weights.sum()

    is_missing = np.isnan(values)
    before = impurity(np.ones(len(values), dtype=bool))
    sides = [is_missing]
    for cut in np.unique(values[~is_missing]):
        sides += [values <= cut, (values <= cut) | is_missing]
    for side in sides:
        if min(side.sum(), (~side).sum()) >= min_leaf:
            yield before - impurity(side) - impurity(~side)
