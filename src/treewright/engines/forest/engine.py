"""From a table in bytes to the arrays of a grown forest: the Python side of growing forests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.encoding.bins import Bins
from treewright.engines.forest.loop import draw_bag, grow_forest_trees
from treewright.engines.forest.workspace import ForestRecipe, make_room
from treewright.engines.packed.masks import MOST_LEAVES, ROWS_NEAR, answer_by_masks, turn_codes
from treewright.engines.packed.walk import BLOCK, answer_block, walk
from treewright.runtime.draws import GOLDEN, scramble
from treewright.runtime.forms import Run
from treewright.runtime.threads import run_interruptibly, run_parallel

# Rows that are sent down all trees together; their codes stay in fast memory meanwhile.
ROWS_AT_ONCE = 4096

# Small trees answer for this many rows at a time, and only where there are enough rows to make their tables for.
ROWS_BY_MASKS, MIN_ROWS_FOR_MASKS = 1 << 14, 256

# Trees of small tables are grown several in one call, of so many rows in all: a call takes as long as a small tree.
ROWS_AT_A_TIME = 1 << 15


@dataclass(frozen=True)
class Bagging:
    """How the rows of each tree are drawn: how many, and whether a row may be drawn again; no draws take all rows."""

    n_draws: int = 0
    replace: bool = True

    def room(self, n_rows: int) -> np.ndarray:
        """Room to shuffle rows in, where they are drawn without replacement."""
        return np.empty(0 if self.replace or self.n_draws == 0 else n_rows, np.uint32)


@dataclass(frozen=True)
class Goal:
    """What the trees learn: targets (numbers, or labels as numbers), and how rows are weighed."""

    targets: np.ndarray
    weights: np.ndarray  # empty if all rows weigh 1
    n_classes: int  # 0 for numbers
    by_class: bool  # keep the weight of every class, rather than weight and sum
    balanced: bool = False  # weigh the classes in each bag so that all have the same total

    @property
    def exact(self) -> bool:
        """Are all sums whole numbers, so that differences are exact?"""
        return self.n_classes > 0 and not self.by_class and len(self.weights) == 0 and not self.balanced


@dataclass(frozen=True)
class ForestPart:
    """Some grown trees, one after the other; see `tree.Forest` for what each array means."""

    ends: np.ndarray  # where the nodes, leaves, sets and entries of each tree end
    nodes: np.ndarray
    node_set: np.ndarray
    sets: np.ndarray
    leaf_weight: np.ndarray
    leaf_rows: np.ndarray
    leaf_value: np.ndarray
    leaf_spread: np.ndarray
    leaf_end: np.ndarray
    entry_class: np.ndarray
    entry_share: np.ndarray
    gains: np.ndarray


# A search multiplies six weights and two targets. Beyond these powers of 2 they are brought back to about 1 beforehand.
LARGEST_POWER = 60
# A row weighs at least this power of 2 of the heaviest row.
LEAST_WEIGHT_POWER = -150

# Weight and sum of a node share a word if both are whole numbers, 31 bits for each.
MOST_PACKED = (1 << 31) - 1


@dataclass(frozen=True)
class Scale:
    """Powers of 2 that weights and targets are divided by, so that no product is too large or too small to be held."""

    weights: int = 0
    targets: int = 0

    @classmethod
    def of(cls, goal: Goal) -> Scale:
        return cls(_power_of(goal.weights), 0 if goal.n_classes else _power_of(goal.targets))

    def bring_down(self, goal: Goal) -> Goal:
        """What the trees learn, on this scale."""
        weights = np.ldexp(goal.weights, -self.weights)
        if len(weights):
            weights = np.maximum(weights, np.ldexp(weights.max(), LEAST_WEIGHT_POWER))
        return replace(goal, weights=weights, targets=np.ldexp(goal.targets, -self.targets))

    def bring_back(self, part: ForestPart) -> ForestPart:
        """Grown trees, on the user's scale; of gains only the shares of the columns matter."""
        if not self.weights and not self.targets:
            return part
        with np.errstate(over="ignore"):
            return replace(
                part,
                leaf_weight=np.ldexp(part.leaf_weight, self.weights),
                leaf_value=np.ldexp(part.leaf_value, self.targets),
                leaf_spread=np.ldexp(part.leaf_spread, self.weights + 2 * self.targets),
            )


def _power_of(numbers: np.ndarray) -> int:
    """The power of 2 of the largest number, 0 if there is nothing to scale."""
    power = int(np.frexp(np.abs(numbers).max())[1]) if len(numbers) else 0
    return power if abs(power) > LARGEST_POWER else 0


