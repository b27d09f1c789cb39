"""Reading files: CSV, TSV, JSON lines and Parquet."""

import csv
import gzip
import json
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from properties import examples
from treewright.table import read_frame, read_table
from treewright.table.spelling import MISSING_WORDS


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_types_are_found_by_spelling(tmp_path):
    text = (
        "n,x,word,day,moment,flag\n1,1.5,a,2024-02-29,2024-02-29T12:00,true\n-2,NA,,?,2024-02-29 12:00:00+02:00,false\n"
    )
    frame = read_table(write(tmp_path, "t.csv", text))
    assert frame["n"].tolist() == [1, -2]
    assert frame["n"].dtype == np.int64
    np.testing.assert_array_equal(frame["x"], [1.5, np.nan])
    assert frame["word"].tolist() == ["a", None]
    assert frame["day"].tolist() == [date(2024, 2, 29), None]
    assert frame["moment"].tolist() == [datetime(2024, 2, 29, 12), datetime(2024, 2, 29, 10)]
    assert frame["flag"].tolist() == ["true", "false"]


@pytest.mark.parametrize("word", sorted(MISSING_WORDS))
def test_words_for_missing_are_missing(tmp_path, word):
    frame = read_table(write(tmp_path, "t.csv", f"a,b\n1,x\n{word},{word}\n"))
    assert np.isnan(frame["a"][1])
    assert frame["b"].tolist() == ["x", None]


@pytest.mark.parametrize("cells", [["1_000", "2"], ["2024-13-45", "2024-01-01"], ["1", "one"], ["1.2.3", "1"]])
def test_what_only_looks_like_numbers_or_dates_stays_text(tmp_path, cells):
    assert read_table(write(tmp_path, "t.csv", "a\n" + "\n".join(cells)))["a"].tolist() == cells


@pytest.mark.parametrize(("name", "mark"), [("t.csv", ","), ("t.csv", ";"), ("t.csv", "\t"), ("t.tsv", "\t")])
def test_the_delimiter_is_found(tmp_path, name, mark):
    frame = read_table(write(tmp_path, name, f"a{mark}b\n1,5{mark}2\n" if mark != "," else "a,b\n15,2\n"))
    assert frame.columns == ["a", "b"]
    assert frame["b"].tolist() == [2]


def test_quotes_newlines_byte_order_marks_and_windows_lines_are_understood(tmp_path):
    text = '\ufeff"a, first",b\r\n"x ""y""","two\nlines"\r\n\r\nz,w\r\n'
    frame = read_table(write(tmp_path, "t.csv", text))
    assert frame.columns == ["a, first", "b"]
    assert frame["a, first"].tolist() == ['x "y"', "z"]
    assert frame["b"].tolist() == ["two\nlines", "w"]


def test_blank_lines_and_spaces_around_cells_mean_nothing(tmp_path):
    frame = read_table(write(tmp_path, "t.csv", '\na , b\n1 ,  "x, y"\n\n2, z \n\n'))
    assert frame.to_dict() == {"a": [1, 2], "b": ["x, y", "z"]}


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    assert read_table(write(tmp_path, "t.csv", "a,b\n")).shape == (0, 2)


def test_zipped_files_are_read(tmp_path):
    assert read_table(write(tmp_path, "t.csv.gz", gzip.compress(b"a\n1\n")))["a"].tolist() == [1]


def test_json_lines_keep_their_types_and_text_may_spell_numbers(tmp_path):
    rows = [{"n": 1, "t": "1", "b": True, "d": "2024-01-01"}, {"n": 2, "t": "NA", "b": None, "x": 1.5}]
    for name in ("t.jsonl", "t.ndjson"):
        frame = read_table(write(tmp_path, name, "\n".join(map(json.dumps, rows)) + "\n"))
        assert frame["n"].dtype == np.int64
        np.testing.assert_array_equal(frame["t"], [1.0, np.nan])
        assert frame["b"].tolist() == [True, None]
        assert frame["d"].tolist() == [date(2024, 1, 1), None]
        np.testing.assert_array_equal(frame["x"], [np.nan, 1.5])


