"""Bagging: members that are fitted to different samples of rows and columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from treewright.engines.forest.engine import Bagging, seed_of_tree
from treewright.estimators.base import (
    ClassPredictions,
    CountedEnsemble,
    NumberPredictions,
    TableLearner,
    Training,
    predict_rows,
    read_table,
)
from treewright.estimators.chunks import by_chunks
from treewright.estimators.forest.base import count_draws
from treewright.estimators.meta.bagging_data import (
    DECLARATIONS,
    Draws,
    MemberFrames,
    TreeRows,
    WeightedDraws,
    for_member,
)
from treewright.estimators.meta.preparing import model_of, takes_sparse
from treewright.estimators.meta.routing import check_metadata, route_prediction, route_to_member
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import (
    check_progress,
    is_real,
    is_whole,
    parameter_error,
    shows_progress,
    store_parameters,
)
from treewright.estimators.random_state import draw_seed
from treewright.estimators.single.base import TreeLearner
from treewright.estimators.single.trees import DecisionTreeClassifier, DecisionTreeRegressor
from treewright.estimators.weights import read_costs
from treewright.runtime.progress import follow, interruptible
from treewright.runtime.sums import product
from treewright.runtime.threads import run_interruptibly, usable_threads
from treewright.table.column import Column
from treewright.table.selection import names_of, open_table, take_columns
from treewright.table.sparse import in_rows
from treewright.table.user_warnings import warn_user
from treewright.tree import Target

# Attributes of a fitted model that depend on `oob_score`.
_OPTIONAL = ("oob_score_", "oob_decision_function_", "oob_prediction_")


class BaggingLearner(CountedEnsemble, MetaEstimatorMixin, TableLearner):
    """Shared base of bagging for classes and for numbers."""

    _default_base: ClassVar[type]

    # A parameter that random subspaces leave out of their signature.
    warm_start: bool = False

    # The metadata of a prediction, by the method of the members that requests it.
    _options: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **metadata: Any) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : table
            A pandas, polars or arrow frame, an array, a sparse matrix, a dict of columns, or a list of rows.
        y : one value per row
            The target.
        sample_weight : one number per row, a single number or None
            A row of weight 2 is drawn as often as two rows. Without replacement, the weights reach the members. A row
            of weight 0 is left out.
        **metadata
            Handed to the members if they request it, if metadata routing is enabled.
        """
        check_metadata(self, "fit", metadata, ["sample_weight"])
        base = self._check_parameters()
        reads_once = isinstance(base, TreeLearner) and type(base).fit is TreeLearner.fit
        table = read_table(self._reader(base) if reads_once else self, X)
        training = self._read_training(table, y, sample_weight)
        earlier = self._earlier(training)
        draws = self._draws(training, has_members=bool(earlier))
        if isinstance(draws, WeightedDraws):
            training = replace(training, weights=np.ones(len(training.y)))
        source: TreeRows | MemberFrames
        if reads_once:
            source = TreeRows(base, table, training)
        else:
            requested = route_to_member(self, metadata)
            source = MemberFrames(base, X, training, self.numeric_features is not None, requested)
        # Attributes are set at the end, so that an error or Ctrl-C leaves the model unchanged.
        fitted = copy(self)
        for name in _OPTIONAL:
            fitted.__dict__.pop(name, None)
        fitted._keep_names(table)
        fitted._keep_classes(training.classes)
        fitted.n_features_in_ = len(table.columns)
        fitted.columns_, fitted.target_ = training.columns, training.target
        fitted.data_digest_ = training.digest
        fitted.draws_, fitted.rows_ = draws, None if training.kept is None else np.flatnonzero(training.kept)
        fitted.reads_once_, fitted.estimator_ = reads_once, base
        fitted.estimators_features_ = [draws.columns_of(member) for member in range(self.n_estimators)]
        fitted.estimators_ = [*earlier, *self._fit_members(source, base, draws, len(earlier))]
        if self.oob_score:
            interruptible(lambda: fitted._score_out_of_bag(source.open(training), training))
        self.__dict__ = fitted.__dict__
        return self

    def get_metadata_routing(self) -> Any:
        """The metadata that the estimator requests."""
        base, methods = self._base(), MethodMapping().add(caller="fit", callee="fit")
        is_soft = is_classifier(self) and self.voting == "soft" and hasattr(base, "predict_proba")
        for caller in ("predict", "predict_proba", "predict_log_proba"):
            if hasattr(self, caller):
                methods.add(caller=caller, callee="predict_proba" if is_soft else "predict")
        if hasattr(base, "decision_function"):
            methods.add(caller="decision_function", callee="decision_function")
        return MetadataRouter(owner=self).add(estimator=base, method_mapping=methods)

    def _with_metadata(self, method: str, metadata: Mapping[str, Any]) -> Self:
        """The model, or a copy whose members get the metadata of a prediction that they request."""
        if not metadata:
            return self
        routed = copy(self)
        routed._options = route_prediction(self, method, metadata)
        return routed

    def _options_of(self, method: str) -> Mapping[str, Any]:
        return self._options.get(method, {})

    def _earlier(self, training: Training) -> list[Any]:
        """The members to add to, none without `warm_start`."""
        if not self.warm_start or not hasattr(self, "estimators_"):
            return []
        drawn = (self.draws_.n_rows, self.draws_.n_columns)
        if training.columns != self.columns_ or training.target != self.target_ or drawn != training.values.shape:
            raise ValueError("warm_start adds members of the same table; set warm_start=False to begin anew")
        n_members = len(self.estimators_)
        if self.n_estimators < n_members:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_members} "
                "when warm_start==True, because members can only be added"
            )
        if self.n_estimators == n_members:
            warn_user(
                f"Warm-start fitting without increasing n_estimators does not fit new trees: there are {n_members}",
            )
        return list(self.estimators_)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows that each member was fitted to, as often as they were drawn."""
        check_is_fitted(self)
        rows = np.arange(self.draws_.n_rows) if self.rows_ is None else self.rows_
        return [np.repeat(rows, self.draws_.counts(member)) for member in range(len(self.estimators_))]

    @property
    def feature_importances_(self) -> np.ndarray:
        """The importances of the columns to the members that have them, averaged."""
        check_is_fitted(self)
        totals = np.zeros(self.n_features_in_)
        for member, places in zip(self.estimators_, self.estimators_features_, strict=True):
            if not hasattr(member, "feature_importances_"):
                raise AttributeError(f"{type(member).__name__} has no feature_importances_")
            np.add.at(totals, places, member.feature_importances_)
        return totals / totals.sum() if totals.sum() > 0.0 else totals

    @property
    def missing(self) -> Any:
        """How missing values are treated by the estimator."""
        base = self._base()
        return base.missing if isinstance(base, TableLearner) else None

    def _unseen(self) -> str:
        base = self._base()
        return str(base.unseen) if isinstance(base, TableLearner) else "as_missing"

    def _columns(self) -> tuple[Column, ...]:
        return self.columns_

    def _target(self) -> Target:
        return self.target_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self._base())
        return tags

    def _base(self) -> Any:
        return self._default_base() if self.estimator is None else self.estimator

    def _check_parameters(self) -> Any:
        """Check the parameters that do not depend on the table; returns the estimator to fit."""
        check_progress(self)
        if not is_whole(self.n_estimators, 1):
            raise parameter_error("n_estimators", self.n_estimators, "a whole number of 1 or more")
        for name in ("replace", "replace_features", "warm_start"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise parameter_error(name, getattr(self, name), "True or False")
        if not isinstance(self.oob_score, bool | np.bool_) and not callable(self.oob_score):
            raise parameter_error("oob_score", self.oob_score, "True, False, or a function of target and prediction")
        if self.n_jobs is not None and not (is_whole(self.n_jobs, -(2**31)) and self.n_jobs):
            raise parameter_error("n_jobs", self.n_jobs, "a whole number other than 0, or None")
        base = self._base()
        kind = "classifier" if is_classifier(self) else "regressor"
        if isinstance(base, type) or not hasattr(base, "fit") or not hasattr(base, "get_params"):
            raise parameter_error("estimator", base, f"a {kind}, such as {self._default_base.__name__}()")
        if is_regressor(base) if is_classifier(self) else is_classifier(base):
            raise parameter_error("estimator", base, f"a {kind}")
        is_ours = isinstance(base, TableLearner)
        declared = [name for name in DECLARATIONS if is_ours and getattr(base, name) is not None]
        if declared:
            raise ValueError(
                f"{declared[0]} is set on the estimator; set it on {type(self).__name__}, which reads the table"
            )
        return base

    def _reader(self, base: Any) -> Any:
        """A tree learner that reads the table like the base, with the declared kinds of the columns."""
        known = base.get_params(deep=False)
        return clone(base).set_params(**{name: getattr(self, name) for name in DECLARATIONS if name in known})

    def _draws(self, training: Training, *, has_members: bool = False) -> Draws:
        n_rows, n_columns = training.values.shape
        by_weight = bool(self.replace) and bool((training.weights != training.weights[0]).any())
        n_drawn = count_draws("max_samples", self.max_samples, n_rows, training.weights if by_weight else None)
        if not self.replace and n_drawn > n_rows:
            raise ValueError(
                f"max_samples is {n_drawn} of {n_rows} rows, which needs replace=True; give a share up to 1.0"
            )
        rows = Bagging(n_drawn, bool(self.replace))
        if not self.replace and n_drawn == n_rows:
            rows = Bagging()
        if self.oob_score and rows.n_draws == 0:
            raise ValueError(
                "oob_score needs rows that a member was not fitted to; set replace=True or lower max_samples"
            )
        n_seen = self._count_columns(n_columns)
        columns = Bagging(n_seen, bool(self.replace_features))
        if not self.replace_features and n_seen == n_columns:
            columns = Bagging()
        seed = self.draws_.seed if has_members else draw_seed(self.random_state)
        drawn = (seed, n_rows, n_columns, rows, columns)
        return WeightedDraws(*drawn, training.weights) if by_weight else Draws(*drawn)

    def _count_columns(self, n_columns: int) -> int:
        size = self.max_features
        if is_whole(size, 1) and size <= n_columns:
            return int(size)
        if is_real(size) and not is_whole(size, 0) and 0.0 < size <= 1.0:
            return max(1, int(size * n_columns))
        raise parameter_error("max_features", size, f"a number of columns up to {n_columns}, or a share of them")

    def _fit_members(self, source: TreeRows | MemberFrames, base: Any, draws: Draws, first: int) -> list[Any]:
        settings = get_config()
        # Threads may change the filters of warnings, which are restored at the end.
        with (
            follow("fitting members", self.n_estimators - first, shows_progress(self)) as tick,
            warnings.catch_warnings(),
        ):

            def fit_one(number: int) -> Any:
                member = clone(base)
                seed = int(seed_of_tree(draws.seed, number) >> np.uint64(33))
                names = [name for name in member.get_params() if name.split("__")[-1] == "random_state"]
                member.set_params(**dict.fromkeys(names, seed))
                with config_context(**settings):
                    fitted = source.fit(member, draws.counts(number), draws.columns_of(number))
                tick(1)
                return fitted

            n_threads, stop = self._count_threads(isinstance(source, TreeRows)), np.zeros(1, np.uint8)
            found: list[Any] = interruptible(
                lambda: run_interruptibly(fit_one, range(first, self.n_estimators), n_threads, stop)
            )
            return found

    def _count_threads(self, reads_once: bool) -> int:
        """One thread by default for other estimators, which may change the shared filters of warnings."""
        return min(usable_threads(self.n_jobs) if reads_once or self.n_jobs is not None else 1, self.n_estimators)

    def _predictions(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        total: Any = 0.0
        for predictions in self._predict_members(self._open(X)):
            total = total + predictions
        return np.asarray(total / len(self.estimators_))

    def member_predictions(self, X: Any) -> np.ndarray:
        """The prediction of each member: [member, row, output]."""
        check_is_fitted(self)
        return np.stack(list(self._predict_members(self._open(X))))

    def _open(self, X: Any) -> Any:
        """The table as members read it, with the columns in the order of training."""
        values = self._read_rows(X)
        if self.reads_once_:
            return values
        table = open_table(X)
        names = names_of(table)
        learned = [column.name for column in self.columns_]
        if names is None or not hasattr(self, "feature_names_in_") or names == learned or not set(learned) <= {*names}:
            return table
        return take_columns(table, np.array([names.index(name) for name in learned]))

    def _predict_members(self, rows: Any) -> Iterator[np.ndarray]:
        """The predictions of the members in turn, for a table that has been opened; several are computed at a time."""
        pairs = list(zip(self.estimators_, self.estimators_features_, strict=True))
        settings = get_config()

        def predict(number: int) -> np.ndarray:
            member, places = pairs[number]
            with config_context(**settings):
                if self.reads_once_:
                    return self._predict_tree(member, in_rows(rows[:, places]))
                return self._predict_member(member, for_member(member, take_columns(rows, places)))

        n_threads = self._count_threads(self.reads_once_)
        for first in range(0, len(pairs), n_threads):
            numbers = range(first, min(first + n_threads, len(pairs)))
            yield from run_interruptibly(predict, numbers, n_threads, np.zeros(1, np.uint8))

    def _predict_tree(self, member: TreeLearner, values: np.ndarray) -> np.ndarray:
        return predict_rows(member, values)

    def _predict_member(self, member: Any, X: Any) -> np.ndarray:
        raise NotImplementedError

    def _score_out_of_bag(self, rows: Any, training: Training) -> None:
        """Compute the out-of-bag predictions and their score; NaN where every member was fitted to the row."""
        total, n_predictions = np.zeros(0), np.zeros((len(training.y), 1))
        for member, predictions in enumerate(self._predict_members(rows)):
            unseen = (self.draws_.counts(member) == 0)[:, None]
            total = np.where(unseen, predictions, 0.0) + (total if len(total) else 0.0)
            n_predictions += unseen
        known = n_predictions[:, 0] > 0.0
        if not known.any():
            raise ValueError("every member was fitted to every row, so no row is out of bag; fit more members")
        if not known.all():
            warn_user(
                "Some inputs do not have OOB scores. This probably means too few estimators were used to compute any "
                f"reliable oob estimates. {int((~known).sum())} of {len(known)} rows are in every bag."
            )
        means = np.divide(total, n_predictions, out=np.full_like(total, np.nan), where=n_predictions > 0.0)
        everywhere = means
        if training.kept is not None:
            everywhere = np.full((len(training.kept), means.shape[1]), np.nan)
            everywhere[training.kept] = means
        self._keep_out_of_bag(everywhere, means[known], training.y[known])

    def _keep_out_of_bag(self, everywhere: np.ndarray, predictions: np.ndarray, truth: np.ndarray) -> None:
        raise NotImplementedError


@documented("meta", "bagging", "classes", "out_of_bag")
class BaggingClassifier(ClassPredictions, BaggingLearner):
    """Bagging for classes: members fitted to samples of rows and columns, which vote (Breiman 1996).

    Examples
    --------
    >>> from treewright import BaggingClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> model = BaggingClassifier(n_estimators=25, oob_score=True, random_state=0).fit(iris.X, iris.y)
    >>> round(model.oob_score_, 2)
    0.93
    """

    _default_base = DecisionTreeClassifier

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 50,
        *,
        max_samples: int | float | None = None,
        max_features: int | float = 1.0,
        replace: bool = True,
        replace_features: bool = False,
        voting: str = "soft",
        oob_score: Any = False,
        warm_start: bool = False,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any, **metadata: Any) -> np.ndarray:
        """The class of each row: the most likely one, or the one with the least expected cost.

        Metadata goes to the members that request it, if metadata routing is enabled.
        """
        return super(BaggingClassifier, self._with_metadata("predict", metadata)).predict(X)

    @by_chunks
    def predict_proba(self, X: Any, **metadata: Any) -> Any:
        """The probability of each class for each row, in the order of `classes_`."""
        return super(BaggingClassifier, self._with_metadata("predict_proba", metadata)).predict_proba(X)

    def predict_log_proba(self, X: Any, **metadata: Any) -> Any:
        """The natural logarithm of `predict_proba`; minus infinity for a class whose probability is zero."""
        return super(BaggingClassifier, self._with_metadata("predict_log_proba", metadata)).predict_log_proba(X)

    def _check_parameters(self) -> Any:
        if not isinstance(self.voting, str) or self.voting not in ("soft", "hard"):
            raise parameter_error("voting", self.voting, "'soft' or 'hard'")
        return super()._check_parameters()

    @available_if(lambda model: hasattr(model._base(), "decision_function"))
    def decision_function(self, X: Any, **metadata: Any) -> np.ndarray:
        """The mean of the members' decision functions, if they have one and were fitted to the same classes."""
        check_is_fitted(self)
        options = self._with_metadata("decision_function", metadata)._options_of("decision_function")
        if any(len(member.classes_) < len(self.classes_) for member in self.estimators_):
            raise ValueError(
                "some members were fitted to samples without rows of a class, so that their decision functions "
                "cannot be averaged; use predict_proba"
            )
        rows = self._open(X)
        pairs = zip(self.estimators_, self.estimators_features_, strict=True)
        scores = [
            np.asarray(member.decision_function(for_member(member, take_columns(rows, places)), **options))
            for member, places in pairs
        ]
        return np.asarray(np.mean(scores, axis=0))

    def _choose(self, shares: np.ndarray) -> np.ndarray:
        """The predicted labels; with misclassification costs, those of the least expected cost."""
        base = self._base()
        costs = read_costs(
            base.misclassification_costs if isinstance(base, TreeLearner) else None, list(self.target_.classes)
        )
        if costs is None or self.voting == "hard":
            return super()._choose(shares)
        expected = np.full(shares.shape, np.inf)
        learned = self._labels_of_classes()
        expected[:, learned] = product(shares, costs)[:, learned]
        return np.asarray(expected.argmin(axis=1))

    def _predict_tree(self, member: TreeLearner, values: np.ndarray) -> np.ndarray:
        shares = predict_rows(member, values)
        return shares if self.voting == "soft" else np.eye(shares.shape[1])[member.tree_.labels_for(shares)]

    def _predict_member(self, member: Any, X: Any) -> np.ndarray:
        """A member's class probabilities by this model's labels; 0 for a class that its rows did not have."""
        label_of = {name: label for label, name in enumerate(self.target_.classes)}
        if self.voting == "hard" or not hasattr(member, "predict_proba"):
            named = np.asarray(member.predict(X, **self._options_of("predict"))).tolist()
            strange = [name for name in named if name not in label_of]
            if strange:
                raise ValueError(
                    f"{type(model_of(member)).__name__} predicts {strange[0]!r}, which is none of the classes of y; "
                    "give an estimator that predicts them"
                )
            return np.eye(len(label_of))[[label_of[name] for name in named]]
        shares = np.asarray(member.predict_proba(X, **self._options_of("predict_proba")))
        predictions = np.zeros((len(shares), len(label_of)))
        predictions[:, [label_of[name] for name in member.classes_.tolist()]] = shares
        return predictions

    def member_predictions(self, X: Any) -> np.ndarray:
        """The prediction of each member: [member, row], and probabilities in the order of `classes_`."""
        return super().member_predictions(X)[:, :, self._labels_of_classes()]

    def _keep_out_of_bag(self, everywhere: np.ndarray, predictions: np.ndarray, truth: np.ndarray) -> None:
        self.oob_decision_function_ = everywhere[:, self._labels_of_classes()]
        score: Callable[..., float] = self.oob_score if callable(self.oob_score) else accuracy_score
        named = self._named(self._choose(predictions))
        self.oob_score_ = float(score(self._named(truth.astype(np.intp)), named))


