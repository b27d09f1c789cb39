"""Running commands, in this process and in one of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from treewright.cli import app

PLAIN = {"COLUMNS": "80", "NO_COLOR": None, "FORCE_COLOR": None, "TREEWRIGHT_FORM": "library", "TREEWRIGHT_DEBUG": None}


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str

    def described(self) -> dict[str, Any]:
        """What `--json` printed, and nothing went wrong."""
        assert (self.code, self.err) == (0, "")
        description = json.loads(self.out)
        assert isinstance(description, dict)
        return description


@pytest.fixture
def run() -> Callable[..., Run]:
    """Run a command as typed; keyword arguments are environment variables."""

    def run_command(*words: str, **environment: str) -> Run:
        result = CliRunner().invoke(app, list(words), env={**PLAIN, **environment}, prog_name="treewright")
        return Run(result.exit_code, result.stdout, result.stderr)

    return run_command


@pytest.fixture
def run_process(environment: dict[str, str]) -> Callable[..., Run]:
    """Run `python -m treewright` with pipes for its output."""

    def run_command(*words: str, **changes: str) -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "treewright", *words],
            capture_output=True,
            encoding="utf-8",
            env={**environment, **changes},
            timeout=120,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    return run_command


@pytest.fixture
def environment() -> dict[str, str]:
    """The environment of a process that prints plainly, whatever terminal the tests run in."""
    source = str(Path(__file__).parents[2] / "src")
    inherited = {name: value for name, value in os.environ.items() if name not in PLAIN}
    given = {name: value for name, value in PLAIN.items() if value is not None}
    return {**inherited, **given, "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    """Write a file and give its path."""

    def write_file(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write_file
