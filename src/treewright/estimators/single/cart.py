"""CART: binary splits and cost-complexity pruning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters
from treewright.estimators.single.base import TreeClassifier, TreeRegressor


@documented("single", "cart", "classes", "cost_complexity")
class CARTClassifier(TreeClassifier):
    """CART (Breiman, Friedman, Olshen and Stone 1984) for classes: binary splits and cost-complexity pruning.

    Examples
    --------
    >>> from treewright import CARTClassifier, datasets
    >>> weather = datasets.load_weather()
    >>> CARTClassifier(max_depth=1, prune=None).fit(weather.X, weather.y).rules()
    outlook = overcast: yes (4.0)
    outlook != overcast: no (10.0/5.0)
    """

    _recipe: ClassVar[Mapping[str, Any]] = {"categorical": "subset"}
    _criteria = ("gini", "information_gain")

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_split_gain: float = 0.0,
        max_p_value: float = 1.0,
        max_leaf_nodes: int | None = None,
        prune: str | None = "cost_complexity",
        ccp_alpha: float | str = "cv",
        validation_fraction: float = 1 / 3,
        missing: Any = "learned",
        unseen: str = "as_missing",
        class_weight: Any = None,
        misclassification_costs: Any = None,
        smoothing: Any = "auto",
        categorical_features: Any = None,
        numeric_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())


@documented("single", "cart", "numbers", "cost_complexity")
class CARTRegressor(TreeRegressor):
    """CART (Breiman, Friedman, Olshen and Stone 1984) for numbers: binary splits and cost-complexity pruning.

    Examples
    --------
    >>> from treewright import CARTRegressor
    >>> CARTRegressor().fit({"rooms": [1, 2, 3, 4]}, [10, 10, 20, 20]).rules()
    rooms <= 2.5: 10 (2.0)
    rooms > 2.5: 20 (2.0)
    """

    _recipe: ClassVar[Mapping[str, Any]] = {"categorical": "subset"}
    _criteria = ("squared_error", "absolute_error")

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_split_gain: float = 0.0,
        max_leaf_nodes: int | None = None,
        prune: str | None = "cost_complexity",
        ccp_alpha: float | str = "cv",
        validation_fraction: float = 1 / 3,
        missing: Any = "learned",
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())
