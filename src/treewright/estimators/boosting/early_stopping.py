"""Early stopping: the loss and the metrics of a validation set after each round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treewright.estimators.boosting.metrics import Metric
from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.rows import Rows


class EarlyStopping:
    """The validation loss after each round, and when to stop."""

    def __init__(self, plan: BoostPlan, rows: Rows, initial: np.ndarray) -> None:
        weights = np.ascontiguousarray(rows.weights)
        self.plan, self.rows = plan, replace(rows, targets=rows.targets.astype(np.float64, copy=False), weights=weights)
        self.codes = np.ascontiguousarray(rows.codes.T)
        self.scores = rows.scores(initial)
        self.figures: list[list[float]] = []  # of each round, the loss first
        self.initial_loss = self._figures()[0]
        self.best, self.round_of_best = np.inf, 0

    @property
    def progress_note(self) -> str:
        """The last and the best validation loss or score, for the progress bar."""
        if self.plan.scoring is not None:
            return f"{self.plan.scoring.name} {-self.figures[-1][0]:.5g}, best {-self.best:.5g}"
        return f"loss {self.figures[-1][0]:.5g}, best {self.best:.5g}"

    def record(self) -> None:
        """Record the figures of a round."""
        figures = self._figures()
        self.figures.append([*figures, *self._measure(self.plan.metrics)])
        loss = figures[0]
        if loss < self.best - max(self.plan.least_fall * abs(self.best), self.plan.tol) or not np.isfinite(self.best):
            self.best, self.round_of_best = loss, len(self.figures)

    def _figures(self) -> list[float]:
        """What decides, and the loss if that is a score."""
        loss = self.plan.loss.value(self.scores, self.rows.targets, self.rows.weights)
        return [loss] if self.plan.scoring is None else [-self._measure([self.plan.scoring])[0], loss]

    def _measure(self, metrics: Sequence[Metric]) -> list[float]:
        if not metrics:
            return []
        predictions, rows = self.plan.loss.prediction(self.scores), self.rows
        return [metric.compute(rows.targets, predictions, rows.weights) for metric in metrics]

    def curves(self) -> np.ndarray:
        """The figures of all rounds."""
        return np.array(self.figures).T if self.figures else no_curves(self.plan)

    def should_stop(self) -> bool:
        return len(self.figures) - self.round_of_best >= self.plan.n_iter_no_change


def no_curves(plan: BoostPlan) -> np.ndarray:
    """The figures of no round."""
    return np.empty((1 + (plan.scoring is not None) + len(plan.metrics), 0))


def mean_curves(curves: list[np.ndarray]) -> np.ndarray:
    """The mean of each figure after each round; a fold that stopped early counts with its last figures."""
    length = max(each.shape[1] for each in curves)
    return np.mean([np.pad(each, ((0, 0), (0, length - each.shape[1])), mode="edge") for each in curves], axis=0)
