"""Tables that are read chunk by chunk: larger than memory, or spread over several machines.

The columns and values of such a table are those of the whole table in memory. Chunks are described first (kinds,
categories, a sample of the rows), the descriptions are merged, and each chunk is then read in terms of the merged
columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from treewright.table.categories import some
from treewright.table.cells import Coded
from treewright.table.column import Column, Kind, Unit
from treewright.table.convert import as_kind, match
from treewright.table.frame import ColumnList, Table, column_of_nothing, declared_kinds, is_empty
from treewright.table.hashes import sums_of_dense
from treewright.table.source import Source, open_source

# The size of the sample that determines the bins of a larger table. A bin then has about 200 rows of it.
MAX_SAMPLE = 50_000

# Rows whose extremes are computed together, while they are in the cache.
ROWS_FOR_ENDS = 4096

Kinds = tuple[Kind | None, ...]
"""The kind that the user declares for each column, None where the type decides."""

MakeCodes = Callable[[int, int, Callable[..., np.ndarray]], np.ndarray]
"""Makes codes, uint8[column, row], of so many columns and rows by an `allocate`."""


def sample_of(n_rows: int) -> np.ndarray:
    """The rows that determine the bins of a table: all, or a random sample of a large one."""
    if n_rows <= MAX_SAMPLE:
        return np.arange(n_rows)
    return np.random.default_rng(0).integers(0, n_rows, MAX_SAMPLE)


def split_rows(rows: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Which of these rows of a table each chunk has, as numbers of its own rows in ascending order.

    >>> [part.tolist() for part in split_rows(np.array([4, 0, 2]), np.array([2, 0, 3]))]
    [[0], [], [0, 2]]
    """
    ends = np.cumsum(lengths)
    rows = np.sort(rows)
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    return [part - first for part, first in zip(parts, ends - lengths, strict=True)]


def make_codes_by_column(n_columns: int, n_rows: int, allocate: Callable[..., np.ndarray]) -> np.ndarray:
    """Codes that are stored column by column, with undefined content."""
    return allocate((n_columns, n_rows), np.uint8)


