"""Predictions of many trees for rows in bytes, by walking or, for small trees, by leaf masks."""

from __future__ import annotations

import numpy as np

from treewright.engines.packed.masks import MOST_LEAVES, ROWS_NEAR, predict_by_masks, turn_codes
from treewright.engines.packed.tiles import GROUP, TILE, predict_few, predict_tiles, write_tile_nodes
from treewright.engines.packed.trees import PackedTrees
from treewright.engines.packed.walk import BLOCK, IS_SET, predict_block, walk
from treewright.runtime.forms import Run
from treewright.runtime.threads import run_parallel

# Rows that are sent down all trees together, so that their codes remain in the cache.
ROWS_AT_ONCE = 4096


# Number of rows per block for leaf masks, and the least number of rows for which their tables pay off.
ROWS_BY_MASKS, MIN_ROWS_FOR_MASKS = 1 << 14, 256

# Number of bytes of the tiles of a block, which remain in the second-level cache together with a tree.
TILE_BYTES = 1 << 18

# Up to this number, rows are predicted one by one, by several trees at the same time.
FEW_ROWS = 8


def tile_nodes_of(run: Run, nodes: np.ndarray, node_start: np.ndarray) -> np.ndarray:
    """Return the second form of the nodes, for tiles; empty if there are sets of categories."""
    if (nodes & IS_SET).any():
        return np.empty(0, np.uint64)
    tile_nodes = np.empty(len(nodes), np.uint64)
    run(write_tile_nodes)(nodes, node_start, tile_nodes)
    return tile_nodes


