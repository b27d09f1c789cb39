"""Reading tables of every library: kinds, categories, missing values, and the sentences for bad input."""

import decimal
import enum
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from table_forms import WITH_NAMES
from treewright.table import Frame, Kind, Unit, read_frame, read_like

NAN = float("nan")

COLUMNS = {
    "count": [3, 1, 2, 3],
    "price": [1.5, None, -2.0, float("inf")],
    "colour": ["red", None, "blue", "red"],
    "fresh": [True, False, True, True],
    "picked": [date(1970, 1, 3), date(1969, 12, 31), None, date(2024, 2, 29)],
    "sold": [datetime(1970, 1, 1, 0, 0, 1), None, datetime(2024, 2, 29, 12), datetime(1970, 1, 1)],
    "kept": [timedelta(seconds=90), None, timedelta(days=1), timedelta(0)],
    "cost": [decimal.Decimal("1.25"), decimal.Decimal(2), None, decimal.Decimal(0)],
    "void": [None, None, None, None],
}
EXPECTED = {
    "count": [3, 1, 2, 3],
    "price": [1.5, NAN, -2, np.inf],
    "colour": [0, NAN, 1, 0],
    "fresh": [1, 0, 1, 1],
    "picked": [2, -1, NAN, 19782],
    "sold": [1e6, NAN, 19782.5 * 86_400e6, 0],
    "kept": [90, NAN, 86_400, 0],
    "cost": [1.25, 2, NAN, 0],
    "void": [NAN, NAN, NAN, NAN],
}
SOURCES = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas objects": pd.DataFrame(COLUMNS, dtype=object),
    "pandas nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas on arrow": pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame(COLUMNS),
    "polars, lazy": pl.LazyFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "arrow batch": pa.RecordBatch.from_pydict(COLUMNS),
    "dict of lists": COLUMNS,
    "dict of series": {name: pd.Series(values) for name, values in COLUMNS.items()},
    "list of dicts": [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
    "own frame": Frame(COLUMNS),
    "narwhals": nw.from_native(pl.DataFrame(COLUMNS)),
    "list of lists": [list(row) for row in zip(*COLUMNS.values(), strict=True)],
    "object array": np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=object),
}


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_data_gives_the_same_table_from_every_library(source):
    table = read_frame(SOURCES[source])
    by_position = source in ("list of lists", "object array")
    assert table.named is not by_position
    names = [f"x{place}" for place in range(len(COLUMNS))] if by_position else list(COLUMNS)
    assert [column.name for column in table.columns] == names
    kinds = dict(zip(COLUMNS, table.columns, strict=True))
    assert [name for name in COLUMNS if kinds[name].kind is Kind.CATEGORICAL] == ["colour", "fresh"]
    assert kinds["colour"].categories == ("red", "blue")
    assert kinds["fresh"].categories == (False, True)
    assert kinds["picked"].unit is Unit.DATE
    assert kinds["sold"].unit is Unit.DATETIME
    assert kinds["kept"].unit is Unit.PLAIN
    np.testing.assert_array_equal(table.values, np.array(list(EXPECTED.values())).T)


@pytest.mark.parametrize("source", SOURCES)
def test_values_are_float64_column_after_column(source):
    values = read_frame(SOURCES[source]).values
    assert values.dtype == np.float64
    assert values.flags.f_contiguous


def test_a_fortran_array_of_floats_is_not_copied():
    X = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    assert read_frame(X).values is X


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "int64"])
def test_an_array_of_numbers_of_any_width_is_numeric(dtype):
    table = read_frame(np.array([[1, 2], [3, 4]], dtype=dtype))
    assert all(column.kind is Kind.NUMERIC for column in table.columns)
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    assert not table.named


def test_arrays_of_booleans_text_bytes_and_dates_are_read_by_type():
    assert read_frame(np.array([[True], [False]])).columns[0].categories == (False, True)
    assert read_frame(np.array([["b"], ["a"]])).columns[0].categories == ("b", "a")
    assert read_frame(np.array([[b"b"], [b"a"]])).columns[0].categories == ("b", "a")
    days = read_frame(np.array([["1970-01-02"], ["NaT"]], dtype="M8[D]"))
    np.testing.assert_array_equal(days.values, [[1], [NAN]])
    assert days.columns[0].unit is Unit.DATE


def test_structured_and_masked_arrays_are_read():
    structured = np.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("t", "U1")])
    table = read_frame(structured)
    assert table.named
    assert [column.name for column in table.columns] == ["n", "t"]
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[True, False], [False, False]])
    np.testing.assert_array_equal(read_frame(masked).values, [[NAN, 2], [3, 4]])


