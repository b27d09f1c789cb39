"""Kernels of boosting for the gradients and hessians of the losses.

The exponential function is implemented here for two reasons. Mathematical libraries differ in its last bit between
machines. The compiler can vectorise over rows only if it sees the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.runtime.kernels import entry, kernel, replaced
from treewright.runtime.signatures import Input, Reals, Reals2

SQUARED, QUANTILE, HUBER, TWEEDIE, LOG_LOSS, EXPONENTIAL, MANY_CLASSES = range(7)

# Hessians are at least this large, so that no step is infinite.
LEAST_HESSIAN = 1e-16

LOG2_OF_E = 1.4426950408889634
# The logarithm of 2 in two parts. The product of an integer of up to 11 bits and the first part has no rounding error.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


def _build_as_real() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def as_real(typing_context: Any, bits: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.DoubleType())

        return types.float64(types.int64), write

    return as_real


@replaced(_build_as_real)
def as_real(bits: Any) -> Any:
    """Return the number with these bits."""
    return np.int64(bits).view(np.float64)


@kernel
def exp(x):
    """Compute the exponential function to within one unit in the last place; beyond 700, return the value at 700."""
    x = min(max(x, -700.0), 700.0)
    n = np.floor(x * LOG2_OF_E + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * as_real((np.int64(n) + 1023) << 52)


@entry
def derive_rows(
    kind: int,
    parameter: float,
    scores: Input[Reals2],
    targets: Input[Reals],
    weights: Input[Reals],
    first: int,
    last: int,
    gradients: Reals2,
    hessians: Reals2,
) -> None:
    """Write the gradients and hessians of some rows (one line per output), times the row weights if there are any."""
    lo, hi = np.uint64(first), np.uint64(last)
    if kind == MANY_CLASSES:
        derive_many(scores, targets, lo, hi, gradients, hessians)
    else:
        derive_one(kind, parameter, scores[0], targets, lo, hi, gradients[0], hessians[0])
    if len(weights) > 0:
        for k in range(len(gradients)):
            for i in range(lo, hi):
                gradients[k, i] *= weights[i]
                hessians[k, i] *= weights[i]


@kernel
def derive_one(kind, parameter, scores, targets, lo, hi, g, h):
    """Compute the derivatives of losses with one score per row."""
    if kind == SQUARED:
        for i in range(lo, hi):
            g[i] = scores[i] - targets[i]
            h[i] = 1.0
    elif kind == QUANTILE:
        for i in range(lo, hi):
            g[i] = -parameter if targets[i] > scores[i] else 1.0 - parameter
            h[i] = 1.0
    elif kind == HUBER:
        for i in range(lo, hi):
            g[i] = min(max(scores[i] - targets[i], -parameter), parameter)
            h[i] = 1.0
    elif kind == TWEEDIE:
        for i in range(lo, hi):
            low = targets[i] * exp((1.0 - parameter) * scores[i])
            high = exp((2.0 - parameter) * scores[i])
            g[i] = high - low
            h[i] = max((2.0 - parameter) * high - (1.0 - parameter) * low, LEAST_HESSIAN)
    elif kind == LOG_LOSS:
        for i in range(lo, hi):
            share = 1.0 / (1.0 + exp(-scores[i]))
            g[i] = share - targets[i]
            h[i] = max(share * (1.0 - share), LEAST_HESSIAN)
    elif kind == EXPONENTIAL:
        for i in range(lo, hi):
            sign = 2.0 * targets[i] - 1.0
            loss = exp(-sign * scores[i])
            g[i] = -sign * loss
            h[i] = loss
    else:
        for i in range(lo, hi):
            g[i] = h[i] = np.nan


@kernel
def derive_many(scores, targets, lo, hi, gradients, hessians):
    """Compute the derivatives of the logarithmic loss of several classes, with one score per class."""
    n_classes = np.uint64(len(scores))
    # Friedman 2000: with as many scores as classes, one score is redundant, which makes steps larger by this factor.
    factor = np.float64(n_classes) / (np.float64(n_classes) - 1.0)
    most, total = hessians[0], hessians[1]
    for i in range(lo, hi):
        most[i] = scores[0, i]
    for k in range(np.uint64(1), n_classes):
        for i in range(lo, hi):
            most[i] = max(most[i], scores[k, i])
    for i in range(lo, hi):
        total[i] = 0.0
    for k in range(n_classes):
        for i in range(lo, hi):
            gradients[k, i] = exp(scores[k, i] - most[i])
            total[i] += gradients[k, i]
    for k in range(np.uint64(2), n_classes):
        share_out(gradients[k], total, hessians[k], factor, lo, hi)
    # The first two lines of `hessians` contained intermediate results until here.
    for i in range(lo, hi):
        share, other = gradients[0, i] / total[i], gradients[1, i] / total[i]
        gradients[0, i], gradients[1, i] = share, other
        hessians[0, i] = max(factor * share * (1.0 - share), LEAST_HESSIAN)
        hessians[1, i] = max(factor * other * (1.0 - other), LEAST_HESSIAN)
    for i in range(lo, hi):
        gradients[np.uint64(targets[i]), i] -= 1.0


@kernel
def share_out(raised, total, hessians, factor, lo, hi):
    for i in range(lo, hi):
        share = raised[i] / total[i]
        raised[i] = share
        hessians[i] = max(factor * share * (1.0 - share), LEAST_HESSIAN)
