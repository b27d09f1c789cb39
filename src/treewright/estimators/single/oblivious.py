"""Oblivious trees: all nodes of a level have the same split, so a leaf is a row of a decision table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from treewright.engines.criteria import criteria_of
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters
from treewright.estimators.single.base import TreeClassifier, TreeRegressor


@documented("single", "oblivious", "classes")
class ObliviousTreeClassifier(TreeClassifier):
    """An oblivious decision tree for classes: all nodes of a level have the same binary split.

    It is less flexible than other trees and therefore overfits less; boosting often uses such trees. All leaves have
    the same depth. A leaf without training rows predicts the class of its parent.

    Examples
    --------
    >>> from treewright import ObliviousTreeClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> ObliviousTreeClassifier(max_depth=2).fit(iris.X, iris.y).rules()
    petal_length <= 2.45 and petal_width <= 1.75: setosa (50.0)
    petal_length <= 2.45 and petal_width > 1.75: setosa (0.0)
    petal_length > 2.45 and petal_width <= 1.75: versicolor (54.0/5.0)
    petal_length > 2.45 and petal_width > 1.75: virginica (46.0/1.0)
    """

    _recipe: ClassVar[Mapping[str, Any]] = {"oblivious": True}
    _criteria = criteria_of(classes=True, by_level=True)

    def __init__(
        self,
        *,
        criterion: str = "gini",
        categorical: str = "subset",
        max_depth: int = 6,
        min_split_gain: float = 0.0,
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


@documented("single", "oblivious", "numbers")
class ObliviousTreeRegressor(TreeRegressor):
    """An oblivious decision tree for numbers: all nodes of a level have the same binary split.

    It is less flexible than other trees and therefore overfits less; boosting often uses such trees.

    Examples
    --------
    >>> from treewright import ObliviousTreeRegressor
    >>> ObliviousTreeRegressor(max_depth=1).fit({"rooms": [1, 2, 3, 4]}, [10, 12, 20, 22]).rules()
    rooms <= 2.5: 11 (2.0)
    rooms > 2.5: 21 (2.0)
    """

    _recipe: ClassVar[Mapping[str, Any]] = {"oblivious": True}
    _criteria = criteria_of(classes=False, by_level=True)

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        categorical: str = "subset",
        max_depth: int = 6,
        min_split_gain: float = 0.0,
        missing: Any = "learned",
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())
