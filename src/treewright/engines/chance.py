"""The gain that categories have by chance, which a split into groups of many categories must exceed.

Groups of categories are chosen by the target. Categories that are independent of it therefore also gain, and a
different category in each row gains everything. If the target is distributed over the rows at random, k categories of n
rows explain (k - 1) / (n - 1) of the variance on average, and exactly all of it if k is n. The standard deviation of
this number is about the square root of 2 (k - 1) (n - k) / (n - 1), divided by n - 1. Two groups explain no more than
all categories do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewright.runtime.kernels import kernel
from treewright.table.column import Column
from treewright.table.identifiers import identifies_rows

# Columns of at most this many categories are split as if chance did not matter.
FEW_CATEGORIES = 12


@kernel
def chance_share(n_groups, n_rows):
    """Return the share of the impurity that so many categories explain by chance: the mean and a standard deviation."""
    k, n = np.float64(n_groups), np.float64(n_rows)
    if k < 2.0:
        return 0.0
    return (k - 1.0 + np.sqrt(2.0 * (k - 1.0) * (n - k) / (n - 1.0))) / (n - 1.0)


def has_many_categories(columns: Sequence[Column], values: np.ndarray) -> np.ndarray:
    """Return for each column whether its splits must gain more than by chance."""
    found = [column.is_categorical and _has_many(column, values[:, place]) for place, column in enumerate(columns)]
    return np.array(found, dtype=bool)


def _has_many(column: Column, values: np.ndarray) -> bool:
    if identifies_rows(column, values):
        return True
    if len(column.categories) <= FEW_CATEGORIES:
        return False
    known = values[values >= 0.0].astype(np.intp)
    return int(np.count_nonzero(np.bincount(known))) > FEW_CATEGORIES
