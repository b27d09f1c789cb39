"""A loss of the user, compiled."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from treewright.engines.boosting.losses import LEAST_HESSIAN
from treewright.runtime.forms import choose_compiled_form, run_plain
from treewright.runtime.user_functions import compile_error, compile_row_loop
from treewright.table.user_warnings import warn_user

NOT_A_PAIR = "the loss must return a pair: gradient and hessian, each with one number per row"

# One thread compiles, and the others wait for it.
_lock = threading.Lock()


def check_derivatives(gradients: np.ndarray, hessians: np.ndarray) -> None:
    """Raise an error for gradients and hessians that boosting cannot use; hessians of 0 become very small."""
    if not (np.isfinite(gradients).all() and np.isfinite(hessians).all()):
        raise ValueError("the loss returned a gradient or hessian that is not finite; check it for these targets")
    if hessians.size and (hessians.min() < 0.0 or hessians.max() == 0.0):
        raise ValueError("the loss returned a hessian that is negative, or 0 for all rows; 1.0 is a usual choice")
    np.maximum(hessians, LEAST_HESSIAN, out=hessians)


class OwnFunction:
    """A function of prediction and target that returns gradient and hessian.

    It is compiled for one row at a time, so that it is as fast as the built-in losses. A function that cannot be
    compiled is called with whole columns.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._driver: Any = None
        self._tried = False

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "_driver": None, "_tried": False}

    def fill(self, predictions: np.ndarray, targets: np.ndarray, gradients: np.ndarray, hessians: np.ndarray) -> None:
        """Write the gradients and hessians of some rows, or of all rows if the function is not compiled."""
        if self.is_compiled:
            self._driver(predictions, targets, gradients, hessians)
        else:
            self._call(predictions, targets, gradients, hessians)

    @property
    def is_compiled(self) -> bool:
        """Has the function been compiled? The first call tries it."""
        with _lock:
            if not self._tried:
                self._driver = self._compile()
                self._tried = True
        return self._driver is not None

    def _call(self, predictions: np.ndarray, targets: np.ndarray, gradients: np.ndarray, hessians: np.ndarray) -> None:
        found = self.function(predictions, targets)
        try:
            gradients[:], hessians[:] = found
        except (TypeError, ValueError):
            raise ValueError(NOT_A_PAIR) from None

    def _compile(self) -> Any:
        """Return the compiled loop over rows, or None if the function has to be called as plain Python."""
        if choose_compiled_form() is run_plain:
            return None
        try:
            drive = compile_row_loop(self.function)
            empty = np.empty(0)
            drive(empty, empty, empty, empty)
        except Exception as error:
            is_plain = isinstance(self.function, types.FunctionType)
            reason = compile_error(error) if is_plain else f"it is a {type(self.function).__name__}, not a function"
            self._check_pair(reason)
            warn_user(
                f"the loss is called as plain Python, because Numba cannot compile it for one row: {reason}",
            )
            return None
        return drive

    def _check_pair(self, reason: str) -> None:
        """Raise an error if the function fails or returns no pair, so that this is not reported as a compile error."""
        try:
            found = self.function(np.zeros(2), np.zeros(2))
        except Exception as error:
            words = " ".join(str(error).split())
            raise ValueError(
                f"the loss raises {type(error).__name__} ({words}) for whole columns of predictions and targets, "
                f"and Numba cannot compile it for one row: {reason}"
            ) from None
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise ValueError(NOT_A_PAIR)
