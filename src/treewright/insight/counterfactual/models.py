"""What a search needs to know about a model: its thresholds, its outputs, and how it predicts from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.estimators.base import columns_of
from treewright.estimators.boosting.base import Boosting
from treewright.estimators.forest.base import ForestLearner
from treewright.estimators.meta.bagging import BaggingLearner
from treewright.estimators.single.base import TreeLearner
from treewright.insight.counterfactual.goals import Goal, Interval, class_goal, number_goal
from treewright.insight.shapley.models import SumOfTrees, sum_of_trees
from treewright.tree.forest import Forest
from treewright.tree.tree import SplitKind, Tree


def searchable_sum(model: Any) -> SumOfTrees | None:
    """The model as a sum of trees on which bounds hold; None if there is no such sum."""
    found = sum_of_trees(model)
    if found is None or found.of_row is not None:
        return None
    if isinstance(model, BaggingLearner) and getattr(model._base(), "misclassification_costs", None) is not None:
        return None
    if isinstance(model, Boosting) and not is_classifier(model) and link_of(model) is None:
        return None
    return found


def trees_of(model: Any) -> Iterator[tuple[Tree, np.ndarray]]:
    """The trees of a model that are stored one by one, each with the columns of the table that it reads."""
    places = np.arange(len(columns_of(model)))
    if isinstance(model, TreeLearner):
        yield model.tree_, places
    elif isinstance(model, ForestLearner) and not isinstance(model.forest_, Forest):
        yield from ((tree, places) for tree in model.forest_)
    elif isinstance(model, Boosting) and not isinstance(model.forests_[0], Forest):
        yield from ((tree, places) for forest in model.forests_ for tree in forest)
    elif isinstance(model, BaggingLearner):
        pairs = zip(model.estimators_, model.estimators_features_, strict=True)
        yield from ((member.tree_, np.asarray(own)) for member, own in pairs)


def thresholds_of(model: Any) -> list[np.ndarray]:
    """The thresholds on each column of the table, in ascending order; of forests and boosting, all bin borders."""
    found: list[list[np.ndarray]] = [[] for _ in columns_of(model)]
    for tree, places in trees_of(model):
        _add_thresholds(found, tree, places)
    if isinstance(model, Boosting) and isinstance(model.forests_[0], Forest):
        _add_borders(found, model.forests_[0], np.asarray(model.target_encoding_.origin))
    elif isinstance(model, ForestLearner) and isinstance(model.forest_, Forest):
        _add_borders(found, model.forest_, np.arange(len(found)))
    return [_distinct(parts) for parts in found]


def _add_thresholds(found: list[list[np.ndarray]], tree: Tree, places: np.ndarray) -> None:
    """Add the thresholds of a tree, of its surrogates, and of the trees that impute missing values."""
    for node in np.flatnonzero(tree.kind == SplitKind.THRESHOLD):
        found[places[tree.column[node]]].append(tree.threshold[node : node + 1])
    if tree.surrogates is not None:
        used = tree.surrogates.column >= 0
        for column, threshold in zip(tree.surrogates.column[used], tree.surrogates.threshold[used], strict=True):
            found[places[column]].append(np.array([threshold]))
    for column, guess in tree.imputation.guesses if tree.imputation is not None else ():
        _add_thresholds(found, guess, np.delete(places, column))


def _add_borders(found: list[list[np.ndarray]], forest: Forest, origin: np.ndarray) -> None:
    starts = forest.bins.cut_start
    for place, column in enumerate(origin.tolist()):
        found[column].append(np.asarray(forest.bins.cuts[starts[place] : starts[place + 1]], dtype=np.float64))


def _distinct(parts: list[np.ndarray]) -> np.ndarray:
    joined = np.concatenate(parts) if parts else np.zeros(0)
    return np.unique(joined[np.isfinite(joined)])


def tolerance_of(model: Any) -> float:
    """How far above a threshold a value may be and still count as equal."""
    return max((tree.tolerance for tree, _ in trees_of(model)), default=0.0)


def loose_columns(model: Any, row: np.ndarray) -> frozenset[int]:
    """Columns without a value whose branch depends on other columns: by surrogates, or by imputation from them."""
    depends = any(
        tree.surrogates is not None or (tree.imputation is not None and tree.imputation.guesses)
        for tree, _ in trees_of(model)
    )
    if not depends:
        return frozenset()
    columns = columns_of(model)
    return frozenset(
        place
        for place, value in enumerate(row[0].tolist())
        if np.isnan(value) or (value < 0 and not columns[place].is_numeric)
    )


def goal_of(model: Any, found: SumOfTrees, own: Any, target: Any) -> Goal:
    """The wanted prediction as conditions on the outputs of the sum."""
    if isinstance(target, Interval):
        link = link_of(model) if isinstance(model, Boosting) else "identity"
        return number_goal(target, _scores(target, link or "identity"), own)
    classes = model.classes_.tolist()
    n_outputs = len(found.output_names)
    if n_outputs == 1 and len(classes) == 2:
        # One score for two classes: that of the second by the order of the target.
        second = [model._target().classes.index(name) == 1 for name in classes]
        return class_goal(classes, own, target, np.array([[1.0 if is_second else 0.0] for is_second in second]))
    transform = np.eye(n_outputs)
    costs = model.tree_.misclassification_costs if isinstance(model, TreeLearner) else None
    if costs is not None:
        labels = model._labels_of_classes()
        transform = -costs[np.ix_(labels, labels)].T
    return class_goal(classes, own, target, transform)


def link_of(model: Any) -> str | None:
    """How a number follows from the score of boosting: "identity", "exponential", or None if it is something else."""
    if len(model.forests_) != 1:
        return None
    scores = np.array([[-1.3, 0.0, 0.7]])
    numbers = np.asarray(model.loss_.prediction(scores)).ravel()
    if np.allclose(numbers, scores.ravel()):
        return "identity"
    return "exponential" if np.allclose(numbers, np.exp(scores.ravel())) else None


def _scores(target: Interval, link: str) -> Interval:
    """The scores whose predictions are in an interval."""
    if link == "identity":
        return target
    with np.errstate(divide="ignore"):
        return Interval(float(np.log(max(target.low, 0.0))), float(np.log(max(target.high, 0.0))))
