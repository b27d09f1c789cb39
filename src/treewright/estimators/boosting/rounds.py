"""The rounds of gradient boosting: gradients, a tree for each output, and a judgement by the validation set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from treewright.encoding.bins import Bins
from treewright.engines.boosting.engine import MIN_CODES_FOR_THREADS, Booster, BoostRecipe
from treewright.engines.forest.engine import seeds_of_trees
from treewright.engines.packed.trees import GrownTrees
from treewright.engines.packed.walk import BLOCK, walk
from treewright.estimators.boosting.leaf_values import best_leaf_values
from treewright.estimators.boosting.losses import Loss
from treewright.estimators.boosting.metrics import Metric
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.interrupts import defer_interrupts
from treewright.runtime.progress import Tick

# Folds by which the number of rounds is chosen, and the share of the validation set where one judgement is enough.
FOLDS = 5
MOST_ROWS_FOR_FOLDS = 5_000
HELD_BACK, MOST_HELD_BACK = 0.1, 20_000

# Codes times outputs from which on parts are boosted by several threads at once.
MIN_WORK_FOR_THREADS = 1 << 13

# Up to so many rows times outputs, all shapes of trees are judged by all folds.
MOST_ROWS_FOR_ALL_FOLDS = 1_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a coded table with their targets and weights."""

    codes: np.ndarray  # [column, row]
    targets: np.ndarray  # one per row, or a line per output
    weights: np.ndarray
    start: np.ndarray | None = None  # [output, row]: scores to begin with, rather than with the same for all rows
    # The codes of rows to learn from and of the validation set, where those depend on the targets of the former.
    code_apart: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None

    def __len__(self) -> int:
        return self.codes.shape[1]

    def take(self, places: np.ndarray) -> Rows:
        codes = np.ascontiguousarray(self.codes[:, places])
        start = None if self.start is None else np.ascontiguousarray(self.start[:, places])
        return Rows(codes, np.ascontiguousarray(self.targets[..., places]), self.weights[places], start)

    def part(self, kept: np.ndarray, held: np.ndarray) -> tuple[Rows, Rows]:
        """Rows to learn from, and the validation set to judge by."""
        parts = self.take(kept), self.take(held)
        if self.code_apart is None:
            return parts
        codes = self.code_apart(kept, held)
        return replace(parts[0], codes=codes[0]), replace(parts[1], codes=codes[1])

    def begin(self, loss: Loss) -> np.ndarray:
        """The score that all rows begin with, per output; 0 if each has one of its own."""
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
    groups: np.ndarray | None  # bool[group, column]: columns that may meet on a path
    subsample: float
    goss: tuple[float, float] | None  # shares of the rows with the largest gradients, and of the others
    colsample_bytree: float
    n_iter_no_change: int
    seed: int
    n_threads: int
    metrics: tuple[Metric, ...] = ()  # recorded beside the validation loss
    least_fall: float = 0.0  # what counts as a fall of the loss on the validation set, as a share of it


@dataclass(frozen=True, eq=False)
class Boosted:
    """What boosting has found.

    For each output the trees of all rounds, and the loss on the validation set after each.
    """

    parts: list[list[GrownTrees]]
    curves: np.ndarray  # float64[figure, round]: validation loss, then the metrics

    loss_before: float = np.inf  # on the validation set, before the first round
    was_interrupted: bool = False

    @property
    def least_loss(self) -> float:
        return float(self.curves[0].min(initial=np.inf))

    def up_to_best(self, at_least: int) -> Boosted:
        """The rounds up to the least loss on the validation set; none if they only made it larger, and none will do."""
        best = int(np.argmin(self.curves[0])) + 1 if self.curves.shape[1] else 1
        if at_least == 0 and self.least_loss >= self.loss_before:
            best = 0
        return replace(self, parts=[trees[:best] for trees in self.parts])


class Judge:
    """Follows the validation set through the rounds."""

    def __init__(self, held: Rows, loss: Loss, initial: np.ndarray, metrics: Sequence[Metric] = ()) -> None:
        self.held, self.loss, self.metrics = held, loss, metrics
        self.codes = np.ascontiguousarray(held.codes.T)
        self.scores = held.scores(initial)
        self.figures: list[list[float]] = []  # of each round, the loss first
        self.loss_before = loss.value(self.scores, held.targets, held.weights)
        self.best, self.round_of_best = np.inf, 0

    @property
    def told(self) -> str:
        """What to tell of the last round."""
        return f"loss {self.figures[-1][0]:.5g}, best {self.best:.5g}"

    def look(self, least_fall: float) -> None:
        """Judge the round."""
        loss = self.loss.value(self.scores, self.held.targets, self.held.weights)
        self.figures.append([loss, *self._measure()])
        if loss < self.best - least_fall * abs(self.best) or not np.isfinite(self.best):
            self.best, self.round_of_best = loss, len(self.figures)

    def _measure(self) -> list[float]:
        if not self.metrics:
            return []
        predictions, held = self.loss.prediction(self.scores), self.held
        return [metric.compute(held.targets, predictions, held.weights) for metric in self.metrics]

    def should_stop(self, n_iter_no_change: int) -> bool:
        return len(self.figures) - self.round_of_best >= n_iter_no_change


