"""Tables as people have them, from a shell: recognised, or refused with the option that helps."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from treewright import datasets, load, read_table
from treewright.cli import app

Runner = Callable[..., Any]
Writer = Callable[[str, str], str]

FIT = ("-t", "y", "-m", "stump", "--folds", "2")


def rows(first: str, second: str, *, header: str = "x;z;y", mark: str = ";") -> str:
    """Twenty rows with two columns in which each of the classes has its own words."""
    return header + "\n" + (f"{first}{mark}1{mark}a\n{second}{mark}2{mark}b\n") * 10


def kinds(run: Runner, *words: str) -> dict[str, str]:
    """The kind or the unit of each column."""
    described = run("fit", *words, *FIT, "--json").described()
    return {one["name"]: one.get("unit", one["kind"]) for one in described["columns"]}


@pytest.mark.parametrize(
    ("first", "second", "unit"),
    [
        ("1,5", "2,5", "plain"),
        ("1.234,5", "7", "plain"),
        ("1 234,5", "7", "plain"),
        ("$1,234.50", "$7", "plain"),
        ("5 %", "7,5 %", "plain"),
        ("25/01/2023", "05/02/2023", "date"),
        ("01.05.2023", "02.06.2023", "date"),
        ("May 01, 2023", "June 3, 2023", "date"),
        ("2023-05", "2023-06", "date"),
    ],
)
def test_spellings_are_recognised(run: Runner, write: Writer, first: str, second: str, unit: str) -> None:
    assert kinds(run, write("t.csv", rows(first, second)))["x"] == unit


@pytest.mark.parametrize(
    ("first", "second", "advice", "option"),
    [
        ("1,234", "2,345", "give --decimal . or --decimal ,", ("--decimal", ".")),
        ("05/01/2023", "06/01/2023", "give --dates day-first or --dates month-first", ("--dates", "day-first")),
        ("25/01/23", "06/01/23", "give --dates day-first or --dates month-first", ("--dates", "day-first")),
        ("5%", "7", "keep it as categories with --categorical x", ("--categorical", "x")),
        ("$5", "€7", "keep it as categories with --categorical x", ("--ignore", "x")),
    ],
)
def test_what_is_in_doubt_is_refused_with_an_option_that_helps(
    run: Runner, write: Writer, first: str, second: str, advice: str, option: tuple[str, str]
) -> None:
    table = write("t.csv", rows(first, second))
    refused = run("fit", table, *FIT)
    assert (refused.code, refused.out) == (2, "")
    assert advice in refused.err
    assert refused.err.count("\n") == 1
    assert run("fit", table, *FIT, *option).code == 0


def test_encodings_and_separators_are_options(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(rows("1", "2", header="größe:z:y", mark=":").encode("latin-1"))
    refused = run("fit", str(path), *FIT)
    assert "is not UTF-8; give its encoding, such as --encoding latin-1" in refused.err
    assert kinds(run, str(path), "--encoding", "latin-1", "--sep", ":") == {"größe": "plain", "z": "plain"}
    assert "--encoding klingon is not known" in run("fit", str(path), *FIT, "--encoding", "klingon").err
    assert "--sep ab is no separator" in run("fit", str(path), *FIT, "--sep", "ab").err


def test_the_index_of_pandas_is_left_out_and_said_on_screen(run: Runner, write: Writer) -> None:
    lines = [f"{number},{'ab'[number % 2]},{'cd'[number % 2]}" for number in range(20)]
    fitted = run("fit", write("t.csv", "\n".join([",x,y", *lines, ""])), *FIT)
    assert fitted.code == 0
    assert "note: the first column has no name and numbers the rows" in fitted.err


def test_words_for_missing_values_can_be_added(run: Runner, write: Writer) -> None:
    table = write("t.csv", rows("-99", "unknown"))
    described = run("fit", table, *FIT, "--na", "unknown", "--na", "-99", "--json").described()
    assert described["columns"][0]["missing"] == 20


def test_a_few_words_among_numbers_are_noted(run: Runner, write: Writer) -> None:
    numbers = "".join(f"{number};{'ab'[number % 2]}\n" for number in range(20))
    table = write("t.csv", f"x;y\n{numbers}12y;a\n")
    fitted = run("fit", table, *FIT)
    assert "note: column 'x' is text because of '12y' among its numbers" in fitted.err
    assert "give --na 12y" in fitted.err
    assert kinds(run, table, "--na", "12y") == {"x": "plain"}


@pytest.mark.slow
def test_several_files_and_standard_input_are_tables(environment: dict[str, str], write: Writer) -> None:
    first, second = write("a.csv", rows("1,5", "2")), write("b.csv", rows("3", "4,5"))
    for words, given in (([first, second], ""), ([first, "-"], rows("3", "4,5")), (["-"], rows("1,5", "2") * 1)):
        options = ["fit", *words, *FIT, "--json"]
        if words == ["-"]:  # the pipe of a process
            command = [sys.executable, "-m", "treewright", *options]
            pipes = {"input": given, "capture_output": True, "encoding": "utf-8"}
            done = subprocess.run(command, **pipes, env=environment, timeout=60)
            assert (done.returncode, done.stderr) == (0, "")
        else:
            done = CliRunner().invoke(app, options, input=given, prog_name="treewright")
            assert (done.exit_code, done.stderr) == (0, "")
        described = json.loads(done.stdout)
        assert described["rows"] == 20 * len(words)
        assert described["table"] == (words if len(words) > 1 else words[0])
        assert described["columns"][0]["unit"] == "plain"


def test_a_url_gets_one_sentence(run: Runner) -> None:
    refused = run("fit", "https://example.org/t.csv", *FIT)
    assert (refused.code, refused.out) == (2, "")
    assert "is an address of the web, and only files are read; download it first" in refused.err


def test_a_table_for_a_model_means_what_it_meant_in_training(run: Runner, write: Writer, tmp_path: Path) -> None:
    model = str(tmp_path / "m.tw")
    train = write("train.csv", rows("1.234,5", "7,5", header="price;size;y").replace(";2;", ";XL;"))
    run("fit", train, "-t", "y", "-m", "cart", "--folds", "2", "--out", model)
    # All sizes of the new table are numbers, and its notes could be dates in two ways.
    new = write("new.csv", "note,size,price\n05/01/2023,1,1234.5\n05/02/2023,1,7.5\n")
    predicted = run("predict", model, new)
    assert predicted.code == 0
    assert predicted.out.split() == ["prediction", "a", "b"]
    assert load(model).feature_names_in_.tolist() == ["price", "size"]


def test_predictions_are_also_json(run: Runner, tmp_path: Path) -> None:
    model = str(tmp_path / "iris.tw")
    run("fit", "iris", "--max-depth", "2", "--folds", "2", "--out", model)
    described = run("predict", model, "iris", "--json", "--proba").described()
    lines = list(csv.DictReader(run("predict", model, "iris", "--proba").out.splitlines()))
    assert described["prediction"] == [line["prediction"] for line in lines]
    assert described["probability_setosa"] == [float(line["probability_setosa"]) for line in lines]
    assert (described["model"], described["table"]) == (model, "iris")
    assert run("predict", model, "iris", "--json", "--out", "x.csv").code == 2
    listed = run("datasets", "--json").described()["datasets"]
    assert [one["name"] for one in listed] == list(datasets.names())


def test_the_order_of_dates_and_the_decimal_mark_of_training_decide_what_a_new_table_leaves_open(
    run: Runner, write: Writer, tmp_path: Path
) -> None:
    model = str(tmp_path / "m.tw")
    train = write("train.csv", rows("05/25/2023", "05/02/2023").replace(";1;", ";1,5;"))
    assert run("fit", train, *FIT, "--out", model).code == 0
    assert load(model).reading_ == {"dates": "month-first", "decimal": ","}
    predicted = run("predict", model, write("one.csv", "x;z\n05/03/2023;1,234\n"))
    assert (predicted.code, predicted.err) == (0, "")
    table = read_table(tmp_path / "one.csv", like=load(model))
    assert table.to_dict() == {"x": [date(2023, 5, 3)], "z": [1.234]}
    # A file that is clear by itself is understood by itself.
    assert read_table(write("two.csv", "x;z\n25/03/2023;0.5\n"), like=load(model))["x"].tolist() == [date(2023, 3, 25)]
    refused = run("predict", model, write("three.csv", "x;z\n05/03/2023;1.234\n"))
    assert "the mark in '1.234' may separate thousands" in refused.err
    assert run("predict", model, write("three.csv", "x;z\n05/03/2023;1.234\n"), "--decimal", ".").code == 0