@documented("meta", "bagging", "numbers", "out_of_bag")
class BaggingRegressor(NumberPredictions, BaggingLearner):
    """Bagging for numbers: members fitted to samples of rows and columns, which are averaged (Breiman 1996).

    Examples
    --------
    >>> from treewright import BaggingRegressor
    >>> model = BaggingRegressor(n_estimators=10, random_state=0)
    >>> model.fit({"rooms": [1, 2, 3, 4] * 5}, [10, 12, 20, 22] * 5).predict({"rooms": [1, 4]})
    array([10., 22.])
    """

    _default_base = DecisionTreeRegressor

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 50,
        *,
        max_samples: int | float | None = None,
        max_features: int | float = 1.0,
        replace: bool = True,
        replace_features: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any, **metadata: Any) -> np.ndarray:
        """The predicted number of each row: the mean of the members' predictions.

        Metadata goes to the members that request it, if metadata routing is enabled.
        """
        return super(BaggingRegressor, self._with_metadata("predict", metadata)).predict(X)

    def _predict_member(self, member: Any, X: Any) -> np.ndarray:
        found = member.predict(X, **self._options_of("predict"))
        return np.asarray(found, dtype=np.float64).reshape(-1, 1)

    def member_predictions(self, X: Any) -> np.ndarray:
        return super().member_predictions(X)[:, :, 0]

    def _keep_out_of_bag(self, everywhere: np.ndarray, predictions: np.ndarray, truth: np.ndarray) -> None:
        self.oob_prediction_ = everywhere[:, 0]
        score: Callable[..., float] = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = float(score(truth, predictions[:, 0]))


