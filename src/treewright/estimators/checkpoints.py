"""Checkpoints: the state of a fit in a model file, from which a later fit goes on after a crash.

A checkpoint is the model with the trees so far, and in `checkpoint_` what the rest of the fit needs. It belongs to one
learner with its parameters, one version of treewright and one table; a fit of anything else refuses it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from treewright.estimators.parameters import is_whole, parameter_error

# Parameters that the model does not depend on. `random_state` is compared by the seed that is drawn from it.
_WITHOUT_INFLUENCE = (
    *("checkpoint", "checkpoint_every", "keep_on_interrupt", "random_state"),
    *("n_jobs", "progress", "verbose"),
)

# What a checkpoint must have in common with the fit that goes on with it, and how an error names it.
_IDENTITY = {
    "learner": "another learner",
    "version": "another version of treewright",
    "parameters": "other parameters",
    "data": "other training data",
    "validation": "other validation rows or initial scores",
}

# The attribute of a partial model with the state of its fit.
STATE = "checkpoint_"


class Checkpoint:
    """The file of one fit; `found` is the partial model in it, None if there is no file yet."""

    def __init__(self, learner: Any, identity: dict[str, str]) -> None:
        self.learner, self.path, self.every = learner, Path(learner.checkpoint), int(learner.checkpoint_every)
        self.identity = identity
        self.found = self._read() if self.path.exists() else None

    @property
    def state(self) -> dict[str, Any]:
        """What the partial model says about the rest of its fit."""
        state: dict[str, Any] = getattr(self.found, STATE)
        return state

    def seed(self, drawn: int) -> int:
        """The seed of the whole fit; without a `random_state` that of the checkpoint."""
        if self.found is None:
            return drawn
        seed = self.state["seed"]
        if self.learner.random_state is not None and seed != drawn:
            raise self.refusal("another random_state")
        return int(seed)

    def unfitted(self) -> Any:
        """A learner with the same parameters, for the model so far; a generator cannot be part of a file."""
        parameters = self.learner.get_params(deep=False)
        if not is_whole(parameters["random_state"], 0):
            parameters["random_state"] = None
        return type(self.learner)(**parameters)

    def write(self, partial: Any, state: dict[str, Any]) -> None:
        """Replace the file by the model so far."""
        from treewright.ship.model_file import save

        setattr(partial, STATE, {"identity": self.identity, **state})
        save(partial, self.path)

    def refusal(self, what: str) -> ValueError:
        return ValueError(f"the checkpoint {str(self.path)!r} is of {what}; remove the file, or give another path")

    def _read(self) -> Any:
        from treewright.ship.layout import ModelFileError
        from treewright.ship.model_file import load

        try:
            found = load(self.path)
        except ModelFileError as error:
            raise ModelFileError(f"the checkpoint {str(self.path)!r}: {error}") from None
        state = getattr(found, STATE, None)
        if not isinstance(state, dict) or not isinstance(state.get("identity"), dict):
            raise ValueError(f"the file {str(self.path)!r} is a model and no checkpoint; give another path")
        for name, what in _IDENTITY.items():
            if state["identity"].get(name) != self.identity[name]:
                raise self.refusal(what)
        return found


def open_checkpoint(
    learner: Any, data_digest: str, *, has_callbacks: bool, more: Sequence[np.ndarray | None] = ()
) -> Checkpoint | None:
    """The checkpoint of a fit, None without the parameter; `more` are arrays that the fit depends on besides its data.

    All refusals come here, before any tree is grown.
    """
    given = learner.checkpoint
    if given is None:
        return None
    if not isinstance(given, str | os.PathLike):
        raise parameter_error("checkpoint", given, "the path of a file, or None")
    if not is_whole(learner.checkpoint_every, 1):
        raise parameter_error("checkpoint_every", learner.checkpoint_every, "a whole number of 1 or more")
    if learner.warm_start:
        raise ValueError("checkpoint goes on with a fit that broke off, warm_start adds to a model; use one of them")
    if has_callbacks:
        raise ValueError("a fit with callbacks cannot be resumed; leave out checkpoint, or the callbacks")
    if not Path(given).parent.is_dir():
        raise ValueError(f"the directory of the checkpoint {str(given)!r} does not exist")
    return Checkpoint(learner, _identity(learner, data_digest, more))


def _identity(learner: Any, data_digest: str, more: Sequence[np.ndarray | None]) -> dict[str, str]:
    from treewright.ship.values import digest_of_value

    parameters = learner.get_params(deep=False)
    compared = {name: value for name, value in sorted(parameters.items()) if name not in _WITHOUT_INFLUENCE}
    return {
        "learner": type(learner).__name__,
        "version": version("treewright"),
        "parameters": digest_of_value(compared),
        "data": data_digest,
        "validation": digest_of_value(list(more)),
    }
