"""One row in any form as a table of one row that a model can read."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.parameters import parameter_error
from treewright.table.categories import some
from treewright.table.source import open_source


def check_model(model: Any) -> None:
    """Raise an error unless this is a fitted classifier or regressor of the library."""
    if isinstance(model, type) or type(model).__module__.split(".")[0] != "treewright" or not hasattr(model, "predict"):
        raise parameter_error("model", model, "a fitted classifier or regressor of treewright")
    check_is_fitted(model)


def names_of_columns(model: Any) -> tuple[str, ...]:
    """The columns that a model was fitted to, x0, x1, ... if they had no names."""
    names = getattr(model, "feature_names_in_", None)
    return tuple(map(str, names)) if names is not None else tuple(f"x{k}" for k in range(model.n_features_in_))


def open_row(model: Any, row: Any) -> Any:
    """A table of one row, given a dict, a one-row table, or the values in the order of the columns.

    >>> from treewright import DecisionStumpClassifier
    >>> model = DecisionStumpClassifier().fit({"size": [1, 2, 3, 4]}, ["a", "a", "b", "b"])
    >>> open_row(model, [3]), open_row(model, {"size": 3})
    ([{'size': 3}], [{'size': 3}])
    """
    names, named = names_of_columns(model), hasattr(model, "feature_names_in_")
    row = _plain(row)
    if isinstance(row, Mapping):
        return _one_mapping(row, names, named)
    if isinstance(row, list):
        if len(row) != len(names):
            raise ValueError(
                f"row has {len(row)} values, and the model has {len(names)} columns: {some(names, most=8)}"
            )
        return [dict(zip(names, row, strict=True))] if named else [row]
    n_rows = open_source(row).n_rows
    if n_rows != 1:
        raise ValueError(f"row has {n_rows} rows; give one row, such as X[:1]")
    return row


def _plain(row: Any) -> Any:
    """A row of an array or of a pandas frame, or a list of one row, as a list or a mapping; else what it is."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(row, pandas.Series):
        return {str(name): value for name, value in row.items()}
    if isinstance(row, np.ndarray):
        if row.dtype.names is not None:
            return row if row.ndim else {name: row[name].item() for name in row.dtype.names}
        if row.ndim == 1 or (row.ndim == 2 and len(row) == 1):
            return row.ravel().tolist()
        return row
    if isinstance(row, np.void) and row.dtype.names is not None:
        return {name: row[name].item() for name in row.dtype.names}
    if isinstance(row, list | tuple):
        if len(row) == 1 and isinstance(row[0], Mapping | list | tuple | np.ndarray):
            return _plain(row[0])
        if row and isinstance(row[0], Mapping | list | tuple):
            return row
        return list(row)
    return row


def _one_mapping(row: Mapping[Any, Any], names: tuple[str, ...], named: bool) -> Any:
    """A row as a mapping of column to value; a mapping of columns to lists of one value is the same row."""
    if row and all(isinstance(value, list | tuple | np.ndarray) for value in row.values()):
        lengths = {len(value) for value in row.values()}
        if lengths != {1}:
            raise ValueError(f"row has {max(lengths)} rows; give one row, a value for each column")
        row = {name: value[0] for name, value in row.items()}
    given = {str(name): value for name, value in row.items()}
    absent = [name for name in names if name not in given]
    if absent:
        raise ValueError(
            f"row lacks columns that the model was trained on: {some(absent, most=10)}; give None if missing"
        )
    chosen = {name: given[name] for name in names}
    return [chosen] if named else [list(chosen.values())]


def value_of(table: Any, place: int) -> Any:
    """The value of a table of one row in one column, as the user gave it."""
    source = open_source(table)
    return source.columns[place][0] if isinstance(source.columns[place], list | np.ndarray) else None
