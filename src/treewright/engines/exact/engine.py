"""The Python side of growth: from an encoded table to the arrays of a finished tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treewright.encoding.midpoints import midpoint
from treewright.encoding.ranks import Grid
from treewright.engines.bits import YES
from treewright.engines.criteria import ABSOLUTE_ERROR, OWN, criterion_effort
from treewright.engines.exact.data import make_data
from treewright.engines.exact.impurity import has_refused
from treewright.engines.exact.layout import BIT_SET, MULTIWAY
from treewright.engines.exact.loop import grow, grow_several
from treewright.engines.exact.own_criterion import ROUNDING, OwnCriterion, RefusedError
from treewright.engines.exact.workspace import (
    N_DEFERRED,
    N_NODES,
    N_SET_WORDS,
    NODES_WANTED,
    Data,
    Recipe,
    make_arrays,
    with_more_capacity,
)
from treewright.engines.missing_values import SPREADS, SURROGATE
from treewright.runtime.forms import Run, choose_form, compiled
from treewright.runtime.threads import run_parallel, usable_threads
from treewright.table.column import Column

# Tables with fewer cells are grown by one thread, because starting threads would take longer.
MIN_CELLS_FOR_THREADS = 1 << 19

# The bounds of the predictions of a whole tree.
UNBOUNDED = np.array([-np.inf, np.inf])

# A tree of more levels is narrow.
MANY_LEVELS = 200


def growing_effort(n_cells: int, n_classes: int, criterion: int) -> int:
    """Estimate the work of growing a tree: cells, times classes, times the effort of the criterion."""
    return n_cells * max(n_classes // 2, 1) * criterion_effort(criterion)


@dataclass(frozen=True)
class GrownSurrogates:
    """Surrogate splits, one line per node; `tree.Surrogates` explains the arrays."""

    column: np.ndarray
    threshold: np.ndarray
    low_branch: np.ndarray
    high_branch: np.ndarray
    map_start: np.ndarray
    agreement: np.ndarray
    majority: np.ndarray


@dataclass(frozen=True)
class GrownTree:
    """The arrays of a tree as the engine returns them; `tree.Tree` explains them."""

    kind: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray
    missing_branch: np.ndarray
    share: np.ndarray
    set_start: np.ndarray
    category_sets: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    impurity: np.ndarray
    gain: np.ndarray
    distribution: np.ndarray
    surrogates: GrownSurrogates | None = None


def grow_tree(
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
    rows_of_file: int | None = None,
    monotonic_cst: np.ndarray | None = None,
) -> GrownTree:
    """Grow one tree from a table and its target (`labels` of classes, or `numbers`).

    Numbers of two dimensions are several targets: see `several`.
    `rows_of_file` is the size of the table that contains these rows, for C4.5's rule of too many categories.
    `monotonic_cst` is 1 (rising), -1 (falling) or 0 for each column. Classes must then be two.
    """
    n_rows, n_columns = values.shape
    n_threads = usable_threads(n_jobs) if n_rows * n_columns >= MIN_CELLS_FOR_THREADS else 1
    targets = None
    if numbers is not None and numbers.ndim == 2:
        numbers, targets = None, numbers
    own = OwnCriterion(recipe.own, 0 if labels is None else n_classes) if recipe.criterion == OWN else None
    run = choose_form(
        growing_effort(values.size, n_classes if targets is None else 2 * targets.shape[1], recipe.criterion),
        own_to_compile=own is not None and not own.is_ready,
    )
    if own is not None:
        root = own.measure_root(labels, numbers, weights)
        recipe = recipe._replace(own=own.callback.address if run is compiled else own, own_tie=ROUNDING * abs(root))
        # Python runs one thread at a time.
        n_threads = n_threads if run is compiled and own.callback.is_compiled else 1
    data = make_data(
        run,
        columns,
        values,
        labels=labels,
        numbers=numbers,
        targets=targets,
        weights=weights,
        n_classes=n_classes,
        grid=grid,
        sort_target=recipe.criterion == ABSOLUTE_ERROR,
        multiway=recipe.categorical == MULTIWAY or recipe.strategy == SURROGATE,
        n_threads=n_threads,
        spreads=bool(SPREADS[recipe.strategy]),
        rows_of_file=rows_of_file,
        adjusts=recipe.adjusts,
        monotonic_cst=monotonic_cst,
    )
    try:
        subtrees = grow_subtrees(run, data, recipe, seed, n_threads)
    except RefusedError as refused:
        assert own is not None
        raise own.error(refused.figures) from None
    return number_level_by_level(join_subtrees(*subtrees), data)


class Subtree(NamedTuple):
    """The result of the growth loop: a tree, or a subtree."""

    kind: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray
    missing: np.ndarray
    share: np.ndarray
    set_start: np.ndarray
    surrogate_column: np.ndarray
    surrogate_cut: np.ndarray
    surrogate_after: np.ndarray
    surrogate_low: np.ndarray
    surrogate_high: np.ndarray
    surrogate_map: np.ndarray
    surrogate_agreement: np.ndarray
    majority: np.ndarray
    weight: np.ndarray
    spread: np.ndarray
    gain: np.ndarray
    distribution: np.ndarray
    bounds: np.ndarray
    depth: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    seed: np.ndarray
    set_words: np.ndarray
    deferred: np.ndarray


def grow_subtree(
    run: Run,
    data: Data,
    recipe: Recipe,
    place: tuple[int, int, int, np.uint64],
    deferred_sizes: tuple[int, int],
    bounds: np.ndarray = UNBOUNDED,
) -> tuple[Subtree, Data]:
    """Grow the tree of some rows, given their start and end, their depth and their seed.

    Nodes with more rows than the first of the sizes and at most the second are deferred. Their rows are in the table
    that is returned. Under monotonic constraints its predictions have `bounds`.
    """
    numbers = data.numbers if data.n_classes == 0 else None
    arrays = make_arrays(data, recipe, place[1] - place[0])
    arrays.root_bounds[:] = bounds[: len(arrays.root_bounds)]
    extras = YES if recipe.strategy == SURROGATE or recipe.max_p_value < 1.0 else None
    shared = (recipe, data.weighted, data.n_classes, data.target_line, *place, *deferred_sizes)
    grower, target = (run(grow_several), (data.targets,)) if len(data.targets) else (run(grow), (numbers, extras))
    grower(arrays, *shared, *target)
    while arrays.progress[NODES_WANTED] > 0:
        arrays = with_more_capacity(arrays, *arrays.progress[NODES_WANTED:].tolist())
        grower(arrays, *shared, *target)
    if has_refused(arrays):
        raise RefusedError(arrays.own_workspace[len(arrays.own_workspace) // 2 + 1 :])
    n_nodes = int(arrays.progress[N_NODES])
    # The class weights of nodes may need more memory than all else, so they are not copied.
    per_node = [getattr(arrays, f"node_{name}")[:n_nodes] for name in Subtree._fields[:-2]]
    set_words = arrays.set_words[: int(arrays.progress[N_SET_WORDS])].copy()
    deferred = arrays.deferred[: int(arrays.progress[N_DEFERRED])].copy()
    moved = data._replace(rows=arrays.rows, keys=arrays.keys, shares=arrays.shares)
    return Subtree._make([*per_node, set_words, deferred]), moved


def grow_subtrees(run: Run, data: Data, recipe: Recipe, seed: int, n_threads: int) -> tuple[list[int], list[Subtree]]:
    """Grow the top of the tree, then the subtrees; returns the node that each subtree replaces, and all of them.

    The subtrees work on separate rows, so they can grow at the same time. The tree does not depend on how it was
    divided. A tree grown best leaf first cannot be divided.
    """
    n_rows = len(data.rows)
    whole = n_threads < 2 or recipe.max_leaf_nodes > 0
    # If rows are divided, nodes become smaller slowly, and the top of the tree would be most of the work.
    largest = n_rows * 3 // 4 if len(data.shares) else n_rows // (2 * n_threads)
    sizes = (0, 0) if whole else (n_rows // 64, largest)
    top, moved = grow_subtree(run, data, recipe, (0, n_rows, 0, np.uint64(seed)), sizes)

    def grow_below(node: int) -> Subtree:
        place = (int(top.lo[node]), int(top.hi[node]), int(top.depth[node]), top.seed[node])
        if len(data.shares) == 0:
            return grow_subtree(run, moved, recipe, place, (0, 0), top.bounds[node])[0]
        size = place[1] - place[0]
        alone = _alone(moved, *place[:2])
        return grow_subtree(run, alone, recipe, (0, size, *place[2:]), (0, 0), top.bounds[node])[0]

    # The largest is first, so that no thread is left with a large one at the end.
    attached_to = sorted((int(node) for node in top.deferred), key=lambda node: top.lo[node] - top.hi[node])
    subtrees = run_parallel(grow_below, attached_to, n_threads)
    for node, subtree in zip(attached_to, subtrees, strict=True):
        subtree.share[0] = top.share[node]
    return attached_to, [top, *subtrees]


def _alone(data: Data, lo: int, hi: int) -> Data:
    """Copy a range of the row list, because the same row can be in another range, too."""
    return data._replace(
        rows=data.rows[lo:hi].copy(),
        shares=data.shares[lo:hi].copy(),
        keys=np.ascontiguousarray(data.keys[:, lo:hi]),
        weights=data.weights.copy(),
        side=np.empty_like(data.side),
        branch=np.empty_like(data.branch),
    )


def join_subtrees(attached_to: list[int], subtrees: list[Subtree]) -> Subtree:
    """Concatenate all nodes in one set of arrays; the root of each subtree replaces the node it hangs from."""
    if len(subtrees) == 1:
        return subtrees[0]
    sizes = [len(subtree.kind) for subtree in subtrees]
    first_node = np.cumsum(sizes) - sizes
    word_counts = [len(subtree.set_words) for subtree in subtrees]
    first_word = np.cumsum(word_counts) - word_counts
    whole = Subtree(*(np.concatenate(arrays) for arrays in zip(*subtrees, strict=True)))
    whole.first_child[:] += np.repeat(first_node, sizes).astype(np.int32)
    shift = np.repeat(first_word, sizes)
    for starts in (whole.set_start, whole.surrogate_map.T):
        starts[...] = np.where(starts >= 0, starts + shift, starts)
    for node, root in zip(attached_to, first_node[1:], strict=True):
        for array in whole[: Subtree._fields.index("set_words")]:
            array[node] = array[root]
    return whole


def number_level_by_level(tree: Subtree, data: Data) -> GrownTree:
    """Number the nodes level by level, which does not depend on how the tree was divided during growth."""
    order = level_order(tree.first_child, tree.n_children)
    place = np.empty(len(tree.kind), dtype=np.int32)
    place[order] = np.arange(len(order))
    n_children, column = tree.n_children[order], tree.column[order]
    inner = np.flatnonzero(n_children)
    first_child = np.zeros(len(order), dtype=np.int32)
    first_child[inner] = place[tree.first_child[order[inner]]]
    weight = tree.weight[order]
    surrogate_column = tree.surrogate_column[order]
    set_start, category_sets = _gather_sets(tree.set_start[order], column, tree.set_words, data.n_codes)
    surrogates = None
    if surrogate_column.size:
        map_start, maps = _gather_maps(tree.surrogate_map[order].ravel(), tree.set_words)
        map_start[map_start >= 0] += len(category_sets)
        category_sets = np.concatenate([category_sets, maps])
        surrogates = GrownSurrogates(
            column=surrogate_column,
            threshold=_surrogate_thresholds(tree, order, data),
            low_branch=np.where(surrogate_column >= 0, tree.surrogate_low[order], 0),
            high_branch=np.where(surrogate_column >= 0, tree.surrogate_high[order], 0),
            map_start=map_start.reshape(surrogate_column.shape),
            agreement=np.where(surrogate_column >= 0, tree.surrogate_agreement[order], 0.0),
            majority=tree.majority[order],
        )
    return GrownTree(
        kind=tree.kind[order],
        column=column,
        threshold=tree.threshold[order],
        first_child=first_child,
        n_children=n_children,
        missing_branch=tree.missing[order],
        share=tree.share[order],
        set_start=set_start,
        category_sets=category_sets,
        weight=weight,
        rows=(tree.hi - tree.lo)[order],
        impurity=np.divide(tree.spread[order], weight, out=np.zeros(len(order)), where=weight > 0),
        gain=tree.gain[order],
        distribution=_within_bounds(tree.distribution[order], tree.bounds[order], data.n_classes),
        surrogates=surrogates,
    )


def _within_bounds(distribution: np.ndarray, bounds: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the distributions of nodes whose predictions have bounds; two classes keep their total weight."""
    if bounds.shape[1] == 0:
        return distribution
    least, most = bounds.T
    if n_classes == 0:
        return np.clip(distribution, least[:, None], most[:, None])
    weight = distribution.sum(axis=1)
    share = np.divide(distribution[:, 1], weight, out=np.zeros(len(weight)), where=weight > 0.0)
    outside = (weight > 0.0) & ((share < least) | (share > most))
    second = np.where(outside, np.clip(share, least, most) * weight, distribution[:, 1])
    return np.stack([np.where(outside, weight - second, distribution[:, 0]), second], axis=1)


