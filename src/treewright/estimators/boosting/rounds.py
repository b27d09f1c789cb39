"""The rounds of gradient boosting: gradients, a tree for each output, and early stopping on a validation set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from treewright.encoding.bins import Bins
from treewright.encoding.chunks import is_here
from treewright.engines.boosting.engine import MIN_CODES_FOR_THREADS, Booster, BoostRecipe
from treewright.engines.boosting.worker_engine import Share, WorkerBooster, fits_workers
from treewright.engines.forest.engine import seeds_of_trees
from treewright.engines.packed.trees import GrownTrees
from treewright.engines.packed.walk import BLOCK, walk
from treewright.estimators.boosting.leaf_values import best_leaf_values
from treewright.estimators.boosting.losses import Loss
from treewright.estimators.boosting.metrics import Metric
from treewright.estimators.boosting.training_loss import TrainingLoss
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.interrupts import defer_interrupts
from treewright.runtime.progress import Tick

# Cross-validation folds for the number of rounds; larger tables have one validation set of this fraction.
FOLDS = 5
MOST_ROWS_FOR_FOLDS = 5_000
VALIDATION_FRACTION, MOST_VALIDATION_ROWS = 0.1, 20_000

# Larger tables keep the trees of their validation, instead of boosting again with all rows, and try shapes on a sample.
MOST_ROWS_TO_REFIT = 20_000
KEPT_VALIDATION_FRACTION = 0.05
SAMPLE_FRACTION, MOST_SAMPLE_ROWS, SAMPLE_VALIDATION_FRACTION = 0.5, 30_000, 0.1
# Trials on a sample take fewer and larger steps.
SAMPLE_RATE_FACTOR, SAMPLE_ROUNDS_NO_CHANGE = 3.0, 17

# Codes times outputs from which on folds are boosted by several threads at once.
MIN_WORK_FOR_THREADS = 1 << 13

# Up to this number of rows times outputs, all tree shapes are validated on all folds.
MOST_ROWS_FOR_ALL_FOLDS = 1_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a coded table with their targets and weights."""

    codes: Any  # uint8[column, row], or `CodesElsewhere`
    targets: np.ndarray  # one per row, or a line per output
    weights: np.ndarray
    start: np.ndarray | None = None  # [output, row]: initial scores of the rows, if they are not the same for all
    # Returns the codes of training and validation rows, where those depend on the targets of the training rows.
    code_apart: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
    allocate: Callable[..., np.ndarray] = np.empty  # makes arrays of the size of the codes
    share: Share | None = None  # if these are some rows of a table, and other workers have the others

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    @property
    def n_rows_in_all(self) -> int:
        return len(self) if self.share is None else self.share.n_rows

    def here(self) -> Rows:
        """The same rows with codes in the memory of this process."""
        return self if is_here(self.codes) else replace(self, codes=self.codes.gather())

    def between(self, first: int, last: int, codes: np.ndarray, share: Share | None) -> Rows:
        """Consecutive rows with these codes, for one of several workers."""
        own = slice(first, last)
        start = None if self.start is None else np.ascontiguousarray(self.start[:, own])
        targets = np.ascontiguousarray(self.targets[..., own])
        return Rows(codes, targets, self.weights[own], start, share=share)

    def take(self, places: np.ndarray) -> Rows:
        start = None if self.start is None else np.ascontiguousarray(self.start[:, places])
        targets = np.ascontiguousarray(self.targets[..., places])
        return Rows(self._take_codes(places), targets, self.weights[places], start, allocate=self.allocate)

    def _take_codes(self, places: np.ndarray) -> Any:
        if not is_here(self.codes):
            return self.codes.take(places)
        codes = self.allocate((len(self.codes), len(places)), np.uint8)
        for line, taken in zip(self.codes, codes, strict=True):
            taken[:] = line[places]
        return codes

    def split(self, kept: np.ndarray, held_out: np.ndarray) -> tuple[Rows, Rows]:
        """The training rows and the validation set."""
        training, validation = self.take(kept), self.take(held_out)
        if self.code_apart is None:
            return training, validation
        codes = self.code_apart(kept, held_out)
        return replace(training, codes=codes[0]), replace(validation, codes=codes[1])

    def begin(self, loss: Loss) -> np.ndarray:
        """The initial score of all rows, per output; 0 if each row has its own."""
        initial = loss.begin(self.targets, self.weights)
        return initial if self.start is None else np.zeros_like(initial)

    def scores(self, initial: np.ndarray) -> np.ndarray:
        """The scores before the first round: [output, row]."""
        if self.start is not None:
            return self.start + initial[:, None]
        return np.repeat(initial[:, None], len(self), axis=1)


