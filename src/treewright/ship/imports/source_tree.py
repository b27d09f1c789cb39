"""A tree as other libraries keep it, and its conversion to a `Tree` or to the trees of a `Forest`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from treewright.encoding.bins import MAX_CODES, Bins
from treewright.engines.packed.walk import CHILD_SHIFT, COLUMN_SHIFT, CUT_SHIFT, IS_LEAF, IS_SET, MOVED_UP
from treewright.ship.layout import ModelFileError
from treewright.table.column import Column
from treewright.tree import Target, Tree
from treewright.tree.forest import Forest
from treewright.tree.tree import GRADIENT, SplitKind

# Cuts of a numeric column, so that its codes fit into a byte beside the code of missing values.
MOST_CUTS = MAX_CODES - 1

# The bit of a set that means missing values.
MISSING_BIT = 255


@dataclass(frozen=True, eq=False)
class SourceTree:
    """A binary tree: the root is node 0, and nodes are in any order.

    Attributes
    ----------
    left, right : the children; -1 at a leaf.
    column, threshold : values up to the threshold go left.
    sets : by node, the categories (by index) that go left.
    missing_left : whether missing values go left.
    value : what each node predicts: numbers or class weights, a line per node.
    weight, rows, impurity, gain : as in `Tree`.
    """

    left: np.ndarray
    right: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    gain: np.ndarray
    impurity: np.ndarray
    sets: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def is_leaf(self) -> np.ndarray:
        return self.left < 0


def check_source(tree: SourceTree, columns: Sequence[Column]) -> None:
    """Refuse arrays that are no tree of these columns; children are checked while they are put in order."""
    n_nodes, inner = len(tree.left), ~tree.is_leaf
    arrays = (tree.right, tree.column, tree.threshold, tree.missing_left, tree.value, tree.weight, tree.rows, tree.gain)
    if n_nodes == 0 or any(len(array) != n_nodes for array in arrays):
        raise ModelFileError("the arrays of a tree have different lengths; the model is damaged")
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    if ((children <= 0) | (children >= n_nodes)).any():
        raise ModelFileError("a node of a tree has a child that does not exist; the model is damaged")
    if ((tree.column[inner] < 0) | (tree.column[inner] >= len(columns))).any():
        raise ModelFileError("a node of a tree tests a column that does not exist; the model is damaged")
    if np.isnan(tree.threshold[inner]).any() or not np.isfinite(tree.value).all():
        raise ModelFileError("a tree has a threshold or a value that is no finite number; the model is damaged")
    is_set = np.zeros(n_nodes, dtype=bool)
    is_set[list(tree.sets)] = True
    is_category = np.array([column.is_categorical for column in columns])[tree.column * inner]
    if (is_set[inner] != is_category[inner]).any():
        raise ModelFileError("a tree tests a category as a number, or a number as a category; the model is damaged")


def in_order(tree: SourceTree) -> tuple[np.ndarray, np.ndarray]:
    """The nodes level by level, and the place of each one's first child: children are next to each other."""
    order, first_child = [np.zeros(1, dtype=np.int64)], []
    n_found = 1
    while len(order[-1]):
        level = order[-1]
        inner = level[~tree.is_leaf[level]]
        first = np.zeros(len(level), dtype=np.int64)
        first[~tree.is_leaf[level]] = n_found + 2 * np.arange(len(inner))
        first_child.append(first)
        children = np.column_stack([tree.left[inner], tree.right[inner]]).ravel()
        n_found += len(children)
        if n_found > len(tree.left):
            raise ModelFileError("a node of a tree has two parents; the model is damaged")
        order.append(children)
    nodes = np.concatenate(order)
    if len(np.unique(nodes)) < len(nodes):
        raise ModelFileError("a node of a tree has two parents; the model is damaged")
    return nodes, np.concatenate(first_child)


