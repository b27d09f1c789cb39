"""The order of categories during growth: by value, so that ties do not depend on the order of the rows.

The categories of a text column are in order of first appearance. Of several equal splits the first is chosen, so
categories are sorted before growth. A finished tree has them in the order of the column again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from treewright.engines.exact.engine import GrownSurrogates, GrownTree, level_order
from treewright.engines.exact.layout import BIT_SET, LEAF_NODE, MULTIWAY_SPLIT, SUBSET_SPLIT
from treewright.table.column import Column

# By column: the index in the column of each category, in the order of growth.
Orders = Mapping[int, np.ndarray]


def orders_by_value(columns: Sequence[Column]) -> Orders:
    """Return the order by value of the columns whose categories are not in this order already."""
    orders = {}
    for place, column in enumerate(columns):
        if column.is_categorical:
            keys = [_key(category) for category in column.categories]
            order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
            if (order != np.arange(len(order))).any():
                orders[place] = order
    return orders


def _key(category: object) -> tuple[str, object]:
    """Numbers are compared with each other, and other values with those of the same type."""
    is_number = isinstance(category, int | float) and not isinstance(category, bool)
    return "" if is_number else type(category).__name__, category


def sort_categories(values: np.ndarray, orders: Orders) -> np.ndarray:
    """Return a copy of a table with category indices in the order of growth."""
    if not orders:
        return values
    values = values.copy(order="K")
    for place, order in orders.items():
        index = np.argsort(order).astype(np.float64)
        known = values[:, place] >= 0.0
        values[known, place] = index[values[known, place].astype(np.intp)]
    return values


def restore_categories(grown: GrownTree, orders: Orders) -> GrownTree:
    """Return a grown tree with the categories in the order of the columns."""
    if not orders:
        return grown
    words = np.array(grown.category_sets)
    splits = np.flatnonzero(grown.kind == SUBSET_SPLIT)
    # The nodes of a level of an oblivious tree share one set.
    for start, column in set(zip(grown.set_start[splits].tolist(), grown.column[splits].tolist(), strict=True)):
        if column in orders:
            _restore_set(words, start, orders[column])
    surrogates = None if grown.surrogates is None else _restore_surrogates(grown, words, orders)
    return _restore_branches(replace(grown, category_sets=words, surrogates=surrogates), orders)


def _restore_set(words: np.ndarray, start: int, order: np.ndarray) -> None:
    """Replace a set of categories in place; its length remains the same."""
    n_words = (len(order) + 63) // 64
    if words[start] != BIT_SET:
        members = slice(start + 1, start + 1 + int(words[start]))
        words[members] = np.sort(order[words[members].astype(np.intp)]).astype(np.uint64)
        return
    bits = np.unpackbits(words[start + 1 : start + 1 + n_words].astype("<u8").view(np.uint8), bitorder="little")
    restored = np.zeros(64 * n_words, dtype=np.uint8)
    restored[order] = bits[: len(order)]
    words[start + 1 : start + 1 + n_words] = np.packbits(restored, bitorder="little").view("<u8")


def _restore_surrogates(grown: GrownTree, words: np.ndarray, orders: Orders) -> GrownSurrogates:
    """Replace the categories and the branches of all surrogates; the words of their maps are changed in place."""
    found = grown.surrogates
    assert found is not None
    low, high = found.low_branch.copy(), found.high_branch.copy()
    restored = set()
    for node, k in np.argwhere(found.column >= 0):
        branches = _branches_of(grown, int(node), orders)
        start, column = int(found.map_start[node, k]), int(found.column[node, k])
        if start in restored:
            continue
        if start >= 0:
            restored.add(start)
            pairs = words[start + 1 : start + 1 + 2 * int(words[start])].reshape(-1, 2).astype(np.int64)
            pairs[:, 0] = orders[column][pairs[:, 0]] if column in orders else pairs[:, 0]
            pairs[:, 1] = pairs[:, 1] if branches is None else branches[pairs[:, 1]]
            pairs = pairs[np.argsort(pairs[:, 0])]
            words[start + 1 : start + 1 + pairs.size] = pairs.ravel().astype(np.uint64)
        elif branches is not None:
            low[node, k], high[node, k] = branches[low[node, k]], branches[high[node, k]]
    return replace(found, low_branch=low, high_branch=high)


def _branches_of(grown: GrownTree, node: int, orders: Orders) -> np.ndarray | None:
    """Return the new number of each branch of a node with a branch per category, None if they remain."""
    order = orders.get(int(grown.column[node]))
    if order is None or grown.kind[node] != MULTIWAY_SPLIT:
        return None
    return np.append(order, len(order))  # the branch of missing values remains the last


def _restore_branches(grown: GrownTree, orders: Orders) -> GrownTree:
    """Put the branches of multiway splits in the order of the column, and number all nodes level by level."""
    missing_branch = grown.missing_branch.copy()
    moved = np.arange(len(grown.kind))
    for node in np.flatnonzero(grown.kind == MULTIWAY_SPLIT):
        branches = _branches_of(grown, int(node), orders)
        if branches is not None:
            first, n_children = int(grown.first_child[node]), int(grown.n_children[node])
            moved[first + branches[:n_children]] = np.arange(first, first + n_children)
            if missing_branch[node] >= 0:
                missing_branch[node] = branches[missing_branch[node]]
    grown = replace(grown, missing_branch=missing_branch)
    if (moved == np.arange(len(moved))).all():
        return grown
    grown = take_nodes(grown, moved)
    nodes = level_order(grown.first_child, grown.n_children)
    place = np.empty(len(nodes), dtype=np.int32)
    place[nodes] = np.arange(len(nodes))
    grown = take_nodes(grown, nodes)
    return replace(grown, first_child=np.where(grown.kind == LEAF_NODE, 0, place[grown.first_child]).astype(np.int32))


def take_nodes(grown: GrownTree, nodes: np.ndarray) -> GrownTree:
    """Return the arrays of a tree with the nodes in another order; the indices in `first_child` are not changed."""
    taken = {name: getattr(grown, name)[nodes] for name in vars(grown) if name not in ("category_sets", "surrogates")}
    if grown.surrogates is not None:
        taken["surrogates"] = GrownSurrogates(**{name: array[nodes] for name, array in vars(grown.surrogates).items()})
    return replace(grown, **taken)
