"""Random forests and extra trees."""

from __future__ import annotations

from typing import Any

from treewright.estimators.forest.base import ForestClassifier, ForestRegressor


class RandomForestClassifier(ForestClassifier):
    """A random forest for classes: many full trees, each grown from a sample of rows and columns (Breiman 2001).

    Takes tables as they are, with text columns and missing values. Trees are not pruned.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees. "auto" grows 500 on small tables and 100 on large ones; more never hurt, they only take time.
    criterion : {"gini", "information_gain", "gain_ratio", "error"}, default="gini"
        How a split is rated.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split: into two groups, into a branch per category, or one against all others.
    max_features : "auto", int, float, "sqrt", "log2" or None, default="auto"
        How many columns, or which share, to draw for each node; None looks at all. Fewer make the trees differ more.
        "auto" tries some on tables of up to 10,000 rows, and keeps what errs least on rows that trees have not seen.
    bootstrap : bool, default=True
        Whether each tree gets a sample of the rows, drawn with replacement, or all rows.
    max_samples : int, float or None, default=None
        Size of that sample, as rows or as a share of them; None draws as many as there are.
    voting : {"soft", "hard"}, default="soft"
        Whether the trees' class shares are averaged, or each tree votes for one class.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        What a row of each class weighs. "balanced" gives all classes the same total, "balanced_subsample" does so in
        each tree's sample.
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Full trees are usual: averaging is what keeps a forest from overfitting.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : "auto", int or float, default="auto"
        Least rows, or share of all rows, on both sides of a split. Larger leaves make smoother answers. "auto" tries
        1, 3 and 10 in the same way; large tables take 1.
    min_split_gain : float, default=0.0
        Least gain of a split, in the unit of the criterion.
    max_leaf_nodes : int or None, default=None
        Most leaves of a tree; the node whose split gains most is split first.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split), or any
        other strategy of the single trees, see `docs/missing_values.md`.
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training.
    monotonic_cst : dict, list or None, default=None
        Columns that the answer must rise with (1) or fall with (-1), by name or position, or one entry per column;
        of two classes, the share of the second one.
    max_bins : int, default=255
        Most groups of about as many rows into which the values of a numeric column are put before growth.
    oob_score : bool or function, default=False
        Whether to judge the forest by rows that a tree has not seen: the accuracy is
        kept as `oob_score_` and the class shares as `oob_decision_function_`. A function of the
        truth and the answers takes the place of the accuracy.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and only grow those that `n_estimators` asks for beyond them.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    random_state : int, RandomState or None, default=None
        Seed of all that is random. The same seed gives the same forest, bit for bit, for any number of threads.
    n_jobs : int or None, default=None
        Threads; None takes all cores.
    progress : bool or None, default=None
        Whether to show how far growth is if it takes more than two seconds. None shows it in terminals and notebooks.

    Attributes
    ----------
    forest_ : Forest
        The trees as one value; `forest_[i]` is one of them.
    estimators_ : sequence
        The trees as single learners, made when asked for.
    classes_ : ndarray
        The classes in ascending order.
    feature_importances_ : ndarray
        The share of each column in all that the splits gained.
    oob_score_, oob_decision_function_
        With `oob_score`: the score, and the class shares of each training row.

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
        *,
        n_estimators: int | str = "auto",
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
        min_split_gain: float = 0.0,
        max_leaf_nodes: int | None = None,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        oob_score: Any = False,
        warm_start: bool = False,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.categorical = categorical
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.voting = voting
        self.class_weight = class_weight
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.max_leaf_nodes = max_leaf_nodes
        self.missing = missing
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress


class RandomForestRegressor(ForestRegressor):
    """A random forest for numbers: the average of many trees, each grown from a sample (Breiman 2001).

    Takes tables as they are, with text columns and missing values. Trees are not pruned.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees. "auto" grows 500 on small tables and 100 on large ones; more never hurt, they only take time.
    criterion : {"squared_error", "sdr", "absolute_error", "poisson"}, default="squared_error"
        How a split is rated, and what a leaf answers.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split: into two groups, into a branch per category, or one against all others.
    max_features : "auto", int, float, "sqrt", "log2" or None, default="auto"
        How many columns, or which share, to draw for each node; None looks at all. Fewer make the trees differ more.
        "auto" tries some on tables of up to 10,000 rows, and keeps what errs least on rows that trees have not seen.
    bootstrap : bool, default=True
        Whether each tree gets a sample of the rows, drawn with replacement, or all rows.
    max_samples : int, float or None, default=None
        Size of that sample, as rows or as a share of them; None draws as many as there are.
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Full trees are usual: averaging is what keeps a forest from overfitting.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : "auto", int or float, default="auto"
        Least rows, or share of all rows, on both sides of a split. Larger leaves make smoother answers. "auto" tries
        1, 3 and 10 in the same way; large tables take 1.
    min_split_gain : float, default=0.0
        Least gain of a split, in the unit of the criterion.
    max_leaf_nodes : int or None, default=None
        Most leaves of a tree; the node whose split gains most is split first.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split), or any
        other strategy of the single trees, see `docs/missing_values.md`.
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training.
    monotonic_cst : dict, list or None, default=None
        Columns that the answer must rise with (1) or fall with (-1), by name or position, or one entry per column.
    max_bins : int, default=255
        Most groups of about as many rows into which the values of a numeric column are put before growth.
    oob_score : bool or function, default=False
        Whether to judge the forest by rows that a tree has not seen: the
        coefficient of determination is kept as `oob_score_` and the answers as `oob_prediction_`. A function of the
        truth and the answers takes the place of that measure.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and only grow those that `n_estimators` asks for beyond them.
    quantiles : bool, default=False
        Whether to keep the target and the leaves of the training rows, which `predict_quantiles` needs.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    random_state : int, RandomState or None, default=None
        Seed of all that is random. The same seed gives the same forest, bit for bit, for any number of threads.
    n_jobs : int or None, default=None
        Threads; None takes all cores.
    progress : bool or None, default=None
        Whether to show how far growth is if it takes more than two seconds. None shows it in terminals and notebooks.

    Attributes
    ----------
    forest_ : Forest
        The trees as one value; `forest_[i]` is one of them.
    estimators_ : sequence
        The trees as single learners, made when asked for.
    feature_importances_ : ndarray
        The share of each column in all that the splits gained.
    oob_score_, oob_prediction_
        With `oob_score`: the score, and the answer for each training row.

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
        *,
        n_estimators: int | str = "auto",
        criterion: str = "squared_error",
        categorical: str = "subset",
        max_features: int | float | str | None = "auto",
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = "auto",
        min_split_gain: float = 0.0,
        max_leaf_nodes: int | None = None,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        oob_score: Any = False,
        warm_start: bool = False,
        quantiles: bool = False,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.categorical = categorical
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.max_leaf_nodes = max_leaf_nodes
        self.missing = missing
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.quantiles = quantiles
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress


