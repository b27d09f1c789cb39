"""C4.5: gain ratio, fractional instances and error-based pruning, in every detail as Weka's J48."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from treewright.estimators.base import Training
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters
from treewright.estimators.single.base import TreeClassifier
from treewright.estimators.single.c45_specification import C45Spec
from treewright.estimators.weights import read_weights
from treewright.table import Table, has_label, take_rows
from treewright.table.sparse import rows_of
from treewright.table.user_warnings import warn_user


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
        store_parameters(self, locals())

    def _read_training(self, table: Table, y: Any, sample_weight: Any) -> Training:
        labelled = has_label(y)
        if labelled is None:
            return super()._read_training(table, y, sample_weight)
        # Rows without a class do not take part in growth, but a threshold may be one of their values, as in Weka.
        rows = np.flatnonzero(labelled)
        warn_user(f"{len(labelled) - len(rows)} rows without a class are not learned from")
        weights = read_weights(sample_weight, len(labelled))[rows]
        known = replace(table, values=rows_of(table.values, rows))
        training = super()._read_training(known, take_rows(y, rows), weights)
        return replace(training, whole=table.values)
