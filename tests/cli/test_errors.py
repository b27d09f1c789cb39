"""Errors: one sentence on standard error, and an exit code that tells whose turn it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interruption import interrupts_not_ignored
from treewright.cli.errors import Interrupted, UserError, as_user_errors, exit_code_of

Runner = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fit", "no_such.csv", "-t", "y"], "there is no file no_such.csv"),
        (["fit", "iris", "-t", "spezies"], "there is no column 'spezies'; did you mean 'species'?"),
        (["fit", "iris", "-t", "SPECIES"], "there is no column 'SPECIES'; did you mean 'species'?"),
        (["fit", "iris", "--ignore", "petal"], "there is no column 'petal'"),
        (["fit", "iris", "--model", "c54"], "there is no model 'c54'; did you mean 'c45'?"),
        (["fit", "iris", "--model", "forest"], "there is no model 'forest'; did you mean 'random-forest'?"),
        (["fit", "iris", "--model", "magic"], "there is no model 'magic'; there are 'c45', 'cart'"),
        (["fit", "iris", "--trees", "9"], "--trees means nothing to model 'c45'; it is for random-forest"),
        (["fit", "iris", "-m", "voting", "--max-depth", "2"], "--max-depth means nothing to model 'voting'"),
        (["fit", "iris", "-m", "random-forest", "--prune", "collapse"], "--prune means nothing to model"),
        (["fit", "iris", "-m", "bagging", "--rules"], "--rules shows a single tree, and model 'bagging' is made of"),
        (["fit", "iris", "-m", "extra-trees", "--max-depth-shown", "2"], "--max-depth-shown shows a single tree"),
        (["fit", "iris", "-m", "random-forest", "--trees", "0"], "invalid value for '--trees'"),
        (["fit", "iris", "-m", "bagging", "--criterion", "ginny"], "--criterion is 'ginny'; give one of 'gini'"),
        (
            ["fit", "taxable_income", "--model", "id3"],
            "column 'income' is numeric, and ID3 knows categories only; use --model c45, "
            "or name it in --categorical or --ignore",
        ),
        (["fit", "iris", "-t", "petal_width", "-m", "c45"], "model 'c45' learns classes only"),
        (["fit", "iris", "--criterion", "gini"], "--criterion means nothing to model 'c45'; it is for cart"),
        (["fit", "iris", "-m", "tree", "--criterion", "ginny"], "--criterion is 'ginny'; give one of 'gini'"),
        (["fit", "iris", "--task", "numbers"], "target 'species' holds categories, not numbers"),
        (
            ["fit", "iris", "-t", "petal_width", "--task", "classes"],
            "target 'petal_width' holds fractions such as 0.2, which name no class",
        ),
        (["fit", "iris", "--ignore", "species"], "column 'species' is the target"),
        (["fit", "iris", "--numeric", "species"], "column 'species' is the target"),
        (["fit", "weather", "--numeric", "wind"], "take the column out of --numeric"),
        (["fit", "weather", "--ignore", "wind", "--categorical", "wind"], "is in --ignore and in --categorical"),
        (["fit", "animals", "--ignore", "fly,color,flies,colour"], "there is no column"),
        (["fit", "iris", "--max-depth", "-1"], "invalid value for '--max-depth'"),
        (["fit", "iris", "--folds", "1"], "invalid value for '--folds'"),
        (["fit", "iris", "--no-such-option"], "no such option"),
        (["fit"], "missing argument"),
        (["grow"], "no such command 'grow'; see 'treewright --help'"),
        (["demo", "--data", "irs"], "there is no data set 'irs'; did you mean 'iris'?"),
    ],
)
def test_a_mistake_gets_one_sentence_and_code_2(run: Runner, words: list[str], sentence: str) -> None:
    result = run(*words)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("treewright: ")
    assert sentence in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("no_target.csv", "a,b\n1,2\n", "give the column to predict with --target; no_target.csv has 'a', 'b'"),
        ("empty.csv", "", "empty.csv: the file is empty"),
        ("ragged.csv", "a,b\n1,2\n3\n", "ragged.csv: line 3: 1 values for 2 columns"),
        ("letter.docx", "a,b\n", "letter.docx: the suffix '.docx' is not known"),
    ],
)
def test_a_wrong_file_is_reported(
    run: Runner, write: Callable[[str, str], str], name: str, text: str, sentence: str
) -> None:
    result = run("fit", write(name, text))
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,y\n", "the table has columns, but no rows"),
        ("a,y\n1,b\n", "the table has 1 row to learn from"),
        ("y\nb\nc\n", "there is no column left to predict 'y' from"),
        ("a,y\n1,\n2,NA\n", "target 'y' has no values at all"),
        ("a,y\n1,b\n2,c\n3,d\n", "no two rows share one"),
    ],
)
def test_a_table_without_enough_to_learn_is_reported(
    run: Runner, write: Callable[[str, str], str], text: str, sentence: str
) -> None:
    result = run("fit", write("little.csv", text), "-t", "y")
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err


def test_a_directory_is_no_table(run: Runner, tmp_path: Path) -> None:
    result = run("fit", str(tmp_path), "-t", "y")
    assert result.code == 2
    assert "is a directory" in result.err


@pytest.mark.slow
def test_the_process_ends_with_the_code_and_the_sentence(run_process: Runner) -> None:
    result = run_process("fit", "iris", "--target", "spezies")
    assert (result.code, result.out) == (2, "")
    assert result.err == "treewright: there is no column 'spezies'; did you mean 'species'?\n"


@pytest.mark.parametrize(("words", "environment"), [(["--debug"], {}), ([], {"TREEWRIGHT_DEBUG": "1"})])
def test_the_traceback_is_shown_when_asked_for(run: Runner, words: list[str], environment: dict[str, str]) -> None:
    result = run("fit", "iris", "--target", "spezies", *words, **environment)
    assert result.code == 2
    assert "Traceback" in result.err
    assert result.err.endswith("did you mean 'species'?\n")


def test_what_nobody_expected_ends_with_code_1_and_the_way_to_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(lambda: 1 // 0, with_traceback=False) == 1
    described = capsys.readouterr().err
    assert described.startswith("treewright: unexpected ZeroDivisionError: ")
    assert described.endswith("; --debug shows where\n")


@pytest.mark.parametrize(("error", "code"), [(UserError("no"), 2), (Interrupted(), 130), (KeyError("x"), 1)])
def test_each_kind_of_error_has_its_code(error: Exception, code: int) -> None:
    def fail() -> None:
        raise error

    assert exit_code_of(fail, with_traceback=False) == code


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_ctrl_c_ends_with_code_130_and_without_a_traceback(tmp_path: Path, environment: dict[str, str]) -> None:
    pipe = tmp_path / "endless.csv"
    os.mkfifo(pipe)
    words = [sys.executable, "-m", "treewright", "fit", str(pipe), "-t", "y"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with interrupts_not_ignored():
        process = subprocess.Popen(words, **pipes, encoding="utf-8", env=environment)
    with pipe.open("w"):  # returns when the command has opened the pipe and waits for rows
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "treewright: interrupted\n")


def test_values_that_are_missing_are_not_an_option() -> None:
    expected = "^the target has 3 missing values; choose --missing='learned'$"
    with pytest.raises(UserError, match=expected), as_user_errors():
        raise ValueError("the target has 3 missing values; choose missing='learned'")
