"""Fits on a Dask cluster of this machine beside the local fit and the Dask learners of XGBoost and LightGBM.

Run: make bench-dask
"""

from __future__ import annotations

import argparse
import hashlib
import os
from typing import Any

import numpy as np

import treewright
import treewright.dask as on_dask
from harness import Contestant, race

BOOSTING = {"n_estimators": 100, "learning_rate": 0.1, "growth": "best", "random_state": 0}
FOREST = {"n_estimators": 20, "max_features": 7, "min_samples_leaf": 1, "random_state": 0}


def make_table(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_columns)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + random.normal(size=n_rows)
    return X, (signal > 0).astype(np.int64)


def digest_of(model: Any) -> str:
    """The digest of the model file, without the number of threads, which is a parameter that the file keeps."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    return hashlib.sha256(treewright.save(model.set_params(n_jobs=None))).hexdigest()


def peers(client: Any, X: Any, y: Any) -> list[Contestant]:
    """The learners of other libraries, with trees of the same size."""
    import lightgbm
    from xgboost import dask as xgboost_dask

    def fit_xgboost() -> Any:
        model = xgboost_dask.DaskXGBClassifier(
            n_estimators=100, learning_rate=0.1, max_leaves=31, max_depth=0, grow_policy="lossguide", tree_method="hist"
        )
        model.client = client
        return model.fit(X, y)

    def fit_lightgbm() -> Any:
        model = lightgbm.DaskLGBMClassifier(
            n_estimators=100, learning_rate=0.1, num_leaves=31, tree_learner="data", client=client, verbose=-1
        )
        return model.fit(X, y)

    return [Contestant("XGBoost, Dask", fit_xgboost), Contestant("LightGBM, Dask", fit_lightgbm)]


def report(title: str, contestants: list[Contestant], rounds: int) -> dict[str, Any]:
    print(f"\n{title}")
    timings = race(contestants, rounds)
    for timing in timings:
        print(f"  {timing.name:<24} {timing.best:8.2f} s   {timing.best / timings[0].best:5.2f} times the local fit")
    return {timing.name: timing.result for timing in timings}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-peers", action="store_true")
    given = parser.parse_args()
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    X, y = make_table(given.rows, given.columns)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        size = -(-given.rows // 8)
        blocks = da.from_array(X, chunks=(size, given.columns)).persist()
        target = da.from_array(y, chunks=size).persist()
        wait([blocks, target])
        print(f"{given.rows:,} x {given.columns} float32, 2 workers with 1 thread each; local fits with 2 threads")
        contestants = [
            Contestant("local", lambda: treewright.GradientBoostingClassifier(n_jobs=2, **BOOSTING).fit(X, y)),
            Contestant("Dask", lambda: on_dask.GradientBoostingClassifier(**BOOSTING).fit(blocks, target)),
        ]
        others = [] if given.without_peers else peers(client, blocks, target)
        found = report("boosting, 100 rounds of 31 leaves", contestants + others, given.rounds)
        print("  same model:", digest_of(found["local"]) == digest_of(found["Dask"].to_local()))
        contestants = [
            Contestant("local", lambda: treewright.RandomForestClassifier(n_jobs=2, **FOREST).fit(X, y)),
            Contestant("Dask", lambda: on_dask.RandomForestClassifier(**FOREST).fit(blocks, target)),
        ]
        found = report("forest of 20 full trees", contestants, given.rounds)
        print("  same model:", digest_of(found["local"]) == digest_of(found["Dask"].to_local()))


if __name__ == "__main__":
    main()
