"""Descent of rows through a `Tree`: the leaves they reach, and the predictions there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewright.tree.tree import Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from treewright.engines.exact.descent import Splits

# Rows are sent down in blocks of about this many entries, because a row with missing values can end in every leaf.
MOST_ENTRIES = 1 << 22
MOST_ROWS = 1 << 14


def _block_size(tree: Tree) -> int:
    """Return the number of rows that are sent down at a time; those of a sparse table become dense for it."""
    divides = bool((tree.missing_branch < 0).any())
    n_rows = min(max(MOST_ENTRIES // len(tree.columns), 1), MOST_ROWS)
    return min(max(MOST_ENTRIES // tree.n_leaves, 1), n_rows) if divides else n_rows


@dataclass(frozen=True, eq=False)
class ReachedNodes:
    """The nodes that rows reach in a tree, one entry per row and node; the entries of a row are next to each other."""

    ends: np.ndarray  # for each row, the end of its entries
    nodes: np.ndarray
    fractions: np.ndarray  # the fraction of the row that reaches the node

    @property
    def rows(self) -> np.ndarray:
        """Return the row of each entry."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))


def descend_rows(tree: Tree, values: np.ndarray) -> ReachedNodes:
    """Send rows down a tree, and record the nodes where they end; `values` as `table.read_like` returns them.

    Sparse values become dense in blocks.
    """
    size = len(values) if isinstance(values, np.ndarray) else _block_size(tree)
    if len(values) <= size:
        return _descend_block(tree, values)
    parts = [_descend_block(tree, values[start : start + size]) for start in range(0, len(values), size)]
    before = np.cumsum([0, *(len(part.nodes) for part in parts[:-1])])
    return ReachedNodes(
        np.concatenate([part.ends + first for part, first in zip(parts, before, strict=True)]),
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.fractions for part in parts]),
    )


def _descend_block(tree: Tree, values: np.ndarray) -> ReachedNodes:
    from treewright.engines.exact.descent import descend
    from treewright.runtime.forms import choose_form

    values = _prepared(tree, values)
    splits = _splits_of(tree)
    ends = np.zeros(len(values), dtype=np.int64)
    capacity = len(values)
    deepest = tree.depth * int(tree.n_children.max(initial=0)) + 1 if (tree.missing_branch < 0).any() else 1
    stack = np.empty(deepest, dtype=np.int64), np.empty(deepest)
    while True:
        nodes, fractions = np.empty(capacity, dtype=np.int64), np.empty(capacity)
        n_entries = choose_form(values.size)(descend)(values, splits, *stack, ends, nodes, fractions)
        if n_entries >= 0:
            return ReachedNodes(ends, nodes[:n_entries], fractions[:n_entries])
        capacity *= 4


