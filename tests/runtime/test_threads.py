"""The number of threads of a process."""

from __future__ import annotations

import math

import pytest

from treewright.runtime import threads
from treewright.runtime.threads import usable_cores, usable_threads


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch):
    """A function that sets the cores by affinity, the quota and OMP_NUM_THREADS."""

    def set_limits(cores: int, quota: float = math.inf, omp: str | None = None) -> None:
        monkeypatch.setattr(threads.os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
        monkeypatch.setattr(threads, "cpu_quota", lambda: quota)
        if omp is None:
            monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        else:
            monkeypatch.setenv("OMP_NUM_THREADS", omp)

    return set_limits


@pytest.mark.parametrize(("quota", "cores"), [(0.5, 1), (1.0, 1), (1.5, 2), (64.0, 8), (math.inf, 8)])
def test_a_quota_limits_the_cores_and_its_last_fraction_is_a_core(limit, quota: float, cores: int) -> None:
    limit(8, quota)
    assert usable_cores() == cores


def test_all_cores_and_all_but_one_are_counted_within_the_quota(limit) -> None:
    limit(8, 3.0)
    assert [usable_threads(n_jobs) for n_jobs in (None, -1, -2, -9)] == [3, 3, 2, 1]


def test_a_number_of_threads_given_by_the_user_is_respected(limit) -> None:
    limit(1, 0.5)
    assert usable_threads(4) == 4


@pytest.mark.parametrize(("omp", "n_threads"), [("2", 2), ("100", 3), ("0", 3), ("all", 3)])
def test_the_limit_of_openmp_applies_within_the_quota(limit, omp: str, n_threads: int) -> None:
    limit(8, 3.0, omp)
    assert usable_threads(None) == n_threads


def test_no_threads_at_all_are_refused() -> None:
    with pytest.raises(ValueError, match="n_jobs is 0"):
        usable_threads(0)
