"""Imputation of missing values before growth, and the errors for missing values and unseen categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.estimators.parameters import Plan
from treewright.table import read_frame
from treewright.table.categories import some
from treewright.table.column import Column, Kind
from treewright.table.sparse import SparseValues, rows_of
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
    cells = MissingCells.of(training.values)
    imputation, found = Imputation(usual), usual[cells.columns]
    if strategy == "class_majority":
        found = _impute_by_class(training, middle, usual, cells)
    elif strategy == "model":
        found, imputation = _impute_by_model(training, plan, usual, cells)
    return replace(training, values=cells.imputed(training.values, found)), imputation


@dataclass(frozen=True, eq=False)
class MissingCells:
    """The cells of a dense or sparse table that have no value, column after column."""

    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, values: Any) -> MissingCells:
        if isinstance(values, SparseValues):
            return cls(*values.missing_entries())
        columns, rows = np.nonzero(np.isnan(values).T)
        return cls(rows, columns)

    def imputed(self, values: Any, found: np.ndarray) -> Any:
        """The table with these values in the cells."""
        if isinstance(values, SparseValues):
            return values.with_known(found)
        imputed = np.array(values, order="F")
        imputed[self.rows, self.columns] = found
        return imputed


def _usual_values(training: Training, middle: str, taken: np.ndarray) -> np.ndarray:
    """The most common category, the median or the mean of each column, among some of the rows.

    NaN if all values are missing.
    """
    usual = np.full(len(training.columns), np.nan)
    for place, column in enumerate(training.columns):
        line = training.values[:, place]
        known = taken & ~np.isnan(line)
        if known.any():
            usual[place] = _usual(column, line[known], training.weights[known], middle)
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


def _impute_by_class(training: Training, middle: str, usual: np.ndarray, cells: MissingCells) -> np.ndarray:
    """For each cell without a value, the usual value of the rows of the same class."""
    found = usual[cells.columns]
    for rows in _groups_by_target(training):
        of_class = _usual_values(training, middle, rows)
        of_class = np.where(np.isnan(of_class), usual, of_class)
        inside = rows[cells.rows]
        found[inside] = of_class[cells.columns[inside]]
    return found


def _groups_by_target(training: Training) -> list[np.ndarray]:
    """The rows of each class; of a numeric target, groups of about as many rows along the ascending target."""
    if training.target.is_classes:
        return [training.y == label for label in np.unique(training.y)]
    place = np.empty(len(training.y), dtype=np.int64)
    place[np.argsort(training.y, kind="stable")] = np.arange(len(place))
    group = place * TARGET_GROUPS // len(place)
    return [group == g for g in np.unique(group)]


def _impute_by_model(
    training: Training, plan: Plan, usual: np.ndarray, cells: MissingCells
) -> tuple[np.ndarray, Imputation]:
    """For each cell, the prediction of a tree on the other columns and the target; for new rows, without the target.

    The tree is grown from the rows that have a value. A column without any value stays as it is. Without other columns,
    new rows get the usual value; in a column of very many categories, all rows do.
    """
    found, guesses = np.full(len(cells.columns), np.nan), []
    for place in np.unique(cells.columns).tolist():
        inside = np.flatnonzero(cells.columns == place)
        if len(training.columns[place].categories) > MOST_CATEGORIES_OF_MODEL:
            found[inside] = usual[place]
        elif len(inside) < len(training.values):
            others = training.values[:, np.delete(np.arange(len(training.columns)), place)]
            with_target = _with_column(others, training.y.astype(np.float64))
            tree = _grow_imputation_tree(training, place, with_target, plan, knows_target=True)
            found[inside] = predict_missing(tree, with_target[cells.rows[inside]])
            if others.shape[1]:
                guesses.append((place, _grow_imputation_tree(training, place, others, plan, knows_target=False)))
    return found, Imputation(usual, tuple(guesses))


def _with_column(values: Any, column: np.ndarray) -> Any:
    return values.with_column(column) if isinstance(values, SparseValues) else np.column_stack([values, column])


def _grow_imputation_tree(training: Training, place: int, values: Any, plan: Plan, *, knows_target: bool) -> Tree:
    """A tree that predicts one column from the others."""
    from treewright.tree.grow import grow

    column = training.columns[place]
    columns = [other for index, other in enumerate(training.columns) if index != place]
    if knows_target:
        columns.append(_column_of_target(training.target))
    line = training.values[:, place]
    known = ~np.isnan(line)
    targets = line[known]
    is_classes = not column.is_numeric
    own = Plan(
        criterion="gini" if is_classes else "squared_error",
        min_samples_leaf=LEAST_ROWS_OF_MODEL,
        n_jobs=plan.n_jobs,
    )
    return grow(
        tuple(columns),
        rows_of(values, known),
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
