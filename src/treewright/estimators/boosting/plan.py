"""The plan of gradient boosting: how trees grow, are drawn and are validated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewright.encoding.bins import Bins
from treewright.engines.boosting.engine import BoostRecipe
from treewright.estimators.boosting.losses import Loss
from treewright.estimators.boosting.metrics import Metric


@dataclass(frozen=True, eq=False)
class BoostPlan:
    """How to boost, every choice checked."""

    recipe: BoostRecipe
    loss: Loss
    bins: Bins
    monotonic_cst: np.ndarray
    groups: np.ndarray | None  # bool[group, column]: columns that may be used together on a path
    subsample: float
    goss: tuple[float, float] | None  # fractions of the rows with the largest gradients, and of the others
    colsample_bytree: float
    n_iter_no_change: int
    seed: int
    n_threads: int
    metrics: tuple[Metric, ...] = ()  # recorded with the validation loss
    scoring: Metric | None = None  # the score that decides when to stop, instead of the loss
    records_training: bool = False  # whether the loss of the training rows is recorded, too
    least_fall: float = 0.0  # least relative reduction of the validation loss that counts
    tol: float = 0.0  # least reduction of the validation loss, or gain of the score, that counts


def groups_of(plan: BoostPlan) -> list[list[bool]] | None:
    """Which columns may be used together on a path, as a list that can be compared."""
    return None if plan.groups is None else plan.groups.tolist()
