"""Ctrl-C between two steps rather than in the middle of one.

An interrupt that strikes while Python's own locks are held, as those of a pool of threads, leaves them locked, and the
threads wait for ever. So it is noted when it comes and raised where nothing is under way.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Note Ctrl-C within the block, and raise it at its end.

    Other threads than the main one are never interrupted, and a handler that Python does not know cannot be put back.
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
