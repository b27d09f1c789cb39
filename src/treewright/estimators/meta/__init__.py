"""Ensembles of any estimators: bagging, AdaBoost, voting, stacking and Bayesian averaging."""

from treewright.estimators.meta.adaboost import AdaBoostClassifier, AdaBoostRegressor
from treewright.estimators.meta.averaging import BayesianAveragingClassifier, BayesianAveragingRegressor
from treewright.estimators.meta.bagging import (
    BaggingClassifier,
    BaggingRegressor,
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
)
from treewright.estimators.meta.preparing import TablePreparer
from treewright.estimators.meta.stacking import StackingClassifier, StackingRegressor
from treewright.estimators.meta.voting import VotingClassifier, VotingRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BayesianAveragingClassifier",
    "BayesianAveragingRegressor",
    "RandomSubspaceClassifier",
    "RandomSubspaceRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "TablePreparer",
    "VotingClassifier",
    "VotingRegressor",
]
