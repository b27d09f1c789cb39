"""The score that decides when boosting stops: a scorer of scikit-learn, or a function of target and prediction."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from treewright.estimators.base import labels_of_classes
from treewright.estimators.boosting.metrics import Metric, read_metrics
from treewright.estimators.parameters import is_text, parameter_error
from treewright.tree import Target


class PredictedNumbers(RegressorMixin, BaseEstimator):
    """A fitted regressor whose predictions for the validation set are known."""

    def __init__(self, predictions: np.ndarray) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any) -> PredictedNumbers:
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.predictions


class PredictedClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose probabilities for the validation set are known."""

    def __init__(self, classes: np.ndarray, shares: np.ndarray) -> None:
        self.classes = classes
        self.shares = shares
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> PredictedClasses:
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[self.shares.argmax(axis=1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.shares


def read_scoring(scoring: Any, target: Target, classes: np.ndarray) -> Metric | None:
    """The score by which boosting stops, of which more is better; None for the loss.

    Parameters
    ----------
    scoring : "loss", str, function or None
        The name of a scorer of scikit-learn, a scorer, a function of target and prediction as in `eval_metric`, or
        None for the accuracy or the coefficient of determination.
    target, classes
        The target, and its classes in the user's own type.
    """
    if is_text(scoring, "loss"):
        return None
    # Imported here because most models stop by their loss.
    from sklearn.metrics import check_scoring
    from sklearn.metrics._scorer import _BaseScorer

    if callable(scoring) and not isinstance(scoring, _BaseScorer) and _n_arguments(scoring) == 2:
        return read_metrics(scoring, target, classes)[0]
    labels = labels_of_classes(target, classes) if target.is_classes else np.empty(0, np.intp)
    wrong = parameter_error("scoring", scoring, "'loss', the name of a scorer of scikit-learn, a function, or None")
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise wrong
    try:
        scorer = check_scoring(_predicted(target, classes, labels, np.empty((0, max(len(target.classes), 1)))), scoring)
    except (ValueError, TypeError):
        raise wrong from None

    is_weighted = _takes_weights(scorer)

    def compute(targets: np.ndarray, predictions: np.ndarray, weights: np.ndarray) -> float:
        model = _predicted(target, classes, labels, predictions)
        truth = _named(targets, labels, classes) if target.is_classes else targets.T
        options = {"sample_weight": weights} if is_weighted and (weights != weights[0]).any() else {}
        score = float(scorer(model, np.empty((len(predictions), 1)), truth, **options))
        if np.isnan(score):
            raise ValueError(
                f"the score {name!r} is not a number on the validation set; give more rows, or another score"
            )
        return score

    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return Metric(str(name), compute)


def _takes_weights(scorer: Any) -> bool:
    """Whether a scorer, or the metric that it computes, has a parameter for the weights of rows."""
    function = getattr(scorer, "_score_func", scorer)
    return "sample_weight" in inspect.signature(function).parameters


def _predicted(target: Target, classes: np.ndarray, labels: np.ndarray, predictions: np.ndarray) -> Any:
    if target.is_classes:
        return PredictedClasses(classes, predictions[:, labels])
    return PredictedNumbers(predictions[:, 0] if predictions.shape[1] == 1 else predictions)


def _named(targets: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    place = np.zeros(int(labels.max()) + 1, dtype=np.intp)
    place[labels] = np.arange(len(labels))
    return np.asarray(classes[place[targets.astype(np.intp)]])


def _n_arguments(function: Any) -> int:
    """How many arguments a function needs, 2 if that is not known; any further ones do not count."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    further = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(one.default is one.empty and one.kind not in further for one in parameters)
