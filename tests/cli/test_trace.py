"""`treewright trace`: the worked trace from a shell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Runner = Callable[..., Any]


def test_the_trace_of_a_shipped_table_has_the_gains_of_the_lecture(run: Runner) -> None:
    result = run("trace", "weather", "--model", "id3")
    assert (result.code, result.err) == (0, "")
    assert "0.2467" in result.out
    assert all(len(line) <= 80 for line in result.out.splitlines())


def test_one_row_is_followed(run: Runner) -> None:
    result = run("trace", "weather", "--model", "id3", "--row", "3")
    assert "rainy = rainy" in result.out
    assert "Prediction: yes" in result.out


@pytest.mark.parametrize(
    ("form", "beginning"),
    [("html", "<!DOCTYPE html>"), ("markdown", "# ID3Classifier"), ("latex", "\\documentclass"), ("text", "ID3Class")],
)
def test_every_form_is_written_to_a_file(run: Runner, tmp_path: Path, form: str, beginning: str) -> None:
    out = tmp_path / "trace"
    result = run("trace", "weather", "--model", "id3", "--format", form, "--out", str(out))
    assert (result.code, result.out) == (0, f"wrote {out}\n")
    assert out.read_text(encoding="utf-8").startswith(beginning)


def test_json_has_the_steps(run: Runner) -> None:
    described = run("trace", "weather", "--model", "id3", "--json").described()
    assert described["steps"][0]["winner"] == "outlook"
    assert described["steps"][0]["gain"] == pytest.approx(0.24674981977443933, abs=1e-12)


@pytest.mark.slow
def test_a_file_is_traced_in_a_process_of_its_own(run_process: Runner, tmp_path: Path) -> None:
    table = tmp_path / "days.csv"
    table.write_text("sky,wind,play\nsun,1,no\nsun,2,no\nrain,3,yes\nrain,4,yes\n", encoding="utf-8")
    result = run_process("trace", str(table), "--target", "play", "--model", "tree", "--notation", "breiman")
    assert (result.code, result.err) == (0, "")
    assert "i(t) = 1 - Σ p_i²" in result.out


def test_an_exercise_has_a_solution_sheet(run: Runner) -> None:
    questions, answers = run("trace", "weather", "--model", "id3", "--exercise").out.split("Solution sheet")
    assert "0.2467" in answers
    assert "0.2467" not in questions


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("weather", "--model", "id3", "--row", "14"), "row is 14, and the table has the rows 0 to 13"),
        (("weather", "--model", "voting"), "VotingClassifier has no worked trace"),
        (("weather", "--model", "id3", "--out", "/nowhere/x.html"), "give another file with --out"),
        (("weather", "--target", "sky"), "there is no column 'sky'"),
    ],
)
def test_a_mistake_is_one_sentence(run: Runner, words: tuple[str, ...], sentence: str) -> None:
    result = run("trace", *words)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
