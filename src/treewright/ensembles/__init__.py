"""Many models that answer as one: bagging, forests, boosting, voting, stacking and averaging."""

from treewright.ensembles.adaboost import AdaBoostClassifier, AdaBoostRegressor
from treewright.ensembles.averaging import BayesianAveragingClassifier, BayesianAveragingRegressor
from treewright.ensembles.bagging import (
    BaggingClassifier,
    BaggingRegressor,
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
)
from treewright.ensembles.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from treewright.ensembles.diversity import diversity
from treewright.ensembles.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from treewright.ensembles.preparing import TablePreparer
from treewright.ensembles.stacking import StackingClassifier, StackingRegressor
from treewright.ensembles.voting import VotingClassifier, VotingRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BayesianAveragingClassifier",
    "BayesianAveragingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSubspaceClassifier",
    "RandomSubspaceRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "TablePreparer",
    "VotingClassifier",
    "VotingRegressor",
    "diversity",
]
