"""The two general learners: every choice of the growth loop is a parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treewright.estimators.single.base import TreeClassifier, TreeRegressor


class DecisionTreeClassifier(TreeClassifier):
    """A decision tree for classes, with every choice open.

    Parameters
    ----------
    criterion : {"gini", "information_gain", "gain_ratio", "error"} or function, default="gini"
        How a split is rated. Gini and information gain rarely differ; the gain ratio holds back columns with
        many categories; the error is easy to explain, but blind to splits that help only later.
        A function of your own gets the array of a node's class weights and returns its impurity: `docs/criteria.md`.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split: into the best two groups, into a branch per category (as ID3
        does, easy to read with few categories), or one category against all others.
    candidates : "midpoints", "class_boundaries", ("bins", k) or ("step", width), default="midpoints"
        Thresholds to try in a numeric column: between all neighbouring values; only where the class changes
        (fewer candidates, the same tree); between k groups of about as many rows; at the multiples of a
        width, for round numbers that people can remember.
    splitter : "best", "random" or ("among", k), default="best"
        Take the best split; the best of splits drawn at random, one per column; or one of the k best at
        random. The last two make trees that differ, for ensembles.
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Lower it for a tree that can be read and that overfits less.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, on both sides of a split. Raise it for noisy data.
    min_split_gain : float, default=0.0
        Least gain of a split, in the unit of the criterion. At 0 growth goes on without any gain, because a
        useful split may need another one above it.
    max_p_value : float, default=1.0
        A split is only made if its classes would be spread over the branches like this by chance with no more than
        this probability (the chi-squared test). 0.05 or 0.01 stop growth early; 1.0 tests nothing.
    max_leaf_nodes : int or None, default=None
        Most leaves; the node whose split gains most is split first.
    max_features : int, float, "sqrt", "log2" or None, default=None
        How many columns, or which share, to draw at random for each node. None looks at all.
    prune : str or None, default=None
        Cut the grown tree to size by one of the methods of `treewright.prune`: "cost_complexity", the safe choice for
        noisy data, "reduced_error", "error_based", "pessimistic", "minimum_description_length" or "collapse".
    ccp_alpha : float, "cv" or "1se", default="cv"
        For "cost_complexity": the price of a leaf, as a share of all weight; or chosen by ten-fold cross-validation, as
        that of the best tree ("cv"), or of the smallest within a standard error of it ("1se"), which is easier to read.
        Nothing in it is random.
    validation_fraction : float, default=1/3
        For "reduced_error": the part of the rows that is kept for validation from growth.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error".
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training: they count as missing, the node answers that asks
        for them, they follow the most rows, or they are refused.
    class_weight : dict, "balanced" or None, default=None
        What a row of each class weighs. "balanced" gives all classes the same total, for rare classes that
        matter.
    misclassification_costs : dict or None, default=None
        What wrong answers cost, {("actual", "predicted"): cost}; those not named cost 1. Used while the tree grows and
        to choose its answers.
    smoothing : "laplace", ("m_estimate", m) or None, default=None
        Keep the class shares of small leaves from 0 and 1: one row more of each class, or m rows spread as in the
        whole table.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says: codes that are no quantities, numbers kept as text.
    random_state : int, RandomState or None, default=None
        Seed of all that is random: the splitter and `max_features`. Without them it changes nothing.
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    classes_ : ndarray
        The classes in ascending order.
    n_classes_ : int
        Their number.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray
        Their names, if the table had names.
    feature_importances_ : ndarray
        The share of each column in all that the splits gained.

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
        min_split_gain: float = 0.0,
        max_p_value: float = 1.0,
        max_leaf_nodes: int | None = None,
        max_features: int | float | str | None = None,
        prune: str | None = None,
        ccp_alpha: float | str = "cv",
        validation_fraction: float = 1 / 3,
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
        self.criterion = criterion
        self.categorical = categorical
        self.candidates = candidates
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.max_p_value = max_p_value
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.prune = prune
        self.ccp_alpha = ccp_alpha
        self.validation_fraction = validation_fraction
        self.missing = missing
        self.unseen = unseen
        self.class_weight = class_weight
        self.misclassification_costs = misclassification_costs
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs


class DecisionTreeRegressor(TreeRegressor):
    """A regression tree, with every choice open.

    Parameters
    ----------
    criterion : {"squared_error", "sdr", "absolute_error", "poisson"} or function, default="squared_error"
        How a split is rated, and what a leaf answers: its mean, or with the absolute error its median, which
        outliers do not move. "sdr" is the reduction of the standard deviation, as in model trees; "poisson"
        is for counts: no split in two leaves a side without any, because its rate would be 0.
        A function of your own gets weight, mean and variance of a node's targets and returns its impurity:
        `docs/criteria.md`.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split: into the best two groups, into a branch per category (ID3 for
        numbers), or one category against all others.
    candidates : "midpoints", ("bins", k) or ("step", width), default="midpoints"
        Thresholds to try in a numeric column: between all neighbouring values; between k groups of about as
        many rows; at the multiples of a width.
    splitter : "best", "random" or ("among", k), default="best"
        Take the best split; the best of splits drawn at random, one per column; or one of the k best.
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Lower it for a tree that can be read and that overfits less.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, on both sides of a split. Raise it for noisy data.
    min_split_gain : float, default=0.0
        Least gain of a split, in the unit of the criterion.
    max_leaf_nodes : int or None, default=None
        Most leaves; the node whose split gains most is split first.
    max_features : int, float, "sqrt", "log2" or None, default=None
        How many columns, or which share, to draw at random for each node. None looks at all.
    prune : str or None, default=None
        Cut the grown tree to size by one of the methods of `treewright.prune`: "cost_complexity", the safe choice for
        noisy data, "reduced_error" or "collapse".
    ccp_alpha : float, "cv" or "1se", default="cv"
        For "cost_complexity": the price of a leaf, as a share of all weight; or chosen by ten-fold cross-validation, as
        that of the best tree ("cv"), or of the smallest within a standard error of it ("1se"), which is easier to read.
        Nothing in it is random.
    validation_fraction : float, default=1/3
        For "reduced_error": the part of the rows that is kept for validation from growth.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error".
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training: they count as missing, the node answers that asks
        for them, they follow the most rows, or they are refused.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    random_state : int, RandomState or None, default=None
        Seed of all that is random: the splitter and `max_features`. Without them it changes nothing.
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray
        Their names, if the table had names.
    feature_importances_ : ndarray
        The share of each column in all that the splits gained.

    Examples
    --------
    >>> from treewright import DecisionTreeRegressor
    >>> days = {"sky": ["sunny", "sunny", "rainy", "sunny"], "water": ["warm", "warm", "warm", "cool"]}
    >>> model = DecisionTreeRegressor(categorical="multiway", max_depth=1).fit(days, [0.9, 0.8, 0.1, 0.85])
    >>> model.rules()
    sky = sunny: 0.85 (3.0)
    sky = rainy: 0.1 (1.0)
    """

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
        min_split_gain: float = 0.0,
        max_leaf_nodes: int | None = None,
        max_features: int | float | str | None = None,
        prune: str | None = None,
        ccp_alpha: float | str = "cv",
        validation_fraction: float = 1 / 3,
        missing: Any = "learned",
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.categorical = categorical
        self.candidates = candidates
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.prune = prune
        self.ccp_alpha = ccp_alpha
        self.validation_fraction = validation_fraction
        self.missing = missing
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs
