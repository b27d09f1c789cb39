"""Categories: plain values that people can read, numbered by index, and found again by value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np

BOOLEANS: tuple[object, ...] = (False, True)


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NaT or pandas' NA.

    >>> [is_missing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating | Decimal) and math.isnan(value)


def which_missing(cells: Sequence[Any]) -> np.ndarray:
    """Which of many cells are empty.

    >>> which_missing(["a", None, "b"]).tolist()
    [False, True, False]
    """
    types = set(map(type, cells))
    if types <= {str, int, bool}:
        return np.zeros(len(cells), dtype=bool)
    return np.fromiter(map(is_missing, cells), bool, len(cells))


def plain_category(value: Any) -> object:
    r"""A category as a plain Python value, so that it prints well and can be written to any file.

    Bytes that are no text are written as Python writes them.

    >>> [plain_category(value) for value in (np.float64(3.0), np.str_("a"), 2.5, b"b", b"\xff")]
    [3, 'a', 2.5, 'b', "b'\\xff'"]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bytes):
        return _text_of(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int | float | date | timedelta):
        return value
    return str(value)


def _text_of(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return repr(value)


def number_cells(cells: Sequence[Any]) -> tuple[tuple[object, ...], np.ndarray]:
    """The distinct cells in order of first appearance, and each cell's index; None is missing.

    >>> number_cells(["b", "a", None, "b"])
    (('b', 'a'), array([ 0.,  1., nan,  0.]))
    """
    distinct = dict.fromkeys(cells)
    distinct.pop(None, None)
    index: dict[Any, float] = {cell: float(place) for place, cell in enumerate(distinct)}
    index[None] = math.nan
    indices = np.fromiter(map(index.__getitem__, cells), np.float64, len(cells))
    return tidy_categories(tuple(distinct), indices)


def tidy_categories(categories: Iterable[Any], indices: np.ndarray) -> tuple[tuple[object, ...], np.ndarray]:
    """Plain categories without missing values or repeats, and the row indices that go with them."""
    place: dict[object, int] = {}
    new_index = [
        math.nan if is_missing(value) else place.setdefault(plain_category(value), len(place)) for value in categories
    ]
    if new_index == list(range(len(new_index))):
        return tuple(place), indices
    return tuple(place), look_up(new_index, indices)


def number_integers(values: np.ndarray) -> tuple[tuple[object, ...], np.ndarray]:
    """Return the distinct integers in ascending order, and the index of each value; no integer becomes a float.

    >>> number_integers(np.array([10**18 + 1, 10**18]))
    ((1000000000000000000, 1000000000000000001), array([1., 0.]))
    """
    distinct, indices = np.unique(values, return_inverse=True)
    return tuple(distinct.tolist()), indices.astype(np.float64)


def look_up(table: Sequence[float], indices: np.ndarray) -> np.ndarray:
    """`table[index]` for every index; missing stays missing."""
    # The extra last entry has the index -1, which means missing.
    padded = np.append(np.asarray(table, dtype=np.float64), math.nan)
    return padded[np.where(np.isnan(indices), -1, indices).astype(np.intp)]


def family(value: object) -> str:
    """The word for a category's type, as used in messages."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "numeric"
    if isinstance(value, datetime | date):
        return "dates"
    return "durations"


# Characters of one value in a message.
LONGEST_VALUE = 60


def some(values: Sequence[object], most: int = 3) -> str:
    """A few values for a message: the first ones, and dots for the rest.

    >>> some(["12y", "n/a", "?", "old"])
    "'12y', 'n/a', '?', ..."
    """
    shown = [text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..." for text in map(repr, values[:most])]
    return ", ".join([*shown, "..."] if len(values) > most else shown)
