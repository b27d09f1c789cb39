"""A large tree as an icicle: a line per level, and for each node a rectangle as wide as its share of the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewright.show.picture.boxes import MARGIN, draw_bar, shade
from treewright.show.picture.colours import INK, LINE, PAPER
from treewright.show.picture.legend import draw_legend, legend_size
from treewright.show.picture.scene import Box, Scene, Shape, Words
from treewright.show.picture.view import NodeView, TreeView
from treewright.show.picture.words import shorten, width_of
from treewright.tree import Tree

WIDTH = 1200.0
TALL, TALLEST = 30.0, 12_000.0  # of a level, and of the picture: the levels of a very deep tree are thinner
THINNEST = 0.6  # nodes that are narrower are not drawn, nor what is below them
SIZE = 11.0


def spans_of(tree: Tree) -> np.ndarray:
    """The start and the end of each node between 0 and 1; children divide the span of their parent by weight."""
    spans = np.zeros((tree.n_nodes, 2))
    spans[0] = 0.0, 1.0
    for node in np.flatnonzero(tree.n_children):
        children = slice(int(tree.first_child[node]), int(tree.first_child[node] + tree.n_children[node]))
        weights = tree.weight[children]
        total = weights.sum()
        shares = weights / total if total > 0.0 else np.full(len(weights), 1.0 / len(weights))
        start, end = spans[node]
        ends = start + (end - start) * np.cumsum(shares)
        spans[children, 0], spans[children, 1] = np.concatenate([[start], ends[:-1]]), ends
    return spans


def drawn_in_icicle(tree: Tree) -> np.ndarray:
    """Which nodes are wide enough to be seen; all children of a node, or none."""
    wide = np.diff(spans_of(tree), axis=1)[:, 0] * WIDTH >= THINNEST
    drawn = np.zeros(tree.n_nodes, dtype=bool)
    drawn[0] = True
    for node in np.flatnonzero(tree.n_children):
        first, count = int(tree.first_child[node]), int(tree.n_children[node])
        # Siblings without rows are left out when the picture is drawn.
        drawn[first : first + count] = drawn[node] and wide[first : first + count].any()
    return drawn


def draw_icicle(view: TreeView) -> Scene:
    """The scene of a large tree, root at the top."""
    spans = spans_of(view.tree)
    depth = max(int(view.tree.depth_of[node.index]) for node in view.nodes) + 1
    tall = max(2.0, min(TALL, TALLEST / depth))
    legend_width, legend_height = legend_size(view)
    top = MARGIN + legend_height
    shapes: list[Shape] = list(draw_legend(view, MARGIN, MARGIN))
    for node in view.nodes:
        start, end = spans[node.index]
        width = float(end - start) * WIDTH
        if width >= THINNEST:
            level = top + tall * float(view.tree.depth_of[node.index])
            shapes += _draw_node(view, node, MARGIN + float(start) * WIDTH, level, width, tall)
    size = max(WIDTH, legend_width) + 2 * MARGIN, top + depth * tall + MARGIN
    return Scene(*size, view.title, view.description, tuple(shapes))


def _draw_node(view: TreeView, node: NodeView, left: float, top: float, width: float, tall: float) -> Iterator[Shape]:
    on_path = view.follows and node.path > 0.0
    fill = shade(view.place(node.index)) if view.palette is None and not view.tree.target.outputs else PAPER
    outline, line = (INK, 2.5) if on_path else (LINE, 0.5)
    yield Box(left, top, width, tall, fill, outline, line, title=node.description)
    thick = min(6.0, tall / 3.0)
    if view.palette is not None:
        edge = min(0.5, width / 4)
        yield from draw_bar(view, node.index, left + edge, width - 2 * edge, top + tall - thick - 0.5, thick)
    letters = int((width - 6.0) / width_of("x", SIZE))
    text = f"{node.branch}: {node.title}" if node.branch else node.title
    if len(text) > letters < 9:  # too narrow for both
        text = node.title
    if tall >= TALL and letters >= min(4, len(text)):
        text = shorten(text, letters)
        dark = view.palette is None and not view.tree.target.outputs and view.place(node.index) > 0.5
        yield Words(left + width / 2, top + 15.0, text, SIZE, PAPER if dark else INK, title=node.description)
