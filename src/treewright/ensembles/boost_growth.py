"""The rounds of gradient boosting: gradients, a tree for each output, and a judgement by rows held back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treewright.ensembles.losses import Loss
from treewright.growth.binning import Bins
from treewright.growth.boost_engine import BoostedTree, Booster, BoostRecipe
from treewright.growth.forest_engine import ForestPart, choose_forest_form, seed_of_tree
from treewright.growth.forest_walk import BLOCK, walk

# Folds by which the number of rounds is chosen, and the share of rows held back where one judgement is enough.
FOLDS = 5
MOST_ROWS_FOR_FOLDS = 5_000
HELD_BACK, MOST_HELD_BACK = 0.1, 20_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a coded table with their targets and weights."""

    codes: np.ndarray  # [column, row]
    targets: np.ndarray
    weights: np.ndarray

    def take(self, places: np.ndarray) -> Rows:
        return Rows(np.ascontiguousarray(self.codes[:, places]), self.targets[places], self.weights[places])


@dataclass(frozen=True, eq=False)
class BoostPlan:
    """How to boost, every choice checked."""

    recipe: BoostRecipe
    loss: Loss
    bins: Bins
    monotone: np.ndarray
    subsample: float
    column_sample: float
    patience: int
    seed: int
    n_threads: int


@dataclass(frozen=True, eq=False)
class Boosted:
    """What boosting has found: for each output the trees of all rounds, and the loss on rows held back after each."""

    parts: list[list[ForestPart]]
    history: np.ndarray

    @property
    def n_rounds(self) -> int:
        return len(self.parts[0])


class Judge:
    """Follows rows held back through the rounds."""

    def __init__(self, held: Rows, loss: Loss, initial: np.ndarray) -> None:
        self.held, self.loss = held, loss
        self.codes = np.ascontiguousarray(held.codes.T)
        self.scores = np.repeat(initial[:, None], len(held.targets), axis=1)
        self.history: list[float] = []

    def add(self, output: int, part: ForestPart) -> None:
        self.scores[output] += part.leaf_value[leaves_in(part, self.codes)]

    def look(self) -> None:
        self.history.append(self.loss.value(self.scores, self.held.targets, self.held.weights))

    def has_seen_enough(self, patience: int) -> bool:
        return len(self.history) - 1 - int(np.argmin(self.history)) >= patience


def leaves_in(part: ForestPart, codes: np.ndarray) -> np.ndarray:
    """The leaf of each coded row in a tree."""
    at = np.empty(len(codes), np.uint32)
    room = np.empty(BLOCK, np.uint32)
    choose_forest_form()(walk)(codes, 0, len(codes), part.nodes, 0, part.node_set, part.sets, at, room)
    return at


def boost(
    plan: BoostPlan,
    rows: Rows,
    initial: np.ndarray,
    n_rounds: int,
    tick: Callable[[int], None],
    *,
    held: Rows | None = None,
    earlier: np.ndarray | None = None,
    first_round: int = 0,
    keep_on_interrupt: bool = False,
) -> Boosted:
    """Add trees round by round; `earlier` has the scores that earlier trees gave.

    With rows held back, boosting ends when their loss has not fallen for a while.
    """
    scores = np.repeat(initial[:, None], len(rows.targets), axis=1) if earlier is None else earlier.copy()
    booster = Booster(choose_forest_form(), rows.codes, plan.bins, plan.monotone.astype(np.float64), plan.n_threads)
    judge = None if held is None else Judge(held, plan.loss, initial)
    by_row = np.ascontiguousarray(rows.codes.T) if plan.subsample < 1.0 else np.empty((0, 0), np.uint8)
    parts: list[list[ForestPart]] = [[] for _ in range(plan.loss.n_outputs)]
    try:
        for number in range(first_round, first_round + n_rounds):
            gradients, hessians = plan.loss.derive(scores, rows.targets)
            random = np.random.default_rng([plan.seed & 0xFFFFFFFF, number])
            sample = draw_rows(random, len(rows.targets), plan.subsample)
            allowed = draw_columns(random, len(rows.codes), plan.column_sample)
            grown = [
                grow_one(booster, plan, rows, scores[k], gradients[k], hessians[k], sample, allowed, number * 1009 + k)
                for k in range(plan.loss.n_outputs)
            ]
            for k, tree in enumerate(grown):
                if plan.subsample < 1.0:
                    scores[k] += tree.part.leaf_value[leaves_in(tree.part, by_row)]
                else:
                    booster.add(tree, scores[k])
                parts[k].append(tree.part)
                if judge is not None:
                    judge.add(k, tree.part)
            tick(1)
            if judge is not None:
                judge.look()
                if judge.has_seen_enough(plan.patience):
                    break
    except KeyboardInterrupt:
        complete = min(map(len, parts))
        if not keep_on_interrupt or complete == 0:
            raise
        parts = [trees[:complete] for trees in parts]
    finally:
        booster.close()
    return Boosted(parts, np.array([] if judge is None else judge.history))


