"""Pruning of fitted models, and their sequences of pruned trees."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treewright.engines.missing_values import ALL_BRANCHES, EVERY_VALUE
from treewright.estimators.base import Training, read_rows
from treewright.estimators.missing_values import impute
from treewright.estimators.parameters import Plan
from treewright.estimators.single.base import TreeLearner, specification
from treewright.estimators.single.specification import reweighed
from treewright.estimators.weights import altered_priors, read_weights, weigh_classes
from treewright.table import read_classes, read_like, read_numbers
from treewright.tree import Node, Tree
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
        check_number("ccp_alpha", ccp_alpha, 0.0, math.inf)
        pruned = methods.prune_by_cost_complexity(tree, ccp_alpha, check_risk(risk))
    elif method == "reduced_error":
        pruned = _prune_by_reduced_error(model, tree, X, y, sample_weight)
    elif method == "error_based":
        check_number("confidence", confidence, 0.0, 1.0)
        pruned = _prune_by_estimated_error(model, tree, confidence, X, y, sample_weight)
    elif method == "pessimistic":
        pruned = methods.prune_pessimistically(tree)
    elif method == "minimum_description_length":
        pruned = methods.prune_by_description_length(tree)
    else:
        pruned = methods.collapse(tree)
    return _with_tree(model, pruned)


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
    path = methods.weakest_links(tree, check_risk(risk))[1]
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
    check_number("cp", cp, 0.0, math.inf)
    if (tree.n_children > 2).any():
        raise ValueError("rpart's table is one of binary trees; this one has nodes of more than two branches")
    return table_of(tree, cp)


def counts_rows_twice(plan: Plan) -> bool:
    """Whether rows with missing values count in several branches, so that raising cannot send them down again."""
    return plan.strategy.code in (ALL_BRANCHES, EVERY_VALUE)


def prune_by_bounds(tree: Tree, rows: methods.Rows | None, confidence: float, variant: str) -> Tree:
    """Error-based pruning, with raising if the training rows are given and each is in the tree once."""
    costs = tree.misclassification_costs
    if costs is not None:
        # The bounds are those of rows weighted by the costs of their errors.
        priors = _priors_of(tree, costs)
        rows = None if rows is None else replace(rows, weights=rows.weights * priors[rows.labels])
        pruned = prune_by_bounds(
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
        return prune_by_bounds(tree, None, confidence, variant)
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
        if counts_rows_twice(plan):
            return prune_by_bounds(tree, None, confidence, variant)
    rows = methods.Rows(values, targets, weights)
    return prune_by_bounds(tree, rows, confidence, variant)


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


def check_risk(risk: str) -> str:
    if risk not in ("error", "impurity"):
        raise ValueError(f"risk={risk!r} must be 'error' or 'impurity'")
    return risk


def check_number(name: str, value: Any, least: float, most: float) -> None:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise ValueError(f"{name}={value!r} must be a number from {least:g} to {most:g}")
