"""Trees in the form that Shapley values need: edges in preorder, with the fraction of training rows on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from treewright.engines.shapley.walk import link_edges, order_nodes, pass_edges, reach_nodes
from treewright.runtime.forms import choose_compiled_form
from treewright.tree.descent import fractions_of_branches
from treewright.tree.forest import Forest
from treewright.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class PathTree:
    """A tree by its edges: entry i of an array is about node i and the edge from its parent, in preorder.

    Attributes
    ----------
    parent : the parent of each node, -1 for the root.
    column : the column that the parent tests.
    ratio : the fraction of the parent's training rows that follow the edge.
    value : what a leaf predicts, a column per output.
    end : the node after the last descendant.
    above : the next edge above on the same column, -1 if there is none.
    n_columns : the number of columns on the path to each node.
    fractions : returns for rows the fraction of each that every edge lets pass: [row, node].
    passing : the codes that the edge lets pass, as sets of four words; None for trees on values.
    """

    parent: np.ndarray
    column: np.ndarray
    ratio: np.ndarray
    value: np.ndarray
    end: np.ndarray
    above: np.ndarray
    n_columns: np.ndarray
    fractions: Callable[[np.ndarray], np.ndarray]
    passing: np.ndarray | None = None

    @property
    def is_leaf(self) -> np.ndarray:
        return np.asarray(self.end == np.arange(len(self.end)) + 1)

    def expected(self, output: int, background: np.ndarray | None) -> float:
        """The prediction if no column is known: the mean over the training rows or the background rows."""
        reached = self.ratio[None, :].copy() if background is None else self.fractions(background)
        choose_compiled_form()(reach_nodes)(self.parent, reached)
        leaf = self.is_leaf
        return float(reached[:, leaf].mean(axis=0) @ self.value[leaf, output])


def path_of_tree(tree: Tree, of_node: np.ndarray) -> PathTree:
    """A `Tree` by its edges; `of_node` is what each node predicts, a line per node.

    A row stops at an inner node if `unseen` is "stop". Such a node gets one more child that no training row reaches.
    """
    n_nodes = tree.n_nodes
    stopping = np.flatnonzero(tree.n_children > 0) if tree.unseen == "stop" else np.zeros(0, dtype=np.intp)
    parent = np.concatenate([tree.parent, stopping]).astype(np.int32)
    weight = np.concatenate([tree.weight * tree.scale, np.zeros(len(stopping))])
    column = np.where(parent >= 0, tree.column[parent], -1).astype(np.int32)
    value = np.concatenate([of_node, of_node[stopping]])

    def fractions(values: np.ndarray) -> np.ndarray:
        passed, stops = fractions_of_branches(tree, values)
        return np.concatenate([passed, stops[:, stopping]], axis=1) if len(stopping) else passed

    return _in_preorder(parent, column, _ratios(parent, weight, n_nodes), value, fractions)


def paths_of_forest(forest: Forest) -> list[PathTree]:
    """The trees of a `Forest` by their edges, for rows in bytes."""
    words = forest.nodes
    tree = np.repeat(np.arange(len(forest)), np.diff(forest.node_start))
    start = forest.node_start[tree]
    leaf = (words & IS_LEAF) != 0
    child = (words >> CHILD_SHIFT).astype(np.int64)
    inner = np.flatnonzero(~leaf)
    parent = np.full(len(words), -1, np.int32)
    passing = np.zeros((len(words), 4), np.uint64)
    first = _codes_of_first_side(forest, inner)
    for branch in (0, 1):
        at = start[inner] + child[inner] + branch
        parent[at] = inner - start[inner]
        passing[at] = ~first if branch else first
    column = np.full(len(words), -1, np.int32)
    edges = parent >= 0
    column[edges] = (words[start[edges] + parent[edges]] >> COLUMN_SHIFT) & COLUMN_MASK
    leaves = forest.leaf_start[tree[leaf]] + child[leaf]
    weight, value = np.zeros(len(words)), np.zeros((len(words), forest.packed.n_outputs))
    weight[leaf] = forest.leaf_weight[leaves]
    value[leaf] = forest.leaf_outputs()[leaves]
    found = []
    for number in range(len(forest)):
        nodes = slice(forest.node_start[number], forest.node_start[number + 1])
        found.append(
            _path_of_codes(
                parent[nodes], column[nodes], _summed(parent[nodes], weight[nodes]), value[nodes], passing[nodes]
            )
        )
    return found


def _path_of_codes(
    parent: np.ndarray, column: np.ndarray, weight: np.ndarray, value: np.ndarray, passing: np.ndarray
) -> PathTree:
    position = _positions(parent)
    order = np.argsort(position)
    ordered, of_edge = np.ascontiguousarray(passing[order]), np.ascontiguousarray(column[order])

    def fractions(codes: np.ndarray) -> np.ndarray:
        passed = np.empty((len(codes), len(of_edge)))
        choose_compiled_form()(pass_edges)(codes, of_edge, ordered, passed)
        return passed

    return _in_preorder(parent, column, _ratios(parent, weight, len(parent)), value, fractions, ordered, is_sorted=True)


def _codes_of_first_side(forest: Forest, inner: np.ndarray) -> np.ndarray:
    """The codes that each split sends to its first side, as sets of four words."""
    words = forest.nodes[inner]
    codes = np.arange(256)
    moved = np.arange(2)[:, None, None]
    is_first = ((codes + moved) & 0xFF) <= np.arange(256)[:, None]  # [moved, cut, code]
    sets = np.packbits(is_first, axis=2, bitorder="little").view("<u8").astype(np.uint64)
    found = sets[(words & MOVED_UP).astype(np.intp), ((words >> CUT_SHIFT) & BYTE_MASK).astype(np.intp)]
    by_set = (words & IS_SET) != 0
    if by_set.any():
        found[by_set] = forest.sets[forest.node_set[inner[by_set]]]
    return found


def _ratios(parent: np.ndarray, weight: np.ndarray, n_trained: int) -> np.ndarray:
    """The fraction of the training rows of the parent on each edge; equal parts where no row reaches any branch."""
    edges = parent >= 0
    below = np.bincount(parent[edges], weight[edges], minlength=len(parent))
    branches = np.bincount(parent[:n_trained][edges[:n_trained]], minlength=len(parent))
    ratio = np.ones(len(parent))
    at = np.flatnonzero(edges)
    total = below[parent[at]]
    equal = np.where(at < n_trained, 1.0 / np.maximum(branches[parent[at]], 1), 0.0)
    ratio[at] = np.where(total > 0.0, weight[at] / np.where(total > 0.0, total, 1.0), equal)
    return ratio


def _summed(parent: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weight of each node: that of the leaves below it."""
    summed = weight.copy()
    choose_compiled_form()(order_nodes)(
        parent, summed, np.empty(len(parent), np.int64), np.empty(len(parent), np.int64)
    )
    return summed


