"""How a model became what it is: pruning, trees of a forest, rounds of boosting, members of an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.estimators.base import Ensemble, labels_of_classes, target_of
from treewright.estimators.single.ccp_validation import ValidatedPath, cross_validate_ccp_alpha
from treewright.insight.diversity import diversity
from treewright.show.picture.colours import LINE, OKABE_ITO
from treewright.show.plots.tables import classes_of_rows, open_axes
from treewright.table import read_numbers


def plot_complexity(model: Any, X: Any = None, y: Any = None, *, ax: Any = None, **options: Any) -> Any:
    """The cross-validated error of each tree of the pruning sequence, with standard errors and the chosen tree.

    Parameters
    ----------
    model : a tree learner with X and y, or the result of `cross_validate_ccp_alpha`
    options : passed to `cross_validate_ccp_alpha`

    >>> from treewright import CARTClassifier, datasets
    >>> from treewright.plots import plot_complexity
    >>> iris = datasets.load_iris()
    >>> plot_complexity(CARTClassifier(), iris.X, iris.y).get_xlabel()
    'leaves'
    """
    found = model if isinstance(model, ValidatedPath) else cross_validate_ccp_alpha(model, X, y, **options)
    ax = open_axes(ax)
    ax.errorbar(found.leaves, found.losses, found.deviations, color=OKABE_ITO[0], capsize=3, label="cross-validated")
    ax.plot(found.leaves, found.risks, color=LINE, linestyle="--", label="training")
    best = int(np.argmin(found.losses))
    ax.axhline(found.losses[best] + found.deviations[best], color=LINE, linewidth=0.8, linestyle=":")
    leaves, loss = found.leaves[found.chosen], found.losses[found.chosen]
    ax.plot([leaves], [loss], "o", color=OKABE_ITO[5], markersize=9, label=f"chosen: {leaves} leaves", zorder=5)
    ax.set(xlabel="leaves", ylabel="error")
    if found.leaves.max() > 50:
        ax.set_xscale("log")
    ax.legend()
    return ax


def oob_errors(model: Any, X: Any, y: Any) -> np.ndarray:
    """The out-of-bag error after each tree: the error rate, or the mean squared error.

    A row counts from its first tree that was not grown from it.
    """
    if not isinstance(model, Ensemble) or not hasattr(model, "estimators_samples_"):
        raise TypeError(f"out-of-bag errors need a fitted forest or bagging, not a {type(model).__name__}")
    predictions = np.asarray(model.member_predictions(X))
    n_rows = predictions.shape[1]
    samples = model.estimators_samples_
    truth = classes_of_rows(y) if is_classifier(model) else read_numbers(y)
    sums, votes = np.zeros(predictions.shape[1:]), np.zeros(n_rows)
    errors = np.full(len(predictions), np.nan)
    for place, (member, drawn) in enumerate(zip(predictions, samples, strict=True)):
        outside = np.bincount(drawn, minlength=n_rows) == 0
        sums[outside] += member[outside]
        votes += outside
        known = votes > 0
        if known.any():
            errors[place] = _error(model, sums[known], votes[known], truth[known])
    return errors


def _error(model: Any, sums: np.ndarray, votes: np.ndarray, truth: np.ndarray) -> float:
    if is_classifier(model):
        # Of equally likely classes, the first as the target declares them is predicted.
        order = np.argsort(labels_of_classes(target_of(model), model.classes_))
        return float((np.asarray(model.classes_)[order][sums[:, order].argmax(axis=1)] != truth).mean())
    return float(((sums / votes - truth) ** 2).mean())


def plot_oob_error(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """The out-of-bag error by number of trees of a fitted forest or bagging; X and y are the training table.

    >>> from treewright import RandomForestClassifier, datasets
    >>> from treewright.plots import plot_oob_error
    >>> data = datasets.load_iris()
    >>> plot_oob_error(RandomForestClassifier(n_estimators=10).fit(data.X, data.y), data.X, data.y).get_xlabel()
    'trees'
    """
    errors = oob_errors(model, X, y)
    ax = open_axes(ax)
    ax.plot(np.arange(1, len(errors) + 1), errors, color=OKABE_ITO[0])
    ax.set(xlabel="trees", ylabel="out-of-bag error rate" if is_classifier(model) else "out-of-bag squared error")
    return ax


def plot_loss(model: Any, *, ax: Any = None) -> Any:
    """The loss of gradient boosting round by round: on the training rows, and on the validation set if there is one.

    >>> from treewright import GradientBoostingClassifier, datasets
    >>> from treewright.plots import plot_loss
    >>> data = datasets.load_iris()
    >>> plot_loss(GradientBoostingClassifier(n_estimators=9, train_score=True).fit(data.X, data.y)).get_xlabel()
    'round'
    """
    lines = {"training": getattr(model, "train_score_", ()), "validation": getattr(model, "validation_loss_", ())}
    lines = {name: np.asarray(line, dtype=np.float64) for name, line in lines.items() if line is not None and len(line)}
    if not lines and hasattr(model, "forests_"):
        raise ValueError("this model has recorded no loss; fit it with train_score=True, or with a validation set")
    if not lines:
        raise TypeError(f"the loss by round needs a fitted gradient boosting model, not a {type(model).__name__}")
    ax = open_axes(ax)
    for place, (name, line) in enumerate(lines.items()):
        ax.plot(np.arange(1, len(line) + 1), line, color=OKABE_ITO[place], label=name)
    ax.set(xlabel="round", ylabel="loss")
    ax.legend()
    return ax


def plot_diversity(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """The error of each member of an ensemble, their mean, and the error of the ensemble; X and y are a test set.

    >>> from treewright import RandomForestClassifier, datasets
    >>> from treewright.plots import plot_diversity
    >>> data = datasets.load_iris()
    >>> plot_diversity(RandomForestClassifier(n_estimators=10).fit(data.X, data.y), data.X, data.y).get_xlabel()
    'member'
    """
    found = diversity(model, X, y)
    ax = open_axes(ax)
    ax.bar(np.arange(1, len(found.errors) + 1), np.sort(found.errors), color=LINE, label="members, sorted")
    ax.axhline(found.mean_error, color=OKABE_ITO[1], linestyle="--", label=f"mean {found.mean_error:.3g}")
    ax.axhline(found.joint_error, color=OKABE_ITO[0], label=f"ensemble {found.joint_error:.3g}")
    is_class = np.isfinite(found.disagreement)
    differs = f"disagreement {found.disagreement:.3g}" if is_class else f"ambiguity {found.ambiguity:.3g}"
    ax.set(xlabel="member", ylabel="error", title=differs)
    ax.legend()
    return ax
