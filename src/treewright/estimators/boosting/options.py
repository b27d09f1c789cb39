"""Reading the parameters of gradient boosting."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from treewright.engines.boosting.engine import BoostRecipe
from treewright.estimators.base import Training
from treewright.estimators.boosting.shapes import GIVEN_ROUNDS_RATE, depth_for, leaf_for, rate_for
from treewright.estimators.parameters import columns_to_draw, is_auto, is_real, is_text, is_whole, parameter_error
from treewright.table import read_frame, read_numbers
from treewright.table.column import Column

GROWTHS = ("auto", "best", "level", "oblivious")

# Parameters that are numbers of 0 or more.
LEAST_ZERO = ("min_child_weight", "l1_regularization", "l2_regularization", "min_split_gain", "min_impurity_decrease")


def read_recipe(learner: Any, max_features: float, weights: np.ndarray, n_classes: int) -> BoostRecipe:
    """The choices of tree growth from the parameters of a learner, every one checked."""
    n_rows = len(weights)
    if not is_whole(learner.max_leaf_nodes, 2):
        raise parameter_error("max_leaf_nodes", learner.max_leaf_nodes, "a whole number of 2 or more")
    if not is_auto(learner.min_samples_leaf) and not is_whole(learner.min_samples_leaf, 1):
        raise parameter_error("min_samples_leaf", learner.min_samples_leaf, "a whole number of 1 or more, or 'auto'")
    if learner.max_depth is not None and not is_whole(learner.max_depth, 1):
        raise parameter_error("max_depth", learner.max_depth, "a whole number of 1 or more, or None for no limit")
    for name in LEAST_ZERO:
        if not is_real(getattr(learner, name)) or getattr(learner, name) < 0.0:
            raise parameter_error(name, getattr(learner, name), "a number of 0 or more")
    if learner.growth not in GROWTHS:
        raise parameter_error("growth", learner.growth, f"one of {', '.join(map(repr, GROWTHS))}")
    rate = learner.learning_rate
    if not is_auto(rate) and (not is_real(rate) or rate <= 0.0):
        raise parameter_error("learning_rate", rate, "a number above 0, or 'auto'")
    growth = "best" if is_auto(learner.growth) else learner.growth
    auto_rate = rate_for(n_rows, n_classes) if is_auto(learner.n_estimators) else GIVEN_ROUNDS_RATE
    return BoostRecipe(
        growth=growth,
        max_leaf_nodes=int(learner.max_leaf_nodes),
        max_depth=depth_for(growth, learner.max_depth),
        min_samples_leaf=leaf_for(n_rows) if is_auto(learner.min_samples_leaf) else int(learner.min_samples_leaf),
        min_child_weight=float(learner.min_child_weight),
        l1_regularization=float(learner.l1_regularization),
        l2_regularization=float(learner.l2_regularization),
        # The gain of the engine is half the fall of the sum of squares.
        min_split_gain=max(float(learner.min_split_gain), 0.5 * learner.min_impurity_decrease * float(weights.sum())),
        learning_rate=auto_rate if is_auto(rate) else float(rate),
        level_share=read_share("colsample_bylevel", learner.colsample_bylevel),
        node_share=max_features,
    )


def read_share(name: str, value: Any) -> float:
    if not is_real(value) or not 0.0 < value <= 1.0:
        raise parameter_error(name, value, "a share above 0.0 and up to 1.0")
    return float(value)


def read_max_features(value: Any, n_columns: int) -> float:
    """The fraction of the columns that each node draws: from a fraction, a number of columns, or a rule for it.

    >>> read_max_features("sqrt", 25), read_max_features(5, 20), read_max_features(None, 20)
    (0.2, 0.25, 1.0)
    """
    if value is None or is_auto(value):
        return 1.0
    if is_text(value, "sqrt", "log2") or is_whole(value, 1):
        return columns_to_draw(int(value) if is_whole(value, 1) else value, n_columns) / n_columns
    return read_share("max_features", value)


def read_goss(goss: Any, subsample: Any) -> tuple[float, float] | None:
    """The fractions of rows with large gradients and of others for each tree; None without this sampling."""
    if goss is None or goss is False:
        return None
    pair = (0.2, 0.1) if goss is True else goss
    wrong = not isinstance(pair, tuple | list) or len(pair) != 2
    if wrong or not all(is_real(share) and share > 0.0 for share in pair) or sum(pair) > 1.0:
        raise parameter_error("goss", goss, "two shares as (0.2, 0.1) that add up to 1 at most, True or None")
    if not is_auto(subsample) and subsample != 1.0:
        raise ValueError("goss and subsample both draw rows; set one of them only")
    return float(pair[0]), float(pair[1])


def read_interaction_cst(interaction_cst: Any, columns: tuple[Column, ...]) -> np.ndarray | None:
    """Which columns may be used together on a path, a row per group; columns in no group are one more group."""
    if interaction_cst is None:
        return None
    if is_text(interaction_cst, "no_interactions"):
        return np.eye(len(columns), dtype=bool)
    if is_text(interaction_cst, "pairwise"):
        interaction_cst = list(combinations(range(len(columns)), 2)) or [(0,)]
    if isinstance(interaction_cst, str) or not all(isinstance(group, tuple | list | set) for group in interaction_cst):
        raise ValueError(
            "Interaction constraints must be a sequence of tuples or lists of columns, 'pairwise', 'no_interactions' "
            f"or None, but interaction_cst is {interaction_cst!r}"
        )
    place = {column.name: index for index, column in enumerate(columns)}
    groups = np.zeros((len(interaction_cst) + 1, len(columns)), dtype=bool)
    for line, group in zip(groups, interaction_cst, strict=False):
        for name in group:
            at: Any = place.get(name, name) if isinstance(name, str) else name
            if not is_whole(at, 0) or at >= len(columns):
                raise ValueError(
                    f"Interaction constraints must consist of integer indices in [0, n_features - 1] = "
                    f"[0, {len(columns) - 1}], specifying the position of features, or of their names, but "
                    f"interaction_cst names the column {name!r}, which is not in the table"
                )
            line[int(at)] = True
    groups[-1] = ~groups.any(axis=0)
    return groups if groups[-1].any() else groups[:-1]


def read_start(init_score: Any, training: Training, n_outputs: int) -> np.ndarray | None:
    """The initial scores of the rows: [output, row]."""
    if init_score is None:
        return None
    scores = np.asarray(init_score, dtype=np.float64)
    n_rows = len(training.kept) if training.kept is not None else len(training.values)
    scores = scores[:, None] if scores.ndim == 1 else scores
    if scores.shape != (n_rows, n_outputs):
        wanted = "one number per row" if n_outputs == 1 else f"{n_outputs} numbers per row"
        raise ValueError(f"init_score must have {wanted}, but its shape is {np.shape(init_score)}")
    if not np.isfinite(scores).all():
        raise ValueError("init_score holds a number that is missing or infinite")
    return np.ascontiguousarray((scores if training.kept is None else scores[training.kept]).T)


def read_targets(y: Any) -> np.ndarray:
    """The target as numbers, one per row, or a column each of several targets."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    if len(shape) != 2 or shape[1] == 1:
        return read_numbers(y)
    table = read_frame(y)
    for column, values in zip(table.columns, table.values.T, strict=True):
        if column.is_categorical:
            raise ValueError(f"the target {column.name!r} is text, but numbers are needed")
        if not np.isfinite(values).all():
            raise ValueError(f"the target {column.name!r} has a value that is missing or infinite")
    return np.ascontiguousarray(table.values)
