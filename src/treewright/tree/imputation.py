"""Filling missing values before a row goes down a tree: by a column's usual value, or by what the other columns say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from treewright.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Imputation:
    """What stands in for a missing value.

    Attributes
    ----------
    usual : for each column the value that fills its missing values, NaN where nothing does.
    guesses : columns, and for each the tree that tells its missing values from the other columns.
    """

    usual: np.ndarray
    guesses: tuple[tuple[int, Tree], ...] = ()

    def __post_init__(self) -> None:
        self.usual.flags.writeable = False

    def fill(self, values: np.ndarray, is_missing: np.ndarray) -> np.ndarray:
        """The rows without missing values; `is_missing` tells which cells are missing."""
        filled = np.where(is_missing, self.usual, values)
        for column, tree in self.guesses:
            rows = np.flatnonzero(is_missing[:, column])
            if len(rows):
                others = np.delete(np.where(is_missing[rows], np.nan, values[rows]), column, axis=1)
                filled[rows, column] = guess(tree, others)
        return filled


def guess(tree: Tree, values: np.ndarray) -> np.ndarray:
    """What a tree of one column's values says: the number, or the index of the category."""
    from treewright.tree.grow import predictions_of

    predictions = predictions_of(tree, values)
    return predictions.argmax(axis=1).astype(np.float64) if tree.target.is_classes else predictions[:, 0]
