"""Targets: the column that a model learns to predict, as class codes or as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.table.argument_error import ArgumentError
from treewright.table.categories import number_cells, some, which_missing
from treewright.table.cells import complex_error
from treewright.table.column import Column, Kind, Unit
from treewright.table.plain_frame import Domain, Frame, NamedColumn, as_array
from treewright.table.source import lift, read_any
from treewright.table.user_warnings import warn_user


def read_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class codes and the sorted classes they refer to.

    >>> codes, classes = read_classes(["yes", "no", "yes"])
    >>> codes, classes.tolist()
    (array([1, 0, 1]), ['no', 'yes'])
    """
    labels = _read_labels(y)
    if labels.dtype.kind == "O":
        return _number_objects(labels)
    if labels.dtype.kind == "U":
        codes, classes = _number_objects(labels)
        return codes, classes.astype(labels.dtype)
    from sklearn.utils.multiclass import check_classification_targets

    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int64), classes


def declared_classes(y: Any) -> tuple[Any, ...] | None:
    """The classes that a target declares, in their order and be they seen or not; None if it declares none.

    A categorical column of a frame library declares its categories, and so does a nominal attribute of an ARFF file.

    >>> declared_classes(["yes", "no"]) is None
    True
    """
    domain = getattr(y, "domain", None)
    if domain is not None:
        return tuple(domain.categories)
    names = getattr(y, "columns", None)
    if names is not None and len(names) == 1 and hasattr(y, "__getitem__"):
        return declared_classes(y[names[0]])
    dtype = getattr(y, "dtype", None)
    # A categorical of pandas and an Enum of polars; polars' Categorical lists the categories of the whole process.
    if dtype is None or type(dtype).__name__ not in ("CategoricalDtype", "Enum"):
        return None
    categories = dtype.categories
    return None if categories is None else tuple(categories.tolist() if hasattr(categories, "tolist") else categories)


def has_label(y: Any) -> np.ndarray | None:
    """Which rows of a target of text or objects have a label; None if all have, or labels are numbers.

    >>> has_label(["yes", None, "no"]).tolist()
    [True, False, True]
    """
    values = _open_target(y)
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return None
    cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if not any(isinstance(cell, str) for cell in cells):
        return None
    known = ~which_missing(cells)
    return None if known.all() else known


def count_rows(y: Any) -> int:
    """The number of values of a target.

    >>> count_rows(["yes", None, "no"])
    3
    """
    return len(_open_target(y))


def take_rows(y: Any, rows: np.ndarray) -> NamedColumn:
    """Some rows of a target, with its name and the classes it declares.

    >>> take_rows(["yes", None, "no"], np.array([0, 2])).tolist()
    ['yes', 'no']
    """
    values = _open_target(y)
    cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
    declared = declared_classes(y)
    column = as_array([cells[row] for row in rows.tolist()])
    return NamedColumn.of(target_name(y), column, None if declared is None else Domain(declared))


def read_numbers(y: Any) -> np.ndarray:
    """The target as numbers; booleans count as 0 and 1.

    >>> read_numbers([3, 1.5])
    array([3. , 1.5])
    """
    labels = _read_labels(y)
    if labels.dtype.kind in "iufb":
        return np.ascontiguousarray(labels, dtype=np.float64)
    if labels.dtype.kind == "M":
        raise ValueError("the target holds dates, but numbers are needed; give e.g. the days since a fixed date")
    words = some(list(dict.fromkeys(labels.tolist())))
    raise ValueError(f"the target is text ({words}), but numbers are needed; use a classifier for classes")


def split_target(y: Any) -> list[tuple[str, Any]] | None:
    """The columns of a target with two columns or more, each with a name; None for a target of one.

    >>> [name for name, _ in split_target([[1, 2], [3, 4]])]
    ['y0', 'y1']
    >>> split_target([1, 2]) is None
    True
    """
    if isinstance(y, list | tuple) and any(isinstance(row, list | tuple | np.ndarray) for row in y):
        lengths = {len(row) if hasattr(row, "__len__") else 1 for row in y}
        if len(lengths) > 1:
            raise ValueError(
                f"y has rows of {min(lengths)} and of {max(lengths)} values; give each row as many targets"
            )
        y = np.asarray(y)
    if isinstance(y, np.ndarray):
        return [(f"y{place}", y[:, place]) for place in range(y.shape[1])] if y.ndim == 2 and y.shape[1] > 1 else None
    names = list(getattr(y, "column_names", getattr(y, "columns", ())))
    if len(names) < 2 or not hasattr(y, "__getitem__"):
        return None
    return [(str(name), y[name]) for name in names]


