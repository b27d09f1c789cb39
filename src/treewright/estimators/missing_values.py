"""Missing values: the strategies that fill missing values before a tree is grown, and the refusal of missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.estimators.parameters import Plan
from treewright.table import read_frame
from treewright.table.categories import some
from treewright.table.column import Column, Kind
from treewright.tree import Target
from treewright.tree.imputation import Imputation, predict_missing

if TYPE_CHECKING:
    from treewright.estimators.base import Training
    from treewright.tree import Tree

# A numeric target has no classes; its rows are parted into so many groups of about the same size instead.
TARGET_GROUPS = 10

# A column of more categories is filled with its most common one: a tree of that many classes guesses badly and slowly.
MOST_CATEGORIES_TO_GUESS = 100

# The trees that guess a gap from the other columns have at least this many rows in a leaf.
LEAST_ROWS_TO_GUESS = 5


def refuse_missing(columns: Sequence[Column], values: np.ndarray) -> None:
    """Name the columns that have missing values, and how many."""
    counts = np.count_nonzero(np.isnan(values), axis=0)
    if counts.any():
        found = [f"{columns[place].name!r} ({counts[place]})" for place in np.flatnonzero(counts).tolist()]
        listed = ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
        raise ValueError(
            f"missing is 'error', but of {len(values)} rows some have no value in: {listed}; "
            "impute the missing values, or choose another strategy such as missing='majority'"
        )


def refuse_unseen(columns: Sequence[Column], values: np.ndarray, X: Any, others: str) -> None:
    """Name the first column with categories that were not there in training, and these.

    `X` is the table as given, `others` what the learner may do instead.
    """
    for place, column in enumerate(columns):
        strange = np.flatnonzero(values[:, place] < 0) if column.categories else np.empty(0)
        if len(strange):
            table = read_frame(X)
            names = [other.name for other in table.columns]
            given = table.columns[names.index(column.name) if column.name in names else place]
            new = [name for name in given.categories if name not in column.categories]
            told = f" ({some(new)})" if new else ""
            raise ValueError(
                f"unseen is 'error', but column {column.name!r} has categories that were not there in training{told}: "
                f"{len(strange)} of {len(values)} rows, the first is row {strange[0]}; "
                f"correct them, or choose unseen={others}"
            )


def impute(training: Training, plan: Plan) -> tuple[Training, Imputation | None]:
    """The training rows without missing values, and how to fill those of others.

    Unchanged if the strategy fills nothing.
    """
    strategy, middle = plan.missing if isinstance(plan.missing, tuple) else (plan.missing, "median")
    if not plan.strategy.imputes:
        return training, None
    usual = _usual_values(training, middle, np.ones(len(training.values), dtype=bool))
    gaps = np.isnan(training.values)
    imputation = Imputation(usual)
    if strategy == "majority":
        values = imputation.impute(training.values, gaps)
    elif strategy == "class_majority":
        values = _fill_by_class(training, middle, usual)
    else:
        values, imputation = _fill_by_guessing(training, plan, usual)
    return replace(training, values=np.asfortranarray(values)), imputation


def _usual_values(training: Training, middle: str, taken: np.ndarray) -> np.ndarray:
    """The most common category, the median or the mean of each column, among some of the rows.

    NaN if all are missing values.
    """
    usual = np.full(len(training.columns), np.nan)
    for place, column in enumerate(training.columns):
        known = taken & ~np.isnan(training.values[:, place])
        if known.any():
            usual[place] = _usual(column, training.values[known, place], training.weights[known], middle)
    return usual


def _usual(column: Column, values: np.ndarray, weights: np.ndarray, middle: str) -> float:
    if column.is_categorical:
        return float(np.argmax(np.bincount(values.astype(np.intp), weights)))
    if middle == "mean" and column.is_numeric and np.isfinite(values).all():
        return float(np.average(values, weights=weights))
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    lower = int(np.searchsorted(below, 0.5 * below[-1]))
    # Half of the weight on each side: the middle of both neighbours, as for an even number of rows.
    even = below[lower] == 0.5 * below[-1] and lower + 1 < len(order) and column.is_numeric
    return float(values[order[lower : lower + 2]].mean() if even else values[order[lower]])


def _fill_by_class(training: Training, middle: str, usual: np.ndarray) -> np.ndarray:
    """Each gap filled with what is usual among the rows of the same class."""
    filled = np.array(training.values)
    for rows in _groups_by_target(training):
        of_class = _usual_values(training, middle, rows)
        of_class = np.where(np.isnan(of_class), usual, of_class)
        filled[rows] = np.where(np.isnan(filled[rows]), of_class, filled[rows])
    return filled


def _groups_by_target(training: Training) -> list[np.ndarray]:
    """The rows of each class; of a numeric target, groups of about as many rows along the ascending target."""
    if training.target.is_classes:
        return [training.y == label for label in np.unique(training.y)]
    place = np.empty(len(training.y), dtype=np.int64)
    place[np.argsort(training.y, kind="stable")] = np.arange(len(place))
    group = place * TARGET_GROUPS // len(place)
    return [group == g for g in np.unique(group)]


def _fill_by_guessing(training: Training, plan: Plan, usual: np.ndarray) -> tuple[np.ndarray, Imputation]:
    """Each gap filled with what a tree of the other columns and the target says; for new rows, without the target.

    Rows that have no value are not learned from; a column without any value stays as it is. If there is no other
    column, new rows get the usual value, and so do all rows in a column of very many categories.
    """
    filled, guesses = np.array(training.values), []
    for place in range(len(training.columns)):
        gaps = np.isnan(training.values[:, place])
        if len(training.columns[place].categories) > MOST_CATEGORIES_TO_GUESS:
            filled[gaps, place] = usual[place]
        elif gaps.any() and not gaps.all():
            others = np.delete(training.values, place, axis=1)
            with_target = np.column_stack([others, training.y.astype(np.float64)])
            tree = _learn_to_guess(training, place, with_target, plan, knows_target=True)
            filled[gaps, place] = predict_missing(tree, with_target[gaps])
            if others.shape[1]:
                guesses.append((place, _learn_to_guess(training, place, others, plan, knows_target=False)))
    return filled, Imputation(usual, tuple(guesses))


def _learn_to_guess(training: Training, place: int, values: np.ndarray, plan: Plan, *, knows_target: bool) -> Tree:
    """A tree that tells one column's value from the others."""
    from treewright.tree.grow import grow

    column = training.columns[place]
    columns = [other for index, other in enumerate(training.columns) if index != place]
    if knows_target:
        columns.append(_column_of_target(training.target))
    known = ~np.isnan(training.values[:, place])
    asked = training.values[known, place]
    is_classes = not column.is_numeric
    own = Plan(
        criterion="gini" if is_classes else "squared_error",
        min_samples_leaf=LEAST_ROWS_TO_GUESS,
        n_jobs=plan.n_jobs,
    )
    return grow(
        tuple(columns),
        np.asfortranarray(values[known]),
        Target(column.name, tuple(range(len(column.categories))) if is_classes else ()),
        recipe=own.recipe(len(asked), len(columns)),
        weights=training.weights[known],
        n_classes=len(column.categories),
        seed=0,
        n_jobs=plan.n_jobs,
        labels=asked.astype(np.uint16) if is_classes else None,
        numbers=None if is_classes else np.ascontiguousarray(asked),
    )


def _column_of_target(target: Target) -> Column:
    if target.is_classes:
        return Column(target.name, Kind.CATEGORICAL, tuple(str(name) for name in target.classes))
    return Column(target.name, Kind.NUMERIC)
