"""OneR: a rule on the one column that makes the fewest errors (Holte 1993)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.encoding.midpoints import midpoints
from treewright.engines.missing_values import (
    ALL_BRANCHES,
    EVERY_VALUE,
    OWN_BRANCH,
    STRATEGIES,
    SURROGATE,
    MissingStrategy,
)
from treewright.estimators.base import Training
from treewright.estimators.missing_values import impute, refuse_missing
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import check_min_bucket, store_parameters
from treewright.estimators.single.base import TreeClassifier
from treewright.estimators.single.specification import TreeSpec
from treewright.tree import SplitKind, Tree
from treewright.tree.grow import take_surrogates
from treewright.tree.tree import Surrogates

if TYPE_CHECKING:
    from treewright.engines.exact.level_surrogates import LevelSurrogates
    from treewright.engines.exact.workspace import Data
    from treewright.runtime.forms import Run


@documented("single", "oner", "classes")
class OneRClassifier(TreeClassifier):
    """OneR (Holte 1993): a rule on the one column that makes the fewest errors.

    The rule has one branch per category, or per interval of a number. It is often not much worse than a large tree, and
    a baseline that any other model should beat. It equals the rule of Weka's OneR:

    - The intervals of a number end halfway between two values; neighbours with the same prediction are merged.
    - The first of several classes with equal weight is predicted; the first of several columns with equal errors is
      chosen.
    - A branch without rows predicts the majority class; Weka predicts the first class there.

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
        store_parameters(self, locals())

    def _specification(self, seed: int | None = None) -> OneRuleSpec:
        spec = super()._specification(seed)
        of_tree = {field.name: getattr(spec, field.name) for field in fields(spec)}
        return OneRuleSpec(**of_tree, min_bucket=check_min_bucket(self.min_bucket))


@dataclass(frozen=True, eq=False)
class OneRuleSpec(TreeSpec):
    """The specification of a rule."""

    min_bucket: float

    def grow_unpriced(self, training: Training) -> Tree:
        plan = self.plan
        if plan.strategy.refuses:
            refuse_missing(training.columns, training.values)
        training, imputation = impute(training, plan)
        strategy = plan.strategy if imputation is None else STRATEGIES["error"]
        tree = build_tree(training, best_rule(training, self.min_bucket, strategy), self.unseen)
        return tree if imputation is None else tree.replace(imputation=imputation)


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
        return float(_wrong(counts.sum(axis=0)) - _wrong(counts).sum())


def _wrong(counts: np.ndarray) -> Any:
    """The weight of the rows that are not of the majority, given class weights."""
    return counts.sum(axis=-1) - counts.max(axis=-1)


def best_rule(training: Training, min_bucket: float, strategy: MissingStrategy = STRATEGIES["branch"]) -> OneRule:
    """The rule that saves the most errors, the first of equals; no column if no rule saves any."""
    by_label = np.argsort(training.y, kind="stable")
    nothing = rule_of(training, -1, None, strategy)
    known = np.flatnonzero(~np.isnan(training.values).all(axis=0)).tolist()
    if _wrong(nothing.counts).sum() == 0.0 or not known:
        return nothing
    rules = [write_rule(training, place, min_bucket, by_label, strategy) for place in known]
    most = max(rule.saved for rule in rules)
    # Sums of weights may round differently from column to column: the first wins such a tie.
    slack = 1e-12 * training.weights.sum()
    return next(rule for rule in rules if rule.saved >= most - slack)


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
    counts, rows = _count_branches(training, branch, n_branches + 1)
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
    more = _wrong(counts + missing_counts) - _wrong(counts)
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
    values = training.values[by_label, place]
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


def _count_branches(training: Training, branch: np.ndarray, n_branches: int) -> tuple[np.ndarray, np.ndarray]:
    """Class weights and rows in each branch."""
    n_classes = len(training.target.classes)
    cell = branch * n_classes + training.y
    counts = np.bincount(cell, training.weights, minlength=n_branches * n_classes)
    return counts.reshape(n_branches, n_classes), np.bincount(branch, minlength=n_branches)