class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classes: each threshold is drawn at random (Geurts, Ernst and Wehenkel 2006).

    The best of one random cut per drawn column is taken. Faster to grow than a random forest, and often as good.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees. "auto" grows 500 on small tables and 100 on large ones; more never hurt, they only take time.
    criterion : {"gini", "information_gain", "gain_ratio", "error"}, default="gini"
        How a split is rated.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split: into two groups, into a branch per category, or one against all others.
    max_features : "auto", int, float, "sqrt", "log2" or None, default="auto"
        How many columns, or which share, to draw for each node; None looks at all. Fewer make the trees differ more.
        "auto" tries some on tables of up to 10,000 rows, and keeps what errs least on rows that trees have not seen.
    bootstrap : bool, default=False
        Whether each tree gets a sample of the rows, drawn with replacement, or all rows.
    max_samples : int, float or None, default=None
        Size of that sample, as rows or as a share of them; None draws as many as there are.
    voting : {"soft", "hard"}, default="soft"
        Whether the trees' class shares are averaged, or each tree votes for one class.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        What a row of each class weighs. "balanced" gives all classes the same total, "balanced_subsample" does so in
        each tree's sample.
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Full trees are usual: averaging is what keeps a forest from overfitting.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : "auto", int or float, default="auto"
        Least rows, or share of all rows, on both sides of a split. Larger leaves make smoother answers. "auto" tries
        1, 3 and 10 in the same way; large tables take 1.
    min_split_gain : float, default=0.0
        Least gain of a split, in the unit of the criterion.
    max_leaf_nodes : int or None, default=None
        Most leaves of a tree; the node whose split gains most is split first.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split), or any
        other strategy of the single trees, see `docs/missing_values.md`.
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training.
    monotonic_cst : dict, list or None, default=None
        Columns that the answer must rise with (1) or fall with (-1), by name or position, or one entry per column;
        of two classes, the share of the second one.
    max_bins : int, default=255
        Most groups of about as many rows into which the values of a numeric column are put before growth.
    oob_score : bool or function, default=False
        Whether to judge the forest by rows that a tree has not seen: the accuracy is
        kept as `oob_score_` and the class shares as `oob_decision_function_`. A function of the
        truth and the answers takes the place of the accuracy.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and only grow those that `n_estimators` asks for beyond them.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    random_state : int, RandomState or None, default=None
        Seed of all that is random. The same seed gives the same forest, bit for bit, for any number of threads.
    n_jobs : int or None, default=None
        Threads; None takes all cores.
    progress : bool or None, default=None
        Whether to show how far growth is if it takes more than two seconds. None shows it in terminals and notebooks.

    Attributes
    ----------
    forest_ : Forest
        The trees as one value; `forest_[i]` is one of them.
    estimators_ : sequence
        The trees as single learners, made when asked for.
    classes_ : ndarray
        The classes in ascending order.
    feature_importances_ : ndarray
        The share of each column in all that the splits gained.
    oob_score_, oob_decision_function_
        With `oob_score`: the score, and the class shares of each training row.

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
        *,
        n_estimators: int | str = "auto",
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
        min_split_gain: float = 0.0,
        max_leaf_nodes: int | None = None,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        oob_score: Any = False,
        warm_start: bool = False,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.categorical = categorical
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.voting = voting
        self.class_weight = class_weight
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.max_leaf_nodes = max_leaf_nodes
        self.missing = missing
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress


