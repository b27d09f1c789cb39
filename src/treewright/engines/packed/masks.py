"""Predictions of small trees without walking: the leaves that remain possible are the bits of a word.

The method is based on QuickScorer (Lucchese and others 2015). The leaves of a tree are numbered from left to right. A
test that sends a row to the second side excludes the leaves of the first side. The leaf of a row is the first one that
no test excludes. For each column that a tree uses, a table has one mask per code: the leaves that remain after all
tests of this column. A row needs one load per column rather than one per level, and no load waits for another.
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
from treewright.runtime.kernels import entry, kernel, replaced
from treewright.runtime.signatures import (
    Bytes2,
    Indices,
    Input,
    Integers,
    Reals,
    Reals2,
    Wholes,
    Wholes2,
    Words,
    Words2,
)

# Trees with more leaves are walked.
MOST_LEAVES = 64

# Rows whose codes and leaves remain in the first-level cache while a tree predicts them.
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
    """Return the position of the lowest bit that is set."""
    number = int(word)
    return np.uint64((number & -number).bit_length() - 1)


@entry
def predict_by_masks(
    first: int,
    last: int,
    nodes: Input[Words],
    node_start: Input[Wholes],
    node_set: Input[Integers],
    sets: Input[Words2],
    leaf_start: Input[Wholes],
    leaf_value: Input[Reals],
    out: Reals2,
    near: Bytes2,
    left: Words,
    tables: Words2,
    columns: Wholes,
    place_of: Wholes,
    order: Indices,
    waiting: Wholes2,
) -> None:
    """Add up the predictions of all trees, in their order, for the rows first to last-1."""
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
    """Exclude leaves by one column."""
    for k in range(size):
        left[k] &= table[codes[at + k]]


@entry
def turn_codes(codes: Input[Bytes2], first: int, last: int, near: Bytes2) -> None:
    """Transpose the codes of some rows, so that each column is contiguous."""
    n_columns = np.uint64(codes.shape[1])
    for begin in range(np.uint64(first), np.uint64(last), np.uint64(64)):
        end = min(begin + np.uint64(64), np.uint64(last))
        for column in range(n_columns):
            for row in range(begin, end):
                near[column, row - np.uint64(first)] = codes[row, column]


@kernel
def fill_tables(nodes, root, node_set, sets, tables, columns, place_of, order, waiting):
    """Compute the masks of each column that a tree uses, one per code; returns the number of columns.

    The result is in `tables`, `columns` and `order`. `columns` contains the column of each table. `order` contains the
    leaf at each position from left to right. All entries of `place_of` are -1 before and after the call.
    """
    n_columns = n_leaves = ZERO
    # A node is visited twice: first to start its first side, and again to start its second side when all leaves of the
    # first side have a number.
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
    """Remove leaves from the masks of all codes that a test sends to its second side."""
    is_set = len(node_set) > 0 and word & IS_SET != np.uint64(0)
    cut = (word >> CUT_SHIFT) & BYTE_MASK
    for code in range(256):
        if is_set:
            is_second = not has_bit(sets[node_set[np.uint64(root) + np.uint64(node)]], ZERO, code)
        else:
            is_second = (np.uint64(code) + (word & MOVED_UP)) & BYTE_MASK > cut
        if is_second:
            table[code] &= ~leaves
