"""Sending rows down a finished tree: the one descent of prediction, explanation and export."""

from __future__ import annotations

import numpy as np

from treewright.growth.jit import entry
from treewright.growth.layout import MULTIWAY_SPLIT, THRESHOLD_SPLIT, in_set


@entry
def descend(
    values,
    kind,
    column,
    threshold,
    first_child,
    missing_branch,
    set_start,
    category_sets,
    n_categories,
    leaves,
):
    """Write the leaf that each row reaches.

    `values` holds numbers and category indices; NaN is missing and a negative index was never seen in training.
    """
    for row in range(len(values)):
        node = np.int64(0)
        while kind[node] != 0:
            tested = column[node]
            value = values[row, tested]
            if np.isnan(value) or (n_categories[tested] > 0 and not 0 <= value < n_categories[tested]):
                branch = np.int64(missing_branch[node])
            elif kind[node] == THRESHOLD_SPLIT:
                branch = np.int64(0) if value <= threshold[node] else np.int64(1)
            elif kind[node] == MULTIWAY_SPLIT:
                branch = np.int64(value)
            else:
                branch = np.int64(0) if in_set(category_sets, set_start[node], value) else np.int64(1)
            node = first_child[node] + branch
        leaves[row] = node
