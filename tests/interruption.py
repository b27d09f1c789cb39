"""Fits that are interrupted while they are under way, each in a process of its own."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treewright.runtime import progress


class InterruptingScreen(io.StringIO):
    """Presses Ctrl-C as soon as it reads certain words."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words

    def write(self, text: str) -> int:
        if self.words in text:
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


def interrupt_when_told(words: str) -> InterruptingScreen:
    """Take the place of stderr and of the person who looks at it."""
    progress.PATIENCE = 0.0
    sys.stderr = screen = InterruptingScreen(words)
    return screen


@contextmanager
def interrupts_not_ignored() -> Iterator[None]:
    """Ctrl-C reaches this process and those that it starts, also if a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def printed_by(code: str, *arguments: str) -> list[str]:
    """The lines that a process of its own prints; it can import the modules of this folder."""
    command = [sys.executable, "-c", code, *arguments]
    folder = Path(__file__).parent
    with interrupts_not_ignored():
        ran = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    return ran.stdout.splitlines()
