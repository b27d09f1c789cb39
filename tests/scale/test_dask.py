"""Models fitted on a Dask cluster are those fitted in memory, to the byte."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any

import cloudpickle
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from distributed import Client, LocalCluster

import treewright
import treewright.dask as on_dask
from model_digests import digest_of

N_ROWS = 22_000
UNEVEN = (0, 0, 150, 9_000, 9_000, 14_321)


def make_frame(n_rows: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    """A table with numbers, text, ordered categories, dates and missing values, and several targets."""
    draws = np.random.default_rng(seed)
    x, z = draws.normal(size=n_rows), draws.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "x": np.where(draws.random(n_rows) < 0.05, np.nan, x),
            "z": z.astype(np.float32),
            "whole": draws.integers(0, 1000, n_rows),
            "colour": draws.choice(["red", "green", "blue"], n_rows),
            "town": [f"town {k}" for k in draws.integers(0, 30, n_rows)],
            "day": pd.Timestamp("2021-01-01") + pd.to_timedelta(draws.integers(0, 700, n_rows), unit="D"),
            "size": pd.Categorical(draws.choice(["S", "M", "L"], n_rows), categories=["S", "M", "L"], ordered=True),
        }
    )
    frame.loc[n_rows - 3, "colour"] = "only in the last partition"
    signal_ = x + x * z + (frame["colour"] == "red") + draws.normal(size=n_rows)
    frame["weight"] = draws.choice([0.0, 1.0, 2.0], n_rows)
    frame["number"] = signal_
    frame["count"] = draws.poisson(np.exp(np.clip(signal_ / 3, -3, 3)))
    frame["two"] = np.where(signal_ > 0.3, "yes", "no")
    frame["four"] = np.digitize(signal_, [-1, 0, 1])
    return frame


FRAME = make_frame()
FEATURES = ["x", "z", "whole", "colour", "town", "day", "size"]


def partition(frame: pd.DataFrame, edges: tuple[int, ...]) -> Any:
    """A Dask frame with partitions that end at these rows."""
    ends = [0, *edges, len(frame)]
    return dd.from_delayed([delayed(frame.iloc[first:last]) for first, last in pairwise(ends)], meta=frame.iloc[:0])


@contextmanager
def cluster(n_workers: int, threads: int = 1, processes: bool = False) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=threads, processes=processes, dashboard_address=":0"
        ) as started,
        Client(started) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def three_workers() -> Iterator[Client]:
    with cluster(3) as client:
        yield client


CASES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "forest": ("RandomForestClassifier", "four", {"n_estimators": 8, "max_features": 3, "min_samples_leaf": 5}, {}),
    "forest with out-of-bag score": (
        "RandomForestRegressor",
        "number",
        {"n_estimators": 12, "max_features": 3, "min_samples_leaf": 20, "oob_score": True},
        {},
    ),
    "forest of a chosen shape": ("RandomForestClassifier", "two", {"n_estimators": 50, "max_depth": 4}, {}),
    "extra trees": ("ExtraTreesRegressor", "number", {"n_estimators": 6, "max_features": 3}, {"weighted": True}),
    "boosting of two classes": ("GradientBoostingClassifier", "two", {"n_estimators": 12}, {}),
    "boosting with weights": ("GradientBoostingClassifier", "two", {"n_estimators": 8}, {"weighted": True}),
    "boosting of four classes": ("GradientBoostingClassifier", "four", {"n_estimators": 5}, {}),
    "boosting with chosen rounds": (
        "GradientBoostingRegressor",
        "number",
        {"learning_rate": 0.3, "n_iter_no_change": 5, "max_leaf_nodes": 8},
        {},
    ),
    "boosting with a validation set": (
        "GradientBoostingRegressor",
        "number",
        {"n_estimators": 40, "learning_rate": 0.5, "n_iter_no_change": 3, "growth": "level"},
        {"validated": True},
    ),
    "oblivious boosting of counts": (
        "GradientBoostingRegressor",
        "count",
        {"n_estimators": 8, "loss": "poisson", "growth": "oblivious", "subsample": 0.6},
        {},
    ),
    "boosting of medians": ("GradientBoostingRegressor", "number", {"n_estimators": 5, "loss": "absolute_error"}, {}),
    "robust boosting": ("GradientBoostingRegressor", "number", {"n_estimators": 5, "loss": "huber"}, {}),
    "boosting by gradients": ("GradientBoostingRegressor", "number", {"n_estimators": 14, "goss": True}, {}),
    "boosting with few columns": (
        "GradientBoostingRegressor",
        "number",
        {"n_estimators": 5, "max_features": 0.5, "colsample_bytree": 0.7, "monotonic_cst": {"x": 1}},
        {},
    ),
}


def arguments_of(name: str) -> tuple[str, dict[str, Any]]:
    """The target of a case, and the other arguments of `fit`."""
    _, target, _, options = CASES[name]
    if not options.get("validated"):
        return target, {}
    rows = make_frame(500, seed=9)
    return target, {"X_val": rows[FEATURES], "y_val": rows[target]}


@cache
def fit_locally(name: str) -> Any:
    learner, _, parameters, options = CASES[name]
    target, more = arguments_of(name)
    weights = FRAME["weight"] if options.get("weighted") else None
    return getattr(treewright, learner)(random_state=0, **parameters).fit(
        FRAME[FEATURES], FRAME[target], weights, **more
    )


def fit_on_cluster(client: Client, name: str, edges: tuple[int, ...]) -> Any:
    learner, _, parameters, options = CASES[name]
    target, more = arguments_of(name)
    weight = "weight" if options.get("weighted") else None
    kept = [*FEATURES, target] + ["weight"] * (weight is not None)
    other = getattr(on_dask, learner)(random_state=0, client=client, **parameters)
    return other.fit(partition(FRAME, edges)[kept], target, weight, **more)


def fit_both(client: Client, name: str, edges: tuple[int, ...]) -> tuple[Any, Any]:
    """The local model and that of the cluster."""
    return fit_locally(name), fit_on_cluster(client, name, edges)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_model_of_a_cluster_is_the_local_one(name: str, three_workers: Client) -> None:
    local, other = fit_both(three_workers, name, UNEVEN)
    assert digest_of(other.to_local()) == digest_of(local)


@pytest.mark.slow
@pytest.mark.parametrize(("n_workers", "threads"), [(1, 2), (2, 2), (5, 1)])
def test_the_model_does_not_depend_on_the_number_of_workers(n_workers: int, threads: int) -> None:
    with cluster(n_workers, threads) as client:
        for name in ("boosting with weights", "boosting with chosen rounds", "forest"):
            local, other = fit_both(client, name, tuple(range(2_500, N_ROWS, 2_500)))
            assert digest_of(other.to_local()) == digest_of(local)


@pytest.mark.parametrize("name", ["forest", "forest with out-of-bag score", "extra trees"])
def test_codes_that_do_not_fit_into_workers_are_stored_on_their_disks(
    name: str, three_workers: Client, monkeypatch: Any
) -> None:
    from treewright.scale import storage, stored_codes

    sizes = []

    def reserve(self: Any, file: Any, n_bytes: int) -> None:
        sizes.append(n_bytes)
        return reserve_space(self, file, n_bytes)

    reserve_space = storage.Storage.reserve
    monkeypatch.setattr(storage.Storage, "reserve", reserve)
    monkeypatch.setattr(storage, "LEAST_STORED_BYTES", 0)
    monkeypatch.setattr(stored_codes, "SHARE_FOR_CODES", 0.0)
    monkeypatch.setattr(stored_codes, "SHARE_IN_USE", 0.0)  # pages are released all the time
    monkeypatch.setattr(stored_codes, "TIME_BETWEEN_CHECKS", 0.001)
    local, other = fit_both(three_workers, name, UNEVEN)
    assert digest_of(other.to_local()) == digest_of(local)
    assert sizes == sizes[:1] * 6  # by column and by row, on each of three workers


@pytest.mark.slow
def test_forests_grow_from_mapped_files_of_worker_processes(monkeypatch: Any) -> None:
    from treewright.scale import stored_codes

    monkeypatch.setattr(stored_codes, "SHARE_FOR_CODES", 0.0)
    with cluster(2, processes=True) as client:
        client.run(record_tables)
        local, other = fit_both(client, "forest", UNEVEN)
        assert digest_of(other.to_local()) == digest_of(local)
        for found, left in client.run(recorded_tables).values():
            assert left == 0
            assert set(found) == {True}


def record_tables() -> None:
    """Let a worker process map small files, too, and note for each use of a table whether it is in mapped files."""
    import mmap

    from treewright.scale import storage, stored_codes

    def find(name: str) -> Any:
        table = found(name)
        base = table.codes
        while base is not None and not isinstance(base, mmap.mmap):
            base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
        stored_codes.found_in_files.append(base is not None)
        return table

    found = stored_codes.find_table
    storage.LEAST_STORED_BYTES = 0
    stored_codes.find_table, stored_codes.found_in_files = find, []


def recorded_tables() -> tuple[list[bool], int]:
    from treewright.scale import stored_codes

    return stored_codes.found_in_files, len(stored_codes._tables)


@pytest.mark.parametrize("name", ["forest", "boosting of four classes", "oblivious boosting of counts"])
def test_data_that_workers_have_spilled_is_used(name: str, three_workers: Client, monkeypatch: Any) -> None:
    from treewright.scale import cluster as module

    monkeypatch.setattr(module, "grow_group", spilled(module.grow_group))
    monkeypatch.setattr(module, "run_member", spilled(module.run_member))
    local, other = fit_both(three_workers, name, UNEVEN)
    assert digest_of(other.to_local()) == digest_of(local)


def spilled(function: Any) -> Any:
    """The function, called with arguments as Dask reads them from a disk: write-protected arrays, not aligned."""

    def call(*arguments: Any) -> Any:
        buffers: list[Any] = []
        written = cloudpickle.dumps(arguments, protocol=5, buffer_callback=buffers.append)
        read = [memoryview(b"?" + bytes(buffer))[1:] for buffer in buffers]
        return function(*pickle.loads(written, buffers=read))

    return call


def test_many_members_add_up_parts(three_workers: Client) -> None:
    from treewright.scale import exchange

    del three_workers
    with cluster(5) as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "MOST_DIRECT", 1)
        local, other = fit_both(client, "boosting of two classes", (8_000,))
        assert digest_of(other.to_local()) == digest_of(local)


@pytest.mark.parametrize("apart", [{0, 1, 2}, {2}])
def test_members_on_other_machines_exchange_by_messages(
    apart: set[int], three_workers: Client, monkeypatch: Any
) -> None:
    from treewright.scale import exchange

    def connect_to(path: str, rank: int, patience: float) -> Any:
        return None if rank in apart else connect(path, rank, patience)

    connect = exchange.connect_to
    monkeypatch.setattr(exchange, "connect_to", connect_to)
    local, other = fit_both(three_workers, "boosting of four classes", UNEVEN)
    assert digest_of(other.to_local()) == digest_of(local)


def test_arrays_and_futures_are_tables_too(three_workers: Client) -> None:
    draws = np.random.default_rng(0)
    X = draws.normal(size=(21_000, 4))
    y = X[:, 0] + draws.normal(size=len(X))
    local = treewright.GradientBoostingRegressor(n_estimators=4, random_state=0).fit(X, y)
    blocks, target = da.from_array(X, chunks=(5_000, 3)), da.from_array(y, chunks=7_000)
    futures = three_workers.scatter([X[:6_000], X[6_000:]], hash=False)
    for table, values in [(blocks, target), (futures, y), (X, y)]:
        other = on_dask.GradientBoostingRegressor(n_estimators=4, random_state=0).fit(table, values)
        assert digest_of(other.to_local()) == digest_of(local)
    predicted = other.predict(blocks)
    assert isinstance(predicted, da.Array)
    assert np.array_equal(predicted.compute(), local.predict(X))
    assert np.array_equal(other.predict(X), local.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_type_and_layout_are_encoded_as_locally(three_workers: Client, dtype: Any, order: str) -> None:
    draws = np.random.default_rng(0)
    X = np.asarray(100 * draws.normal(size=(21_000, 5)), dtype, order)  # type: ignore[call-overload]
    y = X[:, 0] + 50 * draws.normal(size=len(X))
    if X.dtype.kind == "f":
        X[draws.random(X.shape) < 0.1] = np.nan
        X[:, 3], X[:9_000, 4], X[5, 1], X[20_000, 1], X[7, 2] = np.nan, np.nan, np.inf, -np.inf, -0.0
    for more in ({}, {"validation_fraction": 0.2, "n_iter_no_change": 2}):
        options = {"n_estimators": 3, "random_state": 0, **more}
        local = treewright.GradientBoostingRegressor(**options).fit(X, y)
        parts = three_workers.scatter([X[:9_000], X[9_000:9_001], X[9_001:]], hash=False)
        other = on_dask.GradientBoostingRegressor(**options).fit(parts, y)
        assert digest_of(other.to_local()) == digest_of(local)


def test_parquet_files_are_read_by_the_workers(three_workers: Client, tmp_path: Any) -> None:
    for number, (first, last) in enumerate(pairwise([0, 5_000, N_ROWS])):
        FRAME.iloc[first:last][[*FEATURES, "two"]].to_parquet(tmp_path / f"{number}.parquet")
    local = treewright.RandomForestClassifier(n_estimators=4, max_features=3, min_samples_leaf=1, random_state=0)
    local.fit(FRAME[FEATURES], FRAME["two"])
    other = on_dask.RandomForestClassifier(n_estimators=4, max_features=3, min_samples_leaf=1, random_state=0)
    other.fit(f"{tmp_path}/*.parquet", "two")
    assert digest_of(other.to_local()) == digest_of(local)


def test_files_have_the_order_of_scan(three_workers: Client, tmp_path: Any) -> None:
    for number in range(11):
        FRAME.iloc[2_000 * number : 2_000 * (number + 1)][["x", "z", "number"]].to_parquet(
            tmp_path / f"{number}.parquet"
        )
    local = treewright.GradientBoostingRegressor(n_estimators=3, random_state=0)
    local.fit(treewright.scan(tmp_path / "*.parquet"), "number")
    other = on_dask.GradientBoostingRegressor(n_estimators=3, random_state=0).fit(f"{tmp_path}/*.parquet", "number")
    assert digest_of(other.to_local()) == digest_of(local)


def test_predictions_of_a_dask_frame_are_lazy_and_those_of_the_local_model(three_workers: Client) -> None:
    local, other = fit_both(three_workers, "boosting of two classes", UNEVEN)
    table = partition(FRAME, UNEVEN)[FEATURES]
    predicted, shares = other.predict(table), other.predict_proba(table)
    assert isinstance(predicted, dd.Series)
    assert isinstance(shares, dd.DataFrame)
    assert predicted.compute().tolist() == local.predict(FRAME[FEATURES]).tolist()
    assert np.array_equal(shares.compute().to_numpy(), local.predict_proba(FRAME[FEATURES]))
    assert list(shares.columns) == local.classes_.tolist()


def test_predictions_of_a_dask_collection_are_written_to_a_file_in_the_order_of_its_rows(
    three_workers: Client, tmp_path: Any
) -> None:
    local, other = fit_both(three_workers, "boosting of two classes", UNEVEN)
    X = FRAME[FEATURES]
    assert other.predict_proba(partition(FRAME, UNEVEN)[FEATURES], out=tmp_path / "shares.parquet") == len(FRAME)
    shares = pd.read_parquet(tmp_path / "shares.parquet")
    assert list(shares.columns) == [f"probability_{name}" for name in local.classes_]
    assert np.array_equal(shares.to_numpy(), local.predict_proba(X))
    other.predict(partition(FRAME, UNEVEN)[FEATURES], out=tmp_path / "classes.parquet")
    assert pd.read_parquet(tmp_path / "classes.parquet")["prediction"].tolist() == local.predict(X).tolist()
    draws = np.random.default_rng(0).normal(size=(300, 2))
    model = on_dask.GradientBoostingRegressor(n_estimators=2, random_state=0).fit(draws, draws[:, 0])
    assert model.predict(da.from_array(draws, chunks=(7, 2)), out=tmp_path / "numbers.parquet") == 300
    assert np.array_equal(pd.read_parquet(tmp_path / "numbers.parquet")["prediction"], model.predict(draws))


def test_what_partitions_have_in_common_is_computed_once_for_their_predictions(
    three_workers: Client, tmp_path: Any
) -> None:
    calls = tmp_path / "calls"

    def make() -> np.ndarray:
        with calls.open("a") as file:
            file.write("called\n")
        return np.random.default_rng(0).normal(size=(60, 2))

    model = on_dask.GradientBoostingRegressor(n_estimators=2, random_state=0).fit(make(), make()[:, 0])
    calls.unlink()
    whole = delayed(make, pure=True)()
    blocks = [da.from_delayed(whole[first : first + 2], (2, 2), dtype=float) for first in range(0, 60, 2)]
    assert model.predict(da.concatenate(blocks), out=tmp_path / "numbers.parquet") == 60
    assert calls.read_text() == "called\n"


@pytest.mark.slow
def test_a_small_table_is_fitted_with_folds_as_locally(three_workers: Client) -> None:
    frame = FRAME.iloc[:600]
    options = {"learning_rate": 0.3, "random_state": 0}
    local = treewright.GradientBoostingClassifier(**options).fit(frame[FEATURES], frame["two"])
    other = on_dask.GradientBoostingClassifier(**options)
    other.fit(partition(frame[[*FEATURES, "two"]], (100, 100, 450)), "two")
    assert digest_of(other.to_local()) == digest_of(local)


def test_the_learners_have_the_parameters_of_the_local_ones() -> None:
    from sklearn.base import clone

    for name in on_dask.__all__:
        learner = getattr(on_dask, name)(n_estimators=7, random_state=3)
        assert learner.get_params() == getattr(treewright, name)(n_estimators=7, random_state=3).get_params()
        assert clone(learner).n_estimators == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.drop(columns="z"), "partition 1 lacks the column 'z'"),
        (lambda part: part.assign(z="text"), "column 'z' is categorical in some chunks and numeric in others"),
    ],
)
def test_a_partition_that_differs_is_one_sentence(change: Any, message: str, three_workers: Client) -> None:
    parts = [FRAME.iloc[:5_000], change(FRAME.iloc[5_000:10_000])]
    futures = three_workers.scatter([part.drop(columns=["four", "count"]) for part in parts], hash=False)
    with pytest.raises(ValueError, match=message):
        on_dask.RandomForestClassifier(n_estimators=3).fit(futures, "two")


def test_a_mistake_of_the_user_is_the_error_of_the_local_learner(three_workers: Client) -> None:
    table = partition(FRAME[["x", "two"]], ())
    with pytest.raises(ValueError, match="no column 'three'"):
        on_dask.RandomForestClassifier(client=three_workers).fit(table, "three")
    with pytest.raises(ValueError, match="the target is text"):
        on_dask.GradientBoostingRegressor(client=three_workers).fit(table, "two")


def test_progress_reaches_the_client(three_workers: Client, monkeypatch: Any) -> None:
    from treewright.estimators.boosting import fitting
    from treewright.scale import cluster as on_workers

    steps: list[int] = []

    @contextmanager
    def follow(*_: Any) -> Iterator[Any]:
        yield lambda n_steps=1, note="": steps.append(n_steps)

    monkeypatch.setattr(on_workers, "TIME_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr(fitting, "follow", follow)
    table = partition(FRAME[["x", "z", "number"]], UNEVEN)
    on_dask.GradientBoostingRegressor(n_estimators=30, client=three_workers).fit(table, "number")
    assert 0 < sum(steps) <= 30


def kill_one(client: Client, seed: int) -> None:
    """Kill a worker process."""
    pids = client.run(os.getpid)
    os.kill(random.Random(seed).choice(sorted(pids.values())), signal.SIGKILL)


def fit_while_a_worker_is_killed(client: Client, seed: int, delay: float) -> bool:
    """Whether the model is the local one, although a worker was killed."""
    name = ("boosting of two classes", "forest with out-of-bag score")[seed % 2]
    local = digest_of(fit_locally(name))
    timer = threading.Timer(delay, kill_one, (client, seed))
    timer.start()
    try:
        other = fit_on_cluster(client, name, tuple(range(3_000, N_ROWS, 3_000)))
    finally:
        timer.cancel()
        timer.join()
    return digest_of(other.to_local()) == local


@pytest.mark.slow
def test_a_killed_worker_does_not_change_the_model() -> None:
    with cluster(3, processes=True) as client:
        for seed in (0, 1):
            client.wait_for_workers(3)
            client.run(import_module, "treewright.scale.cluster")
            assert fit_while_a_worker_is_killed(client, seed, delay=0.2 + 0.1 * seed), seed


@pytest.mark.slow
def test_data_that_was_lost_with_its_worker_is_one_sentence() -> None:
    with cluster(2, processes=True) as client:
        pieces = [FRAME.iloc[:9_000][["x", "z", "number"]], FRAME.iloc[9_000:][["x", "z", "number"]]]
        futures = client.scatter(pieces, hash=False)
        holder = next(iter(client.who_has(futures[0])[futures[0].key]))
        pids = client.run(os.getpid)
        os.kill(pids[holder], signal.SIGKILL)
        with pytest.raises(RuntimeError, match="lost together with their part of the table"):
            on_dask.GradientBoostingRegressor(n_estimators=5).fit(futures, "number")


LONG_FIT = """
import sys
import dask.dataframe as dd
from distributed import Client
import treewright.dask as on_dask

