"""Answers of small trees without walking: which leaves are left is kept in the bits of a word.

After QuickScorer (Lucchese and others 2015). The leaves of a tree are numbered from left to right. A test that sends a
row to the second side rules out the leaves of the first, and the leaf of a row is the first that no test has ruled out.
For each column that a tree asks for, a table has for every code the leaves that all its tests together leave, so a row
takes one load per column rather than one per level, and none waits for another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.engines.bits import ONE, ZERO, has_bit
from treewright.engines.packed.walk import (
    BYTE_MASK,
    CHILD_SHIFT,
    COLUMN_MASK,
    COLUMN_SHIFT,
    CUT_SHIFT,
    IS_LEAF,
    IS_SET,
    MOVED_UP,
)
from treewright.runtime.jit import entry, kernel, replaced

# Trees of more leaves are walked.
MOST_LEAVES = 64

# Rows whose codes and leaves stay in the fastest memory while a tree answers for them.
ROWS_NEAR = 512

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def _build_first_bit() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def first_bit(typing_context: Any, word: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.uint64(types.uint64), write

    return first_bit


@replaced(_build_first_bit)
def first_bit(word: Any) -> Any:
    """The place of the lowest bit that is set."""
    number = int(word)
    return np.uint64((number & -number).bit_length() - 1)


@entry
def predict_by_masks(
    first,
    last,
    nodes,
    node_start,
    node_set,
    sets,
    leaf_start,
    leaf_value,
    out,
    near,
    left,
    tables,
    columns,
    place_of,
    order,
    waiting,
):
    """Add up the answers of all trees, in their order, for the rows first to last-1."""
    for tree in range(len(node_start) - 1):
        n_columns = fill_tables(nodes, node_start[tree], node_set, sets, tables, columns, place_of, order, waiting)
        base = np.uint64(leaf_start[tree])
        for begin in range(first, last, ROWS_NEAR):
            size = np.uint64(min(ROWS_NEAR, last - begin))
            at, of = np.uint64(begin - first), np.uint64(begin)
            for k in range(size):
                left[k] = ALL
            for c in range(n_columns):
                keep_leaves(near[columns[c]], at, size, tables[c], left)
            for k in range(size):
                out[of + k, 0] += leaf_value[base + order[first_bit(left[k])]]


@kernel
def keep_leaves(codes, at, size, table, left):
    """Rule out leaves by one column."""
    for k in range(size):
        left[k] &= table[codes[at + k]]


@entry
def turn_codes(codes, first, last, near):
    """The codes of some rows column after column."""
    n_columns = np.uint64(codes.shape[1])
    for begin in range(np.uint64(first), np.uint64(last), np.uint64(64)):
        end = min(begin + np.uint64(64), np.uint64(last))
        for column in range(n_columns):
            for row in range(begin, end):
                near[column, row - np.uint64(first)] = codes[row, column]


@kernel
def fill_tables(nodes, root, node_set, sets, tables, columns, place_of, order, waiting):
    """For each column that a tree asks for and every code: the leaves that its tests leave; returns how many columns.

    `order` becomes the leaf at each place from left to right, `columns` the columns of the tables. `place_of` is -1 for
    all columns before and after.
    """
    n_columns = n_leaves = ZERO
    # A node comes twice: to begin its first side, and when all leaves of that are numbered, to begin its second.
    waiting[0, 0], waiting[0, 1] = 0, -1
    n_waiting = np.int64(1)
    while n_waiting > 0:
        node, first_leaf = waiting[n_waiting - 1, 0], waiting[n_waiting - 1, 1]
        word = nodes[np.uint64(root) + np.uint64(node)]
        child = np.int64(word >> CHILD_SHIFT)
        if word & IS_LEAF != np.uint64(0):
            order[n_leaves] = np.uint32(child)
            n_leaves += 1
            n_waiting -= 1
        elif first_leaf < 0:
            waiting[n_waiting - 1, 1] = n_leaves
            waiting[n_waiting, 0], waiting[n_waiting, 1] = child, -1
            n_waiting += 1
        else:
            column = np.int64((word >> COLUMN_SHIFT) & COLUMN_MASK)
            if place_of[column] < 0:
                place_of[column] = n_columns
                columns[n_columns] = column
                tables[n_columns, :] = ALL
                n_columns += 1
            ruled_out = ((ONE << np.uint64(n_leaves - first_leaf)) - ONE) << np.uint64(first_leaf)
            rule_out(word, root, node, node_set, sets, tables[place_of[column]], ruled_out)
            waiting[n_waiting - 1, 0], waiting[n_waiting - 1, 1] = child + 1, -1
    for c in range(n_columns):
        place_of[columns[c]] = -1
    return n_columns


@kernel
def rule_out(word, root, node, node_set, sets, table, leaves):
    """Take leaves from all codes that a test sends to its second side."""
    is_set = len(node_set) > 0 and word & IS_SET != np.uint64(0)
    cut = (word >> CUT_SHIFT) & BYTE_MASK
    for code in range(256):
        if is_set:
            is_second = not has_bit(sets[node_set[np.uint64(root) + np.uint64(node)]], ZERO, code)
        else:
            is_second = (np.uint64(code) + (word & MOVED_UP)) & BYTE_MASK > cut
        if is_second:
            table[code] &= ~leaves
