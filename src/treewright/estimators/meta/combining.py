"""Shared base of voting, stacking and averaging: members of different kinds, and a table that all can read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_feature_names_in

from treewright.estimators.base import Ensemble
from treewright.estimators.data_digest import digest_of_frame
from treewright.estimators.equivalents import NamesExplained
from treewright.estimators.meta.preparing import (
    PreparedMember,
    TablePreparer,
    model_of,
    prepared,
    takes_sparse,
    takes_weights,
)
from treewright.estimators.meta.routing import check_metadata, fit_router, routes_metadata, take_metadata
from treewright.estimators.parameters import check_progress, shows_progress
from treewright.estimators.single import CARTClassifier, CARTRegressor
from treewright.estimators.weights import read_weights
from treewright.runtime.progress import follow, interruptible
from treewright.table import read_classes, read_numbers
from treewright.table.argument_error import ArgumentError, UnsupportedTargetError
from treewright.table.selection import open_rows
from treewright.table.source import open_source
from treewright.table.target import split_target

Named = list[tuple[str, Any]]

FOLDS = 5

# An exact support vector machine takes time in the square of the rows; above so many, its kernel is approximated.
MOST_ROWS_OF_EXACT_KERNEL = 10_000
KERNEL_POINTS = 300


class Deal:
    """Assigns rows to folds, in the same way each time.

    The only row of a class is also in the training rows of its own fold: no member could predict a class that it was
    not fitted to.

    Parameters
    ----------
    n_folds : int, default=5
        At most; no more than there are rows.
    by_class : bool, default=True
        Whether the target is classes, which have the same fraction in every fold.

    >>> for learned, left_out in Deal(2).split([[1], [2], [3], [4], [5]], ["a", "a", "b", "b", "c"]):
    ...     print(learned, left_out)
    [1 3 4] [0 2 4]
    [0 2 4] [1 3]
    """

    def __init__(self, n_folds: int = FOLDS, *, by_class: bool = True) -> None:
        self.n_folds = n_folds
        self.by_class = by_class

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The training rows and the test rows of each fold."""
        n_rows = len(y)
        labels = np.unique(y, return_inverse=True)[1] if self.by_class else np.zeros(n_rows, dtype=np.intp)
        is_alone = np.bincount(labels)[labels] == 1
        order = np.random.RandomState(0).permutation(n_rows)
        order = order[np.argsort(labels[order], kind="stable")]
        fold = np.empty(n_rows, dtype=np.intp)
        fold[order] = np.arange(n_rows) % self.get_n_splits(X, y)
        for number in range(self.get_n_splits(X, y)):
            yield np.flatnonzero((fold != number) | is_alone), np.flatnonzero(fold == number)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_folds if y is None else max(min(self.n_folds, len(y)), 1)

    def __repr__(self) -> str:
        return f"Deal({self.n_folds}, by_class={self.by_class})"


@dataclass(frozen=True, eq=False)
class Task:
    """The training rows of the members: those with a positive weight, and the target."""

    X: Any
    y: np.ndarray  # classes in the user's own type, or numbers, or a column of 0 and 1 per label
    classes: np.ndarray  # empty for numbers and labels
    weights: np.ndarray | None  # None if there are none
    metadata: Mapping[str, Any]  # for the members that request it
    names: np.ndarray | None
    n_features: int
    digest: str | None  # of the user's table with target and weights

    def deal(self) -> Deal:
        """The default folds."""
        if len(self.y) < 2:
            raise ValueError("cross-validation of the members needs two rows or more; X has 1 sample")
        return Deal(by_class=len(self.classes) > 0)

    def fit_options(self) -> dict[str, Any]:
        return {**self.metadata, **({} if self.weights is None else {"sample_weight": self.weights})}


def has_labels(y: Any) -> bool:
    """Whether a row of the target may have several labels, with a column of 0 and 1 for each.

    >>> has_labels([[0, 1], [1, 1]]), has_labels([0, 1]), has_labels(["a", "b"])
    (True, False, False)
    """
    return split_target(y) is not None and type_of_target(np.asarray(y)) == "multilabel-indicator"


