"""Targets of extreme magnitude: boosting with a target that was divided by a power of two, and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.rounds import Boosted


def for_scaled_target(plan: BoostPlan, scale: float) -> BoostPlan:
    """The plan for a target that was divided by `scale`: gradients are divided, too, and gains by its square."""
    recipe = plan.recipe
    with np.errstate(over="ignore"):
        l1_regularization = float(np.float64(recipe.l1_regularization) / scale)
        min_split_gain = float(np.float64(recipe.min_split_gain) / scale / scale)
    return replace(plan, recipe=replace(recipe, l1_regularization=l1_regularization, min_split_gain=min_split_gain))


def in_units_of_target(found: Boosted, unit: float) -> Boosted:
    """The losses of all rounds in the unit of the target."""
    training = None if found.training is None else found.training * unit
    return replace(
        found, curves=found.curves * unit, others=tuple(each * unit for each in found.others), training=training
    )
