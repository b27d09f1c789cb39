"""Cross-validation: how well a model predicts rows that it was not fitted to, compared with a constant."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.insight.evaluation import Evaluation, evaluate_predictions
from treewright.insight.scoring import Score, score_numbers
from treewright.insight.task import Task
from treewright.insight.text_table import write_figure, write_table
from treewright.table import Frame, read_classes, read_numbers
from treewright.table import take_rows as take_targets
from treewright.table.column import write_number
from treewright.table.selection import open_table, take_rows
from treewright.table.source import open_source

# With fewer folds the models would be fitted to too few rows, however small a class is.
FEW_FOLDS, USUAL_FOLDS = 5, 10

# Where the number of folds is not given: larger tables have few folds, and the largest ones a single validation set.
MOST_ROWS_FOR_USUAL_FOLDS, MOST_ROWS_FOR_FOLDS = 20_000, 100_000


@dataclass(frozen=True, eq=False)
class Folds:
    """The test rows of each fold, and why there are fewer folds than wanted, if so; one fold is a validation set."""

    tested: tuple[np.ndarray, ...]
    note: str = ""

    def __len__(self) -> int:
        return len(self.tested)


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """The scores of a model on rows that it was not fitted to; prints as a table.

    Attributes
    ----------
    scores : tuple of Score
        Accuracy for classes; R2 and RMSE for numbers. Each has `value`, `interval` (95%) and `baseline`.
    predictions : ndarray
        The out-of-fold prediction of each row, None for rows that were in no fold.
    baseline : str
        The constant prediction of the baseline, such as "always 'no'".
    task : Task
        "classes" or "numbers".
    n_folds : int
        The number of folds; 1 means a validation set.
    note : str
        Why there are fewer folds than wanted; empty if there are not.
    evaluation : Evaluation or None
        For classes: log loss, AUC, precision and recall of each class, and the confusion matrix. None for numbers.
    """

    scores: tuple[Score, ...]
    predictions: np.ndarray
    baseline: str
    task: Task
    n_folds: int
    note: str = ""
    evaluation: Evaluation | None = None

    @property
    def score(self) -> Score:
        """The main score: accuracy or R2."""
        return self.scores[0]

    @property
    def has_one_value(self) -> bool:
        """Whether the target has a single value, so that no model can be better than the baseline."""
        score = self.score
        return score.value is None or score.interval is None or score.baseline == 1.0

    @property
    def verdict(self) -> str:
        """Whether the model is better than the baseline, as a sentence."""
        score = self.score
        if score.value is None or score.interval is None or self.has_one_value:
            return "The target has one value only, so there is nothing to learn."
        if score.interval[0] > score.baseline:
            return f"Better than the baseline ({self.baseline})."
        words = "Not clearly better" if score.value > score.baseline else "No better"
        return f"{words} than the baseline ({self.baseline})."

    @property
    def method(self) -> str:
        """How score and interval are computed, as a sentence."""
        folds = f"{self.n_folds}-fold cross-validation" if self.n_folds > 1 else "validation set"
        if self.task is Task.CLASSES:
            return (
                f"{folds}: the fraction of rows predicted correctly by models fitted without them; Wilson's interval."
            )
        return f"{folds}: rows are predicted by models fitted without them; the interval is 1.96 standard errors."

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Measure, score, interval and baseline of each score as text."""
        return [
            (score.measure, write_figure(score.value), _write_interval(score.interval), write_figure(score.baseline))
            for score in self.scores
        ]

    def headers(self) -> tuple[str, str, str, str]:
        """The headers that belong to `rows`."""
        return "measure", "this model", "95% interval", self.baseline

    def __str__(self) -> str:
        table = write_table(self.headers(), self.rows(), right=("this model", self.baseline))
        return "\n".join([table, self.verdict, self.method, *([f"{self.note}."] if self.note else [])])

    __repr__ = __str__


