"""Coding a table in bytes: each column in at most 255 codes, numbers by bins of about as many rows each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from treewright.encoding.midpoints import midpoints
from treewright.runtime.forms import Run
from treewright.runtime.jit import entry
from treewright.runtime.threads import run_parallel
from treewright.table.column import Column

# The code of a missing value, in every column; the codes of a column go from 0 to 254 at most.
MISSING_CODE = np.uint8(255)
MAX_CODES = 255

# Bins are placed by this many rows of a larger table: a bin holds about 200 of them.
MAX_SAMPLE = 50_000

# Rows of a table that stands row after row which are turned at a time.
ROWS_TURNED = 2048

# Rows whose ends are looked for together, while they are in fast memory.
ROWS_FOR_ENDS = 4096


class Bins(NamedTuple):
    """How the columns of a table are coded, one column after the other in `cuts` and `values`."""

    is_number: np.ndarray  # bool[column]: coded by thresholds rather than by category
    n_codes: np.ndarray  # int64[column]
    cuts: np.ndarray  # float64: code k of a column of numbers goes up to its k-th cut, which belongs to it
    cut_start: np.ndarray  # int64[column + 1]
    code_values: np.ndarray  # float64[column, code]: a number that stands for the code; infinity for missing


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """A table in bytes: how its columns are coded, and the codes. Made once per fit and handed on."""

    bins: Bins
    codes: np.ndarray  # uint8[column, row]

    @cached_property
    def codes_by_row(self) -> np.ndarray:
        """The codes with a line per row, as rows walk down trees."""
        return np.ascontiguousarray(self.codes.T)


def bin_table(run: Run, columns: Sequence[Column], values: np.ndarray, n_bins: int, n_threads: int) -> BinnedTable:
    """Choose the bins of all columns of a table and code its rows."""
    bins = place_bins(columns, values, n_bins, n_threads)
    return BinnedTable(bins, code_rows(run, bins, values, n_threads, by_column=True))


def can_be_binned(columns: Sequence[Column]) -> bool:
    """Do the categories of every column fit into a byte?"""
    return len(columns) < 1 << 16 and all(len(column.categories) <= MAX_CODES for column in columns)


def place_bins(columns: Sequence[Column], values: np.ndarray, n_bins: int, n_threads: int) -> Bins:
    """Choose the codes of all columns of a table."""
    sample = _sample(values, n_threads)

    def place(index: int) -> tuple[np.ndarray, np.ndarray]:
        if columns[index].is_categorical:
            return np.empty(0), np.arange(len(columns[index].categories), dtype=np.float64)
        return place_cuts(sample[:, index].astype(np.float64), n_bins, exact=not columns[index].is_numeric)

    placed = run_parallel(place, range(len(columns)), n_threads)
    cuts = [cuts for cuts, _ in placed]
    code_values = np.full((len(columns), 256), np.inf)
    for line, (_, stands_for) in zip(code_values, placed, strict=True):
        line[: len(stands_for)] = stands_for
    return Bins(
        is_number=np.array([not column.is_categorical for column in columns]),
        n_codes=np.array([len(stands_for) for _, stands_for in placed], dtype=np.int64),
        cuts=np.concatenate(cuts),
        cut_start=np.cumsum([0, *map(len, cuts)], dtype=np.int64),
        code_values=code_values,
    )


def _sample(values: np.ndarray, n_threads: int) -> np.ndarray:
    """The rows that bins are placed by.

    The ends of each column belong to them, so that a column of two values, one of them rare, is told apart in any case.
    """
    if len(values) <= MAX_SAMPLE:
        return values

    def find_ends(first: int) -> np.ndarray:
        part = values[first : first + ROWS_FOR_ENDS]
        return np.stack([np.fmin.reduce(part, axis=0), np.fmax.reduce(part, axis=0)])

    ends = np.stack(run_parallel(find_ends, range(0, len(values), ROWS_FOR_ENDS), n_threads))
    drawn = values[np.random.default_rng(0).integers(0, len(values), MAX_SAMPLE)]
    sample = np.empty((len(drawn) + 2, values.shape[1]), drawn.dtype, order="F")
    sample[:-2] = drawn
    sample[-2], sample[-1] = np.fmin.reduce(ends[:, 0]), np.fmax.reduce(ends[:, 1])
    return sample


def place_cuts(numbers: np.ndarray, n_bins: int, exact: bool) -> tuple[np.ndarray, np.ndarray]:
    """The cuts between the codes of a column of numbers, and a number that stands for each code.

    Up to `n_bins` distinct values have a code each. `exact` puts a cut on the last value below it rather than halfway
    to the next, which is how ordered categories are told apart.
    """
    distinct, counts = _count_distinct(numbers)
    if len(distinct) == 0:
        return np.empty(0), np.zeros(1)
    last = np.arange(len(distinct) - 1) if len(distinct) <= n_bins else _last_of_bins(counts, n_bins)
    first = np.append(0, last + 1)
    below, above = distinct[last], distinct[last + 1]
    stands_for = midpoints(distinct[first], distinct[np.append(last, len(distinct) - 1)])
    return (below if exact else midpoints(below, above)), stands_for


def _count_distinct(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that occur in ascending order, and how often each does; NaN is left out."""
    in_order = np.sort(numbers)
    in_order = in_order[: len(in_order) - np.count_nonzero(np.isnan(in_order))]
    first = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])[: len(in_order)])
    return in_order[first], np.diff(np.append(first, len(in_order)))


