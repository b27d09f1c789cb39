"""A trace as plain text with tables."""

from __future__ import annotations

from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from treewright.show.trace.blocks import Block, Formula, Grid, NumberLine, Paragraph, Section, shown
from treewright.show.trace.document import SOLUTION, Document

WIDTH = 110


def write_text(document: Document, width: int = WIDTH) -> str:
    """The document as text of a given width."""
    stream = StringIO()
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False, color_system=None)
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
    console.print(Text(line))


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
        console.print(_table(block, blank=blank))
    elif isinstance(block, NumberLine):
        return


def _table(grid: Grid, *, blank: bool) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place, header in enumerate(grid.headers):
        table.add_column(header, justify="right" if place in grid.right else "left", overflow="fold")
    for place, row in enumerate(grid.rows):
        mark = "* " if place == grid.marked and not blank else ""
        cells = [shown(cell, blank=blank) for cell in row]
        table.add_row(*(Text(mark + cell if column == 0 else cell) for column, cell in enumerate(cells)))
    return table
