"""Turning the columns of a table into the codes that the kernels work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from treewright.growth.layout import MAX_NARROW_CODES, MAX_PACKED_CLASSES, MAX_ROWS
from treewright.growth.ranking import (
    BUCKETS,
    N_DIGITS,
    code_small_integers,
    fill_codes,
    fill_keys,
    order_by_code,
    rank_values,
)
from treewright.growth.workspace import Data
from treewright.table.column import Column

Item = TypeVar("Item")
Result = TypeVar("Result")

# ("bins", k), ("step", width) or None for the values themselves.
Grid = tuple[str, float] | None

# Gives the form of a kernel that is to be run: the compiled or the plain one.
Run = Callable[[Callable[..., Any]], Any]


def run_parallel(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> list[Result]:
    """The results in the order of the items, computed on a plain pool of threads."""
    if n_threads < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, items))


@dataclass(frozen=True)
class CodedColumn:
    """One coded column: how many codes it has and what number each stands for."""

    is_wide: bool
    n_codes: int
    values: np.ndarray
    fixed_cuts: bool
    has_missing: bool


def code_table(
    run: Run,
    columns: Sequence[Column],
    values: np.ndarray,
    *,
    labels: np.ndarray | None,
    numbers: np.ndarray | None,
    weights: np.ndarray,
    n_classes: int,
    grid: Grid,
    sort_target: bool,
    multiway: bool,
    n_threads: int,
    all_sorted: bool = False,
    spreads: bool = False,
    rows_of_file: int | None = None,
) -> Data:
    """Code all columns of a table; `labels` or `numbers` is the target, `run` gives a kernel's form to use.

    Columns with many values are sorted, and all of them if asked. Where there are gaps and the recipe `spreads` rows
    that have them, each has a share, and a weight that changes from node to node.
    """
    n_rows, n_columns = values.shape
    if n_rows >= MAX_ROWS:
        raise ValueError(f"the table has {n_rows} rows; a tree can be grown from at most {MAX_ROWS - 1}")
    packed = labels if labels is not None and n_classes <= MAX_PACKED_CLASSES else np.empty(0, np.uint16)
    # A line that is not used is never touched and takes no memory.
    codes = np.empty((n_columns, n_rows), np.uint8)
    keys = np.empty((n_columns + 1, n_rows), np.uint64)

    def code(index: int) -> CodedColumn:
        column = columns[index]
        # Rows of a C-ordered table are gathered into one contiguous column at a time.
        numbers_of_column = np.ascontiguousarray(values[:, index])
        if not column.is_categorical and grid is None and not all_sorted:
            quickly = _code_small_integers(run, column, numbers_of_column, codes[index])
            if quickly is not None:
                return quickly
        if column.is_categorical:
            order, in_order, coded = _code_categories(run, column, numbers_of_column)
        else:
            order, in_order, coded = _code_numbers(run, column, numbers_of_column, grid)
        if coded.is_wide or all_sorted:
            run(fill_keys)(order, in_order, packed, keys[index])
        else:
            run(fill_codes)(order, in_order, codes[index])
        return coded

    coded = run_parallel(code, range(n_columns), n_threads)
    if sort_target:
        assert numbers is not None
        order, in_order, _ = _rank(run, numbers, n_rows)
        run(fill_keys)(order, in_order, packed, keys[n_columns])
    lengths = np.array([len(column.values) for column in coded], dtype=np.int64)
    divides = spreads and any(column.has_missing for column in coded)
    return Data(
        codes=codes,
        keys=keys,
        is_wide=np.array([column.is_wide or all_sorted for column in coded]),
        is_number=np.array([not column.is_categorical for column in columns]),
        n_codes=np.array([column.n_codes for column in coded], dtype=np.int64),
        values=np.concatenate([column.values for column in coded]),
        value_start=np.cumsum(lengths) - lengths,
        fixed_cuts=np.array([column.fixed_cuts for column in coded]),
        has_missing=np.array([column.has_missing for column in coded]),
        in_average=_counts_in_average(columns, rows_of_file or n_rows),
        rows=np.arange(n_rows, dtype=np.uint32),
        shares=np.ones(n_rows if divides else 0),
        full_weights=weights,
        weights=weights.copy() if divides else weights,
        weighted=divides or bool((weights != 1.0).any()),
        classes=labels if labels is not None else np.empty(0, np.uint16),
        n_classes=n_classes,
        numbers=numbers if numbers is not None else np.empty(0),
        target_line=n_columns if sort_target else -1,
        side=np.empty(n_rows, np.uint8),
        branch=np.empty(n_rows if multiway else 0, np.uint32),
    )


def _counts_in_average(columns: Sequence[Column], n_rows: int) -> np.ndarray:
    """C4.5 (release 8): a category for every third row or more is too many, unless all columns are like that."""
    few = np.array([not column.is_categorical or 0.3 * n_rows - len(column.categories) > 1e-6 for column in columns])
    return few if few.any() else np.ones(len(columns), dtype=bool)


# Whole numbers may lie this far apart to be coded by looking them up.
MAX_SPAN = 1 << 16


def _code_small_integers(run: Run, column: Column, numbers: np.ndarray, line: np.ndarray) -> CodedColumn | None:
    """Write the codes of a column of few whole numbers into its line, or None if it is not one."""
    values = np.empty(MAX_NARROW_CODES)
    n_codes = run(code_small_integers)(numbers, np.empty(MAX_SPAN, np.uint8), line, values)
    if n_codes < 1:
        return None
    has_missing = bool((line == n_codes).any())
    return CodedColumn(False, n_codes, values[:n_codes].copy(), not column.is_numeric, has_missing)


def _code_categories(run: Run, column: Column, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, CodedColumn]:
    n_codes = len(column.categories)
    missing = ~(indices >= 0)
    codes = np.where(missing, n_codes, indices).astype(np.uint32)
    order, in_order = np.empty(len(codes), np.uint32), np.empty(len(codes), np.uint32)
    run(order_by_code)(codes, np.zeros(n_codes + 2, np.int64), order, in_order)
    coded = CodedColumn(n_codes > MAX_NARROW_CODES, n_codes, np.empty(0), True, bool(missing.any()))
    return order, in_order, coded


def _rank(run: Run, numbers: np.ndarray, n_known: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row order, codes in that order, and the distinct values of a contiguous column."""
    words, spare_words = np.empty(n_known, np.uint64), np.empty(n_known, np.uint64)
    order, spare_order = np.empty(len(numbers), np.uint32), np.empty(len(numbers), np.uint32)
    counts = np.zeros((N_DIGITS, BUCKETS), np.uint32)
    codes, values = np.empty(len(numbers), np.uint32), np.empty(n_known)
    bits = numbers.view(np.uint64)
    n_distinct = run(rank_values)(numbers, bits, words, spare_words, order, spare_order, counts, codes, values)
    return order, codes, values[:n_distinct].copy()