def cross_validate_score(
    model: Any, X: Any, y: Any, *, folds: int | None = 10, random_state: Any = 0
) -> CrossValidation:
    """The cross-validated score of a model with its 95% interval, compared with the best constant prediction.

    Parameters
    ----------
    model : classifier or regressor
        A copy is fitted in each fold; the model itself stays as it is. Models of other libraries get numbers from a
        `TablePreparer` if the table has text or missing values.
    X : table
        A pandas, polars or arrow frame, an array, a dict of columns, or a list of rows.
    y : one value per row
        The target.
    folds : int or None, default=10
        Number of folds. There are fewer if the table or its smallest class has fewer rows. None takes 10 folds, above
        20,000 rows 5 folds, and above 100,000 rows a single validation set, a fifth of the rows.
    random_state : int, RandomState or None, default=0
        Seed of the folds. They are shuffled; classes have the same fraction in every fold.

    Returns
    -------
    CrossValidation
        Prints as a table; `score`, `scores` and `predictions` have the figures.

    Examples
    --------
    >>> from treewright import DecisionTreeClassifier, cross_validate_score, datasets
    >>> iris = datasets.load_iris()
    >>> found = cross_validate_score(DecisionTreeClassifier(max_depth=2), iris.X, iris.y)
    >>> found
    measure   this model  95% interval    always 'setosa'
    accuracy       0.920  0.865 to 0.954            0.333
    Better than the baseline (always 'setosa').
    10-fold cross-validation: the fraction of rows predicted correctly by models fitted without them; Wilson's interval.
    >>> found.score.value
    0.92
    """
    from sklearn.base import is_classifier, is_regressor

    from treewright.estimators.meta.preparing import prepared
    from treewright.estimators.parameters import is_whole, parameter_error

    if isinstance(model, type) or not (is_classifier(model) or is_regressor(model)):
        raise parameter_error("model", model, "a classifier or a regressor, such as DecisionTreeClassifier()")
    if folds is not None and not is_whole(folds, 2):
        raise parameter_error("folds", folds, "a whole number of 2 or more, or None")
    task = Task.CLASSES if is_classifier(model) else Task.NUMBERS
    values = read_target(y, task)
    n_rows = open_source(X).n_rows
    if len(values) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(values)} values; give one target value per row")
    table = open_table(X)
    is_foreign = type(model).__module__.split(".")[0] != "treewright"
    if is_foreign:
        model = prepared(model)
    return cross_validate(model, table, y, values, task, split_folds(values, task, folds, random_state))


def cross_validate(
    model: Any,
    X: Any,
    y: Any,
    values: np.ndarray,
    task: Task,
    folds: Folds,
    on_fold: Callable[[], object] = lambda: None,
) -> CrossValidation:
    """The scores of a model on given folds.

    `values` are the classes or numbers of `y`. `on_fold` is called after each fold.
    """
    unseen = predict_unseen(model, X, y, folds, on_fold)
    tested = np.sort(np.concatenate(folds.tested))
    actual, predicted = values[tested], unseen.predictions[tested]
    baseline = name_baseline(values, task)
    if task is Task.NUMBERS:
        scores = score_numbers(actual.astype(np.float64), predicted)
        return CrossValidation(scores, unseen.predictions, baseline, task, len(folds), folds.note)
    shares = None if unseen.shares is None else unseen.shares[tested]
    found = evaluate_predictions(actual, predicted, unseen.classes, shares)
    return CrossValidation(found.scores, unseen.predictions, baseline, task, len(folds), folds.note, found)


