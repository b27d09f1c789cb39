"""Drop-column importances: how much the score drops when a model is fitted again without a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import check_scoring

from treewright.estimators.meta.preparing import prepared
from treewright.estimators.parameters import is_whole, parameter_error
from treewright.insight.cross_validation import read_target, split_folds
from treewright.insight.importances import Importances
from treewright.insight.task import Task
from treewright.runtime.progress import follow
from treewright.table import Frame
from treewright.table import take_rows as take_targets
from treewright.table.selection import open_table, take_columns, take_rows
from treewright.table.source import open_source

# Parameters with entries for single columns.
BY_COLUMN = ("categorical_features", "numeric_features", "monotonic_cst")


def drop_column_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_val: Any = None,
    y_val: Any = None,
    scoring: Any = None,
    folds: int = 5,
    random_state: Any = 0,
) -> Importances:
    """How much the score of a model drops when it is fitted again without a column.

    This measures what a column adds to the others. A column whose information another one has too adds nothing. The
    model is fitted once for each column and fold, which takes longer than `permutation_importance`.

    Parameters
    ----------
    model : classifier or regressor
        Copies of it are fitted; the model itself stays as it is.
    X, y : table and target
        Training rows.
    X_val, y_val : table and target or None
        A validation set for the scores. None uses cross-validation.
    scoring : str, function or None, default=None
        The measure, as in scikit-learn. None is the model's own score: the accuracy, or the coefficient of
        determination.
    folds : int, default=5
        Number of folds, if there is no validation set.
    random_state : int, RandomState or None, default=0
        Seed of the folds.

    Returns
    -------
    Importances
        Prints as a table; `importances` has the drop for each column and fold.

    Examples
    --------
    >>> from treewright import DecisionTreeClassifier, datasets, drop_column_importance
    >>> weather = datasets.load_weather()
    >>> model = DecisionTreeClassifier()
    >>> drop_column_importance(model, weather.X, weather.y, X_val=weather.X, y_val=weather.y)
    column       mean drop  deviation
    outlook         0.2857     0.0000
    wind            0.1429     0.0000
    temperature     0.0000     0.0000
    humidity        0.0000     0.0000
    <BLANKLINE>
    score with all columns: 1.0000
    """
    is_model = not isinstance(model, type) and hasattr(model, "fit")
    if not is_model or not (is_classifier(model) or is_regressor(model)):
        raise parameter_error("model", model, "a classifier or a regressor, such as DecisionTreeClassifier()")
    if not is_whole(folds, 2):
        raise parameter_error("folds", folds, "a whole number of 2 or more")
    if (X_val is None) != (y_val is None):
        raise ValueError("give X_val and y_val together, or neither of them")
    names = open_source(X).names
    if len(names) < 2:
        raise ValueError(f"X has one column only, {names[0]!r}, so there is nothing left without it; give two or more")
    if type(model).__module__.split(".")[0] != "treewright":
        model = prepared(model)
    splits = _splits(model, X, y, X_val, y_val, folds, random_state)
    scorer = check_scoring(model, scoring)
    scores = np.empty((len(names) + 1, len(splits)))
    with follow("fitting without columns", scores.size) as tick:
        for number, (training, targets, tested, truth) in enumerate(splits):
            scores[-1, number] = scorer(clone(model).fit(training, targets), tested, truth)
            tick(1)
            for place, name in enumerate(names):
                rest = np.delete(np.arange(len(names)), place)
                fitted = without_column(model, place, name).fit(take_columns(training, rest), targets)
                scores[place, number] = scorer(fitted, take_columns(tested, rest), truth)
                tick(1)
    return Importances(names, scores[-1] - scores[:-1], float(scores[-1].mean()), "score with all columns")


def _splits(
    model: Any, X: Any, y: Any, X_val: Any, y_val: Any, folds: int, random_state: Any
) -> list[tuple[Any, Any, Any, np.ndarray]]:
    """Training rows, their target, test rows and their target, for each fold or for the validation set."""
    task = Task.CLASSES if is_classifier(model) else Task.NUMBERS
    table, values = open_table(X), read_target(y, task)
    n_rows = open_source(X).n_rows
    if len(values) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(values)} values; give one target value per row")
    if X_val is not None:
        return [(table, y, open_table(X_val), read_target(y_val, task))]
    found = []
    for tested in split_folds(values, task, folds, random_state).tested:
        training = np.setdiff1d(np.arange(n_rows), tested)
        targets = y[training] if isinstance(y, Frame) else take_targets(y, training)
        found.append((take_rows(table, training), targets, take_rows(table, tested), values[tested]))
    return found


def without_column(model: Any, place: int, name: str) -> Any:
    """A copy of a model whose parameters no longer refer to a column.

    >>> from treewright import DecisionTreeClassifier
    >>> without_column(DecisionTreeClassifier(categorical_features=["a", "b"]), 0, "a").categorical_features
    ['b']
    >>> without_column(DecisionTreeClassifier(categorical_features=[0, 2]), 1, "b").categorical_features
    [0, 1]
    """
    known = model.get_params(deep=False)
    changed = {key: _without(known[key], place, name) for key in BY_COLUMN if known.get(key) is not None}
    return clone(model).set_params(**changed)


def _without(given: Any, place: int, name: str) -> Any:
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return {key: value for key, value in given.items() if key != name}
    items = list(given)
    is_mask = bool(items) and all(isinstance(item, bool | np.bool_) for item in items)
    if is_mask:
        return items[:place] + items[place + 1 :]
    if all(isinstance(item, str) for item in items):
        return [item for item in items if item != name] or None
    return [item - (item > place) for item in items if item != place] or None