def seed_of_tree(seed: int, tree: int) -> np.uint64:
    """The seed of a tree depends on the forest's seed and its own number alone, so that trees can be added later."""
    return np.uint64(seeds_of_trees(seed, np.array([tree]))[0])


def seeds_of_trees(seed: int, trees: np.ndarray) -> np.ndarray:
    """The seeds of several trees."""
    return np.asarray(scramble(np.uint64(seed) + GOLDEN * (trees + 1).astype(np.uint64)))


def bag_seed_of_tree(seed: int, tree: int) -> np.uint64:
    """The seed of a tree's bag: another stream of numbers than the one that draws columns."""
    return seed_of_tree(seed, tree) ^ np.uint64(0x5DEECE66D)


def bag_of_tree(run: Run, seed: int, tree: int, bagging: Bagging, n_rows: int) -> np.ndarray:
    """How often each row is in the bag of a tree."""
    counts = np.empty(n_rows, np.uint16)
    run(draw_bag)(bag_seed_of_tree(seed, tree), bagging.n_draws, bagging.replace, counts, bagging.room(n_rows))
    return counts


def grow_forest(
    run: Run,
    codes: np.ndarray,
    bins: Bins,
    goal: Goal,
    recipe: ForestRecipe,
    bagging: Bagging,
    *,
    monotone: np.ndarray,
    trees: Sequence[int],
    seed: int,
    n_threads: int,
    tick: Callable[[int], None],
) -> list[ForestPart]:
    """Grow the trees with these numbers, each by one thread; `tick` is told of trees that are finished.

    An interrupt stops all threads within a node's time.
    """
    scale = Scale.of(goal)
    goal = scale.bring_down(goal)
    with np.errstate(over="ignore"):
        recipe = recipe._replace(min_gain=float(np.ldexp(recipe.min_gain, -2 * scale.targets)))
    stop = np.zeros(1, np.uint8)
    room_of_thread = threading.local()
    n_rows = codes.shape[1]
    codes_by_row = np.ascontiguousarray(codes.T)
    of_rows = goal.weights if len(goal.weights) else None
    exact = goal.exact and max(bagging.n_draws, n_rows) <= MOST_PACKED
    centre = 0.0 if goal.n_classes else float(np.average(goal.targets, weights=of_rows))
    size = max(1, min(ROWS_AT_A_TIME // n_rows, -(-len(trees) // (4 * n_threads))))

    def grow_some(first: int) -> ForestPart:
        if not hasattr(room_of_thread, "arrays"):
            room_of_thread.counts, room_of_thread.order = np.empty(n_rows, np.uint16), bagging.room(n_rows)
            room_of_thread.arrays = make_room(
                codes,
                codes_by_row,
                bins,
                goal.targets,
                n_trees=size,
                n_targets=goal.n_classes,
                by_class=goal.by_class,
                monotone=monotone,
                stop=stop,
            )
        numbers = trees[first : first + size]
        run(grow_forest_trees)(
            room_of_thread.arrays,
            recipe,
            goal.n_classes,
            exact,
            np.array([seed_of_tree(seed, tree) for tree in numbers], np.uint64),
            np.array([bag_seed_of_tree(seed, tree) for tree in numbers], np.uint64),
            bagging.n_draws,
            bagging.replace,
            room_of_thread.counts,
            room_of_thread.order,
            goal.weights,
            np.empty(goal.n_classes if goal.balanced else 0),
            centre,
            True if goal.by_class else None,
        )
        tick(len(numbers))
        return scale.bring_back(take_part(room_of_thread.arrays, len(numbers), goal.by_class))

    return run_interruptibly(grow_some, range(0, len(trees), size), n_threads, stop)


def balancing_factors(labels: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """What to multiply the weight of each class with, so that all classes that occur weigh the same."""
    totals = np.bincount(labels, weights, minlength=n_classes)
    present = totals > 0.0
    return np.where(present, totals.sum() / (present.sum() * np.where(present, totals, 1.0)), 1.0)


def take_part(arrays: Any, n_trees: int, by_class: bool) -> ForestPart:
    """Copy finished trees out of the room that they were grown in."""
    n_nodes, n_leaves, n_sets, n_entries = arrays.ends[n_trees - 1].tolist()
    return ForestPart(
        ends=arrays.ends[:n_trees].copy(),
        nodes=arrays.nodes[:n_nodes].copy(),
        node_set=arrays.node_set[:n_nodes].copy(),
        sets=arrays.sets[:n_sets].copy(),
        leaf_weight=arrays.leaf_weight[:n_leaves].copy(),
        leaf_rows=arrays.leaf_rows[:n_leaves].copy(),
        leaf_value=arrays.leaf_value[: 0 if by_class else n_leaves].copy(),
        leaf_spread=arrays.leaf_spread[:n_leaves].copy(),
        leaf_end=arrays.leaf_end[: n_leaves if by_class else 0].copy(),
        entry_class=arrays.entry_class[:n_entries].copy(),
        entry_share=arrays.entry_share[:n_entries].copy(),
        gains=arrays.gains[:n_trees].copy(),
    )


def pack_bags(run: Run, seed: int, bagging: Bagging, n_trees: int, n_rows: int) -> np.ndarray:
    """A line per tree, with a bit per row that was in its bag."""
    bags = np.empty((n_trees, -(-n_rows // 8)), np.uint8)
    for tree in range(n_trees):
        bags[tree] = np.packbits(bag_of_tree(run, seed, tree, bagging, n_rows) > 0, bitorder="little")
    return bags


def answer_rows(
    run: Run, codes: np.ndarray, forest: Any, majority: bool, n_threads: int, bags: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What the trees answer for each coded row, added up, and how many answered."""
    n_rows = len(codes)
    n_classes = len(forest.target.classes)
    out = np.zeros((n_rows, n_classes if len(forest.leaf_end) else 1))
    n_answers = np.zeros(n_rows, np.int64)
    if bags is None and not majority and _has_small_trees(forest) and n_rows >= MIN_ROWS_FOR_MASKS:
        _answer_by_masks(run, codes, forest, n_threads, out)
        return out, np.full(n_rows, len(forest.node_start) - 1)
    bags = np.empty((0, 0), np.uint8) if bags is None else bags

    def answer(first: int) -> None:
        last = min(first + ROWS_AT_ONCE, n_rows)
        run(answer_block)(
            codes,
            first,
            last,
            forest.nodes,
            forest.node_start,
            forest.node_set,
            forest.sets,
            forest.leaf_start,
            forest.leaf_value,
            forest.leaf_end,
            forest.entry_class,
            forest.entry_share,
            majority,
            bags,
            out,
            n_answers,
            np.empty(last - first, np.uint32),
            np.empty(BLOCK, np.uint32),
        )

    _run_blocks(answer, n_rows, n_threads)
    return out, n_answers


def _has_small_trees(forest: Any) -> bool:
    """Can the leaves of every tree be told by the bits of a word?"""
    return len(forest.leaf_end) == 0 and int(np.diff(forest.leaf_start).max(initial=0)) <= MOST_LEAVES


def _answer_by_masks(run: Run, codes: np.ndarray, forest: Any, n_threads: int, out: np.ndarray) -> None:
    """The same for small trees, without walking."""
    n_rows, n_columns = codes.shape
    size = ROWS_BY_MASKS if n_threads < 2 else min(ROWS_BY_MASKS, -(-n_rows // n_threads))

    def answer(first: int) -> None:
        last = min(first + size, n_rows)
        near = np.empty((n_columns, last - first), np.uint8)
        run(turn_codes)(codes, first, last, near)
        run(answer_by_masks)(
            first,
            last,
            forest.nodes,
            forest.node_start,
            forest.node_set,
            forest.sets,
            forest.leaf_start,
            forest.leaf_value,
            out,
            near,
            np.empty(ROWS_NEAR, np.uint64),
            np.empty((min(n_columns, MOST_LEAVES), 256), np.uint64),
            np.empty(min(n_columns, MOST_LEAVES), np.int64),
            np.full(n_columns, -1, np.int64),
            np.empty(MOST_LEAVES, np.uint32),
            np.empty((MOST_LEAVES, 2), np.int64),
        )

    run_parallel(answer, range(0, n_rows, size), n_threads)


def leaves_of_rows(run: Run, codes: np.ndarray, forest: Any, n_threads: int) -> np.ndarray:
    """The leaf of each coded row in each tree."""
    n_rows, n_trees = len(codes), len(forest.node_start) - 1
    leaves = np.empty((n_trees, n_rows), np.uint32)

    def descend(first: int) -> None:
        last = min(first + ROWS_AT_ONCE, n_rows)
        active = np.empty(BLOCK, np.uint32)
        for tree in range(n_trees):
            at = leaves[tree, first:last]
            run(walk)(
                codes, first, last, forest.nodes, forest.node_start[tree], forest.node_set, forest.sets, at, active
            )

    _run_blocks(descend, n_rows, n_threads)
    return leaves.T


def _run_blocks(work: Callable[[int], None], n_rows: int, n_threads: int) -> None:
    firsts = range(0, n_rows, ROWS_AT_ONCE)
    if n_threads < 2 or len(firsts) < 2:
        for first in firsts:
            work(first)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, firsts))