def grow_one(
    booster: Booster,
    plan: BoostPlan,
    rows: Rows,
    scores: np.ndarray,
    gradients: np.ndarray,
    hessians: np.ndarray,
    sample: np.ndarray | None,
    allowed: np.ndarray,
    number: int,
) -> BoostedTree:
    """One tree for one output."""
    gradients, hessians = np.ascontiguousarray(gradients * rows.weights), np.ascontiguousarray(hessians * rows.weights)
    drawn = None if sample is None else sample.copy()
    seed = int(seed_of_tree(plan.seed, number))
    tree = booster.grow(gradients, hessians, plan.recipe, seed=seed, rows=drawn, allowed=allowed)
    if not plan.loss.answers_by_residuals:
        return tree
    residuals = rows.targets - scores
    values = [
        plan.recipe.learning_rate * plan.loss.leaf(residuals[tree.rows[lo:hi]], rows.weights[tree.rows[lo:hi]])
        for lo, hi in tree.ranges
    ]
    return BoostedTree(replace(tree.part, leaf_value=np.array(values)), tree.rows, tree.ranges)


def draw_rows(random: np.random.Generator, n_rows: int, share: float) -> np.ndarray | None:
    """Some of the rows in order, or None for all."""
    if share >= 1.0:
        return None
    size = max(1, round(share * n_rows))
    return np.sort(random.choice(n_rows, size, replace=False)).astype(np.uint32)


def draw_columns(random: np.random.Generator, n_columns: int, share: float) -> np.ndarray:
    """Which columns a tree may ask for."""
    allowed = np.ones(n_columns, dtype=bool)
    if share < 1.0:
        allowed[:] = False
        allowed[random.choice(n_columns, max(1, round(share * n_columns)), replace=False)] = True
    return allowed


def choose_rounds(plan: BoostPlan, rows: Rows, most: int, tick: Callable[[int], None]) -> tuple[int, np.ndarray]:
    """After how many rounds the loss on rows held back is least, and that loss after each round.

    Small tables are judged in five folds, so that every row is held back once; of large ones a tenth is.
    """
    n_rows = len(rows.targets)
    order = np.random.default_rng(plan.seed & 0xFFFFFFFF).permutation(n_rows)
    # Neighbours in the order of their targets go to different folds.
    order = order[np.argsort(rows.targets[order], kind="stable")]
    n_folds = FOLDS if n_rows <= MOST_ROWS_FOR_FOLDS else max(round(1.0 / HELD_BACK), -(-n_rows // MOST_HELD_BACK))
    judged = range(n_folds if n_rows <= MOST_ROWS_FOR_FOLDS else 1)
    histories = []
    for fold in judged:
        held = order[fold::n_folds]
        kept = np.setdiff1d(order, held)
        part = rows.take(kept)
        initial = plan.loss.begin(part.targets, part.weights)
        histories.append(boost(plan, part, initial, most, tick, held=rows.take(held)).history)
    length = max(map(len, histories))
    padded = [np.append(line, np.full(length - len(line), line[-1])) for line in histories]
    mean = np.mean(padded, axis=0)
    return int(np.argmin(mean)) + 1, mean
