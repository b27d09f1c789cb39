"""The form in which kernels run: as plain Python functions or compiled, with the same result."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from treewright.runtime.jit import compiled, is_compiled

# Returns the form in which a kernel is run: compiled or plain.
Run = Callable[[Callable[..., Any]], Any]


# Up to this effort, in cells of a table of two classes, growth by plain kernels takes about as long as importing Numba
# and its kernels. A process that has spent several times this effort changes to compiled kernels.
MAX_PLAIN_EFFORT = 1 << 11
MAX_PLAIN_EFFORT_IN_ALL = 1 << 15


_plain_effort_so_far = 0


def choose_form(effort: int, *, own_to_compile: bool = False) -> Run:
    """Choose the form in which kernels run, with the same result; TREEWRIGHT_COMPILE=1 or 0 forces one form.

    If a function of the user would have to be compiled first, a small table is grown by plain kernels even if the
    kernels are already compiled.
    """
    global _plain_effort_so_far
    forced = os.environ.get("TREEWRIGHT_COMPILE", "")
    in_all = _plain_effort_so_far + effort
    plain = effort <= MAX_PLAIN_EFFORT and in_all <= MAX_PLAIN_EFFORT_IN_ALL
    plain = plain and (own_to_compile or not is_compiled())
    if forced == "0" or (plain and forced != "1"):
        _plain_effort_so_far = in_all
        return run_plain
    return compiled


def run_plain(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as a Python function, with floating-point warnings disabled as in machine code."""

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return kernel(*arguments)

    return run


def choose_compiled_form() -> Run:
    """Choose the compiled form, which forests use, unless TREEWRIGHT_COMPILE=0 forces plain kernels."""
    return run_plain if os.environ.get("TREEWRIGHT_COMPILE", "") == "0" else compiled
