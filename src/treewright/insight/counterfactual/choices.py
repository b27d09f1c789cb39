"""The values that a column may change to, with the magnitude of each change."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from treewright.table.column import Column, Unit

# Where the thresholds of a model are not known, a column has at most this many values to try.
MOST_VALUES = 32


@dataclass(frozen=True, eq=False)
class Choices:
    """The values of one column, in ascending order of magnitude; the first is the row's own, of magnitude 0."""

    values: np.ndarray
    costs: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def take(self, places: np.ndarray) -> Choices:
        """Some of the choices."""
        return Choices(self.values[places], self.costs[places])


@dataclass(frozen=True)
class Limits:
    """Which columns may change, by position, and in which direction."""

    frozen: Collection[int] = ()
    increasing: Collection[int] = ()
    decreasing: Collection[int] = ()

    def allows(self, place: int, own: float, values: np.ndarray) -> np.ndarray:
        """Whether a column may change from its own value to each of these; a missing value has no direction."""
        if place in self.frozen:
            return np.zeros(len(values), dtype=bool)
        allowed = np.ones(len(values), dtype=bool)
        if place in self.increasing:
            allowed &= values > own
        if place in self.decreasing:
            allowed &= values < own
        return allowed


def choices_of(
    column: Column, own: float, thresholds: np.ndarray | None, observed: np.ndarray | None, tolerance: float = 0.0
) -> Choices:
    """What a column may change to, from `observed` training values or from the thresholds of the model.

    - Categories: each category (of the training values, if given), of magnitude 1.
    - Ordered categories: the distance in the order, divided by the largest possible one.
    - Numbers with training values: the nearest of these between each two thresholds. The magnitude is the change
      divided by their standard deviation.
    - Numbers without: the nearest number between each two thresholds. The magnitude is the fraction of the column's
      thresholds that the change crosses.
    - From a missing value: always of magnitude 1.
    """
    known = None if observed is None else np.unique(observed[~np.isnan(observed)])
    if not column.is_numeric:
        return _categories(column, own, known)
    if known is not None:
        values = _representatives(known, own, thresholds)
        spread = float(np.std(observed[~np.isnan(observed)])) if observed is not None and len(known) else 0.0
        costs = np.abs(values - own) / (spread or 1.0)
    else:
        values = _between(column, own, np.zeros(0) if thresholds is None else thresholds, tolerance)
        costs = _crossed(values, own, np.zeros(0) if thresholds is None else thresholds)
    return _ordered(own, values, np.where(np.isnan(costs), 1.0, costs))


def _ordered(own: float, values: np.ndarray, costs: np.ndarray) -> Choices:
    """The choices by magnitude, the own value first."""
    other = values != own
    values, costs = values[other], costs[other]
    order = np.lexsort((values, costs))
    return Choices(np.append(own, values[order]), np.append(0.0, costs[order]))


def _categories(column: Column, own: float, known: np.ndarray | None) -> Choices:
    codes = np.arange(len(column.categories), dtype=np.float64)
    if known is not None:
        codes = known[known >= 0]
    costs = np.ones(len(codes))
    if not column.is_categorical and not np.isnan(own):
        costs = np.abs(codes - own) / max(len(column.categories) - 1, 1)
    return _ordered(own, codes, costs)


def _representatives(known: np.ndarray, own: float, thresholds: np.ndarray | None) -> np.ndarray:
    """The value nearest to the row's own between each two thresholds; some quantiles if these are not known."""
    if thresholds is None:
        if len(known) <= MOST_VALUES:
            return known
        return np.unique(np.quantile(known, np.linspace(0.0, 1.0, MOST_VALUES), method="nearest"))
    middle = float(np.median(known)) if np.isnan(own) and len(known) else own
    cell = np.searchsorted(thresholds, known, side="left")
    order = np.lexsort((np.abs(known - middle), cell))
    first = np.flatnonzero(np.diff(cell[order], prepend=-1))
    return np.sort(known[order[first]])


def _between(column: Column, own: float, thresholds: np.ndarray, tolerance: float) -> np.ndarray:
    """The number nearest to the row's own between each two thresholds, for all intervals but its own."""
    if not len(thresholds):
        return np.zeros(0)
    below = thresholds if np.isnan(own) else thresholds[thresholds < own]
    above = thresholds[-1:] if np.isnan(own) else thresholds[thresholds >= own]
    whole = column.unit in (Unit.DATE, Unit.DATETIME, Unit.UTC)
    values = np.floor(below).tolist() if whole else below.tolist()
    for threshold in above.tolist():
        later = thresholds[thresholds > threshold]
        end = float(later[0]) if len(later) else math.inf
        values.append(math.floor(threshold) + 1.0 if whole else just_above(threshold, end, tolerance))
    return np.unique(np.array(values, dtype=np.float64))


def _crossed(values: np.ndarray, own: float, thresholds: np.ndarray) -> np.ndarray:
    """The fraction of the thresholds between the own value and each other one."""
    if np.isnan(own) or not len(thresholds):
        return np.ones(len(values))
    places = np.searchsorted(thresholds, values, side="left")
    return np.abs(places - np.searchsorted(thresholds, own, side="left")) / len(thresholds)


def just_above(threshold: float, end: float, tolerance: float = 0.0) -> float:
    """A short number a little above a threshold, at most at `end`.

    >>> just_above(2.45, 4.95), just_above(0.8, float("inf")), just_above(100.5, 100.50001)
    (2.46, 0.801, 100.5000001)
    """
    room = end - threshold if math.isfinite(end) else max(abs(threshold), 1e-3)
    most = threshold + max(room / 100.0, 2.0 * tolerance)
    low = threshold + tolerance
    for digits in range(-3, 13):
        scale = 10.0**digits
        value = float(f"{(math.floor(threshold * scale) + 1.0) / scale:.12g}")
        if low < value <= min(most, end):
            return value
    return float(min(np.nextafter(low, math.inf), end))