def to_tree(
    source: SourceTree, columns: tuple[Column, ...], target: Target, criterion: str, *, weighted: bool = False
) -> Tree:
    """The source as a `Tree`; with `weighted` its values are class shares, which become class weights."""
    order, first_child = in_order(source)
    leaf = source.is_leaf[order]
    place = {int(node): k for k, node in enumerate(order.tolist()) if node in source.sets}
    set_start, sets = np.full(len(order), -1, dtype=np.int64), []
    n_words = 0
    for node, k in place.items():
        members = np.unique(source.sets[node]).astype(np.uint64)
        set_start[k] = n_words
        sets.append(np.append(np.uint64(len(members)), members))
        n_words += len(members) + 1
    kind = np.where(leaf, SplitKind.LEAF, SplitKind.THRESHOLD)
    kind[list(place.values())] = SplitKind.SUBSET
    weight = source.weight[order].astype(np.float64)
    value = source.value[order].astype(np.float64)
    return Tree(
        columns=columns,
        target=target,
        criterion=criterion,
        kind=kind.astype(np.uint8),
        column=np.where(leaf, -1, source.column[order]).astype(np.int32),
        threshold=np.where(kind == SplitKind.THRESHOLD, source.threshold[order], np.nan),
        first_child=np.where(leaf, 0, first_child).astype(np.int32),
        n_children=np.where(leaf, 0, 2).astype(np.int32),
        missing_branch=np.where(leaf | source.missing_left[order], 0, 1).astype(np.int32),
        share=np.zeros(len(order)),
        set_start=set_start,
        category_sets=np.concatenate(sets) if sets else np.zeros(0, dtype=np.uint64),
        weight=weight,
        # A node without rows would predict what its parent does.
        rows=np.maximum(source.rows[order], 1).astype(np.int64),
        impurity=source.impurity[order].astype(np.float64),
        gain=np.where(leaf, 0.0, source.gain[order]),
        distribution=value * weight[:, None] if weighted else value,
    )


def place_bins(sources: Sequence[SourceTree], columns: tuple[Column, ...]) -> Bins | None:
    """The encoding in bytes of the columns by the thresholds of all trees, None if they do not fit."""
    if any(len(column.categories) > MAX_CODES for column in columns) or len(columns) >= 1 << 16:
        return None
    nodes = [np.flatnonzero(~source.is_leaf) for source in sources]
    tested = np.concatenate([source.column[inner] for source, inner in zip(sources, nodes, strict=True)])
    thresholds = np.concatenate([source.threshold[inner] for source, inner in zip(sources, nodes, strict=True)])
    cuts, code_values = [], np.full((len(columns), 256), np.inf)
    for place, column in enumerate(columns):
        own = np.zeros(0) if column.is_categorical else np.unique(thresholds[tested == place])
        own = own[own < np.inf]  # an infinite threshold is after the last cut
        if len(own) > MOST_CUTS:
            return None
        known = np.arange(float(len(column.categories))) if column.is_categorical else _represent(own)
        code_values[place, : len(known)] = known
        cuts.append(own)
    sizes = [len(column.categories) or len(own) + 1 for column, own in zip(columns, cuts, strict=True)]
    return Bins(
        is_number=np.array([not column.is_categorical for column in columns]),
        n_codes=np.array(sizes, dtype=np.int64),
        cuts=np.concatenate(cuts),
        cut_start=np.cumsum([0, *map(len, cuts)], dtype=np.int64),
        code_values=code_values,
    )


def _represent(cuts: np.ndarray) -> np.ndarray:
    """A number of each code: the last one up to its cut, and one above the last cut."""
    above = np.nextafter(cuts[-1:], np.inf) if len(cuts) else np.zeros(1)
    return np.append(cuts, above)


