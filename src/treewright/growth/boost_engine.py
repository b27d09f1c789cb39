"""Growing the trees of a boosted model, best leaf first: the Python side."""

from __future__ import annotations

import heapq
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treewright.growth.binning import Bins
from treewright.growth.boost_search import (
    COLUMN,
    CUT,
    G_LEFT,
    GAIN,
    H_LEFT,
    IS_SET,
    MISSING_LEFT,
    N_TOLD,
    add_to_rows,
    evaluate,
    pack_codes,
    part_leaf,
    round_gradients,
    sum_leaf,
    sum_packed,
)
from treewright.growth.coding import Run, run_parallel
from treewright.growth.forest_engine import ForestPart
from treewright.growth.forest_walk import pack_leaf, pack_set, pack_split

# Tables of fewer codes are searched by one thread: handing over takes longer than the search.
MIN_CODES_FOR_THREADS = 1 << 19

# Sums of rounded gradients must stay below 2**31, those of rounded hessians below 2**32.
LARGEST_SUM = 2.0**31 - 2.0


@dataclass(frozen=True)
class BoostRecipe:
    """The choices that shape the trees of a boosted model."""

    max_leaf_nodes: int = 31
    max_depth: int = 1 << 30
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    l1: float = 0.0
    l2: float = 1.0
    min_split_gain: float = 0.0
    smoothing: float = 10.0  # of the gradients that categories are ordered by
    learning_rate: float = 0.1


@dataclass(eq=False)
class Leaf:
    """A leaf of a growing tree: its rows, its tally, and the best split found for it."""

    node: int
    lo: int
    hi: int
    slot: int
    both: int  # packed sum
    depth: int
    least: float
    most: float
    told: np.ndarray
    told_set: np.ndarray
    gain: float = -np.inf


@dataclass(eq=False)
class GrowingTree:
    """Nodes and leaves as they are found."""

    words: list[int] = field(default_factory=lambda: [0])
    sets: list[np.ndarray] = field(default_factory=list)
    set_of: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """A grown tree as a part of a forest, with the rows of each leaf."""

    part: ForestPart
    rows: np.ndarray
    ranges: list[tuple[int, int]]


