"""Models of scikit-learn: trees, forests and histogram gradient boosting."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.estimators.boosting.losses import Absolute, Loss, Quantile, Squared, Tweedie
from treewright.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from treewright.estimators.single import DecisionTreeClassifier, DecisionTreeRegressor
from treewright.estimators.single.base import adopt
from treewright.estimators.single.specification import FittedTree
from treewright.ship.imports.estimators import TARGET, boosted, keep_schema, loss_of_classes, plain_columns
from treewright.ship.imports.source_tree import SourceTree, below_in_single_precision, check_source, to_tree
from treewright.table.categories import is_missing, plain_category
from treewright.table.column import Column, Kind
from treewright.tree import Target, Tree
from treewright.tree.tree_list import TreeList

# The learners of treewright by the classes of scikit-learn.
TREES: dict[str, tuple[type, dict[str, Any]]] = {
    "DecisionTreeClassifier": (DecisionTreeClassifier, {}),
    "DecisionTreeRegressor": (DecisionTreeRegressor, {}),
    "ExtraTreeClassifier": (DecisionTreeClassifier, {"splitter": "random"}),
    "ExtraTreeRegressor": (DecisionTreeRegressor, {"splitter": "random"}),
}
FORESTS: dict[str, type] = {
    "RandomForestClassifier": RandomForestClassifier,
    "RandomForestRegressor": RandomForestRegressor,
    "ExtraTreesClassifier": ExtraTreesClassifier,
    "ExtraTreesRegressor": ExtraTreesRegressor,
}
BOOSTING = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")

# Criteria under the names of treewright.
CRITERIA = {
    "gini": "gini",
    "entropy": "information_gain",
    "log_loss": "information_gain",
    "squared_error": "squared_error",
    "friedman_mse": "squared_error",
    "absolute_error": "absolute_error",
    "poisson": "squared_error",
}


def import_scikit(model: Any) -> Any:
    """A fitted model of scikit-learn as a model of treewright."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    name = type(model).__name__
    if getattr(model, "n_outputs_", 1) > 1:
        raise ValueError("a model of several targets cannot be imported; fit one model for each of them")
    if name in TREES:
        return _import_tree(model)
    if name in FORESTS:
        return _import_forest(model)
    return _import_boosting(model)


def _schema(model: Any) -> tuple[tuple[Column, ...], bool]:
    names = getattr(model, "feature_names_in_", None)
    return plain_columns(None if names is None else list(names), int(model.n_features_in_)), names is not None


def _classes_of(model: Any) -> np.ndarray | None:
    classes = getattr(model, "classes_", None)
    return None if classes is None else np.asarray(classes)


def _target_of(classes: np.ndarray | None) -> Target:
    return Target(TARGET, () if classes is None else tuple(classes.tolist()))


def _import_tree(model: Any) -> Any:
    known, given = TREES[type(model).__name__]
    columns, named = _schema(model)
    classes = _classes_of(model)
    tree = _tree_of(model, columns, _target_of(classes))
    names = [column.name for column in columns] if named else None
    found = known(**given, criterion=tree.criterion)
    return adopt(found, FittedTree(tree), np.empty(0) if classes is None else classes, names, len(columns))


def _import_forest(model: Any) -> Any:
    known = FORESTS[type(model).__name__]
    columns, named = _schema(model)
    classes = _classes_of(model)
    target = _target_of(classes)
    trees = tuple(_tree_of(member, columns, target) for member in model.estimators_)
    found = known(n_estimators=len(trees), criterion=trees[0].criterion)
    found.forest_ = TreeList(trees)
    found.n_estimators_ = len(trees)
    keep_schema(found, columns, named=named, classes=classes)
    return found


def _tree_of(model: Any, columns: tuple[Column, ...], target: Target) -> Tree:
    """The tree of one estimator of scikit-learn."""
    found = model.tree_
    value = found.value[:, 0, :]
    if target.classes and value.shape[1] != len(target.classes):
        raise ValueError("a tree of the model has other classes than the model; fit it again with a newer scikit-learn")
    if target.classes:
        value = value / value.sum(axis=1, keepdims=True)
    inner = found.children_left >= 0
    missing_left = getattr(found, "missing_go_to_left", None)
    source = SourceTree(
        left=found.children_left.astype(np.int64),
        right=found.children_right.astype(np.int64),
        column=np.where(inner, found.feature, 0).astype(np.int64),
        threshold=below_in_single_precision(_largest_single(found.threshold)),
        missing_left=np.zeros(len(inner), bool) if missing_left is None else np.asarray(missing_left).astype(bool),
        value=value,
        weight=found.weighted_n_node_samples,
        rows=found.n_node_samples,
        gain=_gains(found),
        impurity=np.asarray(found.impurity),
    )
    check_source(source, columns)
    criterion = model.criterion if isinstance(model.criterion, str) else ""
    known = CRITERIA.get(criterion, "gini" if target.classes else "squared_error")
    return to_tree(source, columns, target, known, weighted=bool(target.classes))


