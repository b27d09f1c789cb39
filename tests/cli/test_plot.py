"""`treewright plot`: pictures from a shell."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Runner = Callable[..., Any]

TABLE = "size,colour,kind\n" + "1,red,a\n2,red,a\n,green,b\n9,green,b\n8,blue,b\n1,blue,a\n" * 4


@pytest.mark.parametrize(
    ("suffix", "beginning"),
    [("svg", b"<svg"), ("html", b"<!DOCTYPE html>"), ("png", b"\x89PNG"), ("dot", b"digraph"), ("mmd", b"flowchart")],
)
def test_every_form_is_written(run: Runner, tmp_path: Path, suffix: str, beginning: bytes) -> None:
    out = tmp_path / f"tree.{suffix}"
    result = run("plot", "weather", "--model", "id3", "--out", str(out))
    assert (result.code, result.out, result.err) == (0, f"wrote {out}\n", "")
    assert out.read_bytes().startswith(beginning)


@pytest.mark.slow
def test_a_file_is_drawn_by_a_process_of_its_own(run_process: Runner, write: Runner, tmp_path: Path) -> None:
    out = tmp_path / "tree.svg"
    result = run_process(
        "plot", write("t.csv", TABLE), "--target", "kind", "--row", "2", "--histograms", "-o", str(out)
    )
    assert (result.code, result.err) == (0, "")
    words = [element.text for element in ET.parse(out).iter("{http://www.w3.org/2000/svg}desc")]
    assert len(words) == 1


def test_a_tree_of_a_forest_is_drawn(run: Runner, tmp_path: Path) -> None:
    out = str(tmp_path / "tree.svg")
    assert run("plot", "iris", "--model", "random-forest", "--trees", "3", "--tree", "2", "--out", out).code == 0
    result = run("plot", "iris", "--model", "random-forest", "--trees", "3", "--tree", "3", "--out", out)
    assert result.code == 2
    assert "the trees 0 to 2" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["weather", "--out", "tree.gif"], "--out tree.gif has no suffix of a picture; give one of .svg"),
        (["weather", "--out", "/no/such/place/tree.svg"], "No such file or directory; give another file with --out"),
        (["weather", "--row", "99", "--out", "/tmp/x.svg"], "row is 99, and the table has the rows 0 to 13"),
        (["weather", "--model", "voting", "--tree", "2"], "VotingClassifier is a PreparedMember, which has no tree"),
    ],
)
def test_an_error_is_one_sentence(run: Runner, words: list[str], message: str) -> None:
    result = run("plot", *words)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1


def test_an_empty_table_is_one_sentence(run: Runner, write: Runner) -> None:
    result = run("plot", write("t.csv", "a,b\n"), "--target", "b", "--out", "tree.svg")
    assert result.code == 2
    assert len(result.err.strip().splitlines()) == 1
