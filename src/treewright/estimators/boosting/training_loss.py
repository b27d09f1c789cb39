"""The loss of the training rows after each round, and of the rows that a round did not draw."""

from __future__ import annotations

import numpy as np

from treewright.estimators.boosting.losses import Loss


class TrainingLoss:
    """Records the loss of the drawn rows, and of the other rows before and after each round."""

    def __init__(self, loss: Loss, targets: np.ndarray, weights: np.ndarray) -> None:
        self.loss, self.targets, self.weights = loss, targets, weights
        self.drawn = self.others = np.empty(0, np.intp)
        self.before = np.nan
        self.rounds: list[tuple[float, float, float]] = []

    def begin_round(self, scores: np.ndarray, sample: np.ndarray | None) -> None:
        """Note which rows are drawn; None for all."""
        is_drawn = np.ones(scores.shape[1], dtype=bool)
        if sample is not None:
            is_drawn[:] = False
            is_drawn[sample] = True
        self.drawn, self.others = np.flatnonzero(is_drawn), np.flatnonzero(~is_drawn)
        self.before = self._mean(scores, self.others)

    def end_round(self, scores: np.ndarray) -> None:
        self.rounds.append((self._mean(scores, self.drawn), self.before, self._mean(scores, self.others)))

    def _mean(self, scores: np.ndarray, rows: np.ndarray) -> float:
        weights = self.weights[rows]
        if not weights.any():
            return float("nan")
        return self.loss.value(np.ascontiguousarray(scores[:, rows]), self.targets[..., rows], weights)

    @property
    def lines(self) -> np.ndarray:
        """The losses of all rounds: [drawn rows, other rows before, other rows after; round]."""
        return np.array(self.rounds, dtype=np.float64).reshape(-1, 3).T
