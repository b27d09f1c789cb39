"""Search for the split of a level: the one with the lowest weighted impurity, summed over all nodes of the level.

A level is searched column by column. The rows are visited in the column's order, and each row moves from the right side
to the left side of its own nodes. Only the nodes that a step affects are rated again. A column therefore costs one pass
over the rows for any number of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewright.encoding.keys import CODE_SHIFT, row_of
from treewright.engines.bits import NONE, ZERO, clear
from treewright.engines.chance import chance_share
from treewright.engines.criteria import POISSON, SQUARED_ERROR, class_impurity, moments_impurity
from treewright.engines.exact.layout import ONE_VS_REST, TIE
from treewright.engines.exact.level_surrogates import rows_of, sorted_line
from treewright.engines.exact.levels import Entries, Level, LevelSplit
from treewright.engines.exact.workspace import Data, Recipe
from treewright.engines.missing_values import EVERY_VALUE, LEARNED, LEAVES_OUT, OWN_BRANCH
from treewright.runtime.forms import Run
from treewright.runtime.kernels import entry, inline, kernel
from treewright.runtime.signatures import Input, Reals, Reals2, Shorts, Wholes, Words
from treewright.runtime.threads import run_parallel

# The side of the missing values of a node: a given side, none, or the better one.
FIRST_SIDE = np.int64(0)
SECOND_SIDE = np.int64(1)
NO_SIDE = np.int64(2)
BETTER_SIDE = np.int64(3)


# Totals closer than this share of the level's weighted impurity are a tie, and the first column wins.
TIE_OF_LEVEL = 1e-12


@kernel
def side_impurity(sums, side, n_classes, mean, criterion, scratch):
    """Compute the weighted impurity of one side of a node.

    The sums are class weights, or weight and sum (relative to the node's mean for squared error).
    """
    if n_classes > 0:
        weight = 0.0
        for k in range(n_classes):
            scratch[k] = max(sums[side, k], 0.0)
            weight += scratch[k]
        return class_impurity(scratch, weight, criterion)
    weight, total = sums[side, 0], sums[side, 1]
    if weight <= 0.0:
        return 0.0
    if criterion == SQUARED_ERROR:
        # The sum of squares is omitted, because it is the same for all splits.
        return -total * total / weight
    # A side of zeros has no deviance. It cannot be forbidden, because it may be that of one node only.
    return moments_impurity(weight, total / weight, 0.0, mean, criterion) if total > 0.0 else 0.0


@inline
def node_impurity(node, sums, target, missing_to):
    """Compute the weighted impurity of both sides of a node, and whether the missing values are on the left.

    With the better side, they go to the heavier one if both are equally good, and to the right if both have the same
    weight.
    """
    left, known, missing, sides, scratch = sums
    _, _, means, n_classes, criterion = target
    left_weight = right_weight = missing_weight = 0.0
    for k in range(n_classes if n_classes > 0 else 1):
        left_weight += left[node, k]
        right_weight += known[node, k] - left[node, k]
        missing_weight += missing[node, k]
    heavier = left_weight > right_weight
    best, best_left = np.inf, heavier
    for turn in range(2 if missing_to == BETTER_SIDE and missing_weight > 0.0 else 1):
        to_left = heavier if turn == 0 else not heavier
        if missing_to != BETTER_SIDE:
            to_left = missing_to == FIRST_SIDE
        to_right = not to_left and missing_to != NO_SIDE
        for k in range(left.shape[1]):
            sides[0, k] = known[node, k] - left[node, k] + (missing[node, k] if to_right else 0.0)
            sides[1, k] = left[node, k] + (missing[node, k] if to_left else 0.0)
        impurity = side_impurity(sides, ZERO, n_classes, means[node], criterion, scratch) + side_impurity(
            sides, SECOND_SIDE, n_classes, means[node], criterion, scratch
        )
        if turn == 0 or impurity < best - TIE * abs(best):
            best, best_left = impurity, to_left
    return best, best_left


@kernel
def entry_at(first, row):
    """Return the start of the entries of a row; without a list of starts each row has one entry."""
    return row if len(first) == 0 else first[row]


@inline
def add_row(sums, row, entries, target, marks, mark):
    """Add a row to the sums of its nodes, and mark them."""
    first, nodes, weights = entries
    labels, numbers, means, n_classes, criterion = target
    for e in range(entry_at(first, row), entry_at(first, row + 1)):
        node, weight = nodes[e], weights[e]
        marks[node] = mark
        if n_classes > 0:
            sums[node, np.int64(labels[row])] += weight
            continue
        sums[node, 0] += weight
        sums[node, 1] += weight * (numbers[row] - means[node] if criterion == SQUARED_ERROR else numbers[row])


@kernel
def count_values(line, starts, n_groups, entries, marks, n_values):
    """Count the values of a column that occur in each node."""
    first, nodes, _ = entries
    clear(n_values, len(n_values))
    for g in range(n_groups):
        for i in range(starts[g], starts[g + 1]):
            row = np.int64(row_of(line[i]))
            for e in range(entry_at(first, row), entry_at(first, row + 1)):
                n_values[nodes[e]] += 1 if marks[nodes[e]] != g else 0
                marks[nodes[e]] = g


@kernel
def begin_level(line, starts, n_groups, by_value, entries, target, totals, sums, marks, n_values):
    """Sum up the rows with a value and those without; the left side is empty."""
    left, known, missing, _, _ = sums
    n_nodes, width = totals.shape
    for node in range(n_nodes):
        marks[node] = -1
        for k in range(width):
            left[node, k] = missing[node, k] = 0.0
    if by_value:
        count_values(line, starts, n_groups, entries, marks, n_values)
    for i in range(starts[n_groups], len(line)):
        add_row(missing, np.int64(row_of(line[i])), entries, target, marks, NONE)
    for node in range(n_nodes):
        marks[node] = -1
        for k in range(width):
            known[node, k] = totals[node, k] - (0.0 if by_value else missing[node, k])


@inline
def rate_marked(line, start, end, mark, by_value, entries, target, sums, rated, marks, n_values, missing_to, keep):
    """Return the change of the weighted impurity of the marked nodes, after the rows start..end-1 moved to the left."""
    first, nodes, _ = entries
    left, _, missing, _, _ = sums
    moved = 0.0
    for i in range(start, end):
        row = np.int64(row_of(line[i]))
        for e in range(entry_at(first, row), entry_at(first, row + 1)):
            node = nodes[e]
            if marks[node] != mark:
                continue
            marks[node] = -1
            for k in range(left.shape[1] if by_value else 0):
                left[node, k] += missing[node, k] / n_values[node]
            after, _ = node_impurity(node, sums, target, missing_to)
            moved += after - rated[node]
            if keep:
                rated[node] = after
    return moved


@kernel
def take_back(line, start, end, entries, left):
    """Clear the left side in the nodes of these rows."""
    first, nodes, _ = entries
    for i in range(start, end):
        row = np.int64(row_of(line[i]))
        for e in range(entry_at(first, row), entry_at(first, row + 1)):
            for k in range(left.shape[1]):
                left[nodes[e], k] = 0.0


@entry
def search_level(
    line: Input[Words],
    starts: Input[Wholes],
    order: Input[Wholes],
    n_groups: int,
    alone: bool,
    missing_to: int,
    by_value: bool,
    entries: tuple[Input[Wholes], Input[Wholes], Input[Reals]],
    target: tuple[Input[Shorts], Input[Reals], Input[Reals], int, int],
    totals: Input[Reals2],
    sums: tuple[Reals2, Reals2, Reals2, Reals2, Reals],
    rated: Reals,
    marks: Wholes,
    n_values: Wholes,
    impurities: Reals,
) -> float:
    """Compute the weighted impurity of a level after each cut of one column; returns that without a cut.

    `line` is the sorted column. Group g of equal values has the entries starts[g] to starts[g+1]-1. Rows with missing
    values are after the last group. The groups move to the left in the given order. If `alone`, each group moves back
    before the next one moves. If `by_value`, each row with a missing value counts as one row of every value in its
    node.
    """
    begin_level(line, starts, n_groups, by_value, entries, target, totals, sums, marks, n_values)
    impurity = 0.0
    for node in range(len(rated)):
        rated[node], _ = node_impurity(node, sums, target, missing_to)
        impurity += rated[node]
    before = impurity
    for j in range(len(impurities)):
        start, end = starts[order[j]], starts[order[j] + 1]
        for i in range(start, end):
            add_row(sums[0], np.int64(row_of(line[i])), entries, target, marks, np.int64(j))
        moved = rate_marked(
            line, start, end, j, by_value, entries, target, sums, rated, marks, n_values, missing_to, not alone
        )
        impurities[j] = impurity + moved
        if alone:
            take_back(line, start, end, entries, sums[0])
        else:
            impurity += moved
    return before


@entry
def lowest(impurities: Input[Reals], tie: float) -> int:
    """Return the position of the lowest weighted impurity.

    An impurity that is lower by at most the tie does not count as lower.
    """
    best = ZERO
    for j in range(1, len(impurities)):
        if impurities[j] < impurities[best] - tie:
            best = np.int64(j)
    return best


def best_level_split(
    run: Run, data: Data, entries: Entries, level: Level, recipe: Recipe, n_threads: int
) -> LevelSplit | None:
    """Find the split with the lowest weighted impurity, in a tie of the first column; None if there is none."""

    def search(column: int) -> LevelSplit | None:
        return best_cut(run, data, entries, level, recipe, column)

    best = None
    tie = TIE_OF_LEVEL * float(level.spread.sum())
    for split in run_parallel(search, range(len(data.n_codes)), n_threads):
        if split is not None and (best is None or split.impurity + split.chance < best.impurity + best.chance - tie):
            best = split
    return best


@dataclass(frozen=True, eq=False)
class Groups:
    """The values of a column that occur, in the order in which they move to the first side."""

    starts: np.ndarray  # the start of the rows of each in the sorted column, and of the missing values
    codes: np.ndarray
    order: np.ndarray
    alone: bool  # each alone against all others, rather than one after the other
    has_missing: bool

    @property
    def n_cuts(self) -> int:
        return len(self.codes) if self.alone and len(self.codes) > 2 else len(self.codes) - 1

    def joined(self) -> Groups:
        """Return all values as one group, so that its only cut separates known from missing values."""
        order = np.zeros(1, dtype=np.int64)
        return replace(self, starts=self.starts[[0, -1]], codes=self.codes[-1:], order=order, alone=False)


def group_column(data: Data, entries: Entries, recipe: Recipe, column: int) -> Groups:
    """Form the groups of one column; if missing is a category like any other, it is the last group."""
    line = sorted_line(data, column)
    codes = (line >> CODE_SHIFT).astype(np.int64)
    is_number = bool(data.is_number[column])
    known = int(np.searchsorted(codes, data.n_codes[column]))
    if recipe.strategy == OWN_BRANCH and not is_number:
        known = len(codes)
    first_of_group = np.flatnonzero(np.diff(codes[:known], prepend=-1))
    starts = np.append(first_of_group, known)
    alone = not is_number and recipe.categorical == ONE_VS_REST
    order = np.arange(len(first_of_group))
    if not is_number and not alone and len(order):
        order = _order_of_groups(data, entries, line, starts, recipe.strategy == EVERY_VALUE)
    return Groups(starts, codes[first_of_group], order, alone, known < len(codes))


def _order_of_groups(data: Data, entries: Entries, line: np.ndarray, starts: np.ndarray, by_value: bool) -> np.ndarray:
    """Order categories by the mean of the target, or by the share of the last class, over all nodes."""
    goal = (data.classes == data.n_classes - 1).astype(float) if data.n_classes else data.numbers
    weights, rows = _weights_of_rows(data, entries), rows_of(line)
    weight = np.add.reduceat(weights[rows[: starts[-1]]], starts[:-1])
    total = np.add.reduceat((weights * goal)[rows[: starts[-1]]], starts[:-1])
    if by_value:
        missing_values = rows[starts[-1] :]
        weight += weights[missing_values].sum() / len(weight)
        total += (weights * goal)[missing_values].sum() / len(weight)
    means = total / weight
    # Rounding errors depend on the order of the rows.
    return np.argsort(np.round(means / (np.abs(means).max() or 1.0), 12), kind="stable")


def _weights_of_rows(data: Data, entries: Entries) -> np.ndarray:
    """Return the total weight of each row in all nodes."""
    return np.bincount(entries.rows, entries.weights, minlength=len(data.rows))


def best_cut(run: Run, data: Data, entries: Entries, level: Level, recipe: Recipe, column: int) -> LevelSplit | None:
    """Find the best split by one column."""
    groups = group_column(data, entries, recipe, column)
    # Whether the value is missing is one more test. If missing is a category like any other, it is one of them.
    own_branch, learned = (groups.has_missing and recipe.strategy == code for code in (OWN_BRANCH, LEARNED))
    if len(groups.codes) + (own_branch or learned) < 2:
        return None
    tie = TIE_OF_LEVEL * float(level.spread.sum())
    missing_to = np.zeros(groups.n_cuts + 1, dtype=np.int64)
    if own_branch:
        with_first, _ = rate_cuts(run, data, entries, level, recipe, groups, column, FIRST_SIDE)
        impurities, before = rate_cuts(run, data, entries, level, recipe, groups, column, SECOND_SIDE)
        weights = _weights_of_rows(data, entries)[rows_of(sorted_line(data, column))]
        passed = np.cumsum(np.add.reduceat(weights[: groups.starts[-1]], groups.starts[:-1]))
        heavier_first = 2.0 * passed > passed[-1]
        to_second = np.where(np.abs(with_first - impurities) <= tie, ~heavier_first, impurities < with_first)
        to_second[-1] = True
        impurities, missing_to = np.where(to_second, impurities, with_first), to_second.astype(np.int64)
    else:
        side = NO_SIDE if LEAVES_OUT[recipe.strategy] or recipe.strategy == EVERY_VALUE else BETTER_SIDE
        impurities, before = rate_cuts(run, data, entries, level, recipe, groups, column, side)
    if learned:
        apart, _ = rate_cuts(run, data, entries, level, recipe, groups.joined(), column, SECOND_SIDE)
        impurities = np.append(impurities, apart)
    at = int(run(lowest)(impurities, tie))
    impurity = float(impurities[at])
    if LEAVES_OUT[recipe.strategy]:
        impurity += float(level.spread.sum()) - before
    elif recipe.criterion in (SQUARED_ERROR, POISSON):
        impurity += float(level.spread.sum())
    if learned and at == groups.n_cuts:
        return _missing_apart(data, column, impurity)
    chance = _chance_gain(data, level, groups, column)
    if chance > 0.0 and float(level.spread.sum()) - impurity <= chance + tie:
        return None
    return replace(_level_split(data, groups, column, at, impurity, int(missing_to[at])), chance=chance)


def _chance_gain(data: Data, level: Level, groups: Groups, column: int) -> float:
    """Return the gain that the categories of a column have by chance; they have one order in the whole level."""
    if not data.adjusted[column]:
        return 0.0
    return float(level.spread.sum() * chance_share(len(groups.codes), groups.starts[-1]))


def _level_split(data: Data, groups: Groups, column: int, at: int, impurity: float, missing_to: int) -> LevelSplit:
    """Make the split of one cut; missing values alone on one side are the first side, so that no category is on it."""
    n_codes = int(data.n_codes[column])
    if data.is_number[column]:
        return LevelSplit(column, impurity, int(groups.codes[at]), np.empty(0, bool), missing_to)
    first = np.zeros(n_codes + 1, dtype=bool)
    first[groups.codes[groups.order[[at]] if groups.alone else groups.order[: at + 1]]] = True
    occurs = np.zeros(n_codes + 1, dtype=bool)
    occurs[groups.codes] = True
    if occurs[n_codes] and not first[n_codes] and first[occurs].sum() == occurs.sum() - 1:
        first = ~first & occurs
    return LevelSplit(column, impurity, -1, first, int(not first[n_codes]))


def _missing_apart(data: Data, column: int, impurity: float) -> LevelSplit:
    """Make the split of known from missing values; missing values of a categorical column are the first side."""
    n_codes = int(data.n_codes[column])
    if data.is_number[column]:
        return LevelSplit(column, impurity, n_codes - 1, np.empty(0, bool), 1, missing_apart=True)
    return LevelSplit(column, impurity, -1, np.arange(n_codes + 1) == n_codes, 0, missing_apart=True)


def rate_cuts(
    run: Run,
    data: Data,
    entries: Entries,
    level: Level,
    recipe: Recipe,
    groups: Groups,
    column: int,
    missing_to: np.int64,
) -> tuple[np.ndarray, float]:
    """Compute the weighted impurity after each cut of a column, and that without a cut."""
    n_nodes, width = level.totals.shape
    impurities = np.empty(groups.n_cuts + (missing_to in (FIRST_SIDE, SECOND_SIDE)))
    workspace = [np.empty((size, width)) for size in (n_nodes, n_nodes, n_nodes, 2)]
    before = run(search_level)(
        sorted_line(data, column),
        groups.starts,
        groups.order,
        len(groups.codes),
        groups.alone,
        missing_to,
        recipe.strategy == EVERY_VALUE,
        (entries.first, entries.nodes, entries.weights),
        (data.classes, data.numbers, level.means, data.n_classes, recipe.criterion),
        level.totals,
        (*workspace, np.empty(max(data.n_classes, 1))),
        np.empty(n_nodes),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
        impurities,
    )
    return impurities, float(before)
