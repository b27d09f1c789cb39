"""Boosting where the codes are: in this process, or on the workers of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from treewright.encoding.chunks import is_here
from treewright.engines.boosting.worker_engine import fits_workers
from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.rounds import Boosted, BoostTask, boost_rounds
from treewright.estimators.boosting.rows import Rows
from treewright.runtime.progress import Tick


def boost(plan: BoostPlan, task: BoostTask, tick: Tick) -> Boosted:
    """Add trees round by round, where the codes of the rows are."""
    return (boost_rounds if is_here(task.rows.codes) else boost_on_workers)(plan, task, tick)


def boost_on_workers(plan: BoostPlan, task: BoostTask, tick: Tick) -> Boosted:
    """Do the same as `boost_rounds` for rows whose codes other processes have.

    Several of them boost together, each with its own rows, if sums over all rows are enough. Otherwise one of them gets
    all codes.
    """
    if task.steps is not None:
        raise ValueError("callbacks need the table in this process; fit the model without them, or to a local table")
    rows, validation = task.rows, None if task.validation is None else task.validation.here()
    others = tuple(each.here() for each in task.others)
    work = BoostWork(plan, task.initial, task.n_rounds, validation, others, task.first_round)
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
        validation, others = (self.validation, self.others) if with_validation else (None, ())
        task = BoostTask(rows, self.initial, self.n_rounds, validation, others, self.first_round)
        return boost_rounds(replace(self.plan, n_threads=1), task, tick)
