"""The Tree value: a struct of arrays, checked when built, never changed in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from treewright.runtime.sums import product
from treewright.table.column import Column
from treewright.tree.checks import GRADIENT, OWN, UNSEEN, array_names, check_arrays, children_of
from treewright.tree.imputation import Imputation
from treewright.tree.parts import (
    BIT_SET,
    SplitKind,
    Surrogate,
    Surrogates,
    Target,
    Test,
    frozen,
    predictions_of_targets,
    write_leaf,
)
from treewright.tree.scikit_names import NO_THRESHOLD, ScikitNames

# What other modules import from here, with the parts of a tree.
__all__ = [
    "BIT_SET",
    "GRADIENT",
    "OWN",
    "UNSEEN",
    "Arriving",
    "Node",
    "SplitKind",
    "Surrogate",
    "Surrogates",
    "Target",
    "Test",
    "Tree",
    "write_leaf",
]


@dataclass(frozen=True, eq=False, repr=False)
class Tree(ScikitNames):
    """A fitted decision or regression tree.

    Every array has one entry per node. Node 0 is the root. The children of a node are next to each other, after their
    parent. Iterate over the tree to visit the nodes in reading order.

    Attributes
    ----------
    columns : the columns that the tree may test.
    target : the target that it predicts.
    criterion : the criterion of impurity and gain: a name of `engines.criteria.CRITERIA`, "gradient" in boosting, or
        "own" for a function of the user, whose name is `own_criterion`.
    kind : a `SplitKind` per node.
    column : index of the tested column, -1 at a leaf.
    threshold : for threshold splits; for ordered columns the index of the last category on the first side. It is NaN
        at other splits and -2 at a leaf.
    first_child, n_children : the index of the first child of a node, and the number of children.
    missing_branch : the branch of a row with a missing value; -1 if a fraction of it goes down every branch.
    share : the fraction of such a row that goes from the parent to this node, if the parent divides rows.
    set_start, category_sets : for subset splits, the start of the node's set, and the words of all sets. A set is the
        number of its categories and then these in order; or `BIT_SET` and then words with one bit per category.
    weight : total weight of the training rows that reached the node.
    rows : their number.
    impurity : the impurity of the node by the criterion.
    gain : the gain of the node's split by the criterion, 0 at a leaf.
    distribution : weight of each class at the node, or (one entry) the number it predicts; of several targets, the
        entries of all. Under monotonic constraints, predictions and shares are within the bounds of the node.
    unseen : the treatment of a category that did not occur in training. It counts "as_missing", follows the branch with
        the most weight ("majority"), or the row stops and the node predicts it ("stop").
    imputation : the values that replace the missing values of a row before descent, None if it has none.
    tolerance : how far above a threshold a value may be and still go to the first child; Weka's C4.5 allows 1e-6.
    surrogates : the surrogate splits for rows with a missing value, None if it has none.
    misclassification_costs : the cost of predicting one class (a column each) for another (a row each); None if all
        errors have the same cost.
    smoothing : how class shares are kept away from 0 and 1: ("laplace", rows to add per class), ("m_estimate", rows to
        add in total, distributed as at the root), or None.

    >>> from treewright.table.column import Kind
    >>> whole = np.zeros(3, dtype=np.int64)
    >>> stump = Tree(
    ...     columns=(Column("humidity", Kind.NUMERIC),),
    ...     target=Target("play", ("no", "yes")),
    ...     criterion="information_gain",
    ...     kind=np.array([SplitKind.THRESHOLD, SplitKind.LEAF, SplitKind.LEAF]),
    ...     column=np.array([0, -1, -1]),
    ...     threshold=np.array([83.5, np.nan, np.nan]),
    ...     first_child=np.array([1, -1, -1]),
    ...     n_children=np.array([2, 0, 0]),
    ...     missing_branch=whole,
    ...     share=np.zeros(3),
    ...     set_start=whole,
    ...     category_sets=np.zeros(0, dtype=np.uint64),
    ...     weight=np.array([14.0, 7.0, 7.0]),
    ...     rows=np.array([14, 7, 7]),
    ...     impurity=np.array([0.940, 0.592, 0.985]),
    ...     gain=np.array([0.152, 0.0, 0.0]),
    ...     distribution=np.array([[5.0, 9.0], [1.0, 6.0], [4.0, 3.0]]),
    ... )
    >>> stump
    Tree(target='play', n_leaves=2, depth=1)
    >>> [str(node) for node in stump]
    ['humidity', 'yes (7.0/1.0)', 'no (7.0/3.0)']
    """

    columns: tuple[Column, ...]
    target: Target
    criterion: str
    kind: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray
    missing_branch: np.ndarray
    share: np.ndarray
    set_start: np.ndarray
    category_sets: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    impurity: np.ndarray
    gain: np.ndarray
    distribution: np.ndarray
    unseen: str = "as_missing"
    imputation: Imputation | None = None
    tolerance: float = 0.0
    surrogates: Surrogates | None = None
    misclassification_costs: np.ndarray | None = None
    smoothing: tuple[str, float] | None = None
    own_criterion: str | None = None

    def __post_init__(self) -> None:
        check_arrays(self)
        threshold = np.where(self.kind == SplitKind.LEAF, NO_THRESHOLD, self.threshold)
        object.__setattr__(self, "threshold", threshold)
        for name in array_names(self):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays are writeable and unchecked. Building the tree again checks and freezes them.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        return f"Tree(target={self.target.name!r}, n_leaves={self.n_leaves}, depth={self.depth})"

    @property
    def n_nodes(self) -> int:
        return len(self.kind)

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.kind == SplitKind.LEAF))

    @cached_property
    def parent(self) -> np.ndarray:
        """Index of each node's parent, -1 for the root."""
        inner = np.flatnonzero(self.n_children)
        parent = np.full(self.n_nodes, -1, dtype=np.int64)
        parent[children_of(self, inner)] = np.repeat(inner, self.n_children[inner])
        return frozen(parent)

    @cached_property
    def depth_of(self) -> np.ndarray:
        """Number of splits between the root and each node."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for node, above in enumerate(self.parent[1:], start=1):
            depth[node] = depth[above] + 1
        return frozen(depth)

    @property
    def depth(self) -> int:
        return int(self.depth_of.max())

    @cached_property
    def predictions(self) -> np.ndarray:
        """Class probabilities, or the number, that each node predicts; an empty branch predicts like its parent."""
        empty = self.rows == 0
        value = np.array(self.distribution, dtype=np.float64)
        if self.target.is_classes:
            # Rows with a total weight of 0 have as little information about the classes as no rows.
            empty = empty | (value.sum(axis=1) <= 0.0)
            if self.smoothing is not None:
                value[~empty] += self._added_rows()
            total = value.sum(axis=1, keepdims=True)
            np.divide(value, total, out=value, where=total > 0.0)
        elif self.target.has_classes:
            value /= self.weight[:, None]
        for node in np.flatnonzero(empty):
            if node > 0:
                value[node] = value[self.parent[node]]
        return frozen(value)

    @cached_property
    def scale(self) -> np.ndarray:
        """Factor for the weight of each node; not 1 only if rows go down several branches with their full weight."""
        inner = np.flatnonzero(self.n_children)
        below = np.zeros(self.n_nodes)
        np.add.at(below, self.parent[1:], self.weight[1:])
        scale = np.ones(self.n_nodes)
        repeated = inner[below[inner] > self.weight[inner] * (1.0 + 1e-6)]
        if len(repeated):
            fraction = np.ones(self.n_nodes)
            fraction[repeated] = self.weight[repeated] / below[repeated]
            for node, above in enumerate(self.parent[1:], start=1):
                scale[node] = scale[above] * fraction[above]
        return frozen(scale)

    def _added_rows(self) -> np.ndarray:
        """Return the weight that smoothing adds to each class weight of a node."""
        n_classes = len(self.target.classes)
        if self.smoothing is None:
            return np.zeros(n_classes)
        kind, strength = self.smoothing
        at_root = self.distribution[0] / self.distribution[0].sum()
        # A class that was declared but does not occur remains impossible.
        return strength * (at_root > 0.0) if kind == "laplace" else strength * at_root

    @cached_property
    def label(self) -> np.ndarray:
        """The class label that each node predicts: the most likely, or the one with the least expected cost."""
        return frozen(self.labels_for(self.predictions))

    def labels_for(self, shares: np.ndarray) -> np.ndarray:
        """Return the class labels to predict from class shares; of equally good classes, the first."""
        if self.misclassification_costs is not None:
            expected = np.where(self.distribution[0] > 0.0, product(shares, self.misclassification_costs), np.inf)
            return np.asarray(expected.argmin(axis=1))
        return np.asarray(shares.argmax(axis=1))

    def node(self, index: int) -> Node:
        if not 0 <= index < self.n_nodes:
            raise IndexError(f"node {index} does not exist; the tree has nodes 0 to {self.n_nodes - 1}")
        return Node(self, int(index))

    @property
    def root(self) -> Node:
        return self.node(0)

    def __len__(self) -> int:
        return self.n_nodes

    def __iter__(self) -> Iterator[Node]:
        """Iterate over the nodes in reading order: a node, then its branches from first to last."""
        waiting = [0]
        while waiting:
            index = waiting.pop()
            yield Node(self, index)
            first = int(self.first_child[index])
            waiting.extend(reversed(range(first, first + int(self.n_children[index]))))

    def category_set(self, index: int) -> tuple[int, ...]:
        """Return the indices of the categories that go to the first child of a subset split."""
        return self._read_set(int(self.set_start[index]), int(self.column[index]))

    def _read_set(self, start: int, column: int) -> tuple[int, ...]:
        head = int(self.category_sets[start])
        if head != BIT_SET:
            return tuple(self.category_sets[start + 1 : start + 1 + head].tolist())
        n_categories = len(self.columns[column].categories)
        words = self.category_sets[start + 1 : start + 1 + -(-n_categories // 64)]
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
        return tuple(np.flatnonzero(bits[:n_categories]).tolist())

    def category_map(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the categories in the map of a surrogate, and the branch of each, given the start of the map."""
        pairs = self.category_sets[start + 1 : start + 1 + 2 * int(self.category_sets[start])].astype(np.int64)
        return pairs[::2], pairs[1::2]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole tree as nested plain Python values, ready for JSON."""
        named = {} if self.own_criterion is None else {"criterion": self.own_criterion}
        return {**named, **self.root.to_dict()}

    def replace(self, **arrays: Any) -> Tree:
        """Return a new tree with some fields replaced."""
        return replace(self, **arrays)


# By column: the categories that the splits above a node let pass. Columns that they do not test are left out.
Arriving = Mapping[int, frozenset[int]]


@dataclass(frozen=True)
class Node:
    """One node of a tree, described with the user's column names and categories."""

    tree: Tree
    index: int

    @property
    def kind(self) -> SplitKind:
        return SplitKind(int(self.tree.kind[self.index]))

    @property
    def is_leaf(self) -> bool:
        return self.kind is SplitKind.LEAF

    @property
    def column(self) -> Column | None:
        """The column that this node tests, None at a leaf."""
        return None if self.is_leaf else self.tree.columns[self.tree.column[self.index]]

    @property
    def depth(self) -> int:
        return int(self.tree.depth_of[self.index])

    @property
    def weight(self) -> float:
        return float(self.tree.weight[self.index])

    @property
    def rows(self) -> int:
        return int(self.tree.rows[self.index])

    @property
    def impurity(self) -> float:
        return float(self.tree.impurity[self.index])

    @property
    def gain(self) -> float:
        return float(self.tree.gain[self.index])

    @property
    def distribution(self) -> np.ndarray:
        return self.tree.distribution[self.index]

    @property
    def value(self) -> np.ndarray:
        """Class probabilities, or the number that the node predicts."""
        return self.tree.predictions[self.index]

    @property
    def prediction(self) -> Any:
        """The class or number that this node predicts; of classes with equal weight, the first.

        Of several targets it is a tuple.
        """
        if self.tree.target.outputs:
            return predictions_of_targets(self.tree.target, self.value)
        if not self.tree.target.is_classes:
            return float(self.value[0])
        if self.tree.misclassification_costs is not None:
            return self.tree.target.classes[int(self.tree.label[self.index])]
        # Sums of fractions of rows have rounding errors. Classes this close have equal weight, in Weka's C4.5 within
        # its tolerance.
        most = self.value.max() * (1.0 - 1e-9) - self.tree.tolerance / max(self.weight, 1e-3)
        return self.tree.target.classes[int(np.argmax(self.value >= most))]

    @property
    def errors(self) -> float:
        """Weight of the training rows at this node that are not of the class it predicts."""
        if not self.tree.target.is_classes or self.rows == 0:
            return 0.0
        # The sum excludes the predicted class, because weight - max would print rounding errors of badly scaled
        # weights.
        others = np.array(self.distribution)
        predicted = (
            int(np.argmax(others)) if self.tree.misclassification_costs is None else int(self.tree.label[self.index])
        )
        others[predicted] = 0.0
        return float(others.sum())

    @property
    def children(self) -> tuple[Node, ...]:
        first = int(self.tree.first_child[self.index])
        return tuple(Node(self.tree, first + k) for k in range(int(self.tree.n_children[self.index])))

    @property
    def missing_branch(self) -> int:
        """The branch of a row with a missing value, -1 if a fraction of it goes down every branch."""
        return int(self.tree.missing_branch[self.index])

    @property
    def share(self) -> float:
        """The fraction of a row with a missing value that goes from the parent to this node."""
        above = int(self.tree.parent[self.index])
        if above < 0:
            return 1.0
        to = int(self.tree.missing_branch[above])
        return float(self.tree.share[self.index]) if to < 0 else float(self.tree.first_child[above] + to == self.index)

    @property
    def tests(self) -> tuple[Test, ...]:
        """The condition of each branch, in the order of the children."""
        column = self.column
        if column is None:
            return ()
        if self.kind is SplitKind.MULTIWAY:
            codes = range(int(self.tree.n_children[self.index]))
            return tuple(
                Test(column, "=", (code,)) if code < len(column.categories) else Test(column, "is missing", ())
                for code in codes
            )
        if self.kind is SplitKind.THRESHOLD:
            threshold = float(self.tree.threshold[self.index])
            if threshold == np.inf and self.missing_branch == 1:
                return Test(column, "is known", ()), Test(column, "is missing", ())
            return Test(column, "<=", threshold), Test(column, ">", threshold)
        inside = self.tree.category_set(self.index)
        if not inside and self.missing_branch == 0:
            return Test(column, "is missing", ()), Test(column, "is known", ())
        return _set_tests(column, inside)

    def tests_of(self, arriving: Arriving) -> tuple[Test, ...]:
        """The condition of each branch, without the categories that the splits above have excluded."""
        left = arriving.get(int(self.tree.column[self.index]))
        if left is None or self.kind is not SplitKind.SUBSET:
            return self.tests
        inside = tuple(code for code in self.tree.category_set(self.index) if code in left)
        return _set_tests(self.tests[0].column, inside) if inside else self.tests

    def arriving_below(self, arriving: Arriving) -> list[Arriving]:
        """The categories that can arrive at each child, given those that can arrive here."""
        place, column = int(self.tree.column[self.index]), self.column
        if column is None or self.kind is SplitKind.THRESHOLD:
            return [arriving] * int(self.tree.n_children[self.index])
        left = arriving.get(place, frozenset(range(len(column.categories))))
        if self.kind is SplitKind.MULTIWAY:
            sets = [left & {code} for code in range(int(self.tree.n_children[self.index]))]
        else:
            inside = left & frozenset(self.tree.category_set(self.index))
            sets = [inside, left - inside]
        return [{**arriving, place: remaining} for remaining in sets]

    @property
    def surrogates(self) -> tuple[Surrogate, ...]:
        """The surrogates of this split for rows with a missing value, best first."""
        found = self.tree.surrogates
        if found is None or self.is_leaf:
            return ()
        return tuple(self._surrogate(found, k) for k, place in enumerate(found.column[self.index]) if place >= 0)

    def _surrogate(self, found: Surrogates, k: int) -> Surrogate:
        by_branch = self._surrogate_tests(found, k)
        branches = tuple(sorted(by_branch))
        own, majority = self.tests, float(found.majority[self.index])
        agreement = float(found.agreement[self.index, k])
        return Surrogate(
            tests=tuple(by_branch[branch] for branch in branches),
            branches=branches,
            stands_for=tuple(own[branch] for branch in branches),
            agreement=agreement,
            adjusted=(agreement - majority) / (1 - majority),
        )

    def _surrogate_tests(self, found: Surrogates, k: int) -> dict[int, Test]:
        """Return the test of one surrogate for each branch that it can select."""
        column = self.tree.columns[found.column[self.index, k]]
        if column.is_categorical:
            codes, ways = self.tree.category_map(int(found.map_start[self.index, k]))
            return {to: Test(column, "in", tuple(codes[ways == to].tolist())) for to in np.unique(ways).tolist()}
        threshold = float(found.threshold[self.index, k])
        low, high = int(found.low_branch[self.index, k]), int(found.high_branch[self.index, k])
        return {low: Test(column, "<=", threshold), high: Test(column, ">", threshold)}

    def to_dict(self) -> dict[str, Any]:
        """Return this node and all nodes below it as nested plain Python values."""
        described = self._describe()
        nothing: Arriving = {}
        waiting = [(self, described, nothing)]  # an explicit stack: a deep tree would exhaust Python's call stack
        while waiting:
            node, description, arriving = waiting.pop()
            branches = zip(node.tests_of(arriving), node.children, node.arriving_below(arriving), strict=True)
            for branch, (test, child, remaining) in enumerate(branches):
                below = {
                    "test": str(test),
                    "missing_goes_here": child.share if node.missing_branch < 0 else branch == node.missing_branch,
                    **child._describe(),
                }
                description["branches"].append(below)
                waiting.append((child, below, remaining))
        return described

    def _describe(self) -> dict[str, Any]:
        """Describe this node alone; an inner node has an empty list of branches."""
        several, prediction = bool(self.tree.target.outputs), self.prediction
        described: dict[str, Any] = {
            "prediction": [_plain(one) for one in prediction] if several else _plain(prediction),
            "weight": self.weight,
            "rows": self.rows,
            "impurity": self.impurity,
        }
        if self.tree.target.is_classes:
            described["distribution"] = {
                str(name): float(weight)
                for name, weight in zip(self.tree.target.classes, self.distribution, strict=True)
            }
        if self.column is not None:
            described |= {"column": self.column.name, "gain": self.gain, "branches": []}
        if self.surrogates:
            described["surrogates"] = [str(found) for found in self.surrogates]
        return described

    def __str__(self) -> str:
        """Write a leaf as Weka does, `yes (4.0)` or `no (5.0/1.0)`, and an inner node as the column it tests.

        The figures are the weight that reached the node and, if any, the weight of errors.
        """
        if self.column is not None:
            return self.column.name
        return write_leaf(self.tree.target, self.prediction, self.weight, self.errors)


def _set_tests(column: Column, inside: tuple[int, ...]) -> tuple[Test, Test]:
    if len(inside) == 1:
        return Test(column, "=", inside), Test(column, "!=", inside)
    return Test(column, "in", inside), Test(column, "not in", inside)


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to the equivalent Python value."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool | None) else str(value)
