"""ONNX models predict in onnxruntime what the model predicts, for rows with missing and unseen values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

from export_models import MODELS, columns_of, expected_of, fitted_models, new_rows, table, target
from treewright import DecisionTreeClassifier, GradientBoostingRegressor, ModelFileError, export

onnxruntime = pytest.importorskip("onnxruntime")


def inputs_of(model: Any, rows: dict[str, list[Any]]) -> dict[str, np.ndarray]:
    """The rows as the exported model takes them: NaN and the empty text are missing."""
    found = {}
    for column in columns_of(model):
        cells = rows[column.name]
        if any(isinstance(one, str) for one in column.categories):
            found[column.name] = np.array([["" if cell is None else cell] for cell in cells], dtype=object)
        else:
            found[column.name] = np.array([[np.nan if cell is None else cell] for cell in cells], dtype=np.float64)
    return found


def run(model: Any, rows: dict[str, list[Any]]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(export(model, to="onnx"), providers=["CPUExecutionProvider"])
    return session.run(None, inputs_of(model, rows))


@pytest.mark.parametrize("name", [name for name in MODELS if "fractional" not in name and name != "C4.5"])
def test_onnxruntime_predicts_the_same(name: str) -> None:
    model, rows = fitted_models()[name], new_rows()
    found = run(model, rows)
    expected = expected_of(model, rows)
    np.testing.assert_allclose(found[-1], expected, rtol=1e-12, atol=1e-14)
    if not is_classifier(model):
        return
    in_order = np.sort(expected, axis=1)
    clear = in_order[:, -1] - in_order[:, -2] > 1e-9
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(found[0][clear], model.predict(rows)[clear])


def test_nodes_that_a_runtime_could_merge_keep_their_missing_values() -> None:
    # Two neighbouring splits of one column with equal predictions, but missing values follow the second only.
    rows = {"colour": ["a", "b", "c", None] * 20}
    y = ["yes", "yes", "no", "yes"] * 20
    model = DecisionTreeClassifier(categorical="multiway", smoothing=None).fit(rows, y)
    new = {"colour": ["a", "b", "c", None, "z"]}
    labels, probabilities = run(model, new)
    assert labels.tolist() == model.predict(new).tolist()
    np.testing.assert_array_equal(probabilities, model.predict_proba(new))


def test_a_model_without_a_split_predicts_a_constant() -> None:
    model = GradientBoostingRegressor(n_estimators=2).fit({"prediction": [1.0, 1.0, 1.0]}, [2.0, 3.0, 4.0])
    (found,) = run(model, {"prediction": [1.0, None]})
    np.testing.assert_allclose(found, [[3.0], [3.0]], rtol=1e-12)


def test_columns_of_many_categories_are_tested_by_sets() -> None:
    draw = np.random.default_rng(0)
    names = [f"town {k}" for k in range(200)]
    rows = {"town": draw.choice(names, 30_000).tolist()}
    y = np.array([int(name.split()[1]) % 7 for name in rows["town"]], dtype=float)
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(rows, y)
    new = {"town": [*names, "elsewhere", None]}
    np.testing.assert_allclose(run(model, new)[0][:, 0], model.predict(new), rtol=1e-12)


def test_what_onnx_cannot_do_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"sends fractions of a row.*TreeEnsemble.*missing='learned'"):
        export(fitted_models()["fractional instances"], "onnx", tmp_path / "model.onnx")
    rows = {"colour": ["", "a"] * 20}
    model = DecisionTreeClassifier().fit(rows, [0, 1] * 20)
    if "" in model.tree_.columns[0].categories:
        with pytest.raises(ModelFileError, match="column 'colour' has the empty text as a category"):
            export(model, "onnx")


def test_a_file_is_written(tmp_path: Path) -> None:
    rows = table(100, 3, unseen=False)
    model = DecisionTreeClassifier(max_depth=2).fit(rows, np.digitize(target(rows), [1]))
    written = export(model, "onnx", tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == written
