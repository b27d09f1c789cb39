"""Decision stumps: trees with one split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters
from treewright.estimators.single.base import TreeClassifier, TreeRegressor


@documented("single", "stump", "classes")
class DecisionStumpClassifier(TreeClassifier):
    """A decision tree with one split for classes.

    It shows the most important column, and is a weak learner for boosting.

    Examples
    --------
    >>> from treewright import DecisionStumpClassifier, datasets
    >>> income = datasets.load_taxable_income()
    >>> DecisionStumpClassifier().fit(income.X, income.y).rules()
    income <= 97.5: no (6.0/3.0)
    income > 97.5: no (4.0)
    """

    _recipe: ClassVar[Mapping[str, Any]] = {"max_depth": 1}
    _poor_score = True

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "gini",
        categorical: str = "subset",
        min_samples_leaf: int | float = 1,
        missing: Any = "learned",
        unseen: str = "as_missing",
        class_weight: Any = None,
        misclassification_costs: Any = None,
        smoothing: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())


@documented("single", "stump", "numbers")
class DecisionStumpRegressor(TreeRegressor):
    """A decision tree with one split for numbers.

    It shows the most important column, and is a weak learner for boosting.

    Examples
    --------
    >>> from treewright import DecisionStumpRegressor
    >>> DecisionStumpRegressor().fit({"rooms": [1, 2, 3, 4]}, [10, 12, 20, 22]).rules()
    rooms <= 2.5: 11 (2.0)
    rooms > 2.5: 21 (2.0)
    """

    _recipe: ClassVar[Mapping[str, Any]] = {"max_depth": 1}
    _poor_score = True

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        categorical: str = "subset",
        min_samples_leaf: int | float = 1,
        missing: Any = "learned",
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())
