"""Tables in chunks as bytes: the bins of the whole table, and the codes of one chunk after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from treewright.encoding.bins import BinnedTable, Bins, code_rows, place_bins
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.threads import usable_threads
from treewright.table.chunked import (
    ChunkedTable,
    ChunkedValues,
    MakeCodes,
    make_codes_by_column,
    sample_chunk,
    sample_of,
    split_rows,
)
from treewright.table.column import Column


class CodesElsewhere(ABC):
    """The codes of a table that other processes have, each of them some rows; in place of an array of bytes."""

    shape: tuple[int, int]  # columns and rows

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def take(self, rows: np.ndarray) -> CodesElsewhere:
        """The codes of some rows, in ascending order, which stay where they are."""

    @abstractmethod
    def gather(self) -> np.ndarray:
        """The codes in the memory of this process."""

    @abstractmethod
    def grow_trees(
        self, bins: Bins, grow: Callable[..., Any], trees: Sequence[int], tick: Callable[[int], None]
    ) -> list[Any]:
        """Call `grow(table, some of the trees, tick)` in other processes until all trees are grown, in their order."""

    @abstractmethod
    def boost(self, rows: Any, boost: Callable[..., Any], tick: Callable[..., None]) -> Any:
        """Call `boost(rows of one process, tick)` in other processes at the same time; the result of the first.

        `rows` is cut into the rows of each process, whose `share` says how they exchange sums.
        """

    @abstractmethod
    def run(self, function: Callable[..., Any], tick: Callable[..., None]) -> Any:
        """Call `function(codes, tick)` with all codes in one other process."""


def is_here(codes: Any) -> bool:
    """Are these codes in the memory of this process?"""
    return not isinstance(codes, CodesElsewhere)


class AssembledValues:
    """Values in chunks of which each chunk is assembled anew: unchanged columns, and columns that are computed.

    `assemble` returns the new values of a chunk, given its old values and its entry of `parts`.
    """

    ndim = 2

    def __init__(
        self, values: ChunkedValues, assemble: Callable[..., np.ndarray], parts: Sequence[Any], n_columns: int
    ) -> None:
        self.values, self.assemble, self.parts, self.n_columns = values, assemble, parts, n_columns

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.values), self.n_columns

    def __len__(self) -> int:
        return len(self.values)

    @property
    def table(self) -> ChunkedTable:
        return self.values.table

    @property
    def lengths(self) -> np.ndarray:
        return self.values.lengths

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> Iterator[Any]:
        """Call a function with the new values of each chunk and its entry of each argument."""
        return self.values.map(_call_assembled, *self._calls(function, arguments))

    def store(self, n_columns: int, function: Callable[..., Any], *arguments: Sequence[Any], make: MakeCodes) -> Any:
        """Call a function as `map` does; the results are the columns of the array of bytes that `make` makes."""
        return self.values.store(n_columns, _call_assembled, *self._calls(function, arguments), make=make)

    def _calls(self, function: Callable[..., Any], arguments: tuple[Sequence[Any], ...]) -> tuple[Any, ...]:
        how = [(function, self.assemble)] * len(self.parts)
        given = list(zip(*arguments, strict=True)) if arguments else [()] * len(self.parts)
        return how, self.parts, given

    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows that determine bins, and rows that have the extremes of all columns."""
        found = list(self.map(sample_chunk, split_rows(sample_of(len(self)), self.lengths)))
        return np.concatenate([rows for rows, _ in found]), np.concatenate([ends for _, ends in found])


def _call_assembled(values: np.ndarray, how: tuple[Any, Any], part: Any, arguments: tuple[Any, ...]) -> Any:
    function, assemble = how
    return function(assemble(values, part), *arguments)


def is_chunked(values: Any) -> bool:
    """Are these values in chunks?"""
    return isinstance(values, ChunkedValues | AssembledValues)


def bin_chunks(
    columns: Sequence[Column], values: Any, n_bins: int, n_threads: int, *, make: MakeCodes = make_codes_by_column
) -> BinnedTable:
    """Choose the bins of all columns of a table in chunks, and encode its rows."""
    bins = place_bins(columns, values, n_bins, n_threads)
    return BinnedTable(bins, code_chunks(bins, values, make=make), allocate=values.table.allocate)


def code_chunks(bins: Bins, values: Any, *, make: MakeCodes = make_codes_by_column) -> Any:
    """Encode a table in chunks, with one line per column; `make` decides how the codes are stored."""
    return values.store(values.shape[1], code_chunk, [bins] * len(values.lengths), make=make)


def code_chunk(values: np.ndarray, bins: Bins) -> np.ndarray:
    """Encode one chunk."""
    return code_rows(choose_compiled_form(), bins, values, usable_threads(None), by_column=True)
