"""The training data of the members of AdaBoost, and their predictions, for trees and for other estimators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from treewright.estimators.base import (
    TableLearner,
    Training,
    labels_of_classes,
    read_table,
    read_training,
)
from treewright.estimators.meta.routing import take_metadata
from treewright.estimators.single.base import TreeLearner, adopt, specification
from treewright.table.selection import open_rows
from treewright.table.sparse import in_rows


class TreeSource:
    """The training data of trees of this library: the table is read once, and weighted anew for each member."""

    def __init__(self, base: TreeLearner, X: Any, y: Any, weights: np.ndarray) -> None:
        spec = specification(base, seed=0)
        self.table = read_table(base, X)
        self.training = read_training(base, self.table, y, weights)
        spec.check(self.training)
        self.kept = weights > 0.0
        self.n_features = len(self.table.columns)
        self.column_names = [column.name for column in self.table.columns] if self.table.named else None
        self.names = None if self.column_names is None else np.array(self.column_names, dtype=object)
        # Rows are sent down one after the other, and the training table has column after column.
        self.rows = in_rows(self.training.values)

    def fit(self, member: TreeLearner, weights: np.ndarray) -> np.ndarray:
        """Grow the member, and return its prediction for each row."""
        return self._fit(member, replace(self.training, weights=as_rows(weights)[self.kept]))

    def fit_sample(self, member: TreeLearner, sample: np.ndarray) -> np.ndarray:
        """Grow the member from a sample of the rows; a row that was drawn twice has twice the weight."""
        counts = np.bincount(sample, minlength=len(self.kept))[self.kept].astype(np.float64)
        drawn = np.flatnonzero(counts)
        return self._fit(member, replace(self.training, weights=counts).rows(drawn))

    def _fit(self, member: TreeLearner, training: Training) -> np.ndarray:
        fitted = specification(member).fit(training)
        adopt(member, fitted, training.classes, self.column_names, self.n_features)
        # The predictions of rows without weight are not used.
        everywhere = np.zeros(len(self.kept), dtype=np.intp if training.target.is_classes else np.float64)
        everywhere[self.kept] = predictions_in_values(member, self.rows)
        return everywhere


class EstimatorSource:
    """The training data of other estimators, which get the table unchanged."""

    n_features: int | None = None
    names: np.ndarray | None = None

    def __init__(self, X: Any, targets: np.ndarray, classes: np.ndarray, metadata: Mapping[str, Any]) -> None:
        self.X, self.metadata = open_rows(X), metadata
        self.y = classes[targets] if len(classes) else targets
        self.classes = classes

    def fit(self, member: Any, weights: np.ndarray) -> np.ndarray:
        is_ours = isinstance(member, TableLearner)
        member.fit(self.X, self.y, sample_weight=as_rows(weights) if is_ours else weights, **self.metadata)
        return self._predictions(member)

    def fit_sample(self, member: Any, sample: np.ndarray) -> np.ndarray:
        metadata = take_metadata(self.X, self.metadata, sample)
        member.fit(_safe_indexing(self.X, sample), self.y[sample], **metadata)
        return self._predictions(member)

    def _predictions(self, member: Any) -> np.ndarray:
        self.n_features = getattr(member, "n_features_in_", None)
        self.names = getattr(member, "feature_names_in_", None)
        return predictions_in_codes(member, self.X, self.classes)


def as_rows(weights: np.ndarray) -> np.ndarray:
    """The weights with a mean of 1 where they are above 0, because C4.5 counts them as rows."""
    counted = weights[weights > 0.0]
    return weights * (len(counted) / counted.sum())


def predictions_in_values(member: TreeLearner, values: np.ndarray) -> np.ndarray:
    """The predictions of a tree for rows that have been read: positions in `classes_`, or numbers."""
    from treewright.tree.descent import predictions_of

    predictions = predictions_of(member.tree_, values)
    if not member.tree_.target.is_classes:
        return predictions[:, 0]
    place = np.zeros(len(member.tree_.target.classes), dtype=np.intp)
    place[labels_of_classes(member.tree_.target, member.classes_)] = np.arange(len(member.classes_))
    return place[member.tree_.labels_for(predictions)]


def predictions_in_codes(member: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """The predictions of any estimator: positions in `classes`, or numbers."""
    predictions = np.asarray(member.predict(X))
    return np.searchsorted(classes, predictions) if len(classes) else predictions


def reads_once(base: Any) -> bool:
    """Whether members of this kind can grow from a table that was read before."""
    return isinstance(base, TreeLearner) and type(base).fit is TreeLearner.fit and base.class_weight is None