DECLARED = {
    "pandas": pd.DataFrame({"size": pd.Categorical(["L", None, "S"], categories=["S", "M", "L"])}),
    "polars enum": pl.DataFrame({"size": pl.Series(["L", None, "S"], dtype=pl.Enum(["S", "M", "L"]))}),
    "arrow": pa.table({"size": pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), ["S", "M", "L"])}),
    "arrow in pandas": pd.DataFrame(
        {
            "size": pd.array(
                pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), ["S", "M", "L"]),
                dtype=pd.ArrowDtype(pa.dictionary(pa.int64(), pa.string())),
            )
        }
    ),
    "dict of arrow arrays": {"size": pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), ["S", "M", "L"])},
    "dict of pandas arrays": {"size": pd.Categorical(["L", None, "S"], categories=["S", "M", "L"])},
    "own frame": Frame({"size": ["L", None, "S"]}).declare("size", ["S", "M", "L"]),
}


@pytest.mark.parametrize("source", DECLARED)
def test_declared_categories_are_kept_though_unseen(source):
    table = read_frame(DECLARED[source])
    assert table.columns[0].kind is Kind.CATEGORICAL
    assert table.columns[0].categories == ("S", "M", "L")
    np.testing.assert_array_equal(table.values[:, 0], [2, NAN, 0])


ORDERED = {
    "pandas": pd.DataFrame({"size": pd.Categorical(["L"], categories=["S", "M", "L"], ordered=True)}),
    "arrow": pa.table(
        {"size": pa.DictionaryArray.from_arrays(pa.array([2], pa.int8()), ["S", "M", "L"], ordered=True)}
    ),
    "own frame": Frame({"size": ["L"]}).declare("size", ["S", "M", "L"], ordered=True),
}


@pytest.mark.parametrize("source", ORDERED)
def test_ordered_categories_are_ordered_unless_declared_categorical(source):
    assert read_frame(ORDERED[source]).columns[0].kind is Kind.ORDERED
    table = read_frame(ORDERED[source], categorical_features=["size"])
    assert table.columns[0].kind is Kind.CATEGORICAL
    assert table.columns[0].categories == ("S", "M", "L")


def test_a_polars_categorical_declares_nothing():
    seen_before = pl.Series(["zebra", "apple"], dtype=pl.Categorical)
    frame = pl.DataFrame({"word": pl.Series(["pear", None, "apple", "pear"], dtype=pl.Categorical)})
    table = read_frame(frame)
    assert len(seen_before) == 2
    assert table.columns[0].categories == ("pear", "apple")
    np.testing.assert_array_equal(table.values[:, 0], [0, NAN, 1, 0])


def test_arrow_chunks_with_different_dictionaries_agree():
    chunks = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", None, "a"]).dictionary_encode()]
    table = read_frame(pa.table({"x": pa.chunked_array(chunks)}))
    assert [table.columns[0].categories[int(i)] for i in table.values[[0, 1, 2, 4], 0]] == [
        "a",
        "b",
        "c",
        "a",
    ]
    assert np.isnan(table.values[3, 0])


def test_intervals_of_a_cut_are_ordered_categories_as_text():
    table = read_frame(pd.DataFrame({"age": pd.cut([1, 5, 9], [0, 3, 6, 9])}))
    assert table.columns[0].kind is Kind.ORDERED
    assert table.columns[0].categories == ("(0, 3]", "(3, 6]", "(6, 9]")


def test_moments_with_a_time_zone_are_read_in_utc():
    zone = timezone(timedelta(hours=2))
    moment = datetime(1970, 1, 1, 2, 0, 1, tzinfo=zone)
    for X in (
        [[moment]],
        pl.DataFrame({"t": [moment]}),
        pd.DataFrame({"t": [moment]}),
        pa.table({"t": [moment]}),
    ):
        assert read_frame(X).values.tolist() == [[1e6]]
    assert read_frame([[moment.astimezone(UTC)]]).columns[0].unit is Unit.UTC


def test_enum_members_and_numpy_scalars_are_plain_values():
    class Colour(enum.Enum):
        RED = 1

    assert read_frame({"c": [Colour.RED, None]}).columns[0].categories == ("Colour.RED",)
    assert read_frame({"c": [np.str_("a"), np.str_("b")]}).columns[0].categories == ("a", "b")
    assert read_frame({"c": [np.float32(2), np.int8(1)]}).values.tolist() == [[2.0], [1.0]]


