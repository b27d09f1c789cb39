"""The steps of a worked trace, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np


@dataclass(frozen=True)
class Limits:
    """How much of a large tree is shown; None means all of it.

    Attributes
    ----------
    depth : the nodes down to this depth.
    thresholds : the number of candidate thresholds of a column at a node, the best of them.
    columns : the number of columns of a node whose candidate thresholds are listed, the best of them.
    """

    depth: int | None
    thresholds: int | None
    columns: int | None


@dataclass(frozen=True)
class Branch:
    """One branch of a split.

    Attributes
    ----------
    test : the condition of the branch.
    rows : the number of rows that follow it.
    weight : their weight.
    counts : the weight of each class, empty for numbers.
    mean : the mean of a numeric target, None for classes.
    impurity : the impurity of these rows.
    """

    test: str
    rows: int
    weight: float
    counts: tuple[float, ...]
    mean: float | None
    impurity: float


@dataclass(frozen=True)
class Threshold:
    """One candidate threshold of a column: `left` and `right` are class weights, or weight and mean."""

    value: float
    left: tuple[float, ...]
    right: tuple[float, ...]
    impurity_after: float
    gain: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Thresholds(Sequence[Threshold]):
    """The candidate thresholds of a column in ascending order; `total` is their number if only some are kept."""

    values: np.ndarray
    left: np.ndarray
    right: np.ndarray
    after: np.ndarray
    gains: np.ndarray
    allowed: np.ndarray
    total: int
    lowest: float
    highest: float

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Threshold: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Threshold]: ...
    def __getitem__(self, index: int | slice) -> Threshold | Sequence[Threshold]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        return Threshold(
            float(self.values[index]),
            tuple(self.left[index].tolist()),
            tuple(self.right[index].tolist()),
            float(self.after[index]),
            float(self.gains[index]),
            "" if self.allowed[index] else "a side has too few rows",
        )

    def __iter__(self) -> Iterator[Threshold]:
        return (self[place] for place in range(len(self)))


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best split of one column at a node.

    Attributes
    ----------
    column : the name of the column.
    branches : the branches of its best split, empty if it has none.
    impurity_before : the impurity of the rows that are rated: those with a value, if only they count.
    impurity_after : the weighted mean of the impurity of the branches.
    gain : the decrease of the impurity, per row of the node.
    split_info : the entropy of the branch sizes, None unless the gain ratio decides.
    gain_ratio : the gain per bit of split information, None likewise.
    penalty : what C4.5 subtracts from the gain of a threshold: log2(candidates) / n.
    chance : what many categories gain by chance, subtracted before columns are compared.
    score : the figure by which columns are compared.
    known : the share of the rows that have a value.
    n_candidates : the number of splits of the column that were rated.
    thresholds : its candidate thresholds, None for categories.
    wins : whether the node is split by this column.
    reason : why the column won, or lost.
    """

    column: str
    branches: tuple[Branch, ...] = ()
    impurity_before: float = 0.0
    impurity_after: float = 0.0
    gain: float = 0.0
    split_info: float | None = None
    gain_ratio: float | None = None
    penalty: float = 0.0
    chance: float = 0.0
    score: float = -np.inf
    known: float = 1.0
    n_candidates: int = 0
    thresholds: Thresholds | None = None
    wins: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Share:
    """The rows without a value at a split: where they go, in words, and the fraction or rows of each branch."""

    rows: tuple[int, ...]
    weight: float
    words: str
    fractions: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class NodeStep:
    """One node: what was compared there, and what came of it.

    Attributes
    ----------
    node : the index of the node in the tree that grew.
    depth : the number of splits above it.
    path : the conditions from the root to the node.
    rows : the rows of the table that reach it.
    weights : the weight of each of them here.
    weight : their sum.
    counts : the weight of each class, empty for numbers.
    mean : the mean of a numeric target, None for classes.
    impurity : the impurity of the node.
    candidates : one entry per column, in the order of the table; empty if nothing was compared.
    winner : the name of the column of its split, None for a leaf.
    tests : the conditions of its branches.
    gain : the gain of its split.
    margin : by how much its score is above that of the second-best column; None if there is no other.
    rule : the rules of the learner that decided, such as the average gain of C4.5.
    leaf_reason : why the node is a leaf, empty if it is split.
    prediction : what the node predicts.
    missing : how rows without a value are treated, None if there are none.
    """

    node: int
    depth: int
    path: tuple[str, ...]
    rows: np.ndarray
    weights: np.ndarray
    weight: float
    counts: tuple[float, ...]
    mean: float | None
    impurity: float
    candidates: tuple[Candidate, ...] = ()
    winner: str | None = None
    tests: tuple[str, ...] = ()
    gain: float = 0.0
    margin: float | None = None
    rule: str = ""
    leaf_reason: str = ""
    prediction: Any = None
    missing: Share | None = None


