"""Gradient boosting: each tree is fitted to the gradient of the loss of the trees before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from treewright.encoding.bins import MAX_CODES, Bins
from treewright.encoding.chunks import is_here
from treewright.encoding.target_encoding import TargetEncoding, fit_target_encoding
from treewright.engines.exact.own_criterion import name_of
from treewright.engines.packed.trees import GrownTrees
from treewright.estimators.base import ClassPredictions, NumberPredictions, TableLearner, Training
from treewright.estimators.binning import bin_values, code_columns
from treewright.estimators.boosting.initial_models import fit_initial_model, initial_scores
from treewright.estimators.boosting.losses import Loss, LossChoices, ManyOutputs, Tweedie, read_loss
from treewright.estimators.boosting.metrics import read_metrics
from treewright.estimators.boosting.options import (
    read_goss,
    read_interaction_cst,
    read_max_features,
    read_recipe,
    read_share,
    read_start,
    read_targets,
)
from treewright.estimators.boosting.own_classes import OwnClasses
from treewright.estimators.boosting.resuming import ResumedRounds
from treewright.estimators.boosting.rounds import (
    MOST_ROWS_TO_REFIT,
    Boosted,
    BoostPlan,
    Rows,
    boost_best,
    choose_plan,
    choose_plan_on_sample,
    hold_out,
    no_curves,
)
from treewright.estimators.boosting.scoring import read_scoring
from treewright.estimators.boosting.shapes import (
    LEAST_FALL,
    BoostShape,
    shape_of,
    shapes_for,
    take_shape,
)
from treewright.estimators.callbacks import Steps, TakesCallbacks, followed
from treewright.estimators.checkpoints import open_checkpoint
from treewright.estimators.chunks import by_chunks
from treewright.estimators.missing_values import refuse_unseen
from treewright.estimators.monotonic import read_monotonic_cst
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import (
    check_progress,
    is_auto,
    is_real,
    is_text,
    is_whole,
    parameter_error,
    shows_progress,
    store_parameters,
)
from treewright.estimators.random_state import draw_seed
from treewright.estimators.single.magnitudes import largest_target, scale_of_target
from treewright.estimators.weights import read_weights
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.progress import follow
from treewright.runtime.threads import usable_threads
from treewright.table import Table, read_classes, read_like
from treewright.table.chunked import ChunkedTable
from treewright.table.column import Column
from treewright.tree import Target
from treewright.tree.forest import Forest
from treewright.tree.tree import GRADIENT

# A node has two bytes for its column.
MOST_COLUMNS = 1 << 16

# Largest number of rounds of "auto".
MOST_ROUNDS = 1000

# Callbacks, and how a learner keeps trees.
Following = tuple[Steps, Callable[..., Any]] | None

OTHER_TABLE = "warm_start adds rounds to a model of the same table; set warm_start=False to begin anew"


@dataclass(frozen=True, eq=False)
class ValidationSet:
    """The rows that a user gives to validate on."""

    X: Any
    y: Any
    sample_weight: Any
    init_score: Any

    @property
    def is_given(self) -> bool:
        if (self.X is None) != (self.y is None):
            raise ValueError("X_val and y_val belong together; give both or none")
        if self.X is None and (self.sample_weight is not None or self.init_score is not None):
            raise ValueError("sample_weight_val and init_score_val describe rows of X_val, which is missing")
        return self.X is not None


def read_sets(X_val: Any, y_val: Any, weights: Any, scores: Any, eval_set: Any) -> list[ValidationSet]:
    """The validation sets that a user gives: one as X_val and y_val, or several as a list of pairs."""
    if eval_set is None:
        one = ValidationSet(X_val, y_val, weights, scores)
        return [one] if one.is_given else []
    if X_val is not None or y_val is not None:
        raise ValueError("X_val and eval_set both name rows to validate on; give one of them only")
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError("eval_set must be a list of pairs of a table and its target, such as [(X_val, y_val)]")
    described = []
    for name, given in (("sample_weight_val", weights), ("init_score_val", scores)):
        if given is not None and (not isinstance(given, list | tuple) or len(given) != len(pairs)):
            raise ValueError(f"{name} must be a list with an entry for each of the {len(pairs)} pairs of eval_set")
        described.append([None] * len(pairs) if given is None else list(given))
    return [ValidationSet(*pair, *more) for pair, *more in zip(pairs, *described, strict=True)]


class Boosting(TakesCallbacks, TableLearner):
    """Shared base of gradient boosting for classes and for numbers."""

    _by_column: ClassVar[bool] = False

    loss: Any
    n_estimators: int | str
    learning_rate: float | str
    growth: str
    max_leaf_nodes: int
    max_depth: int | None
    min_samples_leaf: int | str
    min_child_weight: float
    l1_regularization: float
    l2_regularization: float
    min_split_gain: float
    min_impurity_decrease: float
    subsample: float | str
    goss: Any
    max_features: int | float | str | None
    colsample_bytree: float
    colsample_bylevel: float
    monotonic_cst: Any
    interaction_cst: Any
    max_bins: int
    validation_fraction: float | None
    n_iter_no_change: int
    tol: float
    scoring: Any
    eval_metric: Any
    train_score: bool
    init: Any
    warm_start: bool
    keep_on_interrupt: bool
    random_state: Any
    n_jobs: int | None
    progress: bool | None
    verbose: int | None

    # Files of earlier versions do not have these parameters.
    checkpoint: Any = None
    checkpoint_every: int = 20

    other_unseen = "'as_missing'"

    forests_: list[Forest]
    initial_: np.ndarray
    validation_loss_: np.ndarray
    evals_result_: dict[str, dict[str, list[float]]]
    best_iteration_: int | None
    best_score_: float | None
    shape_: BoostShape
    columns_: tuple[Column, ...]
    target_: Target

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        init_score: Any = None,
        init_score_val: Any = None,
        eval_set: Any = None,
    ) -> Self:
        """Add trees round by round.

        Parameters
        ----------
        X : table
            A pandas, polars or arrow frame, an array, a sparse matrix, a dict of columns, a list of rows, or a table
            in chunks (`treewright.scan`).
        y : one value per row
            The target: a list, an array, or a column of a frame. For numbers also several columns. Of a table in
            chunks it may be the name of a column; so may `sample_weight`.
        sample_weight : one number per row, a single number or None
            A row of weight 2 counts as two rows; one of weight 0 is left out. Weights that sum to 1 or less are
            fractions of the table, and are scaled to a mean of 1.
        X_val, y_val : table and target, or None
            A validation set. Boosting stops early when its loss has not fallen for `n_iter_no_change` rounds, and the
            rounds up to the least loss are kept.
        sample_weight_val : one number per row, a single number or None
            The weights of the rows of the validation set.
        init_score : one number per row, or one per row and output, or None
            Initial scores on the scale of the loss: log odds for classes, logarithms for "poisson", "gamma" and
            "tweedie". With more than two classes there is a column each, in the order of `classes_`. They are not part
            of the model: add them to its scores for other rows.
        init_score_val : as `init_score`, or None
            The initial scores of the rows of the validation set.
        eval_set : list of (X, y) or None
            Several validation sets, as XGBoost takes them: the last one decides when to stop, and `evals_result_` has
            the figures of all. `sample_weight_val` and `init_score_val` are then lists with an entry per set.
        """
        given = read_sets(X_val, y_val, sample_weight_val, init_score_val, eval_set)
        if isinstance(X, ChunkedTable):
            X, y, sample_weight = X.separate(y, sample_weight)
        with followed(self, X, y, sample_weight, name="round") as steps:
            return self._fit(X, y, sample_weight, init_score, given, steps)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        init_score: Any,
        given: list[ValidationSet],
        steps: Steps | None,
    ) -> Self:
        check_progress(self)
        if self.unseen not in ("as_missing", "error"):
            raise parameter_error("unseen", self.unseen, "'as_missing' or 'error'")
        table = self._read_table(X)
        training = self._read_training(table, y, sample_weight)
        loss = self._read_loss(training)
        scale = self._scale_of_target(training, loss, init_score)
        training = training if scale == 1.0 else replace(training, y=training.y / scale)
        plan, rows, statistics = self._prepare(training, loss)
        plan = plan if scale == 1.0 else for_scaled_target(plan, scale)
        earlier = self._earlier(training, plan, statistics)
        model = self._initial_model(X, y, sample_weight, init_score, has_trees=bool(earlier))
        rows = replace(rows, start=self._read_start(init_score, training, loss.n_outputs))
        rows = self._start_from(rows, X, training, loss, model)
        sets = []
        for each in given:
            read = self._read_validation(each, table, training, plan, statistics)
            read = self._start_from(read, each.X, replace(training, kept=None), loss, model)
            if (read.start is None) != (rows.start is None):
                raise ValueError("init_score and init_score_val belong together; give both or none")
            sets.append(read if scale == 1.0 else replace(read, targets=read.targets / scale))

        def build(plan: BoostPlan, trees: list[list[GrownTrees]]) -> list[Forest]:
            return joined_forests(earlier, plan, trees, statistics.columns, Target(training.target.name))

        def keep(learner: Self, plan: BoostPlan, trees: list[list[GrownTrees]], initial: np.ndarray) -> Self:
            """Keep the trees, and all else that prediction needs."""
            forests = build(plan, trees)
            learner._keep_names(table)
            learner._keep_classes(training.classes)
            learner.n_features_in_ = len(table.columns)
            if scale != 1.0:
                forests = [replace(forest, leaf_value=forest.leaf_value * scale) for forest in forests]
                initial = initial * scale
            learner.forests_, learner.initial_, learner.loss_ = forests, initial, loss
            learner.init_, learner.reads_once_ = model, model is None
            learner.n_estimators_, learner.learning_rate_ = len(forests[0]), plan.recipe.learning_rate
            learner.columns_, learner.target_ = training.columns, training.target
            learner.target_encoding_, learner.data_digest_ = statistics, training.digest
            return learner

        keeper = self._open_checkpoint(training, rows, sets, keep, has_callbacks=steps is not None)
        if keeper is not None:
            plan = replace(plan, seed=keeper.checkpoint.seed(plan.seed))
            keeper.build = None if scale == 1.0 else build
        following = None if steps is None else (steps, keep)
        plan, found, initial = self._boost(plan, rows, sets, earlier, following, keeper)
        keep(self, plan, found.trees, initial)
        found = found if scale == 1.0 else in_units_of_target(found, loss.unit(scale))
        self._keep_curves(found, plan)
        self._keep_training_loss(found, has_trees=bool(earlier))
        self.shape_, self.constraints_ = shape_of(plan), (plan.monotonic_cst, groups_of(plan))
        return self

    def _scale_of_target(self, training: Training, loss: Loss, init_score: Any) -> float:
        """The power of two to divide an extreme target by, whose squares are no floats; 1 for any other.

        Scores, metrics and initial models have the units of the target, so it is kept if there are any.
        """
        has_units = self.init is not None or init_score is not None or self.eval_metric is not None or self.warm_start
        if loss.unit(1.0) == 0.0 or has_units or not is_text(self.scoring, "loss"):
            return 1.0
        return scale_of_target(training.y)

    def _open_checkpoint(
        self, training: Training, rows: Rows, sets: list[Rows], keep: Callable[..., Any], *, has_callbacks: bool
    ) -> ResumedRounds | None:
        """What keeps the rounds in the file `checkpoint`, None without this parameter."""
        if self.checkpoint is not None and not is_here(rows.codes):
            raise ValueError("a checkpoint needs the table in this process; leave it out, or fit a local table")
        more = [array for each in sets for array in (each.codes, each.targets, each.weights, each.start)]
        found = open_checkpoint(self, training.digest, has_callbacks=has_callbacks, more=[rows.start, *more])
        return None if found is None else ResumedRounds(found, keep)

    def _initial_model(self, X: Any, y: Any, sample_weight: Any, init_score: Any, *, has_trees: bool) -> Any:
        """The fitted model that the trees start from; that of the trees that a warm start adds to."""
        if self.init is not None and init_score is not None:
            raise ValueError("init and init_score both set the initial scores; give one of them only")
        if has_trees:
            return self.init_
        return fit_initial_model(self.init, X, y, sample_weight, of_classes=is_classifier(self))

    def _start_from(self, rows: Rows, X: Any, training: Training, loss: Loss, model: Any) -> Rows:
        """The rows with the scores that `init` gives them, if it is set."""
        if self.init is None:
            return rows
        if model is None:
            return replace(rows, start=np.zeros((loss.n_outputs, len(rows))))
        scores = initial_scores(model, X, loss, list(training.target.classes))
        return replace(rows, start=scores if training.kept is None else np.ascontiguousarray(scores[:, training.kept]))

    def _keep_curves(self, found: Boosted, plan: BoostPlan) -> None:
        """Keep the validation loss and the metrics of all rounds, and the best of them."""
        curves = found.curves
        self._curves, self.validation_loss_ = curves, curves[0 if plan.scoring is None else 1]
        has_validated = curves.shape[1] > 0
        names = [*self._names_of_figures(), *(metric.name for metric in plan.metrics)]
        scored = [] if plan.scoring is None else [plan.scoring.name]

        def by_name(lines: np.ndarray) -> dict[str, list[float]]:
            signs = [-1.0] * len(scored) + [1.0] * len(names)
            pairs = zip([*scored, *names], signs, lines, strict=True)
            return {name: (sign * line).tolist() for name, sign, line in pairs}

        results = [by_name(lines) for lines in (*found.others, curves)] if has_validated else []
        labels = [f"validation_{number}" for number in range(len(results))] if found.others else ["validation"]
        self.evals_result_ = dict(zip(labels, results, strict=False))
        self.best_iteration_ = int(np.argmin(curves[0])) + 1 if has_validated else None
        best = float(curves[0].min()) if has_validated else None
        self.best_score_ = -best if best is not None and scored else best

    def _names_of_figures(self) -> list[str]:
        return [self.loss if isinstance(self.loss, str) else name_of(self.loss)]

    def _keep_training_loss(self, found: Boosted, *, has_trees: bool) -> None:
        """Keep the loss of the training rows after each round, and that of the rows that were not drawn."""
        names = ("train_score_", "oob_improvement_", "oob_scores_", "oob_score_")
        before = {name: self.__dict__.pop(name, None) for name in names}
        lines = found.training
        if lines is None:
            return
        kept = {"train_score_": lines[0], "oob_improvement_": lines[1] - lines[2], "oob_scores_": lines[2]}
        for name, line in kept.items():
            if name == "train_score_" or not np.isnan(lines[2]).any():
                is_continued = has_trees and before[name] is not None
                setattr(self, name, np.append(before[name], line) if is_continued else line)
        if hasattr(self, "oob_scores_") and len(self.oob_scores_):
            self.oob_score_ = float(self.oob_scores_[-1])

    @property
    def n_iter_(self) -> int:
        """The number of rounds."""
        check_is_fitted(self)
        return int(self.n_estimators_)

    @property
    def n_trees_per_iteration_(self) -> int:
        """The number of trees of a round: one, or one per class if there are three or more."""
        check_is_fitted(self)
        return len(self.forests_)

    @property
    def is_categorical_(self) -> np.ndarray | None:
        """Which columns are split by category; None if none is."""
        check_is_fitted(self)
        found = np.array([column.is_categorical for column in self.columns_])
        return found if found.any() else None

    @property
    def feature_importances_(self) -> np.ndarray:
        """The fraction of each column in the total loss reduction of all splits."""
        check_is_fitted(self)
        by_column = sum(forest.gains.sum(axis=0) for forest in self.forests_)
        gains = np.bincount(self.target_encoding_.origin, by_column, minlength=len(self.columns_))
        total = gains.sum()
        return np.asarray(gains / total if total > 0.0 else gains)

    def _columns(self) -> tuple[Column, ...]:
        return self.columns_

    def _target(self) -> Target:
        return self.target_

    def _has_plain_columns(self) -> bool:
        return not self.target_encoding_.means and self.forests_[0].has_plain_columns

    def _code(self, values: np.ndarray) -> np.ndarray:
        return self.forests_[0].code(self.target_encoding_.apply(values), self.n_jobs)

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """The sum of all trees for each row: [output, row]."""
        codes = self._code(values)
        sums = [forest.sums(codes, self.n_jobs)[:, 0] for forest in self.forests_]
        return np.stack(sums) + self.initial_[:, None]

    def _predict_rows(self, values: np.ndarray) -> np.ndarray:
        return self._from_scores(self._scores(values))

    def _from_scores(self, scores: np.ndarray) -> np.ndarray:
        """The predictions of scores: class probabilities by label, or numbers."""
        return self.loss_.prediction(scores)

    def _predictions(self, X: Any) -> np.ndarray:
        if self.__dict__.get("init_") is None:
            return super()._predictions(X)
        return self._from_scores(self._all_scores(X))

    def _all_scores(self, X: Any) -> np.ndarray:
        """The sum of all trees and of the initial model for each row: [output, row]."""
        check_is_fitted(self)
        return self._scores(self._read_rows(X)) + self._scores_of_init(X)

    def _scores_of_init(self, X: Any) -> np.ndarray | float:
        if self.init_ is None:
            return 0.0
        return initial_scores(self.init_, X, self.loss_, list(self.target_.classes))

    def apply(self, X: Any) -> np.ndarray:
        """The node where each row ends in each tree: [row, round], and one more axis for the trees of classes."""
        check_is_fitted(self)
        codes = self._code(self._read_rows(X))
        return np.stack([forest.nodes_of(forest.leaves(codes, self.n_jobs)) for forest in self.forests_], axis=2)

    @property
    def estimators_(self) -> np.ndarray:
        """The trees as fitted regressors, created on access: [round, output]; the learning rate is in their values."""
        from treewright.estimators.single.base import adopt
        from treewright.estimators.single.specification import FittedTree
        from treewright.estimators.single.trees import DecisionTreeRegressor

        check_is_fitted(self)
        found = np.empty((self.n_estimators_, len(self.forests_)), dtype=object)
        for output, forest in enumerate(self.forests_):
            for number, tree in enumerate(forest):
                names = [column.name for column in tree.columns] if hasattr(self, "feature_names_in_") else None
                member = adopt(DecisionTreeRegressor(), FittedTree(tree), np.empty(0), names, len(tree.columns))
                found[number, output] = member
        return found

    def _staged_scores(self, X: Any) -> Iterator[np.ndarray]:
        """The scores after each round, [output, row]; invalid rows are an error at once."""
        check_is_fitted(self)
        codes, start = self._code(self._read_rows(X)), self._scores_of_init(X)

        def stages() -> Iterator[np.ndarray]:
            leaves = [forest.leaves(codes, self.n_jobs) for forest in self.forests_]
            scores = np.repeat(self.initial_[:, None], len(codes), axis=1) + start
            for number in range(self.n_estimators_):
                for k, forest in enumerate(self.forests_):
                    scores[k] += forest.values_of(number, leaves[k][:, number])
                yield scores.copy()

        return stages()

    def _staged_predictions(self, X: Any) -> Iterator[np.ndarray]:
        return map(self._from_scores, self._staged_scores(X))

    def _read_loss(self, training: Training) -> Loss:
        raise NotImplementedError

    def _read_validation_target(self, y: Any, training: Training) -> np.ndarray:
        """The targets of the validation set, in the terms of the training rows."""
        raise NotImplementedError

    def _outputs(self, training: Training) -> dict[str, np.ndarray]:
        """The target as numbers by name: the targets of target encoding."""
        raise NotImplementedError

    def _read_start(self, init_score: Any, training: Training, n_outputs: int) -> np.ndarray | None:
        """The initial scores of the rows: [output, row]."""
        return read_start(init_score, training, n_outputs)

    def _prepare(self, training: Training, loss: Loss) -> tuple[BoostPlan, Rows, TargetEncoding]:
        """The plan, the coded table, and the target encoding."""
        if not is_whole(self.max_bins, 2) or self.max_bins > MAX_CODES:
            raise parameter_error("max_bins", self.max_bins, f"a whole number from 2 to {MAX_CODES}")
        if not is_whole(self.n_iter_no_change, 1):
            raise parameter_error("n_iter_no_change", self.n_iter_no_change, "a whole number of 1 or more")
        if not is_real(self.tol) or self.tol < 0.0:
            raise parameter_error("tol", self.tol, "a number of 0 or more")
        max_features = read_max_features(self.max_features, len(training.columns))
        groups = read_interaction_cst(self.interaction_cst, training.columns)
        recipe = read_recipe(self, max_features, training.weights, len(training.classes))
        n_threads = usable_threads(self.n_jobs)
        seed = draw_seed(self.random_state)
        outputs = self._outputs(training)
        statistics, values = fit_target_encoding(training.columns, training.values, outputs, training.weights)
        table = bin_values(choose_compiled_form(), statistics.columns, values, int(self.max_bins), n_threads)
        if len(statistics.columns) >= MOST_COLUMNS:
            raise ValueError(
                f"boosting takes fewer than {MOST_COLUMNS} columns, but there are {len(statistics.columns)}"
            )
        plan = BoostPlan(
            recipe=recipe,
            loss=loss,
            bins=table.bins,
            monotonic_cst=self._directions(training)[statistics.origin],
            groups=None if groups is None else np.ascontiguousarray(groups[:, statistics.origin]),
            subsample=1.0 if is_auto(self.subsample) else read_share("subsample", self.subsample),
            goss=read_goss(self.goss, self.subsample),
            colsample_bytree=read_share("colsample_bytree", self.colsample_bytree),
            n_iter_no_change=int(self.n_iter_no_change),
            tol=float(self.tol),
            seed=seed,
            n_threads=n_threads,
            metrics=read_metrics(self.eval_metric, training.target, training.classes),
            scoring=read_scoring(self.scoring, training.target, training.classes),
            records_training=bool(self.train_score),
        )
        targets = np.ascontiguousarray(training.y.astype(np.float64, copy=False).T)
        code_apart = self._code_apart(training, outputs, statistics, table.bins) if statistics.means else None
        rows = Rows(table.codes, targets, training.weights, code_apart=code_apart, allocate=table.allocate)
        # Small tables are boosted many times, to choose the number of rounds.
        return plan, rows.here() if len(rows) <= MOST_ROWS_TO_REFIT else rows, statistics

    def _code_apart(
        self, training: Training, outputs: dict[str, np.ndarray], statistics: TargetEncoding, bins: Bins
    ) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """A function that codes training and validation rows, with target encoding fitted to the training rows only."""

        def code(kept: np.ndarray, validation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            known = {name: numbers[kept] for name, numbers in outputs.items()}
            weights, values = training.weights[kept], training.values[kept]
            learned, seen = statistics.learn(values, known, weights)
            apart = learned.apply(training.values[validation])
            coded = [code_columns(choose_compiled_form(), bins, part, 1) for part in (seen, apart)]
            return coded[0], coded[1]

        return code

    def _read_validation(
        self, given: ValidationSet, table: Table, training: Training, plan: BoostPlan, statistics: TargetEncoding
    ) -> Rows:
        """The validation set, coded as the training rows."""
        if self.validation_fraction is not None:
            raise ValueError("X_val and validation_fraction both name rows to validate on; give one of them only")
        try:
            values = read_like(
                given.X,
                training.columns,
                named=table.named,
                learner=type(self).__name__,
                numeric_features=self.numeric_features,
                keep_sparse=True,
            )
            if self._unseen() == "error":
                refuse_unseen(training.columns, values, given.X, self.other_unseen)
            targets = self._read_validation_target(given.y, training)
            weights = read_weights(given.sample_weight, len(values))
            if targets.shape[-1] != len(values):
                raise ValueError(f"it has {len(values)} rows, but {targets.shape[-1]} targets")
            if targets.shape[:-1] != training.y.shape[1:]:
                raise ValueError("it has another number of targets per row than the training rows")
            self._check_targets(plan.loss, targets)
            if not weights.any():
                raise ValueError("every row has a weight of zero, so it has no loss")
        except ValueError as error:
            raise ValueError(f"the validation set: {error}") from None
        seen = statistics.apply(values)
        codes = code_columns(choose_compiled_form(), plan.bins, seen, plan.n_threads)
        whole = replace(training, values=values, kept=None)
        return Rows(codes, targets, weights, self._read_start(given.init_score, whole, plan.loss.n_outputs))

    def _check_targets(self, loss: Loss, targets: np.ndarray) -> None:
        try:
            loss.check_targets(targets)
        except ValueError as error:
            raise ValueError(f"loss={self.loss!r} {error}") from None

    def _earlier(self, training: Training, plan: BoostPlan, statistics: TargetEncoding) -> list[Forest]:
        """The trees to add to, none without `warm_start`."""
        if not self.warm_start or not hasattr(self, "forests_"):
            return []
        same = training.columns == self.columns_ and training.target == self.target_
        same = (
            same and len(self.forests_) == plan.loss.n_outputs and statistics.columns == self.target_encoding_.columns
        )
        if type(self.loss_) is not type(plan.loss):
            raise ValueError("warm_start adds rounds of the same loss; set warm_start=False to begin anew with another")
        if not same or not np.array_equal(self.forests_[0].bins.cuts, plan.bins.cuts):
            raise ValueError(OTHER_TABLE)
        if not np.array_equal(self.constraints_[0], plan.monotonic_cst) or self.constraints_[1] != groups_of(plan):
            raise ValueError(
                "monotonic_cst or interaction_cst are not those of the model; set warm_start=False to begin anew"
            )
        return self.forests_

    def _boost(
        self,
        plan: BoostPlan,
        rows: Rows,
        sets: list[Rows],
        earlier: list[Forest],
        following: Following,
        keeper: ResumedRounds | None,
    ) -> tuple[BoostPlan, Boosted, np.ndarray]:
        """Choose the learning rate and the number of rounds, and boost; returns also the initial score."""
        validation, others = sets[-1] if sets else None, sets[:-1]
        if earlier:
            plan = take_shape(plan, self.shape_, self)
        plans = None
        choice = None if keeper is None else keeper.recall_choice(plan, self)
        if validation is None and not earlier and self._keeps_validation(rows):
            if choice is None:
                plan = self._choose_shape(plan, rows)
            plans = [plan if choice is None else choice[1]]
            rows, validation = hold_out(plan, rows)
        if choice is None:
            choice = self._choose_rounds(plan, rows, has_validation_set=validation is not None)
        n_rounds, plan, curves = choice
        initial = rows.begin(plan.loss)
        if keeper is not None:
            keeper.choice, keeper.initial = choice, initial
        initial = self.initial_ if earlier else initial
        first = len(earlier[0]) if earlier else 0
        if is_auto(self.n_estimators):
            n_rounds = max(n_rounds, first)
        if first > n_rounds:
            raise ValueError(f"n_estimators is {n_rounds}, but the model has {first} rounds; it can only grow")
        if earlier:
            rows, validation = (
                move_on(rows, initial, earlier),
                None if validation is None else move_on(validation, initial, earlier),
            )
            others = [move_on(each, initial, earlier) for each in others]
        if earlier and curves.shape[1] == 0:
            curves = self._curves
        if first == n_rounds:
            return plan, Boosted([[] for _ in earlier], curves), initial
        if plans is None:
            plans = self._shapes(plan, len(rows)) if validation is not None and not earlier else [plan]
        start = np.zeros_like(initial) if earlier else initial
        with follow("boosting", len(plans) * (n_rounds - first), shows_progress(self)) as tick:
            plan, found = boost_best(
                plans,
                rows,
                start,
                n_rounds - first,
                tick,
                validation=validation,
                others=others,
                steps=None if following is None else FollowedRounds(self, *following, initial),
                keeper=keeper,
                first_round=first,
                keep_on_interrupt=bool(self.keep_on_interrupt),
            )
        if validation is None:
            return plan, replace(found, curves=curves), initial
        found = found.up_to_best(at_least=0 if earlier else 1)
        return plan, replace(found, curves=np.hstack([curves[:, :first], found.curves])), initial

    def _keeps_validation(self, rows: Rows) -> bool:
        """Whether the model keeps the trees of the validation that chooses the number of rounds.

        A small table is boosted again with all rows. So is one whose codes depend on the targets of the training rows.
        """
        is_chosen = is_auto(self.n_estimators) and self.validation_fraction is None
        return is_chosen and len(rows) > MOST_ROWS_TO_REFIT and rows.code_apart is None

    def _choose_shape(self, plan: BoostPlan, rows: Rows) -> BoostPlan:
        """The shape that "auto" means for a large table, by trials on a sample of its rows."""
        plans = [replace(each, least_fall=LEAST_FALL) for each in self._shapes(plan, len(rows))]
        with follow("choosing the shape of the trees", None, shows_progress(self)) as tick:
            return choose_plan_on_sample(plans, rows, MOST_ROUNDS, tick)

    def _shapes(self, plan: BoostPlan, n_rows: int) -> list[BoostPlan]:
        """The plans among which the validation loss chooses."""
        plans = [take_shape(plan, shape, self) for shape in shapes_for(n_rows)]
        return list({(each.recipe, each.subsample): each for each in plans}.values())

    def _directions(self, training: Training) -> np.ndarray:
        return read_monotonic_cst(self.monotonic_cst, training.columns)

    def _choose_rounds(
        self, plan: BoostPlan, rows: Rows, has_validation_set: bool
    ) -> tuple[int, BoostPlan, np.ndarray]:
        """The largest number of rounds, the plan, and the validation losses by which they were chosen."""
        auto, share = is_auto(self.n_estimators), self.validation_fraction
        if not auto and not is_whole(self.n_estimators, 1):
            raise parameter_error("n_estimators", self.n_estimators, "a whole number of 1 or more, or 'auto'")
        if share is not None and (not is_real(share) or not 0.0 < share < 1.0):
            raise parameter_error("validation_fraction", share, "a share between 0 and 1, or None")
        most = MOST_ROUNDS if auto else int(self.n_estimators)
        if has_validation_set or (not auto and share is None):
            return most, plan, no_curves(plan)
        if len(rows) < 10:
            return min(most, 100), plan, no_curves(plan)
        plans = [replace(each, least_fall=LEAST_FALL if auto else 0.0) for each in self._shapes(plan, len(rows))]
        with follow("choosing the number of rounds", None, shows_progress(self)) as tick:
            n_rounds, plan, curves = choose_plan(plans, rows, most, share, tick)
        return n_rounds, plan, curves


@dataclass(frozen=True, eq=False)
class FollowedRounds:
    """The rounds of boosting as callbacks see them: after each there is a learner that can predict."""

    learner: Any
    steps: Steps
    keep: Callable[..., Any]
    initial: np.ndarray

    def begin(self) -> None:
        self.steps.begin()

    def end(self, plan: BoostPlan, grown: list[list[GrownTrees]]) -> bool:
        def attributes() -> dict[str, Any]:
            return dict(vars(self.keep(copy(self.learner), plan, [list(trees) for trees in grown], self.initial)))

        return self.steps.end(attributes)


def joined_forests(
    earlier: list[Forest], plan: BoostPlan, trees: list[list[GrownTrees]], columns: tuple[Column, ...], target: Target
) -> list[Forest]:
    """The trees of earlier rounds and new ones, a forest per output."""
    if not trees[0]:
        return earlier
    added = [Forest.of(columns, target, GRADIENT, plan.bins, line) for line in trees]
    return [old.with_more(new) for old, new in zip(earlier, added, strict=True)] if earlier else added


def for_scaled_target(plan: BoostPlan, scale: float) -> BoostPlan:
    """The plan for a target that was divided by `scale`: gradients are divided, too, and gains by its square."""
    recipe = plan.recipe
    with np.errstate(over="ignore"):
        l1_regularization = float(np.float64(recipe.l1_regularization) / scale)
        min_split_gain = float(np.float64(recipe.min_split_gain) / scale / scale)
    return replace(plan, recipe=replace(recipe, l1_regularization=l1_regularization, min_split_gain=min_split_gain))


def in_units_of_target(found: Boosted, unit: float) -> Boosted:
    """The losses of all rounds in the unit of the target."""
    training = None if found.training is None else found.training * unit
    return replace(
        found, curves=found.curves * unit, others=tuple(each * unit for each in found.others), training=training
    )


def groups_of(plan: BoostPlan) -> list[list[bool]] | None:
    """Which columns may be used together on a path, as a list that can be compared."""
    return None if plan.groups is None else plan.groups.tolist()


def move_on(rows: Rows, initial: np.ndarray, earlier: list[Forest]) -> Rows:
    """The rows with the scores of earlier trees as initial scores."""
    by_row = np.ascontiguousarray(rows.codes.T)
    sums = np.stack([forest.sums(by_row)[:, 0] for forest in earlier])
    return replace(rows, start=rows.scores(initial) + sums)


@documented("boosting", "classes")
class GradientBoostingClassifier(ClassPredictions, Boosting):
    """Gradient boosting for classes: each tree is fitted to the gradient of the loss (Friedman 2001).

    It reads tables with text columns and missing values. Categories are split into two groups in the order of their
    gradients. Missing values go to the side with the smaller loss.

    Examples
    --------
    >>> from treewright import GradientBoostingClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(iris.X, iris.y)
    >>> round(model.score(iris.X, iris.y), 2)
    1.0
    """

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        class_weight: Any = None,
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        growth: str = "auto",
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float = 1.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        subsample: float | str = "auto",
        goss: Any = None,
        max_features: int | float | str | None = "auto",
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        max_bins: int = 255,
        validation_fraction: float | None = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        scoring: Any = "loss",
        eval_metric: Any = None,
        train_score: bool = False,
        init: Any = None,
        warm_start: bool = False,
        keep_on_interrupt: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 20,
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores that shares are made of: of two classes that of the second, else a column per class."""
        return self._decision(self._all_scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """The result of `decision_function` after each round."""
        return map(self._decision, self._staged_scores(X))

    def apply(self, X: Any) -> np.ndarray:
        nodes = super().apply(X)
        return nodes if nodes.shape[2] == 1 else nodes[:, :, self._labels_of_classes()]

    def _decision(self, scores: np.ndarray) -> np.ndarray:
        labels = self._labels_of_classes()
        if len(scores) == 1:
            return scores[0] if labels[-1] == 1 else -scores[0]
        return scores.T[:, labels]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predicted classes after each round."""
        return (self._named(self._choose(shares)) for shares in self._staged_predictions(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """The class probabilities after each round."""
        return (shares[:, self._labels_of_classes()] for shares in self._staged_predictions(X))

    def _read_loss(self, training: Training) -> Loss:
        n_classes = max(len(training.target.classes), 2)
        if callable(self.loss) and n_classes > 2:
            # Classes that were declared but have no rows come last.
            place = {name: position for position, name in enumerate(training.classes.tolist())}
            return OwnClasses(
                self.loss, np.array([place.setdefault(name, len(place)) for name in training.target.classes])
            )
        return read_loss(self.loss, LossChoices(n_classes))

    def _read_validation_target(self, y: Any, training: Training) -> np.ndarray:
        labels, classes = read_classes(y)
        label_of = {name: label for label, name in enumerate(training.target.classes)}
        strange = [name for name in classes.tolist() if name not in label_of]
        if strange:
            raise ValueError(f"it has the class {strange[0]!r}, which the training rows do not have")
        return np.array([label_of[name] for name in classes.tolist()], dtype=np.float64)[labels]

    def _read_start(self, init_score: Any, training: Training, n_outputs: int) -> np.ndarray | None:
        start = super()._read_start(init_score, training, n_outputs)
        if start is None:
            return None
        if n_outputs == 1:
            return -start if _is_turned(training) else start
        place = {name: line for line, name in enumerate(training.classes.tolist())}
        if len(place) < n_outputs:
            raise ValueError("init_score needs rows of every class that the target declares")
        return np.ascontiguousarray(start[[place[name] for name in training.target.classes]])

    def _outputs(self, training: Training) -> dict[str, np.ndarray]:
        names = [f"share of {name!r}" for name in map(str, training.target.classes)]
        if len(names) <= 2:
            return {names[-1]: (training.y == len(names) - 1).astype(np.float64)}
        return {name: (training.y == label).astype(np.float64) for label, name in enumerate(names)}

    def _from_scores(self, scores: np.ndarray) -> np.ndarray:
        return super()._from_scores(scores)[:, : len(self.target_.classes)]

    def _directions(self, training: Training) -> np.ndarray:
        directions = super()._directions(training)
        if directions.any() and len(training.target.classes) != 2:
            n_classes = len(training.target.classes)
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification, and y has "
                f"{n_classes} classes"
            )
        return -directions if _is_turned(training) else directions


def _is_turned(training: Training) -> bool:
    """Whether the second of two classes is the first in the order that the target declares."""
    return len(training.classes) == 2 and bool(training.target.classes[0] == training.classes.tolist()[1])


@documented("boosting", "numbers")
class GradientBoostingRegressor(NumberPredictions, Boosting):
    """Gradient boosting for numbers: each tree is fitted to the gradient of the loss (Friedman 2001).

    It reads tables with text columns and missing values. Categories are split into two groups in the order of their
    gradients. Missing values go to the side with the smaller loss.

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
        loss: Any = "squared_error",
        quantile: float = 0.5,
        tweedie_power: float = 1.5,
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        growth: str = "auto",
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float = 1.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        subsample: float | str = "auto",
        goss: Any = None,
        max_features: int | float | str | None = "auto",
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        max_bins: int = 255,
        validation_fraction: float | None = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        scoring: Any = "loss",
        eval_metric: Any = None,
        train_score: bool = False,
        init: Any = None,
        warm_start: bool = False,
        keep_on_interrupt: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 20,
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row; with several targets a column each."""
        return self._one_or_all(self._predictions(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination: 1 is perfect, 0 is as good as predicting the mean.

        With several targets it is averaged.
        """
        from sklearn.metrics import r2_score

        return float(r2_score(read_targets(y), self.predict(X), sample_weight=sample_weight))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predicted numbers after each round."""
        return (self._one_or_all(predictions) for predictions in self._staged_predictions(X))

    def apply(self, X: Any) -> np.ndarray:
        nodes = super().apply(X)
        return nodes[:, :, 0] if nodes.shape[2] == 1 else nodes

    def _one_or_all(self, predictions: np.ndarray) -> np.ndarray:
        return predictions[:, 0] if predictions.shape[1] == 1 else predictions

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        return np.require(read_targets(y), requirements=["C", "W"]), np.empty(0), ()

    def _read_validation_target(self, y: Any, training: Training) -> np.ndarray:
        return np.ascontiguousarray(read_targets(y).T)

    def _outputs(self, training: Training) -> dict[str, np.ndarray]:
        columns = training.y.reshape(len(training.values), -1).T
        return {f"mean target {number}" if number else "mean target": column for number, column in enumerate(columns)}

    def _read_loss(self, training: Training) -> Loss:
        def read() -> Loss:
            return read_loss(self.loss, LossChoices(0, self.quantile, self.tweedie_power))

        largest_target(training.y)
        loss = read()
        if isinstance(loss, Tweedie) and not training.y.any(axis=0).all():
            raise ValueError(f"loss={self.loss!r} requires non-negative y and sum(y) > 0, but all are 0")
        if training.y.ndim > 1:
            loss = ManyOutputs([read() for _ in range(training.y.shape[1])])
        self._check_targets(loss, training.y.T)
        return loss

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
