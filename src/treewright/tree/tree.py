"""The Tree value: a struct of arrays, checked when built, never changed in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from treewright.engines.criteria import CRITERIA
from treewright.table.column import Column, write_number
from treewright.tree.imputation import Imputation
from treewright.tree.scikit_names import NO_THRESHOLD, ScikitNames

# The first word of a category set that has one bit per category.
BIT_SET = 0xFFFFFFFFFFFFFFFF


class SplitKind(IntEnum):
    """The kinds of splits of a node."""

    LEAF = 0
    THRESHOLD = 1  # value <= threshold goes to the first child, else to the second
    SUBSET = 2  # category in the set goes to the first child, else to the second
    MULTIWAY = 3  # one child per category, in the order of the column's categories


@dataclass(frozen=True)
class Target:
    """The target of a tree: one of `classes`, or a number if there are none; or several of these, its `outputs`.

    >>> several = Target("y0, y1", outputs=(Target("y0", ("no", "yes")), Target("y1", (1, 2, 3))))
    >>> several.width, several.places
    (5, (slice(0, 2, None), slice(2, 5, None)))
    """

    name: str
    classes: tuple[object, ...] = ()
    outputs: tuple[Target, ...] = ()

    @property
    def is_classes(self) -> bool:
        """Whether this is one target of classes."""
        return bool(self.classes)

    @property
    def has_classes(self) -> bool:
        """Whether this is one target of classes, or several."""
        return self.is_classes or any(output.is_classes for output in self.outputs)

    @property
    def width(self) -> int:
        """The number of entries of a distribution."""
        return sum(output.width for output in self.outputs) or len(self.classes) or 1

    @property
    def places(self) -> tuple[slice, ...]:
        """The entries of each of several targets in a distribution."""
        ends = np.cumsum([output.width for output in self.outputs]).tolist()
        return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))


@dataclass(frozen=True)
class Test:
    """The condition of one branch, which prints itself with the user's column names and categories."""

    __test__ = False  # not a pytest class

    column: Column
    relation: str  # one of: =, !=, <=, >, in, not in, is known, is missing
    operand: float | tuple[int, ...]  # a threshold, or category indices

    def __str__(self) -> str:
        return f"{self.column.name} {self.relation} {self.write_operand()}".rstrip()

    def write_operand(self, max_categories: int | None = None) -> str:
        """Write the threshold or categories as text; after `max_categories`, only the number of others."""
        if not isinstance(self.operand, tuple):
            return self.column.write(self.operand)
        shown = self.operand if max_categories is None else self.operand[:max_categories]
        words = [self.column.write(index) for index in shown]
        if self.relation not in ("in", "not in"):
            return words[0] if words else ""
        left_out = len(self.operand) - len(shown)
        if left_out:
            words.append(f"... {left_out} more")
        return f"{{{', '.join(words)}}}"


@dataclass(frozen=True, eq=False)
class Surrogates:
    """Splits of other columns that decide the branch of a row with a missing value: one line per node, best first.

    Attributes
    ----------
    column : the column of the surrogate, -1 after the last one.
    threshold : for numbers and ordered categories.
    low_branch, high_branch : the branches of values up to the threshold, and of those above it.
    map_start : for categories, the start of their map in the tree's `category_sets`, else -1. A map is the number of
        its categories, and then each of them, in order, with its branch. A category that is not in the map never
        occurred together with a value of the column of the split.
    agreement : the share of training rows sent to the same branch, among those with a value of the column of the split.
    majority : for each node, the share of these rows in the largest branch.
    """

    column: np.ndarray
    threshold: np.ndarray
    low_branch: np.ndarray
    high_branch: np.ndarray
    map_start: np.ndarray
    agreement: np.ndarray
    majority: np.ndarray

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _frozen(getattr(self, field.name)))

    def take(self, nodes: np.ndarray, leaf: np.ndarray) -> Surrogates:
        """Return the surrogates of some nodes; leaves have none."""
        kept = {field.name: getattr(self, field.name)[nodes] for field in fields(self)}
        kept["column"] = np.where(leaf[:, None], np.int32(-1), kept["column"])
        return Surrogates(**kept)


