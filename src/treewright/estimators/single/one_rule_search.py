"""The search for one rule: the branches of each column, and the column that makes the fewest errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.encoding.midpoints import midpoints
from treewright.engines.missing_values import (
    EVERY_VALUE,
    OWN_BRANCH,
    STRATEGIES,
    MissingStrategy,
)
from treewright.estimators.base import Training


@dataclass(frozen=True, eq=False)
class OneRule:
    """The rule of one column: its branches, and the branches of missing values.

    The branches are the categories or intervals; one more is for missing values, if the strategy has one.
    """

    place: int  # -1 if the rule uses no column
    thresholds: np.ndarray | None  # upper ends of all intervals but the last, None for categories
    strategy: MissingStrategy
    branch: np.ndarray  # of each row; the number of branches if it has none
    counts: np.ndarray  # class weights of each branch
    rows: np.ndarray
    missing_counts: np.ndarray  # of the rows without a branch of their own
    n_missing: int
    fractions: np.ndarray  # of a row without a value, in each branch
    has_own_branch: bool  # the last branch is that of missing values

    @property
    def n_branches(self) -> int:
        return len(self.counts)

    @property
    def saved(self) -> float:
        """The weight of the errors that the rule saves, compared with one prediction for all rows.

        As in the gain of C4.5, only rows with a value count where missing values have no branch of their own.
        """
        counts = self.counts
        if not self.strategy.leaves_out:
            counts = counts + self.fractions[:, None] * self.missing_counts
        return float(wrong_weight(counts.sum(axis=0)) - wrong_weight(counts).sum())


def wrong_weight(counts: np.ndarray) -> Any:
    """The weight of the rows that are not of the majority, given class weights."""
    return counts.sum(axis=-1) - counts.max(axis=-1)


def best_rule(training: Training, min_bucket: float, strategy: MissingStrategy = STRATEGIES["branch"]) -> OneRule:
    """The rule that saves the most errors, the first of equals; no column if no rule saves any."""
    by_label = np.argsort(training.y, kind="stable")
    nothing = rule_of(training, -1, None, strategy)
    known = [place for place in range(len(training.columns)) if not np.isnan(training.values[:, place]).all()]
    if wrong_weight(nothing.counts).sum() == 0.0 or not known:
        return nothing
    # A rule has the branch of each row, so only one is kept.
    saved = np.array([write_rule(training, place, min_bucket, by_label, strategy).saved for place in known])
    # Sums of weights may round differently from column to column: the first wins such a tie.
    slack = 1e-12 * training.weights.sum()
    best = known[int(np.argmax(saved >= saved.max() - slack))]
    return write_rule(training, best, min_bucket, by_label, strategy)


def write_rule(
    training: Training, place: int, min_bucket: float, by_label: np.ndarray, strategy: MissingStrategy
) -> OneRule:
    """The best rule of one column; `by_label` lists the rows class by class."""
    column = training.columns[place]
    thresholds = None
    if not column.is_categorical:
        line = read_line(training, place, by_label)
        last = last_of_intervals(line, min_bucket)
        thresholds = midpoints(line.values[last], line.values[last + 1]) if column.is_numeric else line.values[last]
    return rule_of(training, place, thresholds, strategy)


def rule_of(training: Training, place: int, thresholds: np.ndarray | None, strategy: MissingStrategy) -> OneRule:
    """The rule with these branches, its rows counted."""
    values = training.values[:, place] if place >= 0 else np.zeros(len(training.y))
    is_missing = np.isnan(values)
    n_branches = 1
    branch = np.where(is_missing, 0, values)
    if place >= 0 and thresholds is None:
        n_branches = len(training.columns[place].categories)
    elif thresholds is not None:
        n_branches = len(thresholds) + 1
        branch = np.searchsorted(thresholds, values, side="left")
    branch = np.where(is_missing, n_branches, branch).astype(np.intp)
    has_own_branch = strategy.code == OWN_BRANCH and bool(is_missing.any())
    n_branches += int(has_own_branch)
    counts, rows = count_branches(training, branch, n_branches + 1)
    n_values = None
    if strategy.code == EVERY_VALUE:
        distinct = np.unique(values[~is_missing], return_index=True)[1]
        n_values = np.bincount(branch[~is_missing][distinct], minlength=n_branches)
    fractions = _fractions(counts[:-1], counts[-1], strategy, n_values)
    return OneRule(
        place,
        thresholds,
        strategy,
        branch,
        counts[:-1],
        rows[:-1],
        counts[-1],
        int(rows[-1]),
        fractions,
        has_own_branch,
    )


def _fractions(
    counts: np.ndarray, missing_counts: np.ndarray, strategy: MissingStrategy, n_values: np.ndarray | None
) -> np.ndarray:
    """The fraction of a row without a value in each branch: all of it in one, or some in each."""
    if n_values is not None:
        return n_values / n_values.sum()
    weight = counts.sum(axis=1)
    if strategy.spreads:
        return weight / weight.sum()
    # The branch with the fewest errors; of equals the heaviest, of those the first.
    more = wrong_weight(counts + missing_counts) - wrong_weight(counts)
    close = more <= more.min() + 1e-12 * (weight.sum() + missing_counts.sum())
    fractions = np.zeros(len(counts))
    fractions[np.argmax(np.where(close & (weight > 0.0), weight, -1.0))] = 1.0
    return fractions


@dataclass(frozen=True, eq=False)
class Line:
    """The rows of a column that have a value, from the smallest up; of equal values by class."""

    values: np.ndarray  # distinct
    starts: np.ndarray  # the first row of each value, and at the end the number of rows
    labels: np.ndarray
    weights: np.ndarray

    def rank(self) -> np.ndarray:
        """The place of each row's value among the distinct ones."""
        return np.repeat(np.arange(len(self.values)), np.diff(self.starts))


