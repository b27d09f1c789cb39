"""Parquet, read with pyarrow."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from treewright.table.column import Column, Unit
from treewright.table.dataframe import is_declared, read_series
from treewright.table.plain_frame import Domain, Frame, as_array
from treewright.table.spelling import read_text_column

# What pandas calls an index without a name when it writes Parquet: the numbers of rows, not a column.
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


def is_index_of_pandas(name: str) -> bool:
    """Whether a column has the name that pandas gives to an index without a name."""
    return _INDEX_OF_PANDAS.fullmatch(name) is not None


def read_parquet(path: Path) -> Frame:
    """Read a Parquet file; it needs pyarrow."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table as read_arrow
    except ImportError:
        raise ImportError(
            f"{path.name}: Parquet needs pyarrow; install it with pip install 'treewright[arrow]'"
        ) from None
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(read_arrow(path), eager_only=True)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path.name}: {str(error).splitlines()[0]}") from None
    columns: dict[str, np.ndarray] = {}
    domains: dict[str, Domain] = {}
    for series in frame.iter_columns():
        if is_index_of_pandas(series.name):
            continue
        if series.dtype == nw.String:
            columns[series.name] = read_text_column(series.to_list())
            continue
        column, values = read_series(series.name, series)
        is_integer = series.dtype.is_integer() and not np.isnan(values).any()
        columns[series.name] = values.astype(np.int64) if is_integer else _decode(column, values)
        if is_declared(series):
            domains[series.name] = Domain(column.categories, ordered=column.kind == "ordered")
    return Frame(columns, domains)


def _decode(column: Column, values: np.ndarray) -> np.ndarray:
    """Numbers, dates or categories as a frame holds them."""
    if not column.is_numeric:
        return as_array([None if np.isnan(x) else column.categories[int(x)] for x in values])
    if column.unit is Unit.PLAIN:
        return values
    unit = "D" if column.unit is Unit.DATE else "us"
    known = ~np.isnan(values)
    moments = np.full(len(values), "NaT", dtype=f"M8[{unit}]")
    moments[known] = values[known].astype(np.int64).astype(f"M8[{unit}]")
    return moments
