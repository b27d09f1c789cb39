"""Cross-validation: how well trees answer for rows they have not seen, beside the simplest answer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.insight.task import Task
from treewright.table import Frame

Z = 1.959964  # 97.5% of a normal distribution lie below
# Below this many folds the trees would learn from too few rows, however small a class is.
FEW_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Folds:
    """Which rows are tested together, and why there are fewer folds than asked for, if so."""

    tested: tuple[np.ndarray, ...]
    note: str = ""

    def __len__(self) -> int:
        return len(self.tested)


@dataclass(frozen=True)
class Score:
    """One measure of the answers for unseen rows, with its interval and that of the simplest answer."""

    measure: str
    value: float | None
    interval: tuple[float, float] | None
    baseline: float

    def to_dict(self) -> dict[str, Any]:
        interval = None if self.interval is None else list(self.interval)
        return {"measure": self.measure, "score": self.value, "interval": interval, "baseline": self.baseline}


def split_folds(y: np.ndarray, task: Task, wanted: int, seed: int) -> Folds:
    """Shuffled folds, with the same share of each class in every fold.

    >>> len(split_folds(np.array(list("aaaabbbb")), Task.CLASSES, wanted=10, seed=0))
    4
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    if len(y) < 2:
        raise ValueError(f"the table has {len(y)} row to learn from; cross-validation needs 2 or more")
    if task is Task.NUMBERS:
        count = min(wanted, len(y))
        note = f"{count} folds instead of {wanted}, because there are {len(y)} rows" if count < wanted else ""
        splits = KFold(count, shuffle=True, random_state=seed).split(y)
        return Folds(tuple(tested for _, tested in splits), note)
    codes, count, note = _stratify(y, wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a class with fewer rows than folds: the note tells it
        splits = list(StratifiedKFold(count, shuffle=True, random_state=seed).split(codes, codes))
    return Folds(tuple(tested for _, tested in splits), note)


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


def predict_unseen(learner: Any, X: Frame, y: Frame, folds: Folds, on_fold: Callable[[], object]) -> np.ndarray:
    """The answer for each row of a tree that was fitted without the row's fold."""
    from sklearn.base import clone

    predictions: list[Any] = [None] * len(X)
    for tested in folds.tested:
        learned = np.setdiff1d(np.arange(len(X)), tested)
        fitted = clone(learner).fit(X[learned], y[learned])
        for row, prediction in zip(tested, fitted.predict(X[tested]), strict=True):
            predictions[row] = prediction
        on_fold()
    return np.array(predictions, dtype=object)


def score_classes(y: np.ndarray, predictions: np.ndarray) -> Score:
    """The share of right answers beside the share of the most common class.

    >>> truth = np.array(["yes", "yes", "no", "yes"], dtype=object)
    >>> score_classes(truth, np.array(["yes", "no", "no", "yes"], dtype=object)).value
    0.75
    """
    right = int(np.count_nonzero(y.astype(str) == predictions.astype(str)))
    _, sizes = np.unique(y.astype(str), return_counts=True)
    return Score("accuracy", right / len(y), wilson_interval(right, len(y)), int(sizes.max()) / len(y))


def wilson_interval(right: int, total: int) -> tuple[float, float]:
    """The 95% interval of Wilson (1927) for a share: it stays within 0 and 1 and is fair to small tables.

    >>> [round(end, 4) for end in wilson_interval(8, 10)]
    [0.4902, 0.9433]
    """
    share, per_row = right / total, Z * Z / total
    middle = (share + per_row / 2) / (1 + per_row)
    half = Z / (1 + per_row) * math.sqrt(share * (1 - share) / total + per_row / (4 * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def score_numbers(y: np.ndarray, predictions: np.ndarray) -> tuple[Score, Score]:
    """R2 and the root mean squared error, beside those of answering the mean of all rows.

    The intervals are 1.96 standard errors wide on both sides; the standard errors follow from the spread of the
    squared errors over the rows (the delta method).
    """
    errors = (y - predictions.astype(np.float64)) ** 2
    spread = (y - y.mean()) ** 2
    mean_error, variance = float(errors.mean()), float(spread.mean())
    deviation, baseline = math.sqrt(mean_error), math.sqrt(variance)
    # d sqrt(m) = dm / (2 sqrt(m))
    error_half = _half_width(errors / (2 * deviation)) if deviation else 0.0
    rmse = Score("RMSE", deviation, (max(0.0, deviation - error_half), deviation + error_half), baseline)
    if not variance:
        return Score("R2", None, None, 0.0), rmse
    ratio = mean_error / variance
    half = _half_width((errors - ratio * spread) / variance)
    return Score("R2", 1 - ratio, (1 - ratio - half, min(1.0, 1 - ratio + half)), 0.0), rmse


def _half_width(influence: np.ndarray) -> float:
    return Z * float(influence.std()) / math.sqrt(len(influence))
