"""`treewright fit --low-memory` and `--dask`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import treewright
from model_digests import digest_of
from treewright.cli.application import app
from treewright.cli.large import write_parquet_of_demo


@pytest.fixture
def files(tmp_path: Any) -> str:
    write_parquet_of_demo(tmp_path, 2_000)
    return f"{tmp_path}/*.parquet"


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["fit", *words])


def test_the_model_of_files_is_that_of_the_table(files: str, tmp_path: Any) -> None:
    found = run(files, "--target", "y", "--low-memory", "--trees", "5", "--out", str(tmp_path / "model.tw"))
    assert found.exit_code == 0, found.output
    assert "2000 rows, 9 columns" in found.output
    whole = treewright.scan(files).collect()
    model = treewright.GradientBoostingClassifier(n_estimators=5, random_state=0)
    model.fit(whole.drop(columns="y"), whole["y"])
    loaded = treewright.load(tmp_path / "model.tw")
    assert digest_of(loaded.set_params(progress=None)) == digest_of(model)


def test_a_csv_file_is_scanned_with_the_options_about_reading(files: str, tmp_path: Any) -> None:
    treewright.scan(files).collect().to_csv(tmp_path / "table.csv", sep=";", decimal=",", index=False)
    words = ("-t", "y", "--low-memory", "--sep", ";", "--decimal", ",", "--ignore", "x7,x6", "--json")
    found = json.loads(run(str(tmp_path / "table.csv"), *words, "--model", "random-forest", "--trees", "20").output)
    assert found["rows"] == 2000
    assert set(found["importances"]) == {"x0", "x1", "x2", "x3", "x4", "x5", "colour"}
    assert 0.5 < found["out_of_bag_score"] < 1.0


@pytest.mark.slow
def test_a_cluster_of_this_machine_fits_the_same_model(files: str, tmp_path: Any) -> None:
    for option in (["--low-memory"], ["--dask", "local"]):
        out = str(tmp_path / f"{len(option)}.tw")
        found = run(files, "-t", "y", *option, "--model", "extra-trees", "--trees", "3", "--out", out)
        assert found.exit_code == 0, found.output
    models = [treewright.load(tmp_path / f"{number}.tw") for number in (1, 2)]
    assert digest_of(models[0]) == digest_of(models[1])
    rows = treewright.scan(files).collect().drop(columns="y")
    assert np.array_equal(models[0].predict(rows), models[1].predict(rows))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--low-memory"], "give the column to predict with --target"),
        (["-t", "y", "--low-memory", "--rules"], "--rules needs the table in memory"),
        (["-t", "z", "--low-memory"], "there is no column 'z'"),
        (["-t", "y", "--low-memory", "--model", "c45"], "there is no model 'c45'"),
        (["-t", "y", "--dask", "tcp://127.0.0.1:1"], "there is no Dask cluster at tcp://127.0.0.1:1"),
    ],
)
def test_a_mistake_is_one_sentence(words: list[str], message: str, files: str, capfd: Any) -> None:
    found = run(files, *words)
    assert found.exit_code == 2
    assert message in found.output + capfd.readouterr().err
