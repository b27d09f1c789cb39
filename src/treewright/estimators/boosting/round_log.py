"""The losses of the rounds as lines on the standard output, in the columns of scikit-learn: `verbose`."""

from __future__ import annotations

import time

import numpy as np

from treewright.estimators.boosting.training_loss import TrainingLoss


class RoundLog:
    """Prints the training loss after rounds: of each power of ten only ten rounds, or with `every` all rounds.

    If a round does not draw all rows, the fall of the loss of the other rows follows.
    """

    def __init__(self, n_rounds: int, *, every: bool) -> None:
        self.n_rounds, self.every = n_rounds, every
        self._start, self._has_header = time.monotonic(), False

    def write(self, number: int, record: TrainingLoss) -> None:
        """Print the line of a round, the first of which has the number 1."""
        if not self.every and number % 10 ** (len(str(number)) - 1):
            return
        drawn, before, others = record.rounds[-1]
        losses = [drawn] if np.isnan(others) else [drawn, before - others]
        if not self._has_header:
            names = ["Train Loss", "OOB Improve"][: len(losses)]
            print(f"{'Iter':>10}", *(f"{name:>16}" for name in [*names, "Remaining Time"]))
            self._has_header = True
        seconds = (self.n_rounds - number) * (time.monotonic() - self._start) / number
        remaining = f"{seconds / 60.0:.2f}m" if seconds > 60.0 else f"{seconds:.2f}s"
        print(f"{number:>10}", *(f"{loss:>16.4f}" for loss in losses), f"{remaining:>16}", flush=True)
