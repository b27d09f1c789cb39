"""Learners with scikit-learn's interface: `fit` a table, then `predict`, `score`, show and ask for rules."""

from treewright.learners.oblivious import ObliviousTreeClassifier, ObliviousTreeRegressor
from treewright.learners.one_rule import OneRClassifier
from treewright.learners.recipes import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    ID3Classifier,
    RandomTreeClassifier,
    RandomTreeRegressor,
)
from treewright.learners.trees import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = [
    "C45Classifier",
    "CARTClassifier",
    "CARTRegressor",
    "DecisionStumpClassifier",
    "DecisionStumpRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ID3Classifier",
    "ObliviousTreeClassifier",
    "ObliviousTreeRegressor",
    "OneRClassifier",
    "RandomTreeClassifier",
    "RandomTreeRegressor",
]
