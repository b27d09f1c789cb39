"""A loss of the user for three classes or more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treewright.engines.boosting.own_loss import check_derivatives
from treewright.estimators.boosting.losses import QUADRATURE, Loss, softmax

WANTED = "the loss must return a pair: gradients and hessians, each with a line per row and a column per class"


class OwnClasses(Loss):
    """A function of the scores of all classes and the class of each row, which returns gradients and hessians.

    The function is called with arrays of all rows: scores [row, class], and the positions of the classes.
    """

    sums_are_enough = False  # a function of the user may look at all rows

    def __init__(self, function: Callable[..., Any], places: np.ndarray) -> None:
        self.function, self.places = function, places  # by label, the position of its class among the sorted classes
        self.n_outputs = len(places)

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.zeros(self.n_outputs)

    @property
    def goes_row_by_row(self) -> bool:
        return False

    def fill(
        self,
        scores: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        rows: tuple[int, int],
        gradients: np.ndarray,
        hessians: np.ndarray,
    ) -> None:
        taken = slice(*rows)
        order = np.argsort(self.places)
        found = self.function(np.ascontiguousarray(scores[order, taken].T), self.places[targets[taken].astype(np.intp)])
        shape = (scores[:, taken].shape[1], self.n_outputs)
        if not isinstance(found, tuple | list) or len(found) != 2 or any(np.shape(one) != shape for one in found):
            raise ValueError(WANTED)
        weight = weights[taken] if len(weights) else 1.0
        for given, kept in zip(found, (gradients, hessians), strict=True):
            kept[:, taken] = np.asarray(given, dtype=np.float64).T[self.places] * weight

    def check_filled(self, gradients: np.ndarray, hessians: np.ndarray) -> None:
        check_derivatives(gradients, hessians)

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        """The mean loss minus that of scores of 0: the integral of the gradient between the two."""
        steps = [share * self.derive(place * scores, targets)[0] for place, share in zip(*QUADRATURE, strict=True)]
        return float(np.average((scores * np.sum(steps, axis=0)).sum(axis=0), weights=weights))

    def prediction(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores).T
