"""A split criterion of the user: checks, compilation, and errors.

The function computes the impurity of a node. A classifier calls it with the array of the node's class weights, a
regressor with the weight, the mean and the variance of its targets.
"""

from __future__ import annotations

import ctypes
import inspect
import math
import threading
import types
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from treewright.engines.exact.layout import LINE
from treewright.runtime.user_functions import compile_callback, compile_error
from treewright.table.user_warnings import warn_user

# A formula like 1 - sum(p * p) has an error of a few units in the last place of numbers as large as the root's
# impurity.
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)

# Number of compiled functions that are kept. Each needs some kilobytes.
MOST_KEPT = 64

# A function that calls more than this many others belongs to a library that Numba could not compile anyway.
MOST_CALLEES = 32

_kept: dict[Any, Callback] = {}
# functions that Numba cannot compile, for which a warning was given
_uncompilable: weakref.WeakSet[Any] = weakref.WeakSet()
_lock = threading.Lock()


class RefusedError(Exception):
    """A criterion of the user did not return a finite number for these figures."""

    def __init__(self, figures: np.ndarray) -> None:
        super().__init__(figures)
        self.figures = figures


@dataclass(frozen=True)
class Callback:
    """Machine code that kernels can call by its address for the lifetime of this object."""

    address: int
    code: Any
    is_compiled: bool
    interrupts: list[BaseException] = field(default_factory=list)


@dataclass(frozen=True)
class OwnCriterion:
    """A function of the user that computes impurity: of class weights, or of weight, mean and variance."""

    function: Callable[..., Any]
    n_classes: int  # 0 for numbers

    @property
    def of_classes(self) -> bool:
        return self.n_classes > 0

    @property
    def n_figures(self) -> int:
        """Return the number of figures that describe a node."""
        return self.n_classes or 3

    @property
    def name(self) -> str:
        return name_of(self.function)

    def __call__(self, figures: np.ndarray, workspace: np.ndarray, impurities: np.ndarray, count: int) -> None:
        """Evaluate many sets of figures: the plain form of `jit.compile_callback`."""
        size = self.n_figures
        for place in range(count):
            given = figures[place * size : (place + 1) * size] if self.of_classes else figures[place::LINE][:size]
            impurities[place] = math.inf
            with suppress(Exception):
                impurity = float(self.evaluate(given.copy()))
                impurities[place] = impurity if math.isfinite(impurity) else math.inf
            if impurities[place] == math.inf:
                if workspace[size] == 0.0:
                    workspace[size + 1 :] = given
                workspace[size] = 1.0

    def evaluate(self, figures: np.ndarray) -> Any:
        """Call the function, and return its result without checks."""
        return self.function(figures) if self.of_classes else self.function(*figures)

    def measure_root(self, labels: np.ndarray | None, numbers: np.ndarray | None, weights: np.ndarray) -> float:
        """Compute the impurity of all rows; raises an error if the function fails there."""
        if labels is not None:
            figures = np.bincount(labels, weights, minlength=self.n_classes)
        else:
            assert numbers is not None
            mean = np.average(numbers, weights=weights)
            figures = np.array([weights.sum(), mean, np.average((numbers - mean) ** 2, weights=weights)])
        impurity = self._check_result(figures)
        if isinstance(impurity, str):
            raise ValueError(impurity)
        return impurity

    def error(self, figures: np.ndarray) -> BaseException:
        """Return the exception to raise after the function did not return a finite number for these figures."""
        if "callback" in self.__dict__ and self.callback.interrupts:
            return self.callback.interrupts[0]
        complaint = self._check_result(figures)
        if isinstance(complaint, str):
            return ValueError(complaint)
        if not self.callback.is_compiled:
            return KeyboardInterrupt()  # interrupted before it could return a result
        return ValueError(
            f"criterion {self.name!r} returns no finite number for {self._describe(figures)} when compiled by Numba, "
            f"and {complaint} in plain Python; it must return the same in both"
        )

    def _check_result(self, figures: np.ndarray) -> float | str:
        """Return the impurity by the function for these figures, or the error message if the result is not valid."""
        described, finite = self._describe(figures), "it must return a finite number for every node, pure ones too"
        try:
            with np.errstate(all="ignore"):
                result = self.evaluate(figures.copy())
        except Exception as problem:
            words = " ".join(str(problem).split())
            return f"criterion {self.name!r} raises {type(problem).__name__} ({words}) for {described}; {finite}"
        if not isinstance(result, Real):
            shown = " ".join(repr(result).split())
            shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
            return f"criterion {self.name!r} returns {shown} for {described}; it must return one number, the impurity"
        if not math.isfinite(result):
            return f"criterion {self.name!r} returns {float(result)} for {described}; {finite}"
        return float(result)

    def _describe(self, figures: np.ndarray) -> str:
        shown = [f"{figure:.6g}" for figure in figures[:10]]
        if not self.of_classes:
            return f"the weight {shown[0]}, mean {shown[1]} and variance {shown[2]}"
        return f"the class weights [{', '.join([*shown, '...'] if len(figures) > 10 else shown)}]"

    @property
    def is_ready(self) -> bool:
        """Is the function already compiled?"""
        return self._key in _kept

    @cached_property
    def callback(self) -> Callback:
        """Return the function for compiled kernels: compiled, or called as plain Python if Numba cannot compile it."""
        with _lock:
            if self._key in _kept:
                return _kept[self._key]
            if _is_uncompilable(self.function):
                return self._call_back()
            try:
                found = self._compile()
            except Exception as problem:
                self._warn_uncompiled(compile_error(problem))
                return self._call_back()
            if self._key is not None:
                _kept[self._key] = found
            if len(_kept) > MOST_KEPT:
                _kept.pop(next(iter(_kept)))
            return found

    @cached_property
    def _key(self) -> Any:
        """Return the key of the machine code, into which Numba writes the values that surround a function.

        None if there is no such key. The function is then compiled again each time.
        """
        try:
            key = (self.n_classes, *(surroundings_of(function) for function in functions_of(self.function)))
            hash(key)
        except (TypeError, ValueError):
            return None
        return key

    def _compile(self) -> Callback:
        if not isinstance(self.function, types.FunctionType) and not hasattr(self.function, "py_func"):
            raise TypeError(f"it is a {type(self.function).__name__}, and only functions can be compiled")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile_callback(functions_of(self.function), self.n_figures, line=0 if self.of_classes else LINE)
        return Callback(code.address, code, is_compiled=True)

    def _warn_uncompiled(self, reason: str) -> None:
        """Warn once that a function is slow, and why."""
        with suppress(TypeError):
            _uncompilable.add(self.function)
        warn_user(
            f"criterion {self.name!r} runs as plain Python, which is slow, because Numba cannot compile it: {reason}",
        )

    def _call_back(self) -> Callback:
        """Return the plain function at an address; it stores interrupts, because machine code cannot raise them."""
        interrupts: list[BaseException] = []

        def call(figures_at: int, workspace_at: int, impurities_at: int, count: int) -> None:
            size = self.n_figures
            workspace, impurities = _numbers_at(workspace_at, 2 * size + 1), _numbers_at(impurities_at, count)
            figures = _numbers_at(figures_at, count * size if self.of_classes else 2 * LINE + count)
            try:
                if interrupts:
                    raise interrupts[0]
                with np.errstate(all="ignore"):
                    self(figures, workspace, impurities, count)
            except BaseException as interrupt:
                interrupts.append(interrupt)
                workspace[size] = 1.0
                impurities[:] = math.inf

        place = ctypes.c_void_p
        code = ctypes.CFUNCTYPE(None, place, place, place, ctypes.c_int64)(call)
        address = ctypes.cast(code, ctypes.c_void_p).value
        assert address is not None
        return Callback(address, code, is_compiled=False, interrupts=interrupts)


