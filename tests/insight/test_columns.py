"""Column summaries, against pandas and counts by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from treewright import datasets, summarise_columns


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n_rows = 50
    number = np.where(rng.random(n_rows) < 0.2, np.nan, rng.integers(0, 12, n_rows) / 4)
    town = pd.Series(rng.choice(["Bonn", "Kiel", "Ulm"], n_rows)).where(rng.random(n_rows) > 0.3, None)
    size = pd.Categorical(rng.choice(["S", "M", "L"], n_rows), categories=["S", "M", "L"], ordered=True)
    born = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, n_rows), unit="D"))
    return pd.DataFrame({"number": number, "town": town, "size": size, "born": born, "same": 7, "id": range(n_rows)})


def test_counts_and_ranges_are_those_of_pandas(frame: pd.DataFrame) -> None:
    summary = summarise_columns(frame)
    assert [one.name for one in summary] == list(frame.columns)
    assert [one.missing for one in summary] == frame.isna().sum().tolist()
    assert [one.distinct for one in summary] == frame.nunique().tolist()
    assert [one.word for one in summary] == ["number", "categories", "ordered", "date", "number", "number"]
    assert (float(summary[0].lowest), float(summary[0].highest)) == (frame["number"].min(), frame["number"].max())
    assert summary[3].lowest == frame["born"].min().date().isoformat()
    assert summary[2].categories == ("S", "M", "L")


def test_columns_that_do_not_vary_or_number_the_rows_are_odd(frame: pd.DataFrame) -> None:
    odd = {one.name: one.oddity for one in summarise_columns(frame) if one.oddity}
    assert odd == {"same": "has the same value in every row that has one", "id": "counts the rows"}


def test_tables_of_other_libraries_have_the_same_summary() -> None:
    columns = {"size": ["S", "L", None], "price": [3.0, 1.5, 2.0]}
    expected = str(summarise_columns(columns))
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pl.DataFrame(columns).to_dicts()):
        assert str(summarise_columns(table)) == expected


def test_declared_kinds_count() -> None:
    rows = [[1, "3.5"], [2, "4"]]
    summary = summarise_columns(rows, categorical_features=[0], numeric_features=[1])
    assert [one.word for one in summary] == ["categories", "number"]
    assert summary[0].categories == ("1", "2")
    assert (summary[1].lowest, summary[1].highest) == ("3.5", "4")


def test_the_printed_table_has_a_line_per_column_and_a_remark_per_odd_one() -> None:
    summary = summarise_columns(datasets.load_weather(with_day=True).X)
    lines = str(summary).splitlines()
    assert lines[0].split() == ["column", "kind", "missing", "values"]
    assert [line.split()[0] for line in lines[1:6]] == ["day", "outlook", "temperature", "humidity", "wind"]
    assert lines[6:] == ["Column 'day' differs in every row, as a name or number of the row does."]
    assert [one.name for one in summary[1:3]] == ["outlook", "temperature"]
