"""Forests for classes and for numbers: what they predict, and their out-of-bag scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.base import (
    ClassPredictions,
    NumberPredictions,
    Training,
)
from treewright.estimators.forest.base import ForestLearner
from treewright.estimators.parameters import (
    CLASS_CRITERIA,
    NUMBER_CRITERIA,
    is_real,
    parameter_error,
)
from treewright.estimators.several import accuracy_of_all, classes_of, shares_of, stacked
from treewright.estimators.single.trees import DecisionTreeClassifier, DecisionTreeRegressor


class ForestClassifier(ClassPredictions, ForestLearner):
    """Shared base of the forests for classes."""

    voting: str

    _criteria: ClassVar[tuple[str, ...]] = CLASS_CRITERIA
    _tree_learner: ClassVar[type] = DecisionTreeClassifier
    _takes_several = True
    _offered_leaves = (1, 3, 10)

    def _offered_columns(self, n_columns: int) -> list[int]:
        return [max(1, round(n_columns**0.5)), -(-n_columns // 3), n_columns]

    def _by_majority(self) -> bool:
        if not isinstance(self.voting, str) or self.voting not in ("soft", "hard"):
            raise parameter_error("voting", self.voting, "'soft' or 'hard'")
        return self.voting == "hard"

    def _class_weight(self) -> Any:
        return None if self._balances_bags() else self.class_weight

    def member_predictions(self, X: Any) -> np.ndarray:
        predictions = super().member_predictions(X)
        return predictions if self._several() else predictions[:, :, self._labels_of_classes()]

    def _keep_out_of_bag_predictions(self, predictions: np.ndarray, training: Training, known: np.ndarray) -> None:
        if self._several():
            self._keep_several_out_of_bag(predictions, training, known)
            return
        shares = predictions[:, self._labels_of_classes()]
        self.oob_decision_function_ = _in_all_rows(shares, training)
        truth = self._named(training.y[known].astype(np.intp))
        from sklearn.metrics import accuracy_score

        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = float(score(truth, self._named(self._choose(predictions[known]))))

    def _keep_several_out_of_bag(self, predictions: np.ndarray, training: Training, known: np.ndarray) -> None:
        by_output = shares_of(self._target(), self.classes_, predictions)
        self.oob_decision_function_ = stacked([_in_all_rows(one, training) for one in by_output])
        truth = classes_of(shares_of(self._target(), self.classes_, training.y), self.classes_)
        score = self.oob_score if callable(self.oob_score) else accuracy_of_all
        self.oob_score_ = float(score(truth[known], classes_of(by_output, self.classes_)[known]))


class ForestRegressor(NumberPredictions, ForestLearner):
    """Shared base of the forests for numbers."""

    quantiles: bool

    _criteria: ClassVar[tuple[str, ...]] = NUMBER_CRITERIA
    _tree_learner: ClassVar[type] = DecisionTreeRegressor
    _takes_several = True
    _offered_leaves = (1, 3, 10)

    def _offered_columns(self, n_columns: int) -> list[int]:
        return [-(-n_columns // 3), max(1, round(n_columns**0.5)), -(-2 * n_columns // 3), n_columns]

    def member_predictions(self, X: Any) -> np.ndarray:
        predictions = super().member_predictions(X)
        return predictions if self._several() else predictions[:, :, 0]

    def predict_quantiles(self, X: Any, quantiles: Any = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of the target given a row: a column each (Meinshausen 2006).

        A training row has a weight for a new row in every tree where both reach the same leaf; the rows of a leaf share
        one unit of weight. Fit with `quantiles=True`, which keeps the target and the leaf of each training row.
        """
        from treewright.estimators.forest.quantiles import weighted_quantiles

        if not hasattr(self, "training_leaves_"):
            check_is_fitted(self)
            raise ValueError("quantiles need the training rows; fit the forest with quantiles=True")
        return weighted_quantiles(
            self._leaves(X), self.training_leaves_, self.training_target_, self.training_weights_, quantiles
        )

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """The lower and upper limit of an interval that has the target of a row with this probability.

        The width is that of the out-of-bag errors, and the same for all rows. Fit with `oob_score=True`. For intervals
        whose width depends on the row see `predict_quantiles`.
        """
        if not is_real(coverage) or not 0.0 < coverage < 1.0:
            raise parameter_error("coverage", coverage, "a share between 0 and 1")
        if not hasattr(self, "oob_errors_"):
            check_is_fitted(self)
            raise ValueError("intervals need the out-of-bag errors; fit the forest with oob_score=True")
        outside = 0.5 * (1.0 - coverage)
        low, high = np.quantile(self.oob_errors_, [outside, 1.0 - outside])
        middle = self.predict(X)
        return np.column_stack([middle + low, middle + high])

    def _keep_out_of_bag(self, predictions: np.ndarray | None, rows: np.ndarray, training: Training) -> None:
        self.__dict__.pop("oob_errors_", None)
        super()._keep_out_of_bag(predictions, rows, training)
        for name in ("training_leaves_", "training_target_", "training_weights_"):
            self.__dict__.pop(name, None)
        if self.quantiles and self._several():
            raise ValueError("quantiles are not available for several targets; fit one at a time")
        if self.quantiles:
            leaves = self.forest_.leaves(rows, self.n_jobs)
            self.training_leaves_ = np.ascontiguousarray(leaves, dtype=np.uint32)
            self.training_target_, self.training_weights_ = training.y, training.weights

    def _keep_out_of_bag_predictions(self, predictions: np.ndarray, training: Training, known: np.ndarray) -> None:
        from sklearn.metrics import r2_score

        score = self.oob_score if callable(self.oob_score) else r2_score
        if self._several():
            self.oob_prediction_ = _in_all_rows(predictions, training)
            self.oob_score_ = float(score(training.y[known], predictions[known]))
            return
        self.oob_prediction_ = _in_all_rows(predictions, training)[:, 0]
        self.oob_errors_ = training.y[known] - predictions[known, 0]
        self.oob_score_ = float(score(training.y[known], predictions[known, 0]))


def _in_all_rows(predictions: np.ndarray, training: Training) -> np.ndarray:
    """Predictions for all rows of the user's table, NaN for those of weight 0."""
    if training.kept is None:
        return predictions
    spread = np.full((len(training.kept), predictions.shape[1]), np.nan)
    spread[training.kept] = predictions
    return spread
