"""The parts of an explanation as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PathNode:
    """One branch that the row follows, and the training rows at the node that it leads to.

    Attributes
    ----------
    node : the index of the node that is reached; where the row stops, of the node where it stops.
    depth : the number of splits above that node.
    column : the column that is tested.
    value : the value of the row there, as text.
    test : the condition of the branch; empty where the row stops.
    reason : what decides if it is not the value: a surrogate, fractions, an imputed or unseen value; else empty.
    fraction : the fraction of the row that is sent here.
    weight : the weight of the training rows at the node; without weights, their number.
    share : their fraction of all training rows.
    """

    node: int
    depth: int
    column: str
    value: str
    test: str
    reason: str
    fraction: float
    weight: float
    share: float


@dataclass(frozen=True)
class ReachedLeaf:
    """One node where the row ends: its fraction of the row, its training rows, and what it predicts.

    `distribution` has the weight of each class among these rows; it is empty for numbers.
    """

    node: int
    fraction: float
    weight: float
    share: float
    prediction: Any
    distribution: tuple[tuple[Any, float], ...]


@dataclass(frozen=True)
class Member:
    """One member of an ensemble: its name, what it predicts, and the weight of its vote."""

    name: str
    prediction: Any
    weight: float


@dataclass(frozen=True)
class TreeSums:
    """The trees of gradient boosting for one score: how many raise or lower it, and by how much in total."""

    output: Any
    initial: float
    score: float
    n_raising: int
    raised: float
    n_lowering: int
    lowered: float


@dataclass(frozen=True)
class Contribution:
    """How much one column contributes to the prediction (its Shapley value), with the value of the row."""

    column: str
    value: str
    contribution: float


@dataclass(frozen=True)
class Contributions:
    """The contributions of all columns to one output; with the base value they add up to it."""

    output: Any
    base: float
    columns: tuple[Contribution, ...]

    @property
    def total(self) -> float:
        """The output that is explained: the base value plus all contributions."""
        return self.base + sum(one.contribution for one in self.columns)
