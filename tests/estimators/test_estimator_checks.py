"""scikit-learn's own checks, for every learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import treewright
from treewright.estimators import single

# Checks that cannot apply: which, to whom, and why.
NOT_APPLICABLE = {
    "check_class_weight_classifiers": (
        ("ObliviousTreeClassifier",),
        "a full tree answers every training row right, whatever it weighs, so noise of the light class "
        "stays; scikit-learn's own trees pass by a limit on leaf weight that the check sets for them",
    ),
    **dict.fromkeys(
        ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
        (
            ("CARTClassifier", "CARTRegressor"),
            "they choose their size by cross-validation, which assigns rows to folds: copies of a repeated row are "
            "validated by trees grown from the others, a row with a weight is not",
        ),
    ),
}


def not_applicable(learner: Any) -> dict[str, str]:
    name = type(learner).__name__
    return {check: reason for check, (names, reason) in NOT_APPLICABLE.items() if name in names}


def all_learners() -> list[Any]:
    special = {"ID3Classifier": {"categorical_features": "all"}}  # the checks hand in numbers
    return [getattr(treewright, name)(**special.get(name, {})) for name in single.__all__]


@pytest.mark.slow
@parametrize_with_checks(all_learners(), expected_failed_checks=not_applicable)
def test_learner_passes_the_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
