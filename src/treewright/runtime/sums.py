"""Sums of products in a fixed order.

NumPy computes `a @ b` by a BLAS library, which adds in an order that depends on the processor.
"""

from __future__ import annotations

import numpy as np


def dot(first: np.ndarray, second: np.ndarray) -> float:
    """Compute the sum of the products of two vectors.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float((first * second).sum())


def product(lines: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Compute the product of two matrices, of which the second is small.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0], [4.0, 6.0]]))
    array([[11., 17.]])
    """
    found = np.zeros((len(lines), matrix.shape[1]))
    for column, line in zip(lines.T, matrix, strict=True):
        found += column[:, None] * line
    return found


def weighted_sum(weights: np.ndarray, arrays: np.ndarray) -> np.ndarray:
    """Compute the sum of arrays, each times its weight.

    >>> weighted_sum(np.array([0.5, 2.0]), np.array([[2.0, 4.0], [1.0, 1.0]]))
    array([3., 4.])
    """
    found = np.zeros(arrays.shape[1:])
    for weight, array in zip(weights.tolist(), arrays, strict=True):
        found += weight * array
    return found
