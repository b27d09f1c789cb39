"""The models that `--model` names, and the learner behind each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import treewright
from treewright.cli.errors import OPTION_OF, Mistake, choose
from treewright.cli.task import Task


@dataclass(frozen=True)
class Model:
    """A name on the command line and the learners it stands for; None where there is none for the task."""

    classifier: str
    regressor: str | None

    def learner(self, task: Task) -> str | None:
        return self.classifier if task is Task.CLASSES else self.regressor


_ALL = {
    "c45": Model("C45Classifier", None),
    "cart": Model("CARTClassifier", "CARTRegressor"),
    "id3": Model("ID3Classifier", None),
    "tree": Model("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "oner": Model("OneRClassifier", None),
    "stump": Model("DecisionStumpClassifier", "DecisionStumpRegressor"),
    "random-tree": Model("RandomTreeClassifier", "RandomTreeRegressor"),
    "oblivious": Model("ObliviousTreeClassifier", "ObliviousTreeRegressor"),
}
MODELS = {name: model for name, model in _ALL.items() if model.classifier in treewright.__all__}


def default_model(task: Task) -> str:
    """C4.5 for classes, because its branches read best; CART for numbers, which C4.5 cannot learn."""
    return "c45" if task is Task.CLASSES else "cart"


def build_learner(name: str, task: Task, options: Mapping[str, Any], seed: int) -> Any:
    """An unfitted learner with the options that were given; None stands for an option that was not.

    >>> build_learner("cart", Task.NUMBERS, {"max_depth": 2, "criterion": None}, seed=0)
    CARTRegressor(max_depth=2)
    """
    learner = _learner(choose("model", name.lower(), MODELS), task)
    parameters = learner.get_params()
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in parameters:
            raise Mistake(_useless_option(name, option, task))
    if str(given.get("prune", "")).lower() == "none":
        given["prune"] = None
    if "random_state" in parameters:
        given["random_state"] = seed
    return learner.set_params(**given)


def _learner(name: str, task: Task) -> Any:
    class_name = MODELS[name].learner(task)
    if class_name is None:
        others = [other for other, model in MODELS.items() if model.learner(task)]
        raise Mistake(
            f"model {name!r} learns classes only, and the target is taken as numbers; "
            f"use {_either(others)}, or --task classes"
        )
    return getattr(treewright, class_name)()


def _useless_option(name: str, option: str, task: Task) -> str:
    fitting = [
        other for other, model in MODELS.items() if model.learner(task) and option in _learner(other, task).get_params()
    ]
    return f"{OPTION_OF[option]} means nothing to model {name!r}; it is for {_either(fitting)}"


def _either(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
