"""What rows add to a picture: the path of one row, and the values of a column at a node as a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.table import read_classes, read_like, read_numbers
from treewright.tree import SplitKind, Tree
from treewright.tree.descent import descend_rows, impute

N_BINS = 20


@dataclass(frozen=True, eq=False)
class Histogram:
    """The values of the column that a node splits: the weight of rows by bin and class, or by bin and mean target."""

    low: float
    high: float
    counts: np.ndarray  # [bin, class], or [bin, 1] for numbers
    means: np.ndarray | None = None  # the mean target of each bin, for numbers

    def place(self, value: float) -> float:
        """Where a value is between the lowest and the highest, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def path_fractions(tree: Tree, values: np.ndarray) -> np.ndarray:
    """The fraction of one row at each node: 1 on its path, less where it is divided, else 0."""
    reached = descend_rows(tree, values)
    fractions = np.zeros(tree.n_nodes)
    np.add.at(fractions, reached.nodes, reached.fractions)
    ends = fractions.copy()
    for node in np.flatnonzero(ends):
        above = int(tree.parent[node])
        while above >= 0:
            fractions[above] += ends[node]
            above = int(tree.parent[above])
    return fractions


def read_row(tree: Tree, model: Any, X: Any, row: Any) -> np.ndarray:
    """One row in the terms of a tree: the number of a row of X, or a row itself as a dict, a list or a frame."""
    if not isinstance(row, int | np.integer) or isinstance(row, bool):
        given = [row] if isinstance(row, dict) or np.ndim(row) == 1 else row
        return read_table(tree, model, given)[:1]
    if X is None:
        raise ValueError(f"row is {row}, the number of a row; give the table as X, or the row itself as a dict")
    values = read_table(tree, model, X)
    if not 0 <= int(row) < len(values):
        raise ValueError(f"row is {row}, and the table has the rows 0 to {len(values) - 1}")
    return values[int(row) : int(row) + 1]


def read_table(tree: Tree, model: Any, X: Any) -> np.ndarray:
    """A table in the terms of a tree."""
    named = not isinstance(model, Tree) and hasattr(model, "feature_names_in_")
    learner = type(model).__name__
    return np.asarray(read_like(X, tree.columns, named=named or isinstance(model, Tree), learner=learner))


def histograms_of(tree: Tree, model: Any, X: Any, y: Any, drawn: np.ndarray) -> dict[int, Histogram]:
    """A histogram for each drawn node that splits numbers, of the rows of a table that reach it."""
    values = read_table(tree, model, X)
    targets = None if y is None else _read_target(tree, y, len(values))
    reached = descend_rows(tree, values)
    values = np.asarray(impute(tree, values), dtype=np.float64)
    rows, nodes, fractions = reached.rows, reached.nodes, reached.fractions
    order = np.argsort(nodes, kind="stable")
    starts = np.searchsorted(nodes[order], np.arange(tree.n_nodes + 1))
    found: dict[int, Histogram] = {}
    entries: dict[int, list[np.ndarray]] = {}
    for node in range(tree.n_nodes - 1, -1, -1):
        own = np.concatenate([*entries.pop(node, []), order[starts[node] : starts[node + 1]]])
        if node and len(own):
            entries.setdefault(int(tree.parent[node]), []).append(own)
        if drawn[node] and tree.kind[node] == SplitKind.THRESHOLD:
            histogram = _histogram(tree, values[rows[own], tree.column[node]], fractions[own], targets, rows[own])
            found |= {} if histogram is None else {node: histogram}
    return found


def _histogram(
    tree: Tree, line: np.ndarray, weights: np.ndarray, targets: np.ndarray | None, rows: np.ndarray
) -> Histogram | None:
    known = np.isfinite(line)
    if not known.any() or line[known].min() == line[known].max():
        return None
    line, weights, rows = line[known], weights[known], rows[known]
    low, high = float(line.min()), float(line.max())
    bins = np.minimum(((line - low) / (high - low) * N_BINS).astype(np.int64), N_BINS - 1)
    if targets is None or not tree.target.is_classes:
        counts = np.bincount(bins, weights, N_BINS)
        sums = None if targets is None else np.bincount(bins, weights * targets[rows], N_BINS)
        means = None if sums is None else np.divide(sums, counts, out=np.full(N_BINS, np.nan), where=counts > 0)
        return Histogram(low, high, counts[:, None], means)
    n_classes = len(tree.target.classes)
    counts = np.bincount(bins * n_classes + targets[rows], weights, N_BINS * n_classes)
    return Histogram(low, high, counts.reshape(N_BINS, n_classes))


def _read_target(tree: Tree, y: Any, n_rows: int) -> np.ndarray | None:
    """The target as labels of the tree or as numbers; None for several targets."""
    if tree.target.outputs:
        return None
    if not tree.target.is_classes:
        targets = read_numbers(y)
    else:
        codes, classes = read_classes(y)
        label_of = {str(name): label for label, name in enumerate(tree.target.classes)}
        unknown = next((value for value in classes.tolist() if str(value) not in label_of), None)
        if unknown is not None:
            raise ValueError(f"y has the class {unknown!r}, which the tree was not grown with")
        targets = np.array([label_of[str(value)] for value in classes.tolist()], dtype=np.int64)[codes]
    if len(targets) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(targets)} values; give one target value per row")
    return targets
