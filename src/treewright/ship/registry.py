"""The classes that a model file may contain, by name; nothing else is ever created from a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

# Values that are created from all of their fields, and check them.
_VALUES = {
    "Tree": "treewright.tree.tree",
    "Surrogates": "treewright.tree.tree",
    "Target": "treewright.tree.tree",
    "Imputation": "treewright.tree.imputation",
    "Forest": "treewright.tree.forest",
    "TreeList": "treewright.tree.tree_list",
    "Column": "treewright.table.column",
    "Bins": "treewright.encoding.bins",
    "TargetEncoding": "treewright.encoding.target_encoding",
    "Bagging": "treewright.engines.forest.engine",
    "Shape": "treewright.estimators.forest.growth",
    "BoostShape": "treewright.estimators.boosting.shapes",
    "Draws": "treewright.estimators.meta.bagging_data",
    "WeightedDraws": "treewright.estimators.meta.bagging_data",
    "Stage": "treewright.estimators.meta.adaboost_stages",
    "Posterior": "treewright.estimators.meta.averaging",
}

# Objects that are created without their constructor, and then get their attributes.
_OBJECTS = {
    **dict.fromkeys(
        (
            "Squared",
            "Quantile",
            "Absolute",
            "Huber",
            "Tweedie",
            "LogLoss",
            "ManyClasses",
            "Exponential",
            "Own",
            "ManyOutputs",
        ),
        "treewright.estimators.boosting.losses",
    ),
    "OwnClasses": "treewright.estimators.boosting.own_classes",
    "OwnFunction": "treewright.engines.boosting.own_loss",
    "StageList": "treewright.estimators.meta.adaboost_stages",
    "Deal": "treewright.estimators.meta.combining",
    "NamedVotes": "treewright.estimators.meta.voting",
    "NamedStack": "treewright.estimators.meta.stacking",
    "NumberStack": "treewright.estimators.meta.stacking",
    "NumericColumn": "treewright.estimators.meta.preparing",
    "CategoricalColumn": "treewright.estimators.meta.preparing",
    "PreparedMember": "treewright.estimators.meta.preparing",
    "PositionRegressor": "treewright.estimators.meta.preparing",
    "TablePreparer": "treewright.estimators.meta.preparing",
}

# Classes of scikit-learn whose fitted state is numbers, arrays and names only.
_FOREIGN = {
    "sklearn.VotingRegressor": "sklearn.ensemble",
    "sklearn.LabelEncoder": "sklearn.preprocessing",
    "sklearn.StandardScaler": "sklearn.preprocessing",
    "sklearn.LogisticRegression": "sklearn.linear_model",
    "sklearn.LinearRegression": "sklearn.linear_model",
    "sklearn.Ridge": "sklearn.linear_model",
    "sklearn.RidgeCV": "sklearn.linear_model",
    "sklearn.GaussianNB": "sklearn.naive_bayes",
    "sklearn.DummyClassifier": "sklearn.dummy",
    "sklearn.DummyRegressor": "sklearn.dummy",
}


@cache
def value_classes() -> Mapping[str, type]:
    return {name: getattr(import_module(module), name) for name, module in _VALUES.items()}


@cache
def object_classes() -> Mapping[str, type]:
    """All classes whose objects are created from attributes: estimators, losses, and members of scikit-learn."""
    found = {name: getattr(import_module(module), name) for name, module in _OBJECTS.items()}
    found |= {name: getattr(import_module(module), name.split(".")[1]) for name, module in _FOREIGN.items()}
    for package in ("single", "forest", "boosting", "meta"):
        learners = import_module(f"treewright.estimators.{package}")
        found |= {name: getattr(learners, name) for name in learners.__all__}
    return found


def name_of(classes: Mapping[str, type], value: Any) -> str | None:
    """The name of the class of a value, None if files cannot contain it."""
    return next((name for name, known in classes.items() if type(value) is known), None)
