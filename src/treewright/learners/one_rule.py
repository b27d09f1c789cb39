"""One rule: all rows are judged by one column, the one that makes the fewest errors (Holte 1993)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.learners.base import Training, TreeClassifier
from treewright.learners.gaps import fill_gaps, refuse_gaps
from treewright.learners.parameters import Plan, check_min_bucket, check_unseen, parameter_error
from treewright.tree import SplitKind, Tree

# What a rule of one column can do about missing values.
MISSING = ("branch", "majority", "class_majority", "model", "error")


class OneRClassifier(TreeClassifier):
    """A tree that asks about one column only: a branch per category, or per interval of a number.

    Often not much worse than a large tree (Holte 1993), and a baseline that any other model should beat. It writes the
    rule that Weka's OneR writes: a number's intervals end halfway between two values, neighbours that answer the same
    are one, of classes with equal weight the first is answered, and of columns with equal errors the first is taken.
    Where Weka answers the first class for want of rows, this rule answers the majority.

    Parameters
    ----------
    min_bucket : float, default=6
        Least weight of the majority class in an interval of a number. Raise it for fewer intervals and less
        overfitting; 6 is Holte's choice.
    missing : {"branch", "majority", "class_majority", "model", "error"}, default="branch"
        What becomes of missing values: "branch" takes them for a value of their own, the others fill or refuse them,
        see `docs/missing_values.md`. A column without gaps in training sends them where most rows go.
    unseen : {"as_missing", "stop", "majority", "error"}, default="as_missing"
        What becomes of categories that were not there in training: they count as missing, the node answers that asks
        for them, they follow the most rows, or they are refused.
    class_weight : dict, "balanced" or None, default=None
        What a row of each class weighs.
    categorical_features, numeric_features : list of names or positions, mask, "all" or None, default=None
        Columns to be read otherwise than their type says.

    Examples
    --------
    >>> from treewright import OneRClassifier, datasets, show
    >>> iris = datasets.load_iris()
    >>> show(OneRClassifier().fit(iris.X, iris.y))
    petal_width <= 0.8: setosa (50.0)
    petal_width > 0.8
    |   petal_width <= 1.75: versicolor (54.0/5.0)
    |   petal_width > 1.75: virginica (46.0/1.0)
    <BLANKLINE>
    Number of leaves: 3
    Size of the tree: 5
    """

    _poor_score = True

    def __init__(
        self,
        *,
        min_bucket: float = 6,
        missing: Any = "branch",
        unseen: str = "as_missing",
        class_weight: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
    ) -> None:
        self.min_bucket = min_bucket
        self.missing = missing
        self.unseen = unseen
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features

    def _plan(self) -> Plan:
        # A pair such as ('majority', 'mean') is the business of the general check.
        is_pair = isinstance(self.missing, tuple | list)
        if not is_pair and not (isinstance(self.missing, str) and self.missing in MISSING):
            listed = ", ".join(repr(choice) for choice in MISSING)
            raise parameter_error("missing", self.missing, f"one of {listed}, or ('majority', 'mean')")
        return super()._plan()

    def _grow(self, training: Training, plan: Plan, seed: int) -> Tree:
        min_bucket = check_min_bucket(self.min_bucket)
        if plan.missing == "error":
            refuse_gaps(training.columns, training.values)
        training, filling = fill_gaps(training, plan)
        tree = build_tree(training, best_rule(training, min_bucket), check_unseen(self.unseen))
        return tree if filling is None else tree.replace(filling=filling)


@dataclass(frozen=True, eq=False)
class OneRule:
    """The rule of one column: where its intervals end, and the weight of the rows that it gets wrong.

    Its branches are the categories or intervals; one more is for rows without a value, if the column has such rows.
    """

    place: int  # -1 if no column is asked
    thresholds: np.ndarray | None  # upper ends of all intervals but the last, None for categories
    errors: float


def best_rule(training: Training, min_bucket: float) -> OneRule:
    """The rule of the column with the fewest errors, the first of equals; none if there is nothing to tell apart."""
    by_label = np.argsort(training.answers, kind="stable")
    nothing = OneRule(-1, None, _errors(training, *branches_of(training, -1, None)))
    asked = np.flatnonzero(~np.isnan(training.values).all(axis=0)).tolist()
    if nothing.errors == 0.0 or not asked:
        return nothing
    rules = [write_rule(training, place, min_bucket, by_label) for place in asked]
    fewest = min(rule.errors for rule in rules)
    # Sums of weights may round differently from column to column: the first wins such a tie.
    slack = 1e-12 * training.weights.sum()
    return next(rule for rule in rules if rule.errors <= fewest + slack)


def write_rule(training: Training, place: int, min_bucket: float, by_label: np.ndarray) -> OneRule:
    """The best that one column alone can say; `by_label` lists the rows class by class."""
    column = training.columns[place]
    thresholds = None
    if not column.is_categorical:
        line = read_line(training, place, by_label)
        last = last_of_intervals(line, min_bucket)
        thresholds = _between(line.values[last], line.values[last + 1]) if column.is_numeric else line.values[last]
    return OneRule(place, thresholds, _errors(training, *branches_of(training, place, thresholds)))


def branches_of(training: Training, place: int, thresholds: np.ndarray | None) -> tuple[np.ndarray, int]:
    """The branch of each row, and how many branches there are."""
    if place < 0:
        return np.zeros(len(training.answers), dtype=np.intp), 1
    values = training.values[:, place]
    gaps = np.isnan(values)
    if thresholds is None:
        n_known = len(training.columns[place].categories)
        branch = np.where(gaps, n_known, values).astype(np.intp)
    else:
        n_known = len(thresholds) + 1
        branch = np.where(gaps, n_known, np.searchsorted(thresholds, values, side="left"))
    return branch, n_known + int(gaps.any())


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
    values = training.values[by_label, place]
    known = ~np.isnan(values)
    values, rows = values[known], by_label[known]
    order = np.argsort(values, kind="stable")
    values, rows = values[order], rows[order]
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return Line(values[starts], np.append(starts, len(values)), training.answers[rows], training.weights[rows])


def last_of_intervals(line: Line, min_bucket: float) -> np.ndarray:
    """Which of the distinct values end an interval that another one follows.

    Weka takes the rows of one value together, so that the order of the rows makes no difference. An interval takes
    values until one class weighs `min_bucket`, then on while the majority of a value is the interval's. Intervals that
    answer the same are joined. Of classes with the same weight the first is the majority.
    """
    n_values = len(line.values)
    majority, is_pure = majority_of_values(line)
    full = where_full(line, min_bucket)
    # Where an interval that is full may run on to: the next value with another majority.
    changes = np.append(np.flatnonzero(majority[1:] != majority[:-1]) + 1, n_values)
    run_end = np.append(changes[np.searchsorted(changes, np.arange(n_values), side="right")], n_values)
    # The last value fills the interval; if it has one class only, that one is the majority.
    majority = np.append(majority.astype(np.int64), -1)
    answer = np.where((full < n_values) & is_pure[full - 1], majority[full - 1], -1)
    after = np.where(majority[full] == answer, run_end[full], full)
    answers, ends = _walk(line, answer.tolist(), after.tolist(), full, majority, run_end)
    return ends[:-1][answers[:-1] != answers[1:]] - 1


def _walk(
    line: Line, answer: list[int], after: list[int], full: np.ndarray, majority: np.ndarray, run_end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What each interval answers, and where the next one begins; `answer` is -1 where rows have to be counted."""
    answers, ends = [], []
    at = 0
    while at < len(after):
        label, end = answer[at], after[at]
        if label < 0:
            end = int(full[at])
            rows = slice(line.starts[at], line.starts[end])
            label = int(np.argmax(np.bincount(line.labels[rows], line.weights[rows])))
            end = int(run_end[end]) if majority[end] == label else end
        answers.append(label)
        ends.append(end)
        at = end
    return np.array(answers), np.array(ends)