class Booster:
    """A coded table on which tree after tree is grown."""

    def __init__(self, run: Run, codes: np.ndarray, bins: Bins, monotone: np.ndarray, n_threads: int) -> None:
        self.run, self.bins, self.monotone = run, bins, monotone
        self.n_columns, self.n_rows = codes.shape
        n_blocks = -(-self.n_columns // 8)
        self.words = np.empty((n_blocks, self.n_rows), np.uint64)
        starts = range(0, self.n_rows, 1 << 14)
        run_parallel(
            lambda first: run(pack_codes)(codes, first, min(first + (1 << 14), self.n_rows), self.words),
            starts,
            n_threads,
        )
        self.n_threads = min(n_threads, n_blocks) if codes.size >= MIN_CODES_FOR_THREADS else 1
        cuts = np.linspace(0, n_blocks, self.n_threads + 1).astype(int)
        self.ranges = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
        self.rooms = [
            (np.empty(self.n_rows, np.int64), np.empty(256, np.int64), np.empty(256)) for _ in range(self.n_threads)
        ]
        self.told = [np.empty((2, N_TOLD)) for _ in self.ranges]
        self.told_sets = [np.zeros((2, 4), np.uint64) for _ in self.ranges]
        self.packed = np.empty(self.n_rows, np.int64)
        self.spare = np.empty(self.n_rows, np.uint32)
        self.pool = np.empty((0, 8 * n_blocks, 256), np.int64)
        self.scales = np.empty(0)
        self.workers = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def close(self) -> None:
        if self.workers is not None:
            self.workers.shutdown()

    def grow(
        self,
        gradients: np.ndarray,
        hessians: np.ndarray,
        recipe: BoostRecipe,
        *,
        seed: int,
        rows: np.ndarray | None = None,
        allowed: np.ndarray | None = None,
    ) -> BoostedTree:
        """Grow a tree that takes the most off the loss, leaf by leaf."""
        if len(self.pool) < recipe.max_leaf_nodes + 1:
            self.pool = np.empty((recipe.max_leaf_nodes + 1, *self.pool.shape[1:]), np.int64)
        rows = np.arange(self.n_rows, dtype=np.uint32) if rows is None else rows
        allowed = np.ones(self.n_columns, dtype=bool) if allowed is None else allowed
        scales = self._round(gradients, hessians, len(rows), seed)
        limits = np.array([recipe.min_child_weight, recipe.l1, recipe.l2, recipe.smoothing, recipe.min_samples_leaf])
        tree = GrowingTree()
        root = Leaf(
            0, 0, len(rows), 0, int(self.run(sum_packed)(self.packed, rows, len(rows))), 0, -np.inf, np.inf, *_told()
        )
        self._evaluate(rows, root, None, allowed, scales, limits)
        waiting: list[tuple[float, int, Leaf]] = []
        leaves: dict[int, Leaf] = {0: root}
        gains = np.zeros(self.n_columns)
        self._offer(waiting, root, recipe, scales, limits)
        while waiting and len(leaves) < recipe.max_leaf_nodes:
            _, _, leaf = heapq.heappop(waiting)
            children = self._split(tree, rows, leaf, len(leaves), recipe, limits)
            if children is None:
                continue
            del leaves[leaf.node]
            gains[int(leaf.told[COLUMN])] += leaf.gain
            small, large = children if children[0].slot != leaf.slot else children[::-1]
            leaves |= {child.node: child for child in children}
            if len(leaves) < recipe.max_leaf_nodes and small.depth < recipe.max_depth:
                self._evaluate(rows, small, large, allowed, scales, limits)
                for child in children:
                    self._offer(waiting, child, recipe, scales, limits)
        return self._finish(tree, rows, leaves, gradients, hessians, recipe, gains)

    def _round(self, gradients: np.ndarray, hessians: np.ndarray, n_rows: int, seed: int) -> np.ndarray:
        """Round gradients and hessians; returns what turns sums of them back, and the directions of columns."""
        largest_g, largest_h = float(np.abs(gradients).max()), float(hessians.max())
        # Rounding up may add 1 to each row.
        g_scale = (LARGEST_SUM - n_rows) / (max(largest_g, 1e-300) * n_rows)
        h_scale = (2.0 * LARGEST_SUM - n_rows) / (max(largest_h, 1e-300) * n_rows)
        self.run(round_gradients)(gradients, hessians, g_scale, h_scale, np.uint64(seed), self.packed)
        self.scales = np.concatenate([[1.0 / g_scale, 1.0 / h_scale], self.monotone])
        return self.scales

    def _evaluate(
        self, rows: np.ndarray, small: Leaf, large: Leaf | None, allowed: np.ndarray, scales: Any, limits: Any
    ) -> None:
        """Find the best splits of the root, or of the two children of a leaf."""
        sums = np.array([small.both, 0 if large is None else large.both], np.int64)
        sizes = np.array([small.hi - small.lo, 0 if large is None else large.hi - large.lo], np.int64)

        def work(index: int) -> None:
            near, present, along = self.rooms[index]
            self.run(evaluate)(
                self.words,
                *self.ranges[index],
                rows,
                small.lo,
                small.hi,
                self.packed,
                near,
                self.pool,
                small.slot,
                -1 if large is None else large.slot,
                sums,
                sizes,
                self.bins.is_number,
                self.bins.n_codes,
                allowed,
                scales,
                limits,
                self.told[index],
                self.told_sets[index],
                present,
                along,
            )

        others = [self.workers.submit(work, index) for index in range(1, self.n_threads)] if self.workers else []
        work(0)
        for other in others:
            other.result()
        for place, leaf in enumerate((small, large)):
            if leaf is None:
                continue
            best = max(range(self.n_threads), key=lambda index: (self.told[index][place, GAIN], -index))
            leaf.told, leaf.told_set = self.told[best][place].copy(), self.told_sets[best][place].copy()

    def _offer(self, waiting: list[Any], leaf: Leaf, recipe: BoostRecipe, scales: Any, limits: Any) -> None:
        """Let a leaf wait to be split, if that is worth it."""
        if leaf.told[COLUMN] < 0 or leaf.depth >= recipe.max_depth:
            return
        g, h = (leaf.both >> 32) * scales[0], (leaf.both & 0xFFFFFFFF) * scales[1]
        g = max(abs(g) - recipe.l1, 0.0)
        leaf.gain = 0.5 * (leaf.told[GAIN] - g * g / (h + recipe.l2))
        if leaf.gain > max(recipe.min_split_gain, 1e-12 * abs(leaf.told[GAIN])):
            heapq.heappush(waiting, (-leaf.gain, leaf.node, leaf))

    def _split(
        self, tree: GrowingTree, rows: np.ndarray, leaf: Leaf, slot: int, recipe: BoostRecipe, limits: Any
    ) -> tuple[Leaf, Leaf] | None:
        """Part the rows of a leaf; None if a side would have too few."""
        column, cut, is_set = int(leaf.told[COLUMN]), int(leaf.told[CUT]), bool(leaf.told[IS_SET])
        missing_left = bool(leaf.told[MISSING_LEFT])
        words = self.words[column // 8]
        middle, both = self.run(part_leaf)(
            words, rows, leaf.lo, leaf.hi, self.spare, column, cut, missing_left, is_set, leaf.told_set, self.packed
        )
        if min(middle - leaf.lo, leaf.hi - middle) < recipe.min_samples_leaf:
            return None
        child = len(tree.words)
        tree.words += [0, 0]
        if is_set:
            tree.set_of[leaf.node] = len(tree.sets)
            tree.sets.append(leaf.told_set)
            tree.words[leaf.node] = int(pack_set(child, column))
        else:
            tree.words[leaf.node] = int(pack_split(child, column, cut, missing_left))
        bounds = self._bounds(leaf, column, recipe, limits)
        first = Leaf(child, leaf.lo, middle, leaf.slot, int(both), leaf.depth + 1, *bounds[0], *_told())
        second = Leaf(child + 1, middle, leaf.hi, slot, leaf.both - int(both), leaf.depth + 1, *bounds[1], *_told())
        # The larger child takes over the parent's tally, the smaller gets a new one.
        if middle - leaf.lo < leaf.hi - middle:
            first.slot, second.slot = second.slot, first.slot
        return first, second

    def _bounds(
        self, leaf: Leaf, column: int, recipe: BoostRecipe, limits: Any
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """What the answers of the two children must stay within, so that a monotone column stays so below them."""
        direction = self.monotone[column]
        if direction == 0:
            return (leaf.least, leaf.most), (leaf.least, leaf.most)
        g, h = leaf.told[G_LEFT], leaf.told[H_LEFT]
        left = np.clip(-g / (h + recipe.l2), leaf.least, leaf.most)
        g_all, h_all = (leaf.both >> 32) * self.scales[0], (leaf.both & 0xFFFFFFFF) * self.scales[1]
        right = np.clip(-(g_all - g) / (h_all - h + recipe.l2), leaf.least, leaf.most)
        middle = 0.5 * (left + right)
        if direction > 0:
            return (leaf.least, middle), (middle, leaf.most)
        return (middle, leaf.most), (leaf.least, middle)

    def _finish(
        self,
        tree: GrowingTree,
        rows: np.ndarray,
        leaves: dict[int, Leaf],
        gradients: np.ndarray,
        hessians: np.ndarray,
        recipe: BoostRecipe,
        gains: np.ndarray,
    ) -> BoostedTree:
        """The tree with its leaves' answers, from sums in full precision."""
        values, weights, sizes, ranges = [], [], [], []
        for number, (node, leaf) in enumerate(leaves.items()):
            g, h = self.run(sum_leaf)(gradients, hessians, rows, leaf.lo, leaf.hi)
            shrunk = np.sign(g) * max(abs(g) - recipe.l1, 0.0)
            step = -shrunk / (h + recipe.l2) if h + recipe.l2 > 0.0 else 0.0
            values.append(recipe.learning_rate * float(np.clip(step, leaf.least, leaf.most)))
            weights.append(h)
            sizes.append(leaf.hi - leaf.lo)
            ranges.append((leaf.lo, leaf.hi))
            tree.words[node] = int(pack_leaf(number))
        n_nodes = len(tree.words)
        has_sets = not self.bins.is_number.all()
        node_set = np.zeros(n_nodes if has_sets else 0, np.int32)
        for node, number in tree.set_of.items():
            node_set[node] = number
        part = ForestPart(
            ends=np.array([[n_nodes, len(values), len(tree.sets), 0]], np.int64),
            nodes=np.array(tree.words, np.uint64),
            node_set=node_set,
            sets=np.array(tree.sets, np.uint64).reshape(-1, 4),
            leaf_weight=np.array(weights, dtype=np.float64),
            leaf_rows=np.array(sizes, np.uint32),
            leaf_value=np.array(values, dtype=np.float64),
            leaf_spread=np.zeros(len(values)),
            leaf_end=np.empty(0, np.int64),
            entry_class=np.empty(0, np.uint16),
            entry_share=np.empty(0),
            gains=gains[None, :],
        )
        return BoostedTree(part, rows, ranges)

    def add(self, tree: BoostedTree, scores: np.ndarray) -> None:
        """Add a tree's answers to the scores of the rows that it was grown from."""
        for (lo, hi), value in zip(tree.ranges, tree.part.leaf_value, strict=True):
            self.run(add_to_rows)(scores, tree.rows, lo, hi, float(value))


def _told() -> tuple[np.ndarray, np.ndarray]:
    return np.empty(N_TOLD), np.zeros(4, np.uint64)
