"""One column of plain values, as NumPy or Python holds them, read as numbers or as category indices."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from treewright.table.categories import BOOLEANS, is_missing, number_cells, number_integers, some, tidy_categories
from treewright.table.column import Column, Kind, Unit
from treewright.table.user_warnings import warn_user

Coded = tuple[Column, np.ndarray]
"""A column and its values: float64 numbers or category indices, NaN where missing."""

_DECLARE = "declare the column categorical with categorical_features"

# Larger integers are not all different as floats.
MOST_EXACT = 1 << 53


def read_values(name: str, values: np.ndarray | Sequence[Any], wanted: Kind | None = None) -> Coded:
    """Read one column by the type of its values.

    `wanted` is the kind that the user declared, if any: a column that mixes types is then not refused.

    >>> column, indices = read_values("size", ["L", "S", None, "L"])
    >>> column.categories, indices
    (('L', 'S'), array([ 0.,  1., nan,  0.]))
    """
    if not isinstance(values, np.ndarray):
        return _read_objects(name, list(values), wanted)
    if values.dtype.kind in "iu":
        return read_integers(name, values, wanted)
    if values.dtype.kind == "f":
        return Column(name, Kind.NUMERIC), np.asarray(values, dtype=np.float64)
    if values.dtype.kind == "b":
        return Column(name, Kind.CATEGORICAL, BOOLEANS), values.astype(np.float64)
    if values.dtype.kind == "c":
        raise complex_error(name)
    if values.dtype.kind == "M":
        return _read_moments(name, values)
    if values.dtype.kind == "m":
        return Column(name, Kind.NUMERIC), _count(values, "m8[us]") / 1e6
    return _read_objects(name, values.tolist(), wanted)


def read_integers(name: str, integers: np.ndarray, wanted: Kind | None) -> Coded:
    """Read integers as floats, but categories beyond 2**53 as they are; warn where different numbers become one."""
    numbers = integers.astype(np.float64)
    if not len(numbers) or np.abs(numbers).max() < MOST_EXACT:
        return Column(name, Kind.NUMERIC), numbers
    if wanted is Kind.CATEGORICAL:
        categories, indices = number_integers(integers)
        return Column(name, Kind.CATEGORICAL, categories), indices
    n_merged = len(np.unique(integers)) - len(np.unique(numbers))
    if n_merged:
        warn_user(
            f"column {name!r}: {n_merged} distinct integers above 2**53 are equal to others as floats; subtract a "
            f"constant, or {_DECLARE}",
        )
    return Column(name, Kind.NUMERIC), numbers


def complex_error(name: str) -> ValueError:
    return ValueError(f"column {name!r}: Complex data not supported; give the real and imaginary parts as two columns")


def _read_moments(name: str, moments: np.ndarray) -> Coded:
    """Whole days as days, also where the type could hold the time of day; anything finer as microseconds."""
    if np.datetime_data(moments.dtype)[0] in ("Y", "M", "W", "D") or _are_days(moments):
        return Column(name, Kind.NUMERIC, unit=Unit.DATE), _count(moments, "M8[D]")
    return Column(name, Kind.NUMERIC, unit=Unit.DATETIME), _count_microseconds(name, moments)


def read_zoned(name: str, moments: np.ndarray) -> Coded:
    """Moments that had a time zone, given in UTC; a day there is no day here, so they stay moments."""
    return Column(name, Kind.NUMERIC, unit=Unit.UTC), _count_microseconds(name, moments)


def _count_microseconds(name: str, moments: np.ndarray) -> np.ndarray:
    """Return the microseconds since 1970; warn where that makes different moments one."""
    in_microseconds = moments.astype("M8[us]")
    is_finer = np.datetime_data(moments.dtype)[0] in ("ns", "ps", "fs", "as")
    if is_finer and not np.array_equal(in_microseconds.astype(moments.dtype), moments, equal_nan=True):
        n_merged = len(np.unique(moments)) - len(np.unique(in_microseconds))
        if n_merged:
            warn_user(
                f"column {name!r}: {n_merged} distinct moments are less than a microsecond from others and count as "
                "equal; give the time since the first moment as a number",
            )
    return _count(in_microseconds, "M8[us]")


def _are_days(moments: np.ndarray) -> bool:
    known = moments[~np.isnat(moments)]
    return bool(len(known) and (known.astype("M8[D]") == known).all())


def _count(times: np.ndarray, dtype: str) -> np.ndarray:
    times = times.astype(dtype)
    counts = times.astype(np.int64).astype(np.float64)
    counts[np.isnat(times)] = np.nan
    return counts


class _Family(enum.Enum):
    """What a cell's Python type means for a column."""

    MISSING = "missing values"
    NUMBER = "numbers"
    BOOLEAN = "booleans"
    TEXT = "text"
    DATE = "dates"
    MOMENT = "datetimes"
    DURATION = "durations"
    COMPLEX = "complex numbers"
    OTHER = "other objects"