@dataclass(frozen=True, eq=False)
class BoostPlan:
    """How to boost, every choice checked."""

    recipe: BoostRecipe
    loss: Loss
    bins: Bins
    monotonic_cst: np.ndarray
    groups: np.ndarray | None  # bool[group, column]: columns that may be used together on a path
    subsample: float
    goss: tuple[float, float] | None  # fractions of the rows with the largest gradients, and of the others
    colsample_bytree: float
    n_iter_no_change: int
    seed: int
    n_threads: int
    metrics: tuple[Metric, ...] = ()  # recorded with the validation loss
    scoring: Metric | None = None  # the score that decides when to stop, instead of the loss
    records_training: bool = False  # whether the loss of the training rows is recorded, too
    least_fall: float = 0.0  # least relative reduction of the validation loss that counts
    tol: float = 0.0  # least reduction of the validation loss, or gain of the score, that counts


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


class EarlyStopping:
    """The validation loss after each round, and when to stop."""

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        initial: np.ndarray,
        metrics: Sequence[Metric] = (),
        scoring: Metric | None = None,
    ) -> None:
        self.rows, self.loss, self.metrics, self.scoring = rows, loss, metrics, scoring
        self.codes = np.ascontiguousarray(rows.codes.T)
        self.scores = rows.scores(initial)
        self.figures: list[list[float]] = []  # of each round, the loss first
        self.initial_loss = self._figures()[0]
        self.best, self.round_of_best = np.inf, 0

    @property
    def progress_note(self) -> str:
        """The last and the best validation loss or score, for the progress bar."""
        if self.scoring is not None:
            return f"{self.scoring.name} {-self.figures[-1][0]:.5g}, best {-self.best:.5g}"
        return f"loss {self.figures[-1][0]:.5g}, best {self.best:.5g}"

    def record(self, least_fall: float, tol: float = 0.0) -> None:
        """Record the figures of a round."""
        figures = self._figures()
        self.figures.append([*figures, *self._measure(self.metrics)])
        loss = figures[0]
        if loss < self.best - max(least_fall * abs(self.best), tol) or not np.isfinite(self.best):
            self.best, self.round_of_best = loss, len(self.figures)

    def _figures(self) -> list[float]:
        """What decides, and the loss if that is a score."""
        loss = self.loss.value(self.scores, self.rows.targets, self.rows.weights)
        return [loss] if self.scoring is None else [-self._measure([self.scoring])[0], loss]

    def _measure(self, metrics: Sequence[Metric]) -> list[float]:
        if not metrics:
            return []
        predictions, rows = self.loss.prediction(self.scores), self.rows
        return [metric.compute(rows.targets, predictions, rows.weights) for metric in metrics]

    def curves(self, plan: BoostPlan) -> np.ndarray:
        """The figures of all rounds."""
        return np.array(self.figures).T if self.figures else no_curves(plan)

    def should_stop(self, n_iter_no_change: int) -> bool:
        return len(self.figures) - self.round_of_best >= n_iter_no_change


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


def leaves_in(part: GrownTrees, codes: np.ndarray) -> np.ndarray:
    """The leaf of each coded row in a tree."""
    at, block = np.empty(len(codes), np.uint32), np.empty(BLOCK, np.uint32)
    choose_compiled_form()(walk)(codes, 0, len(codes), part.nodes, 0, part.node_set, part.sets, at, block)
    return at


def add_trees_to(codes: np.ndarray, scores: np.ndarray, parts: Sequence[GrownTrees]) -> None:
    """Add the predictions of the trees of a round to the scores of coded rows."""
    for line, part in zip(scores, parts, strict=True):
        line += part.leaf_value[leaves_in(part, codes)]


