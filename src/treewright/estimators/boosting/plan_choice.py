"""The choice among plans and of the number of rounds, by the validation loss."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from treewright.engines.boosting.engine import MIN_CODES_FOR_THREADS
from treewright.estimators.boosting.early_stopping import mean_curves
from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.rounds import Boosted, BoostTask
from treewright.estimators.boosting.rows import Rows
from treewright.estimators.boosting.validation_splits import spread_rows, validation_splits
from treewright.estimators.boosting.workers import boost
from treewright.runtime.progress import Tick

# Large tables try shapes on a sample.
SAMPLE_FRACTION, MOST_SAMPLE_ROWS, SAMPLE_VALIDATION_FRACTION = 0.5, 30_000, 0.1
# Trials on a sample take fewer and larger steps.
SAMPLE_RATE_FACTOR, SAMPLE_ROUNDS_NO_CHANGE = 3.0, 17

# Codes times outputs from which on folds are boosted by several threads at once.
MIN_WORK_FOR_THREADS = 1 << 13

# Up to this number of rows times outputs, all tree shapes are validated on all folds.
MOST_ROWS_FOR_ALL_FOLDS = 1_000

# The training rows and the validation rows.
Split = tuple[np.ndarray, np.ndarray]


def boost_best(plans: list[BoostPlan], task: BoostTask, tick: Tick) -> tuple[BoostPlan, Boosted]:
    """Boost with each plan; returns the plan with the least validation loss, and its trees.

    After an interrupt that keeps trees, the best plan so far is returned.
    """
    tries: list[tuple[BoostPlan, Boosted]] = []
    for plan in plans:
        try:
            found = boost(plan, task, tick)
        except KeyboardInterrupt:
            if not task.keep_on_interrupt or not tries:
                raise
            break
        tries.append((plan, found))
        if found.was_interrupted:
            break
    return min(tries, key=lambda pair: pair[1].least_loss)


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


def validate_plans(jobs: list[tuple[BoostPlan, Split]], rows: Rows, most: int, tick: Tick) -> list[np.ndarray]:
    """The validation loss after each round, for pairs of a plan and a split into training and validation rows.

    Medium tables are boosted by one thread per split. The smallest are boosted by one thread, because several would
    wait for each other most of the time. Large tables use all threads within each split.
    """
    stopped = threading.Event()

    def tick_or_stop(steps: int = 1, note: str = "") -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        tick(steps, note)

    def validate(job: tuple[BoostPlan, Split]) -> np.ndarray:
        plan, (kept, held_out) = job
        training, validation = rows.split(kept, held_out)
        plan = replace(plan, loss=plan.loss.fresh(), records_training=False)
        task = BoostTask(training, training.begin(plan.loss), most, validation)
        return boost(plan, task, tick_or_stop).curves

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
