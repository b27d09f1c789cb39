"""One rule as a tree, and the surrogates of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewright.engines.missing_values import (
    ALL_BRANCHES,
    SURROGATE,
)
from treewright.estimators.base import Training
from treewright.estimators.single.one_rule_search import OneRule, count_branches, wrong_weight
from treewright.tree import SplitKind, Tree
from treewright.tree.grow import take_surrogates
from treewright.tree.tree import Surrogates

if TYPE_CHECKING:
    from treewright.engines.exact.level_surrogates import LevelSurrogates
    from treewright.engines.exact.workspace import Data
    from treewright.runtime.forms import Run


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
        counts, in_branch = count_branches(training, settled.branch, rule.n_branches)
        distribution = np.array([counts[lo:hi].sum(axis=0) for lo, hi in spans])
        rows = np.array([in_branch[lo:hi].sum() for lo, hi in spans])
    weight = distribution.sum(axis=1)
    wrong = wrong_weight(known if rule.strategy.leaves_out else distribution)
    saved = _saved_errors(wrong, first_child, n_children)
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
        impurity=np.divide(wrong_weight(distribution), weight, out=np.zeros(n_nodes), where=has_weight),
        gain=np.divide(saved, weight, out=np.zeros(n_nodes), where=has_weight),
        distribution=distribution,
        unseen=unseen,
        surrogates=surrogates,
    )


def _saved_errors(wrong: np.ndarray, first_child: list[int], n_children: np.ndarray) -> np.ndarray:
    """The weight of the errors that the split of each node saves; 0 for leaves."""
    saved = np.zeros(len(wrong))
    for node in np.flatnonzero(n_children):
        children = slice(first_child[node], first_child[node] + n_children[node])
        saved[node] = max(wrong[node] - wrong[children].sum(), 0.0)
    return saved


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
