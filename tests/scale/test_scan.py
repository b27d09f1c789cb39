"""Models fitted to tables in chunks are those fitted to the same tables in memory, to the byte."""

from __future__ import annotations

import mmap
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import treewright
from model_digests import digest_of
from treewright import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    scan,
)
from treewright.scale import sources


def messy_table(n_rows: int = 700, seed: int = 0) -> pd.DataFrame:
    """Numbers, whole numbers, text of few and of many values, booleans, dates, ordered categories, missing values."""
    random = np.random.default_rng(seed)
    x = random.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "number": np.where(random.random(n_rows) < 0.1, np.nan, x),
            "whole": random.integers(-5, 300, n_rows),
            "colour": random.choice(["red", "green", "blue", None], n_rows),
            "town": [f"town {k}" for k in random.integers(0, 60, n_rows)],
            "is_new": random.random(n_rows) < 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n_rows), unit="D"),
            "size": pd.Categorical(
                random.choice(["S", "M", "L"], n_rows), categories=["S", "M", "L", "XL"], ordered=True
            ),
            "empty": np.full(n_rows, np.nan),
            "weight": random.choice([0.0, 1.0, 2.5], n_rows),
        }
    )
    signal = np.nan_to_num(x) + (frame["colour"] == "red") + 0.01 * frame["whole"] + random.normal(size=n_rows)
    frame["y"] = signal
    frame["kind"] = np.select([signal > 2, signal > 0], ["high", "middle"], "low")
    return frame


def pieces(frame: pd.DataFrame, ends: tuple[int, ...]) -> list[pd.DataFrame]:
    """The frame in pieces that end at these rows."""
    edges = [0, *ends, len(frame)]
    return [frame.iloc[first:last] for first, last in pairwise(edges)]


LEARNERS = [
    (RandomForestClassifier(n_estimators=60, random_state=0), "kind"),
    (RandomForestRegressor(n_estimators=10, random_state=1, oob_score=True), "y"),
    (ExtraTreesClassifier(n_estimators=10, random_state=2, class_weight="balanced"), "kind"),
    (ExtraTreesRegressor(n_estimators=10, random_state=3), "y"),
    (GradientBoostingClassifier(n_estimators=12, random_state=4), "kind"),
    (GradientBoostingRegressor(learning_rate=0.3, random_state=5), "y"),
    (GradientBoostingRegressor(n_estimators=12, loss="absolute_error", subsample=0.5, random_state=6), "y"),
]


@cache
def digest_in_memory(learner: Any, target: str) -> str:
    """The digest of the model of the whole table."""
    frame = messy_table()
    return digest_of(clone(learner).fit(frame.drop(columns=["y", "kind", "weight"]), frame[target]))


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "target"), LEARNERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("ends", [(), (100, 100, 350), tuple(range(7, 700, 53))], ids=["whole", "uneven", "many"])
def test_a_model_of_chunks_is_that_of_the_whole_table(learner: Any, target: str, ends: tuple[int, ...]) -> None:
    other = "kind" if target == "y" else "y"
    chunked = scan(iter(pieces(messy_table(), ends))).drop("weight", other)
    assert digest_of(learner.fit(chunked, target)) == digest_in_memory(learner, target)


@pytest.mark.parametrize(("learner", "target"), [LEARNERS[0], LEARNERS[5]], ids=["forest", "boosting"])
def test_weights_of_zero_leave_out_the_same_rows_and_categories(learner: Any, target: str) -> None:
    frame = messy_table()
    frame.loc[3, ["colour", "weight"]] = ["seen once", 0.0]
    X = frame.drop(columns=["y", "kind", "weight"])
    in_memory = digest_of(learner.fit(X, frame[target], frame["weight"]))
    other = "kind" if target == "y" else "y"
    chunked = scan(iter(pieces(frame, (64, 500)))).drop(other)
    assert digest_of(learner.fit(chunked, target, "weight")) == in_memory


def test_parquet_files_of_several_row_groups_give_the_model_of_the_table(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sources, "CELLS_OF_CHUNK", 700)
    frame = messy_table(1200)
    for number, piece in enumerate(pieces(frame, (500, 501))):
        piece.to_parquet(tmp_path / f"part-{number}.parquet", row_group_size=90)
    learner = GradientBoostingClassifier(n_estimators=5, random_state=0)
    in_memory = digest_of(learner.fit(frame.drop(columns=["kind", "y"]), frame["kind"]))
    table = scan(str(tmp_path / "*.parquet"))
    assert len(table.lengths) > 10
    assert digest_of(learner.fit(table.drop("y"), "kind")) == in_memory


