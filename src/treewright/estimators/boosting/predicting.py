"""Predictions of fitted boosting: sums of trees, also after each round, and what the trees say of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treewright.encoding.target_encoding import TargetEncoding
from treewright.estimators.base import TableLearner
from treewright.estimators.boosting.initial_models import initial_scores
from treewright.estimators.boosting.losses import Loss
from treewright.estimators.boosting.shapes import BoostShape
from treewright.table.column import Column
from treewright.tree import Target
from treewright.tree.forest import Forest


class BoostedLearner(TableLearner):
    """A fitted learner: a forest for each output, whose sums are the scores of the loss."""

    n_jobs: int | None
    max_depth: int | None
    min_impurity_decrease: float = 0.0  # which files of earlier versions may not have

    forests_: list[Forest]
    initial_: np.ndarray
    validation_loss_: np.ndarray
    evals_result_: dict[str, dict[str, list[float]]]
    best_iteration_: int | None
    best_score_: float | None
    shape_: BoostShape
    loss_: Loss
    target_encoding_: TargetEncoding
    n_estimators_: int
    columns_: tuple[Column, ...]
    target_: Target

    @property
    def n_iter_(self) -> int:
        """The number of rounds that were run: those of the model, and those after the least validation loss."""
        check_is_fitted(self)
        n_dropped = len(self.validation_loss_) - (self.best_iteration_ or 0)
        return int(self.n_estimators_ + max(n_dropped, 0))

    @property
    def max_features_(self) -> int:
        """The number of columns that each node may use, as `max_features` says."""
        check_is_fitted(self)
        return max(1, int(np.floor(self.shape_.node_share * self.n_features_in_ + 0.5)))

    @property
    def n_trees_per_iteration_(self) -> int:
        """The number of trees of a round: one, or one per class if there are three or more."""
        check_is_fitted(self)
        return len(self.forests_)

    @property
    def is_categorical_(self) -> np.ndarray | None:
        """Which columns are split by category; None if none is."""
        check_is_fitted(self)
        found = np.array([column.is_categorical for column in self.columns_])
        return found if found.any() else None

    @property
    def feature_importances_(self) -> np.ndarray:
        """The fraction of each column in the total loss reduction of all splits."""
        check_is_fitted(self)
        by_column = sum(forest.gains.sum(axis=0) for forest in self.forests_)
        gains = np.bincount(self.target_encoding_.origin, by_column, minlength=len(self.columns_))
        total = gains.sum()
        return np.asarray(gains / total if total > 0.0 else gains)

    @property
    def estimators_(self) -> np.ndarray:
        """The trees as fitted regressors, created on access: [round, output]; the learning rate is in their values."""
        from treewright.estimators.single.base import adopt
        from treewright.estimators.single.specification import FittedTree
        from treewright.estimators.single.trees import DecisionTreeRegressor

        check_is_fitted(self)
        # Files of earlier versions do not have the limits of each round.
        parts = getattr(self, "_tree_limits", ()) or ((0, self.max_depth, self.min_impurity_decrease),)
        found = np.empty((self.n_estimators_, len(self.forests_)), dtype=object)
        for output, forest in enumerate(self.forests_):
            for number, tree in enumerate(forest):
                names = [column.name for column in tree.columns] if hasattr(self, "feature_names_in_") else None
                _, max_depth, least = [part for part in parts if part[0] <= number][-1]
                member = DecisionTreeRegressor(max_depth=max_depth, min_impurity_decrease=least)
                adopt(member, FittedTree(tree), np.empty(0), names, len(tree.columns))
                found[number, output] = member
        return found

    def _columns(self) -> tuple[Column, ...]:
        return self.columns_

    def _target(self) -> Target:
        return self.target_

    def _has_plain_columns(self) -> bool:
        return not self.target_encoding_.means and self.forests_[0].has_plain_columns

    def _code(self, values: np.ndarray) -> np.ndarray:
        return self.forests_[0].code(self.target_encoding_.apply(values), self.n_jobs)

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """The sum of all trees for each row: [output, row]."""
        codes = self._code(values)
        sums = [forest.sums(codes, self.n_jobs)[:, 0] for forest in self.forests_]
        return np.stack(sums) + self.initial_[:, None]

    def _predict_rows(self, values: np.ndarray) -> np.ndarray:
        return self._from_scores(self._scores(values))

    def _from_scores(self, scores: np.ndarray) -> np.ndarray:
        """The predictions of scores: class probabilities by label, or numbers."""
        return self.loss_.prediction(scores)

    def _predictions(self, X: Any) -> np.ndarray:
        if self.__dict__.get("init_") is None:
            return super()._predictions(X)
        return self._from_scores(self._all_scores(X))

    def _all_scores(self, X: Any) -> np.ndarray:
        """The sum of all trees and of the initial model for each row: [output, row]."""
        check_is_fitted(self)
        return self._scores(self._read_rows(X)) + self._scores_of_init(X)

    def _scores_of_init(self, X: Any) -> np.ndarray | float:
        if self.init_ is None:
            return 0.0
        return initial_scores(self.init_, X, self.loss_, list(self.target_.classes))

    def apply(self, X: Any) -> np.ndarray:
        """The node where each row ends in each tree: [row, round], and one more axis for the trees of classes."""
        check_is_fitted(self)
        codes = self._code(self._read_rows(X))
        return np.stack([forest.nodes_of(forest.leaves(codes, self.n_jobs)) for forest in self.forests_], axis=2)

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after each round, [output, row]; invalid rows are an error at once."""
        check_is_fitted(self)
        codes, start = self._code(self._read_rows(X)), self._scores_of_init(X)

        def stages() -> Iterator[np.ndarray]:
            leaves = [forest.leaves(codes, self.n_jobs) for forest in self.forests_]
            scores = np.repeat(self.initial_[:, None], len(codes), axis=1) + start
            for number in range(self.n_estimators_):
                for k, forest in enumerate(self.forests_):
                    scores[k] += forest.values_of(number, leaves[k][:, number])
                yield scores.copy()

        return stages()

    def _staged_predictions(self, X: Any) -> Iterator[np.ndarray]:
        return map(self._from_scores, self._staged_scores(X))
