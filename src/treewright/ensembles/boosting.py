"""Gradient boosting: tree after tree, each grown to take the most off what the ones before left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treewright.ensembles.boost_growth import BoostPlan, Rows, boost, choose_rounds
from treewright.ensembles.forest_base import is_auto, read_monotone
from treewright.ensembles.losses import Loss, Tweedie, read_loss
from treewright.ensembles.progress import check_progress, follow
from treewright.growth.binning import MAX_CODES, code_rows, place_bins
from treewright.growth.boost_engine import BoostRecipe
from treewright.growth.engine import usable_threads
from treewright.growth.forest_engine import choose_forest_form
from treewright.learners.parameters import is_real, is_whole, parameter_error
from treewright.learners.tables import ClassAnswers, NumberAnswers, TableLearner, Training
from treewright.table.column import Column
from treewright.tree import Target
from treewright.tree.forest import Forest

# Of "auto": most rounds that are tried, and how many without a fall of the loss end the trial.
MOST_ROUNDS = 1000
PATIENCE = 50

OTHER_TABLE = "warm_start adds rounds to a model of the same table; set warm_start=False to begin anew"

# What all categories are called that are too rare to have a code of their own.
OTHERS = "(others)"


class Boosting(TableLearner):
    """What boosting of classes and of numbers shares."""

    forests_: list[Forest]
    initial_: np.ndarray
    columns_: tuple[Column, ...]
    target_: Target

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add trees round by round.

        Parameters
        ----------
        X : table
            A pandas, polars or arrow frame, an array, a dict of columns, or a list of rows.
        y : one value per row
            The target: a list, an array, or a column of a frame.
        sample_weight : one number per row, a single number or None
            A row of weight 2 counts as two rows; one of weight 0 is left out.
        """
        check_progress(self.progress)
        if self.unseen not in ("as_missing", "error"):
            raise parameter_error("unseen", self.unseen, "'as_missing' or 'error'")
        table = self._read_table(X)
        training = self._read_training(table, y, sample_weight)
        loss = self._read_loss(training)
        groups = group_rare(training)
        plan, rows, columns = self._prepare(training, loss, groups)
        earlier = getattr(self, "forests_", None) if self.warm_start else None
        n_rounds, history, plan = self._choose_rounds(plan, rows)
        initial = loss.begin(rows.targets, rows.weights) if earlier is None else self.initial_
        first = 0 if earlier is None else len(earlier[0])
        if first > n_rounds:
            raise ValueError(f"n_estimators is {n_rounds}, but the model has {first} rounds; it can only grow")
        scores = None
        if earlier is not None:
            if training.columns != self.columns_ or training.target != self.target_:
                raise ValueError(OTHER_TABLE)
            by_row = np.ascontiguousarray(rows.codes.T)
            scores = np.stack(
                [start + forest.sums(by_row)[:, 0] for start, forest in zip(initial, earlier, strict=True)]
            )
        forests = earlier or []
        if first < n_rounds:
            with follow("boosting", n_rounds - first, self.progress) as tick:
                found = boost(
                    plan,
                    rows,
                    initial,
                    n_rounds - first,
                    tick,
                    earlier=scores,
                    first_round=first,
                    keep_on_interrupt=bool(self.keep_on_interrupt),
                )
            target = Target(training.target.name)
            forests = [Forest.of(columns, target, plan.bins, parts) for parts in found.parts]
            if earlier is not None:
                if len(earlier) != len(forests) or not earlier[0].can_take(forests[0]):
                    raise ValueError(OTHER_TABLE)
                forests = [old.with_more(new) for old, new in zip(earlier, forests, strict=True)]
        self._keep_names(table)
        self._keep_classes(training.classes)
        self.n_features_in_ = len(table.columns)
        self.forests_, self.initial_ = forests, initial
        self.n_estimators_, self.learning_rate_ = len(forests[0]), plan.recipe.learning_rate
        self.history_, self.loss_ = history, loss
        self.columns_, self.target_, self.groups_ = training.columns, training.target, groups
        return self

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each column in all that the splits took off the loss."""
        check_is_fitted(self)
        gains = sum(forest.gains.sum(axis=0) for forest in self.forests_)
        total = gains.sum()
        return np.asarray(gains / total if total > 0.0 else gains)

    def _columns(self) -> tuple[Column, ...]:
        return self.columns_

    def _target(self) -> Target:
        return self.target_

    def _code(self, values: np.ndarray) -> np.ndarray:
        return self.forests_[0].code(grouped(values, self.groups_), self.n_jobs)

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """The sum of all trees for each row: a line per output."""
        codes = self._code(values)
        sums = [forest.sums(codes, self.n_jobs)[:, 0] for forest in self.forests_]
        return np.stack(sums) + self.initial_[:, None]

    def _answer_rows(self, values: np.ndarray) -> np.ndarray:
        return self.loss_.answer(self._scores(values))

    def _staged_answers(self, X: Any) -> Iterator[np.ndarray]:
        """The answers after each round."""
        check_is_fitted(self)
        codes = self._code(self._read_rows(X))
        leaves = [forest.leaves(codes, self.n_jobs) for forest in self.forests_]
        scores = np.repeat(self.initial_[:, None], len(codes), axis=1)
        for number in range(self.n_estimators_):
            for k, forest in enumerate(self.forests_):
                scores[k] += forest.leaf_value[forest.leaf_start[number] + leaves[k][:, number]]
            yield self.loss_.answer(scores)

    def _read_loss(self, training: Training) -> Loss:
        raise NotImplementedError

    def _prepare(
        self, training: Training, loss: Loss, groups: dict[int, np.ndarray]
    ) -> tuple[BoostPlan, Rows, tuple[Column, ...]]:
        """The plan, and the table in bytes."""
        n_threads = usable_threads(self.n_jobs)
        columns = tuple(group_column(column, groups.get(place)) for place, column in enumerate(training.columns))
        values = grouped(training.values, groups)
        if not is_whole(self.max_bins, 2) or self.max_bins > MAX_CODES:
            raise parameter_error("max_bins", self.max_bins, f"a whole number from 2 to {MAX_CODES}")
        bins = place_bins(columns, values, int(self.max_bins), n_threads)
        codes = code_rows(choose_forest_form(), bins, values, n_threads, by_column=True)
        plan = BoostPlan(
            recipe=self._recipe(),
            loss=loss,
            bins=bins,
            monotone=self._directions(training),
            subsample=_share("subsample", self.subsample),
            column_sample=_share("column_sample", self.column_sample),
            patience=PATIENCE,
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int64).max, dtype=np.int64)),
            n_threads=n_threads,
        )
        return plan, Rows(codes, training.answers.astype(np.float64), training.weights), columns

    def _directions(self, training: Training) -> np.ndarray:
        return read_monotone(self.monotone, training.columns)

    def _recipe(self) -> BoostRecipe:
        for name, least in (("max_leaf_nodes", 2), ("min_samples_leaf", 1)):
            if not is_whole(getattr(self, name), least):
                raise parameter_error(name, getattr(self, name), f"a whole number of {least} or more")
        if self.max_depth is not None and not is_whole(self.max_depth, 1):
            raise parameter_error("max_depth", self.max_depth, "a whole number of 1 or more, or None for no limit")
        for name in ("min_child_weight", "l1", "l2", "min_split_gain"):
            if not is_real(getattr(self, name)) or getattr(self, name) < 0.0:
                raise parameter_error(name, getattr(self, name), "a number of 0 or more")
        rate = self.learning_rate
        if not is_auto(rate) and (not is_real(rate) or rate <= 0.0):
            raise parameter_error("learning_rate", rate, "a number above 0, or 'auto'")
        return BoostRecipe(
            max_leaf_nodes=int(self.max_leaf_nodes),
            max_depth=1 << 30 if self.max_depth is None else int(self.max_depth),
            min_samples_leaf=int(self.min_samples_leaf),
            min_child_weight=float(self.min_child_weight),
            l1=float(self.l1),
            l2=float(self.l2),
            min_split_gain=float(self.min_split_gain),
            learning_rate=0.1 if is_auto(rate) else float(rate),
        )

    def _choose_rounds(self, plan: BoostPlan, rows: Rows) -> tuple[int, np.ndarray, BoostPlan]:
        """How many rounds to boost, the losses that told so, and the plan with its rate."""
        if not is_auto(self.n_estimators):
            if not is_whole(self.n_estimators, 1):
                raise parameter_error("n_estimators", self.n_estimators, "a whole number of 1 or more, or 'auto'")
            return int(self.n_estimators), np.empty(0), plan
        if is_auto(self.learning_rate):
            plan = replace(plan, recipe=replace(plan.recipe, learning_rate=rate_for(len(rows.targets))))
        if len(rows.targets) < 10:
            return 100, np.empty(0), plan
        with follow("choosing the number of rounds", None, self.progress) as tick:
            n_rounds, history = choose_rounds(plan, rows, MOST_ROUNDS, tick)
        return n_rounds, history, plan


def rate_for(n_rows: int) -> float:
    """The learning rate of "auto": small steps for small tables, where they cost little."""
    return 0.05 if n_rows < 50_000 else 0.1


def _share(name: str, value: Any) -> float:
    if not is_real(value) or not 0.0 < value <= 1.0:
        raise parameter_error(name, value, "a share above 0.0 and up to 1.0")
    return float(value)


def group_rare(training: Training) -> dict[int, np.ndarray]:
    """For columns with more categories than a byte can tell: the code of each, all rare ones the last.

    One code is kept for all that are not among the most common.
    """
    groups = {}
    for place, column in enumerate(training.columns):
        n_categories = len(column.categories)
        if not column.is_categorical or n_categories <= MAX_CODES:
            continue
        known = training.values[:, place]
        counts = np.bincount(known[~np.isnan(known)].astype(np.intp), minlength=n_categories)
        common = np.sort(np.argsort(-counts, kind="stable")[: MAX_CODES - 1])
        codes = np.full(n_categories, MAX_CODES - 1.0)
        codes[common] = np.arange(len(common))
        groups[place] = codes
    return groups


def group_column(column: Column, codes: np.ndarray | None) -> Column:
    if codes is None:
        return column
    names = [column.categories[place] for place in np.flatnonzero(codes < MAX_CODES - 1)]
    return replace(column, categories=(*names, OTHERS))


def grouped(values: np.ndarray, groups: dict[int, np.ndarray]) -> np.ndarray:
    """Values with rare categories put together."""
    if not groups:
        return values
    values = values.copy()
    for place, codes in groups.items():
        known = values[:, place] >= 0
        values[known, place] = codes[values[known, place].astype(np.intp)]
    return values


class GradientBoostingClassifier(ClassAnswers, Boosting):
    """Gradient boosting for classes: each tree corrects the ones before it (Friedman 2001).

    Takes tables as they are, with text columns and gaps. Categories are split in groups along their gradients; gaps go
    to the side that is better for them.

    Parameters
    ----------
    loss : {"log_loss", "exponential"}, default="log_loss"
        What is made small: the negative logarithm of the true class's share, or for two classes AdaBoost's loss.
    class_weight : dict, "balanced" or None, default=None
        What a row of each class weighs.
    n_estimators : int or "auto", default="auto"
        Rounds of boosting. "auto" boosts on a part of the rows until the loss on the others has not fallen for 50
        rounds, and then takes as many rounds as were best on all rows; small tables are judged in five folds.
    learning_rate : float or "auto", default="auto"
        How much of each tree is added. Smaller steps need more rounds and answer better. "auto" takes 0.05, or 0.1 for
        tables of 50,000 rows and more and for a given number of rounds.
    max_leaf_nodes : int, default=31
        Most leaves of a tree; the leaf whose split takes the most off the loss is split first.
    max_depth : int or None, default=None
        Most tests from the root to a leaf.
    min_samples_leaf : int, default=20
        Least rows on both sides of a split.
    min_child_weight : float, default=0.001
        Least sum of hessians on both sides of a split.
    l1, l2 : float, default=0.0 and 1.0
        What large answers of leaves cost: their size, or its square. Raise them for noisy data.
    min_split_gain : float, default=0.0
        Least that a split must take off the loss.
    subsample : float, default=1.0
        Share of the rows that each tree is grown from, drawn without replacement.
    column_sample : float, default=1.0
        Share of the columns that each tree may ask for.
    monotone : dict, list or None, default=None
        Columns that the answer must rise with (1) or fall with (-1), by name or one entry per column.
    max_bins : int, default=255
        Most groups of about as many rows into which the values of a numeric column are put before growth.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and only add the rounds that `n_estimators` asks for beyond them.
    keep_on_interrupt : bool, default=False
        Whether Ctrl-C ends boosting with the trees so far, rather than with nothing.
    unseen : {"as_missing", "error"}, default="as_missing"
        What becomes of categories that were not there in training.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    random_state : int, RandomState or None, default=None
        Seed of all that is random. The same seed gives the same model, bit for bit, for any number of threads.
    n_jobs : int or None, default=None
        Threads; None takes all cores.
    progress : bool or None, default=None
        Whether to show how far boosting is if it takes more than two seconds.

    Attributes
    ----------
    forests_ : list of Forest
        The trees, one forest per output.
    n_estimators_, learning_rate_ : int, float
        Rounds and rate that were taken.
    history_ : ndarray
        With n_estimators="auto": the loss on rows held back after each round.
    feature_importances_ : ndarray
        The share of each column in all that the splits took off the loss.

    Examples
    --------
    >>> from treewright import GradientBoostingClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(iris.X, iris.y)
    >>> round(model.score(iris.X, iris.y), 2)
    0.97
    """

    def __init__(
        self,
        *,
        loss: str = "log_loss",
        class_weight: Any = None,
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        l1: float = 0.0,
        l2: float = 1.0,
        min_split_gain: float = 0.0,
        subsample: float = 1.0,
        column_sample: float = 1.0,
        monotone: Any = None,
        max_bins: int = 255,
        warm_start: bool = False,
        keep_on_interrupt: bool = False,
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.loss = loss
        self.class_weight = class_weight
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.l1 = l1
        self.l2 = l2
        self.min_split_gain = min_split_gain
        self.subsample = subsample
        self.column_sample = column_sample
        self.monotone = monotone
        self.max_bins = max_bins
        self.warm_start = warm_start
        self.keep_on_interrupt = keep_on_interrupt
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores that shares are made of: of two classes that of the second, else a column per class."""
        check_is_fitted(self)
        scores = self._scores(self._read_rows(X))
        labels = self._labels_of_classes()
        if len(scores) == 1:
            return scores[0] if labels[-1] == 1 else -scores[0]
        return scores.T[:, labels]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The classes that the model answers after each round."""
        return (self._named(self._choose(shares)) for shares in self._staged_answers(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """The class shares after each round."""
        return (shares[:, self._labels_of_classes()] for shares in self._staged_answers(X))

    def _read_loss(self, training: Training) -> Loss:
        n_classes = max(len(training.target.classes), 2)
        return read_loss(self.loss, n_classes=n_classes, quantile=0.5, tweedie_power=1.5)

    def _answer_rows(self, values: np.ndarray) -> np.ndarray:
        return super()._answer_rows(values)[:, : len(self.target_.classes)]

    def _directions(self, training: Training) -> np.ndarray:
        directions = super()._directions(training)
        if directions.any() and len(training.target.classes) != 2:
            n_classes = len(training.target.classes)
            raise ValueError(f"monotone needs a number or two classes to rise or fall, but y has {n_classes} classes")
        second_is_first = len(training.classes) == 2 and training.target.classes[0] == training.classes.tolist()[1]
        return -directions if second_is_first else directions


class GradientBoostingRegressor(NumberAnswers, Boosting):
    """Gradient boosting for numbers: each tree corrects the ones before it (Friedman 2001).

    Takes tables as they are, with text columns and gaps. Categories are split in groups along their gradients; gaps go
    to the side that is better for them.

    Parameters
    ----------
    loss : str or function, default="squared"
        What is made small: "squared" error, "absolute" error (leaves answer medians), "huber" (squared, but linear for
        the largest tenth of the errors), "quantile", the deviances "poisson", "gamma" and "tweedie" (of numbers not
        below 0, by their logarithm), or a function of predictions and targets that returns gradients and hessians.
    quantile : float, default=0.5
        For loss="quantile": the share of targets below the answer.
    tweedie_power : float, default=1.5
        For loss="tweedie": from 1 (Poisson) to 2 (gamma).
    n_estimators : int or "auto", default="auto"
        Rounds of boosting. "auto" boosts on a part of the rows until the loss on the others has not fallen for 50
        rounds, and then takes as many rounds as were best on all rows; small tables are judged in five folds.
    learning_rate : float or "auto", default="auto"
        How much of each tree is added. Smaller steps need more rounds and answer better. "auto" takes 0.05, or 0.1 for
        tables of 50,000 rows and more and for a given number of rounds.
    max_leaf_nodes : int, default=31
        Most leaves of a tree; the leaf whose split takes the most off the loss is split first.
    max_depth : int or None, default=None
        Most tests from the root to a leaf.
    min_samples_leaf : int, default=20
        Least rows on both sides of a split.
    min_child_weight : float, default=0.001
        Least sum of hessians on both sides of a split.
    l1, l2 : float, default=0.0 and 1.0
        What large answers of leaves cost: their size, or its square. Raise them for noisy data.
    min_split_gain : float, default=0.0
        Least that a split must take off the loss.
    subsample : float, default=1.0
        Share of the rows that each tree is grown from, drawn without replacement.
    column_sample : float, default=1.0
        Share of the columns that each tree may ask for.
    monotone : dict, list or None, default=None
        Columns that the answer must rise with (1) or fall with (-1), by name or one entry per column.
    max_bins : int, default=255
        Most groups of about as many rows into which the values of a numeric column are put before growth.
    warm_start : bool, default=False
        Whether to keep the trees of the last fit and only add the rounds that `n_estimators` asks for beyond them.
    keep_on_interrupt : bool, default=False
        Whether Ctrl-C ends boosting with the trees so far, rather than with nothing.
    unseen : {"as_missing", "error"}, default="as_missing"
        What becomes of categories that were not there in training.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.
    random_state : int, RandomState or None, default=None
        Seed of all that is random. The same seed gives the same model, bit for bit, for any number of threads.
    n_jobs : int or None, default=None
        Threads; None takes all cores.
    progress : bool or None, default=None
        Whether to show how far boosting is if it takes more than two seconds.

    Attributes
    ----------
    forests_ : list of Forest
        The trees, one forest per output.
    n_estimators_, learning_rate_ : int, float
        Rounds and rate that were taken.
    history_ : ndarray
        With n_estimators="auto": the loss on rows held back after each round.
    feature_importances_ : ndarray
        The share of each column in all that the splits took off the loss.

    Examples
    --------
    >>> from treewright import GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(n_estimators=50, min_samples_leaf=1)
    >>> model.fit({"rooms": [1, 2, 3, 4] * 5}, [10, 12, 20, 22] * 5).predict({"rooms": [1, 4]}).round()
    array([10., 22.])
    """

    def __init__(
        self,
        *,
        loss: Any = "squared",
        quantile: float = 0.5,
        tweedie_power: float = 1.5,
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        min_child_weight: float = 1e-3,
        l1: float = 0.0,
        l2: float = 1.0,
        min_split_gain: float = 0.0,
        subsample: float = 1.0,
        column_sample: float = 1.0,
        monotone: Any = None,
        max_bins: int = 255,
        warm_start: bool = False,
        keep_on_interrupt: bool = False,
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.tweedie_power = tweedie_power
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.l1 = l1
        self.l2 = l2
        self.min_split_gain = min_split_gain
        self.subsample = subsample
        self.column_sample = column_sample
        self.monotone = monotone
        self.max_bins = max_bins
        self.warm_start = warm_start
        self.keep_on_interrupt = keep_on_interrupt
        self.unseen = unseen
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The numbers that the model answers after each round."""
        return (answers[:, 0] for answers in self._staged_answers(X))

    def _read_loss(self, training: Training) -> Loss:
        loss = read_loss(self.loss, n_classes=0, quantile=self.quantile, tweedie_power=self.tweedie_power)
        if isinstance(loss, Tweedie):
            least = training.answers.min()
            above = loss.power == 2.0
            if least < 0.0 or (above and least == 0.0) or not training.answers.any():
                wanted = "above 0" if above else "of 0 or more, some above 0"
                raise ValueError(f"loss is {self.loss!r}, which needs targets {wanted}, but the least is {least:g}")
        return loss
