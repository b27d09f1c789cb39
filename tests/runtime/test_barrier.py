"""Threads that wait for each other in compiled code, also if they cannot all run at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest

from treewright import GradientBoostingClassifier
from treewright.runtime import barrier as place
from treewright.runtime.barrier import SleepLocks, make_barrier, wait
from treewright.runtime.jit import compile_all

# Long enough for any machine; a test that waits so long has failed.
SECONDS = 60


@pytest.fixture(scope="module")
def wait_once() -> Any:
    """The compiled barrier."""
    compiled_wait = compile_all()[wait]

    @numba.njit(nogil=True)
    def wait_once(barrier, thread, n_threads, locks):
        compiled_wait(barrier, thread, n_threads, locks)

    return wait_once


@pytest.fixture(scope="module")
def count_stale() -> Any:
    """A function that counts the numbers of other threads that a thread does not see after the barrier."""
    compiled_wait = compile_all()[wait]

    @numba.njit(nogil=True)
    def count_stale(barrier, thread, n_threads, locks, numbers, n_rounds):
        n_stale = 0
        for turn in range(1, n_rounds + 1):
            numbers[thread] = turn
            compiled_wait(barrier, thread, n_threads, locks)
            for other in range(n_threads):
                n_stale += numbers[other] != turn
            compiled_wait(barrier, thread, n_threads, locks)
        return n_stale

    return count_stale


def run_threads(work: Callable[[int], Any], n_threads: int, cores: set[int] | None = None) -> list[Any]:
    """Return the results of all threads, which may be restricted to some cores."""

    def restrict() -> None:
        if cores is not None:
            os.sched_setaffinity(0, cores)  # of this thread only

    with ThreadPoolExecutor(n_threads, initializer=restrict) as pool:
        futures = [pool.submit(work, thread) for thread in range(n_threads)]
        return [future.result(SECONDS) for future in futures]


def one_core() -> set[int]:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system has no affinity")
    return {min(os.sched_getaffinity(0))}


@pytest.mark.parametrize("n_threads", [1, 2, 3, 16])
@pytest.mark.parametrize("on_one_core", [False, True])
def test_every_thread_sees_what_all_wrote_before_the_barrier(
    count_stale: Any, n_threads: int, on_one_core: bool
) -> None:
    barrier, locks, numbers = make_barrier(n_threads), SleepLocks(n_threads), np.zeros(n_threads, np.int64)
    stale = run_threads(
        lambda thread: count_stale(barrier, thread, n_threads, locks.addresses, numbers, 200),
        n_threads,
        one_core() if on_one_core else None,
    )
    assert stale == [0] * n_threads


def wait_for_sleep(barrier: np.ndarray, thread: int) -> None:
    """Return when the thread sleeps."""
    pause = threading.Event()
    for _ in range(1000 * SECONDS):
        if barrier[place.THREADS + place.LINE * thread + place.ASLEEP] == place.SLEEPING:
            return
        pause.wait(0.001)
    raise AssertionError("the thread does not sleep")


def test_a_thread_that_waits_long_gives_its_core_away_and_is_woken(wait_once: Any) -> None:
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "RUSAGE_THREAD"):
        pytest.skip("this system does not count the context switches of a thread")
    barrier, locks = make_barrier(2), SleepLocks(2)

    def count_switches() -> int:
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        wait_once(barrier, 1, 2, locks.addresses)
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(count_switches)
        wait_for_sleep(barrier, 1)
        assert not waiting.done()
        wait_once(barrier, 0, 2, locks.addresses)
        assert waiting.result(SECONDS) >= 1


def test_a_thread_polls_less_after_polls_in_vain_and_again_fully_after_success(wait_once: Any) -> None:
    barrier, locks = make_barrier(2), SleepLocks(2)
    patience = barrier[place.THREADS + place.PATIENCE :: place.LINE]
    with ThreadPoolExecutor(1) as pool:
        for n_vain in (1, 2, 3):
            waiting = pool.submit(wait_once, barrier, 1, 2, locks.addresses)
            wait_for_sleep(barrier, 1)
            wait_once(barrier, 0, 2, locks.addresses)
            waiting.result(SECONDS)
            assert patience.tolist() == [place.MOST_PATIENCE, place.MOST_PATIENCE >> n_vain]
    barrier[place.ABANDONED] = 1  # the next wait ends at the first poll
    wait_once(barrier, 1, 2, locks.addresses)
    assert patience.tolist() == [place.MOST_PATIENCE, place.MOST_PATIENCE]


def test_sleeping_threads_return_when_the_barrier_is_abandoned(wait_once: Any) -> None:
    barrier, locks = make_barrier(3), SleepLocks(3)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(wait_once, barrier, thread, 3, locks.addresses) for thread in (0, 1)]
        wait_for_sleep(barrier, 0)
        wait_for_sleep(barrier, 1)
        barrier[place.ABANDONED] = 1
        for thread in waiting:
            thread.result(SECONDS)


def test_a_model_fitted_by_more_threads_than_cores_has_the_same_bits() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 8))
    y = X[:, 0] * X[:, 1] + random.normal(size=len(X)) > 0

    def fit(n_jobs: int) -> np.ndarray:
        model = GradientBoostingClassifier(n_estimators=5, n_jobs=n_jobs, random_state=0)
        return model.fit(X, y).predict_proba(X)

    # The threads of a fit inherit the affinity of the thread that starts them.
    (crowded,) = run_threads(lambda _: fit(5), 1, one_core())
    assert crowded.tobytes() == fit(1).tobytes()
