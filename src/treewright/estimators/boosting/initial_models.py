"""The parameter `init` of gradient boosting: a model whose predictions the trees start from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from treewright.engines.elementary import log_of
from treewright.estimators.boosting.losses import LEAST_PROBABILITY, Exponential, Loss, Tweedie
from treewright.estimators.parameters import is_text
from treewright.table.selection import open_rows

# Predictions of a loss with a logarithmic link are at least this.
LEAST_MEAN = 1e-10


def fit_initial_model(init: Any, X: Any, y: Any, sample_weight: Any, *, of_classes: bool) -> Any:
    """The fitted model of `init`; None if there is none or if it is "zero"."""
    if init is None or is_text(init, "zero"):
        return None
    kind = "classifier" if of_classes else "regressor"
    is_model = not isinstance(init, type) and hasattr(init, "fit") and hasattr(init, "predict")
    if not is_model or (is_regressor(init) if of_classes else is_classifier(init)):
        method, shown = "predict_proba" if of_classes else "predict", repr(init)
        shown = shown if len(shown) < 80 else type(init).__name__
        raise ValueError(
            f"The 'init' parameter of GradientBoosting{kind.capitalize()} must be a str among {{'zero'}}, None or an "
            f"object implementing 'fit' and '{method}'. It is {shown}; give a {kind}, 'zero' or None"
        )
    # Imported here because most models need no other library's members.
    from treewright.estimators.meta.preparing import prepared, takes_weights

    model = prepared(clone(init))
    if sample_weight is None:
        return model.fit(open_rows(X), y)
    if not takes_weights(model):
        raise ValueError(f"The initial estimator {type(init).__name__} does not support sample weights; leave them out")
    return model.fit(open_rows(X), y, sample_weight=sample_weight)


def initial_scores(model: Any, X: Any, loss: Loss, names: list[Any]) -> np.ndarray:
    """The predictions of an initial model on the scale of the loss: [output, row].

    `names` are the classes by label, none for numbers.
    """
    rows = open_rows(X)
    if not names:
        means = np.asarray(model.predict(rows), dtype=np.float64)
        means = means.reshape(len(means), -1).T
        return np.ascontiguousarray(log_of(np.maximum(means, LEAST_MEAN)) if isinstance(loss, Tweedie) else means)
    if not hasattr(model, "predict_proba"):
        raise ValueError("init must have predict_proba, because the scores of classes are logarithms of probabilities")
    found = np.asarray(model.predict_proba(rows))
    # A model need not have classes; it then has all of them in ascending order.
    classes = np.asarray(model.classes_).tolist() if hasattr(model, "classes_") else sorted(names)
    shares = np.zeros((len(found), len(names)))
    for label, name in enumerate(names):
        if name in classes:
            shares[:, label] = found[:, classes.index(name)]
    logarithms = log_of(np.clip(shares, LEAST_PROBABILITY, 1.0)).T
    if len(names) > 2:
        return np.ascontiguousarray(logarithms)
    # The only class has label 0, and odds are those of label 1.
    odds = (logarithms[-1:] if len(names) == 2 else log_of(LEAST_PROBABILITY)) - logarithms[:1]
    return np.ascontiguousarray(0.5 * odds if isinstance(loss, Exponential) else odds)