def to_forest(sources: Sequence[SourceTree], columns: tuple[Column, ...], target: Target, bins: Bins) -> Forest:
    """Trees of numbers on one encoding of the columns."""
    packed = [_pack(source, bins) for source in sources]
    leaves = [source.is_leaf[order] for source, (order, _, _) in zip(sources, packed, strict=True)]
    orders = [order[leaf] for (order, _, _), leaf in zip(packed, leaves, strict=True)]

    def of_leaves(name: str) -> np.ndarray:
        return np.concatenate([getattr(source, name)[nodes] for source, nodes in zip(sources, orders, strict=True)])

    node_set, sets = _pack_sets(sources, packed)
    n_leaves = [len(nodes) for nodes in orders]
    return Forest(
        columns=columns,
        target=target,
        criterion=GRADIENT,
        bins=bins,
        nodes=np.concatenate([words for _, words, _ in packed]),
        node_start=np.cumsum([0, *(len(words) for _, words, _ in packed)], dtype=np.int64),
        node_set=node_set,
        sets=sets,
        leaf_start=np.cumsum([0, *n_leaves], dtype=np.int64),
        leaf_weight=of_leaves("weight").astype(np.float64),
        leaf_rows=np.clip(of_leaves("rows"), 1, 0xFFFFFFFF).astype(np.uint32),
        leaf_value=np.ascontiguousarray(of_leaves("value")[:, 0], dtype=np.float64),
        leaf_spread=np.zeros(sum(n_leaves)),
        leaf_end=np.zeros(0, dtype=np.int64),
        entry_class=np.zeros(0, dtype=np.uint16),
        entry_share=np.zeros(0),
        gains=np.stack([_gains(source, len(columns)) for source in sources]),
    )


def _gains(source: SourceTree, n_columns: int) -> np.ndarray:
    inner = ~source.is_leaf
    return np.bincount(source.column[inner], source.gain[inner], minlength=n_columns).astype(np.float64)


def _pack(source: SourceTree, bins: Bins) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes in order, a word for each, and which of them test sets."""
    order, first_child = in_order(source)
    leaf = source.is_leaf[order]
    is_set = np.zeros(len(source.left), dtype=bool)
    is_set[list(source.sets)] = True
    is_set = is_set[order]
    words = np.zeros(len(order), dtype=np.uint64)
    words[leaf] = (np.arange(leaf.sum(), dtype=np.uint64) << CHILD_SHIFT) | IS_LEAF
    column = np.where(leaf, 0, source.column[order]).astype(np.uint64)
    child = (first_child.astype(np.uint64) << CHILD_SHIFT) | (column << COLUMN_SHIFT)
    words[is_set] = child[is_set] | IS_SET
    for k in np.flatnonzero(~leaf & ~is_set):
        place = int(column[k])
        own = bins.cuts[bins.cut_start[place] : bins.cut_start[place + 1]]
        moved = np.uint64(source.missing_left[order[k]])
        cut = np.uint64(np.searchsorted(own, source.threshold[order[k]]))
        words[k] = child[k] | ((cut + moved) << CUT_SHIFT) | (MOVED_UP if moved else np.uint64(0))
    return order, words, is_set


def _pack_sets(
    sources: Sequence[SourceTree], packed: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """The number of the set of each node, and the sets as four words each."""
    numbers: list[np.ndarray] = []
    sets: list[np.ndarray] = []
    for source, (order, _, is_set) in zip(sources, packed, strict=True):
        of_tree = np.zeros(len(order), dtype=np.int32)
        for k in np.flatnonzero(is_set):
            bits = np.zeros(256, dtype=np.uint8)
            bits[source.sets[int(order[k])]] = 1
            bits[MISSING_BIT] = source.missing_left[order[k]]
            of_tree[k] = len(sets)
            sets.append(np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64))
        numbers.append(of_tree)
    return np.concatenate(numbers), np.array(sets, dtype=np.uint64).reshape(len(sets), 4)


def below_in_single_precision(thresholds: np.ndarray) -> np.ndarray:
    """The largest double that, rounded to single precision, is at most each of these numbers in single precision.

    Libraries that round a table to single precision and compare then send the same numbers left as those that compare
    doubles with the result.
    """
    singles = np.asarray(thresholds, dtype=np.float32)
    beyond = float(2.0**128)
    with np.errstate(over="ignore"):
        following = np.nextafter(singles, np.float32(np.inf))
    low, high = (np.clip(part.astype(np.float64), -beyond, beyond) for part in (singles, following))
    middle = 0.5 * low + 0.5 * high
    # A number halfway between two is rounded to the one with an even last bit.
    is_even = singles.view(np.uint32) & 1 == 0
    found = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isposinf(singles), np.inf, found)
