"""The search for the split of one node of a forest's tree, among a few columns drawn at random."""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import NONE
from treewright.engines.forest.classes import search_classes
from treewright.engines.forest.codes import draw_place
from treewright.engines.forest.moments import gather_stats, search_moments
from treewright.runtime.kernels import kernel


@kernel
def draw_column(work, c):
    """Draw the column that is searched as number c into its place; returns it."""
    columns = work.columns
    other = c + draw_place(work.state, len(columns) - c)
    columns[c], columns[other] = columns[other], columns[c]
    return columns[c]


@kernel
def search_columns(work, score_of_node, perfect, by_class):
    """Search as many columns as the recipe requires, drawn at random, and more while none could be split.

    `by_class` is None for the search by weights and sums, so that only one kind is compiled. No split is better than a
    `perfect` one, so it ends the search.
    """
    n_columns = len(work.columns)
    work.node_score, work.perfect = score_of_node, perfect
    work.best_score, work.best_above, work.best_below = -np.inf, -1.0, 1.0
    work.best_column = NONE
    if by_class is None:
        gather_stats(work)
    for c in range(n_columns):
        if c >= work.max_features and work.best_column >= 0:
            break
        column = draw_column(work, c)
        if by_class is None:
            search_moments(work, column)
        else:
            search_classes(work, column)
        if by_class is None and work.best_column >= 0 and perfect < np.inf:
            work.best_score = score_of_node + work.best_above / (work.best_below * work.weight)
        if work.best_score >= perfect:
            break
