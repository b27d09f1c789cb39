"""Parquet and Feather (also known as Arrow IPC), read with pyarrow."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from treewright.table.column import Column, Unit
from treewright.table.dataframe import is_declared, read_series
from treewright.table.plain_frame import Domain, Frame, as_array
from treewright.table.read_options import ReadOptions
from treewright.table.spelling import read_text_column

# What pandas calls an index without a name when it writes Parquet: the numbers of rows, not a column.
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


def is_index_of_pandas(name: str) -> bool:
    """Whether a column has the name that pandas gives to an index without a name."""
    return _INDEX_OF_PANDAS.fullmatch(name) is not None


def read_parquet(content: bytes, options: ReadOptions) -> Frame:
    """Read a Parquet file; it needs pyarrow."""

    def read(file: Any) -> Any:
        from pyarrow.parquet import read_table

        return read_table(file)

    return _read_with_arrow("Parquet", read, content, options)


def read_feather(content: bytes, options: ReadOptions) -> Frame:
    """Read a Feather or Arrow file, also a stream of batches; it needs pyarrow."""

    def read(file: Any) -> Any:
        from pyarrow import feather, ipc

        # Files begin with ARROW1 or, in the first version of Feather, FEA1; streams with the length of their schema.
        if content[:6] == b"ARROW1" or content[:4] == b"FEA1":
            return feather.read_table(file)
        return ipc.open_stream(file).read_all()

    return _read_with_arrow("Feather", read, content, options)


def _read_with_arrow(name: str, read: Callable[[Any], Any], content: bytes, options: ReadOptions) -> Frame:
    try:
        from pyarrow import ArrowException
    except ImportError:
        raise ImportError(f"{name} needs pyarrow; install it with pip install 'treewright[arrow]'") from None
    try:
        table = read(io.BytesIO(content))
        # The offsets of a damaged file may point anywhere.
        table.validate(full=True)
        return read_arrow(table, options)
    except (ArrowException, OSError) as error:
        raise ValueError((str(error).splitlines() or ["the file cannot be read"])[0]) from None


def read_arrow(table: Any, options: ReadOptions) -> Frame:
    """The columns of an arrow table; text may spell numbers, dates and missing values."""
    import narwhals.stable.v2 as nw

    columns: dict[str, np.ndarray] = {}
    domains: dict[str, Domain] = {}
    for series in nw.from_native(table, eager_only=True).iter_columns():
        if is_index_of_pandas(series.name):
            continue
        if series.dtype == nw.String:
            columns[series.name] = read_text_column(series.name, series.to_list(), options)
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
