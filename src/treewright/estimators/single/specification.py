"""What decides which tree grows from a training table: a specification in, a tree out.

A learner turns its parameters into a `TreeSpec` once (`specification`). Ensembles and pruning grow trees from
specifications and hand the results back (`adopt`); they need no other access to a learner.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.estimators.base import Training
from treewright.estimators.missing_values import impute, refuse_missing
from treewright.estimators.monotonic import check_constrained, check_directions, read_monotonic_cst
from treewright.estimators.parameters import Plan
from treewright.estimators.several import check_outputs
from treewright.estimators.single.magnitudes import scale_of_target, unit_of_impurity, with_scaled_target
from treewright.estimators.weights import altered_priors, read_costs, weigh_classes
from treewright.tree import Tree

# The method of pruning where `ccp_alpha` is given alone, as in scikit-learn.
BY_IMPURITY = "impurity"


@dataclass(frozen=True)
class Pruning:
    """How a grown tree is cut to size; see `DecisionTreeClassifier` and `C45Classifier` for the choices."""

    method: str
    ccp_alpha: float | str
    validation_fraction: float
    confidence: float
    variant: str
    subtree_raising: bool


@dataclass(frozen=True, eq=False)
class FittedTree:
    """A tree, and the price of a leaf that it was pruned with, if there was one."""

    tree: Tree
    ccp_alpha: float | None = None


@dataclass(frozen=True, eq=False)
class TreeSpec:
    """All that decides which tree grows from a training table."""

    plan: Plan
    seed: int
    unseen: str
    class_weight: Any
    misclassification_costs: Any
    smoothing: tuple[str, float] | None
    pruning: Pruning | None
    monotonic_cst: Any

    def check(self, training: Training) -> None:
        """Refuse a table that the criterion or the constraints are not defined for; its samples need no check."""
        if self.plan.criterion == "poisson":
            _check_counts(training)
        if training.target.outputs:
            check_outputs(
                self.plan,
                prune=None if self.pruning is None or self.pruning.method == BY_IMPURITY else self.pruning.method,
                misclassification_costs=self.misclassification_costs,
                smoothing=self.smoothing,
                monotonic_cst=self.monotonic_cst,
            )
        directions = read_monotonic_cst(self.monotonic_cst, training.columns)
        check_directions(directions, training.target)
        if directions.any():
            check_constrained(self.plan, self.smoothing)

    def fit(self, training: Training) -> FittedTree:
        """The tree of these rows, pruned if asked to."""
        scale = 1.0 if training.target.is_classes else scale_of_target(training.y)
        if scale == 1.0:
            return self._fit(training)
        # The squares of the smallest targets are 0.
        unit = max(unit_of_impurity(self.plan.criterion, scale), 1e-300)
        plan = replace(
            self.plan,
            min_split_gain=self.plan.min_split_gain / unit,
            min_impurity_decrease=self.plan.min_impurity_decrease / unit,
        )
        pruning = self.pruning
        if pruning is not None and not isinstance(pruning.ccp_alpha, str):
            by = unit if pruning.method == BY_IMPURITY else max(scale**2, 1e-300)
            pruning = replace(pruning, ccp_alpha=pruning.ccp_alpha / by)
        fitted = replace(self, plan=plan, pruning=pruning)._fit(replace(training, y=training.y / scale))
        alpha = None if fitted.ccp_alpha is None else fitted.ccp_alpha * scale**2
        return FittedTree(with_scaled_target(fitted.tree, scale), alpha)

    def _fit(self, training: Training) -> FittedTree:
        if self.pruning is None:
            return FittedTree(self.grow(training))
        from treewright.estimators.single.pruned_growth import grow_to_size

        return grow_to_size(self, self.pruning, training)

    def grow(self, training: Training) -> Tree:
        """The full tree of these rows.

        Classes whose errors cost more weigh more while it grows (altered priors, Breiman et al. 1984); the finished
        tree holds their true weights, and chooses classes by their cost.
        """
        costs = read_costs(self.misclassification_costs, list(training.target.classes))
        if costs is None:
            tree = self.grow_unpriced(training)
            return tree if self.smoothing is None else tree.replace(smoothing=self.smoothing)
        priors = altered_priors(costs, training.y, training.weights)
        tree = self.grow_unpriced(replace(training, weights=training.weights * priors[training.y]))
        return reweighed(tree, 1.0 / priors).replace(misclassification_costs=costs, smoothing=self.smoothing)

    def grow_unpriced(self, training: Training) -> Tree:
        """The full tree of these rows, where all errors cost the same."""
        from treewright.tree.grow import grow

        plan, is_classes = self.plan, training.target.is_classes
        if plan.strategy.refuses:
            refuse_missing(training.columns, training.values)
        training, imputation = impute(training, plan)
        n_rows, n_columns = training.values.shape
        tree = grow(
            training.columns,
            training.values,
            training.target,
            recipe=plan.recipe(n_rows, n_columns, training.weights)._replace(
                n_outputs=len(training.target.outputs) or 1
            ),
            weights=training.weights,
            n_classes=len(training.target.classes),
            grid=plan.grid,
            seed=self.seed,
            n_jobs=plan.n_jobs,
            labels=training.y if is_classes else None,
            numbers=None if is_classes else training.y,
            oblivious=plan.oblivious,
            unseen=self.unseen,
            rows_of_file=len(training.table),
            **self._constraints(training),
        )
        return tree if imputation is None else tree.replace(imputation=imputation)

    def _constraints(self, training: Training) -> dict[str, np.ndarray]:
        if self.monotonic_cst is None:
            return {}
        return {"monotonic_cst": read_monotonic_cst(self.monotonic_cst, training.columns)}

    def weigh(self, training: Training, weights: np.ndarray) -> np.ndarray:
        """The weights times what the classes of the rows weigh."""
        return weigh_classes(self.class_weight, training.target.classes, training.y, weights)


def reweighed(tree: Tree, by_class: np.ndarray) -> Tree:
    """The tree with rows of each class weighing so many times as much; impurities and gains stay as they are."""
    distribution = tree.distribution * by_class
    return tree.replace(distribution=distribution, weight=distribution.sum(axis=1))


def _check_counts(training: Training) -> None:
    negative = np.count_nonzero(training.y < 0.0)
    if negative:
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression: "
            f"{negative} of {len(training.y)}; use 'squared_error', or give counts of 0 or more"
        )
    if not training.y.any():
        raise ValueError(
            "Sum of y is not strictly positive which is necessary for Poisson regression: all values are 0"
        )
