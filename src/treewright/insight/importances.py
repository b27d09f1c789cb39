"""Permutation importances: how much the score of a model drops when the values of a column are shuffled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.base import TableLearner, columns_of, read_rows, reading_values
from treewright.estimators.parameters import is_whole, parameter_error
from treewright.estimators.random_state import open_random_state
from treewright.runtime.progress import follow, interruptible
from treewright.runtime.threads import run_interruptibly, usable_threads
from treewright.table import read_classes, read_numbers
from treewright.table.selection import open_table, shuffle_column
from treewright.table.source import open_source

# What the lectures say about the gain as a measure of importance.
MANY_VALUES = (
    "Columns with many different values gain by chance and look more important than they are; "
    "permutation_importance on a test set does not have this bias."
)

# A table of more columns than this is cut short when it is printed.
MOST_LINES = 30


@dataclass(frozen=True, eq=False)
class Importances:
    """The drop of a model's score when a column is shuffled or left out; prints as a table, the largest drop first.

    Parameters
    ----------
    names : tuple of str
        The columns.
    importances : ndarray, shape (n_columns, n_repeats)
        The drop of the score, for each column and shuffle, or for each column and fold.
    score : float
        The score of the table as it is.
    score_name : str
        What that score is called when the table is printed.
    """

    names: tuple[str, ...]
    importances: np.ndarray
    score: float
    score_name: str = "score without shuffling"

    @property
    def importances_mean(self) -> np.ndarray:
        """The mean drop of each column."""
        return np.asarray(self.importances.mean(axis=1))

    @property
    def importances_std(self) -> np.ndarray:
        """The standard deviation of the drop over the shuffles or folds."""
        return np.asarray(self.importances.std(axis=1))

    def __str__(self) -> str:
        means, deviations = self.importances_mean, self.importances_std
        order = np.argsort(-means, kind="stable")
        shown = order if len(order) <= MOST_LINES else order[:MOST_LINES]
        rows = [(self.names[place], _figure(means[place]), _figure(deviations[place])) for place in shown.tolist()]
        width = max(len(name) for name, _, _ in (*rows, ("column", "", "")))
        right = max(len(figure) for _, *figures in (*rows, ("", "mean drop", "")) for figure in figures)
        lines = [f"{'column':<{width}}  {'mean drop':>{right}}  {'deviation':>{right}}"]
        lines += [f"{name:<{width}}  {mean:>{right}}  {deviation:>{right}}" for name, mean, deviation in rows]
        lines += [f"... and {len(order) - len(shown)} more"] if len(shown) < len(order) else []
        return "\n".join([*lines, "", f"{self.score_name}: {_figure(self.score)}"])

    __repr__ = __str__


def _figure(number: float) -> str:
    text = f"{number:.4f}" if abs(number) < 1e4 else f"{number:.5g}"
    return "0.0000" if text == "-0.0000" else text


def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Importances:
    """How much the score of a fitted model drops when the values of one column are shuffled among the rows.

    The drop is the importance of a column for this model, not its relation to the target: of two columns with the same
    information each can replace the other, and both have a small drop. On training rows, columns from which the model
    learned noise look important; give a test set. The shuffles are those of scikit-learn's function of the same name.

    Parameters
    ----------
    model : fitted estimator
        Any. Those of this library read the table once, whatever the number of shuffles.
    X, y : table and target
        A test set.
    scoring : str, function or None, default=None
        The measure, as in scikit-learn: a name such as "balanced_accuracy", or a function of model, X and y. None is
        the model's own score: the accuracy, or the coefficient of determination.
    n_repeats : int, default=5
        Number of shuffles of each column. More make the means more precise.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the shuffles.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores for models of this library and one for others.

    Returns
    -------
    Importances
        Prints as a table; `importances_mean`, `importances_std` and `importances` hold the figures.

    >>> from treewright import DecisionTreeClassifier, datasets, permutation_importance
    >>> iris = datasets.load_iris()
    >>> model = DecisionTreeClassifier(max_depth=2).fit(iris.X, iris.y)
    >>> permutation_importance(model, iris.X, iris.y, random_state=0)
    column        mean drop  deviation
    petal_length     0.4360     0.0288
    petal_width      0.3120     0.0268
    sepal_length     0.0000     0.0000
    sepal_width      0.0000     0.0000
    <BLANKLINE>
    score without shuffling: 0.9600
    """
    check_is_fitted(model)
    if not is_whole(n_repeats, 1):
        raise parameter_error("n_repeats", n_repeats, "a whole number of 1 or more")
    if n_jobs is not None and not (is_whole(n_jobs, -(2**31)) and n_jobs):
        raise parameter_error("n_jobs", n_jobs, "a whole number other than 0, or None")
    if isinstance(scoring, list | tuple | set | dict):
        raise parameter_error("scoring", scoring, "one measure at a time")
    scorer = check_scoring(model, scoring)
    is_ours = type(model).__module__.split(".")[0] == "treewright"
    scored = ScoredTable.of(model, X, _read_target(model, X, y) if is_ours else y, scorer)
    orders = _shuffles(scored.n_rows, n_repeats, random_state)
    n_threads = usable_threads(n_jobs) if is_ours or n_jobs is not None else 1
    score = scored.score()
    with follow("shuffling columns", len(scored.names) * n_repeats) as tick:

        def drops_of(place: int) -> list[float]:
            drops = []
            for order in orders:
                drops.append(score - scored.score(place, order))
                tick(1)
            return drops

        places, stop = range(len(scored.names)), np.zeros(1, np.uint8)
        drops = interruptible(lambda: run_interruptibly(drops_of, places, min(n_threads, len(places)), stop))
    return Importances(scored.names, np.array(drops), score)


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """A model and its test set, in a form whose columns can be shuffled."""

    model: Any
    names: tuple[str, ...]
    table: Any
    n_rows: int
    y: Any
    scorer: Callable[..., float]

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, scorer: Callable[..., float]) -> ScoredTable:
        if isinstance(model, TableLearner) and model.reads_once_:
            values = np.asarray(read_rows(model, X))
            names = tuple(column.name for column in columns_of(model))
            return cls(reading_values(model), names, values, len(values), y, scorer)
        source = open_source(X)
        return cls(model, source.names, open_table(X), source.n_rows, y, scorer)

    def score(self, place: int | None = None, order: np.ndarray | None = None) -> float:
        """The score with one column in another order, or of the unchanged table."""
        table = self.table if place is None or order is None else shuffle_column(self.table, place, order)
        return float(self.scorer(self.model, table, self.y))


def _read_target(model: Any, X: Any, y: Any) -> np.ndarray:
    if is_classifier(model):
        labels, classes = read_classes(y)
        targets = classes[labels]
    else:
        targets = read_numbers(y)
    n_rows = open_source(X).n_rows
    if len(targets) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(targets)} values; give one target value per row")
    return targets


def _shuffles(n_rows: int, n_repeats: int, random_state: Any) -> list[np.ndarray]:
    """The orders of the rows, the same for each column; drawn as scikit-learn does, each on top of the one before."""
    seed = open_random_state(random_state).randint(np.iinfo(np.int32).max + 1)
    random, drawn, order = np.random.RandomState(seed), np.arange(n_rows), np.arange(n_rows)
    orders = []
    for _ in range(n_repeats):
        random.shuffle(drawn)
        order = order[drawn]
        orders.append(order)
    return orders
