"""Imputation of missing values before growth, and the errors for missing values and unseen categories."""

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

# A numeric target has no classes; its rows are divided into this number of groups of about equal size.
TARGET_GROUPS = 10

# A column of more categories is imputed by its most common one: a tree of that many classes is slow and inaccurate.
MOST_CATEGORIES_OF_MODEL = 100

# Least number of rows in a leaf of the trees that impute a column from the others.
LEAST_ROWS_OF_MODEL = 5


def refuse_missing(columns: Sequence[Column], values: Any) -> None:
    """Raise an error that names the columns with missing values and their number."""
    is_dense = isinstance(values, np.ndarray)
    counts = np.count_nonzero(np.isnan(values), axis=0) if is_dense else values.count_missing()
    if counts.any():
        found = [f"{columns[place].name!r} ({counts[place]})" for place in np.flatnonzero(counts).tolist()]
        listed = ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
        raise ValueError(
            f"missing is 'error', but of {len(values)} rows some have no value in: {listed}; "
            "impute the missing values, or choose another strategy such as missing='majority'"
        )


def refuse_unseen(columns: Sequence[Column], values: np.ndarray, X: Any, others: str) -> None:
    """Raise an error that names the first column with unseen categories, and these categories.

    `X` is the table of the user, `others` are the other values of `unseen`.
    """
    for place, column in enumerate(columns):
        strange = np.flatnonzero(values[:, place] < 0) if column.categories else np.empty(0)
        if len(strange):
            table = read_frame(X)
            names = [other.name for other in table.columns]
            given = table.columns[names.index(column.name) if column.name in names else place]
            new = [name for name in given.categories if name not in column.categories]
            shown = f" ({some(new)})" if new else ""
            raise ValueError(
                f"unseen is 'error', but column {column.name!r} has categories that were not there in training{shown}: "
                f"{len(strange)} of {len(values)} rows, the first is row {strange[0]}; "
                f"correct them, or choose unseen={others}"
            )


def impute(training: Training, plan: Plan) -> tuple[Training, Imputation | None]:
    """The training rows with imputed values, and the imputation for other rows.

    The rows are unchanged if the strategy does not impute.
    """
    strategy, middle = plan.missing if isinstance(plan.missing, tuple) else (plan.missing, "median")
    if not plan.strategy.imputes:
        return training, None
    usual = _usual_values(training, middle, np.ones(len(training.values), dtype=bool))
    missing = np.isnan(training.values)
    imputation = Imputation(usual)
    if strategy == "majority":
        values = imputation.impute(training.values, missing)
    elif strategy == "class_majority":
        values = _impute_by_class(training, middle, usual)
    else:
        values, imputation = _impute_by_model(training, plan, usual)
    return replace(training, values=np.asfortranarray(values)), imputation


def _usual_values(training: Training, middle: str, taken: np.ndarray) -> np.ndarray:
    """The most common category, the median or the mean of each column, among some of the rows.

    NaN if all values are missing.
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


def _impute_by_class(training: Training, middle: str, usual: np.ndarray) -> np.ndarray:
    """Missing values imputed by the usual value of the rows of the same class."""
    imputed = np.array(training.values)
    for rows in _groups_by_target(training):
        of_class = _usual_values(training, middle, rows)
        of_class = np.where(np.isnan(of_class), usual, of_class)
        imputed[rows] = np.where(np.isnan(imputed[rows]), of_class, imputed[rows])
    return imputed


def _groups_by_target(training: Training) -> list[np.ndarray]:
    """The rows of each class; of a numeric target, groups of about as many rows along the ascending target."""
    if training.target.is_classes:
        return [training.y == label for label in np.unique(training.y)]
    place = np.empty(len(training.y), dtype=np.int64)
    place[np.argsort(training.y, kind="stable")] = np.arange(len(place))
    group = place * TARGET_GROUPS // len(place)
    return [group == g for g in np.unique(group)]


def _impute_by_model(training: Training, plan: Plan, usual: np.ndarray) -> tuple[np.ndarray, Imputation]:
    """Missing values imputed by a tree on the other columns and the target; for new rows, without the target.

    The tree is grown from the rows that have a value. A column without any value stays as it is. Without other columns,
    new rows get the usual value; in a column of very many categories, all rows do.
    """
    imputed, guesses = np.array(training.values), []
    for place in range(len(training.columns)):
        missing = np.isnan(training.values[:, place])
        if len(training.columns[place].categories) > MOST_CATEGORIES_OF_MODEL:
            imputed[missing, place] = usual[place]
        elif missing.any() and not missing.all():
            others = np.delete(training.values, place, axis=1)
            with_target = np.column_stack([others, training.y.astype(np.float64)])
            tree = _grow_imputation_tree(training, place, with_target, plan, knows_target=True)
            imputed[missing, place] = predict_missing(tree, with_target[missing])
            if others.shape[1]:
                guesses.append((place, _grow_imputation_tree(training, place, others, plan, knows_target=False)))
    return imputed, Imputation(usual, tuple(guesses))


def _grow_imputation_tree(
    training: Training, place: int, values: np.ndarray, plan: Plan, *, knows_target: bool
) -> Tree:
    """A tree that predicts one column from the others."""
    from treewright.tree.grow import grow

    column = training.columns[place]
    columns = [other for index, other in enumerate(training.columns) if index != place]
    if knows_target:
        columns.append(_column_of_target(training.target))
    known = ~np.isnan(training.values[:, place])
    targets = training.values[known, place]
    is_classes = not column.is_numeric
    own = Plan(
        criterion="gini" if is_classes else "squared_error",
        min_samples_leaf=LEAST_ROWS_OF_MODEL,
        n_jobs=plan.n_jobs,
    )
    return grow(
        tuple(columns),
        np.asfortranarray(values[known]),
        Target(column.name, tuple(range(len(column.categories))) if is_classes else ()),
        recipe=own.recipe(len(targets), len(columns)),
        weights=training.weights[known],
        n_classes=len(column.categories),
        seed=0,
        n_jobs=plan.n_jobs,
        labels=targets.astype(np.uint16) if is_classes else None,
        numbers=None if is_classes else np.ascontiguousarray(targets),
    )


def _column_of_target(target: Target) -> Column:
    if target.is_classes:
        return Column(target.name, Kind.CATEGORICAL, tuple(str(name) for name in target.classes))
    return Column(target.name, Kind.NUMERIC)