def leaves_in(part: GrownTrees, codes: np.ndarray) -> np.ndarray:
    """The leaf of each coded row in a tree."""
    at, room = np.empty(len(codes), np.uint32), np.empty(BLOCK, np.uint32)
    choose_compiled_form()(walk)(codes, 0, len(codes), part.nodes, 0, part.node_set, part.sets, at, room)
    return at


def boost(
    plan: BoostPlan,
    rows: Rows,
    initial: np.ndarray,
    n_rounds: int,
    tick: Tick,
    *,
    held: Rows | None = None,
    first_round: int = 0,
    keep_on_interrupt: bool = False,
) -> Boosted:
    """Add trees round by round; with the validation set, until their loss has not fallen for a while."""
    judge = None if held is None else Judge(held, plan.loss, initial, plan.metrics)
    parts: list[list[GrownTrees]] = [[] for _ in range(plan.loss.n_outputs)]
    rounds = Rounds(plan, rows, initial)
    was_interrupted = False
    try:
        for number in range(first_round, first_round + n_rounds):
            with defer_interrupts():
                for trees, part in zip(parts, rounds.add(number), strict=True):
                    trees.append(part)
                if judge is not None:
                    rounds.booster.add_to(judge.codes, judge.scores)
                    judge.look(plan.least_fall)
            tick(1, "" if judge is None else judge.told)
            if judge is not None and judge.should_stop(plan.n_iter_no_change):
                break
    except KeyboardInterrupt:
        if not keep_on_interrupt or not parts[0]:
            raise
        was_interrupted = True
    finally:
        with defer_interrupts():
            rounds.booster.close()
    if judge is None:
        return Boosted(parts, no_curves(plan), was_interrupted=was_interrupted)
    curves = np.array(judge.figures).T if judge.figures else no_curves(plan)
    return Boosted(parts, curves, judge.loss_before, was_interrupted)


def boost_best(
    plans: list[BoostPlan],
    rows: Rows,
    initial: np.ndarray,
    n_rounds: int,
    tick: Tick,
    *,
    held: Rows | None = None,
    first_round: int = 0,
    keep_on_interrupt: bool = False,
) -> tuple[BoostPlan, Boosted]:
    """Boost by each plan; returns the plan with the least validation loss, and what it found.

    An interrupt that keeps trees keeps the best of those so far, and tries no more plans.
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
                held=held,
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


class Rounds:
    """A table whose scores grow with every round."""

    def __init__(self, plan: BoostPlan, rows: Rows, initial: np.ndarray) -> None:
        self.plan, self.rows = plan, rows
        self.scores = rows.scores(initial)
        self.gradients, self.hessians = np.empty_like(self.scores), np.empty_like(self.scores)
        self.weights = rows.weights if (rows.weights != 1.0).any() else np.empty(0)
        self.booster = Booster(
            choose_compiled_form(),
            rows.codes,
            plan.bins,
            monotonic_cst=plan.monotonic_cst,
            groups=plan.groups,
            recipe=plan.recipe,
            n_outputs=plan.loss.n_outputs,
            n_threads=plan.n_threads,
        )

    def add(self, number: int) -> list[GrownTrees]:
        """The trees of a round, one per output."""
        plan, loss = self.plan, self.plan.loss
        self._derive()
        random = np.random.default_rng([plan.seed & 0xFFFFFFFF, number])
        sample = self._draw_rows(random, number)
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
        return parts

    def _derive(self) -> None:
        """Work out the gradients and hessians of all rows."""
        loss, n_rows = self.plan.loss, len(self.rows)

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
            return draw_rows(random, len(self.rows), plan.subsample)
        # As in LightGBM, the first steps are taken with all rows: until then gradients tell little.
        if number < 1.0 / plan.recipe.learning_rate:
            return None
        return draw_by_gradient(random, self.gradients, self.hessians, *plan.goss)

    def _with_best_leaf_values(self, k: int, part: GrownTrees) -> GrownTrees:
        """A tree whose leaves give the best answers to what is left of the targets."""
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
    """The rows with the largest gradients, and some of the others, which are weighed up for those not drawn.

    Gradient-based one-side sampling (Ke and others 2017).
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
    """Which columns a tree may ask for."""
    allowed = np.ones(n_columns, dtype=bool)
    if share < 1.0:
        allowed[:] = False
        allowed[random.choice(n_columns, max(1, round(share * n_columns)), replace=False)] = True
    return allowed


