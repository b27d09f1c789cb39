"""Model files that were written once load in every version since, and predict the same bits.

`python tests/ship/test_kept_files.py` adds files for learners that have none. Files are never written again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treewright import load

FOLDER = Path(__file__).parents[1] / "modelfiles"
EXPECTED = FOLDER / "predictions.json"

# The rows that all of them predict: numbers and categories, some missing, one of them unseen.
ROWS = {
    "size": [1.0, 2.5, None, 4.0, 5.5, 0.5],
    "colour": ["red", "blue", "green", None, "red", "violet"],
    "weight": [10.0, None, 30.0, 25.0, 15.0, 5.0],
}
ROWS_OF_ID3 = {"colour": ["red", "blue", "green", "violet"], "shape": ["round", "flat", "round", "flat"]}


def predicted(model: Any, name: str) -> list[str]:
    """The predictions, each number in full."""
    rows = ROWS_OF_ID3 if name == "ID3Classifier" else ROWS
    found = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
    return [float(number).hex() for number in np.ravel(found)]


def kept() -> dict[str, list[str]]:
    return json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}


@pytest.mark.parametrize("name", sorted(kept()))
def test_a_file_of_an_earlier_version_predicts_as_then(name: str) -> None:
    model = load(FOLDER / f"{name}.tw")
    assert type(model).__name__ == name.split("-")[0]
    found = predicted(model, name)
    if name.startswith("Stacking"):
        # The final model is a linear one of scikit-learn, whose products BLAS adds in the processor's own order.
        np.testing.assert_array_max_ulp(
            *(np.array([float.fromhex(one) for one in each]) for each in (found, kept()[name])), 4
        )
        return
    assert found == kept()[name]


def test_every_learner_has_a_file() -> None:
    import treewright

    learners = {name for name in treewright.__all__ if name.endswith(("Classifier", "Regressor"))}
    assert learners <= {name.split("-")[0] for name in kept()}


def write_missing_files() -> None:
    import treewright
    from treewright import DecisionTreeClassifier, DecisionTreeRegressor, save

    draw = np.random.default_rng(0)
    n = 80
    table = {
        "size": [None if draw.random() < 0.1 else round(float(x), 1) for x in draw.uniform(0, 6, n)],
        "colour": [None if draw.random() < 0.1 else str(x) for x in draw.choice(["red", "blue", "green"], n)],
        "weight": [None if draw.random() < 0.1 else round(float(x)) for x in draw.uniform(0, 40, n)],
    }
    numbers = [
        (size or 0) + 2 * (colour == "red") + (weight or 0) / 20
        for size, colour, weight in zip(*table.values(), strict=True)
    ]
    classes = [("low", "middle", "high")[int(np.digitize(one, [3, 5]))] for one in numbers]
    expected = kept()
    FOLDER.mkdir(exist_ok=True)
    for name in sorted(treewright.__all__):
        if not name.endswith(("Classifier", "Regressor")) or name in expected:
            continue
        is_classes = name.endswith("Classifier")
        model = getattr(treewright, name)()
        parameters = model.get_params(deep=False)
        chosen = {"n_estimators": 3, "random_state": 0, "progress": False, "max_depth": 3}
        model.set_params(**{key: value for key, value in chosen.items() if key in parameters})
        if "estimators" in parameters:
            tree = DecisionTreeClassifier if is_classes else DecisionTreeRegressor
            model.set_params(estimators=[("deep", tree(max_depth=3)), ("flat", tree(max_depth=1))])
        X: Any = table
        if name == "ID3Classifier":
            X = {"colour": [one or "red" for one in table["colour"]], "shape": ["round", "flat"] * (n // 2)}
        model.fit(X, classes if is_classes else numbers)
        save(model, FOLDER / f"{name}.tw")
        expected[name] = predicted(model, name)
    EXPECTED.write_text(json.dumps(expected, indent=1), encoding="utf-8")


if __name__ == "__main__":
    write_missing_files()
