"""treewright: decision trees and tree ensembles on tables as people have them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Not left for later like the others: the package of the same name would hide the function.
from treewright.show import show

if TYPE_CHECKING:
    from treewright import datasets, measures
    from treewright.ensembles import (
        AdaBoostClassifier,
        AdaBoostRegressor,
        BaggingClassifier,
        BaggingRegressor,
        BayesianAveragingClassifier,
        BayesianAveragingRegressor,
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
        RandomSubspaceClassifier,
        RandomSubspaceRegressor,
        StackingClassifier,
        StackingRegressor,
        TablePreparer,
        VotingClassifier,
        VotingRegressor,
        diversity,
    )
    from treewright.insight.importances import permutation_importance
    from treewright.learners import (
        C45Classifier,
        CARTClassifier,
        CARTRegressor,
        DecisionStumpClassifier,
        DecisionStumpRegressor,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ID3Classifier,
        ObliviousTreeClassifier,
        ObliviousTreeRegressor,
        OneRClassifier,
        RandomTreeClassifier,
        RandomTreeRegressor,
    )
    from treewright.learners.pruning import complexity_table, cost_complexity_path, cross_validate_alpha, prune
    from treewright.table import read_table

__version__ = "0.1.0"

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BayesianAveragingClassifier",
    "BayesianAveragingRegressor",
    "C45Classifier",
    "CARTClassifier",
    "CARTRegressor",
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "ID3Classifier",
    "ObliviousTreeClassifier",
    "ObliviousTreeRegressor",
    "OneRClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSubspaceClassifier",
    "RandomSubspaceRegressor",
    "RandomTreeClassifier",
    "RandomTreeRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "TablePreparer",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "complexity_table",
    "cost_complexity_path",
    "cross_validate_alpha",
    "datasets",
    "diversity",
    "measures",
    "permutation_importance",
    "prune",
    "read_table",
    "show",
]


# Where the names are that are not single trees.
_HOMES = {
    "AdaBoostClassifier": "treewright.ensembles",
    "AdaBoostRegressor": "treewright.ensembles",
    "BaggingClassifier": "treewright.ensembles",
    "BaggingRegressor": "treewright.ensembles",
    "BayesianAveragingClassifier": "treewright.ensembles",
    "BayesianAveragingRegressor": "treewright.ensembles",
    "ExtraTreesClassifier": "treewright.ensembles",
    "ExtraTreesRegressor": "treewright.ensembles",
    "GradientBoostingClassifier": "treewright.ensembles",
    "GradientBoostingRegressor": "treewright.ensembles",
    "RandomForestClassifier": "treewright.ensembles",
    "RandomForestRegressor": "treewright.ensembles",
    "RandomSubspaceClassifier": "treewright.ensembles",
    "RandomSubspaceRegressor": "treewright.ensembles",
    "StackingClassifier": "treewright.ensembles",
    "StackingRegressor": "treewright.ensembles",
    "TablePreparer": "treewright.ensembles",
    "VotingClassifier": "treewright.ensembles",
    "VotingRegressor": "treewright.ensembles",
    "diversity": "treewright.ensembles",
    "complexity_table": "treewright.learners.pruning",
    "cost_complexity_path": "treewright.learners.pruning",
    "cross_validate_alpha": "treewright.learners.pruning",
    "permutation_importance": "treewright.insight.importances",
    "prune": "treewright.learners.pruning",
    "read_table": "treewright.table",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for: scikit-learn takes a second to import."""
    if name not in __all__:
        raise AttributeError(f"module 'treewright' has no attribute {name!r}")
    if name in ("datasets", "measures"):
        return import_module(f"treewright.{name}")
    found = getattr(import_module(_HOMES.get(name, "treewright.learners")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