def boost(
    plan: BoostPlan,
    rows: Rows,
    initial: np.ndarray,
    n_rounds: int,
    tick: Tick,
    *,
    validation: Rows | None = None,
    others: Sequence[Rows] = (),
    steps: RoundSteps | None = None,
    keeper: RoundKeeper | None = None,
    first_round: int = 0,
    keep_on_interrupt: bool = False,
) -> Boosted:
    """Add trees round by round; with a validation set, until its loss has not fallen for `n_iter_no_change` rounds.

    The figures of `others` are recorded, too. `steps` is called before and after each round, and may end boosting.
    Rounds that `keeper` has are not boosted again, but all their figures are computed again.
    """
    if not is_here(rows.codes):
        return boost_elsewhere(
            plan, rows, initial, n_rounds, tick, validation=validation, others=others, steps=steps, first=first_round
        )

    def watch(given: Rows) -> EarlyStopping:
        return EarlyStopping(given, plan.loss, initial, plan.metrics, plan.scoring)

    stopping = None if validation is None else watch(validation)
    watched = [watch(each) for each in others] + ([] if stopping is None else [stopping])
    grown: list[list[GrownTrees]] = [[] for _ in range(plan.loss.n_outputs)]
    known = [] if keeper is None else keeper.begin(plan)
    rounds = Rounds(plan, rows, initial)
    was_interrupted = False
    try:
        for number in range(first_round, first_round + n_rounds):
            if steps is not None:
                steps.begin()
            with defer_interrupts():
                is_known = len(grown[0]) < len(known)
                parts = rounds.repeat(number, known[len(grown[0])]) if is_known else rounds.add(number)
                for trees, tree in zip(grown, parts, strict=True):
                    trees.append(tree)
                for each in watched:
                    if is_known:
                        add_trees_to(each.codes, each.scores, parts)
                    else:
                        rounds.booster.add_to(each.codes, each.scores)
                    each.record(plan.least_fall, plan.tol)
            if keeper is not None and not is_known:
                keeper.end_round(plan, grown)
            tick(1, "" if stopping is None else stopping.progress_note)
            if steps is not None and steps.end(plan, grown):
                was_interrupted = True
                break
            should_stop = stopping is not None and stopping.should_stop(plan.n_iter_no_change)
            if should_stop if rows.share is None else rows.share.exchange.from_first(should_stop):
                break
        if keeper is not None:
            keeper.end_round(plan, grown, is_last=True)
    except KeyboardInterrupt:
        if not keep_on_interrupt or not grown[0]:
            raise
        was_interrupted = True
    finally:
        with defer_interrupts():
            rounds.booster.close()
    training = None if rounds.record is None else rounds.record.lines
    if stopping is None:
        return Boosted(grown, no_curves(plan), was_interrupted=was_interrupted, training=training)
    recorded = tuple(each.curves(plan) for each in watched[:-1])
    return Boosted(grown, stopping.curves(plan), stopping.initial_loss, was_interrupted, training, recorded)


def boost_elsewhere(
    plan: BoostPlan,
    rows: Rows,
    initial: np.ndarray,
    n_rounds: int,
    tick: Tick,
    *,
    validation: Rows | None,
    others: Sequence[Rows],
    steps: RoundSteps | None,
    first: int,
) -> Boosted:
    """Do the same as `boost` for rows whose codes other processes have.

    Several of them boost together, each with its own rows, if sums over all rows are enough. Otherwise one of them gets
    all codes.
    """
    if steps is not None:
        raise ValueError("callbacks need the table in this process; fit the model without them, or to a local table")
    validation = None if validation is None else validation.here()
    work = BoostWork(plan, initial, n_rounds, validation, tuple(each.here() for each in others), first)
    if can_be_shared(plan):
        return rows.codes.boost(rows, work.boost_share, tick)
    lean = replace(rows, codes=None, code_apart=None, allocate=np.empty)
    return rows.codes.run(partial(work.boost_all, lean), tick)


def can_be_shared(plan: BoostPlan) -> bool:
    """Can workers grow the trees together, each with some of the rows?

    Quantiles of all rows, samples by gradient and own losses need more than sums.
    """
    loss = plan.loss
    return (
        loss.sums_are_enough
        and plan.goss is None
        and not plan.records_training
        and fits_workers(plan.recipe, plan.bins)
    )


@dataclass(frozen=True, eq=False)
class BoostWork:
    """What is known about boosting besides the rows, to boost in any process."""

    plan: BoostPlan
    initial: np.ndarray
    n_rounds: int
    validation: Rows | None
    others: tuple[Rows, ...]
    first_round: int

    def boost_share(self, rows: Rows, is_first: bool, tick: Tick) -> Boosted:
        """Boost together with other workers; the first one has the validation set."""
        return self._boost(rows, tick, with_validation=is_first)

    def boost_all(self, rows: Rows, codes: np.ndarray, tick: Tick) -> Boosted:
        return self._boost(replace(rows, codes=codes), tick, with_validation=True)

    def _boost(self, rows: Rows, tick: Tick, *, with_validation: bool) -> Boosted:
        return boost(
            replace(self.plan, n_threads=1),
            rows,
            self.initial,
            self.n_rounds,
            tick,
            validation=self.validation if with_validation else None,
            others=self.others if with_validation else (),
            first_round=self.first_round,
        )


