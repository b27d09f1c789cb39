"""Classes or numbers: what the target asks for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from treewright.table import Frame

# A number that repeats this often on average, with few different values, is a code more likely than a quantity.
MOST_CODES = 20
ROWS_PER_CODE = 5


class Task(StrEnum):
    """What a tree is to answer."""

    CLASSES = "classes"
    NUMBERS = "numbers"


def choose_task(frame: Frame, target: str) -> tuple[Task, str]:
    """The task that the target's values suggest, and why.

    Whole numbers are classes if there are at most 20 different ones with 5 rows each on average, or only two.

    >>> from treewright.table import Frame
    >>> choose_task(Frame({"play": ["no", "yes"]}), "play")
    (<Task.CLASSES: 'classes'>, 'its values are categories')
    >>> choose_task(Frame({"price": [9.5, 7.25, 8]}), "price")
    (<Task.NUMBERS: 'numbers'>, 'its values are numbers with fractions')
    """
    values = frame[target]
    if not is_number(frame, target):
        return Task.CLASSES, "its values are categories"
    if not _is_whole(values):
        return Task.NUMBERS, "its values are numbers with fractions"
    distinct = len(set(values.tolist()))
    if distinct <= max(2, min(MOST_CODES, len(values) // ROWS_PER_CODE)):
        return Task.CLASSES, f"it has only {distinct} different whole numbers"
    return Task.NUMBERS, f"it has {distinct} different numbers"


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
