"""Damaged model files, damaged tables and generated tables: no crash, no hang, errors of one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the fuzzers limit their memory, which Windows cannot")

FOLDER = Path(__file__).parents[1]


def fuzz(name: str, count: int, first: int = 0) -> dict[str, int]:
    """Run cases in a process of their own, which a crash ends; returns how many had each outcome."""
    command = [sys.executable, "-m", f"fuzzing.{name}", str(first), str(count)]
    ran = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(command[1:])} ended with {ran.returncode}\n{ran.stdout[-4000:]}"
    outcomes: dict[str, int] = json.loads(ran.stdout.splitlines()[-1])["outcomes"]
    assert sum(outcomes.values()) == count
    return outcomes


@pytest.mark.slow
def test_two_thousand_damaged_model_files_are_refused_or_predict() -> None:
    outcomes = fuzz("model_files", 2_000)
    assert outcomes["refused"] > 1_000
    assert outcomes["loaded"] > 100


@pytest.mark.slow
def test_five_hundred_tables_are_fitted_or_refused() -> None:
    outcomes = fuzz("tables", 500)
    assert sum(count for outcome, count in outcomes.items() if outcome.startswith("predicted")) > 200


@pytest.mark.slow
def test_five_hundred_files_of_tables_are_read_or_refused() -> None:
    outcomes = fuzz("table_files", 500)
    assert outcomes["read"] > 50


@pytest.mark.soak
def test_300_000_damaged_model_files_are_refused_or_predict() -> None:
    fuzz("model_files", 300_000)


@pytest.mark.soak
def test_20_000_tables_are_fitted_or_refused() -> None:
    fuzz("tables", 20_000)


@pytest.mark.soak
def test_20_000_files_of_tables_are_read_or_refused() -> None:
    fuzz("table_files", 20_000)
