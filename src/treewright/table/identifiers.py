"""Columns that identify rows, such as names and numbers of rows: no split by them applies to new rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewright.table.column import Column, Kind, Unit
from treewright.table.user_warnings import warn_user

# In fewer rows all values may differ by chance.
LEAST_ROWS_OF_AN_ID = 8

DIFFERS = "differs in every row, as a name or number of the row does"
COUNTS = "counts the rows"


class IdentifierWarning(UserWarning):
    """A column has a different category in every row."""


def identifies_rows(column: Column, values: np.ndarray) -> bool:
    """Return whether a categorical column has a different category in every row that has one.

    >>> names = tuple("abcdefgh")
    >>> identifies_rows(Column("name", Kind.CATEGORICAL, names), np.arange(8.0))
    True
    """
    if column.kind is not Kind.CATEGORICAL or len(column.categories) < LEAST_ROWS_OF_AN_ID:
        return False
    known = values[values >= 0.0]
    return LEAST_ROWS_OF_AN_ID <= len(known) <= len(column.categories) and len(np.unique(known)) == len(known)


def counts_rows(column: Column, values: np.ndarray) -> bool:
    """Return whether a numeric column has consecutive whole numbers, in the order of the rows."""
    known = values[~np.isnan(values)]
    if not column.is_numeric or column.unit is not Unit.PLAIN or len(known) < LEAST_ROWS_OF_AN_ID:
        return False
    return bool((np.diff(known) == 1.0).all())


def warn_of_identifiers(columns: Sequence[Column], values: np.ndarray) -> None:
    """Warn of the columns that identify rows."""
    found = [
        repr(column.name)
        for place, column in enumerate(columns)
        if column.is_categorical and identifies_rows(column, values[:, place])
    ]
    if not found:
        return
    subject = f"column {found[0]}" if len(found) == 1 else f"each of the columns {', '.join(found)}"
    warn_user(
        f"{subject} {DIFFERS}; leave it out, because new rows have other values",
        IdentifierWarning,
    )
