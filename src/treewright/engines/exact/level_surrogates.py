"""Surrogates of splits that the growth loop does not find: those of a whole level of nodes, or of a single rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewright.encoding.keys import CODE_SHIFT, ROW_MASK, ROW_SHIFT
from treewright.encoding.midpoints import midpoint
from treewright.engines.exact.engine import GrownSurrogates
from treewright.engines.exact.layout import MOST_SURROGATES, TIE
from treewright.engines.exact.surrogates import rate_surrogates
from treewright.engines.exact.workspace import Data
from treewright.runtime.forms import Run


@dataclass(frozen=True, eq=False)
class LevelSurrogate:
    """A column that decides the branch of rows whose value of the split is missing."""

    column: int
    agreement: float
    threshold: float  # NaN for a categorical column
    low: int  # the branches of values up to the threshold, and above it
    high: int
    codes: np.ndarray  # of a categorical column: the categories with a branch, in order, and the branch of each
    ways: np.ndarray

    def branches_of(self, values: np.ndarray) -> np.ndarray:
        """Return the branch of each of these values, -1 if it has none."""
        if len(self.codes) == 0:
            return np.where(np.isnan(values), -1, np.where(values <= self.threshold, self.low, self.high))
        place = np.searchsorted(self.codes, values)  # NaN is last
        is_known = self.codes[np.minimum(place, len(self.codes) - 1)] == values
        return np.where(is_known, self.ways[np.minimum(place, len(self.codes) - 1)], -1)


@dataclass(frozen=True, eq=False)
class LevelSurrogates:
    """The surrogates of one split, best first, and the branch of most rows."""

    found: tuple[LevelSurrogate, ...]
    heaviest: int
    majority: float  # the share of rows with a value in that branch

    def branches_of_rows(self, values: np.ndarray, way: np.ndarray, n_ways: int) -> np.ndarray:
        """Return the branch of every row: by its value, by the first surrogate with a branch, or that of most rows."""
        branches = np.array(way, dtype=np.int64)
        for surrogate in self.found:
            left = np.flatnonzero(branches == n_ways)
            found = surrogate.branches_of(values[left, surrogate.column])
            branches[left[found >= 0]] = found[found >= 0]
        branches[branches == n_ways] = self.heaviest
        return branches


def find_level_surrogates(
    run: Run, data: Data, lines: np.ndarray, way: np.ndarray, n_ways: int, tested: int
) -> LevelSurrogates:
    """Find the surrogates of a split by the column `tested`, for rows that are sorted in one line per column.

    `way` contains the branch of each row of the table, or `n_ways` if its value is missing.
    """
    n_columns = len(data.n_codes)
    rows = rows_of(lines[0])
    codes = (lines >> CODE_SHIFT).astype(np.int64)
    known = (codes < data.n_codes[:, None]).sum(axis=1)
    n_words = int(np.where(data.is_number, 0, 1 + 2 * np.minimum(data.n_codes, len(rows))).sum())
    words, found = np.empty(n_words, np.uint64), np.zeros((n_columns + 1, 6))
    run(rate_surrogates)(
        lines,
        known,
        data.is_number,
        tested,
        rows,
        way.astype(np.uint32),
        data.weights,
        n_ways,
        np.empty(n_ways),
        np.empty(n_ways),
        np.empty(len(rows)),
        np.empty(len(rows), np.int64),
        words,
        found,
    )
    heaviest, majority = int(found[n_columns, 0]), float(found[n_columns, 1])
    return LevelSurrogates(
        tuple(_read(data, words, found, column) for column in _best(found[:-1, 0])), heaviest, majority
    )


def rows_of(line: np.ndarray) -> np.ndarray:
    """Return the rows of a sorted column."""
    return ((line >> ROW_SHIFT) & ROW_MASK).astype(np.int64)


def sorted_line(data: Data, column: int) -> np.ndarray:
    """Return the rows of one column as sorted keys, which are made from the codes if the column has few."""
    if data.is_wide[column]:
        return np.asarray(data.keys[column])
    order = np.argsort(data.codes[column], kind="stable")
    codes = data.codes[column][order].astype(np.uint64)
    return (codes << np.uint64(CODE_SHIFT)) | (order.astype(np.uint64) << np.uint64(ROW_SHIFT))


def lines_of(data: Data) -> np.ndarray:
    """Return the sorted columns of all rows."""
    return np.array([sorted_line(data, column) for column in range(len(data.n_codes))])


def select_lines(lines: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return the sorted columns of some rows; `taken` is a flag per row of the table."""
    return np.array([line[taken[rows_of(line)]] for line in lines])


def _best(agreements: np.ndarray) -> list[int]:
    """Return the columns with the most agreement, in descending order, and the first of equal ones first."""
    best: list[int] = []
    for column in np.flatnonzero(agreements > 0.0).tolist():
        at = len(best)
        while at > 0 and agreements[column] > agreements[best[at - 1]] + TIE:
            at -= 1
        best.insert(at, column)
    return best[:MOST_SURROGATES]


def _read(data: Data, words: np.ndarray, found: np.ndarray, column: int) -> LevelSurrogate:
    cut, after, low, high, start = found[column, 1:].astype(np.int64).tolist()
    if not data.is_number[column]:
        pairs = words[start + 1 : start + 1 + 2 * int(words[start])].astype(np.int64)
        return LevelSurrogate(column, float(found[column, 0]), np.nan, 0, 0, pairs[::2], pairs[1::2])
    first = int(data.value_start[column])
    threshold = data.values[first + cut]
    if not data.fixed_cuts[column]:
        threshold = midpoint(threshold, data.values[first + after])
    none = np.empty(0, np.int64)
    return LevelSurrogate(column, float(found[column, 0]), float(threshold), low, high, none, none)


def gather_level_surrogates(
    splits: Sequence[LevelSurrogates | None], n_nodes: Sequence[int], first_word: int
) -> tuple[GrownSurrogates, np.ndarray]:
    """Gather the arrays of the surrogates, and the words of their maps, which begin at `first_word`.

    Each split belongs to so many consecutive nodes. None is a leaf.
    """
    shape = (len(splits), MOST_SURROGATES)
    column = np.full(shape, -1, np.int32)
    threshold, agreement = np.full(shape, np.nan), np.zeros(shape)
    low, high, map_start = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
    words: list[np.ndarray] = [np.empty(0, np.uint64)]
    for index, split in enumerate(splits):
        for k, found in enumerate(split.found if split is not None else ()):
            column[index, k], agreement[index, k] = found.column, found.agreement
            threshold[index, k], low[index, k], high[index, k] = found.threshold, found.low, found.high
            if len(found.codes):
                map_start[index, k] = first_word + sum(len(words_of_map) for words_of_map in words)
                pairs = np.column_stack([found.codes, found.ways]).ravel()
                words.append(np.concatenate([[len(found.codes)], pairs]).astype(np.uint64))
    majority = np.array([0.0 if split is None else split.majority for split in splits])
    arrays = (column, threshold, low, high, map_start, agreement, majority)
    return GrownSurrogates(*(np.repeat(array, n_nodes, axis=0) for array in arrays)), np.concatenate(words)
