"""JSON lines: one object per line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from treewright.table.plain_frame import Frame, as_array
from treewright.table.readers.names import check_names
from treewright.table.spelling import read_text_column


def read_json_lines(text: str) -> Frame:
    """Read a table with the columns of all objects; a column that an object lacks is missing there.

    >>> read_json_lines('{"size": "L"}\\n{"price": 3}\\n').to_dict()
    {'size': ['L', None], 'price': [None, 3.0]}
    """
    rows = [_read_json(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    check_names(names)
    return Frame({name: _read_json_column([row.get(name) for row in rows]) for name in names})


def _read_json(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number}: {error.msg} at character {error.colno}") from None
    if not isinstance(row, dict):
        raise ValueError(f"line {number}: expected one object per line, found {line.strip()[:30]!r}")
    nested = next((name for name, value in row.items() if isinstance(value, dict | list)), None)
    if nested is not None:
        raise ValueError(f"line {number}: {nested!r} holds a nested value; give one plain value per column")
    return row


def _read_json_column(cells: list[Any]) -> np.ndarray:
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, str) for cell in known):
        return read_text_column(cells)
    return as_array(cells)
