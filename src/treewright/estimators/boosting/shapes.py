"""The meaning of "auto" in gradient boosting: learning rate, size of leaves, and tree shapes to choose from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.parameters import is_auto, parameter_error

# The learning rate where the number of rounds is given.
GIVEN_ROUNDS_RATE = 0.1

# Where the number of rounds is chosen, the loss must fall by this fraction to justify more rounds.
LEAST_FALL = 0.001

# Number of levels of oblivious trees: the default and the maximum.
OBLIVIOUS_DEPTH, MOST_OBLIVIOUS_DEPTH = 6, 16

# Larger tables are boosted with all rows, and then with all columns too, because samples gain little; on a census of
# 30,000 rows they lose. The largest have one shape.
ENOUGH_ROWS, MANY_ROWS = 20_000, 50_000
MOST_ROWS_FOR_SHAPES = 200_000


@dataclass(frozen=True)
class BoostShape:
    """The choices of tree growth that the user may leave to "auto"."""

    growth: str
    min_samples_leaf: int
    subsample: float
    node_share: float
    learning_rate: float | None = None  # None for the usual one


def rate_for(n_rows: int, n_classes: int) -> float:
    """The learning rate where the number of rounds is chosen: small for small tables, which are fast to boost.

    With three classes or more, every round has a tree per class, and smaller steps do not predict better.
    """
    return 0.05 if n_rows <= ENOUGH_ROWS and n_classes <= 2 else 0.1


def leaf_for(n_rows: int) -> int:
    """The least rows of a leaf: few in small tables.

    >>> [leaf_for(n_rows) for n_rows in (60, 500, 100_000)]
    [1, 5, 20]
    """
    return int(np.clip(n_rows // 100, 1, 20))


def depth_for(growth: str, max_depth: int | None) -> int:
    """The largest number of splits from the root to a leaf."""
    if growth != "oblivious":
        return 1 << 30 if max_depth is None else int(max_depth)
    if max_depth is not None and max_depth > MOST_OBLIVIOUS_DEPTH:
        raise parameter_error("max_depth", max_depth, f"{MOST_OBLIVIOUS_DEPTH} at most for oblivious trees")
    return OBLIVIOUS_DEPTH if max_depth is None else int(max_depth)


def shapes_for(n_rows: int) -> list[BoostShape]:
    """The shapes among which the validation loss chooses.

    Trees grown from samples of rows and columns make different errors, which matters most for small tables.
    """
    if n_rows > MOST_ROWS_FOR_SHAPES:
        return [BoostShape("best", leaf_for(n_rows), 1.0, 1.0)]
    if n_rows > MANY_ROWS:
        return [BoostShape("best", leaf_for(n_rows), 1.0, 1.0), BoostShape("oblivious", 1, 1.0, 1.0)]
    if n_rows > ENOUGH_ROWS:
        return [BoostShape("best", leaf_for(n_rows), 1.0, 0.5), BoostShape("oblivious", 1, 1.0, 1.0)]
    return [BoostShape("best", min(leaf_for(n_rows), 3), 0.7, 0.5), BoostShape("oblivious", 1, 0.7, 0.7)]


def shape_of(plan: BoostPlan) -> BoostShape:
    """The shape of a plan, for a later warm start."""
    recipe = plan.recipe
    return BoostShape(recipe.growth, recipe.min_samples_leaf, plan.subsample, recipe.node_share, recipe.learning_rate)


def take_shape(plan: BoostPlan, shape: BoostShape, learner: Any) -> BoostPlan:
    """The plan with a shape, for those parameters of the learner that are "auto"."""
    recipe = plan.recipe
    if is_auto(learner.growth):
        depth = depth_for(shape.growth, learner.max_depth)
        recipe = replace(recipe, growth=shape.growth, max_depth=depth)
    if is_auto(learner.min_samples_leaf):
        recipe = replace(recipe, min_samples_leaf=shape.min_samples_leaf)
    if is_auto(learner.max_features):
        recipe = replace(recipe, node_share=shape.node_share)
    if is_auto(learner.learning_rate) and shape.learning_rate is not None:
        recipe = replace(recipe, learning_rate=shape.learning_rate)
    is_given = plan.goss is not None or not is_auto(learner.subsample)
    return replace(plan, recipe=recipe, subsample=plan.subsample if is_given else shape.subsample)
