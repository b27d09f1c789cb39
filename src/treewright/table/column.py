"""What a column is: its name, its kind, and how its values are written for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum


class Kind(StrEnum):
    """How a column may be split: by threshold, by category, or by a cut in declared order."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    ORDERED = "ordered"


class Unit(StrEnum):
    """What the numbers of a numeric column stand for."""

    PLAIN = "plain"
    DATE = "date"  # days since 1970-01-01
    DATETIME = "datetime"  # microseconds since 1970-01-01T00:00
    UNKNOWN = "unknown"  # the column held no value that could tell


@dataclass(frozen=True)
class Column:
    """One column of a table as a tree sees it.

    Categories are the user's own values; row values refer to them by index. They stand in declared order
    where the frame declares one (categoricals, enums, ARFF domains), else in order of first appearance.

    >>> Column("size", Kind.ORDERED, ("small", "large")).write(1)
    'large'
    >>> Column("born", Kind.NUMERIC, unit=Unit.DATE).write(0)
    '1970-01-01'
    """

    name: str
    kind: Kind
    categories: tuple[object, ...] = ()
    unit: Unit = Unit.PLAIN

    @property
    def is_numeric(self) -> bool:
        return self.kind is Kind.NUMERIC

    @property
    def is_categorical(self) -> bool:
        return self.kind is Kind.CATEGORICAL

    def write(self, value: float) -> str:
        """The text of one value: a number, a date, or the category of that index."""
        if not self.is_numeric:
            return str(self.categories[int(value)])
        if self.unit in (Unit.PLAIN, Unit.UNKNOWN) or not math.isfinite(value):
            return write_number(value)
        if self.unit is Unit.DATE:
            return _write_day(value)
        return _write_moment(value)


def write_number(value: float) -> str:
    """A number as a person writes it: no trailing zeros, six decimals at most.

    >>> [write_number(x) for x in (83.5, 2.0, 1 / 3, 1234567.25, 0.00001234567)]
    ['83.5', '2', '0.333333', '1234567.25', '1.23457e-05']
    """
    value = float(value)
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e15 or 0.0 < abs(value) < 1e-3:
        return f"{value:.6g}"
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _write_day(days: float) -> str:
    """A day as its date; a threshold between two days as the earlier one, which parts whole days alike."""
    return (date(1970, 1, 1) + timedelta(days=math.floor(days))).isoformat()


def _write_moment(microseconds: float) -> str:
    moment = (_EPOCH + timedelta(microseconds=round(microseconds))).replace(tzinfo=None)
    return moment.isoformat(sep=" ")
