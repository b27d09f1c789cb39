"""C4.5: gain ratio, fractional instances and error-based pruning, in every detail as Weka's J48."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from treewright.estimators.base import Training
from treewright.estimators.parameter_docs import documented
from treewright.estimators.single.base import TreeClassifier
from treewright.estimators.single.magnitudes import scales_of_columns, with_scaled_columns, without_scales
from treewright.estimators.single.specification import FittedTree, TreeSpec
from treewright.estimators.weights import read_weights
from treewright.table import Table, has_label, take_rows
from treewright.table.user_warnings import warn_user
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


@documented("single", "c45", "classes")
class C45Classifier(TreeClassifier):
    """C4.5 (Quinlan 1993, 1996): the split with the best gain ratio among those with at least average gain.

    A categorical column has one branch per category, a numeric column a threshold, whose gain is corrected for the
    number of candidates. Rows with missing values become fractional instances. The tree is pruned by upper bounds of
    its errors. It equals the tree of Weka's J48 to the last digit: see `docs/c45.md`. Columns whose values spread over
    less than 0.001 are the exception: Weka treats values within 0.00001 as equal, and would find no threshold there.

    Examples
    --------
    >>> from treewright import C45Classifier, datasets
    >>> weather = datasets.load_weather()
    >>> C45Classifier().fit(weather.X, weather.y).rules("yes")
    'play=yes: (outlook=sunny and humidity=normal) or (outlook=overcast) or (outlook=rainy and wind=weak)'
    """

    _spec = C45Spec
    _recipe: ClassVar[Mapping[str, Any]] = {
        "criterion": "gain_ratio",
        "categorical": "multiway",
        "quinlan": True,
    }

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 2,
        max_p_value: float = 1.0,
        prune: str | None = "error_based",
        confidence: float = 0.25,
        subtree_raising: bool = True,
        validation_fraction: float = 1 / 3,
        variant: str = "j48",
        missing: Any = "fractional",
        unseen: str = "as_missing",
        class_weight: Any = None,
        misclassification_costs: Any = None,
        smoothing: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_p_value = max_p_value
        self.prune = prune
        self.confidence = confidence
        self.subtree_raising = subtree_raising
        self.validation_fraction = validation_fraction
        self.variant = variant
        self.missing = missing
        self.unseen = unseen
        self.class_weight = class_weight
        self.misclassification_costs = misclassification_costs
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.n_jobs = n_jobs

    def _read_training(self, table: Table, y: Any, sample_weight: Any) -> Training:
        labelled = has_label(y)
        if labelled is None:
            return super()._read_training(table, y, sample_weight)
        # Rows without a class do not take part in growth, but a threshold may be one of their values, as in Weka.
        rows = np.flatnonzero(labelled)
        warn_user(f"{len(labelled) - len(rows)} rows without a class are not learned from")
        weights = read_weights(sample_weight, len(labelled))[rows]
        known = replace(table, values=np.asfortranarray(table.values[rows]))
        training = super()._read_training(known, take_rows(y, rows), weights)
        return replace(training, whole=table.values)


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
