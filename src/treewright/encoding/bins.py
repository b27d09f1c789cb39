"""A table encoded in bytes: at most 255 codes per column, numbers by bins of about equally many rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from treewright.encoding.midpoints import midpoints
from treewright.runtime.forms import Run
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import CONTIGUOUS_AND_ALIGNED, Bytes, Bytes2, Flags, Input, Reals, Reals2, Wholes
from treewright.runtime.threads import run_parallel
from treewright.table.chunked import MAX_SAMPLE, ROWS_FOR_ENDS, sample_of
from treewright.table.column import Column

# The code of a missing value in every column. The codes of a column are from 0 to 254 at most.
MISSING_CODE = np.uint8(255)
MAX_CODES = 255

# Rows of a C-ordered table that are transposed at a time, by a call for all columns and by a call for each column.
ROWS_TURNED, ROWS_TURNED_BY_COLUMN = 2048, 8192

# Rows of the codes that are transposed at a time.
ROWS_TRANSPOSED = 1 << 16


class Bins(NamedTuple):
    """The encoding of the columns of a table, with all columns concatenated in `cuts`."""

    is_number: np.ndarray  # bool[column]: encoded by thresholds rather than by category
    n_codes: np.ndarray  # int64[column]
    cuts: np.ndarray  # float64: code k of a numeric column contains the values up to its k-th cut, inclusive
    cut_start: np.ndarray  # int64[column + 1]
    code_values: np.ndarray  # float64[column, code]: a number that represents the code; infinity for missing


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """A table in bytes: the encoding of its columns, and the codes; it is computed once per fit."""

    bins: Bins
    codes: np.ndarray  # uint8[column, row]
    allocate: Callable[..., np.ndarray] = np.empty  # makes arrays of the size of the codes

    @cached_property
    def codes_by_row(self) -> np.ndarray:
        """Return the codes with one line per row, as the descent through trees needs them."""
        n_columns, n_rows = self.codes.shape
        by_row = self.allocate((n_rows, n_columns), np.uint8)
        for first in range(0, n_rows, ROWS_TRANSPOSED):
            by_row[first : first + ROWS_TRANSPOSED] = self.codes[:, first : first + ROWS_TRANSPOSED].T
        return by_row


def make_codes_by_row(n_columns: int, n_rows: int, allocate: Callable[..., np.ndarray]) -> np.ndarray:
    """Make codes, uint8[column, row], that are stored row by row in whole words of eight bytes; undefined content.

    Boosting grows trees from these words alone. The bytes after the last column are 0.
    """
    by_row = allocate((n_rows, 8 * -(-n_columns // 8)), np.uint8)
    by_row[:, n_columns:] = 0
    return by_row[:, :n_columns].T


def words_of(codes: np.ndarray) -> np.ndarray | None:
    """Return the words of codes that are stored row by row in whole words; None for any other codes."""
    n_columns, n_rows = codes.shape
    width = 8 * -(-n_columns // 8)
    if codes.strides != (1, width) or codes.ctypes.data % 8:
        return None
    padded = np.lib.stride_tricks.as_strided(codes.T, (n_rows, width), (width, 1))
    return padded.reshape(-1).view(np.uint64)


def bin_table(run: Run, columns: Sequence[Column], values: np.ndarray, n_bins: int, n_threads: int) -> BinnedTable:
    """Choose the bins of all columns of a table, and encode its rows."""
    bins = place_bins(columns, values, n_bins, n_threads)
    return BinnedTable(bins, code_rows(run, bins, values, n_threads, by_column=True))


def can_be_binned(columns: Sequence[Column]) -> bool:
    """Do the categories of every column fit into a byte?"""
    return len(columns) < 1 << 16 and all(len(column.categories) <= MAX_CODES for column in columns)


def place_bins(columns: Sequence[Column], values: Any, n_bins: int, n_threads: int) -> Bins:
    """Choose the encoding of all columns of a table."""
    sample = _sample(values, n_threads)

    def place(index: int) -> tuple[np.ndarray, np.ndarray]:
        if columns[index].is_categorical:
            return np.empty(0), np.arange(len(columns[index].categories), dtype=np.float64)
        return place_cuts(sample[:, index].astype(np.float64), n_bins, exact=not columns[index].is_numeric)

    placed = run_parallel(place, range(len(columns)), n_threads)
    cuts = [cuts for cuts, _ in placed]
    code_values = np.full((len(columns), 256), np.inf)
    for line, (_, representatives) in zip(code_values, placed, strict=True):
        line[: len(representatives)] = representatives
    return Bins(
        is_number=np.array([not column.is_categorical for column in columns]),
        n_codes=np.array([len(representatives) for _, representatives in placed], dtype=np.int64),
        cuts=np.concatenate(cuts),
        cut_start=np.cumsum([0, *map(len, cuts)], dtype=np.int64),
        code_values=code_values,
    )


def _sample(values: Any, n_threads: int) -> np.ndarray:
    """Return the rows that determine the bins.

    They include the extremes of each column, so that both values of a column with one common and one rare value are
    always distinguished.
    """
    if isinstance(values, np.ndarray) and len(values) <= MAX_SAMPLE:
        return values
    if not isinstance(values, np.ndarray):  # in chunks
        sample, ends = values.sample()
        return sample if len(values) <= MAX_SAMPLE else np.vstack([sample, *_ends_of(ends)])

    def find_ends(first: int) -> np.ndarray:
        block = values[first : first + ROWS_FOR_ENDS]
        return np.stack([np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)])

    ends = np.concatenate(run_parallel(find_ends, range(0, len(values), ROWS_FOR_ENDS), n_threads))
    drawn = values[sample_of(len(values))]
    sample = np.empty((len(drawn) + 2, values.shape[1]), drawn.dtype, order="F")
    sample[:-2] = drawn
    sample[-2:] = _ends_of(ends)
    return sample


def _ends_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value of each column."""
    return np.fmin.reduce(rows), np.fmax.reduce(rows)


