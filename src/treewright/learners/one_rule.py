"""One rule: all rows are judged by one column, the one that makes the fewest errors (Holte 1993)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.learners.base import Training, TreeClassifier
from treewright.learners.parameters import Plan, check_min_bucket
from treewright.tree import SplitKind, Tree


class OneRClassifier(TreeClassifier):
    """A tree that asks about one column only: a branch per category, or per interval of a number.

    Often not much worse than a large tree (Holte 1993), and a baseline that any other model should beat.

    Parameters
    ----------
    min_bucket : float, default=6
        Least weight of the majority class in an interval of a number. Raise it for fewer intervals and less
        overfitting; 6 is Holte's choice.
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
        class_weight: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
    ) -> None:
        self.min_bucket = min_bucket
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features

    def _grow(self, training: Training, plan: Plan, seed: int) -> Tree:
        min_bucket = check_min_bucket(self.min_bucket)
        majority = no_rule(training)
        if majority.errors == 0.0:
            return build_tree(training, majority)
        rules = [write_rule(training, place, min_bucket) for place in range(len(training.columns))]
        fewest = min(rule.errors for rule in rules)
        # Sums of weights may round differently from column to column: the first wins such a tie.
        slack = 1e-12 * training.weights.sum()
        return build_tree(training, next(rule for rule in rules if rule.errors <= fewest + slack))


@dataclass(frozen=True, eq=False)
class OneRule:
    """The rule of one column: its branches, and the class weights in each.

    Rows without a value join one of the branches: they are in `counts` and `rows`, but not in `known`.
    """

    place: int
    thresholds: np.ndarray | None  # upper ends of all intervals but the last, None for categories
    counts: np.ndarray  # weight[branch, class]
    rows: np.ndarray
    known: np.ndarray  # weight[branch]

    @property
    def errors(self) -> float:
        return float((self.counts.sum(axis=1) - self.counts.max(axis=1)).sum())


def no_rule(training: Training) -> OneRule:
    """The majority of all rows, whatever their values."""
    branch = np.zeros(len(training.answers), dtype=np.intp)
    counts, rows = _tally(training, branch, branch == 0, 1)
    return OneRule(-1, None, counts, rows, counts.sum(axis=1))


def write_rule(training: Training, place: int, min_bucket: float) -> OneRule:
    """The best that one column alone can say."""
    column, values = training.columns[place], training.values[:, place]
    is_known = ~np.isnan(values)
    if column.is_categorical:
        thresholds, branch = None, np.where(is_known, values, 0).astype(np.intp)
        n_branches = max(len(column.categories), 1)
    else:
        distinct = np.unique(values[is_known])
        last = last_of_intervals(training, place, is_known, min_bucket)
        thresholds = distinct[last] if not column.is_numeric else _between(distinct[last], distinct[last + 1])
        branch = np.searchsorted(thresholds, values, side="left")
        n_branches = len(thresholds) + 1
    counts, rows = _tally(training, branch, is_known, n_branches)
    known = counts.sum(axis=1)
    gap_counts, gap_rows = _tally(training, np.zeros_like(branch), ~is_known, 1)
    home = int(np.argmax(known)) if thresholds is None else _descend_by_weight(known)
    counts[home] += gap_counts[0]
    rows[home] += gap_rows[0]
    return OneRule(place, thresholds, counts, rows, known)


def last_of_intervals(training: Training, place: int, is_known: np.ndarray, min_bucket: float) -> np.ndarray:
    """Which of a column's distinct values end an interval that another one follows.

    An interval joins the one before if the majority there is a majority here as well.
    """
    line = _count_values(training, place, is_known)
    last: list[int] = []
    majority = -1
    at = 0
    while at < len(line):
        counts: dict[int, float] = {}
        at = _fill_interval(line, at, counts, min_bucket)
        if majority in _majorities(counts):
            last.pop()
        else:
            majority = min(_majorities(counts))
        last.append(at - 1)
    return np.array(last[:-1], dtype=np.intp)


