"""The base of all learners: reading training table, target and weights, and predicting new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from treewright.engines.elementary import log_of
from treewright.estimators.chunks import by_chunks
from treewright.estimators.data_digest import digest_of_training
from treewright.estimators.equivalents import NamesExplained
from treewright.estimators.missing_values import refuse_missing, refuse_unseen
from treewright.estimators.parameters import is_text
from treewright.estimators.several import accuracy_of_all, classes_of, read_outputs, shares_of
from treewright.estimators.weights import in_rows, read_weights, weigh_classes
from treewright.table import (
    Table,
    declared_classes,
    matrix_of,
    read_classes,
    read_frame,
    read_like,
    read_numbers,
    split_target,
    target_name,
)
from treewright.table.chunked import ChunkedTable
from treewright.table.column import Column
from treewright.table.identifiers import warn_of_identifiers
from treewright.table.sparse import in_full, rows_of
from treewright.tree import Target

# Class labels are two bytes each in the engine.
MOST_CLASSES = 1 << 16


@dataclass(frozen=True, eq=False)
class Training:
    """The training rows with a positive weight, and their target as labels or numbers."""

    columns: tuple[Column, ...]
    values: Any  # float64[row, column], or SparseValues or ChunkedValues where a learner keeps them
    target: Target
    classes: Any  # in the user's own type, empty for numbers; of several targets a list
    y: np.ndarray  # class labels (uint16), or numbers (float64); of several targets a line of entries per row
    weights: np.ndarray
    whole: np.ndarray | None = None  # values of the table that the rows come from, if some were set aside
    kept: np.ndarray | None = None  # which rows of the user's table weigh something, if not all do
    digest: str = ""  # of the user's table with target and weights

    @property
    def table(self) -> np.ndarray:
        """Values of all rows, those set aside included."""
        return self.values if self.whole is None else self.whole

    @property
    def is_dense(self) -> bool:
        return isinstance(self.values, np.ndarray)

    def in_full(self) -> Training:
        """The same rows with values that are one matrix in memory."""
        return self if self.is_dense else replace(self, values=in_full(self.values))

    def rows(self, taken: np.ndarray) -> Training:
        """Some of the rows, with the same columns and classes."""
        return replace(
            self,
            values=rows_of(self.values, taken),
            y=self.y[taken],
            weights=self.weights[taken],
            whole=self.table,
        )


class TableLearner(NamesExplained, BaseEstimator):
    """Shared base of all learners: reads tables in training and in prediction.

    A fitted learner has `_columns`, `_target` and `_unseen` of its training table.
    """

    # Parameters that a learner may leave out of its signature.
    categorical_features: Any = None
    numeric_features: Any = None
    missing: Any = "learned"
    unseen: str = "as_missing"
    class_weight: Any = None

    # Whether weights of any magnitude must be brought to the scale of numbers of rows; forests take them as they are.
    _counts_weights = True

    # Whether the fitted learner predicts from a table that it reads once, rather than hand the table to its members.
    reads_once_: bool = True

    # A learner with one split per tree misses the score that scikit-learn's checks expect of any learner.
    _poor_score: ClassVar[bool] = False

    # Whether a target may have several columns.
    _takes_several: ClassVar[bool] = False

    # Learners that put a table in bytes at once need no copy of it column after column.
    _by_column: ClassVar[bool] = True

    # Other values of `unseen`, for the message of an error.
    other_unseen: ClassVar[str] = "'as_missing', 'majority' or 'stop'"

    def _columns(self) -> tuple[Column, ...]:
        """The columns of the table that the learner was fitted on."""
        raise NotImplementedError

    def _target(self) -> Target:
        raise NotImplementedError

    def _has_plain_columns(self) -> bool:
        """Whether all columns are known to be numbers without a unit; learners that know it at once override this."""
        return False

    def _unseen(self) -> str:
        """How categories that training did not have are treated."""
        return str(self.unseen)

    def _predictions(self, X: Any) -> np.ndarray:
        """The predictions for each row: class probabilities by label, or one number."""
        # The check takes longer than the trees need for one row.
        if "n_features_in_" not in self.__dict__:
            check_is_fitted(self)
        return self._predict_rows(self._read_rows(X))

    def _predict_rows(self, values: np.ndarray) -> np.ndarray:
        """The predictions for rows that have been read."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = self._takes_several
        return tags

    def _read_table(self, X: Any) -> Table:
        if isinstance(X, ChunkedTable):
            return X.read(self.categorical_features, self.numeric_features)
        return read_frame(
            X,
            categorical_features=self.categorical_features,
            numeric_features=self.numeric_features,
            by_column=self._by_column,
            keep_sparse=True,
        )

    def _read_rows(self, X: Any) -> np.ndarray:
        """A new table in the terms of the one that the tree grew from."""
        names = self.__dict__.get("feature_names_in_")
        values = None
        if self._has_plain_columns():
            values = matrix_of(X, None if names is None else names.tolist(), len(self._columns()))
        if values is None:
            values = read_like(
                X,
                self._columns(),
                named=names is not None,
                learner=type(self).__name__,
                numeric_features=self.numeric_features,
                keep_sparse=True,
            )
        if self._unseen() == "error":
            refuse_unseen(self._columns(), values, X, self.other_unseen)
        if is_text(self.missing, "error"):
            refuse_missing(self._columns(), values)
        return values

    def _read_training(self, table: Table, y: Any, sample_weight: Any) -> Training:
        warn_of_identifiers(table.columns, table.values)
        several = split_target(y) if self._takes_several else None
        classes: Any
        if several is None:
            targets, classes, declared = self._read_target(y)
            target = Target(target_name(y), declared)
        else:
            targets, classes, target, by_class = read_outputs(several, self._read_target, self._class_weight())
        n_rows = len(table.values)
        if len(targets) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, but y has "
                f"{len(targets)} values; give one target value per row"
            )
        weights = read_weights(sample_weight, n_rows)
        digest = digest_of_training(
            table.columns, table.values, targets, weights, classes=target.classes, n_jobs=getattr(self, "n_jobs", None)
        )
        weights = self._weigh_classes(target, targets, weights) if several is None else weights * by_class
        with np.errstate(over="ignore"):
            total = weights.sum()
        if not np.isfinite(total):
            raise ValueError("the weights add up to infinity; scale them down")
        weights = in_rows(weights, total) if self._counts_weights else weights
        kept = weights > 0.0
        if not kept.any():
            raise ValueError("every row has a weight of zero, so there is nothing to learn from; give some row more")
        training = Training(table.columns, table.values, target, classes, targets, weights, digest=digest)
        return training if kept.all() else _leave_out(training, kept)

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        """The targets to learn; if they are labels, the classes that occur in ascending order, and all by label."""
        raise NotImplementedError

    def _class_weight(self) -> Any:
        """The weights of the classes that rows have from the beginning."""
        return self.class_weight

    def _weigh_classes(self, target: Target, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weights

    def _keep_classes(self, classes: Any) -> None:
        """Classifiers keep their classes in the user's own type."""

    def _keep_names(self, table: Table) -> None:
        if table.named:
            self.feature_names_in_ = np.array([column.name for column in table.columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


class LogProbabilities:
    """`predict_log_proba` of classifiers that have `predict_proba`."""

    predict_proba: Callable[..., Any]

    def predict_log_proba(self, X: Any) -> Any:
        """The natural logarithm of `predict_proba`; minus infinity for a class whose probability is zero."""
        shares = self.predict_proba(X)
        return [log_of(one) for one in shares] if isinstance(shares, list) else log_of(shares)


class ClassPredictions(LogProbabilities, ClassifierMixin):
    """The base of all classifiers: a target of classes, and predictions that are their probabilities."""

    _takes_several: ClassVar[bool] = False

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The class of each row: the most likely one, or the one with the least expected cost."""
        if "n_features_in_" not in self.__dict__:
            check_is_fitted(self)
        if self._several():
            return classes_of(shares_of(self._target(), self.classes_, self._predictions(X)), self.classes_)
        return self._named(self._predict_labels(X))

    def _predict_labels(self, X: Any) -> np.ndarray:
        """The predicted label of each row."""
        return self._choose(self._predictions(X))

    def _choose(self, shares: np.ndarray) -> np.ndarray:
        """The predicted labels: the class with the highest probability, the first of equals."""
        return np.asarray(shares.argmax(axis=1))

    @by_chunks
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class for each row, in the order of `classes_`; of several targets a list."""
        predictions = self._predictions(X)
        if self._several():
            return shares_of(self._target(), self.classes_, predictions)
        return predictions[:, self._labels_of_classes()]

    def _several(self) -> tuple[Target, ...]:
        """The targets that the learner was fitted to, if they are several."""
        return self._target().outputs if self._takes_several else ()

    def _labels_of_classes(self) -> np.ndarray:
        """The tree's label of each of `classes_`: the tree keeps the order in which a target declares its classes."""
        return labels_of_classes(self._target(), self.classes_)

    def _named(self, labels: np.ndarray) -> np.ndarray:
        """Classes in the user's own type, given the tree's labels."""
        place = np.zeros(len(self._target().classes), dtype=np.intp)
        place[self._labels_of_classes()] = np.arange(len(self.classes_))
        return self.classes_[place[labels]]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the fraction of rows whose class, or all of several, is predicted correctly."""
        if self._several():
            columns = [read_classes(column) for _, column in split_target(y) or ()]
            truth = np.stack([classes[codes] for codes, classes in columns], axis=1)
            return accuracy_of_all(truth, self.predict(X), sample_weight)
        codes, classes = read_classes(y)
        return float(super().score(X, classes[codes], sample_weight))

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        labels, classes = read_classes(y)
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"y has {len(classes)} classes, but a tree has at most {MOST_CLASSES}; "
                "use a regressor if they are quantities"
            )
        found = classes.tolist()
        declared = declared_classes(y) or ()
        # The tree keeps the declared order, which breaks ties, and classes that only were declared.
        label_of = {name: label for label, name in enumerate(declared)}
        if len(declared) > MOST_CLASSES or any(name not in label_of for name in found):
            return labels.astype(np.uint16), classes, tuple(found)
        return np.array([label_of[name] for name in found], np.uint16)[labels], classes, declared

    def _keep_classes(self, classes: Any) -> None:
        self.classes_ = classes
        self.n_classes_ = [len(known) for known in classes] if isinstance(classes, list) else len(classes)

    def _weigh_classes(self, target: Target, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weigh_classes(self._class_weight(), target.classes, targets, weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags


def labels_of_classes(target: Target, classes: np.ndarray) -> np.ndarray:
    """The label of each class: a target keeps the order in which its classes were declared."""
    label_of = {name: label for label, name in enumerate(target.classes)}
    return np.array([label_of[name] for name in classes.tolist()], dtype=np.intp)


class NumberPredictions(RegressorMixin):
    """The base of all regressors: a target of numbers."""

    _takes_several: ClassVar[bool] = False

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row; of several targets a column each."""
        predictions = self._predictions(X)
        return predictions if self._several() else predictions[:, 0]

    def _several(self) -> tuple[Target, ...]:
        """The targets that the learner was fitted to, if they are several."""
        return self._target().outputs if self._takes_several else ()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination: 1 is perfect, 0 is as good as predicting the mean."""
        if self._several():
            truth = np.stack([read_numbers(column) for _, column in split_target(y) or ()], axis=1)
            return float(super().score(X, truth, sample_weight))
        return float(super().score(X, read_numbers(y), sample_weight))

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        # Growth needs memory of its own: an array that is read-only would be compiled for once more.
        return np.require(read_numbers(y), requirements=["C", "W"]), np.empty(0), ()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor_score
        return tags


def read_table(learner: TableLearner, X: Any) -> Table:
    """A table as a learner reads it, with the kinds that its parameters declare."""
    return learner._read_table(X)


def read_training(learner: TableLearner, table: Table, y: Any, sample_weight: Any) -> Training:
    """The training rows of a learner."""
    return learner._read_training(table, y, sample_weight)


def read_rows(learner: TableLearner, X: Any) -> np.ndarray:
    """New rows in the terms of the table that a learner was fitted on."""
    return learner._read_rows(X)


def reading_values(learner: TableLearner) -> TableLearner:
    """A copy of a fitted learner that predicts rows which it has read before."""
    reader = copy(learner)
    reader.__dict__["_read_rows"] = lambda values: values
    return reader


def predict_rows(learner: TableLearner, values: np.ndarray) -> np.ndarray:
    """The predictions of a fitted learner for rows that have been read: class probabilities by label, or one number."""
    return learner._predict_rows(values)


def columns_of(learner: TableLearner) -> tuple[Column, ...]:
    """The columns of the table that a learner was fitted on."""
    return learner._columns()


def target_of(learner: TableLearner) -> Target:
    """The target that a learner was fitted to."""
    return learner._target()


class Ensemble:
    """A model that combines the predictions of its members."""

    def member_predictions(self, X: Any) -> np.ndarray:
        """The prediction of each member for each row: classes, probabilities in the order of `classes_`, or numbers."""
        raise NotImplementedError

    def member_weights(self) -> np.ndarray:
        """The weight of each member's prediction; the sum is 1."""
        n_members = len(self.estimators_)  # type: ignore[attr-defined]
        return np.full(n_members, 1.0 / n_members)


class CountedEnsemble(Ensemble):
    """An ensemble of members of one kind: `len(model)` counts them, and `model[i]` is one of them."""

    def __len__(self) -> int:
        return len(self.estimators_)  # type: ignore[attr-defined]

    def __getitem__(self, index: Any) -> Any:
        return self.estimators_[index]  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)  # type: ignore[attr-defined]


def _leave_out(training: Training, kept: np.ndarray) -> Training:
    """The rows with a positive weight, without categories that only the other rows have."""
    values = training.values[kept]
    columns = list(training.columns)
    for place, column in enumerate(columns):
        if column.is_categorical:
            columns[place], values[:, place] = _forget_categories(column, training.values[:, place], kept)
    return replace(
        training,
        columns=tuple(columns),
        values=values,
        y=training.y[kept],
        weights=training.weights[kept],
        kept=kept,
    )


def _forget_categories(column: Column, indices: np.ndarray, kept: np.ndarray) -> tuple[Column, np.ndarray]:
    """Drop the categories that only left-out rows have; one that no row has was declared and stays."""
    n_categories = len(column.categories)
    counts = [
        np.bincount(indices[rows & ~np.isnan(indices)].astype(np.intp), minlength=n_categories)
        for rows in (kept, ~kept)
    ]
    stays = (counts[0] > 0) | (counts[1] == 0)
    categories = tuple(name for name, is_left in zip(column.categories, stays, strict=True) if is_left)
    renamed = np.append(np.cumsum(stays) - 1.0, np.nan)
    places = np.where(np.isnan(indices[kept]), n_categories, indices[kept]).astype(np.intp)
    return replace(column, categories=categories), renamed[places]
