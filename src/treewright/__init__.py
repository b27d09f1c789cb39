"""treewright: decision trees and tree ensembles on tables with text, dates and missing values."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Not left for later like the others: the package of the same name would hide the function.
from treewright.show import show

if TYPE_CHECKING:
    from treewright import datasets, measures, plots
    from treewright.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
    from treewright.estimators.forest import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from treewright.estimators.meta import (
        AdaBoostClassifier,
        AdaBoostRegressor,
        BaggingClassifier,
        BaggingRegressor,
        BayesianAveragingClassifier,
        BayesianAveragingRegressor,
        RandomSubspaceClassifier,
        RandomSubspaceRegressor,
        StackingClassifier,
        StackingRegressor,
        TablePreparer,
        VotingClassifier,
        VotingRegressor,
    )
    from treewright.estimators.single import (
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
    from treewright.estimators.single.ccp_validation import cross_validate_ccp_alpha
    from treewright.estimators.single.pruning import complexity_table, cost_complexity_path, prune
    from treewright.insight.columns import summarise_columns
    from treewright.insight.counterfactual import Counterfactual, counterfactual
    from treewright.insight.cross_validation import cross_validate_score
    from treewright.insight.diversity import diversity
    from treewright.insight.drop_column import drop_column_importance
    from treewright.insight.evaluation import evaluate
    from treewright.insight.importances import permutation_importance
    from treewright.insight.shapley import ShapValues, shap_values
    from treewright.insight.task import infer_task
    from treewright.scale.scan import Scan, scan
    from treewright.ship import ModelFileError, describe_file, load, save
    from treewright.ship.exports import export
    from treewright.ship.imports import import_model
    from treewright.show.explanation import RowExplanation, explain
    from treewright.show.picture import TreePicture, plot_tree
    from treewright.show.plots.boundary import plot_boundary
    from treewright.show.report import report
    from treewright.show.trace import trace
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
    "Counterfactual",
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "ID3Classifier",
    "ModelFileError",
    "ObliviousTreeClassifier",
    "ObliviousTreeRegressor",
    "OneRClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSubspaceClassifier",
    "RandomSubspaceRegressor",
    "RandomTreeClassifier",
    "RandomTreeRegressor",
    "RowExplanation",
    "Scan",
    "ShapValues",
    "StackingClassifier",
    "StackingRegressor",
    "TablePreparer",
    "TreePicture",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "complexity_table",
    "cost_complexity_path",
    "counterfactual",
    "cross_validate_ccp_alpha",
    "cross_validate_score",
    "datasets",
    "describe_file",
    "diversity",
    "drop_column_importance",
    "evaluate",
    "explain",
    "export",
    "import_model",
    "infer_task",
    "load",
    "measures",
    "permutation_importance",
    "plot_boundary",
    "plot_tree",
    "plots",
    "prune",
    "read_table",
    "report",
    "save",
    "scan",
    "shap_values",
    "show",
    "summarise_columns",
    "trace",
]


# Where each public name is defined.
_MODULES = {
    "AdaBoostClassifier": "treewright.estimators.meta",
    "AdaBoostRegressor": "treewright.estimators.meta",
    "BaggingClassifier": "treewright.estimators.meta",
    "BaggingRegressor": "treewright.estimators.meta",
    "BayesianAveragingClassifier": "treewright.estimators.meta",
    "BayesianAveragingRegressor": "treewright.estimators.meta",
    "C45Classifier": "treewright.estimators.single",
    "CARTClassifier": "treewright.estimators.single",
    "CARTRegressor": "treewright.estimators.single",
    "Counterfactual": "treewright.insight.counterfactual",
    "DecisionStumpClassifier": "treewright.estimators.single",
    "DecisionStumpRegressor": "treewright.estimators.single",
    "DecisionTreeClassifier": "treewright.estimators.single",
    "DecisionTreeRegressor": "treewright.estimators.single",
    "ExtraTreesClassifier": "treewright.estimators.forest",
    "ExtraTreesRegressor": "treewright.estimators.forest",
    "GradientBoostingClassifier": "treewright.estimators.boosting",
    "GradientBoostingRegressor": "treewright.estimators.boosting",
    "ID3Classifier": "treewright.estimators.single",
    "ObliviousTreeClassifier": "treewright.estimators.single",
    "ObliviousTreeRegressor": "treewright.estimators.single",
    "OneRClassifier": "treewright.estimators.single",
    "RandomForestClassifier": "treewright.estimators.forest",
    "RandomForestRegressor": "treewright.estimators.forest",
    "RandomSubspaceClassifier": "treewright.estimators.meta",
    "RandomSubspaceRegressor": "treewright.estimators.meta",
    "RandomTreeClassifier": "treewright.estimators.single",
    "RandomTreeRegressor": "treewright.estimators.single",
    "RowExplanation": "treewright.show.explanation",
    "Scan": "treewright.scale.scan",
    "ShapValues": "treewright.insight.shapley",
    "StackingClassifier": "treewright.estimators.meta",
    "StackingRegressor": "treewright.estimators.meta",
    "TablePreparer": "treewright.estimators.meta",
    "TreePicture": "treewright.show.picture",
    "VotingClassifier": "treewright.estimators.meta",
    "VotingRegressor": "treewright.estimators.meta",
    "complexity_table": "treewright.estimators.single.pruning",
    "cost_complexity_path": "treewright.estimators.single.pruning",
    "counterfactual": "treewright.insight.counterfactual",
    "cross_validate_ccp_alpha": "treewright.estimators.single.ccp_validation",
    "cross_validate_score": "treewright.insight.cross_validation",
    "ModelFileError": "treewright.ship",
    "describe_file": "treewright.ship",
    "diversity": "treewright.insight.diversity",
    "evaluate": "treewright.insight.evaluation",
    "export": "treewright.ship.exports",
    "import_model": "treewright.ship.imports",
    "drop_column_importance": "treewright.insight.drop_column",
    "explain": "treewright.show.explanation",
    "infer_task": "treewright.insight.task",
    "load": "treewright.ship",
    "permutation_importance": "treewright.insight.importances",
    "plot_boundary": "treewright.show.plots.boundary",
    "plot_tree": "treewright.show.picture",
    "prune": "treewright.estimators.single.pruning",
    "read_table": "treewright.table",
    "save": "treewright.ship",
    "scan": "treewright.scale.scan",
    "report": "treewright.show.report",
    "shap_values": "treewright.insight.shapley",
    "summarise_columns": "treewright.insight.columns",
    "trace": "treewright.show.trace",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for: scikit-learn takes a second to import."""
    if name not in __all__:
        raise AttributeError(f"module 'treewright' has no attribute {name!r}")
    if name in ("datasets", "measures", "plots"):
        return import_module(f"treewright.{name}")
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
