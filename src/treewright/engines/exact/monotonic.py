"""Monotonic constraints: the order of the predictions of a split's two sides, and the bounds of the nodes below it.

A split of a constrained column is refused if its sides are in the wrong order, or outside of the bounds of the node.
Nodes on the two sides are separated by the midpoint of both predictions. A node predicts a number within its bounds, so
that the tree is monotonic as a whole, whatever is pruned later.
"""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import row_of
from treewright.engines.criteria import ABSOLUTE_ERROR
from treewright.engines.exact.layout import THRESHOLD_SPLIT
from treewright.runtime.kernels import kernel

# Rounding errors of a prediction, relative to the bound that it is compared with.
ROUNDING = 1e-13


@kernel
def enter_bounds(work, node):
    """Set the bounds of the predictions below the current node; rounding errors do not exceed them."""
    if work.node_bounds.shape[1] == 0:
        return
    least, most = work.node_bounds[node, 0], work.node_bounds[node, 1]
    work.least = least - ROUNDING * abs(least) if least > -np.inf else least
    work.most = most + ROUNDING * abs(most) if most < np.inf else most


@kernel
def in_order(work, left, right):
    """May the two sides of a split of the current column have these predictions?"""
    if work.direction == 0:
        return True
    if min(left, right) < work.least or max(left, right) > work.most:
        return False
    return (left - right) * work.direction <= 0.0


@kernel
def classes_in_order(work, first_weight, second_weight):
    """Do the same for the sides in `first` and `second`, which predict the share of the second of two classes."""
    if work.direction == 0:
        return True
    return in_order(work, work.first[1] / first_weight, work.second[1] / second_weight)


@kernel
def positions_in_order(work, left_line, right_line, j):
    """Do the same for the cut after position j; line 1 of the predictions is with the missing rows, line 0 without."""
    if work.direction == 0:
        return True
    return in_order(work, work.value_before[left_line, j], work.value_after[right_line, j + 1])


@kernel
def sweep_means(work, keys, n_groups, with_missing, backward, out):
    """Compute the mean of the first 1, 2, .. groups (or the last), optionally with the missing rows.

    Sums of whole numbers are exact, so that equal means are equal.
    """
    weight = total = 0.0
    for i in range(work.group_start[n_groups], len(keys) if with_missing else work.group_start[n_groups]):
        row = row_of(keys[i])
        weight += work.weights[row]
        total += work.weights[row] * work.numbers[row]
    for step in range(n_groups):
        j = n_groups - 1 - step if backward else step
        for i in range(work.group_start[j], work.group_start[j + 1]):
            row = row_of(keys[i])
            weight += work.weights[row]
            total += work.weights[row] * work.numbers[row]
        out[j] = total / weight


@kernel
def prediction_of(work, node, numbers):
    """Return the number that a node predicts, or the share of the second class, before its bounds apply."""
    if numbers is None:
        return work.node_distribution[node, 1] / work.node_weight[node]
    return work.node_distribution[node, 0]


@kernel
def bound_children(work, node, first, numbers):
    """Set the bounds of the children of a node, which are measured.

    They are those of the node, but for a split of a constrained column: its sides meet in the midpoint. Missing values
    alone on a side have no order.
    """
    least, most = work.node_bounds[node, 0], work.node_bounds[node, 1]
    for child in range(first, first + work.node_n_children[node]):
        work.node_bounds[child, 0], work.node_bounds[child, 1] = least, most
    direction = work.monotonic_cst[work.node_column[node]]
    is_cut = work.node_kind[node] == THRESHOLD_SPLIT and work.node_threshold[node] < np.inf
    if direction == 0 or not is_cut:
        return
    low, high = (first, first + 1) if direction > 0 else (first + 1, first)
    middle = 0.5 * prediction_of(work, first, numbers) + 0.5 * prediction_of(work, first + 1, numbers)
    middle = min(max(middle, least), most)
    work.node_bounds[low, 1] = work.node_bounds[high, 0] = middle


@kernel
def needs_means(work):
    """Do the predictions of the sides have to be summed up? Medians are found together with the impurities."""
    return work.direction != 0 and work.criterion != ABSOLUTE_ERROR
