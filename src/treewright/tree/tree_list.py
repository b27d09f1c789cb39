"""Trees of any shape that predict together, for forests whose recipe does not fit into bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treewright.runtime.threads import run_parallel, usable_threads
from treewright.table.column import Column
from treewright.tree.descent import leaves_of, predictions_of
from treewright.tree.tree import Target, Tree


@dataclass(frozen=True, eq=False, repr=False)
class TreeList:
    """Trees grown on one table, with the methods of a `Forest`; rows need no encoding."""

    trees: tuple[Tree, ...]

    def __repr__(self) -> str:
        return f"TreeList(target={self.target.name!r}, n_trees={len(self)})"

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, index: int) -> Tree:
        return self.trees[index]

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.trees)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.trees[0].columns

    @property
    def target(self) -> Target:
        return self.trees[0].target

    @property
    def gains(self) -> np.ndarray:
        """Return the gains of the splits of each column in each tree."""
        return np.stack([gains_of(tree) for tree in self.trees])

    def with_more(self, other: TreeList) -> TreeList:
        return TreeList(self.trees + other.trees)

    def code(self, values: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the rows unchanged, because these trees need no encoding."""
        return values

    def leaves(self, values: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the node where each row ends in each tree."""
        return np.stack(self._map_trees(lambda tree: leaves_of(tree, values), n_jobs), axis=1)

    def nodes_of(self, leaves: np.ndarray) -> np.ndarray:
        """Return the leaves unchanged, because they are nodes."""
        return leaves

    def values_of(self, index: int, leaves: np.ndarray) -> np.ndarray:
        """Return the number that a tree predicts at each of its leaves."""
        return self.trees[index].predictions[leaves, 0]

    def sums(self, values: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Sum up the predictions of the trees for each row, in their order."""
        found = np.zeros((len(values), self.target.width))
        for predictions in self._map_trees(lambda tree: predictions_of(tree, values), n_jobs):
            found += predictions
        return found

    @cached_property
    def has_plain_columns(self) -> bool:
        """Are all columns numbers without a unit, so that a matrix of numbers needs no conversion?"""
        return all(column.is_plain for column in self.columns)

    def predictions(
        self, values: np.ndarray, *, majority: bool = False, bags: np.ndarray | None = None, n_jobs: int | None = None
    ) -> np.ndarray:
        """Average the predictions of the trees for each row; see `Forest.predictions`."""

        def predict(tree: Tree) -> np.ndarray:
            shares = predictions_of(tree, values)
            return np.eye(shares.shape[1])[tree.labels_for(shares)] if majority else shares

        sums, n_predictions = 0.0, np.zeros(len(values))
        for index, predictions in enumerate(self._map_trees(predict, n_jobs)):
            is_used = (
                np.ones(len(values))
                if bags is None
                else 1.0 - np.unpackbits(bags[index], bitorder="little")[: len(values)]
            )
            sums = sums + predictions * is_used[:, None]
            n_predictions += is_used
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / n_predictions[:, None])

    def _map_trees(self, work: Callable[[Tree], np.ndarray], n_jobs: int | None) -> list[np.ndarray]:
        return run_parallel(work, self.trees, usable_threads(n_jobs))


def gains_of(tree: Tree) -> np.ndarray:
    """Sum up the gains of the splits of each column, times the weights of their nodes."""
    inner = np.flatnonzero(tree.n_children)
    gained = np.zeros(len(tree.columns))
    np.add.at(gained, tree.column[inner], tree.gain[inner] * tree.weight[inner])
    return gained
