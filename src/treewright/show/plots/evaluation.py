"""How good a model is on a test set, built on the displays of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, PredictionErrorDisplay, RocCurveDisplay
from sklearn.model_selection import LearningCurveDisplay

from treewright.show.picture.colours import OKABE_ITO, OTHERS
from treewright.show.plots.tables import classes_of_rows, open_axes
from treewright.table import read_numbers


def plot_confusion(model: Any, X: Any, y: Any, *, normalize: str | None = None, ax: Any = None) -> Any:
    """The confusion matrix of a classifier on a table: rows are true classes, columns predicted ones.

    >>> from treewright import CARTClassifier, datasets
    >>> from treewright.plots import plot_confusion
    >>> iris = datasets.load_iris()
    >>> plot_confusion(CARTClassifier().fit(iris.X, iris.y), iris.X, iris.y).get_xlabel()
    'Predicted label'
    """
    ax = open_axes(ax)
    truth, predicted = classes_of_rows(y), np.asarray(model.predict(X))
    labels = None if len(model.classes_) > 30 else model.classes_
    options = {"normalize": normalize, "cmap": "Blues", "labels": labels, "xticks_rotation": 30}
    return ConfusionMatrixDisplay.from_predictions(truth, predicted, ax=ax, **options).ax_


def plot_roc(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """The ROC curve of a classifier, with its area; of several classes, one curve for each against the rest.

    >>> from treewright import C45Classifier, datasets
    >>> from treewright.plots import plot_roc
    >>> data = datasets.load_iris()
    >>> plot_roc(C45Classifier().fit(data.X, data.y), data.X, data.y).get_xlabel()
    'False Positive Rate'
    """
    return _curves(RocCurveDisplay, model, X, y, ax)


def plot_precision_recall(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Precision by recall of a classifier; of several classes, one curve for each against the rest.

    >>> from treewright import C45Classifier, datasets
    >>> from treewright.plots import plot_precision_recall
    >>> data = datasets.load_iris()
    >>> plot_precision_recall(C45Classifier().fit(data.X, data.y), data.X, data.y).get_xlabel()
    'Recall'
    """
    return _curves(PrecisionRecallDisplay, model, X, y, ax)


def plot_calibration(model: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None) -> Any:
    """The observed frequency of a class by its predicted probability; of several classes, a line for each.

    >>> from treewright import C45Classifier, datasets
    >>> from treewright.plots import plot_calibration
    >>> data = datasets.load_iris()
    >>> plot_calibration(C45Classifier().fit(data.X, data.y), data.X, data.y).get_xlabel()
    'Mean predicted probability'
    """
    return _curves(CalibrationDisplay, model, X, y, ax, n_bins=n_bins)


# Curves beyond this number cannot be distinguished.
MOST_CURVES = len(OKABE_ITO)


def _curves(display: Any, model: Any, X: Any, y: Any, ax: Any, **options: Any) -> Any:
    """One curve for two classes, else one for each of the most frequent classes."""
    ax = open_axes(ax)
    truth, shares = classes_of_rows(y), np.asarray(model.predict_proba(X))
    classes = np.asarray(model.classes_)
    frequency = np.array([(truth == name).sum() for name in classes.tolist()])
    shown = [1] if len(classes) == 2 else np.sort(np.argsort(-frequency, kind="stable")[:MOST_CURVES]).tolist()
    for place, label in enumerate(shown):
        is_class = (truth == classes[label]).astype(int)
        if not 0 < is_class.sum() < len(is_class):
            continue
        colour = OKABE_ITO[place] if place < len(OKABE_ITO) else OTHERS
        style = {"color": colour} if display is CalibrationDisplay else {"curve_kwargs": {"color": colour}}
        display.from_predictions(
            is_class, shares[:, label], name=str(classes[label]), ax=ax, **_known(display, style), **options
        )
    # Each curve has its own positive class, which the legend names.
    ax.set(xlabel=ax.get_xlabel().split(" (Positive")[0], ylabel=ax.get_ylabel().split(" (Positive")[0])
    return ax


def _known(display: Any, style: dict[str, Any]) -> dict[str, Any]:
    """The style in the words of the installed scikit-learn: older ones take matplotlib's own."""
    import inspect

    if "curve_kwargs" not in style or "curve_kwargs" in inspect.signature(display.from_predictions).parameters:
        return style
    return dict(style["curve_kwargs"])


def plot_residuals(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """The errors of a regressor by its predictions: true value less predicted one.

    >>> from treewright import CARTRegressor
    >>> from treewright.plots import plot_residuals
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]] * 5, [1.0, 2.0, 5.0, 7.0] * 5
    >>> plot_residuals(CARTRegressor().fit(X, y), X, y).get_xlabel()
    'Predicted values'
    """
    ax = open_axes(ax)
    numbers, predicted = read_numbers(y), np.asarray(model.predict(X), dtype=np.float64)
    style = {"scatter_kwargs": {"alpha": 0.5, "color": OKABE_ITO[0], "s": 14}}
    return PredictionErrorDisplay.from_predictions(numbers, predicted, kind="residual_vs_predicted", ax=ax, **style).ax_


def plot_learning_curve(model: Any, X: Any, y: Any, *, cv: int = 5, n_points: int = 5, ax: Any = None) -> Any:
    """The cross-validated score by the number of training rows; the model is fitted again for each point.

    >>> from treewright import C45Classifier, datasets
    >>> from treewright.plots import plot_learning_curve
    >>> data = datasets.load_iris()
    >>> plot_learning_curve(C45Classifier(), data.X, data.y, cv=2, n_points=2).get_ylabel()
    'Score'
    """
    ax = open_axes(ax)
    truth = classes_of_rows(y) if is_classifier(model) else read_numbers(y)
    sizes = np.linspace(0.1, 1.0, n_points)
    options = {"cv": cv, "train_sizes": sizes, "score_type": "both", "shuffle": True, "random_state": 0}
    return LearningCurveDisplay.from_estimator(model, X, truth, ax=ax, **options).ax_
