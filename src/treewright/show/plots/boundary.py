"""The decision boundary of any model on two columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.show.picture.colours import OKABE_ITO, OTHERS
from treewright.show.plots.tables import Given, classes_of_rows, label_axis, open_axes
from treewright.table import read_numbers
from treewright.table.column import Column


def plot_boundary(
    model: Any, X: Any, y: Any = None, *, columns: tuple[Any, Any] | None = None, resolution: int = 200, ax: Any = None
) -> Any:
    """What a model predicts over two columns, with the rows of a table as points; returns the axes.

    Parameters
    ----------
    model : a fitted model of any library with `predict`
    X, y : a table, and its target for the colours of the points
    columns : two names or places, default=None
        The columns of the axes; None takes the first two. Other columns have their median or most frequent value.
    resolution : int, default=200
        Number of grid points along each axis.
    ax : matplotlib axes or None

    >>> from treewright import CARTClassifier, datasets, plot_boundary
    >>> iris = datasets.load_iris()
    >>> model = CARTClassifier().fit(iris.X, iris.y)
    >>> ax = plot_boundary(model, iris.X, iris.y, columns=("petal_length", "petal_width"), resolution=20)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('petal_length', 'petal_width')
    """
    given = Given.of(X)
    if columns is None and len(given.columns) < 2:
        raise ValueError("a boundary needs two columns, and the table has one; plot_partial_dependence shows one")
    first, second = (given.place(column) for column in (columns or (0, 1)))
    ax = open_axes(ax)
    across, up = (_edges(given, place, resolution) for place in (first, second))
    grid = _rows(given, first, second, across, up)
    predicted = np.asarray(model.predict(given.build(grid))).reshape(len(up), len(across))
    classes = getattr(model, "classes_", None)
    if classes is None:
        shown = ax.pcolormesh(across, up, predicted.astype(float), cmap="viridis", shading="nearest", alpha=0.7)
        ax.figure.colorbar(shown, ax=ax)
    else:
        _paint_classes(ax, across, up, predicted, np.asarray(classes))
    _draw_points(ax, given, first, second, y, classes)
    for axis, place in (("x", first), ("y", second)):
        label_axis(ax, axis, given.columns[place], given.grid(place, 2))
    return ax


def _edges(given: Given, place: int, resolution: int) -> np.ndarray:
    column: Column = given.columns[place]
    grid = given.grid(place, resolution)
    if not column.is_numeric:
        return grid
    margin = 0.05 * (grid[-1] - grid[0] or 1.0)
    return np.linspace(grid[0] - margin, grid[-1] + margin, resolution)


def _rows(given: Given, first: int, second: int, across: np.ndarray, up: np.ndarray) -> np.ndarray:
    rows = np.tile([given.usual(place) for place in range(len(given.columns))], (len(across) * len(up), 1))
    rows[:, first], rows[:, second] = np.tile(across, len(up)), np.repeat(up, len(across))
    return rows


def _paint_classes(ax: Any, across: np.ndarray, up: np.ndarray, predicted: np.ndarray, classes: np.ndarray) -> None:
    from matplotlib.colors import ListedColormap

    label = {value: k for k, value in enumerate(classes.tolist())}
    codes = np.array([label[value] for value in predicted.ravel().tolist()]).reshape(predicted.shape)
    colours = ListedColormap([_colour(k) for k in range(len(classes))])
    limits = {"vmin": -0.5, "vmax": len(classes) - 0.5}
    ax.pcolormesh(across, up, codes, cmap=colours, shading="nearest", alpha=0.3, **limits)


def _colour(label: int) -> str:
    return OKABE_ITO[label] if label < len(OKABE_ITO) else OTHERS


def _draw_points(ax: Any, given: Given, first: int, second: int, y: Any, classes: Any) -> None:
    x_values, y_values = given.values[:, first], given.values[:, second]
    targets = None if y is None else read_numbers(y) if classes is None else classes_of_rows(y)
    look = {"s": 14, "linewidths": 0.4, "edgecolors": "white"}
    if targets is None or classes is None:
        ax.scatter(x_values, y_values, c=None if targets is None else targets, cmap="viridis", **look)
        return
    for k, name in enumerate(np.asarray(classes).tolist()):
        chosen = targets == name
        ax.scatter(x_values[chosen], y_values[chosen], color=_colour(k), label=str(name), **look)
    if len(classes) <= 10:
        ax.legend(fontsize="small")
