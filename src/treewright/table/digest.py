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
from treewright.table.hashes import factors_of_rows, hashes_of, sums_of_dense
from treewright.table.sparse import SparseValues

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
        return _sums_of_chunks(values)
    if isinstance(values, SparseValues):
        return _sums_of_sparse(values)
    values = np.asarray(values)
    if n_threads < 2 or values.size < MIN_CELLS_FOR_THREADS:
        return sums_of_dense(values, 0)
    edges = np.linspace(0, len(values), n_threads + 1).astype(int).tolist()
    found = run_parallel(lambda part: sums_of_dense(values[slice(*part)], part[0]), pairwise(edges), n_threads)
    return _add_up(found, values.shape[1])


def _sums_of_chunks(values: ChunkedValues) -> np.ndarray:
    """The sums of columns that are known already, and those of the others, which are read again."""
    sums = np.zeros(values.shape[1], dtype=np.uint64)
    for place, known in values.hashes.items():
        sums[place] = known
    others = [place for place in range(values.shape[1]) if place not in values.hashes]
    if others:
        rest = values if len(others) == values.shape[1] else values.columns_at(others)
        firsts = np.cumsum(values.lengths) - values.lengths
        sums[others] = _add_up(rest.map(sums_of_dense, firsts.tolist()), len(others))
    return sums


def _sums_of_sparse(values: SparseValues) -> np.ndarray:
    matrix = values.by_column
    hashes = hashes_of(matrix.data, factors_of_rows(matrix.indices.astype(np.uint64)))
    # Modulo 2**64, differences of running sums are right even where these overflow.
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    found: np.ndarray = np.diff(totals[matrix.indptr])
    return found


def _add_up(parts: Iterable[np.ndarray], n_columns: int) -> np.ndarray:
    total = np.zeros(n_columns, dtype=np.uint64)
    for part in parts:
        total += part
    return total
