"""Dates as people write them, read back exactly; and refused where day and month are in doubt."""

from __future__ import annotations

import io
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treewright import read_table

DAYS = st.lists(st.dates(date(1900, 1, 1), date(2100, 12, 31)), min_size=1, max_size=8)


def column(cells: list[str], **options: Any) -> np.ndarray:
    text = "d\tword\n" + "".join(f"{cell}\tw\n" for cell in cells)
    return read_table(io.BytesIO(text.encode()), **options)["d"]


@pytest.mark.parametrize(
    "style",
    [
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%B %d, %Y",
        "%b %d, %Y",
        "%d %B %Y",
        "%d-%b-%Y",
        "%d.%m.%Y",
        "%a, %d %b %Y",
        "%A, %B %d, %Y",
    ],
)
def test_dates_without_doubt_are_those_that_were_written(style: str) -> None:
    @examples(25)
    @given(DAYS)
    def check(days: list[date]) -> None:
        # Points have the day first, unless a date shows that the month is.
        assert column([day.strftime(style) for day in days]).tolist() == days

    check()


@pytest.mark.parametrize("style", ["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"])
def test_the_column_decides_the_order_or_it_is_asked_about(style: str) -> None:
    order = "day-first" if style.startswith("%d") else "month-first"

    @examples(40)
    @given(DAYS)
    def check(days: list[date]) -> None:
        cells = [day.strftime(style) for day in days]
        assert column(cells, dates=order).tolist() == days
        if all(day.day <= 12 for day in days) and any(day.day != day.month for day in days):
            with pytest.raises(ValueError, match=r"give dates='day-first' or dates='month-first'"):
                column(cells)
        else:
            assert column(cells).tolist() == days

    check()


def test_a_month_is_its_first_day() -> None:
    assert column(["2023-05", "2024-12"]).tolist() == [date(2023, 5, 1), date(2024, 12, 1)]
    assert column(["05/2023", "12/2024"]).tolist() == [date(2023, 5, 1), date(2024, 12, 1)]
    assert column(["May 2023", "-"]).tolist() == [date(2023, 5, 1), None]


@pytest.mark.parametrize("style", ["%d.%m.%Y %H:%M", "%d/%m/%Y %I:%M:%S %p", "%B %d, %Y %H:%M:%S.%f"])
def test_times_are_kept(style: str) -> None:
    moments = [datetime(2023, 5, 25, 14, 30), datetime(2024, 12, 1, 0, 5), datetime(2024, 1, 2, 12, 0)]
    assert column([moment.strftime(style) for moment in moments]).tolist() == moments


def test_years_of_two_digits_are_asked_about() -> None:
    cells = ["25/01/23", "01/02/99"]
    with pytest.raises(ValueError, match=r"'25/01/23' has a year of two digits; give dates='day-first'"):
        column(cells)
    assert column(cells, dates="day-first").tolist() == [date(2023, 1, 25), date(1999, 2, 1)]
    assert column(cells, text=["d"]).tolist() == cells


def test_two_orders_in_one_column_are_refused() -> None:
    with pytest.raises(ValueError, match=r"day first \('25/01/2023'\) and with the month first \('01/25/2023'\)"):
        column(["01/25/2023", "25/01/2023"])
    with pytest.raises(ValueError, match=r"'25/01/2023' is no date with dates='month-first'"):
        column(["25/01/2023"], dates="month-first")


@pytest.mark.parametrize(
    "cells", [["31/02/2023"], ["2023-13"], ["May 32, 2023"], ["1.10.22", "2.4.1"], ["13:30"], ["May"], ["1/2"]]
)
def test_what_is_no_date_stays_text(cells: list[str]) -> None:
    assert column(cells).tolist() == cells
