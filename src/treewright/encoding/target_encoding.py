"""Target encoding: columns of many categories as smoothed means of the target, and as categories of at most 255 codes.

A category of few rows has little information by itself, and a tree that may group hundreds of categories overfits. Such
a column is therefore encoded by numbers:

- A category becomes the mean target of its rows.
- The mean is shrunk towards the mean of all rows: the more, the fewer rows the category has and the less the categories
  differ (empirical Bayes).
- The target of a training row must not be part of its own code. Rows are assigned to folds, and each row gets the means
  of the other folds.

The column itself is kept in addition to its means, because a category can matter in one region of the table only. If a
byte cannot hold all categories, the column is repeated. In each copy 254 categories have separate codes, the most
common ones first, and all others share one code.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treewright.encoding.bins import MAX_CODES
from treewright.encoding.chunks import AssembledValues
from treewright.runtime.sums import dot
from treewright.table.chunked import ChunkedValues
from treewright.table.column import Column, Kind

# A column is target encoded if a byte cannot hold its categories, or if it has this many categories with fewer than
# this many rows per category.
MANY_CATEGORIES, ENOUGH_ROWS = 12, 100

FOLDS = 10

# Means are computed for at most this many outputs: those of the most common classes.
MOST_OUTPUTS = 20

# Largest number of copies of all columns, and the least number of rows of a category with a separate code.
MOST_COPIES, LEAST_ROWS = 32, 5
THE_OTHERS = "(any other)"


@dataclass(frozen=True, eq=False)
class TargetEncoding:
    """The encoding of the columns of a table for the trees."""

    columns: tuple[Column, ...]  # as the trees use them
    origin: np.ndarray  # the column of the table from which each is computed
    outputs: tuple[str, ...] = ()  # names of the outputs whose means are computed
    # By origin: one line for each category, and one for missing values.
    means: dict[int, np.ndarray] = field(default_factory=dict)
    # By index of a column of the trees that is a copy: the code of each category.
    codes: dict[int, np.ndarray] = field(default_factory=dict)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Encode new rows for the trees."""
        if not self.means:
            return values
        lines = self._lines(values)
        return self._assemble(values, lines, {place: means[lines[place]] for place, means in self.means.items()})

    def _lines(self, values: np.ndarray) -> dict[int, np.ndarray]:
        """Return the line of each row in the means of each column that has means."""
        return {place: lines_of(values[:, place], len(means) - 1) for place, means in self.means.items()}

    def learn(
        self, values: np.ndarray, targets: dict[str, np.ndarray], weights: np.ndarray
    ) -> tuple[TargetEncoding, np.ndarray]:
        """Return the encoding with the means of these rows, and the rows encoded out of fold."""
        if not self.means:
            return self, values
        numbers = np.column_stack([targets[name] for name in self.outputs])
        fold = np.random.default_rng(0).permutation(len(values)) % FOLDS
        means, encoded, lines = {}, {}, self._lines(values)
        for place, known in self.means.items():
            means[place] = smoothed_means(lines[place], numbers, weights, len(known))
            encoded[place] = means_of_other_folds(lines[place], numbers, weights, len(known), fold)
        return replace(self, means=means), self._assemble(values, lines, encoded)

    def _assemble_chunk(self, values: np.ndarray, encoded: dict[int, np.ndarray]) -> np.ndarray:
        return self._assemble(values, self._lines(values), encoded)

    def _assemble(self, values: Any, lines: dict[int, np.ndarray], encoded: dict[int, np.ndarray]) -> Any:
        """Assemble the table for the trees: means, copies, and unchanged columns."""
        if isinstance(values, ChunkedValues):
            edges = np.cumsum(values.lengths)[:-1]
            parts = {place: np.split(means, edges) for place, means in encoded.items()}
            by_chunk = [{place: parts[place][chunk] for place in parts} for chunk in range(len(values.lengths))]
            return AssembledValues(values, self._assemble_chunk, by_chunk, len(self.columns))
        seen = np.empty((len(values), len(self.columns)), order="F")
        for at, column in enumerate(self.columns):
            place = self.origin[at]
            if at in self.codes:
                seen[:, at] = self.codes[at][lines[place]]
            elif place not in encoded or column.is_categorical:
                seen[:, at] = values[:, place]
            else:
                first = int(np.flatnonzero(self.origin == place)[0])
                seen[:, at] = encoded[place][:, at - first]
        return seen


def lines_of(categories: np.ndarray, n_categories: int) -> np.ndarray:
    """Return the line of each row's category.

    The last line is for missing values and for categories that did not occur in training.
    """
    known = categories >= 0.0
    return np.where(known, categories, n_categories).astype(np.intp)


def is_target_encoded(column: Column, n_rows: int) -> bool:
    """Does the column have too many categories for splits into groups only?"""
    n_categories = len(column.categories)
    few_rows = n_categories >= MANY_CATEGORIES and n_rows < ENOUGH_ROWS * n_categories
    return column.is_categorical and (n_categories > MAX_CODES or few_rows)


