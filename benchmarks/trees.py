"""Single trees against scikit-learn's: speed, memory, and the time of a first fit. Run with `make bench-trees`.

Every line states what the target is and whether it was met in this run.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable

import numpy as np
from sklearn.tree import DecisionTreeClassifier as TheirTree

from harness import Contestant, peak_extra_memory, race, time_fresh_process
from treewright import DecisionTreeClassifier, DecisionTreeRegressor

WEATHER_OURS = """
from treewright import DecisionTreeClassifier
from treewright.datasets import load_weather
data = load_weather()
DecisionTreeClassifier().fit(data.X, data.y)
"""

# scikit-learn needs numbers; its tree gets the same table as integer codes, coded beforehand.
WEATHER_THEIRS = """
import numpy as np
from sklearn.tree import DecisionTreeClassifier
X = np.array([[0,0,0,0],[0,0,0,1],[1,0,0,0],[2,1,0,0],[2,2,1,0],[2,2,1,1],[1,2,1,1],
              [0,1,0,0],[0,2,1,0],[2,1,1,0],[0,1,1,1],[1,1,0,1],[1,0,1,0],[2,1,0,1]])
y = np.array([0,0,1,1,1,0,1,0,1,1,1,1,1,0])
DecisionTreeClassifier().fit(X, y)
"""

# A first fit on a table that is not tiny.
SMALL_OURS = """
import numpy as np
from treewright import DecisionTreeClassifier
random = np.random.default_rng(0)
DecisionTreeClassifier().fit(random.standard_normal((2000, 10)), random.integers(0, 2, 2000))
"""
SMALL_THEIRS = SMALL_OURS.replace("from treewright", "from sklearn.tree")


def distinct_floats() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((100_000, 30))
    return X, (X[:, :5].sum(axis=1) + random.standard_normal(100_000) > 0).astype(int)


def few_values() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    X = random.integers(0, 200, (1_000_000, 10)).astype(float)
    return X, (X[:, :5].sum(axis=1) / 100 - 5 + random.standard_normal(1_000_000) > 0).astype(int)


def report(met: bool, text: str) -> None:
    print(f"{'met    ' if met else 'NOT MET'}  {text}", flush=True)


def training_error(model: object, X: np.ndarray, y: np.ndarray) -> float:
    return float((model.predict(X) != y).mean())  # type: ignore[attr-defined]


def compare_speed(name: str, make: Callable[[], tuple[np.ndarray, np.ndarray]], factor: float, rounds: int) -> None:
    X, y = make()
    small = (X[:20_000], y[:20_000])
    ours, theirs = race(
        [
            Contestant(
                "treewright",
                lambda: DecisionTreeClassifier().fit(X, y),
                lambda: DecisionTreeClassifier(n_jobs=2).fit(*small),
            ),
            Contestant("scikit-learn", lambda: TheirTree(random_state=0).fit(X, y)),
        ],
        rounds,
    )
    errors = training_error(ours.result, X, y), training_error(theirs.result, X, y)
    ratio = theirs.best / ours.best
    report(
        ratio >= factor and errors[0] == errors[1],
        f"{name}: treewright {ours.best:.3f} s, scikit-learn {theirs.best:.2f} s, {ratio:.1f} times as fast "
        f"(target {factor:g}); training error {errors[0]:.6f} and {errors[1]:.6f}",
    )
    extra = peak_extra_memory(lambda: DecisionTreeClassifier().fit(X, y))
    report(
        extra <= 4 * X.nbytes,
        f"{name}: peak extra memory {extra / 1e6:.0f} MB, {extra / X.nbytes:.2f} times the input (target 4)",
    )


def compare_regression() -> None:
    from sklearn.tree import DecisionTreeRegressor as TheirRegressor

    X, _ = distinct_floats()
    y = X[:, 0] + np.sin(X[:, 1]) + np.random.default_rng(2).standard_normal(len(X))
    ours, theirs = race(
        [
            Contestant(
                "treewright",
                lambda: DecisionTreeRegressor().fit(X, y),
                lambda: DecisionTreeRegressor().fit(X[:20_000], y[:20_000]),
            ),
            Contestant("scikit-learn", lambda: TheirRegressor(random_state=0).fit(X, y)),
        ],
        rounds=2,
    )
    print(
        f"(no target)  regression, 100,000 x 30 distinct floats: treewright {ours.best:.3f} s, "
        f"scikit-learn {theirs.best:.2f} s, {theirs.best / ours.best:.1f} times as fast",
        flush=True,
    )


def compare_chains() -> None:
    """Trees of one level per row: each split separates one row, so growth takes the square of the rows."""
    for n_rows in (10_000, 20_000):
        X, y = np.arange(float(n_rows))[:, None], np.arange(n_rows) % 2
        seconds = []
        for learner in (DecisionTreeClassifier(n_jobs=1), TheirTree(random_state=0)):
            start = time.process_time()
            assert learner.fit(X, y).get_depth() == n_rows - 1
            seconds.append(time.process_time() - start)
        print(
            f"(no target)  a chain of {n_rows} levels, processor time: treewright {seconds[0]:.2f} s, "
            f"scikit-learn {seconds[1]:.1f} s, {seconds[1] / seconds[0]:.1f} times as fast",
            flush=True,
        )


def compare_first_fit() -> None:
    ours, theirs = time_fresh_process(WEATHER_OURS), time_fresh_process(WEATHER_THEIRS)
    report(
        ours <= 1.5 * theirs,
        f"first fit on weather in a new process, import included: treewright {ours:.2f} s, scikit-learn "
        f"{theirs:.2f} s, ratio {ours / theirs:.2f} (target 1.5)",
    )
    with tempfile.TemporaryDirectory() as empty:
        by_numba = {**os.environ, "NUMBA_CACHE_DIR": empty, "TREEWRIGHT_FORM": "jit"}
        compiling = time_fresh_process(SMALL_OURS, rounds=1, environment=by_numba)
    shipped, theirs = time_fresh_process(SMALL_OURS), time_fresh_process(SMALL_THEIRS)
    print(
        f"(no target)  first fit of 2,000 x 10 floats in a new process: treewright {shipped:.2f} s, "
        f"{compiling:.2f} s when Numba must compile, scikit-learn {theirs:.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    compare_speed("100,000 x 30 distinct floats", distinct_floats, factor=10, rounds=3)
    compare_speed("1,000,000 x 10 with 200 values", few_values, factor=10, rounds=3)
    compare_regression()
    compare_chains()
    compare_first_fit()
