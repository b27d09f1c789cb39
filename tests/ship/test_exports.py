"""Exported programs predict what the model predicts, for rows with missing and unseen values."""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import sqlite3
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.naive_bayes import GaussianNB

from export_models import COLOUR, MODELS, N_ROWS, columns_of, expected_of, fitted_models, new_rows, table, target
from treewright import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ModelFileError,
    RandomForestClassifier,
    export,
)


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return fitted_models()


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Any]]:
    return new_rows()


def assert_equal(found: Any, model: Any, rows: dict[str, list[Any]]) -> None:
    """To the last bit without a link function; exponentials differ between mathematics libraries by a few units."""
    expected = expected_of(model, rows)
    is_linked = (
        isinstance(model, GradientBoostingClassifier | AdaBoostClassifier) or getattr(model, "loss", "") == "poisson"
    )
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
    for column in columns_of(model):
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
        (BaggingClassifier(n_estimators=2, voting="hard"), "voting='hard' cannot be exported"),
        (AdaBoostRegressor(n_estimators=2), "AdaBoostRegressor cannot be exported; single trees, forests"),
        (BaggingClassifier(GaussianNB(), n_estimators=2), "of other models than trees cannot be exported"),
    ],
)
def test_what_a_program_cannot_do_is_refused_by_name(model: Any, sentence: str) -> None:
    rows = table(80, 0, unseen=False)
    if getattr(model, "estimator", None) is not None:
        rows = {"x": [0.0 if cell is None else cell for cell in rows["x"]]}
    model.fit(rows, np.digitize(target(table(80, 0, unseen=False)), [1]))
    with pytest.raises(ModelFileError, match=sentence):
        export(model, to="c")


def test_sql_refuses_to_divide_rows(fitted: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError, match=r"sends fractions of a row.*missing='learned'"):
        export(fitted["fractional instances"], to="sql")


def test_unknown_formats_are_refused(fitted: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="to is 'cobol'; give one of 'python'"):
        export(fitted["tree"], to="cobol")


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


def dated_model() -> tuple[Any, dict[str, np.ndarray]]:
    """A tree of dates and moments, and new rows of them."""
    draw = np.random.default_rng(0)

    def rows(n_rows: int) -> dict[str, np.ndarray]:
        days = draw.integers(-3000, 20_000, n_rows).astype("datetime64[D]")
        moments = draw.integers(0, 10**12, n_rows).astype("datetime64[ms]").astype("datetime64[us]")
        days[draw.random(n_rows) < 0.1] = np.datetime64("NaT")
        return {"day": days, "moment": moments}

    known = rows(500)
    numbers = np.nan_to_num(known["day"].astype(float)) / 1e4 + known["moment"].astype(float) / 1e17
    return DecisionTreeRegressor(max_depth=6).fit(known, numbers), rows(2000)


def test_dates_are_read_by_programs() -> None:
    model, rows = dated_model()
    expected = model.predict(rows).tolist()
    module: dict[str, Any] = {}
    exec(export(model, to="python"), module)
    lines = [dict(zip(rows, cells, strict=True)) for cells in zip(*(c.tolist() for c in rows.values()), strict=True)]
    assert [module["predict"](line) for line in lines] == expected
    as_numbers = [
        {"day": None if line["day"] is None else (line["day"] - date(1970, 1, 1)).days, "moment": int(moment)}
        for line, moment in zip(lines, rows["moment"].astype("int64"), strict=True)
    ]
    assert [module["predict"](line) for line in as_numbers] == expected


