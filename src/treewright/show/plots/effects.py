"""What the columns do in a model: importances with their spread, and partial dependence."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.insight.importances import Importances
from treewright.show.picture.colours import INK, LINE, OKABE_ITO
from treewright.show.plots.tables import Given, label_axis, open_axes


def plot_importances(model: Any, *, most: int = 20, ax: Any = None) -> Any:
    """The importance of each column with its spread: over the trees of an ensemble, or over shuffles.

    Parameters
    ----------
    model : a fitted model with `feature_importances_`, or the result of `permutation_importance`
        Importances by impurity favour columns with many values; those by shuffling on a test set do not.
    most : int, default=20
        Number of columns to show, the most important ones.
    ax : matplotlib axes or None

    >>> from treewright import RandomForestClassifier, datasets
    >>> from treewright.plots import plot_importances
    >>> iris = datasets.load_iris()
    >>> ax = plot_importances(RandomForestClassifier(random_state=0).fit(iris.X, iris.y))
    >>> ax.get_yticklabels()[-1].get_text()
    'petal_width'
    """
    names, means, spread, what = _importances(model)
    order = np.argsort(means, kind="stable")[-most:]
    ax = open_axes(ax)
    error = None if spread is None else spread[order]
    ax.barh(np.arange(len(order)), means[order], xerr=error, color=OKABE_ITO[0], ecolor=INK, capsize=3)
    ax.set_yticks(np.arange(len(order)), [names[place] for place in order])
    ax.set(xlabel=what)
    return ax


def _importances(model: Any) -> tuple[list[str], np.ndarray, np.ndarray | None, str]:
    if isinstance(model, Importances):
        return list(model.names), model.importances_mean, model.importances_std, "drop of the score"
    if not hasattr(model, "feature_importances_"):
        raise TypeError(
            f"importances need a fitted model of trees, or permutation_importance, not {type(model).__name__}"
        )
    means = np.asarray(model.feature_importances_)
    names = [str(name) for name in getattr(model, "feature_names_in_", [f"x{k}" for k in range(len(means))])]
    members = [] if hasattr(model, "tree_") else list(getattr(model, "estimators_", ()))
    by_tree = [np.asarray(member.feature_importances_) for member in members if hasattr(member, "feature_importances_")]
    spread = np.std(by_tree, axis=0) if by_tree and all(len(line) == len(means) for line in by_tree) else None
    return names, means, spread, "importance by impurity"


def plot_partial_dependence(
    model: Any,
    X: Any,
    column: Any,
    *,
    of_class: Any = None,
    ice: int = 0,
    n_points: int = 50,
    ax: Any = None,
) -> Any:
    """The mean prediction of a model as one column changes and the others stay as they are.

    scikit-learn's display refuses columns with text and missing values, which this plot takes.

    Parameters
    ----------
    model : a fitted model of any library
    X : a table
    column : the name or the place of the column
    of_class : a class, default=None
        The class whose probability is shown; None is the last one.
    ice : int, default=0
        Number of rows whose own curves are drawn too (individual conditional expectation).
    n_points : int, default=50
        Number of values of a numeric column.
    ax : matplotlib axes or None

    >>> from treewright import CARTClassifier, datasets
    >>> from treewright.plots import plot_partial_dependence
    >>> iris = datasets.load_iris()
    >>> model = CARTClassifier().fit(iris.X, iris.y)
    >>> plot_partial_dependence(model, iris.X, "petal_length", ice=20).get_ylabel()
    'probability of virginica'
    """
    given = Given.of(X)
    place = given.place(column)
    grid = given.grid(place, n_points)
    curves, what = predict_along(model, given, place, grid, of_class)
    ax = open_axes(ax)
    own = given.columns[place]
    chosen = np.linspace(0, len(curves) - 1, min(ice, len(curves))).astype(np.int64)
    for line in curves[chosen]:
        ax.plot(grid, line, color=LINE, linewidth=0.5, alpha=0.6)
    # Nothing is between two categories.
    style: dict[str, Any] = {"linewidth": 2.5} if own.is_numeric else {"linestyle": "none", "marker": "o"}
    ax.plot(grid, curves.mean(axis=0), color=OKABE_ITO[0], **style)
    label_axis(ax, "x", own, grid)
    ax.set_ylabel(what)
    return ax


# Rows that the mean is taken over; more change the curve less than its line is wide.
MOST_ROWS = 2000


def predict_along(model: Any, given: Given, place: int, grid: np.ndarray, of_class: Any) -> tuple[np.ndarray, str]:
    """The prediction of each row at each value of a column, [row, value], and what is predicted."""
    values = given.values
    if len(values) > MOST_ROWS:
        values = values[np.linspace(0, len(values) - 1, MOST_ROWS).astype(np.int64)]
    rows = np.repeat(values, len(grid), axis=0)
    rows[:, place] = np.tile(grid, len(values))
    table = given.build(rows)
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(table), dtype=np.float64).reshape(-1, len(grid)), "prediction"
    classes = np.asarray(model.classes_).tolist()
    if of_class is not None and of_class not in classes:
        raise ValueError(f"of_class is {of_class!r}; the classes are {', '.join(map(repr, classes[:12]))}")
    label = len(classes) - 1 if of_class is None else classes.index(of_class)
    shares = np.asarray(model.predict_proba(table))[:, label]
    return shares.reshape(-1, len(grid)), f"probability of {classes[label]}"