def _last_of_bins(counts: np.ndarray, n_bins: int) -> np.ndarray:
    """Which of the distinct values end a bin that another one follows.

    A value with more rows than a bin should have is counted as just so many, so that it takes one bin, and what is
    left is shared by the others. `ranks.quantile_cuts` is another rule, for few bins that a person reads: it cuts at
    the quantiles themselves, and a value with many rows leaves fewer bins. One rule for both would change trees.
    """
    capped = counts.astype(np.float64)
    for _ in range(3):
        capped = np.minimum(capped, capped.sum() / n_bins)
    passed = np.cumsum(capped)
    bin_of = np.minimum((passed - 0.5 * capped) * (n_bins / passed[-1]), n_bins - 1).astype(np.int64)
    return np.flatnonzero(np.diff(bin_of))


def code_rows(run: Run, bins: Bins, values: np.ndarray, n_threads: int, *, by_column: bool) -> np.ndarray:
    """The codes of a table (NaN and negative categories are missing), a line per column or a line per row."""
    n_rows, n_columns = values.shape
    codes = np.empty((n_columns, n_rows) if by_column else (n_rows, n_columns), np.uint8)
    most = 1 << 14 if values.flags.f_contiguous else ROWS_TURNED
    size = max(1024, min(most, -(-n_rows // max(n_threads, 1))))
    cuts = [_filled_up(bins, column) for column in range(n_columns)]

    def code(first: int) -> None:
        last = min(first + size, n_rows)
        line = np.empty(last - first, np.uint8)
        taken = values[first:last] if values.flags.f_contiguous else np.asfortranarray(values[first:last])
        for column in range(n_columns):
            part = np.ascontiguousarray(taken[:, column], dtype=np.float64)
            run(code_line)(part, cuts[column], int(bins.n_codes[column]), line)
            if by_column:
                codes[column, first:last] = line
            else:
                codes[first:last, column] = line

    run_parallel(code, range(0, n_rows, size), n_threads)
    return codes


def _filled_up(bins: Bins, column: int) -> np.ndarray:
    """The cuts of a column of numbers, filled up with infinity; none for categories."""
    if not bins.is_number[column]:
        return np.empty(0)
    cuts = np.full(256, np.inf)
    own = bins.cuts[bins.cut_start[column] : bins.cut_start[column + 1]]
    cuts[: len(own)] = own
    return cuts


@entry
def code_line(numbers, cuts, n_codes, line):
    """Write the codes of some rows of one column: of numbers by `cuts`, of categories (without cuts) as they are.

    The cuts are filled up with infinity to 256, so that the number of cuts below a number is found in eight steps
    without a branch: a loop that ends when nothing is left takes eight times as long.
    """
    if len(cuts) == 0:
        for i in range(np.uint64(len(numbers))):
            number = numbers[i]
            line[i] = np.uint8(number) if 0.0 <= number < n_codes else MISSING_CODE
        return
    one = np.uint64(1)
    for i in range(np.uint64(len(numbers))):
        number = numbers[i]
        code = np.uint64(128) * np.uint64(cuts[127] < number)
        code += np.uint64(64) * np.uint64(cuts[code + np.uint64(63)] < number)
        code += np.uint64(32) * np.uint64(cuts[code + np.uint64(31)] < number)
        code += np.uint64(16) * np.uint64(cuts[code + np.uint64(15)] < number)
        code += np.uint64(8) * np.uint64(cuts[code + np.uint64(7)] < number)
        code += np.uint64(4) * np.uint64(cuts[code + np.uint64(3)] < number)
        code += np.uint64(2) * np.uint64(cuts[code + one] < number)
        code += np.uint64(cuts[code] < number)
        line[i] = MISSING_CODE if np.isnan(number) else np.uint8(code)
