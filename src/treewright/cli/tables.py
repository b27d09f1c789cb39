"""The tables of commands: one or more files, standard input, or a data set of the library; and how they are read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.errors import as_user_errors

if TYPE_CHECKING:
    from treewright.table import Frame

READING = "Reading"


class DateOrder(StrEnum):
    """What comes first in dates such as 05/01/2023."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


def reading(
    *,
    sep: Annotated[
        str | None,
        typer.Option(
            help="The separator of a text file: a character, or comma, semicolon, tab, pipe or space.",
            rich_help_panel=READING,
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(help="The encoding of a text file, such as latin-1 or utf-16.", rich_help_panel=READING),
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(metavar=". or ,", help="The decimal mark of numbers.", rich_help_panel=READING)
    ] = None,
    dates: Annotated[
        DateOrder | None, typer.Option(help="The order of dates such as 05/01/2023.", rich_help_panel=READING)
    ] = None,
    na: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="A further word for missing values.", rich_help_panel=READING),
    ] = None,
    sheet: Annotated[str | None, typer.Option(help="The sheet of a workbook.", rich_help_panel=READING)] = None,
) -> dict[str, Any]:
    """The options about reading as arguments of `read_table`."""
    return {
        "sep": sep,
        "encoding": encoding,
        "decimal": decimal,
        "dates": None if dates is None else str(dates),
        "na_values": na or (),
        "sheet": sheet,
    }


def open_table(
    tables: str | Sequence[str], reading: Mapping[str, Any] | None = None, *, text: Iterable[str] = (), like: Any = None
) -> tuple[Frame, str | None]:
    """The table of files or of standard input ("-"), or a data set of the library with its target."""
    from treewright import datasets
    from treewright.table import read_table

    names = [tables] if isinstance(tables, str) else list(tables)
    if len(names) == 1 and names[0] in datasets.names() and not Path(names[0]).exists():
        dataset = datasets.load(names[0])
        return dataset.frame, dataset.target
    sources = [sys.stdin.buffer if name == "-" else name for name in names]
    with as_user_errors():
        return read_table(sources, **(reading or {}), text=text, like=like), None


def title_of(tables: Sequence[str]) -> str:
    """The name of a table in headings.

    >>> title_of(["data/a.csv"]), title_of(["-"]), title_of(["a.csv", "b.csv"])
    ('a.csv', 'standard input', 'a.csv and 1 more')
    """
    first = "standard input" if tables[0] == "-" else Path(tables[0]).name
    return first if len(tables) == 1 else f"{first} and {len(tables) - 1} more"


def as_given(tables: Sequence[str]) -> str | list[str]:
    """The tables as they were given, for JSON: a single one by itself."""
    return tables[0] if len(tables) == 1 else list(tables)
