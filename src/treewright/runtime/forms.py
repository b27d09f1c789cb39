"""The form in which kernels run: as machine code or as plain Python functions, with the same result."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

# Returns the form in which a kernel is run: compiled or plain.
Run = Callable[[Callable[..., Any]], Any]

# The values of TREEWRIGHT_FORM: plain functions; machine code, shipped or by Numba; only what was shipped; only Numba.
FORMS = ("", "plain", "compiled", "library", "jit")

# If Numba has to compile, growth by plain kernels up to this effort, in cells of a table of two classes, takes about as
# long as importing Numba and its kernels. A process that has spent several times this effort changes to compiled
# kernels.
MAX_PLAIN_EFFORT = 1 << 11
MAX_PLAIN_EFFORT_IN_ALL = 1 << 15


_plain_effort_so_far = 0
_lock = threading.Lock()


def choose_form(effort: int, *, own_to_compile: bool = False) -> Run:
    """Choose the form in which kernels run, with the same result; TREEWRIGHT_FORM forces one.

    Small tables are grown by plain kernels if the compiled ones would have to wait for Numba: because no machine code
    was shipped, or because a function of the user would have to be compiled first.
    """
    global _plain_effort_so_far
    forced = forced_form()
    in_all = _plain_effort_so_far + effort
    plain = effort <= MAX_PLAIN_EFFORT and in_all <= MAX_PLAIN_EFFORT_IN_ALL
    plain = plain and (own_to_compile or not is_at_hand())
    if forced == "plain" or (plain and not forced) or (own_to_compile and is_jit_disabled()):
        _plain_effort_so_far = in_all
        return run_plain
    return compiled


def choose_compiled_form() -> Run:
    """Choose the compiled form, which forests use, unless TREEWRIGHT_FORM forces plain kernels."""
    return run_plain if forced_form() == "plain" else compiled


def is_jit_disabled() -> bool:
    """Has the user disabled compilation by Numba, with NUMBA_DISABLE_JIT=1?"""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def forced_form() -> str:
    """Return the form that TREEWRIGHT_FORM demands, an empty string if it demands none."""
    forced = os.environ.get("TREEWRIGHT_FORM", "")
    if forced not in FORMS:
        raise ValueError(f"TREEWRIGHT_FORM is {forced!r}; it must be one of {', '.join(FORMS[1:])}, or not set")
    return forced


def run_plain(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as a Python function, with floating-point warnings disabled as in machine code."""

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return kernel(*arguments)

    return run


class PlainKernels(dict[Callable[..., Any], Any]):
    """Kernels that are not compiled, although the compiled form was asked for."""

    def __missing__(self, function: Callable[..., Any]) -> Any:
        return run_plain(function)


def compiled(function: Callable[..., Any]) -> Any:
    """Return the compiled form of an entry kernel."""
    forced = forced_form()
    with _lock:  # one thread loads or compiles, and the others wait for it
        return _machine_code(forced)[function]


def is_at_hand() -> bool:
    """Is there compiled code that need not be compiled first?"""
    forced = forced_form()
    return _machine_code.cache_info().currsize > 0 or (forced != "jit" and _library() is not None)


def _library() -> Any:
    try:
        from treewright.runtime.library import load
    except ImportError:  # a Python without ctypes
        return None
    return load()


@cache
def _machine_code(forced: str) -> Mapping[Callable[..., Any], Any]:
    """Return the machine code of all entries: that of the library, or Numba's."""
    if forced != "jit":
        found = _library()
        if found is not None:
            return found
        if forced == "library":
            from treewright.runtime.library import DIRECTORY, open_library

            return open_library(DIRECTORY)  # raises the reason
    if is_jit_disabled():
        return PlainKernels()
    from treewright.runtime.jit import compile_all

    return compile_all()
