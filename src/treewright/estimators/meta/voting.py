"""Voting: members of different kinds, and the majority or the mean of their predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.ensemble import VotingClassifier as ScikitVotes
from sklearn.ensemble import VotingRegressor as ScikitMean
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.chunks import by_chunks
from treewright.estimators.meta.combining import Combination, Named, Task, default_members
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import parameter_error, store_parameters
from treewright.table import read_classes, read_numbers
from treewright.table.selection import open_rows


class NamedVotes(ScikitVotes):
    """scikit-learn's voting, but the members get the classes under their own names, which trees show."""

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        self.le_ = LabelEncoder().fit(y)
        self.classes_ = self.le_.classes_
        return super(ScikitVotes, self).fit(X, y, **fit_params)

    def _predict(self, X: Any) -> np.ndarray:
        predictions = [np.searchsorted(self.classes_, member.predict(X)) for member in self.estimators_]
        return np.array(predictions).T


class Voting(TransformerMixin, Combination):
    """Shared base of voting for classes and for numbers."""

    # Files of earlier versions do not have this parameter.
    flatten_transform: bool = True

    def _check_parameters(self) -> None:
        if self.weights is None:
            return
        n_members = 3 if self.estimators is None else len(self._checked())
        weights = np.asarray(self.weights)
        is_numeric = weights.ndim == 1 and weights.dtype.kind in "iuf"
        if not is_numeric or not (weights >= 0).all() or not weights.any():
            raise parameter_error("weights", self.weights, "a number of 0 or more for each member, not all 0")
        if len(weights) != n_members:
            raise ValueError(
                f"Number of `estimators` and weights must be equal; got {len(weights)} weights, {n_members} estimators"
            )

    def _weights_left(self) -> list[float] | None:
        """The weights of the members that are not dropped."""
        if self.weights is None or self.estimators is None:
            return self.weights
        return [one for one, (_, member) in zip(self.weights, self.estimators, strict=True) if member != "drop"]

    def member_weights(self) -> np.ndarray:
        """The weight of each member; the sum is 1."""
        left = self._weights_left()
        weights = np.ones(len(self.estimators_)) if left is None else np.array(left, dtype=np.float64)
        return weights / weights.sum()

    def transform(self, X: Any) -> np.ndarray:
        """The predictions of the members, a column each; with `flatten_transform=False` a matrix each."""
        check_is_fitted(self)
        return self.ensemble_.transform(open_rows(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of `transform`: the model's and the member's, and the number of the class."""
        check_is_fitted(self)
        if getattr(self, "voting", None) == "soft" and not self.flatten_transform:
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and `flatten_transform=False`, because "
                "transform returns a matrix per member"
            )
        n_columns = len(self.classes_) if getattr(self, "voting", None) == "soft" else 1
        names = self._names_of_columns([n_columns] * len(self.estimators_), input_features)
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


@documented("meta", "combination", "voting", "classes")
class VotingClassifier(ClassifierMixin, Voting):
    """Classifiers of different kinds that vote.

    Examples
    --------
    >>> from treewright import datasets
    >>> from treewright import VotingClassifier
    >>> orchard = datasets.load_orchard()    # with text columns and missing values
    >>> model = VotingClassifier().fit(orchard.X, orchard.y)
    >>> list(model.named_estimators_)
    ['nearest', 'tree', 'svm']
    >>> model.score(orchard.X, orchard.y) > 0.8
    True
    """

    def __init__(
        self,
        estimators: Named | None = None,
        *,
        voting: str = "hard",
        weights: Any = None,
        flatten_transform: bool = True,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The class with the most votes, or with the highest mean probability."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """The fraction of the votes for each class, or its mean probability, in the order of `classes_`."""
        check_is_fitted(self)
        rows = open_rows(X)
        if self.voting == "soft":
            return np.asarray(self.ensemble_.predict_proba(rows))
        return votes_of(self.ensemble_._predict(rows).T, self.member_weights(), len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the fraction of rows whose class is predicted correctly."""
        labels, classes = read_classes(y)
        return float(super().score(X, classes[labels], sample_weight))

    def member_predictions(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.classes_[self.ensemble_._predict(open_rows(X)).T]

    def _check_parameters(self) -> None:
        if self.voting not in ("hard", "soft"):
            raise parameter_error("voting", self.voting, "'hard' or 'soft'")
        if not isinstance(self.flatten_transform, bool | np.bool_):
            raise parameter_error("flatten_transform", self.flatten_transform, "True or False")
        super()._check_parameters()

    def _default_members(self, task: Task) -> Named:
        return default_members(task, shares=self.voting == "soft")

    def _fit_members(self, members: Named, task: Task) -> Any:
        votes = NamedVotes(
            members,
            voting=self.voting,
            weights=self._weights_left(),
            flatten_transform=self.flatten_transform,
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )
        return votes.fit(task.X, task.y, **task.fit_options())


def votes_of(predictions: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """The weight of the votes for each class and row; `predictions` has class positions: [member, row].

    >>> votes_of(np.array([[0, 1], [1, 1]]), np.array([0.75, 0.25]), 2)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    votes = np.zeros((predictions.shape[1], n_classes))
    for line, weight in zip(predictions, weights, strict=True):
        votes[np.arange(len(line)), line] += weight
    return votes


@documented("meta", "combination", "voting", "numbers")
class VotingRegressor(RegressorMixin, Voting):
    """Regressors of different kinds whose predictions are averaged.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from treewright import DecisionTreeRegressor
    >>> from treewright import VotingRegressor
    >>> members = [("line", LinearRegression()), ("tree", DecisionTreeRegressor())]
    >>> table = {"x": [1, 2, 3, None], "kind": ["a", "a", "b", "b"]}
    >>> model = VotingRegressor(members, weights=[1, 3]).fit(table, [1.0, 2.0, 5.0, 6.0])
    >>> model.predict({"x": [2], "kind": ["a"]}).round(3)
    array([1.875])
    """

    def __init__(
        self,
        estimators: Named | None = None,
        *,
        weights: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The mean of the members' predictions."""
        check_is_fitted(self)
        return np.asarray(self.ensemble_.predict(open_rows(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination: 1 is perfect, 0 is as good as predicting the mean."""
        return float(super().score(X, read_numbers(y), sample_weight))

    def member_predictions(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.ensemble_.transform(open_rows(X)).T

    def _fit_members(self, members: Named, task: Task) -> Any:
        mean = ScikitMean(members, weights=self._weights_left(), n_jobs=self.n_jobs, verbose=bool(self.verbose))
        return mean.fit(task.X, task.y, **task.fit_options())
