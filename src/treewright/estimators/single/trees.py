"""The two general learners: every choice of the growth loop is a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters
from treewright.estimators.single.base import TreeClassifier, TreeRegressor


@documented("single", "general", "classes", "cost_complexity")
class DecisionTreeClassifier(TreeClassifier):
    """A decision tree for classes, with every choice of growth and pruning as a parameter.

    It reads tables with text columns and missing values.

    Examples
    --------
    >>> from treewright import DecisionTreeClassifier, datasets, show
    >>> iris = datasets.load_iris()
    >>> model = DecisionTreeClassifier(max_depth=2).fit(iris.X, iris.y)
    >>> show(model)
    petal_length <= 2.45: setosa (50.0)
    petal_length > 2.45
    |   petal_width <= 1.75: versicolor (54.0/5.0)
    |   petal_width > 1.75: virginica (46.0/1.0)
    <BLANKLINE>
    Number of leaves: 3
    Size of the tree: 5
    """

    _takes_several = True

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "gini",
        categorical: str = "subset",
        candidates: str | tuple[str, float] = "midpoints",
        splitter: str | tuple[str, int] = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_p_value: float = 1.0,
        max_leaf_nodes: int | None = None,
        max_features: int | float | str | None = None,
        prune: str | None = None,
        ccp_alpha: float | str = "cv",
        validation_fraction: float = 1 / 3,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        class_weight: Any = None,
        misclassification_costs: Any = None,
        smoothing: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())


@documented("single", "general", "numbers", "cost_complexity")
class DecisionTreeRegressor(TreeRegressor):
    """A decision tree for numbers, with every choice of growth and pruning as a parameter.

    It reads tables with text columns and missing values.

    Examples
    --------
    >>> from treewright import DecisionTreeRegressor
    >>> days = {"sky": ["sunny", "sunny", "rainy", "sunny"], "water": ["warm", "warm", "warm", "cool"]}
    >>> model = DecisionTreeRegressor(categorical="multiway", max_depth=1).fit(days, [0.9, 0.8, 0.1, 0.85])
    >>> model.rules()
    sky = sunny: 0.85 (3.0)
    sky = rainy: 0.1 (1.0)
    """

    _takes_several = True

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        categorical: str = "subset",
        candidates: str | tuple[str, float] = "midpoints",
        splitter: str | tuple[str, int] = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        max_features: int | float | str | None = None,
        prune: str | None = None,
        ccp_alpha: float | str = "cv",
        validation_fraction: float = 1 / 3,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())
