"""The named algorithms: each fixes some choices of the growth loop and leaves the others to the user."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from treewright.estimators.base import Training
from treewright.estimators.single.base import TreeClassifier, TreeRegressor
from treewright.estimators.single.specification import FittedTree, TreeSpec
from treewright.estimators.weights import read_weights
from treewright.table import Kind, Table, has_label, take_rows
from treewright.table.categories import some
from treewright.tree import SplitKind, Tree
from treewright.tree.pruning.methods import collapse_by_errors

# Numbers that Weka takes for equal.
WEKA_CLOSE = 1e-6


class ID3Classifier(TreeClassifier):
    """ID3 (Quinlan 1986): the column with the highest information gain, a branch for each of its categories.

    It knows categories only; for numbers use `C45Classifier`. For a numeric target use
    `DecisionTreeRegressor(categorical="multiway")`. It is the tree of Weka's Id3, except that a branch without rows
    answers as the node above it, where Weka answers nothing, and that of columns with equal gain the first is taken,
    where rounding decides in Weka.

    Parameters
    ----------
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Lower it for a tree that can be read and that overfits less.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_split_gain : float, default=0.0
        Least information gain of a split, in bits. With 0.0 even a split that gains nothing is made, for the sake of
        those below it; 1e-6 stops there, as Weka does.
    max_p_value : float, default=1.0
        A split is only made if its classes would be spread over the branches like this by chance with no more than
        this probability (the chi-squared test). 0.05 or 0.01 stop growth early; 1.0 tests nothing.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error".
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
    categorical_features : list of names or positions, boolean mask, "all" or None, default=None
        Numeric columns to be read as categories: codes that are no quantities.
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

    Examples
    --------
    >>> from treewright import ID3Classifier, datasets, show
    >>> weather = datasets.load_weather()
    >>> model = ID3Classifier().fit(weather.X, weather.y)
    >>> show(model)
    outlook = sunny
    |   humidity = high: no (3.0)
    |   humidity = normal: yes (2.0)
    outlook = overcast: yes (4.0)
    outlook = rainy
    |   wind = weak: yes (3.0)
    |   wind = strong: no (2.0)
    <BLANKLINE>
    Number of leaves: 5
    Size of the tree: 8
    """

    _recipe: ClassVar[Mapping[str, Any]] = {"criterion": "information_gain", "categorical": "multiway"}

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_split_gain: float = 0.0,
        max_p_value: float = 1.0,
        missing: Any = "learned",
        unseen: str = "as_missing",
        class_weight: Any = None,
        misclassification_costs: Any = None,
        smoothing: Any = None,
        categorical_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_split_gain = min_split_gain
        self.max_p_value = max_p_value
        self.missing = missing
        self.unseen = unseen
        self.class_weight = class_weight
        self.misclassification_costs = misclassification_costs
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def _read_table(self, X: Any) -> Table:
        table = super()._read_table(X)
        # A column without any value has no type; it is no number that a user gave.
        numeric = [
            column.name
            for column, values in zip(table.columns, table.values.T, strict=True)
            if column.is_numeric and not np.isnan(values).all()
        ]
        if numeric:
            words = ("column", "is", "it") if len(numeric) == 1 else ("columns", "are", "them")
            raise ValueError(
                f"{words[0]} {some(numeric, most=8)} {words[1]} numeric, and ID3 knows categories only; "
                f"use C45Classifier, or declare {words[2]} in categorical_features"
            )
        columns = tuple(
            column if column.is_numeric else replace(column, kind=Kind.CATEGORICAL) for column in table.columns
        )
        return replace(table, columns=columns)


class C45Spec(TreeSpec):
    """What decides a tree of C4.5: thresholds are values of the table, and useless splits are collapsed."""

    def grow(self, training: Training) -> Tree:
        return lower_thresholds(super().grow(training), training.table)

    def fit(self, training: Training) -> FittedTree:
        if self.pruning is None:
            return FittedTree(collapse_by_errors(self.grow(training)))
        return super().fit(training)


class C45Classifier(TreeClassifier):
    """C4.5 (Quinlan 1993, 1996): the best gain ratio among the columns whose gain is at least average.

    A branch for each category; a threshold for a number, which pays for its choice; a row with a gap goes down every
    branch in part; and the tree is pruned by upper bounds of its errors. It is the tree that Weka's J48 grows, to the
    last digit: see `docs/c45.md`.

    Parameters
    ----------
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Lower it for a tree that can be read and that overfits less.
    min_samples_leaf : int or float, default=2
        Least weight, or share of all rows, in at least two branches of a split. Raise it for noisy data.
    max_p_value : float, default=1.0
        A split is only made if its classes would be spread over the branches like this by chance with no more than
        this probability (the chi-squared test). 0.05 or 0.01 stop growth early; 1.0 tests nothing.
    prune : {"error_based", "reduced_error", None} or another method of `treewright.prune`, default="error_based"
        How the grown tree is cut to size: by C4.5's own upper bounds of the error, or by rows that are kept for
        validation. Even with None, splits that make no difference on the training rows are taken back.
    confidence : float, default=0.25
        For "error_based": smaller means a smaller tree.
    subtree_raising : bool, default=True
        For "error_based": whether the largest branch of a node may take its place.
    validation_fraction : float, default=1/3
        For "reduced_error": the part of the rows that is kept for validation from growth.
    variant : {"j48", "c4.5r8"}, default="j48"
        Whose error bounds to use where they differ: Weka's, or those of Quinlan's release 8.
    missing : str, default="fractional"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error".
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
    >>> from treewright import C45Classifier, datasets
    >>> weather = datasets.load_weather()
    >>> C45Classifier().fit(weather.X, weather.y).rules("yes")
    'play=yes: (outlook=sunny and humidity=normal) or (outlook=overcast) or (outlook=rainy and wind=weak)'
    """

    _spec = C45Spec
    _recipe: ClassVar[Mapping[str, Any]] = {
        "criterion": "gain_ratio",
        "categorical": "multiway",
        "quinlan": True,
    }

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 2,
        max_p_value: float = 1.0,
        prune: str | None = "error_based",
        confidence: float = 0.25,
        subtree_raising: bool = True,
        validation_fraction: float = 1 / 3,
        variant: str = "j48",
        missing: Any = "fractional",
        unseen: str = "as_missing",
        class_weight: Any = None,
        misclassification_costs: Any = None,
        smoothing: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_p_value = max_p_value
        self.prune = prune
        self.confidence = confidence
        self.subtree_raising = subtree_raising
        self.validation_fraction = validation_fraction
        self.variant = variant
        self.missing = missing
        self.unseen = unseen
        self.class_weight = class_weight
        self.misclassification_costs = misclassification_costs
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.n_jobs = n_jobs

    def _read_training(self, table: Table, y: Any, sample_weight: Any) -> Training:
        labelled = has_label(y)
        if labelled is None:
            return super()._read_training(table, y, sample_weight)
        # Rows without a class are not learned from, but a threshold may be a value of theirs, as in Weka.
        rows = np.flatnonzero(labelled)
        warnings.warn(f"{len(labelled) - len(rows)} rows without a class are not learned from", stacklevel=3)
        weights = read_weights(sample_weight, len(labelled))[rows]
        known = replace(table, values=np.asfortranarray(table.values[rows]))
        training = super()._read_training(known, take_rows(y, rows), weights)
        return replace(training, whole=table.values)


def lower_thresholds(tree: Tree, values: np.ndarray) -> Tree:
    """C4.5 lowers a threshold to the largest value of its column, in the whole table, that is not above it.

    Weka compares to within 1e-6, here and when it asks for the threshold.
    """
    lowered = np.array(tree.threshold)
    numeric = np.array([column.is_numeric for column in tree.columns])
    nodes = np.flatnonzero(tree.kind == SplitKind.THRESHOLD)
    nodes = nodes[numeric[tree.column[nodes]] & np.isfinite(tree.threshold[nodes])]
    for place in np.unique(tree.column[nodes]):
        line = values[:, place]
        distinct = np.unique(line[~np.isnan(line)])
        for node in nodes[tree.column[nodes] == place]:
            threshold = tree.threshold[node]
            end = max(np.searchsorted(distinct, threshold + WEKA_CLOSE), np.searchsorted(distinct, threshold, "right"))
            last = int(end) - 1
            lowered[node] = distinct[last]
            if last > 0 and distinct[last - 1] > distinct[last] - WEKA_CLOSE:
                lowered[node] = _first_of_close(line, distinct[last])
    return tree.replace(threshold=lowered, tolerance=WEKA_CLOSE)


def _first_of_close(line: np.ndarray, largest: float) -> float:
    """The value Weka ends up with on its way through a column: one that no later one exceeds by more than 1e-6."""
    found = -np.inf
    for value in line[(line > largest - 10 * WEKA_CLOSE) & (line <= largest)].tolist():
        if value > found + WEKA_CLOSE:
            found = value
    return found


class CARTClassifier(TreeClassifier):
    """CART (Breiman, Friedman, Olshen and Stone 1984) for classes: binary splits, by Gini impurity as a rule.

    Parameters
    ----------
    criterion : {"gini", "information_gain"} or function, default="gini"
        How a split is rated: by the Gini impurity, by information as R's rpart offers it, too, or by one of your own.
        A function of your own gets the array of a node's class weights and returns its impurity: `docs/criteria.md`.
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Lower it for a tree that can be read and that overfits less.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, on both sides of a split. Raise it for noisy data.
    min_split_gain : float, default=0.0
        Least decrease of the impurity.
    max_p_value : float, default=1.0
        A split is only made if its classes would be spread over the branches like this by chance with no more than
        this probability (the chi-squared test). 0.05 or 0.01 stop growth early; 1.0 tests nothing.
    max_leaf_nodes : int or None, default=None
        Most leaves; the node whose split gains most is split first.
    prune : str or None, default="cost_complexity"
        Cut the grown tree to size by one of the methods of `treewright.prune`; None leaves it as it has grown.
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
        smoothing: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.max_p_value = max_p_value
        self.max_leaf_nodes = max_leaf_nodes
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
        self.n_jobs = n_jobs


