"""The replay of any model of the library: which steps it has, and the sentences about what is not shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.base import read_rows
from treewright.estimators.boosting.base import Boosting
from treewright.estimators.forest.base import ForestLearner
from treewright.estimators.meta.adaboost import AdaBoost
from treewright.estimators.meta.bagging import BaggingClassifier, BaggingRegressor
from treewright.estimators.single.base import TreeLearner
from treewright.insight.trace.ensembles import trace_adaboost, trace_boosting, trace_bootstrap
from treewright.insight.trace.growth import trace_growth
from treewright.insight.trace.levels import trace_levels
from treewright.insight.trace.path import read_row, trace_path
from treewright.insight.trace.pruning import trace_pruning
from treewright.insight.trace.steps import Limits, PathStep, Step
from treewright.insight.trace.training import read_replay
from treewright.tree.tree import Tree

# A tree of more nodes is shown down to the depth at which it has at most so many.
MOST_NODES = 300


@dataclass(frozen=True, eq=False)
class WorkedSteps:
    """The steps of a model.

    Attributes
    ----------
    steps : in the order in which they were taken.
    notes : what is not shown, a sentence each.
    learner : the name of the learner.
    target : the name of the target.
    classes : its classes, empty for numbers.
    criterion : the criterion of the splits, empty for ensembles.
    columns : the names of the columns.
    n_rows : the number of rows of the table.
    """

    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    learner: str
    target: str
    classes: tuple[str, ...]
    criterion: str
    columns: tuple[str, ...]
    n_rows: int


def work_out(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any,
    row: Any,
    limits: Limits,
    n_rounds: int,
) -> WorkedSteps:
    """Replay a fitted model on its training rows; with a row, only its way down the tree."""
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise TypeError(f"trace needs a fitted model of treewright, not {_describe(model)}")
    check_is_fitted(model)
    if getattr(model, "n_outputs_", 1) > 1:
        raise ValueError(
            f"the model predicts {model.n_outputs_} targets, and a trace shows one; fit a model to one column of y"
        )
    if isinstance(model, TreeLearner):
        return _of_tree(model, X, y, sample_weight, row, limits)
    if row is not None:
        raise TypeError(
            f"the way of one row is that of a single tree, and {type(model).__name__} has many; "
            "trace one of its members, as in trace(model.estimators_[0], X, y, row=0)"
        )
    return _of_ensemble(model, X, y, sample_weight, n_rounds)


def _of_tree(model: TreeLearner, X: Any, y: Any, sample_weight: Any, row: Any, limits: Limits) -> WorkedSteps:
    if row is not None:
        return _worked(model, model.tree_, [path_of(model, X, row)], [], 1)
    replay = read_replay(model, X, y, sample_weight)
    tree, notes = replay.tree, list(replay.notes)
    if limits.depth is None and tree.n_nodes > MOST_NODES:
        depth = _depth_with(tree, MOST_NODES)
        limits = replace(limits, depth=depth)
        notes.append(f"The tree has {tree.n_nodes} nodes; it is shown down to depth {depth}, max_depth= shows more.")
    n_numeric = sum(not column.is_categorical for column in tree.columns)
    if replay.rates_splits and limits.columns is not None and n_numeric > limits.columns:
        notes.append(f"Thresholds are listed for the {limits.columns} best columns of a node; max_columns= shows more.")
    if replay.plan.oblivious:
        steps: list[Step] = [*trace_levels(replay, limits)]
    else:
        steps = [*trace_growth(replay, limits)]
    pruned, more = trace_pruning(replay)
    if tree is not replay.final:
        more.append(f"Before pruning the tree had {tree.n_leaves} leaves, after it {replay.final.n_leaves}.")
    return _worked(model, tree, [*steps, *pruned], [*notes, *more], len(replay.training.y))


def _depth_with(tree: Tree, most: int) -> int:
    """The largest depth down to which a tree has at most so many nodes."""
    counts = np.cumsum(np.bincount(tree.depth_of))
    return max(int(np.searchsorted(counts, most, side="right")) - 1, 1)


def path_of(model: TreeLearner, X: Any, row: Any) -> PathStep:
    """The way of one row: the number of a row of X, or a row itself."""
    values, name = read_row(model, X, row, read_rows)
    return trace_path(model.tree_, values, name)


def _worked(model: Any, tree: Tree, steps: list[Step], notes: list[str], n_rows: int) -> WorkedSteps:
    return WorkedSteps(
        tuple(steps),
        tuple(notes),
        type(model).__name__,
        tree.target.name,
        tuple(map(str, tree.target.classes)),
        tree.criterion,
        tuple(column.name for column in tree.columns),
        n_rows,
    )


def _of_ensemble(model: Any, X: Any, y: Any, sample_weight: Any, n_rounds: int) -> WorkedSteps:
    if isinstance(model, AdaBoost):
        steps, notes = trace_adaboost(model, X, y, sample_weight, n_rounds)
    elif isinstance(model, Boosting):
        steps, notes = trace_boosting(model, X, y, n_rounds)
    elif isinstance(model, ForestLearner | BaggingClassifier | BaggingRegressor):
        steps, notes = trace_bootstrap(model, X, y, n_rounds)
        notes = [*notes, "Trees of a forest choose among random columns; trace a single tree for its splits."]
    else:
        raise TypeError(
            f"{type(model).__name__} has no worked trace; trace a single tree, AdaBoost, gradient boosting, "
            "a forest or bagging"
        )
    classes = tuple(map(str, getattr(model, "classes_", ())))
    names = tuple(map(str, getattr(model, "feature_names_in_", ())))
    n_rows = len(steps[0].before) if steps and hasattr(steps[0], "before") else 0
    n_rows = len(steps[0].drawn) if steps and hasattr(steps[0], "drawn") else n_rows
    return WorkedSteps(tuple(steps), tuple(notes), type(model).__name__, "", classes, "", names, n_rows)


def _describe(model: Any) -> str:
    return f"the class {model.__name__}" if isinstance(model, type) else f"a value of type {type(model).__name__}"
