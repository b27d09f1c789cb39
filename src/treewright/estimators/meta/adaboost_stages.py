"""The stages of AdaBoost: error and weight of each member, and the row weights after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Stage:
    """One round of boosting.

    Parameters
    ----------
    number : int
        1 for the first.
    error : float
        The fraction of the weight that the member predicts wrongly; for numbers the weighted mean of its losses.
    weight : float
        The weight of the member in the vote.
    total : float
        The sum of the changed row weights, by which they are divided.
    weights : ndarray or None
        The weight of each row after the division; None if all stages have more than a million row weights.
    """

    number: int
    error: float
    weight: float
    total: float
    weights: np.ndarray | None

    def __str__(self) -> str:
        return f"{self.number:>5}  {self.error:<8.4f}  {self.weight:<8.4f}  {self.total:<8.4f}"


class StageList(list[Stage]):
    """The stages, printed one per line.

    >>> StageList([Stage(1, 0.3, 0.8473, 1.4, None)])
    stage  error     weight    total of weights
        1  0.3000    0.8473    1.4000
    """

    def __repr__(self) -> str:
        lines = ["stage  error     weight    total of weights", *map(str, self)]
        return "\n".join(line.rstrip() for line in lines)

    __str__ = __repr__