def test_declared_categories_of_numbers_are_in_ascending_order() -> None:
    frame = pd.DataFrame({"code": [3, 1, 3, 2, 9, 1] * 40, "y": np.arange(240.0)})
    learner = RandomForestRegressor(n_estimators=5, random_state=0, categorical_features=["code"])
    in_memory = digest_of(learner.fit(frame[["code"]], frame["y"]))
    assert digest_of(learner.fit(scan(iter(pieces(frame, (2, 100)))), "y")) == in_memory


def test_days_in_one_chunk_and_moments_in_another_are_moments() -> None:
    moments = pd.Series(pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(300) * 6, unit="h"))
    moments[:100] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(100), unit="D")
    frame = pd.DataFrame({"when": moments, "y": np.arange(300.0)})
    learner = RandomForestRegressor(n_estimators=5, random_state=0)
    in_memory = digest_of(learner.fit(frame[["when"]], frame["y"]))
    assert digest_of(learner.fit(scan(iter(pieces(frame, (100,)))), "y")) == in_memory


def test_chunks_of_arrays_have_no_names() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 3)), random.normal(size=400)
    learner = GradientBoostingRegressor(n_estimators=5, random_state=0)
    in_memory = digest_of(learner.fit(X, y))
    assert digest_of(learner.fit(scan([X[:150], X[150:]]), y)) == in_memory


def test_bins_of_a_large_table_come_from_the_same_sample() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60_000, 2)).astype(np.float32)
    y = X[:, 0] + random.normal(size=60_000)
    learner = GradientBoostingRegressor(n_estimators=3, random_state=0)
    in_memory = digest_of(learner.fit(X, y))
    assert digest_of(learner.fit(scan(np.array_split(X, 7)), y)) == in_memory


@pytest.mark.parametrize("name", ["CARTClassifier", "C45Classifier", "BaggingClassifier", "VotingClassifier"])
def test_every_learner_predicts_chunk_by_chunk(name: str, tmp_path: Any) -> None:
    iris = treewright.datasets.load_iris()
    frame = pd.DataFrame(iris.X)
    learner = getattr(treewright, name)()
    model = learner.fit(frame, iris.y)
    table = scan(iter(pieces(frame, (50, 70))))
    parts = list(model.predict(table))
    assert [len(part) for part in parts] == [50, 20, 80]
    assert np.array_equal(np.concatenate(parts), model.predict(frame))
    assert np.array_equal(np.concatenate(list(model.predict_proba(table))), model.predict_proba(frame))
    assert model.predict_proba(table, out=tmp_path / "shares.parquet") == 150
    written = pq.read_table(tmp_path / "shares.parquet").to_pandas()
    assert list(written.columns) == [f"probability_{name}" for name in model.classes_]
    assert np.array_equal(written.to_numpy(), model.predict_proba(frame))
    model.predict(table, out=tmp_path / "classes.parquet")
    assert pq.read_table(tmp_path / "classes.parquet")["prediction"].to_pylist() == model.predict(frame).tolist()


def write_parts(folder: Any) -> list[Any]:
    paths = [folder / f"{number}.parquet" for number in range(3)]
    for path, piece in zip(paths, pieces(messy_table(), (200, 400)), strict=True):
        piece.to_parquet(path)
    return paths


def test_a_file_that_changes_between_two_reads_is_an_error(tmp_path: Any) -> None:
    paths = write_parts(tmp_path)
    table = scan(paths)
    messy_table(10).to_parquet(paths[1])
    with pytest.raises(ValueError, match=r"1\.parquet: the file has changed"):
        RandomForestRegressor(n_estimators=2).fit(table, "y")


def test_a_broken_file_in_the_middle_is_an_error_that_names_it(tmp_path: Any) -> None:
    paths = write_parts(tmp_path)
    content = bytearray(paths[1].read_bytes())
    content[100:4000] = bytes(3900)
    paths[1].write_bytes(content)
    with pytest.raises(ValueError, match=r"1\.parquet"):
        RandomForestRegressor(n_estimators=2).fit(scan(paths), "y")
    paths[1].write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"1\.parquet: the file cannot be read"):
        scan(paths)


