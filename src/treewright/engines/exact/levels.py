"""The levels of an oblivious tree: which rows are in which node, what they add up to, and what the level asks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewright.engines.criteria import POISSON, class_impurity
from treewright.engines.exact.level_surrogates import LevelSurrogates
from treewright.engines.exact.workspace import Data


@dataclass(frozen=True, eq=False)
class Entries:
    """Which rows are in which node, and with what weight: one entry each, those of a row next to each other."""

    first: np.ndarray  # for each row where its entries begin, and at the end their number; empty if each has one
    rows: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, nodes: np.ndarray, weights: np.ndarray, n_rows: int) -> Entries:
        first = np.append(0, np.cumsum(np.bincount(rows, minlength=n_rows)))
        return cls(first if len(rows) > n_rows else np.empty(0, np.int64), rows, nodes, weights)

    def part(self, side: np.ndarray) -> Entries:
        """Every entry in one of the two nodes below its own."""
        return Entries(self.first, self.rows, 2 * self.nodes + side, self.weights)

    def spread(self, side: np.ndarray, shares: np.ndarray, whole: bool, n_rows: int) -> Entries:
        """Those on side 2 in both nodes below their own, with the share that each takes, or `whole`."""
        is_missing = side == 2
        taken = np.repeat(np.arange(len(side)), np.where(is_missing, 2, 1))
        to = side[taken]
        is_missing = is_missing[taken]
        to[is_missing] = np.tile([0, 1], int(is_missing.sum()) // 2)
        nodes = 2 * self.nodes[taken] + to
        share = np.where(is_missing, shares[nodes], 1.0)
        kept = share > 0.0
        weights = self.weights[taken] * (1.0 if whole else share)
        return Entries.of(self.rows[taken[kept]], nodes[kept], weights[kept], n_rows)


@dataclass(frozen=True, eq=False)
class LevelSplit:
    """What a level asks: a column, and the codes of it that go to the first side."""

    column: int
    impurity: float  # of the level after it
    cut: int  # of a numeric column: the last code on the first side
    first: np.ndarray  # of a column of categories: is each code on the first side? The last is that of missing values
    missing_to: int  # the side of missing values, where the level decides it


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes of one level: what their rows add up to, and the question they ask."""

    totals: np.ndarray  # class weights, or weight and sum, of each node
    means: np.ndarray
    rows: np.ndarray
    weight: np.ndarray
    spread: np.ndarray  # impurity times weight
    is_pure: bool
    share: np.ndarray  # the part of its parent's rows without a value that comes to each node
    split: LevelSplit | None = None
    missing_branch: np.ndarray | None = None
    gained: np.ndarray | None = None  # by the rows with a value, where only they are rated
    level_surrogates: LevelSurrogates | None = None

    @classmethod
    def of(cls, data: Data, entries: Entries, share: np.ndarray, criterion: int) -> Level:
        n_nodes, nodes, weights = len(share), entries.nodes, entries.weights

        def sums(of_entries: np.ndarray) -> np.ndarray:
            return np.bincount(nodes, of_entries, minlength=n_nodes)

        weight = sums(weights)
        rows = np.bincount(nodes, minlength=n_nodes)
        if data.n_classes > 0:
            cell = nodes * data.n_classes + data.classes[entries.rows]
            totals = np.bincount(cell, weights, minlength=n_nodes * data.n_classes).reshape(n_nodes, data.n_classes)
            spread = np.array([class_impurity(line, line.sum(), criterion) for line in totals])
            return cls(totals, np.zeros(n_nodes), rows, weight, spread, not (np.sort(totals)[:, :-1] > 0).any(), share)
        numbers = data.numbers[entries.rows]
        mean = sums(weights * numbers) / np.where(weight > 0, weight, 1.0)
        mean += sums(weights * (numbers - mean[nodes])) / np.where(weight > 0, weight, 1.0)
        centred = numbers - mean[nodes]
        totals = np.column_stack([weight, sums(weights * (numbers if criterion == POISSON else centred))])
        if criterion == POISSON:
            times = np.where(numbers > 0, numbers / np.where(mean > 0, mean, 1.0)[nodes], 1.0)
            spread = np.maximum(sums(weights * numbers * np.log(times)), 0.0)
        else:
            spread = sums(weights * centred**2)
        return cls(totals, mean, rows, weight, spread, not (np.abs(centred) > 0).any(), share)
