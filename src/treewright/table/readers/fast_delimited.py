"""Large CSV and TSV files, parsed by pyarrow where it is installed; the result is that of `delimited`.

Anything that the two could read differently (unusual quotes, rows of other lengths, unusual numbers, dates) is left to
the general reader: the whole file, or just the column.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.table.spelling import MISSING_WORDS, Words

# Smaller files are read at once either way.
LEAST_TEXT = 1 << 20

_QUOTE, _CARRIAGE_RETURN, _LINE_FEED = b'"\r\n'


@dataclass(frozen=True, eq=False)
class FastColumns:
    """A parsed file: plain numbers as arrays, other columns as words, and the text to look at columns again."""

    columns: dict[str, Words | np.ndarray]
    body: bytes
    separator: str
    has_quotes: bool

    @staticmethod
    def open(text: str, separator: str, names: Sequence[str]) -> FastColumns | None:
        """Parse a file, given the names of its header; None if the general reader must read it."""
        # pyarrow reads 0x1F as a number.
        if len(text) < LEAST_TEXT or len(separator.encode()) > 1 or "0x" in text or "0X" in text:
            return None
        try:
            from pyarrow import ArrowInvalid
        except ImportError:
            return None
        # Lines without text before the header would count as rows.
        body = text.lstrip("\r\n").encode()
        has_quotes = '"' in text
        if has_quotes and not has_usual_quotes(body, separator):
            return None
        parsed = FastColumns({}, body, separator, has_quotes)
        try:
            table = parsed._parse(len(names))
        except ArrowInvalid:
            return None
        found = {name: _read_column(cells) for name, cells in zip(names, table.columns, strict=True)}
        parsed.columns.update({name: one for name, one in found.items() if one is not None})
        others = [name for name, one in found.items() if one is None]
        words = parsed._words([names.index(name) for name in others], len(names))
        parsed.columns.update(zip(others, words, strict=True))
        ordered = {name: parsed.columns[name] for name in names}
        return FastColumns(ordered, body, separator, has_quotes)

    def words_of(self, names: list[str]) -> dict[str, Words]:
        """The words of columns that are arrays."""
        every = list(self.columns)
        found = self._words([every.index(name) for name in names], len(every))
        return dict(zip(names, found, strict=True))

    def _words(self, places: list[int], n_columns: int) -> list[Words]:
        if not places:
            return []
        return [words_in(cells) for cells in self._parse(n_columns, places).columns]

    def _parse(self, n_columns: int, as_text: Sequence[int] | None = None) -> Any:
        """All columns in the types that pyarrow finds, or some as text."""
        from pyarrow import csv, string

        every = [str(place) for place in range(n_columns)]
        wanted = every if as_text is None else [every[place] for place in as_text]
        return csv.read_csv(
            io.BytesIO(self.body),
            read_options=csv.ReadOptions(column_names=every, skip_rows=1),
            parse_options=csv.ParseOptions(
                delimiter=self.separator,
                quote_char='"' if self.has_quotes else False,
                newlines_in_values=self.has_quotes,
            ),
            convert_options=csv.ConvertOptions(
                column_types=None if as_text is None else dict.fromkeys(wanted, string()),
                include_columns=wanted,
                null_values=sorted(MISSING_WORDS),
                # Words for missing values are found later, with what the column has beside them.
                strings_can_be_null=False,
                true_values=[],
                false_values=[],
            ),
        )


def has_usual_quotes(body: bytes, separator: str) -> bool:
    """Whether every quote begins or ends a whole value, or is one of two in a quoted value.

    >>> has_usual_quotes(b'a,b\\n"x, y",1\\n', ","), has_usual_quotes(b'a,b\\n5" x 4",1\\n', ",")
    (True, False)
    """
    marks = np.frombuffer(body, dtype=np.uint8)
    places = np.flatnonzero(marks == _QUOTE)
    if len(places) % 2:
        return False
    between = np.array([ord(separator), _LINE_FEED, _CARRIAGE_RETURN, _QUOTE], dtype=np.uint8)
    opening, closing = places[::2], places[1::2]
    before = marks[opening[opening > 0] - 1]
    after = marks[closing[closing < len(marks) - 1] + 1]
    return bool(np.isin(before, between).all() and np.isin(after, between).all())


def _read_column(cells: Any) -> Words | np.ndarray | None:
    """A column of plain numbers or text; None if pyarrow found something else."""
    import pyarrow as pa

    if pa.types.is_null(cells.type):
        return None
    if pa.types.is_string(cells.type):
        return words_in(cells)
    if pa.types.is_date32(cells.type):
        return words_in(cells.cast(pa.string()))  # in the same notation as in the file
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


def words_in(cells: Any) -> Words:
    """The words of a column of text; equal words are one object."""
    encoded = cells.combine_chunks().dictionary_encode()
    raw = encoded.dictionary.to_pylist()
    places = np.asarray(encoded.indices.fill_null(-1)).astype(np.intp)
    if encoded.null_count:
        places[places < 0] = len(raw)
        raw.append("")
    stripped = list(map(str.strip, raw))
    number = {word: place for place, word in enumerate(dict.fromkeys(stripped))}
    if len(number) == len(raw):
        return Words(stripped, places)
    return Words(list(number), np.array([number[word] for word in stripped], dtype=np.intp)[places])
