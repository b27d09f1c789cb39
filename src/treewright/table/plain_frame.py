"""A light frame of named NumPy columns, for when no frame library is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from types import MappingProxyType
from typing import Any

import numpy as np

from treewright.table.categories import is_missing, number_cells, some
from treewright.table.cells import Coded, read_values
from treewright.table.column import Column, Kind
from treewright.table.convert import match


@dataclass(frozen=True)
class Domain:
    """The categories that a column may hold, and whether their order has a meaning."""

    categories: tuple[object, ...]
    ordered: bool = False


class NamedColumn(np.ndarray):
    """An array that knows its column's name and declared categories, so that a tree can name its target.

    >>> play = NamedColumn.of("play", np.array(["no", "yes", "no"]))
    >>> play[play == "no"].name
    'play'
    """

    name: str
    domain: Domain | None

    @classmethod
    def of(cls, name: str, values: np.ndarray, domain: Domain | None = None) -> NamedColumn:
        column = values.view(cls)
        column.name = name
        column.domain = domain
        return column

    def __array_finalize__(self, source: Any) -> None:
        self.name = getattr(source, "name", "")
        self.domain = getattr(source, "domain", None)

    def __reduce__(self) -> Any:
        return NamedColumn.of, (self.name, np.asarray(self), self.domain)


class Frame(dict[str, Any]):
    """Named columns of equal length; rows and columns are taken by indexing, nothing changes in place.

    It is a dict of columns for other libraries, so `pandas.DataFrame(frame)` and `polars.DataFrame(frame)` are the same
    table. Its length is the number of rows.

    `frame["name"]` is one column as an array, `frame[["a", "b"]]` a frame of two columns, `frame[rows]` a
    frame of some rows (a slice, an index array or a boolean mask), and `frame[3]` one row as a dict.

    Parameters
    ----------
    columns : mapping of names to lists or arrays
        Arrays are kept as they are; lists become arrays of numbers, booleans, dates or objects.
    domains : mapping of names to Domain, optional
        Columns whose categories are declared, be they seen or not.

    >>> frame = Frame({"size": ["S", "L", "S"], "price": [1.5, None, 2]})
    >>> frame
    Frame of 3 rows and 2 columns
      size   text     'S', 'L', 'S'
      price  numbers  1.5, nan, 2.0
    >>> frame[[0, 2]].drop("size").to_dict()
    {'price': [1.5, 2.0]}
    """

    # What `read_table` found in a file: its decimal mark and the order of its dates, where they matter.
    reading: Mapping[str, str] = MappingProxyType({})

    def __init__(self, columns: Mapping[str, Any], domains: Mapping[str, Domain] | None = None) -> None:
        self._columns = {str(name): as_array(values) for name, values in columns.items()}
        super().__init__(self._columns)
        self._domains = dict(domains or {})
        self._check()

    def __reduce__(self) -> Any:
        return Frame, (self._columns, self._domains)

    def _refuse_change(self, *args: Any, **keywords: Any) -> Any:
        raise TypeError("a Frame does not change; frame.assign(name, values) and frame.drop(name) return a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse_change
    clear = pop = popitem = setdefault = update = _refuse_change

    # Columns have no single truth value, so frames are compared by identity.
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__  # type: ignore[assignment]

    def _check(self) -> None:
        if len({len(values) for values in self._columns.values()}) > 1:
            raise ValueError("the columns differ in length; every column needs one value per row")
        for name, domain in self._domains.items():
            known = set(domain.categories)
            strange = [x for x in dict.fromkeys(self._cells(name)) if x is not None and x not in known]
            if strange:
                raise ValueError(f"column {name!r}: {some(strange)} not among the declared categories")

    def _cells(self, name: str) -> list[Any]:
        """The values of a column as Python objects, None where missing."""
        values = self._column(name)
        if values.dtype.kind == "O":
            return values.tolist()
        return [None if is_missing(value) else value for value in values.tolist()]

    def _column(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise KeyError(f"no column {name!r}; the columns are {some(self.columns, most=8)}")
        return self._columns[name]

    @property
    def columns(self) -> list[str]:
        """The column names, in order."""
        return list(self._columns)

    @property
    def domains(self) -> dict[str, Domain]:
        """The declared categories of the columns that declare any."""
        return dict(self._domains)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return len(self), len(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return NamedColumn.of(key, self._column(key), self._domains.get(key))
        if isinstance(key, tuple):  # scikit-learn takes rows of anything with a shape by X[rows, ...]
            return self[key[0]]
        if isinstance(key, int | np.integer):
            return {name: _plain(values[key]) for name, values in self._columns.items()}
        if isinstance(key, list) and key and all(isinstance(name, str) for name in key):
            return self._replace({name: self._column(name) for name in key})
        return self.rows(key)

    def rows(self, key: slice | Sequence[int] | Sequence[bool] | np.ndarray) -> Frame:
        """The rows of a slice, of an array of positions or of a boolean mask."""
        places = key if isinstance(key, slice) else np.asarray(key)
        if isinstance(places, np.ndarray) and places.size == 0:
            places = places.astype(np.intp)
        return self._replace({name: values[places] for name, values in self._columns.items()})

    def drop(self, *names: str) -> Frame:
        """The frame without some columns."""
        for name in names:
            self._column(name)
        return self._replace({name: values for name, values in self._columns.items() if name not in names})

    def assign(self, name: str, values: Any) -> Frame:
        """The frame with one column replaced or, under a new name, added at the end."""
        domains = {key: domain for key, domain in self._domains.items() if key != name}
        return Frame(self._columns | {name: values}, domains)

    def declare(self, name: str, categories: Sequence[object], *, ordered: bool = False) -> Frame:
        """The frame with the categories of one column declared: those that may occur, in this order.

        >>> frame = Frame({"size": ["S", "L"]}).declare("size", ["S", "M", "L"], ordered=True)
        >>> frame.domains["size"].categories
        ('S', 'M', 'L')
        """
        self._column(name)
        return Frame(self._columns, self._domains | {name: Domain(tuple(categories), ordered)})

    def to_dict(self) -> dict[str, list[Any]]:
        """Every column as a list, ready for pandas.DataFrame or polars.DataFrame; missing values are None."""
        return {name: self._cells(name) for name in self._columns}

    def _replace(self, columns: dict[str, np.ndarray]) -> Frame:
        return Frame(columns, {name: domain for name, domain in self._domains.items() if name in columns})

    def __repr__(self) -> str:
        rows, width = len(self), max(map(len, self._columns), default=0)
        lines = [f"Frame of {rows} rows and {len(self._columns)} columns"]
        words = {name: self._word(name) for name in self._columns}
        for name, values in self._columns.items():
            shown = some([_shown(value) for value in values[:4]])
            lines.append(f"  {name:<{width}}  {words[name]:<{max(map(len, words.values()))}}  {shown}")
        return "\n".join(lines)

    def _word(self, name: str) -> str:
        if name in self._domains:
            domain = self._domains[name]
            return f"{'ordered' if domain.ordered else 'categories'} ({len(domain.categories)})"
        values = self._columns[name]
        if values.dtype.kind == "O" and {bool} <= set(map(type, values)) <= {bool, _NONE}:
            return "booleans"
        words = {
            "i": "numbers",
            "u": "numbers",
            "f": "numbers",
            "b": "booleans",
            "M": "dates",
            "m": "durations",
        }
        return words.get(values.dtype.kind, "text")


def read_frame_column(frame: Frame, name: str, wanted: Kind | None = None) -> Coded:
    """One column of a frame as numbers or category indices; declared categories are kept."""
    values = frame[name]
    domain = frame.domains.get(name)
    if domain is None:
        return read_values(name, values, wanted)
    column = Column(name, Kind.ORDERED if domain.ordered else Kind.CATEGORICAL, domain.categories)
    categories, indices = number_cells([None if is_missing(cell) else cell for cell in values.tolist()])
    return column, match(column, (Column(name, Kind.CATEGORICAL, categories), indices))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _shown(value: Any) -> Any:
    return str(value) if isinstance(value, np.datetime64) else _plain(value)


def as_array(values: Any) -> np.ndarray:
    """A column as an array of the narrowest type that holds it, missing values included."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values.astype(object) if values.dtype.kind in "SU" else values
    cells = list(values)
    types = set(map(type, cells))
    for allowed, dtype in _ARRAY_TYPES:
        if types and types <= allowed:
            with suppress(OverflowError):
                return np.array(cells, dtype=dtype)
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


_NONE = type(None)
_ARRAY_TYPES: tuple[tuple[set[type], str], ...] = (
    ({bool}, "bool"),
    ({int}, "int64"),
    ({int, float, _NONE}, "float64"),
    ({date, _NONE}, "M8[D]"),
    ({datetime, _NONE}, "M8[us]"),
)