def build_tree(training: Training, rule: OneRule, unseen: str) -> Tree:
    """The rule as a tree: one multiway node, or thresholds that halve the range of intervals."""
    spans, first_child = _spans(rule)
    n_nodes = len(spans)
    sizes = np.array([hi - lo for lo, hi in spans])
    is_inner = sizes > 1
    is_multiway = rule.thresholds is None
    n_children = np.where(is_inner, sizes if is_multiway else 2, 0).astype(np.int32)
    known = np.array([rule.counts[lo:hi].sum(axis=0) for lo, hi in spans])
    fraction = np.array([rule.fractions[lo:hi].sum() for lo, hi in spans])
    threshold = np.array([_threshold(rule, *span) for span in spans])
    missing_branch, share = _route_missing(rule, first_child, n_children, known.sum(axis=1), fraction)
    taken = (fraction > 0.0).astype(float) if rule.strategy.code == ALL_BRANCHES else fraction
    distribution = known + taken[:, None] * rule.missing_counts
    rows = np.array([rule.rows[lo:hi].sum() for lo, hi in spans]) + np.where(fraction > 0.0, rule.n_missing, 0)
    surrogates, words = None, np.empty(0, dtype=np.uint64)
    if rule.strategy.code == SURROGATE:
        settled = settle_missing(training, rule, spans, first_child, n_children)
        missing_branch, surrogates, words = settled.missing_branch, settled.surrogates, settled.words
        counts, in_branch = _count_branches(training, settled.branch, rule.n_branches)
        distribution = np.array([counts[lo:hi].sum(axis=0) for lo, hi in spans])
        rows = np.array([in_branch[lo:hi].sum() for lo, hi in spans])
    weight = distribution.sum(axis=1)
    wrong = _wrong(known if rule.strategy.leaves_out else distribution)
    gained = np.zeros(n_nodes)
    for node in np.flatnonzero(is_inner):
        children = slice(first_child[node], first_child[node] + n_children[node])
        gained[node] = max(wrong[node] - wrong[children].sum(), 0.0)
    has_weight = weight > 0.0
    kind = SplitKind.MULTIWAY if is_multiway else SplitKind.THRESHOLD
    return Tree(
        criterion="error",
        columns=training.columns,
        target=training.target,
        kind=np.where(is_inner, kind, SplitKind.LEAF).astype(np.uint8),
        column=np.where(is_inner, rule.place, -1).astype(np.int32),
        threshold=threshold,
        first_child=np.array(first_child, dtype=np.int32),
        n_children=n_children,
        share=share,
        missing_branch=missing_branch,
        set_start=np.full(n_nodes, -1, dtype=np.int64),
        category_sets=words,
        weight=weight,
        rows=rows,
        impurity=np.divide(_wrong(distribution), weight, out=np.zeros(n_nodes), where=has_weight),
        gain=np.divide(gained, weight, out=np.zeros(n_nodes), where=has_weight),
        distribution=distribution,
        unseen=unseen,
        surrogates=surrogates,
    )


