"""Oblivious trees: all nodes of a level have the same split.

A row with a missing value may go down both sides. A fraction of it is then in each node below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from treewright.encoding.keys import CODE_SHIFT
from treewright.encoding.midpoints import midpoint
from treewright.encoding.ranks import Grid
from treewright.engines.criteria import SQUARED_ERROR
from treewright.engines.exact.data import make_data
from treewright.engines.exact.engine import MIN_CELLS_FOR_THREADS, GrownTree, growing_effort
from treewright.engines.exact.layout import CLOSE, LEAF_NODE, SUBSET_SPLIT, THRESHOLD_SPLIT
from treewright.engines.exact.level_search import (
    FIRST_SIDE,
    NO_SIDE,
    SECOND_SIDE,
    TIE_OF_LEVEL,
    best_level_split,
    node_impurity,
)
from treewright.engines.exact.level_surrogates import (
    find_level_surrogates,
    gather_level_surrogates,
    lines_of,
    rows_of,
    sorted_line,
)
from treewright.engines.exact.levels import Entries, Level, LevelSplit
from treewright.engines.exact.workspace import Data, Recipe
from treewright.engines.missing_values import ALL_BRANCHES, EVERY_VALUE, LEAVES_OUT, OWN_BRANCH, SPREADS, SURROGATE
from treewright.runtime.forms import Run, choose_form
from treewright.runtime.threads import usable_threads
from treewright.table.column import Column


def grow_oblivious(
    columns: Sequence[Column],
    values: np.ndarray,
    *,
    recipe: Recipe,
    labels: np.ndarray | None = None,
    numbers: np.ndarray | None = None,
    weights: np.ndarray,
    n_classes: int = 0,
    grid: Grid = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> GrownTree:
    """Grow an oblivious tree of at most `recipe.max_depth` levels; nothing in it is random."""
    run = choose_form(growing_effort(values.size, n_classes, recipe.criterion))
    n_threads = usable_threads(n_jobs) if values.size >= MIN_CELLS_FOR_THREADS else 1
    data = make_data(
        run,
        columns,
        values,
        labels=labels,
        numbers=numbers,
        weights=weights,
        n_classes=n_classes,
        grid=grid,
        n_threads=n_threads,
        adjusts=recipe.adjusts,
    )
    every_row = np.arange(len(data.rows))
    entries = Entries.of(every_row, np.zeros(len(data.rows), np.int64), data.weights, len(data.rows))
    levels = [Level.of(data, entries, np.zeros(1), recipe.criterion)]
    while len(levels) <= recipe.max_depth and not levels[-1].is_pure:
        split = best_level_split(run, data, entries, levels[-1], recipe, n_threads)
        if split is None:
            break
        gain = levels[-1].spread.sum() - split.impurity
        if recipe.min_split_gain > 0 and gain < recipe.min_split_gain * entries.weights.sum():
            break
        levels[-1], entries, share = divide_level(run, data, values, entries, levels[-1], split, recipe)
        levels.append(Level.of(data, entries, share, recipe.criterion))
    return join_levels(data, levels, recipe)


def divide_level(
    run: Run, data: Data, values: np.ndarray, entries: Entries, level: Level, split: LevelSplit, recipe: Recipe
) -> tuple[Level, Entries, np.ndarray]:
    """Send the rows of a level to the next; returns the level with its split, the entries, and the shares."""
    codes = _codes_of(data, split.column)
    side = _side_of_rows(data, split, codes)
    n_nodes = len(level.rows)
    level = replace(level, split=split)
    if LEAVES_OUT[recipe.strategy]:
        level = replace(level, gained=_gain_of_known(data, entries, level, side[entries.rows], recipe.criterion))
    if SPREADS[recipe.strategy]:
        share = _shares(entries, side[entries.rows], codes[entries.rows], n_nodes, recipe.strategy == EVERY_VALUE)
        level = replace(level, missing_branch=np.full(n_nodes, -1))
        whole = recipe.strategy == ALL_BRANCHES
        return level, entries.spread(side[entries.rows], share, whole, len(data.rows)), share
    if recipe.strategy == SURROGATE:
        level_surrogates = find_level_surrogates(run, data, lines_of(data), side, 2, split.column)
        level = replace(
            level, level_surrogates=level_surrogates, missing_branch=np.full(n_nodes, level_surrogates.heaviest)
        )
        side = level_surrogates.branches_of_rows(values, side, 2)
    elif recipe.strategy == OWN_BRANCH or split.missing_apart:
        missing_to = split.missing_to if (side == 2).any() else _heavier_side(data, side)
        level = replace(level, missing_branch=np.full(n_nodes, missing_to))
        side = np.where(side == 2, missing_to, side)
    else:
        better = _better_sides(data, entries, level, side, recipe.criterion)
        level = replace(level, missing_branch=better)
        side = np.where(side == 2, better[entries.nodes], side)
    return level, entries.move_down(side), np.zeros(2 * n_nodes)


def _codes_of(data: Data, column: int) -> np.ndarray:
    """Return the code of each row in one column."""
    line = sorted_line(data, column)
    codes = np.empty(len(line), dtype=np.int64)
    codes[rows_of(line)] = (line >> CODE_SHIFT).astype(np.int64)
    return codes


def _side_of_rows(data: Data, split: LevelSplit, codes: np.ndarray) -> np.ndarray:
    """Return the side of each row, 2 if its value is missing."""
    side = np.where(codes <= split.cut, 0, 1) if split.cut >= 0 else np.where(split.first[codes], 0, 1)
    return np.where(codes < data.n_codes[split.column], side, 2)


def _heavier_side(data: Data, side: np.ndarray) -> int:
    weight = np.bincount(side, data.weights, minlength=2)
    return int(weight[1] >= weight[0])


def _sums_by_side(data: Data, entries: Entries, level: Level, side: np.ndarray, criterion: int) -> np.ndarray:
    """Sum up the rows on each side of each node, missing values on side 2; `side` is that of the entries."""
    sums = np.zeros((3, len(level.rows), max(data.n_classes, 2)))
    if data.n_classes:
        np.add.at(sums, (side, entries.nodes, data.classes[entries.rows].astype(np.intp)), entries.weights)
        return sums[:, :, : data.n_classes]
    numbers = data.numbers[entries.rows]
    numbers = numbers - level.means[entries.nodes] if criterion == SQUARED_ERROR else numbers
    np.add.at(sums[:, :, 0], (side, entries.nodes), entries.weights)
    np.add.at(sums[:, :, 1], (side, entries.nodes), entries.weights * numbers)
    return sums


def _better_sides(data: Data, entries: Entries, level: Level, side: np.ndarray, criterion: int) -> np.ndarray:
    """Return the branch of each node in which its missing values (those on side 2) are best; in a tie the heavier."""
    sums = _sums_by_side(data, entries, level, side, criterion)
    weight = sums[:2, :, : data.n_classes or 1].sum(axis=2)
    branches = np.where(weight[0] > weight[1], 0, 1)
    workspace = (sums[0], sums[0] + sums[1], sums[2], np.empty((2, sums.shape[2])), np.empty(max(data.n_classes, 1)))
    target = (data.classes, data.numbers, level.means, data.n_classes, criterion)
    for node in np.flatnonzero(sums[2, :, : data.n_classes or 1].any(axis=1)):
        first, second = (node_impurity(node, workspace, target, to)[0] for to in (FIRST_SIDE, SECOND_SIDE))
        if abs(first - second) > TIE_OF_LEVEL * level.spread[node]:
            branches[node] = int(second < first)
    return branches


def _gain_of_known(data: Data, entries: Entries, level: Level, side: np.ndarray, criterion: int) -> np.ndarray:
    """Compute the gain of the split at each node, on the rows with a value alone, times their weight."""
    sums = _sums_by_side(data, entries, level, side, criterion)
    nothing = np.zeros_like(sums[0])
    known = (sums[0] + sums[1], nothing, np.empty((2, sums.shape[2])), np.empty(max(data.n_classes, 1)))
    target = (data.classes, data.numbers, level.means, data.n_classes, criterion)
    gained = np.zeros(len(level.rows))
    for node in np.flatnonzero(known[0][:, : data.n_classes or 1].any(axis=1)):
        before, _ = node_impurity(node, (nothing, *known), target, NO_SIDE)
        after, _ = node_impurity(node, (sums[0], *known), target, NO_SIDE)
        gained[node] = max(before - after, 0.0)
    return gained


def _shares(entries: Entries, side: np.ndarray, codes: np.ndarray, n_nodes: int, by_value: bool) -> np.ndarray:
    """Compute the fraction of its parent's missing rows that each node of the next level gets.

    It is that of the rows with a value, or of the values that occur. A node in which all values are missing divides its
    rows like the whole level.
    """
    known = side < 2
    child = 2 * entries.nodes[known] + side[known]
    weights = entries.weights[known]
    of_level = np.bincount(side[known], weights, minlength=2)
    if by_value:
        n_codes = int(codes.max()) + 1
        child = np.unique(child * n_codes + codes[known]) // n_codes
        weights = np.ones(len(child))
        of_level = np.bincount(np.unique(side[known] * n_codes + codes[known]) // n_codes, minlength=2)
    taken = np.bincount(child, weights, minlength=2 * n_nodes).reshape(n_nodes, 2)
    taken[taken.sum(axis=1) == 0.0] = of_level
    share = taken / taken.sum(axis=1, keepdims=True)
    share[share <= CLOSE] = 0.0
    return (share / share.sum(axis=1, keepdims=True)).ravel()


def join_levels(data: Data, levels: list[Level], recipe: Recipe) -> GrownTree:
    """Join the levels to the arrays of the finished tree."""
    sizes = [len(level.rows) for level in levels]
    firsts = np.cumsum(sizes) - sizes
    n_nodes = int(sum(sizes))
    kind = np.zeros(n_nodes, np.uint8)
    column = np.full(n_nodes, -1, np.int32)
    threshold = np.full(n_nodes, np.nan)
    first_child = np.zeros(n_nodes, np.int32)
    missing_branch = np.zeros(n_nodes, np.int32)
    set_start = np.full(n_nodes, -1, np.int64)
    words: list[np.ndarray] = [np.empty(0, np.uint64)]
    for index, level in enumerate(levels[:-1]):
        here = slice(firsts[index], firsts[index] + sizes[index])
        split = level.split
        assert split is not None
        assert level.missing_branch is not None
        column[here] = split.column
        missing_branch[here] = level.missing_branch
        first_child[here] = firsts[index + 1] + 2 * np.arange(sizes[index])
        kind[here] = THRESHOLD_SPLIT if split.cut >= 0 else SUBSET_SPLIT
        if split.cut >= 0:
            threshold[here] = _threshold(data, split)
        else:
            set_start[here] = sum(len(word) for word in words)
            words.append(_set_words(split.first[:-1]))
    surrogates = None
    if recipe.strategy == SURROGATE:
        n_words = sum(len(word) for word in words)
        surrogates, maps = gather_level_surrogates([level.level_surrogates for level in levels], sizes, n_words)
        words.append(maps)
    weight = np.concatenate([level.weight for level in levels])
    spread = np.concatenate([level.spread for level in levels])
    inner = kind != LEAF_NODE
    return GrownTree(
        kind=kind,
        column=column,
        threshold=threshold,
        first_child=first_child,
        n_children=np.where(inner, 2, 0).astype(np.int32),
        missing_branch=missing_branch,
        share=np.concatenate([level.share for level in levels]),
        set_start=set_start,
        category_sets=np.concatenate(words),
        weight=weight,
        rows=np.concatenate([level.rows for level in levels]),
        impurity=spread / np.where(weight > 0, weight, 1.0),
        gain=_gains(levels),
        distribution=np.concatenate([level.totals if data.n_classes else level.means[:, None] for level in levels]),
        surrogates=surrogates,
    )


def _gains(levels: list[Level]) -> np.ndarray:
    """Compute the gain of each node's split per row, on the rows with a value if only they are rated."""
    gains = []
    for level, below in pairwise(levels):
        gained = level.gained
        if gained is None:
            gained = np.maximum(level.spread - below.spread[::2] - below.spread[1::2], 0.0)
        gains.append(gained / np.where(level.weight > 0, level.weight, 1.0))
    return np.concatenate([*gains, np.zeros(len(levels[-1].rows))])


def _threshold(data: Data, split: LevelSplit) -> float:
    start, after = int(data.value_start[split.column]), split.cut + 1
    if after == data.n_codes[split.column]:
        return np.inf  # known values on one side, missing values on the other
    below, above = data.values[start + split.cut], data.values[start + after]
    if data.fixed_cuts[split.column]:
        return float(below)
    return float(midpoint(below, above))


def _set_words(first: np.ndarray) -> np.ndarray:
    members = np.flatnonzero(first).astype(np.uint64)
    return np.concatenate([np.array([len(members)], np.uint64), members])