def _positions(parent: np.ndarray) -> np.ndarray:
    """The place of each node in preorder."""
    size, position = np.empty(len(parent), np.int64), np.empty(len(parent), np.int64)
    choose_compiled_form()(order_nodes)(parent, np.zeros(len(parent)), size, position)
    return position


def _in_preorder(
    parent: np.ndarray,
    column: np.ndarray,
    ratio: np.ndarray,
    value: np.ndarray,
    fractions: Callable[[np.ndarray], np.ndarray],
    passing: Any = None,
    *,
    is_sorted: bool = False,
) -> PathTree:
    """A tree with its nodes in preorder; `is_sorted` says that `fractions` and `passing` are in this order already."""
    parent = np.ascontiguousarray(parent)
    position = _positions(parent)
    order = np.argsort(position)
    above_root = parent[order] < 0
    parent = np.where(above_root, -1, position[parent[order]]).astype(np.int32)
    column = np.ascontiguousarray(column[order])
    end, above, n_columns = (np.empty(len(parent), np.int64) for _ in range(3))
    choose_compiled_form()(link_edges)(parent, column, end, above, n_columns)
    return PathTree(
        parent=parent,
        column=column,
        ratio=np.ascontiguousarray(ratio[order]),
        value=np.ascontiguousarray(value[order]),
        end=end,
        above=above,
        n_columns=n_columns,
        fractions=fractions if is_sorted else lambda values: np.ascontiguousarray(fractions(values)[:, order]),
        passing=passing,
    )