def boost_best(
    plans: list[BoostPlan],
    rows: Rows,
    initial: np.ndarray,
    n_rounds: int,
    tick: Tick,
    *,
    validation: Rows | None = None,
    others: Sequence[Rows] = (),
    steps: RoundSteps | None = None,
    keeper: RoundKeeper | None = None,
    first_round: int = 0,
    keep_on_interrupt: bool = False,
) -> tuple[BoostPlan, Boosted]:
    """Boost with each plan; returns the plan with the least validation loss, and its trees.

    After an interrupt that keeps trees, the best plan so far is returned.
    """
    tries: list[tuple[BoostPlan, Boosted]] = []
    for plan in plans:
        try:
            found = boost(
                plan,
                rows,
                initial,
                n_rounds,
                tick,
                validation=validation,
                others=others,
                steps=steps,
                keeper=keeper,
                first_round=first_round,
                keep_on_interrupt=keep_on_interrupt,
            )
        except KeyboardInterrupt:
            if not keep_on_interrupt or not tries:
                raise
            break
        tries.append((plan, found))
        if found.was_interrupted:
            break
    return min(tries, key=lambda pair: pair[1].least_loss)


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


def draw_rows(random: np.random.Generator, n_rows: int, share: float) -> np.ndarray | None:
    """Some of the rows in order, or None for all."""
    if share >= 1.0:
        return None
    size = max(1, round(share * n_rows))
    return np.sort(random.choice(n_rows, size, replace=False)).astype(np.uint32)


def draw_by_gradient(
    random: np.random.Generator, gradients: np.ndarray, hessians: np.ndarray, large: float, small: float
) -> np.ndarray:
    """Gradient-based one-side sampling (Ke and others 2017).

    The rows with the largest gradients, and a sample of the others, weighted up for those not drawn.
    """
    n_rows = gradients.shape[1]
    sizes = np.abs(gradients).sum(axis=0)
    n_large = max(1, round(large * n_rows))
    n_small = min(max(1, round(small * n_rows)), n_rows - n_large)
    # In random order, so that of equal gradients not always the same rows are drawn.
    order = random.permutation(n_rows)
    if n_large < n_rows:
        order = order[np.argpartition(-sizes[order], n_large - 1)]
    rest = np.sort(order[n_large:])
    drawn = random.choice(rest, n_small, replace=False) if n_small else rest
    if n_small:
        gradients[:, drawn] *= len(rest) / n_small
        hessians[:, drawn] *= len(rest) / n_small
    return np.sort(np.append(order[:n_large], drawn)).astype(np.uint32)


def draw_columns(random: np.random.Generator, n_columns: int, share: float) -> np.ndarray:
    """Which columns a tree may split on."""
    allowed = np.ones(n_columns, dtype=bool)
    if share < 1.0:
        allowed[:] = False
        allowed[random.choice(n_columns, max(1, round(share * n_columns)), replace=False)] = True
    return allowed


def choose_plan(
    plans: list[BoostPlan], rows: Rows, most: int, share: float | None, tick: Tick
) -> tuple[int, BoostPlan, np.ndarray]:
    """The number of rounds with the least validation loss, its plan, and the loss after each round.

    `share` is the fraction of the validation set. With None, small tables are validated in five folds, and large ones
    on a tenth of the rows. If validation takes long, only the best plan is validated on more than two folds.
    """
    splits = validation_splits(plans[0], rows, share)
    n_first = len(splits) if len(rows) * plans[0].loss.n_outputs <= MOST_ROWS_FOR_ALL_FOLDS else min(2, len(splits))
    if len(plans) == 1:
        n_first = len(splits)
    first = validate_plans([(plan, split) for plan in plans for split in splits[:n_first]], rows, most, tick)
    curves = [first[place * n_first : (place + 1) * n_first] for place in range(len(plans))]
    best = min(range(len(plans)), key=lambda place: mean_curves(curves[place])[0].min())
    rest = validate_plans([(plans[best], split) for split in splits[n_first:]], rows, most, tick)
    mean = mean_curves(curves[best] + rest)
    return int(np.argmin(mean[0])) + 1, plans[best], mean


