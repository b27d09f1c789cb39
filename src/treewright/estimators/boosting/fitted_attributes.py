"""The attributes that a fit of boosting sets: the trees and what prediction needs, and the figures of all rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.encoding.target_encoding import TargetEncoding
from treewright.engines.exact.own_criterion import name_of
from treewright.engines.packed.trees import GrownTrees
from treewright.estimators.base import Training
from treewright.estimators.boosting.losses import Loss
from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.rounds import Boosted
from treewright.table import Table
from treewright.table.column import Column
from treewright.tree import Target
from treewright.tree.forest import Forest
from treewright.tree.tree import GRADIENT


@dataclass(frozen=True, eq=False)
class FittedParts:
    """What a learner keeps of a fit besides its new trees."""

    table: Table
    training: Training
    loss: Loss
    target_encoding: TargetEncoding
    init: Any  # the initial model, if there is one
    earlier: list[Forest]  # the trees that a warm start adds to
    scale: float  # the target was divided by it

    def build(self, plan: BoostPlan, trees: list[list[GrownTrees]]) -> list[Forest]:
        """The trees of earlier rounds and new ones, a forest per output, in the units of the rounds."""
        return joined_forests(
            self.earlier, plan, trees, self.target_encoding.columns, Target(self.training.target.name)
        )

    def keep(self, learner: Any, plan: BoostPlan, trees: list[list[GrownTrees]], initial: np.ndarray) -> Any:
        """Set the attributes of a learner that prediction needs; returns the learner."""
        forests, training = self.build(plan, trees), self.training
        if self.scale != 1.0:
            forests = [replace(forest, leaf_value=forest.leaf_value * self.scale) for forest in forests]
            initial = initial * self.scale
        learner._keep_names(self.table)
        learner._keep_classes(training.classes)
        learner.n_features_in_ = len(self.table.columns)
        learner.forests_, learner.initial_, learner.loss_ = forests, initial, self.loss
        learner.init_, learner.reads_once_ = self.init, self.init is None
        learner.n_estimators_, learner.learning_rate_ = len(forests[0]), plan.recipe.learning_rate
        learner.columns_, learner.target_ = training.columns, training.target
        learner.target_encoding_, learner.data_digest_ = self.target_encoding, training.digest
        if trees[0]:
            n_before = len(self.earlier[0]) if self.earlier else 0
            before = getattr(learner, "_tree_limits", ()) if n_before else ()
            limits = (n_before, learner.max_depth, learner.min_impurity_decrease)
            learner._tree_limits = (*(one for one in before if one[0] < n_before), limits)
        return learner


def joined_forests(
    earlier: list[Forest], plan: BoostPlan, trees: list[list[GrownTrees]], columns: tuple[Column, ...], target: Target
) -> list[Forest]:
    """The trees of earlier rounds and new ones, a forest per output."""
    if not trees[0]:
        return earlier
    added = [Forest.of(columns, target, GRADIENT, plan.bins, line) for line in trees]
    return [old.with_more(new) for old, new in zip(earlier, added, strict=True)] if earlier else added


def keep_curves(learner: Any, found: Boosted, plan: BoostPlan) -> None:
    """Keep the validation loss and the metrics of all rounds, and the best of them."""
    curves = found.curves
    learner._curves, learner.validation_loss_ = curves, curves[0 if plan.scoring is None else 1]
    has_validated = curves.shape[1] > 0
    name_of_loss = learner.loss if isinstance(learner.loss, str) else name_of(learner.loss)
    names = [name_of_loss, *(metric.name for metric in plan.metrics)]
    scored = [] if plan.scoring is None else [plan.scoring.name]

    def by_name(lines: np.ndarray) -> dict[str, list[float]]:
        signs = [-1.0] * len(scored) + [1.0] * len(names)
        pairs = zip([*scored, *names], signs, lines, strict=True)
        return {name: (sign * line).tolist() for name, sign, line in pairs}

    results = [by_name(lines) for lines in (*found.others, curves)] if has_validated else []
    labels = [f"validation_{number}" for number in range(len(results))] if found.others else ["validation"]
    learner.evals_result_ = dict(zip(labels, results, strict=False))
    learner.best_iteration_ = int(np.argmin(curves[0])) + 1 if has_validated else None
    best = float(curves[0].min()) if has_validated else None
    learner.best_score_ = -best if best is not None and scored else best


def keep_training_loss(learner: Any, found: Boosted, *, has_trees: bool) -> None:
    """Keep the loss of the training rows after each round, and that of the rows that were not drawn.

    Earlier rounds that drew all rows have zeros, as in scikit-learn. Lists that lack earlier rounds are given up.
    """
    lines = found.training
    n_new = 0 if lines is None else len(lines[0])
    is_whole = has_trees and len(getattr(learner, "train_score_", ())) == learner.n_estimators_ - n_new
    if is_whole and n_new == 0:
        return
    names = ("train_score_", "oob_improvement_", "oob_scores_", "oob_score_")
    before = {name: learner.__dict__.pop(name, None) for name in names}
    if lines is None:
        return
    kept = {"train_score_": lines[0], "oob_improvement_": lines[1] - lines[2], "oob_scores_": lines[2]}
    for name, line in kept.items():
        if name == "train_score_" or not np.isnan(lines[2]).any():
            if is_whole:
                earlier = before[name] if before[name] is not None else np.zeros(learner.n_estimators_ - n_new)
                line = np.append(earlier, line)
            setattr(learner, name, line)
    if hasattr(learner, "oob_scores_") and len(learner.oob_scores_):
        learner.oob_score_ = float(learner.oob_scores_[-1])
