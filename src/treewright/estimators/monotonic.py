"""Monotonic constraints: columns with which a prediction may only rise or fall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from treewright.engines.missing_values import SURROGATE
from treewright.estimators.parameters import Plan, is_whole, parameter_error
from treewright.table.column import Column
from treewright.tree import Target

# Longer lists of constraints are not shown in errors.
MOST_SHOWN = 8
MOST_NAMED = 5


def read_monotonic_cst(monotonic_cst: Any, columns: tuple[Column, ...]) -> np.ndarray:
    """The monotonic constraint of each column: 1 rising, -1 falling, 0 none.

    >>> from treewright.table.column import Kind
    >>> read_monotonic_cst({"rooms": 1}, (Column("rooms", Kind.NUMERIC), Column("age", Kind.NUMERIC)))
    array([1, 0])
    """
    directions = np.zeros(len(columns), dtype=np.int64)
    if monotonic_cst is None:
        return directions
    place = {column.name: index for index, column in enumerate(columns)}
    among = ""
    if not isinstance(monotonic_cst, Mapping):
        if isinstance(monotonic_cst, str) or not hasattr(monotonic_cst, "__len__"):
            raise parameter_error(
                "monotonic_cst",
                monotonic_cst,
                "a dict of columns, by name or position, and 1 or -1, or one of these per column",
            )
        given = [one.item() if isinstance(one, np.generic) else one for one in monotonic_cst]
        among = f" of {given}" if len(given) <= MOST_SHOWN else ""
        if len(given) != len(columns):
            raise ValueError(
                f"monotonic_cst has shape {len(given)} but the input data X has {len(columns)} features; "
                "give one entry for each, or a dict"
            )
        monotonic_cst = {column.name: direction for column, direction in zip(columns, given, strict=True)}
    unexpected = [name for name in monotonic_cst if not is_whole(name, 0) and name not in place]
    if len(unexpected) > 1:
        shown = [*sorted(map(str, unexpected))[:MOST_NAMED], *["..."] * (len(unexpected) > MOST_NAMED)]
        raise ValueError(
            f"monotonic_cst contains {len(unexpected)} unexpected feature names: {shown}. The table has no such columns"
        )
    for named, direction in monotonic_cst.items():
        name = columns[named].name if is_whole(named, 0) and named < len(columns) else named
        if name not in place:
            raise ValueError(f"monotonic_cst names the column {name!r}, which is not in the table")
        if direction not in (1, -1, 0):
            raise ValueError(
                "monotonic_cst must be None or an array-like of -1, 0 or 1, "
                f"but {direction!r} for column {name!r}{among}"
            )
        if direction and columns[place[name]].is_categorical:
            raise ValueError(
                "Categorical features cannot have monotonic constraints, but monotonic_cst names the column "
                f"{name!r}; leave it out"
            )
        directions[place[name]] = direction
    return directions


def check_directions(directions: np.ndarray, target: Target) -> None:
    """Refuse constraints for more than two classes, of which none rises or falls."""
    n_classes = len(target.classes)
    if directions.any() and target.is_classes and n_classes != 2:
        raise ValueError(
            f"Monotonicity constraints are not supported with multiclass classification, and y has {n_classes} classes"
        )


def check_constrained(plan: Plan, smoothing: tuple[str, float] | None) -> None:
    """Refuse what would break the order of the predictions of a single tree."""
    if plan.strategy.spreads or plan.strategy.code == SURROGATE or plan.strategy.name == "model":
        raise ValueError(
            f"monotonic_cst needs missing values that go to one branch, but missing is {plan.missing!r}; use 'learned'"
        )
    if smoothing is not None:
        raise ValueError(
            "monotonic_cst needs class shares as they are, but smoothing changes small leaves more; set smoothing=None"
        )
