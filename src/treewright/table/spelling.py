"""Columns of text as files hold them: which cells are missing, which spell numbers, which spell dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime

import numpy as np

MISSING_WORDS = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"})

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?")


def read_spelling(cells: Sequence[str]) -> np.ndarray:
    """A column of text as integers, numbers, dates or, failing these, text with None where missing.

    >>> read_spelling(["3", "NA", "2.5"])
    array([3. , nan, 2.5])
    >>> read_spelling(["2024-02-29", "?"])
    array(['2024-02-29',        'NaT'], dtype='datetime64[D]')
    """
    words: list[str | None] = list(map(str.strip, cells))
    if not MISSING_WORDS.isdisjoint(words):
        words = [None if word in MISSING_WORDS else word for word in words]
    known = [word for word in words if word is not None]
    if not known:
        return np.full(len(words), np.nan)
    for read in (_read_numbers, read_dates):
        array = read(words, known)
        if array is not None:
            return array
    return np.array(words, dtype=object)


def read_text_column(cells: Sequence[str | None]) -> np.ndarray:
    """A column of text, which may spell numbers, dates or missing values as it does in CSV."""
    return read_spelling(["" if cell is None else cell for cell in cells])


def _read_numbers(words: Sequence[str | None], known: Sequence[str]) -> np.ndarray | None:
    try:
        numbers = np.array(list(map(float, known)))
    except ValueError:
        return None
    text = "".join(known)
    if "_" in text:  # Python reads 1_000 as a number; in a table it is a name
        return None
    if len(known) == len(words) and text.replace("-", "").isdigit() and np.abs(numbers).max() < 2**53:
        return numbers.astype(np.int64)
    if len(known) == len(words):
        return numbers
    array = np.full(len(words), np.nan)
    array[[word is not None for word in words]] = numbers
    return array


def spells_date(word: str) -> bool:
    """Whether a word begins like a date by ISO 8601."""
    return _DATE.match(word) is not None


def read_dates(words: Sequence[str | None], known: Sequence[str]) -> np.ndarray | None:
    """Dates or moments, if every known word spells one by ISO 8601; moments with an offset become UTC."""
    if not all(map(_DATE.match, known)):
        return None
    distinct = dict.fromkeys(known)
    is_dates = all(map(_DATE.fullmatch, distinct))
    if not is_dates and not all(_DATE.fullmatch(word) or _MOMENT.fullmatch(word) for word in distinct):
        return None
    try:
        parsed = {word: date.fromisoformat(word) if is_dates else _moment(word) for word in distinct}
    except (ValueError, OverflowError):
        return None
    cells = [None if word is None else parsed[word] for word in words]
    return np.array(cells, dtype="M8[D]" if is_dates else "M8[us]")


def _moment(word: str) -> datetime:
    moment = datetime.fromisoformat(word)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
