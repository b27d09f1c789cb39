"""Trees that are pruned while they are fitted, by the parameters of a learner."""

from __future__ import annotations

import math

import numpy as np

from treewright.estimators.base import Training
from treewright.estimators.missing_values import impute
from treewright.estimators.parameters import is_real
from treewright.estimators.single.ccp_validation import validate_path
from treewright.estimators.single.pruning import FOR_CLASSES, check_number, counts_rows_twice, prune, prune_by_bounds
from treewright.estimators.single.specification import BY_IMPURITY, FittedTree, Pruning, TreeSpec
from treewright.tree import Tree
from treewright.tree.pruning import methods

# Pruning while fitting: "reduced_error" leaves some of the rows out of growth by itself.
WHILE_FITTING = ("cost_complexity", "reduced_error", *FOR_CLASSES, "collapse")

VARIANTS = ("j48", "c4.5r8")

# Folds of `ccp_alpha="cv"`; small tables are assigned to them several times.
FOLDS = 10
DEALS, FEW_ROWS = 3, 5000


def check_pruning(pruning: Pruning, *, of_classes: bool) -> None:
    """Check `prune`, `ccp_alpha` and `confidence` before any work is done."""
    method, ccp_alpha, share = pruning.method, pruning.ccp_alpha, pruning.validation_fraction
    if method not in WHILE_FITTING:
        raise ValueError(f"prune is {method!r}; give one of {', '.join(map(repr, WHILE_FITTING))}, or None")
    if method in FOR_CLASSES and not of_classes:
        raise ValueError(f"prune is {method!r}, which counts wrong classes; a regressor takes 'cost_complexity'")
    if isinstance(ccp_alpha, str) and ccp_alpha not in ("cv", "1se"):
        raise ValueError(f"ccp_alpha is {ccp_alpha!r}; give a number of 0 or more, 'cv' or '1se'")
    if not isinstance(ccp_alpha, str):
        check_number("ccp_alpha", ccp_alpha, 0.0, math.inf)
    check_number("confidence", pruning.confidence, 0.0, 1.0)
    if not is_real(share) or not 0.0 < share <= 0.5:
        raise ValueError(f"validation_fraction is {share!r}; give a fraction of the rows above 0.0 and up to 0.5")
    if pruning.variant not in VARIANTS:
        raise ValueError(f"variant is {pruning.variant!r}; give 'j48' or 'c4.5r8'")


def grow_to_size(spec: TreeSpec, pruning: Pruning, training: Training) -> FittedTree:
    """Grow a tree and prune it by its specification."""
    if pruning.method == "reduced_error":
        growing, validation = split_validation(training, pruning.validation_fraction)
        grown, unseen = spec.grow(training.rows(growing)), training.rows(validation)
        return FittedTree(methods.prune_by_reduced_error(grown, unseen.values, unseen.y, unseen.weights))
    tree = spec.grow(training)
    if pruning.method == BY_IMPURITY:
        price = float(pruning.ccp_alpha)
        return FittedTree(methods.prune_by_cost_complexity(tree, price, "impurity"), price)
    if pruning.method == "cost_complexity":
        ccp_alpha = pruning.ccp_alpha
        if isinstance(ccp_alpha, str):
            ccp_alpha = _choose_alpha(spec, training, tree, 1.0 if ccp_alpha == "1se" else 0.0)
        return FittedTree(methods.prune_by_cost_complexity(tree, float(ccp_alpha)), float(ccp_alpha))
    if pruning.method == "error_based" and spec.plan.quinlan:
        rows: methods.Rows | None = None
        if pruning.subtree_raising and not counts_rows_twice(spec.plan):
            imputed = impute(training, spec.plan)[0]
            rows = methods.Rows(imputed.values, imputed.y, imputed.weights)
        tree = methods.collapse_by_errors(tree)
        return FittedTree(prune_by_bounds(tree, rows, pruning.confidence, pruning.variant))
    return FittedTree(prune(tree, pruning.method, confidence=pruning.confidence))


def _choose_alpha(spec: TreeSpec, training: Training, tree: Tree, standard_errors: float) -> float:
    """The cost of a leaf by cross-validation; small tables are assigned to folds several times, to reduce variance."""
    n_rows = len(training.y)
    folds = min(FOLDS, n_rows)
    if folds < 2:
        return 0.0
    # Imputation by models takes much longer than the growth of the tree.
    deals = DEALS if n_rows <= FEW_ROWS and spec.plan.missing != "model" else 1
    return validate_path(spec, training, folds, deals, standard_errors, "error", tree).ccp_alpha


def split_validation(training: Training, share: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows to grow a tree from, and the validation set to prune it with, as in Weka.

    Every class has the same fraction in both. Nothing is random: rows are grouped by class, or sorted by a numeric
    target, and assigned in turn to folds; the last fold is the validation set.
    """
    n_folds = max(2, round(1.0 / share))
    order = group_by_class(training.y) if training.target.is_classes else np.argsort(training.y)
    by_fold = np.concatenate([order[start::n_folds] for start in range(n_folds)])
    n_last = len(order) // n_folds
    if n_last == 0:
        raise ValueError(
            f"reduced_error pruning needs at least {n_folds} rows to set a share of {share:.3g} aside, not {len(order)}"
        )
    return by_fold[:-n_last], by_fold[-n_last:]


def group_by_class(labels: np.ndarray) -> np.ndarray:
    """The order of rows in which Weka stratifies: rows of a class are swapped next to each other, in place.

    >>> group_by_class(np.array([0, 1, 0, 2, 1])).tolist()
    [0, 2, 1, 4, 3]
    """
    order = list(range(len(labels)))
    label = labels.tolist()
    at = 1
    while at < len(order):
        wanted = label[order[at - 1]]
        for later in range(at, len(order)):
            if label[order[later]] == wanted:
                order[at], order[later] = order[later], order[at]
                at += 1
        at += 1
    return np.array(order, dtype=np.intp)
