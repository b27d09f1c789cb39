"""The main job from table to tree: kinds, task, learner, cross-validation and the tree of all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treewright.cli.errors import Mistake, choose, refusals_as_mistakes
from treewright.cli.models import build_learner, default_model
from treewright.insight.columns import ColumnSummary, count_missing, summarise_columns
from treewright.insight.scoring import (
    Folds,
    Score,
    predict_unseen,
    score_classes,
    score_numbers,
    split_folds,
)
from treewright.insight.task import Task, check_task, choose_task, labels_without_points
from treewright.table import Frame, Table, read_frame

# In fewer rows than this, it may be that every member has seen all.
ROWS_TO_LEAVE_OUT = 10


@dataclass(frozen=True)
class Wishes:
    """What the user asked for; None where the choice is left to us."""

    target: str
    model: str | None = None
    task: Task | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    drop_missing_target: bool = False
    folds: int = 10
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)  # parameters of the learner


@dataclass(frozen=True, eq=False)
class Question:
    """A table made ready: columns, target, task and learner are settled, nothing is fitted yet."""

    X: Frame
    y: Frame
    target: str
    columns: tuple[ColumnSummary, ...]
    task: Task
    why: str
    model: str
    learner: Any
    folds: Folds
    dropped: int

    @property
    def values(self) -> np.ndarray:
        values: np.ndarray = self.y[self.target]
        return values


def prepare(frame: Frame, wishes: Wishes) -> Question:
    """Check all that was asked for and settle what was left open."""
    _check_columns(frame, wishes)
    frame, dropped = _without_gaps_in_target(frame, wishes)
    task, why = choose_task(frame, wishes.target)
    if wishes.task is not None:
        task, why = wishes.task, "as asked"
        with refusals_as_mistakes():
            check_task(frame, wishes.target, task)
    if task is Task.CLASSES:
        frame = labels_without_points(frame, wishes.target)
    model = (wishes.model or default_model(task)).lower()
    learner = _build(model, task, wishes)
    X, y = frame.drop(wishes.target, *wishes.ignore), frame[[wishes.target]]
    with refusals_as_mistakes():
        table = read_frame(X, categorical_features=list(wishes.categorical), numeric_features=list(wishes.numeric))
    if model == "id3":
        _refuse_numbers(table)
    columns = summarise_columns(table)
    if "categorical_features" in learner.get_params(deep=False):
        learner.set_params(categorical_features=_text_columns(X, table) or None)
    else:
        X = _with_kinds(X, table, wishes)
    with refusals_as_mistakes():
        folds = split_folds(y[wishes.target], task, wishes.folds, wishes.seed)
    return Question(X, y, wishes.target, columns, task, why, model, learner, folds, dropped)


def fit_all(question: Question) -> Any:
    """The model of all rows; what the learner refuses is a mistake of the user.

    An ensemble that can is also judged by rows that its members have not seen.
    """
    from sklearn.base import clone

    learner = clone(question.learner)
    parameters = learner.get_params(deep=False)
    if "progress" in parameters:
        learner.set_params(progress=None)
    draws_rows = parameters.get("bootstrap", parameters.get("replace", False))
    if "oob_score" in parameters and draws_rows and len(question.X) >= ROWS_TO_LEAVE_OUT:
        learner.set_params(oob_score=True)
    with refusals_as_mistakes():
        return learner.fit(question.X, question.y)


def score_unseen(question: Question, on_fold: Callable[[], object] = lambda: None) -> tuple[Score, ...]:
    """Scores of trees on rows they were fitted without, the main one first."""
    predictions = predict_unseen(question.learner, question.X, question.y, question.folds, on_fold)
    if question.task is Task.CLASSES:
        return (score_classes(question.values, predictions),)
    return score_numbers(question.values.astype(np.float64), predictions)


def _check_columns(frame: Frame, wishes: Wishes) -> None:
    choose("column", wishes.target, frame.columns)
    for name in (*wishes.categorical, *wishes.numeric, *wishes.ignore):
        choose("column", name, frame.columns)
    if wishes.target in wishes.ignore:
        raise Mistake(f"column {wishes.target!r} is the target, so it cannot be left out with --ignore")
    if wishes.target in (*wishes.categorical, *wishes.numeric):
        raise Mistake(f"column {wishes.target!r} is the target; say what it is with --task classes or numbers")
    for option, names in (("--categorical", wishes.categorical), ("--numeric", wishes.numeric)):
        ignored = next((name for name in names if name in wishes.ignore), None)
        if ignored is not None:
            raise Mistake(f"column {ignored!r} is in --ignore and in {option}; name it in one of them")
    if set(frame.columns) <= {wishes.target, *wishes.ignore}:
        raise Mistake(f"there is no column left to predict {wishes.target!r} from")


def _without_gaps_in_target(frame: Frame, wishes: Wishes) -> tuple[Frame, int]:
    if not len(frame):
        raise Mistake("the table has columns, but no rows")
    gaps = count_missing(frame, wishes.target)
    missing = int(gaps.sum())
    if missing == len(frame):
        raise Mistake(f"target {wishes.target!r} has no values at all; choose another column")
    if missing and not wishes.drop_missing_target:
        raise Mistake(
            f"target {wishes.target!r}: {missing} of {len(frame)} values are missing; "
            "fill them in, or leave those rows out with --drop-missing-target"
        )
    return (frame[~gaps], missing) if missing else (frame, 0)


def _build(model: str, task: Task, wishes: Wishes) -> Any:
    declared = {
        "categorical_features": list(wishes.categorical) or None,
        "numeric_features": list(wishes.numeric) or None,
    }
    learner = build_learner(model, task, wishes.options, wishes.seed)
    if "categorical_features" not in learner.get_params(deep=False):
        return learner
    return build_learner(model, task, {**wishes.options, **declared}, wishes.seed)


def _text_columns(X: Frame, table: Table) -> list[str]:
    """Columns of undeclared categories: in a fold without any of their values the type would not tell."""
    return [column.name for column in table.columns if column.is_categorical and column.name not in X.domains]


def _with_kinds(X: Frame, table: Table, wishes: Wishes) -> Frame:
    """The table with columns that are what they were taken for, for ensembles that cannot be told."""
    for place, column in enumerate(table.columns):
        if column.name in wishes.numeric:
            X = X.assign(column.name, np.array(table.values[:, place]))
        elif column.is_categorical and column.name not in X.domains:
            X = X.declare(column.name, column.categories)
    return X


def _refuse_numbers(table: Table) -> None:
    """ID3's own refusal, in the words of the command line."""
    numeric = [
        column.name
        for column, values in zip(table.columns, table.values.T, strict=True)
        if column.is_numeric and not np.isnan(values).all()
    ]
    if not numeric:
        return
    shown = ", ".join(map(repr, numeric[:6])) + (", ..." if len(numeric) > 6 else "")
    words = ("column", "is", "it") if len(numeric) == 1 else ("columns", "are", "them")
    raise Mistake(
        f"{words[0]} {shown} {words[1]} numeric, and ID3 knows categories only; use --model c45, "
        f"or name {words[2]} in --categorical or --ignore"
    )
