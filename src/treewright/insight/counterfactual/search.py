"""The search for the nearest change: one pass over the leaves of a tree, branch and bound for sums of trees.

Nearer is a change of fewer columns, and of equally many the one with the smaller sum of magnitudes.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from treewright.insight.counterfactual.choices import Choices
from treewright.insight.counterfactual.goals import Goal
from treewright.insight.counterfactual.leaves import Leaves

# A change: the columns and the place of the choice of each.
Plan = dict[int, int]
Check = Callable[[Plan], bool]

# Combinations of choices that are rated together instead of branching on them.
MOST_TOGETHER = 256
# More sets of columns than this are not listed.
MOST_SETS = 200_000


@dataclass(frozen=True)
class Found:
    """The best change found, None if there is none; and what is proven about better ones."""

    plan: Plan | None
    proven: bool
    bound: tuple[int, float]


def cost_of(plan: Plan, choices: list[Choices]) -> float:
    """The sum of the magnitudes of a change."""
    return float(sum(choices[place].costs[choice] for place, choice in plan.items()))


def search_tree(leaves: Leaves, choices: list[Choices], goal: Goal, check: Check) -> Found:
    """The nearest leaf of a single tree: for each leaf, the least change that reaches it."""
    n_leaves, n_columns = leaves.term.shape
    chosen = np.zeros((n_leaves, n_columns), dtype=np.intp)
    possible = leaves.trained & goal.may_hold((leaves.value + leaves.constant) @ goal.direction.T)
    costs = np.zeros((n_leaves, n_columns))
    for place in range(n_columns):
        passed = leaves.of_column(place, np.arange(n_leaves)) > 0.0
        possible &= passed.any(axis=1)
        chosen[:, place] = passed.argmax(axis=1)  # choices are in ascending order of magnitude
        costs[:, place] = choices[place].costs[chosen[:, place]]
    n_changed = np.count_nonzero(chosen, axis=1)
    for leaf in np.lexsort((costs.sum(axis=1), n_changed)).tolist():
        if not possible[leaf]:
            continue
        plan = {place: int(chosen[leaf, place]) for place in np.flatnonzero(chosen[leaf]).tolist()}
        if check(plan):
            return Found(plan, True, (len(plan), cost_of(plan, choices)))
    return Found(None, True, (0, 0.0))


class Boxes:
    """Bounds on the conditions of a goal while some columns are free: sets of choices, one set per free column."""

    def __init__(self, leaves: Leaves, choices: list[Choices], goal: Goal) -> None:
        self.leaves, self.choices = leaves, choices
        self.value = leaves.value @ goal.direction.T
        self.constant = leaves.constant @ goal.direction.T
        self.goal = goal
        self.fails = leaves.own == 0.0
        self.n_fails = self.fails.sum(axis=1)
        self._cache: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray, list[np.ndarray]]] = {}

    def _open(self, columns: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """The leaves that can be reached if only these columns change, their fixed part, and what choices let pass."""
        if columns not in self._cache:
            if len(self._cache) > 64:
                self._cache.clear()
            places = list(columns)
            near = np.flatnonzero(self.n_fails == self.fails[:, places].sum(axis=1))
            others = np.delete(self.leaves.own[near], places, axis=1)
            passed = [self.leaves.of_column(place, near) for place in places]
            self._cache[columns] = near, np.asarray(others.prod(axis=1)), passed
        return self._cache[columns]

    def may_hold(self, columns: tuple[int, ...], sets: tuple[np.ndarray, ...]) -> bool:
        """Whether the goal may be reached by some combination of the choices."""
        near, weight, passed = self._open(columns)
        reached = weight > 0.0
        for one, allowed in zip(passed, sets, strict=True):
            reached = reached & (one[:, allowed].max(axis=1) > 0.0)
        near = near[reached]
        starts = np.flatnonzero(np.diff(self.leaves.tree[near], prepend=-1))
        highest = np.maximum.reduceat(self.value[near], starts, axis=0).sum(axis=0) + self.constant
        return bool(self.goal.may_hold(highest))

    def outcomes(self, columns: tuple[int, ...], combinations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The conditions for combinations of choices, a line each, and whether training rows reach their leaves."""
        near, weight, passed = self._open(columns)
        parts = np.repeat(weight[None, :], len(combinations), axis=0)
        for one, places in zip(passed, combinations.T, strict=True):
            parts *= one[:, places].T
        plausible = ~((parts > 0.0) & ~self.leaves.trained[near]).any(axis=1)
        return parts @ self.value[near] + self.constant, plausible


def search_sum(leaves: Leaves, choices: list[Choices], goal: Goal, check: Check, max_nodes: int) -> Found:
    """The nearest change for a sum of trees, by branch and bound on sets of columns and of their choices."""
    boxes = Boxes(leaves, choices, goal)
    free = [place for place, one in enumerate(choices) if len(one) > 1]
    everything = tuple(np.arange(len(choices[place])) for place in free)
    if not free or not boxes.may_hold(tuple(free), everything):
        return Found(None, True, (0, 0.0))
    budget = max_nodes
    for size in range(1, len(free) + 1):
        found, budget, bound = _search_size(boxes, free, size, check, budget)
        if found is not None:
            return Found(found, True, (size, cost_of(found, choices)))
        if budget <= 0:
            return _by_steps(boxes, free, check, (size, bound))
    return Found(None, True, (0, 0.0))


