"""A digest of a table and its target, and warnings about them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from treewright.insight.columns import ColumnSummaries
from treewright.insight.task import Task
from treewright.table import Table

# A class with a smaller fraction of the rows is rare; a larger fraction of missing values is worth a warning.
RARE_CLASS, MUCH_MISSING = 0.05, 0.5

# A column with so much of the gain of a model with such a score may be known only after the target.
LEAK_SHARE, LEAK_SCORE = 0.95, 0.99


def digest_of(table: Table, target: np.ndarray) -> str:
    """The SHA-256 of all column names, kinds, categories and values, and of the target.

    >>> from treewright.table import read_frame
    >>> target = np.array(["x", "y"])
    >>> one, other = digest_of(read_frame({"a": [1, 2]}), target), digest_of(read_frame({"a": [1, 3]}), target)
    >>> len(one), one == other
    (64, False)
    """
    found = hashlib.sha256()
    for column, values in zip(table.columns, table.values.T, strict=True):
        found.update(repr((column.name, str(column.kind), [str(name) for name in column.categories])).encode())
        found.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    found.update(repr([str(value) for value in target.tolist()]).encode())
    return found.hexdigest()


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
