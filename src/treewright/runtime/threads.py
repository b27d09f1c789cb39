"""The number of threads, and parallel work with results in a fixed order."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np

from treewright.runtime.cpu_quota import cpu_quota

Item = TypeVar("Item")


Result = TypeVar("Result")


def run_parallel(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> list[Result]:
    """Return the results in the order of the items, computed by a thread pool."""
    if n_threads < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, items))


def run_interruptibly(work: Callable[[int], Any], items: Sequence[int], n_threads: int, stop: np.ndarray) -> list[Any]:
    """Return the results in order; an interrupt or an error sets `stop`, waits for the threads and is raised again."""
    with ThreadPoolExecutor(max(n_threads, 1)) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures]
        except BaseException:
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def usable_threads(n_jobs: int | None) -> int:
    """Return the number of threads to use: `n_jobs`, or as many as this process may run at the same time.

    OMP_NUM_THREADS is respected, because joblib and schedulers set it to share a machine.
    """
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        cores = usable_cores()
        return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; give a number of threads, -1 for one on each core, or None")
    return n_jobs if n_jobs > 0 else max(usable_cores() + 1 + n_jobs, 1)


def usable_cores() -> int:
    """Return the number of cores that this process may use, by its affinity and its CPU quota, at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(math.ceil(min(cores, cpu_quota())), 1)
