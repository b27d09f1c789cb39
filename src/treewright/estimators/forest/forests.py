"""Random forests and extra trees."""

from __future__ import annotations

from typing import Any

from treewright.estimators.forest.tasks import ForestClassifier, ForestRegressor
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters


@documented("forest", "classes")
class RandomForestClassifier(ForestClassifier):
    """A random forest for classes: many unpruned trees, each grown from a sample of rows and columns (Breiman 2001).

    It reads tables with text columns and missing values.

    Examples
    --------
    >>> from treewright import RandomForestClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> model = RandomForestClassifier(n_estimators=100, oob_score=True, random_state=0).fit(iris.X, iris.y)
    >>> round(model.oob_score_, 2)
    0.95
    """

    _random_cuts = False

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        criterion: str = "gini",
        categorical: str = "subset",
        max_features: int | float | str | None = "auto",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        voting: str = "soft",
        class_weight: Any = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = "auto",
        min_weight_fraction_leaf: float = 0.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        oob_score: Any = False,
        warm_start: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 20,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())


@documented("forest", "numbers")
class RandomForestRegressor(ForestRegressor):
    """A random forest for numbers: the mean of many unpruned trees, each grown from a sample (Breiman 2001).

    It reads tables with text columns and missing values.

    Examples
    --------
    >>> from treewright import RandomForestRegressor
    >>> model = RandomForestRegressor(n_estimators=10, random_state=0)
    >>> model.fit({"rooms": [1, 2, 3, 4] * 5}, [10, 12, 20, 22] * 5).predict({"rooms": [1, 4]}).round()
    array([10., 22.])
    """

    _random_cuts = False

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        criterion: str = "squared_error",
        categorical: str = "subset",
        max_features: int | float | str | None = "auto",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = "auto",
        min_weight_fraction_leaf: float = 0.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        oob_score: Any = False,
        warm_start: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 20,
        quantiles: bool = False,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())


@documented("forest", "classes")
class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classes: thresholds are drawn at random (Geurts, Ernst and Wehenkel 2006).

    Each node has the best of one random threshold per drawn column. The trees grow faster than those of a random
    forest, and are often as accurate.

    Examples
    --------
    >>> from treewright import ExtraTreesClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> model = ExtraTreesClassifier(n_estimators=100, random_state=0).fit(iris.X, iris.y)
    >>> model.score(iris.X, iris.y)
    1.0
    """

    _random_cuts = True

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        criterion: str = "gini",
        categorical: str = "subset",
        max_features: int | float | str | None = "auto",
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        voting: str = "soft",
        class_weight: Any = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = "auto",
        min_weight_fraction_leaf: float = 0.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        oob_score: Any = False,
        warm_start: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 20,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())


@documented("forest", "numbers")
class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for numbers: thresholds are drawn at random (Geurts, Ernst and Wehenkel 2006).

    Each node has the best of one random threshold per drawn column. The trees grow faster than those of a random
    forest, and are often as accurate.

    Examples
    --------
    >>> from treewright import ExtraTreesRegressor
    >>> model = ExtraTreesRegressor(n_estimators=10, random_state=0)
    >>> model.fit({"rooms": [1, 2, 3, 4] * 5}, [10, 12, 20, 22] * 5).predict({"rooms": [1, 4]}).round()
    array([10., 22.])
    """

    _random_cuts = True

    def __init__(
        self,
        n_estimators: int | str = "auto",
        *,
        criterion: str = "squared_error",
        categorical: str = "subset",
        max_features: int | float | str | None = "auto",
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = "auto",
        min_weight_fraction_leaf: float = 0.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        max_leaf_nodes: int | None = None,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        oob_score: Any = False,
        warm_start: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 20,
        quantiles: bool = False,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())
