"""Taking some rows and some columns of a table, whatever library it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treewright.table import Frame
from treewright.table.frame import read_frame
from treewright.table.source import lift
from treewright.table.sparse import is_sparse


def open_table(X: Any) -> Any:
    """The table in a form whose rows and columns can be taken: an array, a frame, or a list of rows.

    >>> open_table([{"size": "S"}, {"size": "L"}]).to_dict()
    {'size': ['S', 'L']}
    """
    X = open_rows(X)
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(object), None)
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        return Frame({name: X[name].ravel() for name in X.dtype.names})
    if isinstance(X, list | tuple) and isinstance(X[0], Mapping):
        return Frame({str(name): [row.get(name) for row in X] for name in dict.fromkeys(n for row in X for n in row)})
    return X


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """The rows at these places, in this order.

    >>> take_rows([["S", 1], ["L", 2]], np.array([1, 1]))
    [['L', 2], ['L', 2]]
    """
    frame = _as_frame(X)
    if frame is not None:
        return frame[rows].to_native()
    return X[rows] if isinstance(X, np.ndarray | Frame) or is_sparse(X) else [X[row] for row in rows.tolist()]


def take_columns(X: Any, places: np.ndarray) -> Any:
    """The columns at these places; a column that is named twice is there twice, under another name.

    >>> take_columns(np.array([[1, 2], [3, 4]]), np.array([1])).tolist()
    [[2], [4]]
    >>> take_columns(Frame({"size": [1], "price": [2]}), np.array([1, 1])).to_dict()
    {'price': [2], 'price_2': [2]}
    """
    if isinstance(X, np.ndarray) or is_sparse(X):
        return X[:, places]
    names = names_of(X)
    if names is None:
        return [[row[place] for place in places.tolist()] for row in X]
    new_names = [names[place] for place in places.tolist()]
    if len(set(new_names)) < len(new_names):
        new_names = distinct_names([str(name) for name in new_names])
    if isinstance(X, Frame):
        pairs = [(new, names[place]) for new, place in zip(new_names, places.tolist(), strict=True)]
        return Frame(
            {new: X[old] for new, old in pairs}, {new: X.domains[old] for new, old in pairs if old in X.domains}
        )
    frame = _as_frame(X)
    columns = [frame[:, place].alias(new) for new, place in zip(new_names, places.tolist(), strict=True)]
    return frame.select(*columns).to_native()


def shuffle_column(X: Any, place: int, order: np.ndarray) -> Any:
    """The table with the values of one column in another order.

    >>> shuffle_column([["S", 1], ["L", 2]], 1, np.array([1, 0]))
    [['S', 2], ['L', 1]]
    """
    if isinstance(X, np.ndarray):
        shuffled = X.copy()
        shuffled[:, place] = X[order, place]
        return shuffled
    if is_sparse(X):
        by_column = X.tolil()
        by_column[:, [place]] = X[order][:, [place]]
        return by_column.tocsr()
    names = names_of(X)
    if names is None:
        return [
            [*row[:place], X[other][place], *row[place + 1 :]] for row, other in zip(X, order.tolist(), strict=True)
        ]
    if isinstance(X, Frame):
        columns = {name: X[name][order] if name == names[place] else X[name] for name in names}
        return Frame(columns, X.domains)
    frame = _as_frame(X)
    return frame.with_columns(frame[:, place][order].alias(names[place])).to_native()


def names_of(X: Any) -> list[Any] | None:
    """The names of the columns as the table has them; None for arrays and lists of rows."""
    if isinstance(X, Frame):
        return list(X.columns)
    frame = _as_frame(X)
    return None if frame is None else list(frame.columns)


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, those that are there a second time with a number.

    >>> distinct_names(["size", "size", "price"])
    ['size', 'size_2', 'price']
    """
    chosen: list[str] = []
    for name in names:
        new, copy = name, 2
        while new in chosen or (new != name and new in names):
            new, copy = f"{name}_{copy}", copy + 1
        chosen.append(new)
    return chosen


def _as_frame(X: Any) -> Any:
    """A frame of another library as narwhals sees it; None for anything else."""
    if isinstance(X, np.ndarray | Frame | list | tuple) or is_sparse(X):
        return None
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def open_rows(X: Any) -> Any:
    """The table in a form whose rows can be taken: a dict of columns becomes a frame, a lazy frame is collected.

    >>> open_rows({"size": ["S", "L"]})[[1]].to_dict()
    {'size': ['L']}
    """
    if is_sparse(X):
        return X if X.format in ("csr", "csc") else X.tocsr()
    if isinstance(X, Frame):
        return X
    if isinstance(X, Mapping):
        read_frame(X)  # raises the usual errors
        return Frame({str(name): _as_list(values) for name, values in X.items()})
    X = lift(X)
    return X.collect() if hasattr(X, "collect") and hasattr(X, "collect_schema") else X


def _as_list(values: Any) -> Any:
    """A column of another library as a list; arrays and lists stay what they are."""
    if isinstance(values, np.ndarray | list | tuple):
        return values
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return getattr(values, method)()
    return list(values)
