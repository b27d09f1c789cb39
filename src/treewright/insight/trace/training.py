"""The training rows of a fitted tree, read again: what growth saw, and the tree before pruning."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.encoding.ranks import Grid, _step_cuts, quantile_cuts
from treewright.engines.chance import has_many_categories
from treewright.engines.exact.category_order import orders_by_value
from treewright.engines.exact.data import _counts_in_average
from treewright.engines.exact.workspace import Recipe
from treewright.estimators.base import Training, read_table, read_training
from treewright.estimators.missing_values import impute
from treewright.estimators.parameters import Plan
from treewright.estimators.single.base import TreeLearner, specification
from treewright.estimators.single.c45_specification import LEAST_SPREAD, C45Spec
from treewright.estimators.single.magnitudes import scales_of_columns, with_scaled_columns, without_scales
from treewright.estimators.single.one_rule import OneRClassifier
from treewright.estimators.single.pruned_growth import split_validation
from treewright.estimators.single.specification import Pruning, TreeSpec
from treewright.estimators.weights import altered_priors, read_costs
from treewright.insight.trace.choice import TableView
from treewright.insight.trace.sums import CLASS_CRITERIA, NUMBER_CRITERIA
from treewright.table.target import has_label
from treewright.tree import Tree


@dataclass(frozen=True, eq=False)
class Replay:
    """A fitted tree with all that its growth depended on.

    Attributes
    ----------
    tree : the tree that grew, before pruning.
    final : the fitted tree.
    training : the rows that it grew from, with imputed values and the weights of growth.
    validation : rows set aside for pruning, None if there are none.
    rows : the place of each training row in the table of the user.
    table, recipe, plan : the choices of growth.
    pruning : how it was pruned, None if it was not.
    notes : what the trace cannot show, a sentence each.
    """

    tree: Tree
    final: Tree
    training: Training
    validation: Training | None
    rows: np.ndarray
    table: TableView
    recipe: Recipe
    plan: Plan
    pruning: Pruning | None
    spec: TreeSpec
    notes: tuple[str, ...]
    ccp_alpha: float | None = None

    @property
    def rates_splits(self) -> bool:
        """Whether the candidates of a node are compared again."""
        if self.plan.splitter == "random":
            return False
        return self.plan.criterion in (*CLASS_CRITERIA, *NUMBER_CRITERIA) and not self.is_one_rule

    @property
    def is_one_rule(self) -> bool:
        return self.spec.__class__ not in (TreeSpec, C45Spec)

    @property
    def criterion(self) -> str:
        return self.tree.criterion


def read_replay(model: TreeLearner, X: Any, y: Any, sample_weight: Any) -> Replay:
    """Read the training rows of a fitted tree learner again, and grow the tree before pruning if it was pruned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in fit, where the user has seen them
        training = read_training(model, read_table(model, X), y, sample_weight)
    _check_columns(model, training)
    spec = specification(model, seed=0)
    rows = _places(training, y)
    growing, validation = training, None
    if spec.pruning is not None and spec.pruning.method == "reduced_error":
        grown, left_out = split_validation(training, spec.pruning.validation_fraction)
        growing, validation, rows = training.rows(grown), training.rows(left_out), rows[grown]
    tree, notes = _grown_tree(model, spec, growing)
    priors = _priors(spec, growing)
    imputed, _ = impute(growing, spec.plan)
    weights = imputed.weights if priors is None else imputed.weights * priors[imputed.y]
    n_rows, n_columns = imputed.values.shape
    replay = Replay(
        tree=tree,
        final=model.tree_,
        training=replace(imputed, weights=weights),
        validation=validation,
        rows=rows,
        table=_view(spec, growing, imputed),
        recipe=spec.plan.recipe(n_rows, n_columns, weights),
        plan=spec.plan,
        pruning=None if tree is model.tree_ else spec.pruning,
        spec=spec,
        notes=(),
        ccp_alpha=getattr(model, "ccp_alpha_", None),
    )
    for tree in (model.tree_, replay.tree):
        _check_rows(tree, replay.training, priors is not None)
    return replace(replay, notes=(*notes, *_notes(replay, model)))


def _places(training: Training, y: Any) -> np.ndarray:
    """The place of each training row in the table of the user."""
    labelled = has_label(y) if training.target.is_classes and training.whole is not None else None
    places = np.flatnonzero(labelled) if labelled is not None else None
    kept = np.arange(len(training.y)) if training.kept is None else np.flatnonzero(training.kept)
    return kept if places is None else places[kept]


def _check_columns(model: TreeLearner, training: Training) -> None:
    own = [column.name for column in model.tree_.columns]
    given = [column.name for column in training.columns]
    if own != given:
        raise ValueError(
            f"the trace needs the table of the fit, with the columns {', '.join(map(repr, own[:8]))}; "
            f"X has {', '.join(map(repr, given[:8]))}"
        )