def _surrogate_thresholds(tree: Subtree, order: np.ndarray, data: Data) -> np.ndarray:
    """Return the midpoints between the values on both sides of the surrogates' cuts, NaN if there is none."""
    column, cut, after = tree.surrogate_column[order], tree.surrogate_cut[order], tree.surrogate_after[order]
    thresholds = np.full(column.shape, np.nan)
    for place in np.argwhere((column >= 0) & data.is_number[column]):
        index = tuple(place)
        start = data.value_start[column[index]]
        below = data.values[start + cut[index]]
        fixed = data.fixed_cuts[column[index]]
        thresholds[index] = below if fixed else midpoint(below, data.values[start + after[index]])
    return thresholds


def _gather_sets(
    starts: np.ndarray, column: np.ndarray, set_words: np.ndarray, n_codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the category sets of the nodes that have one, in the order of the nodes."""
    with_set = np.flatnonzero(starts >= 0)
    heads = set_words[starts[with_set]]
    as_bits = heads == BIT_SET
    lengths = 1 + np.where(
        as_bits, (n_codes[column[with_set]] + 63) // 64, np.where(as_bits, 0, heads).astype(np.int64)
    )
    return _gather_words(starts, lengths, set_words)


def _gather_maps(starts: np.ndarray, set_words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maps from categories to branches of the surrogates that have one: two words for each category."""
    return _gather_words(starts, 1 + 2 * set_words[starts[starts >= 0]].astype(np.int64), set_words)


def _gather_words(starts: np.ndarray, lengths: np.ndarray, set_words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate some ranges of words, and return the start of each; -1 remains where there is no range."""
    begun = np.flatnonzero(starts >= 0)
    words = np.repeat(starts[begun], lengths) + _counts_within(lengths)
    moved = np.full(len(starts), -1, dtype=np.int64)
    moved[begun] = np.cumsum(lengths) - lengths
    return moved, set_words[words]


def _counts_within(lengths: np.ndarray) -> np.ndarray:
    """Return 0, 1, .. length-1 for each length, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)


def _order_from(level: np.ndarray, first_child: np.ndarray, n_children: np.ndarray) -> np.ndarray:
    """Return a level and all nodes below it, level by level, without a slow call of NumPy for each level."""
    order, firsts, counts = level.tolist(), first_child.tolist(), n_children.tolist()
    for node in order:
        order.extend(range(firsts[node], firsts[node] + counts[node]))
    return np.array(order, dtype=np.int64)


def level_order(first_child: np.ndarray, n_children: np.ndarray) -> np.ndarray:
    """Return the nodes that can be reached from the root, level by level."""
    levels = [np.zeros(1, dtype=np.int64)]
    while len(levels[-1]):
        if len(levels) > MANY_LEVELS:
            return np.concatenate([*levels[:-1], _order_from(levels[-1], first_child, n_children)])
        parents = levels[-1][n_children[levels[-1]] > 0]
        sizes = n_children[parents].astype(np.int64)
        levels.append(np.repeat(first_child[parents], sizes) + _counts_within(sizes))
    return np.concatenate(levels)