class ChunkedTable(ABC):
    """A table in chunks. Learners that encode their tables in bytes can be fitted to it; all learners predict it."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, ...]:
        """The number of rows of each chunk."""

    @abstractmethod
    def map_chunks(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> Iterable[Any]:
        """Call a function with each chunk and its entry of each of the arguments; the results are in order."""

    def store_chunks(
        self,
        n_columns: int,
        lengths: Sequence[int],
        function: Callable[..., Any],
        *arguments: Sequence[Any],
        make: MakeCodes,
    ) -> Any:
        """Call a function with each chunk as `map_chunks` does; the results are the columns of one array of bytes.

        `lengths` are the numbers of rows of the results. `make` makes the array, and decides how it is stored.
        """
        whole = make(n_columns, int(np.sum(lengths)), self.allocate)
        ends = np.cumsum(lengths)
        for part, first, last in zip(self.map_chunks(function, *arguments), ends - lengths, ends, strict=True):
            whole[:, first:last] = part
        return whole

    @abstractmethod
    def select(self, names: Sequence[str]) -> ChunkedTable:
        """The table of some columns."""

    @abstractmethod
    def column(self, name: str) -> Any:
        """The values of one column in their own type."""

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array for the codes of the table."""
        return np.empty(shape, dtype)

    def __len__(self) -> int:
        return sum(self.lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return len(self), len(self.names)

    def drop(self, *names: str) -> ChunkedTable:
        """The table without some columns."""
        self._check_names(names)
        return self.select([name for name in self.names if name not in names])

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.names:
                raise ValueError(f"there is no column {name!r}; the columns are {some(self.names, most=8)}")

    def separate(self, y: Any, sample_weight: Any) -> tuple[ChunkedTable, Any, Any]:
        """The columns to learn from, the target and the weights, which may be given by the names of columns."""
        taken = [name for name in (y, sample_weight) if isinstance(name, str)]
        self._check_names(taken)
        found = [self.column(name) if isinstance(name, str) else name for name in (y, sample_weight)]
        return (self.drop(*taken) if taken else self), found[0], found[1]

    def read(self, categorical_features: ColumnList = None, numeric_features: ColumnList = None) -> Table:
        """The columns of the whole table, and its values, which stay in chunks."""
        kinds = tuple(declared_kinds(self.names, categorical_features, numeric_features))
        lengths = np.array(self.lengths, dtype=np.int64)
        if not lengths.sum():
            raise ValueError(f"Found array with 0 sample(s) (shape={self.shape}) while a minimum of 1 is required.")
        drawn = split_rows(sample_of(int(lengths.sum())), lengths)
        firsts = (np.cumsum(lengths) - lengths).tolist()
        described = self.map_chunks(describe_chunk, [kinds] * len(lengths), drawn, firsts)
        facts = [each for each in described if each is not None]
        columns = merge_columns(facts, kinds)
        sample = np.concatenate([each.values_of(columns, slice(None, -2)) for each in facts])
        ends = np.concatenate([each.values_of(columns, slice(-2, None)) for each in facts])
        # The annotation is that of nearly all tables; learners that can use chunks ask for them.
        values: Any = ChunkedValues(
            self, columns, kinds, lengths, sample=(sample, ends), hashes=merge_hashes(facts, columns)
        )
        return Table(columns, values, facts[0].named)


@dataclass(frozen=True, eq=False)
class ChunkFacts:
    """What one chunk says about the columns of its table."""

    names: tuple[str, ...]
    named: bool
    columns: tuple[Column, ...]
    was_number: tuple[bool, ...]  # whether a column is of numbers by itself, before its declared kind
    is_empty: tuple[bool, ...]  # whether all values are missing, so that the kind is not known
    picked: tuple[np.ndarray, ...]  # of each column the values of the sampled rows, then the least and the largest
    hashes: np.ndarray  # the sum of the hashes of the values of each column

    def values_of(self, columns: tuple[Column, ...], which: slice) -> np.ndarray:
        """Some of the picked values in terms of the columns of the whole table."""
        triples = zip(columns, self.columns, self.picked, strict=True)
        return np.column_stack([in_terms_of(column, (own, values[which])) for column, own, values in triples])


def describe_chunk(frame: Any, kinds: Kinds, rows: np.ndarray, first_row: int) -> ChunkFacts | None:
    """Describe the columns of a chunk, with the values of some rows; None for a chunk without rows.

    `first_row` is the number of the first row of the chunk in the table.
    """
    if not len(frame):
        return None
    source = open_source(frame)
    if _is_float_matrix(source, kinds):
        return _describe_matrix(source, rows, first_row)
    read, was_number, empty, picked = [], [], [], []
    whole = np.empty((source.n_rows, len(kinds)), order="F")
    for place, kind in enumerate(kinds):
        coded = source.read(place, kind)
        was_number.append(coded[0].is_numeric)
        column, values = as_kind(coded, kind)
        whole[:, place] = values
        empty.append(is_empty(values) and not _is_matrix(source, kinds))
        read.append(column)
        picked.append(np.append(values[rows], [np.fmin.reduce(values), np.fmax.reduce(values)]))
    hashes = sums_of_dense(whole, first_row)
    return ChunkFacts(source.names, source.named, tuple(read), tuple(was_number), tuple(empty), tuple(picked), hashes)


def _is_matrix(source: Source, kinds: Kinds) -> bool:
    """Is this one array of numbers, all of whose columns are numeric, also those without any value?"""
    return source.matrix is not None and Kind.CATEGORICAL not in kinds


def _is_float_matrix(source: Source, kinds: Kinds) -> bool:
    """Is this one array of floats, which need not be copied?"""
    matrix = source.matrix
    return matrix is not None and matrix.dtype in (np.float64, np.float32) and _is_matrix(source, kinds)


def _describe_matrix(source: Source, rows: np.ndarray, first_row: int) -> ChunkFacts:
    """Describe a chunk that is one array of floats."""
    matrix: Any = source.matrix
    blocks = [matrix[first : first + ROWS_FOR_ENDS] for first in range(0, len(matrix), ROWS_FOR_ENDS)]
    ends = [reduce(np.stack([reduce(block) for block in blocks])) for reduce in (np.fmin.reduce, np.fmax.reduce)]
    picked = np.concatenate([matrix[rows], ends]).astype(np.float64)
    return ChunkFacts(
        source.names,
        source.named,
        tuple(Column(name, Kind.NUMERIC) for name in source.names),
        (True,) * len(source.names),
        (False,) * len(source.names),
        tuple(np.ascontiguousarray(picked.T)),
        sums_of_dense(matrix, first_row),
    )


def read_chunk(frame: Any, columns: tuple[Column, ...], kinds: Kinds) -> np.ndarray:
    """Read a chunk in terms of the columns of the whole table.

    The values are column after column in memory. An array of floats keeps its layout and precision, and may be that of
    the user.
    """
    if not len(frame):
        return np.empty((0, len(columns)), order="F")
    source = open_source(frame)
    if source.matrix is not None and _is_float_matrix(source, kinds):
        return source.matrix
    values = np.empty((source.n_rows, len(columns)), order="F")
    for place, (column, kind) in enumerate(zip(columns, kinds, strict=True)):
        values[:, place] = in_terms_of(column, as_kind(source.read(place, kind), kind))
    return values


def in_terms_of(column: Column, coded: Coded) -> np.ndarray:
    """The values of a column of a chunk in terms of the column of the whole table."""
    return coded[1] if is_in_terms_of(column, coded[0]) else match(column, coded)


def is_in_terms_of(column: Column, own: Column) -> bool:
    """Are the values of a column of a chunk those of the column of the whole table?"""
    return own.categories == column.categories and own.unit is column.unit


def merge_hashes(facts: Sequence[ChunkFacts], columns: tuple[Column, ...]) -> dict[int, np.uint64]:
    """The sums of the hashes of all columns whose values are the same in terms of the whole table."""
    sums: np.ndarray = np.stack([each.hashes for each in facts]).sum(axis=0, dtype=np.uint64)
    return {
        place: sums[place]
        for place, column in enumerate(columns)
        if all(is_in_terms_of(column, each.columns[place]) for each in facts)
    }


def merge_columns(facts: Sequence[ChunkFacts], kinds: Kinds) -> tuple[Column, ...]:
    """The columns of the whole table, as they would be read at once."""
    for number, each in enumerate(facts):
        if each.names != facts[0].names:
            raise ValueError(_other_columns(facts[0].names, each.names, number))
    return tuple(_merge(facts, place, kind) for place, kind in enumerate(kinds))


def _other_columns(first: tuple[str, ...], other: tuple[str, ...], number: int) -> str:
    absent, strange = [name for name in first if name not in other], [name for name in other if name not in first]
    words = [f"lacks {some(absent)}"] * bool(absent) + [f"has {some(strange)}"] * bool(strange)
    return f"chunk {number} has other columns than the first one: it {' and '.join(words) or 'has another order'}"


def _merge(facts: Sequence[ChunkFacts], place: int, kind: Kind | None) -> Column:
    """One column of the whole table."""
    known = [each for each in facts if not each.is_empty[place]]
    if not known:
        column = facts[0].columns[place]
        return column if kind else column_of_nothing(column)
    columns = [each.columns[place] for each in known]
    name, found = columns[0].name, {column.kind for column in columns}
    if len(found) > 1:
        raise ValueError(
            f"column {name!r} is {' in some chunks and '.join(sorted(found))} in others; give it one type, or declare "
            "it with categorical_features or numeric_features"
        )
    if columns[0].is_numeric:
        return replace(columns[0], unit=_merge_units(name, {column.unit for column in columns}))
    # Chunks without a value may still declare categories.
    every = [each.columns[place] for each in facts if each.columns[place].kind is columns[0].kind]
    categories: dict[Any, None] = dict.fromkeys(category for column in every for category in column.categories)
    in_order = sorted(categories) if all(each.was_number[place] for each in known) else categories
    return replace(columns[0], categories=tuple(in_order))


def _merge_units(name: str, units: set[Unit]) -> Unit:
    if len(units) == 1:
        return next(iter(units))
    if units == {Unit.DATE, Unit.DATETIME}:
        return Unit.DATETIME
    raise ValueError(f"column {name!r} is {' in some chunks and '.join(sorted(units))} in others; give it one type")


class ChunkedValues:
    """The values of a table in chunks.

    `values[:, 3]` is a column in memory. `values[rows]` are the values of some rows, which stay in chunks.
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(
        self,
        table: ChunkedTable,
        columns: tuple[Column, ...],
        kinds: Kinds,
        chunk_lengths: np.ndarray,
        *,
        sample: tuple[np.ndarray, np.ndarray] | None = None,
        rows: np.ndarray | None = None,
        hashes: dict[int, np.uint64] | None = None,
    ) -> None:
        self.table, self.columns, self.kinds, self.chunk_lengths = table, columns, kinds, chunk_lengths
        self.rows = rows  # the rows of the table in ascending order, if not all
        self._whole: ChunkedValues | None = None  # the values that these rows were taken from
        self._sample = sample
        self.hashes = hashes or {}  # of some columns, the sum of the hashes of all values
        self._replaced: dict[int, np.ndarray] = {}  # columns with other values than those of the table

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of rows of each chunk that belong to these values."""
        if self.rows is None:
            return self.chunk_lengths
        return np.array([len(part) for part in split_rows(self.rows, self.chunk_lengths)])

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.lengths.sum()), len(self.columns)

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> Iterator[Any]:
        """Call a function with the values of each chunk, [row, column], and its entry of each argument."""
        return iter(self.table.map_chunks(_call_with_values, *self._calls(function, arguments)))

    def store(self, n_columns: int, function: Callable[..., Any], *arguments: Sequence[Any], make: MakeCodes) -> Any:
        """Call a function as `map` does; the results are the columns of the array of bytes that `make` makes."""
        calls = self._calls(function, arguments)
        return self.table.store_chunks(n_columns, self.lengths.tolist(), _call_with_values, *calls, make=make)

    def _calls(self, function: Callable[..., Any], arguments: tuple[Sequence[Any], ...]) -> tuple[list[Any], ...]:
        """The arguments of `_call_with_values` for each chunk."""
        n_chunks = len(self.chunk_lengths)
        rows = [None] * n_chunks if self.rows is None else split_rows(self.rows, self.chunk_lengths)
        return (
            [(function, self.columns, self.kinds)] * n_chunks,
            list(zip(rows, self._replaced_by_chunk(), strict=True)),
            list(zip(*arguments, strict=True)) if arguments else [()] * n_chunks,
        )

    def _replaced_by_chunk(self) -> list[dict[int, np.ndarray]]:
        edges = np.cumsum(self.lengths)[:-1]
        parts = {place: np.split(column, edges) for place, column in self._replaced.items()}
        return [{place: parts[place][chunk] for place in parts} for chunk in range(len(self.chunk_lengths))]

    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows that determine bins, and rows that have the extremes of all columns."""
        if self._sample is None or self._replaced:
            drawn = split_rows(sample_of(len(self)), self.lengths)
            found = list(self.map(sample_chunk, drawn))
            self._sample = np.concatenate([rows for rows, _ in found]), np.concatenate([ends for _, ends in found])
        return self._sample

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return self._take(np.asarray(key))
        _, place = key  # of all rows
        if place in self._replaced:
            return self._replaced[place]
        if self.columns[place].is_categorical:
            indices = self._categories[place]
            return np.where(indices < 0, np.nan, indices)
        return np.concatenate(list(self.columns_at([place]).map(_first_column)))

    def columns_at(self, places: Sequence[int]) -> ChunkedValues:
        """The values of some columns."""
        return ChunkedValues(
            self.table.select([self.table.names[place] for place in places]),
            tuple(self.columns[place] for place in places),
            tuple(self.kinds[place] for place in places),
            self.chunk_lengths,
            rows=self.rows,
        )

    @cached_property
    def _categories(self) -> dict[int, np.ndarray]:
        """The indices of all categorical columns, which are needed more than once: int32[row], -1 if missing."""
        if self._whole is not None:
            places = np.searchsorted(self._whole.row_numbers(), self.row_numbers())
            return {place: column[places] for place, column in self._whole._categories.items()}
        found = [place for place, column in enumerate(self.columns) if column.is_categorical]
        parts = list(self.columns_at(found).map(_as_indices))
        return {place: np.concatenate([part[:, k] for part in parts]) for k, place in enumerate(found)}

    def row_numbers(self) -> np.ndarray:
        """The rows of the table that these values have."""
        return np.arange(int(self.chunk_lengths.sum())) if self.rows is None else self.rows

    def __setitem__(self, key: Any, column: np.ndarray) -> None:
        _, place = key  # of all rows
        self._replaced[place] = np.asarray(column)
        self.hashes = {}

    def _take(self, rows: np.ndarray) -> ChunkedValues:
        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        taken = ChunkedValues(
            self.table,
            self.columns,
            self.kinds,
            self.chunk_lengths,
            rows=places if self.rows is None else self.rows[places],
        )
        taken._whole = self
        taken._replaced = {place: column[places] for place, column in self._replaced.items()}
        return taken

    def count_missing(self) -> np.ndarray:
        """The number of missing values of each column."""
        return np.sum(list(self.map(_count_missing)), axis=0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise ValueError(
            "a model of this kind needs the whole table in memory; fit a random forest, extra trees or gradient "
            "boosting with the usual splits to a table in chunks, or read the table at once"
        )


def _call_with_values(
    frame: Any,
    how: tuple[Callable[..., Any], tuple[Column, ...], Kinds],
    which: tuple[np.ndarray | None, dict[int, np.ndarray]],
    arguments: tuple[Any, ...],
) -> Any:
    function, columns, kinds = how
    rows, replaced = which
    values = read_chunk(frame, columns, kinds)
    if rows is not None:
        values = np.asfortranarray(values[rows])
    if replaced:
        values = np.array(values, dtype=np.float64, order="F")
    for place, column in replaced.items():
        values[:, place] = column
    return function(values, *arguments)


def sample_chunk(values: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a chunk, and two rows that have the extremes of all columns."""
    if not len(values):
        return values, values
    return values[rows], np.stack([np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)])


def _first_column(values: np.ndarray) -> np.ndarray:
    return values[:, 0]


def _as_indices(values: np.ndarray) -> np.ndarray:
    return np.nan_to_num(values, nan=-1.0).astype(np.int32)


def _count_missing(values: np.ndarray) -> np.ndarray:
    return np.count_nonzero(np.isnan(values), axis=0)
