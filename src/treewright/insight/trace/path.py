"""The way of one row down a tree, with every comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.insight.trace.rows import branches_of, by_surrogates
from treewright.insight.trace.steps import Comparison, PathStep
from treewright.table.column import Column
from treewright.tree.descent import impute, predictions_of
from treewright.tree.tree import Node, Tree


def trace_path(tree: Tree, values: np.ndarray, name: str) -> PathStep:
    """The comparisons of one row, given as a table of one line in the terms of the tree."""
    given = values
    values = np.asarray(impute(tree, values), dtype=np.float64)
    comparisons: list[Comparison] = []
    leaves: list[tuple[int, float, str]] = []
    waiting = [(tree.root, 1.0)]
    while waiting:
        node, fraction = waiting.pop()
        if node.is_leaf:
            leaves.append((node.index, fraction, str(node)))
            continue
        column = node.column
        assert column is not None
        place = int(tree.column[node.index])
        imputed = bool(np.isnan(given[0, place])) and not np.isnan(values[0, place])
        shown = _write(column, float(values[0, place])) + (" (imputed)" if imputed else "")
        for branch, share, words in _next(tree, node, values):
            test = str(node.tests[branch]) if branch >= 0 else ""
            part = fraction * share
            comparisons.append(Comparison(node.index, column.name, shown, test, words, part, node.depth))
            if branch < 0:
                leaves.append((node.index, part, f"{node.prediction}, as it stops here"))
            else:
                waiting.append((node.children[branch], part))
    # Reading order: the first branch of a divided row is followed first.
    shares = predictions_of(tree, given)[0]
    if tree.target.is_classes:
        label = int(tree.labels_for(shares[None])[0])
        return PathStep(name, tuple(comparisons), tuple(leaves), tree.target.classes[label], tuple(shares.tolist()))
    return PathStep(name, tuple(comparisons), tuple(leaves), float(shares[0]), ())


def _write(column: Column, value: float) -> str:
    if np.isnan(value):
        return "missing"
    return "a category that training did not have" if value < 0 and column.categories else column.write(value)


def _next(tree: Tree, node: Node, values: np.ndarray) -> list[tuple[int, float, str]]:
    """The branches that a row follows: branch, share of the row, and the comparison in words; -1 where it stops."""
    place, index = int(tree.column[node.index]), node.index
    column, value = tree.columns[place], float(values[0, place])
    unseen = bool(column.categories) and value < 0
    if unseen and tree.unseen == "stop":
        return [(-1, 1.0, "the category did not occur in training, so the row stops")]
    if unseen and tree.unseen == "majority":
        weights = [child.weight for child in node.children]
        return [(int(np.argmax(weights)), 1.0, "the category did not occur in training; the heaviest branch")]
    to = int(branches_of(tree, index, values)[0])
    if to >= 0:
        return [(to, 1.0, _compare(node, to, _write(column, value)))]
    if node.missing_branch < 0:
        children = node.children
        shares = [child.share for child in children]
        return [
            (branch, share, f"no value: {share:.4g} of the row goes here")
            for branch, share in reversed(list(enumerate(shares)))
            if share > 0.0
        ]
    branch = int(by_surrogates(tree, index, values)[0])
    by = "a surrogate decides, or the majority" if tree.surrogates is not None else "this branch takes missing values"
    return [(branch, 1.0, f"no value: {by}")]


def _compare(node: Node, branch: int, value: str) -> str:
    """The comparison that sends a row to its branch, with the value put in."""
    test = node.tests[branch]
    operand = test.write_operand(6)
    return f"{value} {test.relation} {operand}".strip()


def read_row(model: Any, X: Any, row: Any, read: Any) -> tuple[np.ndarray, str]:
    """One row in the terms of a model: the number of a row of X, or a row itself."""
    if isinstance(row, int | np.integer) and not isinstance(row, bool):
        values = read(model, X)
        if not 0 <= int(row) < len(values):
            raise ValueError(f"row is {row}, and the table has the rows 0 to {len(values) - 1}")
        return np.asarray(values[int(row) : int(row) + 1]), f"row {int(row)}"
    return np.asarray(read(model, [row] if isinstance(row, dict) else row))[:1], "the row given"
