"""Oblivious trees: all nodes of a level ask the same question.

A level is searched column by column. The rows are walked through in the column's order, each moving from the right
side to the left within its own node; only the nodes that a step touches are rated anew, so a column costs one pass
over the rows however many nodes the level has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewright.growth.coding import Grid, Run, code_table, run_parallel
from treewright.growth.criteria import POISSON, SQUARED_ERROR, class_disorder, moments_disorder
from treewright.growth.engine import MIN_CELLS_FOR_THREADS, GrownTree, choose_form, effort_of, usable_threads
from treewright.growth.jit import entry, kernel
from treewright.growth.layout import (
    CODE_SHIFT,
    LEAF_NODE,
    ONE_VS_REST,
    ROW_MASK,
    ROW_SHIFT,
    SUBSET_SPLIT,
    THRESHOLD_SPLIT,
    TIE,
    ZERO,
    row_of,
)
from treewright.growth.loop import middle_of
from treewright.growth.workspace import Data, Recipe
from treewright.table.column import Column

ONE_SIDE = np.int64(1)

# Totals closer than this share of the level's disorder are a tie, and the first column wins.
TIE_OF_LEVEL = 1e-12


@kernel
def side_disorder(sums, node, n_classes, mean, criterion, scratch):
    """Disorder of one side of a node: class weights, or weight and sum (from the node's mean for squared error)."""
    if n_classes > 0:
        weight = 0.0
        for k in range(n_classes):
            scratch[k] = max(sums[node, k], 0.0)
            weight += scratch[k]
        return class_disorder(scratch, weight, criterion)
    weight, total = sums[node, 0], sums[node, 1]
    if weight <= 0.0:
        return 0.0
    if criterion == SQUARED_ERROR:
        # Less the sum of squares, which all splits share.
        return -total * total / weight
    # A side of zeros has no deviance; it cannot be forbidden, because it may be only one node's.
    return moments_disorder(weight, total / weight, 0.0, mean, criterion) if total > 0.0 else 0.0


@kernel
def node_disorder(node, left, known, missing, right, n_classes, means, criterion, scratch):
    """Disorder of both sides of a node, and whether the rows without a value are best on the left.

    They follow the better side, the heavier one if both are as good, and the left one if both weigh the same.
    """
    width = left.shape[1]
    n_weights = n_classes if n_classes > 0 else 1
    left_weight = right_weight = missing_weight = 0.0
    for k in range(n_weights):
        left_weight += left[node, k]
        right_weight += known[node, k] - left[node, k]
        missing_weight += missing[node, k]
    heavier = left_weight >= right_weight
    best, best_left = np.inf, heavier
    for turn in range(2 if missing_weight > 0.0 else 1):
        to_left = heavier if turn == 0 else not heavier
        for k in range(width):
            right[0, k] = known[node, k] - left[node, k] + (0.0 if to_left else missing[node, k])
            right[1, k] = left[node, k] + (missing[node, k] if to_left else 0.0)
        disorder = side_disorder(right, ZERO, n_classes, means[node], criterion, scratch) + side_disorder(
            right, ONE_SIDE, n_classes, means[node], criterion, scratch
        )
        if turn == 0 or disorder < best - TIE * abs(best):
            best, best_left = disorder, to_left
    return best, best_left


@kernel
def add_to_node(sums, node, row, sign, labels, numbers, weights, means, n_classes, criterion):
    """Add a row to the sums of its node, or take it away."""
    weight = sign * weights[row]
    if n_classes > 0:
        sums[node, np.int64(labels[row])] += weight
        return
    sums[node, 0] += weight
    sums[node, 1] += weight * (numbers[row] - means[node] if criterion == SQUARED_ERROR else numbers[row])


@entry
def search_level(
    line,
    starts,
    order,
    n_groups,
    alone,
    nodes,
    labels,
    numbers,
    weights,
    means,
    totals,
    n_classes,
    criterion,
    left,
    known,
    missing,
    right,
    rated,
    touched,
    scratch,
    result,
):
    """Rate the cuts of one column for all nodes of a level.

    `line` is the column sorted, group g of equal values its entries starts[g] to starts[g+1]-1, and the rows without
    a value come after the last group. The groups move to the left in the given order; if `alone`, each goes back
    before the next one moves. `result` gets the lowest disorder, the position in the order, and 1 if any cut parts
    some node.
    """
    n_nodes, width = totals.shape
    for node in range(n_nodes):
        for k in range(width):
            left[node, k] = missing[node, k] = 0.0
    for i in range(starts[n_groups], len(line)):
        row = row_of(line[i])
        add_to_node(missing, nodes[row], row, 1.0, labels, numbers, weights, means, n_classes, criterion)
    disorder = 0.0
    for node in range(n_nodes):
        for k in range(width):
            known[node, k] = totals[node, k] - missing[node, k]
        rated[node], _ = node_disorder(node, left, known, missing, right, n_classes, means, criterion, scratch)
        disorder += rated[node]
        touched[node] = -1
    tie = TIE_OF_LEVEL * result[3]
    result[0], result[1], result[2] = np.inf, -1.0, 0.0
    n_cuts = n_groups if alone and n_groups > 2 else n_groups - 1
    for j in range(n_cuts):
        g = order[j]
        for i in range(starts[g], starts[g + 1]):
            row = row_of(line[i])
            touched[nodes[row]] = j
            add_to_node(left, nodes[row], row, 1.0, labels, numbers, weights, means, n_classes, criterion)
        moved = 0.0
        for i in range(starts[g], starts[g + 1]):
            node = nodes[row_of(line[i])]
            if touched[node] != j:
                continue
            touched[node] = -1
            after, _ = node_disorder(node, left, known, missing, right, n_classes, means, criterion, scratch)
            moved += after - rated[node]
            if not alone:
                rated[node] = after
        if disorder + moved < result[0] - tie:
            result[0], result[1], result[2] = disorder + moved, j, 1.0
        if not alone:
            disorder += moved
            continue
        for i in range(starts[g], starts[g + 1]):
            node = nodes[row_of(line[i])]
            for k in range(width):
                left[node, k] = 0.0


@dataclass(frozen=True)
class Question:
    """What a level asks: a column, and the codes of it that go to the first side."""

    column: int
    disorder: float
    cut: int  # of a numeric column: the last code on the first side
    first: np.ndarray  # of a column of categories: is each code on the first side?


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
    run = choose_form(effort_of(values.size, n_classes, recipe.criterion))
    n_threads = usable_threads(n_jobs) if values.size >= MIN_CELLS_FOR_THREADS else 1
    data = code_table(
        run,
        columns,
        values,
        labels=labels,
        numbers=numbers,
        weights=weights,
        n_classes=n_classes,
        grid=grid,
        sort_target=False,
        multiway=False,
        all_sorted=True,
        n_threads=n_threads,
    )
    nodes = np.zeros(len(data.rows), np.int64)
    levels = [Level.of(data, nodes, 1, recipe.criterion)]
    while len(levels) <= recipe.max_depth and not levels[-1].is_pure:
        question = best_question(run, data, nodes, levels[-1], recipe, n_threads)
        if question is None:
            break
        gain = levels[-1].spread.sum() - question.disorder
        if recipe.min_gain > 0 and gain < recipe.min_gain * weights.sum():
            break
        side, missing_branch = answers(data, nodes, levels[-1], question, recipe.criterion)
        levels[-1] = replace(levels[-1], question=question, missing_branch=missing_branch)
        nodes = 2 * nodes + side
        levels.append(Level.of(data, nodes, 2 * len(missing_branch), recipe.criterion))
    return join_levels(data, levels)


@dataclass(frozen=True)
class Level:
    """The nodes of one level: what their rows add up to, and the question they ask."""

    totals: np.ndarray  # class weights, or weight and sum, of each node
    means: np.ndarray
    rows: np.ndarray
    weight: np.ndarray
    spread: np.ndarray  # impurity times weight
    is_pure: bool
    question: Question | None = None
    missing_branch: np.ndarray | None = None

    @classmethod
    def of(cls, data: Data, nodes: np.ndarray, n_nodes: int, criterion: int) -> Level:
        def sums(of_rows: np.ndarray) -> np.ndarray:
            return np.bincount(nodes, of_rows, minlength=n_nodes)

        weight = sums(data.weights)
        rows = np.bincount(nodes, minlength=n_nodes)
        if data.n_classes > 0:
            cells = np.bincount(nodes * data.n_classes + data.classes, data.weights, minlength=n_nodes * data.n_classes)
            totals = cells.reshape(n_nodes, data.n_classes)
            spread = np.array([class_disorder(line, line.sum(), criterion) for line in totals])
            return cls(totals, np.zeros(n_nodes), rows, weight, spread, not (np.sort(totals)[:, :-1] > 0).any())
        mean = sums(data.weights * data.numbers) / np.where(weight > 0, weight, 1.0)
        mean += sums(data.weights * (data.numbers - mean[nodes])) / np.where(weight > 0, weight, 1.0)
        centred = data.numbers - mean[nodes]
        shown = data.numbers if criterion == POISSON else centred
        totals = np.column_stack([weight, sums(data.weights * shown)])
        if criterion == POISSON:
            share = np.where(data.numbers > 0, data.numbers / np.where(mean > 0, mean, 1.0)[nodes], 1.0)
            spread = np.maximum(sums(data.weights * data.numbers * np.log(share)), 0.0)
        else:
            spread = sums(data.weights * centred**2)
        return cls(totals, mean, rows, weight, spread, not (np.abs(centred) > 0).any())


def best_question(
    run: Run, data: Data, nodes: np.ndarray, level: Level, recipe: Recipe, n_threads: int
) -> Question | None:
    """The question with the lowest disorder after it, the first column's in a tie; None if nothing can be parted."""

    def search(column: int) -> Question | None:
        return best_cut(run, data, nodes, level, recipe, column)

    best = None
    tie = TIE_OF_LEVEL * float(level.spread.sum())
    for question in run_parallel(search, range(len(data.n_codes)), n_threads):
        if question is not None and (best is None or question.disorder < best.disorder - tie):
            best = question
    return best


def best_cut(run: Run, data: Data, nodes: np.ndarray, level: Level, recipe: Recipe, column: int) -> Question | None:
    """The best question about one column."""
    line = data.keys[column]
    codes = (line >> CODE_SHIFT).astype(np.int64)
    known = int(np.searchsorted(codes, data.n_codes[column]))
    first_of_group = np.flatnonzero(np.diff(codes[:known], prepend=-1))
    n_groups = len(first_of_group)
    if n_groups < 2:
        return None
    starts = np.append(first_of_group, known)
    group_codes = codes[first_of_group]
    is_number = bool(data.is_number[column])
    alone = not is_number and recipe.categorical == ONE_VS_REST
    order = np.arange(n_groups) if is_number or alone else _order_of_groups(data, line, starts)
    n_nodes, width = level.totals.shape
    result = np.array([np.inf, -1.0, 0.0, level.spread.sum()])
    run(search_level)(
        line,
        starts,
        order,
        n_groups,
        alone,
        nodes,
        data.classes,
        data.numbers,
        data.weights,
        level.means,
        level.totals,
        data.n_classes,
        recipe.criterion,
        np.empty((n_nodes, width)),
        np.empty((n_nodes, width)),
        np.empty((n_nodes, width)),
        np.empty((2, width)),
        np.empty(n_nodes),
        np.empty(n_nodes, np.int64),
        np.empty(max(data.n_classes, 1)),
        result,
    )
    if result[2] == 0.0:
        return None
    disorder = float(result[0])
    if recipe.criterion in (SQUARED_ERROR, POISSON):
        disorder += float(level.spread.sum())
    position = int(result[1])
    first = np.zeros(data.n_codes[column] + 1, dtype=bool)
    first[group_codes[order[[position]] if alone else order[: position + 1]]] = True
    return Question(column, disorder, int(group_codes[position]) if is_number else -1, first)


def _order_of_groups(data: Data, line: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Categories by the mean of the target, or the share of the first class, over all nodes together."""
    rows = ((line >> ROW_SHIFT) & ROW_MASK).astype(np.int64)[: starts[-1]]
    goal = (data.classes == data.n_classes - 1).astype(float) if data.n_classes else data.numbers
    weight = np.add.reduceat(data.weights[rows], starts[:-1])
    return np.argsort(np.add.reduceat((data.weights * goal)[rows], starts[:-1]) / weight, kind="stable")


def answers(
    data: Data, nodes: np.ndarray, level: Level, question: Question, criterion: int
) -> tuple[np.ndarray, np.ndarray]:
    """The side of each row, and each node's side for rows without a value: the better one."""
    line = data.keys[question.column]
    rows = ((line >> ROW_SHIFT) & ROW_MASK).astype(np.int64)
    codes = np.empty(len(line), dtype=np.int64)
    codes[rows] = (line >> CODE_SHIFT).astype(np.int64)
    side = np.where(question.first[codes], 0, 1)
    known = codes < data.n_codes[question.column]
    if question.cut >= 0:
        side = np.where(codes <= question.cut, 0, 1)
    missing_branch = _missing_branches(data, nodes, level, np.where(known, side, 2), criterion)
    return np.where(known, side, missing_branch[nodes]), missing_branch


def _missing_branches(data: Data, nodes: np.ndarray, level: Level, side: np.ndarray, criterion: int) -> np.ndarray:
    """The branch of each node where its rows without a value (those on side 2) are best."""
    n_nodes, width = len(level.rows), max(data.n_classes, 2)
    sums = np.zeros((3, n_nodes, width))
    if data.n_classes:
        np.add.at(sums, (side, nodes, data.classes.astype(np.intp)), data.weights)
    else:
        numbers = data.numbers - level.means[nodes] if criterion == SQUARED_ERROR else data.numbers
        np.add.at(sums[:, :, 0], (side, nodes), data.weights)
        np.add.at(sums[:, :, 1], (side, nodes), data.weights * numbers)
    left, known, missing = sums[0], sums[0] + sums[1], sums[2]
    weight = sums[:2, :, : data.n_classes or 1].sum(axis=2)
    branches = np.where(weight[0] >= weight[1], 0, 1)
    room, scratch = np.empty((2, width)), np.empty(max(data.n_classes, 1))
    for node in np.flatnonzero(missing[:, : data.n_classes or 1].any(axis=1)):
        to_left = node_disorder(node, left, known, missing, room, data.n_classes, level.means, criterion, scratch)[1]
        branches[node] = int(not to_left)
    return branches


def join_levels(data: Data, levels: list[Level]) -> GrownTree:
    """The arrays of the finished tree, level by level."""
    sizes = [len(level.rows) for level in levels]
    firsts = np.cumsum(sizes) - sizes
    n_nodes = int(sum(sizes))
    kind = np.zeros(n_nodes, np.uint8)
    column = np.full(n_nodes, -1, np.int32)
    threshold = np.full(n_nodes, np.nan)
    first_child = np.zeros(n_nodes, np.int32)
    missing_branch = np.zeros(n_nodes, np.int32)
    set_start = np.full(n_nodes, -1, np.int64)
    words: list[np.ndarray] = []
    for index, level in enumerate(levels[:-1]):
        here = slice(firsts[index], firsts[index] + sizes[index])
        question = level.question
        assert question is not None
        assert level.missing_branch is not None
        column[here] = question.column
        missing_branch[here] = level.missing_branch
        first_child[here] = firsts[index + 1] + 2 * np.arange(sizes[index])
        kind[here] = THRESHOLD_SPLIT if question.cut >= 0 else SUBSET_SPLIT
        if question.cut >= 0:
            threshold[here] = _threshold(data, question)
        else:
            set_start[here] = sum(len(word) for word in words)
            words.append(_set_words(question.first[:-1]))
    weight = np.concatenate([level.weight for level in levels])
    spread = np.concatenate([level.spread for level in levels])
    safe = np.where(weight > 0, weight, 1.0)
    gain = np.zeros(n_nodes)
    inner = kind != LEAF_NODE
    children = first_child[inner]
    gain[inner] = np.maximum(spread[inner] - spread[children] - spread[children + 1], 0.0) / safe[inner]
    if data.n_classes:
        distribution = np.concatenate([level.totals for level in levels])
    else:
        distribution = np.concatenate([level.means for level in levels])[:, None]
    return GrownTree(
        kind=kind,
        column=column,
        threshold=threshold,
        first_child=first_child,
        n_children=np.where(inner, 2, 0).astype(np.int32),
        missing_branch=missing_branch,
        share=np.zeros(n_nodes),
        set_start=set_start,
        category_sets=np.concatenate(words) if words else np.empty(0, np.uint64),
        weight=weight,
        rows=np.concatenate([level.rows for level in levels]),
        impurity=spread / safe,
        gain=gain,
        distribution=distribution,
    )


def _threshold(data: Data, question: Question) -> float:
    start = int(data.value_start[question.column])
    below, above = data.values[start + question.cut], data.values[start + question.cut + 1]
    if data.fixed_cuts[question.column]:
        return float(below)
    return float(middle_of(below, above))


def _set_words(first: np.ndarray) -> np.ndarray:
    members = np.flatnonzero(first).astype(np.uint64)
    return np.concatenate([np.array([len(members)], np.uint64), members])
