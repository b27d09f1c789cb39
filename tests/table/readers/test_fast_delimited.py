"""Large CSV files read by pyarrow have the same columns as by the general reader."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treewright.table.column import Column, Kind
from treewright.table.contents import Text
from treewright.table.read_options import make_options
from treewright.table.readers import fast_delimited
from treewright.table.readers.delimited import read_csv, read_large_file

pytest.importorskip("pyarrow")

CELLS = st.one_of(
    st.sampled_from(["", "NA", "?", "null", "NaN", "inf", "1_000", "+5", " 7 ", "-3", "1e5", ".5", "1.", "0x1F"]),
    st.sampled_from(["-", "+", "$5", "5%", "1.234", "05/25/2023", "2024-05", "--"]),
    st.sampled_from(["2024-05-01", "2024-13-01", "2024-05-01T10:00", "2024-05-01T10:00:00Z", "true", "é", "\u0663"]),
    st.integers(-(10**18), 10**18).map(str),
    st.floats(allow_nan=False).map(repr),
    st.text(alphabet="ab ;'-\u00a0", max_size=4),
)


def assert_same(written: str, monkeypatch: Any, **options: Any) -> None:
    monkeypatch.setattr(fast_delimited, "LEAST_TEXT", 10**9)
    slow, problem = read_or_message(written, **options)
    monkeypatch.setattr(fast_delimited, "LEAST_TEXT", 0)
    fast, other = read_or_message(written, **options)
    assert_streamed_the_same(written, fast, other, options)
    assert problem == other
    assert slow.keys() == fast.keys()
    for name in slow:
        assert slow[name].dtype == fast[name].dtype
        np.testing.assert_array_equal(slow[name], fast[name])


def assert_streamed_the_same(written: str, fast: dict[str, Any], problem: str, options: dict[str, Any]) -> None:
    """A file that is parsed while it is read, if it can be, has the same columns."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(written.encode())
        if problem:
            with suppress(ValueError):
                assert read_large_file(path, make_options(**options)) is None
            return
        streamed = read_large_file(path, make_options(**options))
    if streamed is None:
        return
    assert dict(streamed).keys() == fast.keys()
    for name in fast:
        assert streamed[name].dtype == fast[name].dtype
        np.testing.assert_array_equal(streamed[name], fast[name])


def test_a_plain_file_is_parsed_while_it_is_read(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(fast_delimited, "LEAST_TEXT", 0)
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;x\n2;y\n")
    streamed = read_large_file(path)
    assert streamed is not None
    assert streamed.to_dict() == {"a": [1.5, 2.0], "b": ["x", "y"]}
    for unusual in ("\na;b\n1;2\n", "a;b\n1;é\n", 'a;b\n1;"x"\n', "a;b\n1;0x1F\n", "a;b\n1\n"):
        path.write_text(unusual, encoding="utf-8")
        assert read_large_file(path) is None


def read_or_message(written: str, **options: Any) -> tuple[dict[str, np.ndarray], str]:
    try:
        return dict(read_csv(Text.of(written), make_options(**options))), ""
    except ValueError as error:
        return {}, str(error)


@pytest.mark.parametrize("kind", ["any", "numbers", "whole", "text"])
def test_any_cells_are_read_as_by_the_general_reader(monkeypatch: Any, kind: str) -> None:
    kinds = {
        "any": CELLS,
        "numbers": st.one_of(st.just("NA"), st.floats(allow_nan=False, allow_infinity=False).map(repr)),
        "whole": st.integers(-(2**60), 2**60).map(str),
        "text": st.sampled_from(["red", " red", "blue", "NA", ""]),
    }

    @examples(60)
    @given(st.lists(st.tuples(kinds[kind], CELLS), min_size=1, max_size=12))
    def check(rows: list[tuple[str, str]]) -> None:
        assert_same("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows), monkeypatch)

    check()


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_quoted_cells_are_read_as_by_the_general_reader(monkeypatch: Any, quoting: int) -> None:
    cells = st.one_of(CELLS, st.text(alphabet='ab,;"\n\r ', max_size=5), st.sampled_from(["1,5", "1,234", "1.234,5"]))

    @examples(60)
    @given(st.lists(st.tuples(cells, cells), min_size=1, max_size=12))
    def check(rows: list[tuple[str, str]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, quoting=quoting).writerows([("a", "b"), *rows])  # type: ignore[arg-type]
        assert_same(text.getvalue(), monkeypatch)

    check()


@pytest.mark.parametrize("separator", [";", "|", "\t"])
def test_other_separators_are_read_as_by_the_general_reader(monkeypatch: Any, separator: str) -> None:
    cells = st.sampled_from(
        ["1,5", "2,25", "1.234", "1.234,5", "7", "x", "", "0.5", "1,234", "-", "1,5e3", "-99", "+0,5", "inf"]
    )

    @examples(60)
    @given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6))
    def check(rows: list[tuple[str, str, str]]) -> None:
        lines = [separator.join("abc"), *map(separator.join, rows)]
        assert_same("\n".join(lines) + "\n", monkeypatch)
        assert_same("\n".join(lines) + "\n", monkeypatch, decimal=",", na_values=["-99", "7.0"], text=["b"])
        learned = [Column("a", Kind.CATEGORICAL, ("7", "-")), Column("b", Kind.NUMERIC)]
        assert_same("\n".join(lines) + "\n", monkeypatch, like=learned)

    check()


@pytest.mark.parametrize(
    "text",
    [
        "\n\na;b\n1;x\n\n2;y\n",
        "a,b\r\n1,2\r\n3,4",
        "a,b\n1,2\n3\n",
        'a,b\n1,"x, y"\n2,z\n',
        "a,b\n1,  padded  \n",
        "a\n\n1\n",
        "a,b\n",
        'a,b\n1,5" wide\n2,"x"\n',
        'a,b\n"1", "x"\n',
        'a,b\n1,"x"y\n',
        'a,b\n1,"x\n',
    ],
)
def test_lines_of_all_kinds_are_read_as_by_the_general_reader(monkeypatch: Any, text: str) -> None:
    assert_same(text, monkeypatch)
