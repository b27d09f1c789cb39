"""Models of treelite predict what the model predicts, for rows with missing and unseen values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export_models import MODELS, columns_of, expected_of, fitted_models, new_rows
from treewright import DecisionTreeRegressor, ModelFileError, export

treelite = pytest.importorskip("treelite")


def codes_of(model: Any, rows: dict[str, list[Any]]) -> np.ndarray:
    """The rows as numbers; a category is its index, and one that did not occur in training is their number."""
    columns = []
    for column in columns_of(model):
        places = {one: k for k, one in enumerate(column.categories)}
        unseen = len(places)
        cells = rows[column.name]
        columns.append([np.nan if cell is None else places.get(cell, unseen) if places else cell for cell in cells])
    return np.array(columns, dtype=np.float64).T


@pytest.mark.parametrize("name", [name for name in MODELS if "fractional" not in name and name != "C4.5"])
def test_treelite_predicts_the_same(name: str) -> None:
    model, rows = fitted_models()[name], new_rows()
    theirs = treelite.Model.deserialize_bytes(export(model, to="treelite"))
    found = treelite.gtil.predict(theirs, codes_of(model, rows)).reshape(len(rows["x"]), -1)
    expected = expected_of(model, rows)
    if found.shape[1] == 1 and expected.shape[1] == 2:
        expected = expected[:, 1:]  # one output for two classes
    # The softmax of treelite's own predictions adds up in single precision.
    tolerance = 1e-6 if name == "boosting of three classes" or "AdaBoost" in name else 1e-12
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-14)


def test_a_tree_without_a_split_is_a_leaf(tmp_path: Path) -> None:
    model = DecisionTreeRegressor().fit({"x": [1.0, 1.0]}, [2.0, 4.0])
    export(model, "treelite", tmp_path / "model.bin")
    theirs = treelite.Model.deserialize(str(tmp_path / "model.bin"))
    assert treelite.gtil.predict(theirs, np.array([[np.nan], [1.0]])).ravel().tolist() == [3.0, 3.0]


def test_fractional_instances_are_refused() -> None:
    with pytest.raises(ModelFileError, match=r"sends fractions of a row.*treelite cannot do"):
        export(fitted_models()["C4.5"], to="treelite")
