"""The Python side of growing forests: from a table in bytes to the arrays of a grown forest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewright.encoding.bins import BinnedTable
from treewright.engines.criteria import CRITERIA, NAMES
from treewright.engines.forest.loop import draw_bag, grow_forest_trees
from treewright.engines.forest.workspace import ForestArrays, ForestRecipe, make_workspace
from treewright.engines.packed.trees import GrownTrees
from treewright.runtime.draws import GOLDEN, scramble
from treewright.runtime.forms import Run
from treewright.runtime.threads import run_interruptibly

# Total number of rows of the trees that are grown in one call. Trees of small tables are grown several at a time,
# because a call takes as long as a small tree.
ROWS_AT_A_TIME = 1 << 15


@dataclass(frozen=True)
class Bagging:
    """How the bootstrap sample of each tree is drawn: size, and with or without replacement; no draws use all rows."""

    n_draws: int = 0
    replace: bool = True

    def shuffle_order(self, n_rows: int) -> np.ndarray:
        """Return an array in which rows are shuffled, if they are drawn without replacement."""
        return np.empty(0 if self.replace or self.n_draws == 0 else n_rows, np.uint32)


@dataclass(frozen=True)
class Goal:
    """The target of the trees (numbers, or labels as numbers), and the weights of rows."""

    targets: np.ndarray
    weights: np.ndarray  # empty if all rows have weight 1
    n_classes: int  # 0 for numbers
    by_class: bool  # keep the weight of every class, rather than weight and sum
    balanced: bool = False  # weight the classes in each bag so that all have the same total

    @property
    def exact(self) -> bool:
        """Are all sums whole numbers, so that differences are exact?"""
        return self.n_classes > 0 and not self.by_class and len(self.weights) == 0 and not self.balanced


# A search multiplies six weights and two targets. Beyond these powers of 2 they are scaled to about 1 beforehand.
LARGEST_POWER = 60
# The least weight of a row is the largest weight times 2 to this power.
LEAST_WEIGHT_POWER = -150

# Weight and sum of a node are in one word if both are whole numbers, with 31 bits each.
MOST_PACKED = (1 << 31) - 1


@dataclass(frozen=True)
class Scale:
    """Powers of 2 by which weights and targets are divided, so that no product overflows or underflows."""

    weights: int = 0
    targets: int = 0

    @classmethod
    def of(cls, goal: Goal) -> Scale:
        return cls(_power_of(goal.weights), 0 if goal.n_classes else _power_of(goal.targets))

    def scale_down(self, goal: Goal) -> Goal:
        """Scale the target and the weights down."""
        weights = np.ldexp(goal.weights, -self.weights)
        if len(weights):
            weights = np.maximum(weights, np.ldexp(weights.max(), LEAST_WEIGHT_POWER))
        return replace(goal, weights=weights, targets=np.ldexp(goal.targets, -self.targets))

    def scale_back(self, grown: GrownTrees) -> GrownTrees:
        """Scale grown trees back to the user's units; of gains only the relative sizes matter."""
        if not self.weights and not self.targets:
            return grown
        with np.errstate(over="ignore"):
            return replace(
                grown,
                leaf_weight=np.ldexp(grown.leaf_weight, self.weights),
                leaf_value=np.ldexp(grown.leaf_value, self.targets),
                leaf_spread=np.ldexp(grown.leaf_spread, self.weights + 2 * self.targets),
            )


def _power_of(numbers: np.ndarray) -> int:
    """Return the exponent of 2 of the largest number, or 0 if scaling is not needed."""
    power = int(np.frexp(np.abs(numbers).max())[1]) if len(numbers) else 0
    return power if abs(power) > LARGEST_POWER else 0


def seed_of_tree(seed: int, tree: int) -> np.uint64:
    """Return the seed of a tree, which depends only on the forest's seed and its number: trees can be added later."""
    return np.uint64(seeds_of_trees(seed, np.array([tree]))[0])


def seeds_of_trees(seed: int, trees: np.ndarray) -> np.ndarray:
    """Return the seeds of several trees."""
    return np.asarray(scramble(np.uint64(seed) + GOLDEN * (trees + 1).astype(np.uint64)))


def bag_seed_of_tree(seed: int, tree: int) -> np.uint64:
    """Return the seed of a tree's bag, which starts another random stream than the one that draws columns."""
    return seed_of_tree(seed, tree) ^ np.uint64(0x5DEECE66D)