def test_every_sign_of_a_missing_value_is_missing():
    table = read_frame({"n": [1, None, NAN, pd.NA, pd.NaT], "t": ["a", None, NAN, pd.NA, np.datetime64("NaT")]})
    assert np.isnan(table.values[1:]).all()
    assert not np.isnan(table.values[0]).any()


def test_an_absent_key_of_a_row_is_missing():
    table = read_frame([{"a": 1}, {"b": "x", "a": 2}])
    np.testing.assert_array_equal(table.values, [[1, NAN], [2, 0]])


def test_numbers_declared_categorical_are_sorted_and_written_whole():
    table = read_frame({"zip": [30.0, 7.5, None, 30.0], "n": [1, 2, 3, 4]}, categorical_features=["zip"])
    assert table.columns[0].categories == (7.5, 30)
    assert [table.columns[0].write(place) for place in (0, 1)] == ["7.5", "30"]
    np.testing.assert_array_equal(table.values[:, 0], [1, 0, NAN, 1])


def test_dates_declared_categorical_are_dates():
    table = read_frame({"day": [date(2024, 2, 29), date(2024, 1, 1)]}, categorical_features="all")
    assert table.columns[0].categories == (date(2024, 1, 1), date(2024, 2, 29))


def test_a_mixed_column_may_be_declared_categorical():
    table = read_frame({"code": [1, "a", None, 1]}, categorical_features=[0])
    assert table.columns[0].categories == (1, "a")
    np.testing.assert_array_equal(table.values[:, 0], [0, 1, NAN, 0])


def test_text_declared_numeric_is_parsed():
    for X in (
        {"age": ["12", None, "7.5"]},
        pl.DataFrame({"age": ["12", None, "7.5"]}),
        {"age": [12, None, "7.5"]},
    ):
        table = read_frame(X, numeric_features=["age"])
        assert table.columns[0].kind is Kind.NUMERIC
        np.testing.assert_array_equal(table.values[:, 0], [12, NAN, 7.5])


@pytest.mark.parametrize("chosen", [[1], [-1], ["b"], [False, True], np.array([False, True]), np.array([1])])
def test_columns_are_chosen_by_name_position_or_mask(chosen):
    table = read_frame({"a": [1, 2], "b": [1, 2]}, categorical_features=chosen)
    assert [column.kind for column in table.columns] == [Kind.NUMERIC, Kind.CATEGORICAL]


def test_all_chooses_every_column_of_an_array():
    table = read_frame(np.array([[2.0, 1.0], [1.0, 1.0]]), categorical_features="all")
    assert [column.categories for column in table.columns] == [(1, 2), (1,)]


def test_integer_names_of_pandas_are_no_names():
    table = read_frame(pd.DataFrame([[1, "a"]]))
    assert not table.named
    assert [column.name for column in table.columns] == ["x0", "x1"]


def test_the_input_is_not_changed():
    frame = pd.DataFrame({"a": [1.0, NAN], "b": ["x", None]})
    before = frame.copy(deep=True)
    read_frame(frame, categorical_features="all")
    pd.testing.assert_frame_equal(frame, before)
    X = np.array([[1.0, NAN], [2.0, 3.0]])
    read_frame(X, categorical_features=[1])
    np.testing.assert_array_equal(X, [[1.0, NAN], [2.0, 3.0]])


