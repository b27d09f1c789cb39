"""The parts of a printed trace, which every form of output writes in its own way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BLANK = "______"


@dataclass(frozen=True)
class Figure:
    """A computed figure, which an exercise leaves blank."""

    text: str


Cell = str | Figure


@dataclass(frozen=True)
class Paragraph:
    """Sentences; figures among them can be left blank."""

    parts: tuple[Cell, ...]


@dataclass(frozen=True)
class Formula:
    """A formula, the numbers put in, and the result; `latex` is the general form for LaTeX."""

    name: str
    general: str
    numbers: Figure
    result: Figure
    latex: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; columns in `right` are aligned to the right, and the row `marked` is emphasised."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int] = frozenset()
    marked: int | None = None


@dataclass(frozen=True, eq=False)
class NumberLine:
    """The candidate thresholds of a column on a line, with their gains."""

    column: str
    lowest: float
    highest: float
    values: np.ndarray
    gains: np.ndarray
    chosen: float | None


Block = Paragraph | Formula | Grid | NumberLine


@dataclass(frozen=True)
class Section:
    """One step of the trace."""

    title: str
    blocks: tuple[Block, ...]


def words(*parts: Cell) -> Paragraph:
    """A paragraph of words and figures."""
    return Paragraph(parts)


def shown(cell: Cell, *, blank: bool) -> str:
    """The text of a cell, or a blank for a figure of an exercise.

    >>> shown(Figure("0.9403"), blank=True)
    '______'
    """
    if isinstance(cell, str):
        return cell
    return BLANK if blank else cell.text
