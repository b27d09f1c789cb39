"""Tables in bytes from values that may be sparse or in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from treewright.encoding.bins import BinnedTable, Bins, bin_table, code_rows
from treewright.encoding.chunks import bin_chunks, code_chunks, is_chunked
from treewright.runtime.forms import Run
from treewright.table.chunked import MakeCodes, make_codes_by_column
from treewright.table.column import Column
from treewright.table.sparse import SparseValues

# Cells of a sparse table that are dense numbers at a time: 32 MB.
DENSE_CELLS = 1 << 22


def bin_values(
    run: Run,
    columns: Sequence[Column],
    values: Any,
    n_bins: int,
    n_threads: int,
    *,
    make: MakeCodes = make_codes_by_column,
) -> BinnedTable:
    """The bins of all columns of a table, and its rows in bytes; the bins do not depend on how values are stored.

    `make` decides how the codes of a table in chunks are stored.
    """
    if is_chunked(values):
        return bin_chunks(columns, values, n_bins, n_threads, make=make)
    if not isinstance(values, SparseValues):
        return bin_table(run, columns, values, n_bins, n_threads)
    codes = np.empty((len(columns), len(values)), np.uint8)
    parts = []
    for first, last in _blocks(values):
        part = bin_table(run, columns[first:last], values.block(first, last), n_bins, n_threads)
        codes[first:last] = part.codes
        parts.append(part.bins)
    return BinnedTable(_joined(parts), codes)


def code_columns(
    run: Run, bins: Bins, values: Any, n_threads: int, *, make: MakeCodes = make_codes_by_column
) -> np.ndarray:
    """The rows of a table in bytes, with one line per column; `make` is that of `bin_values`."""
    if is_chunked(values):
        return code_chunks(bins, values, make=make)
    if not isinstance(values, SparseValues):
        return code_rows(run, bins, values, n_threads, by_column=True)
    codes = np.empty((values.shape[1], len(values)), np.uint8)
    for first, last in _blocks(values):
        part = _some(bins, first, last)
        codes[first:last] = code_rows(run, part, values.block(first, last), n_threads, by_column=True)
    return codes


def _blocks(values: SparseValues) -> Iterator[tuple[int, int]]:
    n_rows, n_columns = values.shape
    width = max(1, DENSE_CELLS // max(n_rows, 1))
    return ((first, min(first + width, n_columns)) for first in range(0, n_columns, width))


def _joined(parts: Sequence[Bins]) -> Bins:
    """The bins of columns next to each other."""
    lengths = np.concatenate([np.diff(part.cut_start) for part in parts])
    return Bins(
        is_number=np.concatenate([part.is_number for part in parts]),
        n_codes=np.concatenate([part.n_codes for part in parts]),
        cuts=np.concatenate([part.cuts for part in parts]),
        cut_start=np.cumsum([0, *lengths], dtype=np.int64),
        code_values=np.concatenate([part.code_values for part in parts]),
    )


def _some(bins: Bins, first: int, last: int) -> Bins:
    """The bins of some columns."""
    starts = bins.cut_start[first : last + 1]
    return Bins(
        is_number=bins.is_number[first:last],
        n_codes=bins.n_codes[first:last],
        cuts=bins.cuts[starts[0] : starts[-1]],
        cut_start=starts - starts[0],
        code_values=bins.code_values[first:last],
    )