def _route_missing(
    rule: OneRule, first_child: list[int], n_children: np.ndarray, weight: np.ndarray, fraction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The branch of missing values at each node, or -1 and the fraction of each child."""
    missing_branch = np.zeros(len(n_children), dtype=np.int32)
    share = np.zeros(len(n_children))
    for node in np.flatnonzero(n_children):
        children = slice(first_child[node], first_child[node] + n_children[node])
        if rule.strategy.spreads:
            missing_branch[node] = -1
            share[children] = fraction[children] / fraction[node]
        elif rule.has_own_branch and node == 0:
            missing_branch[node] = n_children[node] - 1
        elif rule.n_missing > 0 and fraction[node] > 0.0:
            missing_branch[node] = np.argmax(fraction[children])
        else:
            missing_branch[node] = np.argmax(weight[children])
    return missing_branch, share


def _threshold(rule: OneRule, lo: int, hi: int) -> float:
    """The threshold that splits a range of branches; infinity separates rows with a value from those without."""
    if rule.thresholds is None or hi - lo < 2:
        return np.nan
    middle = _middle(rule, lo, hi)
    return float(rule.thresholds[middle - 1]) if middle <= len(rule.thresholds) else np.inf


@dataclass(frozen=True, eq=False)
class Settled:
    """The branches of all rows after surrogates have decided those of missing values."""

    branch: np.ndarray  # of each row
    missing_branch: np.ndarray  # of each node
    surrogates: Surrogates
    words: np.ndarray  # the maps of the surrogates


def settle_missing(
    training: Training, rule: OneRule, spans: list[tuple[int, int]], first_child: list[int], n_children: np.ndarray
) -> Settled:
    """Find the surrogates of each node and send the rows with missing values by them, from the root down."""
    # Imported here because only this strategy needs the kernels.
    from treewright.engines.exact.level_surrogates import (
        find_level_surrogates,
        gather_level_surrogates,
        lines_of,
        rows_of,
        select_lines,
    )

    run, data = _code(training)
    lines = {0: lines_of(data)}
    found: list[LevelSurrogates | None] = [None] * len(spans)
    missing_branch = np.zeros(len(spans), dtype=np.int32)
    way = np.empty(len(rule.branch), dtype=np.int64)
    settled = np.zeros_like(rule.branch)
    for node in np.flatnonzero(n_children).tolist():
        own_lines, first, n_ways = lines.pop(node), first_child[node], int(n_children[node])
        rows = rows_of(own_lines[0])
        ends = np.array([hi for _, hi in spans[first : first + n_ways]])
        is_known = rule.branch[rows] < rule.n_branches
        way[rows] = np.where(is_known, np.searchsorted(ends, rule.branch[rows], side="right"), n_ways)
        level_surrogates = find_level_surrogates(run, data, own_lines, way, n_ways, rule.place)
        found[node], missing_branch[node] = level_surrogates, level_surrogates.heaviest
        way[rows] = level_surrogates.branches_of_rows(training.values[rows], way[rows], n_ways)
        settled[rows] = ends[way[rows]] - 1  # the branch, where a leaf follows
        for b in np.flatnonzero(n_children[first : first + n_ways]).tolist():
            taken = np.zeros(len(way), dtype=bool)
            taken[rows[way[rows] == b]] = True
            lines[first + b] = select_lines(own_lines, taken)
    surrogates, words = gather_level_surrogates(found, [1] * len(spans), 0)
    return Settled(settled, missing_branch, take_surrogates(surrogates), words)


def _code(training: Training) -> tuple[Run, Data]:
    """The form of the kernels to run, and the training table as they read it, every column sorted."""
    from treewright.engines.exact.data import make_data
    from treewright.runtime.forms import choose_form

    run = choose_form(training.values.size)
    return run, make_data(
        run,
        training.columns,
        training.values,
        labels=training.y,
        numbers=None,
        weights=training.weights,
        n_classes=len(training.target.classes),
        all_sorted=True,
    )


def _middle(rule: OneRule, lo: int, hi: int) -> int:
    """Where a range of branches is split: missing values first, then in halves, so that the tree is shallow."""
    assert rule.thresholds is not None
    n_intervals = len(rule.thresholds) + 1
    return n_intervals if hi > n_intervals else lo + (hi - lo) // 2


def _spans(rule: OneRule) -> tuple[list[tuple[int, int]], list[int]]:
    """The range of branches under each node, level by level, and where the node's children begin."""
    spans = [(0, rule.n_branches)]
    first_child = []
    for lo, hi in spans:  # grows while it is walked
        first_child.append(len(spans) if hi - lo > 1 else 0)
        if hi - lo > 1 and rule.thresholds is None:
            spans.extend((branch, branch + 1) for branch in range(lo, hi))
        elif hi - lo > 1:
            middle = _middle(rule, lo, hi)
            spans.extend([(lo, middle), (middle, hi)])
    return spans, first_child
