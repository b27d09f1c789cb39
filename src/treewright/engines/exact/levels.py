"""The levels of an oblivious tree: the rows of each node, their sums, and the split of the level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewright.engines.criteria import POISSON, class_impurity
from treewright.engines.elementary import log_of
from treewright.engines.exact.level_surrogates import LevelSurrogates
from treewright.engines.exact.workspace import Data


@dataclass(frozen=True, eq=False)
class Entries:
    """The rows of each node and their weights: one entry each, those of a row next to each other."""

    first: np.ndarray  # for each row the start of its entries, then their total number; empty if each row has one entry
    rows: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, nodes: np.ndarray, weights: np.ndarray, n_rows: int) -> Entries:
        first = np.append(0, np.cumsum(np.bincount(rows, minlength=n_rows)))
        return cls(first if len(rows) > n_rows else np.empty(0, np.int64), rows, nodes, weights)

    def move_down(self, side: np.ndarray) -> Entries:
        """Move every entry to one of the two children of its node."""
        return Entries(self.first, self.rows, 2 * self.nodes + side, self.weights)

    def spread(self, side: np.ndarray, shares: np.ndarray, whole: bool, n_rows: int) -> Entries:
        """Copy the entries on side 2 to both children of their node, with the share of each, or `whole`."""
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
    """The split of a level: a column, and its codes that go to the first side."""

    column: int
    impurity: float  # of the level after it
    cut: int  # of a numeric column: the last code on the first side
    first: np.ndarray  # of a categorical column: is each code on the first side? The last entry is for missing values
    missing_to: int  # the side of missing values, if the level decides it
    chance: float = 0.0  # the gain that the column's categories have by chance, if its splits are adjusted
    missing_apart: bool = False  # whether the split is that of known from missing values


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes of one level: the sums of their rows, and their split."""

    totals: np.ndarray  # class weights, or weight and sum, of each node
    means: np.ndarray
    rows: np.ndarray
    weight: np.ndarray
    spread: np.ndarray  # impurity times weight
    is_pure: bool
    share: np.ndarray  # the fraction of its parent's missing rows that goes to each node
    split: LevelSplit | None = None
    missing_branch: np.ndarray | None = None
    gained: np.ndarray | None = None  # on the rows with a value, if only they are rated
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
            spread = np.maximum(sums(weights * numbers * log_of(times)), 0.0)
        else:
            spread = sums(weights * centred**2)
        return cls(totals, mean, rows, weight, spread, not (np.abs(centred) > 0).any(), share)
