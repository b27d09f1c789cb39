"""Dates as people write them: ISO 8601, 05/01/2023, 01.05.2023, May 01, 2023 and 2023-05, also with a time.

A column is read by one order, day first or month first. Where both give dates and these differ, the column alone does
not decide. Dates with points have the day first in every country, if both are possible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np

from treewright.table.read_options import DAY_FIRST, MONTH_FIRST, ReadOptions
from treewright.table.spelling.words import Words

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<word>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_TIME = (
    r"(?:(?:,?\s+|T)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,6}))?)?"
    r"(?:\s?(?P<half>[ap])\.?m\.?)?)?"
)
_FORMATS = tuple(
    re.compile(pattern + _TIME, re.IGNORECASE | re.ASCII)
    for pattern in (
        r"(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})",
        r"(?P<year>[0-9]{4})[-/](?P<month>[0-9]{2})",
        r"(?P<month>[0-9]{1,2})[-/](?P<year>[0-9]{4})",
        r"(?P<one>[0-9]{1,2})(?P<mark>[-/.])(?P<other>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4})",
        r"(?P<one>[0-9]{1,2})(?P<mark>/)(?P<other>[0-9]{1,2})/(?P<short>[0-9]{2})",
        r"(?P<one>[0-9]{2})(?P<mark>[-.])(?P<other>[0-9]{2})(?P=mark)(?P<short>[0-9]{2})",
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>[0-9]{{4}})",
        rf"{_WEEKDAY}(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[\s-]{_MONTH}[\s,-]\s*(?:(?P<year>[0-9]{{4}})|(?P<short>[0-9]{{2}}))",
        rf"{_MONTH}[\s-](?P<year>[0-9]{{4}})",
        rf"(?P<year>[0-9]{{4}})[\s-]{_MONTH}[\s-](?P<day>[0-9]{{1,2}})",
    )
)
# POSIX: two digits from 69 on are years of the last century.
_FIRST_OF_LAST_CENTURY = 69


@dataclass(frozen=True)
class _Spelled:
    """A date in its parts; `one` and `other` are day and month in an order that the column decides."""

    year: int
    one: int
    other: int
    has_order: bool = False
    is_short: bool = False
    has_points: bool = False
    time: tuple[int, int, int, int] | None = None

    def by(self, order: str) -> datetime | None:
        """The moment, None if there is no such day."""
        day, month = (self.other, self.one) if self.has_order and order == MONTH_FIRST else (self.one, self.other)
        try:
            return datetime(self.year, month, day, *(self.time or ()))
        except ValueError:
            return None


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


def read_iso_dates(words: Words) -> np.ndarray | None:
    """The dates or moments of a column by ISO 8601; None if a word is none."""
    found = read_dates(words.distinct, words.distinct)
    return None if found is None else _spread(words, found)


def read_written_dates(name: str, words: Words, options: ReadOptions) -> np.ndarray | None:
    """The dates of a column in any notation; None if a word is no date.

    >>> read_written_dates("day", Words.of(["25/01/2023", "01/02/2023"]), ReadOptions()).astype(str).tolist()
    ['2023-01-25', '2023-02-01']
    """
    spelled = []
    for word in words.distinct:
        found = _take_apart(word)
        if found is None:
            return None
        spelled.append(found)
    by_order = {
        one: None if None in moments else moments
        for one in (DAY_FIRST, MONTH_FIRST)
        for moments in [[date.by(one) for date in spelled]]
    }
    if not any(by_order.values()):
        _refuse_two_orders(name, words, spelled)
        return None
    chosen = options.dates or _decide_order(name, words, spelled, by_order, options.usual.get("dates"))
    moments = by_order[chosen]
    if moments is None:
        strange = next(word for word, one in zip(words.distinct, spelled, strict=True) if one.by(chosen) is None)
        raise ValueError(f"column {name!r}: {strange!r} is no date with dates={chosen!r}; give the other order")
    if any(one.has_order and not one.has_points for one in spelled):
        options.decided["dates"] = chosen
    has_times = any(one.time is not None for one in spelled)
    return _spread(words, np.array(moments, dtype="M8[us]").astype("M8[us]" if has_times else "M8[D]"))


def _take_apart(word: str) -> _Spelled | None:
    for pattern in _FORMATS:
        found = pattern.fullmatch(word)
        if found is not None:
            return _in_parts(found.groupdict())
    return None


def _in_parts(found: dict[str, str | None]) -> _Spelled | None:
    hour = int(found["hour"] or 0)
    if found["half"] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    fraction = int((found["fraction"] or "").ljust(6, "0"))
    time = (hour, int(found["minute"] or 0), int(found["second"] or 0), fraction) if found["hour"] else None
    short = found.get("short")
    year = int(found.get("year") or 0)
    if short is not None:
        year = int(short) + (1900 if int(short) >= _FIRST_OF_LAST_CENTURY else 2000)
    month = _MONTHS.index(str(found["word"])[:3].lower()) + 1 if "word" in found else int(found.get("month") or 0)
    has_order = "one" in found
    one, other = (
        (int(found["one"] or 0), int(found["other"] or 0)) if has_order else (int(found.get("day") or 1), month)
    )
    return _Spelled(year, one, other, has_order, short is not None, found.get("mark") == ".", time)


def _decide_order(
    name: str,
    words: Words,
    spelled: list[_Spelled],
    by_order: dict[str, list[datetime | None] | None],
    usual: str | None,
) -> str:
    """The order of day and month that all dates of the column have, or that of the file of training."""
    for word, one in zip(words.distinct, spelled, strict=True):
        if one.is_short:
            raise ValueError(
                f"column {name!r}: {word!r} has a year of two digits; give dates='day-first' or dates='month-first', "
                f"and 69 to 99 become 1969 to 1999, or keep the column as text='{name}'"
            )
    if by_order[MONTH_FIRST] is None or by_order[DAY_FIRST] is None:
        return DAY_FIRST if by_order[MONTH_FIRST] is None else MONTH_FIRST
    for word, one in zip(words.distinct, spelled, strict=True):
        if one.has_order and not one.has_points and one.one != one.other:
            if usual is not None:
                return usual
            raise ValueError(
                f"column {name!r}: the day or the month may be first in {word!r}, and no other date of the column "
                "decides it; give dates='day-first' or dates='month-first'"
            )
    return DAY_FIRST


def _refuse_two_orders(name: str, words: Words, spelled: list[_Spelled]) -> None:
    """An error if each word is a date, but not all by the same order."""
    orders = [{one for one in (DAY_FIRST, MONTH_FIRST) if date.by(one) is not None} for date in spelled]
    if not all(orders):
        return
    day = words.distinct[orders.index({DAY_FIRST})]
    month = words.distinct[orders.index({MONTH_FIRST})]
    raise ValueError(
        f"column {name!r} has dates with the day first ({day!r}) and with the month first ({month!r}); "
        f"write all of them alike, or keep the column as text='{name}'"
    )


def _spread(words: Words, moments: np.ndarray) -> np.ndarray:
    """The moment of each cell, given that of each distinct word."""
    return np.append(moments, np.array(["NaT"], dtype=moments.dtype))[words.places]
