"""Checkpoints of gradient boosting: the rounds so far, and the choices made before the first round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treewright.engines.packed.trees import GrownTrees
from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.shapes import shape_of, take_shape
from treewright.estimators.checkpoints import Checkpoint
from treewright.tree.forest import Forest

# The number of rounds, the plan, and the validation losses by which they were chosen.
Choice = tuple[int, BoostPlan, np.ndarray]


@dataclass(eq=False)
class ResumedRounds:
    """Writes the rounds of boosting to a checkpoint, and reads those that it already has.

    Where validation compares several tree shapes, each of them is boosted; `tries` has the trees of each.
    """

    checkpoint: Checkpoint
    keep: Callable[..., Any]  # sets the attributes of a learner that prediction needs
    # Builds the forests of grown trees, if those that `keep` sets are not in the units of the rounds.
    build: Callable[[BoostPlan, list[list[GrownTrees]]], list[Forest]] | None = None
    choice: Choice | None = None
    initial: np.ndarray = field(default_factory=lambda: np.empty(0))
    tries: list[list[Forest]] = field(default_factory=list)

    def recall_choice(self, plan: BoostPlan, learner: Any) -> Choice | None:
        """The choice that the checkpoint has, None if there is no file yet."""
        if self.checkpoint.found is None:
            return None
        state = self.checkpoint.state
        chosen = replace(take_shape(plan, state["shape"], learner), least_fall=float(state["least_fall"]))
        return int(state["n_rounds"]), chosen, np.asarray(state["curves"])

    def begin(self, plan: BoostPlan) -> list[list[GrownTrees]]:
        """Begin boosting with a plan; returns the trees of each round that the checkpoint has of it."""
        self.tries.append([])
        known = [] if self.checkpoint.found is None else self.checkpoint.state["tries"]
        if len(known) < len(self.tries):
            return []
        forests = known[len(self.tries) - 1]
        if len(forests) != plan.loss.n_outputs or not all(_fits(forest, plan) for forest in forests):
            raise self.checkpoint.refusal("other trees than its parameters say")
        by_output = [forest.parts() for forest in forests]
        return [list(parts) for parts in zip(*by_output, strict=True)]

    def end_round(self, plan: BoostPlan, grown: list[list[GrownTrees]], *, is_last: bool = False) -> None:
        """Write the checkpoint, if it is time or if no round follows."""
        if not is_last and len(grown[0]) % self.checkpoint.every:
            return
        assert self.choice is not None
        n_rounds, chosen, curves = self.choice
        partial = self.keep(self.checkpoint.unfitted(), plan, grown, self.initial)
        self.tries[-1] = partial.forests_ if self.build is None else self.build(plan, grown)
        state = {
            "seed": plan.seed,
            "shape": shape_of(chosen),
            "least_fall": chosen.least_fall,
            "n_rounds": n_rounds,
            "curves": curves,
            "tries": self.tries,
        }
        self.checkpoint.write(partial, state)


def _fits(forest: Any, plan: BoostPlan) -> bool:
    """Whether the trees were grown on the encoding of a plan."""
    if not isinstance(forest, Forest) or len(forest.leaf_value) == 0:
        return False
    pairs = [(getattr(forest.bins, name), getattr(plan.bins, name)) for name in ("cuts", "cut_start", "n_codes")]
    return all(np.array_equal(own, other) for own, other in pairs)
