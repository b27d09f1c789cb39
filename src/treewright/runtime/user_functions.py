"""Compilation of functions that users write: their criteria and losses. It needs Numba."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treewright.runtime.jit import import_numba, is_form_of


def compile_error(problem: Exception) -> str:
    """Return Numba's message about a function that it cannot compile in one line: the cause, not the compiler step.

    >>> compile_error(ValueError("Failed in nopython mode (step: types)\\nNo such function <f at 0x7f12> for:\\nmore"))
    'No such function <f> for'
    """
    plain = re.sub(r"\x1b\[[0-9;]*m| at 0x[0-9a-f]+", "", str(problem))
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    around = ("Failed in", "During:", "File ", "This error", "^")
    message = next((line for line in lines if line and not line.startswith(around)), type(problem).__name__).rstrip(":")
    return message if len(message) <= 200 else f"{message[:197]}..."


def compile_row_loop(function: Callable[..., Any]) -> Any:
    """Compile a loop that writes, for each row, the two numbers that a user's function of two numbers returns."""
    numba = import_numba("compiling it")

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    of_row = numba.njit(**options)(function) if isinstance(function, types.FunctionType) else function

    def drive(first: Any, second: Any, first_out: Any, second_out: Any) -> None:
        for i in range(np.uint64(len(first))):
            one, other = of_row(first[i], second[i])
            first_out[i] = one
            second_out[i] = other

    return numba.njit(**options)(drive)


def compile_callback(functions: Sequence[Any], n_figures: int, line: int = 0) -> Any:
    """Compile the first of a user's functions for `impurity.call_own`, with the others that it calls.

    It receives a copy of each set of `n_figures`, as an array, or as three numbers that are `line` entries apart. If it
    raises an exception or does not return a finite number, the result is infinite. The second half of `workspace` then
    contains a 1 and the figures. Its indices are checked, so that no error of a user can write outside of an array.
    """
    numba = import_numba("compiling it")

    function, array_of = _compile_together(functions), numba.carray
    step, apart = (1, line) if line else (n_figures, 1)

    def call_with_array(figures: Any, workspace: Any, place: Any) -> Any:
        for k in range(n_figures):
            workspace[k] = figures[place * n_figures + k]
        return float(function(array_of(workspace, (n_figures,))))

    def call_with_numbers(figures: Any, workspace: Any, place: Any) -> Any:
        return float(function(figures[place], figures[place + line], figures[place + 2 * line]))

    call = numba.njit(call_with_numbers if line else call_with_array)

    def call_all(figures: Any, workspace: Any, results: Any, count: Any) -> Any:
        """Are all results finite? The loop catches no exceptions, which makes it fast."""
        doubt = 0.0
        for place in range(count):
            results[place] = call(figures, workspace, place)
            doubt += 0.0 * results[place]
        return doubt == 0.0

    call_fast = numba.njit(call_all)

    def evaluate(figures: Any, workspace: Any, results: Any, count: Any) -> None:
        try:
            if call_fast(figures, workspace, results, count):
                return
        except Exception:
            pass
        for place in range(count):
            results[place] = np.inf
            try:
                results[place] = call(figures, workspace, place)
            except Exception:
                pass
            if not np.isfinite(results[place]):
                results[place] = np.inf
                if workspace[n_figures] == 0.0:
                    for k in range(n_figures):
                        workspace[n_figures + 1 + k] = figures[place * step + k * apart]
                workspace[n_figures] = 1.0

    pointer = numba.types.CPointer(numba.types.float64)
    return numba.cfunc(numba.types.void(pointer, pointer, pointer, numba.types.int64))(evaluate)


def _compile_together(functions: Sequence[Any]) -> Any:
    """Return the first of these functions for Numba; the names of the others in it refer to their compiled forms."""
    numba = import_numba("compiling it")

    forms: dict[Callable[..., Any], Any] = {}
    for function in functions:
        if not isinstance(function, types.FunctionType):
            return function  # already compiled
        cells = tuple(types.CellType(cell.cell_contents) for cell in function.__closure__ or ())
        scope = dict(function.__globals__)
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__ = function.__kwdefaults__
        forms[function] = numba.njit(nogil=True, error_model="numpy", boundscheck=True)(copy)
    for form in forms.values():
        scope, cells = form.py_func.__globals__, form.py_func.__closure__ or ()
        scope.update({name: forms[value] for name, value in scope.items() if is_form_of(value, forms)})
        for cell in cells:
            if is_form_of(cell.cell_contents, forms):
                cell.cell_contents = forms[cell.cell_contents]
    return forms[functions[0]]
