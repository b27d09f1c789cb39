"""Files of all kinds: encodings, archives, open files, several files, separators, and columns without a name."""

from __future__ import annotations

import gzip
import io
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

from properties import examples
from treewright import C45Classifier, read_table

TEXT = "größe;ort\n1,5;Köln\n2,5;Łódź\n"
TABLE = {"größe": [1.5, 2.5], "ort": ["Köln", "Łódź"]}


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_found(tmp_path: Path, encoding: str) -> None:
    assert read_table(write(tmp_path, "t.csv", TEXT.encode(encoding))).to_dict() == TABLE


@pytest.mark.parametrize("encoding", ["iso-8859-2", "cp1250", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_asked_about_and_read(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "t.csv", TEXT.encode(encoding))
    with pytest.raises(ValueError, match=r"give (its )?encoding"):
        read_table(path)
    assert read_table(path, encoding=encoding).to_dict() == TABLE
    with pytest.raises(ValueError, match=r"encoding='klingon' is not known"):
        read_table(path, encoding="klingon")


def test_packed_files_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("folder/t.csv", TEXT)
        archive.writestr("__MACOSX/folder/._t.csv", "x")
    assert read_table(tmp_path / "t.zip").to_dict() == TABLE
    path = write(tmp_path, "t.json.gz", gzip.compress(b'[{"a": 1}]'))
    assert read_table(path).to_dict() == {"a": [1]}
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)
    with pytest.raises(ValueError, match=r"two.zip: the archive has 2 files \('a.csv', 'b.csv'\), not one table"):
        read_table(tmp_path / "two.zip")
    with pytest.raises(ValueError, match=r"it is no zip file or is cut short"):
        read_table(write(tmp_path, "bad.zip", b"PK\3\4 nothing"))


def test_an_address_gets_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"https://example.org/t.csv is an address of the web.*download it first"):
        read_table("https://example.org/t.csv")


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1,x\n2,y\n",
        b'[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]',
        b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n',
        b"@relation r\n@attribute a numeric\n@attribute b string\n@data\n1,x\n2,y\n",
        gzip.compress(b"a|b\n1|x\n2|y\n", mtime=0),
    ],
)
def test_an_open_file_without_a_name_is_recognised_by_its_content(content: bytes) -> None:
    assert read_table(io.BytesIO(content)).to_dict() == {"a": [1, 2], "b": ["x", "y"]}


def test_binary_formats_are_read_from_a_file_and_from_memory(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2], "d": [date(2024, 1, 1), None], "t": ["1,5", "2,5"]})
    feather.write_feather(table, str(tmp_path / "t.feather"))
    with pa.ipc.new_stream(str(tmp_path / "t.arrow"), table.schema) as stream:
        stream.write_table(table)
    expected = {"a": [1, 2], "d": [date(2024, 1, 1), None], "t": [1.5, 2.5]}
    assert read_table(tmp_path / "t.feather").to_dict() == expected
    assert read_table(tmp_path / "t.arrow").to_dict() == expected
    assert read_table(io.BytesIO((tmp_path / "t.feather").read_bytes())).to_dict() == expected


@pytest.mark.parametrize("orient", ["records", "columns", "split", "table"])
def test_json_of_pandas_is_read(tmp_path: Path, orient: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.to_json(tmp_path / "t.json", orient=orient, index=None if orient in ("records", "columns") else False)
    assert read_table(tmp_path / "t.json").to_dict() == {"a": [1, 2], "b": ["x", None]}


def test_workbooks_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"n": [1, 2], "x": [1.5, None], "t": ["1.234,5", "7"], "d": [datetime(2024, 1, 1), None], "m": ["-", 3]}
    )
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    table = read_table(tmp_path / "t.xlsx")
    assert table.to_dict() == {
        "n": [1, 2],
        "x": [1.5, None],
        "t": [1234.5, 7.0],
        "d": [datetime(2024, 1, 1), None],
        "m": [None, 3.0],
    }
    frame.to_excel(tmp_path / "i.xlsx")
    with pytest.warns(UserWarning, match=r"numbers the rows"):
        assert read_table(tmp_path / "i.xlsx").columns == table.columns
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        frame.to_excel(book, sheet_name="A", index=False)
        frame[["n"]].to_excel(book, sheet_name="B", index=False)
    with pytest.raises(ValueError, match=r"has the sheets 'A', 'B'; choose one with sheet='A'"):
        read_table(tmp_path / "two.xlsx")
    assert read_table(tmp_path / "two.xlsx", sheet="B").to_dict() == {"n": [1, 2]}
    with pytest.raises(ValueError, match=r"there is no sheet 'C'"):
        read_table(tmp_path / "two.xlsx", sheet="C")
    with pytest.raises(ValueError, match=r"bad.xlsx: the workbook cannot be read"):
        read_table(write(tmp_path, "bad.xlsx", b"PK no workbook"))
    with pytest.raises(ValueError, match=r"old workbooks"):
        read_table(write(tmp_path, "old.xls", b"x"))


@pytest.mark.parametrize(
    ("mark", "name"), [("|", "pipe"), (";", "semicolon"), ("\t", "tab"), (",", "comma"), (" ", "space")]
)
def test_separators_are_found_or_given(tmp_path: Path, mark: str, name: str) -> None:
    path = write(tmp_path, "t.txt", f"a{mark}b\n1{mark}x\n2{mark}y\n")
    expected = {"a": [1, 2], "b": ["x", "y"]}
    assert read_table(path).to_dict() == expected
    assert read_table(path, sep=name).to_dict() == expected
    assert read_table(path, sep=mark).to_dict() == expected
    odd = write(tmp_path, "odd.csv", "a:b\n1:x\n2:y\n")
    assert read_table(odd, sep=":").to_dict() == expected
    with pytest.raises(ValueError, match=r"sep='ab' is no separator"):
        read_table(odd, sep="ab")


