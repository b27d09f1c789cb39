"""The midpoint of two neighbouring values: the one rule for thresholds, for one pair and for arrays."""

from __future__ import annotations

import numpy as np

from treewright.runtime.kernels import kernel


@kernel
def midpoint(below, above):
    """Return the midpoint of two numbers, or the lower one if no number is between them or one is infinite."""
    middle = 0.5 * (below + above)
    if not np.isfinite(middle):
        middle = 0.5 * below + 0.5 * above
    return middle if below <= middle < above else below


def midpoints(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Compute the `midpoint` of each pair of numbers.

    >>> midpoints(np.array([1.0, 1.7e308, 3.0]), np.array([2.0, 1.79e308, np.inf]))
    array([1.500e+000, 1.745e+308, 3.000e+000])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        middle = 0.5 * (below + above)
        middle = np.where(np.isfinite(middle), middle, 0.5 * below + 0.5 * above)
    return np.where((below <= middle) & (middle < above), middle, below)
