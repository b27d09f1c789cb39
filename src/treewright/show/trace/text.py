"""A trace as plain text with tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from itertools import zip_longest
from textwrap import wrap

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from treewright.show.trace.blocks import Block, Cell, Formula, Grid, NumberLine, Paragraph, Section, shown
from treewright.show.trace.document import SOLUTION, Document

WIDTH = 110

# The space between two columns of a table, and the least width to which a column is wrapped.
GAP = "  "
LEAST_WIDTH = 8


def write_text(document: Document, width: int = WIDTH) -> str:
    """The document as text of a given width."""
    stream = StringIO()
    # With a height, too, rich does not ask the terminal for its size at every line.
    console = Console(
        file=stream, width=width, height=width, highlight=False, markup=False, emoji=False, color_system=None
    )
    _line(console, document.title)
    _line(console, "=" * min(len(document.title), width))
    for note in document.notes:
        _line(console, note)
    for section in document.sections:
        _write(console, section, blank=document.exercise)
    if document.exercise:
        _line(console, "")
        _line(console, SOLUTION)
        _line(console, "=" * len(SOLUTION))
        for section in document.sections:
            _write(console, section, blank=False)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).rstrip("\n")


def _line(console: Console, line: str) -> None:
    if _is_plain(line):
        wrapped = [line] if len(line) <= console.width else wrap(line, console.width, break_on_hyphens=False)
        console.file.write("\n".join(wrapped) + "\n")
    else:
        console.print(Text(line))


def _is_plain(text: str) -> bool:
    """Whether a text is one line of letters that are each one cell wide."""
    return text.isprintable() and (text.isascii() or cell_len(text) == len(text))


def _write(console: Console, section: Section, *, blank: bool) -> None:
    _line(console, "")
    _line(console, section.title)
    _line(console, "-" * min(len(section.title), console.width))
    for block in section.blocks:
        _write_block(console, block, blank=blank)


def _write_block(console: Console, block: Block, *, blank: bool) -> None:
    if isinstance(block, Paragraph):
        _line(console, "".join(shown(part, blank=blank) for part in block.parts))
    elif isinstance(block, Formula):
        numbers, result = shown(block.numbers, blank=blank), shown(block.result, blank=blank)
        _line(console, f"  {block.name} = {block.general} = {numbers} = {result}")
    elif isinstance(block, Grid):
        _write_grid(console, _filled(block, blank=blank))
    elif isinstance(block, NumberLine):
        return


def _filled(grid: Grid, *, blank: bool) -> Grid:
    """A table of plain text: figures as text or blank, and a star at the marked row."""
    rows = [[shown(cell, blank=blank) for cell in row] for row in grid.rows]
    if grid.marked is not None and not blank:
        rows[grid.marked][0] = f"* {rows[grid.marked][0]}"
    return replace(grid, rows=tuple(map(tuple, rows)))


def _write_grid(console: Console, grid: Grid) -> None:
    """Write a table in the layout of rich, which would take twenty times as long."""
    lines = [grid.headers, *grid.rows]
    if not all(_is_plain(str(cell)) for line in lines for cell in line):
        console.print(_table(grid))
        return
    natural = [max(len(str(cell)) for cell in cells) for cells in zip(*lines, strict=True)]
    widths = _widths_within(natural, console.width)
    header, *rows = ("\n".join(_wrapped_row(line, widths, grid.right)) for line in lines)
    rule = "\N{BOX DRAWINGS LIGHT HORIZONTAL}" * (sum(widths) + len(GAP) * (len(widths) - 1))
    console.file.write("\n".join([header, rule, *rows]) + "\n")


def _widths_within(widths: list[int], most: int) -> list[int]:
    """The widths of columns, the widest of them made narrower until the table fits.

    >>> _widths_within([5, 30, 40], 60)
    [5, 25, 26]
    """
    found = list(widths)
    while sum(found) + len(GAP) * (len(found) - 1) > most and max(found) > LEAST_WIDTH:
        found[found.index(max(found))] -= 1
    return found


def _wrapped_row(cells: Sequence[Cell], widths: list[int], right: Collection[int]) -> Iterator[str]:
    """The lines of a row whose cells are wrapped to these widths."""
    parts = [
        wrap(str(cell), max(width, 1), break_on_hyphens=False) if len(str(cell)) > width else [str(cell)]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for line in zip_longest(*parts, fillvalue=""):
        aligned = zip(line, widths, strict=True)
        yield GAP.join(
            part.rjust(width) if place in right else part.ljust(width) for place, (part, width) in enumerate(aligned)
        )


def _table(grid: Grid) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place, header in enumerate(grid.headers):
        table.add_column(header, justify="right" if place in grid.right else "left", overflow="fold")
    for row in grid.rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table