class CARTRegressor(TreeRegressor):
    """CART (Breiman, Friedman, Olshen and Stone 1984) for numbers: binary splits, by squared error as a rule.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error"} or function, default="squared_error"
        How a split is rated, and what a leaf answers: its mean, or with the absolute error its median (both are in
        the book).
        A function of your own gets weight, mean and variance of a node's targets and returns its impurity:
        `docs/criteria.md`.
    max_depth : int or None, default=None
        Most tests from the root to a leaf. Lower it for a tree that can be read and that overfits less.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, on both sides of a split. Raise it for noisy data.
    min_split_gain : float, default=0.0
        Least decrease of the impurity: of the mean squared error, or of the criterion chosen.
    max_leaf_nodes : int or None, default=None
        Most leaves; the node whose split gains most is split first.
    prune : str or None, default="cost_complexity"
        Cut the grown tree to size by one of the methods of `treewright.prune`; None leaves it as it has grown.
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
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

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
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_split_gain = min_split_gain
        self.max_leaf_nodes = max_leaf_nodes
        self.prune = prune
        self.ccp_alpha = ccp_alpha
        self.validation_fraction = validation_fraction
        self.missing = missing
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.n_jobs = n_jobs


class DecisionStumpClassifier(TreeClassifier):
    """A tree of one test: a weak learner for boosting, and the shortest answer to "what matters most?".

    Parameters
    ----------
    criterion : {"gini", "information_gain", "gain_ratio", "error"} or function, default="gini"
        How the split is rated.
        A function of your own gets the array of a node's class weights and returns its impurity: `docs/criteria.md`.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, on both sides.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error".
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
        self.criterion = criterion
        self.categorical = categorical
        self.min_samples_leaf = min_samples_leaf
        self.missing = missing
        self.unseen = unseen
        self.class_weight = class_weight
        self.misclassification_costs = misclassification_costs
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.n_jobs = n_jobs


