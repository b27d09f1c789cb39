"""Proximities of rows in a forest, and outlier scores."""

from __future__ import annotations

from typing import Any

import numpy as np

# A matrix of more cells would take more than four gigabytes.
MOST_CELLS = 1 << 29


def proximity(leaves: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The fraction of trees in which a row of `leaves` and a row of `others` reach the same leaf.

    >>> proximity(np.array([[0, 1], [0, 2]]), np.array([[0, 1]]))
    array([[1. ],
           [0.5]])
    """
    if len(leaves) * len(others) > MOST_CELLS:
        raise ValueError(
            f"the proximities of {len(leaves)} and {len(others)} rows would be {len(leaves) * len(others):,} numbers; "
            "give fewer rows"
        )
    first, second = _one_per_leaf(leaves, others)
    return np.asarray((first @ second.T).toarray()) / leaves.shape[1]


def outlier_scores(leaves: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Breiman's outlier score of each row within its group; above 10 is suspicious."""
    scores = np.zeros(len(leaves))
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        first, second = _one_per_leaf(leaves[members], leaves[members])
        shared = (first @ second.T) / leaves.shape[1]
        squares = np.asarray(shared.multiply(shared).sum(axis=1)).ravel() - 1.0
        raw = len(members) / np.maximum(squares, 1.0 / leaves.shape[1] ** 2)
        middle = np.median(raw)
        spread = np.median(np.abs(raw - middle))
        scores[members] = (raw - middle) / (spread if spread > 0.0 else 1.0)
    return scores


def _one_per_leaf(leaves: np.ndarray, others: np.ndarray) -> tuple[Any, Any]:
    """Both sets of rows as sparse matrices with a column per leaf of all trees, 1 where a row is."""
    from scipy.sparse import csr_matrix

    sizes = np.maximum(leaves.max(axis=0), others.max(axis=0)) + 1
    starts = np.cumsum(sizes) - sizes

    def spread(places: np.ndarray) -> Any:
        n_rows, n_trees = places.shape
        columns = (places + starts).ravel()
        pointers = np.arange(0, n_rows * n_trees + 1, n_trees)
        return csr_matrix((np.ones(len(columns)), columns, pointers), shape=(n_rows, int(sizes.sum())))

    return spread(leaves), spread(others)