def read_line(training: Training, place: int, by_label: np.ndarray) -> Line:
    """Sort a column; `by_label` lists all rows class by class."""
    values = training.values[:, place][by_label]
    known = ~np.isnan(values)
    values, rows = values[known], by_label[known]
    order = np.argsort(values, kind="stable")
    values, rows = values[order], rows[order]
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return Line(values[starts], np.append(starts, len(values)), training.y[rows], training.weights[rows])


def last_of_intervals(line: Line, min_bucket: float) -> np.ndarray:
    """Which of the distinct values end an interval that another one follows.

    As in Weka, rows of one value stay together, so the order of the rows does not matter. An interval grows until the
    weight of one class is `min_bucket`, then on while the majority of the next value is that of the interval. Intervals
    with the same prediction are merged. Of classes with the same weight the first is the majority.
    """
    n_values = len(line.values)
    majority, is_pure = majority_of_values(line)
    full = where_full(line, min_bucket)
    # Where an interval that is full may run on to: the next value with another majority.
    changes = np.append(np.flatnonzero(majority[1:] != majority[:-1]) + 1, n_values)
    run_end = np.append(changes[np.searchsorted(changes, np.arange(n_values), side="right")], n_values)
    # The last value completes the interval; if it has one class only, that class is the majority.
    majority = np.append(majority.astype(np.int64), -1)
    label = np.where((full < n_values) & is_pure[full - 1], majority[full - 1], -1)
    after = np.where(majority[full] == label, run_end[full], full)
    labels, ends = _walk(line, label.tolist(), after.tolist(), full, majority, run_end)
    return ends[:-1][labels[:-1] != labels[1:]] - 1


def _walk(
    line: Line, first_label: list[int], after: list[int], full: np.ndarray, majority: np.ndarray, run_end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The label of each interval, and where the next one begins; `first_label` is -1 where rows must be counted."""
    labels, ends = [], []
    at = 0
    while at < len(after):
        label, end = first_label[at], after[at]
        if label < 0:
            end = int(full[at])
            rows = slice(line.starts[at], line.starts[end])
            label = int(np.argmax(np.bincount(line.labels[rows], line.weights[rows])))
            end = int(run_end[end]) if majority[end] == label else end
        labels.append(label)
        ends.append(end)
        at = end
    return np.array(labels), np.array(ends)


def majority_of_values(line: Line) -> tuple[np.ndarray, np.ndarray]:
    """The class with the most weight at each distinct value, the first of equals; and whether it is the only one."""
    if len(line.values) == len(line.labels):
        return line.labels, np.ones(len(line.labels), dtype=bool)
    rank = line.rank()
    # A cell is one class of one value; its rows are next to each other.
    is_first = np.append(True, (rank[1:] != rank[:-1]) | (line.labels[1:] != line.labels[:-1]))
    cells = np.flatnonzero(is_first)
    value_of, label_of = rank[cells], line.labels[cells]
    weight = np.add.reduceat(line.weights, cells)
    n_cells = np.bincount(value_of)
    most = np.maximum.reduceat(weight, np.cumsum(n_cells) - n_cells)
    # Backwards, so that the first of several stays.
    top = np.flatnonzero(weight == most[value_of])[::-1]
    majority = np.empty(len(line.values), dtype=line.labels.dtype)
    majority[value_of[top]] = label_of[top]
    return majority, n_cells == 1


def where_full(line: Line, min_bucket: float) -> np.ndarray:
    """For an interval that begins at a value: the value after the one at which a class weighs `min_bucket`.

    A class is full as many rows after its next one as `min_bucket` takes. The interval is full with the first class
    that is: the least over all rows from its beginning on.
    """
    n_rows = len(line.labels)
    full = np.full(n_rows, len(line.values))
    rank = line.rank()
    by_class = np.argsort(line.labels, kind="stable")
    for rows in np.split(by_class, np.flatnonzero(np.diff(line.labels[by_class])) + 1):
        total = np.cumsum(line.weights[rows])
        before = np.append(0.0, total[:-1])
        # Sums of fractions round: what lacks a billionth is full. Next to large weights `min_bucket` is nothing.
        filled = np.searchsorted(total, before + min_bucket * (1.0 - 1e-9))
        filled = np.maximum(filled, np.arange(len(rows)))
        inside = filled < len(rows)
        full[rows[inside]] = rank[rows[filled[inside]]] + 1
    return np.minimum.accumulate(full[::-1])[::-1][line.starts[:-1]]


def count_branches(training: Training, branch: np.ndarray, n_branches: int) -> tuple[np.ndarray, np.ndarray]:
    """Class weights and rows in each branch."""
    n_classes = len(training.target.classes)
    cell = branch * n_classes + training.y
    counts = np.bincount(cell, training.weights, minlength=n_branches * n_classes)
    return counts.reshape(n_branches, n_classes), np.bincount(branch, minlength=n_branches)
