"""Interrupts by Ctrl-C that are raised between two steps rather than within one.

An interrupt while Python's own locks are held, such as those of a thread pool, leaves them locked, and the threads wait
for ever. It is therefore recorded when it occurs, and raised where no work is in progress.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Record Ctrl-C within the block, and raise it at its end.

    Threads other than the main thread are never interrupted. A handler that was not installed from Python cannot be
    restored.
    """
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    noted: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: noted.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if noted:
        previous(*noted[0])
