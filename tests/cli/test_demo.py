"""`treewright demo`, `treewright datasets` and the options of `treewright` itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import treewright
from treewright import datasets

Runner = Callable[..., Any]


@pytest.mark.slow
def test_the_demo_shows_the_lecture_tree_and_its_disjunction(run: Runner, lectures: dict[str, Any]) -> None:
    result = run("demo")
    assert (result.code, result.err) == (0, "")
    assert "outlook = overcast: yes (4.0)" in result.out
    assert (
        "play=yes: (outlook=sunny and humidity=normal) or (outlook=overcast) or (outlook=rainy and wind=weak)"
        in result.out
    )
    # The information gain of outlook and the entropy of the table, from the lectures.
    assert "gains 0.247 of the 0.940 bits" in " ".join(result.out.split())


@pytest.mark.slow
def test_the_demo_scores_a_table_with_missing_values_beside_the_majority(run: Runner) -> None:
    out = run("demo").out
    assert "always 'none'" in out
    assert f"{174 / 400:.3f}" in out
    assert "What to try next" in out


@pytest.mark.slow
@pytest.mark.parametrize("name", datasets.names())
def test_the_demo_runs_on_every_shipped_table(run: Runner, name: str) -> None:
    result = run("demo", "--data", name)
    assert (result.code, result.err) == (0, "")
    assert datasets.load(name).description in " ".join(result.out.split())


@pytest.mark.slow
@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_the_prose_of_the_demo_keeps_to_the_width(run: Runner, width: str) -> None:
    described = run("demo", COLUMNS=width).out.split("What to try next")[0].splitlines()
    assert all(len(line) <= int(width) for line in described if not line.startswith("play=yes"))


def test_the_data_sets_are_listed(run: Runner) -> None:
    out = run("datasets").out
    for name in datasets.names():
        assert f"{name} " in out
    assert "150  species" in out


def test_the_version_is_printed(run_process: Runner) -> None:
    result = run_process("--version")
    assert (result.code, result.out) == (0, f"treewright {treewright.__version__}\n")


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_without_a_command_the_help_is_printed(run: Runner, words: list[str]) -> None:
    result = run(*words)
    assert result.code == 0
    assert all(name in result.out for name in ("fit", "demo", "datasets"))


def test_help_does_not_wait_for_the_heavy_libraries(environment: dict[str, str]) -> None:
    script = (
        "import sys\nfrom treewright.cli import app\n"
        "try:\n    app(['fit', '--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('sklearn', 'numba', 'scipy', 'narwhals') if name in sys.modules])"
    )
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=True, env=environment)
    assert done.stdout.splitlines()[-1] == "[]"