@documented("meta", "bagging", "subspace", "classes")
class RandomSubspaceClassifier(BaggingClassifier):
    """Random subspaces for classes: members fitted to all rows and a random sample of the columns (Ho 1998).

    Examples
    --------
    >>> from treewright import RandomSubspaceClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> RandomSubspaceClassifier(random_state=0).fit(iris.X, iris.y).score(iris.X, iris.y)
    1.0
    """

    # All rows, each once.
    replace, max_samples, replace_features, oob_score = False, None, False, False

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 50,
        *,
        max_features: int | float = 0.5,
        voting: str = "soft",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())


@documented("meta", "bagging", "subspace", "numbers")
class RandomSubspaceRegressor(BaggingRegressor):
    """Random subspaces for numbers: members fitted to all rows and a random sample of the columns (Ho 1998).

    Examples
    --------
    >>> from treewright import RandomSubspaceRegressor
    >>> table = {"rooms": [1, 2, 3, 4] * 5, "floor": [4, 3, 2, 1] * 5}
    >>> RandomSubspaceRegressor(random_state=0).fit(table, [10, 12, 20, 22] * 5).predict({"rooms": [1], "floor": [4]})
    array([10.])
    """

    replace, max_samples, replace_features, oob_score = False, None, False, False

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 50,
        *,
        max_features: int | float = 0.5,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())