def _count_values(training: Training, place: int, is_known: np.ndarray) -> list[dict[int, float]]:
    """For each distinct value of a column, from the smallest up, the weight of each class there."""
    n_classes = len(training.target.classes)
    _, rank = np.unique(training.values[is_known, place], return_inverse=True)
    cells, cell_of = np.unique(rank * n_classes + training.answers[is_known], return_inverse=True)
    weights = np.bincount(cell_of, training.weights[is_known])
    line: list[dict[int, float]] = [{} for _ in range(int(cells[-1]) // n_classes + 1)] if len(cells) else []
    for cell, weight in zip(cells.tolist(), weights.tolist(), strict=True):
        line[cell // n_classes][cell % n_classes] = weight
    return line


def _fill_interval(line: list[dict[int, float]], at: int, counts: dict[int, float], min_bucket: float) -> int:
    """Fill one interval from position `at` on; returns where the next begins.

    It takes values until one class weighs `min_bucket`, then on while that class is a majority of the next
    value. Rows of one value are taken together, so that the rule does not depend on the order of the rows.
    """
    while at < len(line) and max(counts.values(), default=0.0) < min_bucket:
        _add(counts, line[at])
        at += 1
    majority = min(_majorities(counts))
    while at < len(line) and majority in _majorities(line[at]):
        _add(counts, line[at])
        at += 1
    return at


def _add(counts: dict[int, float], more: dict[int, float]) -> None:
    for label, weight in more.items():
        counts[label] = counts.get(label, 0.0) + weight


def _majorities(counts: dict[int, float]) -> list[int]:
    """The class with the most weight, or several with the same."""
    most = max(counts.values())
    return [label for label, weight in counts.items() if weight == most]


def _tally(training: Training, branch: np.ndarray, taken: np.ndarray, n_branches: int) -> tuple[np.ndarray, np.ndarray]:
    """Class weights and rows in each branch, of the rows that are taken."""
    n_classes = len(training.target.classes)
    cell = branch[taken] * n_classes + training.answers[taken]
    counts = np.bincount(cell, training.weights[taken], minlength=n_branches * n_classes)
    # NumPy counts in whole numbers when there is nothing to count.
    return counts.astype(np.float64).reshape(n_branches, n_classes), np.bincount(branch[taken], minlength=n_branches)


def _between(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Midpoints; the lower value where no number lies between, or one of both is infinite."""
    with np.errstate(invalid="ignore"):
        middle = 0.5 * below + 0.5 * above
    return np.where((below <= middle) & (middle < above), middle, below)


def _middle(lo: int, hi: int) -> int:
    """Where a range of intervals is halved, so that a tree of many intervals stays shallow."""
    return lo + (hi - lo) // 2


def _prefers_first(known: np.ndarray, lo: int, hi: int) -> bool:
    """Whether the first half of a range of intervals is at least as heavy as the second."""
    middle = _middle(lo, hi)
    return bool(known[lo:middle].sum() >= known[middle:hi].sum())


def _descend_by_weight(known: np.ndarray) -> int:
    """The interval where rows without a value end when they follow the heavier side at each threshold."""
    lo, hi = 0, len(known)
    while hi - lo > 1:
        lo, hi = (lo, _middle(lo, hi)) if _prefers_first(known, lo, hi) else (_middle(lo, hi), hi)
    return lo


def build_tree(training: Training, rule: OneRule) -> Tree:
    """The rule as a tree: one multiway node, or thresholds that halve the range of intervals."""
    spans, first_child = _spans(rule)
    n_nodes = len(spans)
    sizes = np.array([hi - lo for lo, hi in spans])
    is_inner = sizes > 1
    is_multiway = rule.thresholds is None
    distribution = np.array([rule.counts[lo:hi].sum(axis=0) for lo, hi in spans])
    weight = distribution.sum(axis=1)
    errors = weight - distribution.max(axis=1)
    n_children = np.where(is_inner, sizes if is_multiway else 2, 0).astype(np.int32)
    threshold = np.full(n_nodes, np.nan)
    missing_branch = np.zeros(n_nodes, dtype=np.int32)
    gained = np.zeros(n_nodes)
    for node in np.flatnonzero(is_inner):
        lo, hi = spans[node]
        children = slice(first_child[node], first_child[node] + n_children[node])
        gained[node] = max(errors[node] - errors[children].sum(), 0.0)
        if rule.thresholds is None:
            missing_branch[node] = np.argmax(rule.known)
        else:
            threshold[node] = rule.thresholds[_middle(lo, hi) - 1]
            missing_branch[node] = 0 if _prefers_first(rule.known, lo, hi) else 1
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
        rows=np.array([rule.rows[lo:hi].sum() for lo, hi in spans]),
        impurity=np.divide(errors, weight, out=np.zeros(n_nodes), where=has_weight),
        gain=np.divide(gained, weight, out=np.zeros(n_nodes), where=has_weight),
        distribution=distribution,
    )


def _spans(rule: OneRule) -> tuple[list[tuple[int, int]], list[int]]:
    """The range of branches under each node, level by level, and where the node's children begin."""
    spans = [(0, len(rule.counts))]
    first_child = []
    for lo, hi in spans:  # grows while it is walked
        first_child.append(len(spans) if hi - lo > 1 else 0)
        if hi - lo > 1 and rule.thresholds is None:
            spans.extend((branch, branch + 1) for branch in range(lo, hi))
        elif hi - lo > 1:
            spans.extend([(lo, _middle(lo, hi)), (_middle(lo, hi), hi)])
    return spans, first_child