def majority_of_values(line: Line) -> tuple[np.ndarray, np.ndarray]:
    """The class with the most weight at each distinct value, the first of equals; and whether it is the only one."""
    if len(line.values) == len(line.labels):
        return line.labels, np.ones(len(line.labels), dtype=bool)
    rank = line.rank()
    # A cell is one class of one value; its rows stand next to each other.
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
    n_rows, n_values = len(line.labels), len(line.values)
    by_class = np.argsort(line.labels, kind="stable")
    label = line.labels[by_class]
    total = np.cumsum(line.weights[by_class])
    before = np.append(0.0, total[:-1])
    # Sums of fractions round: what lacks a billionth is full.
    filling = np.searchsorted(total, before + min_bucket * (1.0 - 1e-9))
    inside = filling < n_rows
    inside[inside] = label[filling[inside]] == label[inside]
    full = np.full(n_rows, n_values)
    full[by_class[inside]] = line.rank()[by_class[filling[inside]]] + 1
    return np.minimum.accumulate(full[::-1])[::-1][line.starts[:-1]]


def _errors(training: Training, branch: np.ndarray, n_branches: int) -> float:
    """The weight of the rows that are not of the majority of their branch."""
    counts, _ = _tally(training, branch, n_branches)
    return float((counts.sum(axis=1) - counts.max(axis=1)).sum())


