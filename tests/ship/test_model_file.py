"""Model files: what is saved predicts the same bits, and damage is one sentence."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier

import treewright
from properties import examples
from treewright import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ModelFileError,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    datasets,
    describe_file,
    load,
    save,
)
from treewright.engines.missing_values import STRATEGIES
from treewright.ship.layout import checksum, checksum_of_head, unpack

LEARNERS = sorted(name for name in treewright.__all__ if name.endswith(("Classifier", "Regressor")))


def learner_of(name: str) -> Any:
    """A small model of each kind, with members of this library."""
    model = getattr(treewright, name)()
    parameters = model.get_params(deep=False)
    chosen = {"n_estimators": 4, "random_state": 0, "progress": False}
    model.set_params(**{key: value for key, value in chosen.items() if key in parameters})
    if "estimators" in parameters:
        tree = DecisionTreeClassifier if is_classifier(model) else DecisionTreeRegressor
        model.set_params(estimators=[("deep", tree(max_depth=4)), ("flat", tree(max_depth=1))])
    return model


def table_of(name: str) -> tuple[Any, Any]:
    """A table for each kind: text, dates, ordered categories and missing values where the learner reads them."""
    if name == "ID3Classifier":
        weather = datasets.load_weather()
        return weather.X, weather.y
    orchard = datasets.load_orchard()
    if name.endswith("Classifier"):
        return orchard.X, orchard.y
    numbers = [column for column in orchard.X.columns if orchard.X[column].dtype.kind == "f"]
    target = np.nan_to_num(np.asarray(orchard.X[numbers[0]], dtype=float))
    return orchard.X.drop(numbers[0]), target


def predictions(model: Any, X: Any) -> bytes:
    """All that the model predicts, bit by bit."""
    found = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return np.ascontiguousarray(found).tobytes() + repr(model.predict(X).tolist()).encode()


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_predicts_the_same_bits_after_loading(name: str) -> None:
    X, y = table_of(name)
    model = learner_of(name).fit(X, y)
    again = load(save(model))
    assert type(again) is type(model)
    assert predictions(again, X) == predictions(model, X)
    assert repr(again.get_params()) == repr(model.get_params())
    assert predictions(clone(again).fit(X, y), X) == predictions(model, X)


@pytest.mark.parametrize("missing", [name for name in STRATEGIES if name != "error"])
def test_every_strategy_for_missing_values_is_kept(missing: str) -> None:
    X, y = table_of("DecisionTreeClassifier")
    model = DecisionTreeClassifier(missing=missing, max_depth=5).fit(X, y)
    assert predictions(load(save(model)), X) == predictions(model, X)


def test_draws_by_weight_and_regressors_of_a_stack_are_kept() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    y, weights = (X[:, 0] > 0.0).astype(int), np.arange(40) % 3 + 1
    bag = treewright.BaggingClassifier(n_estimators=3, random_state=0).fit(X, y, weights)
    again = load(save(bag))
    np.testing.assert_array_equal(again.predict_proba(X), bag.predict_proba(X))
    np.testing.assert_array_equal(again.estimators_samples_, bag.estimators_samples_)
    stack = treewright.StackingClassifier([("tree", treewright.DecisionTreeRegressor())]).fit(X, y)
    np.testing.assert_array_equal(load(save(stack)).predict_proba(X), stack.predict_proba(X))


def test_categories_of_all_python_types_are_kept() -> None:
    categories = [1, "one", b"\xff", date(2024, 5, 1), 2.5, None, True]
    X = {"mixed": categories * 6, "x": list(range(42))}
    y = [str(one) for one in categories] * 6
    model = DecisionTreeClassifier(categorical_features=["mixed"]).fit(X, y)
    assert predictions(load(save(model)), X) == predictions(model, X)


@pytest.mark.slow
def test_another_process_and_other_threads_predict_the_same_bits(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(3000, 5))
    np.save(tmp_path / "X.npy", X)
    for number, model in enumerate(
        (RandomForestRegressor(10, random_state=0), GradientBoostingRegressor(n_estimators=20))
    ):
        save(model.fit(X, X[:, 0] + X[:, 1] ** 2), tmp_path / f"{number}.tw")
    code = (
        "import numpy as np, sys; from treewright import load; X = np.load('X.npy'); "
        "print(*(load(f'{k}.tw').set_params(n_jobs=1).predict(X).tobytes().hex()[:64] for k in (0, 1)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    here = [load(tmp_path / f"{k}.tw").set_params(n_jobs=2).predict(X).tobytes().hex()[:64] for k in (0, 1)]
    assert done.stdout.split() == here


def test_a_file_describes_itself() -> None:
    X, y = table_of("C45Classifier")
    found = describe_file(save(C45Classifier(min_samples_leaf=7).fit(X, y)))
    assert (found["format"], found["version"], found["learner"]) == ("treewright", 1, "C45Classifier")
    assert found["parameters"]["min_samples_leaf"] == 7
    assert [column["name"] for column in found["columns"]] == X.columns
    assert set(found["classes"]) == set(np.unique(y))


def test_a_path_an_open_file_and_bytes_hold_the_same_model(tmp_path: Path) -> None:
    X, y = table_of("C45Classifier")
    model = C45Classifier().fit(X, y)
    save(model, tmp_path / "a.tw")
    with (tmp_path / "b.tw").open("wb") as file:
        save(model, file)
    with (tmp_path / "b.tw").open("rb") as file:
        assert predictions(load(file), X) == predictions(model, X)
    assert predictions(load(str(tmp_path / "a.tw")), X) == predictions(model, X)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.tw", "b.tw"]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_earlier_file(tmp_path: Path, monkeypatch: Any, broken: str) -> None:
    X, y = table_of("C45Classifier")
    path = tmp_path / "model.tw"
    save(C45Classifier().fit(X, y), path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="No space left"):
        save(C45Classifier(min_samples_leaf=9).fit(X, y), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def own_loss(prediction: float, target: float) -> tuple[float, float]:
    return prediction - target, 1.0


def test_a_function_of_the_user_is_kept_by_name() -> None:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 3))
    model = GradientBoostingRegressor(loss=own_loss, n_estimators=5).fit(X, X[:, 0])
    again = load(save(model))
    assert predictions(again, X) == predictions(model, X)
    with pytest.raises(ModelFileError, match=r"fitted with your function 'own_loss'.* load it with functions="):
        again.loss(0.0, 1.0)
    assert load(save(model), functions={"own_loss": own_loss}).loss is own_loss


def test_what_a_file_cannot_contain_gets_one_sentence() -> None:
    X = [[1.0], [2.0], [3.0], [4.0]]
    voting = VotingClassifier([("near", KNeighborsClassifier(1))]).fit(X, [0, 0, 1, 1])
    with pytest.raises(ModelFileError, match="cannot contain sklearn's K"):
        save(voting)
    with pytest.raises(NotFittedError):
        save(C45Classifier())
    with pytest.raises(TypeError, match="save takes a fitted model of treewright, not dict"):
        save({})
    with pytest.raises(ModelFileError, match="too short"):
        load(b"PK")
    with pytest.raises(ModelFileError):
        load(pickle.dumps(C45Classifier()) * 9)
    with pytest.raises(FileNotFoundError):
        load("there is no such file.tw")


def test_a_newer_format_is_refused_by_its_version() -> None:
    X, y = table_of("C45Classifier")
    changed = signed_again(save(C45Classifier().fit(X, y)), lambda text: text.replace('"version":1', '"version":2', 1))
    with pytest.raises(ModelFileError, match=r"format version 2.*install a newer one"):
        load(changed)


def signed_again(file: bytes, change: Callable[[str], str], move: Callable[[bytes], bytes] = bytes) -> bytes:
    """The file with another description and other arrays, and with a checksum that fits: tampering, not damage."""
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    metadata = header.pop("__metadata__")
    metadata = {"treewright": change(metadata["treewright"])}
    data = move(file[8 + length :])
    metadata["head_sha256"] = checksum_of_head(header, metadata, data)
    metadata["sha256"] = checksum(header, metadata, data)
    written = json.dumps({"__metadata__": metadata, **header}).encode()
    return len(written).to_bytes(8, "little") + written + data


@pytest.fixture(scope="module")
def files() -> list[tuple[bytes, Any]]:
    """Files of a tree, a forest and a boosted model, with the rows that they predict."""
    X, y = table_of("C45Classifier")
    models = [
        DecisionTreeClassifier(missing="fractional", max_depth=4),
        RandomForestClassifier(n_estimators=3, random_state=0),
        GradientBoostingClassifier(n_estimators=3, random_state=0),
    ]
    return [(save(model.fit(X, y)), X) for model in models]  # type: ignore[misc]


@examples(150)
@given(data=st.data())
def test_any_damage_is_noticed(files: list[tuple[bytes, Any]], data: Any) -> None:
    file, _ = data.draw(st.sampled_from(files))
    place = data.draw(st.integers(0, len(file) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "insert", "swap"]))
    if kind == "flip":
        damaged = file[:place] + bytes([file[place] ^ (1 << data.draw(st.integers(0, 7)))]) + file[place + 1 :]
    elif kind == "cut":
        damaged = file[:place]
    elif kind == "insert":
        damaged = file[:place] + data.draw(st.binary(min_size=1, max_size=9)) + file[place:]
    else:
        other = data.draw(st.integers(0, len(file) - 1))
        low, high = sorted((place, other))
        damaged = file[:low] + file[high:] + file[low:high]
    if damaged != file and not is_same_content(damaged, file):
        with pytest.raises(ModelFileError):
            load(damaged)


def is_same_content(one: bytes, other: bytes) -> bool:
    """Whether two files differ in the spaces that pad the header only."""
    try:
        contents = [unpack(memoryview(file)) for file in (one, other)]
        contents[0].check()
    except ModelFileError:
        return False
    digests = [[hashlib.sha256(array.tobytes()).digest() for array in each.arrays.values()] for each in contents]
    return contents[0].metadata == contents[1].metadata and digests[0] == digests[1]


@pytest.mark.slow
@examples(250)
@given(data=st.data())
def test_tampered_files_are_refused_or_predict_without_harm(files: list[tuple[bytes, Any]], data: Any) -> None:
    file, X = data.draw(st.sampled_from(files))

    def change(text: str) -> str:
        if data.draw(st.booleans()):
            return text
        numbers = [place for place, mark in enumerate(text) if mark.isdigit()]
        place = data.draw(st.sampled_from(numbers))
        return text[:place] + data.draw(st.sampled_from("0123456789-")) + text[place + 1 :]

    def move(arrays: bytes) -> bytes:
        changed = bytearray(arrays)
        for _ in range(data.draw(st.integers(0, 4))):
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
        return bytes(changed)

    try:
        model = load(signed_again(file, change, move))
    except ModelFileError:
        return
    try:
        found = model.predict_proba(X[:20])
    except (ValueError, TypeError, IndexError, KeyError, AttributeError):
        return
    assert len(found) == 20


def test_the_classes_of_several_targets_are_described() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [["a", 0], ["b", 0], ["a", 1], ["b", 1]]
    model = DecisionTreeClassifier().fit(X, np.array(y, dtype=object))
    assert describe_file(save(model))["classes"] == [["a", "b"], [0, 1]]