# Order matters: a bool is an int, NumPy's timedelta64 is an integer, a datetime is a date.
_FAMILIES: tuple[tuple[_Family, tuple[type, ...]], ...] = (
    (_Family.MISSING, (type(None),)),
    (_Family.TEXT, (str, bytes, enum.Enum)),
    (_Family.BOOLEAN, (bool, np.bool_)),
    (_Family.DURATION, (timedelta, np.timedelta64)),
    (_Family.NUMBER, (int, float, np.integer, np.floating, Decimal, Fraction)),
    (_Family.COMPLEX, (complex, np.complexfloating)),
    (_Family.MOMENT, (datetime, np.datetime64)),
    (_Family.DATE, (date,)),
)


def _family_of(kind: type) -> _Family:
    if kind.__name__ in ("NAType", "NaTType"):
        return _Family.MISSING
    return next((family for family, kinds in _FAMILIES if issubclass(kind, kinds)), _Family.OTHER)


def _read_objects(name: str, cells: list[Any], wanted: Kind | None) -> Coded:
    """Read cells whose types are known only one by one."""
    types = set(map(type, cells))
    families = {_family_of(kind) for kind in types}
    if _may_hide_missing(types, families):
        cells = [None if is_missing(cell) else cell for cell in cells]
        families = {_family_of(kind) for kind in set(map(type, cells))}
    families.discard(_Family.MISSING)
    if _Family.COMPLEX in families:
        raise complex_error(name)
    if _Family.OTHER in families:
        raise _cell_error(name, cells)
    if not families:
        return Column(name, Kind.NUMERIC), np.full(len(cells), np.nan)
    if families <= {_Family.DATE, _Family.MOMENT}:
        return _read_dates(name, cells, families)
    if families == {_Family.DURATION}:
        return Column(name, Kind.NUMERIC), _count(np.array(cells, dtype="m8[us]"), "m8[us]") / 1e6
    if families == {_Family.BOOLEAN}:
        return Column(name, Kind.CATEGORICAL, BOOLEANS), np.array(cells, dtype=np.float64)
    if families <= {_Family.NUMBER, _Family.BOOLEAN}:
        return _read_numbers(name, cells, wanted)
    if families != {_Family.TEXT} and wanted is None:
        raise _mixed_error(name, cells, families)
    categories, indices = number_cells(cells)
    return Column(name, Kind.CATEGORICAL, categories), indices


def _may_hide_missing(types: set[type], families: set[_Family]) -> bool:
    """Whether values other than None may be missing, so that each cell must be looked at."""
    if types - {str, int, bool, float, type(None)}:
        return True
    return float in types and not families <= {_Family.NUMBER, _Family.BOOLEAN, _Family.MISSING}


def _read_numbers(name: str, cells: list[Any], wanted: Kind | None) -> Coded:
    """Read numbers of any type as floats, but categories beyond 2**53 as they are."""
    if wanted is Kind.CATEGORICAL and any(
        isinstance(cell, int | np.integer) and abs(int(cell)) >= MOST_EXACT for cell in cells
    ):
        known = np.array([cell is not None for cell in cells])
        indices = np.full(len(cells), np.nan)
        categories, indices[known] = number_integers(np.array(cells, dtype=object)[known])
        categories, indices = tidy_categories(categories, indices)
        return Column(name, Kind.CATEGORICAL, categories), indices
    return Column(name, Kind.NUMERIC), _floats(name, cells)


def _floats(name: str, cells: list[Any]) -> np.ndarray:
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"column {name!r}: an integer is too large for a float; give smaller numbers") from None


def _read_dates(name: str, cells: list[Any], families: set[_Family]) -> Coded:
    if families == {_Family.DATE}:
        return _read_moments(name, np.array(cells, dtype="M8[D]"))
    moments = np.array([_naive(cell) for cell in cells], dtype="M8[us]")
    if any(isinstance(cell, datetime) and cell.tzinfo is not None for cell in cells):
        return read_zoned(name, moments)
    return _read_moments(name, moments)


def _naive(moment: Any) -> Any:
    """Moments with a time zone in UTC; those without stay unchanged."""
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment.astimezone(UTC).replace(tzinfo=None)
    return moment


def _cell_error(name: str, cells: list[Any]) -> TypeError:
    row, cell = next((row, cell) for row, cell in enumerate(cells) if _family_of(type(cell)) is _Family.OTHER)
    return TypeError(
        f"column {name!r}: row {row} holds a value of type {type(cell).__name__}; "
        "a cell must hold text, a number, a date or nothing"
    )


def _mixed_error(name: str, cells: list[Any], families: set[_Family]) -> ValueError:
    if families <= {_Family.NUMBER, _Family.BOOLEAN, _Family.TEXT}:
        words = [cell for cell in cells if _family_of(type(cell)) is _Family.TEXT]
        shown = some(list(dict.fromkeys(words)), most=2)
        return ValueError(
            f"column {name!r}: {len(words)} of {len(cells)} values are text ({shown}); give numbers, or {_DECLARE}"
        )
    mixed = " and ".join(sorted(family.value for family in families))
    return ValueError(f"column {name!r}: the values mix {mixed}; give one type, or {_DECLARE}")
