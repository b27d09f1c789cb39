"""Pruning fitted models: a smaller tree, chosen by one of the methods of the field."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treewright.learners.base import TreeLearner
from treewright.learners.weights import read_weights
from treewright.table import read_classes, read_like, read_numbers
from treewright.tree import Node, Tree
from treewright.tree import prune as methods

FOR_CLASSES = ("error_based", "pessimistic", "minimum_description_length")
METHODS = ("cost_complexity", "reduced_error", *FOR_CLASSES, "collapse")


def prune(
    model: Any,
    method: str | None = None,
    *,
    alpha: float = 0.0,
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
        "cost_complexity": the smallest tree with the least risk plus `alpha` per leaf (Breiman et al. 1984);
        "reduced_error": nodes become leaves that are no worse so on rows the tree has not seen, given as `X` and
        `y` (Quinlan 1987); "error_based": C4.5's upper bounds of the error at a `confidence`, by subtree replacement;
        "pessimistic": half an error is added per leaf (Quinlan 1987); "minimum_description_length": the tree and the
        classes in the fewest bits (Mehta, Rissanen and Agrawal 1995); "collapse": only branches that all give one
        answer.
    alpha : float, default=0.0
        The price of a leaf, as a share of all weight; `cost_complexity_path` lists those that matter.
    risk : "error" or "impurity", default="error"
        What cost-complexity pruning counts at a leaf of a classifier: wrong answers as rpart does, or its impurity
        as scikit-learn does. Numbers are always judged by their impurity.
    confidence : float, default=0.25
        For "error_based": smaller means a smaller tree.
    X, y, sample_weight : table and target, default=None
        For "reduced_error".
    where : function of a node, default=None
        A rule of one's own in place of a method: nodes for which it is true become leaves.

    Examples
    --------
    >>> from treewright import DecisionTreeClassifier, datasets, prune
    >>> iris = datasets.load_iris()
    >>> model = DecisionTreeClassifier().fit(iris.X, iris.y)
    >>> model.tree_
    Tree(target='species', n_leaves=9, depth=5)
    >>> prune(model, "cost_complexity", alpha=0.02).tree_
    Tree(target='species', n_leaves=3, depth=2)
    >>> prune(model, where=lambda node: node.depth == 1).tree_
    Tree(target='species', n_leaves=2, depth=1)
    """
    tree = _tree_of(model)
    if (method is None) == (where is None):
        raise ValueError(f"prune needs a method, one of {', '.join(METHODS)}, or a rule of your own as `where`")
    if where is not None:
        return _with_tree(model, methods.prune_where(tree, where))
    if method not in METHODS:
        raise ValueError(f"unknown pruning method {method!r}; choose one of {', '.join(METHODS)}")
    if method in FOR_CLASSES and not tree.target.is_classes:
        raise ValueError(f"{method} pruning counts wrong classes; for numbers use cost_complexity or reduced_error")
    if method == "cost_complexity":
        _check_number("alpha", alpha, 0.0, math.inf)
        pruned = methods.prune_by_cost_complexity(tree, alpha, _check_risk(risk))
    elif method == "reduced_error":
        pruned = _prune_by_reduced_error(model, tree, X, y, sample_weight)
    elif method == "error_based":
        _check_number("confidence", confidence, 0.0, 1.0)
        pruned = methods.prune_by_estimated_error(tree, confidence)
    elif method == "pessimistic":
        pruned = methods.prune_pessimistically(tree)
    elif method == "minimum_description_length":
        pruned = methods.prune_by_description_length(tree)
    else:
        pruned = methods.collapse(tree)
    return _with_tree(model, pruned)


def cost_complexity_path(model: Any, *, risk: str = "error") -> methods.PruningPath:
    """The nested trees of cost-complexity pruning: from which price per leaf on each is the best, and its risk.

    Parameters
    ----------
    model : a fitted tree learner, or a `Tree`
    risk : "error" or "impurity", default="error"
        As in `prune`.

    Examples
    --------
    >>> from treewright import DecisionTreeClassifier, cost_complexity_path, datasets
    >>> iris = datasets.load_iris()
    >>> path = cost_complexity_path(DecisionTreeClassifier().fit(iris.X, iris.y))
    >>> path.leaves.tolist()
    [9, 7, 4, 3, 2, 1]
    """
    return methods.weakest_links(_tree_of(model), _check_risk(risk))[1]


def _tree_of(model: Any) -> Tree:
    if isinstance(model, Tree):
        return model
    if not isinstance(model, TreeLearner):
        raise TypeError(f"only a fitted tree learner or a Tree can be pruned, not a {type(model).__name__}")
    check_is_fitted(model)
    return model.tree_


def _with_tree(model: Any, tree: Tree) -> Any:
    """The tree alone if that was given, else the model with this tree in the place of its own."""
    if isinstance(model, Tree):
        return tree
    smaller = copy.copy(model)
    smaller.tree_ = tree
    return smaller


def _prune_by_reduced_error(model: Any, tree: Tree, X: Any, y: Any, sample_weight: Any) -> Tree:
    if X is None or y is None:
        raise ValueError("reduced_error pruning needs rows that the tree was not grown from: give X and y")
    if isinstance(model, Tree):
        values = read_like(X, tree.columns, named=True, learner="the tree")
    else:
        values = model._read_rows(X)
    answers = _labels_of(y, tree) if tree.target.is_classes else read_numbers(y)
    if len(answers) != len(values):
        raise ValueError(f"X has {len(values)} rows and y has {len(answers)}; reduced_error pruning needs one per row")
    return methods.prune_by_reduced_error(tree, values, answers, read_weights(sample_weight, len(values)))


def _labels_of(y: Any, tree: Tree) -> np.ndarray:
    """Class labels in the tree's terms; a class it does not know is refused."""
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