@dataclass(frozen=True, eq=False)
class LevelStep:
    """One level of an oblivious tree: all of its nodes get the split with the largest total gain.

    `candidates` has one entry per column. Their gains are totals over all nodes, per row of the table.
    """

    depth: int
    nodes: tuple[NodeStep, ...]
    impurity: float
    candidates: tuple[Candidate, ...] = ()
    winner: str | None = None
    tests: tuple[str, ...] = ()
    gain: float = 0.0
    margin: float | None = None
    leaf_reason: str = ""


@dataclass(frozen=True)
class PruningStep:
    """One decision of pruning.

    Attributes
    ----------
    method : the name of the pruning method.
    node : the index of the node in the tree that grew.
    path : the conditions from the root to the node.
    as_subtree : the estimate with the subtree.
    as_leaf : the estimate if the node becomes a leaf.
    as_branch : the estimate if the largest branch replaces the node, None if this is not tried.
    outcome : "kept", "leaf" or "raised".
    words : the decision in a sentence.
    figures : the figures of the estimates, by name.
    """

    method: str
    node: int
    path: tuple[str, ...]
    as_subtree: float
    as_leaf: float
    as_branch: float | None
    outcome: str
    words: str
    figures: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class AdaBoostStep:
    """One round of AdaBoost: the row weights before and after, and the error and weight of the member."""

    number: int
    before: np.ndarray
    wrong: np.ndarray  # for each row whether it is misclassified, or its loss for numbers
    error: float
    member_weight: float
    total: float
    after: np.ndarray
    tree: str


@dataclass(frozen=True)
class BoostedLeaf:
    """One leaf of a boosted tree: its rows, sums of gradients and hessians, and its value."""

    test: str
    rows: int
    gradient: float
    hessian: float
    value: float


@dataclass(frozen=True, eq=False)
class BoostingStep:
    """One tree of gradient boosting: scores before, residuals (negative gradients), leaves, and scores after."""

    number: int
    output: str
    before: np.ndarray
    residuals: np.ndarray
    leaves: tuple[BoostedLeaf, ...]
    after: np.ndarray
    loss: float


@dataclass(frozen=True, eq=False)
class BootstrapStep:
    """One member of a forest or of bagging: how often each row was drawn, the rows left out, and the error there."""

    number: int
    drawn: np.ndarray
    out_of_bag: np.ndarray
    correct: float | None
    error: float | None
    tree: str


@dataclass(frozen=True, eq=False)
class VoteStep:
    """The out-of-bag votes of all members: for each row the members that vote, their votes, and the result.

    `votes` has one line per row: the share of each class, or the mean for numbers. It is NaN if no member votes.
    """

    voters: np.ndarray
    votes: np.ndarray
    predictions: np.ndarray
    truth: np.ndarray
    score: float


@dataclass(frozen=True)
class Comparison:
    """One comparison on the way of a row."""

    node: int
    column: str
    value: str
    test: str
    words: str
    fraction: float
    depth: int


@dataclass(frozen=True)
class PathStep:
    """The way of one row down the tree: every comparison, and the leaves that it reaches with their fractions."""

    row: str
    comparisons: tuple[Comparison, ...]
    leaves: tuple[tuple[int, float, str], ...]
    prediction: Any
    shares: tuple[float, ...]


Step = NodeStep | LevelStep | PruningStep | AdaBoostStep | BoostingStep | BootstrapStep | VoteStep | PathStep
