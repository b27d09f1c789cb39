"""The Python side of growing the trees of a boosted model."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from treewright.encoding.bins import Bins, words_of
from treewright.engines.boosting.loop import add_trees, grow_trees, open_trees
from treewright.engines.boosting.oblivious import grow_oblivious_trees
from treewright.engines.boosting.search import CHUNK, LARGE_LAYOUT, N_PROPOSAL, SMALL_LAYOUT, pack_codes
from treewright.engines.boosting.workspace import (
    LEAVES_AT_ONCE,
    N_KEPT,
    TURN,
    TURN_BITS,
    BoostSettings,
    BoostTable,
    Grown,
    SharedState,
    ThreadState,
)
from treewright.engines.packed.trees import GrownTrees
from treewright.engines.packed.walk import BLOCK
from treewright.runtime.barrier import ABANDONED, SleepLocks, make_barrier, reset_barrier
from treewright.runtime.forms import Run, compiled
from treewright.runtime.threads import run_parallel

# Tables with fewer codes are searched by one thread, because starting other threads takes longer than the search.
MIN_CODES_FOR_THREADS = 1 << 17

# Largest number of bytes for the histograms of leaves that may still be split. Beyond it, the histograms of both
# children are filled from their rows, without their parent's histogram.
MOST_POOL_BYTES = 1 << 28

# Largest number of bytes for the rounded gradients and the histograms of trees that are opened together.
MOST_OPEN_BYTES = 1 << 26

LAYOUTS = np.stack([SMALL_LAYOUT, LARGE_LAYOUT])


@dataclass(frozen=True)
class BoostRecipe:
    """The choices that define the trees of a boosted model."""

    max_leaf_nodes: int = 31
    max_depth: int = 1 << 30
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    l1_regularization: float = 0.0
    l2_regularization: float = 1.0
    category_l2: float = 0.0  # added to l2_regularization for splits of categories
    smoothing: float = 10.0  # of the gradients by which categories are ordered
    min_split_gain: float = 0.0
    learning_rate: float = 0.1
    level_share: float = 1.0  # share of the columns that each level may use
    node_share: float = 1.0  # share of the columns of its level that each node may use
    # next leaf to split: the best one, the best one of the highest level, or a whole level by one test
    growth: str = "best"

    @property
    def most_leaves(self) -> int:
        return 1 << min(self.max_depth, 30) if self.growth == "oblivious" else self.max_leaf_nodes

    def settings(self) -> BoostSettings:
        return BoostSettings(
            max_leaves=self.most_leaves,
            max_depth=self.max_depth,
            min_rows=self.min_samples_leaf,
            min_weight=float(self.min_child_weight),
            l1_regularization=float(self.l1_regularization),
            l2_regularization=float(self.l2_regularization),
            category_l2=float(self.category_l2),
            smoothing=float(self.smoothing),
            min_split_gain=float(self.min_split_gain),
            rate=float(self.learning_rate),
            level_share=float(self.level_share),
            node_share=float(self.node_share),
            by_level=self.growth == "level",
        )


class Booster:
    """An encoded table on which one tree after the other is grown."""

    def __init__(
        self,
        run: Run,
        codes: np.ndarray,
        bins: Bins,
        *,
        monotonic_cst: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        recipe: BoostRecipe,
        n_outputs: int = 1,
        n_threads: int,
        allocate: Callable[..., np.ndarray] = np.empty,
        n_rows_in_all: int | None = None,
    ) -> None:
        self.run = run
        self.n_columns, self.n_rows = codes.shape
        self.n_blocks = -(-self.n_columns // 8)
        words = words_of(codes)
        is_by_row = words is not None
        if words is None:
            words = _pack(run, codes, n_threads, allocate)
        self.table = BoostTable(
            codes=words.view(np.uint8) if is_by_row else codes.reshape(-1),
            column_step=1 if is_by_row else self.n_rows,
            row_step=8 * self.n_blocks if is_by_row else 1,
            words=words,
            is_number=bins.is_number,
            n_codes=bins.n_codes,
            start=np.cumsum(np.append(0, bins.n_codes + 1)),
            monotonic_cst=np.zeros(self.n_columns) if monotonic_cst is None else monotonic_cst.astype(np.float64),
            groups=np.empty((0, self.n_columns), bool) if groups is None else groups,
        )
        enough = run is compiled and codes.size >= MIN_CODES_FOR_THREADS
        self.n_threads = n_threads if enough else 1
        self.max_leaf_nodes = min(recipe.most_leaves, self.n_rows if n_rows_in_all is None else n_rows_in_all)
        self.n_records = self.records_for(self.max_leaf_nodes)
        # The search of an oblivious tree needs the histograms of all its leaves.
        self.all_histograms = recipe.growth == "oblivious"
        self.outputs_at_once = self.outputs_open(n_outputs)
        self.shared = self._make_shared()
        self.grown = self._make_grown(n_outputs)
        self.all_rows = self._share_out(np.arange(self.n_rows, dtype=np.uint32))
        self.edges = np.linspace(0, self.n_rows, self.n_threads + 1).astype(int).tolist()
        self.local = [self._make_local(len(rows)) for rows in self.all_rows]
        self.locks = SleepLocks(self.n_threads)
        self.workers = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def outputs_open(self, n_outputs: int) -> int:
        """Return the number of trees of a round that are opened together."""
        bytes_of_one = 8 * self.n_rows + self.n_threads * self.n_blocks * 8 * 256 * 8
        return int(np.clip(MOST_OPEN_BYTES // bytes_of_one, 1, n_outputs))

    def records_for(self, n_leaves: int) -> int:
        """Return the number of leaves that are recorded while a tree is grown."""
        return n_leaves

    def close(self) -> None:
        if self.workers is not None:
            self.workers.shutdown()

    @property
    def codes_by_row(self) -> np.ndarray:
        """Return the transposed codes: one line per row, padded to a multiple of eight columns."""
        return self.table.words.view(np.uint8).reshape(self.n_rows, -1)

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
        """Grow for each output the tree that reduces its loss most, and add its predictions to the scores of its rows.

        Gradients, hessians and scores have one line per output. `rows` contains the training rows of the trees in
        ascending order. `allowed` contains the columns that splits may use.
        """
        gradients, hessians = np.ascontiguousarray(gradients), np.ascontiguousarray(hessians)
        self.shared.allowed[:] = True if allowed is None else allowed
        reset_barrier(self.shared.barrier)
        shared_out = self.all_rows if rows is None else self._share_out(rows)
        settings = recipe.settings()._replace(max_leaves=min(recipe.most_leaves, self.max_leaf_nodes))
        scores = np.empty((0, 0)) if scores is None else scores

        def work(thread: int) -> None:
            own_rows = shared_out[thread]
            local = self.local[thread]._replace(given=own_rows, rows=self.local[thread].rows[: len(own_rows)])
            threads = (thread, self.n_threads, self.locks.addresses)
            for first in range(0, len(gradients), self.outputs_at_once):
                trees = slice(first, first + self.outputs_at_once)
                given = (self.table, self._shared_for(gradients[trees], hessians[trees]), local, settings, *threads)
                self.run(open_trees)(*given, LAYOUTS, seeds[trees])
                grown = Grown(*(workspace[trees] for workspace in self.grown))
                if recipe.growth == "oblivious":
                    totals, orders = np.empty((2, 256)), np.zeros((self.n_columns, 257), np.int64)
                    self.run(grow_oblivious_trees)(*given, seeds[trees], scores[trees], grown, totals, orders)
                else:
                    self.run(grow_trees)(*given, seeds[trees], scores[trees], grown)

        self._run_all(work)
        return [self._take(tree) for tree in range(len(gradients))]

    def add_to(self, codes: np.ndarray, scores: np.ndarray) -> None:
        """Add the predictions of the trees grown last to the scores of encoded rows, in all threads."""
        edges = np.linspace(0, len(codes), self.n_threads + 1).astype(int)

        def add(thread: int) -> None:
            first, last = edges[thread], edges[thread + 1]
            at, active = np.empty(last - first, np.uint32), np.empty(BLOCK, np.uint32)
            self.run(add_trees)(codes, first, last, self.grown, scores, at, active)

        self._run_all(add)

    def _shared_for(self, gradients: np.ndarray, hessians: np.ndarray) -> SharedState:
        """Return the shared state for some trees that are opened together."""
        workspace, trees = self.shared, slice(len(gradients))
        return workspace._replace(
            gradients=gradients,
            hessians=hessians,
            packed=workspace.packed[trees],
            histograms=workspace.histograms[trees],
            scale=workspace.scale[trees],
            layout=workspace.layout[trees],
            limits=workspace.limits[trees],
            roots=workspace.roots[trees],
        )

    def run_ranges(self, work: Callable[[int, int], None]) -> None:
        """Call `work` with the range of rows of each thread, in all threads."""
        self._run_all(lambda thread: work(self.edges[thread], self.edges[thread + 1]))

    def _run_all(self, work: Callable[[int], None]) -> None:
        """Run `work` in each thread with the number of the thread; if one fails, the others do not wait for it."""
        if self.workers is None:
            work(0)
            return

        def guarded(thread: int) -> None:
            try:
                work(thread)
            except BaseException:
                self.shared.barrier[ABANDONED] = 1
                raise

        others = []
        try:
            for thread in range(1, self.n_threads):
                others.append(self.workers.submit(guarded, thread))
            guarded(0)
        except BaseException:
            self.shared.barrier[ABANDONED] = 1
            raise
        finally:
            for other in others:
                other.result()

    def _share_out(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the rows of each thread."""
        turn = (rows >> TURN_BITS) % self.n_threads
        return [rows[turn == thread] for thread in range(self.n_threads)]

    def _make_shared(self) -> SharedState:
        n_entries = int(self.table.start[-1])
        n_slots = int(np.clip(MOST_POOL_BYTES // (8 * n_entries), 2, self.max_leaf_nodes + 1))
        if self.all_histograms:
            n_slots = self.max_leaf_nodes + 1
        n_open = self.outputs_at_once
        n_turns = -(-self.n_rows >> TURN_BITS) if self.n_rows else 0
        return SharedState(
            gradients=np.empty((0, 0)),
            hessians=np.empty((0, 0)),
            packed=np.empty((n_open, self.n_rows), np.int64),
            histograms=np.zeros((n_open, self.n_threads, 8 * self.n_blocks, 256), np.int64),
            scale=np.empty((n_open, 2)),
            layout=np.empty((n_open, 4), np.int64),
            limits=np.empty((n_open, 7)),
            roots=np.zeros((n_open, self.n_threads, 2), np.int64),
            turn_sums=np.empty((n_turns + 1, LEAVES_AT_ONCE, 2)),
            pool=np.empty((n_slots, n_entries), np.int64),
            gains=np.full((self.n_threads, 8), -np.inf),
            proposals=np.zeros((self.n_threads, 2, N_PROPOSAL), np.int64),
            proposal_sets=np.zeros((self.n_threads, 2, 4), np.uint64),
            counts=np.zeros((self.n_threads, 8), np.int64),
            barrier=make_barrier(self.n_threads),
            allowed=np.ones(self.n_columns, bool),
        )

    def _make_grown(self, n_outputs: int) -> Grown:
        n_leaves = self.max_leaf_nodes
        has_sets = not self.table.is_number.all()
        return Grown(
            ends=np.zeros((n_outputs, 3), np.int64),
            nodes=np.empty((n_outputs, 2 * n_leaves), np.uint64),
            node_set=np.empty((n_outputs, 2 * n_leaves if has_sets else 0), np.int32),
            node_sets=np.empty((n_outputs, n_leaves if has_sets else 0, 4), np.uint64),
            leaf_rows=np.empty((n_outputs, n_leaves), np.int64),
            leaf_weight=np.empty((n_outputs, n_leaves)),
            leaf_value=np.empty((n_outputs, n_leaves)),
            column_gains=np.empty((n_outputs, self.n_columns)),
        )

    def _make_local(self, n_rows: int) -> ThreadState:
        n_leaves, n_records, n_columns = self.max_leaf_nodes, self.n_records, self.n_columns
        has_sets = not self.table.is_number.all()
        return ThreadState(
            given=np.empty(0, np.uint32),
            rows=np.empty(n_rows, np.uint32),
            spare=np.empty(n_rows, np.uint32),
            near=np.empty((self.outputs_at_once, CHUNK), np.int64),
            near_words=np.empty(self.n_blocks * CHUNK, np.uint64),
            near_turn=np.empty((2, TURN)),
            near_packed=np.empty(TURN, np.int64),
            leaves=np.empty((n_records, N_KEPT), np.int64),
            bounds=np.empty((n_records, 3)),
            sets=np.zeros((n_records, 4), np.uint64),
            live_groups=np.ones((n_records, len(self.table.groups)), bool),
            masks=np.ones((2, n_columns), bool),
            order=np.empty(n_columns, np.int64),
            state=np.empty(1, np.uint64),
            limits=np.empty(7),
            scale=np.empty(2),
            layout=np.empty(4, np.int64),
            present=np.empty(256, np.int64),
            along=np.empty(256),
            nodes=np.empty(2 * n_leaves, np.uint64),
            node_set=np.zeros(2 * n_leaves if has_sets else 0, np.int32),
            node_sets=np.empty((n_leaves if has_sets else 0, 4), np.uint64),
            leaf_sums=np.empty((n_leaves, 2)),
            column_gains=np.empty(n_columns),
            ends=np.empty(3, np.int64),
        )

    def _take(self, tree: int) -> GrownTrees:
        """Copy a grown tree out of the workspace, which the next tree overwrites."""
        grown = self.grown
        n_nodes, n_leaves, n_sets = grown.ends[tree].tolist()
        return GrownTrees(
            ends=np.array([[n_nodes, n_leaves, n_sets, 0]], np.int64),
            nodes=grown.nodes[tree, :n_nodes].copy(),
            node_set=grown.node_set[tree, :n_nodes].copy(),
            sets=grown.node_sets[tree, :n_sets].copy(),
            leaf_weight=grown.leaf_weight[tree, :n_leaves].copy(),
            leaf_rows=grown.leaf_rows[tree, :n_leaves].astype(np.uint32),
            leaf_value=grown.leaf_value[tree, :n_leaves].copy(),
            leaf_spread=np.zeros(n_leaves),
            leaf_end=np.empty(0, np.int64),
            entry_class=np.empty(0, np.uint16),
            entry_share=np.empty(0),
            gains=grown.column_gains[tree : tree + 1].copy(),
        )


def _pack(run: Run, codes: np.ndarray, n_threads: int, allocate: Callable[..., np.ndarray]) -> np.ndarray:
    """Pack the codes of eight columns into one word, row by row."""
    n_columns, n_rows = codes.shape
    words = allocate((n_rows * -(-n_columns // 8),), np.uint64)
    size = 1 << 13
    run_parallel(
        lambda first: run(pack_codes)(codes, first, min(first + size, n_rows), words),
        range(0, n_rows, size),
        n_threads if codes.size >= MIN_CODES_FOR_THREADS else 1,
    )
    return words
