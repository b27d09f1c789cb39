"""The same table in every form that a user may have it in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from treewright.table import Frame

Columns = dict[str, list[Any]]


def columns_of(frame: pd.DataFrame) -> Columns:
    """Lists of cells, with None for a missing value."""
    return {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}


def as_rows(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def as_object_array(columns: Columns) -> np.ndarray:
    array = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
    for place, cells in enumerate(columns.values()):
        array[:, place] = cells
    return array


WITH_NAMES: dict[str, Callable[[Columns], Any]] = {
    "dict": lambda columns: columns,
    "dict of series": lambda columns: {name: pl.Series(cells) for name, cells in columns.items()},
    "rows": as_rows,
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "polars lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "arrow": pa.table,
    "frame": Frame,
}
WITHOUT_NAMES: dict[str, Callable[[Columns], Any]] = {
    "lists": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    "array": as_object_array,
}
FORMS = WITH_NAMES | WITHOUT_NAMES

# One of each library, for tests that fit a whole ensemble to each form.
LIBRARIES = ("rows", "array", "pandas", "polars", "arrow", "frame")
