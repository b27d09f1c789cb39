"""The path of one row down a single tree, with the training rows at each node."""

from __future__ import annotations

import numpy as np

from treewright.insight.explanation.parts import PathNode, ReachedLeaf
from treewright.insight.trace.path import Followed, follow_row
from treewright.tree.tree import Node, Tree


def explain_path(tree: Tree, values: np.ndarray) -> tuple[tuple[PathNode, ...], tuple[ReachedLeaf, ...]]:
    """The branches that a row follows, and the leaves that it reaches; `values` is the row as the tree reads it."""
    followed, ends = follow_row(tree, values)
    return tuple(_path_node(tree, one) for one in _depth_first(followed)), tuple(_leaf(tree, *end) for end in ends)


def _depth_first(followed: list[Followed]) -> list[Followed]:
    """The branches of a divided row in the order of reading: each followed to its leaf before the next."""
    below: dict[int, list[Followed]] = {}
    for one in followed:
        below.setdefault(one.node.index, []).append(one)
    ordered: list[Followed] = []
    waiting = list(below.get(0, []))  # the last entry is the first branch
    while waiting:
        one = waiting.pop()
        ordered.append(one)
        if one.branch >= 0:
            waiting += below.get(one.node.children[one.branch].index, [])
    return ordered


def _path_node(tree: Tree, one: Followed) -> PathNode:
    stops = one.branch < 0
    reached = one.node if stops else one.node.children[one.branch]
    column = tree.columns[int(tree.column[one.node.index])]
    was_imputed = one.value.endswith(" (imputed)") and not one.by_value
    words = "the value is missing and imputed" if was_imputed else one.words
    return PathNode(
        node=reached.index,
        depth=reached.depth,
        column=column.name,
        value=one.value,
        test="" if stops else str(one.node.tests[one.branch]),
        reason="" if one.by_value else words,
        fraction=one.fraction,
        weight=_weight(tree, reached),
        share=_weight(tree, reached) / tree.root.weight if tree.root.weight else 0.0,
    )


def _leaf(tree: Tree, node: Node, fraction: float) -> ReachedLeaf:
    distribution: tuple[tuple[object, float], ...] = ()
    if tree.target.is_classes:
        distribution = tuple(zip(tree.target.classes, node.distribution.tolist(), strict=True))
    weight = _weight(tree, node)
    share = weight / tree.root.weight if tree.root.weight else 0.0
    return ReachedLeaf(node.index, fraction, weight, share, node.prediction, distribution)


def _weight(tree: Tree, node: Node) -> float:
    """The weight of a node; rows that go down several branches in full count in parts, so that branches add up."""
    return float(tree.weight[node.index] * tree.scale[node.index])
