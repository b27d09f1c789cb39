"""Forests and gradient boosting on a Dask cluster: the learners of `treewright` with the same parameters and results.

>>> from treewright import dask as treewright_dask
>>> treewright_dask.RandomForestClassifier(n_estimators=10).n_estimators
10
"""

from __future__ import annotations

from typing import Any

from treewright.estimators import boosting, forest
from treewright.scale.learners import on_cluster

RandomForestClassifier: Any = on_cluster(forest.RandomForestClassifier, of_classes=True)
RandomForestRegressor: Any = on_cluster(forest.RandomForestRegressor, of_classes=False)
ExtraTreesClassifier: Any = on_cluster(forest.ExtraTreesClassifier, of_classes=True)
ExtraTreesRegressor: Any = on_cluster(forest.ExtraTreesRegressor, of_classes=False)
GradientBoostingClassifier: Any = on_cluster(boosting.GradientBoostingClassifier, of_classes=True)
GradientBoostingRegressor: Any = on_cluster(boosting.GradientBoostingRegressor, of_classes=False)

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
