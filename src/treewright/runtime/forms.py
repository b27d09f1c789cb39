"""The form in which kernels run: as plain Python functions or compiled, with the same result."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from treewright.runtime.jit import compiled, is_compiled

# Gives the form of a kernel that is to be run: the compiled or the plain one.
Run = Callable[[Callable[..., Any]], Any]


# Growing a table by the plain kernels takes about as long as importing Numba and its kernels up to this much effort, in
# cells of a table of two classes. A process that has spent several times that goes over to compiled kernels.
MAX_PLAIN_EFFORT = 1 << 11
MAX_PLAIN_EFFORT_IN_ALL = 1 << 15


_plain_effort_so_far = 0


def choose_form(effort: int, *, own_to_compile: bool = False) -> Run:
    """The form in which to run kernels. The result is the same; TREEWRIGHT_COMPILE=1 or 0 forces one of them.

    Where a function of the user's would have to be compiled first, a small table is grown by plain kernels even if the
    kernels are compiled already.
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
    """A kernel as the Python function it is, with the silent arithmetic of machine code."""

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return kernel(*arguments)

    return run


def choose_compiled_form() -> Run:
    """Forests run compiled, except where plain kernels are asked for by TREEWRIGHT_COMPILE=0."""
    return run_plain if os.environ.get("TREEWRIGHT_COMPILE", "") == "0" else compiled
