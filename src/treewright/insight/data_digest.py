"""A digest of a table and its target, and warnings about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.estimators.data_digest import digest_of_training
from treewright.insight.columns import ColumnSummaries
from treewright.insight.task import Task
from treewright.table import Table, read_classes

# A class with a smaller fraction of the rows is rare; a larger fraction of missing values is worth a warning.
RARE_CLASS, MUCH_MISSING = 0.05, 0.5

# A column with so much of the gain of a model with such a score may be known only after the target.
LEAK_SHARE, LEAK_SCORE = 0.95, 0.99


def digest_of(table: Table, target: np.ndarray, task: Task) -> str:
    """The digest of a table and its target: `data_digest_` of models that were fitted to them without weights.

    >>> from treewright import DecisionTreeClassifier
    >>> from treewright.table import read_frame
    >>> rows, target = {"a": [1, 2]}, np.array(["x", "y"])
    >>> found = digest_of(read_frame(rows), target, Task.CLASSES)
    >>> len(found), found == DecisionTreeClassifier().fit(rows, target).data_digest_
    (64, True)
    """
    weights = np.ones(len(target))
    if task is not Task.CLASSES:
        return digest_of_training(table.columns, table.values, np.asarray(target, np.float64), weights)
    labels, classes = read_classes(target)
    return digest_of_training(table.columns, table.values, labels, weights, classes=classes.tolist())


def warnings_of(columns: ColumnSummaries, target: np.ndarray, task: Task, n_rows: int) -> list[str]:
    """What is odd about the columns and the target, a sentence each."""
    found = [f"Column {one.name!r} {one.oddity}." for one in columns if one.oddity]
    found += [
        f"Column {one.name!r} has no value in {100.0 * one.missing / n_rows:.0f}% of the rows."
        for one in columns
        if not one.oddity and one.missing > MUCH_MISSING * n_rows
    ]
    if task is Task.CLASSES:
        names, sizes = np.unique(target.astype(str), return_counts=True)
        rare = [(str(name), int(size)) for name, size in zip(names, sizes, strict=True) if size < RARE_CLASS * n_rows]
        found += [f"Class {name!r} is rare: {size} of {n_rows} rows." for name, size in rare[:5]]
        found += [f"{len(rare) - 5} more classes are rare."] if len(rare) > 5 else []
    return found


def leak_warning(importances: list[tuple[str, float]], score: Any) -> str:
    """A sentence if one column alone predicts the target nearly without error; else empty."""
    if not importances or score is None or score < LEAK_SCORE:
        return ""
    name, share = max(importances, key=lambda pair: pair[1])
    if share < LEAK_SHARE or len(importances) < 2:
        return ""
    return f"Column {name!r} predicts the target nearly alone; make sure that it is known before the target is."