def _search_size(boxes: Boxes, free: list[int], size: int, check: Check, budget: int) -> tuple[Plan | None, int, float]:
    """The best change of exactly so many columns; what is left of the budget, and a bound on the distance."""
    least = {place: float(boxes.choices[place].costs[1]) for place in free}
    if math.comb(len(free), size) > MOST_SETS:
        return None, 0, float(sum(sorted(least.values())[:size]))
    order = itertools.count()
    heap: list[tuple[float, int, tuple[int, ...], tuple[np.ndarray, ...]]] = [
        (sum(least[place] for place in columns), next(order), columns, ())
        for columns in itertools.combinations(free, size)
    ]
    heapq.heapify(heap)
    while heap:
        bound, _, columns, sets = heapq.heappop(heap)
        if budget <= 0:
            return None, 0, bound
        budget -= 1
        sets = sets or tuple(np.arange(1, len(boxes.choices[place])) for place in columns)
        is_single = all(len(one) == 1 for one in sets)
        if is_single and check({place: int(one[0]) for place, one in zip(columns, sets, strict=True)}):
            plan = {place: int(one[0]) for place, one in zip(columns, sets, strict=True)}
            return plan, budget, bound
        if is_single or not boxes.may_hold(columns, sets):
            continue
        for cost, parts in _branches(boxes, columns, sets):
            heapq.heappush(heap, (cost, next(order), columns, parts))
    return None, budget, 0.0


def _branches(
    boxes: Boxes, columns: tuple[int, ...], sets: tuple[np.ndarray, ...]
) -> Iterator[tuple[float, tuple[np.ndarray, ...]]]:
    """Smaller boxes that together hold all combinations of a box that may reach the goal, with their least cost."""
    if math.prod(map(len, sets)) <= MOST_TOGETHER:
        combinations = np.array(list(itertools.product(*sets)))
        if not boxes.leaves.loose:
            reached, plausible = boxes.outcomes(columns, combinations)
            combinations = combinations[boxes.goal.may_hold(reached) & plausible]
        parts = [tuple(np.array([choice]) for choice in line) for line in combinations]
    else:
        widest = max(range(len(sets)), key=lambda number: len(sets[number]))
        half = len(sets[widest]) // 2
        both = sets[widest][:half], sets[widest][half:]
        parts = [(*sets[:widest], one, *sets[widest + 1 :]) for one in both]
    for part in parts:
        least = sum(boxes.choices[place].costs[one[0]] for place, one in zip(columns, part, strict=True))
        yield float(least), part


def _by_steps(boxes: Boxes, free: list[int], check: Check, bound: tuple[int, float]) -> Found:
    """A change that reaches the goal, column by column, each the one that helps most; then without needless ones."""
    plan: Plan = {}
    while len(plan) < len(free):
        best: tuple[float, int, int] | None = None
        for place in free:
            if place in plan:
                continue
            columns = (*plan, place)
            tried = np.arange(1, len(boxes.choices[place]))
            combinations = np.column_stack([*(np.full(len(tried), choice) for choice in plan.values()), tried])
            reached, plausible = boxes.outcomes(columns, combinations)
            progress = np.where(plausible, boxes.goal.progress(reached), -np.inf)
            top = int(progress.argmax())
            if best is None or progress[top] > best[0]:
                best = float(progress[top]), place, int(tried[top])
        assert best is not None
        if best[0] == -np.inf:
            return Found(None, False, bound)
        plan[best[1]] = best[2]
        if check(plan):
            return Found(without_needless(plan, check), False, bound)
    return Found(None, False, bound)


def without_needless(plan: Plan, check: Check) -> Plan:
    """A change without the columns that can keep their own value, tried in turn."""
    for place in list(plan):
        smaller = {other: choice for other, choice in plan.items() if other != place}
        if check(smaller):
            plan = smaller
    return plan


def search_predictions(choices: list[Choices], check_many: Callable[[list[Plan]], list[bool]], max_nodes: int) -> Found:
    """The nearest change for any model, by predicting all changes of one column, then of two, and so on."""
    free = [place for place, one in enumerate(choices) if len(one) > 1]
    for size in range(1, len(free) + 1):
        n_plans = sum(
            math.prod(len(choices[place]) - 1 for place in columns) for columns in itertools.combinations(free, size)
        )
        if n_plans > max_nodes:
            return Found(None, False, (size, 0.0))
        max_nodes -= n_plans
        plans = [
            dict(zip(columns, line, strict=True))
            for columns in itertools.combinations(free, size)
            for line in itertools.product(*(range(1, len(choices[place])) for place in columns))
        ]
        reached = [plan for plan, is_reached in zip(plans, check_many(plans), strict=True) if is_reached]
        if reached:
            best = min(reached, key=lambda plan: cost_of(plan, choices))
            return Found(best, True, (size, cost_of(best, choices)))
    return Found(None, True, (0, 0.0))