class DecisionStumpRegressor(TreeRegressor):
    """A regression tree of one test.

    Parameters
    ----------
    criterion : {"squared_error", "sdr", "absolute_error", "poisson"} or function, default="squared_error"
        How the split is rated, and what a leaf answers: its mean, or with the absolute error its median.
        A function of your own gets weight, mean and variance of a node's targets and returns its impurity:
        `docs/criteria.md`.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, on both sides.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error".
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training: they count as missing, the node answers that asks
        for them, they follow the most rows, or they are refused.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

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
        self.criterion = criterion
        self.categorical = categorical
        self.min_samples_leaf = min_samples_leaf
        self.missing = missing
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.n_jobs = n_jobs


class RandomTreeClassifier(TreeClassifier):
    """A tree that looks at a random sample of the columns at each node: what random forests are made of.

    Parameters
    ----------
    criterion : {"gini", "information_gain", "gain_ratio", "error"} or function, default="gini"
        How a split is rated.
        A function of your own gets the array of a node's class weights and returns its impurity: `docs/criteria.md`.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        How many columns, or which share, to draw for each node. More make trees better, and more alike.
    max_depth : int or None, default=None
        Most tests from the root to a leaf.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, on both sides of a split.
    missing : str, default="learned"
        What becomes of missing values, in training and in prediction: "learned" (the better side of each split),
        "fractional" (a part down every branch), "majority", "class_majority" or "model" (filled first), "branch" (a
        value of its own), "every_value", "all_branches", "surrogate" or "error".
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
    random_state : int, RandomState or None, default=None
        Seed of the draws; give a number to get the same tree again.
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

    Examples
    --------
    >>> from treewright import RandomTreeClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> RandomTreeClassifier(random_state=0).fit(iris.X, iris.y).score(iris.X, iris.y)
    1.0
    """

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "gini",
        categorical: str = "subset",
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
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
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.missing = missing
        self.unseen = unseen
        self.class_weight = class_weight
        self.misclassification_costs = misclassification_costs
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs


class RandomTreeRegressor(TreeRegressor):
    """A regression tree that looks at a random sample of the columns at each node.

    Parameters
    ----------
    criterion : {"squared_error", "sdr", "absolute_error", "poisson"} or function, default="squared_error"
        How a split is rated, and what a leaf answers: its mean, or with the absolute error its median.
        A function of your own gets weight, mean and variance of a node's targets and returns its impurity:
        `docs/criteria.md`.
    categorical : {"subset", "multiway", "one_vs_rest"}, default="subset"
        How a column of categories is split.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        How many columns, or which share, to draw for each node. More make trees better, and more alike.
    max_depth : int or None, default=None
        Most tests from the root to a leaf.
    min_samples_split : int or float, default=2
        Least rows, or share of all rows, of a node that is split.
    min_samples_leaf : int or float, default=1
        Least rows, or share of all rows, on both sides of a split.
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
        Seed of the draws; give a number to get the same tree again.
    n_jobs : int or None, default=None
        Threads for large tables; None takes all cores. The tree does not depend on it.

    Examples
    --------
    >>> from treewright import RandomTreeRegressor
    >>> flats = {"rooms": [1, 2, 3], "floor": [3, 1, 2]}
    >>> RandomTreeRegressor(random_state=0).fit(flats, [10, 12, 20]).predict([{"rooms": 3, "floor": 2}])
    array([20.])
    """

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        categorical: str = "subset",
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        missing: Any = "learned",
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.categorical = categorical
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.missing = missing
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs
