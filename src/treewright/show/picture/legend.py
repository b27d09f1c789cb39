"""The legend of a picture: the target, and the colours of its classes or the range of its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from treewright.show.picture.colours import MUTED, OKABE_ITO, OTHERS
from treewright.show.picture.scene import Box, Shape, Words
from treewright.show.picture.view import TreeView
from treewright.show.picture.words import clean, isolate, shorten, width_of, write_value

SIZE, SQUARE, ROW = 11.5, 11.0, 26.0
# Entries per line of the legend.
PER_LINE = 4


def entries_of(view: TreeView) -> list[tuple[str, str, str]]:
    """Colour, short name and full name of each class with a colour; the others together."""
    if view.palette is None:
        return []
    names = [str(view.tree.target.classes[label]) for label in view.palette.shown]
    found = [(OKABE_ITO[place], isolate(shorten(name, 18)), clean(name)) for place, name in enumerate(names)]
    others = f"{view.palette.n_others} other classes"
    return [*found, (OTHERS, others, others)] if view.palette.n_others else found


def _heading(view: TreeView) -> str:
    name = isolate(shorten(str(view.tree.target.name), 30)) or "target"
    if view.palette is not None or view.tree.target.outputs:
        return f"{name}:" if view.palette is not None else name
    low, high = view.span
    return f"{name}: bars from {write_value(low)} to {write_value(high)}"


def legend_size(view: TreeView) -> tuple[float, float]:
    """Width and height of the legend."""
    entries = entries_of(view)
    lines = max(1, -(-len(entries) // PER_LINE))
    return _heading_width(view) + _step(entries) * min(len(entries), PER_LINE), ROW * lines


def _heading_width(view: TreeView) -> float:
    return width_of(_heading(view), SIZE) + 12.0


def _step(entries: list[tuple[str, str, str]]) -> float:
    return max((width_of(name, SIZE) for _, name, _ in entries), default=0.0) + SQUARE + 18.0


def draw_legend(view: TreeView, left: float, top: float) -> Iterator[Shape]:
    """The heading, and a square and a name for each colour."""
    yield Words(left, top + 10.0, _heading(view), SIZE, MUTED, "start", True, clean(str(view.tree.target.name)))
    entries = entries_of(view)
    for place, (colour, name, full) in enumerate(entries):
        x = left + _heading_width(view) + _step(entries) * (place % PER_LINE)
        y = top + ROW * (place // PER_LINE)
        yield Box(x, y, SQUARE, SQUARE, colour)
        yield Words(x + SQUARE + 5.0, y + 10.0, name, SIZE, MUTED, "start", title=full)
