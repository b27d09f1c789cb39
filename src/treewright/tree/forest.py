"""The Forest value: many trees with two branches per node, on one encoding of the table, in few bytes per node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from treewright.encoding.bins import Bins
from treewright.engines.elementary import log2_of
from treewright.engines.packed.trees import GrownTrees, PackedTrees
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
from treewright.table.column import Column
from treewright.tree.tree import BIT_SET, SplitKind, Target, Tree

# Arrays of trees that are concatenated.
_JOINED = (
    "nodes",
    "sets",
    "leaf_weight",
    "leaf_rows",
    "leaf_value",
    "leaf_spread",
    "entry_class",
    "entry_share",
    "gains",
)

# Least number of rows for which several threads are used.
MIN_ROWS_FOR_THREADS = 2048


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """The trees of a random forest or of extra trees.

    A row is encoded once, with one byte per column, and then sent down all trees. `forest[i]` is one of them as a
    `Tree`, which sends a row to the same leaf.

    Attributes
    ----------
    columns, target : the columns that the trees test, and the target that they predict.
    criterion : the criterion of growth; "gradient" in boosting.
    bins : the encoding of the columns.
    nodes : one word per node, in the format of `engines.packed.walk`, tree after tree.
    node_start : the start of the nodes of each tree, and the end.
    node_set, sets : for each node that tests a set of categories the number of its set; the sets, four words each.
    leaf_start : the start of the leaves of each tree, and the end.
    leaf_weight, leaf_rows : the training rows in each leaf.
    leaf_value : the share of the second of two classes, or the mean of the targets.
    leaf_spread : for numbers, the sum of squared deviations from it.
    leaf_end, entry_class, entry_share : for more classes, or with entropy, the shares of the classes in a leaf.
    gains : the gains of the splits of each column in each tree.
    """

    columns: tuple[Column, ...]
    target: Target
    criterion: str
    bins: Bins
    nodes: np.ndarray
    node_start: np.ndarray
    node_set: np.ndarray
    sets: np.ndarray
    leaf_start: np.ndarray
    leaf_weight: np.ndarray
    leaf_rows: np.ndarray
    leaf_value: np.ndarray
    leaf_spread: np.ndarray
    leaf_end: np.ndarray
    entry_class: np.ndarray
    entry_share: np.ndarray
    gains: np.ndarray

    def __post_init__(self) -> None:
        _check(self)
        for field in fields(self):
            array = getattr(self, field.name)
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays are writeable and unchecked. Building the forest again checks and freezes them.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        return f"Forest(target={self.target.name!r}, n_trees={len(self)}, n_leaves={int(self.leaf_start[-1])})"

    def __len__(self) -> int:
        return len(self.node_start) - 1

    def __getitem__(self, index: int) -> Tree:
        if not -len(self) <= index < len(self):
            raise IndexError(f"tree {index} does not exist; the forest has {len(self)} trees")
        return tree_of(self, index % len(self))

    def __iter__(self) -> Iterator[Tree]:
        return (self[index] for index in range(len(self)))

    @classmethod
    def of(
        cls, columns: tuple[Column, ...], target: Target, criterion: str, bins: Bins, parts: list[GrownTrees]
    ) -> Forest:
        """Create a forest from grown trees."""
        before = np.cumsum([np.zeros(4, np.int64), *(part.ends[-1] for part in parts)], axis=0)
        ends = np.concatenate([part.ends + shift for part, shift in zip(parts, before, strict=False)])
        _, _, sets_before, entries_before = before.T
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _JOINED}
        # Only nodes that test a set have a set number. The others get 0, so that equal forests are equal in every byte.
        node_sets = [
            np.where((part.nodes[: len(part.node_set)] & IS_SET) != 0, part.node_set + np.int32(shift), np.int32(0))
            for part, shift in zip(parts, sets_before, strict=False)
        ]
        leaf_ends = [part.leaf_end + shift for part, shift in zip(parts, entries_before, strict=False)]
        return cls(
            columns=columns,
            target=target,
            criterion=criterion,
            bins=bins,
            node_start=np.append(0, ends[:, 0]),
            leaf_start=np.append(0, ends[:, 1]),
            node_set=np.concatenate(node_sets),
            leaf_end=np.concatenate(leaf_ends),
            **joined,
        )

    # What prediction derives from the fields, computed when it is first needed. A pickle or copy does not contain it.

    @cached_property
    def packed(self) -> PackedTrees:
        """Return the arrays that descent needs."""
        from treewright.engines.packed.predict import has_small_trees, tile_nodes_of

        return PackedTrees(
            nodes=self.nodes,
            node_start=self.node_start,
            node_set=self.node_set,
            sets=self.sets,
            leaf_start=self.leaf_start,
            leaf_value=self.leaf_value,
            leaf_end=self.leaf_end,
            entry_class=self.entry_class,
            entry_share=self.entry_share,
            n_outputs=len(self.target.classes) if len(self.leaf_end) else 1,
            tile_nodes=tile_nodes_of(_compiled(), self.nodes, self.node_start),
            has_small_trees=has_small_trees(self.leaf_start, self.leaf_end),
        )

    @cached_property
    def padded_cuts(self) -> np.ndarray:
        """Return the cuts of all columns as encoding needs them."""
        from treewright.encoding.bins import padded_cuts

        return padded_cuts(self.bins)

    @cached_property
    def has_plain_columns(self) -> bool:
        """Are all columns numbers without a unit, so that a matrix of numbers needs no conversion?"""
        return all(column.is_plain for column in self.columns)

    def can_take(self, other: Forest) -> bool:
        """Does another forest encode the same columns in the same way, so that its trees can be added?"""
        alike = self.columns == other.columns and self.criterion == other.criterion
        return alike and np.array_equal(self.bins.cuts, other.bins.cuts)

    def with_more(self, other: Forest) -> Forest:
        """Return this forest with the trees of another one after its own; both must have the same encoding."""
        joined: dict[str, Any] = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _JOINED}
        return replace(
            self,
            node_start=np.concatenate([self.node_start, other.node_start[1:] + self.node_start[-1]]),
            leaf_start=np.concatenate([self.leaf_start, other.leaf_start[1:] + self.leaf_start[-1]]),
            node_set=np.concatenate([self.node_set, other._numbers_of_sets(len(self.sets))]),
            leaf_end=np.concatenate([self.leaf_end, other.leaf_end + len(self.entry_class)]),
            **joined,
        )

    def _numbers_of_sets(self, shift: int) -> np.ndarray:
        """The numbers of the nodes' sets after `shift` other sets; 0 for nodes that test none."""
        is_set = (self.nodes[: len(self.node_set)] & IS_SET) != 0
        return np.where(is_set, self.node_set + np.int32(shift), np.int32(0)).astype(np.int32)

    def parts(self) -> list[GrownTrees]:
        """Return the trees one by one, as an engine returned them: `Forest.of` of them is this forest."""
        entries = np.append(0, self.leaf_end)
        found = []
        for tree in range(len(self)):
            nodes = slice(self.node_start[tree], self.node_start[tree + 1])
            leaves = slice(self.leaf_start[tree], self.leaf_start[tree + 1])
            node_set = self.node_set[nodes]
            used = node_set[(self.nodes[nodes][: len(node_set)] & IS_SET) != 0]
            sets = slice(int(used.min()), int(used.max()) + 1) if len(used) else slice(0, 0)
            entry = slice(entries[leaves.start], entries[leaves.stop]) if len(self.leaf_end) else slice(0, 0)
            sizes = [part.stop - part.start for part in (nodes, leaves, sets, entry)]
            found.append(
                GrownTrees(
                    ends=np.array([sizes], np.int64),
                    nodes=self.nodes[nodes],
                    node_set=np.maximum(node_set - np.int32(sets.start), np.int32(0)),
                    sets=self.sets[sets],
                    leaf_weight=self.leaf_weight[leaves],
                    leaf_rows=self.leaf_rows[leaves],
                    leaf_value=self.leaf_value[leaves],
                    leaf_spread=self.leaf_spread[leaves],
                    leaf_end=self.leaf_end[leaves] - entry.start,
                    entry_class=self.entry_class[entry],
                    entry_share=self.entry_share[entry],
                    gains=self.gains[tree : tree + 1],
                )
            )
        return found

    def code(self, values: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Encode rows for the trees, with one byte per column."""
        from treewright.encoding.bins import code_by_row

        self._check_width(values)
        return code_by_row(_compiled(), self.bins, self.padded_cuts, values, _threads(len(values), n_jobs))

    def _check_width(self, rows: Any) -> None:
        """Refuse rows of another number of columns: compiled code would read beyond them."""
        if rows.shape[1] != len(self.columns):
            raise ValueError(f"the rows have {rows.shape[1]} columns, but the forest has {len(self.columns)}")

    def leaves(self, codes: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the leaf that each encoded row reaches in each tree, numbered within the tree."""
        from treewright.engines.packed.predict import leaves_of_rows

        self._check_width(codes)
        return leaves_of_rows(_compiled(), codes, self.packed, _threads(len(codes), n_jobs))

    def nodes_of(self, leaves: np.ndarray) -> np.ndarray:
        """Return the nodes of leaves, each numbered within its tree: a column per tree."""
        return self.leaf_nodes[self.leaf_start[:-1] + leaves]

    def values_of(self, index: int, leaves: np.ndarray) -> np.ndarray:
        """Return the number that a tree predicts at each of its leaves."""
        return self.leaf_value[self.leaf_start[index] + leaves]

    @cached_property
    def leaf_nodes(self) -> np.ndarray:
        """Return the node of each leaf, numbered within its tree."""
        nodes = np.flatnonzero(self.nodes & IS_LEAF)
        tree = np.searchsorted(self.node_start, nodes, side="right") - 1
        leaves = self.leaf_start[tree] + (self.nodes[nodes] >> CHILD_SHIFT).astype(np.int64)
        found = np.empty(self.leaf_start[-1], dtype=np.int64)
        found[leaves] = nodes - self.node_start[tree]
        return found

    def leaf_outputs(self) -> np.ndarray:
        """Return what each leaf predicts: the share of the second of two classes, a number, or the class shares."""
        if not len(self.leaf_end):
            return self.leaf_value[:, None]
        shares = np.zeros((len(self.leaf_end), len(self.target.classes)))
        leaves = np.repeat(np.arange(len(self.leaf_end)), np.diff(self.leaf_end, prepend=0))
        shares[leaves, self.entry_class] = self.entry_share
        return shares

    def predictions(
        self, codes: np.ndarray, *, majority: bool = False, bags: np.ndarray | None = None, n_jobs: int | None = None
    ) -> np.ndarray:
        """Average the predictions of the trees for each encoded row: class shares (or shares of votes), or one number.

        With `bags`, only the trees that were grown without the row predict it; NaN if there is none.
        """
        sums, n_predictions = self._add_up(codes, majority, bags, n_jobs)
        if bags is None:
            means = sums / len(self)
        else:
            with np.errstate(invalid="ignore", divide="ignore"):
                means = sums / n_predictions[:, None]
        if not self.target.is_classes or len(self.leaf_end):
            return means
        both = np.empty((len(means), 2))
        np.subtract(1.0, means[:, 0], out=both[:, 0])
        both[:, 1] = means[:, 0]
        return both

    def predictions_of_trees(self, codes: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the predictions of every tree for each encoded row: trees, rows, and class shares or one number."""
        leaves = self.leaf_start[:-1, None] + self.leaves(codes, n_jobs).T.astype(np.int64)
        if not len(self.leaf_end):
            values = self.leaf_value[leaves]
            return np.stack([1.0 - values, values], axis=2) if self.target.is_classes else values[:, :, None]
        from scipy.sparse import csr_matrix

        shape = (len(self.leaf_end), len(self.target.classes))
        shares = csr_matrix((self.entry_share, self.entry_class, np.append(0, self.leaf_end)), shape=shape)
        return np.stack([shares[line].toarray() for line in leaves])

    def sums(self, codes: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Sum up the predictions of the trees for each encoded row, in their order."""
        return self._add_up(codes, False, None, n_jobs)[0]

    def _add_up(
        self, codes: np.ndarray, majority: bool, bags: np.ndarray | None, n_jobs: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        from treewright.engines.packed.predict import sum_predictions

        self._check_width(codes)
        return sum_predictions(_compiled(), codes, self.packed, majority, _threads(len(codes), n_jobs), bags)


def _compiled() -> Any:
    from treewright.runtime.forms import choose_compiled_form

    return choose_compiled_form()


def _threads(n_rows: int, n_jobs: int | None) -> int:
    from treewright.runtime.threads import usable_threads

    return usable_threads(n_jobs) if n_rows >= MIN_ROWS_FOR_THREADS else 1


def tree_of(forest: Forest, index: int) -> Tree:
    """Return one tree of a forest, with all attributes of a `Tree`."""
    first, last = forest.node_start[index], forest.node_start[index + 1]
    words = forest.nodes[first:last]
    leaf = (words & IS_LEAF) != 0
    is_set = (words & IS_SET) != 0
    child = (words >> CHILD_SHIFT).astype(np.int64)
    column = ((words >> COLUMN_SHIFT) & COLUMN_MASK).astype(np.int32)
    moved = (words & MOVED_UP).astype(np.int64)
    cut = ((words >> CUT_SHIFT) & BYTE_MASK).astype(np.int64) - moved
    splits = ~leaf
    kind = np.where(leaf, SplitKind.LEAF, np.where(is_set, SplitKind.SUBSET, SplitKind.THRESHOLD)).astype(np.uint8)
    set_start, category_sets, missing_in_set = _sets_of(forest, np.flatnonzero(is_set), first, column)
    missing = np.where(splits & ~is_set, 1 - moved, 0)
    missing[is_set] = np.where(missing_in_set, 0, 1)
    starts = np.full(len(words), -1, dtype=np.int64)
    starts[is_set] = set_start
    leaves = forest.leaf_start[index] + child
    described = _describe(forest, leaf, child, leaves)
    return Tree(
        columns=forest.columns,
        target=forest.target,
        criterion=forest.criterion,
        kind=kind,
        column=np.where(leaf, np.int32(-1), column),
        threshold=_thresholds(forest, splits & ~is_set, column, cut),
        first_child=np.where(leaf, 0, child).astype(np.int32),
        n_children=np.where(leaf, 0, 2).astype(np.int32),
        missing_branch=missing.astype(np.int32),
        share=np.zeros(len(words)),
        set_start=starts,
        category_sets=category_sets,
        **described,
    )


def _thresholds(forest: Forest, is_threshold: np.ndarray, column: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """Return the threshold of each threshold split; infinity separates known from missing values."""
    thresholds = np.full(len(is_threshold), np.nan)
    nodes = np.flatnonzero(is_threshold)
    starts, ends = forest.bins.cut_start[column[nodes]], forest.bins.cut_start[column[nodes] + 1]
    place = starts + cut[nodes]
    cuts = np.append(forest.bins.cuts, np.inf)
    thresholds[nodes] = cuts[np.where(place < ends, place, len(cuts) - 1)]
    return thresholds


def _sets_of(
    forest: Forest, nodes: np.ndarray, first: int, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the start of each node's set, the words of all sets in the format of `Tree`, and which contain missing."""
    starts, words, missing = [], [], []
    at = 0
    for node in nodes:
        n_categories = len(forest.columns[column[node]].categories)
        bits = np.unpackbits(forest.sets[forest.node_set[first + node]].astype("<u8").view(np.uint8), bitorder="little")
        missing.append(bool(bits[255]))
        kept = np.packbits(np.where(np.arange(256) < n_categories, bits, 0), bitorder="little").view("<u8")
        one_set = np.concatenate([[BIT_SET], kept[: -(-n_categories // 64)]]).astype(np.uint64)
        starts.append(at)
        words.append(one_set)
        at += len(one_set)
    joined = np.concatenate(words) if words else np.zeros(0, np.uint64)
    return np.array(starts, dtype=np.int64), joined, np.array(missing, dtype=bool)


def _describe(forest: Forest, leaf: np.ndarray, child: np.ndarray, leaves: np.ndarray) -> dict[str, Any]:
    """Compute weight, rows, distribution, impurity and gain of all nodes from the leaves."""
    n_nodes = len(leaf)
    weight, rows = np.zeros(n_nodes), np.zeros(n_nodes, dtype=np.int64)
    weight[leaf], rows[leaf] = forest.leaf_weight[leaves[leaf]], forest.leaf_rows[leaves[leaf]]
    inner = np.flatnonzero(~leaf)
    n_classes = len(forest.target.classes)
    sums = np.zeros((n_nodes, max(n_classes, 1)))
    if len(forest.leaf_end):
        begins = np.append(0, forest.leaf_end)
        for node in np.flatnonzero(leaf):
            entries = slice(begins[leaves[node]], begins[leaves[node] + 1])
            sums[node, forest.entry_class[entries]] = forest.entry_share[entries] * weight[node]
    else:
        value = forest.leaf_value[leaves[leaf]]
        sums[leaf, -1] = value * weight[leaf]
        if n_classes:
            sums[leaf, 0] = (1.0 - value) * weight[leaf]
    for node in inner[::-1]:
        pair = slice(child[node], child[node] + 2)
        weight[node], rows[node] = weight[pair].sum(), rows[pair].sum()
        sums[node] = sums[pair].sum(axis=0)
    share = weight / weight[0]
    gain = np.zeros(n_nodes)
    with np.errstate(over="ignore", invalid="ignore"):  # the variance of the largest numbers is infinite
        impurity = (
            _impurity(forest, sums / weight[:, None])
            if n_classes
            else _variance(forest, leaf, child, leaves, sums, weight)
        )
        below = impurity[child[inner]] * share[child[inner]] + impurity[child[inner] + 1] * share[child[inner] + 1]
        gain[inner] = np.maximum(impurity[inner] - below / share[inner], 0.0)
    distribution = sums if n_classes else sums / weight[:, None]
    return {"weight": weight, "rows": rows, "distribution": distribution, "impurity": impurity, "gain": gain}


def _impurity(forest: Forest, shares: np.ndarray) -> np.ndarray:
    if forest.criterion == "gini":
        return np.asarray(1.0 - (shares**2).sum(axis=1))
    logarithms = log2_of(np.where(shares > 0.0, shares, 1.0))
    return np.asarray(-(shares * logarithms).sum(axis=1))


def _variance(
    forest: Forest, leaf: np.ndarray, child: np.ndarray, leaves: np.ndarray, sums: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Compute the variance at each node, as the sum of the variances within and between its children."""
    mean = sums[:, 0] / weight
    squares = np.zeros(len(leaf))
    squares[leaf] = forest.leaf_spread[leaves[leaf]]
    for node in np.flatnonzero(~leaf)[::-1]:
        pair = slice(child[node], child[node] + 2)
        squares[node] = squares[pair].sum() + (weight[pair] * (mean[pair] - mean[node]) ** 2).sum()
    return np.asarray(squares / weight)


def _rises(places: np.ndarray) -> bool:
    """Is each place after the one before? Compared, not subtracted: differences of the largest numbers overflow."""
    return bool((places[1:] > places[:-1]).all())


def _check(forest: Forest) -> None:
    """Raise an error for arrays that could send a row out of bounds."""
    from treewright.engines.packed.walk import has_invalid_node

    all_nodes, all_leaves = len(forest.nodes), len(forest.leaf_weight)
    n_trees, n_classes = len(forest.node_start) - 1, len(forest.target.classes)
    by_class = len(forest.leaf_end) > 0
    fits = (
        n_trees > 0
        and len(forest.leaf_start) == n_trees + 1
        and forest.node_start[0] == forest.leaf_start[0] == 0
        and forest.node_start[-1] == all_nodes
        and forest.leaf_start[-1] == all_leaves == len(forest.leaf_rows)
        and len(forest.leaf_end if by_class else forest.leaf_value) == all_leaves
        and len(forest.node_set) in (0, all_nodes)
        and forest.sets.shape[1:] == (4,)
        and forest.gains.shape == (n_trees, len(forest.columns))
        and len(forest.leaf_value) in (0, all_leaves)
        and len(forest.leaf_spread) in (0, all_leaves)
        and _rises(forest.node_start)
        and _rises(forest.leaf_start)
    )
    if fits and by_class:
        fits = (
            bool(forest.leaf_end[0] > 0)
            and _rises(forest.leaf_end)
            and forest.leaf_end[-1] == len(forest.entry_class) == len(forest.entry_share)
            and int(forest.entry_class.max()) < n_classes
        )
    if not fits or _compiled()(has_invalid_node)(
        forest.nodes, forest.node_start, forest.leaf_start, forest.node_set, len(forest.sets), len(forest.columns)
    ):
        raise ValueError(
            "a node of the forest refers to data outside of its tree; the file or forest is damaged, fit it again"
        )
