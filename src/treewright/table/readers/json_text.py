"""JSON: one object per line, a list of objects, or an object of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treewright.table.plain_frame import Frame, as_array
from treewright.table.read_options import ReadOptions
from treewright.table.readers.names import check_names
from treewright.table.spelling import read_text_column

AS_IT_IS = ReadOptions()


def read_json_lines(text: str, options: ReadOptions = AS_IT_IS) -> Frame:
    """Read a table with the columns of all objects; a column that an object lacks is missing there.

    >>> read_json_lines('{"size": "L"}\\n{"price": 3}\\n').to_dict()
    {'size': ['L', None], 'price': [None, 3.0]}
    """
    rows = [_read_line(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return _from_rows(rows, options)


def read_json(text: str, options: ReadOptions = AS_IT_IS) -> Frame:
    """Read a list of objects, an object of columns, or JSON lines; also as pandas writes them.

    >>> read_json('{"size": ["L", "S"], "price": [3, 4]}').to_dict()
    {'size': ['L', 'S'], 'price': [3, 4]}
    >>> read_json('[{"size": "L"}, {"size": "S"}]').to_dict()
    {'size': ['L', 'S']}
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            return read_json_lines(text, options)
        raise ValueError(f"line {error.lineno}: {error.msg} at character {error.colno}") from None
    except RecursionError:
        raise ValueError("the values are nested too deeply; give one plain value per column") from None
    if isinstance(value, list):
        return _from_rows([_check_row(f"element {number}", row) for number, row in enumerate(value)], options)
    if not isinstance(value, dict):
        raise ValueError("expected a list of objects, or an object of columns")
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        return _from_split(value["columns"], value["data"], options)
    if isinstance(value.get("schema"), dict) and isinstance(value.get("data"), list):
        return _from_rows([_check_row(f"element {n}", row) for n, row in enumerate(value["data"])], options)
    return _from_columns(value, options)


def _from_rows(rows: Sequence[Mapping[str, Any]], options: ReadOptions) -> Frame:
    names = list(dict.fromkeys(name for row in rows for name in row))
    check_names(names)
    return Frame({name: _read_column(name, [row.get(name) for row in rows], options) for name in names})


def _from_split(names: list[Any], rows: list[Any], options: ReadOptions) -> Frame:
    """A list of names and a list of rows, as pandas writes with orient="split"."""
    names = [str(name) for name in names]
    check_names(names)
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            raise ValueError(f"element {number} of 'data' is no list of {len(names)} values")
        _check_row(f"element {number}", dict(zip(names, row, strict=True)))
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return Frame({name: _read_column(name, list(cells), options) for name, cells in zip(names, columns, strict=True)})


def _from_columns(columns: dict[str, Any], options: ReadOptions) -> Frame:
    """Lists by name, or objects of values by the label of the row, as pandas writes."""
    check_names(list(columns))
    labels: dict[str, None] = {}
    for name, cells in columns.items():
        if not isinstance(cells, list | dict):
            raise ValueError(f"{name!r} is no list of values; give a list of objects, or an object of columns")
        labels |= dict.fromkeys(cells) if isinstance(cells, dict) else {}
        _check_row(f"column {name!r}", dict(enumerate(cells.values() if isinstance(cells, dict) else cells)))
    lists = {
        name: [cells.get(label) for label in labels] if isinstance(cells, dict) else cells
        for name, cells in columns.items()
    }
    return Frame({name: _read_column(name, cells, options) for name, cells in lists.items()})


def _read_line(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number}: {error.msg} at character {error.colno}") from None
    except RecursionError:
        raise ValueError(f"line {number}: the values are nested too deeply") from None
    if not isinstance(row, dict):
        raise ValueError(f"line {number}: expected one object per line, found {line.strip()[:30]!r}")
    return _check_row(f"line {number}", row)


def _check_row(where: str, row: Any) -> dict[Any, Any]:
    if not isinstance(row, dict):
        raise ValueError(f"{where}: expected an object, found {str(row)[:30]!r}")
    nested = next((name for name, value in row.items() if isinstance(value, dict | list)), None)
    if nested is not None:
        raise ValueError(f"{where}: {nested!r} holds a nested value; give one plain value per column")
    return row


def _read_column(name: str, cells: list[Any], options: ReadOptions) -> np.ndarray:
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, str) for cell in known):
        return read_text_column(name, cells, options)
    return as_array(cells)
