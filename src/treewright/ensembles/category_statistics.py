"""Columns of many categories, told by the mean of the target in each.

A category of few rows tells little by itself, and a tree that may group hundreds of them finds groups in mere chance.
So such a column is told by numbers: the mean target of the row's category, drawn towards the mean of all rows the more
the fewer rows the category has, and the less the categories differ (empirical Bayes). A training row's own target must
not be part of it, so rows are dealt into folds, and each gets the means of the other folds. A column whose categories
fit into a byte is kept beside its means.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from treewright.growth.binning import MAX_CODES
from treewright.table.column import Column, Kind

# A column is told by means if a byte cannot tell its categories apart, or if it has so many and too few rows for each.
MANY_CATEGORIES, ENOUGH_ROWS = 12, 100

FOLDS = 10

# Of so many outputs at most the means are told: those of the most common classes.
MOST_OUTPUTS = 20


@dataclass(frozen=True, eq=False)
class CategoryStatistics:
    """How a table is told to the trees."""

    columns: tuple[Column, ...]  # as the trees see them
    origin: np.ndarray  # which column of the table each is made from
    means: dict[int, np.ndarray]  # per column told by means: a line for each category, and one for gaps

    def apply(self, values: np.ndarray) -> np.ndarray:
        """New rows as the trees see them."""
        if not self.means:
            return values
        return self.put_together(
            values, {place: means[lines_of(values[:, place], len(means) - 1)] for place, means in self.means.items()}
        )

    def put_together(self, values: np.ndarray, told: dict[int, np.ndarray]) -> np.ndarray:
        """The table with the columns told by means in their places."""
        seen = np.empty((len(values), len(self.columns)), order="F")
        for at, column in enumerate(self.columns):
            place = self.origin[at]
            if place not in told or column.is_categorical:
                seen[:, at] = values[:, place]
            else:
                first = int(np.flatnonzero(self.origin == place)[0])
                seen[:, at] = told[place][:, at - first]
        return seen


def lines_of(categories: np.ndarray, n_categories: int) -> np.ndarray:
    """The line of each row's category; the last is for gaps and for categories that were not there in training."""
    known = categories >= 0.0
    return np.where(known, categories, n_categories).astype(np.intp)


def is_told_by_means(column: Column, n_rows: int) -> bool:
    """Has the column too many categories to be parted in groups alone?"""
    n_categories = len(column.categories)
    few_rows = n_categories >= MANY_CATEGORIES and n_rows < ENOUGH_ROWS * n_categories
    return column.is_categorical and (n_categories > MAX_CODES or few_rows)


def learn_statistics(
    columns: tuple[Column, ...],
    values: np.ndarray,
    targets: dict[str, np.ndarray],
    weights: np.ndarray,
    places: Collection[int] | None = None,
) -> tuple[CategoryStatistics, np.ndarray]:
    """How to tell a table to the trees, and its rows told so; `targets` are numbers by the name of the output.

    `places` are the columns to be told by means; without it, those of many categories.
    """
    if places is None:
        places = [place for place, column in enumerate(columns) if is_told_by_means(column, len(values))]
    if not places:
        return CategoryStatistics(columns, np.arange(len(columns)), {}), values
    common = sorted(targets, key=lambda name: -float(weights @ np.abs(targets[name])))[:MOST_OUTPUTS]
    names = [name for name in targets if name in common]
    numbers = np.column_stack([targets[name] for name in names])
    fold = np.random.default_rng(0).permutation(len(values)) % FOLDS
    means, told, seen, origin = {}, {}, [], []
    for place, column in enumerate(columns):
        if place in places:
            lines, n_lines = lines_of(values[:, place], len(column.categories)), len(column.categories) + 1
            means[place] = smoothed_means(lines, numbers, weights, n_lines)
            told[place] = means_of_other_folds(lines, numbers, weights, n_lines, fold)
            called = [f"mean {name} of {column.name}" for name in names]
            seen += [replace(column, name=name, kind=Kind.NUMERIC, categories=()) for name in called]
            origin += [place] * len(called)
            if len(column.categories) > MAX_CODES:
                continue
        seen.append(column)
        origin.append(place)
    statistics = CategoryStatistics(tuple(seen), np.array(origin), means)
    return statistics, statistics.put_together(values, told)


def means_of_other_folds(
    lines: np.ndarray, numbers: np.ndarray, weights: np.ndarray, n_lines: int, fold: np.ndarray
) -> np.ndarray:
    """For each row the means of its line among the rows of the other folds."""
    found = np.empty((len(lines), numbers.shape[1]))
    for number in range(FOLDS):
        held = fold == number
        found[held] = smoothed_means(lines[~held], numbers[~held], weights[~held], n_lines)[lines[held]]
    return found


def smoothed_means(lines: np.ndarray, numbers: np.ndarray, weights: np.ndarray, n_lines: int) -> np.ndarray:
    """The mean of the numbers of each line, drawn towards the mean of all; lines without rows have that mean.

    >>> smoothed_means(np.array([0, 0, 1, 1]), np.array([[0.0], [0.0], [1.0], [1.0]]), np.ones(4), 3).ravel()
    array([0. , 1. , 0.5])
    """
    # Weights count as rows, so their scale must not matter.
    weights = weights * (len(weights) / weights.sum()) if len(weights) else weights
    counts = np.bincount(lines, weights, minlength=n_lines)
    total = counts.sum()
    found = np.empty((n_lines, numbers.shape[1]))
    for k, column in enumerate(numbers.T):
        overall = float(weights @ column) / total if total > 0.0 else 0.0
        own = np.bincount(lines, weights * (column - overall), minlength=n_lines) / np.maximum(counts, 1e-300)
        within = float(weights @ (column - overall - own[lines]) ** 2)
        between = float(counts @ own**2)
        n_present = np.count_nonzero(counts)
        # What rows of a category differ by on average, and what categories do beyond that (analysis of variance).
        row_spread = within / max(total - n_present, 1e-9)
        room = total - float(counts @ counts) / max(total, 1e-300)
        category_spread = (between - (n_present - 1) * row_spread) / max(room, 1e-9)
        strength = np.inf if category_spread <= 0.0 else row_spread / category_spread
        found[:, k] = overall + (0.0 if np.isinf(strength) else own * counts / np.maximum(counts + strength, 1e-300))
    return found
