"""The rows of the nodes of a tree: sent from each node to its branches, with fractions where rows are divided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewright.engines.missing_values import ALL_BRANCHES
from treewright.tree.tree import SplitKind, Tree


@dataclass(frozen=True, eq=False)
class Here:
    """Rows at a node: their places among the training rows, their weights here, and the fraction that is here."""

    rows: np.ndarray
    weights: np.ndarray
    shares: np.ndarray


def branches_of(tree: Tree, node: int, values: np.ndarray) -> np.ndarray:
    """The branch of each row by its value at a node; -1 if the value is missing.

    `values` are the rows, with categories as indices.
    """
    column, kind = int(tree.column[node]), int(tree.kind[node])
    line = values[:, column]
    if kind == SplitKind.THRESHOLD:
        threshold = tree.threshold[node] + tree.tolerance
        to = np.where(line <= threshold, 0, 1)
        return np.where(np.isnan(line), -1, to)
    known = line >= 0.0
    codes = np.where(known, line, 0.0).astype(np.int64)
    if kind == SplitKind.MULTIWAY:
        return np.where(known, codes, -1)
    inside = np.zeros(max(len(tree.columns[column].categories), 1), dtype=bool)
    inside[list(tree.category_set(node))] = True
    return np.where(known, np.where(inside[codes], 0, 1), -1)


def by_surrogates(tree: Tree, node: int, values: np.ndarray) -> np.ndarray:
    """The branch of rows without a value: by the first surrogate for which they have one, else the majority."""
    found = tree.surrogates
    to = np.full(len(values), -1)
    if found is not None:
        for k, column in enumerate(found.column[node]):
            if column < 0:
                break
            line = values[:, column]
            open_rows = (to < 0) & ~np.isnan(line)
            if tree.columns[column].is_categorical:
                codes, ways = tree.category_map(int(found.map_start[node, k]))
                way_of = np.full(len(tree.columns[column].categories) + 1, -1)
                way_of[codes] = ways
                way = way_of[np.where(line >= 0.0, line, -1).astype(np.int64)]
            else:
                low, high = int(found.low_branch[node, k]), int(found.high_branch[node, k])
                way = np.where(line <= found.threshold[node, k], low, high)
            to = np.where(open_rows, way, to)
    return np.where(to < 0, int(tree.missing_branch[node]), to)


def first_surrogate(tree: Tree, node: int, values: np.ndarray) -> int:
    """The number of the surrogate that decides for one row without a value, -1 if the majority does."""
    found = tree.surrogates
    columns = [] if found is None else found.column[node].tolist()
    for k, column in enumerate(columns):
        if column < 0:
            break
        value = float(values[0, column])
        if np.isnan(value):
            continue
        assert found is not None
        if not tree.columns[column].is_categorical:
            return k
        if value in tree.category_map(int(found.map_start[node, k]))[0]:
            return k
    return -1


def divide(
    tree: Tree, node: int, here: Here, values: np.ndarray, strategy: int, *, grown: bool = True
) -> tuple[list[Here], np.ndarray]:
    """The rows of each branch of a node, and which of its rows have no value there.

    `values` are those of all rows, from which the tree has `grown` or not.
    """
    own = values[here.rows]
    to = branches_of(tree, node, own)
    missing = to < 0
    if grown and tree.kind[node] == SplitKind.THRESHOLD and not missing.any():
        to = _as_grown(tree, node, own[:, int(tree.column[node])], to)
    first, n_children = int(tree.first_child[node]), int(tree.n_children[node])
    if int(tree.missing_branch[node]) >= 0:
        if missing.any():
            to[missing] = by_surrogates(tree, node, own[missing])
        return [_take(here, to == branch) for branch in range(n_children)], missing
    children = []
    for branch in range(n_children):
        share = float(tree.share[first + branch])
        taken = (to == branch) | (missing & (share > 0.0))
        fraction = np.where(missing, share, 1.0)[taken]
        weights = here.weights[taken] * (1.0 if strategy == ALL_BRANCHES else fraction)
        children.append(Here(here.rows[taken], weights, here.shares[taken] * fraction))
    return children, missing


def _as_grown(tree: Tree, node: int, line: np.ndarray, to: np.ndarray) -> np.ndarray:
    """The branches during growth; C4.5 lowers a threshold afterwards, at times below a value that was imputed."""
    n_first = int(tree.rows[tree.first_child[node]])
    if int((to == 0).sum()) == n_first:
        return to
    as_grown = np.ones(len(to), dtype=to.dtype)
    as_grown[np.argsort(line, kind="stable")[:n_first]] = 0
    return as_grown


def _take(here: Here, taken: np.ndarray) -> Here:
    return Here(here.rows[taken], here.weights[taken], here.shares[taken])