def sum_predictions(
    run: Run, codes: np.ndarray, trees: PackedTrees, majority: bool, n_threads: int, bags: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sum up the predictions of the trees for each encoded row, and count the trees that predict it."""
    n_rows = len(codes)
    out = np.zeros((n_rows, trees.n_outputs))
    if bags is None and n_rows <= FEW_ROWS and len(trees.tile_nodes):
        _predict_few(run, codes, trees, majority, out)
        return out, np.full(n_rows, trees.n_trees)
    if bags is None and not majority and n_rows >= MIN_ROWS_FOR_MASKS and trees.has_small_trees:
        _predict_by_masks(run, codes, trees, n_threads, out)
        return out, np.full(n_rows, trees.n_trees)
    n_predictions = np.zeros(n_rows, np.int64)
    bags = np.empty((0, 0), np.uint8) if bags is None else bags
    if len(trees.tile_nodes):
        _predict_by_tiles(run, codes, trees, majority, n_threads, bags, out, n_predictions)
    else:
        _predict_by_blocks(run, codes, trees, majority, n_threads, bags, out, n_predictions)
    return out, n_predictions


def _predict_few(run: Run, codes: np.ndarray, trees: PackedTrees, majority: bool, out: np.ndarray) -> None:
    run(predict_few)(
        codes,
        trees.tile_nodes,
        trees.nodes,
        trees.node_start,
        trees.leaf_start,
        trees.leaf_value,
        trees.leaf_end,
        trees.entry_class,
        trees.entry_share,
        majority,
        out,
        np.empty(2 * TILE * codes.shape[1], np.uint8),
        np.empty(GROUP, np.uint32),
    )


def _predict_by_tiles(
    run: Run,
    codes: np.ndarray,
    trees: PackedTrees,
    majority: bool,
    n_threads: int,
    bags: np.ndarray,
    out: np.ndarray,
    n_predictions: np.ndarray,
) -> None:
    n_rows, n_columns = codes.shape
    size = rows_of_tiles(n_rows, n_columns, n_threads)

    def predict(first: int) -> None:
        last = min(first + size, n_rows)
        n_tiles = -(-(last - first) // TILE)
        run(predict_tiles)(
            codes,
            first,
            last,
            trees.tile_nodes,
            trees.nodes,
            trees.node_start,
            trees.leaf_start,
            trees.leaf_value,
            trees.leaf_end,
            trees.entry_class,
            trees.entry_share,
            majority,
            bags,
            out,
            n_predictions,
            np.empty(n_tiles * 2 * TILE * n_columns, np.uint8),
            np.empty(TILE, np.uint32),
        )

    run_parallel(predict, range(0, n_rows, size), n_threads if size < n_rows else 1)


def rows_of_tiles(n_rows: int, n_columns: int, n_threads: int) -> int:
    """Return the number of rows of a block: whole tiles that fit into the cache, about as many blocks for each thread.

    >>> rows_of_tiles(20_000, 30, 2), rows_of_tiles(20_000, 30, 1), rows_of_tiles(100, 30, 2)
    (3456, 4096, 128)
    """
    most = min(max(TILE_BYTES // (2 * TILE * n_columns), 1) * TILE, ROWS_AT_ONCE)
    n_blocks = n_threads * -(-n_rows // (n_threads * most))
    return -(-n_rows // (n_blocks * TILE)) * TILE


def _predict_by_blocks(
    run: Run,
    codes: np.ndarray,
    trees: PackedTrees,
    majority: bool,
    n_threads: int,
    bags: np.ndarray,
    out: np.ndarray,
    n_predictions: np.ndarray,
) -> None:
    n_rows = len(codes)

    def predict(first: int) -> None:
        last = min(first + ROWS_AT_ONCE, n_rows)
        run(predict_block)(
            codes,
            first,
            last,
            trees.nodes,
            trees.node_start,
            trees.node_set,
            trees.sets,
            trees.leaf_start,
            trees.leaf_value,
            trees.leaf_end,
            trees.entry_class,
            trees.entry_share,
            majority,
            bags,
            out,
            n_predictions,
            np.empty(last - first, np.uint32),
            np.empty(BLOCK, np.uint32),
        )

    run_parallel(predict, range(0, n_rows, ROWS_AT_ONCE), n_threads if n_rows > ROWS_AT_ONCE else 1)


def has_small_trees(leaf_start: np.ndarray, leaf_end: np.ndarray) -> bool:
    """Do the leaves of every tree fit into the bits of one word?"""
    return len(leaf_end) == 0 and int(np.diff(leaf_start).max(initial=0)) <= MOST_LEAVES


def _predict_by_masks(run: Run, codes: np.ndarray, trees: PackedTrees, n_threads: int, out: np.ndarray) -> None:
    """Do the same as `sum_predictions` for small trees, by leaf masks."""
    n_rows, n_columns = codes.shape
    size = ROWS_BY_MASKS if n_threads < 2 else min(ROWS_BY_MASKS, -(-n_rows // n_threads))

    def predict(first: int) -> None:
        last = min(first + size, n_rows)
        near = np.empty((n_columns, last - first), np.uint8)
        run(turn_codes)(codes, first, last, near)
        run(predict_by_masks)(
            first,
            last,
            trees.nodes,
            trees.node_start,
            trees.node_set,
            trees.sets,
            trees.leaf_start,
            trees.leaf_value,
            out,
            near,
            np.empty(ROWS_NEAR, np.uint64),
            np.empty((min(n_columns, MOST_LEAVES), 256), np.uint64),
            np.empty(min(n_columns, MOST_LEAVES), np.int64),
            np.full(n_columns, -1, np.int64),
            np.empty(MOST_LEAVES, np.uint32),
            np.empty((MOST_LEAVES, 2), np.int64),
        )

    run_parallel(predict, range(0, n_rows, size), n_threads)


def leaves_of_rows(run: Run, codes: np.ndarray, trees: PackedTrees, n_threads: int) -> np.ndarray:
    """Return the leaf of each encoded row in each tree."""
    n_rows, n_trees = len(codes), trees.n_trees
    leaves = np.empty((n_trees, n_rows), np.uint32)

    def descend(first: int) -> None:
        last = min(first + ROWS_AT_ONCE, n_rows)
        active = np.empty(BLOCK, np.uint32)
        for tree in range(n_trees):
            at = leaves[tree, first:last]
            run(walk)(codes, first, last, trees.nodes, trees.node_start[tree], trees.node_set, trees.sets, at, active)

    run_parallel(descend, range(0, n_rows, ROWS_AT_ONCE), n_threads if n_rows > ROWS_AT_ONCE else 1)
    return leaves.T
