"""Fitting: the learning rate, tree shape and number of rounds are chosen, and the rounds are boosted."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.engines.packed.trees import GrownTrees
from treewright.estimators.boosting.early_stopping import no_curves
from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.plan_choice import boost_best, choose_plan, choose_plan_on_sample
from treewright.estimators.boosting.resuming import Choice, ResumedRounds
from treewright.estimators.boosting.round_log import RoundLog
from treewright.estimators.boosting.rounds import Boosted, BoostTask
from treewright.estimators.boosting.rows import Rows
from treewright.estimators.boosting.shapes import LEAST_FALL, shapes_for, take_shape
from treewright.estimators.boosting.validation_splits import hold_out
from treewright.estimators.callbacks import MonitoredSteps, Steps
from treewright.estimators.parameters import is_auto, is_real, is_whole, parameter_error, shows_progress
from treewright.runtime.progress import follow
from treewright.tree.forest import Forest

# Largest number of rounds of "auto".
MOST_ROUNDS = 1000

# Larger tables keep the trees of their validation, instead of boosting again with all rows, and try shapes on a sample.
MOST_ROWS_TO_REFIT = 20_000

# Callbacks, and how a learner keeps trees.
Following = tuple[Steps | MonitoredSteps, Callable[..., Any]]

# The plan of the trees, the trees, and the initial score.
Fitted = tuple[BoostPlan, Boosted, np.ndarray]


@dataclass(frozen=True, eq=False)
class FitRows:
    """The training rows and the validation sets of a fit."""

    training: Rows
    validation: Rows | None = None  # decides when to stop
    others: tuple[Rows, ...] = ()

    def after(self, initial: np.ndarray, earlier: list[Forest]) -> FitRows:
        """The same rows with the scores of earlier trees as initial scores."""
        validation = None if self.validation is None else move_on(self.validation, initial, earlier)
        others = tuple(move_on(each, initial, earlier) for each in self.others)
        return FitRows(move_on(self.training, initial, earlier), validation, others)

    def task(self, initial: np.ndarray, n_rounds: int, **options: Any) -> BoostTask:
        return BoostTask(self.training, initial, n_rounds, self.validation, self.others, **options)


def boost_first(
    learner: Any, plan: BoostPlan, rows: FitRows, following: Following | None, keeper: ResumedRounds | None
) -> Fitted:
    """Choose the plan and the number of rounds, and boost."""
    plans, choice, rows = choose_plans(learner, plan, rows, keeper)
    n_rounds, plan, curves = choice
    initial = rows.training.begin(plan.loss)
    if keeper is not None:
        keeper.choice, keeper.initial = choice, initial
    task = rows.task(initial, n_rounds, steps=follow_rounds(learner, following, initial), keeper=keeper)
    plan, found = boost_plans(learner, plans, task)
    if rows.validation is None:
        return plan, replace(found, curves=curves), initial
    return plan, found.up_to_best(at_least=1), initial


def boost_more(
    learner: Any, plan: BoostPlan, rows: FitRows, following: Following | None, earlier: list[Forest]
) -> Fitted:
    """Add rounds to the trees of a fitted learner, in the shape of these trees."""
    plan, first = take_shape(plan, learner.shape_, learner), len(earlier[0])
    n_rounds, plan, curves = choose_rounds(learner, plan, rows)
    # Some losses take a constant from the rows; the scores themselves are those of the earlier trees.
    rows.training.begin(plan.loss)
    initial = learner.initial_
    if is_auto(learner.n_estimators):
        n_rounds = max(n_rounds, first)
    if first > n_rounds:
        raise ValueError(f"n_estimators is {n_rounds}, but the model has {first} rounds; it can only grow")
    if curves.shape[1] == 0:
        curves = learner._curves
    if first == n_rounds:
        return plan, Boosted([[] for _ in earlier], curves), initial
    steps = follow_rounds(learner, following, initial)
    task = rows.after(initial, earlier).task(np.zeros_like(initial), n_rounds - first, first_round=first, steps=steps)
    plan, found = boost_plans(learner, [plan], task)
    if rows.validation is None:
        return plan, replace(found, curves=curves), initial
    found = found.up_to_best(at_least=0)
    return plan, replace(found, curves=np.hstack([curves[:, :first], found.curves])), initial


def boost_plans(learner: Any, plans: list[BoostPlan], task: BoostTask) -> tuple[BoostPlan, Boosted]:
    """Boost with each plan, with a progress bar; returns the best plan and its trees."""
    task = replace(task, keep_on_interrupt=bool(learner.keep_on_interrupt))
    progress = shows_progress(learner)
    if learner.verbose and plans[0].records_training:
        # The lines of the rounds take the place of the bar.
        task, progress = replace(task, log=RoundLog(task.n_rounds, every=learner.verbose > 1)), False
    with follow("boosting", len(plans) * task.n_rounds, progress) as tick:
        return boost_best(plans, task, tick)


def choose_plans(
    learner: Any, plan: BoostPlan, rows: FitRows, keeper: ResumedRounds | None
) -> tuple[list[BoostPlan], Choice, FitRows]:
    """The plans to boost with, the choice of the number of rounds, and the rows, maybe with a validation set."""
    known = None if keeper is None else keeper.recall_choice(plan, learner)
    if rows.validation is None and keeps_validation(learner, rows.training):
        plan = choose_shape(learner, plan, rows.training) if known is None else known[1]
        rows = FitRows(*hold_out(plan, rows.training))
        return [plan], known or choose_rounds(learner, plan, rows), rows
    choice = known or choose_rounds(learner, plan, rows)
    if rows.validation is None:
        return [choice[1]], choice, rows
    return plans_of_shapes(learner, choice[1], len(rows.training)), choice, rows


def choose_rounds(learner: Any, plan: BoostPlan, rows: FitRows) -> Choice:
    """The largest number of rounds, the plan, and the validation losses by which they were chosen."""
    auto, share = is_auto(learner.n_estimators), learner.validation_fraction
    if not auto and not is_whole(learner.n_estimators, 1):
        raise parameter_error("n_estimators", learner.n_estimators, "a whole number of 1 or more, or 'auto'")
    if share is not None and (not is_real(share) or not 0.0 < share < 1.0):
        raise parameter_error("validation_fraction", share, "a share between 0 and 1, or None")
    most = MOST_ROUNDS if auto else int(learner.n_estimators)
    if rows.validation is not None or (not auto and share is None):
        return most, plan, no_curves(plan)
    if len(rows.training) < 10:
        return min(most, 100), plan, no_curves(plan)
    plan = replace(plan, least_fall=LEAST_FALL if auto else 0.0)
    plans = plans_of_shapes(learner, plan, len(rows.training))
    with follow("choosing the number of rounds", None, shows_progress(learner)) as tick:
        return choose_plan(plans, rows.training, most, share, tick)


def keeps_validation(learner: Any, rows: Rows) -> bool:
    """Whether the model keeps the trees of the validation that chooses the number of rounds.

    A small table is boosted again with all rows. So is one whose codes depend on the targets of the training rows.
    """
    is_chosen = is_auto(learner.n_estimators) and learner.validation_fraction is None
    return is_chosen and len(rows) > MOST_ROWS_TO_REFIT and rows.code_apart is None


def choose_shape(learner: Any, plan: BoostPlan, rows: Rows) -> BoostPlan:
    """The shape that "auto" means for a large table, by trials on a sample of its rows."""
    plans = plans_of_shapes(learner, replace(plan, least_fall=LEAST_FALL), len(rows))
    with follow("choosing the shape of the trees", None, shows_progress(learner)) as tick:
        return choose_plan_on_sample(plans, rows, MOST_ROUNDS, tick)


def plans_of_shapes(learner: Any, plan: BoostPlan, n_rows: int) -> list[BoostPlan]:
    """The plans among which the validation loss chooses."""
    plans = [take_shape(plan, shape, learner) for shape in shapes_for(n_rows)]
    return list({(each.recipe, each.subsample): each for each in plans}.values())


@dataclass(frozen=True, eq=False)
class FollowedRounds:
    """The rounds of boosting as callbacks see them: after each there is a learner that can predict."""

    learner: Any
    steps: Steps | MonitoredSteps
    keep: Callable[..., Any]
    initial: np.ndarray

    def begin(self) -> None:
        self.steps.begin()

    def end(self, plan: BoostPlan, grown: list[list[GrownTrees]]) -> bool:
        def attributes() -> dict[str, Any]:
            return dict(vars(self.keep(copy(self.learner), plan, [list(trees) for trees in grown], self.initial)))

        return self.steps.end(attributes)


def follow_rounds(learner: Any, following: Following | None, initial: np.ndarray) -> FollowedRounds | None:
    """The steps that callbacks see, None without callbacks."""
    return None if following is None else FollowedRounds(learner, *following, initial)


def move_on(rows: Rows, initial: np.ndarray, earlier: list[Forest]) -> Rows:
    """The rows with the scores of earlier trees as initial scores."""
    by_row = np.ascontiguousarray(rows.codes.T)
    sums = np.stack([forest.sums(by_row)[:, 0] for forest in earlier])
    return replace(rows, start=rows.scores(initial) + sums)
