"""A tree as boxes and branches: sizes of boxes, their layout, and what is drawn in each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewright.show.layout import tidy_layout
from treewright.show.picture.colours import INK, LINE, MUTED, OKABE_ITO, OTHERS, PAPER, TRACK
from treewright.show.picture.legend import draw_legend, legend_size
from treewright.show.picture.rows import Histogram
from treewright.show.picture.scene import Box, Curve, Line, Scene, Shape, Words
from treewright.show.picture.view import NodeView, TreeView
from treewright.show.picture.words import width_of
from treewright.tree import Tree

TITLE, TEXT = 13.0, 11.5  # font sizes
LINE_HEIGHT = 16.0
BRANCH_HEIGHT = 18.0  # of the words of a branch, above the box that it leads to
BAR, PADDING, HISTOGRAM = 8.0, 8.0, 40.0
LEAST_WIDTH = 74.0
GAP = (14.0, 30.0)
MARGIN = 14.0
THICKEST = 9.0  # of a branch with all rows


def draw_boxes(view: TreeView) -> Scene:
    """The scene of a tree, root at the top."""
    sizes = np.array([_size(view, node) for node in view.nodes])
    left, top = tidy_layout([node.parent for node in view.nodes], sizes[:, 0], sizes[:, 1], GAP)
    legend_width, legend_height = legend_size(view)
    left, top = left + MARGIN, top + MARGIN + legend_height
    width = max(float((left + sizes[:, 0]).max()), legend_width + MARGIN) + MARGIN
    slack = (width - MARGIN - float((left + sizes[:, 0]).max())) / 2.0
    left = left + slack
    shapes: list[Shape] = list(draw_legend(view, MARGIN, MARGIN))
    for place, node in enumerate(view.nodes):
        if node.parent >= 0:
            above = node.parent
            start = (left[above] + sizes[above, 0] / 2.0, top[above] + sizes[above, 1])
            shapes.append(_branch(view, node, start, (left[place] + sizes[place, 0] / 2.0, top[place])))
    for place, node in enumerate(view.nodes):
        shapes += _draw_node(view, node, float(left[place]), float(top[place]), *map(float, sizes[place]))
    height = float((top + sizes[:, 1]).max()) + MARGIN
    return Scene(width, height, view.title, view.description, tuple(shapes))


def _size(view: TreeView, node: NodeView) -> tuple[float, float]:
    """Width and height of a node with the words of its branch."""
    texts = [width_of(node.title, TITLE) * 1.05, *(width_of(line, TEXT) for line in node.lines)]
    width = max(LEAST_WIDTH, max(texts) + 2 * PADDING, width_of(_branch_words(node), TEXT) + 4.0)
    height = 2 * PADDING + LINE_HEIGHT * (1 + len(node.lines)) + (BAR + 4.0 if _has_bar(view.tree) else 0.0)
    height += HISTOGRAM + 14.0 if node.index in view.histograms else 0.0
    return max(width, 120.0) if node.index in view.histograms else width, height + (BRANCH_HEIGHT if node.branch else 0)


def _branch_words(node: NodeView) -> str:
    """The words of a branch, and the fraction of the row that follows it if the row is divided."""
    return node.branch + (f" ({node.path:.0%})" if 0.0 < node.path < 0.995 else "")


def _has_bar(tree: Tree) -> bool:
    return not tree.target.outputs


def _branch(view: TreeView, node: NodeView, start: tuple[float, float], end: tuple[float, float]) -> Curve:
    on_path = view.follows and node.path > 0.0
    width = 1.0 + (THICKEST - 1.0) * node.share
    colour = INK if on_path else "#c3ccd5"
    return Curve(start, end, max(width, 3.5) if on_path else width, colour)


def _draw_node(view: TreeView, node: NodeView, left: float, top: float, width: float, height: float) -> Iterator[Shape]:
    middle = left + width / 2.0
    on_path = view.follows and node.path > 0.0
    if node.branch:
        words = _branch_words(node)
        colour = INK if on_path or not view.follows else MUTED
        # Over a strip of paper, so that thick branches do not cross the words.
        wide = width_of(words, TEXT)
        yield Box(middle - wide / 2 - 2, top + 1, wide + 4, BRANCH_HEIGHT - 3, PAPER)
        yield Words(middle, top + 13, words, TEXT, colour, bold=on_path, title=node.branch_title)
        top, height = top + BRANCH_HEIGHT, height - BRANCH_HEIGHT
    outline, line = (INK, 3.0) if on_path else (LINE, 1.0)
    radius = 9.0 if node.is_leaf else 3.0
    yield Box(left, top, width, height, PAPER, outline, line, radius, node.description)
    baseline = top + PADDING + 12.0
    yield Words(middle, baseline, node.title, TITLE, INK, bold=True, title=node.description)
    for line_of_text in node.lines:
        baseline += LINE_HEIGHT
        yield Words(middle, baseline, line_of_text, TEXT, MUTED, title=node.description)
    inner = left + PADDING, width - 2 * PADDING
    if node.index in view.histograms:
        yield from _draw_histogram(view, node, view.histograms[node.index], *inner, baseline + 6.0)
    if _has_bar(view.tree):
        yield from draw_bar(view, node.index, *inner, top + height - PADDING - BAR, BAR)


def draw_bar(view: TreeView, index: int, left: float, width: float, top: float, height: float) -> Iterator[Shape]:
    """The class shares of a node side by side; or a track from the lowest to the highest number, with its own."""
    yield Box(left, top, width, height, TRACK)
    if view.palette is None:
        yield Box(left + (width - 3.0) * view.place(index), top - 2.0, 3.0, height + 4.0, OKABE_ITO[0])
        return
    for colour, share in view.palette.parts(view.tree.distribution[index]):
        yield Box(left, top, width * share, height, colour)
        left += width * share


def _draw_histogram(
    view: TreeView, node: NodeView, found: Histogram, left: float, width: float, top: float
) -> Iterator[Shape]:
    """The values of the column at a node, classes on top of each other, and the threshold as a line."""
    step, ground = width / len(found.counts), top + HISTOGRAM
    highest = max(float(found.counts.sum(axis=1).max()), 1e-300)
    for place, counts in enumerate(found.counts):
        base = ground
        tall = HISTOGRAM * float(counts.sum()) / highest
        for colour, share in _colours(view, found, place):
            base -= tall * share
            yield Box(left + place * step, base, step * 0.9, tall * share, colour)
    yield Line((left, ground), (left + width, ground), 1.0, LINE)
    x = left + width * found.place(float(view.tree.threshold[node.index]))
    yield Line((x, top - 2.0), (x, ground + 3.0), 1.6, INK)


def _colours(view: TreeView, found: Histogram, place: int) -> list[tuple[str, float]]:
    if view.palette is not None and found.counts.shape[1] > 1:
        return view.palette.parts(found.counts[place])
    if found.means is None or not np.isfinite(found.means[place]):
        return [(OTHERS, 1.0)]
    low, high = view.span
    return [(shade((float(found.means[place]) - low) / (high - low) if high > low else 0.5), 1.0)]


def shade(place: float) -> str:
    """A blue for a place from 0, light, to 1, dark.

    >>> shade(0.0), shade(1.0)
    ('#c6dcec', '#004c7a')
    """
    light, dark = (198, 220, 236), (0, 76, 122)
    place = min(max(place, 0.0), 1.0)
    return "#" + "".join(f"{round(a + (b - a) * place):02x}" for a, b in zip(light, dark, strict=True))
