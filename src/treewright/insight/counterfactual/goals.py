"""What a counterfactual is to reach, as linear conditions on the outputs of a sum of trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Rounding of sums; a condition that fails by less is left to the model itself.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Goal:
    """Conditions on the outputs: `direction @ outputs >= least`, all of them, or any of them.

    The conditions are necessary. `is_reached` decides by the prediction of the model whether a row reaches the goal.
    """

    direction: np.ndarray  # a line per condition
    least: np.ndarray
    needs_all: bool
    target: Any
    own: Any

    def may_hold(self, highest: np.ndarray) -> np.ndarray:
        """Whether the conditions can hold, given the largest value of each condition: [..., condition]."""
        enough = highest >= self.least - ROUNDING * (1.0 + np.abs(self.least))
        return np.asarray(enough.all(axis=-1) if self.needs_all else enough.any(axis=-1))

    def progress(self, reached: np.ndarray) -> np.ndarray:
        """How near the conditions are to hold: [..., condition]."""
        beyond = reached - self.least
        return np.asarray(beyond.min(axis=-1) if self.needs_all else beyond.max(axis=-1))

    def is_reached(self, prediction: Any) -> bool:
        """Whether a prediction of the model is the wanted one."""
        if isinstance(self.target, Interval):
            return self.target.low <= float(prediction) <= self.target.high
        return bool(prediction != self.own if self.target is None else prediction == self.target)


@dataclass(frozen=True)
class Interval:
    """An interval of numbers, both ends included."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"


def class_goal(classes: list[Any], own: Any, target: Any, transform: np.ndarray) -> Goal:
    """The target has the highest score, or some class has a higher one than the own; scores are transform @ outputs."""
    place = {name: number for number, name in enumerate(classes)}
    if target is None:
        others = [transform[number] - transform[place[own]] for name, number in place.items() if name != own]
        return Goal(np.array(others), np.zeros(len(others)), False, None, own)
    others = [transform[place[target]] - transform[number] for name, number in place.items() if name != target]
    return Goal(np.array(others), np.zeros(len(others)), True, target, own)


def number_goal(target: Interval, scores: Interval, own: Any) -> Goal:
    """The one output is within an interval of scores."""
    return Goal(np.array([[1.0], [-1.0]]), np.array([scores.low, -scores.high]), True, target, own)
