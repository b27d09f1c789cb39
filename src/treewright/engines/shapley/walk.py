"""Shapley values of a tree for rows and branches of any kind, in one pass down the tree and one pass up.

A leaf is a product game: with the columns of a set S known, the fraction of a row that reaches it is the product of
`known` over the columns in S and of `hidden` over all other columns of its path. `known` is what the row itself lets
pass at the splits of a column. `hidden` is the fraction of the training rows that pass, or what a background row lets
pass. The Shapley value of column i in such a game is

    value * (known_i - hidden_i) * integral from 0 to 1 of the product over j != i of (q known_j + (1 - q) hidden_j)

The product is a polynomial in q, so a Gauss-Legendre rule with half as many points as columns is exact. `total` of a
node is the sum over the leaves below it of value times the whole product. Each edge adds its column's factor and
removes the one of the edge above it on the same column, so that one pass up adds up all columns of all leaves
(Linear TreeSHAP, Yu and others 2022; Quadrature-TreeSHAP 2026).

The nodes of a tree are in preorder. `end` of a node is the node after its last descendant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treewright.engines.bits import NONE
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes2, Input, Integers, Reals, Reals2, Wholes, Words2


class Edges(NamedTuple):
    """A tree as its edges, in preorder: entry 0 is the root, every other entry a node and the edge to it."""

    parent: Input[Integers]
    column: Input[Integers]
    end: Input[Wholes]
    above: Input[Wholes]  # the next edge above on the same column
    value: Input[Reals]


class Passes(NamedTuple):
    """What the two passes over a tree keep for each node."""

    known: Reals  # the product of `known` over the edges of a column down to this one
    hidden: Reals
    product: Reals2  # [node, point]: the product of the factors of all columns
    inverse: Reals2  # [node, point]: of the factor of the edge's column
    total: Reals2  # [node, point]
    visited: Wholes


@entry
def link_edges(parent: Input[Integers], column: Input[Integers], end: Wholes, above: Wholes, n_columns: Wholes) -> None:
    """Write for each node its end, the next edge above on the same column (-1: none), and the columns of its path."""
    for node in range(len(parent)):
        end[node] = node + 1
        above[node] = NONE
        n_columns[node] = 0
        if parent[node] < 0:
            continue
        n_columns[node] = n_columns[parent[node]] + 1
        before = np.int64(parent[node])
        while parent[before] >= 0:
            if column[before] == column[node]:
                above[node] = before
                n_columns[node] -= 1
                break
            before = np.int64(parent[before])
    for node in range(len(parent) - 1, 0, -1):
        if parent[node] >= 0:
            end[parent[node]] = max(end[parent[node]], end[node])


@entry
def order_nodes(parent: Input[Integers], weight: Reals, size: Wholes, position: Wholes) -> None:
    """Write the place of each node in preorder, and add the weights of all nodes below to each; children come later."""
    for node in range(len(parent)):
        size[node] = 1
    for node in range(len(parent) - 1, 0, -1):
        if parent[node] >= 0:
            size[parent[node]] += size[node]
            weight[parent[node]] += weight[node]
    # While nodes are placed, `size` of a placed node becomes the place of its next child.
    for node in range(len(parent)):
        at = np.int64(0)
        if parent[node] >= 0:
            at = size[parent[node]]
            size[parent[node]] += size[node]
        position[node] = at
        size[node] = at + 1


@entry
def pass_edges(codes: Input[Bytes2], column: Input[Integers], passing: Input[Words2], fractions: Reals2) -> None:
    """Write 1 where the edge to a node lets an encoded row pass, else 0; `passing` is the set of codes of each edge."""
    for row in range(np.uint64(len(codes))):
        for node in range(np.uint64(len(column))):
            if column[node] < 0:
                fractions[row, node] = 1.0
                continue
            code = np.uint64(codes[row, np.uint64(column[node])])
            word = passing[node, code >> np.uint64(6)]
            fractions[row, node] = np.float64((word >> (code & np.uint64(63))) & np.uint64(1))


@entry
def reach_nodes(parent: Input[Integers], fractions: Reals2) -> None:
    """Turn the fraction of each row that an edge lets pass into the fraction that reaches its node from the root."""
    for row in range(np.uint64(len(fractions))):
        for node in range(np.uint64(1), np.uint64(len(parent))):
            fractions[row, node] *= fractions[row, np.uint64(parent[node])]


@entry
def add_shapley_values(
    known: Input[Reals2],
    hidden: Input[Reals2],
    edges: Edges,
    points: Input[Reals],
    weights: Input[Reals],
    passes: Passes,
    out: Reals2,
) -> None:
    """Add the mean Shapley values of each row over the lines of `hidden` to `out`, a line per row."""
    parent, column, above = edges.parent, edges.column, edges.above
    inverse, total = passes.inverse, passes.total
    share = 1.0 / np.float64(len(hidden))
    n_points = np.uint64(len(points))
    for row in range(np.uint64(len(known))):
        for other in range(np.uint64(len(hidden))):
            n_visited = descend_all(known[row], hidden[other], edges, points, passes)
            for k in range(n_visited - 1, 0, -1):
                node = np.uint64(passes.visited[k])
                up = np.uint64(parent[node])
                own = passes.known[node] - passes.hidden[node]
                change = 0.0
                if above[node] < 0:
                    for q in range(n_points):
                        change += weights[q] * total[node, q] * own * inverse[node, q]
                        total[up, q] += total[node, q]
                else:
                    old = np.uint64(above[node])
                    removed = passes.known[old] - passes.hidden[old]
                    for q in range(n_points):
                        factor = own * inverse[node, q] - removed * inverse[old, q]
                        change += weights[q] * total[node, q] * factor
                        total[up, q] += total[node, q]
                out[row, np.uint64(column[node])] += share * change


@kernel
def descend_all(known, hidden, edges, points, passes):
    """Compute the product of all factors at each node that a mixture of both rows can reach; returns their number."""
    parent, end, above, value = edges.parent, edges.end, edges.above, edges.value
    path_known, path_hidden = passes.known, passes.hidden
    product, inverse, total = passes.product, passes.inverse, passes.total
    n_points = np.uint64(len(points))
    n_visited = np.int64(1)
    passes.visited[0] = 0
    path_known[0], path_hidden[0] = 1.0, 1.0
    for q in range(n_points):
        product[0, q] = inverse[0, q] = 1.0
        total[0, q] = value[0] if end[0] == 1 else 0.0
    node = np.int64(1)
    while node < len(parent):
        at, up = np.uint64(node), np.uint64(parent[node])
        path_known[at], path_hidden[at] = known[at], hidden[at]
        if above[at] >= 0:
            path_known[at] *= path_known[np.uint64(above[at])]
            path_hidden[at] *= path_hidden[np.uint64(above[at])]
        if path_known[at] == 0.0 and path_hidden[at] == 0.0:
            node = end[at]
            continue
        is_leaf = end[at] == node + 1
        old = np.uint64(max(above[at], np.int64(0)))
        for q in range(n_points):
            factor = points[q] * path_known[at] + (1.0 - points[q]) * path_hidden[at]
            inverse[at, q] = 1.0 / factor
            product[at, q] = product[up, q] * inverse[old, q] * factor
            total[at, q] = product[at, q] * value[at] if is_leaf else 0.0
        passes.visited[n_visited] = node
        n_visited += 1
        node += 1
    return n_visited


@entry
def add_interactions(
    known: Input[Reals2],
    hidden: Input[Reals2],
    edges: Edges,
    points: Input[Reals],
    weights: Input[Reals],
    passes: Passes,
    latest: Wholes,
    out: Reals2,
) -> None:
    """Add half of the interaction of each pair of columns to `out`: a line per row, pairs i < j at i * n + j."""
    column, inverse, total = edges.column, passes.inverse, passes.total
    path_known, path_hidden = passes.known, passes.hidden
    share = 0.5 / np.float64(len(hidden))
    n_columns = np.uint64(np.sqrt(np.float64(out.shape[1])))
    for row in range(np.uint64(len(known))):
        for other in range(np.uint64(len(hidden))):
            n_visited = descend_all(known[row], hidden[other], edges, points, passes)
            for k in range(n_visited):
                leaf = passes.visited[k]
                if edges.end[leaf] != leaf + 1:
                    continue
                n_latest = list_latest(leaf, edges.parent, column, latest)
                for a in range(n_latest):
                    for b in range(a):
                        one, two = np.uint64(latest[a]), np.uint64(latest[b])
                        change = 0.0
                        for q in range(np.uint64(len(points))):
                            change += weights[q] * total[leaf, q] * inverse[one, q] * inverse[two, q]
                        change *= (path_known[one] - path_hidden[one]) * (path_known[two] - path_hidden[two])
                        low = np.uint64(min(column[one], column[two]))
                        high = np.uint64(max(column[one], column[two]))
                        out[row, low * n_columns + high] += share * change


@kernel
def list_latest(leaf, parent, column, latest):
    """List the last edge of each column on the path to a leaf; returns their number."""
    n_latest = np.int64(0)
    node = np.int64(leaf)
    while parent[node] >= 0:
        is_new = True
        for k in range(n_latest):
            if column[latest[k]] == column[node]:
                is_new = False
        if is_new:
            latest[n_latest] = node
            n_latest += 1
        node = np.int64(parent[node])
    return n_latest