def choose_plan(
    plans: list[BoostPlan], rows: Rows, most: int, share: float | None, tick: Tick
) -> tuple[int, BoostPlan, np.ndarray]:
    """The plan of the least loss on the validation set, after how many rounds it is, and the loss after each round.

    Without a share to hold back, small tables are judged in five folds, so that every row is kept for validation once;
    of large ones a tenth is kept for validation. If judging takes long, all but the best plan are judged by the first
    two folds only.
    """
    parts = validation_splits(plans[0], rows, share)
    n_first = len(parts) if len(rows) * plans[0].loss.n_outputs <= MOST_ROWS_FOR_ALL_FOLDS else min(2, len(parts))
    if len(plans) == 1:
        n_first = len(parts)
    judged = validate_plans([(plan, part) for plan in plans for part in parts[:n_first]], rows, most, tick)
    curves = [judged[place * n_first : (place + 1) * n_first] for place in range(len(plans))]
    best = min(range(len(plans)), key=lambda place: mean_curves(curves[place])[0].min())
    rest = validate_plans([(plans[best], part) for part in parts[n_first:]], rows, most, tick)
    mean = mean_curves(curves[best] + rest)
    return int(np.argmin(mean[0])) + 1, plans[best], mean


def mean_curves(curves: list[np.ndarray]) -> np.ndarray:
    """The mean of each figure after each round; a fold that stopped early counts with its last figures."""
    length = max(each.shape[1] for each in curves)
    return np.mean([np.pad(each, ((0, 0), (0, length - each.shape[1])), mode="edge") for each in curves], axis=0)


def no_curves(plan: BoostPlan) -> np.ndarray:
    """The figures of no round."""
    return np.empty((1 + len(plan.metrics), 0))


def validate_plans(
    jobs: list[tuple[BoostPlan, tuple[np.ndarray, np.ndarray]]], rows: Rows, most: int, tick: Tick
) -> list[np.ndarray]:
    """The loss after each round on the validation set, for plans and the rows to learn from and to hold back.

    Tables too small to be shared by threads are boosted by several threads at once, each on its own part; the smallest
    by one, for the threads would wait for each other most of the time.
    """
    stopped = threading.Event()

    def tick_or_stop(steps: int = 1, note: str = "") -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        tick(steps, note)

    def judge(job: tuple[BoostPlan, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        plan, (kept, held) = job
        part, apart = rows.part(kept, held)
        plan = replace(plan, loss=plan.loss.fresh())
        return boost(plan, part, part.begin(plan.loss), most, tick_or_stop, held=apart).curves

    work = rows.codes.size * jobs[0][0].loss.n_outputs if jobs else 0
    at_once = work >= MIN_WORK_FOR_THREADS and rows.codes.size < MIN_CODES_FOR_THREADS
    n_threads = jobs[0][0].n_threads if at_once else 1
    if n_threads < 2 or len(jobs) < 2:
        return [judge(job) for job in jobs]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(judge, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stopped.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def validation_splits(plan: BoostPlan, rows: Rows, share: float | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows to learn from and those kept for validation, once or for each fold."""
    n_rows = len(rows)
    order = np.random.default_rng(plan.seed & 0xFFFFFFFF).permutation(n_rows)
    # Neighbours in the order of their targets go to different parts.
    if rows.targets.ndim == 1:
        order = order[np.argsort(rows.targets[order], kind="stable")]
    if share is not None:
        size = min(max(1, round(share * n_rows)), n_rows - 1)
        places = [np.linspace(0, n_rows - 1, size).round().astype(np.intp)]
    elif n_rows <= MOST_ROWS_FOR_FOLDS:
        places = [np.arange(fold, n_rows, FOLDS) for fold in range(FOLDS)]
    else:
        places = [np.arange(0, n_rows, max(round(1.0 / HELD_BACK), -(-n_rows // MOST_HELD_BACK)))]
    return [(np.sort(np.delete(order, held)), np.sort(order[held])) for held in places]
