"""Numbers as people write them, read back exactly; and refused where the decimal mark is in doubt."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from properties import examples
from treewright import read_table


def read(written: str, **options: Any) -> Any:
    return read_table(io.BytesIO(written.encode()), **options)


def column(cells: list[str], **options: Any) -> np.ndarray:
    """One column of a file that is separated by tabs."""
    return read("x\tword\n" + "".join(f"{cell}\tw\n" for cell in cells), **options)["x"]


def grouped(text: str, thousands: str, decimal: str) -> str:
    """A number that Python has written as 1,234.5 with other marks."""
    return text.translate({ord(","): thousands, ord("."): decimal})


STYLES = {
    "1,234.50": (",", "."),
    "1.234,50": (".", ","),
    "1 234,50": (" ", ","),
    "1\u202f234,50": ("\u202f", ","),
    "1'234.50": ("'", "."),
    "1234,50": ("", ","),
}
UNITS = ["{}", "${}", "{} €", "EUR {}", "{}%", "{} %", "£{}"]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("unit", UNITS)
def test_formatted_numbers_are_those_that_were_written(style: str, unit: str) -> None:
    @examples(20)
    @given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=8))
    def check(hundredths: list[int]) -> None:
        exact = [number / 100 for number in hundredths]
        cells = [unit.format(grouped(f"{number:,.2f}", *STYLES[style])) for number in exact]
        np.testing.assert_array_equal(column(cells), exact)

    check()


@examples(40)
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=9), st.sampled_from([",", "."]))
def test_a_file_of_another_country_is_read_as_by_pandas(numbers: list[float], decimal: str) -> None:
    other = {",": ".", ".": ","}[decimal]
    cells = [grouped(f"{number:,.2f}", other, decimal) for number in numbers]
    text = "a;b\n" + "".join(f"{cell};{place}\n" for place, cell in enumerate(cells))
    theirs = pd.read_csv(io.StringIO(text), sep=";", decimal=decimal, thousands=other)
    ours = read(text)
    np.testing.assert_array_equal(ours["a"], theirs["a"].to_numpy())
    np.testing.assert_array_equal(ours["b"], theirs["b"].to_numpy())


def test_a_mark_that_may_be_of_thousands_or_decimal_is_asked_about() -> None:
    with pytest.raises(ValueError, match=r"column 'x': the mark in '1,234' .*; give decimal='\.' or decimal=','"):
        column(["1,234", "5"])
    assert column(["1,234", "5"], decimal=".").tolist() == [1234, 5]
    assert column(["1,234", "5"], decimal=",").tolist() == [1.234, 5.0]


def test_another_column_of_the_file_decides_the_mark() -> None:
    by_point = read('x,y\n"1,234",0.5\n5,2\n')
    assert by_point["x"].tolist() == [1234, 5]
    by_comma = read("x;y;z\n1,234;0,5;1.234\n5;2;7\n")
    assert by_comma["x"].tolist() == [1.234, 5.0]
    assert by_comma["z"].tolist() == [1234, 7]
    with pytest.raises(ValueError, match=r"column 'z': the mark in '1.234'"):
        read("x;y;z\n0.5;0,5;1.234\n")


def test_plain_numbers_have_a_point_unless_the_file_has_commas() -> None:
    assert column(["1.234", "5.678"]).tolist() == [1.234, 5.678]
    assert column(["1.234", "5.678"], decimal=",").tolist() == [1234, 5678]
    with pytest.raises(ValueError, match=r"column 'x': '0\.5' is no number with decimal=','"):
        column(["0.5"], decimal=",")
    with pytest.raises(ValueError, match=r"numbers such as '1,5', which have another mark than decimal='\.'"):
        column(["1,5"], decimal=".")


def test_pairs_in_a_file_separated_by_commas_do_not_change_other_columns() -> None:
    assert read('pair,x\n"1,5",1.234\n"2,5",2.345\n')["x"].tolist() == [1.234, 2.345]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["-$3.10", "$-2", "$1"], [-3.1, -2.0, 1.0]),
        (["($1,234.50)", "$2"], [-1234.5, 2.0]),
        (["\u22125,5", "3,5"], [-5.5, 3.5]),
        (["12,34,567", "1,00,000.5"], [1234567.0, 100000.5]),
        (["5%", "-", "12.5%"], [5.0, np.nan, 12.5]),
        (["$0", "0", "$5"], [0, 0, 5]),
        (["1,5e3", "2,5"], [1500.0, 2.5]),
        ([",5", "1,"], [0.5, 1.0]),
    ],
)
def test_signs_brackets_and_units(cells: list[str], numbers: list[float]) -> None:
    np.testing.assert_array_equal(column(cells), numbers)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["5%", "0.05"], "mixes percentages and other numbers"),
        (["$5", "€5"], r"mixes the currencies '\$', '€'"),
    ],
)
def test_numbers_in_different_units_are_refused_with_a_way_out(cells: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence + ".*keep the column as text='x'"):
        column(cells)
    assert column(cells, text=["x"]).tolist() == cells


@pytest.mark.parametrize(
    "cells", [["1.2.3"], ["1,2,3"], ["12 34"], ["5-7"], ["(5)"], ["$"], ["1,23,4"], ["0,123,456"], ["5 kg"], ["- 5 -"]]
)
def test_what_is_no_number_stays_text(cells: list[str]) -> None:
    assert column(cells).tolist() == cells


@examples(200)
@given(st.lists(st.text("0123456789.,' -+$%()e", min_size=1, max_size=9), min_size=1, max_size=4))
def test_any_column_is_numbers_text_or_one_sentence(cells: list[str]) -> None:
    assume(all(cell.strip() for cell in cells))
    values = numbers_or_nothing(cells)
    digits = [[mark for mark in cell if mark in "123456789"] for cell in cells]
    for value, found in zip(values, digits, strict=False):
        # A number that is read has the digits that were written.
        if found and np.isfinite(value) and "e" not in "".join(cells):
            assert [mark for mark in np.format_float_positional(value) if mark in "123456789"] == found


def numbers_or_nothing(cells: list[str]) -> np.ndarray:
    """The numbers of a column; nothing if it is text, or refused in one sentence."""
    try:
        values = column(cells)
    except ValueError as error:
        message = str(error)
    else:
        return values if values.dtype.kind in "if" else np.empty(0)
    assert "\n" not in message
    return np.empty(0)
