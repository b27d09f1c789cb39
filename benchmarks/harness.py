"""Timing contestants side by side in one run: interleaved, best of several, after a warm-up.

The machine may be noisy, so contestants take turns and each one's best time counts; what is reported is the ratio to
the peer in the same run.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

# Threads of some libraries spin for up to 0.2 seconds when their work is done; the next one must not pay for that.
SETTLE = 0.5


@dataclass(frozen=True)
class Contestant:
    """A name and the work to be timed; `warm_up` runs first, untimed."""

    name: str
    work: Callable[[], object]
    warm_up: Callable[[], object] | None = None


@dataclass(frozen=True)
class Timing:
    name: str
    best: float
    all: tuple[float, ...]
    result: object


def race(contestants: list[Contestant], rounds: int = 3) -> list[Timing]:
    """Time all contestants in turns; each one's best round counts."""
    times: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    results: dict[str, object] = {}
    for contestant in contestants:
        if contestant.warm_up is not None:
            contestant.warm_up()
    for _ in range(rounds):
        for contestant in contestants:
            time.sleep(SETTLE)
            start = time.perf_counter()
            results[contestant.name] = contestant.work()
            times[contestant.name].append(time.perf_counter() - start)
    return [Timing(name, min(spent), tuple(spent), results[name]) for name, spent in times.items()]


def peak_extra_memory(work: Callable[[], object]) -> int:
    """Bytes by which the resident memory of this process rises at most while `work` runs."""
    process = psutil.Process()
    before = process.memory_info().rss
    peak = before
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.001):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work()
        peak = max(peak, process.memory_info().rss)
    finally:
        done.set()
        watcher.join()
    return peak - before


def time_fresh_process(code: str, rounds: int = 5, environment: dict[str, str] | None = None) -> float:
    """Best wall time of a new Python process that runs this code."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        best = min(best, time.perf_counter() - start)
    return best