BAD = {
    "no rows": (
        np.empty((0, 3)),
        ValueError,
        r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required",
    ),
    "no rows, frame": (
        pd.DataFrame({"a": []}),
        ValueError,
        r"0 sample\(s\) \(shape=\(0, 1\)\) while a minimum",
    ),
    "no rows, list": ([], ValueError, r"0 sample\(s\)"),
    "no columns": (
        np.empty((3, 0)),
        ValueError,
        r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is req",
    ),
    "one dimension": (
        np.arange(3.0),
        ValueError,
        "Expected 2D array, got 1D array instead.*Reshape your data",
    ),
    "list of numbers": ([1, 2, 3], ValueError, "Reshape your data"),
    "list of text": (["a", "b"], ValueError, "Reshape your data"),
    "a series": (pd.Series([1, 2]), ValueError, "Reshape your data.*X\\[\\['name'\\]\\]"),
    "three dimensions": (np.zeros((2, 2, 2)), ValueError, "Found array with dim 3, while dim <= 2"),
    "three deep lists": ([[[1], [2]], [[3], [4]]], ValueError, "Found array with dim 3"),
    "text": ("table.csv", ValueError, "must be a table"),
    "a number": (3, ValueError, "must be a table"),
    "nothing": (None, ValueError, "must be a table"),
    "an object": (object(), TypeError, "is no table"),
    "complex": (np.array([[1j]]), ValueError, "Complex data not supported"),
    "complex cells": ({"z": [1j, 2]}, ValueError, "column 'z': Complex data not supported"),
    "a dict in a cell": (
        {"d": [1, {"a": 1}]},
        TypeError,
        "column 'd': row 1 .*a cell must hold text, a number, a date or nothing",
    ),
    "a list in a cell": (
        pl.DataFrame({"d": [[1], [2]]}),
        TypeError,
        "column 'd'.*a cell must hold text, a number, a date or nothing",
    ),
    "repeated names": (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "'a' occur more than once"),
    "repeated arrow names": (pa.table([[1], [2]], names=["a", "a"]), ValueError, "'a' occur more than once"),
    "unequal columns": ({"a": [1], "b": [1, 2]}, ValueError, "differ in length: 'a' has 1, 'b' has 2"),
    "unequal rows": ([[1, 2], [1]], ValueError, "row 1 has 1 values where row 0 has 2"),
    "a single row": ({"a": 1}, ValueError, r"column 'a' is no list of values.*\[row\]"),
    "no name": (pd.DataFrame([[1, 2]], columns=["a", None]), ValueError, "column 1 of 2 has no name"),
    "empty name": (pl.DataFrame({"": [1]}), ValueError, "column 0 of 1 has no name"),
    "mixed names": (
        pd.DataFrame([[1, 2]], columns=["a", 1]),
        TypeError,
        "only supported if all input features",
    ),
    "broken lazy frame": (
        pl.LazyFrame({"a": [1]}).select("b"),
        ValueError,
        "lazy frame cannot be collected: .*b",
    ),
    "mixed dates": ({"d": [date(2020, 1, 1), 3]}, ValueError, "column 'd': the values mix dates and numbers"),
    "huge integer": ({"n": [10**400]}, ValueError, "column 'n': an integer is too large"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_reported_in_one_sentence(case):
    X, error, message = BAD[case]
    with pytest.raises(error, match=message):
        read_frame(X)


def test_text_among_numbers_is_counted_and_quoted():
    cells = [1, 2.5, "12y", None, "n/a", "12y"]
    message = r"column 'age': 3 of 6 values are text \('12y', 'n/a'\); give numbers, or declare"
    for X in ({"age": cells}, pd.DataFrame({"age": cells})):
        with pytest.raises(ValueError, match=message):
            read_frame(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"categorical_features": ["c"]},
            "categorical_features has an item value 'c' which is not a valid.*columns are 'a', 'b'",
        ),
        ({"categorical_features": [2]}, "it has 2, and there are 2 columns"),
        ({"numeric_features": [-3]}, "it has -3"),
        ({"categorical_features": [True]}, "boolean mask must have shape .* each of the 2 columns, but it has 1"),
        ({"categorical_features": "a"}, r"did you mean \['a'\]"),
        ({"categorical_features": 1}, "must be a list"),
        ({"categorical_features": [1.5]}, "must be an array-like of bool, int or str, got: float64"),
        (
            {"categorical_features": ["a"], "numeric_features": [0]},
            "'a' is in categorical_features and in numeric",
        ),
        ({"numeric_features": ["b"]}, r"column 'b': 2 of 3 values are not numbers \('x'\)"),
    ],
)
def test_a_wrong_declaration_is_reported_in_one_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        read_frame({"a": [1, 2, 3], "b": ["x", "x", "3"]}, **options)


cells = st.one_of(st.none(), st.text(max_size=3))


@examples(50)
@given(st.lists(cells, min_size=1, max_size=20))
def test_text_comes_back_from_its_indices_in_order_of_appearance(words):
    for X in ({"w": words}, pl.DataFrame({"w": words}, schema={"w": pl.String}), pd.DataFrame({"w": words})):
        table = read_frame(X)
        column = table.columns[0]
        back = [None if np.isnan(x) else column.categories[int(x)] for x in table.values[:, 0]]
        assert back == words
        assert list(column.categories) == [word for word in dict.fromkeys(words) if word is not None]