def _numbers_at(address: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address))


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function in messages and trees.

    >>> name_of(abs)
    'abs'
    """
    return str(getattr(function, "__name__", type(function).__name__))


def takes(function: Callable[..., Any], n_arguments: int) -> bool:
    """Can a function be called with so many arguments? True for built-in functions whose signature is unknown.

    >>> takes(lambda weight, mean, variance: variance, 3), takes(lambda weights: 0.0, 3)
    (True, False)
    """
    try:
        signature = inspect.signature(function)
    except ValueError:
        return True
    try:
        signature.bind(*range(n_arguments))
    except TypeError:
        return False
    return True


def _is_uncompilable(function: Any) -> bool:
    try:
        return function in _uncompilable
    except TypeError:
        return False  # an object that cannot be remembered


def functions_of(function: Any) -> list[Any]:
    """Return a function and all plain functions that it may call by a global or an enclosing name, recursively.

    >>> def share(weight, total): return weight / total
    >>> def largest(weights): return share(max(weights), sum(weights))
    >>> [each.__name__ for each in functions_of(largest)]
    ['largest', 'share']
    """
    found = [function]
    for each in found:  # the list grows during the iteration
        if len(found) > MOST_CALLEES:
            raise ValueError(f"it calls more than {MOST_CALLEES} functions")
        if isinstance(each, types.FunctionType):
            named = [*_globals_of(each).values(), *_enclosed_by(each)]
            found += [value for value in named if isinstance(value, types.FunctionType) and value not in found]
    return found


def surroundings_of(function: Any) -> tuple[Any, ...]:
    """Return the code of a function and the values that surround it, in a form that can be compared."""
    if not isinstance(function, types.FunctionType):
        return (function,)
    around = _globals_of(function)
    names = _names_in(function.__code__)
    # Of a module only plain values, like math.pi, are written into machine code.
    of_modules = [vars(value).get(name) for value in around.values() if inspect.ismodule(value) for name in names]
    constants = [
        value for value in of_modules if isinstance(value, bool | int | float | tuple | np.generic | np.ndarray)
    ]
    given = [function.__defaults__, *(function.__kwdefaults__ or {}).items()]
    values = [*around.items(), *constants, *_enclosed_by(function), *given]
    return function.__code__, *(_comparable(value) for value in values)


def _comparable(value: Any) -> Any:
    """Return a value with its type, because 1 equals 1.0 and True; an array as its bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(_comparable(item) for item in value)
    return type(value), value


def _globals_of(function: types.FunctionType) -> dict[str, Any]:
    """Return the global values that a function uses."""
    scope = function.__globals__
    return {name: scope[name] for name in _names_in(function.__code__) if name in scope}


def _enclosed_by(function: types.FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _names_in(code: types.CodeType) -> list[str]:
    """List the names of globals and attributes in some code, and in the comprehensions and lambdas within it."""
    inner = [
        name for constant in code.co_consts if isinstance(constant, types.CodeType) for name in _names_in(constant)
    ]
    return [*code.co_names, *inner]
