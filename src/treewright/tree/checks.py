"""Checks of the arrays of a tree: sizes, kinds, columns, and every node with one parent."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from treewright.engines.criteria import CRITERIA
from treewright.tree.parts import BIT_SET, SplitKind, Surrogates, Target

if TYPE_CHECKING:
    from treewright.tree.tree import Tree

# The fields of a tree that are not arrays with one entry per node.
NO_ARRAYS = (
    "columns",
    "target",
    "criterion",
    "unseen",
    "imputation",
    "tolerance",
    "surrogates",
    "misclassification_costs",
    "smoothing",
    "own_criterion",
)


UNSEEN = ("as_missing", "stop", "majority", "error")

# Criteria of trees in addition to those of the table: a function of the user, and the gradient of a loss.
OWN, GRADIENT = "own", "gradient"


def check_arrays(tree: Tree) -> None:
    """Raise an error for arrays that do not form one tree: sizes, kinds, columns, and every node with one parent."""
    _check_sizes(tree)
    check_criterion(tree.criterion, tree.target)
    if (tree.criterion == OWN) != (tree.own_criterion is not None):
        raise ValueError(
            f"criterion is {tree.criterion!r} and own_criterion is {tree.own_criterion!r}; "
            f"give own_criterion if, and only if, criterion is {OWN!r}"
        )
    if tree.unseen not in UNSEEN:
        raise ValueError(f"unseen is {tree.unseen!r}; give one of {', '.join(UNSEEN)}")
    if tree.kind.min() < SplitKind.LEAF or tree.kind.max() > SplitKind.MULTIWAY:
        raise ValueError(f"split kinds are 0 to 3, not {tree.kind.min()} to {tree.kind.max()}")
    leaf = tree.kind == SplitKind.LEAF
    if (tree.n_children[leaf] != 0).any() or (tree.n_children[~leaf] < 2).any():
        raise ValueError("a leaf must have no children, and every other node at least two")
    if (tree.column[~leaf] < 0).any() or (tree.column[~leaf] >= len(tree.columns)).any():
        raise ValueError("a split tests a column that the tree does not have")
    _check_children(tree, leaf)
    _check_branches(tree)
    _check_thresholds(tree)
    if tree.surrogates is not None:
        _check_surrogates(tree, tree.surrogates)


def check_criterion(criterion: str, target: Target) -> None:
    """Raise an error for a criterion that is not in the table, or is for another kind of target."""
    if criterion in (OWN, GRADIENT):
        return
    if criterion not in CRITERIA:
        raise ValueError(f"criterion is {criterion!r}; give one of {', '.join((*CRITERIA, OWN, GRADIENT))}")
    if CRITERIA[criterion].of_classes != target.has_classes:
        raise ValueError(f"criterion {criterion!r} does not fit the target {target.name!r}")


def _check_sizes(tree: Tree) -> None:
    for name in array_names(tree):
        if not isinstance(getattr(tree, name), np.ndarray):
            raise TypeError(f"tree array '{name}' must be a numpy array")
    n_nodes = len(tree.kind)
    if n_nodes == 0:
        raise ValueError("a tree needs at least one node")
    for name in array_names(tree):
        n_entries = len(getattr(tree, name))
        if name != "category_sets" and n_entries != n_nodes:
            raise ValueError(f"tree array '{name}' has {n_entries} entries for {n_nodes} nodes")
    if tree.surrogates is not None and len(tree.surrogates.column) != n_nodes:
        raise ValueError(f"the surrogates have {len(tree.surrogates.column)} entries for {n_nodes} nodes")
    width = tree.target.width
    if tree.distribution.shape != (n_nodes, width):
        raise ValueError(f"tree array 'distribution' must be {n_nodes} x {width}")


def _check_children(tree: Tree, leaf: np.ndarray) -> None:
    inner = np.flatnonzero(~leaf)
    if int(tree.n_children.sum(dtype=np.int64)) != len(tree.kind) - 1:
        raise ValueError("every node but the root must have exactly one parent")
    if not np.array_equal(np.sort(children_of(tree, inner)), np.arange(1, len(tree.kind))):
        raise ValueError("every node but the root must have exactly one parent")
    if (tree.first_child[inner] <= inner).any():
        raise ValueError("children must be after their parent")
    missing = tree.missing_branch[inner]
    if (missing < -1).any() or (missing >= tree.n_children[inner]).any():
        raise ValueError("missing values must follow one of the branches, or all of them (-1)")
    spread = inner[missing < 0]
    children = children_of(tree, spread)
    if not ((tree.share[children] >= 0.0) & (tree.share[children] <= 1.0)).all():
        raise ValueError("the share of a node must be between 0 and 1")
    shares = np.bincount(np.repeat(np.arange(len(spread)), tree.n_children[spread]), tree.share[children])
    if not np.allclose(shares, 1.0, atol=1e-3):
        raise ValueError("the shares of a node's branches must add up to 1")


def _check_branches(tree: Tree) -> None:
    """Check that each split kind has the children, and the column kind, that it needs."""
    sizes = np.array([len(column.categories) for column in tree.columns], dtype=np.int64)
    for kind in (SplitKind.SUBSET, SplitKind.MULTIWAY):
        nodes = np.flatnonzero(tree.kind == kind)
        n_categories = sizes[tree.column[nodes]]
        if (n_categories == 0).any():
            raise ValueError("a category split tests a column without categories")
        # An additional branch is for rows with a missing value.
        own_branch = tree.missing_branch[nodes] == n_categories
        if kind is SplitKind.MULTIWAY and (tree.n_children[nodes] != n_categories + own_branch).any():
            raise ValueError("a multiway split needs one child per category")
        if kind is SplitKind.SUBSET:
            _check_sets(tree, nodes, n_categories)
    binary = (tree.kind == SplitKind.THRESHOLD) | (tree.kind == SplitKind.SUBSET)
    if (tree.n_children[binary] != 2).any():
        raise ValueError("a binary split needs two children")


def _check_sets(tree: Tree, nodes: np.ndarray, n_categories: np.ndarray) -> None:
    starts, n_words = tree.set_start[nodes], len(tree.category_sets)
    if (starts < 0).any() or (starts >= n_words).any():
        raise ValueError("a category set extends beyond 'category_sets'")
    heads = tree.category_sets[starts]
    as_bits = heads == BIT_SET
    if (heads[~as_bits] > n_words).any():
        raise ValueError("a category set extends beyond 'category_sets'")
    sizes = np.where(as_bits, 0, heads).astype(np.int64)
    if (starts + np.where(as_bits, (n_categories + 63) // 64, sizes) >= n_words).any():
        raise ValueError("a category set extends beyond 'category_sets'")
    members = np.repeat(starts + 1, sizes) + counts_within(sizes)
    if (tree.category_sets[members] >= np.repeat(n_categories, sizes).astype(np.uint64)).any():
        raise ValueError("a category set contains a category that its column does not have")


def _check_surrogates(tree: Tree, found: Surrogates) -> None:
    """Check that each surrogate tests a column of the tree and sends rows to branches of its node."""
    nodes, places = np.nonzero(found.column >= 0)
    at = (nodes, places)
    if (found.column[at] >= len(tree.columns)).any():
        raise ValueError("a surrogate tests a column that the tree does not have")
    n_branches = tree.n_children[nodes]
    for branch in (found.low_branch[at], found.high_branch[at]):
        if ((branch < 0) | (branch >= n_branches)).any():
            raise ValueError("a surrogate sends rows to a branch that its node does not have")
    starts, n_words = found.map_start[at], len(tree.category_sets)
    is_map = np.array([column.is_categorical for column in tree.columns], dtype=bool)[found.column[at]]
    of_numbers, starts, n_branches = starts[~is_map], starts[is_map], n_branches[is_map]
    if (starts < 0).any() or (starts >= n_words).any() or (tree.category_sets[starts] > n_words).any():
        raise ValueError("the map of a surrogate extends beyond 'category_sets'")
    sizes = tree.category_sets[starts].astype(np.int64)
    if (starts + 2 * sizes >= n_words).any():
        raise ValueError("the map of a surrogate extends beyond 'category_sets'")
    # Kernels read a map wherever there is one.
    if (of_numbers >= 0).any():
        raise ValueError("a surrogate on numbers has a map of categories")
    branches_at = np.repeat(starts + 2, sizes) + 2 * counts_within(sizes)
    if (tree.category_sets[branches_at] >= np.repeat(n_branches, sizes).astype(np.uint64)).any():
        raise ValueError("a surrogate sends rows to a branch that its node does not have")


def _check_thresholds(tree: Tree) -> None:
    nodes = np.flatnonzero(tree.kind == SplitKind.THRESHOLD)
    if np.isnan(tree.threshold[nodes]).any():
        raise ValueError("a threshold must be a number, not NaN")
    for index in np.unique(tree.column[nodes]):
        column = tree.columns[index]
        if column.is_categorical:
            raise ValueError(f"column '{column.name}' has no order; a threshold needs a numeric or ordered column")
        splits = nodes[tree.column[nodes] == index]
        thresholds = tree.threshold[splits]
        # An infinite threshold only separates rows with a value from those without.
        separates_missing = (thresholds == np.inf) & (tree.missing_branch[splits] == 1)
        outside = ((thresholds < 0) | (thresholds >= len(column.categories))) & ~separates_missing
        if not column.is_numeric and outside.any():
            raise ValueError(
                f"a threshold of the ordered column '{column.name}' is not the index of one of its categories"
            )


def array_names(tree: Tree) -> list[str]:
    return [field.name for field in fields(tree) if field.name not in NO_ARRAYS]


def children_of(tree: Tree, inner: np.ndarray) -> np.ndarray:
    """Return the indices of all children of the given nodes, parent by parent."""
    lengths = tree.n_children[inner].astype(np.int64)
    return np.repeat(tree.first_child[inner].astype(np.int64), lengths) + counts_within(lengths)


def counts_within(lengths: np.ndarray) -> np.ndarray:
    """Return 0, 1, .. length-1 for each length, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