def test_parquet_reads_like_the_frame_it_was_written_from(tmp_path):
    table = pa.table(
        {
            "n": [1, 2, 3],
            "x": [1.5, None, 2.5],
            "t": ["a", None, "b"],
            "b": [True, None, False],
            "d": [date(2024, 1, 1), None, date(2024, 1, 3)],
            "m": [datetime(2024, 1, 1, 12), None, datetime(2024, 1, 3)],
            "c": pd.Categorical(["x", "z", None], categories=["z", "y", "x"], ordered=True),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet")
    assert frame["n"].dtype == np.int64
    assert frame["t"].tolist() == ["a", None, "b"]
    ours, theirs = read_frame(frame), read_frame(table)
    assert ours.columns == theirs.columns
    np.testing.assert_array_equal(ours.values, theirs.values)


def test_parquet_without_pyarrow_tells_how_to_install_it(tmp_path):
    path = write(tmp_path, "t.parquet", b"PAR1")
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from treewright.table import read_table\n"
        f"try: read_table({str(path)!r})\n"
        "except ImportError as error: print(error)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'treewright[arrow]'" in answer.stdout


BAD = {
    "ragged": ("t.csv", "a,b\n1,2\n3\n", "t.csv: line 3: 1 values for 2 columns"),
    "ragged after a long cell": ("t.csv", 'a,b\n"x\ny",2\n1,2,3\n', "line 4: 3 values for 2 columns"),
    "open quote": ("t.csv", 'a,b\n"x,1\n2,3\n', "line 3: unexpected end of data"),
    "repeated names": ("t.csv", "a,a\n1,2\n", "'a' occur more than once"),
    "no name": ("t.csv", "a,\n1,2\n", "column 2 of the header has no name"),
    "empty": ("t.csv", "", "t.csv: the file is empty"),
    "blank": ("t.tsv", " \n\n", "the file is empty"),
    "latin-1": (
        "t.csv",
        "größe\n1\n".encode("latin-1"),
        "byte 2 is not UTF-8; give its encoding, such as encoding='latin-1'",
    ),
    "binary": ("t.csv", b"a,b\n\0\0\n", "binary data"),
    "unknown suffix": ("t.docx", "a", r"suffix '.docx' is not known; files of type .csv, .*\.parquet"),
    "no suffix": ("table", "a", "suffix '' is not known"),
    "zipped unknown": ("t.gz", gzip.compress(b"a"), "suffix '.gz' is not known"),
    "no gzip": ("t.csv.gz", b"a,b\n1,2\n", "no gzip file"),
    "half a gzip": ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "cut short"),
    "bad json": ("t.jsonl", '{"a": 1}\n{"a": }\n', "line 2: Expecting value"),
    "json list": ("t.jsonl", "[1]\n", "line 1: expected one object per line"),
    "nested json": ("t.jsonl", '{"a": [1]}\n', "line 1: 'a' holds a nested value"),
    "no parquet": ("t.parquet", b"garbage!" * 4, "t.parquet: "),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_reported_in_one_sentence(tmp_path, case):
    name, content, message = BAD[case]
    path = write(tmp_path, name, content)
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_directory_have_different_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="is a directory"):
        read_table(tmp_path)


def is_word(text: str) -> bool:
    """Text that no reader should treat as a missing value, a number or a date."""
    return text.strip() == text and text not in MISSING_WORDS and not any(mark in text for mark in "\r\0")


words = st.one_of(st.none(), st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(is_word))
numbers = st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-(2**40), 2**40))


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(words, numbers), min_size=1, max_size=8))
def test_a_table_written_as_csv_reads_back(tmp_path, rows):
    path = tmp_path / "round.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["word", "number"])
        writer.writerow(["a word", "0"])
        writer.writerows([[word or "", "" if x is None else repr(x)] for word, x in rows])
    frame = read_table(path)
    assert frame["word"].tolist() == ["a word", *(word for word, _ in rows)]
    expected = np.array([0.0, *(x for _, x in rows)], dtype=float)
    np.testing.assert_array_equal(frame["number"].astype(float), expected)


def test_text_in_parquet_may_spell_numbers_and_missing_values_and_the_index_of_pandas_is_no_column(tmp_path):
    frame = pd.DataFrame({"a": ["1", "?", "2.5"], "b": ["x", "NA", "y"]}, index=[5, 7, 9])
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.columns == ["a", "b"]
    np.testing.assert_array_equal(table["a"], [1.0, np.nan, 2.5])
    assert table["b"].tolist() == ["x", None, "y"]