def fit_target_encoding(
    columns: tuple[Column, ...], values: np.ndarray, targets: dict[str, np.ndarray], weights: np.ndarray
) -> tuple[TargetEncoding, np.ndarray]:
    """Fit the encoding of a table, and encode its rows; `targets` are numbers by the names of their means."""
    common = sorted(targets, key=lambda name: -dot(weights, np.abs(targets[name])))[:MOST_OUTPUTS]
    names = tuple(name for name in targets if name in common)
    seen: list[Column] = []
    origin: list[int] = []
    n_wide = sum(column.is_categorical and len(column.categories) > MAX_CODES for column in columns)
    means: dict[int, np.ndarray] = {}
    codes: dict[int, np.ndarray] = {}
    for place, column in enumerate(columns):
        copies = [column]
        if is_target_encoded(column, len(values)):
            called = [f"{name} in {column.name}" for name in names]
            seen += [replace(column, name=name, kind=Kind.NUMERIC, categories=()) for name in called]
            means[place] = np.zeros((len(column.categories) + 1, len(names)))
            if len(column.categories) > MAX_CODES:
                copied = copies_of(column, values[:, place], max(MOST_COPIES // n_wide, 1))
                copies = [copy for copy, _ in copied]
                codes |= {len(seen) + number: codes_of_copy for number, (_, codes_of_copy) in enumerate(copied)}
        seen += copies
        origin += [place] * (len(seen) - len(origin))
    return TargetEncoding(tuple(seen), np.array(origin), names, means, codes).learn(values, targets, weights)


def copies_of(column: Column, values: np.ndarray, most: int) -> list[tuple[Column, np.ndarray]]:
    """Return copies of the column for some of its categories at a time, and the code of each category there.

    Missing values have no code.
    """
    n_categories, n_own = len(column.categories), MAX_CODES - 1
    rows = np.bincount(values[values >= 0.0].astype(np.intp), minlength=n_categories)
    # Equally common categories are ordered by name, so that the order of the rows does not matter.
    common = sorted(np.flatnonzero(rows >= LEAST_ROWS), key=lambda k: (-rows[k], str(column.categories[k])))
    common = common[: n_own * most]
    copies = []
    for number, start in enumerate(range(0, len(common), n_own)):
        own = common[start : start + n_own]
        codes = np.full(n_categories + 1, float(len(own)))
        codes[own] = np.arange(len(own))
        codes[-1] = np.nan
        name = column.name if len(common) <= n_own else f"{column.name} (part {number + 1})"
        copies.append(
            (replace(column, name=name, categories=(*(column.categories[k] for k in own), THE_OTHERS)), codes)
        )
    return copies


def means_of_other_folds(
    lines: np.ndarray, numbers: np.ndarray, weights: np.ndarray, n_lines: int, fold: np.ndarray
) -> np.ndarray:
    """Compute for each row the means of its line over the rows of the other folds."""
    found = np.empty((len(lines), numbers.shape[1]))
    for number in range(FOLDS):
        held = fold == number
        found[held] = smoothed_means(lines[~held], numbers[~held], weights[~held], n_lines)[lines[held]]
    return found


def smoothed_means(lines: np.ndarray, numbers: np.ndarray, weights: np.ndarray, n_lines: int) -> np.ndarray:
    """Compute the mean of each line, shrunk towards the mean of all rows, which is also the mean of lines without rows.

    >>> smoothed_means(np.array([0, 0, 1, 1]), np.array([[0.0], [0.0], [1.0], [1.0]]), np.ones(4), 3).ravel()
    array([0. , 1. , 0.5])
    """
    # Weights count as rows, so their scale must not matter.
    weights = weights * (len(weights) / weights.sum()) if len(weights) else weights
    counts = np.bincount(lines, weights, minlength=n_lines)
    total = counts.sum()
    found = np.empty((n_lines, numbers.shape[1]))
    for k, column in enumerate(numbers.T):
        overall = dot(weights, column) / total if total > 0.0 else 0.0
        own = np.bincount(lines, weights * (column - overall), minlength=n_lines) / np.maximum(counts, 1e-300)
        within = dot(weights, (column - overall - own[lines]) ** 2)
        between = dot(counts, own**2)
        n_present = np.count_nonzero(counts)
        # The variance within categories, and the variance between categories beyond it (analysis of variance).
        row_spread = within / max(total - n_present, 1e-9)
        spread_weight = total - dot(counts, counts) / max(total, 1e-300)
        category_spread = (between - (n_present - 1) * row_spread) / max(spread_weight, 1e-9)
        strength = np.inf if category_spread <= 0.0 else row_spread / category_spread
        found[:, k] = overall + (0.0 if np.isinf(strength) else own * counts / np.maximum(counts + strength, 1e-300))
    return found
