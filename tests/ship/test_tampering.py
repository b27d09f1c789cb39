"""Model files with a right checksum and wrong contents: no kernel reads beyond its arrays, memory stays small."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from treewright import (
    CARTClassifier,
    DecisionTreeClassifier,
    GradientBoostingRegressor,
    ModelFileError,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
    load,
    save,
)
from treewright.ship.layout import pack, unpack

Change = Callable[[dict[str, Any], dict[str, np.ndarray]], None]


def tampered(model: Any, change: Change) -> bytes:
    """The file of a model with changed contents and a checksum that fits."""
    contents = unpack(memoryview(save(model) or b""))
    arrays, metadata = contents.arrays, contents.metadata
    described, copies = json.loads(metadata["treewright"]), {name: array.copy() for name, array in arrays.items()}
    change(described["model"], copies)
    return pack(copies, {"treewright": json.dumps(described)})


def numbers(n_columns: int = 4) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, n_columns))
    return X, X[:, 0] + X[:, 1] ** 2


def field_of(found: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        found = found["fields"][name] if "fields" in found else found["state"][name]
    return found


@pytest.mark.parametrize(
    "learner", [GradientBoostingRegressor(n_estimators=3), RandomForestRegressor(3, random_state=0)]
)
@pytest.mark.parametrize("claimed", [1, 400_000])
def test_another_number_of_columns_is_refused(learner: Any, claimed: int) -> None:
    X, y = numbers()
    file = tampered(learner.fit(X, y), lambda found, _: found["state"].update(n_features_in_=claimed))
    with pytest.raises(ModelFileError, match="4 columns"):
        load(file)


def states_of(found: Any, name: str) -> list[dict[str, Any]]:
    """The states of all fitted objects of a class in the description of a model."""
    if isinstance(found, list):
        return [state for item in found for state in states_of(item, name)]
    if not isinstance(found, dict):
        return []
    is_fitted = found.get("class") == name and "classes_" in found["state"]
    own = [found["state"]] if is_fitted else []
    return own + [state for item in found.values() for state in states_of(item, name)]


@pytest.mark.parametrize(("attribute", "value"), [("tree_", None), ("classes_", None), ("numeric_features", 1)])
def test_a_model_that_cannot_predict_is_refused(attribute: str, value: Any) -> None:
    X, y = numbers()
    table, labels = {"a": X[:, 0], "b": X[:, 1]}, np.where(y > 0, "high", "low")

    def change(found: dict[str, Any], _: dict[str, np.ndarray]) -> None:
        for state in states_of(found, "CARTClassifier"):
            state[attribute] = value

    for model in (CARTClassifier(), VotingClassifier([("one", CARTClassifier())])):
        file = tampered(model.fit(table, labels), change)
        with pytest.raises(ModelFileError):
            load(file)


@pytest.mark.parametrize("shape", [(-1, 1), (1, 1, -1)])
def test_a_model_with_several_predictions_for_one_row_is_refused(shape: tuple[int, ...]) -> None:
    """A column of intercepts in place of a row fits one row of scores by broadcasting, and no longer two."""
    X, y = numbers()
    members = [("one", DecisionTreeClassifier(max_depth=1)), ("two", DecisionTreeClassifier(max_depth=2))]
    model = StackingClassifier(members).fit(X, np.digitize(y, [0, 1]))

    def change(_: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        intercepts = next(name for name, array in arrays.items() if np.array_equal(array, final.intercept_))
        arrays[intercepts] = arrays[intercepts].reshape(shape)

    final = model.final_estimator_
    with pytest.raises(ModelFileError, match="damaged"):
        load(tampered(model, change))


def test_models_that_refuse_missing_or_unseen_values_are_loaded() -> None:
    moments = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
    X = {"day": moments, "time": moments.astype("datetime64[us]"), "colour": np.resize(["red", "blue"], len(moments))}
    y = np.resize([0, 0, 1, 1], len(moments))
    for learner in (
        DecisionTreeClassifier(missing="error", unseen="error"),
        RandomForestClassifier(5, missing="error", unseen="error"),
        VotingClassifier([("tree", DecisionTreeClassifier(missing="error"))]),
    ):
        model = learner.fit(X, y)
        np.testing.assert_array_equal(load(save(model)).predict(X), model.predict(X))


def test_ends_of_leaves_that_overflow_are_refused() -> None:
    X, y = numbers()
    model = RandomForestClassifier(n_estimators=1, max_depth=3, random_state=0).fit(X, np.digitize(y, [0, 1]))

    def change(found: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        ends = arrays[field_of(found, "forest_", "leaf_end")["name"]]
        ends[0], ends[1] = 2**63 - 1, -2

    with pytest.raises(ModelFileError):
        load(tampered(model, change))


def test_values_of_some_leaves_only_are_refused() -> None:
    X, y = numbers()
    model = RandomForestClassifier(n_estimators=1, max_depth=3, random_state=0).fit(X, np.digitize(y, [0, 1]))

    def change(found: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[field_of(found, "forest_", "leaf_value")["name"]] = np.ones(1)

    with pytest.raises(ModelFileError):
        load(tampered(model, change))


def test_maps_of_surrogates_on_numbers_are_refused() -> None:
    X, y = numbers()
    X[::7, 0] = np.nan
    model = CARTClassifier(missing="surrogate", prune=None, max_depth=3).fit(X, y > 0.5)

    def change(found: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[field_of(found, "tree_", "surrogates", "map_start")["name"]][:] = 2**40

    with pytest.raises(ModelFileError):
        load(tampered(model, change))


def test_a_node_with_billions_of_children_is_refused() -> None:
    X, y = numbers()

    def change(found: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[field_of(found, "tree_", "n_children")["name"]][0] = 2**31 - 1

    with pytest.raises(ModelFileError, match="exactly one parent"):
        load(tampered(DecisionTreeClassifier(max_depth=2).fit(X, y > 0), change))


@pytest.mark.parametrize(
    "value",
    [
        {"#": "cells", "dtype": "<U262144", "shape": [400], "items": [""] * 400},
        {"#": "dict", "items": [[{"#": "tuple", "items": [{"#": "tuple", "items": []}]}, 1]]},
        {"#": "Decimal", "text": "abc"},
        {"#": "ref", "number": 10**9},
        {"#": "object", "class": "os.system", "state": {}},
        {"#": "array", "name": "0"},
    ],
)
def test_hostile_values_are_refused(value: dict[str, Any]) -> None:
    X, y = numbers()

    def change(found: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        found["state"]["more"] = value
        found["state"]["again"] = {"#": "array", "name": "0"}

    with pytest.raises(ModelFileError):
        load(tampered(DecisionTreeClassifier(max_depth=2).fit(X, y > 0), change))


@pytest.mark.parametrize("shape", [{}, [0, 2**63], [1] * 70, "ab"])
def test_impossible_shapes_are_refused(shape: Any) -> None:
    file = pack({"0": np.zeros(0)}, {"treewright": "{}"})
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    header["0"]["shape"] = shape
    written = json.dumps(header).encode()
    with pytest.raises(ModelFileError):
        load(len(written).to_bytes(8, "little") + written + file[8 + length :], verify=False)
