"""Validation sets taken from the training rows: folds, or a sample spread over the targets."""

from __future__ import annotations

import numpy as np

from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.rows import Rows

# Cross-validation folds for the number of rounds; larger tables have one validation set of this fraction.
FOLDS = 5
MOST_ROWS_FOR_FOLDS = 5_000
VALIDATION_FRACTION, MOST_VALIDATION_ROWS = 0.1, 20_000

# The validation set of tables that keep the trees of their validation.
KEPT_VALIDATION_FRACTION = 0.05


def validation_splits(plan: BoostPlan, rows: Rows, share: float | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """The training rows and the validation rows, once or for each fold; neighbours by target go to different folds."""
    n_rows, order = len(rows), order_by_target(plan, rows)
    if share is not None:
        return [spread_rows(plan, rows, min(max(1, round(share * n_rows)), n_rows - 1))]
    if n_rows <= MOST_ROWS_FOR_FOLDS:
        places = [np.arange(fold, n_rows, FOLDS) for fold in range(FOLDS)]
    else:
        places = [np.arange(0, n_rows, max(round(1.0 / VALIDATION_FRACTION), -(-n_rows // MOST_VALIDATION_ROWS)))]
    return [(np.sort(np.delete(order, held_out)), np.sort(order[held_out])) for held_out in places]


def order_by_target(plan: BoostPlan, rows: Rows) -> np.ndarray:
    """The rows in random order; those of one target in the order of the target, rows of equal targets at random."""
    order = np.random.default_rng(plan.seed & 0xFFFFFFFF).permutation(len(rows))
    return order[np.argsort(rows.targets[order], kind="stable")] if rows.targets.ndim == 1 else order


def spread_rows(plan: BoostPlan, rows: Rows, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The other rows, and a sample of this size that is spread evenly over the targets."""
    order = order_by_target(plan, rows)
    places = np.linspace(0, len(rows) - 1, size).round().astype(np.intp)
    return np.sort(np.delete(order, places)), np.sort(order[places])


def hold_out(plan: BoostPlan, rows: Rows) -> tuple[Rows, Rows]:
    """The training rows and the validation set of a table that keeps the trees of its validation."""
    size = min(round(KEPT_VALIDATION_FRACTION * len(rows)), MOST_VALIDATION_ROWS)
    return rows.split(*spread_rows(plan, rows, size))
