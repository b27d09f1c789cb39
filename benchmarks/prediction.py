"""Predictions beside scikit-learn-intelex, LightGBM, CatBoost and XGBoost: `make bench-prediction`.

Many rows at once: contestants take turns, and the best round counts. One row at a time: 2,000 calls with different
rows, in turns of 50 calls, and the median and the 99th percentile of all calls.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier as ScikitForest

from forests import THREADS, floats, intelex
from harness import SETTLE, Contestant, race
from treewright import GradientBoostingClassifier, RandomForestClassifier

N_CALLS, N_IN_TURN = 2000, 50


def lightgbm_forest(n_trees: int, n_leaves: int, n_threads: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        boosting_type="rf",
        n_estimators=n_trees,
        num_leaves=n_leaves,
        min_child_samples=1,
        bagging_freq=1,
        bagging_fraction=0.632,
        feature_fraction_bynode=0.2,
        n_jobs=n_threads,
        verbose=-1,
        random_state=0,
    )


def compare_many_rows(rounds: int) -> None:
    X, y = floats(120_000)
    train, y_train, test = X[:100_000], y[:100_000], X[100_000:]
    options = {"n_estimators": 50, "max_features": "sqrt", "random_state": 0}
    for n_threads in (1, THREADS):
        ours = RandomForestClassifier(**options, min_samples_leaf=1, n_jobs=n_threads).fit(train, y_train)
        n_leaves = int(ours.forest_.leaf_start[-1]) // 50
        models: list[tuple[str, Any]] = [("treewright", ours)]
        if intelex() is not None:
            peer = intelex().RandomForestClassifier(**options, n_jobs=n_threads)
            models.append(("scikit-learn-intelex", peer.fit(train, y_train)))
        models.append(("LightGBM, rf", lightgbm_forest(50, n_leaves, n_threads).fit(train, y_train)))
        asks = [Contestant(name, lambda model=model: model.predict_proba(test)) for name, model in models]
        for contestant in asks:
            contestant.work()
        title = f"20,000 rows, forest of 50 trees of {n_leaves} leaves of 100,000 x 30, threads: {n_threads}"
        print(f"\n{title}")
        timings = race(asks, rounds)
        for timing in timings:
            print(
                f"  {timing.name:<28} {1e3 * timing.best:8.1f} ms {timing.best / timings[0].best:6.2f} times our time"
            )


def time_calls(models: list[tuple[str, Any]], rows: list[Any]) -> dict[str, np.ndarray]:
    """Seconds of each call of each model, one row per call; the models take turns."""
    spent: dict[str, list[float]] = {name: [] for name, _ in models}
    for _, model in models:
        for row in rows[:N_IN_TURN]:
            model.predict_proba(row)
    for first in range(0, len(rows), N_IN_TURN):
        for name, model in models:
            if first % 500 == 0:
                time.sleep(SETTLE)
            spent[name] += [seconds_of(model.predict_proba, row) for row in rows[first : first + N_IN_TURN]]
    return {name: np.array(seconds) for name, seconds in spent.items()}


def seconds_of(call: Callable[[Any], Any], row: Any) -> float:
    start = time.perf_counter()
    call(row)
    return time.perf_counter() - start


def report_calls(title: str, spent: dict[str, np.ndarray]) -> None:
    print(f"\n{title}")
    ours = next(iter(spent.values()))
    for name, seconds in spent.items():
        middle, high = np.percentile(seconds, [50, 99])
        ratios = "" if seconds is ours else f"{middle / np.median(ours):6.1f} {high / np.percentile(ours, 99):6.1f}"
        print(f"  {name:<28} p50 {1e6 * middle:8.1f} us  p99 {1e6 * high:8.1f} us  {ratios}")


def boosting_models() -> list[tuple[str, Any]]:
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    return [
        ("treewright", GradientBoostingClassifier(n_estimators=100, n_jobs=1, random_state=0)),
        ("CatBoost", CatBoostClassifier(n_estimators=100, thread_count=1, verbose=0, allow_writing_files=False)),
        ("LightGBM", LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)),
        ("XGBoost", XGBClassifier(n_estimators=100, n_jobs=1)),
    ]


def forest_models() -> list[tuple[str, Any]]:
    options = {"n_estimators": 100, "max_features": "sqrt", "n_jobs": 1, "random_state": 0}
    return [
        ("treewright", RandomForestClassifier(**options, min_samples_leaf=1)),
        ("LightGBM, rf", lightgbm_forest(100, 1400, 1)),
        ("scikit-learn", ScikitForest(**options)),
    ]


def compare_single_rows() -> None:
    X, y = floats(20_000 + N_CALLS, 20)
    frame = pd.DataFrame(X, columns=[f"column {place}" for place in range(20)])
    train, y_train = slice(0, 20_000), y[:20_000]
    rows = [np.ascontiguousarray(row[None]) for row in X[20_000:]]
    one_row_frames = [frame.iloc[place : place + 1] for place in range(20_000, len(frame))]
    for name, make in (("Boosting", boosting_models), ("Forest", forest_models)):
        fitted = [(peer, model.fit(X[train], y_train)) for peer, model in make()]
        report_calls(f"{name}, 100 trees, one NumPy row per call (ratios of p50 and p99)", time_calls(fitted, rows))
        fitted = [(peer, model.fit(frame[train], y_train)) for peer, model in make()]
        spent = time_calls(fitted, one_row_frames)
        report_calls(f"{name}, 100 trees, one-row pandas frame per call (ratios of p50 and p99)", spent)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=["many", "single"])
    chosen = parser.parse_args()
    if chosen.only in (None, "many"):
        compare_many_rows(chosen.rounds)
    if chosen.only in (None, "single"):
        compare_single_rows()


if __name__ == "__main__":
    main()
