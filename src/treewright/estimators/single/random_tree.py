"""Random trees: each node uses a random sample of the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters
from treewright.estimators.single.base import TreeClassifier, TreeRegressor


@documented("single", "random_tree", "classes")
class RandomTreeClassifier(TreeClassifier):
    """A decision tree for classes that uses a random sample of the columns at each node, as in random forests.

    Examples
    --------
    >>> from treewright import RandomTreeClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> RandomTreeClassifier(random_state=0).fit(iris.X, iris.y).score(iris.X, iris.y)
    1.0
    """

    _takes_several = True

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "gini",
        categorical: str = "subset",
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        missing: Any = "learned",
        unseen: str = "as_missing",
        class_weight: Any = None,
        misclassification_costs: Any = None,
        smoothing: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())


@documented("single", "random_tree", "numbers")
class RandomTreeRegressor(TreeRegressor):
    """A decision tree for numbers that uses a random sample of the columns at each node, as in random forests.

    Examples
    --------
    >>> from treewright import RandomTreeRegressor
    >>> flats = {"rooms": [1, 2, 3], "floor": [3, 1, 2]}
    >>> RandomTreeRegressor(random_state=0).fit(flats, [10, 12, 20]).predict([{"rooms": 3, "floor": 2}])
    array([20.])
    """

    _takes_several = True

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        categorical: str = "subset",
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        missing: Any = "learned",
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())
