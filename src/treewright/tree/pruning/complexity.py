"""The nested trees of a binary tree in the terms of R's rpart: complexity, splits and relative error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewright.runtime.sums import product
from treewright.tree.pruning.methods import cut, levels_of, node_risks
from treewright.tree.tree import SplitKind, Tree


@dataclass(frozen=True)
class ComplexityTable:
    """rpart's table of nested trees, from the root to the largest, with one line each.

    Attributes
    ----------
    cp : the complexity from which on a tree is kept, as a share of the root's risk.
    splits : its number of splits.
    relative_error : its risk as a share of the root's.
    """

    cp: np.ndarray
    splits: np.ndarray
    relative_error: np.ndarray

    def __len__(self) -> int:
        return len(self.cp)

    def as_dict(self) -> dict[str, np.ndarray]:
        """Return the table by columns, for a frame or a plot."""
        return {"cp": self.cp, "splits": self.splits, "relative_error": self.relative_error}

    def __str__(self) -> str:
        lines = [f"{'CP':>10} {'nsplit':>6} {'rel error':>10}"]
        for cp, splits, error in zip(self.cp, self.splits, self.relative_error, strict=True):
            lines.append(f"{cp:10.6f} {splits:6d} {error:10.6f}")
        return "\n".join(lines)


def complexities_like_rpart(tree: Tree, ccp_alpha: float, risks: np.ndarray) -> np.ndarray:
    """Compute rpart's complexity of each node of a binary tree, which is 0 where it stops before.

    rpart computes it while the tree grows. It abandons a node if the largest possible gain of its subtree is not worth
    `ccp_alpha`. Of the nodes below a son, only the son itself is tried as a leaf. Its figures are therefore those of
    the weakest link, except where only a part of a son's subtree should be pruned first.
    """
    complexity = np.zeros(tree.n_nodes)
    complexity[0] = risks[0]
    best_risk, n_splits = risks.copy(), np.zeros(tree.n_nodes, dtype=np.int64)
    bound = np.zeros(tree.n_nodes)
    waiting = [(0, 0)]
    while waiting:
        node, phase = waiting.pop()
        left, right = _sons(tree, node)
        if phase == 0:
            bound[node] = min(risks[node], complexity[node])
            if bound[node] <= ccp_alpha or tree.kind[node] == SplitKind.LEAF:
                complexity[node] = ccp_alpha
                continue
            complexity[left] = bound[node] - ccp_alpha
            waiting += [(node, 1), (left, 0)]
        elif phase == 1:
            gained = max((risks[node] - best_risk[left]) / (n_splits[left] + 1), risks[node] - risks[left])
            complexity[right] = min(gained, complexity[node]) - ccp_alpha
            waiting += [(node, 2), (right, 0)]
        else:
            _update_complexity(node, left, right, complexity, risks, best_risk, n_splits)
            if complexity[node] <= ccp_alpha:
                best_risk[node], n_splits[node] = risks[node], 0
    return complexity


def _sons(tree: Tree, node: int) -> tuple[int, int]:
    """Return the children in the order of rpart: the one with the lower mean (of the class numbers) is the left."""
    first = int(tree.first_child[node])
    if tree.kind[node] == SplitKind.LEAF:
        return -1, -1
    means = (
        product(tree.predictions[first : first + 2], np.arange(tree.predictions.shape[1])[:, None])[:, 0]
        if tree.target.is_classes
        else (tree.predictions[first : first + 2, 0])
    )
    return (first, first + 1) if means[0] < means[1] else (first + 1, first)


def _update_complexity(
    node: int,
    left: int,
    right: int,
    complexity: np.ndarray,
    risks: np.ndarray,
    best_risk: np.ndarray,
    n_splits: np.ndarray,
) -> None:
    """Compute the gain of a split per leaf, after sons with a lower gain have become leaves."""
    risk = {left: best_risk[left], right: best_risk[right]}
    splits = {left: n_splits[left], right: n_splits[right]}

    def gain_per_leaf() -> float:
        return float((risks[node] - risk[left] - risk[right]) / (splits[left] + splits[right] + 1))

    weaker, stronger = (left, right) if complexity[right] > complexity[left] else (right, left)
    if gain_per_leaf() > complexity[weaker]:
        risk[weaker], splits[weaker] = risks[weaker], 0
        if gain_per_leaf() > complexity[stronger]:
            risk[stronger], splits[stronger] = risks[stronger], 0
    complexity[node] = gain_per_leaf()
    best_risk[node] = risk[left] + risk[right]
    n_splits[node] = splits[left] + splits[right] + 1


def complexity_table(tree: Tree, cp: float) -> ComplexityTable:
    """Return the nested trees of a binary tree in the terms of rpart, down to a least complexity."""
    risks = node_risks(tree, "error")
    root = float(risks[0])
    ccp_alpha = cp * root
    complexity = complexities_like_rpart(tree, ccp_alpha, risks)
    if complexity[0] <= ccp_alpha or root <= 0.0:
        return ComplexityTable(np.array([complexity[0] / root if root else cp]), np.array([0]), np.array([1.0]))
    # The complexity of a node is at most that of its parent.
    split = np.zeros(tree.n_nodes, dtype=bool)
    for level in levels_of(tree):
        for node in level[tree.kind[level] != SplitKind.LEAF]:
            above = int(tree.parent[node])
            if above >= 0:
                complexity[node] = min(complexity[node], complexity[above])
            split[node] = complexity[node] > ccp_alpha and (above < 0 or split[above])
    steps = np.unique(np.append(np.round(complexity[split], 15), ccp_alpha))[::-1]
    splits, errors = [], []
    for step in steps:
        kept = split & (complexity > step * (1 + 1e-9))
        splits.append(int(np.count_nonzero(kept)))
        smaller = cut(tree, ~kept)
        errors.append(float(node_risks(smaller, "error")[smaller.kind == SplitKind.LEAF].sum()))
    return ComplexityTable(steps / root, np.array(splits), np.array(errors) / root)