def place_cuts(numbers: np.ndarray, n_bins: int, exact: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the cuts between the codes of a numeric column, and a number that represents each code.

    Up to `n_bins` distinct values have one code each. With `exact`, a cut is equal to the last value below it rather
    than halfway to the next. Ordered categories are encoded like this.
    """
    distinct, counts = _count_distinct(numbers)
    if len(distinct) == 0:
        return np.empty(0), np.zeros(1)
    last = np.arange(len(distinct) - 1) if len(distinct) <= n_bins else _last_of_bins(counts, n_bins)
    first = np.append(0, last + 1)
    below, above = distinct[last], distinct[last + 1]
    representatives = midpoints(distinct[first], distinct[np.append(last, len(distinct) - 1)])
    return (below if exact else midpoints(below, above)), representatives


def _count_distinct(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values in ascending order, and the count of each; NaN is ignored."""
    in_order = np.sort(numbers)
    in_order = in_order[: len(in_order) - np.count_nonzero(np.isnan(in_order))]
    first = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])[: len(in_order)])
    return in_order[first], np.diff(np.append(first, len(in_order)))


def _last_of_bins(counts: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the indices of the distinct values that end a bin, except the last bin.

    The count of a value is limited to the size of a bin, so that a value with more rows uses one bin only, and the
    other bins are shared by the other values. `ranks.quantile_cuts` is a different rule, for few bins that a person
    reads. It cuts at the quantiles themselves, and a value with many rows reduces the number of bins. One rule for both
    would change trees.
    """
    capped = counts.astype(np.float64)
    for _ in range(3):
        capped = np.minimum(capped, capped.sum() / n_bins)
    passed = np.cumsum(capped)
    bin_of = np.minimum((passed - 0.5 * capped) * (n_bins / passed[-1]), n_bins - 1).astype(np.int64)
    return np.flatnonzero(np.diff(bin_of))


def code_rows(run: Run, bins: Bins, values: np.ndarray, n_threads: int, *, by_column: bool) -> np.ndarray:
    """Encode a table with one line per column or per row; NaN and negative categories are missing."""
    cuts = padded_cuts(bins)
    if not by_column:
        return code_by_row(run, bins, cuts, values, n_threads)
    n_rows, n_columns = values.shape
    codes = np.empty((n_columns, n_rows), np.uint8)
    most = 1 << 14 if values.flags.f_contiguous else ROWS_TURNED_BY_COLUMN
    size = max(1024, min(most, -(-n_rows // max(n_threads, 1))))
    write_codes = run(code_line)

    def code(first: int) -> None:
        last = min(first + size, n_rows)
        line = np.empty(last - first, np.uint8)
        taken = values[first:last] if values.flags.f_contiguous else np.asfortranarray(values[first:last])
        for column in range(n_columns):
            block = np.require(taken[:, column], np.float64, CONTIGUOUS_AND_ALIGNED)
            own = cuts[column] if bins.is_number[column] else np.empty(0)
            write_codes(block, own, int(bins.n_codes[column]), line)
            codes[column, first:last] = line

    run_parallel(code, range(0, n_rows, size), n_threads)
    return codes


def code_by_row(run: Run, bins: Bins, cuts: np.ndarray, values: np.ndarray, n_threads: int) -> np.ndarray:
    """Encode a table with one line per row; `cuts` are the `padded_cuts` of the bins."""
    n_rows = len(values)
    codes = np.empty(values.shape, np.uint8)
    size = max(1024, min(ROWS_TURNED, -(-n_rows // max(n_threads, 1))))

    def code(first: int) -> None:
        rows = np.require(values[first : first + size], np.float64, CONTIGUOUS_AND_ALIGNED)
        run(code_block)(rows, cuts, bins.is_number, bins.n_codes, codes, first)

    if n_rows <= size:
        code(0)
    else:
        run_parallel(code, range(0, n_rows, size), n_threads)
    return codes


def padded_cuts(bins: Bins) -> np.ndarray:
    """Return the cuts of each column, padded with infinity to 256."""
    cuts = np.full((len(bins.n_codes), 256), np.inf)
    for column, line in enumerate(cuts):
        own = bins.cuts[bins.cut_start[column] : bins.cut_start[column + 1]]
        line[: len(own)] = own
    return cuts


@entry
def code_line(numbers: Input[Reals], cuts: Input[Reals], n_codes: int, line: Bytes) -> None:
    """Write the codes of some rows of one column: numbers by `cuts`, categories (without cuts) unchanged."""
    if len(cuts) == 0:
        for i in range(np.uint64(len(numbers))):
            line[i] = code_of_category(numbers[i], n_codes)
        return
    for i in range(np.uint64(len(numbers))):
        line[i] = code_of_number(numbers[i], cuts)


@entry
def code_block(
    values: Input[Reals2],
    cuts: Input[Reals2],
    is_number: Input[Flags],
    n_codes: Input[Wholes],
    codes: Bytes2,
    first: int,
) -> None:
    """Write the codes of some rows of all columns, from the row `first` of `codes` on."""
    start = np.uint64(first)
    for column in range(np.uint64(values.shape[1])):
        if is_number[column]:
            for i in range(np.uint64(len(values))):
                codes[start + i, column] = code_of_number(values[i, column], cuts[column])
        else:
            for i in range(np.uint64(len(values))):
                codes[start + i, column] = code_of_category(values[i, column], n_codes[column])


@kernel
def code_of_category(number, n_codes):
    return np.uint8(number) if 0.0 <= number < n_codes else MISSING_CODE


@kernel
def code_of_number(number, cuts):
    """Return the number of cuts below a number.

    The cuts are padded with infinity to 256. The number is then found in eight steps without a branch. A binary search
    that ends early takes eight times as long.
    """
    one = np.uint64(1)
    code = np.uint64(128) * np.uint64(cuts[127] < number)
    code += np.uint64(64) * np.uint64(cuts[code + np.uint64(63)] < number)
    code += np.uint64(32) * np.uint64(cuts[code + np.uint64(31)] < number)
    code += np.uint64(16) * np.uint64(cuts[code + np.uint64(15)] < number)
    code += np.uint64(8) * np.uint64(cuts[code + np.uint64(7)] < number)
    code += np.uint64(4) * np.uint64(cuts[code + np.uint64(3)] < number)
    code += np.uint64(2) * np.uint64(cuts[code + one] < number)
    code += np.uint64(cuts[code] < number)
    return MISSING_CODE if np.isnan(number) else np.uint8(code)
