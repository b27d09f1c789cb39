"""Models as sums of trees: what Shapley values of an estimator are computed from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.estimators.base import columns_of, read_rows
from treewright.estimators.boosting.base import Boosting
from treewright.estimators.forest.base import ForestLearner
from treewright.estimators.meta.bagging import BaggingLearner
from treewright.estimators.single.base import TreeLearner
from treewright.insight.shapley.paths import PathTree, path_of_tree, paths_of_forest
from treewright.tree.forest import Forest
from treewright.tree.tree import Target, Tree


@dataclass(frozen=True, eq=False)
class TreeGroup:
    """Trees that read rows in the same form.

    Attributes
    ----------
    trees : the trees.
    weight : the factor of their sum.
    outputs : by output of the model, the output of the trees and a sign; None if they do not add to it.
    origin : the column of the table that each column of the trees is computed from.
    encode : turns the rows of the table into rows for the trees.
    """

    trees: list[PathTree]
    weight: float
    outputs: tuple[tuple[int, float] | None, ...]
    origin: np.ndarray
    encode: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class SumOfTrees:
    """A model whose outputs are a constant plus the sum of its trees.

    `constant` has an entry per output, and `of_row` adds what depends on the row and not on the trees.
    """

    groups: list[TreeGroup]
    constant: np.ndarray
    output_names: tuple[Any, ...]
    names: tuple[str, ...]
    read: Callable[[Any], np.ndarray]
    of_row: Callable[[Any], np.ndarray] | None = None


def sum_of_trees(model: Any) -> SumOfTrees | None:
    """The model as a sum of trees; None if its prediction is not a sum."""
    if isinstance(model, TreeLearner):
        return _of_single(model)
    if isinstance(model, ForestLearner):
        return _of_forest(model)
    if isinstance(model, Boosting):
        return _of_boosting(model)
    if isinstance(model, BaggingLearner):
        return _of_bagging(model)
    return None


def _sum(
    model: Any, groups: list[TreeGroup], constant: np.ndarray, output_names: Any, of_row: Any = None
) -> SumOfTrees:
    names = tuple(column.name for column in columns_of(model))
    return SumOfTrees(groups, constant, tuple(output_names), names, lambda X: read_rows(model, X), of_row)


def _as_read(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float64)


def _outputs_of(model: Any) -> list[int]:
    """The output of a tree for each output of the model: the classes in the order of `classes_`, or one number.

    Several targets have their outputs one after the other, as they are declared.
    """
    target: Target = model._target()
    if target.outputs:
        return list(range(target.width))
    return model._labels_of_classes().tolist() if is_classifier(model) else [0]


def _output_names(model: Any) -> list[Any]:
    target: Target = model._target()
    if target.outputs:
        return [
            name
            for one in target.outputs
            for name in ([f"{one.name} = {each}" for each in one.classes] if one.is_classes else [one.name])
        ]
    return model.classes_.tolist() if is_classifier(model) else [target.name]


def _of_single(model: Any) -> SumOfTrees:
    tree = model.tree_
    outputs = tuple((output, 1.0) for output in _outputs_of(model))
    group = TreeGroup([path_of_tree(tree, tree.predictions)], 1.0, outputs, np.arange(len(tree.columns)), _as_read)
    return _sum(model, [group], np.zeros(len(outputs)), _output_names(model))


def _of_forest(model: Any) -> SumOfTrees | None:
    forest = model.forest_
    if model._by_majority():
        return None
    weight = 1.0 / len(forest)
    origin = np.arange(len(forest.columns))
    labels = _outputs_of(model)
    outputs: tuple[tuple[int, float] | None, ...] = tuple((label, 1.0) for label in labels)
    constant = np.zeros(len(labels))
    if not isinstance(forest, Forest):
        trees = [path_of_tree(tree, tree.predictions) for tree in forest]
        return _sum(model, [TreeGroup(trees, weight, outputs, origin, _as_read)], constant, _output_names(model))
    if is_classifier(model) and forest.packed.n_outputs == 1:
        # A leaf holds the share of the second class; that of the first is 1 less it.
        outputs = tuple((0, 1.0 if label else -1.0) for label in labels)
        constant = np.array([0.0 if label else 1.0 for label in labels])
    group = TreeGroup(
        paths_of_forest(forest), weight, outputs, origin, lambda values: forest.code(values, model.n_jobs)
    )
    return _sum(model, [group], constant, _output_names(model))


def _of_boosting(model: Any) -> SumOfTrees:
    forests, origin = model.forests_, np.asarray(model.target_encoding_.origin)
    # One score for each class in the order in which the target declares them; one for two classes.
    places = _outputs_of(model) if is_classifier(model) and len(forests) > 1 else list(range(len(forests)))
    groups = []
    for output, forest in enumerate(forests):
        outputs = tuple((0, 1.0) if output == place else None for place in places)
        trees = (
            paths_of_forest(forest)
            if isinstance(forest, Forest)
            else [path_of_tree(tree, tree.predictions) for tree in forest]
        )
        encode = model._code if isinstance(forest, Forest) else _as_read
        groups.append(TreeGroup(trees, 1.0, outputs, origin, encode))
    constant = np.asarray(model.initial_, dtype=np.float64)[places]
    of_row = None if model.init_ is None else lambda X: np.asarray(model._scores_of_init(X)).T[:, places]
    return _sum(model, groups, constant, _score_names(model, len(forests)), of_row)


def _score_names(model: Any, n_outputs: int) -> list[Any]:
    """The names of the scores: the classes, the second of two classes, or the target."""
    if is_classifier(model):
        return model.classes_.tolist() if n_outputs > 1 else [model.target_.classes[-1]]
    name = model.target_.name
    return [name] if n_outputs == 1 else [f"{name} {k}" for k in range(n_outputs)]


def _of_bagging(model: Any) -> SumOfTrees | None:
    if not model.reads_once_ or getattr(model, "voting", "soft") == "hard":
        return None
    outputs = tuple((output, 1.0) for output in _outputs_of(model))
    weight = 1.0 / len(model.estimators_)
    groups = []
    for member, places in zip(model.estimators_, model.estimators_features_, strict=True):
        tree: Tree = member.tree_

        def encode(values: np.ndarray, places: np.ndarray = places) -> np.ndarray:
            return _as_read(values[:, places])

        groups.append(TreeGroup([path_of_tree(tree, tree.predictions)], weight, outputs, np.asarray(places), encode))
    return _sum(model, groups, np.zeros(len(outputs)), _output_names(model))
