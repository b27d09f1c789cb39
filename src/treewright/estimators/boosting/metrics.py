"""Metrics that are recorded on the validation set after each round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from treewright.estimators.base import labels_of_classes
from treewright.estimators.parameters import parameter_error
from treewright.tree import Target

# Named metrics are functions of scikit-learn of the same name; True for those that need class probabilities.
CLASS_METRICS = {
    "accuracy_score": False,
    "balanced_accuracy_score": False,
    "log_loss": True,
    "roc_auc_score": True,
    "brier_score_loss": True,
}
NUMBER_METRICS = (
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "median_absolute_error",
    "r2_score",
)


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric with a name: a function of targets as labels or numbers, predictions, and weights."""

    name: str
    compute: Callable[[np.ndarray, np.ndarray, np.ndarray], float]


def read_metrics(eval_metric: Any, target: Target, classes: np.ndarray) -> tuple[Metric, ...]:
    """The metrics that a user gives by name or as functions of target and prediction.

    A function for classes gets the classes and their probabilities in the order of `classes`; with two classes it gets
    the probability of the second. A function for numbers gets numbers.
    """
    if eval_metric is None:
        return ()
    given = list(eval_metric) if isinstance(eval_metric, list | tuple) else [eval_metric]
    metrics = [_read_metric(each, target, classes) for each in given]
    if len({metric.name for metric in metrics}) < len(metrics):
        raise ValueError(f"eval_metric has a name twice: {', '.join(metric.name for metric in metrics)}")
    return tuple(metrics)


def _read_metric(given: Any, target: Target, classes: np.ndarray) -> Metric:
    names = tuple(CLASS_METRICS) if target.is_classes else NUMBER_METRICS
    if callable(given):
        name = str(getattr(given, "__name__", type(given).__name__))
        takes_shares, function = True, lambda truth, predicted, weights: given(truth, predicted)
    elif isinstance(given, str) and given in names:
        from sklearn import metrics

        name, takes_shares = given, CLASS_METRICS.get(given, False)
        function = partial(_call_with_weights, getattr(metrics, given))
        if given == "log_loss":
            function = partial(_call_with_weights, partial(metrics.log_loss, labels=classes))
    else:
        raise parameter_error("eval_metric", given, f"one of {', '.join(map(repr, names))}, a function, or a list")
    if not target.is_classes:
        return Metric(name, lambda targets, predicted, weights: function(targets.T, _one_column(predicted), weights))
    labels = labels_of_classes(target, classes)

    def of_classes(targets: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
        shares = predicted[:, labels]
        place = np.zeros(len(target.classes), dtype=np.intp)
        place[labels] = np.arange(len(labels))
        truth = classes[place[targets.astype(np.intp)]]
        if not takes_shares:
            return function(truth, classes[shares.argmax(axis=1)], weights)
        return function(truth, shares[:, 1] if shares.shape[1] == 2 else shares, weights)

    return Metric(name, of_classes)


def _call_with_weights(metric: Callable[..., Any], truth: np.ndarray, predicted: np.ndarray, weights: Any) -> float:
    return float(metric(truth, predicted, sample_weight=weights))


def _one_column(predicted: np.ndarray) -> np.ndarray:
    return predicted[:, 0] if predicted.shape[1] == 1 else predicted
