"""The time to load model files: `make bench-model-files`.

A boosted model of 100 trees, and a forest whose file has a gigabyte. Loads take turns, and the best of each counts. The
files are in the cache of the operating system.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from treewright import GradientBoostingClassifier, RandomForestRegressor, load, save

ROUNDS = 7


def make_table(n_rows: int, n_columns: int = 20) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, n_columns))
    return X, X[:, 0] * X[:, 1] + random.standard_normal(n_rows)


def best_load(path: Path, verify: Any, row: np.ndarray | None = None) -> float:
    """Seconds to load a file, and to predict a row if one is given."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        model = load(path, verify=verify)
        if row is not None:
            model.predict(row)
        best = min(best, time.perf_counter() - start)
    return best


def report(name: str, path: Path, row: np.ndarray, target: float) -> None:
    size = path.stat().st_size / 1e6
    spent = best_load(path, "auto")
    print(f"{name}, {size:,.1f} MB")
    print(f"  load                             {spent * 1e3:9.2f} ms   target {target * 1e3:.0f} ms: ", end="")
    print("met" if spent < target else "not met")
    print(f"  load and predict one row         {best_load(path, 'auto', row) * 1e3:9.2f} ms")
    print(f"  load with verify=True            {best_load(path, True) * 1e3:9.2f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the file of the forest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        X, y = make_table(20_000)
        booster = GradientBoostingClassifier(n_estimators=100, learning_rate=0.1, growth="best", random_state=0)
        save(booster.fit(X, y > 0), Path(directory) / "boosting.tw")
        report("Gradient boosting, 100 trees of 31 leaves", Path(directory) / "boosting.tw", X[:1], 0.010)
        X, y = make_table(200_000)
        n_trees = max(round(180 * options.gigabytes), 1)
        forest = RandomForestRegressor(n_estimators=n_trees, min_samples_leaf=1, max_features=0.3, random_state=0)
        save(forest.fit(X, y), Path(directory) / "forest.tw")
        report(f"Random forest, {n_trees} full trees of 200,000 rows", Path(directory) / "forest.tw", X[:1], 0.100)


if __name__ == "__main__":
    main()
