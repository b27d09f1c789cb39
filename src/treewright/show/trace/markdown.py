"""A trace as Markdown."""

from __future__ import annotations

from treewright.show.trace.blocks import Block, Formula, Grid, Paragraph, Section, shown
from treewright.show.trace.document import SOLUTION, Document

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|"} | {"\n": " "})


def write_markdown(document: Document) -> str:
    """The document as Markdown, with tables of pipes."""
    lines = [f"# {escape(document.title)}", ""]
    for note in document.notes:
        lines += [escape(note), ""]
    for section in document.sections:
        lines += _section(section, blank=document.exercise)
    if document.exercise:
        lines += [f"# {SOLUTION}", ""]
        for section in document.sections:
            lines += _section(section, blank=False)
    return "\n".join(lines).rstrip("\n") + "\n"


def escape(words: str) -> str:
    """Text whose characters have no meaning in Markdown.

    >>> escape("a_b|c")
    'a\\\\_b\\\\|c'
    """
    return words.translate(_SPECIAL)


def _section(section: Section, *, blank: bool) -> list[str]:
    lines = [f"## {escape(section.title)}", ""]
    for block in section.blocks:
        lines += _block(block, blank=blank)
    return lines


def _block(block: Block, *, blank: bool) -> list[str]:
    if isinstance(block, Paragraph):
        return [escape("".join(shown(part, blank=blank) for part in block.parts)), ""]
    if isinstance(block, Formula):
        numbers, result = shown(block.numbers, blank=blank), shown(block.result, blank=blank)
        formula = f"{block.name} = {block.general} = {numbers} = {result}".replace("`", "'")
        return [f"`{formula}`", ""]
    if isinstance(block, Grid):
        return [*_grid(block, blank=blank), ""]
    return []


def _grid(grid: Grid, *, blank: bool) -> list[str]:
    lines = [
        "| " + " | ".join(escape(header) for header in grid.headers) + " |",
        "|" + "|".join("---:" if place in grid.right else "---" for place in range(len(grid.headers))) + "|",
    ]
    for place, row in enumerate(grid.rows):
        cells = [escape(shown(cell, blank=blank)) for cell in row]
        if place == grid.marked and not blank:
            cells = [f"**{cell}**" if cell.strip() else cell for cell in cells]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
