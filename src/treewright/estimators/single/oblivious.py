"""Oblivious trees: all nodes of a level ask the same question, so a leaf is a row of a decision table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from treewright.engines.criteria import criteria_of
from treewright.estimators.single.base import TreeClassifier, TreeRegressor


class ObliviousTreeClassifier(TreeClassifier):
    """A decision tree with one question per level, always with two answers.

    It is less flexible than a tree with free choice at each node, and so overfits less; boosting is often
    built of such trees. All leaves lie equally deep; one that no row reached answers as the node above it.

    Parameters
    ----------
    criterion : {"gini", "information_gain", "error"}, default="gini"
        How a question is rated, over all nodes of the level together.
    categorical : {"subset", "one_vs_rest"}, default="subset"
        How a column of categories is split: into two groups along the order of the last class's share, or one
        category against all others.
    max_depth : int, default=6
        Most questions, at most 16: each doubles the leaves.
    min_split_gain : float, default=0.0
        Least gain of a question over all rows, in the unit of the criterion.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error". The side of "branch" and surrogates
        belong to the question: they are the same in all nodes of a level.
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training: they count as missing, the node answers that asks
        for them, they follow the most rows, or they are refused.
    class_weight : dict, "balanced" or None, default=None
        What a row of each class weighs.
    misclassification_costs : dict or None, default=None
        What wrong answers cost, {("actual", "predicted"): cost}; those not named cost 1. Used while the tree grows and
        to choose its answers.
    smoothing : "laplace", ("m_estimate", m) or None, default=None
        Keep the class shares of small leaves from 0 and 1: one row more of each class, or m rows spread as in the
        whole table.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

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
        self.criterion = criterion
        self.categorical = categorical
        self.max_depth = max_depth
        self.min_split_gain = min_split_gain
        self.missing = missing
        self.unseen = unseen
        self.class_weight = class_weight
        self.misclassification_costs = misclassification_costs
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.n_jobs = n_jobs


class ObliviousTreeRegressor(TreeRegressor):
    """A regression tree with one question per level, always with two answers.

    Parameters
    ----------
    criterion : {"squared_error", "poisson"}, default="squared_error"
        How a question is rated, over all nodes of the level together; "poisson" is for counts.
    categorical : {"subset", "one_vs_rest"}, default="subset"
        How a column of categories is split: into two groups along the order of their means, or one category
        against all others.
    max_depth : int, default=6
        Most questions, at most 16: each doubles the leaves.
    min_split_gain : float, default=0.0
        Least gain of a question over all rows, in the unit of the criterion.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error". The side of "branch" and surrogates
        belong to the question: they are the same in all nodes of a level.
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training: they count as missing, the node answers that asks
        for them, they follow the most rows, or they are refused.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

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
        self.criterion = criterion
        self.categorical = categorical
        self.max_depth = max_depth
        self.min_split_gain = min_split_gain
        self.missing = missing
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.n_jobs = n_jobs