def test_dates_are_read_by_javascript(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    model, rows = dated_model()
    export(model, "javascript", tmp_path / "model.mjs")
    lines = [
        [None if str(cell) == "NaT" else str(cell) for cell in cells] for cells in zip(*rows.values(), strict=True)
    ]
    (tmp_path / "rows.json").write_text(json.dumps(lines), encoding="utf-8")
    (tmp_path / "run.mjs").write_text(
        "import fs from 'fs'; import { predict } from './model.mjs';\n"
        "const rows = JSON.parse(fs.readFileSync('rows.json'));\n"
        "const read = (text) => (text === null ? null : new Date(text.length > 10 ? text + 'Z' : text));\n"
        "console.log(JSON.stringify(rows.map(([a, b]) => predict({ day: read(a), moment: read(b) }))));\n",
        encoding="utf-8",
    )
    found = subprocess.run([node, "run.mjs"], cwd=tmp_path, check=True, capture_output=True)
    assert json.loads(found.stdout) == model.predict(rows).tolist()


def test_dates_are_read_by_databases() -> None:
    model, rows = dated_model()
    query = export(model, to="sql")
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows)
    with duckdb.connect() as database:
        database.register("frame", frame)
        database.execute("CREATE TABLE data AS SELECT CAST(day AS DATE) AS day, moment FROM frame")
        found = [line[-1] for line in database.execute(query).fetchall()]
    assert found == model.predict(rows).tolist()
    as_text = [[None if str(cell) == "NaT" else str(cell).replace("T", " ") for cell in line] for line in rows.values()]
    sqlite = sqlite3.connect(":memory:")
    sqlite.execute("CREATE TABLE data (day, moment)")
    sqlite.executemany("INSERT INTO data VALUES (?, ?)", zip(*as_text, strict=True))
    assert [line[-1] for line in sqlite.execute(query)] == model.predict(rows).tolist()


