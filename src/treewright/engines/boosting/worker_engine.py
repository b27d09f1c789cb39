"""Growing the trees of a boosted model on the rows of one worker, while other workers have the other rows.

Workers exchange sums of whole numbers, and sums of blocks of rows in the order of the table. All of them come to the
same decisions, and the tree is the one that a single process grows from all rows.

Histograms of several leaves are exchanged at a time. A leaf may therefore be divided before it is known whether the
tree will have this split: the splits of a tree are chosen afterwards, in the order of their gains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from treewright.encoding.bins import Bins
from treewright.engines.boosting.engine import LAYOUTS, MOST_POOL_BYTES, Booster, BoostRecipe
from treewright.engines.boosting.search import COLUMN, FIRST_SUM, H_MASK, H_SHIFT, N_PROPOSAL
from treewright.engines.boosting.worker_kernels import (
    add_leaves,
    begin_tree,
    choose_level,
    divide_leaves,
    measure_rows,
    note_leaves_of_rows,
    round_rows_apart,
    search_leaves,
    set_values_of_leaves,
    sum_leaves,
    write_tree,
)
from treewright.engines.boosting.workspace import (
    DEPTH,
    GAIN,
    HI,
    LEAST,
    LEAVES_AT_ONCE,
    LO,
    MOST,
    N_ROWS,
    SUM,
    TURN,
    BoostSettings,
    SharedState,
    ThreadState,
)
from treewright.engines.packed.trees import GrownTrees
from treewright.runtime.draws import GOLDEN
from treewright.runtime.forms import Run

# The share of the splits that a tree may still have, of which leaves are divided before their turn: where an exchange
# takes longer than dividing a leaf in vain, and where it takes less time.
DIVIDED_EARLY, DIVIDED_EARLY_IF_QUICK = 0.75, 0.2

# Leaves beyond those of the tree that may be divided in vain, relative to its number of leaves.
MORE_RECORDS = 2


class Exchange(Protocol):
    """How the workers of a fit exchange arrays; each call is made by all of them in the same order."""

    is_quick: bool  # whether an exchange takes less time than dividing a leaf; all workers have the same value

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The arrays of all workers, one after the other in the order of their rows."""

    def add_up(self, array: np.ndarray) -> np.ndarray:
        """The sum of the arrays of all workers, which are whole numbers; the array may be overwritten."""

    def from_first(self, value: Any) -> Any:
        """The value of the first worker."""


@dataclass(frozen=True, eq=False)
class Share:
    """The rows of a table that one of several workers has: consecutive ones, from a multiple of `TURN` on."""

    exchange: Exchange
    first_row: int
    n_rows: int  # of the whole table

    def own(self, rows: np.ndarray | None, n_own: int) -> np.ndarray | None:
        """Those of some rows of the table that the worker has, in ascending order, as numbers of its own rows."""
        if rows is None:
            return None
        first, last = np.searchsorted(rows, [self.first_row, self.first_row + n_own])
        return (rows[first:last] - np.uint32(self.first_row)).astype(np.uint32)


