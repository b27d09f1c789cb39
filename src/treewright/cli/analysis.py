"""The steps of `treewright fit`: kinds of columns, task, learner, cross-validation, and the model of all rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treewright.cli.errors import UserError, as_user_errors, choose
from treewright.cli.models import build_learner, default_model
from treewright.insight.columns import ColumnSummaries, find_missing, summarise_columns
from treewright.insight.cross_validation import CrossValidation, Folds, cross_validate, split_folds
from treewright.insight.task import Task, check_task, labels_without_points, task_of_column
from treewright.table import Frame, Table, read_frame
from treewright.table.identifiers import IdentifierWarning

# With fewer rows, every member may have been fitted to all of them.
ROWS_TO_LEAVE_OUT = 10

# Tables of fewer rows are fitted in a moment. For others a few rows show whether the parameters are possible.
ROWS_THAT_TAKE_TIME, ROWS_TO_TRY = 2_000, 100


@dataclass(frozen=True)
class FitOptions:
    """The options of the user; None where the default depends on the table."""

    target: str
    model: str | None = None
    task: Task | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    drop_missing_target: bool = False
    folds: int | None = None
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the learner


@dataclass(frozen=True, eq=False)
class PreparedFit:
    """A checked table with its target, task, learner and folds; nothing is fitted yet."""

    X: Frame
    y: Frame
    target: str
    columns: ColumnSummaries
    task: Task
    reason: str
    model: str
    learner: Any
    folds: Folds
    dropped: int

    @property
    def values(self) -> np.ndarray:
        values: np.ndarray = self.y[self.target]
        return values


def prepare(frame: Frame, options: FitOptions) -> PreparedFit:
    """Check all options and choose those that were not given."""
    _check_columns(frame, options)
    frame, dropped = _drop_missing_target(frame, options)
    task, reason = task_of_column(frame, options.target)
    if options.task is not None:
        task, reason = options.task, "as given"
        with as_user_errors():
            check_task(frame, options.target, task)
    if task is Task.CLASSES:
        frame = labels_without_points(frame, options.target)
    model = (options.model or default_model(task)).lower()
    learner = _build(model, task, options)
    X, y = frame.drop(options.target, *options.ignore), frame[[options.target]]
    with as_user_errors():
        table = read_frame(X, categorical_features=list(options.categorical), numeric_features=list(options.numeric))
    if model == "id3":
        _refuse_numbers(table)
    columns = summarise_columns(table)
    warnings.simplefilter("ignore", IdentifierWarning)  # the report has a remark on these columns
    if "categorical_features" in learner.get_params(deep=False):
        learner.set_params(categorical_features=_text_columns(X, table) or None)
    else:
        X = _with_kinds(X, table, options)
    with as_user_errors():
        folds = split_folds(y[options.target], task, options.folds, options.seed)
    return PreparedFit(X, y, options.target, columns, task, reason, model, learner, folds, dropped)


def fit_all(prepared: PreparedFit) -> Any:
    """The model fitted to all rows; an ensemble that draws rows also gets an out-of-bag score."""
    from sklearn.base import clone

    learner = clone(prepared.learner)
    parameters = learner.get_params(deep=False)
    if "progress" in parameters:
        learner.set_params(progress=None)
    draws_rows = parameters.get("bootstrap", parameters.get("replace", False))
    if "oob_score" in parameters and draws_rows and len(prepared.X) >= ROWS_TO_LEAVE_OUT:
        learner.set_params(oob_score=True)
    with as_user_errors(), warnings.catch_warnings():
        # The user asked for few trees, not for their out-of-bag score, which is printed with the number of trees.
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        return learner.fit(prepared.X, prepared.y)


def fits_few_rows(prepared: PreparedFit) -> bool:
    """Whether the learner can be fitted to a few rows of a large table, which shows that its parameters are possible.

    Of a small table it returns False, because all of its rows are fitted at once.
    """
    from sklearn.base import clone

    n_rows = len(prepared.X)
    if n_rows < ROWS_THAT_TAKE_TIME:
        return False
    rows = np.linspace(0, n_rows - 1, ROWS_TO_TRY).astype(np.intp)
    learner = clone(prepared.learner)
    if isinstance(learner.get_params(deep=False).get("n_estimators"), int):
        learner.set_params(n_estimators=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.fit(prepared.X[rows], prepared.y[rows])
    except Exception:  # the fit on all rows says what is wrong, if anything is
        return False
    return True


def validate(prepared: PreparedFit, on_fold: Callable[[], object] = lambda: None) -> CrossValidation:
    """The cross-validated scores; `on_fold` is called after each fold."""
    return cross_validate(
        prepared.learner, prepared.X, prepared.y, prepared.values, prepared.task, prepared.folds, on_fold
    )


def _check_columns(frame: Frame, options: FitOptions) -> None:
    choose("column", options.target, frame.columns)
    for name in (*options.categorical, *options.numeric, *options.ignore):
        choose("column", name, frame.columns)
    if options.target in options.ignore:
        raise UserError(f"column {options.target!r} is the target, so it cannot be left out with --ignore")
    if options.target in (*options.categorical, *options.numeric):
        raise UserError(f"column {options.target!r} is the target; give its kind with --task classes or numbers")
    for option, names in (("--categorical", options.categorical), ("--numeric", options.numeric)):
        ignored = next((name for name in names if name in options.ignore), None)
        if ignored is not None:
            raise UserError(f"column {ignored!r} is in --ignore and in {option}; name it in one of them")
    if set(frame.columns) <= {options.target, *options.ignore}:
        raise UserError(f"there is no column left to predict {options.target!r} from")


def _drop_missing_target(frame: Frame, options: FitOptions) -> tuple[Frame, int]:
    if not len(frame):
        raise UserError("the table has columns, but no rows")
    is_missing = find_missing(frame, options.target)
    missing = int(is_missing.sum())
    if missing == len(frame):
        raise UserError(f"target {options.target!r} has no values at all; choose another column")
    if missing and not options.drop_missing_target:
        raise UserError(
            f"target {options.target!r}: {missing} of {len(frame)} values are missing; "
            "add them, or leave those rows out with --drop-missing-target"
        )
    return (frame[~is_missing], missing) if missing else (frame, 0)


def _build(model: str, task: Task, options: FitOptions) -> Any:
    declared = {
        "categorical_features": list(options.categorical) or None,
        "numeric_features": list(options.numeric) or None,
    }
    learner = build_learner(model, task, options.parameters, options.seed)
    if "categorical_features" not in learner.get_params(deep=False):
        return learner
    return build_learner(model, task, {**options.parameters, **declared}, options.seed)


def _text_columns(X: Frame, table: Table) -> list[str]:
    """Categorical columns that are not declared: in a fold without any value their kind would be unknown."""
    return [column.name for column in table.columns if column.is_categorical and column.name not in X.domains]


def _with_kinds(X: Frame, table: Table, options: FitOptions) -> Frame:
    """The table with columns converted to their kinds, for ensembles without `categorical_features`."""
    for place, column in enumerate(table.columns):
        if column.name in options.numeric:
            X = X.assign(column.name, np.array(table.values[:, place]))
        elif column.is_categorical and column.name not in X.domains:
            X = X.declare(column.name, column.categories)
    return X


def _refuse_numbers(table: Table) -> None:
    """The check of ID3, with options in its message."""
    numeric = [
        column.name
        for column, values in zip(table.columns, table.values.T, strict=True)
        if column.is_numeric and not np.isnan(values).all()
    ]
    if not numeric:
        return
    shown = ", ".join(map(repr, numeric[:6])) + (", ..." if len(numeric) > 6 else "")
    words = ("column", "is", "it") if len(numeric) == 1 else ("columns", "are", "them")
    raise UserError(
        f"{words[0]} {shown} {words[1]} numeric, and ID3 knows categories only; use --model c45, "
        f"or name {words[2]} in --categorical or --ignore"
    )
