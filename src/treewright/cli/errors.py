"""What goes wrong, told in one sentence on standard error, and the exit code that belongs to it."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

UNEXPECTED, MISTAKE, INTERRUPTED = 1, 2, 130

# The library's own checks raise these, with a sentence for the user.
_REFUSALS = (ValueError, TypeError, OSError, ImportError)

# What the user calls the parameters of the learners.
OPTION_OF = {
    "n_estimators": "--trees",
    "max_depth": "--max-depth",
    "min_samples_leaf": "--min-leaf",
    "criterion": "--criterion",
    "prune": "--prune",
    "missing": "--missing",
    "categorical_features": "--categorical",
    "numeric_features": "--numeric",
    "task": "--task",
}


class Mistake(Exception):
    """Something that the user can put right; its text is one sentence that says how."""


class Interrupted(Exception):
    """The user pressed Ctrl-C."""


@contextmanager
def refusals_as_mistakes() -> Iterator[None]:
    """Where the library checks what the user gave: what it refuses is a mistake, not a failure.

    >>> with refusals_as_mistakes():
    ...     raise ValueError("max_depth is -1; give a whole number")
    Traceback (most recent call last):
        ...
    treewright.cli.errors.Mistake: --max-depth is -1; give a whole number
    """
    try:
        yield
    except _REFUSALS as error:
        raise Mistake(_in_options(one_line(error))) from error


def _in_options(sentence: str) -> str:
    """A sentence about parameters in terms of options; names in quotes are the user's own."""
    for parameter, option in OPTION_OF.items():
        sentence = re.sub(rf"(?<!['\w]){parameter}(?!['\w])", option, sentence)
    return sentence


def one_line(error: Exception) -> str:
    """The message of an error without line breaks; an error of the system with the file it is about."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def choose(what: str, given: str, known: Iterable[str]) -> str:
    """The name that was given if there is such a name, else a mistake that offers the nearest ones.

    >>> choose("model", "c54", ["c45", "cart"])
    Traceback (most recent call last):
        ...
    treewright.cli.errors.Mistake: there is no model 'c54'; did you mean 'c45'?
    """
    names = list(known)
    if given in names:
        return given
    by_small_letters = {name.lower(): name for name in reversed(names)}
    near = [by_small_letters[name] for name in get_close_matches(given.lower(), by_small_letters)]
    if near:
        raise Mistake(f"there is no {what} {given!r}; did you mean {' or '.join(map(repr, near))}?")
    shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    raise Mistake(f"there is no {what} {given!r}; there are {shown}")


def exit_code_of(run: Callable[[], Any], *, with_traceback: bool) -> int:
    """Run a command, tell what goes wrong, and give the exit code."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _tell_warning
            code = run()
    except Interrupted:
        tell("interrupted")
        return INTERRUPTED
    except Exception as error:
        if with_traceback:
            traceback.print_exc()
        return _tell_error(error, with_traceback=with_traceback)
    return code if isinstance(code, int) else 0


def tell(sentence: str) -> None:
    print(f"treewright: {sentence}", file=sys.stderr)


def wants_traceback(words: list[str]) -> bool:
    """Whether the user asked for the traceback of an error, on the command line or in the environment."""
    return "--debug" in words or os.environ.get("TREEWRIGHT_DEBUG", "") not in ("", "0")


def _tell_error(error: Exception, *, with_traceback: bool) -> int:
    if isinstance(error, Mistake):
        tell(str(error))
        return MISTAKE
    # Known by its method: newer typer carries its own copy of click, so the class has no one home.
    if hasattr(error, "format_message"):
        tell(_usage_sentence(error))
        return MISTAKE
    advice = "" if with_traceback else "; --debug shows where"
    tell(f"unexpected {type(error).__name__}: {one_line(error)}{advice}")
    return UNEXPECTED


def _usage_sentence(error: Any) -> str:
    """What is wrong with the command line, and which help to look at."""
    message = one_line(ValueError(error.format_message())).rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{message[:1].lower()}{message[1:]}; see '{context.command_path} --help'"


def _tell_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    tell(f"note: {' '.join(str(message).split())}")
