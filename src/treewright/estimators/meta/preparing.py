"""Mixed tables for models that need numbers.

Missing values imputed, numbers on one scale, categories as columns of 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, has_fit_parameter

from treewright.estimators.base import TableLearner
from treewright.estimators.equivalents import NamesExplained
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import is_auto, is_whole, parameter_error, store_parameters
from treewright.table import Column, read_frame, read_like
from treewright.table.sparse import SparseValues

# How many standard deviations away infinity is taken to be.
INFINITY = 10.0

# What a column of all categories but the most common ones is called.
OTHERS = "(others)"


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """A column of numbers, or of categories in order.

    Missing values get the median, then all values mean 0 and standard deviation 1 if they are scaled.
    """

    name: str
    median: float
    mean: float
    deviation: float
    is_scaled: bool

    @property
    def names(self) -> list[str]:
        return [self.name]

    def prepare(self, values: np.ndarray) -> np.ndarray:
        known = np.where(np.isfinite(values), values, self.median)
        far = INFINITY * np.sign(values)
        if not self.is_scaled:
            return np.where(np.isinf(values), self.mean + far * self.deviation, known)[:, None]
        scaled = known / self.deviation - self.mean / self.deviation
        return np.where(np.isinf(values), far, scaled)[:, None]


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A column of categories: a column of 0 and 1 for each, all 0 where there is none or one never seen before."""

    names: list[str]
    place: np.ndarray  # for each category its column of 0 and 1; rare ones share the last

    def prepare(self, values: np.ndarray) -> np.ndarray:
        marks = np.zeros((len(values), len(self.names)))
        rows = np.flatnonzero(values >= 0)
        marks[rows, self.place[values[rows].astype(np.intp)]] = 1.0
        return marks