def _tally(training: Training, branch: np.ndarray, n_branches: int) -> tuple[np.ndarray, np.ndarray]:
    """Class weights and rows in each branch."""
    n_classes = len(training.target.classes)
    cell = branch * n_classes + training.answers
    counts = np.bincount(cell, training.weights, minlength=n_branches * n_classes)
    return counts.reshape(n_branches, n_classes), np.bincount(branch, minlength=n_branches)


def _between(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Midpoints; the lower value where no number lies between, or one of both is infinite.

    Weka asks `value < midpoint` and a tree `value <= midpoint`: no training value is the midpoint, so they agree on all
    of these.
    """
    with np.errstate(invalid="ignore"):
        middle = 0.5 * below + 0.5 * above
    return np.where((below <= middle) & (middle < above), middle, below)


def build_tree(training: Training, rule: OneRule, unseen: str) -> Tree:
    """The rule as a tree: one multiway node, or thresholds that halve the range of intervals."""
    branch, n_branches = branches_of(training, rule.place, rule.thresholds)
    counts, rows = _tally(training, branch, n_branches)
    spans, first_child = _spans(rule, n_branches)
    n_nodes = len(spans)
    sizes = np.array([hi - lo for lo, hi in spans])
    is_inner = sizes > 1
    is_multiway = rule.thresholds is None
    distribution = np.array([counts[lo:hi].sum(axis=0) for lo, hi in spans])
    weight = distribution.sum(axis=1)
    errors = weight - distribution.max(axis=1)
    n_children = np.where(is_inner, sizes if is_multiway else 2, 0).astype(np.int32)
    threshold = np.full(n_nodes, np.nan)
    missing_branch = np.zeros(n_nodes, dtype=np.int32)
    gained = np.zeros(n_nodes)
    for node in np.flatnonzero(is_inner):
        children = slice(first_child[node], first_child[node] + n_children[node])
        gained[node] = max(errors[node] - errors[children].sum(), 0.0)
        threshold[node], missing_branch[node] = _question(training, rule, spans[node], weight[children])
    has_weight = weight > 0.0
    kind = SplitKind.MULTIWAY if is_multiway else SplitKind.THRESHOLD
    return Tree(
        columns=training.columns,
        target=training.target,
        kind=np.where(is_inner, kind, SplitKind.LEAF).astype(np.uint8),
        column=np.where(is_inner, rule.place, -1).astype(np.int32),
        threshold=threshold,
        first_child=np.array(first_child, dtype=np.int32),
        n_children=n_children,
        share=np.zeros(n_nodes),
        missing_branch=missing_branch,
        set_start=np.full(n_nodes, -1, dtype=np.int64),
        category_sets=np.empty(0, dtype=np.uint64),
        weight=weight,
        rows=np.array([rows[lo:hi].sum() for lo, hi in spans]),
        impurity=np.divide(errors, weight, out=np.zeros(n_nodes), where=has_weight),
        gain=np.divide(gained, weight, out=np.zeros(n_nodes), where=has_weight),
        distribution=distribution,
        unseen=unseen,
    )


def _question(training: Training, rule: OneRule, span: tuple[int, int], weights: np.ndarray) -> tuple[float, int]:
    """The threshold that parts a range of branches, and the branch of rows without a value."""
    if rule.thresholds is None:
        n_categories = len(training.columns[rule.place].categories)
        return np.nan, n_categories if len(weights) > n_categories else int(np.argmax(weights))
    if span[1] > len(rule.thresholds) + 1:
        return np.inf, 1
    return float(rule.thresholds[_middle(rule, *span) - 1]), int(np.argmax(weights))


def _middle(rule: OneRule, lo: int, hi: int) -> int:
    """Where a range of branches is parted: gaps first, then in halves, so that the tree stays shallow."""
    assert rule.thresholds is not None
    n_intervals = len(rule.thresholds) + 1
    return n_intervals if hi > n_intervals else lo + (hi - lo) // 2


def _spans(rule: OneRule, n_branches: int) -> tuple[list[tuple[int, int]], list[int]]:
    """The range of branches under each node, level by level, and where the node's children begin."""
    spans = [(0, n_branches)]
    first_child = []
    for lo, hi in spans:  # grows while it is walked
        first_child.append(len(spans) if hi - lo > 1 else 0)
        if hi - lo > 1 and rule.thresholds is None:
            spans.extend((branch, branch + 1) for branch in range(lo, hi))
        elif hi - lo > 1:
            middle = _middle(rule, lo, hi)
            spans.extend([(lo, middle), (middle, hi)])
    return spans, first_child
