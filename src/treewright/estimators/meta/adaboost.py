"""AdaBoost: each member is fitted with more weight on the rows that the members before it predict wrongly."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from treewright.engines.elementary import exp_of, log_of
from treewright.estimators.base import CountedEnsemble, LogProbabilities, TableLearner
from treewright.estimators.chunks import by_chunks
from treewright.estimators.data_digest import digest_of_frame
from treewright.estimators.equivalents import NamesExplained
from treewright.estimators.meta.adaboost_data import (
    EstimatorSource,
    TreeSource,
    predictions_in_codes,
    predictions_in_values,
    reads_once,
)
from treewright.estimators.meta.adaboost_stages import Stage, StageList
from treewright.estimators.meta.preparing import prepared
from treewright.estimators.meta.routing import check_metadata, fit_router, route_to_member
from treewright.estimators.missing_values import refuse_missing, refuse_unseen
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import (
    check_progress,
    is_real,
    is_text,
    is_whole,
    parameter_error,
    shows_progress,
    store_parameters,
)
from treewright.estimators.random_state import open_random_state
from treewright.estimators.single import DecisionTreeClassifier, DecisionTreeRegressor
from treewright.estimators.single.base import TreeLearner
from treewright.estimators.weights import read_weights
from treewright.runtime.progress import Tick, follow, interruptible
from treewright.table import read_classes, read_like, read_numbers
from treewright.table.selection import open_rows
from treewright.table.source import open_source
from treewright.table.user_warnings import warn_user

LOSSES = ("linear", "square", "exponential")

# Stages keep the weights of all rows up to this number of weights: 8 MB.
MOST_WEIGHTS_KEPT = 1 << 20

# No positive weight becomes smaller, so no row is lost.
LEAST_WEIGHT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Members:
    """The members and stages of a fitted model."""

    estimators: list[Any]
    stages: StageList


def seeded(base: Any, random: np.random.RandomState) -> Any:
    """A copy of an estimator with seeds of its own, drawn in the order in which scikit-learn draws them."""
    member = clone(base)
    names = [name for name in sorted(member.get_params()) if name.split("__")[-1] == "random_state"]
    if names:
        member.set_params(**{name: random.randint(np.iinfo(np.int32).max) for name in names})
    return member


class AdaBoost(NamesExplained, CountedEnsemble, MetaEstimatorMixin, BaseEstimator):
    """Shared base of AdaBoost for classes and for numbers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **metadata: Any) -> Self:
        """Fit the members one after the other.

        Parameters
        ----------
        X : table
            A pandas, polars or arrow frame, an array, a sparse matrix, a dict of columns, or a list of rows.
        y : one value per row
            The target.
        sample_weight : one number per row, a single number or None
            Initial weights of the rows; None gives all rows the same weight. A row of weight 0 is left out.
        **metadata
            Handed to the members if they request it, if metadata routing is enabled.
        """
        check_metadata(self, "fit", metadata, ["sample_weight"])
        base = self._check_parameters()
        open_source(X)  # refuses a table without rows or columns
        requested = route_to_member(self, metadata)
        targets, classes = self._read_target(y)
        weights = read_weights(sample_weight, len(targets))
        if not weights.any():
            raise ValueError("every row has a weight of zero, so there is nothing to learn from; give some row more")
        digest = digest_of_frame(X, targets, weights, classes)
        weights /= weights.max()
        weights /= weights.sum()
        base = prepared(base)
        source = (
            TreeSource(base, X, y, weights) if reads_once(base) else EstimatorSource(X, targets, classes, requested)
        )
        random = open_random_state(self.random_state)
        with follow("boosting", self.n_estimators, shows_progress(self)) as tick:
            found = interruptible(lambda: self._boost(base, source, targets, len(classes), weights, random, tick))
        self._keep(found, source, classes)
        self.estimator_, self.data_digest_ = base, digest
        return self

    def get_metadata_routing(self) -> Any:
        """The metadata that the estimator requests."""
        return fit_router(self, {"estimator": self._default() if self.estimator is None else self.estimator})

    @abstractmethod
    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """The targets, and the classes if they are labels."""

    @abstractmethod
    def _default(self) -> TreeLearner: ...

    @abstractmethod
    def _round(
        self,
        source: Any,
        member: Any,
        y: np.ndarray,
        n_classes: int,
        weights: np.ndarray,
        random: np.random.RandomState,
    ) -> tuple[float, float, np.ndarray]:
        """Fit the member; returns its error, its weight, and the row weights before normalisation."""

    def _check_parameters(self) -> Any:
        """Check all parameters; returns the base estimator."""
        if not is_whole(self.n_estimators, 1):
            raise parameter_error("n_estimators", self.n_estimators, "a whole number of 1 or more")
        if not is_real(self.learning_rate) or self.learning_rate <= 0.0:
            raise parameter_error("learning_rate", self.learning_rate, "a number above 0")
        check_progress(self)
        base = self._default() if self.estimator is None else self.estimator
        if not hasattr(base, "fit") or not hasattr(base, "predict"):
            raise parameter_error("estimator", base, "an estimator with fit and predict, or None for a small tree")
        if is_regressor(base) if is_classifier(self) else is_classifier(base):
            wanted = "classifier" if is_classifier(self) else "regressor"
            raise ValueError(f"estimator is a {type(base).__name__}; {type(self).__name__} boosts a {wanted}")
        return base

    def _boost(
        self,
        base: Any,
        source: Any,
        y: np.ndarray,
        n_classes: int,
        weights: np.ndarray,
        random: np.random.RandomState,
        tick: Tick,
    ) -> Members:
        counts = weights > 0.0
        keeps_weights = self.n_estimators * len(weights) <= MOST_WEIGHTS_KEPT
        members: list[Any] = []
        stages = StageList()
        for number in range(1, self.n_estimators + 1):
            weights = np.where(counts, np.maximum(weights, LEAST_WEIGHT), 0.0)
            member = seeded(base, random)
            error, weight, changed = self._round(source, member, y, n_classes, weights, random)
            is_useless = not weight > 0.0
            if is_useless and members:
                break
            total = float(changed.sum())
            is_finite = np.isfinite(total)
            weights = changed / total if is_finite else changed
            members.append(member)
            kept = weights if keeps_weights else None
            stages.append(Stage(number, error, 1.0 if is_useless else weight, total, kept))
            tick(1)
            if is_useless:
                self._warn_of_error(error)
            if not is_finite:
                warn_user(
                    f"Sample weights have reached infinite values after stage {number}, and boosting stopped there; "
                    "lower the learning rate",
                )
            if is_useless or error == 0.0 or not is_finite:
                break
        return Members(members, stages)

    def _warn_of_error(self, error: float) -> None:
        warn_user(
            f"the first member has an error of {error:.3f}, too large to boost, so it is "
            "the only member; give a stronger estimator, such as a deeper tree",
        )

    def _keep(self, found: Members, source: Any, classes: np.ndarray) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if len(classes):
            self.classes_ = classes
            self.n_classes_ = len(classes)
        if source.n_features is not None:
            self.n_features_in_ = source.n_features
        if source.names is not None:
            self.feature_names_in_ = source.names
        self.stages_ = found.stages
        self.estimator_weights_ = np.array([stage.weight for stage in found.stages])
        self.estimator_errors_ = np.array([stage.error for stage in found.stages])
        self.estimators_ = found.estimators

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the members' importances, weighted by `estimator_weights_`."""
        check_is_fitted(self)
        if not all(hasattr(member, "feature_importances_") for member in self.estimators_):
            raise AttributeError(f"{type(self.estimators_[0]).__name__} has no feature_importances_")
        by_member = np.array([member.feature_importances_ for member in self.estimators_])
        return np.average(by_member, axis=0, weights=self.estimator_weights_)

    def member_predictions(self, X: Any) -> np.ndarray:
        """The prediction of each member for each row, in the user's classes."""
        predictions = np.array(list(self._predictions_in_turn(X)))
        return self.classes_[predictions] if is_classifier(self) else predictions

    def _predictions_in_turn(self, X: Any) -> Iterator[np.ndarray]:
        """The predictions of the members in turn: numbers, or positions in `classes_`; trees read X once."""
        check_is_fitted(self)
        first = self.estimators_[0]
        if reads_once(first):
            values = self._read_rows(X, first)
            return (predictions_in_values(member, values) for member in self.estimators_)
        rows, classes = open_rows(X), getattr(self, "classes_", np.empty(0))
        return (predictions_in_codes(member, rows, classes) for member in self.estimators_)

    def _read_rows(self, X: Any, member: TreeLearner) -> np.ndarray:
        columns = member.tree_.columns
        values = read_like(
            X,
            columns,
            named=hasattr(self, "feature_names_in_"),
            learner=type(self).__name__,
            numeric_features=member.numeric_features,
            keep_sparse=True,
        )
        if member.tree_.unseen == "error":
            refuse_unseen(columns, values, X, TableLearner.other_unseen)
        if is_text(member.missing, "error"):
            refuse_missing(columns, values)
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


