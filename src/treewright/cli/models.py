"""The models that `--model` names, and the learner behind each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import treewright
from treewright.cli.errors import OPTION_OF, UserError, choose
from treewright.insight.task import Task


@dataclass(frozen=True)
class Model:
    """A name on the command line with its learners; None where there is none for the task.

    The trees of some ensembles are parameters of their own. `member_depth` is the default depth of these trees for
    classes and for numbers.
    """

    classifier: str
    regressor: str | None
    member_depth: tuple[int | None, int | None] | None = None

    def learner(self, task: Task) -> str | None:
        return self.classifier if task is Task.CLASSES else self.regressor

    def member(self, task: Task) -> Any:
        """The tree for the options that the ensemble itself does not have; None if there is no such tree."""
        if self.member_depth is None:
            return None
        if task is Task.CLASSES:
            return treewright.DecisionTreeClassifier(max_depth=self.member_depth[0])
        return treewright.DecisionTreeRegressor(max_depth=self.member_depth[1])


_ALL = {
    "c45": Model("C45Classifier", None),
    "cart": Model("CARTClassifier", "CARTRegressor"),
    "id3": Model("ID3Classifier", None),
    "tree": Model("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "oner": Model("OneRClassifier", None),
    "stump": Model("DecisionStumpClassifier", "DecisionStumpRegressor"),
    "random-tree": Model("RandomTreeClassifier", "RandomTreeRegressor"),
    "oblivious": Model("ObliviousTreeClassifier", "ObliviousTreeRegressor"),
    "random-forest": Model("RandomForestClassifier", "RandomForestRegressor"),
    "extra-trees": Model("ExtraTreesClassifier", "ExtraTreesRegressor"),
    "bagging": Model("BaggingClassifier", "BaggingRegressor", member_depth=(None, None)),
    "random-subspace": Model("RandomSubspaceClassifier", "RandomSubspaceRegressor", member_depth=(None, None)),
    "adaboost": Model("AdaBoostClassifier", "AdaBoostRegressor", member_depth=(1, 3)),
    "gradient-boosting": Model("GradientBoostingClassifier", "GradientBoostingRegressor"),
    "voting": Model("VotingClassifier", "VotingRegressor"),
    "stacking": Model("StackingClassifier", "StackingRegressor"),
    "averaging": Model("BayesianAveragingClassifier", "BayesianAveragingRegressor"),
}
MODELS = {name: model for name, model in _ALL.items() if model.classifier in treewright.__all__}


def default_model(task: Task) -> str:
    """C4.5 for classes, because its trees are easy to read; CART for numbers, which C4.5 does not predict."""
    return "c45" if task is Task.CLASSES else "cart"


def build_learner(name: str, task: Task, options: Mapping[str, Any], seed: int) -> Any:
    """An unfitted learner with the given options; an option of None was not given.

    >>> build_learner("cart", Task.NUMBERS, {"max_depth": 2, "criterion": None}, seed=0)
    CARTRegressor(max_depth=2)
    """
    learner = _learner(choose("model", name.lower(), MODELS), task)
    parameters = learner.get_params(deep=False)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in _parameters_of(name.lower(), task):
            raise UserError(_unknown_option(name, option, task))
    if str(given.get("prune", "")).lower() == "none":
        given["prune"] = None
    for_member = {option: value for option, value in given.items() if option not in parameters}
    own = {option: value for option, value in given.items() if option in parameters}
    if for_member:
        own["estimator"] = MODELS[name.lower()].member(task).set_params(**for_member)
    if "random_state" in parameters:
        own["random_state"] = seed
    if "progress" in parameters:
        own["progress"] = False  # the command has a progress bar of its own
    return learner.set_params(**own)


def _parameters_of(name: str, task: Task) -> set[str]:
    """The parameters of a model and of the trees in it."""
    member = MODELS[name].member(task)
    of_member = set() if member is None else set(member.get_params())
    return {*_learner(name, task).get_params(deep=False), *of_member}


def _learner(name: str, task: Task) -> Any:
    class_name = MODELS[name].learner(task)
    if class_name is None:
        others = [other for other, model in MODELS.items() if model.learner(task)]
        raise UserError(
            f"model {name!r} learns classes only, and the target is treated as numbers; "
            f"use {_either(others)}, or --task classes"
        )
    return getattr(treewright, class_name)()


def _unknown_option(name: str, option: str, task: Task) -> str:
    fitting = [
        other for other, model in MODELS.items() if model.learner(task) and option in _parameters_of(other, task)
    ]
    return f"{OPTION_OF[option]} means nothing to model {name!r}; it is for {_either(fitting)}"


def _either(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