def bag_of_tree(run: Run, seed: int, tree: int, bagging: Bagging, n_rows: int) -> np.ndarray:
    """Return how often each row is in the bag of a tree."""
    counts = np.empty(n_rows, np.uint16)
    run(draw_bag)(bag_seed_of_tree(seed, tree), bagging.n_draws, bagging.replace, counts, bagging.shuffle_order(n_rows))
    return counts


def grow_forest(
    run: Run,
    table: BinnedTable,
    goal: Goal,
    recipe: ForestRecipe,
    bagging: Bagging,
    *,
    adjusted: np.ndarray,
    monotonic_cst: np.ndarray,
    trees: Sequence[int],
    seed: int,
    n_threads: int,
    tick: Callable[[int], None],
) -> list[GrownTrees]:
    """Grow the trees with these numbers, each by one thread; `tick` is called with the number of finished trees.

    `adjusted` says for each column whether its splits are rated without the gain that its categories have by chance.
    An interrupt stops all threads within the time of one node.
    """
    if not CRITERIA[NAMES[recipe.criterion]].on_bins:
        raise ValueError(f"criterion {NAMES[recipe.criterion]!r} cannot be used on bins")
    scale = Scale.of(goal)
    goal = scale.scale_down(goal)
    assert len(table.codes_by_row) == table.codes.shape[1]  # computed before threads need it
    with np.errstate(over="ignore"):
        recipe = recipe._replace(min_split_gain=float(np.ldexp(recipe.min_split_gain, -2 * scale.targets)))
    stop = np.zeros(1, np.uint8)
    workspace_of_thread = threading.local()
    n_rows = table.codes.shape[1]
    of_rows = goal.weights if len(goal.weights) else None
    exact = goal.exact and max(bagging.n_draws, n_rows) <= MOST_PACKED
    centre = 0.0 if goal.n_classes else float(np.average(goal.targets, weights=of_rows))
    size = max(1, min(ROWS_AT_A_TIME // n_rows, -(-len(trees) // (4 * n_threads))))

    def grow_some(first: int) -> GrownTrees:
        if not hasattr(workspace_of_thread, "arrays"):
            workspace_of_thread.counts, workspace_of_thread.order = (
                np.empty(n_rows, np.uint16),
                bagging.shuffle_order(n_rows),
            )
            workspace_of_thread.arrays = make_workspace(
                table,
                goal.targets,
                n_trees=size,
                n_targets=goal.n_classes,
                by_class=goal.by_class,
                adjusted=adjusted,
                monotonic_cst=monotonic_cst,
                stop=stop,
            )
        numbers = trees[first : first + size]
        run(grow_forest_trees)(
            workspace_of_thread.arrays,
            recipe,
            goal.n_classes,
            exact,
            np.array([seed_of_tree(seed, tree) for tree in numbers], np.uint64),
            np.array([bag_seed_of_tree(seed, tree) for tree in numbers], np.uint64),
            bagging.n_draws,
            bagging.replace,
            workspace_of_thread.counts,
            workspace_of_thread.order,
            goal.weights,
            np.empty(goal.n_classes if goal.balanced else 0),
            centre,
            True if goal.by_class else None,
        )
        tick(len(numbers))
        return scale.scale_back(copy_trees(workspace_of_thread.arrays, len(numbers), goal.by_class))

    return run_interruptibly(grow_some, range(0, len(trees), size), n_threads, stop)


def balancing_factors(labels: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the factor for the weight of each class with which all classes that occur have the same total."""
    totals = np.bincount(labels, weights, minlength=n_classes)
    present = totals > 0.0
    return np.where(present, totals.sum() / (present.sum() * np.where(present, totals, 1.0)), 1.0)


def copy_trees(arrays: ForestArrays, n_trees: int, by_class: bool) -> GrownTrees:
    """Copy finished trees out of the workspace."""
    n_nodes, n_leaves, n_sets, n_entries = arrays.ends[n_trees - 1].tolist()
    return GrownTrees(
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
    """Return one line per tree, with one bit per row that was in its bag."""
    bags = np.empty((n_trees, -(-n_rows // 8)), np.uint8)
    for tree in range(n_trees):
        bags[tree] = np.packbits(bag_of_tree(run, seed, tree, bagging, n_rows) > 0, bitorder="little")
    return bags
