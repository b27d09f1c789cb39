"""The way of one row down a tree, with every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.insight.trace.rows import branches_of, by_surrogates, first_surrogate
from treewright.insight.trace.steps import Comparison, PathStep
from treewright.table.column import Column
from treewright.tree.descent import impute, predictions_of
from treewright.tree.tree import Node, Tree


@dataclass(frozen=True)
class Followed:
    """One branch that a row follows: the node, the branch (-1 where the row stops), and why, in words.

    `fraction` is the fraction of the row on this branch. `value` is the value of the row in the column of the node, and
    `by_value` is whether it decides.
    """

    node: Node
    branch: int
    fraction: float
    value: str
    words: str
    by_value: bool


def follow_row(tree: Tree, given: np.ndarray) -> tuple[list[Followed], list[tuple[Node, float]]]:
    """The branches that one row follows in reading order, and the nodes where it ends with the fraction in each."""
    values = np.asarray(impute(tree, given), dtype=np.float64)
    followed: list[Followed] = []
    ends: list[tuple[Node, float]] = []
    waiting = [(tree.root, 1.0)]
    while waiting:
        node, fraction = waiting.pop()
        if node.is_leaf:
            ends.append((node, fraction))
            continue
        column = node.column
        assert column is not None
        place = int(tree.column[node.index])
        imputed = bool(np.isnan(given[0, place])) and not np.isnan(values[0, place])
        shown = _write(column, float(values[0, place])) + (" (imputed)" if imputed else "")
        by_value = not imputed and int(branches_of(tree, node.index, values)[0]) >= 0
        for branch, share, words in _next(tree, node, values):
            followed.append(Followed(node, branch, fraction * share, shown, words, by_value))
            if branch < 0:
                ends.append((node, fraction * share))
            else:
                waiting.append((node.children[branch], fraction * share))
    return followed, ends


def trace_path(tree: Tree, values: np.ndarray, name: str) -> PathStep:
    """The comparisons of one row, given as a table of one line in the terms of the tree."""
    followed, ends = follow_row(tree, values)
    comparisons = [
        Comparison(
            one.node.index,
            tree.columns[int(tree.column[one.node.index])].name,
            one.value,
            str(one.node.tests[one.branch]) if one.branch >= 0 else "",
            one.words,
            one.fraction,
            one.node.depth,
        )
        for one in followed
    ]
    leaves = [
        (node.index, part, str(node) if node.is_leaf else f"{node.prediction}, as it stops here") for node, part in ends
    ]
    shares = predictions_of(tree, values)[0]
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
    absent = "an unseen category counts as missing" if unseen else "no value"
    if node.missing_branch < 0:
        children = node.children
        shares = [child.share for child in children]
        return [
            (branch, share, f"{absent}: {share:.4g} of the row goes here")
            for branch, share in reversed(list(enumerate(shares)))
            if share > 0.0
        ]
    branch = int(by_surrogates(tree, index, values)[0])
    return [(branch, 1.0, f"{absent}: {_without_value(tree, node, branch, values)}")]


def _without_value(tree: Tree, node: Node, branch: int, values: np.ndarray) -> str:
    """Why a row without a value follows its branch."""
    if tree.surrogates is None:
        return "this branch takes missing values"
    found = first_surrogate(tree, node.index, values)
    if found < 0:
        return "no surrogate has a value either, so the majority decides"
    surrogate = node.surrogates[found]
    return f"the surrogate {surrogate.tests[surrogate.branches.index(branch)]} decides"


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
