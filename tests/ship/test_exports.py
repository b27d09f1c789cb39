"""Exported programs predict what the model predicts, for rows with missing and unseen values."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

from treewright import (
    BaggingClassifier,
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ModelFileError,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)

N_ROWS = 10_000
COLOURS = ["red", "blue's", 'gre"en', "grey"]


def table(n_rows: int, seed: int, *, unseen: bool) -> dict[str, list[Any]]:
    """Numbers, text with quotes, and numbers as categories, with missing values and, in new rows, unseen categories."""
    draw = np.random.default_rng(seed)
    colours = [*COLOURS, "violet"] if unseen else COLOURS
    codes = [1, 2, 3, 7] if unseen else [1, 2, 3]
    columns = {
        "x": draw.normal(size=n_rows).tolist(),
        "a name, with ' and \" signs": draw.choice(colours, n_rows).tolist(),
        "code": draw.choice(codes, n_rows).tolist(),
        "z": draw.normal(size=n_rows).round(1).tolist(),
    }
    return {name: [None if draw.random() < 0.1 else cell for cell in cells] for name, cells in columns.items()}


def target(columns: dict[str, list[Any]]) -> np.ndarray:
    x, colour, code, z = columns.values()
    numbers = [
        (0 if a is None else a) * (1 if b == "red" else -1) + (0 if c is None else c) + (0 if d is None else d) ** 2
        for a, b, c, d in zip(x, colour, code, z, strict=True)
    ]
    return np.array(numbers)


KINDS = {"categorical_features": ["code"]}
SMALL = {"n_estimators": 8, "random_state": 0, **KINDS}
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=7, **KINDS),
    "multiway": DecisionTreeClassifier(max_depth=5, categorical="multiway", unseen="stop", **KINDS),
    "majority": DecisionTreeClassifier(max_depth=6, unseen="majority", **KINDS),
    "fractional instances": DecisionTreeClassifier(missing="fractional", categorical="multiway", max_depth=5, **KINDS),
    "C4.5": C45Classifier(**KINDS),
    "forest, fractional": RandomForestClassifier(missing="fractional", max_depth=4, **SMALL),
    "numbers": DecisionTreeRegressor(max_depth=8, **KINDS),
    "forest of two classes": RandomForestClassifier(max_depth=6, **SMALL),
    "forest of three classes": RandomForestClassifier(max_depth=6, **SMALL),
    "forest of numbers": RandomForestRegressor(max_depth=6, **SMALL),
    "extra trees": ExtraTreesRegressor(max_depth=6, **SMALL),
    "boosting of two classes": GradientBoostingClassifier(**SMALL),
    "boosting of three classes": GradientBoostingClassifier(**SMALL),
    "boosting of numbers": GradientBoostingRegressor(**SMALL),
    "boosting of counts": GradientBoostingRegressor(loss="poisson", **SMALL),
}


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    rows = table(600, 0, unseen=False)
    numbers = target(rows)
    found = {}
    for name, model in MODELS.items():
        y: Any = np.abs(numbers).round() if "counts" in name else numbers
        if is_classifier(model):
            y = np.digitize(numbers, [1.5] if "two" in name else [0.5, 2.5])
        found[name] = model.fit(rows, y)
    return found


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Any]]:
    return table(N_ROWS, 1, unseen=True)


def expected_of(model: Any, rows: dict[str, list[Any]]) -> np.ndarray:
    found = model.predict_proba(rows) if is_classifier(model) else model.predict(rows)
    return np.asarray(found).reshape(N_ROWS, -1)


def assert_equal(found: Any, model: Any, rows: dict[str, list[Any]]) -> None:
    """To the last bit without a link function; exponentials differ between mathematics libraries by a few units."""
    expected = expected_of(model, rows)
    is_linked = isinstance(model, GradientBoostingClassifier) or getattr(model, "loss", "") == "poisson"
    if is_linked:
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_python_predicts_the_same(fitted: dict[str, Any], rows: dict[str, list[Any]], name: str) -> None:
    module: dict[str, Any] = {}
    exec(export(fitted[name], to="python"), module)
    lines = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
    assert_equal([module["outputs"](line) for line in lines], fitted[name], rows)
    if is_classifier(fitted[name]):
        assert [module["predict"](line) for line in lines[:200]] == fitted[name].predict(rows).tolist()[:200]


@pytest.mark.slow
def test_javascript_predicts_the_same(fitted: dict[str, Any], rows: dict[str, list[Any]], tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    lines = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
    (tmp_path / "rows.json").write_text(json.dumps(lines), encoding="utf-8")
    for number, model in enumerate(fitted.values()):
        export(model, "javascript", tmp_path / f"model{number}.mjs")
    script = "import fs from 'fs'; const rows = JSON.parse(fs.readFileSync('rows.json')); const found = [];\n"
    for number in range(len(fitted)):
        script += f"import * as m{number} from './model{number}.mjs'; found.push(rows.map(m{number}.outputs));\n"
    (tmp_path / "run.mjs").write_text(
        script + "fs.writeFileSync('found.json', JSON.stringify(found));", encoding="utf-8"
    )
    subprocess.run([node, "run.mjs"], cwd=tmp_path, check=True)
    for found, model in zip(json.loads((tmp_path / "found.json").read_text()), fitted.values(), strict=True):
        assert_equal(found, model, rows)


@pytest.mark.slow
def test_c_predicts_the_same(fitted: dict[str, Any], rows: dict[str, list[Any]], tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    for number, model in enumerate(fitted.values()):
        export(model, "c", tmp_path / f"model{number}.c")
        command = [
            compiler,
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-O1",
            "-ffp-contract=off",
            "-fPIC",
            "-shared",
        ]
        subprocess.run([*command, f"model{number}.c", "-o", f"model{number}.so", "-lm"], cwd=tmp_path, check=True)
        predict = ctypes.CDLL(str(tmp_path / f"model{number}.so")).treewright_predict
        cells = cells_for_c(model, rows)
        out = np.zeros((N_ROWS, expected_of(model, rows).shape[1]))
        double = ctypes.POINTER(ctypes.c_double)
        for line, result in zip(cells, out, strict=True):
            predict(line.ctypes.data_as(double), result.ctypes.data_as(double))
        assert_equal(out, model, rows)


def cells_for_c(model: Any, rows: dict[str, list[Any]]) -> np.ndarray:
    """The rows as the C function takes them."""
    columns = []
    for column in model._columns():
        places = {one: k for k, one in enumerate(column.categories)}
        cells = rows[column.name]
        known = [math.nan if cell is None else places.get(cell, -1) if places else cell for cell in cells]
        columns.append(known)
    return np.ascontiguousarray(np.array(columns, dtype=np.float64).T)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if "fractional" not in name and name != "C4.5"])
def test_sql_predicts_the_same(fitted: dict[str, Any], rows: dict[str, list[Any]], name: str) -> None:
    database = sqlite3.connect(":memory:")
    database.create_function("exp", 1, math.exp)
    names = ", ".join('"' + column.replace('"', '""') + '"' for column in rows)
    database.execute(f"CREATE TABLE data ({names})")
    database.executemany("INSERT INTO data VALUES (?, ?, ?, ?)", zip(*rows.values(), strict=True))
    cursor = database.execute(export(fitted[name], to="sql"))
    n_out = expected_of(fitted[name], rows).shape[1]
    found = np.array([line[-n_out:] for line in cursor])
    np.testing.assert_allclose(found, expected_of(fitted[name], rows), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (CARTClassifier(missing="surrogate", prune=None), r"surrogate splits.*missing='learned'"),
        (BaggingClassifier(n_estimators=2), "BaggingClassifier cannot be exported"),
    ],
)
def test_what_a_program_cannot_do_is_refused_by_name(model: Any, sentence: str) -> None:
    rows = table(80, 0, unseen=False)
    model.fit(rows, np.digitize(target(rows), [1]))
    with pytest.raises(ModelFileError, match=sentence):
        export(model, to="c")


def test_sql_refuses_to_divide_rows(fitted: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError, match=r"divides rows with missing values.*missing='learned'"):
        export(fitted["fractional instances"], to="sql")


def test_dates_and_unknown_formats_are_refused() -> None:
    days = np.array(["2024-01-01", "2024-02-01", "2024-03-01"] * 4, dtype="datetime64[D]")
    model = DecisionTreeRegressor().fit({"day": days}, [1.0, 2.0, 3.0] * 4)
    with pytest.raises(ModelFileError, match="column 'day' has dates"):
        export(model, to="sql")
    with pytest.raises(ValueError, match="to is 'cobol'; give one of 'python'"):
        export(model, to="cobol")


def test_json_has_the_tables_of_the_program(fitted: dict[str, Any]) -> None:
    found = json.loads(export(fitted["tree"], to="json"))
    assert found["learner"] == "DecisionTreeClassifier"
    assert len(found["kind"]) == fitted["tree"].tree_.n_nodes


def test_costs_are_refused() -> None:
    rows = table(80, 0, unseen=False)
    y = np.digitize(target(rows), [1])
    model = DecisionTreeClassifier(max_depth=2, misclassification_costs={(0, 1): 9}).fit(rows, y)
    with pytest.raises(ModelFileError, match="misclassification costs"):
        export(model, to="python")


def test_a_query_grows_with_the_tree_only() -> None:
    x = np.arange(60.0)
    sizes = []
    for depth in (10, 20):
        # A chain: each split separates the lowest value of those that are left.
        model = DecisionTreeRegressor(max_depth=depth).fit(x[:, None], 2.0**-x)
        sizes.append(len(export(model, to="sql")) / model.tree_.n_nodes)
    assert sizes[1] < 1.5 * sizes[0]


def test_a_column_with_the_name_of_a_score_is_not_taken_for_it() -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE data (score_0, x)")
    database.executemany("INSERT INTO data VALUES (?, ?)", [(5.0, 0.0), (7.0, 1.0)])
    model = DecisionTreeRegressor().fit({"score_0": [5.0, 7.0] * 4, "x": [0.0, 1.0] * 4}, [1.0, 2.0] * 4)
    assert [line[-1] for line in database.execute(export(model, to="sql"))] == [1.0, 2.0]
