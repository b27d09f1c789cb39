"""Kernels of boosting for the gradients and hessians of the losses."""

from __future__ import annotations

import numpy as np

from treewright.engines.elementary import exp
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Input, Reals, Reals2

SQUARED, QUANTILE, HUBER, TWEEDIE, LOG_LOSS, EXPONENTIAL, MANY_CLASSES = range(7)

# Hessians are at least this large, so that no step is infinite.
LEAST_HESSIAN = 1e-16


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
