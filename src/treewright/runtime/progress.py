"""Progress of work that takes long, and work that Ctrl-C can stop."""

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
    """Tells that so many steps more are done, and perhaps how it goes."""

    def __call__(self, steps: int = 1, note: str = "") -> None: ...


# Work that is done before this many seconds shows nothing.
PATIENCE = 2.0

# How long the main thread waits before it looks for Ctrl-C again; on Windows a wait without end cannot be broken.
LOOK_UP = 0.2

# One bar at a time: two would write over each other.
_screen = threading.Lock()


class Display(Protocol):
    """Where progress is told."""

    def update(self, done: int, note: str = "") -> None: ...

    def close(self) -> None: ...


@contextmanager
def follow(what: str, total: int | None = None, progress: bool | None = None) -> Iterator[Tick]:
    """Tell how far the work of a `with` block is, if it takes more than two seconds.

    Parameters
    ----------
    what : str
        The work, as "growing trees".
    total : int or None, default=None
        How many steps it has; None if nobody knows.
    progress : bool or None, default=None
        None shows a bar in a terminal and in a notebook, and nothing in scripts, in workers and in threads; True
        shows it anywhere, False nowhere.

    Yields
    ------
    tick : function
        Call `tick(1)` when a step is done, from any thread. Once the block was left by an error or by Ctrl-C, it raises
        KeyboardInterrupt, so that threads which still work come to their end.

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
    """Whether to show progress here; None leaves it to the surroundings."""
    if progress is not None:
        return bool(progress)
    in_worker = multiprocessing.parent_process() is not None
    if in_worker or threading.current_thread() is not threading.main_thread():
        return False
    return is_terminal() or is_notebook()


def is_terminal() -> bool:
    """Whether a person may be looking at stderr."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):  # no stderr at all, or a closed one
        return False


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook; IPython in a terminal is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


class Counter:
    """Counts steps, and opens a display when the work turns out to take long."""

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
        """So many steps more are done; the note tells how it goes."""
        if self.is_stopped:
            raise KeyboardInterrupt
        with self._lock:
            self.done += steps
            self.note = note or self.note
            if self._display is not None:
                self._display.update(self.done, self.note)

    def close(self) -> None:
        """Nothing is shown from here on."""
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
    """A bar for a terminal or a notebook, lines for a file; None if somebody else draws on the screen."""
    if not (is_terminal() or is_notebook()):
        return Lines(what, total)
    try:
        return Bar(what, total)
    except Exception:  # of rich, where another live display is shown; a bar is never worth a failed fit
        return None


class Bar:
    """A bar that moves and disappears when the work is done."""

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
        told = f"{self._what} ({note})" if note else self._what
        self._progress.update(self._task, completed=done, description=told)

    def close(self) -> None:
        self._progress.stop()


class Lines:
    """For output that goes to a file: a line for each tenth of the work."""

    def __init__(self, what: str, total: int | None) -> None:
        self._what = what
        self._total = total
        self._tenths = -1

    def update(self, done: int, note: str = "") -> None:
        tenths = 0 if not self._total else 10 * done // self._total
        if tenths == self._tenths or sys.stderr is None:
            return
        self._tenths = tenths
        told = "..." if self._total is None else f": {done} of {self._total}"
        print(f"{self._what}{told}{f' ({note})' if note else ''}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Lines stay where they are."""


def interruptible(work: Callable[[], Result]) -> Result:
    """What `work` returns; Ctrl-C stops waiting for it at once.

    A thread that computes cannot be interrupted, so in the main thread the work is left to another one. After Ctrl-C
    that one goes on until its next `tick`, and what it found is thrown away; `work` must change nothing that stays.

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
    """Whether joblib was told how to run things; it tells only the thread that it was told in."""
    from joblib.parallel import get_active_backend

    # Without a context it tells 1, or None since version 1.3.
    return get_active_backend()[1] not in (1, None)