def test_a_decimal_comma_in_the_header_does_not_hide_the_semicolon(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "t.csv", "price, EUR;n\n1,5;2\n")).columns == ["price, EUR", "n"]


def test_the_index_of_pandas_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    frame.sample(frac=1, random_state=0).to_csv(tmp_path / "t.csv")
    with pytest.warns(UserWarning, match=r"the first column has no name and numbers the rows.*it is left out"):
        assert read_table(tmp_path / "t.csv").columns == ["a", "b"]
    pd.read_csv(tmp_path / "t.csv").to_csv(tmp_path / "again.csv", index=False)
    with pytest.warns(UserWarning, match=r"it is left out"):
        assert read_table(tmp_path / "again.csv").columns == ["a", "b"]
    with pytest.raises(ValueError, match=r"column 1 of the header has no name"):
        read_table(write(tmp_path, "u.csv", ",b\n1.5,x\n2.5,y\n"))
    assert read_table(write(tmp_path, "v.csv", "a,b,\n1,x,\n2,y,\n")).columns == ["a", "b"]


def test_words_for_missing_values(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "x,y,sign\n1,a,+\n-,-,-\n-99,unknown,+\n")
    table = read_table(path, na_values=["-99", "unknown"])
    np.testing.assert_array_equal(table["x"], [1.0, np.nan, np.nan])
    assert table["y"].tolist() == ["a", None, None]
    assert table["sign"].tolist() == ["+", "-", "+"]


def test_several_files_are_one_table(tmp_path: Path) -> None:
    first = write(tmp_path, "a.csv", "d;x\n05/01/2023;1\n")
    second = write(tmp_path, "b.csv", "d;x\n26/01/2023;2,5\n")
    # The second file shows what the first one leaves open.
    table = read_table([first, second])
    assert table.to_dict() == {"d": [date(2023, 1, 5), date(2023, 1, 26)], "x": [1.0, 2.5]}
    third = write(tmp_path, "c.jsonl", '{"x": 4, "d": "2023-02-01"}\n')
    assert read_table([second, third]).to_dict() == {"d": [date(2023, 1, 26), date(2023, 2, 1)], "x": [2.5, 4.0]}
    with pytest.raises(ValueError, match=r"e.csv and b.csv differ in the columns 'd', 'z'"):
        read_table([second, write(tmp_path, "e.csv", "x,z\n1,2\n")])
    with pytest.raises(ValueError, match=r"f.csv: line 3: 1 values for 2 columns"):
        read_table([second, write(tmp_path, "f.csv", "d;x\n26/01/2023;1\n7\n")])
    with pytest.raises(ValueError, match=r"column 'x' has numbers in b.csv, but text in g.jsonl"):
        read_table([second, write(tmp_path, "g.jsonl", '{"x": "a", "d": "2023-02-01"}\n')])


def test_a_table_for_a_model_is_read_as_the_one_of_training(tmp_path: Path) -> None:
    words = "code,when,y\n" + "".join(f"{code},{when},{y}\n" for code, when, y in zip(
        ["10", "A-", "-", "05/01/2023"] * 5, ["05/25/2023", "06/02/2023"] * 10, ["a", "b", "a", "a"] * 5, strict=True
    ))  # fmt: skip
    train = read_table(write(tmp_path, "train.csv", words))
    model = C45Classifier().fit(train.drop("y"), train["y"])
    new = write(tmp_path, "new.csv", "code,when,note\n10,05/26/2023,05/01/2023\n10,06/01/2023,05/02/2023\n")
    with pytest.raises(ValueError, match=r"column 'note'"):
        read_table(new)
    table = read_table(new, like=model)
    assert table["code"].tolist() == ["10", "10"]
    assert table["when"].tolist() == [date(2023, 5, 26), date(2023, 6, 1)]
    assert model.predict(table).tolist() == model.predict(train.drop("y"))[[0, 0]].tolist()


def packed(write_to: Any) -> bytes:
    """What a function writes to an open file."""
    file = io.BytesIO()
    write_to(file)
    return file.getvalue()


FRAME = pd.DataFrame({"a": ["1,5", "2,5", "-"], "d": ["05/13/2023", "May 1, 2023", ""], "t": ["x", "y", "z"]})
WHOLE = {
    ".csv": FRAME.to_csv(sep=";").encode(),
    ".txt": FRAME.to_csv(sep=" ").encode("utf-16"),
    ".json": FRAME.to_json().encode(),
    ".xlsx": packed(FRAME.to_excel),
    ".parquet": packed(FRAME.to_parquet),
    ".feather": packed(lambda file: feather.write_feather(pa.Table.from_pandas(FRAME), file)),
    ".csv.gz": gzip.compress(FRAME.to_csv().encode()),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", WHOLE)
def test_a_damaged_file_is_read_or_refused_in_one_sentence(suffix: str) -> None:
    @examples(80)
    @given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=5), st.integers(0, 9))
    def check(changes: list[tuple[int, int]], cut: int) -> None:
        data = bytearray(WHOLE[suffix])
        for place, value in changes:
            data[place % len(data)] = value
        file = io.BytesIO(bytes(data[: len(data) // 2] if cut == 0 else data))
        file.name = f"t{suffix}"
        assert "\n" not in problem_of(file)

    check()


def problem_of(file: io.BytesIO) -> str:
    try:
        read_table(file)
    except ValueError as error:
        return str(error)
    return ""
