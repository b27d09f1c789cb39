"""The documents of the project, and the code blocks in them."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "treewright"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

SERVER = Path(__file__).parent / "command_server.py"
_servers: list[subprocess.Popen[bytes]] = []  # the pipe to a server is open as long as it is here

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block: its language, its code, and the line on which the code begins."""

    language: str
    code: str
    line: int


def blocks_of(text: str) -> list[Block]:
    return [
        Block(found[1].strip(), found[2], text.count("\n", 0, found.start(2)) + 1) for found in FENCE.finditer(text)
    ]


def prose_of(text: str) -> str:
    """The text without code blocks and inline code; lines keep their numbers."""
    without_blocks = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    return re.sub(r"`[^`]*`", lambda found: "\n" * found[0].count("\n"), without_blocks)


def run_python(blocks: list[Block], name: str) -> None:
    """Run blocks one after the other in one namespace: doctests with a prompt, plain code without."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner()
    for block in blocks:
        if ">>>" in block.code:
            place = f"{name}, line {block.line}"  # tests of the same name would hide each other's lines
            test = doctest.DocTestParser().get_doctest(block.code, namespace, place, name, block.line - 1)
            test.globs = namespace  # the parser makes a copy
            runner.run(test, clear_globs=False)
        else:
            exec(compile("\n" * (block.line - 1) + block.code, name, "exec"), namespace)
    assert runner.summarize(verbose=False).failed == 0


def run_shell(blocks: list[Block], directory: Path, source: Path = PACKAGE.parent, **environment: str) -> str:
    """Run blocks with the commands of an installed and set-up project; returns what they print.

    `make` only looks whether the target exists, because setting up takes minutes. Commands of the library itself are
    forks of one process, because a process of its own imports for seconds.
    """
    commands = directory / "commands"
    commands.mkdir()
    shared = source == PACKAGE.parent and not environment
    run = f'-S -E "{SERVER}" "{_command_server()}"' if shared else "-m treewright"
    _write_command(commands / "treewright", f'exec "{sys.executable}" {run} "$@"')
    make = shutil.which("make")
    _write_command(commands / "make", f'exec "{make}" --dry-run --directory "{ROOT}" "$@" > /dev/null')
    activate = directory / ".venv" / "bin" / "activate"
    activate.parent.mkdir(parents=True)
    activate.touch()
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail"],
        input="\n".join(block.code for block in blocks),
        capture_output=True,
        encoding="utf-8",
        cwd=directory,
        env={
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(source),
            "PYTHONIOENCODING": "utf-8",
            **environment,
        },
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@cache
def _command_server() -> str:
    """Start the process that runs commands; returns the path of its socket. It ends with this process."""
    path = str(Path(tempfile.mkdtemp()) / "socket")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONIOENCODING": "utf-8"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    server = subprocess.Popen([sys.executable, str(SERVER), path], **pipes, env=environment)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    _servers.append(server)
    return path


def _write_command(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)
