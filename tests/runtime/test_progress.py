"""Progress is shown where a person looks, and only when the work takes long; Ctrl-C stops at once."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from typing import Any

import pytest
from joblib import parallel_config

from interruption import interrupts_not_ignored
from treewright import RandomForestClassifier
from treewright.runtime import progress
from treewright.runtime.progress import follow, interruptible, is_wanted


class Log(io.StringIO):
    """A file whose reader waits until words are written there."""

    def __init__(self) -> None:
        super().__init__()
        self._written = threading.Condition()

    def write(self, text: str) -> int:
        with self._written:
            self._written.notify_all()
            return super().write(text)

    def wait_for(self, words: str) -> None:
        with self._written:
            assert self._written.wait_for(lambda: words in self.getvalue(), timeout=60)


class Screen(Log):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits two seconds in a test."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)


def test_a_script_is_silent_unless_asked() -> None:
    with redirect_stderr(io.StringIO()):
        assert not is_wanted(None)
        assert is_wanted(True)
        assert not is_wanted(False)


def test_a_terminal_shows_progress_unless_it_is_switched_off() -> None:
    with redirect_stderr(Screen()):
        assert is_wanted(None)
        assert not is_wanted(False)


def test_threads_leave_the_screen_to_the_main_thread() -> None:
    with redirect_stderr(Screen()), ThreadPoolExecutor(1) as pool:
        assert pool.submit(is_wanted, None).result() is False
        assert pool.submit(is_wanted, True).result() is True


def test_a_process_without_stderr_is_silent() -> None:
    with redirect_stderr(None):
        assert not is_wanted(None)


def test_a_notebook_is_distinguished_from_ipython_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        kernel = None

    class IPython:
        get_ipython = Shell

    monkeypatch.setitem(sys.modules, "IPython", IPython)  # type: ignore[arg-type]
    with redirect_stderr(io.StringIO()):
        assert not is_wanted(None)
        monkeypatch.setattr(Shell, "kernel", object())
        assert is_wanted(None)


def test_short_work_shows_nothing() -> None:
    with redirect_stderr(io.StringIO()) as log, follow("growing trees", 3, progress=True) as tick:
        tick(3)
    assert log.getvalue() == ""


@pytest.mark.usefixtures("impatient")
def test_long_work_is_reported_in_a_file_by_tenths() -> None:
    with redirect_stderr(Log()) as log, follow("growing trees", 100, progress=True) as tick:
        log.wait_for("0 of 100\n")
        for _ in range(100):
            tick(1)
    lines = log.getvalue().splitlines()
    assert lines[0] == "growing trees: 0 of 100"
    assert lines[-1] == "growing trees: 100 of 100"
    assert len(lines) == 11


@pytest.mark.usefixtures("impatient")
def test_long_work_is_shown_in_a_terminal_as_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stderr(Screen()) as screen, follow("growing trees", 4) as tick:
        tick(1)
        screen.wait_for("1/4")
        tick(3)
    assert "growing trees" in screen.getvalue()
    assert "1/4" in screen.getvalue()


def test_work_within_work_shows_one_bar() -> None:
    with redirect_stderr(io.StringIO()) as log:
        outer, inner = (progress.Counter(name, 2, wanted=True) for name in ("outer", "inner"))
        outer._open()
        inner._open()
        inner.close()
        outer.tick(1)
        outer.close()
    assert log.getvalue().splitlines() == ["outer: 0 of 2", "outer: 1 of 2"]
    assert not progress._screen.locked()


def test_ticks_of_many_threads_add_up() -> None:
    counter = progress.Counter("growing trees", 4000, wanted=False)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: counter.tick(1), range(4000)))
    assert counter.done == 4000


def test_threads_that_go_on_after_an_interruption_are_stopped_by_their_next_tick() -> None:
    def interrupted() -> Any:
        with follow("growing trees", 3) as tick:
            ticks.append(tick)
            raise KeyboardInterrupt

    ticks: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(KeyboardInterrupt):
        ticks[0](1)


@pytest.mark.parametrize("wrong", ["yes", 1, 0.5])
def test_anything_but_true_false_and_none_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"progress is .*; give True, False, or None"):
        RandomForestClassifier(progress=wrong).fit([[0], [1]], [0, 1])


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("verbose", "is_shown"), [(1, True), (2, True), (True, True), (0, False), (None, False)])
def test_verbose_is_progress_by_the_name_of_scikit_learn(verbose: Any, is_shown: bool) -> None:
    screen = io.StringIO()
    with redirect_stderr(screen):
        RandomForestClassifier(5, verbose=verbose).fit([[0], [1]] * 10, [0, 1] * 10)
    assert ("growing trees" in screen.getvalue()) == is_shown


def test_a_verbosity_is_a_number() -> None:
    with pytest.raises(ValueError, match=r"verbose is 'loud'; give a whole number"):
        RandomForestClassifier(verbose="loud").fit([[0], [1]], [0, 1])


def test_an_error_of_interruptible_work_arrives() -> None:
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


def test_interruptible_work_keeps_the_settings_of_scikit_learn() -> None:
    from sklearn import config_context, get_config

    with config_context(assume_finite=True):
        assert interruptible(lambda: get_config()["assume_finite"])


INTERRUPTED = """
import threading
from treewright.runtime.progress import follow, interruptible

def work():
    print("ready", flush=True)
    threading.Event().wait(60)

try:
    with follow("growing trees", 3):
        interruptible(work)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_stops_work_that_does_not_listen() -> None:
    with interrupts_not_ignored():
        process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert output == "stopped\n"


def test_work_is_left_to_another_thread_so_that_an_interrupt_need_not_wait_for_it():
    assert interruptible(threading.current_thread) is not threading.main_thread()


def test_work_stays_in_a_thread_that_joblib_was_given():
    with parallel_config(backend="threading", n_jobs=2):
        assert interruptible(threading.current_thread) is threading.main_thread()