def target_name(y: Any) -> str:
    """What to call the target: the name of a series or of the only column of a frame, else "target".

    >>> target_name([1, 2])
    'target'
    """
    # An arrow table keeps its names in column_names, and its columns themselves in columns.
    names = list(getattr(y, "column_names", getattr(y, "columns", ())))
    name = names[0] if len(names) == 1 else getattr(y, "name", None)
    return name if isinstance(name, str) and name else "target"


def _read_labels(y: Any) -> np.ndarray:
    """One label per row in the user's own type, none of them missing."""
    values = _open_target(y)
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iufb":
        values = _read_typed(values)
    if values.dtype.kind == "f":
        _refuse_missing(values)
        if np.isinf(values).any():
            raise ValueError("Input y contains infinity: the target must be finite; drop those rows or cap them")
    return values


def _open_target(y: Any) -> Any:
    """The target as an array of one dimension, a list, or a narwhals series."""
    if y is None:
        raise ValueError("learning requires y to be passed, but the target y is None")
    if isinstance(y, Frame) and y.shape[1] == 1:
        return y[y.columns[0]]
    if isinstance(y, np.ndarray):
        return _one_dimension(y)
    if isinstance(y, list | tuple):
        is_nested = any(isinstance(row, list | tuple | np.ndarray) for row in y)
        return _one_dimension(np.asarray(y)) if is_nested else _labels_of_list(list(y))
    if isinstance(y, str | bytes | int | float | dict | Frame):
        raise ValueError(f"y should be a 1d array with one label per row, not a {type(y).__name__}")
    return _open_foreign(y)


def _open_foreign(y: Any) -> Any:
    import narwhals.stable.v2 as nw

    native = nw.from_native(lift(y), pass_through=True, allow_series=True)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, nw.DataFrame):
        if native.shape[1] != 1:
            raise ValueError(f"y should be a 1d array, got a frame of {native.shape[1]} columns instead")
        native = next(native.iter_columns())
    if isinstance(native, nw.Series):
        has_missing = native.null_count() > 0
        return native.to_numpy() if native.dtype.is_integer() and not has_missing else native
    if hasattr(y, "toarray"):
        raise ArgumentError(
            "y is sparse: sparse multilabel-indicator for y is not supported; convert it with y.toarray()"
        )
    if hasattr(y, "__array__"):
        return _one_dimension(np.asarray(y))
    raise ValueError(f"y should be a 1d array with one label per row, not a {type(y).__name__}")


def _one_dimension(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "c":
        raise complex_error("target")
    if isinstance(y, np.ma.MaskedArray):
        y = np.ma.filled(y.astype(object), None)
    if y.ndim == 2 and y.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn_user(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
            "for example using ravel().",
            DataConversionWarning,
        )
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    return np.asarray(y)


def _labels_of_list(cells: list[Any]) -> Any:
    """A list as NumPy would convert it, but without turning numbers into text."""
    is_text = bool(cells) and all(isinstance(cell, str) for cell in cells)
    return np.array(cells) if is_text else cells


def _read_typed(values: Any) -> np.ndarray:
    """Labels whose type must be looked up first: text, objects, dates, and series."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "U":
        return values
    if isinstance(values, np.ndarray | list):
        values = as_array([x.item() if isinstance(x, np.generic) else x for x in list(values)])
        if values.dtype.kind in "iufb":
            return values
    column, coded = read_any("target", values, Kind.CATEGORICAL)
    if column.is_numeric and column.unit is Unit.PLAIN:
        return coded
    _refuse_missing(coded, is_float=False)
    return _decode(column, coded)


def _decode(column: Column, values: np.ndarray) -> np.ndarray:
    if column.is_numeric:
        return values.astype(np.int64).astype("M8[D]" if column.unit is Unit.DATE else "M8[us]")
    return as_array(column.categories)[values.astype(np.intp)]


def _number_objects(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Text labels: number the distinct ones, then sort those few."""
    distinct, codes = number_cells(labels.tolist())
    classes: list[Any] = list(distinct)
    try:
        order = sorted(range(len(classes)), key=lambda place: classes[place])
    except TypeError:
        raise ValueError(f"the target mixes text and numbers ({some(classes)}); give labels of one type") from None
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    sorted_classes = np.empty(len(order), dtype=object)
    sorted_classes[:] = [classes[place] for place in order]
    return rank[codes.astype(np.intp)], sorted_classes


def _refuse_missing(values: np.ndarray, *, is_float: bool = True) -> None:
    rows = np.flatnonzero(np.isnan(values))
    if not len(rows):
        return
    plural = "values (rows" if len(rows) > 1 else "value (row"
    found = f"the target has {len(rows)} missing {plural} {some(rows.tolist(), most=8)})"
    raise ValueError(f"{'Input y contains NaN: ' if is_float else ''}{found}; drop those rows, or give their values")
