"""Gradient boosting: losses, rounds, early stopping and the automatic choice of tree shape."""

from treewright.estimators.boosting.learners import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = [
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
]
