"""Leaf values of boosted trees that are computed from residuals.

The leaves of the absolute and the quantile loss predict medians and quantiles of all their rows, also where the tree
was grown from a sample of the rows.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.packed.trees import GrownTrees
from treewright.engines.packed.walk import CHILD_SHIFT, COLUMN_MASK, COLUMN_SHIFT, IS_LEAF
from treewright.estimators.boosting.losses import Loss


def best_leaf_values(
    part: GrownTrees,
    leaves: np.ndarray,
    residuals: np.ndarray,
    weights: np.ndarray,
    loss: Loss,
    monotonic_cst: np.ndarray,
) -> np.ndarray:
    """The best value of each leaf for its rows, subject to the monotonic constraints.

    `leaves` has the leaf of each row, `monotonic_cst` the direction of each column.
    """
    n_leaves = len(part.leaf_value)
    rows = np.split(np.argsort(leaves, kind="stable"), np.cumsum(np.bincount(leaves, minlength=n_leaves))[:-1])

    def best_for(some: list[int]) -> float:
        taken = np.concatenate([rows[leaf] for leaf in some])
        return loss.leaf(residuals[taken], weights[taken]) if weights[taken].any() else 0.0

    predictions = np.array([best_for([leaf]) for leaf in range(n_leaves)])
    if not monotonic_cst.any():
        return predictions
    # The values below the two sides of a monotonic split are separated by the mean of both sides.
    below = leaves_below(part.nodes)
    waiting = [(0, -np.inf, np.inf)]
    while waiting:
        node, least, most = waiting.pop()
        word = part.nodes[node]
        child = int(word >> CHILD_SHIFT)
        if word & IS_LEAF:
            predictions[child] = np.clip(predictions[child], least, most)
            continue
        direction = monotonic_cst[int((word >> COLUMN_SHIFT) & COLUMN_MASK)]
        if direction == 0.0:
            waiting += [(child, least, most), (child + 1, least, most)]
            continue
        middle = np.mean([np.clip(best_for(below[side]), least, most) for side in (child, child + 1)])
        lower, upper = (child, child + 1) if direction > 0.0 else (child + 1, child)
        waiting += [(lower, least, middle), (upper, middle, most)]
    return predictions


def leaves_below(nodes: np.ndarray) -> list[list[int]]:
    """The leaves at or below each node; a node comes before its children."""
    below: list[list[int]] = [[] for _ in nodes]
    for node in reversed(range(len(nodes))):
        child = int(nodes[node] >> CHILD_SHIFT)
        below[node] = [child] if nodes[node] & IS_LEAF else below[child] + below[child + 1]
    return below
