"""Trees that several workers grow together are those that one process grows."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from treewright.encoding.bins import bin_table
from treewright.engines.boosting.engine import Booster, BoostRecipe
from treewright.engines.boosting.worker_engine import Share, WorkerBooster, edges_of_shares
from treewright.runtime.forms import choose_compiled_form
from treewright.table.column import Column, Kind


class ThreadExchange:
    """Workers that are threads of this process."""

    def __init__(self, n_workers: int, is_quick: bool) -> None:
        self.barrier, self.values = threading.Barrier(n_workers), [None] * n_workers
        self.is_quick = is_quick

    def of(self, rank: int) -> Any:
        return OfRank(self, rank)


class OfRank:
    def __init__(self, all_ranks: ThreadExchange, rank: int) -> None:
        self.all_ranks, self.rank = all_ranks, rank
        self.is_quick = all_ranks.is_quick

    def _all(self, value: Any) -> list[Any]:
        self.all_ranks.values[self.rank] = value.copy() if isinstance(value, np.ndarray) else value
        self.all_ranks.barrier.wait()
        found = list(self.all_ranks.values)
        self.all_ranks.barrier.wait()
        return found

    def gather(self, array: np.ndarray) -> np.ndarray:
        return np.concatenate(self._all(array))

    def add_up(self, array: np.ndarray) -> np.ndarray:
        return np.sum(self._all(array), axis=0)

    def from_first(self, value: Any) -> Any:
        return self._all(value)[0]


N_ROWS = 15_000


def table_and_gradients(n_outputs: int) -> Any:
    random = np.random.default_rng(0)
    values = random.normal(size=(N_ROWS, 7))
    values[:, 4] = random.integers(0, 9, N_ROWS)
    values[:, 5] = random.integers(0, 40, N_ROWS)
    values[random.random((N_ROWS, 7)) < 0.1] = np.nan
    columns = [Column(f"x{k}", Kind.NUMERIC) for k in range(4)]
    columns += [Column(f"x{k}", Kind.CATEGORICAL, tuple(range(40))) for k in (4, 5)] + [Column("x6", Kind.NUMERIC)]
    table = bin_table(choose_compiled_form(), columns, values, 255, 1)
    signal = np.nan_to_num(values[:, 0]) + (values[:, 5] > 20) * np.nan_to_num(values[:, 1])
    gradients = np.stack([signal + random.normal(size=N_ROWS) for _ in range(n_outputs)])
    hessians = random.random((n_outputs, N_ROWS)) + 0.1
    return table, gradients, hessians


def grow_together(
    n_workers: int, table: Any, gradients: Any, hessians: Any, recipe: Any, rows: Any, **more: Any
) -> Any:
    edges, exchange = edges_of_shares(N_ROWS, n_workers), ThreadExchange(n_workers, more.pop("is_quick", False))
    monotonic, groups = more.pop("monotonic_cst", None), more.pop("groups", None)

    def work(rank: int) -> Any:
        own = slice(edges[rank], edges[rank + 1])
        share = Share(exchange.of(rank), edges[rank], N_ROWS)
        codes = np.ascontiguousarray(table.codes[:, own])
        booster = WorkerBooster(
            choose_compiled_form(),
            codes,
            table.bins,
            share=share,
            recipe=recipe,
            n_outputs=len(gradients),
            monotonic_cst=monotonic,
            groups=groups,
        )
        scores = np.zeros_like(gradients[:, own])
        taken = share.own(rows, codes.shape[1])
        g, h = np.ascontiguousarray(gradients[:, own]), np.ascontiguousarray(hessians[:, own])
        trees = booster.grow(g, h, recipe, rows=taken, scores=scores if rows is None else None, **more)
        return trees, scores

    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(work, range(n_workers)))


CASES: dict[str, dict[str, Any]] = {
    "best": {},
    "level": {"growth": "level"},
    "oblivious": {"growth": "oblivious", "max_depth": 5},
    "oblivious with few columns": {"growth": "oblivious", "max_depth": 4, "node_share": 0.5, "level_share": 0.8},
    "many leaves": {"max_leaf_nodes": 150, "min_samples_leaf": 5},
    "few columns": {"node_share": 0.5},
    "few columns of a level": {"level_share": 0.5},
    "one leaf": {"max_leaf_nodes": 1},
    "two leaves": {"max_leaf_nodes": 2},
    "depth": {"max_depth": 3},
    "large leaves": {"min_samples_leaf": 900},
}


OPTIONS = [
    (1, "plain"),
    (2, "plain"),
    (3, "plain"),
    (2, "quick exchange"),
    (2, "sample"),
    (2, "equal hessians"),
    (2, "constraints"),
    (2, "several outputs"),
]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("n_workers", "options"), OPTIONS)
def test_workers_grow_the_tree_of_one_process(name: str, n_workers: int, options: str) -> None:
    recipe = replace(BoostRecipe(), **CASES[name])
    table, gradients, hessians = table_and_gradients(3 if options == "several outputs" else 1)
    if options == "equal hessians":
        hessians = np.ones_like(hessians)
    more: dict[str, Any] = {"seeds": np.arange(5, 5 + len(gradients), dtype=np.uint64)}
    built: dict[str, Any] = {}
    if options == "constraints":
        built["monotonic_cst"] = np.array([1, -1, 0, 0, 0, 0, 0])
        built["groups"] = np.array([[True] * 4 + [False] * 3, [True] + [False] * 3 + [True] * 3])
    rows = None
    if options == "sample":
        rows = np.sort(np.random.default_rng(1).choice(N_ROWS, 9_000, replace=False)).astype(np.uint32)
        more["allowed"] = np.array([True, False, True, True, True, True, True])
    booster = Booster(
        choose_compiled_form(), table.codes, table.bins, recipe=recipe, n_outputs=len(gradients), n_threads=1, **built
    )
    expected_scores = np.zeros_like(gradients)
    scores = expected_scores if rows is None else None
    expected = booster.grow(gradients, hessians, recipe, rows=rows, scores=scores, **more)
    built["is_quick"] = options == "quick exchange"
    found = grow_together(n_workers, table, gradients, hessians, recipe, rows, **more, **built)
    for trees, _ in found:
        for one, other in zip(expected, trees, strict=True):
            for field in vars(one):
                assert np.array_equal(getattr(one, field), getattr(other, field)), field
    assert np.array_equal(np.concatenate([scores for _, scores in found], axis=1), expected_scores)


class CountingExchange:
    """The only worker, which counts what it would send to each other one."""

    def __init__(self, is_quick: bool) -> None:
        self.n_bytes, self.n_exchanges, self.is_quick = 0, 0, is_quick

    def gather(self, array: np.ndarray) -> np.ndarray:
        self.n_bytes += array.nbytes
        self.n_exchanges += 1
        return array.copy()

    def add_up(self, array: np.ndarray) -> np.ndarray:
        return self.gather(array)

    def from_first(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(("is_quick", "most"), [(True, 1.1), (False, 1.7)])
def test_the_exchanges_of_a_tree_are_those_of_the_documented_formula(is_quick: bool, most: float) -> None:
    table, gradients, hessians = table_and_gradients(1)
    recipe, exchange = BoostRecipe(), CountingExchange(is_quick)
    share = Share(exchange, 0, N_ROWS)
    booster = WorkerBooster(choose_compiled_form(), table.codes, table.bins, share=share, recipe=recipe)
    booster.grow(gradients, hessians, recipe, seeds=np.array([5], np.uint64))
    n_turns, n_leaves = -(-N_ROWS // 4096), recipe.max_leaf_nodes
    histogram = 8 * int((table.bins.n_codes + 1).sum())
    blocks = 48 * n_turns + 16 * n_leaves * n_turns
    n_histograms = (exchange.n_bytes - blocks) / histogram
    levels = np.log2(n_leaves)
    assert exchange.n_exchanges < 4 + (3 * levels if is_quick else 4 + levels)
    assert n_leaves <= n_histograms < most * n_leaves  # some leaves are divided in vain, and counts are sent, too