def split_folds(y: np.ndarray, task: Task, wanted: int | None, seed: Any) -> Folds:
    """Shuffled folds, with the same fraction of each class in every fold; None chooses their number by the rows.

    >>> len(split_folds(np.array(list("aaaabbbb")), Task.CLASSES, wanted=10, seed=0))
    4
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    if len(y) < 2:
        raise ValueError(f"the table has {len(y)} row to learn from; cross-validation needs 2 or more")
    if wanted is None and len(y) > MOST_ROWS_FOR_USUAL_FOLDS:
        folds = split_folds(y, task, FEW_FOLDS, seed)
        return Folds(*_fewer(folds.tested, len(y)))
    wanted = USUAL_FOLDS if wanted is None else wanted
    if task is Task.NUMBERS:
        count = min(wanted, len(y))
        note = f"{count} folds instead of {wanted}, because there are {len(y)} rows" if count < wanted else ""
        splits = KFold(count, shuffle=True, random_state=seed).split(y)
        return Folds(tuple(tested for _, tested in splits), note)
    codes, count, note = _stratify(y, wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes with fewer rows than folds, which the note explains
        splits = list(StratifiedKFold(count, shuffle=True, random_state=seed).split(codes, codes))
    return Folds(tuple(tested for _, tested in splits), note)


def _fewer(tested: tuple[np.ndarray, ...], n_rows: int) -> tuple[tuple[np.ndarray, ...], str]:
    """The folds of a large table, and why they are fewer than usual."""
    if n_rows <= MOST_ROWS_FOR_FOLDS:
        return tested, f"{len(tested)} folds instead of {USUAL_FOLDS}, because there are {n_rows:,} rows"
    held_out = f"One validation set of {len(tested[0]):,} rows instead of {USUAL_FOLDS} folds"
    return tested[:1], f"{held_out}, because there are {n_rows:,} rows"


@dataclass(frozen=True, eq=False)
class Unseen:
    """The predictions for rows by models that were fitted without them.

    Attributes
    ----------
    predictions : the prediction of each row, None for rows that are in no fold.
    classes : the classes that any of the models knows, as text; empty for numbers.
    shares : the probability of each class for each row; None if the model has none.
    """

    predictions: np.ndarray
    classes: list[str]
    shares: np.ndarray | None


def predict_unseen(model: Any, X: Any, y: Any, folds: Folds, on_fold: Callable[[], object]) -> Unseen:
    """The prediction for each row by a model that was fitted without the row's fold."""
    from sklearn.base import clone

    n_rows = open_source(X).n_rows
    predictions = np.full(n_rows, None, dtype=object)
    shares: dict[str, np.ndarray] = {}
    has_shares = True
    for tested in folds.tested:
        training = np.setdiff1d(np.arange(n_rows), tested)
        targets = y[training] if isinstance(y, Frame) else take_targets(y, training)
        fitted = clone(model).fit(take_rows(X, training), targets)
        rows = take_rows(X, tested)
        predictions[tested] = fitted.predict(rows)
        has_shares = has_shares and hasattr(fitted, "predict_proba")
        found = fitted.predict_proba(rows).T if has_shares else [None] * len(getattr(fitted, "classes_", []))
        for name, column in zip(getattr(fitted, "classes_", []), found, strict=True):
            of_class = shares.setdefault(str(name), np.zeros(n_rows))
            if column is not None:
                of_class[tested] = column
        on_fold()
    classes = sorted(shares)
    return Unseen(
        predictions, classes, np.column_stack([shares[name] for name in classes]) if has_shares and classes else None
    )


def name_baseline(values: np.ndarray, task: Task) -> str:
    """The name of the baseline: the mean, or the most common class, for every row.

    >>> name_baseline(np.array(["no", "yes", "no"], dtype=object), Task.CLASSES)
    "always 'no'"
    """
    if task is Task.NUMBERS:
        return f"always {write_number(float(f'{values.mean():.4g}'))}"
    classes, sizes = np.unique(values.astype(str), return_counts=True)
    most_common = str(classes[sizes.argmax()])
    return f"always {repr(most_common) if values.dtype.kind in 'OU' else most_common}"


def _stratify(y: np.ndarray, wanted: int) -> tuple[np.ndarray, int, str]:
    classes, codes, sizes = np.unique(y.astype(str), return_inverse=True, return_counts=True)
    if sizes.max() < 2:
        raise ValueError(
            f"the target has {len(sizes)} classes in {len(y)} rows, so no two rows share one; "
            "choose another target, or task 'numbers' if it is a quantity"
        )
    count = int(min(wanted, max(FEW_FOLDS, sizes.min()), sizes.max()))
    if count == wanted:
        return codes, count, ""
    smallest, size = classes[sizes.argmin()], sizes.min()
    rows = "row" if size == 1 else "rows"
    why = f"the smallest class, {str(smallest)!r}, has {size} {rows}"
    return codes, count, f"{count} folds instead of {wanted}, because {why}"


def read_target(y: Any, task: Task) -> np.ndarray:
    """The classes or numbers of a target, in the user's own type."""
    if task is Task.NUMBERS:
        return read_numbers(y)
    labels, classes = read_classes(y)
    return np.asarray(classes[labels])


def _write_interval(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{write_figure(interval[0])} to {write_figure(interval[1])}"
