"""Kernels that send tiles of rows down trees without sets of categories, in steps without a branch.

A tile holds the codes of 128 rows, column after column. Each column has two lines: its codes, and its codes plus one.
The second line is for splits that send missing values to the first side: the missing code 255 becomes 0 there.

A node has a second form for tiles, one word: its first child in the upper 32 bits, the position of its line in the tile
in the next 24, the last code of the first side in the lowest 8. A leaf is its own child, so a row that has reached its
leaf stays there.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.packed.walk import (
    BYTE_MASK,
    CHILD_SHIFT,
    COLUMN_MASK,
    COLUMN_SHIFT,
    CUT_SHIFT,
    IS_LEAF,
    MOVED_UP,
    add_leaf,
    in_bag,
)
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes, Bytes2, Indices, Input, Reals, Reals2, Shorts, Wholes, Words

# Rows of a tile. The position of a line in a tile is a multiple of it.
TILE = 128

# Rows, or trees of one row, that take a step at the same time. More of them hide more of the latency of memory, but all
# of them take as many steps as the slowest.
GROUP = 16

# Steps between two checks whether all rows of a group are at a leaf.
STEPS = 4

_ROWS, _AT_ONCE = np.uint64(TILE), np.uint64(GROUP)
_LINE_SHIFT = np.uint64(8)
_LINE_MASK = np.uint64(0xFFFFFF)
# The lowest bit of the position of a line, which is 0 in a split.
_AT_LEAF = np.uint64(1 << 8)
_ONE, _TWO, _ZERO = np.uint64(1), np.uint64(2), np.uint64(0)


@entry
def write_tile_nodes(nodes: Input[Words], node_start: Input[Wholes], tile_nodes: Words) -> None:
    """Write the second form of all nodes; none may test a set."""
    for tree in range(len(node_start) - 1):
        root = np.uint64(node_start[tree])
        for node in range(root, np.uint64(node_start[tree + 1])):
            word = nodes[node]
            if word & IS_LEAF != _ZERO:
                tile_nodes[node] = ((node - root) << CHILD_SHIFT) | _AT_LEAF | BYTE_MASK
            else:
                line = ((word >> COLUMN_SHIFT) & COLUMN_MASK) * _TWO + (word & MOVED_UP)
                cut = (word >> CUT_SHIFT) & BYTE_MASK
                tile_nodes[node] = (word >> CHILD_SHIFT << CHILD_SHIFT) | (line * _ROWS << _LINE_SHIFT) | cut


@kernel
def fill_tiles(codes, first, last, tiles):
    """Write the codes of the rows first to last-1, tile after tile."""
    first, last, n_columns = np.uint64(first), np.uint64(last), np.uint64(codes.shape[1])
    for begin in range(first, last, _ROWS):
        n_rows = min(_ROWS, last - begin)
        tile = (begin - first) * n_columns * _TWO
        for column in range(n_columns):
            line = tile + column * _TWO * _ROWS
            for k in range(n_rows):
                code = codes[begin + k, column]
                tiles[line + k] = code
                tiles[line + _ROWS + k] = np.uint8((np.uint64(code) + _ONE) & BYTE_MASK)


@kernel
def next_place(word, tiles, row):
    """Return the child of a node that a row goes to, by its place in the tree; `row` is its place in the first line."""
    code = tiles[((word >> _LINE_SHIFT) & _LINE_MASK) + row]
    return (word >> CHILD_SHIFT) + np.uint64(code > np.uint8(word & BYTE_MASK))


@kernel
def walk_group(tile_nodes, root, tiles, row, at, first):
    """Send the rows of a group down one tree, and write the places of their leaves from at[first] on.

    The places are variables rather than an array, so that they can remain in registers.
    """
    a = b = c = d = e = f = g = h = _ZERO
    i = j = k = m = n = o = p = q = _ZERO
    arrived = _ZERO
    while arrived & _AT_LEAF == _ZERO:
        for _ in range(STEPS):
            a = next_place(tile_nodes[root + a], tiles, row)
            b = next_place(tile_nodes[root + b], tiles, row + np.uint64(1))
            c = next_place(tile_nodes[root + c], tiles, row + np.uint64(2))
            d = next_place(tile_nodes[root + d], tiles, row + np.uint64(3))
            e = next_place(tile_nodes[root + e], tiles, row + np.uint64(4))
            f = next_place(tile_nodes[root + f], tiles, row + np.uint64(5))
            g = next_place(tile_nodes[root + g], tiles, row + np.uint64(6))
            h = next_place(tile_nodes[root + h], tiles, row + np.uint64(7))
            i = next_place(tile_nodes[root + i], tiles, row + np.uint64(8))
            j = next_place(tile_nodes[root + j], tiles, row + np.uint64(9))
            k = next_place(tile_nodes[root + k], tiles, row + np.uint64(10))
            m = next_place(tile_nodes[root + m], tiles, row + np.uint64(11))
            n = next_place(tile_nodes[root + n], tiles, row + np.uint64(12))
            o = next_place(tile_nodes[root + o], tiles, row + np.uint64(13))
            p = next_place(tile_nodes[root + p], tiles, row + np.uint64(14))
            q = next_place(tile_nodes[root + q], tiles, row + np.uint64(15))
        arrived = tile_nodes[root + a] & tile_nodes[root + b] & tile_nodes[root + c] & tile_nodes[root + d]
        arrived &= tile_nodes[root + e] & tile_nodes[root + f] & tile_nodes[root + g] & tile_nodes[root + h]
        arrived &= tile_nodes[root + i] & tile_nodes[root + j] & tile_nodes[root + k] & tile_nodes[root + m]
        arrived &= tile_nodes[root + n] & tile_nodes[root + o] & tile_nodes[root + p] & tile_nodes[root + q]
    at[first] = np.uint32(a)
    at[first + np.uint64(1)] = np.uint32(b)
    at[first + np.uint64(2)] = np.uint32(c)
    at[first + np.uint64(3)] = np.uint32(d)
    at[first + np.uint64(4)] = np.uint32(e)
    at[first + np.uint64(5)] = np.uint32(f)
    at[first + np.uint64(6)] = np.uint32(g)
    at[first + np.uint64(7)] = np.uint32(h)
    at[first + np.uint64(8)] = np.uint32(i)
    at[first + np.uint64(9)] = np.uint32(j)
    at[first + np.uint64(10)] = np.uint32(k)
    at[first + np.uint64(11)] = np.uint32(m)
    at[first + np.uint64(12)] = np.uint32(n)
    at[first + np.uint64(13)] = np.uint32(o)
    at[first + np.uint64(14)] = np.uint32(p)
    at[first + np.uint64(15)] = np.uint32(q)


@kernel
def walk_trees(tile_nodes, node_start, tree, n_trees, tiles, row, at):
    """Send one row down up to as many trees as a group has rows, and write the places of its leaves."""
    for k in range(_AT_ONCE):
        at[k] = np.uint32(0)
    arrived = _ZERO
    while arrived == _ZERO:
        arrived = _AT_LEAF
        for k in range(n_trees):
            word = tile_nodes[np.uint64(node_start[tree + k]) + np.uint64(at[k])]
            arrived &= word
            at[k] = np.uint32(next_place(word, tiles, row))


@entry
def predict_tiles(
    codes: Input[Bytes2],
    first: int,
    last: int,
    tile_nodes: Input[Words],
    nodes: Input[Words],
    node_start: Input[Wholes],
    leaf_start: Input[Wholes],
    leaf_value: Input[Reals],
    leaf_end: Input[Wholes],
    entry_class: Input[Shorts],
    entry_share: Input[Reals],
    majority: bool,
    bags: Input[Bytes2],
    out: Reals2,
    n_predictions: Wholes,
    tiles: Bytes,
    at: Indices,
) -> None:
    """Do the same as `walk.predict_block`, for trees without sets."""
    fill_tiles(codes, first, last, tiles)
    n_rows, n_columns = np.uint64(last - first), np.uint64(codes.shape[1])
    for tree in range(len(node_start) - 1):
        root, base = np.uint64(node_start[tree]), np.uint64(leaf_start[tree])
        for begin in range(_ZERO, n_rows, _ROWS):
            size, row = min(_ROWS, n_rows - begin), np.uint64(first) + begin
            for k in range(_ZERO, size, _AT_ONCE):
                walk_group(tile_nodes, root, tiles, begin * n_columns * _TWO + k, at, k)
            for k in range(size):
                at[k] = np.uint32(nodes[root + np.uint64(at[k])] >> CHILD_SHIFT)
            if len(bags) == 0 and len(leaf_value) > 0 and not majority:
                for k in range(size):
                    out[row + k, 0] += leaf_value[base + np.uint64(at[k])]
                    n_predictions[row + k] += 1
                continue
            for k in range(size):
                place = np.int64(row + k)
                if len(bags) > 0 and in_bag(bags, tree, place):
                    continue
                n_predictions[place] += 1
                leaf = np.int64(base + np.uint64(at[k]))
                add_leaf(out, place, leaf, leaf_value, leaf_end, entry_class, entry_share, majority)


@entry
def predict_few(
    codes: Input[Bytes2],
    tile_nodes: Input[Words],
    nodes: Input[Words],
    node_start: Input[Wholes],
    leaf_start: Input[Wholes],
    leaf_value: Input[Reals],
    leaf_end: Input[Wholes],
    entry_class: Input[Shorts],
    entry_share: Input[Reals],
    majority: bool,
    out: Reals2,
    tiles: Bytes,
    at: Indices,
) -> None:
    """Add up the predictions of all trees, in their order, for at most as many rows as a tile has.

    A row walks down several trees at the same time.
    """
    fill_tiles(codes, np.int64(0), np.int64(len(codes)), tiles)
    n_trees = np.uint64(len(node_start) - 1)
    for row in range(np.uint64(len(codes))):
        for tree in range(_ZERO, n_trees, _AT_ONCE):
            together = min(_AT_ONCE, n_trees - tree)
            walk_trees(tile_nodes, node_start, tree, together, tiles, row, at)
            for k in range(together):
                place = np.uint64(node_start[tree + k]) + np.uint64(at[k])
                leaf = leaf_start[tree + k] + np.int64(nodes[place] >> CHILD_SHIFT)
                add_leaf(out, np.int64(row), leaf, leaf_value, leaf_end, entry_class, entry_share, majority)
