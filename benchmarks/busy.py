"""Fits on a busy machine beside LightGBM and scikit-learn: `make bench-busy`.

Two threads fit 100,000 x 20 floats on a quiet machine, beside as many busy processes as cores, on one core, and with a
quota of one CPU. The figures are seconds, and in brackets the ratio to the same contestant on the quiet machine. Every
fit runs in a process that was started under its condition and has fitted once before; conditions and contestants take
turns. The quota needs a control group, which usually only root may create.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

THREADS = 2
CONDITIONS = ("quiet", "busy", "one core", "quota")
GROUPS = Path("/sys/fs/cgroup")

# Ends with the process that started it, even if that one is killed.
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: sum(range(1_000_000))"


def boosting() -> Any:
    from treewright import GradientBoostingClassifier

    return GradientBoostingClassifier(
        n_estimators=100, learning_rate=0.1, max_leaf_nodes=31, min_samples_leaf=20, n_jobs=THREADS, random_state=0
    )


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=100, learning_rate=0.1, num_leaves=31, n_jobs=THREADS, verbose=-1, random_state=0
    )


def forest() -> Any:
    from treewright import RandomForestClassifier

    return RandomForestClassifier(n_estimators=30, n_jobs=THREADS, random_state=0)


def scikit_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=10, n_jobs=THREADS, random_state=0)


MAKERS: dict[str, Callable[[], Any]] = {
    "treewright, boosting": boosting,
    "LightGBM": lightgbm,
    "treewright, forest of 30": forest,
    "scikit-learn, forest of 10": scikit_forest,
}


def fit_here(name: str, n_fits: int) -> None:
    """Print the seconds of some fits in this process as JSON."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        n_samples=100_000, n_features=20, n_informative=12, n_redundant=6, flip_y=0.05, random_state=0
    )
    MAKERS[name]().fit(X[:10_000], y[:10_000])
    spent = []
    for _ in range(n_fits):
        start = time.perf_counter()
        MAKERS[name]().fit(X, y)
        spent.append(time.perf_counter() - start)
    print(json.dumps(spent))


def fit_in_process(name: str, n_fits: int, condition: str, group: Path | None) -> list[float]:
    """Return the seconds of some fits in a new process under a condition."""
    command = [sys.executable, __file__, "--fits", str(n_fits), "--fit", name]
    if condition == "one core":
        command += ["--core", str(min(os.sched_getaffinity(0)))]
    if condition == "quota":
        command += ["--group", str(group)]
    with busy_processes(os.cpu_count() or 1 if condition == "busy" else 0):
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout.splitlines()[-1])


@contextmanager
def busy_processes(n_processes: int) -> Iterator[None]:
    """Keep so many cores busy."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(n_processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@contextmanager
def quota_of_one_cpu() -> Iterator[Path | None]:
    """Create a control group that may use the time of one CPU; None where this is not possible."""
    of_version_1 = (GROUPS / "cpu/cpu.cfs_quota_us").exists()
    group = (GROUPS / "cpu" if of_version_1 else GROUPS) / f"treewright-busy-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        if of_version_1:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("100000")
        else:
            (group / "cpu.max").write_text("100000 100000")
        yield group
    except OSError:
        yield None
    finally:
        group.rmdir()


def compare(names: list[str], conditions: list[str], rounds: int, n_fits: int, group: Path | None) -> None:
    spent: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for condition in conditions:
            for name in names:
                spent.setdefault((name, condition), []).extend(fit_in_process(name, n_fits, condition, group))
    for title, figure in (("best", min), ("median", statistics.median)):
        print(f"\n{title} of {rounds * n_fits} fits")
        print(f"  {'':<28}" + "".join(f"{condition:>18}" for condition in conditions))
        for name in names:
            seconds = [figure(spent[name, condition]) for condition in conditions]
            cells = [f"{second:.2f} s ({second / seconds[0]:.1f})" for second in seconds]
            print(f"  {name:<28}" + "".join(f"{cell:>18}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fits", type=int, default=3, help="fits of each process")
    parser.add_argument("--only", choices=list(MAKERS), action="append", help="contestants; all by default")
    parser.add_argument("--condition", choices=CONDITIONS, action="append", help="all by default")
    parser.add_argument("--fit", choices=list(MAKERS), help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--group", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.core is not None:
        os.sched_setaffinity(0, {chosen.core})
    if chosen.group is not None:
        (chosen.group / "cgroup.procs").write_text(str(os.getpid()))
    if chosen.fit:
        fit_here(chosen.fit, chosen.fits)
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run")
    with quota_of_one_cpu() as group:
        print(f"quota by the control group {group}" if group else "no quota: a control group cannot be created here")
        wanted = chosen.condition or CONDITIONS
        conditions = [condition for condition in wanted if group or condition != "quota"]
        compare(chosen.only or list(MAKERS), conditions, chosen.rounds, chosen.fits, group)


if __name__ == "__main__":
    main()
