"""The columns of a text file, each recognised as numbers, dates or text; the file has one decimal mark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from treewright.table.categories import some
from treewright.table.read_options import ReadOptions
from treewright.table.spelling.dates import read_iso_dates, read_written_dates
from treewright.table.spelling.numbers import (
    COMMA,
    POINT,
    FormattedNumbers,
    read_formatted_numbers,
    read_plain_numbers,
    spells_thousands,
    without_thousands,
)
from treewright.table.spelling.words import Words, missing_words
from treewright.table.user_warnings import warn_user

Recognised = np.ndarray | FormattedNumbers
"""A column that is finished, or numbers whose decimal mark the whole file decides."""

Cells = Words | Recognised
"""A column of a file: its words, or what a faster reader has recognised."""

AS_THEY_ARE = ReadOptions()

# A column with as many numbers, and nearly nothing else, has probably words for missing values.
LEAST_NUMBERS, MOST_OF_THEM = 5, 0.8


def settle_columns(
    columns: Mapping[str, Cells],
    options: ReadOptions = AS_THEY_ARE,
    words_of: Callable[[list[str]], Mapping[str, Words]] | None = None,
    *,
    commas_are_decimal: bool = True,
) -> dict[str, np.ndarray]:
    """The columns of one file as numbers, dates or text.

    Parameters
    ----------
    columns : mapping of names to Words, or to what a faster reader has recognised
        Arrays are plain numbers.
    options : ReadOptions
    words_of : function from names to the Words of these columns, or None
        For columns that are given as arrays; only asked for if the decimal mark of the file is in doubt.
    commas_are_decimal : bool
        Whether numbers with a decimal comma say anything about the other columns. Where commas separate the values of
        a row, they do not.

    >>> settle_columns({"a": Words.of(["1.234,50"]), "b": Words.of(["1.234"])})
    {'a': array([1234.5]), 'b': array([1234])}
    """
    found = {
        name: recognise(name, cells, options) if isinstance(cells, Words) else cells for name, cells in columns.items()
    }
    marks = {one.mark for one in found.values() if isinstance(one, FormattedNumbers)}
    has_commas = commas_are_decimal and COMMA in marks
    mark = options.decimal
    usual = options.usual.get("decimal")
    if None in marks or has_commas or COMMA in (mark, usual):
        plain = _words_of_fractions(found, columns, options, words_of)
        doubts = {name: spells_thousands(words) for name, words in plain.items()}
        mark = mark or _mark_of_file(marks, doubts, has_commas=has_commas)
        for name, words in plain.items():
            may_have_commas = has_commas or usual == COMMA
            found[name] = _settle_plain(name, found[name], words, mark, options, has_commas=may_have_commas)
        mark = mark or usual
    if marks and mark in (POINT, COMMA):
        options.decided["decimal"] = mark
    settled = {
        name: _take(name, one, mark, options) if isinstance(one, FormattedNumbers) else one
        for name, one in found.items()
    }
    return _without_numbers(settled, options) if options.na_values else settled


def _without_numbers(columns: Mapping[str, np.ndarray], options: ReadOptions) -> dict[str, np.ndarray]:
    """The columns with numbers as missing values that are among the words for them, such as -99."""
    numbers = read_plain_numbers(Words.of(word for word in sorted(options.na_values) if _spells_number(word)))
    if numbers is None or not len(numbers):
        return dict(columns)
    return {
        name: np.where(np.isin(values, numbers), np.nan, values.astype(np.float64))
        if values.dtype.kind in "if" and np.isin(values, numbers).any()
        else values
        for name, values in columns.items()
    }


def _spells_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def recognise(name: str, cells: Words, options: ReadOptions = AS_THEY_ARE) -> Recognised:
    """One column as numbers, dates or, failing these, text with None where missing."""
    words = _known(name, cells, options)
    if options.stays_text(name):
        return words.text()
    if not words.distinct:
        return np.full(len(words.places), np.nan)
    for read in (read_plain_numbers, read_iso_dates):
        array = read(words)
        if array is not None:
            return array
    if not any(mark.isdigit() for mark in words.distinct[0]):
        return words.text()
    try:
        dates = read_written_dates(name, words, options)
        numbers = read_formatted_numbers(name, words) if dates is None else None
    except ValueError:
        if options.may_stay_text(name):
            return words.text()
        raise
    if options.may_stay_text(name) and name in options.text:
        return words.text()
    if dates is None and numbers is None and not options.may_stay_text(name):
        _warn_of_strange_words(name, words)
    return dates if dates is not None else numbers if numbers is not None else words.text()


def _warn_of_strange_words(name: str, words: Words) -> None:
    """Warn of a column that would be numbers but for a few words."""
    if not _spells_number(words.distinct[0]):
        return
    strange = [word for word in words.distinct if not _spells_number(word)]
    if len(words.distinct) - len(strange) < max(LEAST_NUMBERS, len(words.distinct) * MOST_OF_THEM):
        return
    warn_user(
        f"column {name!r} is text because of {some(strange)} among its numbers; if these are missing values, give "
        f"na_values={strange[0]!r}"
    )


def read_spelling(cells: Sequence[str]) -> np.ndarray:
    """A column of text as integers, numbers, dates or, failing these, text with None where missing.

    >>> read_spelling(["3", "NA", "2.5"])
    array([3. , nan, 2.5])
    >>> read_spelling(["2024-02-29", "?"])
    array(['2024-02-29',        'NaT'], dtype='datetime64[D]')
    """
    return settle_columns({"": Words.of(cells)})[""]


def read_text_column(name: str, cells: Sequence[str | None], options: ReadOptions = AS_THEY_ARE) -> np.ndarray:
    """A column of text, which may spell numbers, dates or missing values as it does in CSV."""
    return settle_columns({name: Words.of("" if cell is None else cell for cell in cells)}, options)[name]


def _known(name: str, cells: Words, options: ReadOptions) -> Words:
    categories = options.learned_categories(name)
    return cells.without(missing_words(cells.distinct, options.na_values, categories))


def _words_of_fractions(
    found: Mapping[str, Recognised],
    columns: Mapping[str, Cells],
    options: ReadOptions,
    words_of: Callable[[list[str]], Mapping[str, Words]] | None,
) -> dict[str, Words]:
    """The words of plain numbers with fractions, whose points might separate thousands."""
    names = [
        name
        for name, one in found.items()
        if isinstance(one, np.ndarray) and one.dtype.kind == "f" and not np.isnan(one).all()
    ]
    given = {name: cells for name in names if isinstance(cells := columns[name], Words)}
    others = [name for name in names if name not in given]
    if others and words_of is not None:
        given |= words_of(others)
    return {name: _known(name, cells, options) for name, cells in given.items()}


def _mark_of_file(marks: set[str | None], doubts: Mapping[str, bool | None], *, has_commas: bool) -> str | None:
    """The decimal mark that columns show beyond doubt; None if they show none, or both."""
    has_points = POINT in marks or None in doubts.values()
    if has_commas == has_points:
        return None
    return COMMA if has_commas else POINT


def _settle_plain(
    name: str, values: Recognised, words: Words, mark: str | None, options: ReadOptions, *, has_commas: bool
) -> Recognised:
    """Plain numbers with fractions in a file where commas are decimal marks: 1.234 may be 1234."""
    is_grouped = spells_thousands(words)
    if is_grouped and mark == COMMA:
        return without_thousands(words)
    is_wrong = (is_grouped and mark is None and has_commas) or (is_grouped is None and options.decimal == COMMA)
    if not is_wrong or options.may_stay_text(name):
        return values
    example = next(word for word in words.distinct if "." in word)
    if is_grouped is None:
        raise ValueError(
            f"column {name!r}: {example!r} is no number with decimal=','; write all numbers alike, "
            f"or keep the column as text='{name}'"
        )
    raise _doubt(name, example)


def _take(name: str, found: FormattedNumbers, mark: str | None, options: ReadOptions) -> np.ndarray:
    """The numbers by the only decimal mark that the column allows, or by that of the file."""
    own = found.mark
    wanted = options.decimal if options.decimal is not None else mark if own is None else own
    values = None if wanted is None else found.by(wanted or POINT)
    if values is not None:
        return values
    if options.may_stay_text(name):
        return found.words.text()
    if wanted is None:
        example = next(word for word in found.words.distinct if "," in word or "." in word)
        raise _doubt(name, example)
    raise ValueError(
        f"column {name!r} has numbers such as {found.words.distinct[0]!r}, which have another mark than "
        f"decimal={wanted!r}; give the other one, or keep the column as text='{name}'"
    )


def _doubt(name: str, example: str) -> ValueError:
    return ValueError(
        f"column {name!r}: the mark in {example!r} may separate thousands or be the decimal mark, and no other number "
        "of the file decides it; give decimal='.' or decimal=','"
    )