def _check_rows(tree: Tree, training: Training, has_costs: bool) -> None:
    """Refuse rows that are not those that a tree grew from, by the figures of its root."""
    n_rows, weight = int(tree.rows[0]), float(tree.weight[0])
    own = tree.distribution[0]
    if training.target.is_classes:
        given = np.bincount(training.y, training.weights, minlength=len(own))
    else:
        given = np.array([np.average(training.y, weights=training.weights)])
        if tree.criterion == "absolute_error":
            given = own
    same = len(training.y) == n_rows and len(own) == len(given)
    if same and not has_costs:
        close = np.allclose(own, given, rtol=1e-6, atol=1e-9 * max(float(np.abs(given).max()), 1e-300))
        same = close and np.isclose(weight, training.weights.sum(), rtol=1e-6)
    if not same:
        raise ValueError(
            f"X and y are not the rows that the model was fitted to: its tree grew from {n_rows} rows of weight "
            f"{weight:g}, and these are {len(training.y)} of weight {training.weights.sum():g}; "
            "give the training rows, with their sample_weight if there was one"
        )


def _grown_tree(model: TreeLearner, spec: TreeSpec, training: Training) -> tuple[Tree, tuple[str, ...]]:
    """The tree before pruning: grown again if the fitted tree was pruned, else the fitted tree itself."""
    if spec.pruning is None and not isinstance(spec, C45Spec):
        return model.tree_, ()
    if spec.plan.is_random:
        note = "The tree grew with random choices and was pruned; the nodes that pruning removed are not shown."
        return model.tree_, (note,)
    if isinstance(model, OneRClassifier):
        return model.tree_, ()
    if isinstance(spec, C45Spec) and not spec.plan.strategy.imputes:
        scales = scales_of_columns(training, LEAST_SPREAD)
        if (scales != 1.0).any():
            grown = spec.grow(with_scaled_columns(training, scales))
            return without_scales(grown, scales).replace(tolerance=0.0), ()
    return spec.grow(training), ()


def _priors(spec: TreeSpec, training: Training) -> np.ndarray | None:
    costs = read_costs(spec.misclassification_costs, list(training.target.classes))
    return None if costs is None else altered_priors(costs, training.y, training.weights)


def _view(spec: TreeSpec, growing: Training, imputed: Training) -> TableView:
    columns, plan = imputed.columns, spec.plan
    values_order = {} if plan.quinlan else orders_by_value(columns)
    orders = {
        place: np.asarray(values_order.get(place, np.arange(len(column.categories))))
        for place, column in enumerate(columns)
        if column.is_categorical
    }
    n_columns = len(columns)
    scales = np.ones(n_columns)
    if plan.quinlan and not plan.strategy.imputes:
        scales = scales_of_columns(growing, LEAST_SPREAD)
    return TableView(
        columns=columns,
        orders=orders,
        adjusted=has_many_categories(columns, imputed.values) if plan.adjusts else np.zeros(n_columns, bool),
        in_average=_counts_in_average(columns, len(growing.table)),
        fixed=np.array([not column.is_numeric or plan.grid is not None for column in columns]),
        scales=scales,
        class_boundaries=plan.candidates == "class_boundaries",
    )


def values_of_growth(replay: Replay) -> np.ndarray:
    """The values that thresholds are searched in: scaled as in C4.5, or the upper bounds of the bins of a grid."""
    values = replay.training.values * replay.table.scales
    if replay.plan.grid is None:
        return values
    for place, column in enumerate(replay.table.columns):
        if column.is_numeric:
            values[:, place] = _on_grid(values[:, place], replay.plan.grid)
    return values


def _on_grid(values: np.ndarray, grid: Grid) -> np.ndarray:
    assert grid is not None
    known = ~np.isnan(values)
    if not known.any():
        return values
    distinct, codes = np.unique(values[known], return_inverse=True)
    kind, size = grid
    cuts = _step_cuts(distinct, size) if kind == "step" else quantile_cuts(distinct, np.sort(codes), int(size))
    bounds = np.append(cuts, np.inf)
    on_grid = np.full(len(values), np.nan)
    bins = np.searchsorted(cuts, values[known], side="left")
    # The last bin has no upper bound; any number above all others keeps its order.
    on_grid[known] = np.where(np.isinf(bounds[bins]), np.finfo(float).max, bounds[bins])
    return on_grid


def _notes(replay: Replay, model: TreeLearner) -> list[str]:
    notes, plan = [], replay.plan
    name = plan.criterion if isinstance(plan.criterion, str) else replay.tree.own_criterion
    if replay.is_one_rule:
        notes.append(
            f"{type(model).__name__} chooses one column by its errors; its candidates are not compared again here."
        )
    elif plan.criterion not in (*CLASS_CRITERIA, *NUMBER_CRITERIA):
        notes.append(
            f"The candidates of the criterion {name!r} are not compared again; the splits are those of the tree."
        )
    elif plan.splitter == "random":
        notes.append("Thresholds were drawn at random, so that only the split of each node is shown.")
    elif plan.is_random:
        notes.append(
            "The tree chose among a random sample of columns or splits at each node; all columns are rated here, "
            "and a better one than the winner was not drawn."
        )
    if replay.plan.strategy.imputes:
        notes.append(f"Missing values were imputed before growth (missing={plan.missing!r}).")
    if replay.spec.misclassification_costs is not None:
        notes.append(
            "The weights are those of growth, where classes whose errors cost more weigh more (altered priors)."
        )
    return notes
