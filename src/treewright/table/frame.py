"""Tables as learners read them: columns by kind, values as one matrix of numbers and category indices."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.table.categories import some
from treewright.table.column import Column, Kind, Unit
from treewright.table.convert import as_kind, match
from treewright.table.source import Source, open_source
from treewright.table.user_warnings import warn_user

ColumnList = Sequence[str] | Sequence[int] | Sequence[bool] | np.ndarray | str | None
"""Columns by name or by position, a boolean mask, "all", or None."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table as learners read it.

    Parameters
    ----------
    columns : tuple of Column
        What each column is.
    values : ndarray of float64, shape (n_rows, n_columns), column after column in memory
        Numbers; the index of the category in categorical and ordered columns; NaN where missing. May share
        memory with the input, so it must not be written to. `SparseValues` for a sparse matrix, if they are kept.
    named : bool
        Whether the names are the user's own; otherwise columns are called x0, x1, ...

    >>> table = read_frame([[1, "a"], [2, "b"]])
    >>> [column.name for column in table.columns], table.named
    (['x0', 'x1'], False)
    """

    columns: tuple[Column, ...]
    values: np.ndarray
    named: bool


def read_frame(
    X: Any,
    *,
    categorical_features: ColumnList = None,
    numeric_features: ColumnList = None,
    by_column: bool = True,
    keep_sparse: bool = False,
) -> Table:
    """Read any table: a pandas, polars or arrow frame, an array, a sparse matrix, a dict of columns, a list of rows.

    Numbers, dates and durations are numeric; text, booleans and categoricals are categorical; an ordered
    categorical is ordered. None, NaN, NaT and NA are missing.

    Parameters
    ----------
    X : table
        The input is never changed.
    categorical_features, numeric_features : list of names or positions, boolean mask, "all" or None
        Columns that are treated as categorical, such as numeric codes, or as numeric, such as numbers stored as text.
    by_column : bool, default=True
        Whether the values are stored column after column. If not, a matrix of numbers keeps its layout and precision,
        which saves a copy.
    keep_sparse : bool, default=False
        Whether the values of a sparse matrix of numbers stay sparse.

    >>> table = read_frame({"size": ["L", "S", None], "price": [3, 1.5, 2]})
    >>> [str(column.kind) for column in table.columns]
    ['categorical', 'numeric']
    >>> table.values
    array([[0. , 3. ],
           [1. , 1.5],
           [nan, 2. ]])
    """
    source = open_source(X)
    wanted = declared_kinds(source.names, categorical_features, numeric_features, named=source.named)
    if source.matrix is not None and Kind.CATEGORICAL not in wanted:
        columns = tuple(Column(name, Kind.NUMERIC) for name in source.names)
        is_real = source.matrix.dtype in (np.float64, np.float32)
        as_is = is_real and not by_column and source.matrix.dtype.isnative
        values = source.matrix if as_is else np.asfortranarray(source.matrix, dtype=np.float64)
        return Table(columns, values, source.named)
    if source.sparse is not None and keep_sparse and Kind.CATEGORICAL not in wanted:
        # The annotation is that of nearly all tables; learners that keep sparse values ask for them.
        kept: Any = source.sparse
        return Table(tuple(Column(name, Kind.NUMERIC) for name in source.names), kept, source.named)
    values = np.empty((source.n_rows, len(source.names)), order="F")
    read = []
    for place, kind in enumerate(wanted):
        column, values[:, place] = as_kind(source.read(place, kind), kind)
        read.append(column if kind or not is_empty(values[:, place]) else column_of_nothing(column))
    return Table(tuple(read), values, source.named)


def is_empty(values: np.ndarray) -> bool:
    return bool(np.isnan(values[0]) and np.isnan(values).all())


def column_of_nothing(column: Column) -> Column:
    """A column without any value: a tree cannot split on it, so new rows may have any type there."""
    return replace(column, unit=Unit.UNKNOWN) if column.is_numeric else column


def read_like(
    X: Any,
    columns: tuple[Column, ...],
    *,
    named: bool,
    learner: str = "this model",
    numeric_features: ColumnList = None,
    keep_sparse: bool = False,
) -> Any:
    """Read a new table in the terms of the columns that a model learned from.

    Columns are found by name when the model knows names and the table has them, else by position.

    Parameters
    ----------
    X : table
        Columns beyond those learned are ignored when names are known.
    columns : tuple of Column
        The columns of the training table.
    named : bool
        Whether the training table had names.
    learner : str, default="this model"
        What messages call the model.
    numeric_features : list of names or positions, boolean mask, "all" or None
        As in training: learned columns whose text is to be parsed as numbers.
    keep_sparse : bool, default=False
        Whether the values of a sparse matrix of numbers stay sparse.

    Returns
    -------
    ndarray of float64, shape (n_rows, n_columns), row after row in memory; or `SparseValues`
        NaN where missing, -1 for a category that was not there in training.

    >>> table = read_frame({"size": ["L", "S"], "price": [3, 1.5]})
    >>> read_like([{"price": 9, "size": "XL"}], table.columns, named=True)
    array([[-1.,  9.]])
    """
    source = open_source(X)
    places = _places(source, columns, named=named, learner=learner)
    if source.matrix is not None and all(column.is_plain for column in columns):
        return _in_rows(source.matrix)
    if source.sparse is not None and keep_sparse and all(column.is_plain for column in columns):
        return source.sparse
    parsed = chosen_columns("numeric_features", numeric_features, tuple(column.name for column in columns))
    values = np.empty((source.n_rows, len(columns)))
    for j, (column, place) in enumerate(zip(columns, places, strict=True)):
        wanted = Kind.NUMERIC if j in parsed else None if column.is_numeric else Kind.CATEGORICAL
        coded = source.read(place, wanted)
        values[:, j] = match(column, as_kind(coded, wanted) if j in parsed else coded)
    return values


def matrix_of(X: Any, names: Sequence[str] | None, n_columns: int) -> np.ndarray | None:
    """Return a table as a matrix of numbers if it is one already, without reading it column by column; else None.

    It is a NumPy array of float64 if the model knows no names, or a pandas frame with exactly the columns `names`, in
    this order, whose common type is float64.

    >>> matrix_of(np.zeros((1, 2)), None, 2)
    array([[0., 0.]])
    >>> matrix_of(np.zeros((1, 2)), None, 3) is None, matrix_of(np.zeros((1, 2)), ["a", "b"], 2) is None
    (True, True)
    """
    if names is not None:
        pandas = sys.modules.get("pandas")
        if pandas is None or type(X) is not pandas.DataFrame:
            return None
        if len(X.columns) != n_columns or X.columns.tolist() != names:
            return None
        X = X.to_numpy()
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or X.shape[1] != n_columns or not len(X):
        return None
    return _in_rows(X)


def _in_rows(matrix: np.ndarray) -> np.ndarray:
    """A matrix as float64, row after row in aligned memory, as machine code needs it; a copy only if it is not."""
    return np.require(matrix, np.float64, ["C", "A"])


def _places(source: Source, columns: tuple[Column, ...], *, named: bool, learner: str) -> Sequence[int]:
    """The position of each training column in the new table."""
    if named and source.named:
        place = {name: place for place, name in enumerate(source.names)}
        absent = [column.name for column in columns if column.name not in place]
        if absent:
            raise ValueError(f"X lacks columns that {learner} was trained on: {some(absent, most=10)}")
        return [place[column.name] for column in columns]
    if named:
        warn_user(f"X does not have valid feature names, but {learner} was fitted with feature names")
    if source.named:
        warn_user(f"X has feature names, but {learner} was fitted without feature names")
    if len(source.names) != len(columns):
        raise ValueError(
            f"X has {len(source.names)} features, but {learner} is expecting {len(columns)} features as input"
        )
    return range(len(columns))


def declared_kinds(
    names: tuple[str, ...], categorical: ColumnList, numeric: ColumnList, *, named: bool = True
) -> list[Kind | None]:
    """The kind that the user declared for each column, None where the type decides.

    The names of a table that has none (`named` is False) are only known to this library.
    """
    as_categories = chosen_columns("categorical_features", categorical, names, named=named)
    as_numbers = chosen_columns("numeric_features", numeric, names, named=named)
    both = sorted(as_categories & as_numbers)
    if both:
        raise ValueError(
            f"column {names[both[0]]!r} is in categorical_features and in numeric_features; declare it in one of them"
        )
    kinds: list[Kind | None] = [None] * len(names)
    for place in as_categories:
        kinds[place] = Kind.CATEGORICAL
    for place in as_numbers:
        kinds[place] = Kind.NUMERIC
    return kinds


def chosen_columns(option: str, chosen: ColumnList, names: tuple[str, ...], *, named: bool = True) -> set[int]:
    """The positions of the columns that an option names."""
    # Types always decide here; scikit-learn has a word for it.
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return set()
    if isinstance(chosen, str):
        if chosen == "all":
            return set(range(len(names)))
        raise ValueError(f'{option} must be a list of columns or "all"; did you mean [{chosen!r}]?')
    if not isinstance(chosen, Iterable):
        raise ValueError(f'{option} must be a list of columns or "all", not {chosen!r}')
    items = list(chosen)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != len(names):
            raise ValueError(
                f"{option} set as a boolean mask must have shape (n_features,), one entry for each of the {len(names)} "
                f"columns, but it has {len(items)}"
            )
        return {place for place, item in enumerate(items) if item}
    if not all(isinstance(item, str | int | np.integer) and not isinstance(item, bool) for item in items):
        raise ValueError(
            f"{option} must be an array-like of bool, int or str, got: {_types_of(items)}. Give one type only"
        )
    return {_position(option, item, names, named) for item in items}


def _types_of(items: list[Any]) -> str:
    """The types of the items, as NumPy names them if it has one for all."""
    dtype = np.asarray(items).dtype if len({type(item) for item in items}) == 1 else np.dtype(object)
    return dtype.name if dtype.kind != "O" else ", ".join(sorted({type(item).__name__ for item in items}))


def _position(option: str, item: Any, names: tuple[str, ...], named: bool) -> int:
    if isinstance(item, str):
        if item not in names and not named:
            raise ValueError(
                f"{option} should be passed as an array of integers or as a boolean mask when the model is fitted on "
                f"data without feature names. It has the name {item!r}"
            )
        if item not in names:
            raise ValueError(
                f"{option} has an item value {item!r} which is not a valid feature name of the training data. "
                f"The columns are {some(names, most=8)}"
            )
        return names.index(item)
    if not -len(names) <= item < len(names):
        raise ValueError(
            f"{option} set as integer indices must be in [0, n_features - 1], but it has {item}, and there are "
            f"{len(names)} columns"
        )
    return int(item) % len(names)
