"""Large files: what is checked when they are loaded, and what when their forests are first used."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treewright import (
    GradientBoostingClassifier,
    ModelFileError,
    RandomForestClassifier,
    describe_file,
    load,
    save,
)
from treewright.ship import layout, model_file, values
from treewright.ship.deferred import DeferredForest
from treewright.tree.forest import Forest

LEARNERS = {
    "forest": RandomForestClassifier(n_estimators=20, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
    "three classes": RandomForestClassifier(n_estimators=20, random_state=0),
}


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat files of 1 kB as large, and arrays of 200 bytes."""
    monkeypatch.setattr(model_file, "LEAST_MAPPED", 1 << 10)
    for module in (layout, values):
        monkeypatch.setattr(module, "LARGE", 200)


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 4))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1 if name == "three classes" else 0)


@pytest.fixture(params=LEARNERS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Path, np.ndarray]:
    """A fitted model, its file, and rows to predict."""
    X, y = table(request.param)
    model = LEARNERS[request.param].fit(X, y)
    save(model, tmp_path / "model.tw")
    return model, tmp_path / "model.tw", X


def forests_of(model: Any) -> list[Any]:
    return [vars(model)["forest_"]] if "forest_" in vars(model) else list(vars(model)["forests_"])


def data_of(file: bytes) -> int:
    """Where the arrays begin."""
    return 8 + int.from_bytes(file[:8], "little")


def test_a_large_file_predicts_the_same_bits_and_is_checked_at_the_first_use(kept: tuple[Any, Path, Any]) -> None:
    model, path, X = kept
    loaded = load(path)
    assert all(type(forest) is DeferredForest for forest in forests_of(loaded))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert all(type(forest) is Forest for forest in forests_of(loaded))
    assert all("_unchecked" not in vars(forest) for forest in forests_of(loaded))


def test_verify_true_checks_all_at_once(kept: tuple[Any, Path, Any]) -> None:
    _, path, _ = kept
    assert all(type(forest) is Forest for forest in forests_of(load(path, verify=True)))


def test_every_flipped_byte_is_noticed_before_a_prediction(kept: tuple[Any, Path, Any]) -> None:
    _, path, X = kept
    file = path.read_bytes()
    noticed_late = 0
    for place in np.random.default_rng(1).integers(data_of(file), len(file), size=60):
        damaged = bytearray(file)
        damaged[place] ^= 1 << int(place) % 8
        try:
            loaded = load(bytes(damaged))
        except ModelFileError:
            continue
        noticed_late += 1
        for _ in range(2):
            with pytest.raises(ModelFileError, match="checksum"):
                loaded.predict(X)
    assert noticed_late > 20


def test_damage_in_the_description_is_noticed_at_once(kept: tuple[Any, Path, Any]) -> None:
    _, path, _ = kept
    file = path.read_bytes()
    place = file.index(b"parameters") + 3
    for read in (load, describe_file):
        with pytest.raises(ModelFileError):
            read(file[:place] + b"X" + file[place + 1 :])


def test_a_tampered_tree_with_right_checksums_is_refused_at_the_first_use(kept: tuple[Any, Path, Any]) -> None:
    _, path, X = kept
    contents = layout.unpack(memoryview(path.read_bytes()))
    arrays = {name: array.copy() for name, array in contents.arrays.items()}
    nodes = max((array for array in arrays.values() if array.dtype == np.uint64 and array.ndim == 1), key=len)
    nodes[0] = np.uint64(0x0FFF_FFFF_FFFF_FFF0)
    loaded = load(layout.pack(arrays, contents.metadata))
    with pytest.raises(ModelFileError, match="damaged"):
        loaded.predict(X)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), copy.copy])
def test_a_model_that_was_not_used_yet_can_be_copied(kept: tuple[Any, Path, Any], copied: Any) -> None:
    model, path, X = kept
    np.testing.assert_array_equal(copied(load(path)).predict_proba(X), model.predict_proba(X))


def test_a_model_that_was_not_used_yet_can_be_saved(kept: tuple[Any, Path, Any], monkeypatch: Any) -> None:
    _, path, _ = kept
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert save(load(path)) == save(load(path, verify=True))


def test_threads_may_use_a_model_for_the_first_time_together(kept: tuple[Any, Path, Any]) -> None:
    model, path, X = kept
    expected = model.predict_proba(X)
    for _ in range(20):
        loaded = load(path)
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(loaded.predict_proba, [X] * 4):
                np.testing.assert_array_equal(found, expected)


def test_a_file_without_the_checksum_of_its_head_is_checked_at_once(kept: tuple[Any, Path, Any]) -> None:
    _, path, _ = kept
    contents = layout.unpack(memoryview(path.read_bytes()))
    texts = {"treewright": contents.metadata["treewright"]}
    assert not layout.Contents(contents.arrays, texts, contents.header, contents.data, None).has_valid_head()