@documented("preparer")
class TablePreparer(NamesExplained, TransformerMixin, BaseEstimator):
    """Converts a table with text and missing values to numbers, for models that need them.

    - Missing values of a number are imputed by the median of the column; infinite values are 10 standard deviations
      from the mean. The column is then scaled to mean 0 and standard deviation 1.
    - Ordered categories are the numbers 0, 1, 2, .. and are treated alike.
    - Every other category becomes a column of 0 and 1. For missing values and unseen categories all of these are 0.

    Rows of different categories are then as far apart as two numbers on average, which suits distance-based models. The
    columns of a sparse matrix are scaled but not centred, so that it stays sparse.

    Examples
    --------
    >>> from treewright import TablePreparer
    >>> preparer = TablePreparer().fit({"size": [1, 2, None, 3], "colour": ["red", "blue", "red", None]})
    >>> preparer.get_feature_names_out().tolist()
    ['size', 'colour=red', 'colour=blue']
    >>> preparer.transform({"size": [2, None], "colour": ["red", "green"]})
    array([[0., 1., 0.],
           [0., 0., 0.]])
    """

    def __init__(
        self,
        *,
        max_categories: int = 50,
        scale: bool | str = True,
        categorical_features: Any = None,
        numeric_features: Any = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute medians, scales and categories; `y` is not used."""
        if not is_whole(self.max_categories, 2):
            raise parameter_error("max_categories", self.max_categories, "a whole number of 2 or more")
        if not (isinstance(self.scale, bool) or is_auto(self.scale)):
            raise parameter_error("scale", self.scale, "True, False or 'auto'")
        table = read_frame(
            X,
            categorical_features=self.categorical_features,
            numeric_features=self.numeric_features,
            keep_sparse=True,
        )
        self._is_centred = not isinstance(table.values, SparseValues)
        is_scaled = self.scale is True or (is_auto(self.scale) and any(not column.is_plain for column in table.columns))
        prepared = [
            self._learn(column, table.values[:, place], is_scaled) for place, column in enumerate(table.columns)
        ]
        self.__dict__.pop("feature_names_in_", None)
        if table.named:
            self.feature_names_in_ = np.array([column.name for column in table.columns], dtype=object)
        self.n_features_in_ = len(table.columns)
        self.columns_ = table.columns
        self._prepared = prepared
        return self

    def transform(self, X: Any) -> Any:
        """The table as an array of numbers without missing values; a sparse matrix if that is what it was fitted to."""
        check_is_fitted(self)
        values = read_like(
            X,
            self.columns_,
            named=hasattr(self, "feature_names_in_"),
            learner=type(self).__name__,
            numeric_features=self.numeric_features,
            keep_sparse=not self._is_centred,
        )
        if isinstance(values, SparseValues):
            return self._scale(values)
        return np.hstack([column.prepare(values[:, place]) for place, column in enumerate(self._prepared)])

    def _scale(self, values: SparseValues) -> Any:
        """A sparse matrix whose columns are divided by their standard deviations; zeros stay zeros."""
        matrix = values.by_column.copy()
        for place, column in enumerate(self._prepared):
            stored = slice(matrix.indptr[place], matrix.indptr[place + 1])
            matrix.data[stored] = column.prepare(matrix.data[stored])[:, 0]
        return matrix.asformat(values.format)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the prepared columns: a number's own name, `column=category` for categories.

        `input_features` are the names of the columns if the table has none.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        if input_features is None:
            return np.array([name for column in self._prepared for name in column.names], dtype=object)
        named = zip(self.columns_, self._prepared, input_features, strict=True)
        names = [[name.replace(old.name, str(new), 1) for name in one.names] for old, one, new in named]
        return np.array([name for of_column in names for name in of_column], dtype=object)

    def _learn(self, column: Column, values: np.ndarray, is_scaled: bool) -> NumericColumn | CategoricalColumn:
        if column.is_categorical:
            return self._learn_categories(column, values)
        known = values[np.isfinite(values)]
        if not len(known):
            return NumericColumn(column.name, 0.0, 0.0, 1.0, is_scaled)
        median = float(np.median(known))
        imputed = np.append(known, np.full(len(values) - len(known), median))
        # Divided by the largest first: squares of very large numbers would be infinite.
        largest = float(np.abs(imputed).max()) or 1.0
        mean = float((imputed / largest).mean() * largest)
        deviation = float(np.sqrt(np.mean((imputed / largest - mean / largest) ** 2)) * largest)
        is_constant = deviation <= 1e-15 * largest
        # Zeros of a sparse matrix must stay zeros.
        centre = mean if self._is_centred else 0.0
        return NumericColumn(column.name, median, centre, 1.0 if is_constant else deviation, is_scaled)

    def _learn_categories(self, column: Column, values: np.ndarray) -> CategoricalColumn:
        n_categories = len(column.categories)
        known = values[~np.isnan(values)].astype(np.intp)
        counts = np.bincount(known, minlength=n_categories)
        if n_categories <= self.max_categories:
            return CategoricalColumn([f"{column.name}={name}" for name in column.categories], np.arange(n_categories))
        common = np.sort(np.argsort(-counts, kind="stable")[: self.max_categories - 1])
        place = np.full(n_categories, len(common))
        place[common] = np.arange(len(common))
        names = [f"{column.name}={column.categories[category]}" for category in common.tolist()]
        return CategoricalColumn([*names, f"{column.name}={OTHERS}"], place)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


def _asks_model(method: str) -> Any:
    """A method of the model for prepared rows; keywords, which are metadata, go to the model."""

    def has_method(member: Any) -> bool:
        return hasattr(member.steps[-1][1], method)

    def ask(self: Any, X: Any, **options: Any) -> Any:
        for _, step in self.steps[:-1]:
            X = step.transform(X)
        return getattr(self.steps[-1][1], method)(X, **options)

    ask.__name__ = method  # by which scikit-learn recognises it
    return available_if(has_method)(ask)


class PreparedMember(Pipeline):
    """A pipeline of a `TablePreparer` and an estimator, which is handed the weights of rows.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> table, play = {"sky": ["sunny", "rainy", "sunny"], "wind": [1, 5, None]}, ["yes", "no", "yes"]
    >>> prepared(GaussianNB()).fit(table, play, sample_weight=[1, 2, 1]).predict(table).tolist()
    ['yes', 'no', 'yes']
    """

    def __getattr__(self, name: str) -> Any:
        """Attributes of the fitted model, such as `coef_`, which refer to the prepared columns.

        Of its private ones only those that it has set itself: scikit-learn asks any object for private methods.
        """
        model = self.__dict__["steps"][-1][1] if "steps" in self.__dict__ else None
        if hasattr(type(self), name) or (name.startswith("_") and name not in getattr(model, "__dict__", ())):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(model, name)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        options = params if sample_weight is None else {**params, "sample_weight": sample_weight}
        for _, step in self.steps[:-1]:
            X = step.fit_transform(X, y)
        self.steps[-1][1].fit(X, y, **options)
        self._is_fitted = True
        return self

    predict = _asks_model("predict")
    predict_proba = _asks_model("predict_proba")
    predict_log_proba = _asks_model("predict_log_proba")
    decision_function = _asks_model("decision_function")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether it is fitted; a model need not have an attribute that shows it."""
        return "_is_fitted" in self.__dict__

    def get_metadata_routing(self) -> Any:
        """The metadata that the model requests."""
        return get_routing_for_object(self.steps[-1][1])


class PositionRegressor(RegressorMixin, MetaEstimatorMixin, BaseEstimator):
    """A regressor that is fitted to the positions of classes in `classes`; several labels of a row are numbers already.

    >>> from sklearn.linear_model import LinearRegression
    >>> member = PositionRegressor(LinearRegression(), np.array(["a", "b", "c"]))
    >>> member.fit([[1.0], [2.0], [3.0]], ["a", "b", "c"]).predict([[2.5]]).round(3)
    array([1.5])
    """

    def __init__(self, estimator: Any, classes: Any = None) -> None:
        self.estimator = estimator
        self.classes = classes

    def __getattr__(self, name: str) -> Any:
        """Attributes of the fitted regressor, such as `coef_`."""
        if name.startswith("_") or "estimator_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.estimator_, name)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        options = params if sample_weight is None else {**params, "sample_weight": sample_weight}
        positions = y if np.ndim(y) == 2 else np.searchsorted(self.classes, y)
        self.estimator_ = clone(self.estimator).fit(X, np.asarray(positions, dtype=np.float64), **options)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.estimator_.predict(X))

    def get_metadata_routing(self) -> Any:
        """The metadata that the regressor requests."""
        return get_routing_for_object(self.estimator)