def fractions_of_branches(tree: Tree, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the fraction of each row that its parent sends to each node, and 1 where a row stops at a node.

    The fractions are those of the split alone: also of nodes that the row does not reach.
    """
    from treewright.engines.exact.descent import branch_fractions
    from treewright.runtime.forms import choose_form

    values = _prepared(tree, values)
    fractions, stops = np.empty((len(values), tree.n_nodes)), np.empty((len(values), tree.n_nodes))
    choose_form(fractions.size)(branch_fractions)(values, _splits_of(tree), fractions, stops)
    return fractions, stops


def _prepared(tree: Tree, values: np.ndarray) -> np.ndarray:
    """Return the rows as the kernels take them, with missing values imputed."""
    if values.shape[1] != len(tree.columns):
        raise ValueError(f"the rows have {values.shape[1]} columns, but the tree has {len(tree.columns)}")
    return np.ascontiguousarray(impute(tree, values), dtype=np.float64)


def _splits_of(tree: Tree) -> Splits:
    """Return what the kernels of descent need to know about the splits of a tree."""
    from treewright.engines.exact.descent import UNSEEN_AS_MISSING, UNSEEN_MAJORITY, UNSEEN_STOP, Splits

    policies = {"stop": UNSEEN_STOP, "majority": UNSEEN_MAJORITY}
    column, threshold, low, high, category_map = _surrogate_arrays(tree)
    return Splits(
        kind=tree.kind,
        column=tree.column,
        threshold=tree.threshold + tree.tolerance,
        first_child=tree.first_child,
        n_children=tree.n_children,
        missing_branch=tree.missing_branch,
        share=tree.share,
        set_start=tree.set_start,
        category_sets=tree.category_sets,
        weight=tree.weight,
        surrogate_column=column,
        surrogate_threshold=threshold,
        surrogate_low=low,
        surrogate_high=high,
        surrogate_map=category_map,
        n_categories=np.array([len(column.categories) for column in tree.columns], dtype=np.int64),
        unseen=int(policies.get(tree.unseen, UNSEEN_AS_MISSING)),
    )


def _surrogate_arrays(tree: Tree) -> tuple[np.ndarray, ...]:
    """Return the surrogates for the descent: column, threshold, branches, and maps; empty if there are none."""
    found = tree.surrogates
    if found is None:
        none = (tree.n_nodes, 0)
        return np.empty(none, np.int32), np.empty(none), *(np.empty(none, np.int64),) * 3
    return found.column, found.threshold, found.low_branch, found.high_branch, found.map_start


def impute(tree: Tree, values: np.ndarray) -> np.ndarray:
    """Impute the missing values of rows, if the tree has an imputation."""
    if tree.imputation is None:
        return values
    values = np.asarray(values)
    missing = np.isnan(values)
    if tree.unseen == "as_missing":
        missing |= (values < 0) & np.array([bool(column.categories) for column in tree.columns])
    return tree.imputation.impute(values, missing) if missing.any() else values


def leaves_of(tree: Tree, values: np.ndarray) -> np.ndarray:
    """Return the node that each row reaches; for a divided row, the one with its largest fraction."""
    leaves = np.empty(len(values), dtype=np.int64)
    size = _block_size(tree)
    for start in range(0, len(values), size):
        block = slice(start, start + size)
        reached = descend_rows(tree, values[block])
        if len(reached.nodes) == len(reached.ends):
            leaves[block] = reached.nodes
            continue
        # Sorted by row, then by descending fraction. The sort is stable, so the first of equal ones stays first.
        order = np.lexsort((-reached.fractions, reached.rows))
        first = np.concatenate([[0], reached.ends[:-1]])
        leaves[block] = reached.nodes[order[first]]
    return leaves


def paths_to(tree: Tree, leaves: np.ndarray) -> csr_matrix:
    """Return the nodes on the path to each leaf: a sparse matrix of leaves by nodes, 1 on the path."""
    from scipy.sparse import csr_matrix

    ends = np.cumsum(tree.depth_of[leaves] + 1)
    nodes = np.empty(ends[-1], dtype=np.int64)
    node, place = leaves, ends - 1
    while len(node):
        nodes[place] = node
        node = tree.parent[node]
        node, place = node[node >= 0], place[node >= 0] - 1
    return csr_matrix(
        (np.ones(len(nodes), dtype=np.int64), nodes, np.append(0, ends)), shape=(len(leaves), tree.n_nodes)
    )


def predictions_of(tree: Tree, values: np.ndarray) -> np.ndarray:
    """Return the class shares, or the number, that the tree predicts for each row, as one line per row."""
    return average_of(tree, values, tree.predictions)


def labels_of(tree: Tree, values: np.ndarray) -> np.ndarray:
    """Return the class label that the tree predicts for each row."""
    if tree.misclassification_costs is not None:
        return tree.labels_for(predictions_of(tree, values))
    labels = np.empty(len(values), dtype=np.intp)
    size = _block_size(tree)
    for start in range(0, len(values), size):
        block = slice(start, start + size)
        reached = descend_rows(tree, values[block])
        if len(reached.nodes) == len(reached.ends):
            labels[block] = tree.label[reached.nodes]
        else:
            labels[block] = tree.labels_for(predictions_of(tree, values[block]))
    return labels


def average_of(tree: Tree, values: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """Average the entries of `of_node` over the nodes that each row reaches, weighted by the fractions of the row."""
    from treewright.engines.exact.descent import add_up
    from treewright.runtime.forms import choose_form

    of_node = np.ascontiguousarray(of_node, dtype=np.float64)
    averages = np.empty((len(values), of_node.shape[1]))
    size = _block_size(tree)
    for start in range(0, len(values), size):
        block = slice(start, start + size)
        reached = descend_rows(tree, values[block])
        if len(reached.nodes) == len(reached.ends):
            averages[block] = of_node[reached.nodes]
        else:
            sum_up = choose_form(len(reached.nodes) * of_node.shape[1])(add_up)
            sum_up(reached.ends, reached.nodes, reached.fractions, of_node, averages[block])
    return averages
