"""Sending rows down a finished tree: the one descent of prediction, explanation and export."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treewright.engines.bits import NONE
from treewright.engines.exact.layout import MULTIWAY_SPLIT, SUBSET_SPLIT, THRESHOLD_SPLIT, in_set, way_in_map
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes, Input, Integers, Integers2, Reals, Reals2, Wholes, Wholes2, Words

# Results of `way_out` that are not a branch.
EVERY_BRANCH = np.int64(-1)
STOP = np.int64(-2)

# The treatment of a category that did not occur in training.
UNSEEN_AS_MISSING = np.int64(0)
UNSEEN_STOP = np.int64(1)
UNSEEN_MAJORITY = np.int64(2)


class Splits(NamedTuple):
    """What the descent needs of a tree; `tree.Tree` explains the arrays."""

    kind: Input[Bytes]
    column: Input[Integers]
    threshold: Input[Reals]
    first_child: Input[Integers]
    n_children: Input[Integers]
    missing_branch: Input[Integers]
    share: Input[Reals]
    set_start: Input[Wholes]
    category_sets: Input[Words]
    weight: Input[Reals]
    surrogate_column: Input[Integers2]
    surrogate_threshold: Input[Reals2]
    surrogate_low: Input[Wholes2]
    surrogate_high: Input[Wholes2]
    surrogate_map: Input[Wholes2]
    n_categories: Input[Wholes]  # [column]: 0 for a number
    unseen: int


@kernel
def heaviest_child(first, n_children, weight):
    """Return the branch with the largest weight, and the first of equal ones."""
    best = np.int64(0)
    for b in range(n_children):
        if weight[first + b] > weight[first + best]:
            best = np.int64(b)
    return best


@kernel
def way_out(node, value, splits):
    """Return the branch of a row with this value: the one rule of all descents."""
    kind, first, n_children = splits.kind[node], splits.first_child[node], splits.n_children[node]
    if np.isnan(value):
        return np.int64(splits.missing_branch[node])
    n_known = splits.n_categories[splits.column[node]]
    if n_known > 0 and not 0 <= value < n_known:
        if splits.unseen == UNSEEN_STOP:
            return STOP
        if splits.unseen == UNSEEN_MAJORITY and kind == MULTIWAY_SPLIT:
            # The branch of missing values is after those of the categories.
            return heaviest_child(np.int64(first), np.int64(n_known), splits.weight)
        if splits.unseen == UNSEEN_MAJORITY and kind == SUBSET_SPLIT and is_empty(splits, node):
            return np.int64(1)  # missing values have a separate side
        if splits.unseen == UNSEEN_MAJORITY:
            return heaviest_child(np.int64(first), np.int64(n_children), splits.weight)
        return np.int64(splits.missing_branch[node])
    if kind == THRESHOLD_SPLIT:
        return np.int64(0) if value <= splits.threshold[node] else np.int64(1)
    if kind == MULTIWAY_SPLIT:
        return np.int64(value)
    return np.int64(0) if in_set(splits.category_sets, splits.set_start[node], value) else np.int64(1)


@kernel
def is_empty(splits, node):
    """Is the category set of a subset split empty?"""
    return splits.category_sets[splits.set_start[node]] == 0


@kernel
def branch_by_surrogates(node, row, values, splits):
    """Return the branch by the first surrogate that can decide it, -1 if none can."""
    for k in range(splits.surrogate_column.shape[1]):
        column = splits.surrogate_column[node, k]
        if column < 0:
            break
        value = values[row, column]
        n_known = splits.n_categories[column]
        if np.isnan(value) or (n_known > 0 and not 0 <= value < n_known):
            continue
        if splits.surrogate_map[node, k] < 0:
            is_low = value <= splits.surrogate_threshold[node, k]
            return np.int64(splits.surrogate_low[node, k] if is_low else splits.surrogate_high[node, k])
        branch = way_in_map(splits.category_sets, splits.surrogate_map[node, k], value)
        if branch >= 0:
            return branch
    return NONE


@kernel
def branch_of(node, row, values, splits):
    """Return the branch of a row at a node, by a surrogate if the value is missing; or EVERY_BRANCH or STOP."""
    column = splits.column[node]
    value = values[row, column]
    unknown = np.isnan(value) or (splits.unseen == UNSEEN_AS_MISSING and splits.n_categories[column] > 0 and value < 0)
    if unknown and splits.surrogate_column.shape[1] > 0:
        branch = branch_by_surrogates(node, row, values, splits)
        if branch >= 0:
            return branch
    return way_out(node, value, splits)


@entry
def descend(
    values: Input[Reals2],
    splits: Splits,
    waiting_node: Wholes,
    waiting_fraction: Reals,
    ends: Wholes,
    nodes: Wholes,
    fractions: Reals,
) -> int:
    """Write the nodes where each row ends, and the fraction of the row; returns their number, -1 if they do not fit.

    `values` contains numbers and category indices. NaN is missing, and a negative index did not occur in training. The
    entries of a row are next to each other, in the order of the branches. `ends` contains the end of the entries of
    each row.
    """
    n_entries = np.int64(0)
    for row in range(len(values)):
        n_waiting = np.int64(1)
        waiting_node[0] = 0
        waiting_fraction[0] = 1.0
        while n_waiting > 0:
            n_waiting -= 1
            node, fraction = waiting_node[n_waiting], waiting_fraction[n_waiting]
            branch = np.int64(0)
            while splits.kind[node] != 0:
                branch = branch_of(node, row, values, splits)
                if branch < 0:
                    break
                node = splits.first_child[node] + branch
                branch = np.int64(0)
            if branch == EVERY_BRANCH:
                for b in range(splits.n_children[node] - 1, -1, -1):
                    child = splits.first_child[node] + b
                    if splits.share[child] > 0.0:
                        waiting_node[n_waiting] = child
                        waiting_fraction[n_waiting] = fraction * splits.share[child]
                        n_waiting += 1
                continue
            if n_entries == len(nodes):
                return NONE
            nodes[n_entries] = node
            fractions[n_entries] = fraction
            n_entries += 1
        ends[row] = n_entries
    return n_entries


@entry
def branch_fractions(
    values: Input[Reals2],
    splits: Splits,
    fractions: Reals2,
    stops: Reals2,
) -> None:
    """Write the fraction of each row that goes from a node to each of its children, whether it reaches the node or not.

    `stops` is 1 where a row ends at a node with a category that did not occur in training.
    """
    for row in range(len(values)):
        for node in range(len(splits.kind)):
            stops[row, node] = 0.0
            fractions[row, node] = 0.0
        fractions[row, 0] = 1.0
        for node in range(len(splits.kind)):
            if splits.kind[node] == 0:
                continue
            branch = branch_of(node, row, values, splits)
            if branch >= 0:
                fractions[row, splits.first_child[node] + branch] = 1.0
            elif branch == EVERY_BRANCH:
                for b in range(splits.n_children[node]):
                    fractions[row, splits.first_child[node] + b] = splits.share[splits.first_child[node] + b]
            else:
                stops[row, node] = 1.0


@entry
def add_up(
    ends: Input[Wholes], nodes: Input[Wholes], fractions: Input[Reals], of_node: Input[Reals2], totals: Reals2
) -> None:
    """Sum up the lines of the nodes that each row reaches, times its fractions; the entries of a row end at `ends`.

    It needs no memory of its own: a row can reach thousands of nodes, and a node have thousands of classes.
    """
    place = np.uint64(0)
    for row in range(np.uint64(len(ends))):
        for k in range(np.uint64(of_node.shape[1])):
            totals[row, k] = 0.0
        while place < np.uint64(ends[row]):
            node, fraction = np.uint64(nodes[place]), fractions[place]
            for k in range(np.uint64(of_node.shape[1])):
                totals[row, k] += fraction * of_node[node, k]
            place += np.uint64(1)
