"""Workbooks of Excel, read with openpyxl."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from treewright.table.categories import some
from treewright.table.plain_frame import Frame, as_array
from treewright.table.read_options import ReadOptions
from treewright.table.readers.names import leave_out_nameless, name_columns
from treewright.table.spelling import MISSING_WORDS, read_text_column


def read_excel(content: bytes, options: ReadOptions) -> Frame:
    """Read the only sheet of a workbook that has values, or the one that `sheet` names; it needs openpyxl."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError("workbooks need openpyxl; install it with pip install 'treewright[excel]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validations, which no table needs
            book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            sheets = {sheet.title: _rows_of(sheet) for sheet in book.worksheets}
    except Exception as error:  # openpyxl raises what zipfile, the XML parser and itself raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"the workbook cannot be read ({reason})") from None
    header, *rows = _choose(sheets, options.sheet)
    width = max((place + 1 for row in (header, *rows) for place, cell in enumerate(row) if cell is not None), default=0)
    names = name_columns(["" if cell is None else str(cell).strip() for cell in _padded(header, width)])
    cells = zip(*(_padded(row, width) for row in rows), strict=True) if rows else [()] * width
    return Frame(
        leave_out_nameless({name: _read_column(name, one, options) for name, one in zip(names, cells, strict=True)})
    )


def _rows_of(sheet: Any) -> list[tuple[Any, ...]]:
    """The rows that have a value."""
    return [row for row in sheet.iter_rows(values_only=True) if any(cell is not None for cell in row)]


def _choose(sheets: dict[str, list[tuple[Any, ...]]], wanted: str | None) -> list[tuple[Any, ...]]:
    full = [name for name, rows in sheets.items() if rows]
    if wanted is not None:
        if wanted not in sheets:
            raise ValueError(f"there is no sheet {wanted!r}; there are {some(list(sheets), most=8)}")
        full = [wanted]
    if not full or not sheets[full[0]]:
        raise ValueError("the workbook has no values")
    if len(full) > 1:
        raise ValueError(f"the workbook has the sheets {some(full, most=8)}; choose one with sheet='{full[0]}'")
    return sheets[full[0]]


def _padded(row: Sequence[Any], width: int) -> list[Any]:
    return [*row[:width], *[None] * (width - len(row))]


def _read_column(name: str, cells: Sequence[Any], options: ReadOptions) -> np.ndarray:
    """Cells of one type as they are; text as in CSV; words for missing values among numbers are missing."""
    missing = MISSING_WORDS | options.na_values
    known = [None if isinstance(cell, str) and cell.strip() in missing else cell for cell in cells]
    words = [cell for cell in known if isinstance(cell, str)]
    if words and len(words) == len([cell for cell in known if cell is not None]):
        return read_text_column(name, list(cells), options)
    return as_array(known)
