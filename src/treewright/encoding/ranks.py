"""A table as ranks: a number becomes the rank of its value, a category its index, and missing has a separate code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treewright.encoding.keys import MAX_NARROW_CODES, MAX_ROWS
from treewright.encoding.midpoints import midpoints
from treewright.encoding.ranking import (
    BUCKETS,
    N_DIGITS,
    code_small_integers,
    fill_codes,
    fill_keys,
    order_by_code,
    rank_values,
)
from treewright.runtime.forms import Run
from treewright.runtime.signatures import CONTIGUOUS_AND_ALIGNED
from treewright.runtime.threads import run_parallel
from treewright.table.column import Column

# ("bins", k), ("step", width) or None for the values themselves.
Grid = tuple[str, float] | None


@dataclass(frozen=True)
class RankedColumn:
    """One ranked column: its number of codes, and the number that each represents."""

    is_wide: bool
    n_codes: int
    values: np.ndarray
    fixed_cuts: bool
    has_missing: bool


class RankedTable(NamedTuple):
    """The columns of a table as ranks of their values.

    A column with few values is in `codes` (one byte per row, in row order), any other column is in `keys` (sorted). The
    code of a missing value is the one after the column's last code.
    """

    codes: np.ndarray  # uint8[column, row]
    keys: np.ndarray  # uint64[column, position]; the line after the last column is for the target, if it is sorted
    is_wide: np.ndarray  # bool[column]: in keys rather than in codes
    is_number: np.ndarray  # bool[column]: split by threshold rather than by category
    n_codes: np.ndarray  # int64[column]
    values: np.ndarray  # float64[all codes of all columns]
    value_start: np.ndarray  # int64[column]
    fixed_cuts: np.ndarray  # bool[column]: thresholds are the values themselves, not midpoints
    has_missing: np.ndarray  # bool[column]


def rank_table(
    run: Run,
    columns: Sequence[Column],
    values: np.ndarray,
    *,
    labels: np.ndarray | None = None,
    sorted_targets: Sequence[np.ndarray] = (),
    grid: Grid = None,
    all_sorted: bool = False,
    n_threads: int = 1,
) -> RankedTable:
    """Rank all columns of a table.

    Parameters
    ----------
    run : function
        Returns the form of a kernel to use.
    columns, values
        The table: its columns, and their values as numbers and category indices.
    labels : array or None
        Classes that are packed with each code of a sorted column, if there are few enough of them.
    sorted_targets : sequence of arrays
        Numeric targets to be sorted, too, in lines after those of the columns.
    grid : tuple or None
        The possible thresholds, if not all midpoints of neighbouring values.
    all_sorted : bool
        Whether columns with few values are sorted as well.
    """
    n_rows, n_columns = values.shape
    if n_rows >= MAX_ROWS:
        raise ValueError(f"the table has {n_rows} rows; use at most {MAX_ROWS - 1} rows to grow a tree")
    packed = np.empty(0, np.uint16) if labels is None else labels
    # A line that is not used is never touched and needs no memory.
    codes = np.empty((n_columns, n_rows), np.uint8)
    keys = np.empty((n_columns + max(len(sorted_targets), 1), n_rows), np.uint64)

    def rank(index: int) -> RankedColumn:
        column = columns[index]
        # Values of a C-ordered table are copied into one contiguous column at a time.
        numbers_of_column = np.require(values[:, index], requirements=CONTIGUOUS_AND_ALIGNED)
        if not column.is_categorical and grid is None and not all_sorted:
            quickly = _rank_small_integers(run, column, numbers_of_column, codes[index])
            if quickly is not None:
                return quickly
        if column.is_categorical:
            order, in_order, ranked = _rank_categories(run, column, numbers_of_column)
        else:
            order, in_order, ranked = _rank_numbers(run, column, numbers_of_column, grid)
        if ranked.is_wide or all_sorted:
            run(fill_keys)(order, in_order, packed, keys[index])
        else:
            run(fill_codes)(order, in_order, codes[index])
        return ranked

    ranked = run_parallel(rank, range(n_columns), n_threads)
    for line, sorted_target in enumerate(sorted_targets, start=n_columns):
        order, in_order, _ = _rank(run, sorted_target, n_rows)
        run(fill_keys)(order, in_order, packed, keys[line])
    lengths = np.array([len(column.values) for column in ranked], dtype=np.int64)
    return RankedTable(
        codes=codes,
        keys=keys,
        is_wide=np.array([column.is_wide or all_sorted for column in ranked]),
        is_number=np.array([not column.is_categorical for column in columns]),
        n_codes=np.array([column.n_codes for column in ranked], dtype=np.int64),
        values=np.concatenate([column.values for column in ranked]),
        value_start=np.cumsum(lengths) - lengths,
        fixed_cuts=np.array([column.fixed_cuts for column in ranked]),
        has_missing=np.array([column.has_missing for column in ranked]),
    )


# Largest range of whole numbers that are encoded by a look-up table.
MAX_SPAN = 1 << 16


def _rank_small_integers(run: Run, column: Column, numbers: np.ndarray, line: np.ndarray) -> RankedColumn | None:
    """Write the codes of a column of few whole numbers into its line; returns None if it is not such a column."""
    values = np.empty(MAX_NARROW_CODES)
    n_codes = run(code_small_integers)(numbers, np.empty(MAX_SPAN, np.uint8), line, values)
    if n_codes < 1:
        return None
    has_missing = bool((line == n_codes).any())
    return RankedColumn(False, n_codes, values[:n_codes].copy(), not column.is_numeric, has_missing)


def _rank_categories(run: Run, column: Column, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, RankedColumn]:
    n_codes = len(column.categories)
    missing = ~(indices >= 0)
    codes = np.where(missing, n_codes, indices).astype(np.uint32)
    order, in_order = np.empty(len(codes), np.uint32), np.empty(len(codes), np.uint32)
    run(order_by_code)(codes, np.zeros(n_codes + 2, np.int64), order, in_order)
    ranked = RankedColumn(n_codes > MAX_NARROW_CODES, n_codes, np.empty(0), True, bool(missing.any()))
    return order, in_order, ranked


def _rank(run: Run, numbers: np.ndarray, n_known: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the row order, the codes in that order, and the distinct values of a contiguous column."""
    words, spare_words = np.empty(n_known, np.uint64), np.empty(n_known, np.uint64)
    order, spare_order = np.empty(len(numbers), np.uint32), np.empty(len(numbers), np.uint32)
    counts = np.zeros((N_DIGITS, BUCKETS), np.uint32)
    codes, values = np.empty(len(numbers), np.uint32), np.empty(n_known)
    bits = numbers.view(np.uint64)
    n_distinct = run(rank_values)(numbers, bits, words, spare_words, order, spare_order, counts, codes, values)
    return order, codes, values[:n_distinct].copy()