@dataclass(frozen=True)
class Surrogate:
    """One surrogate split of a node, with the user's column names and categories."""

    tests: tuple[Test, ...]  # the condition of each branch, in the order of the branches
    branches: tuple[int, ...]  # the branch of each test
    stands_for: tuple[Test, ...]  # the tests of the split itself on these branches
    agreement: float
    adjusted: float  # the share of the majority rule's errors that it corrects

    def __str__(self) -> str:
        text = str(self.tests[0])
        if all(own.relation == "=" for own in self.stands_for):  # a branch per category
            text = ", ".join(f"{test} as {own}" for test, own in zip(self.tests, self.stands_for, strict=True))
        return f"{text} (agrees {self.agreement:.3f}, adjusted {self.adjusted:.3f})"


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
        _check(self)
        threshold = np.where(self.kind == SplitKind.LEAF, NO_THRESHOLD, self.threshold)
        object.__setattr__(self, "threshold", threshold)
        for name in _array_names(self):
            object.__setattr__(self, name, _frozen(getattr(self, name)))

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
        parent[_children_of(self, inner)] = np.repeat(inner, self.n_children[inner])
        return _frozen(parent)

    @cached_property
    def depth_of(self) -> np.ndarray:
        """Number of splits between the root and each node."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for node, above in enumerate(self.parent[1:], start=1):
            depth[node] = depth[above] + 1
        return _frozen(depth)

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
        return _frozen(value)

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
        return _frozen(scale)

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
        return _frozen(self.labels_for(self.predictions))

    def labels_for(self, shares: np.ndarray) -> np.ndarray:
        """Return the class labels to predict from class shares; of equally good classes, the first."""
        if self.misclassification_costs is not None:
            expected = np.where(self.distribution[0] > 0.0, shares @ self.misclassification_costs, np.inf)
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
            return _predictions(self.tree.target, self.value)
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


def write_leaf(target: Target, prediction: Any, weight: float, errors: float) -> str:
    """Write a prediction with the weight of its rows and, if any, the weight of errors, as Weka does.

    >>> write_leaf(Target("play", ("no", "yes")), "yes", 14, 5)
    'yes (14.0/5.0)'
    >>> write_leaf(Target("price"), 0.85, 3, 0)
    '0.85 (3.0)'
    """
    label = _write_prediction(target, prediction)
    counts = _write_weight(weight)
    if errors > 1e-6:
        counts += f"/{_write_weight(errors)}"
    return f"{label} ({counts})"


def _write_prediction(target: Target, prediction: Any) -> str:
    if target.outputs:
        return ", ".join(_write_prediction(*one) for one in zip(target.outputs, prediction, strict=True))
    return str(prediction) if target.is_classes else write_number(prediction)


def _predictions(target: Target, value: np.ndarray) -> tuple[Any, ...]:
    """Return the prediction of each of several targets."""
    return tuple(
        output.classes[int(np.argmax(value[place]))] if output.is_classes else float(value[place][0])
        for output, place in zip(target.outputs, target.places, strict=True)
    )


def _write_weight(weight: float) -> str:
    """Write a weight in Weka's notation: at most two decimals, at least one."""
    text = f"{weight:.2f}"
    return text[:-1] if text.endswith("0") else text


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to the equivalent Python value."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _counts_within(lengths: np.ndarray) -> np.ndarray:
    """Return 0, 1, .. length-1 for each length, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


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


def _array_names(tree: Tree) -> list[str]:
    return [field.name for field in fields(tree) if field.name not in NO_ARRAYS]


def _frozen(array: np.ndarray) -> np.ndarray:
    """Return the array as read-only; a view is copied first, because its owner could still write to it."""
    array = array if array.flags.owndata else array.copy()
    array.flags.writeable = False
    return array


def _children_of(tree: Tree, inner: np.ndarray) -> np.ndarray:
    """Return the indices of all children of the given nodes, parent by parent."""
    lengths = tree.n_children[inner].astype(np.int64)
    return np.repeat(tree.first_child[inner].astype(np.int64), lengths) + _counts_within(lengths)


UNSEEN = ("as_missing", "stop", "majority", "error")

# Criteria of trees in addition to those of the table: a function of the user, and the gradient of a loss.
OWN, GRADIENT = "own", "gradient"


def _check(tree: Tree) -> None:
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
    for name in _array_names(tree):
        if not isinstance(getattr(tree, name), np.ndarray):
            raise TypeError(f"tree array '{name}' must be a numpy array")
    n_nodes = len(tree.kind)
    if n_nodes == 0:
        raise ValueError("a tree needs at least one node")
    for name in _array_names(tree):
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
    if not np.array_equal(np.sort(_children_of(tree, inner)), np.arange(1, len(tree.kind))):
        raise ValueError("every node but the root must have exactly one parent")
    if (tree.first_child[inner] <= inner).any():
        raise ValueError("children must be after their parent")
    missing = tree.missing_branch[inner]
    if (missing < -1).any() or (missing >= tree.n_children[inner]).any():
        raise ValueError("missing values must follow one of the branches, or all of them (-1)")
    spread = inner[missing < 0]
    children = _children_of(tree, spread)
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
    members = np.repeat(starts + 1, sizes) + _counts_within(sizes)
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
    branches_at = np.repeat(starts + 2, sizes) + 2 * _counts_within(sizes)
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
