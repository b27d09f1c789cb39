"""Large CSV and TSV files, parsed by pyarrow where it is installed; the result is that of `delimited`.

Anything that the two could read differently (unusual quotes, rows of other lengths, unusual numbers, dates) is left to
the general reader: the whole file, or just the column.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treewright.table.read_options import ReadOptions
from treewright.table.spelling import MISSING_WORDS, Words
from treewright.table.spelling.numbers import MOST_EXACT, FormattedNumbers

# Smaller files are read at once either way.
LEAST_TEXT = 1 << 20

FEW_LETTERS = 1000
FEW_ROWS = 1000

# Up to so many distinct words the parser numbers them itself, in its own threads.
MOST_ENCODED = 20_000

PART = 1 << 18

_QUOTE, _CARRIAGE_RETURN, _LINE_FEED = b'"\r\n'


@dataclass(frozen=True, eq=False)
class FastColumns:
    """A parsed file: plain numbers as arrays, other columns as words, and the text to look at columns again."""

    names: Sequence[str]
    open_body: Callable[[], Any]  # the text from its header on, as pyarrow reads it
    separator: str
    missing: frozenset[str]
    quotes: Quotes | None  # None if it has none
    columns: dict[str, Words | np.ndarray | FormattedNumbers] = field(default_factory=dict)

    @staticmethod
    def open(text: bytes, separator: str, names: Sequence[str], options: ReadOptions) -> FastColumns | None:
        """Parse a file, given the names of its header; None if the general reader must read it."""
        if len(text) < LEAST_TEXT or len(separator.encode()) > 1 or _has_hexadecimal(text):
            return None
        try:
            from pyarrow import BufferReader
        except ImportError:
            return None
        # Lines without text before the header would count as rows.
        body = text.lstrip(b"\r\n")
        quotes = look_at_quotes(body, separator) if b'"' in body else None
        if quotes is not None and not quotes.are_usual:
            return None
        return FastColumns._of(names, partial(BufferReader, body), separator, options, quotes)

    @staticmethod
    def open_file(path: Path, separator: str, names: Sequence[str], options: ReadOptions) -> FastColumns | None:
        """Parse a file while it is read; None if it has quotes or letters beyond ASCII, or `open` would return None."""
        if find_spec("pyarrow") is None or len(separator.encode()) > 1:
            return None
        return FastColumns._of(names, partial(_UsualFile, path), separator, options, None)

    @staticmethod
    def _of(
        names: Sequence[str],
        open_body: Callable[[], Any],
        separator: str,
        options: ReadOptions,
        quotes: Quotes | None,
    ) -> FastColumns | None:
        from pyarrow import ArrowInvalid

        parsed = FastColumns(names, open_body, separator, MISSING_WORDS | options.na_values, quotes)
        try:
            parsed._fill(options)
        except (ArrowInvalid, _UnusualFile):
            return None
        return parsed

    def _fill(self, options: ReadOptions) -> None:
        """Read all columns: most files in one pass over the text, at most in four."""
        self.columns.update(self._read_with_commas(options))
        rest = [name for name in self.names if name not in self.columns]
        if not rest:
            return
        cells = dict(zip(rest, self._parse(rest).columns, strict=True))
        has_commas = [name for name, one in cells.items() if self._may_have_commas(name, one, options)]
        by_comma = self._read_commas(has_commas)
        found = {
            name: by_comma[name] if name in by_comma else _read_column(one, is_text=options.stays_text(name))
            for name, one in cells.items()
        }
        found |= self.words_of([name for name, one in found.items() if one is None])
        self.columns.update({name: one for name, one in found.items() if one is not None})

    def _read_with_commas(self, options: ReadOptions) -> dict[str, Words | np.ndarray | FormattedNumbers]:
        """The columns that one pass with decimal commas decides; none if the first rows have no such number."""
        import pyarrow as pa

        if self.separator == "," or options.decimal == ".":
            return {}
        first_rows = self._first_rows()
        with_comma = {name for name, cells in first_rows.items() if self._may_have_commas(name, cells, options)}
        if not with_comma:
            return {}
        found: dict[str, Words | np.ndarray | FormattedNumbers | None] = {}
        for name, cells in zip(self.names, self._parse(decimal=",").columns, strict=True):
            first = self._first_word(first_rows[name])
            # A column of integers or of words is the same with decimal points.
            if name in with_comma:
                found[name] = _numbers_with_commas(cells)
            elif pa.types.is_int64(cells.type) or (
                first and not _is_number(first) and not pa.types.is_float64(cells.type)
            ):
                found[name] = _read_column(cells, is_text=options.stays_text(name))
        return {name: one for name, one in found.items() if one is not None}

    def words_of(self, names: list[str]) -> dict[str, Words]:
        """The words of some columns, whatever they were recognised as."""
        if not names:
            return {}
        table = self._parse(names, as_text=True)
        return {name: words_in(cells) for name, cells in zip(names, table.columns, strict=True)}

    def _may_have_commas(self, name: str, cells: Any, options: ReadOptions) -> bool:
        """Whether a column of text begins with a number that has a decimal comma, and such are allowed."""
        import pyarrow as pa

        if self.separator == "," or options.decimal == "." or options.stays_text(name) or options.may_stay_text(name):
            return False
        if not (pa.types.is_string(cells.type) or pa.types.is_dictionary(cells.type)) or not len(cells):
            return False
        first = self._first_word(cells)
        return "," in first and first[-1:].isdigit()

    def _first_word(self, cells: Any) -> str:
        """The first word among the first rows of a column of text that is not missing."""
        return next((word for word in cells[:FEW_ROWS].to_pylist() if word not in self.missing), "")

    def _read_commas(self, names: list[str]) -> dict[str, FormattedNumbers]:
        """The columns that are numbers with a decimal comma beyond doubt."""
        if not names:
            return {}
        columns = zip(names, self._parse(names, decimal=",").columns, strict=True)
        found = {name: _numbers_with_commas(cells) for name, cells in columns}
        return {name: numbers for name, numbers in found.items() if numbers is not None}

    def _parse(self, names: Sequence[str] | None = None, *, as_text: bool = False, decimal: str = ".") -> Any:
        """All or some columns in the types that pyarrow finds, or as text."""
        from pyarrow import csv

        return csv.read_csv(self.open_body(), **self._parse_options(names, as_text=as_text, decimal=decimal))

    def _first_rows(self) -> dict[str, Any]:
        """The columns of the first part of the file as text."""
        from pyarrow import csv

        with csv.open_csv(self.open_body(), **self._parse_options(None, as_text=True, decimal=".")) as stream:
            return dict(zip(self.names, stream.read_next_batch().columns, strict=True))

    def _parse_options(self, names: Sequence[str] | None, *, as_text: bool, decimal: str) -> dict[str, Any]:
        from pyarrow import csv, string

        every = [str(place) for place in range(len(self.names))]
        wanted = every if names is None else [every[self.names.index(name)] for name in names]
        return {
            "read_options": csv.ReadOptions(column_names=every, skip_rows=1),
            "parse_options": csv.ParseOptions(
                delimiter=self.separator,
                quote_char='"' if self.quotes is not None else False,
                newlines_in_values=self.quotes is not None and self.quotes.enclose_lines,
            ),
            "convert_options": csv.ConvertOptions(
                check_utf8=False,  # it has been decoded, or is ASCII
                column_types=dict.fromkeys(wanted, string()) if as_text else None,
                include_columns=wanted,
                null_values=sorted(self.missing),
                # Words for missing values are found later, with what the column has beside them.
                strings_can_be_null=False,
                true_values=[],
                false_values=[],
                auto_dict_encode=True,
                auto_dict_max_cardinality=MOST_ENCODED,
                decimal_point=decimal,
            ),
        }


class _UnusualFile(Exception):
    """A file that must be looked at as a whole."""


class _UsualFile(io.FileIO):
    """A file that is checked while it is read: it has neither quotes nor zeros, and ASCII only."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "r")
        self._last = b"\n"

    def read(self, size: int | None = -1) -> bytes:
        part = super().read(-1 if size is None else size) or b""
        # A line break at the start would be before the header.
        is_start_blank = self._last == b"\n" and self.tell() == len(part) and part[:1] in (b"\r", b"\n")
        if not part.isascii() or b'"' in part or b"\0" in part or is_start_blank or _has_hexadecimal(self._last + part):
            raise _UnusualFile
        self._last = part[-1:]
        return part


