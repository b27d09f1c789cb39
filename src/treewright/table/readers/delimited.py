"""Text with one row per line: CSV, TSV and others whose separator the file or the user decides."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from treewright.table.contents import Text
from treewright.table.plain_frame import Frame
from treewright.table.read_options import ReadOptions
from treewright.table.readers import fast_delimited
from treewright.table.readers.fast_delimited import FastColumns
from treewright.table.readers.names import is_nameless, leave_out_nameless, name_columns
from treewright.table.spelling import Words, settle_columns
from treewright.table.spelling.columns import Cells

# The first of those that give the same columns: a comma within a value is more common than the others.
SEPARATORS = ("\t", ";", "|", ",")

# The part of a file, and the number of its rows, that show which separator it has.
MOST_HEADER, ROWS_TO_COMPARE = 1 << 20, 20

AS_IT_IS = ReadOptions()


def read_csv(text: Text, options: ReadOptions = AS_IT_IS) -> Frame:
    """Read a table whose separator is the one of tab, semicolon, bar and comma that gives the most columns.

    >>> read_csv(Text.of("size;price\\nL;3,5\\n")).to_dict()
    {'size': ['L'], 'price': [3.5]}
    """
    return read_delimited(text, options.sep or find_separator(text), options)


def read_tsv(text: Text, options: ReadOptions = AS_IT_IS) -> Frame:
    """Read a table whose separator is a tab."""
    return read_delimited(text, options.sep or "\t", options)


def read_txt(text: Text, options: ReadOptions = AS_IT_IS) -> Frame:
    """Read a table whose separator is one of those of CSV, or any number of blanks.

    >>> read_txt(Text.of("size  price\\nL     3\\n")).to_dict()
    {'size': ['L'], 'price': [3]}
    """
    separator = options.sep or find_separator(text)
    if options.sep is None and len(_first_rows(text, separator)[0]) == 1 and _is_wider(text, " "):
        separator = " "
    return read_delimited(text, separator, options)


def find_separator(text: Text) -> str:
    """The separator that gives the most columns, and the same number in the first rows if there is one such."""
    return max(SEPARATORS, key=lambda mark: (_is_wider(text, mark), len(_first_rows(text, mark)[0])))


def _is_wider(text: Text, separator: str) -> bool:
    """Whether the first rows have the same number of columns, more than one."""
    widths = {len(row) for row in _first_rows(text, separator)}
    return len(widths) == 1 and max(widths) > 1


def _first_rows(text: Text, separator: str) -> list[list[str]]:
    """A few rows, up to the first that this separator makes unreadable."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        for row in islice(_open(text.decoded(MOST_HEADER), separator), ROWS_TO_COMPARE):
            rows += [row] if row else []
    return rows or [[]]


def _open(text: str, separator: str) -> Any:
    lines: io.StringIO | list[str] = io.StringIO(text, newline="")
    if separator == " ":
        lines = [line.strip() for line in text.splitlines()]
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def read_large_file(path: Path, options: ReadOptions = AS_IT_IS) -> Frame | None:
    """Read a file while it is parsed; None if it must be looked at as a whole, for whatever reason."""
    if not path.is_file() or path.stat().st_size < fast_delimited.LEAST_TEXT or options.encoding is not None:
        return None
    with path.open("rb") as file:
        start = Text(file.read(MOST_HEADER))
    if not start.data.isascii():
        return None
    separator = options.sep or ("\t" if path.suffix.lower() == ".tsv" else find_separator(start))
    if separator == " ":
        return None
    try:
        names = name_columns(read_header(start, separator))
    except ValueError:
        return None
    lenient = _without_nameless(options, names)
    fast = FastColumns.open_file(path, separator, names, lenient)
    return None if fast is None else _settle(fast.columns, lenient, fast, separator)


def read_delimited(text: Text, separator: str, options: ReadOptions = AS_IT_IS) -> Frame:
    """Read a header and the rows below it."""
    names = name_columns(read_header(text, separator))
    lenient = _without_nameless(options, names)
    fast = None if separator == " " else FastColumns.open(text.data, separator, names, lenient)
    cells = _read_rows(text.decoded(), separator, names) if fast is None else fast.columns
    return _settle(cells, lenient, fast, separator)


def _without_nameless(options: ReadOptions, names: list[str]) -> ReadOptions:
    """Options by which a column without a name is left out or refused for that reason alone."""
    return replace(options, text=options.text | set(filter(is_nameless, names)))


def _settle(cells: Mapping[str, Cells], options: ReadOptions, fast: FastColumns | None, separator: str) -> Frame:
    words_of = None if fast is None else fast.words_of
    return Frame(leave_out_nameless(settle_columns(cells, options, words_of, commas_are_decimal=separator != ",")))


def join_texts(texts: Sequence[Text], separator: str) -> Text | None:
    """One text of several with the same header; None if the headers differ."""
    headers = [read_header(text, separator) for text in texts]
    if any(header != headers[0] for header in headers):
        return None
    first, *others = texts
    bodies = (_without_header(text.decoded(), separator).strip("\r\n") for text in others)
    return Text.of("\n".join([first.decoded().rstrip("\r\n"), *filter(None, bodies)]) + "\n")


def _without_header(text: str, separator: str) -> str:
    """The rows of a text."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    next(row for row in reader if row)
    return lines.read()


def read_header(text: Text, separator: str) -> list[str]:
    """The names in the first row that has any."""
    start = text.decoded(MOST_HEADER)
    rows = _open(start, separator)
    with suppress(csv.Error, StopIteration):
        names = next(row for row in rows if row)
        # Another row follows, so this one is not cut.
        if next(rows, None) is not None:
            return [name.strip() for name in names]
    reader = _open(text.decoded(), separator)
    try:
        return [name.strip() for name in next(row for row in reader if row)]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None


def _read_rows(text: str, separator: str, names: list[str]) -> dict[str, Cells]:
    reader = _open(text, separator)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if not row:
                continue
            if len(row) != len(names):
                raise ValueError(f"line {reader.line_num}: {len(row)} values for {len(names)} columns")
            rows.append(row)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * len(names)
    return {name: Words.of(cells) for name, cells in zip(names, columns, strict=True)}
