"""Classification or regression: the task that the values of a target suggest."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from treewright.insight.columns import find_missing
from treewright.table import Frame, take_rows
from treewright.table.target import count_rows

# A whole number with few distinct values and many rows for each is more likely a code than a quantity.
MOST_CODES = 20
ROWS_PER_CODE = 5


class Task(StrEnum):
    """What a model predicts."""

    CLASSES = "classes"
    NUMBERS = "numbers"


class InferredTask(NamedTuple):
    """The task that a target suggests, and the reason."""

    task: Task
    reason: str


def infer_task(y: Any) -> InferredTask:
    """Whether the values of a target suggest classes or numbers, and why.

    Text, booleans, dates and declared categories are classes. Whole numbers are classes if there are only two distinct
    ones, or at most 20 with 5 rows each on average. All other numbers are numbers.

    Parameters
    ----------
    y : one value per row
        A list, an array, a series, or a frame with one column. Missing values are ignored.

    Returns
    -------
    InferredTask
        A pair of `task`, which is "classes" or "numbers", and `reason`.

    Examples
    --------
    >>> from treewright import infer_task
    >>> infer_task(["no", "yes", "yes"]).task == "classes"
    True
    >>> infer_task([9.5, 7.25, 8])
    InferredTask(task=<Task.NUMBERS: 'numbers'>, reason='its values are numbers with fractions')
    """
    column = take_rows(y, np.arange(count_rows(y)))
    frame = Frame({"target": column}, {} if column.domain is None else {"target": column.domain})
    missing = find_missing(frame, "target")
    if missing.all():
        raise ValueError("the target has no values, so it suggests no task; give at least one")
    return task_of_column(frame[~missing], "target")


def task_of_column(frame: Frame, target: str) -> InferredTask:
    """The task that a column without missing values suggests.

    >>> task_of_column(Frame({"play": ["no", "yes"]}), "play").reason
    'its values are categories'
    """
    values = frame[target]
    if not is_number(frame, target):
        return InferredTask(Task.CLASSES, "its values are categories")
    if not _is_whole(values):
        return InferredTask(Task.NUMBERS, "its values are numbers with fractions")
    distinct = len(set(values.tolist()))
    if distinct <= max(2, min(MOST_CODES, len(values) // ROWS_PER_CODE)):
        return InferredTask(Task.CLASSES, f"it has only {distinct} different whole numbers")
    return InferredTask(Task.NUMBERS, f"it has {distinct} different numbers")


def check_task(frame: Frame, target: str, task: Task) -> None:
    """Refuse text as numbers, and fractions as classes."""
    values = frame[target]
    if task is Task.NUMBERS and not is_number(frame, target):
        raise ValueError(f"target {target!r} holds {_word(values)}, not numbers; choose task 'classes'")
    if task is Task.CLASSES and is_number(frame, target) and not _is_whole(values):
        fraction = next(value for value in values.tolist() if value != round(value))
        raise ValueError(
            f"target {target!r} holds fractions such as {fraction}, which name no class; choose task 'numbers'"
        )


def labels_without_points(frame: Frame, target: str) -> Frame:
    """The frame with whole class labels as integers: a column that had missing values holds 1.0 for 1."""
    values = frame[target]
    if values.dtype.kind != "f":
        return frame
    return frame.assign(target, values.astype("int64"))


def is_number(frame: Frame, target: str) -> bool:
    return target not in frame.domains and frame[target].dtype.kind in "iuf"


def _word(values: np.ndarray) -> str:
    return "dates" if values.dtype.kind == "M" else "categories"


def _is_whole(values: np.ndarray) -> bool:
    return bool((values == values.round()).all()) and bool((abs(values) < 2.0**53).all())
