"""What a picture shows of each node: its words, its class shares or its number, and the branch that leads to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from treewright.show.picture.colours import Palette, choose_palette
from treewright.show.picture.rows import Histogram
from treewright.show.picture.words import clean, isolate, shorten, write_count, write_value
from treewright.show.text import branches_of, leaves_below
from treewright.tree import Node, Tree
from treewright.tree.tree import Arriving

# Categories of a branch that are written in its title; the others are counted.
MOST_CATEGORIES = 50
MOST_OUTPUTS = 4


@dataclass(frozen=True, eq=False)
class NodeView:
    """One node as it is drawn."""

    index: int
    parent: int  # place of the parent among the drawn nodes, -1 for the root
    branch: str  # the words of the branch, shortened
    branch_title: str  # the same in full
    title: str  # the column of a split, or the prediction of a leaf
    lines: tuple[str, ...]  # further lines of text
    description: str  # all of it in words, for a tooltip and for screen readers
    share: float  # of the weight at the root
    path: float  # fraction of the row that the picture follows
    is_leaf: bool


@dataclass(frozen=True, eq=False)
class TreeView:
    """All nodes that are drawn, parents before children."""

    tree: Tree
    nodes: tuple[NodeView, ...]
    palette: Palette | None  # for classes
    span: tuple[float, float]  # the lowest and the highest number that a node predicts
    histograms: Mapping[int, Histogram] = field(default_factory=dict)
    follows: bool = False  # whether the path of a row is shown

    @property
    def title(self) -> str:
        return f"Decision tree for {clean(str(self.tree.target.name)) or 'the target'}"

    @property
    def description(self) -> str:
        tree = self.tree
        shown = "" if len(self.nodes) == tree.n_nodes else f"; {len(self.nodes)} of its {tree.n_nodes} nodes are drawn"
        leaves = f"{tree.n_leaves} {'leaf' if tree.n_leaves == 1 else 'leaves'}"
        return f"{leaves}, depth {tree.depth}{shown}"

    def place(self, index: int) -> float:
        """Where the number that a node predicts is between the lowest and the highest, from 0 to 1."""
        low, high = self.span
        return 0.5 if high <= low else (float(self.tree.predictions[index, 0]) - low) / (high - low)


def drawn_to_depth(tree: Tree, max_depth: int | None) -> np.ndarray:
    """Which nodes are drawn, down to a depth."""
    return np.ones(tree.n_nodes, dtype=bool) if max_depth is None else tree.depth_of <= max_depth


def view_tree(
    tree: Tree,
    drawn: np.ndarray,
    path: np.ndarray | None = None,
    histograms: Mapping[int, Histogram] | None = None,
) -> TreeView:
    """The view of the nodes that `drawn` selects; a node is drawn only if its parent is."""
    views: list[NodeView] = []
    below = leaves_below(tree)
    fractions = np.zeros(tree.n_nodes) if path is None else path
    nothing: Arriving = {}
    waiting = [(tree.root, -1, "", nothing)]
    while waiting:
        node, parent, branch, arriving = waiting.pop()
        cut = not node.is_leaf and not drawn[tree.first_child[node.index]]
        hidden = int(below[node.index]) if cut else 0
        views.append(_view_node(node, parent, branch, hidden, float(fractions[node.index])))
        if not cut:
            place = len(views) - 1
            branches = branches_of(node, arriving, MOST_CATEGORIES, False)
            waiting += reversed([(child, place, words, left) for child, words, left in branches if drawn[child.index]])
    is_numbers = not tree.target.has_classes
    span = (float(tree.predictions.min()), float(tree.predictions.max())) if is_numbers else (0.0, 1.0)
    palette = choose_palette(tree.distribution[0]) if tree.target.is_classes else None
    return TreeView(tree, tuple(views), palette, span, histograms or {}, path is not None)


def _view_node(node: Node, parent: int, branch: str, hidden: int, path: float) -> NodeView:
    total = float(node.tree.weight[0])
    # In boosting the weight of a row is its hessian, which nobody counts in.
    count = float(node.rows) if node.tree.criterion == "gradient" else node.weight
    rows = f"{write_count(count)} {'row' if count == 1.0 else 'rows'}"
    title, lines = _words(node, hidden)
    errors = f", {write_count(node.errors)} wrong" if node.errors > 1e-6 else ""
    lines = (*lines, rows + (errors if node.is_leaf or hidden else ""))
    full = clean(str(node.column.name)) if node.column is not None else title
    return NodeView(
        index=node.index,
        parent=parent,
        branch=_short_branch(node, branch),
        branch_title=clean(branch),
        title=isolate(shorten(full)),
        lines=lines,
        description=_describe(node, branch, rows + errors),
        share=node.weight / total if total > 0.0 else 0.0,
        path=path,
        is_leaf=node.is_leaf,
    )


def _words(node: Node, hidden: int) -> tuple[str, tuple[str, ...]]:
    """The title of a node and its lines: of a split the hidden leaves, of several targets their predictions."""
    if node.column is not None:
        predicted = (
            (f"mean {_predicted(node)}",) if not node.tree.target.has_classes and not node.tree.target.outputs else ()
        )
        return "", predicted + ((f"… {hidden} leaves",) if hidden else ())
    outputs = node.tree.target.outputs
    if not outputs:
        return _predicted(node), ()
    named = [
        f"{isolate(shorten(str(output.name), 12))}: {isolate(_write(value, 14))}"
        for output, value in zip(outputs, node.prediction, strict=True)
    ]
    more = [f"… {len(named) - MOST_OUTPUTS} more"] if len(named) > MOST_OUTPUTS else []
    return named[0], (*named[1:MOST_OUTPUTS], *more)


def _predicted(node: Node) -> str:
    prediction = node.prediction
    return _write(prediction, 1000) if node.tree.target.is_classes else write_value(prediction)


def _write(value: object, most: int) -> str:
    return write_value(value) if isinstance(value, float) else shorten(str(value), most)


def _short_branch(node: Node, branch: str) -> str:
    """The branch without its column, which the parent shows: `<= 2.45`, `= sunny`."""
    above = int(node.tree.parent[node.index])
    if above < 0:
        return ""
    name = str(node.tree.columns[node.tree.column[above]].name)
    rest = branch.removeprefix(name).strip()
    rest = rest.replace("<=", "≤", 1) if rest.startswith("<=") else rest
    operator, _, operand = rest.partition(" ")
    if operator in ("=", "≤", ">", "!="):
        rest = f"{operator.replace('!=', '≠')} {isolate(shorten(operand, 22))}"
    return shorten(rest, 30)


def _describe(node: Node, branch: str, rows: str) -> str:
    target = node.tree.target
    parts = [clean(branch)] if branch else []
    if node.column is not None:
        parts.append(f"splits by {clean(str(node.column.name))}")
    if target.outputs:
        parts.append(f"predicts {', '.join(_write(value, 60) for value in node.prediction[:20])}")
    else:
        parts.append(f"predicts {_predicted(node)}")
    parts.append(rows)
    if target.is_classes:
        weights = node.distribution
        heaviest = np.argsort(-weights, kind="stable")[:8]
        words = [f"{shorten(str(target.classes[k]), 60)} {write_count(weights[k])}" for k in heaviest if weights[k] > 0]
        parts += [", ".join(words)] if words else []
    return "; ".join(parts)