def choose_plan_on_sample(plans: list[BoostPlan], rows: Rows, most: int, tick: Tick) -> BoostPlan:
    """The plan with the least validation loss on a sample of the rows."""
    if len(plans) == 1:
        return plans[0]
    size = min(round(SAMPLE_FRACTION * len(rows)), MOST_SAMPLE_ROWS)
    sample = rows.take(spread_rows(plans[0], rows, size)[1]).here()
    split = validation_splits(plans[0], sample, SAMPLE_VALIDATION_FRACTION)[0]
    trials = [hasten(plan) for plan in plans]
    fewer = max(round(most / SAMPLE_RATE_FACTOR), 1)
    curves = validate_plans([(trial, split) for trial in trials], sample, fewer, tick)
    return plans[min(range(len(plans)), key=lambda place: curves[place][0].min(initial=np.inf))]


def hasten(plan: BoostPlan) -> BoostPlan:
    """The plan with larger steps, for a trial."""
    recipe = replace(plan.recipe, learning_rate=min(SAMPLE_RATE_FACTOR * plan.recipe.learning_rate, 1.0))
    return replace(plan, recipe=recipe, n_iter_no_change=min(plan.n_iter_no_change, SAMPLE_ROUNDS_NO_CHANGE))


def hold_out(plan: BoostPlan, rows: Rows) -> tuple[Rows, Rows]:
    """The training rows and the validation set of a table that keeps the trees of its validation."""
    size = min(round(KEPT_VALIDATION_FRACTION * len(rows)), MOST_VALIDATION_ROWS)
    return rows.split(*spread_rows(plan, rows, size))


def mean_curves(curves: list[np.ndarray]) -> np.ndarray:
    """The mean of each figure after each round; a fold that stopped early counts with its last figures."""
    length = max(each.shape[1] for each in curves)
    return np.mean([np.pad(each, ((0, 0), (0, length - each.shape[1])), mode="edge") for each in curves], axis=0)


def no_curves(plan: BoostPlan) -> np.ndarray:
    """The figures of no round."""
    return np.empty((1 + (plan.scoring is not None) + len(plan.metrics), 0))


def validate_plans(
    jobs: list[tuple[BoostPlan, tuple[np.ndarray, np.ndarray]]], rows: Rows, most: int, tick: Tick
) -> list[np.ndarray]:
    """The validation loss after each round, for pairs of a plan and a split into training and validation rows.

    Medium tables are boosted by one thread per split. The smallest are boosted by one thread, because several would
    wait for each other most of the time. Large tables use all threads within each split.
    """
    stopped = threading.Event()

    def tick_or_stop(steps: int = 1, note: str = "") -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        tick(steps, note)

    def validate(job: tuple[BoostPlan, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        plan, (kept, held_out) = job
        training, validation = rows.split(kept, held_out)
        plan = replace(plan, loss=plan.loss.fresh(), records_training=False)
        initial = training.begin(plan.loss)
        return boost(plan, training, initial, most, tick_or_stop, validation=validation).curves

    work = rows.codes.size * jobs[0][0].loss.n_outputs if jobs else 0
    at_once = work >= MIN_WORK_FOR_THREADS and rows.codes.size < MIN_CODES_FOR_THREADS
    n_threads = jobs[0][0].n_threads if at_once else 1
    if n_threads < 2 or len(jobs) < 2:
        return [validate(job) for job in jobs]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(validate, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stopped.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def validation_splits(plan: BoostPlan, rows: Rows, share: float | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """The training rows and the validation rows, once or for each fold; neighbours by target go to different folds."""
    n_rows, order = len(rows), order_by_target(plan, rows)
    if share is not None:
        return [spread_rows(plan, rows, min(max(1, round(share * n_rows)), n_rows - 1))]
    if n_rows <= MOST_ROWS_FOR_FOLDS:
        places = [np.arange(fold, n_rows, FOLDS) for fold in range(FOLDS)]
    else:
        places = [np.arange(0, n_rows, max(round(1.0 / VALIDATION_FRACTION), -(-n_rows // MOST_VALIDATION_ROWS)))]
    return [(np.sort(np.delete(order, held_out)), np.sort(order[held_out])) for held_out in places]


def order_by_target(plan: BoostPlan, rows: Rows) -> np.ndarray:
    """The rows in random order; those of one target in the order of the target, rows of equal targets at random."""
    order = np.random.default_rng(plan.seed & 0xFFFFFFFF).permutation(len(rows))
    return order[np.argsort(rows.targets[order], kind="stable")] if rows.targets.ndim == 1 else order


def spread_rows(plan: BoostPlan, rows: Rows, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The other rows, and a sample of this size that is spread evenly over the targets."""
    order = order_by_target(plan, rows)
    places = np.linspace(0, len(rows) - 1, size).round().astype(np.intp)
    return np.sort(np.delete(order, places)), np.sort(order[places])
