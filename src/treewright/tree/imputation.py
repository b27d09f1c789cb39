"""Imputation of missing values before descent, by a common value of the column or by a tree on the other columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from treewright.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Imputation:
    """The values that replace missing values.

    Attributes
    ----------
    usual : for each column the value that replaces its missing values, NaN if none does.
    guesses : columns, and for each the tree that predicts its missing values from the other columns.
    """

    usual: np.ndarray
    guesses: tuple[tuple[int, Tree], ...] = ()

    def __post_init__(self) -> None:
        self.usual.flags.writeable = False

    def impute(self, values: np.ndarray, is_missing: np.ndarray) -> np.ndarray:
        """Return the rows with imputed values; `is_missing` is the mask of missing values."""
        imputed = np.where(is_missing, self.usual, values)
        for column, tree in self.guesses:
            rows = np.flatnonzero(is_missing[:, column])
            if len(rows):
                others = np.delete(np.where(is_missing[rows], np.nan, values[rows]), column, axis=1)
                imputed[rows, column] = predict_missing(tree, others)
        return imputed


def predict_missing(tree: Tree, values: np.ndarray) -> np.ndarray:
    """Predict the values of one column by a tree: the number, or the index of the category."""
    from treewright.tree.descent import predictions_of

    predictions = predictions_of(tree, values)
    return predictions.argmax(axis=1).astype(np.float64) if tree.target.is_classes else predictions[:, 0]
