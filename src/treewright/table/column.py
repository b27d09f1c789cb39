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
    """The meaning of the numbers of a numeric column."""

    PLAIN = "plain"
    DATE = "date"  # days since 1970-01-01
    DATETIME = "datetime"  # microseconds since 1970-01-01T00:00
    UTC = "utc"  # the same for moments with a time zone
    UNKNOWN = "unknown"  # the column has no value


@dataclass(frozen=True)
class Column:
    """One column of a table as a tree sees it.

    Categories are the user's own values; row values refer to them by index. They are in declared order
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

    @property
    def is_plain(self) -> bool:
        """Are the values numbers without a unit?"""
        return self.kind is Kind.NUMERIC and self.unit is Unit.PLAIN

    def write(self, value: float) -> str:
        """The text of one value: a number, a date, or the category of that index."""
        if not self.is_numeric:
            return str(self.categories[int(value)])
        if self.unit in (Unit.PLAIN, Unit.UNKNOWN) or not math.isfinite(value):
            return write_number(value)
        if self.unit is Unit.DATE:
            return _write_day(value)
        return _write_moment(value) + (" UTC" if self.unit is Unit.UTC else "")


# A number of at most this many digits is written exactly; the user's own numbers and the points between them are so.
MAX_EXACT_DIGITS = 12


def write_number(value: float) -> str:
    """A number as a person writes it: exactly if it is short, else with six decimals and no trailing zeros.

    >>> [write_number(x) for x in (83.5, 2.0, 1 / 3, 1234567.25, 1.00000015, 0.00001234567891234)]
    ['83.5', '2', '0.333333', '1234567.25', '1.00000015', '1.23457e-05']
    """
    value = float(value)
    if not math.isfinite(value):
        return str(value)
    if value == math.floor(value) and abs(value) < 1e17:
        return str(int(value))
    text = repr(value)
    digits = text.split("e")[0].lstrip("-0.")
    if len(digits) - digits.count(".") <= MAX_EXACT_DIGITS:
        return text
    if abs(value) >= 1e15 or 0.0 < abs(value) < 1e-3:
        return f"{value:.6g}"
    return f"{value:.6f}".rstrip("0").rstrip(".")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _write_day(days: float) -> str:
    """A day as its date; a threshold between two days as the earlier one, which splits whole days in the same way."""
    try:
        return (date(1970, 1, 1) + timedelta(days=math.floor(days))).isoformat()
    except OverflowError:
        return f"day {days:.0f} from 1970-01-01"


def _write_moment(microseconds: float) -> str:
    try:
        moment = (_EPOCH + timedelta(microseconds=math.floor(microseconds))).replace(tzinfo=None)
    except OverflowError:
        return f"{microseconds / 1e6:.0f} seconds from 1970-01-01"
    return moment.isoformat(sep=" ")
