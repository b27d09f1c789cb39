"""Shapley values of a group of trees on the same rows: by tables of patterns for small trees, by walking for others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewright.engines.packed.masks import turn_codes
from treewright.engines.shapley.patterns import (
    MOST_COLUMNS,
    ROWS,
    count_patterns,
    explain_rows,
    fill_by_counts,
    fill_by_ratios,
    fit_intervals,
    write_paths,
)
from treewright.engines.shapley.quadrature import quadrature
from treewright.engines.shapley.walk import Edges, Passes, add_interactions, add_shapley_values
from treewright.insight.shapley.paths import PathTree
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.threads import run_parallel

# A tree whose tables have more entries than this is walked: filling them would take longer.
MOST_ENTRIES = 1 << 20

# With fewer rows, filling the tables takes longer than walking.
MIN_ROWS = 16

# Rows that are walked together, and the number of cells of their fractions.
ROWS_WALKED, CELLS_WALKED = 256, 1 << 20


def explain_trees(
    trees: list[PathTree],
    output: int,
    rows: np.ndarray,
    background: np.ndarray | None,
    n_columns: int,
    pairs: bool,
    n_threads: int,
) -> tuple[np.ndarray, float]:
    """The sum over trees of the contributions to one output, and of the prediction if no column is known.

    The contributions are [row, column], or [row, pair] of columns i < j at i * n_columns + j. `rows` and `background`
    are in the form that the trees read.
    """
    out = np.zeros((len(rows), n_columns**2 if pairs else n_columns))
    enough = len(rows) + (0 if background is None else len(background)) >= MIN_ROWS
    small = [tree for tree in trees if enough and _fits_tables(tree, pairs)]
    large = [tree for tree in trees if not (enough and _fits_tables(tree, pairs))]
    expected = 0.0
    if small:
        expected += _explain_by_patterns(small, output, rows, background, n_columns, pairs, n_threads, out)
    for tree in large:
        _explain_by_walking(tree, output, rows, background, pairs, n_threads, out)
        expected += tree.expected(output, background)
    return out, expected


def _fits_tables(tree: PathTree, pairs: bool) -> bool:
    if tree.passing is None:
        return False
    k = tree.n_columns[tree.is_leaf]
    terms = k * (k - 1) // 2 if pairs else k
    return int(k.max()) <= MOST_COLUMNS and int((terms << k).sum()) <= MOST_ENTRIES


@dataclass(frozen=True, eq=False)
class _Tables:
    """The paths to all leaves of some trees, and the tables of their contributions."""

    start: np.ndarray
    column: np.ndarray
    ratio: np.ndarray
    passing: np.ndarray
    low: np.ndarray
    width: np.ndarray
    kind: np.ndarray
    value: np.ndarray
    term_start: np.ndarray
    term_output: np.ndarray
    table_start: np.ndarray

    @property
    def tests(self) -> tuple[np.ndarray, ...]:
        """What kernels need to find the pattern of a row."""
        return self.start, self.column, self.low, self.width, self.kind, self.passing

    @property
    def sizes(self) -> np.ndarray:
        """The number of columns on the path to each leaf."""
        return np.diff(self.start)


def _list_paths(trees: list[PathTree], output: int, n_columns: int, pairs: bool) -> _Tables:
    run = choose_compiled_form()
    n_leaves = sum(int(tree.is_leaf.sum()) for tree in trees)
    size = sum(int(tree.n_columns[tree.is_leaf].sum()) for tree in trees)
    start, column, ratio = np.zeros(n_leaves + 1, np.int64), np.empty(size, np.int32), np.empty(size)
    passing = np.empty((size, 4), np.uint64)
    first = 0
    for tree in trees:
        codes = np.ascontiguousarray(tree.passing)
        first += run(write_paths)(
            tree.parent, tree.column, tree.end, tree.ratio, codes, start[first:], column, ratio, passing
        )
    low, width, kind = (np.empty(size, np.uint8) for _ in range(3))
    run(fit_intervals)(passing, low, width, kind)
    value = np.concatenate([tree.value[tree.is_leaf, output] for tree in trees])
    term_start, term_output = _terms(start, column, n_columns, pairs)
    tables = np.diff(term_start) << np.diff(start)
    return _Tables(
        start, column, ratio, passing, low, width, kind, value, term_start, term_output, np.append(0, np.cumsum(tables))
    )


def _terms(start: np.ndarray, column: np.ndarray, n_columns: int, pairs: bool) -> tuple[np.ndarray, np.ndarray]:
    """The start of the terms of each leaf, and the output that each term adds to."""
    if not pairs:
        return start, column
    sizes = np.diff(start)
    outputs = []
    for first, k in zip(start[:-1], sizes, strict=True):
        second, one = np.tril_indices(k, -1)
        a, b = column[first + second].astype(np.int64), column[first + one].astype(np.int64)
        outputs.append(np.minimum(a, b) * n_columns + np.maximum(a, b))
    return np.append(0, np.cumsum(sizes * (sizes - 1) // 2)), np.concatenate(outputs).astype(np.int32)


def _explain_by_patterns(
    trees: list[PathTree],
    output: int,
    rows: np.ndarray,
    background: np.ndarray | None,
    n_columns: int,
    pairs: bool,
    n_threads: int,
    out: np.ndarray,
) -> float:
    """Add the contributions of small trees to `out`; returns the sum of the trees if no column is known."""
    run = choose_compiled_form()
    paths = _list_paths(trees, output, n_columns, pairs)
    table, reached = _fill(paths, background, pairs, n_threads)
    n_outputs = out.shape[1]

    def explain(first: int) -> None:
        size = min(ROWS, len(rows) - first)
        near = np.zeros((rows.shape[1], ROWS), np.uint8)
        run(turn_codes)(rows, first, first + size, near)
        found = np.zeros((n_outputs, ROWS))
        patterns = np.zeros(ROWS, np.uint16)
        terms = (paths.term_start, paths.term_output, paths.table_start)
        run(explain_rows)(near, ROWS, *paths.tests, *terms, table, patterns, found)
        out[first : first + size] += found[:, :size].T

    run_parallel(explain, range(0, len(rows), ROWS), n_threads if len(rows) > ROWS else 1)
    return float(reached @ paths.value)


def _fill(paths: _Tables, background: np.ndarray | None, pairs: bool, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
    """The contributions of all leaves for all patterns, and the fraction of rows that reach each leaf."""
    run = choose_compiled_form()
    table = np.empty(int(paths.table_start[-1]))
    most = int(paths.sizes.max(initial=0))
    points, weights = quadrature(most)
    if background is None:
        factors, products = np.empty((max(most, 1), len(points))), np.empty(len(points))
        rule = (pairs, points, weights)
        run(fill_by_ratios)(paths.start, paths.ratio, paths.value, *rule, paths.table_start, table, factors, products)
        has_path = paths.sizes > 0
        reached = np.ones(len(has_path))
        reached[has_path] = np.multiply.reduceat(paths.ratio, paths.start[:-1][has_path]) if has_path.any() else 1.0
        return table, reached
    count_start = np.append(0, np.cumsum(1 << paths.sizes))

    def count(block: range) -> np.ndarray:
        counts, patterns = np.zeros(int(count_start[-1])), np.zeros(ROWS, np.uint16)
        for first in block:
            last = min(first + ROWS, len(background))
            near = np.zeros((background.shape[1], ROWS), np.uint8)
            run(turn_codes)(background, first, last, near)
            run(count_patterns)(near, last - first, *paths.tests, count_start, patterns, counts)
        return counts

    firsts = range(0, len(background), ROWS)
    blocks = [firsts[k::n_threads] for k in range(n_threads)]
    # Whole numbers, so the sum does not depend on the blocks.
    counts = np.sum(run_parallel(count, blocks, n_threads), axis=0) / len(background)
    rule = (pairs, points, weights)
    run(fill_by_counts)(
        paths.start, paths.value, *rule, count_start, counts, paths.table_start, table, np.empty(1 << most)
    )
    return table, counts[count_start[1:] - 1]  # the pattern of rows that pass all tests is the last one


def _explain_by_walking(
    tree: PathTree,
    output: int,
    rows: np.ndarray,
    background: np.ndarray | None,
    pairs: bool,
    n_threads: int,
    out: np.ndarray,
) -> None:
    run = choose_compiled_form()
    if len(tree.parent) == 1:
        return
    hidden = tree.ratio[None, :] if background is None else tree.fractions(background)
    points, weights = quadrature(int(tree.n_columns.max()))
    edges = Edges(tree.parent, tree.column, tree.end, tree.above, np.ascontiguousarray(tree.value[:, output]))
    n_nodes = len(tree.parent)
    size = min(ROWS_WALKED, max(CELLS_WALKED // n_nodes, 1), max(-(-len(rows) // n_threads), 1))

    def explain(first: int) -> None:
        block = slice(first, first + size)
        known_product, hidden_product = np.empty(n_nodes), np.empty(n_nodes)
        product, inverse, total = (np.empty((n_nodes, len(points))) for _ in range(3))
        passes = Passes(known_product, hidden_product, product, inverse, total, np.empty(n_nodes, np.int64))
        known = tree.fractions(rows[block])
        if pairs:
            latest = np.empty(n_nodes, np.int64)
            run(add_interactions)(known, hidden, edges, points, weights, passes, latest, out[block])
        else:
            run(add_shapley_values)(known, hidden, edges, points, weights, passes, out[block])

    run_parallel(explain, range(0, len(rows), size), n_threads if len(rows) > size else 1)
