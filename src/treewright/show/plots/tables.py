"""Tables for plots: the columns of any table, and new tables of the same kind with chosen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.show.picture.axes import require_matplotlib
from treewright.table import read_classes, read_frame
from treewright.table.column import Column


def open_axes(ax: Any) -> Any:
    """The axes to draw into: those given, or new ones."""
    plt = require_matplotlib()
    return plt.subplots()[1] if ax is None else ax


def classes_of_rows(y: Any) -> np.ndarray:
    """The class of each row as a plain value."""
    codes, classes = read_classes(y)
    return np.asarray(classes)[codes]


@dataclass(frozen=True, eq=False)
class Given:
    """A table as its user gave it, with its columns as numbers and category indices."""

    X: Any
    columns: tuple[Column, ...]
    values: np.ndarray

    @classmethod
    def of(cls, X: Any) -> Given:
        table = read_frame(X)
        return cls(X, table.columns, np.asarray(table.values))

    def place(self, column: Any) -> int:
        """The place of a column that is given by name or by place."""
        names = [one.name for one in self.columns]
        if isinstance(column, int | np.integer) and 0 <= int(column) < len(names):
            return int(column)
        if str(column) in names:
            return names.index(str(column))
        shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
        raise ValueError(f"there is no column {column!r}; there are {shown}")

    def usual(self, place: int) -> float:
        """The median of numbers, the most frequent of categories."""
        known = self.values[:, place]
        known = known[~np.isnan(known)]
        if not len(known):
            return float("nan")
        if self.columns[place].is_numeric:
            return float(np.median(known))
        return float(np.bincount(known.astype(np.int64)).argmax())

    def grid(self, place: int, most: int) -> np.ndarray:
        """Values of a column to look at: numbers from the lowest to the highest, or each category that occurs."""
        known = self.values[:, place]
        known = known[np.isfinite(known)]
        if not len(known):
            raise ValueError(f"column {self.columns[place].name!r} has no value, so there is nothing to plot")
        if self.columns[place].is_numeric:
            return np.linspace(known.min(), known.max(), most)
        return np.unique(known)

    def build(self, values: np.ndarray) -> Any:
        """A table of the user's kind from numbers and category indices: an array, a pandas frame or a dict."""
        if isinstance(self.X, np.ndarray) and self.X.dtype.kind in "fiub":
            return values
        columns = {column.name: _in_user_values(column, values[:, k]) for k, column in enumerate(self.columns)}
        if isinstance(self.X, np.ndarray):
            return np.column_stack([np.asarray(line, dtype=object) for line in columns.values()])
        if hasattr(self.X, "iloc"):
            return type(self.X)(columns)
        return columns if isinstance(self.X, Mapping) or hasattr(self.X, "columns") else values


def _in_user_values(column: Column, line: np.ndarray) -> Any:
    if column.unit in ("date", "datetime", "utc"):
        unit = "D" if column.unit == "date" else "us"
        days = np.where(np.isnan(line), np.iinfo(np.int64).min, np.nan_to_num(line)).astype(np.int64)
        return days.astype(f"datetime64[{unit}]")
    if column.is_numeric:
        return line
    return np.array([None if np.isnan(code) else column.categories[int(code)] for code in line], dtype=object)


def label_axis(ax: Any, axis: str, column: Column, grid: np.ndarray) -> None:
    """The name of a column at an axis; for categories and dates their words at the ticks."""
    getattr(ax, f"set_{axis}label")(column.name)
    if column.is_plain:
        return
    ticks = grid if not column.is_numeric else np.linspace(grid[0], grid[-1], 5)
    turn = {"rotation": 30, "ha": "right"} if axis == "x" else {}
    getattr(ax, f"set_{axis}ticks")(ticks, [column.write(float(tick)) for tick in ticks], **turn)
