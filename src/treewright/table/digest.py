"""The digest of a training table: equal for equal tables in any form, whatever the chunks and the number of threads.

Each cell has a hash of 64 bits that depends on its row. The hashes of a column are added, so that chunks of rows can be
hashed apart, in any order. The digest of the table is the SHA-256 of these sums and of the descriptions of the columns.
It detects tables that differ by accident or by mistake; it does not withstand a person who looks for two tables with
the same digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from treewright.runtime.threads import run_parallel
from treewright.table.chunked import ChunkedValues
from treewright.table.column import Column
from treewright.table.sparse import SparseValues

# Odd constants with irregular bits, from the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

# Cells that are hashed together, so that they stay in the cache of a core.
BLOCK = 1 << 14

# Cells from which on several threads are used.
MIN_CELLS_FOR_THREADS = 1 << 18


def digest_of_table(columns: Sequence[Column], values: Any, more: Iterable[Any] = (), n_threads: int = 1) -> str:
    """The SHA-256 of all column names, kinds, categories and values, and of `more` texts and arrays of numbers.

    >>> from treewright.table.column import Kind
    >>> columns = [Column("size", Kind.NUMERIC)]
    >>> one, other = (digest_of_table(columns, np.array([[1.0], [number]])) for number in (2.0, 3.0))
    >>> len(one), one == other
    (64, False)
    """
    found = hashlib.sha256()
    for column in columns:
        described = (column.name, str(column.kind), str(column.unit), [str(name) for name in column.categories])
        found.update(repr(described).encode())
    found.update(repr(tuple(int(size) for size in values.shape)).encode())
    found.update(sums_of_values(values, n_threads).astype("<u8").tobytes())
    for each in more:
        found.update(_digest_of_more(each))
    return found.hexdigest()


def _digest_of_more(each: Any) -> bytes:
    if not isinstance(each, np.ndarray):
        return repr(each).encode()
    lines = each.reshape(len(each), -1)
    return repr(each.shape).encode() + sums_of_dense(lines, 0).astype("<u8").tobytes()


def sums_of_values(values: Any, n_threads: int = 1) -> np.ndarray:
    """The sum of the hashes of each column."""
    if isinstance(values, ChunkedValues):
        firsts = np.cumsum(values.lengths) - values.lengths
        return _add_up(values.map(sums_of_dense, firsts.tolist()), values.shape[1])
    if isinstance(values, SparseValues):
        return _sums_of_sparse(values)
    values = np.asarray(values)
    if n_threads < 2 or values.size < MIN_CELLS_FOR_THREADS:
        return sums_of_dense(values, 0)
    edges = np.linspace(0, len(values), n_threads + 1).astype(int).tolist()
    found = run_parallel(lambda part: sums_of_dense(values[slice(*part)], part[0]), pairwise(edges), n_threads)
    return _add_up(found, values.shape[1])


def sums_of_dense(values: np.ndarray, first_row: int) -> np.ndarray:
    """The sums of consecutive rows of a table, of which the first has this number."""
    n_rows, n_columns = values.shape
    sums = np.zeros(n_columns, dtype=np.uint64)
    by_column = values.flags.f_contiguous or values.strides[0] <= values.strides[1]
    n_at_once = max(1, BLOCK if by_column else BLOCK // max(n_columns, 1))
    for first in range(0, n_rows, n_at_once):
        block = values[first : first + n_at_once]
        factors = _factors_of_rows(np.arange(first_row + first, first_row + first + len(block), dtype=np.uint64))
        if by_column:
            for place in range(n_columns):
                sums[place : place + 1] += hashes_of(block[:, place], factors).sum(keepdims=True, dtype=np.uint64)
        else:
            sums += hashes_of(block, factors[:, None]).sum(axis=0, dtype=np.uint64)
    return sums


def hashes_of(cells: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The hash of each cell; that of 0 is 0, so that a sparse table has the sums of a dense one.

    All missing values count as one, and so do the zeros of either sign.
    """
    if cells.dtype == np.uint64:
        bits = cells.copy()
    else:
        numbers = cells + np.float64(0.0)
        np.copyto(numbers, np.nan, where=np.isnan(numbers))
        bits = numbers.view(np.uint64)
    bits *= factors
    bits ^= bits >> np.uint64(32)
    bits *= _SECOND
    bits ^= bits >> np.uint64(29)
    return bits


def _factors_of_rows(rows: np.ndarray) -> np.ndarray:
    """An odd factor for each row."""
    mixed = (rows + np.uint64(1)) * _STEP
    mixed ^= mixed >> np.uint64(30)
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(27)
    return mixed | np.uint64(1)


def _sums_of_sparse(values: SparseValues) -> np.ndarray:
    matrix = values.by_column
    hashes = hashes_of(matrix.data, _factors_of_rows(matrix.indices.astype(np.uint64)))
    # Modulo 2**64, differences of running sums are right even where these overflow.
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    found: np.ndarray = np.diff(totals[matrix.indptr])
    return found


def _add_up(parts: Iterable[np.ndarray], n_columns: int) -> np.ndarray:
    total = np.zeros(n_columns, dtype=np.uint64)
    for part in parts:
        total += part
    return total
