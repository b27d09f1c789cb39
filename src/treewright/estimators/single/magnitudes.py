"""Targets and columns of extreme magnitude, scaled by powers of two before growth and back afterwards.

The engines square targets and compare values with fixed tolerances. A power of two changes no digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from treewright.estimators.base import Training
from treewright.table.sparse import SparseValues
from treewright.tree import SplitKind, Tree

# Targets between these need no scaling, and the squares of targets above the last one are too large for floats.
LEAST_TARGET, LARGEST_TARGET, MOST_TARGET = 2.0**-200, 2.0**200, 1e150


def largest_target(numbers: np.ndarray) -> float:
    """The largest magnitude of a target; an error if its square is too large."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest > MOST_TARGET:
        raise ValueError(f"y has values up to {largest:.3g}, whose squares are too large; divide y by a constant")
    return largest


def scale_of_target(numbers: np.ndarray) -> float:
    """The power of two to divide a target by; 1 for a target of ordinary magnitude.

    >>> scale_of_target(np.array([3.0, -8.0])), scale_of_target(np.array([0.0, 2.0**-300])) == 2.0**-300
    (1.0, True)
    """
    largest = largest_target(numbers)
    if largest == 0.0 or LEAST_TARGET <= largest <= LARGEST_TARGET:
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))


def with_scaled_target(tree: Tree, scale: float) -> Tree:
    """The regression tree for a target that is `scale` times as large."""
    unit = unit_of_impurity(tree.criterion, scale)
    return tree.replace(distribution=tree.distribution * scale, impurity=tree.impurity * unit, gain=tree.gain * unit)


def unit_of_impurity(criterion: str | Callable[..., float], scale: float) -> float:
    """How many times as large impurities are for a target that is `scale` times as large."""
    return scale if criterion in ("absolute_error", "sdr", "poisson") else scale**2


def scales_of_columns(training: Training, least_spread: float) -> np.ndarray:
    """The power of two to multiply each column by, so that its values spread over more than 1.

    It is 1 for columns whose values spread over at least `least_spread`, and for categories.
    """
    scales = np.ones(len(training.columns))
    for place, column in enumerate(training.columns):
        line = training.values[:, place]
        line = line[np.isfinite(line)]
        with np.errstate(over="ignore"):
            spread = float(np.ptp(line)) if len(line) and column.is_numeric else np.inf
        if 0.0 < spread < least_spread:
            # The largest power of two among floats is 1023.
            scales[place] = np.ldexp(1.0, min(1 - int(np.frexp(spread)[1]), 1000))
    return scales


def with_scaled_columns(training: Training, scales: np.ndarray) -> Training:
    """The training rows with each column times its scale."""

    def scaled(values: Any) -> Any:
        return values.scaled(scales) if isinstance(values, SparseValues) else np.asfortranarray(values * scales)

    whole = None if training.whole is None else scaled(training.whole)
    return replace(training, values=scaled(training.values), whole=whole)


def without_scales(tree: Tree, scales: np.ndarray) -> Tree:
    """The tree for columns as they were before they were multiplied by `scales`."""
    is_cut = tree.kind == SplitKind.THRESHOLD
    threshold = np.where(is_cut, tree.threshold / scales[tree.column], tree.threshold)
    surrogates = tree.surrogates
    if surrogates is not None:
        surrogates = replace(surrogates, threshold=surrogates.threshold / scales[surrogates.column])
    return tree.replace(threshold=threshold, surrogates=surrogates)
