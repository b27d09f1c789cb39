"""Numbers as people write them: decimal comma, thousands separators, currency signs and percent.

A column is read by one decimal mark, point or comma. Where both give numbers and these differ, as for 1,234, the
column alone does not decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewright.table.categories import some
from treewright.table.spelling.words import Words

POINT, COMMA = ".", ","

# Integers from here on are not all different as floats.
MOST_EXACT = 1 << 53

_BLANKS = " \u00a0\u2009\u202f"
_CURRENCY = (
    r"(?:[A-Z]{0,2}[$\u00a2\u00a3\u00a4\u00a5\u20a0-\u20cf]|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF"
    r"|BRL|ZAR|KRW|MXN|TRY|RUB|Rs\.?|kr\.?|z\u0142)"
)
_SIGN = "[-+\u2212]"
_SPELLED = re.compile(
    rf"(?P<open>\()?(?P<sign>{_SIGN})?[{_BLANKS}]*(?P<before>{_CURRENCY})?[{_BLANKS}]*(?P<second>{_SIGN})?"
    rf"(?P<digits>[0-9.,][0-9.,'\u2019{_BLANKS}]*?(?:[eE][-+]?[0-9]+)?)"
    rf"[{_BLANKS}]*(?P<after>{_CURRENCY})?(?P<percent>%)?(?P<close>\))?"
)
# The first group of thousands has no leading zero: 0.123 is a fraction.
_DIGITS = {
    POINT: re.compile(
        rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?P<mark>[,'\u2019{_BLANKS}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
        r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3})(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?"
    ),
    COMMA: re.compile(
        rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?P<mark>[.'\u2019{_BLANKS}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*)"
        r"(?:,[0-9]*)?(?:[eE][-+]?[0-9]+)?|,[0-9]+(?:[eE][-+]?[0-9]+)?"
    ),
}
_THOUSANDS = {
    POINT: str.maketrans("", "", f",'\u2019{_BLANKS}"),
    COMMA: str.maketrans(",", ".", f".'\u2019{_BLANKS}"),
}
# Lines of numbers with decimal commas, and a comma among them that cannot separate thousands.
_DECIMAL_COMMAS = re.compile(r"(?:[-+]?+[0-9]++(?:,[0-9]++)?+(?:[eE][-+]?[0-9]++)?+\n)*+")
_FOR_CERTAIN = re.compile(r",(?![0-9]{3}(?:[eE][-+]?[0-9]+)?\n)|(?:^|\n)[-+]?0[0-9]*,|[0-9]{4},")
# A plain number that a decimal comma would make a thousand times larger.
_GROUPED = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+")


@dataclass(frozen=True, eq=False)
class FormattedNumbers:
    """A column of numbers that Python does not read as they are; by each decimal mark, None if that gives none."""

    words: Words
    by_point: np.ndarray | None
    by_comma: np.ndarray | None

    @property
    def mark(self) -> str | None:
        """The only decimal mark that is possible; None if both are and differ, "" if both are the same."""
        if self.by_point is None or self.by_comma is None:
            return COMMA if self.by_point is None else POINT
        return "" if np.array_equal(self.by_point, self.by_comma, equal_nan=True) else None

    def by(self, mark: str) -> np.ndarray | None:
        return self.by_comma if mark == COMMA else self.by_point


def read_plain_numbers(words: Words) -> np.ndarray | None:
    """The numbers of a column in the notation of programs, such as -3, 2.5 and 1e5; None if a word is none."""
    try:
        values = np.array(list(map(float, words.distinct)))
    except ValueError:
        return None
    text = "".join(words.distinct)
    if "_" in text:  # Python reads 1_000 as a number; in a table it is a name
        return None
    return _whole_if_possible(words, values, is_whole=text.replace("-", "").isdigit())


def read_formatted_numbers(name: str, words: Words) -> FormattedNumbers | None:
    """The numbers of a column by each decimal mark; None if a word is no number, however written.

    >>> read_formatted_numbers("x", Words.of(["1.234,5", "7"])).by_comma
    array([1234.5,    7. ])
    >>> read_formatted_numbers("x", Words.of(["1,234"])).mark is None
    True
    """
    simple = _read_decimal_commas(words)
    if simple is not None:
        return simple
    parts = []
    for word in words.distinct:
        found = _SPELLED.fullmatch(word)
        if found is None or not _is_consistent(found):
            return None
        parts.append(found)
    by_mark = {mark: _values_by(mark, parts) for mark in (POINT, COMMA)}
    if by_mark[POINT] is None and by_mark[COMMA] is None:
        return None
    _check_units(name, parts)
    readings = [
        None if values is None else _whole_if_possible(words, np.array(values), is_whole=_are_whole(values))
        for values in (by_mark[POINT], by_mark[COMMA])
    ]
    return FormattedNumbers(words, *readings)


def _read_decimal_commas(words: Words) -> FormattedNumbers | None:
    """Numbers such as 1,5 without anything else, ten times as fast as one by one; None if they are not such numbers."""
    lines = "\n".join([*words.distinct, ""])
    if _DECIMAL_COMMAS.fullmatch(lines) is None or _FOR_CERTAIN.search(lines) is None:
        return None
    values = list(map(float, lines.replace(",", ".").split("\n")[:-1]))
    return FormattedNumbers(words, None, _whole_if_possible(words, np.array(values), is_whole=_are_whole(values)))


def spells_thousands(words: Words) -> bool | None:
    """Whether a decimal comma would change plain numbers: 1.234 would be 1234.

    None if the numbers have a decimal point for certain, False if they have none at all.
    """
    is_changed = False
    for word in words.distinct:
        if "." not in word:
            continue
        if not _GROUPED.fullmatch(word):
            return None
        is_changed = True
    return is_changed


def without_thousands(words: Words) -> np.ndarray:
    """Plain numbers such as 1.234 whose points separate thousands."""
    values = [float(word.replace(".", "")) for word in words.distinct]
    return _whole_if_possible(words, np.array(values), is_whole=_are_whole(values))


def _is_consistent(found: re.Match[str]) -> bool:
    """At most one sign and one currency; brackets around an amount of money make it negative."""
    has_brackets = found["open"] is not None
    if has_brackets != (found["close"] is not None):
        return False
    n_signs = (found["sign"] is not None) + (found["second"] is not None) + has_brackets
    n_currencies = (found["before"] is not None) + (found["after"] is not None)
    return n_signs <= 1 and n_currencies <= 1 and (n_currencies == 1 or not has_brackets)


def _values_by(mark: str, parts: Sequence[re.Match[str]]) -> list[float] | None:
    pattern, thousands = _DIGITS[mark], _THOUSANDS[mark]
    values = []
    for found in parts:
        digits = found["digits"]
        if pattern.fullmatch(digits) is None:
            return None
        number = float(digits.translate(thousands))
        is_negative = found["open"] or found["sign"] in ("-", "\u2212") or found["second"] in ("-", "\u2212")
        values.append(-number if is_negative else number)
    return values


def _check_units(name: str, parts: Sequence[re.Match[str]]) -> None:
    """Refuse a column whose numbers have different units."""
    in_percent = [found[0] for found in parts if found["percent"]]
    plain = [found[0] for found in parts if not found["percent"]]
    if in_percent and plain:
        raise ValueError(
            f"column {name!r} mixes percentages and other numbers ({in_percent[0]!r}, {plain[0]!r}); "
            f"write all of them alike, or keep the column as text='{name}'"
        )
    currencies = list(dict.fromkeys(filter(None, (found["before"] or found["after"] for found in parts))))
    if len(currencies) > 1:
        raise ValueError(
            f"column {name!r} mixes the currencies {some(currencies)}; convert them to one, "
            f"or keep the column as text='{name}'"
        )


def _are_whole(values: Sequence[float]) -> bool:
    return all(value.is_integer() for value in values)


def _whole_if_possible(words: Words, values: np.ndarray, *, is_whole: bool) -> np.ndarray:
    """Integers if every cell has one that a float can be, else floats."""
    is_exact = is_whole and words.has_all and len(values) > 0 and np.abs(values).max() < MOST_EXACT
    if is_exact:
        return values.astype(np.int64)[words.places]
    return words.numbers(values)
