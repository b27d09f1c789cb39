"""Single trees: the general learners, the named recipes, OneR and oblivious trees."""

from treewright.estimators.single.c45 import C45Classifier
from treewright.estimators.single.cart import CARTClassifier, CARTRegressor
from treewright.estimators.single.id3 import ID3Classifier
from treewright.estimators.single.oblivious import ObliviousTreeClassifier, ObliviousTreeRegressor
from treewright.estimators.single.one_rule import OneRClassifier
from treewright.estimators.single.random_tree import RandomTreeClassifier, RandomTreeRegressor
from treewright.estimators.single.stump import DecisionStumpClassifier, DecisionStumpRegressor
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