def _code_numbers(
    run: Run, column: Column, numbers: np.ndarray, grid: Grid
) -> tuple[np.ndarray, np.ndarray, CodedColumn]:
    n_known = len(numbers) - int(np.count_nonzero(np.isnan(numbers)))
    order, codes, values = _rank(run, numbers, n_known)
    has_missing = n_known < len(numbers)
    if not column.is_numeric or grid is None or len(values) == 0:
        # A cut in an ordered column is named by its last category, not by a point between two.
        is_wide = len(values) > MAX_NARROW_CODES
        return order, codes, CodedColumn(is_wide, len(values), values, not column.is_numeric, has_missing)
    kind, size = grid
    cuts = _step_cuts(values, size) if kind == "step" else _bin_cuts(values, codes[:n_known], int(size))
    bin_of_value = np.searchsorted(cuts, values, side="left")
    used, bin_of_value = np.unique(bin_of_value, return_inverse=True)
    bin_of_value = np.append(bin_of_value, len(used))
    bounds = np.append(cuts, np.inf)[used]
    coded = CodedColumn(len(used) > MAX_NARROW_CODES, len(used), bounds, True, has_missing)
    return order, bin_of_value[codes].astype(np.uint32), coded


def _step_cuts(values: np.ndarray, width: float) -> np.ndarray:
    """The multiples of `width` that bound the values from above; a value on the grid belongs below its line.

    A value counts as on the grid if rounding alone keeps it off: 0.07 / 0.01 is a little more than 7.
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


def _bin_cuts(values: np.ndarray, codes: np.ndarray, n_bins: int) -> np.ndarray:
    """Midpoints between neighbouring values, placed so that each bin holds about as many rows."""
    positions = np.round(np.arange(1, n_bins) * (len(codes) / n_bins)).astype(np.int64)
    below = np.unique(codes[np.clip(positions, 1, len(codes)) - 1])
    below = below[below < len(values) - 1].astype(np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = 0.5 * values[below] + 0.5 * values[below + 1]
    between = (values[below] <= middle) & (middle < values[below + 1])
    return np.where(between, middle, values[below])