@documented("meta", "adaboost", "classes")
class AdaBoostClassifier(LogProbabilities, ClassifierMixin, AdaBoost):
    """AdaBoost for classes, in the SAMME form for any number of classes.

    All rows start with the same weight. Each round fits a member to the weighted rows and computes its error, the
    fraction of the weight that it misclassifies. With K classes, the weight of the member in the vote is
    `weight = learning_rate * (log((1 - error) / error) + log(K - 1))`. The weights of the misclassified rows are
    multiplied by exp(weight); then all row weights are divided by their sum.

    References
    ----------
    Y. Freund, R. Schapire, "A decision-theoretic generalization of on-line learning and an application to boosting",
    1997. J. Zhu, H. Zou, S. Rosset, T. Hastie, "Multi-class AdaBoost", 2009.

    Examples
    --------
    >>> from treewright import AdaBoostClassifier
    >>> model = AdaBoostClassifier(n_estimators=2).fit({"x": [1, 2, 3, 4, 5]}, ["a", "a", "b", "a", "a"])
    >>> model.stages_
    stage  error     weight    total of weights
        1  0.2000    1.3863    1.6000
        2  0.2500    1.0986    1.5000
    >>> model.stages_[0].weights
    array([0.125, 0.125, 0.5  , 0.125, 0.125])
    >>> model.predict({"x": [3, 9]}).tolist()
    ['a', 'a']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The class with the highest weight in the vote."""
        return self._named(self._votes(X))

    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """The class probabilities, in the order of `classes_`: the softmax of the votes (Zhu et al., equation 15)."""
        return self._shares(self._votes(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """The votes: for each class between -1/(K-1), all members against it, and 1, all for it.

        For two classes one number per row: that of the second class less that of the first, from -2 to 2.
        """
        return self._decision(self._votes(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The result of `predict` after each stage."""
        return map(self._named, self._staged_votes(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """The result of `predict_proba` after each stage."""
        return map(self._shares, self._staged_votes(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """The result of `decision_function` after each stage."""
        return map(self._decision, self._staged_votes(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the fraction of rows whose class is predicted correctly."""
        labels, classes = read_classes(y)
        return float(super().score(X, classes[labels], sample_weight))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The accuracy after each stage."""
        labels, classes = read_classes(y)
        weights = read_weights(sample_weight, len(labels))
        for predicted in self.staged_predict(X):
            yield float(np.average(predicted == classes[labels], weights=weights))

    def _staged_votes(self, X: Any) -> Iterator[np.ndarray]:
        """The weight for each class minus that against it, divided by the total weight; after each stage."""
        check_is_fitted(self)
        n_classes, total = self.n_classes_, 0.0
        in_favour: np.ndarray | None = None
        for predictions, weight in zip(self._predictions_in_turn(X), self.estimator_weights_, strict=True):
            in_favour = np.zeros((len(predictions), n_classes)) if in_favour is None else in_favour
            in_favour[np.arange(len(predictions)), predictions] += weight
            total += weight
            yield (n_classes * (in_favour / total) - 1.0) / (n_classes - 1) if n_classes > 1 else in_favour / total

    def _votes(self, X: Any) -> np.ndarray:
        *_, last = self._staged_votes(X)
        return last

    def _named(self, votes: np.ndarray) -> np.ndarray:
        return self.classes_[votes.argmax(axis=1)]

    def _decision(self, votes: np.ndarray) -> np.ndarray:
        return votes[:, 1] - votes[:, 0] if self.n_classes_ == 2 else votes

    def _shares(self, votes: np.ndarray) -> np.ndarray:
        powers = exp_of((votes - votes.max(axis=1, keepdims=True)) / max(self.n_classes_ - 1, 1))
        return powers / powers.sum(axis=1, keepdims=True)

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        return read_classes(y)

    def _default(self) -> TreeLearner:
        return DecisionTreeClassifier(max_depth=1)

    def _check_parameters(self) -> Any:
        base = super()._check_parameters()
        if not has_fit_parameter(base, "sample_weight"):
            raise ValueError(
                f"{type(base).__name__} doesn't support sample_weight, which boosting needs; "
                "give an estimator that does"
            )
        return base

    def _round(
        self,
        source: Any,
        member: Any,
        y: np.ndarray,
        n_classes: int,
        weights: np.ndarray,
        random: np.random.RandomState,
    ) -> tuple[float, float, np.ndarray]:
        is_wrong = source.fit(member, weights) != y
        error = float(np.average(is_wrong, weights=weights))
        if error <= 0.0:
            return 0.0, 1.0, weights
        if error >= 1.0 - 1.0 / n_classes:
            return error, 0.0, weights
        weight = self.learning_rate * float(log_of((1.0 - error) / error) + log_of(n_classes - 1.0))
        with np.errstate(over="ignore"):
            return error, weight, weights * exp_of(weight * is_wrong)


@documented("meta", "adaboost", "numbers")
class AdaBoostRegressor(RegressorMixin, AdaBoost):
    """AdaBoost for numbers (AdaBoost.R2).

    Each round draws as many rows as the table has, with replacement and by weight, and fits a member to them. The loss
    L of a row is its absolute error divided by the largest one; the error is the weighted mean of the losses. With
    `beta = error / (1 - error)`, the weight of the member is `learning_rate * log(1 / beta)`. Each row weight is
    multiplied by `beta ** (learning_rate * (1 - L))`, so rows with small losses count less. The model predicts the
    weighted median of the members' predictions.

    With the same estimator of scikit-learn and the same `random_state`, members and predictions are those of
    scikit-learn's AdaBoostRegressor. Trees of this library get a row that was drawn twice as a row of weight 2.

    References
    ----------
    H. Drucker, "Improving regressors using boosting techniques", 1997.

    Examples
    --------
    >>> from treewright import AdaBoostRegressor
    >>> days = {"sky": ["sunny", "sunny", "rainy", "sunny", None], "wind": [3, 5, 9, 2, 8]}
    >>> model = AdaBoostRegressor(n_estimators=10, random_state=0).fit(days, [0.9, 0.8, 0.1, 0.85, 0.2])
    >>> model.predict({"sky": ["rainy"], "wind": [9]})
    array([0.1])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The weighted median of the members' predictions."""
        return self._median(np.array(list(self._predictions_in_turn(X))))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The result of `predict` after each stage."""
        predictions = np.array(list(self._predictions_in_turn(X)))
        return (self._median(predictions[: stage + 1]) for stage in range(len(predictions)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination: 1 is perfect, 0 is as good as predicting the mean."""
        return float(super().score(X, read_numbers(y), sample_weight))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The coefficient of determination after each stage."""
        from sklearn.metrics import r2_score

        numbers = read_numbers(y)
        for predicted in self.staged_predict(X):
            yield float(r2_score(numbers, predicted, sample_weight=sample_weight))

    def _median(self, predictions: np.ndarray) -> np.ndarray:
        """The weighted median: the first prediction in ascending order at which half of the weight is reached."""
        order = np.argsort(predictions, axis=0)
        passed = np.cumsum(self.estimator_weights_[: len(predictions)][order], axis=0)
        middle = (passed >= 0.5 * passed[-1]).argmax(axis=0)
        columns = np.arange(predictions.shape[1])
        return predictions[order[middle, columns], columns]

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        return read_numbers(y), np.empty(0)

    def _default(self) -> TreeLearner:
        return DecisionTreeRegressor(max_depth=3)

    def _check_parameters(self) -> Any:
        if not isinstance(self.loss, str) or self.loss not in LOSSES:
            raise parameter_error("loss", self.loss, "'linear', 'square' or 'exponential'")
        return super()._check_parameters()

    def _round(
        self,
        source: Any,
        member: Any,
        y: np.ndarray,
        n_classes: int,
        weights: np.ndarray,
        random: np.random.RandomState,
    ) -> tuple[float, float, np.ndarray]:
        sample = random.choice(len(weights), size=len(weights), replace=True, p=weights)
        losses = self._losses(np.abs(source.fit_sample(member, sample) - y), weights > 0.0)
        error = float((weights * losses).sum())
        if error <= 0.0:
            return 0.0, 1.0, weights
        if error >= 0.5:
            return error, 0.0, weights
        beta = error / (1.0 - error)
        weight = self.learning_rate * float(log_of(1.0 / beta))
        return error, weight, weights * exp_of(-weight * (1.0 - losses))

    def _losses(self, distances: np.ndarray, counts: np.ndarray) -> np.ndarray:
        distances = np.where(counts, distances, 0.0)
        largest = distances.max()
        losses = distances / largest if largest > 0.0 else distances
        if self.loss == "square":
            return losses**2
        return 1.0 - exp_of(-losses) if self.loss == "exponential" else losses
