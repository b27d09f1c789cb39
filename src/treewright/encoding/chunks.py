"""Tables in chunks as bytes: the bins of the whole table, and the codes of one chunk after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from treewright.encoding.bins import BinnedTable, Bins, code_rows, place_bins
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.threads import usable_threads
from treewright.table.chunked import ChunkedTable, ChunkedValues, sample_chunk, sample_of, split_rows
from treewright.table.column import Column


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
        how = [(function, self.assemble)] * len(self.parts)
        given = list(zip(*arguments, strict=True)) if arguments else [()] * len(self.parts)
        return self.values.map(_call_assembled, how, self.parts, given)

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


def bin_chunks(columns: Sequence[Column], values: Any, n_bins: int, n_threads: int) -> BinnedTable:
    """Choose the bins of all columns of a table in chunks, and encode its rows."""
    bins = place_bins(columns, values, n_bins, n_threads)
    return BinnedTable(bins, code_chunks(bins, values), allocate=values.table.allocate)


def code_chunks(bins: Bins, values: Any) -> np.ndarray:
    """Encode a table in chunks, with one line per column."""
    codes = values.table.allocate((values.shape[1], len(values)), np.uint8)
    first = 0
    for part in values.map(code_chunk, [bins] * len(values.lengths)):
        codes[:, first : first + part.shape[1]] = part
        first += part.shape[1]
    return codes


def code_chunk(values: np.ndarray, bins: Bins) -> np.ndarray:
    """Encode one chunk."""
    return code_rows(choose_compiled_form(), bins, values, usable_threads(None), by_column=True)
