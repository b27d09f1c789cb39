"""Stacking: a final model that is fitted to the predictions of the members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import hstack, issparse
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin, is_classifier, is_regressor
from sklearn.ensemble import StackingClassifier as ScikitStack
from sklearn.ensemble import StackingRegressor as ScikitNumberStack
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.metadata_routing import MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.chunks import by_chunks
from treewright.estimators.meta.combining import Combination, Named, Task, has_labels
from treewright.estimators.meta.preparing import PositionRegressor, TablePreparer, prepared
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import parameter_error, store_parameters
from treewright.table import read_classes, read_numbers
from treewright.table.selection import open_rows

STACK_METHODS = ("auto", "predict_proba", "decision_function", "predict")


class Passing:
    """A stack whose final estimator may also get the table, as numbers."""

    passthrough: bool
    preparer_: TablePreparer

    def _passing(self, X: Any) -> Any:
        return self.preparer_.transform(X) if self.passthrough else X


class NamedStack(Passing, ScikitStack):
    """scikit-learn's stacking, but classes keep their names, and columns that pass through become numbers."""

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        if y.ndim == 1:
            self._label_encoder = LabelEncoder().fit(y)
            self.classes_ = self._label_encoder.classes_
        else:
            self._label_encoder = [LabelEncoder().fit(label) for label in y.T]
            self.classes_ = [encoder.classes_ for encoder in self._label_encoder]
        if self.passthrough:
            self.preparer_ = TablePreparer(scale="auto").fit(X)
        return super(ScikitStack, self).fit(X, y, **fit_params)

    def predict(self, X: Any, **predict_params: Any) -> np.ndarray:
        return super(ScikitStack, self).predict(X, **predict_params)

    def _concatenate_predictions(self, X: Any, predictions: Any) -> Any:
        if isinstance(self.classes_, list):
            return self._labels_side_by_side(X, predictions)
        coded = [
            np.searchsorted(self.classes_, found) if method == "predict" and is_classifier(member) else found
            for found, method, member in zip(predictions, self.stack_method_, self.estimators_, strict=True)
        ]
        return super()._concatenate_predictions(self._passing(X), coded)

    def _labels_side_by_side(self, X: Any, predictions: Any) -> Any:
        """A column per member and label: the prediction, or the probability that a row has the label."""
        columns = [
            np.hstack([shares[:, 1:] for shares in found]) if isinstance(found, list) else np.asarray(found)
            for found in predictions
        ]
        self._n_feature_outs = [found.shape[1] for found in columns]
        passed = [self._passing(X)] if self.passthrough else []
        if passed and issparse(passed[0]):
            return hstack([*columns, *passed], format=passed[0].format)
        return np.hstack([*columns, *passed])


class NumberStack(Passing, ScikitNumberStack):
    """scikit-learn's stacking, but columns that pass through become numbers."""

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Any:
        if self.passthrough:
            self.preparer_ = TablePreparer(scale="auto").fit(X)
        return super().fit(X, y, **fit_params)

    def _concatenate_predictions(self, X: Any, predictions: Any) -> Any:
        return super()._concatenate_predictions(self._passing(X), predictions)


