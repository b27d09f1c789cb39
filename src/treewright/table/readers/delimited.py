"""CSV and TSV: a header, then one row per line."""

from __future__ import annotations

import csv
import io

from treewright.table.plain_frame import Frame
from treewright.table.readers.fast_delimited import read_columns
from treewright.table.readers.names import check_names
from treewright.table.spelling import read_spelling

_DELIMITERS = (",", ";", "\t")

# The part of a file that shows which delimiter its header has.
MOST_HEADER = 1 << 20


def read_csv(text: str) -> Frame:
    """Read a table whose delimiter is the one of comma, semicolon and tab that gives the widest header.

    >>> read_csv("size;price\\nL;3\\n").to_dict()
    {'size': ['L'], 'price': [3]}
    """
    return _read_delimited(text, max(_DELIMITERS, key=lambda mark: _width_of_header(text, mark)))


def read_tsv(text: str) -> Frame:
    """Read a table whose delimiter is a tab."""
    return _read_delimited(text, "\t")


def _width_of_header(text: str, delimiter: str) -> int:
    # A header rarely has a line break; the first lines are enough to see its width.
    return len(next(csv.reader(io.StringIO(text[:MOST_HEADER], newline=""), delimiter=delimiter), []))


def _read_delimited(text: str, delimiter: str) -> Frame:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        names = [name.strip() for name in next(row for row in reader if row)]
        check_names(names)
        found = read_columns(text, delimiter, names)
        if found is not None:
            return Frame(found)
        rows = []
        for row in reader:
            if not row:
                continue
            if len(row) != len(names):
                raise ValueError(f"line {reader.line_num}: {len(row)} values for {len(names)} columns")
            rows.append(row)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    columns = zip(*rows, strict=True) if rows else [[] for _ in names]
    return Frame({name: read_spelling(cells) for name, cells in zip(names, columns, strict=True)})
