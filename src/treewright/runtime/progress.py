"""Progress of long work, and work that Ctrl-C can stop."""

from __future__ import annotations

import contextvars
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class Tick(Protocol):
    """Reports that more steps are done, with an optional note on the progress."""

    def __call__(self, steps: int = 1, note: str = "") -> None: ...


# Work that takes fewer seconds shows nothing.
PATIENCE = 2.0

# Seconds that the main thread waits before it checks for Ctrl-C again. On Windows a wait without a timeout cannot be
# interrupted.
LOOK_UP = 0.2

# Only one bar is shown at a time, because two would overwrite each other.
_screen = threading.Lock()


class Display(Protocol):
    """An output for progress."""

    def update(self, done: int, note: str = "") -> None: ...

    def close(self) -> None: ...


@contextmanager
def follow(what: str, total: int | None = None, progress: bool | None = None) -> Iterator[Tick]:
    """Show the progress of the work of a `with` block, if it takes more than two seconds.

    Parameters
    ----------
    what : str
        The work, such as "growing trees".
    total : int or None, default=None
        Number of steps; None if it is unknown.
    progress : bool or None, default=None
        None shows a bar in a terminal and in a notebook, and nothing in scripts, in workers and in threads. True
        shows it everywhere, False nowhere.

    Yields
    ------
    tick : function
        Call `tick(1)` when a step is done, from any thread. After the block was left by an error or by Ctrl-C, it
        raises KeyboardInterrupt, so that threads that are still working stop.

    >>> with follow("growing trees", total=3) as tick:
    ...     for _ in range(3):
    ...         tick(1)
    """
    counter = Counter(what, total, is_wanted(progress))
    try:
        yield counter.tick
    except BaseException:
        counter.is_stopped = True
        raise
    finally:
        counter.close()


def is_wanted(progress: bool | None) -> bool:
    """Should progress be shown here? None decides by the environment."""
    if progress is not None:
        return bool(progress)
    in_worker = multiprocessing.parent_process() is not None
    if in_worker or threading.current_thread() is not threading.main_thread():
        return False
    return is_terminal() or is_notebook()


def is_terminal() -> bool:
    """Is stderr a terminal?"""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):  # no stderr at all, or a closed one
        return False


def is_notebook() -> bool:
    """Is this process the kernel of a notebook? IPython in a terminal is not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


class Counter:
    """A counter of steps that opens a display when the work takes long."""

    def __init__(self, what: str, total: int | None, wanted: bool) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.note = ""
        self.is_stopped = False
        self._lock = threading.Lock()
        self._display: Display | None = None
        self._has_screen = False
        self._timer: threading.Timer | None = None
        if wanted:
            self._started = time.monotonic()
            self._timer = threading.Timer(PATIENCE, self._open)
            self._timer.daemon = True
            self._timer.start()

    def tick(self, steps: int = 1, note: str = "") -> None:
        """Add so many steps; the note describes the progress."""
        if self.is_stopped:
            raise KeyboardInterrupt
        with self._lock:
            self.done += steps
            self.note = note or self.note
            if self._display is not None:
                self._display.update(self.done, self.note)

    def close(self) -> None:
        """Stop showing progress."""
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None
            display, self._display = self._display, None
        if display is not None:
            display.close()
        if self._has_screen:
            self._has_screen = False
            _screen.release()

    def _open(self) -> None:
        with self._lock:
            if self._timer is None or not _screen.acquire(blocking=False):
                return
            self._has_screen = True
            self._display = open_display(self.what, self.total)
            if self._display is not None:
                self._display.update(self.done, self.note)


def open_display(what: str, total: int | None) -> Display | None:
    """Open a bar for a terminal or a notebook, or lines for a file; None if another program draws on the screen."""
    if not (is_terminal() or is_notebook()):
        return Lines(what, total)
    try:
        return Bar(what, total)
    except Exception:  # raised by rich if another live display is shown; a fit must not fail because of a bar
        return None


class Bar:
    """A progress bar that disappears when the work is done."""

    def __init__(self, what: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        counts = () if total is None else (MofNCompleteColumn(),)
        layout = (TextColumn("{task.description}"), BarColumn(), *counts, TimeElapsedColumn())
        self._progress = Progress(*layout, console=Console(stderr=True), transient=True)
        self._progress.start()
        self._what = what
        self._task = self._progress.add_task(what, total=total)

    def update(self, done: int, note: str = "") -> None:
        text = f"{self._what} ({note})" if note else self._what
        self._progress.update(self._task, completed=done, description=text)

    def close(self) -> None:
        self._progress.stop()


class Lines:
    """Output for files: one line for each tenth of the work."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what = what
        self._total = total
        self._tenths = -1

    def update(self, done: int, note: str = "") -> None:
        tenths = 0 if not self._total else 10 * done // self._total
        if tenths == self._tenths or sys.stderr is None:
            return
        self._tenths = tenths
        text = "..." if self._total is None else f": {done} of {self._total}"
        print(f"{self._what}{text}{f' ({note})' if note else ''}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Do nothing, because lines remain."""


def interruptible(work: Callable[[], Result]) -> Result:
    """Return the result of `work`; Ctrl-C stops the wait for it immediately.

    A thread that computes cannot be interrupted, so the main thread leaves the work to another one. After Ctrl-C, that
    thread continues until its next `tick`, and its result is discarded. `work` must not change anything that remains.

    >>> interruptible(lambda: 6 * 7)
    42
    """
    if threading.current_thread() is not threading.main_thread() or _in_joblib_context():
        return work()
    from sklearn import config_context, get_config

    settings, results, errors = get_config(), [], []

    def run() -> None:
        try:
            with config_context(**settings):
                results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LOOK_UP)
    if errors:
        raise errors[0]
    return results[0]


def _in_joblib_context() -> bool:
    """Has a joblib backend been configured? joblib reports it only in the thread in which it was configured."""
    from joblib.parallel import get_active_backend

    # Without a context, joblib returns 1, or None since version 1.3.
    return get_active_backend()[1] not in (1, None)
