"""The base of gradient boosting: from tables and parameters to the rows and the plan of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier

from treewright.encoding.chunks import is_here
from treewright.encoding.target_encoding import TargetEncoding
from treewright.estimators.base import Training
from treewright.estimators.binning import code_columns
from treewright.estimators.boosting.fitted_attributes import FittedParts, keep_curves, keep_training_loss
from treewright.estimators.boosting.fitting import FitRows, boost_first, boost_more
from treewright.estimators.boosting.initial_models import fit_initial_model, initial_scores
from treewright.estimators.boosting.losses import Loss
from treewright.estimators.boosting.options import read_start
from treewright.estimators.boosting.plan import BoostPlan, groups_of
from treewright.estimators.boosting.planning import prepare
from treewright.estimators.boosting.predicting import BoostedLearner
from treewright.estimators.boosting.resuming import ResumedRounds
from treewright.estimators.boosting.rows import Rows
from treewright.estimators.boosting.scaled_target import for_scaled_target, in_units_of_target
from treewright.estimators.boosting.shapes import shape_of
from treewright.estimators.boosting.validation_sets import ValidationSet, read_sets
from treewright.estimators.callbacks import MonitoredSteps, Steps, TakesCallbacks, followed
from treewright.estimators.checkpoints import open_checkpoint
from treewright.estimators.missing_values import refuse_unseen
from treewright.estimators.monotonic import read_monotonic_cst
from treewright.estimators.parameters import check_progress, is_text, parameter_error
from treewright.estimators.single.magnitudes import scale_of_target
from treewright.estimators.weights import read_weights
from treewright.runtime.forms import choose_compiled_form
from treewright.table import read_like
from treewright.table.chunked import ChunkedTable
from treewright.tree.forest import Forest

OTHER_TABLE = "warm_start adds rounds to a model of the same table; set warm_start=False to begin anew"


class Boosting(TakesCallbacks, BoostedLearner):
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
        monitor: Any = None,
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
        monitor : function or None
            It is called after each round with the number of the round, the model so far, and an empty dict. If it
            returns True, this round is the last.
        """
        given = read_sets(X_val, y_val, sample_weight_val, init_score_val, eval_set)
        if isinstance(X, ChunkedTable):
            X, y, sample_weight = X.separate(y, sample_weight)
        with followed(self, X, y, sample_weight, name="round") as steps:
            followers = steps if monitor is None else MonitoredSteps(self, monitor, steps)
            return self._fit(X, y, sample_weight, init_score, given, followers)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        init_score: Any,
        given: list[ValidationSet],
        steps: Steps | MonitoredSteps | None,
    ) -> Self:
        check_progress(self)
        if self.unseen not in ("as_missing", "error"):
            raise parameter_error("unseen", self.unseen, "'as_missing' or 'error'")
        table = self._read_table(X)
        training = self._read_training(table, y, sample_weight)
        loss = self._read_loss(training)
        scale = self._scale_of_target(training, loss, init_score)
        training = training if scale == 1.0 else replace(training, y=training.y / scale)
        plan, rows, encoding = prepare(self, training, loss, self._outputs(training), self._directions(training))
        # Other arrays of the same numbers are freed before trees are grown.
        training = replace(training, y=rows.targets.T, weights=rows.weights)
        plan = plan if scale == 1.0 else for_scaled_target(plan, scale)
        earlier = self._earlier(training, plan, encoding)
        model = self._initial_model(X, y, sample_weight, init_score, has_trees=bool(earlier))
        parts = FittedParts(table, training, loss, encoding, model, earlier, scale)
        rows = replace(rows, start=self._read_start(init_score, training, loss.n_outputs))
        rows = self._start_from(rows, X, training, loss, model)
        sets = [self._read_validation(each, parts, plan, has_start=rows.start is not None) for each in given]
        return self._boost(plan, parts, FitRows(rows, sets[-1] if sets else None, tuple(sets[:-1])), steps)

    def _boost(self, plan: BoostPlan, parts: FittedParts, rows: FitRows, steps: Steps | MonitoredSteps | None) -> Self:
        """Boost, and set the attributes of the fitted model."""
        following = None if steps is None else (steps, parts.keep)
        keeper = self._open_checkpoint(parts, rows, has_callbacks=steps is not None)
        if keeper is not None:
            plan = replace(plan, seed=keeper.checkpoint.seed(plan.seed))
        if parts.earlier:
            plan, found, initial = boost_more(self, plan, rows, following, parts.earlier)
        else:
            plan, found, initial = boost_first(self, plan, rows, following, keeper)
        parts.keep(self, plan, found.trees, initial)
        found = found if parts.scale == 1.0 else in_units_of_target(found, parts.loss.unit(parts.scale))
        keep_curves(self, found, plan)
        keep_training_loss(self, found, has_trees=bool(parts.earlier))
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

    def _open_checkpoint(self, parts: FittedParts, rows: FitRows, *, has_callbacks: bool) -> ResumedRounds | None:
        """What keeps the rounds in the file `checkpoint`, None without this parameter."""
        if self.checkpoint is not None and not is_here(rows.training.codes):
            raise ValueError("a checkpoint needs the table in this process; leave it out, or fit a local table")
        sets = rows.others if rows.validation is None else (*rows.others, rows.validation)
        more = [array for each in sets for array in (each.codes, each.targets, each.weights, each.start)]
        found = open_checkpoint(
            self, parts.training.digest, has_callbacks=has_callbacks, more=[rows.training.start, *more]
        )
        if found is None:
            return None
        return ResumedRounds(found, parts.keep, build=None if parts.scale == 1.0 else parts.build)

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

    def _read_validation(self, given: ValidationSet, parts: FittedParts, plan: BoostPlan, *, has_start: bool) -> Rows:
        """A validation set, coded as the training rows; it has initial scores if these have some."""
        training, loss = parts.training, plan.loss
        if self.validation_fraction is not None:
            raise ValueError("X_val and validation_fraction both name rows to validate on; give one of them only")
        values, targets, weights = self._read_validation_rows(given, parts)
        codes = code_columns(choose_compiled_form(), plan.bins, parts.target_encoding.apply(values), plan.n_threads)
        whole = replace(training, values=values, kept=None)
        rows = Rows(codes, targets, weights, self._read_start(given.init_score, whole, loss.n_outputs))
        rows = self._start_from(rows, given.X, replace(training, kept=None), loss, parts.init)
        if (rows.start is not None) != has_start:
            raise ValueError("init_score and init_score_val belong together; give both or none")
        return rows if parts.scale == 1.0 else replace(rows, targets=targets / parts.scale)

    def _read_validation_rows(
        self, given: ValidationSet, parts: FittedParts
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The values, targets and weights of a validation set."""
        training = parts.training
        try:
            values = read_like(
                given.X,
                training.columns,
                named=parts.table.named,
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
            self._check_targets(parts.loss, targets)
            if not weights.any():
                raise ValueError("every row has a weight of zero, so it has no loss")
        except ValueError as error:
            raise ValueError(f"the validation set: {error}") from None
        return values, targets, weights

    def _check_targets(self, loss: Loss, targets: np.ndarray) -> None:
        try:
            loss.check_targets(targets)
        except ValueError as error:
            raise ValueError(f"loss={self.loss!r} {error}") from None

    def _earlier(self, training: Training, plan: BoostPlan, encoding: TargetEncoding) -> list[Forest]:
        """The trees to add to, none without `warm_start`."""
        if not self.warm_start or not hasattr(self, "forests_"):
            return []
        same = training.columns == self.columns_ and training.target == self.target_
        same = same and len(self.forests_) == plan.loss.n_outputs and encoding.columns == self.target_encoding_.columns
        if type(self.loss_) is not type(plan.loss):
            raise ValueError("warm_start adds rounds of the same loss; set warm_start=False to begin anew with another")
        if not same or not np.array_equal(self.forests_[0].bins.cuts, plan.bins.cuts):
            raise ValueError(OTHER_TABLE)
        if not np.array_equal(self.constraints_[0], plan.monotonic_cst) or self.constraints_[1] != groups_of(plan):
            raise ValueError(
                "monotonic_cst or interaction_cst are not those of the model; set warm_start=False to begin anew"
            )
        return self.forests_

    def _directions(self, training: Training) -> np.ndarray:
        return read_monotonic_cst(self.monotonic_cst, training.columns)

    def _read_start(self, init_score: Any, training: Training, n_outputs: int) -> np.ndarray | None:
        """The initial scores of the rows: [output, row]."""
        return read_start(init_score, training, n_outputs)

    def _read_loss(self, training: Training) -> Loss:
        raise NotImplementedError

    def _read_validation_target(self, y: Any, training: Training) -> np.ndarray:
        """The targets of the validation set, in the terms of the training rows."""
        raise NotImplementedError

    def _outputs(self, training: Training) -> dict[str, np.ndarray]:
        """The target as numbers by name: the targets of target encoding."""
        raise NotImplementedError
