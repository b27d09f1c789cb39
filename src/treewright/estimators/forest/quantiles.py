"""Quantiles of a target from the leaves of a forest (Meinshausen 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.estimators.parameters import is_real, parameter_error

# Rows whose weights on all training rows are computed at once.
ROWS_AT_ONCE = 256


def weighted_quantiles(
    leaves: np.ndarray, training_leaves: np.ndarray, target: np.ndarray, weights: np.ndarray, quantiles: Any
) -> np.ndarray:
    """Quantiles of the training targets, weighted by how often training rows share a leaf with each row."""
    wanted = read_quantiles(quantiles)
    order = np.argsort(target, kind="stable")
    in_order, training_leaves, weights = target[order], training_leaves[order].astype(np.int64), weights[order]
    sizes = np.maximum(training_leaves.max(axis=0), leaves.max(axis=0)) + 1
    starts = np.cumsum(sizes) - sizes
    totals = np.bincount((training_leaves + starts).ravel(), np.repeat(weights, leaves.shape[1]), minlength=sizes.sum())
    predictions = np.empty((len(leaves), len(wanted)))
    for first in range(0, len(leaves), ROWS_AT_ONCE):
        block = leaves[first : first + ROWS_AT_ONCE].astype(np.int64)
        predictions[first : first + ROWS_AT_ONCE] = _block(
            block, training_leaves, in_order, weights, totals, starts, wanted
        )
    return predictions


def _block(
    leaves: np.ndarray,
    training_leaves: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray,
    totals: np.ndarray,
    starts: np.ndarray,
    wanted: np.ndarray,
) -> np.ndarray:
    shares = np.zeros((len(leaves), len(target)))
    for tree in range(leaves.shape[1]):
        same = leaves[:, tree][:, None] == training_leaves[:, tree][None, :]
        total = totals[starts[tree] + leaves[:, tree]]
        # A leaf without training rows has no weight.
        shares += same * (weights / np.where(total > 0.0, total, 1.0)[:, None])
    passed = np.cumsum(shares, axis=1)
    passed /= passed[:, -1:]
    # Training rows of weight 0 are no quantile, not even the lowest.
    places = np.stack([((passed < quantile - 1e-12) | (passed <= 0.0)).sum(axis=1) for quantile in wanted], axis=1)
    return target[np.minimum(places, len(target) - 1)]


def read_quantiles(quantiles: Any) -> np.ndarray:
    """Probabilities between 0 and 1."""
    given = [quantiles] if is_real(quantiles) else list(quantiles)
    if not given:
        raise ValueError("quantiles is empty; give shares between 0 and 1")
    for quantile in given:
        if not is_real(quantile) or not 0.0 <= quantile <= 1.0:
            raise parameter_error("quantiles", quantile, "shares between 0 and 1")
    return np.array(given, dtype=np.float64)
