"""Callbacks of scikit-learn 1.9 and later, which follow a fit: progress, scores after each round, early stopping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

# Attributes that a fitted learner needs to predict, computed when a callback asks for them.
Attributes = Callable[[], dict[str, Any]]

# A function of the number of the round, the model so far, and an empty dict, as scikit-learn calls it.
Monitor = Callable[[int, Any, dict[str, Any]], Any]


class TakesCallbacks:
    """A learner whose trees callbacks follow one after the other."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set callbacks of scikit-learn, such as `sklearn.callback.ProgressBar()`; none removes them.

        A callback is called after each tree of a forest and each round of boosting. If it returns True, the fit ends
        with the trees so far.
        """
        support, _ = _support()
        support.set_callbacks(self, *callbacks)
        return self


class Steps:
    """The steps of a fit, as callbacks see them."""

    def __init__(self, learner: Any, context: Any, data: dict[str, Any], name: str) -> None:
        self._learner, self._context, self._data, self._name = learner, context, data, name
        self._number = 0
        self._step: Any = None

    def begin(self) -> None:
        """Announce the next step."""
        self._step = self._context.subcontext(task_name=f"{self._name} {self._number}")
        self._step.call_on_fit_task_begin(estimator=self._learner, **self._data)
        self._number += 1

    def end(self, attributes: Attributes) -> bool:
        """Announce the end of the step; returns whether a callback asks to stop."""
        return bool(
            self._step.call_on_fit_task_end(estimator=self._learner, reconstruction_attributes=attributes, **self._data)
        )


class MonitoredSteps:
    """The steps of a fit that a function of the user monitors, beside callbacks."""

    def __init__(self, learner: Any, monitor: Monitor, steps: Steps | None) -> None:
        self._learner, self._monitor, self._steps = learner, monitor, steps
        self._number = 0

    def begin(self) -> None:
        """Announce the next step."""
        if self._steps is not None:
            self._steps.begin()

    def end(self, attributes: Attributes) -> bool:
        """Call the function with the number of the step and the model so far; returns whether to stop."""
        should_stop = self._steps is not None and self._steps.end(attributes)
        model = copy(self._learner)
        model.__dict__.update(attributes())
        number, self._number = self._number, self._number + 1
        return bool(self._monitor(number, model, {})) or should_stop


@contextmanager
def followed(learner: Any, X: Any, y: Any, sample_weight: Any, *, name: str) -> Iterator[Steps | None]:
    """A fit that callbacks follow; None if the learner has no callbacks."""
    if not {"_skl_callbacks", "_parent_callback_ctx"} & set(vars(learner)):
        yield None
        return
    support, managed = _support()
    data = {"X": X, "y": y, "metadata": {} if sample_weight is None else {"sample_weight": sample_weight}}
    with managed(learner):
        # How many steps there will be is not known before the table is read.
        context = support._init_callback_context(learner, max_subtasks=None)
        context.call_on_fit_task_begin(estimator=learner, **data)
        yield Steps(learner, context, data, name)
        context.call_on_fit_task_end(estimator=learner, reconstruction_attributes=dict, **data)


def _support() -> tuple[Any, Any]:
    try:
        from sklearn.callback import CallbackSupportMixin
        from sklearn.callback._callback_support import callback_management_context
    except ImportError:
        raise ImportError("callbacks need scikit-learn 1.9 or later; update it, or use progress=True") from None
    return CallbackSupportMixin, callback_management_context
