"""Single trees: the general learners, the named recipes, OneR and oblivious trees."""

from treewright.estimators.single.oblivious import ObliviousTreeClassifier, ObliviousTreeRegressor
from treewright.estimators.single.one_rule import OneRClassifier
from treewright.estimators.single.recipes import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    ID3Classifier,
    RandomTreeClassifier,
    RandomTreeRegressor,
)
from treewright.estimators.single.trees import DecisionTreeClassifier, DecisionTreeRegressor

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
