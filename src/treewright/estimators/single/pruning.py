"""Pruning of fitted models, and of trees while they are fitted."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treewright.engines.missing_values import ALL_BRANCHES, EVERY_VALUE
from treewright.estimators.base import Training, read_rows, read_table, read_training
from treewright.estimators.missing_values import impute
from treewright.estimators.parameters import Plan, is_real, is_whole
from treewright.estimators.single.base import TreeLearner, specification
from treewright.estimators.single.specification import BY_IMPURITY, FittedTree, Pruning, TreeSpec, reweighed
from treewright.estimators.weights import altered_priors, read_weights, weigh_classes
from treewright.table import read_classes, read_like, read_numbers
from treewright.tree import Node, Tree
from treewright.tree.descent import leaves_of
from treewright.tree.pruning import methods
from treewright.tree.pruning.complexity import ComplexityTable
from treewright.tree.pruning.complexity import complexity_table as table_of

FOR_CLASSES = ("error_based", "pessimistic", "minimum_description_length")
METHODS = ("cost_complexity", "reduced_error", *FOR_CLASSES, "collapse")


def prune(
    model: Any,
    method: str | None = None,
    *,
    ccp_alpha: float = 0.0,
    risk: str = "error",
    confidence: float = 0.25,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    where: Callable[[Node], bool] | None = None,
) -> Any:
    """A smaller copy of a fitted model or tree; the original stays as it is.

    Parameters
    ----------
    model : a fitted tree learner, or a `Tree`
    method : str or None
        - "cost_complexity": the smallest tree with the least risk plus `ccp_alpha` per leaf (Breiman et al. 1984).
        - "reduced_error": nodes become leaves where this makes no more errors on a validation set, given as `X` and
          `y` (Quinlan 1987).
        - "error_based": C4.5's upper bounds of the error at a `confidence`, by subtree replacement, and by subtree
          raising if the training rows are given as `X` and `y`.
        - "pessimistic": half an error is added per leaf (Quinlan 1987).
        - "minimum_description_length": the tree and the classes in the fewest bits (Mehta, Rissanen and Agrawal 1995).
        - "collapse": only nodes whose leaves all predict the same.
    ccp_alpha : float, default=0.0
        The cost of a leaf, as a fraction of the total weight; `cost_complexity_path` lists the values that matter.
    risk : "error" or "impurity", default="error"
        The risk of a leaf of a classifier in cost-complexity pruning: its errors as in rpart, or its impurity as in
        scikit-learn. The risk for numbers is always the impurity.
    confidence : float, default=0.25
        For "error_based": smaller means a smaller tree.
    X, y, sample_weight : table and target, default=None
        For "reduced_error", a validation set; for "error_based", the training rows.
    where : function of a node, default=None
        A rule instead of a method: nodes for which it is true become leaves.

    Examples
    --------
    >>> from treewright import DecisionTreeClassifier, datasets, prune
    >>> iris = datasets.load_iris()
    >>> model = DecisionTreeClassifier().fit(iris.X, iris.y)
    >>> model.tree_
    Tree(target='species', n_leaves=9, depth=5)
    >>> prune(model, "cost_complexity", ccp_alpha=0.02).tree_
    Tree(target='species', n_leaves=3, depth=2)
    >>> prune(model, where=lambda node: node.depth == 1).tree_
    Tree(target='species', n_leaves=2, depth=1)
    """
    tree = _tree_of(model)
    if method is not None and where is not None:
        raise ValueError(f"prune got the method {method!r} and a rule as `where`; give one of them")
    if method is None and where is None:
        raise ValueError(f"prune needs a method, one of {', '.join(METHODS)}, or a rule of your own as `where`")
    if where is not None and not callable(where):
        raise ValueError(f"where is {where!r}; give a function of a node that returns whether it becomes a leaf")
    if where is not None:
        return _with_tree(model, methods.prune_where(tree, where))
    if method not in METHODS:
        raise ValueError(f"unknown pruning method {method!r}; choose one of {', '.join(METHODS)}")
    if method != "cost_complexity" or risk != "impurity":
        _refuse_several(tree)
    if method in FOR_CLASSES and not tree.target.is_classes:
        raise ValueError(f"{method} pruning counts wrong classes; for numbers use cost_complexity or reduced_error")
    if method == "cost_complexity":
        if isinstance(ccp_alpha, str):
            raise ValueError(f"ccp_alpha is {ccp_alpha!r}; give a number: cross_validate_ccp_alpha chooses one")
        _check_number("ccp_alpha", ccp_alpha, 0.0, math.inf)
        pruned = methods.prune_by_cost_complexity(tree, ccp_alpha, _check_risk(risk))
    elif method == "reduced_error":
        pruned = _prune_by_reduced_error(model, tree, X, y, sample_weight)
    elif method == "error_based":
        _check_number("confidence", confidence, 0.0, 1.0)
        pruned = _prune_by_estimated_error(model, tree, confidence, X, y, sample_weight)
    elif method == "pessimistic":
        pruned = methods.prune_pessimistically(tree)
    elif method == "minimum_description_length":
        pruned = methods.prune_by_description_length(tree)
    else:
        pruned = methods.collapse(tree)
    return _with_tree(model, pruned)


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
    return _validate_path(specification(model), training, folds, deals, standard_errors, _check_risk(risk))


def _validate_path(
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
    _check_number("standard_errors", standard_errors, 0.0, math.inf)
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


def cost_complexity_path(model: Any, X: Any = None, y: Any = None, *, risk: str = "error") -> methods.PruningPath:
    """The nested trees of cost-complexity pruning, each with its risk and the cost of a leaf that selects it.

    Parameters
    ----------
    model : a fitted tree learner, or a `Tree`
    X, y : table and target, default=None
        A validation set, for the `validation` error of each tree of the sequence.
    risk : "error" or "impurity", default="error"
        As in `prune`.

    Examples
    --------
    >>> from treewright import DecisionTreeClassifier, cost_complexity_path, datasets
    >>> iris = datasets.load_iris()
    >>> path = cost_complexity_path(DecisionTreeClassifier().fit(iris.X, iris.y))
    >>> path.leaves.tolist()
    [9, 7, 4, 3, 2, 1]
    >>> path.trees[-2]
    Tree(target='species', n_leaves=2, depth=1)
    """
    tree = _tree_of(model)
    if risk != "impurity" or X is not None:
        _refuse_several(tree)
    path = methods.weakest_links(tree, _check_risk(risk))[1]
    if X is None and y is None:
        return path
    rows = _read_rows(model, tree, X, y, None, "the validation of a path")
    return replace(path, validation=methods.validate_path(tree, path, *rows))


def complexity_table(model: Any, cp: float = 0.01) -> ComplexityTable:
    """The table of nested trees that R's rpart prints for a binary tree: complexity, splits and relative error.

    Parameters
    ----------
    model : a fitted tree learner, or a `Tree`
        Grown with rpart's limits (`min_samples_split=20, min_samples_leaf=7, prune=None`) and `missing="surrogate"`
        its table is rpart's own.
    cp : float, default=0.01
        The least complexity of a split that is kept, as a fraction of the root's risk.

    Examples
    --------
    >>> from treewright import CARTClassifier, complexity_table, datasets
    >>> iris = datasets.load_iris()
    >>> model = CARTClassifier(min_samples_split=20, min_samples_leaf=7, prune=None).fit(iris.X, iris.y)
    >>> print(complexity_table(model))
            CP nsplit  rel error
      0.500000      0   1.000000
      0.440000      1   0.500000
      0.010000      2   0.060000
    """
    tree = _tree_of(model)
    _refuse_several(tree)
    _check_number("cp", cp, 0.0, math.inf)
    if (tree.n_children > 2).any():
        raise ValueError("rpart's table is one of binary trees; this one has nodes of more than two branches")
    return table_of(tree, cp)


# Pruning while fitting: "reduced_error" leaves some of the rows out of growth by itself.
WHILE_FITTING = ("cost_complexity", "reduced_error", *FOR_CLASSES, "collapse")
VARIANTS = ("j48", "c4.5r8")
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
        _check_number("ccp_alpha", ccp_alpha, 0.0, math.inf)
    _check_number("confidence", pruning.confidence, 0.0, 1.0)
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
        if pruning.subtree_raising and not _counts_rows_twice(spec.plan):
            imputed = impute(training, spec.plan)[0]
            rows = methods.Rows(imputed.values, imputed.y, imputed.weights)
        tree = methods.collapse_by_errors(tree)
        return FittedTree(_prune_by_bounds(tree, rows, pruning.confidence, pruning.variant))
    return FittedTree(prune(tree, pruning.method, confidence=pruning.confidence))


def _counts_rows_twice(plan: Plan) -> bool:
    """Whether rows with missing values count in several branches, so that raising cannot send them down again."""
    return plan.strategy.code in (ALL_BRANCHES, EVERY_VALUE)


def _choose_alpha(spec: TreeSpec, training: Training, tree: Tree, standard_errors: float) -> float:
    """The cost of a leaf by cross-validation; small tables are assigned to folds several times, to reduce variance."""
    n_rows = len(training.y)
    folds = min(FOLDS, n_rows)
    if folds < 2:
        return 0.0
    # Imputation by models takes much longer than the growth of the tree.
    deals = DEALS if n_rows <= FEW_ROWS and spec.plan.missing != "model" else 1
    return _validate_path(spec, training, folds, deals, standard_errors, "error", tree).ccp_alpha


def _prune_by_bounds(tree: Tree, rows: methods.Rows | None, confidence: float, variant: str) -> Tree:
    """Error-based pruning, with raising if the training rows are given and each is in the tree once."""
    costs = tree.misclassification_costs
    if costs is not None:
        # The bounds are those of rows weighted by the costs of their errors.
        priors = _priors_of(tree, costs)
        rows = None if rows is None else replace(rows, weights=rows.weights * priors[rows.labels])
        pruned = _prune_by_bounds(
            reweighed(tree, priors).replace(misclassification_costs=None), rows, confidence, variant
        )
        return reweighed(pruned, 1.0 / priors).replace(misclassification_costs=costs)
    # Surrogates, and rows that go down several branches whole or by values, do not fit new rows without growing anew.
    raises = rows is not None and tree.surrogates is None and (tree.scale == 1.0).all() and tree.n_leaves > 1
    if not raises:
        return methods.prune_by_estimated_error(tree, confidence, variant)
    assert rows is not None
    return methods.prune_and_raise(tree, rows, confidence, variant)


def _priors_of(tree: Tree, costs: np.ndarray) -> np.ndarray:
    """The altered priors of a tree with these costs, from the class weights of its root."""
    at_root = tree.distribution[0]
    return altered_priors(costs, np.arange(len(at_root)), at_root)


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


def _tree_of(model: Any) -> Tree:
    if isinstance(model, Tree):
        return model
    if not isinstance(model, TreeLearner):
        raise TypeError(f"only a fitted tree learner or a Tree can be pruned, not a {type(model).__name__}")
    check_is_fitted(model)
    return model.tree_


def _refuse_several(tree: Tree) -> None:
    if tree.target.outputs:
        raise ValueError(
            "a tree of several targets is pruned by its impurity only; use cost_complexity, risk='impurity'"
        )


def _with_tree(model: Any, tree: Tree) -> Any:
    """The tree if a tree was given, else a copy of the model with this tree."""
    if isinstance(model, Tree):
        return tree
    smaller = copy.copy(model)
    smaller.tree_ = tree
    return smaller


def _prune_by_estimated_error(model: Any, tree: Tree, confidence: float, X: Any, y: Any, sample_weight: Any) -> Tree:
    variant = model.variant if isinstance(model, TreeLearner) else TreeLearner.variant
    if X is None and y is None:
        return _prune_by_bounds(tree, None, confidence, variant)
    if tree.own_criterion is not None:
        raise ValueError(
            f"raising computes impurities again, but a tree keeps only the name of its own criterion "
            f"{tree.own_criterion!r}; leave X and y out"
        )
    values, targets, weights = _read_rows(model, tree, X, y, sample_weight, "error_based pruning with raising")
    if isinstance(model, TreeLearner):
        plan = specification(model).plan
        training = Training(tree.columns, values, tree.target, np.empty(0), targets, weights)
        values = impute(training, plan)[0].values
        if _counts_rows_twice(plan):
            return _prune_by_bounds(tree, None, confidence, variant)
    rows = methods.Rows(values, targets, weights)
    return _prune_by_bounds(tree, rows, confidence, variant)


def _prune_by_reduced_error(model: Any, tree: Tree, X: Any, y: Any, sample_weight: Any) -> Tree:
    return methods.prune_by_reduced_error(tree, *_read_rows(model, tree, X, y, sample_weight, "reduced_error pruning"))


def _read_rows(
    model: Any, tree: Tree, X: Any, y: Any, sample_weight: Any, purpose: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, targets and weights of rows in the terms of a tree; the class weights of a learner apply."""
    if X is None or y is None:
        raise ValueError(f"{purpose} needs rows and their target: give X and y")
    is_learner = isinstance(model, TreeLearner)
    values = read_rows(model, X) if is_learner else read_like(X, tree.columns, named=True, learner="the tree")
    targets = _labels_of(y, tree) if tree.target.is_classes else read_numbers(y)
    if len(targets) != len(values):
        raise ValueError(f"X has {len(values)} rows and y has {len(targets)}; give one target value per row")
    weights = read_weights(sample_weight, len(values))
    return (
        values,
        targets,
        weights if not is_learner else weigh_classes(model.class_weight, tree.target.classes, targets, weights),
    )


def _labels_of(y: Any, tree: Tree) -> np.ndarray:
    """Class labels in the terms of the tree; an unknown class is an error."""
    codes, classes = read_classes(y)
    known = {name: label for label, name in enumerate(tree.target.classes)}
    strange = [name for name in classes.tolist() if name not in known]
    if strange:
        raise ValueError(f"y has the class {strange[0]!r}, which the tree was not grown with")
    return np.array([known[name] for name in classes.tolist()])[codes]


def _check_risk(risk: str) -> str:
    if risk not in ("error", "impurity"):
        raise ValueError(f"risk={risk!r} must be 'error' or 'impurity'")
    return risk


def _check_number(name: str, value: Any, least: float, most: float) -> None:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise ValueError(f"{name}={value!r} must be a number from {least:g} to {most:g}")
