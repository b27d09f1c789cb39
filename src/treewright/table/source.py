"""Whatever table the user hands in, opened as named columns of equal length."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.table.categories import is_missing, some
from treewright.table.cells import Coded, complex_error, read_values
from treewright.table.column import Kind
from treewright.table.plain_frame import Frame, read_frame_column
from treewright.table.sparse import DenseColumns, SparseValues, is_sparse

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

_RESHAPE = (
    "Expected 2D array, got 1D array instead: a table has rows and columns. "
    "Reshape your data using X.reshape(-1, 1) for one column or X.reshape(1, -1) for one row"
)


@dataclass(frozen=True, eq=False)
class Source:
    """An opened table: its column names and its columns as they were given."""

    names: tuple[str, ...]
    columns: Sequence[Any]  # narwhals series, one-dimensional arrays, lists, or columns of a Frame
    n_rows: int
    named: bool
    matrix: np.ndarray | None = None  # set when all columns are the columns of one array of numbers
    sparse: SparseValues | None = None  # set when they are those of a sparse matrix

    def read(self, place: int, wanted: Kind | None) -> Coded:
        """One column, read by its own type."""
        return read_any(self.names[place], self.columns[place], wanted)


def read_any(name: str, column: Any, wanted: Kind | None) -> Coded:
    """Read a column of whichever library."""
    if isinstance(column, tuple) and isinstance(column[0], Frame):
        frame, own_name = column
        return read_frame_column(frame, own_name, wanted)
    if isinstance(column, np.ndarray | list):
        return read_values(name, column, wanted)
    from treewright.table.dataframe import read_series

    return read_series(name, column, wanted)


def open_source(X: Any) -> Source:
    """Open any table: frames, arrays, dicts of columns, lists of rows."""
    source = _open(X)
    shape = (source.n_rows, len(source.names))
    if not source.names:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if not source.n_rows:
        raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    return source


def _open(X: Any) -> Source:
    if isinstance(X, Frame):
        return Source(tuple(X.columns), [(X, name) for name in X.columns], len(X), named=True)
    if isinstance(X, np.ndarray):
        return _open_array(X)
    if is_sparse(X):
        return _open_sparse(X)
    if X is None or isinstance(X, str | bytes | int | float | complex | np.generic):
        raise ValueError(f"X must be a table of rows and columns, not {X!r}. Reshape your data, e.g. [[value]]")
    if isinstance(X, Mapping):
        return _open_mapping(X)
    if isinstance(X, list | tuple):
        return _open_rows(X)
    return _open_foreign(X)


def _open_foreign(X: Any) -> Source:
    """Frames that narwhals knows, then anything that can become an array."""
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(lift(X), pass_through=True, allow_series=True)
        if isinstance(frame, nw.LazyFrame):
            frame = _collect(frame)
        if isinstance(frame, nw.DataFrame):
            return _name_columns(frame.columns, list(frame.iter_columns()), len(frame))
    except nw.exceptions.DuplicateError:
        # An arrow table's `columns` are its values.
        raise _duplicate_error([str(name) for name in getattr(X, "column_names", X.columns)]) from None
    if isinstance(frame, nw.Series):
        raise ValueError(f"{_RESHAPE}; for one column of a frame use X[['name']]")
    if not hasattr(X, "__array__"):
        raise TypeError(
            f"X is a {type(X).__name__}, which is no table; give a pandas, polars or arrow frame, "
            "a NumPy array, a dict of columns or a list of rows"
        )
    return _open_array(np.asarray(X))


def _collect(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    try:
        return frame.collect()
    except Exception as error:  # each library has errors of its own
        raise ValueError(f"the lazy frame cannot be collected: {str(error).splitlines()[0]}") from error


def lift(values: Any) -> Any:
    """Arrays and batches of arrow and pandas, which narwhals does not know, as series and frames."""
    if type(values).__module__.startswith("narwhals"):
        return values.to_native()
    arrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    if arrow is not None and isinstance(values, arrow.RecordBatch):
        return arrow.Table.from_batches([values])
    if arrow is not None and isinstance(values, arrow.Array):
        return arrow.chunked_array([values])
    if pandas is not None and isinstance(values, pandas.Index | pandas.api.extensions.ExtensionArray):
        return pandas.Series(values)
    return values


def _open_array(X: np.ndarray) -> Source:
    if X.dtype.names is not None:
        flat = X.ravel()
        return _name_columns(X.dtype.names, [flat[name] for name in X.dtype.names], len(flat))
    if X.ndim < 2:
        raise ValueError(_RESHAPE)
    if X.ndim > 2:
        raise ValueError(f"Found array with dim {X.ndim}, while dim <= 2 is required for a table")
    if X.dtype.kind == "c":
        raise complex_error("x0")
    X = _without_mask(X)
    names = tuple(f"x{place}" for place in range(X.shape[1]))
    matrix = X if X.dtype.kind in "iuf" else None
    return Source(names, list(X.T), len(X), named=False, matrix=matrix)


def _open_sparse(X: Any) -> Source:
    if len(X.shape) != 2:
        raise ValueError(_RESHAPE)
    values = SparseValues.of(X)
    n_rows, n_columns = values.shape
    names = tuple(f"x{place}" for place in range(n_columns))
    return Source(names, DenseColumns(values), n_rows, named=False, sparse=values)


def _without_mask(X: np.ndarray) -> np.ndarray:
    if not isinstance(X, np.ma.MaskedArray):
        return np.asarray(X)
    if X.dtype.kind in "iuf":
        return np.ma.filled(X.astype(np.float64), np.nan)
    return np.ma.filled(X.astype(object), None)


def _open_mapping(X: Mapping[Any, Any]) -> Source:
    columns = [_open_column(name, values) for name, values in X.items()]
    lengths = {str(name): len(column) for name, column in zip(X, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {length}" for name, length in list(lengths.items())[:4])
        raise ValueError(f"the columns differ in length: {shown}; every column needs one value per row")
    return _name_columns(list(X), columns, next(iter(lengths.values()), 0))


def _open_column(name: object, values: Any) -> Any:
    """One value of a dict as a column: an array, a series or a list."""
    if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__len__"):
        raise ValueError(
            f"column {name!r} is no list of values; give one list per column, or wrap a single row as [row]"
        )
    if isinstance(values, list | tuple):
        return list(values)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"column {name!r} has {values.ndim} dimensions; give one list of values per column")
        return _without_mask(values)
    import narwhals.stable.v2 as nw

    series = nw.from_native(lift(values), pass_through=True, series_only=True)
    return series if isinstance(series, nw.Series) else list(values)


def _open_rows(rows: Sequence[Any]) -> Source:
    """A list of dicts, or a list of rows."""
    if not rows:
        raise ValueError("Found array with 0 sample(s) (shape=(0, 0)) while a minimum of 1 is required.")
    if all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _name_columns(names, [[row.get(name) for row in rows] for name in names], len(rows))
    if any(isinstance(row, str | bytes | Mapping) or not hasattr(row, "__len__") for row in rows):
        raise ValueError(_RESHAPE)
    width = len(rows[0])
    ragged = next((place for place, row in enumerate(rows) if len(row) != width), None)
    if ragged is not None:
        raise ValueError(
            f"row {ragged} has {len(rows[ragged])} values where row 0 has {width}; every row needs the same columns"
        )
    columns = [list(column) for column in zip(*rows, strict=True)]
    if any(isinstance(cell, list | tuple | np.ndarray) for row in rows[:1] for cell in row):
        return _open_array(np.asarray(rows, dtype=object))
    return Source(tuple(f"x{place}" for place in range(width)), columns, len(rows), named=False)


def _name_columns(names: Sequence[Any], columns: Sequence[Any], n_rows: int) -> Source:
    """Keep the user's names when all are text, as scikit-learn does; number the columns when none is."""
    is_text = [isinstance(name, str) for name in names]
    nameless = [place for place, name in enumerate(names) if is_missing(name) or name == ""]
    if nameless:
        raise ValueError(f"column {nameless[0]} of {len(names)} has no name; name every column")
    if any(is_text) and not all(is_text):
        types = sorted({type(name).__name__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, "
            f"but your input has {types} as column name types; make them all text"
        )
    if not all(is_text):
        return Source(tuple(f"x{place}" for place in range(len(names))), columns, n_rows, named=False)
    if len(set(names)) < len(names):
        raise _duplicate_error(names)
    return Source(tuple(str(name) for name in names), columns, n_rows, named=bool(names))


def _duplicate_error(names: Sequence[str]) -> ValueError:
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    return ValueError(f"the column names {some(repeated)} occur more than once; name every column differently")
