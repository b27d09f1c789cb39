"""The parts of a tree as values: the target, the kinds and conditions of splits, and surrogates."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

import numpy as np

from treewright.table.column import Column, write_number

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
            object.__setattr__(self, field.name, frozen(getattr(self, field.name)))

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


def predictions_of_targets(target: Target, value: np.ndarray) -> tuple[Any, ...]:
    """Return the prediction of each of several targets."""
    return tuple(
        output.classes[int(np.argmax(value[place]))] if output.is_classes else float(value[place][0])
        for output, place in zip(target.outputs, target.places, strict=True)
    )


def _write_weight(weight: float) -> str:
    """Write a weight in Weka's notation: at most two decimals, at least one."""
    text = f"{weight:.2f}"
    return text[:-1] if text.endswith("0") else text


def frozen(array: np.ndarray) -> np.ndarray:
    """Return the array as read-only; a view is copied first, because its owner could still write to it."""
    array = array if array.flags.owndata else array.copy()
    array.flags.writeable = False
    return array
