"""A tree or forest as the estimator of scikit-learn of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.base import columns_of
from treewright.estimators.forest import ExtraTreesClassifier, ExtraTreesRegressor
from treewright.estimators.forest.base import ForestLearner
from treewright.estimators.single.base import TreeLearner
from treewright.ship.exports.program import check_tree
from treewright.ship.exports.tree_sum import ExportError, values_in_order
from treewright.table.column import Column
from treewright.tree.tree import SplitKind, Tree


def to_scikit(model: Any) -> Any:
    """A fitted estimator of scikit-learn with the trees of a model."""
    check_is_fitted(model)
    if isinstance(model, TreeLearner):
        _check_columns(columns_of(model))
        return _estimator_of(model, model.tree_, _tree_class(model))
    if not isinstance(model, ForestLearner):
        raise ExportError(
            f"{type(model).__name__} cannot be exported to scikit-learn, whose boosted models and combinations cannot "
            "be assembled from trees; single trees and forests can"
        )
    if model._by_majority():
        raise ExportError("a forest with voting='hard' cannot be exported; use voting='soft'")
    _check_columns(columns_of(model))
    return _forest_of(model)


def _tree_class(model: Any) -> type:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    return DecisionTreeClassifier if is_classifier(model) else DecisionTreeRegressor


def _check_columns(columns: tuple[Column, ...]) -> None:
    for column in columns:
        if column.categories:
            raise ExportError(
                f"column {column.name!r} has categories, which trees of scikit-learn cannot split; export to 'onnx', "
                "or encode it as numbers before the fit"
            )


def _forest_of(model: Any) -> Any:
    from sklearn import ensemble

    is_extra = isinstance(model, ExtraTreesClassifier | ExtraTreesRegressor)
    name = f"{'ExtraTrees' if is_extra else 'RandomForest'}{'Classifier' if is_classifier(model) else 'Regressor'}"
    forest = getattr(ensemble, name)(n_estimators=len(model.forest_))
    member = forest.estimator
    forest.estimators_ = [_estimator_of(model, tree, type(member), in_forest=True) for tree in model.forest_]
    forest.estimator_ = member
    _describe(forest, model)
    return forest


def _estimator_of(model: Any, tree: Tree, known: type, *, in_forest: bool = False) -> Any:
    """One tree as an estimator; the members of a forest have the numbers of the classes instead of their names."""
    found = known()
    _describe(found, model)
    found.max_features_ = found.n_features_in_
    if in_forest:
        # The members get a table that has been read, without names.
        found.__dict__.pop("feature_names_in_", None)
        if is_classifier(model):
            found.classes_ = np.arange(len(model.classes_))
    found.tree_ = _tree_of(model, tree)
    return found


def _describe(found: Any, model: Any) -> None:
    """Set the attributes of a fit that describe table and target."""
    found.n_features_in_, found.n_outputs_ = len(columns_of(model)), 1
    if hasattr(model, "feature_names_in_"):
        found.feature_names_in_ = model.feature_names_in_
    if is_classifier(model):
        found.classes_, found.n_classes_ = model.classes_, len(model.classes_)


def _tree_of(model: Any, tree: Tree) -> Any:
    """A tree as scikit-learn's array of nodes."""
    from sklearn.tree import DecisionTreeRegressor
    from sklearn.tree._tree import Tree as TheirTree

    check_tree(tree)
    inner = tree.kind != SplitKind.LEAF
    if (tree.missing_branch[inner] < 0).any():
        raise ExportError(
            "the model sends fractions of a row down several branches (missing='fractional', as in C4.5), which "
            "scikit-learn cannot do; fit it with missing='learned'"
        )
    # The fields of a node differ between versions; those of a tree of the installed one are filled.
    state = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).tree_.__getstate__()
    nodes = np.zeros(tree.n_nodes, dtype=state["nodes"].dtype)
    fields = {
        "left_child": np.where(inner, tree.first_child, -1),
        "right_child": np.where(inner, tree.first_child + 1, -1),
        "feature": np.where(inner, tree.column, -2),
        "threshold": np.where(inner, tree.threshold + tree.tolerance, -2.0),
        "impurity": tree.impurity,
        "n_node_samples": tree.rows,
        "weighted_n_node_samples": tree.weight,
        "missing_go_to_left": inner & (tree.missing_branch == 0),
    }
    for name, values in fields.items():
        if name in nodes.dtype.names:
            nodes[name] = values
    values = values_in_order(model, tree.predictions)
    n_classes = values.shape[1] if is_classifier(model) else 1
    found = TheirTree(len(tree.columns), np.array([n_classes], dtype=np.intp), 1)
    found.__setstate__(
        {
            **state,
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": nodes,
            "values": np.ascontiguousarray(values[:, None, :], dtype=np.float64),
        }
    )
    return found
