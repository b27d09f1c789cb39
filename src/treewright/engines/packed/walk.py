"""Kernels that send encoded rows down the trees of a forest.

A node is one word: its first child (the second is next to it) in the upper 32 bits, its column in the next 16, the last
code of the first side in 8, and the kind of the node in the lowest 8. A leaf has its number instead of the child.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import has_bit
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes2, Indices, Input, Integers, Reals, Reals2, Shorts, Wholes, Words, Words2

CHILD_SHIFT = np.uint64(32)
COLUMN_SHIFT = np.uint64(16)
CUT_SHIFT = np.uint64(8)
COLUMN_MASK = np.uint64(0xFFFF)
BYTE_MASK = np.uint64(0xFF)

# The lowest bits of a node. The code 255 (missing) becomes 0 if it is incremented by one, and then goes to the first
# child.
MOVED_UP = np.uint64(1)
IS_SET = np.uint64(2)
IS_LEAF = np.uint64(4)

# Rows that walk at the same time, so that their steps do not wait for each other.
BLOCK = 256


@kernel
def pack_split(child, column, cut, missing_left):
    """Return the node of a threshold split."""
    moved = np.uint64(1 if missing_left else 0)
    low = ((np.uint64(cut) + moved) << CUT_SHIFT) | moved
    return (np.uint64(child) << CHILD_SHIFT) | (np.uint64(column) << COLUMN_SHIFT) | low


@kernel
def pack_set(child, column):
    """Return the node of a split by a set of categories."""
    return (np.uint64(child) << CHILD_SHIFT) | (np.uint64(column) << COLUMN_SHIFT) | IS_SET


@kernel
def pack_leaf(leaf):
    return (np.uint64(leaf) << CHILD_SHIFT) | IS_LEAF


@entry
def walk(
    codes: Input[Bytes2],
    first: int,
    last: int,
    nodes: Input[Words],
    root: int,
    node_set: Input[Integers],
    sets: Input[Words2],
    at: Indices,
    active: Indices,
) -> None:
    """Write into `at` the leaf of each of the rows first to last-1 in the tree with this root."""
    walk_tree(codes, first, last, nodes, root, node_set, sets, at, active)


@kernel
def walk_tree(codes, first, last, nodes, root, node_set, sets, at, active):
    """Send rows down one tree; row r ends in leaf at[r - first].

    Children and leaves are numbered relative to the first of the tree. All rows of a block take one step each, then all
    rows that are not at a leaf take the next step.
    """
    has_sets = len(node_set) > 0
    root = np.uint64(root)
    for begin in range(first, last, BLOCK):
        n_active = np.uint64(min(BLOCK, last - begin))
        shift = np.uint64(begin - first)
        for k in range(n_active):
            active[k] = k
            at[shift + k] = 0
        while n_active > np.uint64(0):
            n_left = np.uint64(0)
            for k in range(n_active):
                r = np.uint64(active[k])
                place = np.uint64(at[shift + r])
                word = nodes[root + place]
                child = word >> CHILD_SHIFT
                if word & IS_LEAF != np.uint64(0):
                    at[shift + r] = child
                    continue
                code = np.uint64(codes[np.uint64(begin) + r, (word >> COLUMN_SHIFT) & COLUMN_MASK])
                if has_sets and word & IS_SET != np.uint64(0):
                    second = np.uint64(0 if has_bit(sets[node_set[root + place]], np.uint64(0), code) else 1)
                else:
                    moved = (code + (word & MOVED_UP)) & BYTE_MASK
                    second = np.uint64(1 if moved > (word >> CUT_SHIFT) & BYTE_MASK else 0)
                at[shift + r] = child + second
                active[n_left] = r
                n_left += np.uint64(1)
            n_active = n_left


@kernel
def add_moment(out, place, value, majority):
    """Add the prediction of a leaf of two classes or of numbers: its value, or one vote."""
    if majority:
        out[place, 0] += 1.0 if value > 0.5 else 0.0
    else:
        out[place, 0] += value


@kernel
def add_classes(out, place, first, last, entry_class, entry_share, majority):
    """Add the prediction of a leaf of several classes: their shares, or one vote for the first largest share."""
    if not majority:
        for e in range(first, last):
            out[place, entry_class[e]] += entry_share[e]
        return
    best = first
    for e in range(first + 1, last):
        larger = entry_share[e] > entry_share[best]
        if larger or (entry_share[e] == entry_share[best] and entry_class[e] < entry_class[best]):
            best = e
    out[place, entry_class[best]] += 1.0


@kernel
def add_leaf(out, place, leaf, leaf_value, leaf_end, entry_class, entry_share, majority):
    """Add the prediction of a leaf, numbered in all trees."""
    if len(leaf_value) > 0:
        add_moment(out, place, leaf_value[leaf], majority)
    else:
        begin = leaf_end[leaf - 1] if leaf > 0 else np.int64(0)
        add_classes(out, place, begin, leaf_end[leaf], entry_class, entry_share, majority)


@entry
def predict_block(
    codes: Input[Bytes2],
    first: int,
    last: int,
    nodes: Input[Words],
    node_start: Input[Wholes],
    node_set: Input[Integers],
    sets: Input[Words2],
    leaf_start: Input[Wholes],
    leaf_value: Input[Reals],
    leaf_end: Input[Wholes],
    entry_class: Input[Shorts],
    entry_share: Input[Reals],
    majority: bool,
    bags: Input[Bytes2],
    out: Reals2,
    n_predictions: Wholes,
    at: Indices,
    active: Indices,
) -> None:
    """Add up the predictions of all trees, in their order, for the rows first to last-1.

    `bags` has one line per tree with one bit per row that was in its bag. If it is given, a tree predicts only rows
    outside of its bag, and `n_predictions` counts the trees of each row.
    """
    for tree in range(len(node_start) - 1):
        walk_tree(codes, first, last, nodes, node_start[tree], node_set, sets, at, active)
        for k in range(last - first):
            if len(bags) > 0 and in_bag(bags, tree, first + k):
                continue
            n_predictions[first + k] += 1
            leaf = np.int64(leaf_start[tree]) + np.int64(at[k])
            add_leaf(out, first + k, leaf, leaf_value, leaf_end, entry_class, entry_share, majority)


@kernel
def in_bag(bags, tree, row):
    return (bags[tree, row >> 3] >> np.uint8(row & 7)) & np.uint8(1) != 0


@entry
def has_invalid_node(
    nodes: Input[Words],
    node_start: Input[Wholes],
    leaf_start: Input[Wholes],
    node_set: Input[Integers],
    n_sets: int,
    n_columns: int,
) -> bool:
    """Does any node refer to a node outside of its tree, or to a column or a set that does not exist?

    A walk would then leave its arrays.
    """
    for tree in range(len(node_start) - 1):
        first, n_nodes = node_start[tree], node_start[tree + 1] - node_start[tree]
        n_leaves = leaf_start[tree + 1] - leaf_start[tree]
        if n_nodes < 1 or n_leaves < 1:
            return True
        for place in range(n_nodes):
            word = nodes[first + place]
            child = np.int64(word >> CHILD_SHIFT)
            if word & IS_LEAF != np.uint64(0):
                if child >= n_leaves:
                    return True
                continue
            column = np.int64((word >> COLUMN_SHIFT) & COLUMN_MASK)
            if child <= place or child + 1 >= n_nodes or column >= n_columns:
                return True
            if word & IS_SET != np.uint64(0):
                if len(node_set) == 0 or not 0 <= node_set[first + place] < n_sets:
                    return True
    return False
