"""`treewright fit --out`, `treewright predict` and `treewright info`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treewright import datasets, load, read_table

Runner = Callable[..., Any]


@pytest.fixture(scope="module")
def orchard_file(tmp_path_factory: Any) -> str:
    """The orchard as a CSV file, written by the csv module."""
    frame = datasets.load_orchard().frame
    path = tmp_path_factory.mktemp("tables") / "orchard.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(frame.columns)
        for row in zip(*(frame[name].tolist() for name in frame.columns), strict=True):
            writer.writerow(["" if cell is None or cell != cell else cell for cell in row])
    return str(path)


def test_a_saved_model_predicts_what_the_loaded_one_predicts(run: Runner, tmp_path: Path, orchard_file: str) -> None:
    model, found = str(tmp_path / "model.tw"), tmp_path / "found.csv"
    target = datasets.load_orchard().target
    fitted = run("fit", orchard_file, "-t", target, "--max-depth", "3", "-m", "cart", "--folds", "2", "--out", model)
    assert fitted.code == 0
    assert f"wrote the model to {model}" in fitted.err
    assert run("predict", model, orchard_file, "--proba", "--out", str(found)).code == 0
    rows = list(csv.DictReader(io.StringIO(found.read_text(encoding="utf-8"))))
    loaded = load(model)
    frame = read_table(orchard_file)
    assert [row["prediction"] for row in rows] == loaded.predict(frame).tolist()
    shares = [[float(row[f"probability_{name}"]) for name in loaded.classes_] for row in rows]
    np.testing.assert_array_equal(shares, loaded.predict_proba(frame))


def test_predictions_go_to_standard_output_and_to_parquet(run: Runner, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet")
    model = str(tmp_path / "iris.tw")
    assert run("fit", "iris", "--max-depth", "2", "--folds", "2", "--out", model).code == 0
    lines = run("predict", model, "iris").out.splitlines()
    assert lines[0] == "prediction"
    assert len(lines) == 151
    run("predict", model, "iris", "--out", str(tmp_path / "iris.parquet"))
    assert pyarrow.read_table(tmp_path / "iris.parquet").column("prediction").to_pylist() == lines[1:]


def test_info_shows_what_a_file_contains(run: Runner, tmp_path: Path) -> None:
    model = str(tmp_path / "weather.tw")
    run("fit", "weather", "-m", "id3", "--folds", "2", "--out", model)
    printed = run("info", model).out
    assert "ID3Classifier, saved 20" in printed
    assert "sunny, overcast, rainy" in printed
    assert "Classes: no, yes." in printed
    assert json.loads(run("info", model, "--json").out)["learner"] == "ID3Classifier"


def test_a_model_file_is_scored_on_a_table(run: Runner, tmp_path: Path) -> None:
    model = str(tmp_path / "iris.tw")
    run("fit", "iris", "--max-depth", "2", "--folds", "2", "--out", model)
    iris = datasets.load_iris()
    correct = np.mean(load(model).predict(iris.X) == iris.y)
    assert json.loads(run("evaluate", model, "iris", "--json").out)["score"] == correct
    printed = run("evaluate", model, "iris").out
    assert "log loss" in printed
    assert "is / predicted as" in printed


def test_a_model_file_becomes_source_code(run: Runner, tmp_path: Path) -> None:
    model, code = str(tmp_path / "iris.tw"), tmp_path / "iris.py"
    run("fit", "iris", "-m", "cart", "--max-depth", "2", "--folds", "2", "--out", model)
    assert run("export", model, "--to", "sql").out.startswith("SELECT")
    assert run("export", model, "--to", "python", "--out", str(code)).code == 0
    module: dict[str, Any] = {}
    exec(code.read_text(encoding="utf-8"), module)
    iris = datasets.load_iris().X
    rows = [{name: iris[name][k] for name in iris.columns} for k in range(0, 150, 10)]
    assert [module["predict"](row) for row in rows] == load(model).predict(iris)[::10].tolist()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("predict", "missing.tw", "iris"), "missing.tw: No such file or directory"),
        (("info", "{table}"), "the file is cut off, or it is no model file"),
        (("predict", "{model}", "weather"), "column"),
        (("predict", "{model}", "iris", "--out", "x.docx"), "give a file that ends in .csv or .parquet"),
        (("export", "{model}", "--to", "cobol"), "'cobol' is not one of"),
        (("predict", "{model}", "iris", "--proba"), "--proba needs a model of classes"),
    ],
)
def test_a_mistake_gets_one_sentence(run: Runner, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    model, table = tmp_path / "m.tw", tmp_path / "table.csv"
    table.write_text("a,b\n" + "1,2\n" * 20, encoding="utf-8")
    run("fit", "iris", "-t", "petal_width", "-m", "stump", "--folds", "2", "--out", str(model))
    result = run(*(word.format(model=model, table=table) for word in words))
    assert result.code == 2
    assert sentence in result.err
    assert len(result.err.strip().splitlines()) == 1


def test_a_model_of_another_library_is_imported(run: Runner, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    iris = datasets.load_iris()
    X = np.column_stack([iris.X[name] for name in iris.X.columns])
    source, model = tmp_path / "theirs.txt", tmp_path / "ours.tw"
    rows = lightgbm.Dataset(X, (iris.y == "setosa").astype(int), feature_name=list(iris.X.columns))
    theirs = lightgbm.train({"objective": "binary", "verbose": -1, "num_threads": 1}, rows, num_boost_round=3)
    theirs.save_model(source)
    assert run("import", str(source), "--out", str(model), "--classes", "no,yes").code == 0
    printed = run("predict", str(model), "iris").out.split()
    assert printed[0] == "prediction"
    assert [word == "yes" for word in printed[1:]] == (theirs.predict(X) > 0.5).tolist()
    source.write_text(source.read_text()[:300])
    result = run("import", str(source), "--out", str(model))
    assert result.code == 2
    assert "the file is cut off" in result.err
