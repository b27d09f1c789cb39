"""The shipped machine code beside kernels that Numba compiles at run time: `make bench-forms`.

Each form has a process of its own, because a process uses one form. The processes stay alive and take turns, so that
both see the same machine. The ratio is the median over the rounds of the ratio of both times in a round: a machine that
becomes slower for a while affects both. The models must be the same to the bit. `--level x86-64-v3` takes the library
of this level, which `python -m treewright.runtime.build --all-levels` compiles.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from harness import SETTLE
from treewright import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

FORMS = ("library", "jit")
THREADS = 2
# The target: the library takes at most this many times the time of the JIT.
TARGET = 1.03


def work_of_tasks() -> dict[str, Callable[[], object]]:
    """The tasks by name; each returns its predictions."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((100_000, 30))
    signal = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3] + generator.standard_normal(len(X))
    y = (signal > 0).astype(int)
    model = {
        "one full tree, classes": DecisionTreeClassifier(n_jobs=THREADS),
        "one full tree, numbers": DecisionTreeRegressor(n_jobs=THREADS),
        "C4.5": C45Classifier(min_samples_leaf=20, n_jobs=THREADS),
        "random forest, 50 trees, classes": RandomForestClassifier(
            n_estimators=50, min_samples_leaf=1, max_features="sqrt", random_state=0, n_jobs=THREADS
        ),
        "random forest, 20 trees, numbers": RandomForestRegressor(
            n_estimators=20, min_samples_leaf=1, max_features="sqrt", random_state=0, n_jobs=THREADS
        ),
        "extra trees, 50 trees, classes": ExtraTreesClassifier(
            n_estimators=50, min_samples_leaf=1, max_features="sqrt", random_state=0, n_jobs=THREADS
        ),
        "boosting, 100 rounds": GradientBoostingClassifier(
            n_estimators=100, learning_rate=0.1, growth="best", random_state=0, n_jobs=THREADS
        ),
    }
    targets = {name: signal if "numbers" in name else y for name in model}
    return {name: lambda name=name: model[name].fit(X, targets[name]).predict(X[:20_000]) for name in model}


def serve() -> None:
    """Run the tasks whose names arrive on standard input; print seconds and the digest of the predictions."""
    tasks = work_of_tasks()
    for line in sys.stdin:
        start = time.perf_counter()
        predictions = tasks[line.strip()]()
        spent = time.perf_counter() - start
        print(spent, hashlib.sha256(np.ascontiguousarray(predictions).tobytes()).hexdigest(), flush=True)


class Server:
    """A process that runs tasks in one form of the kernels."""

    def __init__(self, form: str, level: str | None) -> None:
        chosen = {} if level is None else {"TREEWRIGHT_LEVEL": level}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            env={**os.environ, **chosen, "TREEWRIGHT_FORM": form},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, task: str) -> tuple[float, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{task}\n")
        self._process.stdin.flush()
        seconds, digest = self._process.stdout.readline().split()
        return float(seconds), digest

    def close(self) -> None:
        self._process.communicate()


def compare(task: str, servers: dict[str, Server], rounds: int) -> None:
    times: dict[str, list[float]] = {form: [] for form in servers}
    digests = {server.run(task)[1] for server in servers.values()}  # the warm-up
    for number in range(rounds):
        # The form that runs first changes, so that neither always follows the other.
        for form in FORMS if number % 2 else FORMS[::-1]:
            time.sleep(SETTLE)
            spent, digest = servers[form].run(task)
            times[form].append(spent)
            digests.add(digest)
    ratio = float(np.median(np.divide(*(times[form] for form in FORMS))))
    library, jit = (min(times[form]) for form in FORMS)
    same = "same bits" if len(digests) == 1 else "PREDICTIONS DIFFER"
    verdict = "met" if ratio <= TARGET else "not met"
    print(f"{task:36} library {library:6.3f} s   jit {jit:6.3f} s   {ratio:5.3f}   {verdict}   {same}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--level", help="the level of the library, such as x86-64-v3; the best one if absent")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    servers = {form: Server(form, options.level) for form in FORMS}
    print(f"100,000 x 30 floats, {THREADS} threads, best times and median ratio of {options.rounds} rounds")
    print(f"target: at most {TARGET} times the time of the JIT")
    for task in work_of_tasks():
        compare(task, servers, options.rounds)
    for server in servers.values():
        server.close()


if __name__ == "__main__":
    main()