def _numbers_with_commas(cells: Any) -> FormattedNumbers | None:
    """A column that was parsed with decimal commas, if it contains numbers that cannot have thousands separators."""
    from pyarrow import types

    values = cells.to_numpy() if types.is_float64(cells.type) else None
    if values is None or not _is_no_thousand(values):
        return None
    return FormattedNumbers(Words([], np.empty(0, dtype=np.intp)), None, _writable(values))


def _is_number(word: str) -> bool:
    """Whether Python, and therefore perhaps pyarrow, reads a word as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_no_thousand(numbers: np.ndarray) -> bool:
    """Whether a finite number among those with decimal commas has other than three decimals, or is less than one."""
    known = numbers[np.isfinite(numbers)]
    if len(known) < np.count_nonzero(~np.isnan(numbers)):
        return False
    with np.errstate(over="ignore"):
        thousandths = known * 1000.0
    return bool((thousandths != np.rint(thousandths)).any() or ((known != 0.0) & (np.abs(known) < 1.0)).any())


def _has_hexadecimal(text: bytes) -> bool:
    """Whether a number may be written as 0x1F, which pyarrow reads as 31 and Python does not."""
    for letter, start in ((b"x", b"0x"), (b"X", b"0X")):
        place = -1
        # Single letters are found ten times as fast as pairs, if there are few.
        for _ in range(FEW_LETTERS):
            place = text.find(letter, place + 1)
            if place < 0:
                break
            if text[place - 1 : place + 1] == start:
                return True
        if place >= 0 and text.find(start, place) >= 0:
            return True
    return False


class Quotes(NamedTuple):
    """What the quotes of a text are like."""

    are_usual: bool  # each begins or ends a whole value, or is one of two in a quoted value
    enclose_lines: bool  # a quoted value contains a line break


def look_at_quotes(body: bytes, separator: str) -> Quotes:
    """Look at all quotes of a text.

    >>> look_at_quotes(b'a,b\\n"x, y",1\\n', ",")
    Quotes(are_usual=True, enclose_lines=False)
    >>> look_at_quotes(b'a,b\\n5" x 4",1\\n', ",").are_usual
    False
    """
    marks = np.frombuffer(body, dtype=np.uint8)
    ends_value = np.zeros(256, dtype=bool)
    ends_value[[ord(separator), _LINE_FEED, _CARRIAGE_RETURN, _QUOTE]] = True
    n_before, enclose_lines = 0, False
    # Parts that fit into the cache of the processor.
    for start in range(0, len(marks), PART):
        part = marks[start : start + PART]
        places = np.flatnonzero(part == _QUOTE) + start
        opening, closing = places[n_before % 2 :: 2], places[1 - n_before % 2 :: 2]
        before = marks[opening[opening > 0] - 1]
        after = marks[closing[closing < len(marks) - 1] + 1]
        if not (ends_value[before].all() and ends_value[after].all()):
            return Quotes(False, enclose_lines)
        if not enclose_lines:
            lines = np.flatnonzero((part == _LINE_FEED) | (part == _CARRIAGE_RETURN)) + start
            enclose_lines = bool(((np.searchsorted(places, lines) + n_before) % 2).any())
        n_before += len(places)
    return Quotes(n_before % 2 == 0, enclose_lines)


def _read_column(cells: Any, *, is_text: bool = False) -> Words | np.ndarray | None:
    """A column of plain numbers or text; None if pyarrow found something else, or numbers that are to be text."""
    import pyarrow as pa

    if pa.types.is_null(cells.type):
        return None
    if pa.types.is_string(cells.type) or pa.types.is_dictionary(cells.type):
        return words_in(cells)
    if pa.types.is_date32(cells.type):
        return words_in(cells.cast(pa.string()))  # in the same notation as in the file
    if is_text:
        return None
    has_all = cells.null_count == 0
    if pa.types.is_float64(cells.type):
        numbers = _writable(cells.to_numpy())
        known = numbers if has_all else numbers[np.asarray(cells.is_valid())]
        return numbers if np.isfinite(known).all() else None
    if not pa.types.is_int64(cells.type):
        return None
    if has_all and len(cells) and _most(cells) < MOST_EXACT:
        return _writable(cells.to_numpy())
    return _writable(cells.cast(pa.float64(), safe=False).to_numpy())


def _writable(values: np.ndarray) -> np.ndarray:
    """The values themselves, or a copy if they belong to pyarrow."""
    return values if values.flags.writeable else values.copy()


def _most(cells: Any) -> int:
    """The largest magnitude of integers."""
    from pyarrow.compute import min_max

    ends = min_max(cells).as_py()
    return max(abs(ends["min"]), abs(ends["max"]))


def words_in(cells: Any) -> Words:
    """The words of a column of text; equal words are one object."""
    import pyarrow as pa

    is_encoded = pa.types.is_dictionary(cells.type)
    encoded = (cells.unify_dictionaries() if is_encoded else cells.dictionary_encode()).combine_chunks()
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
