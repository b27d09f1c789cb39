"""Errors of the command line: one sentence on standard error, and an exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from shlex import quote
from typing import Any

UNEXPECTED, USER_ERROR, INTERRUPTED = 1, 2, 130

# The checks of the library raise these, with a sentence for the user.
_LIBRARY_ERRORS = (ValueError, TypeError, OSError, ImportError)

# The option of each parameter of the learners.
OPTION_OF = {
    "n_estimators": "--trees",
    "max_depth": "--max-depth",
    "min_samples_leaf": "--min-leaf",
    "criterion": "--criterion",
    "prune": "--prune",
    "ccp_alpha": "--alpha",
    "confidence": "--confidence",
    "missing": "--missing",
    "categorical_features": "--categorical",
    "numeric_features": "--numeric",
    "task": "--task",
}

# The option of each parameter of `read_table`, which messages write as parameter='value'.
READING_OPTION_OF = {
    "sep": "--sep",
    "encoding": "--encoding",
    "decimal": "--decimal",
    "dates": "--dates",
    "sheet": "--sheet",
    "text": "--categorical",
    "na_values": "--na",
}


class UserError(Exception):
    """An error that the user can correct; its text is one sentence that explains how."""


class Interrupted(Exception):
    """The user pressed Ctrl-C."""


@contextmanager
def as_user_errors() -> Iterator[None]:
    """Turn errors of the library's checks into errors of the user, with options for parameters.

    >>> with as_user_errors():
    ...     raise ValueError("max_depth is -1; give a whole number")
    Traceback (most recent call last):
        ...
    treewright.cli.errors.UserError: --max-depth is -1; give a whole number
    """
    try:
        yield
    except _LIBRARY_ERRORS as error:
        raise UserError(_in_options(one_line(error))) from error


def _in_options(sentence: str) -> str:
    """A sentence with options instead of parameters; names in quotes are the user's and stay."""
    for parameter, option in OPTION_OF.items():
        # Values can be missing, too.
        after = r"(?= is |=)" if parameter == "missing" else r"(?!['\w])"
        sentence = re.sub(rf"(?<!['\w]){parameter}{after}", option, sentence)
    sentence = sentence.replace("keep the column as text=", "keep it as categories with text=")
    reading = rf"(?<!['\w])({'|'.join(READING_OPTION_OF)})='([^']*)'"
    return re.sub(reading, lambda found: f"{READING_OPTION_OF[found[1]]} {quote(found[2])}", sentence)


def one_line(error: Exception) -> str:
    """The message of an error without line breaks; an error of the system with its file."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def choose(what: str, given: str, known: Iterable[str]) -> str:
    """The given name if it is known, else an error that suggests the nearest ones.

    >>> choose("model", "c54", ["c45", "cart"])
    Traceback (most recent call last):
        ...
    treewright.cli.errors.UserError: there is no model 'c54'; did you mean 'c45'?
    """
    names = list(known)
    if given in names:
        return given
    by_small_letters = {name.lower(): name for name in reversed(names)}
    near = [by_small_letters[name] for name in get_close_matches(given.lower(), by_small_letters)]
    if near:
        raise UserError(f"there is no {what} {given!r}; did you mean {' or '.join(map(repr, near))}?")
    shown = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    raise UserError(f"there is no {what} {given!r}; there are {shown}")


def exit_code_of(run: Callable[[], Any], *, with_traceback: bool) -> int:
    """Run a command, print its error if there is one, and return the exit code."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            code = run()
    except Interrupted:
        print_message("interrupted")
        return INTERRUPTED
    except Exception as error:
        if with_traceback:
            traceback.print_exc()
        return _print_error(error, with_traceback=with_traceback)
    return code if isinstance(code, int) else 0


def print_message(sentence: str) -> None:
    """Print a sentence on standard error."""
    print(f"treewright: {sentence}", file=sys.stderr)


def wants_traceback(words: list[str]) -> bool:
    """Whether the traceback of an error is to be shown, by option or environment variable."""
    return "--debug" in words or os.environ.get("TREEWRIGHT_DEBUG", "") not in ("", "0")


def _print_error(error: Exception, *, with_traceback: bool) -> int:
    if isinstance(error, UserError):
        print_message(str(error))
        return USER_ERROR
    # Recognised by its method: newer typer has its own copy of click, so there are two classes.
    if hasattr(error, "format_message"):
        print_message(_usage_sentence(error))
        return USER_ERROR
    advice = "" if with_traceback else "; --debug shows where"
    print_message(f"unexpected {type(error).__name__}: {one_line(error)}{advice}")
    return UNEXPECTED


def _usage_sentence(error: Any) -> str:
    """The error of the command line, and the command that prints help."""
    message = one_line(ValueError(error.format_message())).rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{message[:1].lower()}{message[1:]}; see '{context.command_path} --help'"


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print_message(f"note: {_in_options(' '.join(str(message).split()))}")
