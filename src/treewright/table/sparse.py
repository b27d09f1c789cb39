"""Sparse matrices of SciPy as the values of a table; a zero that is not stored is the number 0, not missing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from treewright.table.cells import complex_error


def is_sparse(X: Any) -> bool:
    """Whether this is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsr") and hasattr(X, "tocsc") and hasattr(X, "nnz")


class SparseValues:
    """The values of a table, kept sparse: columns and blocks of rows become dense when they are used.

    `values[:, 3]` is a dense column. `values[rows]` and `values[:, places]` are sparse values again, and `np.asarray`
    makes them dense.

    >>> from scipy.sparse import csr_matrix
    >>> values = SparseValues.of(csr_matrix([[0, 2], [1, 0], [0, 0]]))
    >>> values.shape, values[:, 0], np.asarray(values[1:]).tolist()
    ((3, 2), array([0., 1., 0.]), [[1.0, 0.0], [0.0, 0.0]])
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix  # CSR or CSC, of float64, without duplicate entries

    @classmethod
    def of(cls, X: Any) -> SparseValues:
        """The values of a matrix of any sparse format; the matrix is never changed."""
        if X.dtype.kind == "c":
            raise complex_error("x0")
        matrix = X if X.format in ("csr", "csc") else X.tocsr()
        matrix = matrix if matrix.dtype == np.float64 else matrix.astype(np.float64)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return cls(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        n_rows, n_columns = self._matrix.shape
        return int(n_rows), int(n_columns)

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @property
    def format(self) -> str:
        """How the values are stored: "csr" or "csc"."""
        return str(self._matrix.format)

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def by_row(self) -> Any:
        """The values as CSR."""
        return self._matrix.tocsr()

    @cached_property
    def by_column(self) -> Any:
        """The values as CSC."""
        return self._matrix.tocsc()

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return SparseValues(self.by_row[key])
        _, places = key  # of all rows
        if isinstance(places, int | np.integer):
            return self._column(int(places))
        return SparseValues(self.by_column[:, places])

    def _column(self, place: int) -> np.ndarray:
        matrix, column = self.by_column, np.zeros(len(self))
        stored = slice(matrix.indptr[place], matrix.indptr[place + 1])
        column[matrix.indices[stored]] = matrix.data[stored]
        return column

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        dense = self._matrix.toarray()
        return dense if dtype is None else dense.astype(dtype, copy=False)

    def block(self, first: int, last: int) -> np.ndarray:
        """Some columns as a dense matrix, column after column in memory."""
        return np.asarray(self.by_column[:, first:last].toarray(order="F"))

    def missing_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows and the columns of all missing values, column after column."""
        matrix = self.by_column
        stored = np.flatnonzero(np.isnan(matrix.data))
        return matrix.indices[stored], np.searchsorted(matrix.indptr, stored, side="right") - 1

    def with_known(self, values: np.ndarray) -> SparseValues:
        """The same values, with these in place of the missing ones, in the order of `missing_entries`."""
        matrix = self.by_column.copy()
        matrix.data[np.isnan(matrix.data)] = values
        return SparseValues(matrix)

    def scaled(self, scales: np.ndarray) -> SparseValues:
        """The values of each column times its scale."""
        matrix = self.by_column.copy()
        matrix.data *= np.repeat(scales, np.diff(matrix.indptr))
        return SparseValues(matrix)

    def with_column(self, column: np.ndarray) -> SparseValues:
        """The values with one more column."""
        from scipy.sparse import csc_array, hstack

        return SparseValues(hstack([csc_array(self.by_column), csc_array(column[:, None])], format="csc"))

    def count_missing(self) -> np.ndarray:
        """The number of missing values of each column."""
        matrix = self.by_column
        is_missing = np.concatenate([[0], np.cumsum(np.isnan(matrix.data))])
        return np.diff(is_missing[matrix.indptr])


class DenseColumns(Sequence[np.ndarray]):
    """The columns of sparse values, each made dense when it is read."""

    def __init__(self, values: SparseValues) -> None:
        self._values = values

    def __len__(self) -> int:
        return self._values.shape[1]

    def __getitem__(self, place: Any) -> Any:
        return self._values[:, place]


def in_rows(values: Any) -> Any:
    """Values in a form from which blocks of rows are taken quickly: row after row in memory, or sparse."""
    return values if isinstance(values, SparseValues) else np.ascontiguousarray(values)


def rows_of(values: Any, taken: np.ndarray) -> Any:
    """Some rows of dense or sparse values, column after column in memory."""
    return np.asfortranarray(values[taken]) if isinstance(values, np.ndarray) else values[taken]


def in_full(values: Any) -> np.ndarray:
    """Values as a dense matrix, column after column in memory."""
    return np.asfortranarray(values, dtype=np.float64)