def _largest_single(thresholds: np.ndarray) -> np.ndarray:
    """The largest number in single precision up to each threshold."""
    singles = thresholds.astype(np.float32)
    return np.where(singles > thresholds, np.nextafter(singles, np.float32(-np.inf)), singles)


def _gains(found: Any) -> np.ndarray:
    """The decrease of impurity by each split."""
    inner = np.flatnonzero(found.children_left >= 0)
    weight, impurity = found.weighted_n_node_samples, found.impurity
    left, right = found.children_left[inner], found.children_right[inner]
    below = (weight[left] * impurity[left] + weight[right] * impurity[right]) / weight[inner]
    gain = np.zeros(len(weight))
    gain[inner] = np.maximum(impurity[inner] - below, 0.0)
    return gain


def _import_boosting(model: Any) -> Any:
    columns, named, place_of, category_of = _boosting_schema(model)
    classes = _classes_of(model)
    n_outputs = int(model.n_trees_per_iteration_)
    trees = [
        [_boosted_tree(line[output], place_of, category_of) for line in model._predictors]
        for output in range(n_outputs)
    ]
    loss, name = (loss_of_classes(len(classes)), "log_loss") if classes is not None else _loss_of(model)
    rate = float(model.learning_rate)
    initial = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(n_outputs)
    return boosted(trees, columns, initial, loss, named=named, classes=classes, loss_name=name, learning_rate=rate)


def _loss_of(model: Any) -> tuple[Loss, str]:
    losses: dict[str, Loss] = {
        "squared_error": Squared(),
        "absolute_error": Absolute(),
        "poisson": Tweedie(1.0),
        "gamma": Tweedie(2.0),
    }
    if model.loss == "quantile":
        return Quantile(float(model.quantile)), "quantile"
    if model.loss not in losses:
        raise ValueError(f"a model with the loss {model.loss!r} cannot be imported; those of {', '.join(losses)} can")
    return losses[model.loss], model.loss


def _boosting_schema(
    model: Any,
) -> tuple[tuple[Column, ...], bool, np.ndarray, dict[int, dict[int, int]]]:
    """The columns; the column of each feature of the trees; and by column the index of each code of a category."""
    columns, named = _schema(model)
    found = list(columns)
    n_columns = len(columns)
    place_of = np.arange(n_columns)
    category_of: dict[int, dict[int, int]] = {}
    is_categorical = getattr(model, "is_categorical_", None)
    if is_categorical is None or not np.any(is_categorical):
        return columns, named, place_of, category_of
    # Categorical columns are put first, and encoded by an OrdinalEncoder.
    places = np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~np.asarray(is_categorical))])
    encoder = model._preprocessor.named_transformers_["encoder"]
    for number, place in enumerate(np.flatnonzero(is_categorical).tolist()):
        words = [plain_category(one) for one in encoder.categories_[number] if not is_missing(one)]
        found[place] = Column(found[place].name, Kind.CATEGORICAL, tuple(words))
        category_of[place] = {code: code for code in range(len(words))}
    return tuple(found), named, places, category_of


def _boosted_tree(predictor: Any, place_of: np.ndarray, category_of: dict[int, dict[int, int]]) -> SourceTree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    column = np.where(leaf, 0, place_of[np.where(leaf, 0, nodes["feature_idx"])])
    sets = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        codes = np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))
        known = category_of[int(column[node])]
        sets[node] = np.array([known[code] for code in codes.tolist() if code in known], dtype=np.int64)
    return SourceTree(
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        column=column,
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"].astype(np.float64)[:, None],
        weight=nodes["count"].astype(np.float64),
        rows=nodes["count"].astype(np.int64),
        gain=np.maximum(np.where(leaf, 0.0, nodes["gain"]), 0.0),
        impurity=np.zeros(len(nodes)),
        sets=sets,
    )
