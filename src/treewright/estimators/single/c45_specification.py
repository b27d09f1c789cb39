"""The rules of C4.5 beside growth: thresholds that are values of the table, and collapsing without pruning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewright.estimators.base import Training
from treewright.estimators.single.magnitudes import scales_of_columns, with_scaled_columns, without_scales
from treewright.estimators.single.specification import FittedTree, TreeSpec
from treewright.tree import SplitKind, Tree
from treewright.tree.pruning.methods import collapse_by_errors

# Weka treats numbers that differ by less as equal.
WEKA_CLOSE = 1e-6
# It finds no threshold in a column whose values spread over little more than that, so such columns are scaled up.
LEAST_SPREAD = 1e-3


class C45Spec(TreeSpec):
    """The specification of a C4.5 tree: thresholds are values of the table, and useless splits are collapsed."""

    def grow(self, training: Training) -> Tree:
        return lower_thresholds(super().grow(training), training.table)

    def fit(self, training: Training) -> FittedTree:
        scales = scales_of_columns(training, LEAST_SPREAD)
        if (scales == 1.0).all() or self.plan.strategy.imputes:
            return self._fit(training)
        fitted = self._fit(with_scaled_columns(training, scales))
        return replace(fitted, tree=without_scales(fitted.tree, scales).replace(tolerance=0.0))

    def _fit(self, training: Training) -> FittedTree:
        if self.pruning is None:
            return FittedTree(collapse_by_errors(self.grow(training)))
        return super()._fit(training)


def lower_thresholds(tree: Tree, values: np.ndarray) -> Tree:
    """Lower each threshold to the largest value of its column, in the whole table, that is not above it.

    Weka compares with a tolerance of 1e-6, here and when it sends rows down the tree.
    """
    lowered = np.array(tree.threshold)
    numeric = np.array([column.is_numeric for column in tree.columns])
    nodes = np.flatnonzero(tree.kind == SplitKind.THRESHOLD)
    nodes = nodes[numeric[tree.column[nodes]] & np.isfinite(tree.threshold[nodes])]
    for place in np.unique(tree.column[nodes]):
        line = values[:, place]
        distinct = np.unique(line[~np.isnan(line)])
        for node in nodes[tree.column[nodes] == place]:
            threshold = tree.threshold[node]
            end = max(np.searchsorted(distinct, threshold + WEKA_CLOSE), np.searchsorted(distinct, threshold, "right"))
            last = int(end) - 1
            lowered[node] = distinct[last]
            if last > 0 and distinct[last - 1] > distinct[last] - WEKA_CLOSE:
                lowered[node] = _first_of_close(line, distinct[last])
    return tree.replace(threshold=lowered, tolerance=WEKA_CLOSE)


def _first_of_close(line: np.ndarray, largest: float) -> float:
    """The value that Weka finds in its pass over a column: no later value exceeds it by more than 1e-6."""
    found = -np.inf
    for value in line[(line > largest - 10 * WEKA_CLOSE) & (line <= largest)].tolist():
        if value > found + WEKA_CLOSE:
            found = value
    return found