def test_c_takes_any_number_for_a_category(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    model = fitted_models()["multiway"]
    export(model, "c", tmp_path / "model.c")
    flags = ["-std=c99", "-O1", "-fPIC", "-shared", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run([compiler, *flags, "model.c", "-o", "model.so", "-lm"], cwd=tmp_path, check=True)
    predict = ctypes.CDLL(str(tmp_path / "model.so")).treewright_predict
    double = ctypes.POINTER(ctypes.c_double)
    names = [column.name for column in model._columns()]
    code = names.index("code")
    found = []
    for number in (-1.0, 3.0, 1e300, -1e300, math.inf, 0.5):
        cells, out = np.array([0.3, 1.0, 0.0, 0.2]), np.zeros(3)
        cells[code] = number
        predict(cells.ctypes.data_as(double), out.ctypes.data_as(double))
        found.append(out.tolist())
    assert all(line == found[0] for line in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if "fractional" not in name and name != "C4.5"])
@pytest.mark.parametrize("missing", ["NULL", "NaN"])
def test_duckdb_predicts_the_same(fitted: dict[str, Any], rows: dict[str, list[Any]], name: str, missing: str) -> None:
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    nothing = math.nan if missing == "NaN" else None
    numbers = {
        column: [nothing if cell is None and column != COLOUR else cell for cell in cells]
        for column, cells in rows.items()
    }
    frame = pandas.DataFrame({column: pandas.Series(cells, dtype=object) for column, cells in numbers.items()})
    with duckdb.connect() as database:
        names = ", ".join(f'"{quoted(column)}" {"VARCHAR" if column == COLOUR else "DOUBLE"}' for column in rows)
        database.execute(f"CREATE TABLE data ({names})")
        database.register("frame", frame.convert_dtypes() if missing == "NULL" else frame.infer_objects())
        database.execute("INSERT INTO data SELECT * FROM frame")
        if missing == "NaN":
            database.execute("UPDATE data SET x = 'NaN'::DOUBLE WHERE x IS NULL")
            database.execute("UPDATE data SET z = 'NaN'::DOUBLE WHERE z IS NULL")
            database.execute("UPDATE data SET code = 'NaN'::DOUBLE WHERE code IS NULL")
            assert database.execute("SELECT count(*) FROM data WHERE isnan(x) AND x IS NOT NULL").fetchone()[0] > 500
        found = database.execute(export(fitted[name], to="sql")).fetchnumpy()
    n_out = expected_of(fitted[name], rows).shape[1]
    last = np.column_stack([np.asarray(column, dtype=float) for column in list(found.values())[-n_out:]])
    np.testing.assert_allclose(last, expected_of(fitted[name], rows), rtol=1e-12, atol=1e-14)


def quoted(name: str) -> str:
    return name.replace('"', '""')


def test_infinite_numbers_are_known_in_databases() -> None:
    duckdb = pytest.importorskip("duckdb")
    x = [1.0, 2.0, 3.0, None] * 10
    model = DecisionTreeRegressor().fit({"x": x}, [1.0, 2.0, 3.0, 0.0] * 10)
    new = [math.inf, -math.inf, math.nan, None, 0.0]
    with duckdb.connect() as database:
        database.execute("CREATE TABLE data (x DOUBLE)")
        database.executemany("INSERT INTO data VALUES (?)", [[cell] for cell in new])
        found = [line[-1] for line in database.execute(export(model, to="sql")).fetchall()]
    assert found == model.predict({"x": new}).tolist()


@pytest.mark.slow
def test_a_thousand_trees_are_scored_in_databases() -> None:
    duckdb = pytest.importorskip("duckdb")
    x = np.arange(200.0)
    model = GradientBoostingRegressor(n_estimators=1200, max_leaf_nodes=2, learning_rate=0.02).fit(
        {"x": x}, np.sin(x / 30)
    )
    query = export(model, to="sql")
    sqlite = sqlite3.connect(":memory:")
    sqlite.execute("CREATE TABLE data (x)")
    sqlite.executemany("INSERT INTO data VALUES (?)", x[:, None].tolist())
    np.testing.assert_allclose([line[-1] for line in sqlite.execute(query)], model.predict({"x": x}), rtol=1e-11)
    with duckdb.connect() as database:
        database.execute("CREATE TABLE data AS SELECT CAST(i AS DOUBLE) AS x FROM range(200) AS t(i)")
        found = [line[-1] for line in database.execute(query).fetchall()]
    np.testing.assert_allclose(found, model.predict({"x": x}), rtol=1e-11)


def towns() -> tuple[Any, dict[str, list[Any]]]:
    """A boosted model of a column of so many categories that it is target encoded and copied, and new rows."""
    draw = np.random.default_rng(0)

    def rows(n_rows: int, n_towns: int) -> dict[str, list[Any]]:
        cells = [f"town {k}" for k in draw.integers(n_towns, size=n_rows)]
        return {
            "town": [None if draw.random() < 0.05 else cell for cell in cells],
            "x": draw.normal(size=n_rows).tolist(),
            "street": [f"street {k}" for k in draw.integers(20, size=n_rows)],
        }

    known = rows(4000, 300)
    y = [len(str(town)) % 3 + (hash_of(town) % 5) + x for town, x in zip(known["town"], known["x"], strict=True)]
    return GradientBoostingRegressor(n_estimators=5, random_state=0).fit(known, y), rows(N_ROWS, 330)


def hash_of(town: Any) -> int:
    return sum(map(ord, str(town)))


@pytest.mark.slow
def test_target_encoded_columns_become_sets_of_categories() -> None:
    model, rows = towns()
    assert model.target_encoding_.means
    assert model.target_encoding_.codes
    expected = model.predict(rows)
    module: dict[str, Any] = {}
    exec(export(model, to="python"), module)
    lines = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
    assert [module["predict"](line) for line in lines[:3000]] == expected[:3000].tolist()
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    with duckdb.connect() as database:
        database.register("data", pandas.DataFrame(rows))
        found = database.execute(export(model, to="sql")).fetchnumpy()["prediction"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(export(model, to="onnx"))
    texts = {name: np.array([[cell or ""] for cell in rows[name]], dtype=object) for name in ("town", "street")}
    (found,) = session.run(None, {**texts, "x": np.array(rows["x"])[:, None]})
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("learner", [RandomForestClassifier, GradientBoostingClassifier])
def test_classes_in_another_order_are_exported(learner: Any) -> None:
    pandas = pytest.importorskip("pandas")
    rows = table(300, 0, unseen=False)
    words = np.where(target(rows) > 1.0, "a", "b")
    y = pandas.Series(pandas.Categorical(words, categories=["b", "a"], ordered=True))
    model = learner(n_estimators=5, random_state=0).fit(rows, y)
    module: dict[str, Any] = {}
    exec(export(model, to="python"), module)
    lines = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
    np.testing.assert_allclose([module["outputs"](line) for line in lines], model.predict_proba(rows), rtol=1e-12)
    assert module["CLASSES"] == model.classes_.tolist()