class Stacking(TransformerMixin, Combination):
    """Shared base of stacking for classes and for numbers."""

    @by_chunks
    def predict(self, X: Any, **predict_params: Any) -> Any:
        """The prediction of the final estimator, which gets the keywords, such as `return_std`."""
        check_is_fitted(self)
        return self.ensemble_.predict(open_rows(X), **predict_params)

    def get_metadata_routing(self) -> Any:
        """The metadata that the members request, and for predictions the final estimator."""
        router = super().get_metadata_routing()
        final = getattr(self, "final_estimator_", self.final_estimator)
        if final is not None:
            router.add(final_estimator_=final, method_mapping=MethodMapping().add(caller="predict", callee="predict"))
        return router

    def transform(self, X: Any) -> Any:
        """The input of the final estimator: the predictions of the members, a column each.

        With `passthrough` the columns of the table follow; it is then sparse if the table is.
        """
        check_is_fitted(self)
        return self.ensemble_.transform(open_rows(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of `transform`: the model's and the member's, and the number of the output."""
        check_is_fitted(self)
        names = self._names_of_columns(self.ensemble_._n_feature_outs, input_features)
        passed = self.ensemble_.preparer_.get_feature_names_out(input_features) if self.passthrough else ()
        return np.array([*names, *passed], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def member_predictions(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = open_rows(X)
        return np.array([member.predict(rows) for member in self.estimators_])

    def _check_parameters(self) -> None:
        if self.final_estimator is not None and not hasattr(self.final_estimator, "fit"):
            raise parameter_error("final_estimator", self.final_estimator, "an estimator, or None for a linear one")

    def _prepared(self, estimator: Any) -> Any:
        is_fitted = isinstance(self.cv, str) and self.cv == "prefit"
        return estimator if is_fitted else prepared(estimator)

    def _fit_stack(self, stack: Any, task: Task) -> Any:
        stack.set_params(
            cv=task.deal() if self.cv is None else self.cv, passthrough=self.passthrough, n_jobs=self.n_jobs
        )
        return stack.fit(task.X, task.y, **task.fit_options())

    def _keep(self, found: Any, names: list[str], task: Task) -> None:
        super()._keep(found, names, task)
        self.final_estimator_, self.stack_method_ = found.final_estimator_, found.stack_method_


def _final_has(method: str) -> Any:
    """Whether the final estimator has the method, so that the model has it, too."""

    def check(model: Any) -> bool:
        final = getattr(model, "final_estimator_", model.final_estimator)
        # What the final estimator raises is the cause of the error.
        return final is None or bool(getattr(final, method))

    return available_if(check)


@documented("meta", "combination", "stacking", "classes")
class StackingClassifier(ClassifierMixin, Stacking):
    """Classifiers of different kinds, and a final classifier that is fitted to their predictions.

    The final estimator is fitted to out-of-fold predictions: in each of five folds, the members are fitted to the other
    four. The members that predict are fitted to all rows. A row may have several labels: give a target with a column of
    0 and 1 per label, and members and a final estimator that take it. Members may also be regressors, which are fitted
    to the positions of the classes in `classes_`.

    Examples
    --------
    >>> from treewright import datasets
    >>> from treewright import StackingClassifier
    >>> iris = datasets.load_iris()
    >>> model = StackingClassifier().fit(iris.X, iris.y)
    >>> model.predict(iris.X[[0, 75, 149]]).tolist()
    ['setosa', 'versicolor', 'virginica']
    """

    def __init__(
        self,
        estimators: Named | None = None,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: str = "auto",
        passthrough: bool = False,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    _takes_labels = True

    classes_: Any  # an array; a list of them if rows have several labels

    @_final_has("predict_proba")
    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of `classes_`, by the final estimator.

        If rows have several labels, it is the probability that the row has the label; in scikit-learn, that it has not.
        """
        check_is_fitted(self)
        if not isinstance(self.classes_, list):
            return np.asarray(self.ensemble_.predict_proba(open_rows(X)))
        shares = self.final_estimator_.predict_proba(self.transform(X))
        if not isinstance(shares, list):
            return np.asarray(shares)
        pairs = zip(shares, self.classes_, strict=True)
        return np.column_stack([share[:, classes == 1].sum(axis=1) for share, classes in pairs])

    @_final_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """The `decision_function` of the final estimator."""
        check_is_fitted(self)
        return np.asarray(self.ensemble_.decision_function(open_rows(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the fraction of rows whose class is predicted correctly; of labels, all of the row's."""
        check_is_fitted(self)
        if isinstance(self.classes_, list):
            return float(super().score(X, y, sample_weight))
        labels, classes = read_classes(y)
        return float(super().score(X, classes[labels], sample_weight))

    def _can_have(self, member: Any) -> bool:
        return super()._can_have(member) or bool(is_regressor(member))

    def _prepared(self, estimator: Any) -> Any:
        member = super()._prepared(estimator)
        is_fitted = isinstance(self.cv, str) and self.cv == "prefit"
        return PositionRegressor(member) if is_regressor(estimator) and not is_fitted else member

    def _check_parameters(self) -> None:
        if self.stack_method not in STACK_METHODS:
            raise parameter_error("stack_method", self.stack_method, f"one of {', '.join(map(repr, STACK_METHODS))}")
        super()._check_parameters()

    def _read(self, X: Any, y: Any, sample_weight: Any, metadata: Mapping[str, Any]) -> Task:
        if self.final_estimator is None and has_labels(y):
            raise ValueError(
                "the default final_estimator is logistic regression, which predicts one label per row; give one that "
                "takes a target of several labels, such as KNeighborsClassifier()"
            )
        return super()._read(X, y, sample_weight, metadata)

    def _keep(self, found: Any, names: list[str], task: Task) -> None:
        super()._keep(found, names, task)
        if isinstance(found.classes_, list):
            self.classes_ = found.classes_

    def _fit_members(self, members: Named, task: Task) -> Any:
        for _, member in members:
            if isinstance(member, PositionRegressor):
                member.set_params(classes=task.classes)
        final = LogisticRegression(max_iter=1000) if self.final_estimator is None else self.final_estimator
        return self._fit_stack(NamedStack(members, final, stack_method=self.stack_method), task)


@documented("meta", "combination", "stacking", "numbers")
class StackingRegressor(RegressorMixin, Stacking):
    """Regressors of different kinds, and a final regressor that is fitted to their predictions.

    The final estimator is fitted to out-of-fold predictions: in each of five folds, the members are fitted to the other
    four. The members that predict are fitted to all rows.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from treewright import DecisionTreeRegressor
    >>> from treewright import StackingRegressor
    >>> table = {"x": list(range(20)), "kind": ["a", "b"] * 10}
    >>> members = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=2))]
    >>> model = StackingRegressor(members).fit(table, [2.0 * x for x in range(20)])
    >>> model.predict({"x": [3.5], "kind": [None]}).round(2)
    array([7.])
    """

    def __init__(
        self,
        estimators: Named | None = None,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        passthrough: bool = False,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination: 1 is perfect, 0 is as good as predicting the mean."""
        return float(super().score(X, read_numbers(y), sample_weight))

    def _fit_members(self, members: Named, task: Task) -> Any:
        final = RidgeCV() if self.final_estimator is None else self.final_estimator
        return self._fit_stack(NumberStack(members, final), task)
