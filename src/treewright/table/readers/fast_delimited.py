"""Large CSV and TSV files, parsed by pyarrow where it is installed; the result is that of `delimited`.

Anything that the two could read differently (quotes, rows of other lengths, unusual numbers, dates) is left to the
general reader: the whole file, or just the column.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from treewright.table.spelling import MISSING_WORDS, read_spelling, spells_date

_HEXADECIMAL = re.compile("0[xX]")

# Smaller files are read at once either way.
LEAST_TEXT = 1 << 20


def read_columns(text: str, delimiter: str, names: Sequence[str]) -> dict[str, np.ndarray] | None:
    """The columns of a table by name, given the names of its header; None if the general reader must read it."""
    # pyarrow reads 0x1F as a number.
    if len(text) < LEAST_TEXT or '"' in text or _HEXADECIMAL.search(text):
        return None
    try:
        from pyarrow import ArrowInvalid
    except ImportError:
        return None
    # Lines without text before the header would count as rows.
    body = text.lstrip("\r\n").encode()
    places = [str(place) for place in range(len(names))]
    try:
        table = _parse(body, delimiter, places, places, as_text=False)
    except ArrowInvalid:
        return None
    columns: dict[str, Any] = {place: _read_column(cells) for place, cells in zip(places, table.columns, strict=True)}
    others = [place for place, found in columns.items() if found is None]
    if others:
        table = _parse(body, delimiter, places, others, as_text=True)
        columns |= {place: _read_words(table.column(place)) for place in others}
    return dict(zip(names, columns.values(), strict=True))


def _parse(body: bytes, delimiter: str, places: list[str], wanted: list[str], *, as_text: bool) -> Any:
    """The wanted columns, as text or in the types that pyarrow finds."""
    from pyarrow import csv, string

    return csv.read_csv(
        io.BytesIO(body),
        read_options=csv.ReadOptions(column_names=places, skip_rows=1),
        parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, string()) if as_text else None,
            include_columns=wanted,
            null_values=sorted(MISSING_WORDS),
            strings_can_be_null=True,
        ),
    )


def _read_column(cells: Any) -> np.ndarray | None:
    """A column of numbers or text as `read_spelling` reads it; None if pyarrow found something else."""
    import pyarrow as pa

    if pa.types.is_null(cells.type):
        return np.full(len(cells), np.nan)
    if pa.types.is_string(cells.type):
        return _read_words(cells)
    has_all = cells.null_count == 0
    if pa.types.is_float64(cells.type):
        numbers = np.array(cells.to_numpy())
        known = numbers if has_all else numbers[np.asarray(cells.is_valid())]
        return numbers if np.isfinite(known).all() else None
    if not pa.types.is_int64(cells.type):
        return None
    numbers = np.array(cells.cast(pa.float64(), safe=False).to_numpy())
    is_whole = has_all and len(numbers) > 0 and np.abs(numbers).max() < 2**53
    return np.array(cells.to_numpy()) if is_whole else numbers


def _read_words(cells: Any) -> np.ndarray:
    """A column of text as `read_spelling` reads it; equal words are one object."""
    encoded = cells.combine_chunks().dictionary_encode()
    stripped = [word.strip() for word in encoded.dictionary.to_pylist()]
    distinct = np.array([*(None if word in MISSING_WORDS else word for word in stripped), None], dtype=object)
    words = distinct[np.asarray(encoded.indices.fill_null(len(stripped)))]
    first = next((word for word in distinct if word is not None), None)
    if first is None or _needs_care(first):
        return read_spelling(["" if word is None else word for word in words])
    return words


def _needs_care(first: str) -> bool:
    """Whether the words could spell dates, or numbers in a way that only Python reads."""
    try:
        float(first)
    except ValueError:
        return spells_date(first)
    return True
