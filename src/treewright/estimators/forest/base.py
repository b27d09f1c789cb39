"""Shared base of random forests and extra trees: fitting, prediction, proximities and intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from treewright.encoding.bins import BinnedTable
from treewright.encoding.chunks import is_here
from treewright.engines.forest.engine import bag_of_tree
from treewright.estimators.base import (
    ClassPredictions,
    CountedEnsemble,
    TableLearner,
    Training,
    predict_rows,
)
from treewright.estimators.callbacks import Steps, TakesCallbacks, followed
from treewright.estimators.checkpoints import Checkpoint, open_checkpoint
from treewright.estimators.forest.growth import (
    Bagging,
    ForestPlan,
    Shape,
    bags_of,
    bin_training,
    choose_shape,
    grow_trees,
)
from treewright.estimators.forest.members import Members
from treewright.estimators.forest.stepwise import OTHER_TABLE, grow_in_steps, grow_with_checkpoints, joined
from treewright.estimators.monotonic import check_directions, read_monotonic_cst
from treewright.estimators.parameters import (
    check_plan,
    check_progress,
    check_unseen,
    is_auto,
    is_real,
    is_text,
    is_whole,
    parameter_error,
    shows_progress,
)
from treewright.estimators.random_state import draw_seed
from treewright.estimators.several import refuse_text
from treewright.estimators.single.base import specification
from treewright.estimators.single.magnitudes import largest_target
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.progress import Tick, follow
from treewright.table import Table
from treewright.table.chunked import ChunkedTable
from treewright.table.column import Column
from treewright.table.sparse import SparseValues
from treewright.table.user_warnings import warn_user
from treewright.tree import Target
from treewright.tree.forest import Forest
from treewright.tree.tree_list import TreeList

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Trees of "auto": as many as make about this many rows in all, within bounds; more of them never hurt.
ROWS_IN_ALL = 2_000_000
FEWEST_TREES, MOST_TREES = 100, 500

# How often a row is drawn is counted in two bytes.
MOST_DRAWS = 10_000

# Attributes of a fitted forest that depend on `oob_score`; removed when it is fitted again without it.
_OPTIONAL = ("oob_score_", "oob_decision_function_", "oob_prediction_")


def rows_for_descent(training: Training, table: BinnedTable | None) -> np.ndarray:
    """The training rows in the form in which they descend through the trees."""
    if table is None:
        return training.values
    codes: Any = table.codes
    return table.codes_by_row if is_here(codes) else BinnedTable(table.bins, codes.gather()).codes_by_row


class ForestLearner(TakesCallbacks, CountedEnsemble, TableLearner):
    """Shared base of the forests; a forest adds its parameters and how its trees are drawn."""

    _random_cuts: ClassVar[bool]
    _criteria: ClassVar[tuple[str, ...]]
    _tree_learner: ClassVar[type]
    _counts_weights = False
    _offered_leaves: ClassVar[tuple[int, ...]]

    n_estimators: int | str
    criterion: str
    categorical: str
    max_features: int | float | str | None
    bootstrap: bool
    max_samples: int | float | None
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float | str
    min_weight_fraction_leaf: float
    min_split_gain: float
    min_impurity_decrease: float
    max_leaf_nodes: int | None
    monotonic_cst: Any
    max_bins: int
    oob_score: Any
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    progress: bool | None
    verbose: int | None

    # Files of earlier versions do not have these parameters.
    checkpoint: Any = None
    checkpoint_every: int = 20

    forest_: Forest | TreeList
    shape_: Shape

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : table
            A pandas, polars or arrow frame, an array, a sparse matrix, a dict of columns, a list of rows, or a table
            in chunks (`treewright.scan`).
        y : one value per row
            The target: a list, an array, or a column of a frame. Several columns are several targets. Of a table in
            chunks it may be the name of a column; so may `sample_weight`.
        sample_weight : one number per row, a single number or None
            A row of weight 2 counts as two rows; one of weight 0 is left out.
        """
        if isinstance(X, ChunkedTable):
            X, y, sample_weight = X.separate(y, sample_weight)
        with followed(self, X, y, sample_weight, name="tree") as steps:
            return self._fit(X, y, sample_weight, steps)

    def _fit(self, X: Any, y: Any, sample_weight: Any, steps: Steps | None) -> Self:
        self._check_choices()
        if not self.warm_start:
            self.__dict__.pop("shape_", None)
        single = self._single_tree()
        spec = specification(single, seed=0)
        table = self._read_table(X)
        training = self._read_training(table, y, sample_weight)
        spec.check(training)
        if training.target.outputs:
            refuse_text("voting", getattr(self, "voting", None), "hard", "use 'soft'")
        earlier = getattr(self, "forest_", None) if self.warm_start else None
        checkpoint = open_checkpoint(self, training.digest, has_callbacks=steps is not None)
        plan = self._plan(single, training, self._forest_seed(earlier))
        if checkpoint is not None:
            plan = replace(plan, seed=checkpoint.seed(plan.seed))
        n_trees = self._count_trees(len(training.y))
        binned = bin_training(training, plan)
        if binned is None and not isinstance(training.values, SparseValues):
            training = training.in_full()
        if binned is None and not training.target.is_classes and not training.target.outputs:
            largest_target(training.y)
        shape, tried = self._choose_shape(training, binned, plan, n_trees, checkpoint, has_trees=earlier is not None)
        plan = shape.of(plan)
        if earlier is not None:
            self._check_earlier(earlier, training, n_trees)
        known = {"seed_": plan.seed, "shape_": shape, **self._described(table, training)}
        grow = partial(grow_trees, spec, training, binned, plan)
        # Callbacks and checkpoints see the trees one after the other, so these are grown again then.
        earlier = tried if checkpoint is None and steps is None and earlier is None else earlier
        forest = self._grow(grow, training, binned, n_trees, known, earlier=earlier, checkpoint=checkpoint, steps=steps)
        return self._keep_forest(forest, plan, shape, table, training, binned)

    def _choose_shape(
        self,
        training: Training,
        binned: BinnedTable | None,
        plan: ForestPlan,
        n_trees: int,
        checkpoint: Checkpoint | None,
        *,
        has_trees: bool,
    ) -> tuple[Shape, Forest | None]:
        """The shape of the trees: that of a checkpoint, of the trees to add to, or the one that "auto" chooses.

        The choice of "auto" may have grown the first trees of the forest.
        """
        if checkpoint is not None and checkpoint.found is not None:
            return checkpoint.found.shape_, None
        if has_trees:
            return self._shape_of_more(), None
        shapes = self._shapes(len(training.columns))
        return choose_shape(training, binned, plan, shapes, n_trees, shows_progress(self))

    def _check_earlier(self, earlier: Forest | TreeList, training: Training, n_trees: int) -> None:
        """Refuse to add trees to a forest of another table, or to one that is larger."""
        if len(earlier) > n_trees:
            raise ValueError(
                f"n_estimators is {n_trees}, but the forest has {len(earlier)} trees already; "
                "with warm_start=True it can only grow"
            )
        if len(earlier) == n_trees:
            warn_user(
                f"Warm-start fitting without increasing n_estimators does not fit new trees. The forest has {n_trees}."
            )
        if earlier.columns != training.columns or earlier.target != training.target:
            raise ValueError(OTHER_TABLE)

    def _grow(
        self,
        grow: Callable[[Sequence[int], Tick], Forest | TreeList],
        training: Training,
        binned: BinnedTable | None,
        n_trees: int,
        known: dict[str, Any],
        *,
        earlier: Forest | TreeList | None,
        checkpoint: Checkpoint | None,
        steps: Steps | None,
    ) -> Forest | TreeList:
        """Grow the trees that are not there yet; `known` are the attributes that are known before."""
        first = 0 if earlier is None else len(earlier)
        if earlier is not None and first == n_trees:
            return earlier
        with follow("growing trees", n_trees - first, shows_progress(self)) as tick:

            def grow_some(trees: Sequence[int]) -> Forest | TreeList:
                return grow(trees, tick)

            if checkpoint is not None:
                return grow_with_checkpoints(grow_some, n_trees, checkpoint, known, training, binned)
            if steps is not None:
                described = {name: value for name, value in known.items() if name not in ("seed_", "shape_")}
                return grow_in_steps(grow_some, earlier, range(first, n_trees), steps, described)
            grown = grow_some(range(first, n_trees))
            return grown if earlier is None else joined(earlier, grown)

    def _keep_forest(
        self,
        forest: Forest | TreeList,
        plan: ForestPlan,
        shape: Shape,
        table: Table,
        training: Training,
        binned: BinnedTable | None,
    ) -> Self:
        """Set the attributes of the fitted forest."""
        needs_rows = bool(self.oob_score) or getattr(self, "quantiles", False)
        rows = rows_for_descent(training, binned) if needs_rows else np.empty((0, 0))
        out_of_bag = self._predict_out_of_bag(forest, rows, training, plan)
        self._keep_names(table)
        self._keep_classes(training.classes)
        self.n_features_in_ = len(table.columns)
        self.n_estimators_ = len(forest)
        self.seed_, self.shape_ = plan.seed, shape
        kept = None if training.kept is None else np.flatnonzero(training.kept)
        self.bagging_ = plan.bagging, len(training.y), kept
        self.forest_, self.data_digest_ = forest, training.digest
        self._keep_out_of_bag(out_of_bag, rows, training)
        return self

    def _described(self, table: Table, training: Training) -> dict[str, Any]:
        """The attributes beside the trees that prediction needs."""
        described = copy(self)
        described._keep_names(table)
        described._keep_classes(training.classes)
        names = ("classes_", "n_classes_", "feature_names_in_")
        found = {name: value for name, value in vars(described).items() if name in names}
        return {**found, "n_features_in_": len(table.columns)}

    def apply(self, X: Any) -> np.ndarray:
        """The node where each row ends in each tree, a column per tree, by its number in `estimators_[i].tree_`."""
        leaves = self._leaves(X)
        return self.forest_.nodes_of(leaves) if isinstance(self.forest_, Forest) else leaves

    def decision_path(self, X: Any) -> tuple[csr_matrix, np.ndarray]:
        """The nodes on the path of each row in all trees, and where each tree begins.

        Returns
        -------
        indicator : sparse matrix of shape (n_rows, n_nodes)
            1 where a row passes a node; the nodes of the trees are next to each other.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns of tree i are those from n_nodes_ptr[i] to n_nodes_ptr[i + 1].
        """
        from scipy.sparse import hstack

        from treewright.tree.descent import paths_to

        nodes = self.apply(X)
        paths = [paths_to(tree, nodes[:, number]) for number, tree in enumerate(self.forest_)]
        return hstack(paths).tocsr(), np.cumsum([0, *(path.shape[1] for path in paths)])

    @property
    def estimator(self) -> Any:
        """A tree learner as the trees of the forest are by default, under the name of scikit-learn."""
        return self._tree_learner(splitter="random" if self._random_cuts else "best")

    @property
    def estimator_(self) -> Any:
        """A tree learner with the parameters of the trees, not fitted."""
        check_is_fitted(self)
        return self._single_tree()

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows that each tree was grown from, as often as they were drawn."""
        check_is_fitted(self)
        bagging, n_rows, kept = self.bagging_
        run, rows = choose_compiled_form(), np.arange(n_rows) if kept is None else kept
        counts = (bag_of_tree(run, self.seed_, tree, bagging, n_rows) for tree in range(self.n_estimators_))
        return [np.repeat(rows, drawn).astype(np.int32) for drawn in counts]

    def _leaves(self, X: Any) -> np.ndarray:
        """The leaf of each row in each tree, by the numbers that the forest gives its leaves."""
        check_is_fitted(self)
        return np.asarray(self.forest_.leaves(self.forest_.code(self._read_rows(X)), self.n_jobs), dtype=np.int64)

    @property
    def estimators_(self) -> Sequence[Any]:
        """The trees as fitted estimators, created on access: `show(model.estimators_[0])` prints the first."""
        check_is_fitted(self)
        return Members(self)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The fraction of each column in the total gain of all splits, averaged over the trees."""
        check_is_fitted(self)
        gains = self.forest_.gains
        totals = gains.sum(axis=1, keepdims=True)
        shares = np.divide(gains, totals, out=np.zeros_like(gains), where=totals > 0.0).mean(axis=0)
        return shares / shares.sum() if shares.sum() > 0.0 else shares

    @property
    def n_outputs_(self) -> int:
        """The number of targets."""
        return len(self.forest_.target.outputs) or 1

    def proximity(self, X: Any, Z: Any = None) -> np.ndarray:
        """The proximity of rows: the fraction of trees in which two rows reach the same leaf.

        Parameters
        ----------
        X : table
        Z : table or None
            None compares the rows of X with each other, else each row of X with each row of Z.
        """
        from treewright.estimators.forest.proximity import proximity

        leaves = self._leaves(X)
        return proximity(leaves, leaves if Z is None else self._leaves(Z))

    def outlier_scores(self, X: Any, y: Any) -> np.ndarray:
        """The outlier score of each row within its class (for numbers: within all rows); above 10 is suspicious.

        Breiman's measure: the inverse of the sum of squared proximities, minus its median in the class, divided by the
        median absolute deviation.
        """
        from treewright.estimators.forest.proximity import outlier_scores

        leaves = self._leaves(X)
        groups = self._read_target(y)[0]
        if len(groups) != len(leaves):
            raise ValueError(f"X has {len(leaves)} rows, but y has {len(groups)} values; give one target value per row")
        return outlier_scores(leaves, groups if isinstance(self, ClassPredictions) else np.zeros(len(leaves), np.intp))

    def _columns(self) -> tuple[Column, ...]:
        return self.forest_.columns

    def _target(self) -> Target:
        return self.forest_.target

    def _has_plain_columns(self) -> bool:
        return isinstance(self.forest_, Forest) and self.forest_.has_plain_columns

    def _predict_rows(self, values: np.ndarray) -> np.ndarray:
        forest = self.forest_
        return forest.predictions(forest.code(values, self.n_jobs), majority=self._by_majority(), n_jobs=self.n_jobs)

    def member_predictions(self, X: Any) -> np.ndarray:
        """The predictions of each tree: [tree, row], and for classes probabilities in the order of `classes_`."""
        check_is_fitted(self)
        values = self._read_rows(X)
        if isinstance(self.forest_, Forest):
            return self.forest_.predictions_of_trees(self.forest_.code(values, self.n_jobs), self.n_jobs)
        return np.stack([predict_rows(member, values) for member in self.estimators_])

    def _by_majority(self) -> bool:
        return False

    def _balances_bags(self) -> bool:
        """Whether the classes have the same total weight in each tree's sample."""
        return is_text(self.class_weight, "balanced_subsample")

    def _check_choices(self) -> None:
        """Check the parameters before any work is done."""
        check_progress(self)
        for name in ("bootstrap", "warm_start", "quantiles"):
            if not isinstance(getattr(self, name, False), bool | np.bool_):
                raise parameter_error(name, getattr(self, name), "True or False")
        if not callable(self.oob_score) and not isinstance(self.oob_score, bool | np.bool_):
            raise parameter_error("oob_score", self.oob_score, "True, False or a function of target and prediction")
        self._by_majority()

    def _single_tree(self) -> Any:
        """The tree learner of the forest, with the parameters that both have."""
        shared = set(self._tree_learner().get_params()) & set(self.get_params(deep=False))
        parameters = {name: getattr(self, name) for name in shared if name not in ("random_state", "n_jobs")}
        if self._balances_bags():
            parameters["class_weight"] = None
        parameters["splitter"] = "random" if self._random_cuts else "best"
        shape = getattr(self, "shape_", None) or self._shapes(1)[0]
        parameters |= {"max_features": shape.max_features, "min_samples_leaf": shape.min_samples_leaf}
        return self._tree_learner(**parameters)

    def _shapes(self, n_columns: int) -> list[Shape]:
        """The shapes that "auto" chooses from, the default first."""
        columns, leaves = [self.max_features], [self.min_samples_leaf]
        if is_auto(self.max_features):
            columns = list(dict.fromkeys(self._offered_columns(n_columns)))
        if is_auto(self.min_samples_leaf):
            leaves = list(self._offered_leaves)
        return [Shape(number, size) for number in columns for size in leaves]

    def _shape_of_more(self) -> Shape:
        """The shape of trees that a warm start adds: that of the earlier trees, unless parameters are given."""
        earlier = self.shape_
        return Shape(
            earlier.max_features if is_auto(self.max_features) else self.max_features,
            earlier.min_samples_leaf if is_auto(self.min_samples_leaf) else self.min_samples_leaf,
        )

    def _offered_columns(self, n_columns: int) -> list[int]:
        raise NotImplementedError

    def _plan(self, single: Any, training: Training, seed: int) -> ForestPlan:
        n_bins = self.max_bins
        if not is_whole(n_bins, 2) or n_bins > 255:
            raise parameter_error("max_bins", n_bins, "a whole number from 2 to 255")
        return ForestPlan(
            tree=check_plan({**single.get_params(deep=False), "n_jobs": self.n_jobs}, self._criteria),
            bagging=self._bagging(len(training.y)),
            random_cuts=self._random_cuts,
            monotonic_cst=self._read_monotonic_cst(training),
            balanced=self._balances_bags(),
            max_bins=int(n_bins),
            unseen=check_unseen(self.unseen),
            seed=seed,
            n_jobs=self.n_jobs,
        )

    def _bagging(self, n_rows: int) -> Bagging:
        size = self.max_samples
        if not self.bootstrap:
            if self.oob_score:
                raise ValueError("Out of bag estimation only available if bootstrap=True, so that trees leave rows out")
            if size is not None:
                raise ValueError(
                    "`max_samples` cannot be set if `bootstrap=False`. Either switch to `bootstrap=True` or set "
                    "`max_samples=None`."
                )
            return Bagging()
        return Bagging(count_draws("max_samples", size, n_rows), replace=True)

    def _count_trees(self, n_rows: int) -> int:
        if is_auto(self.n_estimators):
            return min(max(ROWS_IN_ALL // n_rows, FEWEST_TREES), MOST_TREES)
        if not is_whole(self.n_estimators, 1):
            raise parameter_error("n_estimators", self.n_estimators, "a whole number of 1 or more, or 'auto'")
        return int(self.n_estimators)

    def _forest_seed(self, earlier: Forest | TreeList | None) -> int:
        if earlier is not None:
            return self.seed_
        return draw_seed(self.random_state)

    def _read_monotonic_cst(self, training: Training) -> np.ndarray:
        directions = read_monotonic_cst(self.monotonic_cst, training.columns)
        check_directions(directions, training.target)
        return directions

    def _predict_out_of_bag(
        self, forest: Forest | TreeList, rows: np.ndarray, training: Training, plan: ForestPlan
    ) -> np.ndarray | None:
        """The out-of-bag predictions of each row, NaN where every tree was fitted to the row."""
        if not self.oob_score:
            return None
        bags = bags_of(plan, len(forest), len(training.y))
        predictions = forest.predictions(rows, majority=self._by_majority(), bags=bags, n_jobs=self.n_jobs)
        if np.isnan(predictions[:, 0]).all():
            raise ValueError("every tree was fitted to every row, so no row is out of bag; grow more trees")
        n_unknown = int(np.isnan(predictions[:, 0]).sum())
        if n_unknown:
            warn_user(
                f"Some inputs do not have OOB scores: {n_unknown} of {len(predictions)} rows are in every bag; "
                "grow more trees"
            )
        return predictions

    def _keep_out_of_bag(self, predictions: np.ndarray | None, rows: np.ndarray, training: Training) -> None:
        for name in _OPTIONAL:
            self.__dict__.pop(name, None)
        if predictions is None:
            return
        self._keep_out_of_bag_predictions(predictions, training, ~np.isnan(predictions[:, 0]))

    def _keep_out_of_bag_predictions(self, predictions: np.ndarray, training: Training, known: np.ndarray) -> None:
        raise NotImplementedError


def count_draws(name: str, size: Any, n_rows: int, weights: np.ndarray | None = None) -> int:
    """The number of rows to draw, from a number, or a fraction that may be above 1, or None for all.

    If rows are drawn by weight, it is a fraction of the sum of the weights.
    """
    if size is None:
        return n_rows
    wanted = "a whole number of rows, a share of them above 0.0, or None for all"
    if is_whole(size, 1):
        n_draws = int(size)
    elif is_real(size) and not isinstance(size, int) and size > 0.0:
        total = n_rows if weights is None else float(weights.sum())
        n_draws = max(1, round(float(size) * total))
    else:
        raise parameter_error(name, size, wanted)
    if n_draws > MOST_DRAWS * n_rows:
        raise parameter_error(name, size, f"{wanted}; at most {MOST_DRAWS} draws per row")
    return n_draws
