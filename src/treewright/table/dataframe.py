"""One column of a pandas, polars or arrow frame, read through narwhals as numbers or category indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.table.categories import BOOLEANS, is_missing, tidy_categories
from treewright.table.cells import Coded, read_values, read_zoned
from treewright.table.column import Column, Kind

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def read_series(name: str, series: nw.Series[Any], wanted: Kind | None = None) -> Coded:
    """Read one series by its data type; object columns by the types of their values."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype == nw.Float64:
        return Column(name, Kind.NUMERIC), series.to_numpy()
    if dtype.is_integer() and not series.null_count() and dtype not in (nw.Int128, nw.UInt128):
        return read_values(name, series.to_numpy(), wanted)
    if dtype.is_integer() and wanted is Kind.CATEGORICAL:
        return read_values(name, series.to_list(), wanted)
    if dtype.is_numeric():
        return Column(name, Kind.NUMERIC), _as_floats(series)
    if dtype == nw.Boolean:
        return Column(name, Kind.CATEGORICAL, BOOLEANS), series.cast(nw.Float64).to_numpy()
    if dtype in (nw.Categorical, nw.Enum):
        return _read_categorical(name, series)
    if dtype == nw.String:
        return _read_text(name, series)
    if dtype == nw.Date:
        return read_values(name, series.cast(nw.Datetime("us")).to_numpy().astype("M8[D]"))
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        return read_zoned(name, _in_utc(series))
    if dtype in (nw.Datetime, nw.Duration):
        return read_values(name, series.to_numpy())
    values = series.to_numpy()
    return read_values(name, values if values.dtype.kind == "c" else series.to_list(), wanted)


def _in_utc(series: nw.Series[Any]) -> np.ndarray:
    return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()


def _as_floats(series: nw.Series[Any]) -> np.ndarray:
    import narwhals.stable.v2 as nw

    try:
        # Arrow does not round a decimal to the nearest float.
        if not isinstance(series.dtype, nw.Decimal):
            return series.cast(nw.Float64).to_numpy()
    except (ValueError, OverflowError):
        pass  # Arrow refuses whole numbers above 2**53, which a float can only come near to
    return np.array([np.nan if is_missing(value) else float(value) for value in series.to_list()])


def is_declared(series: nw.Series[Any]) -> bool:
    """Whether the list of categories is part of the column's type and so the user's own."""
    import narwhals.stable.v2 as nw

    if series.dtype == nw.Enum:
        return True
    # The categories of a polars Categorical are whatever text the process has seen, not a declaration.
    return series.dtype == nw.Categorical and not series.implementation.is_polars()


def _read_text(name: str, series: nw.Series[Any]) -> Coded:
    categories, indices = _number_text(series)
    if not categories:
        return Column(name, Kind.NUMERIC), indices
    return Column(name, Kind.CATEGORICAL, categories), indices


def _number_text(series: nw.Series[Any]) -> tuple[tuple[object, ...], np.ndarray]:
    """Index every text by first appearance."""
    import narwhals.stable.v2 as nw

    if series.implementation.is_pandas_like():
        # Ten times faster than replace_strict, which joins two frames in pandas.
        codes, words = series.to_native().factorize()
        return tidy_categories(words, _with_missing(codes))
    if str(getattr(series.to_native(), "type", "")) == "string_view":
        series = series.cast(nw.String)  # arrow has few kernels for string views
    known = series.drop_nulls()
    words = known.unique(maintain_order=True).to_list()
    indices = np.full(len(series), np.nan)
    if words:
        places = known.replace_strict(words, list(range(len(words))), return_dtype=nw.Float64)
        indices[~series.is_null().to_numpy()] = places.to_numpy()
    return tidy_categories(words, indices)


def _read_categorical(name: str, series: nw.Series[Any]) -> Coded:
    import narwhals.stable.v2 as nw

    if not is_declared(series):
        return _read_text(name, series.cast(nw.String))
    codes, categories, is_ordered = _declared_codes(series)
    plain, indices = tidy_categories(categories, codes)
    return Column(name, Kind.ORDERED if is_ordered else Kind.CATEGORICAL, plain), indices


def _declared_codes(series: nw.Series[Any]) -> tuple[np.ndarray, list[Any], bool]:
    """Row codes, categories in declared order, and whether that order has a meaning."""
    native = series.to_native()
    is_pandas = series.implementation.is_pandas_like()
    if is_pandas and hasattr(native.dtype, "pyarrow_dtype"):
        native, is_pandas = native.array.__arrow_array__(), False
    if is_pandas:
        return (
            _with_missing(native.cat.codes.to_numpy()),
            native.cat.categories.tolist(),
            bool(native.cat.ordered),
        )
    if not series.implementation.is_polars():
        whole = native.unify_dictionaries().combine_chunks()
        codes = whole.indices.cast("float64").to_numpy(zero_copy_only=False)
        return codes, whole.dictionary.to_pylist(), bool(native.type.ordered)
    codes = native.to_physical().cast(float).to_numpy()
    return codes, native.dtype.categories.to_list(), False


def _with_missing(codes: np.ndarray) -> np.ndarray:
    """Codes as floats, with pandas' -1 as missing."""
    indices = codes.astype(np.float64)
    indices[indices < 0] = np.nan
    return indices
