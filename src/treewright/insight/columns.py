"""What the table's columns were taken for, and what looks odd about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.table import Column, Frame, Kind, Table, Unit
from treewright.table.categories import is_missing

# Fewer rows than this can all differ by chance.
LEAST_ROWS_OF_AN_ID = 8


@dataclass(frozen=True)
class ColumnSummary:
    """One column in figures: its kind, its values, its missing values."""

    column: Column
    distinct: int
    missing: int
    lowest: str = ""
    highest: str = ""
    categories: tuple[str, ...] = ()
    oddity: str = ""

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def word(self) -> str:
        """The kind in a word: a date is a number with a unit."""
        moment = "date and time"
        times = {Unit.DATE: "date", Unit.DATETIME: moment, Unit.UTC: moment, Unit.UNKNOWN: "nothing"}
        if self.column.is_numeric and self.column.unit in times:
            return times[self.column.unit]
        return {"numeric": "number", "categorical": "categories", "ordered": "ordered"}[self.column.kind]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        described: dict[str, Any] = {
            "name": self.name,
            "kind": str(self.column.kind),
            "distinct": self.distinct,
            "missing": self.missing,
        }
        if not self.column.is_numeric:
            described["categories"] = list(self.categories)
        elif self.distinct:
            described |= {"unit": str(self.column.unit), "lowest": self.lowest, "highest": self.highest}
        return described | ({"hint": self.oddity} if self.oddity else {})


def summarise_columns(table: Table) -> tuple[ColumnSummary, ...]:
    """A summary of each column.

    >>> from treewright.table import read_frame
    >>> summary = summarise_columns(read_frame({"size": ["S", "L", None], "price": [3, 1.5, 2]}))
    >>> [(one.name, one.word, one.distinct, one.missing) for one in summary]
    [('size', 'categories', 2, 1), ('price', 'number', 3, 0)]
    """
    return tuple(_summarise(column, values) for column, values in zip(table.columns, table.values.T, strict=True))


def count_missing(frame: Frame, name: str) -> np.ndarray:
    """Which rows have no value in a column."""
    return np.array([is_missing(value) for value in frame[name].tolist()], dtype=bool)


def _summarise(column: Column, values: np.ndarray) -> ColumnSummary:
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    summary = ColumnSummary(
        column,
        distinct=len(distinct),
        missing=len(values) - len(known),
        categories=tuple(map(str, column.categories)),
        oddity=_oddity(column, known, len(distinct)),
    )
    if not column.is_numeric or not len(distinct):
        return summary
    ends = {"lowest": column.write(distinct[0]), "highest": column.write(distinct[-1])}
    return ColumnSummary(**{**vars(summary), **ends})


def _oddity(column: Column, known: np.ndarray, distinct: int) -> str:
    """What a column says that no tree should learn from, empty if nothing."""
    if not len(known):
        return "has no values at all"
    if distinct == 1:
        return "has the same value in every row that has one"
    if len(known) < LEAST_ROWS_OF_AN_ID or distinct < len(known):
        return ""
    if column.kind is Kind.CATEGORICAL:
        return "differs in every row, as a name or number of the row does"
    is_count = column.is_numeric and column.unit is Unit.PLAIN and bool((np.diff(known) == 1.0).all())
    return "counts the rows" if is_count else ""
