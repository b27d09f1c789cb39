"""The rounds of gradient boosting: gradients, a tree for each output, and the figures of validation sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from treewright.engines.boosting.engine import Booster
from treewright.engines.boosting.worker_engine import WorkerBooster
from treewright.engines.forest.engine import seeds_of_trees
from treewright.engines.packed.trees import GrownTrees
from treewright.engines.packed.walk import BLOCK, walk
from treewright.estimators.boosting.early_stopping import EarlyStopping, no_curves
from treewright.estimators.boosting.leaf_values import best_leaf_values
from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.round_log import RoundLog
from treewright.estimators.boosting.rows import Rows
from treewright.estimators.boosting.sampling import draw_by_gradient, draw_columns, draw_rows
from treewright.estimators.boosting.training_loss import TrainingLoss
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.interrupts import defer_interrupts
from treewright.runtime.progress import Tick


class RoundSteps(Protocol):
    """What follows the rounds of boosting."""

    def begin(self) -> None:
        """A round begins."""

    def end(self, plan: BoostPlan, grown: list[list[GrownTrees]]) -> bool:
        """A round has ended; returns whether it is the last one."""


class RoundKeeper(Protocol):
    """Keeps the rounds of boosting, and has those of a fit that broke off."""

    def begin(self, plan: BoostPlan) -> list[list[GrownTrees]]:
        """Boosting with a plan begins; returns the trees of each round that is known already."""

    def end_round(self, plan: BoostPlan, grown: list[list[GrownTrees]], *, is_last: bool = False) -> None:
        """A round has ended."""


@dataclass(frozen=True, eq=False)
class BoostTask:
    """What to boost: the rows, their initial scores, and the largest number of rounds."""

    rows: Rows
    initial: np.ndarray
    n_rounds: int
    validation: Rows | None = None  # decides when to stop
    others: tuple[Rows, ...] = ()  # other validation sets, whose figures are recorded
    first_round: int = 0
    steps: RoundSteps | None = None  # called before and after each round; may end boosting
    keeper: RoundKeeper | None = None
    keep_on_interrupt: bool = False
    log: RoundLog | None = None


@dataclass(frozen=True, eq=False)
class Boosted:
    """The result of boosting: for each output the trees of all rounds, and the validation loss after each round."""

    trees: list[list[GrownTrees]]
    # float64[figure, round]: what decides (the validation loss, or the score times -1 and then the loss), the metrics
    curves: np.ndarray

    initial_loss: float = np.inf  # on the validation set, before the first round
    was_interrupted: bool = False
    training: np.ndarray | None = None  # the lines of `TrainingLoss`
    others: tuple[np.ndarray, ...] = ()  # the curves of other evaluation sets

    @property
    def least_loss(self) -> float:
        return float(self.curves[0].min(initial=np.inf))

    def up_to_best(self, at_least: int) -> Boosted:
        """The rounds up to the least validation loss; none if all rounds raised it and `at_least` is 0."""
        best = int(np.argmin(self.curves[0])) + 1 if self.curves.shape[1] else 1
        if at_least == 0 and self.least_loss >= self.initial_loss:
            best = 0
        training = None if self.training is None else self.training[:, :best]
        return replace(self, trees=[trees[:best] for trees in self.trees], training=training)


def boost_rounds(plan: BoostPlan, task: BoostTask, tick: Tick) -> Boosted:
    """Add trees round by round; with a validation set, until its loss has not fallen for `n_iter_no_change` rounds.

    Rounds that the keeper has are not boosted again, but all their figures are computed again.
    """
    run = BoostRun(plan, task)
    try:
        was_interrupted = run.add_rounds(tick)
        if task.keeper is not None:
            task.keeper.end_round(plan, run.grown, is_last=True)
    except KeyboardInterrupt:
        if not task.keep_on_interrupt or not run.grown[0]:
            raise
        was_interrupted = True
    finally:
        with defer_interrupts():
            run.rounds.booster.close()
    return run.result(was_interrupted)


class BoostRun:
    """Boosting in progress: the trees so far, and the figures of the validation sets."""

    def __init__(self, plan: BoostPlan, task: BoostTask) -> None:
        self.plan, self.task = plan, task
        sets = task.others if task.validation is None else (*task.others, task.validation)
        self.validated = [EarlyStopping(plan, rows, task.initial) for rows in sets]
        self.stopping = None if task.validation is None else self.validated[-1]
        self.grown: list[list[GrownTrees]] = [[] for _ in range(plan.loss.n_outputs)]
        self.known = [] if task.keeper is None else task.keeper.begin(plan)
        self.rounds = Rounds(plan, task.rows, task.initial)

    def add_rounds(self, tick: Tick) -> bool:
        """Add rounds up to the last one; returns whether a callback ended them."""
        plan, steps, keeper = self.plan, self.task.steps, self.task.keeper
        for number in range(self.task.first_round, self.task.first_round + self.task.n_rounds):
            if steps is not None:
                steps.begin()
            is_known = len(self.grown[0]) < len(self.known)
            with defer_interrupts():
                self._add_round(number, is_known=is_known)
            if self.task.log is not None and self.rounds.record is not None:
                self.task.log.write(number - self.task.first_round + 1, self.rounds.record)
            if keeper is not None and not is_known:
                keeper.end_round(plan, self.grown)
            tick(1, "" if self.stopping is None else self.stopping.progress_note)
            if steps is not None and steps.end(plan, self.grown):
                return True
            if self._should_stop():
                break
        return False

    def _add_round(self, number: int, *, is_known: bool) -> None:
        """Add the trees of a round, and record the figures of all validation sets."""
        rounds = self.rounds
        parts = rounds.repeat(number, self.known[len(self.grown[0])]) if is_known else rounds.add(number)
        for trees, tree in zip(self.grown, parts, strict=True):
            trees.append(tree)
        for each in self.validated:
            if is_known:
                add_trees_to(each.codes, each.scores, parts)
            else:
                rounds.booster.add_to(each.codes, each.scores)
            each.record()

    def _should_stop(self) -> bool:
        """Whether the validation loss has stopped falling; of several workers, the first one decides."""
        should_stop = self.stopping is not None and self.stopping.should_stop()
        share = self.task.rows.share
        return should_stop if share is None else bool(share.exchange.from_first(should_stop))

    def result(self, was_interrupted: bool) -> Boosted:
        """The trees of all rounds, and the figures of the validation sets."""
        training = None if self.rounds.record is None else self.rounds.record.lines
        if self.stopping is None:
            return Boosted(self.grown, no_curves(self.plan), was_interrupted=was_interrupted, training=training)
        others = tuple(each.curves() for each in self.validated[:-1])
        return Boosted(
            self.grown, self.stopping.curves(), self.stopping.initial_loss, was_interrupted, training, others
        )


class Rounds:
    """A table whose scores grow with every round."""

    def __init__(self, plan: BoostPlan, rows: Rows, initial: np.ndarray) -> None:
        self.plan, self.rows = plan, rows
        self.scores = rows.scores(initial)
        self.gradients, self.hessians = np.empty_like(self.scores), np.empty_like(self.scores)
        self.record = TrainingLoss(plan.loss, rows.targets, rows.weights) if plan.records_training else None
        self.weights = rows.weights if (rows.weights != 1.0).any() else np.empty(0)
        self.booster = make_booster(plan, rows)

    def add(self, number: int) -> list[GrownTrees]:
        """The trees of a round, one per output."""
        plan, loss = self.plan, self.plan.loss
        self._derive()
        random = np.random.default_rng([plan.seed & 0xFFFFFFFF, number])
        sample = self._draw_rows(random, number)
        if self.record is not None:
            self.record.begin_round(self.scores, sample if plan.goss is None else None)
        allowed = draw_columns(random, len(self.rows.codes), plan.colsample_bytree)
        at_once = sample is None and not loss.leaves_from_residuals
        parts = self.booster.grow(
            self.gradients,
            self.hessians,
            plan.recipe,
            seeds=seeds_of_trees(plan.seed, number * 1009 + np.arange(loss.n_outputs)),
            rows=sample,
            allowed=allowed,
            scores=self.scores if at_once else None,
        )
        if loss.leaves_from_residuals:
            parts = [self._with_best_leaf_values(k, part) for k, part in enumerate(parts)]
        if not at_once:
            self.booster.add_to(self.booster.codes_by_row, self.scores)
        if self.record is not None:
            self.record.end_round(self.scores)
        return parts

    def repeat(self, number: int, parts: list[GrownTrees]) -> list[GrownTrees]:
        """Add trees that an earlier fit has grown in this round."""
        plan = self.plan
        plan.loss.adapt(self.scores, self.rows.targets, self.rows.weights)
        if self.record is not None:
            random = np.random.default_rng([plan.seed & 0xFFFFFFFF, number])
            self.record.begin_round(self.scores, self._draw_rows(random, number) if plan.goss is None else None)
        add_trees_to(self.booster.codes_by_row, self.scores, parts)
        if self.record is not None:
            self.record.end_round(self.scores)
        return parts

    def _derive(self) -> None:
        """Compute the gradients and hessians of all rows."""
        loss, n_rows = self.plan.loss, len(self.rows)
        loss.adapt(self.scores, self.rows.targets, self.rows.weights)

        def fill(first: int, last: int) -> None:
            rows = (first, last)
            loss.fill(self.scores, self.rows.targets, self.weights, rows, self.gradients, self.hessians)

        if loss.goes_row_by_row:
            self.booster.run_ranges(fill)
        else:
            fill(0, n_rows)
        loss.check_filled(self.gradients, self.hessians)

    def _draw_rows(self, random: np.random.Generator, number: int) -> np.ndarray | None:
        """The rows that the trees of a round are grown from, or None for all."""
        plan = self.plan
        if plan.goss is None:
            drawn = draw_rows(random, self.rows.n_rows_in_all, plan.subsample)
            return drawn if self.rows.share is None else self.rows.share.own(drawn, len(self.rows))
        # As in LightGBM, the first rounds use all rows: gradients carry little information until then.
        if number < 1.0 / plan.recipe.learning_rate:
            return None
        return draw_by_gradient(random, self.gradients, self.hessians, *plan.goss)

    def _with_best_leaf_values(self, k: int, part: GrownTrees) -> GrownTrees:
        """A tree whose leaves have the best values for the residuals of its rows."""
        plan, targets = self.plan, self.rows.targets
        residuals = (targets if targets.ndim == 1 else targets[k]) - self.scores[k]
        leaves = leaves_in(part, self.booster.codes_by_row)
        best = best_leaf_values(part, leaves, residuals, self.rows.weights, plan.loss, plan.monotonic_cst)
        predictions = plan.recipe.learning_rate * best
        self.booster.grown.leaf_value[k, : len(predictions)] = predictions
        return replace(part, leaf_value=predictions)


def make_booster(plan: BoostPlan, rows: Rows) -> Booster:
    """The engine that grows the trees: with all rows, or with those of one of several workers."""
    given: dict[str, Any] = {
        "monotonic_cst": plan.monotonic_cst,
        "groups": plan.groups,
        "recipe": plan.recipe,
        "n_outputs": plan.loss.n_outputs,
        "allocate": rows.allocate,
    }
    run = choose_compiled_form()
    if rows.share is not None:
        return WorkerBooster(run, rows.codes, plan.bins, share=rows.share, **given)
    return Booster(run, rows.codes, plan.bins, n_threads=plan.n_threads, **given)


def leaves_in(part: GrownTrees, codes: np.ndarray) -> np.ndarray:
    """The leaf of each coded row in a tree."""
    at, block = np.empty(len(codes), np.uint32), np.empty(BLOCK, np.uint32)
    choose_compiled_form()(walk)(codes, 0, len(codes), part.nodes, 0, part.node_set, part.sets, at, block)
    return at


def add_trees_to(codes: np.ndarray, scores: np.ndarray, parts: Sequence[GrownTrees]) -> None:
    """Add the predictions of the trees of a round to the scores of coded rows."""
    for line, part in zip(scores, parts, strict=True):
        line += part.leaf_value[leaves_in(part, codes)]
