"""Columns turned into the kind that the user declared, or into the column that a model learned from."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, datetime, timedelta

import numpy as np

from treewright.table.categories import family, look_up, plain_category, some
from treewright.table.cells import Coded
from treewright.table.column import Column, Kind, Unit
from treewright.table.spelling import MISSING_WORDS

_MICROSECONDS_PER_DAY = 86_400_000_000.0
_NUMBER_LIKE = {"numeric", "boolean"}  # 0 and False are one value, and so are 1 and True


def as_kind(coded: Coded, wanted: Kind | None) -> Coded:
    """The column as the user declared it."""
    column, values = coded
    if wanted is Kind.CATEGORICAL and column.is_numeric:
        return as_categories(column, values)
    if wanted is Kind.CATEGORICAL:
        return replace(column, kind=Kind.CATEGORICAL), values
    if wanted is Kind.NUMERIC and not column.is_numeric:
        return as_numbers(column, values)
    return coded


def as_categories(column: Column, values: np.ndarray) -> Coded:
    """Every distinct number a category, in ascending order.

    >>> as_categories(Column("rooms", Kind.NUMERIC), np.array([3.0, 1.0, 3.0]))[0].categories
    (1, 3)
    """
    known = ~np.isnan(values)
    distinct, places = np.unique(values[known], return_inverse=True)
    indices = np.full(len(values), np.nan)
    indices[known] = places
    return Column(column.name, Kind.CATEGORICAL, tuple(_value(x, column.unit) for x in distinct)), indices


def _value(number: float, unit: Unit) -> object:
    if unit is Unit.DATE:
        return date(1970, 1, 1) + timedelta(days=int(number))
    if unit in (Unit.DATETIME, Unit.UTC):
        return datetime(1970, 1, 1) + timedelta(microseconds=int(number))
    return plain_category(number)


def as_numbers(column: Column, values: np.ndarray) -> Coded:
    """Every category the number that it names.

    >>> as_numbers(Column("age", Kind.CATEGORICAL, ("12", "7.5")), np.array([1.0, 0.0]))[1]
    array([ 7.5, 12. ])
    """
    numbers = [math.nan if category in MISSING_WORDS else parse_number(category) for category in column.categories]
    bad = [category for category, number in zip(column.categories, numbers, strict=True) if number is None]
    if bad:
        is_bad = np.array([number is None for number in numbers] + [False])
        count = int(is_bad[np.where(np.isnan(values), -1, values).astype(np.intp)].sum())
        raise ValueError(
            f"column {column.name!r}: {count} of {len(values)} values are not numbers ({some(bad)}); "
            "correct them, or take the column out of numeric_features"
        )
    return Column(column.name, Kind.NUMERIC), look_up([x for x in numbers if x is not None], values)


def parse_number(value: object) -> float | None:
    """The number that a value is or spells, else None.

    >>> [parse_number(value) for value in (2, "3.5", "1_000", "n/a")]
    [2.0, 3.5, None, None]
    """
    if isinstance(value, bool | int | float):
        return float(value)
    # Python reads 1_000 as a number; in a table it is a name.
    if not isinstance(value, str) or "_" in value:
        return None
    try:
        return float(value)
    except ValueError:
        return None


def match(learned: Column, coded: Coded) -> np.ndarray:
    """The values of a new column in the terms of the learned one; a category never seen is -1."""
    column, values = coded
    if np.isnan(values).all():
        return values
    if learned.unit is Unit.UNKNOWN:
        return np.full(len(values), np.nan)
    if learned.is_numeric:
        return _match_numbers(learned, column, values)
    if column.is_numeric:
        column, values = as_categories(column, values)
    _check_family(learned, column)
    index = {category: float(place) for place, category in enumerate(learned.categories)}
    return look_up([index.get(category, -1.0) for category in column.categories], values)


def _match_numbers(learned: Column, column: Column, values: np.ndarray) -> np.ndarray:
    if not column.is_numeric:
        return _match_spelled_numbers(learned, column, values)
    if learned.unit is column.unit:
        return values
    units = {learned.unit, column.unit}
    if Unit.PLAIN in units or Unit.UTC in units:
        raise _changed(learned, _unit_word(learned.unit), _unit_word(column.unit))
    if learned.unit is Unit.DATE:
        return values / _MICROSECONDS_PER_DAY
    return values * _MICROSECONDS_PER_DAY


def _match_spelled_numbers(learned: Column, column: Column, values: np.ndarray) -> np.ndarray:
    """Categories that are numbers count as numbers; text does not, even where it spells one."""
    words = [category for category in column.categories if family(category) not in _NUMBER_LIKE]
    if words or learned.unit is not Unit.PLAIN:
        is_spelled = all(parse_number(word) is not None for word in words)
        hint = "the text spells numbers: convert it first" if is_spelled and learned.unit is Unit.PLAIN else ""
        raise _changed(learned, _unit_word(learned.unit), family((words or column.categories)[0]), hint)
    return as_numbers(column, values)[1]


def _check_family(learned: Column, column: Column) -> None:
    new = {family(category) for category in column.categories}
    old = {family(category) for category in learned.categories}
    is_alike = old & new or (old & _NUMBER_LIKE and new & _NUMBER_LIKE)
    if old and not is_alike:
        raise _changed(learned, sorted(old)[0], sorted(new)[0])


def _unit_word(unit: Unit) -> str:
    return {Unit.PLAIN: "numeric", Unit.UTC: "dates with a time zone"}.get(unit, "dates")


def _changed(learned: Column, old: str, new: str, hint: str = "") -> ValueError:
    advice = hint or "give the same type of values"
    return ValueError(f"column {learned.name!r} was {old} in training, is {new} now; {advice}")
