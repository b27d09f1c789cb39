"""Models as sums of trees: the trees, the values of their nodes, and how predictions follow from the sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from treewright.encoding.target_encoding import TargetEncoding
from treewright.estimators.base import columns_of
from treewright.estimators.boosting.base import Boosting
from treewright.estimators.boosting.losses import Exponential, LogLoss, ManyClasses, Tweedie
from treewright.estimators.forest.base import ForestLearner
from treewright.estimators.meta import AdaBoostClassifier
from treewright.estimators.meta.bagging import BaggingLearner
from treewright.estimators.single.base import TreeLearner
from treewright.ship.layout import ModelFileError
from treewright.table.column import Column
from treewright.tree.forest import Forest
from treewright.tree.tree import SplitKind, Tree
from treewright.tree.tree_list import TreeList

# The link functions: how sums become predictions.
IDENTITY, COMPLEMENT, LOGISTIC, SOFTMAX, EXP = "identity", "complement", "logistic", "softmax", "exp"

# A tree, the values of its nodes in the order of the classes, and the first output that they add to.
WeightedTree = tuple[Tree, np.ndarray, int]


class ExportError(ModelFileError):
    """A model that a format cannot represent; the message names what it is."""


@dataclass(frozen=True, eq=False)
class TreeSum:
    """A model as a sum of trees: divided, shifted by constants, and turned into predictions by a link function.

    Attributes
    ----------
    columns : the columns of a row, which all trees have.
    target : the name of the target.
    classes : the classes in the order of the predictions, None for numbers.
    trees : the trees.
    divisor, constant : the sums are divided by the first, then the second is added, an entry per output.
    link, scale : the link function, and the factor of the scores before it.
    """

    columns: tuple[Column, ...]
    target: str
    classes: tuple[Any, ...] | None
    trees: list[WeightedTree]
    divisor: float = 1.0
    constant: list[float] | None = None
    link: str = IDENTITY
    scale: float = 1.0


def sum_of(model: Any) -> TreeSum:
    """The trees of a fitted model; what is no sum of trees is an `ExportError`."""
    check_is_fitted(model)
    if isinstance(model, TreeLearner):
        return _open(model, [(model.tree_, values_in_order(model, model.tree_.predictions), 0)])
    if isinstance(model, ForestLearner):
        return _of_forest(model)
    if isinstance(model, Boosting):
        return _of_boosting(model)
    if isinstance(model, BaggingLearner):
        return _of_bagging(model)
    if isinstance(model, AdaBoostClassifier):
        return _of_adaboost(model)
    raise ExportError(
        f"{type(model).__name__} cannot be exported; single trees, forests, gradient boosting, bagging of trees and "
        "AdaBoostClassifier can"
    )


def _open(model: Any, trees: list[WeightedTree], **choices: Any) -> TreeSum:
    classes = tuple(model.classes_.tolist()) if is_classifier(model) else None
    return TreeSum(columns_of(model), str(model._target().name), classes, trees, **choices)


def values_in_order(model: Any, by_label: np.ndarray) -> np.ndarray:
    """Values by label in the order of `classes_`."""
    if getattr(model, "n_outputs_", 1) > 1:
        raise ExportError("a model of several targets cannot be exported; fit one model for each of them")
    return by_label[:, model._labels_of_classes()] if is_classifier(model) else by_label


def _is_turned(model: Any) -> bool:
    """Whether the second of two classes is the first in the order that the target declares."""
    return model._labels_of_classes().tolist() == [1, 0]


def _of_forest(model: Any) -> TreeSum:
    forest = model.forest_
    if model._by_majority():
        raise ExportError("a forest with voting='hard' cannot be exported; use voting='soft'")
    divisor = float(len(forest))
    if not isinstance(forest, Forest):
        return _open(model, [(tree, values_in_order(model, tree.predictions), 0) for tree in forest], divisor=divisor)
    outputs = forest.leaf_outputs()
    # A leaf of two classes has the share of the second.
    has_one = outputs.shape[1] == 1 and is_classifier(model)
    if has_one and _is_turned(model):
        outputs = 1.0 - outputs
    trees = []
    for number, tree in enumerate(forest):
        of_node = _values_of_leaves(forest, number, tree, outputs)
        trees.append((tree, of_node if outputs.shape[1] == 1 else values_in_order(model, of_node), 0))
    return _open(model, trees, divisor=divisor, link=COMPLEMENT if has_one else IDENTITY)


def _values_of_leaves(forest: Forest, number: int, tree: Tree, outputs: np.ndarray) -> np.ndarray:
    """The values at the leaves of one tree, zeros at other nodes; those of `Tree.predictions` have rounding errors."""
    leaves = slice(forest.leaf_start[number], forest.leaf_start[number + 1])
    of_node = np.zeros((tree.n_nodes, outputs.shape[1]))
    of_node[forest.leaf_nodes[leaves]] = outputs[leaves]
    return of_node


def _of_boosting(model: Any) -> TreeSum:
    if model.init_ is not None:
        raise ExportError("a boosted model that starts from another model (init) cannot be exported")
    link, scale = {LogLoss: (LOGISTIC, 1.0), Exponential: (LOGISTIC, 2.0)}.get(type(model.loss_), (IDENTITY, 1.0))
    if isinstance(model.loss_, ManyClasses):
        link = SOFTMAX
    elif isinstance(model.loss_, Tweedie):
        link = EXP
    elif is_classifier(model) and link != LOGISTIC:
        raise ExportError("a model of classes with a loss of your own cannot be exported")
    if len(model.forests_) > 1 and link != SOFTMAX:
        raise ExportError("a boosted model of several numbers cannot be exported; fit one model for each of them")
    sign = -1.0 if link == LOGISTIC and _is_turned(model) else 1.0
    places = model._labels_of_classes().tolist() if link == SOFTMAX else [0]
    trees = []
    for output, place in enumerate(places):
        forest = model.forests_[place]
        for number, tree in enumerate(forest):
            of_node = (
                tree.predictions
                if isinstance(forest, TreeList)
                else _values_of_leaves(forest, number, tree, forest.leaf_value[:, None])
            )
            trees.append((decode_columns(tree, model.target_encoding_, model.columns_), sign * of_node, output))
    constant = [sign * float(model.initial_[place]) for place in places]
    return _open(model, trees, constant=constant, link=link, scale=scale)


def _of_bagging(model: Any) -> TreeSum:
    if not model.reads_once_:
        raise ExportError(f"a {type(model).__name__} of other models than trees cannot be exported; use trees")
    if getattr(model, "voting", "soft") == "hard":
        raise ExportError("bagging with voting='hard' cannot be exported; use voting='soft'")
    columns = columns_of(model)
    trees: list[WeightedTree] = []
    for member, places in zip(model.estimators_, model.estimators_features_, strict=True):
        tree = _with_columns(member.tree_, columns, np.asarray(places))
        trees.append((tree, values_in_order(model, member.tree_.predictions), 0))
    return _open(model, trees, divisor=float(len(trees)))


def _with_columns(tree: Tree, columns: tuple[Column, ...], places: np.ndarray) -> Tree:
    """A tree of some columns as a tree of all columns."""
    if tree.columns == columns:
        return tree
    if tree.columns != tuple(columns[place] for place in places):
        raise ExportError("the members of the model have other categories than the model, which cannot be exported")
    if tree.imputation is not None:
        raise ExportError("the members of the model have an imputation of some columns, which cannot be exported")
    moved = np.append(places, -1).astype(np.int32)  # a leaf has the column -1
    surrogates = tree.surrogates
    if surrogates is not None:
        surrogates = replace(surrogates, column=moved[surrogates.column])
    return tree.replace(columns=columns, column=moved[tree.column], surrogates=surrogates)


def _of_adaboost(model: Any) -> TreeSum:
    """Votes of trees: the weight of a tree for its class, and a part of it against each other class."""
    members = model.estimators_
    if not all(isinstance(member, TreeLearner) for member in members):
        raise ExportError("an AdaBoostClassifier of other models than trees cannot be exported; use trees")
    columns = members[0].tree_.columns
    n_classes, total = int(model.n_classes_), float(np.sum(model.estimator_weights_))
    n_others = max(n_classes - 1, 1)
    trees: list[WeightedTree] = []
    for member, weight in zip(members, model.estimator_weights_, strict=True):
        tree = member.tree_
        if (tree.missing_branch[tree.n_children > 0] < 0).any():
            raise ExportError(
                "the trees of the model send fractions of a row down several branches before they vote, which cannot "
                "be exported; fit it with trees of missing='learned'"
            )
        if tree.columns != columns:
            raise ExportError("the members of the model have different categories, which cannot be exported")
        chosen = np.array([model.classes_.tolist().index(name) for name in member.classes_.tolist()])
        place_of = np.zeros(len(tree.target.classes), dtype=np.intp)
        place_of[member._labels_of_classes()] = chosen
        votes = np.full((tree.n_nodes, n_classes), -weight / n_others)
        votes[np.arange(tree.n_nodes), place_of[tree.label]] += weight + weight / n_others
        trees.append((tree.replace(misclassification_costs=None), votes / (total * n_others), 0))
    target, classes = str(members[0].tree_.target.name), tuple(model.classes_.tolist())
    return TreeSum(columns, target, classes, trees, constant=[0.0] * n_classes, link=SOFTMAX)


def decode_columns(tree: Tree, encoding: TargetEncoding, columns: tuple[Column, ...]) -> Tree:
    """A tree of target-encoded columns as a tree of the columns of the table.

    A mean of the target up to a threshold is a set of categories, and so is a set of codes of a copy of a column.
    """
    if not encoding.means:
        return tree
    origin = np.append(encoding.origin, -1)
    kind, missing = np.array(tree.kind), np.array(tree.missing_branch)
    starts, sets = np.full(tree.n_nodes, -1, dtype=np.int64), []
    n_words = 0
    for node in np.flatnonzero(tree.kind != SplitKind.LEAF).tolist():
        members = _members_of(tree, node, encoding)
        if members is None:
            continue
        inside, missing_inside = members
        kind[node], missing[node] = SplitKind.SUBSET, 0 if missing_inside else 1
        starts[node] = n_words
        sets.append(np.append(np.uint64(len(inside)), inside.astype(np.uint64)))
        n_words += len(inside) + 1
    return tree.replace(
        columns=columns,
        kind=kind,
        column=origin[tree.column].astype(np.int32),
        threshold=np.where(kind == SplitKind.THRESHOLD, tree.threshold, np.nan),
        missing_branch=missing,
        set_start=starts,
        category_sets=np.concatenate(sets) if sets else np.zeros(0, dtype=np.uint64),
    )


def _members_of(tree: Tree, node: int, encoding: TargetEncoding) -> tuple[np.ndarray, bool] | None:
    """The categories that go to the first child, and whether missing values do; None for a column of numbers."""
    at = int(tree.column[node])
    place = int(encoding.origin[at])
    missing_first = int(tree.missing_branch[node]) == 0
    if tree.kind[node] == SplitKind.SUBSET:
        inside = np.array(tree.category_set(node), dtype=np.int64)
        if at not in encoding.codes:
            return inside, missing_first
        codes = encoding.codes[at][:-1]
        return np.flatnonzero(np.isin(codes, inside)), missing_first
    if place not in encoding.means:
        return None
    first = int(np.flatnonzero(encoding.origin == place)[0])
    passes = encoding.means[place][:, at - first] <= tree.threshold[node]
    return np.flatnonzero(passes[:-1]), bool(passes[-1])