def edges_of_shares(n_rows: int, n_workers: int) -> list[int]:
    """The first row of each worker, and the end: about equally many rows each, in whole blocks.

    >>> edges_of_shares(20_000, 2), edges_of_shares(5_000, 8)
    ([0, 12288, 20000], [0, 4096, 5000])
    """
    n_turns = -(-n_rows // TURN)
    n_workers = min(n_workers, n_turns)
    turns = [-(-n_turns * number // n_workers) for number in range(n_workers + 1)]
    return [min(turn * TURN, n_rows) for turn in turns]


def fits_workers(recipe: BoostRecipe, bins: Bins) -> bool:
    """Can the histograms of all leaves of a tree be kept?"""
    n_entries = int((bins.n_codes + 1).sum())
    return MORE_RECORDS * recipe.most_leaves * n_entries * 8 <= MOST_POOL_BYTES


class Candidate:
    """A node that the tree may have: a leaf, or a split if it has been divided."""

    __slots__ = ("depth", "first", "gain", "least", "most", "n_rows", "node", "record", "second", "set", "split")

    def __init__(self, local: ThreadState, record: int) -> None:
        self.record = record  # its place in the record of the leaves
        self.gain, self.least, self.most = local.bounds[record, [GAIN, LEAST, MOST]].tolist()
        self.n_rows, self.depth = local.leaves[record, [N_ROWS, DEPTH]].tolist()
        self.node = 0
        self.split: np.ndarray | None = None
        self.set: np.ndarray | None = None
        self.first: Candidate | None = None
        self.second: Candidate | None = None

    def records(self) -> list[int]:
        """The records of its rows: those of its descendants, if it was divided."""
        if self.first is None or self.second is None:
            return [self.record]
        return self.first.records() + self.second.records()


class WorkerBooster(Booster):
    """The rows of one worker, on which one tree after the other is grown together with other workers."""

    def __init__(
        self,
        run: Run,
        codes: np.ndarray,
        bins: Bins,
        *,
        share: Share,
        monotonic_cst: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        recipe: BoostRecipe,
        n_outputs: int = 1,
        allocate: Callable[..., np.ndarray] = np.empty,
    ) -> None:
        self.share, self.exchange = share, share.exchange
        super().__init__(
            run,
            codes,
            bins,
            monotonic_cst=monotonic_cst,
            groups=groups,
            recipe=recipe,
            n_outputs=n_outputs,
            n_threads=1,
            allocate=allocate,
            n_rows_in_all=share.n_rows,
        )
        self.n_turns = -(-self.n_rows // TURN)
        n_entries = int(self.table.start[-1])
        self.shared = self.shared._replace(pool=np.empty((self.n_records, n_entries), np.int64))
        self.lines = np.empty((0, 1 + n_entries), np.int64)
        self.orders = np.zeros((self.n_columns if self.all_histograms else 0, 257), np.int64)
        self.totals = np.empty((2, 256))

    def outputs_open(self, n_outputs: int) -> int:
        return 1

    def records_for(self, n_leaves: int) -> int:
        return MORE_RECORDS * n_leaves

    def lines_for(self, n_leaves: int) -> np.ndarray:
        """Lines for the counts and histograms of some leaves, always in the same memory: new memory costs time."""
        if len(self.lines) < n_leaves:
            self.lines = np.empty((n_leaves, self.lines.shape[1]), np.int64)
        return self.lines[:n_leaves]

    def grow(
        self,
        gradients: np.ndarray,
        hessians: np.ndarray,
        recipe: BoostRecipe,
        *,
        seeds: np.ndarray,
        rows: np.ndarray | None = None,
        allowed: np.ndarray | None = None,
        scores: np.ndarray | None = None,
    ) -> list[GrownTrees]:
        """Do the same as `Booster.grow` with the rows of all workers; `rows` are those of this worker."""
        self.shared.allowed[:] = True if allowed is None else allowed
        given = self.all_rows[0] if rows is None else rows
        local = self.local[0]._replace(given=given, rows=self.local[0].rows[: len(given)])
        settings = recipe.settings()._replace(max_leaves=min(recipe.most_leaves, self.max_leaf_nodes))
        for tree, seed in enumerate(seeds):
            shared = self._shared_for(
                np.ascontiguousarray(gradients[tree : tree + 1]), np.ascontiguousarray(hessians[tree : tree + 1])
            )
            growth = WorkerTree(self, shared, local, settings, np.uint64(seed))
            growth.open()
            splits, leaves = growth.divide_levels() if recipe.growth == "oblivious" else growth.divide_best()
            growth.close(splits, leaves, tree, np.empty((0, 0)) if scores is None else scores)
        return [self._take(tree) for tree in range(len(gradients))]


@dataclass(eq=False)
class WorkerTree:
    """One tree while it is grown."""

    booster: WorkerBooster
    shared: SharedState
    local: ThreadState
    settings: BoostSettings
    seed: np.uint64
    n_records: int = 1

    def run(self, entry: Callable[..., Any], *arguments: Any) -> Any:
        return self.booster.run(entry)(*arguments)

    def open(self) -> None:
        """Round the gradients on the scale of all workers, and compute the histogram of the root."""
        booster, shared, local = self.booster, self.shared, self.local
        self.run(measure_rows, shared, local)
        sums = booster.exchange.gather(shared.turn_sums[: booster.n_turns, :3])
        # The random bits of a row depend on its number in the whole table.
        with np.errstate(over="ignore"):
            own_seed = self.seed + GOLDEN * np.uint64(booster.share.first_row)
        filled = np.empty(2 + shared.pool.shape[1], np.int64)
        self.run(round_rows_apart, booster.table, shared, local, self.settings, LAYOUTS, own_seed, sums, filled)
        total = booster.exchange.add_up(filled)
        shared.roots[0, 0], shared.pool[0] = total[:2], total[2:]
        self.run(begin_tree, booster.table, shared, local, booster.orders)

    def divide_best(self) -> tuple[list[Candidate], list[Candidate]]:
        """Divide leaves in the order of their gains; returns the splits in this order, and the leaves."""
        if self.settings.max_leaves > 1:
            self.search([0])
        leaves = [Candidate(self.local, 0)]
        splits: list[Candidate] = []
        by_level, most = bool(self.settings.by_level), self.settings.max_leaves
        while len(leaves) < most:
            place = best_place(leaves, by_level)
            if place < 0:
                break
            chosen = leaves[place]
            if chosen.first is None or chosen.second is None:
                self.divide_several(self.next_divisions(leaves, most - len(leaves)), 2 * len(splits) + 1)
                continue
            chosen.first.node, chosen.second.node = 2 * len(splits) + 1, 2 * len(splits) + 2
            splits.append(chosen)
            self.local.column_gains[chosen.split[COLUMN]] += chosen.gain  # type: ignore[index]
            leaves[place] = chosen.first
            leaves.append(chosen.second)
        return splits, leaves

    def next_divisions(self, leaves: list[Candidate], n_left: int) -> list[Candidate]:
        """The leaf to divide next, and others that will probably be divided soon."""
        by_level, known = bool(self.settings.by_level), list(leaves)
        found: list[Candidate] = []
        # The columns of a node may be drawn by its number, which is known only when it is its turn.
        one_by_one = self.settings.node_share < 1.0
        early = DIVIDED_EARLY_IF_QUICK if self.booster.exchange.is_quick else DIVIDED_EARLY
        most = 1 if one_by_one else max(1, round(early * n_left))
        # Records are reserved for all splits that the tree may still have.
        most = min(most, 1 + max(self.booster.n_records - self.n_records - n_left, 0))
        for _ in range(n_left):
            place = best_place(known, by_level)
            if place < 0 or len(found) >= most:
                break
            chosen = known.pop(place)
            if chosen.first is None or chosen.second is None:
                found.append(chosen)
            else:
                known += [chosen.first, chosen.second]
        return found

    def divide_several(self, chosen: Sequence[Candidate], node: int) -> None:
        """Divide some leaves, and find the best splits of their children."""
        kept = [
            (self.local.leaves[one.record, :N_PROPOSAL].copy(), self.local.sets[one.record].copy()) for one in chosen
        ]
        seconds = self.divide([one.record for one in chosen], node)
        divided = [(one, second) for one, second in zip(chosen, seconds, strict=True) if second >= 0]
        self.search([record for one, second in divided for record in (one.record, second)])
        for one, second, (split, codes) in zip(chosen, seconds, kept, strict=True):
            if second < 0:
                one.gain = -np.inf
                continue
            one.split, one.set = split, codes
            one.first, one.second = Candidate(self.local, one.record), Candidate(self.local, second)

    def divide(self, records: Sequence[int], node: int) -> list[int]:
        """Divide leaves by their best splits; returns the record of each second child, -1 where a side is too small.

        `node` is the number of the first child of the first division.
        """
        booster, shared, local = self.booster, self.shared, self.local
        leaves = np.array(records, np.int64)
        sums = local.leaves[leaves]
        fills_first = 2.0 * _hessian(sums[:, FIRST_SUM], local.layout) <= _hessian(sums[:, SUM], local.layout)
        middles = np.empty(len(leaves), np.int64)
        filled = booster.lines_for(len(leaves))
        self.run(divide_leaves, booster.table, shared, local, leaves, fills_first, middles, filled)
        total = booster.exchange.add_up(filled)
        counts = total[:, 0]
        is_large = np.minimum(counts, sums[:, N_ROWS] - counts) >= self.settings.min_rows
        seconds = np.where(is_large, self.n_records + np.cumsum(is_large) - 1, -1)
        nodes = node + 2 * (np.cumsum(is_large) - 1)
        given = (leaves, seconds, nodes, fills_first, middles, total)
        self.run(add_leaves, booster.table, shared, local, self.settings, *given)
        self.n_records += int(is_large.sum())
        return [int(second) for second in seconds]

    def search(self, records: Sequence[int]) -> None:
        leaves = np.array(records, np.int64)
        self.run(search_leaves, self.booster.table, self.shared, self.local, self.settings, self.seed, leaves)

    def divide_levels(self) -> tuple[list[Candidate], list[Candidate]]:
        """Divide all leaves of a level by one test, level by level; returns the splits in order, and the leaves."""
        booster, shared, local = self.booster, self.shared, self.local
        leaves = [Candidate(local, 0)]
        splits: list[Candidate] = []
        for level in range(min(self.settings.max_depth, 62)):
            with np.errstate(over="ignore"):
                seed = self.seed + GOLDEN * np.uint64(level)
            given = (booster.table, shared, local, self.settings, seed, len(leaves), booster.totals, booster.orders)
            gain = self.run(choose_level, *given, booster.locks.addresses)
            if gain <= self.settings.min_split_gain:
                break
            column = local.leaves[0, COLUMN]
            local.column_gains[column] += gain
            kept = [(local.leaves[k, :N_PROPOSAL].copy(), local.sets[k].copy()) for k in range(len(leaves))]
            seconds = self.divide(range(len(leaves)), 2 * len(splits) + 1)
            for record, (second, (split, codes)) in enumerate(zip(seconds, kept, strict=True)):
                if second < 0:
                    local.live_groups[record] &= booster.table.groups[:, column]
                    continue
                one = leaves[record]
                one.split, one.set = split, codes
                one.first, one.second = Candidate(local, record), Candidate(local, second)
                one.first.node, one.second.node = 2 * len(splits) + 1, 2 * len(splits) + 2
                splits.append(one)
                leaves[record] = one.first
                leaves.append(one.second)
        return splits, leaves

    def close(self, splits: list[Candidate], leaves: list[Candidate], tree: int, scores: np.ndarray) -> None:
        """Compute the values of the leaves, and write the tree."""
        booster, shared, local = self.booster, self.shared, self.local
        pairs = [(record, leaf) for leaf, one in enumerate(leaves) for record in one.records()]
        records, leaf_of_record = np.array(pairs, np.int64).T
        ranges = np.ascontiguousarray(local.leaves[records][:, [LO, HI]])
        self.run(note_leaves_of_rows, shared, local, ranges, np.ascontiguousarray(leaf_of_record))
        limits = np.array([[one.gain, one.least, one.most] for one in leaves])
        for begin in range(0, len(leaves), LEAVES_AT_ONCE):
            n_now = min(LEAVES_AT_ONCE, len(leaves) - begin)
            self.run(sum_leaves, shared, local, begin)
            sums = booster.exchange.gather(shared.turn_sums[: booster.n_turns, :n_now])
            self.run(set_values_of_leaves, local, self.settings, begin, n_now, sums, limits)
        self.run(
            write_tree,
            shared,
            local,
            np.array([one.split for one in splits], np.int64).reshape(-1, N_PROPOSAL),
            np.array([one.set for one in splits], np.uint64).reshape(-1, 4),
            np.array([one.node for one in splits], np.int64),
            np.array([one.node for one in leaves], np.int64),
            np.array([one.n_rows for one in leaves], np.int64),
            tree,
            scores,
            booster.grown,
        )


def best_place(leaves: Sequence[Candidate], by_level: bool) -> int:
    """The place of the leaf with the largest gain, on the highest level if `by_level`; -1 if no split gains enough."""
    best = -1
    for place, leaf in enumerate(leaves):
        if leaf.gain == -np.inf:
            continue
        if best >= 0:
            if by_level and leaf.depth != leaves[best].depth:
                if leaf.depth > leaves[best].depth:
                    continue
            elif leaf.gain <= leaves[best].gain:
                continue
        best = place
    return best


def _hessian(both: np.ndarray, layout: np.ndarray) -> np.ndarray:
    return ((both >> layout[H_SHIFT]) & layout[H_MASK]).astype(np.float64)