def _rank_numbers(
    run: Run, column: Column, numbers: np.ndarray, grid: Grid
) -> tuple[np.ndarray, np.ndarray, RankedColumn]:
    n_known = len(numbers) - int(np.count_nonzero(np.isnan(numbers)))
    order, codes, values = _rank(run, numbers, n_known)
    has_missing = n_known < len(numbers)
    if not column.is_numeric or grid is None or len(values) == 0:
        # A cut of an ordered column is identified by its last category, not by a midpoint.
        is_wide = len(values) > MAX_NARROW_CODES
        return order, codes, RankedColumn(is_wide, len(values), values, not column.is_numeric, has_missing)
    kind, size = grid
    cuts = _step_cuts(values, size) if kind == "step" else quantile_cuts(values, codes[:n_known], int(size))
    bin_of_value = np.searchsorted(cuts, values, side="left")
    used, bin_of_value = np.unique(bin_of_value, return_inverse=True)
    bin_of_value = np.append(bin_of_value, len(used))
    bounds = np.append(cuts, np.inf)[used]
    ranked = RankedColumn(len(used) > MAX_NARROW_CODES, len(used), bounds, True, has_missing)
    return order, bin_of_value[codes].astype(np.uint32), ranked


def _step_cuts(values: np.ndarray, width: float) -> np.ndarray:
    """Return the multiples of `width` that are upper bounds of the values; a value on the grid is its own bound.

    A value counts as on the grid if it is off by rounding only: 0.07 / 0.01 is slightly more than 7.
    """
    with np.errstate(invalid="ignore"):
        steps = values / width
        nearest = np.round(steps)
        on_grid = np.abs(steps - nearest) <= 1e-9 * np.maximum(np.abs(nearest), 1.0)
        lines = np.where(on_grid, nearest, np.ceil(steps))
    finite = np.isfinite(lines)
    lines, place = np.unique(lines[finite], return_inverse=True)
    cuts = lines * width
    on_line = on_grid[finite]
    np.maximum.at(cuts, place[on_line], values[finite][on_line])
    return cuts


def quantile_cuts(values: np.ndarray, codes: np.ndarray, n_bins: int) -> np.ndarray:
    """Return midpoints of neighbouring values, chosen so that all bins have about equally many rows."""
    positions = np.round(np.arange(1, n_bins) * (len(codes) / n_bins)).astype(np.int64)
    below = np.unique(codes[np.clip(positions, 1, len(codes)) - 1])
    below = below[below < len(values) - 1].astype(np.int64)
    return midpoints(values[below], values[below + 1])
