"""From parameters and training rows to the plan of boosting and the coded rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treewright.encoding.bins import MAX_CODES, Bins, make_codes_by_row
from treewright.encoding.chunks import is_here
from treewright.encoding.target_encoding import TargetEncoding, fit_target_encoding
from treewright.estimators.base import Training
from treewright.estimators.binning import bin_values, code_columns
from treewright.estimators.boosting.fitting import MOST_ROWS_TO_REFIT
from treewright.estimators.boosting.losses import Loss
from treewright.estimators.boosting.metrics import read_metrics
from treewright.estimators.boosting.options import (
    read_goss,
    read_interaction_cst,
    read_max_features,
    read_recipe,
    read_share,
)
from treewright.estimators.boosting.plan import BoostPlan
from treewright.estimators.boosting.rows import Rows
from treewright.estimators.boosting.scoring import read_scoring
from treewright.estimators.parameters import is_auto, is_real, is_whole, parameter_error
from treewright.estimators.random_state import draw_seed
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.threads import usable_threads

# A node has two bytes for its column.
MOST_COLUMNS = 1 << 16

# The targets of target encoding, as numbers by name.
Outputs = dict[str, np.ndarray]


def prepare(
    learner: Any, training: Training, loss: Loss, outputs: Outputs, directions: np.ndarray
) -> tuple[BoostPlan, Rows, TargetEncoding]:
    """The plan, the coded table, and the target encoding.

    `outputs` are the targets of target encoding, `directions` the monotonic constraint of each column.
    """
    check_numbers(learner)
    groups = read_interaction_cst(learner.interaction_cst, training.columns)
    max_features = read_max_features(learner.max_features, len(training.columns))
    recipe = read_recipe(learner, max_features, training.weights, len(training.classes))
    n_threads = usable_threads(learner.n_jobs)
    seed = draw_seed(learner.random_state)
    encoding, values = fit_target_encoding(training.columns, training.values, outputs, training.weights)
    if len(encoding.columns) >= MOST_COLUMNS:
        raise ValueError(f"boosting takes fewer than {MOST_COLUMNS} columns, but there are {len(encoding.columns)}")
    table = bin_values(
        choose_compiled_form(), encoding.columns, values, int(learner.max_bins), n_threads, make=make_codes_by_row
    )
    plan = BoostPlan(
        recipe=recipe,
        loss=loss,
        bins=table.bins,
        monotonic_cst=directions[encoding.origin],
        groups=None if groups is None else np.ascontiguousarray(groups[:, encoding.origin]),
        subsample=1.0 if is_auto(learner.subsample) else read_share("subsample", learner.subsample),
        goss=read_goss(learner.goss, learner.subsample),
        colsample_bytree=read_share("colsample_bytree", learner.colsample_bytree),
        n_iter_no_change=int(learner.n_iter_no_change),
        tol=float(learner.tol),
        seed=seed,
        n_threads=n_threads,
        metrics=read_metrics(learner.eval_metric, training.target, training.classes),
        scoring=read_scoring(learner.scoring, training.target, training.classes),
        records_training=bool(learner.train_score) or (bool(learner.verbose) and is_here(table.codes)),
    )
    # Two classes have a byte for each row.
    kind_of_target = np.uint8 if training.target.is_classes and loss.n_outputs == 1 else np.float64
    targets = np.ascontiguousarray(training.y.astype(kind_of_target, copy=False).T)
    code_apart = coder_of_splits(training, outputs, encoding, table.bins) if encoding.means else None
    weights = training.weights if (training.weights != 1.0).any() else np.broadcast_to(1.0, len(training.weights))
    rows = Rows(table.codes, targets, weights, code_apart=code_apart, allocate=table.allocate)
    # Small tables are boosted many times, to choose the number of rounds.
    return plan, rows.here() if len(rows) <= MOST_ROWS_TO_REFIT else rows, encoding


def check_numbers(learner: Any) -> None:
    """Check the numbers that are used as they are."""
    if not is_whole(learner.max_bins, 2) or learner.max_bins > MAX_CODES:
        raise parameter_error("max_bins", learner.max_bins, f"a whole number from 2 to {MAX_CODES}")
    if not is_whole(learner.n_iter_no_change, 1):
        raise parameter_error("n_iter_no_change", learner.n_iter_no_change, "a whole number of 1 or more")
    if not is_real(learner.tol) or learner.tol < 0.0:
        raise parameter_error("tol", learner.tol, "a number of 0 or more")


def coder_of_splits(
    training: Training, outputs: Outputs, encoding: TargetEncoding, bins: Bins
) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A function that codes training and validation rows, with target encoding fitted to the training rows only."""

    def code(kept: np.ndarray, validation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        known = {name: numbers[kept] for name, numbers in outputs.items()}
        weights, values = training.weights[kept], training.values[kept]
        learned, seen = encoding.learn(values, known, weights)
        apart = learned.apply(training.values[validation])
        coded = [code_columns(choose_compiled_form(), bins, part, 1, make=make_codes_by_row) for part in (seen, apart)]
        return coded[0], coded[1]

    return code
