"""How a table file is to be read: separator, encoding, decimal mark, order of dates, words for missing values."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from treewright.table.column import Column

DECIMALS = (".", ",")
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
DATE_ORDERS = (DAY_FIRST, MONTH_FIRST)

# Separators that have a name, for shells where the character itself is hard to type.
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class ReadOptions:
    """The choices of a reader; None where the file itself decides.

    Parameters
    ----------
    sep : str or None
        The character between the values of a row; " " is any number of blanks.
    encoding : str or None
        The encoding of a text file.
    decimal : "." or "," or None
        The decimal mark of numbers.
    dates : "day-first" or "month-first" or None
        The order of dates such as 05/01/2023.
    na_values : frozenset of str
        Further words for missing values.
    sheet : str or None
        The sheet of a workbook.
    text : frozenset of str
        Columns that stay text unless they are plain numbers or ISO dates.
    learned : mapping of names to Column, or None
        The columns of a model. Its columns of text stay text. Columns that it does not have are not refused.
    target : str
        The target of that model, which is recognised as in training.
    usual : mapping
        The decimal mark and the order of dates of the file that the model was fitted to, for columns in doubt.
    decided : dict
        The decimal mark and the order of dates that readers find in the file, or that were given.
    """

    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    dates: str | None = None
    na_values: frozenset[str] = frozenset()
    sheet: str | None = None
    text: frozenset[str] = frozenset()
    learned: Mapping[str, Column] | None = field(default=None, hash=False)
    target: str = ""
    usual: Mapping[str, str] = field(default_factory=dict, hash=False)
    decided: dict[str, str] = field(default_factory=dict, hash=False, compare=False)

    def stays_text(self, name: str) -> bool:
        """Whether a column is one of text by the model, whatever its cells spell."""
        categories = self.learned_categories(name)
        return bool(categories) and all(isinstance(one, str) for one in categories)

    def learned_categories(self, name: str) -> tuple[object, ...]:
        """The categories of a column of the model."""
        column = None if self.learned is None else self.learned.get(name)
        return () if column is None else column.categories

    def may_stay_text(self, name: str) -> bool:
        """Whether a column that cannot be decided is no error."""
        is_unused = self.learned is not None and name not in self.learned and name != self.target
        return name in self.text or is_unused


def make_options(
    *,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    na_values: Iterable[str] = (),
    sheet: str | None = None,
    text: Iterable[str] = (),
    like: Any = None,
) -> ReadOptions:
    """Check the choices of a user.

    >>> make_options(sep="pipe").sep
    '|'
    """
    if decimal is not None and decimal not in DECIMALS:
        raise ValueError(f"decimal={decimal!r} is no decimal mark; give '.' or ','")
    if dates is not None and dates not in DATE_ORDERS:
        raise ValueError(f"dates={dates!r} is no order of dates; give 'day-first' or 'month-first'")
    return ReadOptions(
        _separator(sep),
        _encoding(encoding),
        decimal,
        dates,
        frozenset(_words("na_values", na_values)),
        sheet,
        frozenset(_words("text", text)),
        *_learned(like),
    )


def _separator(sep: str | None) -> str | None:
    if sep is None:
        return None
    found = SEPARATORS.get(sep.lower(), sep)
    if len(found) != 1 or found in '"\r\n\0' or found.isalnum():
        raise ValueError(
            f"sep={sep!r} is no separator; give one character such as '|', or comma, semicolon, tab, pipe or space"
        )
    return found


def _encoding(encoding: str | None) -> str | None:
    if encoding is None:
        return None
    try:
        # Codecs such as rot13 and base64 have names, too, but do not turn bytes into text.
        b"".decode(codecs.lookup(encoding).name)
    except (LookupError, ValueError, TypeError):
        raise ValueError(
            f"encoding={encoding!r} is not known; give a name such as 'latin-1', 'cp1252' or 'utf-16'"
        ) from None
    return encoding


def _words(parameter: str, given: Iterable[str]) -> Sequence[str]:
    words = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(word, str) for word in words):
        raise ValueError(f"{parameter} has values that are no text; give a list of words")
    return words


def _learned(like: Any) -> tuple[Mapping[str, Column] | None, str, Mapping[str, str]]:
    """The columns, the name of the target and the conventions of a model, or given columns."""
    if like is None:
        return None, "", {}
    if not hasattr(like, "_columns"):
        columns = list(like) if isinstance(like, Sequence) else []
        if not all(isinstance(one, Column) for one in columns):
            raise ValueError("like is no model of treewright; give a fitted model, or leave it out")
        return ({one.name: one for one in columns} or None), "", {}
    usual = {
        name: value
        for name, value in dict(getattr(like, "reading_", {})).items()
        if value in {"decimal": DECIMALS, "dates": DATE_ORDERS}.get(name, ())
    }
    return {one.name: one for one in like._columns()}, str(like._target().name), usual
