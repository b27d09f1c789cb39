"""Sending rows down a finished tree: the one descent of prediction, explanation and export."""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import NONE
from treewright.engines.exact.layout import MULTIWAY_SPLIT, SUBSET_SPLIT, THRESHOLD_SPLIT, in_set, way_in_map
from treewright.runtime.jit import entry, kernel

# Ways out of a node that are no branch.
EVERY_BRANCH = np.int64(-1)
STOP = np.int64(-2)

# What becomes of a category that was not there in training.
UNSEEN_AS_MISSING = np.int64(0)
UNSEEN_STOP = np.int64(1)
UNSEEN_MAJORITY = np.int64(2)


@kernel
def heaviest_child(first, n_children, weight):
    """The branch with the most weight, the first of equals."""
    best = np.int64(0)
    for b in range(n_children):
        if weight[first + b] > weight[first + best]:
            best = np.int64(b)
    return best


@kernel
def way_out(
    node,
    value,
    kind,
    threshold,
    first_child,
    n_children,
    missing_branch,
    set_start,
    category_sets,
    n_known,
    weight,
    unseen,
):
    """The branch of a row with this value: the one rule of all descents. Training knew `n_known` categories."""
    if np.isnan(value):
        return np.int64(missing_branch[node])
    if n_known > 0 and not 0 <= value < n_known:
        if unseen == UNSEEN_STOP:
            return STOP
        if unseen == UNSEEN_MAJORITY and kind[node] == MULTIWAY_SPLIT:
            # A branch of rows without a value stands after those of the categories.
            return heaviest_child(np.int64(first_child[node]), np.int64(n_known), weight)
        if unseen == UNSEEN_MAJORITY and kind[node] == SUBSET_SPLIT and category_sets[set_start[node]] == 0:
            return np.int64(1)  # an empty set: rows without a value are on a side of their own
        if unseen == UNSEEN_MAJORITY:
            return heaviest_child(np.int64(first_child[node]), np.int64(n_children[node]), weight)
        return np.int64(missing_branch[node])
    if kind[node] == THRESHOLD_SPLIT:
        return np.int64(0) if value <= threshold[node] else np.int64(1)
    if kind[node] == MULTIWAY_SPLIT:
        return np.int64(value)
    return np.int64(0) if in_set(category_sets, set_start[node], value) else np.int64(1)


@kernel
def ask_surrogates(node, row, values, asked, threshold, low_branch, high_branch, maps, category_sets, n_categories):
    """The branch that the first surrogate with a value tells, -1 if none does."""
    for k in range(asked.shape[1]):
        column = asked[node, k]
        if column < 0:
            break
        value = values[row, column]
        if np.isnan(value) or (n_categories[column] > 0 and not 0 <= value < n_categories[column]):
            continue
        if maps[node, k] < 0:
            return np.int64(low_branch[node, k] if value <= threshold[node, k] else high_branch[node, k])
        branch = way_in_map(category_sets, maps[node, k], value)
        if branch >= 0:
            return branch
    return NONE


@entry
def descend(
    values,
    kind,
    column,
    threshold,
    first_child,
    n_children,
    missing_branch,
    share,
    set_start,
    category_sets,
    weight,
    surrogate_column,
    surrogate_threshold,
    surrogate_low,
    surrogate_high,
    surrogate_map,
    n_categories,
    unseen,
    waiting_node,
    waiting_part,
    ends,
    nodes,
    parts,
):
    """Write the nodes where each row ends, and which part of the row; returns how many, or -1 if there is no room.

    `values` holds numbers and category indices; NaN is missing and a negative index was never seen in training. The
    entries of a row stand next to each other, in the order of the branches, up to the one that `ends` tells.
    """
    n_entries = np.int64(0)
    for row in range(len(values)):
        n_waiting = np.int64(1)
        waiting_node[0] = 0
        waiting_part[0] = 1.0
        while n_waiting > 0:
            n_waiting -= 1
            node, part = waiting_node[n_waiting], waiting_part[n_waiting]
            branch = np.int64(0)
            while kind[node] != 0:
                tested = column[node]
                value = values[row, tested]
                branch = NONE
                unknown = np.isnan(value) or (unseen == UNSEEN_AS_MISSING and n_categories[tested] > 0 and value < 0)
                if unknown and surrogate_column.shape[1] > 0:
                    branch = ask_surrogates(
                        node,
                        row,
                        values,
                        surrogate_column,
                        surrogate_threshold,
                        surrogate_low,
                        surrogate_high,
                        surrogate_map,
                        category_sets,
                        n_categories,
                    )
                if branch >= 0:
                    node = first_child[node] + branch
                    branch = np.int64(0)
                    continue
                branch = way_out(
                    node,
                    value,
                    kind,
                    threshold,
                    first_child,
                    n_children,
                    missing_branch,
                    set_start,
                    category_sets,
                    n_categories[tested],
                    weight,
                    unseen,
                )
                if branch < 0:
                    break
                node = first_child[node] + branch
                branch = np.int64(0)
            if branch == EVERY_BRANCH:
                for b in range(n_children[node] - 1, -1, -1):
                    child = first_child[node] + b
                    if share[child] > 0.0:
                        waiting_node[n_waiting] = child
                        waiting_part[n_waiting] = part * share[child]
                        n_waiting += 1
                continue
            if n_entries == len(nodes):
                return NONE
            nodes[n_entries] = node
            parts[n_entries] = part
            n_entries += 1
        ends[row] = n_entries
    return n_entries
