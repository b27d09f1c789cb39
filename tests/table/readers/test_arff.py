"""Reading ARFF: domains, quotes, missing values, dates, sparse rows, and the line of every slip."""

import numpy as np
import pytest
import scipy.io.arff
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treewright.table import Kind, read_frame, read_table
from treewright.table.readers.arff import read_arff

EXAMPLE = """\
% a comment
@RELATION 'two words'

@Attribute 'the sky' { sunny, 'half cloudy', "it's wet", never }  % declared, not seen
@ATTRIBUTE temperature REAL
@attribute count Integer
@attribute note string
@attribute day date "yyyy-MM-dd"
@attribute odd_day DATE 'dd/MM/yyyy'
@DATA
sunny, 21.5, 3, 'a, b', 2024-02-29, '01/02/2024'
% between the rows
'half cloudy',?,-1e3,"say \\"hi\\"",?,?
"it's wet",0,?,'?','2024-03-01',?  % after a {row}
?,1,2,'50\\% of it',?,?
"""


def parse(text):
    return read_arff(text)


def test_the_parts_of_the_format_are_read():
    frame = parse(EXAMPLE)
    assert frame.columns == ["the sky", "temperature", "count", "note", "day", "odd_day"]
    assert frame.domains["the sky"].categories == ("sunny", "half cloudy", "it's wet", "never")
    assert frame["the sky"].tolist() == ["sunny", "half cloudy", "it's wet", None]
    np.testing.assert_array_equal(frame["temperature"], [21.5, np.nan, 0, 1])
    np.testing.assert_array_equal(frame["count"], [3, -1000, np.nan, 2])
    assert frame["note"].tolist() == ["a, b", 'say "hi"', "?", "50% of it"]
    assert [str(day) for day in frame["day"]] == ["2024-02-29", "NaT", "2024-03-01", "NaT"]
    assert frame["odd_day"].tolist() == ["01/02/2024", None, None, None]


def test_domains_reach_the_table_in_declared_order():
    table = read_frame(parse(EXAMPLE)[["the sky", "temperature"]])
    assert table.columns[0].kind is Kind.CATEGORICAL
    assert table.columns[0].categories == ("sunny", "half cloudy", "it's wet", "never")
    np.testing.assert_array_equal(table.values[:, 0], [0, 1, 2, np.nan])


def test_sparse_rows_fill_in_zero_and_the_first_category():
    frame = parse(
        "@relation s\n@attribute a numeric\n@attribute b {x, 'y z'}\n@attribute c numeric\n@data\n"
        "{1 'y z', 2 3.5}\n{0 ?}\n{}\n{ 2 1 } % done\n"
    )
    np.testing.assert_array_equal(frame["a"], [0, np.nan, 0, 0])
    assert frame["b"].tolist() == ["y z", "x", "x", "x"]
    np.testing.assert_array_equal(frame["c"], [3.5, 0, 0, 1])


def test_scipy_reads_the_same(tmp_path):
    text = (
        "@relation r\n@attribute a numeric\n@attribute b {x, y, z-w}\n@attribute c real\n@data\n"
        "1,x,-2.5e3\n?,y,0\n% comment\n3,z-w,?\n"
    )
    path = tmp_path / "r.arff"
    path.write_text(text)
    theirs, meta = scipy.io.arff.loadarff(path)
    ours = read_table(path)
    assert ours.columns == meta.names()
    assert ours.domains["b"].categories == meta["b"][1]
    np.testing.assert_array_equal(ours["a"], theirs["a"])
    np.testing.assert_array_equal(ours["c"], theirs["c"])
    assert ours["b"].tolist() == [word.decode() for word in theirs["b"]]


def test_windows_lines_tabs_and_no_rows_are_understood(tmp_path):
    path = tmp_path / "t.arff"
    path.write_bytes(b"@relation r\r\n@attribute\ta\tnumeric\r\n@attribute b {x,y}\r\n@data\r\n")
    frame = read_table(path)
    assert frame.shape == (0, 2)
    path.write_bytes(path.read_bytes() + b"1,x\r\n")
    assert read_table(path)["a"].tolist() == [1.0]


HEADER = "@relation r\n@attribute a numeric\n@attribute b {x, y}\n"
BAD = {
    "value outside the domain": (
        HEADER + "@data\n1,x\n\n2,z\n",
        r"line 7: 'z' is not a value of attribute 'b' \('x'",
    ),
    "text for a number": (
        HEADER + "@data\none,x\n",
        "line 5: 'one' is no number, but attribute 'a' is numeric",
    ),
    "too few values": (HEADER + "@data\n1\n", "line 5: 1 values for 2 attributes"),
    "no data": (HEADER, "there is no @data line"),
    "no attributes": ("@relation r\n@data\n1\n", "line 2: no @attribute stands before @data"),
    "unknown type": ("@attribute a relational\n@data\n", "line 1: attribute 'a' has type 'relational'"),
    "no type": ("@attribute a\n@data\n", "line 1: attribute 'a' has type ''"),
    "open domain": ("@attribute a {x, y\n@data\n", "line 1: the values of attribute 'a' are not closed"),
    "repeated value": ("@attribute a {x, x}\n@data\n", "lists 'x' twice"),
    "repeated attribute": ("@attribute a real\n@attribute a real\n@data\n", "name 'a' occurs more than once"),
    "stray line": (HEADER + "1,x\n", "line 4: expected @attribute or @data, found '1,x'"),
    "weight": (HEADER + "@data\n1,x,{2}\n", "line 5: .*instance weights are not read"),
    "rows after data": (HEADER + "@data 1,x\n", "line 4: '1,x' stands after @data"),
    "no name": ("@attribute '' real\n@data\n", "attribute 1 has no name"),
    "sparse weight": (HEADER + "@data\n{0 1}, {2}\n", "line 5: .*instance weights are not read"),
    "sparse index": (HEADER + "@data\n{7 1}\n", "line 5: there is no attribute 7; the last is 1"),
    "sparse garbage": (HEADER + "@data\n{x 1}\n", "line 5: expected pairs"),
    "open quote": (HEADER + "@data\n1,'x\n", "line 5: cannot read"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_slip_is_reported_with_its_line(case):
    text, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        parse(text)


def quoted(text: str) -> str:
    escapes = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "'" + "".join(escapes.get(mark, mark) for mark in text) + "'"


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]) | st.just("\n"), max_size=6)


@examples(100)
@given(st.data())
def test_a_table_written_as_arff_reads_back(data):
    domain = data.draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    name = data.draw(texts.filter(lambda text: text not in ("", "number")))
    row = st.tuples(st.none() | st.sampled_from(domain), st.none() | st.floats(allow_nan=False))
    rows = data.draw(st.lists(row, max_size=6))
    lines = [
        "@relation round",
        f"@attribute {quoted(name)} {{{', '.join(map(quoted, domain))}}}",
        "@attribute number numeric",
        "@data",
    ]
    lines += [f"{'?' if word is None else quoted(word)}, {'?' if x is None else repr(x)}" for word, x in rows]
    frame = read_arff("\n".join(lines))
    assert frame.columns == [name, "number"]
    assert frame.domains[name].categories == tuple(domain)
    assert frame[name].tolist() == [word for word, _ in rows]
    np.testing.assert_array_equal(frame["number"], np.array([x for _, x in rows], dtype=float))
