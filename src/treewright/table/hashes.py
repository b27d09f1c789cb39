"""The hash of a cell of a table, which depends on its row, and sums of these hashes."""

from __future__ import annotations

import numpy as np

# Odd constants with irregular bits, from the finalizer of SplitMix64 (Steele, Lea and Flood 2014).
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

# Cells that are hashed together, so that they stay in the cache of a core.
BLOCK = 1 << 14


def sums_of_dense(values: np.ndarray, first_row: int) -> np.ndarray:
    """The sums of consecutive rows of a table, of which the first has this number."""
    n_rows, n_columns = values.shape
    sums = np.zeros(n_columns, dtype=np.uint64)
    by_column = values.flags.f_contiguous or values.strides[0] <= values.strides[1]
    n_at_once = max(1, BLOCK if by_column else BLOCK // max(n_columns, 1))
    for first in range(0, n_rows, n_at_once):
        block = values[first : first + n_at_once]
        factors = factors_of_rows(np.arange(first_row + first, first_row + first + len(block), dtype=np.uint64))
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


def factors_of_rows(rows: np.ndarray) -> np.ndarray:
    """An odd factor for each row."""
    mixed = (rows + np.uint64(1)) * _STEP
    mixed ^= mixed >> np.uint64(30)
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(27)
    return mixed | np.uint64(1)
