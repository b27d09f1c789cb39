"""Columns with more categories than a byte can tell apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewright.growth.binning import MAX_CODES
from treewright.learners.tables import Training
from treewright.table.column import Column

# What all categories are called that are too rare to have a code of their own.
OTHERS = "(others)"


def group_rare(training: Training) -> dict[int, np.ndarray]:
    """For columns with more categories than a byte can tell: the code of each, all rare ones the last.

    One code is kept for all that are not among the most common.
    """
    groups = {}
    for place, column in enumerate(training.columns):
        n_categories = len(column.categories)
        if not column.is_categorical or n_categories <= MAX_CODES:
            continue
        known = training.values[:, place]
        counts = np.bincount(known[~np.isnan(known)].astype(np.intp), minlength=n_categories)
        common = np.sort(np.argsort(-counts, kind="stable")[: MAX_CODES - 1])
        codes = np.full(n_categories, MAX_CODES - 1.0)
        codes[common] = np.arange(len(common))
        groups[place] = codes
    return groups


def group_column(column: Column, codes: np.ndarray | None) -> Column:
    if codes is None:
        return column
    names = [column.categories[place] for place in np.flatnonzero(codes < MAX_CODES - 1)]
    return replace(column, categories=(*names, OTHERS))


def grouped(values: np.ndarray, groups: dict[int, np.ndarray]) -> np.ndarray:
    """Values with rare categories put together."""
    if not groups:
        return values
    values = values.copy()
    for place, codes in groups.items():
        known = values[:, place] >= 0
        values[known, place] = codes[values[known, place].astype(np.intp)]
    return values
