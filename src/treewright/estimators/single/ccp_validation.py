"""Cross-validation of the cost of a leaf in cost-complexity pruning."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.estimators.base import Training, read_table, read_training
from treewright.estimators.parameters import is_whole
from treewright.estimators.single.base import TreeLearner, specification
from treewright.estimators.single.pruning import check_number, check_risk
from treewright.estimators.single.specification import TreeSpec
from treewright.tree import Tree
from treewright.tree.descent import leaves_of
from treewright.tree.pruning import methods


@dataclass(frozen=True, repr=False)
class ValidatedPath:
    """The trees of a pruning sequence with their cross-validated losses; prints as a table.

    Attributes
    ----------
    ccp_alphas : the least cost of a leaf at which each tree is the best.
    leaves : the number of leaves of each tree.
    risks : the risk of each tree on the training rows.
    losses : the mean out-of-fold loss of each tree: its error rate, or its mean squared error.
    deviations : the standard errors of the losses.
    chosen : the index of the smallest tree within the allowed standard errors of the best.

    `as_dict` returns the table by columns, for a frame or a plot.
    """

    ccp_alphas: np.ndarray
    leaves: np.ndarray
    risks: np.ndarray
    losses: np.ndarray
    deviations: np.ndarray
    chosen: int

    @property
    def ccp_alpha(self) -> float:
        """The cost of a leaf of the chosen tree."""
        return float(self.ccp_alphas[self.chosen])

    def __repr__(self) -> str:
        chosen = f"{self.leaves[self.chosen]} leaves at {self.ccp_alpha:.6g}"
        return f"ValidatedPath({len(self.ccp_alphas)} trees, chosen: {chosen})"

    def __str__(self) -> str:
        return methods.write_lines(self.as_dict())

    def as_dict(self) -> dict[str, np.ndarray]:
        """The table by columns: leaves, ccp_alpha, training error, validation error and its standard error."""
        return {
            "leaves": self.leaves,
            "ccp_alpha": self.ccp_alphas,
            "training_error": self.risks,
            "validation_error": self.losses,
            "standard_error": self.deviations,
        }


def cross_validate_ccp_alpha(
    model: Any,
    X: Any,
    y: Any,
    *,
    folds: int = 10,
    deals: int = 1,
    standard_errors: float = 1.0,
    risk: str = "error",
    sample_weight: Any = None,
) -> ValidatedPath:
    """The cross-validated loss of each tree of a model's pruning sequence, as in CART (Breiman et al. 1984).

    Rows are assigned to the folds in turn, class by class or along the ascending target; nothing is random.

    Parameters
    ----------
    model : a tree learner, fitted or not
        A copy is fitted to all rows and to the rows of each fold.
    X, y : table and target
    folds : int, default=10
    deals : int, default=1
        Number of assignments to folds, each in another fixed order; the losses are averaged.
    standard_errors : float, default=1.0
        The smallest tree whose loss is within this number of standard errors of the least one is chosen; 0 chooses the
        tree with the least loss.
    risk : "error" or "impurity", default="error"
        As in `prune`.
    sample_weight : one number per row or None

    Examples
    --------
    >>> from treewright import DecisionTreeClassifier, cross_validate_ccp_alpha, datasets, prune
    >>> iris = datasets.load_iris()
    >>> model = DecisionTreeClassifier().fit(iris.X, iris.y)
    >>> found = cross_validate_ccp_alpha(model, iris.X, iris.y, risk="impurity")
    >>> found.leaves.tolist(), found.chosen
    ([9, 7, 5, 4, 3, 2, 1], 3)
    >>> prune(model, "cost_complexity", ccp_alpha=found.ccp_alpha, risk="impurity").tree_
    Tree(target='species', n_leaves=4, depth=3)
    """
    if not isinstance(model, TreeLearner):
        raise TypeError(f"only a tree learner can be cross-validated here, not a {type(model).__name__}")
    training = read_training(model, read_table(model, X), y, sample_weight)
    return validate_path(specification(model), training, folds, deals, standard_errors, check_risk(risk))


def validate_path(
    spec: TreeSpec,
    training: Training,
    folds: int,
    deals: int,
    standard_errors: float,
    risk: str,
    tree: Tree | None = None,
) -> ValidatedPath:
    """Grow a tree without each fold, and sum the losses of the fold for each cost of a leaf.

    `tree` is the one of all rows, if it has been grown already.
    """
    n_rows = len(training.y)
    if isinstance(folds, bool) or not isinstance(folds, int) or not 2 <= folds <= n_rows:
        raise ValueError(f"folds={folds!r} must be a whole number from 2 to the number of rows, {n_rows}")
    if not is_whole(deals, 1):
        raise ValueError(f"deals={deals!r} must be a whole number of 1 or more")
    check_number("standard_errors", standard_errors, 0.0, math.inf)
    path = methods.weakest_links(spec.grow(training) if tree is None else tree, risk)[1]
    prices = path.prices
    sums = np.zeros((len(prices), 2))
    for deal in range(deals):
        fold_of = _deal_folds(training.y, folds, deal)
        for fold in range(folds):
            sums += _losses_left_out(spec, training, fold_of == fold, prices, risk) / deals
    mean = sums[:, 0] / n_rows
    deviation = np.sqrt(np.maximum(sums[:, 1] / n_rows - mean**2, 0.0) / n_rows)
    best = int(np.argmin(mean))
    chosen = int(np.flatnonzero(mean <= mean[best] + standard_errors * deviation[best] + 1e-12 * mean.max())[-1])
    return ValidatedPath(path.ccp_alphas, path.leaves, path.risks, mean, deviation, chosen)


def _deal_folds(targets: np.ndarray, folds: int, deal: int) -> np.ndarray:
    """The fold of each row: assigned in turn, class by class or along the ascending target.

    The first assignment keeps the order of the rows of a class, every other one has a permutation of its own.
    """
    order = np.arange(len(targets)) if deal == 0 else np.random.default_rng(deal).permutation(len(targets))
    fold_of = np.empty(len(targets), dtype=np.int64)
    fold_of[order[np.argsort(targets[order], kind="stable")]] = np.arange(len(targets)) % folds
    return fold_of


def _losses_left_out(
    spec: TreeSpec, training: Training, left_out: np.ndarray, prices: np.ndarray, risk: str
) -> np.ndarray:
    """Sums of losses and squared losses, for each cost of a leaf, of rows that the tree was not grown from."""
    tree = spec.grow(training.rows(~left_out))
    ccp_alphas, _ = methods.weakest_links(tree, risk)
    targets = training.y[left_out]
    weights = training.weights[left_out] / training.weights.mean()
    loss = methods.loss_at(tree, targets, weights)
    return methods.losses_by_price(tree, ccp_alphas, prices, leaves_of(tree, training.values[left_out]), loss)
