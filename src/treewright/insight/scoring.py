"""Scores of predictions with 95% intervals, and the score of the constant baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Z = 1.959964  # 97.5% of a normal distribution lie below


@dataclass(frozen=True)
class Score:
    """One measure of the predictions for unseen rows.

    Attributes
    ----------
    measure : "accuracy", "R2" or "RMSE".
    value : the score; None if it is undefined because the target has one value only.
    interval : the 95% confidence interval, None if the score is undefined.
    baseline : the score of the best constant prediction.
    """

    measure: str
    value: float | None
    interval: tuple[float, float] | None
    baseline: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        interval = None if self.interval is None else list(self.interval)
        return {"measure": self.measure, "score": self.value, "interval": interval, "baseline": self.baseline}


def score_classes(y: np.ndarray, predictions: np.ndarray) -> Score:
    """The fraction of correct predictions, and the fraction of the most common class.

    >>> truth = np.array(["yes", "yes", "no", "yes"], dtype=object)
    >>> score_classes(truth, np.array(["yes", "no", "no", "yes"], dtype=object)).value
    0.75
    """
    correct = int(np.count_nonzero(y.astype(str) == predictions.astype(str)))
    _, sizes = np.unique(y.astype(str), return_counts=True)
    return Score("accuracy", correct / len(y), wilson_interval(correct, len(y)), int(sizes.max()) / len(y))


def wilson_interval(correct: int, total: int) -> tuple[float, float]:
    """The 95% interval of Wilson (1927) for a fraction: it stays within 0 and 1 and holds for small tables.

    >>> [round(end, 4) for end in wilson_interval(8, 10)]
    [0.4902, 0.9433]
    """
    share, per_row = correct / total, Z * Z / total
    middle = (share + per_row / 2) / (1 + per_row)
    half = Z / (1 + per_row) * math.sqrt(share * (1 - share) / total + per_row / (4 * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def score_numbers(y: np.ndarray, predictions: np.ndarray) -> tuple[Score, Score]:
    """R2 and the root mean squared error; the baseline predicts the mean of all rows.

    The intervals are 1.96 standard errors wide on both sides. The standard errors are computed from the variance of
    the squared errors over the rows (the delta method).
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