class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for numbers: each threshold is drawn at random (Geurts, Ernst and Wehenkel 2006).

    The best of one random cut per drawn column is taken. Faster to grow than a random forest, and often as good.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Number of trees. "auto" grows 500 on small tables and 100 on large ones; more never hurt, they only take time.
    criterion : {"squared_error", "sdr", "absolute_error", "poisson"}, default="squared_error"
        How a split is rated, and what a leaf answers.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split: into two groups, into a branch per category, or one against all others.
    max_features : "auto", int, float, "sqrt", "log2" or None, default="auto"
        How many columns, or which share, to draw for each node; None looks at all. Fewer make the trees differ more.
        "auto" tries some on tables of up to 10,000 rows, and keeps what errs least on rows that trees have not seen.
    bootstrap : bool, default=False
        Whether each tree gets a sample of the rows, drawn with replacement, or all rows.
    max_samples : int, float or None, default=None
        Size of that sample, as rows or as a share of them; None draws as many as there are.
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Full trees are usual: averaging is what keeps a forest from overfitting.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : "auto", int or float, default="auto"
        Least rows, or share of all rows, on both sides of a split. Larger leaves make smoother answers. "auto" tries
        1, 3 and 10 in the same way; large tables take 1.
    min_split_gain : float, default=0.0
        Least gain of a split, in the unit of the criterion.
    max_leaf_nodes : int or None, default=None
        Most leaves of a tree; the node whose split gains most is split first.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split), or any
        other strategy of the single trees, see `docs/missing_values.md`.
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training.
    monotonic_cst : dict, list or None, default=None
        Columns that the answer must rise with (1) or fall with (-1), by name or position, or one entry per column.
    max_bins : int, default=255
        Most groups of about as many rows into which the values of a numeric column are put before growth.
    oob_score : bool or function, default=False
        Whether to judge the forest by rows that a tree has not seen: the
        coefficient of determination is kept as `oob_score_` and the answers as `oob_prediction_`. A function of the
        truth and the answers takes the place of that measure.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and only grow those that `n_estimators` asks for beyond them.
    quantiles : bool, default=False
        Whether to keep the target and the leaves of the training rows, which `predict_quantiles` needs.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    random_state : int, RandomState or None, default=None
        Seed of all that is random. The same seed gives the same forest, bit for bit, for any number of threads.
    n_jobs : int or None, default=None
        Threads; None takes all cores.
    progress : bool or None, default=None
        Whether to show how far growth is if it takes more than two seconds. None shows it in terminals and notebooks.

    Attributes
    ----------
    forest_ : Forest
        The trees as one value; `forest_[i]` is one of them.
    estimators_ : sequence
        The trees as single learners, made when asked for.
    feature_importances_ : ndarray
        The share of each column in all that the splits gained.
    oob_score_, oob_prediction_
        With `oob_score`: the score, and the answer for each training row.

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
        *,
        n_estimators: int | str = "auto",
        criterion: str = "squared_error",
        categorical: str = "subset",
        max_features: int | float | str | None = "auto",
        bootstrap: bool = False,
        max_samples: int | float | None = None,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | str = "auto",
        min_split_gain: float = 0.0,
        max_leaf_nodes: int | None = None,
        missing: Any = "learned",
        unseen: str = "as_missing",
        monotonic_cst: Any = None,
        max_bins: int = 255,
        oob_score: Any = False,
        warm_start: bool = False,
        quantiles: bool = False,
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.categorical = categorical
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.max_leaf_nodes = max_leaf_nodes
        self.missing = missing
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.max_bins = max_bins
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.quantiles = quantiles
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