def test_it_works_without_any_frame_library():
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pandas", "polars", "pyarrow"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import treewright.table as t
heavy = {"narwhals", "sklearn", "scipy", "numba"} & set(sys.modules)
table = t.read_frame([{"a": 1, "b": "x"}, {"a": None, "b": "y"}])
print(heavy, table.values.tolist(), t.read_like({"b": ["y"], "a": [2]}, table.columns, named=True).tolist())
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set() [[1.0, 0.0], [nan, 1.0]] [[2.0, 1.0]]"


def test_whole_numbers_beyond_the_precision_of_floats_are_read_from_every_frame():
    big = 2**53 + 2
    tables = [read_frame(make({"id": [big, 5]})).values for make in (pd.DataFrame, pl.DataFrame, pa.table)]
    for values in tables:
        np.testing.assert_array_equal(values, [[float(big)], [5.0]])


def test_moments_that_are_all_midnights_are_days():
    table = read_frame(pd.DataFrame({"d": pd.to_datetime(["2024-01-01", None, "2024-03-01"])}))
    assert table.columns[0].unit == "date"
    np.testing.assert_array_equal(table.values[:, 0], [19723, np.nan, 19783])


def test_moments_with_a_time_zone_are_kept_and_written_in_utc():
    zone = "America/New_York"
    days = ["2024-01-01", None, "2024-03-01"]
    pandas = pd.DataFrame({"d": pd.to_datetime(days).tz_localize(zone)})
    moments = [None if day is None else datetime.fromisoformat(day + "T05:00:00+00:00") for day in days]
    for frame in (pandas, pl.from_pandas(pandas), pa.Table.from_pandas(pandas), {"d": moments}):
        table = read_frame(frame)
        assert table.columns[0].unit == "utc"
        assert table.columns[0].write(table.values[0, 0]) == "2024-01-01 05:00:00 UTC"
        np.testing.assert_array_equal(table.values, read_frame(pandas).values)
    with pytest.raises(ValueError, match="was dates with a time zone in training, is dates now"):
        read_like({"d": [datetime(2024, 1, 1, 12)]}, table.columns, named=True)


@pytest.mark.parametrize("form", WITH_NAMES)
def test_large_integers_stay_distinct_categories(form):
    integers = [10**18, 10**18 + 1, 10**18 + 2] * 4
    table = read_frame(WITH_NAMES[form]({"id": integers}), categorical_features=["id"])
    assert table.columns[0].categories == (10**18, 10**18 + 1, 10**18 + 2)
    np.testing.assert_array_equal(table.values[:, 0], [0, 1, 2] * 4)
    again = read_like(WITH_NAMES[form]({"id": [10**18 + 2, 10**18 + 3]}), table.columns, named=table.named)
    np.testing.assert_array_equal(again[:, 0], [2, -1])


def test_large_integers_that_merge_as_numbers_are_named():
    with pytest.warns(UserWarning, match="column 'id': 2 distinct integers above"):
        read_frame({"id": np.array([10**18, 10**18 + 1, 10**18 + 2])})


def test_bytes_that_are_no_text_stay_distinct():
    table = read_frame({"key": [b"\xff", b"\xfe", b"yes"]})
    assert table.columns[0].categories == ("b'\\xff'", "b'\\xfe'", "yes")


def test_moments_that_merge_are_named():
    moments = np.array([1_700_000_000_000_000_001, 1_700_000_000_000_000_002]).astype("M8[ns]")
    with pytest.warns(UserWarning, match="column 'at': 1 distinct moments are less than a microsecond"):
        read_frame({"at": moments})


def test_decimals_of_arrow_are_the_nearest_floats():
    random = np.random.default_rng(0)
    decimals = [decimal.Decimal(int(x)).scaleb(-9) for x in random.integers(0, 10**17, 2000)]
    table = read_frame(pa.table({"price": pa.array(decimals)}))
    np.testing.assert_array_equal(table.values[:, 0], [float(value) for value in decimals])


def test_large_integers_of_numpy_in_lists_stay_distinct():
    table = read_frame({"id": [np.int64(2**53 + 1), np.int64(2**53)] * 4}, categorical_features=["id"])
    assert table.columns[0].categories == (2**53, 2**53 + 1)


@pytest.mark.parametrize("categorical", [None, ["a"]])
def test_integers_of_128_bits_are_read(categorical):
    table = read_frame(pl.DataFrame({"a": pl.Series([1, 2**70], dtype=pl.Int128)}), categorical_features=categorical)
    expected = [0, 1] if categorical else [1.0, 2.0**70]
    np.testing.assert_array_equal(table.values[:, 0], expected)
