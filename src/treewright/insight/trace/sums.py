"""Sums over rows from which impurities follow: class weights, or weight, sum and sum of squares of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np

from treewright.insight import measures

# Squares of numbers below this share of those of the node are rounding errors.
NO_SQUARES = 1e-17

CLASS_CRITERIA = ("gini", "information_gain", "gain_ratio", "error")
NUMBER_CRITERIA = ("squared_error", "sdr")


class Sums(Protocol):
    """Additive figures of sets of rows, and the impurity that follows from them; a set times its weight."""

    def of_rows(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The figures of single rows: [row, figure]."""

    def weight(self, sums: np.ndarray) -> np.ndarray:
        """The weight of each set."""

    def impurity(self, sums: np.ndarray) -> np.ndarray:
        """The impurity of each set times its weight."""

    def exact_impurity_of(self, target: np.ndarray, weights: np.ndarray) -> float:
        """The impurity of rows of this target, not from sums of sums."""


@dataclass(frozen=True, eq=False)
class ClassSums:
    """The class weights of sets of rows."""

    labels: np.ndarray
    n_classes: int
    criterion: str

    def of_rows(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(rows), self.n_classes))
        sums[np.arange(len(rows)), self.labels[rows]] = weights
        return sums

    def weight(self, sums: np.ndarray) -> np.ndarray:
        return np.asarray(sums.sum(axis=-1))

    def impurity(self, sums: np.ndarray) -> np.ndarray:
        sums = np.maximum(sums, 0.0)
        total = sums.sum(axis=-1, keepdims=True)
        if self.criterion == "error":
            return np.asarray(total[..., 0] - sums.max(axis=-1))
        if self.criterion == "gini":
            terms = sums * (total - sums)
            return np.asarray(terms.sum(axis=-1) / np.where(total > 0.0, total, 1.0)[..., 0])
        ratio = np.where(sums > 0.0, total, 1.0) / np.where(sums > 0.0, sums, 1.0)
        return np.asarray((sums * np.log2(ratio)).sum(axis=-1))

    def exact_impurity_of(self, target: np.ndarray, weights: np.ndarray) -> float:
        return self.exact_impurity(np.bincount(target, weights, minlength=self.n_classes))

    def exact_impurity(self, counts: np.ndarray) -> float:
        """The impurity of one set by the functions of `treewright.measures`."""
        if counts.sum() <= 0.0:
            return 0.0
        by_name = {"gini": measures.gini, "error": measures.error_rate}
        return by_name.get(self.criterion, measures.entropy)(counts.tolist())


@dataclass(frozen=True, eq=False)
class NumberSums:
    """Weight, sum and sum of squares of numbers, relative to the mean of the node so that little is lost to rounding.

    For standard deviations the sums have more digits than floats, because the root of a rounding error is not small.
    """

    numbers: np.ndarray
    mean: float
    spread: float  # the sum of squares of the node
    criterion: str

    def of_rows(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        digits = np.longdouble if self.criterion == "sdr" else np.float64
        weights = weights.astype(digits)
        centred = self.numbers[rows].astype(digits) - self.mean
        return np.stack([weights, weights * centred, weights * centred * centred], axis=1)

    def weight(self, sums: np.ndarray) -> np.ndarray:
        return np.asarray(sums[..., 0], dtype=np.float64)

    def impurity(self, sums: np.ndarray) -> np.ndarray:
        weight = np.where(sums[..., 0] > 0.0, sums[..., 0], 1.0)
        squares = sums[..., 2] - sums[..., 1] * sums[..., 1] / weight
        if self.criterion == "sdr":
            squares = np.where(squares > NO_SQUARES * self.spread, squares, 0.0)
            return np.asarray(np.sqrt(sums[..., 0] * squares))
        return np.asarray(squares)

    def exact_impurity_of(self, target: np.ndarray, weights: np.ndarray) -> float:
        return number_impurity(target, weights, self.criterion)


def moments(numbers: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Weight, mean and sum of squared deviations, each in two passes.

    >>> moments(np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 2.0]))
    (4.0, 3.75, 20.75)
    """
    weight = float(weights.sum())
    if weight <= 0.0:
        return 0.0, 0.0, 0.0
    some = float(numbers[0])
    mean = some + float((weights * (numbers - some)).sum()) / weight
    return weight, mean, float((weights * (numbers - mean) ** 2).sum())


def number_impurity(numbers: np.ndarray, weights: np.ndarray, criterion: str) -> float:
    """The variance of numbers, or for "sdr" their standard deviation.

    >>> number_impurity(np.array([1.0, 3.0]), np.ones(2), "squared_error")
    1.0
    """
    weight, _, squares = moments(numbers, weights)
    return spread_of(weight, squares, criterion)


def spread_of(weight: float, squares: float, criterion: str) -> float:
    """The impurity of numbers from their weight and sum of squared deviations.

    >>> spread_of(2.0, 8.0, "squared_error"), spread_of(2.0, 8.0, "sdr")
    (4.0, 2.0)
    """
    if weight <= 0.0:
        return 0.0
    return sqrt(squares / weight) if criterion == "sdr" else squares / weight


def split_bits(weights: np.ndarray, total: float) -> np.ndarray:
    """The terms of branches in the split information, in bits times the total weight.

    >>> split_bits(np.array([7.0, 7.0]), 14.0)
    array([7., 7.])
    """
    inside = (weights > 0.0) & (weights < total)
    return np.asarray(np.where(inside, weights * np.log2(total / np.where(inside, weights, 1.0)), 0.0))
