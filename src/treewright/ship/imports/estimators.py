"""Fitted estimators of treewright that hold trees of another library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treewright.encoding.target_encoding import TargetEncoding
from treewright.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from treewright.estimators.boosting.losses import LogLoss, Loss, ManyClasses, Squared
from treewright.estimators.boosting.shapes import BoostShape
from treewright.ship.imports.source_tree import SourceTree, check_source, place_bins, to_forest, to_tree
from treewright.table.column import Column, Kind
from treewright.tree import Target
from treewright.tree.tree import GRADIENT
from treewright.tree.tree_list import TreeList

# The name of the target, which other libraries do not keep.
TARGET = "y"


def plain_columns(names: Sequence[str] | None, n_columns: int) -> tuple[Column, ...]:
    """Columns of numbers, with the names that a table without names gets if there are none."""
    known = [f"x{place}" for place in range(n_columns)] if names is None else names
    return tuple(Column(str(name), Kind.NUMERIC) for name in known)


def keep_schema(model: Any, columns: Sequence[Column], *, named: bool, classes: np.ndarray | None) -> None:
    """Give an estimator the attributes of a fit that describe table and target."""
    model.n_features_in_ = len(columns)
    if named:
        model.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
    if classes is not None:
        model._keep_classes(classes)


def check_class_names(classes: Any, n_classes: int) -> np.ndarray:
    """The classes of the user in order, or the numbers from 0."""
    if classes is None:
        return np.arange(n_classes)
    found = np.asarray(classes)
    if found.ndim != 1 or len(found) != n_classes or len(set(found.tolist())) != n_classes:
        raise ValueError(f"classes has {np.size(found)} entries, but the model has {n_classes} classes; name each once")
    if (np.sort(found) != found).any():
        raise ValueError("classes must be in ascending order, as the model numbers them")
    return found


def boosted(
    trees: Sequence[Sequence[SourceTree]],
    columns: tuple[Column, ...],
    initial: np.ndarray,
    loss: Loss,
    *,
    named: bool,
    classes: np.ndarray | None = None,
    loss_name: str = "squared_error",
    learning_rate: float = 1.0,
) -> Any:
    """A boosted model of treewright: the trees of each output are added to its initial score."""
    all_trees = [tree for of_output in trees for tree in of_output]
    for tree in all_trees:
        check_source(tree, columns)
    n_rounds = len(trees[0])
    given: dict[str, Any] = {"n_estimators": n_rounds, "learning_rate": learning_rate, "loss": loss_name}
    model: Any = GradientBoostingRegressor(**given) if classes is None else GradientBoostingClassifier(**given)
    target = Target(TARGET)
    bins = place_bins(all_trees, columns)
    model.forests_ = [
        TreeList(tuple(to_tree(tree, columns, target, GRADIENT) for tree in of_output))
        if bins is None
        else to_forest(of_output, columns, target, bins)
        for of_output in trees
    ]
    model.initial_, model.loss_, model.init_ = np.asarray(initial, dtype=np.float64), loss, None
    model.n_estimators_, model.learning_rate_ = n_rounds, learning_rate
    model.columns_ = columns
    model.target_ = Target(TARGET, () if classes is None else tuple(classes.tolist()))
    model.target_encoding_ = TargetEncoding(columns, np.arange(len(columns)))
    model.shape_ = BoostShape("best", 1, 1.0, 1.0)
    model.constraints_ = np.zeros(len(columns), dtype=np.int8), None
    model.validation_loss_, model.evals_result_ = np.zeros(0), {}
    model.best_iteration_, model.best_score_ = None, None
    keep_schema(model, columns, named=named, classes=classes)
    return model


def loss_of_classes(n_classes: int) -> Loss:
    return LogLoss() if n_classes == 2 else ManyClasses(n_classes)


def squared() -> Loss:
    return Squared()
