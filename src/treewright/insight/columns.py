"""Summaries of the columns of a table: kind, values, missing values, and what looks odd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from treewright.insight.text_table import write_table, write_values
from treewright.table import Column, Frame, Table, Unit, read_frame
from treewright.table.categories import which_missing
from treewright.table.frame import ColumnList
from treewright.table.identifiers import COUNTS, DIFFERS, counts_rows, identifies_rows

WIDEST_VALUES = 46


@dataclass(frozen=True)
class ColumnSummary:
    """One column in figures.

    Attributes
    ----------
    column : name, kind and categories.
    distinct : number of distinct values.
    missing : number of missing values.
    lowest, highest : the range of a number or date as text, else empty.
    categories : the categories as text, else empty.
    oddity : why a model should not learn from the column, else empty.
    """

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

    @property
    def values(self) -> str:
        """The range of a number or date, or the first categories."""
        if not self.distinct:
            return "none"
        if self.column.is_numeric:
            return f"{self.lowest} to {self.highest}, {self.distinct} different"
        return write_values(self.categories, " < " if self.column.kind == "ordered" else ", ", WIDEST_VALUES)

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


@dataclass(frozen=True, repr=False)
class ColumnSummaries(Sequence[ColumnSummary]):
    """The summaries of all columns; prints as a table."""

    members: tuple[ColumnSummary, ...]

    @overload
    def __getitem__(self, index: int) -> ColumnSummary: ...
    @overload
    def __getitem__(self, index: slice) -> ColumnSummaries: ...
    def __getitem__(self, index: int | slice) -> ColumnSummary | ColumnSummaries:
        return ColumnSummaries(self.members[index]) if isinstance(index, slice) else self.members[index]

    def __len__(self) -> int:
        return len(self.members)

    def __str__(self) -> str:
        rows = [(one.name, one.word, str(one.missing or "-"), one.values) for one in self.members]
        table = write_table(("column", "kind", "missing", "values"), rows, right=("missing",))
        oddities = [f"Column {one.name!r} {one.oddity}." for one in self.members if one.oddity]
        return "\n".join([table, *oddities])

    __repr__ = __str__


def summarise_columns(
    X: Any, *, categorical_features: ColumnList = None, numeric_features: ColumnList = None
) -> ColumnSummaries:
    """Kind, range or categories, and missing values of each column of a table, as the learners of this library read it.

    Parameters
    ----------
    X : table
        A pandas, polars or arrow frame, an array, a dict of columns, a list of rows, or a table from `read_table`.
    categorical_features : list of names or positions, mask, "all" or None, default=None
        Columns that are treated as categorical, such as numeric codes that are no quantities.
    numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns that are treated as numeric, such as numbers stored as text.

    Returns
    -------
    ColumnSummaries
        A sequence of `ColumnSummary`, which prints as a table. Columns that identify rows or do not vary are noted.

    Examples
    --------
    >>> from treewright import summarise_columns
    >>> summary = summarise_columns({"size": ["S", "L", None], "price": [3, 1.5, 2], "currency": ["EUR"] * 3})
    >>> summary
    column    kind        missing  values
    size      categories        1  S, L
    price     number            -  1.5 to 3, 3 different
    currency  categories        -  EUR
    Column 'currency' has the same value in every row that has one.
    >>> summary[0].missing
    1
    """
    table = X
    if not isinstance(X, Table):
        table = read_frame(X, categorical_features=categorical_features, numeric_features=numeric_features)
    columns = zip(table.columns, table.values.T, strict=True)
    return ColumnSummaries(tuple(_summarise(column, values) for column, values in columns))


def find_missing(frame: Frame, name: str) -> np.ndarray:
    """Which rows have no value in a column."""
    return which_missing(frame[name].tolist())


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
    return replace(summary, lowest=column.write(distinct[0]), highest=column.write(distinct[-1]))


def _oddity(column: Column, known: np.ndarray, distinct: int) -> str:
    """Why no tree should learn from a column, empty if nothing is odd."""
    if not len(known):
        return "has no values at all"
    if distinct == 1:
        return "has the same value in every row that has one"
    if identifies_rows(column, known):
        return DIFFERS
    return COUNTS if counts_rows(column, known) else ""