def test_a_file_without_the_target_is_an_error_that_names_both(tmp_path: Any) -> None:
    paths = write_parts(tmp_path)
    messy_table(50).drop(columns="y").to_parquet(paths[2])
    with pytest.raises(ValueError, match=r"2\.parquet lacks the column 'y', other than 0\.parquet"):
        scan(paths)
    with pytest.raises(ValueError, match="no column 'z'"):
        RandomForestRegressor().fit(scan(paths[:2]), "z")


def test_a_full_disk_is_one_sentence(tmp_path: Any, monkeypatch: Any) -> None:
    import errno
    import os

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    X = np.random.default_rng(0).normal(size=(60_000, 20))
    table = scan([X], directory=tmp_path)
    with pytest.raises(OSError, match=r"has no room for 0\.00 GB of temporary data"):
        GradientBoostingRegressor(n_estimators=2).fit(table, X[:, 0])
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_in_the_directory(tmp_path: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60_000, 20))
    table = scan(iter([X]), directory=tmp_path)
    GradientBoostingRegressor(n_estimators=2, random_state=0).fit(table, X[:, 0])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nowhere/*.parquet", "there is no file"),
        ("https://example.org/a.parquet", "is an address"),
        (pd.DataFrame({"a": [1]}), "a table in memory goes into fit as it is"),
        (iter([]), "there are no frames"),
        (iter(["text"]), "must give frames"),
    ],
)
def test_what_cannot_be_scanned_is_one_sentence(given: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        scan(given)


def test_learners_that_need_the_table_in_memory_say_so() -> None:
    table = scan(iter([messy_table(60)])).drop("weight", "y")
    for learner in (treewright.CARTClassifier(), RandomForestClassifier(max_leaf_nodes=5, n_estimators=3)):
        with pytest.raises(ValueError, match="needs the whole table in memory"):
            learner.fit(table, "kind")


def test_a_column_of_two_kinds_is_an_error_that_names_it() -> None:
    frames = [pa.table({"a": [1.0, 2.0], "y": [1, 2]}), pa.table({"a": ["x", "y"], "y": [1, 2]})]
    with pytest.raises(ValueError, match="column 'a' is categorical in some chunks and numeric in others"):
        RandomForestRegressor(n_estimators=2).fit(scan(frames), "y")


def test_a_scanned_csv_file_is_the_table_that_is_read_at_once(tmp_path: Any, monkeypatch: Any) -> None:
    from treewright.scale import text_files

    monkeypatch.setattr(text_files, "BYTES_OF_BLOCK", 5_000)
    frame = messy_table(900).drop(columns=["empty", "size"])
    frame["town"] = ['a "quoted"\nname' if number % 9 == 0 else name for number, name in enumerate(frame["town"])]
    frame.to_csv(tmp_path / "table.csv", index=False, sep=";", decimal=",")
    learner = GradientBoostingClassifier(n_estimators=5, random_state=0)
    whole = treewright.read_table(tmp_path / "table.csv", sep=";")
    in_memory = digest_of(learner.fit(whole.drop("kind", "y"), whole["kind"]))
    table = scan(tmp_path / "table.csv", sep=";", decimal=",")
    assert len(table.lengths) > 5
    assert digest_of(learner.fit(table.drop("y"), "kind")) == in_memory


def test_a_csv_column_that_changes_its_kind_is_one_sentence(tmp_path: Any, monkeypatch: Any) -> None:
    from treewright.scale import text_files

    monkeypatch.setattr(text_files, "BYTES_OF_BLOCK", 200)
    lines = [f"{number},1" for number in range(100)] + ["word,1"] * 100
    (tmp_path / "table.csv").write_text("a,y\n" + "\n".join(lines))
    with pytest.raises(ValueError, match="column 'a' has numbers first, and text in the rows from"):
        scan(tmp_path / "table.csv")


def test_a_target_of_whole_numbers_in_one_part_and_of_fractions_in_another_is_one_column(tmp_path: Any) -> None:
    frame = messy_table(200)[["number", "whole"]]
    frame.iloc[:100].to_parquet(tmp_path / "0.parquet")
    frame.iloc[100:].assign(whole=frame["whole"] + 0.5).to_parquet(tmp_path / "1.parquet")
    whole = pd.concat([frame["whole"][:100].astype(float), frame["whole"][100:] + 0.5])
    learner = RandomForestRegressor(n_estimators=3, random_state=0)
    in_memory = digest_of(learner.fit(frame[["number"]], whole))
    assert digest_of(learner.fit(scan(tmp_path), "whole")) == in_memory


def test_a_quote_that_does_not_end_is_one_sentence(tmp_path: Any, monkeypatch: Any) -> None:
    from treewright.scale import text_files

    monkeypatch.setattr(text_files, "BYTES_OF_BLOCK", 200)
    (tmp_path / "table.csv").write_text('a,y\n5" pipe,1\n' + "2,3\n" * 500)
    with pytest.raises(ValueError, match="a quoted cell does not end"):
        scan(tmp_path / "table.csv")


LARGER = [
    GradientBoostingClassifier(n_estimators=4, validation_fraction=0.1, random_state=0),
    GradientBoostingClassifier(n_estimators=3, growth="oblivious", max_depth=4, subsample=0.5, random_state=0),
    GradientBoostingClassifier(n_estimators=3, goss=True, learning_rate=0.9, train_score=True, random_state=0),
    GradientBoostingRegressor(n_estimators=3, loss="absolute_error", colsample_bytree=0.5, random_state=0),
    GradientBoostingRegressor(n_estimators=3, loss="huber", random_state=0),
]


@pytest.mark.parametrize("learner", LARGER, ids=["validation", "oblivious", "goss", "absolute", "huber"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_ways_of_boosting_give_the_model_of_the_whole_table(learner: Any, weighted: bool) -> None:
    frame = messy_table(25_000)
    target, other = ("kind", "y") if isinstance(learner, GradientBoostingClassifier) else ("y", "kind")
    weights = frame["weight"] if weighted else None
    in_memory = digest_of(learner.fit(frame.drop(columns=["y", "kind", "weight"]), frame[target], weights))
    chunked = scan(iter(pieces(frame, (9_000, 9_001)))).drop(other)
    chunked = chunked if weighted else chunked.drop("weight")
    assert digest_of(learner.fit(chunked, target, "weight" if weighted else None)) == in_memory


@pytest.mark.slow
def test_early_stopping_and_more_rounds_give_the_model_of_the_whole_table() -> None:
    frame = messy_table(25_000)
    X = frame.drop(columns=["y", "kind", "weight"])
    learner = GradientBoostingRegressor(learning_rate=0.5, n_iter_no_change=5, random_state=0)
    in_memory = digest_of(learner.fit(X, frame["y"]))
    table = scan(iter(pieces(frame, (11_111,)))).drop("kind", "weight")
    assert digest_of(learner.fit(table, "y")) == in_memory
    several = GradientBoostingRegressor(n_estimators=3, warm_start=True, random_state=0)
    in_memory = digest_of(clone(several).fit(X, frame["y"]).set_params(n_estimators=5).fit(X, frame["y"]))
    assert digest_of(clone(several).fit(table, "y").set_params(n_estimators=5).fit(table, "y")) == in_memory


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="mapped files are read from /proc")
def test_boosting_maps_whole_words_of_each_row_and_nothing_else(tmp_path: Any) -> None:
    n_rows, n_columns = 60_000, 20
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(n_rows, n_columns))).add_prefix("x")
    frame["y"] = np.select([frame["x0"] > 1, frame["x1"] > 0], ["a", "b"], "c")
    frame.to_parquet(tmp_path / "table.parquet")
    directory = tmp_path / "temporary"
    directory.mkdir()
    sizes = []

    def noting_loss(scores: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lines = [line.split()[0] for line in Path("/proc/self/maps").read_text().splitlines() if str(directory) in line]
        sizes.append([int(last, 16) - int(first, 16) for first, last in (line.split("-") for line in lines)])
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        return shares - np.eye(3)[places], np.maximum(shares * (1.0 - shares), 1e-6)

    table = scan(tmp_path / "table.parquet", directory=directory)
    GradientBoostingClassifier(n_estimators=2, loss=noting_loss, random_state=0).fit(table, "y")
    expected = -(-n_rows * 24 // mmap.PAGESIZE) * mmap.PAGESIZE
    assert sizes == [[expected], [expected]]