def prepared(estimator: Any) -> Any:
    """An estimator that takes tables with text and missing values: itself, or with a `TablePreparer` before it.

    It sees the numbers of a table without other columns in their own units.

    >>> from treewright import DecisionTreeClassifier
    >>> prepared(DecisionTreeClassifier())
    DecisionTreeClassifier()
    """
    if reads_tables(estimator):
        return estimator
    return PreparedMember([("prepare", TablePreparer(scale="auto")), ("model", estimator)])


def reads_tables(estimator: Any) -> bool:
    """Whether an estimator takes text and missing values: those of this library, searches over them, and pipelines.

    A pipeline is left to prepare its table by itself.
    """
    is_ours = isinstance(estimator, TableLearner) or type(estimator).__module__.split(".")[0] == "treewright"
    if is_ours or isinstance(estimator, Pipeline):
        return True
    inner = getattr(estimator, "estimator", None)
    return inner is not None and reads_tables(inner)


def takes_sparse(estimator: Any) -> bool:
    """Whether an estimator says that it takes sparse matrices.

    >>> from sklearn.naive_bayes import GaussianNB, MultinomialNB
    >>> takes_sparse(GaussianNB()), takes_sparse(MultinomialNB()), takes_sparse("no estimator")
    (False, True, False)
    """
    is_tagged = hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)
    return is_tagged and bool(get_tags(estimator).input_tags.sparse)


def takes_weights(estimator: Any) -> bool:
    """Whether the weights of rows reach the model."""
    return bool(has_fit_parameter(model_of(estimator), "sample_weight"))


def model_of(member: Any) -> Any:
    """The estimator of the user that a member was made of."""
    while isinstance(member, PreparedMember | PositionRegressor):
        member = member.steps[-1][1] if isinstance(member, PreparedMember) else member.estimator
    return member