client = Client(sys.argv[1])
table = dd.read_parquet(sys.argv[2])
model = on_dask.GradientBoostingRegressor(n_estimators=100_000, random_state=0, client=client)
model.fit(table, "number")
"""


@pytest.mark.soak  # Dask waits half a minute before it frees what a client held
def test_a_client_that_goes_away_leaves_the_cluster_free(tmp_path: Any) -> None:
    FRAME[["x", "z", "number"]].to_parquet(tmp_path / "table.parquet")
    with cluster(2, processes=True) as client:
        address = client.scheduler.address
        other = subprocess.Popen([sys.executable, "-c", LONG_FIT, address, str(tmp_path / "table.parquet")])
        try:
            while not any("run_member" in key for keys in client.processing().values() for key in map(str, keys)):
                assert other.poll() is None
        finally:
            other.kill()
            other.wait()
        local, own = fit_both(client, "boosting of two classes", (9_000,))
        assert digest_of(own.to_local()) == digest_of(local)


def test_an_interrupt_ends_the_work_of_the_workers(three_workers: Client, monkeypatch: Any) -> None:
    from treewright.scale import cluster as on_workers

    wait_a_moment = on_workers.wait_a_moment

    def interrupt(futures: Any) -> None:
        wait_a_moment(futures)
        raise KeyboardInterrupt

    table = partition(FRAME[["x", "z", "number"]], UNEVEN)
    learner = on_dask.GradientBoostingRegressor(n_estimators=100_000, random_state=0, client=three_workers)
    monkeypatch.setattr(on_workers, "wait_a_moment", interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(table, "number")
    monkeypatch.undo()
    local, other = fit_both(three_workers, "boosting of two classes", UNEVEN)
    assert digest_of(other.to_local()) == digest_of(local)


@pytest.mark.soak
def test_fifty_kills_at_random_moments() -> None:
    draws = random.Random(0)
    for seed in range(50):
        # Dask does not always replace a worker that is killed while another one starts.
        with cluster(3, processes=True) as client:
            client.run(import_module, "treewright.scale.cluster")
            assert fit_while_a_worker_is_killed(client, seed, delay=draws.uniform(0.0, 0.9)), seed