def default_members(task: Task, *, shares: bool = False) -> Named:
    """k-nearest neighbours, a decision tree and a support vector machine, of a size that fits the table.

    Parameters
    ----------
    task : Task
    shares : bool, default=False
        Whether all members need class probabilities.
    """
    # A fold of five leaves out a fifth of the rows, and of two a half.
    n_neighbours = max(1, min(5, len(task.y) // 2))
    if not len(task.classes):
        nearest = KNeighborsRegressor(n_neighbours)
        return [("nearest", _scaled(nearest)), ("tree", CARTRegressor()), ("svm", _support_vectors(task, shares))]
    nearest = KNeighborsClassifier(n_neighbours)
    return [("nearest", _scaled(nearest)), ("tree", CARTClassifier()), ("svm", _support_vectors(task, shares))]


def _scaled(*models: Any) -> PreparedMember:
    """A model, or a kernel and a model, for columns on one scale."""
    *kernels, model = models
    steps = [("prepare", TablePreparer()), *(("kernel", kernel) for kernel in kernels), ("model", model)]
    return PreparedMember(steps)


def _support_vectors(task: Task, shares: bool) -> Any:
    is_large = len(task.y) > MOST_ROWS_OF_EXACT_KERNEL
    kernels = [Nystroem(n_components=KERNEL_POINTS, random_state=0)] if is_large else []
    if not len(task.classes):
        machine = LinearSVR(random_state=0) if is_large else SVR()
        # Its default tolerance is meant for numbers around 1.
        model = TransformedTargetRegressor(machine, transformer=StandardScaler())
    else:
        model = LinearSVC(random_state=0) if is_large else SVC()
        if shares:
            model = CalibratedClassifierCV(model, ensemble=False, cv=Deal())
    return _scaled(*kernels, model)


class Combination(NamesExplained, Ensemble, MetaEstimatorMixin, _BaseComposition, BaseEstimator):
    """Shared base of the ensembles with members of different kinds."""

    # Whether a row may have several labels: a target of several columns of 0 and 1.
    _takes_labels: ClassVar[bool] = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **metadata: Any) -> Self:
        """Fit all members, then combine them.

        Parameters
        ----------
        X : table
            A pandas, polars or arrow frame, an array, a sparse matrix, a dict of columns, or a list of rows.
        y : one value per row
            The target.
        sample_weight : one number per row, a single number or None
            A row of weight 0 is left out. If others differ, every member must support weights, which k-nearest
            neighbours do not.
        **metadata
            Handed to the members that request it, if metadata routing is enabled.
        """
        check_progress(self)
        check_metadata(self, "fit", metadata, ["sample_weight"])
        self._check_parameters()
        if self.estimators is not None:
            self._checked()
        task = self._read(X, y, sample_weight, metadata)
        members = self._members(task)
        task = self._with_usable_weights(task, members)
        with follow("fitting members", None, shows_progress(self)):
            found = interruptible(lambda: self._fit_members(members, task))
        self._keep(found, [name for name, _ in members], task)
        return self

    @abstractmethod
    def _fit_members(self, members: Named, task: Task) -> Any:
        """Fit copies of the members; returns an object with `estimators_` and all that prediction needs."""

    def _check_parameters(self) -> None:
        """Check the parameters."""

    def _default_members(self, task: Task) -> Named:
        return default_members(task)

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that the members request."""
        return fit_router(self, dict(self.estimators or ()))

    def _read(self, X: Any, y: Any, sample_weight: Any, metadata: Mapping[str, Any]) -> Task:
        source = open_source(X)
        numbers = np.empty(0, dtype=object)
        labels: np.ndarray
        if self._takes_labels and has_labels(y):
            labels = predictions = np.asarray(y)
            if not np.isin(labels, (0, 1)).all():
                raise ValueError(
                    f"y has the values {np.unique(labels).tolist()}; give 0 and 1 in the column of each label"
                )
            classes = numbers
        elif is_classifier(self):
            if split_target(y) is not None:
                raise UnsupportedTargetError(
                    f"Multilabel and multi-output classification is not supported by {type(self).__name__}; "
                    "give one column of labels"
                )
            labels, classes = read_classes(y)
            predictions = classes[labels]
        else:
            labels = predictions = read_numbers(y)
            classes = numbers
        if len(predictions) != source.n_rows:
            raise ValueError(
                f"X has {source.n_rows} rows, but y has {len(predictions)} values; give one target value per row"
            )
        weights = read_weights(sample_weight, len(predictions))
        digest = digest_of_frame(X, labels, weights, classes)
        rows, kept = open_rows(X), weights > 0.0
        if not kept.any():
            raise ValueError("every row has a weight of zero, so there is nothing to learn from; give some row more")
        if not kept.all():
            metadata = take_metadata(rows, metadata, np.flatnonzero(kept))
            rows, predictions, weights = _safe_indexing(rows, np.flatnonzero(kept)), predictions[kept], weights[kept]
            classes = np.unique(predictions) if len(classes) else classes
        if len(classes) == 1:
            only = classes.tolist()[0]
            raise ValueError(f"y has one class only, {only!r}, and members need two or more to learn from")
        names = np.array(source.names, dtype=object) if source.named else None
        given = None if sample_weight is None and (weights == weights[0]).all() else weights
        return Task(rows, predictions, classes, given, metadata, names, len(source.names), digest)

    def _members(self, task: Task) -> Named:
        """The members to fit, each able to read the table, without those set to "drop"."""
        if self.estimators is None:
            members = self._default_members(task)
        else:
            members = [(name, self._prepared(one)) for name, one in self._checked() if not _is_dropped(one)]
        if not members:
            raise ValueError("All estimators are dropped. At least one is required to be an estimator.")
        return members

    def _with_usable_weights(self, task: Task, members: Named) -> Task:
        """The task with the weights that all members support; equal weights may be left out."""
        final = getattr(self, "final_estimator", None)
        models = [*members, *([] if final is None else [("final_estimator", final)])]
        without = [(name, one) for name, one in models if not takes_weights(one)]
        if task.weights is None or routes_metadata() or not without:
            return task
        if (task.weights == task.weights[0]).all():
            return replace(task, weights=None)
        name, one = without[0]
        kind = type(model_of(one)).__name__
        where = name if name == "final_estimator" else f"the member {name!r}"
        raise ArgumentError(
            f"Underlying estimator {kind} does not support sample weights, but the rows have different ones; "
            f"leave the weights out, or replace {where}"
        )

    def _prepared(self, estimator: Any) -> Any:
        return prepared(estimator)

    def _checked(self) -> Named:
        given = self.estimators
        is_pairs = isinstance(given, list | tuple) and all(
            isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in given
        )
        if not is_pairs or not given:
            raise ValueError(
                "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (string, estimator) "
                "tuples, or None for the default members"
            )
        self._validate_names([name for name, _ in given])
        for name, one in given:
            if not _is_dropped(one) and not self._can_have(one):
                wanted = "classifier" if is_classifier(self) else "regressor"
                raise ValueError(f"the member {name!r} is a {type(one).__name__}, which should be a {wanted}")
        return list(given)

    def _can_have(self, member: Any) -> bool:
        """Whether an estimator is of a kind that can be a member."""
        return bool(is_classifier(member) if is_classifier(self) else is_regressor(member))

    def _keep(self, found: Any, names: list[str], task: Task) -> None:
        self.__dict__.pop("feature_names_in_", None)
        if task.names is not None:
            self.feature_names_in_ = task.names
        if len(task.classes):
            self.classes_ = task.classes
        self.n_features_in_, self.data_digest_ = task.n_features, task.digest
        dropped = {name: one for name, one in self.estimators or () if _is_dropped(one)}
        self.named_estimators_ = Bunch(**dict(zip(names, found.estimators_, strict=True)), **dropped)
        self.estimators_ = found.estimators_
        self.ensemble_ = found

    @property
    def named_estimators(self) -> Bunch:
        """The members by name, as they were given."""
        return Bunch(**dict(self.estimators or ()))

    def _names_of_columns(self, n_columns: list[int], input_features: Any) -> list[str]:
        """The names of the columns that the members add: with a number if a member has more than one."""
        _check_feature_names_in(self, input_features, generate_names=False)
        name = type(self).__name__.lower()
        return [
            f"{name}_{member}{number if count > 1 else ''}"
            for member, count in zip(self._names_left(), n_columns, strict=True)
            for number in range(count)
        ]

    def _names_left(self) -> list[str]:
        """The names of the fitted members, without those that were dropped."""
        return [name for name, one in self.named_estimators_.items() if not _is_dropped(one)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with `deep` those of the members under their names."""
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a member's own as `name__parameter`, and a member itself by its name."""
        self._set_params("estimators", **params)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        given = self.estimators if isinstance(self.estimators, list | tuple) else ()
        members = [pair[-1] for pair in given if isinstance(pair, list | tuple) and not _is_dropped(pair[-1])]
        tags.input_tags.sparse = all(map(takes_sparse, members))
        return tags


def _is_dropped(estimator: Any) -> bool:
    return isinstance(estimator, str) and estimator == "drop"
