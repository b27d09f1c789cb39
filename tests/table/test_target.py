"""Reading targets: classes keep the user's type, numbers are finite, missing values are reported by row."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import DataConversionWarning

from treewright.table import Frame, read_classes, read_numbers, target_name

WORDS = ["b", "a", "b", "c"]
TEXT = {
    "list": WORDS,
    "tuple": tuple(WORDS),
    "text array": np.array(WORDS),
    "object array": np.array(WORDS, dtype=object),
    "pandas": pd.Series(WORDS),
    "pandas categorical": pd.Series(pd.Categorical(WORDS, categories=["z", "c", "b", "a"])),
    "polars": pl.Series(WORDS),
    "polars enum": pl.Series(WORDS, dtype=pl.Enum(["c", "b", "a"])),
    "arrow": pa.chunked_array([WORDS]),
    "frame of one column": pd.DataFrame({"y": WORDS}),
    "own frame": Frame({"y": WORDS}),
}


@pytest.mark.parametrize("source", TEXT)
def test_text_classes_are_sorted_and_plain(source):
    codes, classes = read_classes(TEXT[source])
    assert codes.dtype == np.int64
    assert codes.tolist() == [1, 0, 1, 2]
    assert classes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("labels", [[3, 1, 3], [2.0, -1.0, 2.0], [True, False, True], [2**62 + 1, 2**62, 2**62 + 1]])
@pytest.mark.parametrize("wrap", [list, np.array, pd.Series, pl.Series, lambda y: np.array(y, dtype=object)])
def test_numeric_and_boolean_classes_keep_their_type(labels, wrap):
    codes, classes = read_classes(wrap(labels))
    expected, inverse = np.unique(np.array(labels), return_inverse=True)
    assert classes.dtype == expected.dtype
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, inverse)


def test_a_categorical_of_numbers_gives_numbers():
    y = pd.Series(pd.Categorical([3, 1, 3]))
    assert read_classes(y)[1].tolist() == [1, 3]
    assert read_numbers(y).tolist() == [3.0, 1.0, 3.0]


@pytest.mark.parametrize("wrap", [list, np.array, pd.Series, pl.Series, lambda y: np.array(y, dtype=object)])
def test_numbers_of_any_library_are_floats(wrap):
    assert read_numbers(wrap([1, 2, 4])).tolist() == [1.0, 2.0, 4.0]
    assert read_numbers(wrap([True, False])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("read", [read_classes, read_numbers])
def test_a_column_vector_is_read_with_scikit_learns_warning(read):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        read(np.array([[1], [2]]))


@pytest.mark.parametrize("read", [read_classes, read_numbers])
@pytest.mark.parametrize(
    "y",
    [
        np.array([1.0, np.nan, 2.0, np.nan]),
        [1, None, 2, None],
        pd.Series([1, None, 2, None]),
        [1, pd.NA, 2, pd.NaT],
    ],
)
def test_missing_numbers_are_reported_by_row(read, y):
    message = r"the target has 2 missing values \(rows 1, 3\); drop those rows, or give their values"
    with pytest.raises(ValueError, match=message):
        read(y)


def test_missing_floats_are_reported_in_scikit_learns_words_too():
    with pytest.raises(ValueError, match=r"Input y contains NaN.*1 missing value \(row 0\)"):
        read_numbers(np.array([np.nan, 1.0]))


@pytest.mark.parametrize(
    "y", [["a", None], pd.Series(["a", None]), pl.Series(["a", None]), np.array(["a", np.nan], dtype=object)]
)
def test_missing_text_is_reported_by_row(y):
    with pytest.raises(ValueError, match=r"the target has 1 missing value \(row 1\)"):
        read_classes(y)


@pytest.mark.parametrize(
    ("read", "y", "message"),
    [
        (read_classes, None, "requires y to be passed, but the target y is None"),
        (read_numbers, None, "requires y to be passed, but the target y is None"),
        (read_classes, [0.5, 1.25, 2.0], "Unknown label type"),
        (read_classes, [1, "a"], r"the target mixes text and numbers \(1, 'a'\)"),
        (read_classes, np.zeros((3, 2)), r"y should be a 1d array, got an array of shape \(3, 2\)"),
        (read_classes, pd.DataFrame({"a": [1], "b": [2]}), "got a frame of 2 columns"),
        (read_classes, "abc", "not a str"),
        (read_numbers, [1.0, float("inf")], "Input y contains infinity"),
        (
            read_numbers,
            ["a", "b"],
            r"the target is text \('a', 'b'\), but numbers are needed; use a classifier",
        ),
        (read_numbers, pd.Series(["a", "b"]), "the target is text"),
        (read_numbers, [date(2024, 1, 1)], "the target holds dates"),
        (read_numbers, np.array([1j]), "Complex data not supported"),
    ],
)
def test_a_bad_target_is_reported_in_one_sentence(read, y, message):
    with pytest.raises(ValueError, match=message):
        read(y)


def test_the_target_is_called_by_its_name():
    assert target_name(pd.Series([1], name="play")) == "play"
    assert target_name(pl.Series("play", [1])) == "play"
    assert target_name(pd.DataFrame({"play": [1]})) == "play"
    assert target_name(Frame({"play": [1]})) == "play"
    assert target_name(pd.Series([1])) == "target"
    assert target_name(np.array([1])) == "target"
    assert target_name(pa.table({"play": [1]})) == "play"


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_a_sparse_target_is_refused_by_the_error_that_code_for_scikit_learn_expects(error):
    with pytest.raises(
        error, match=r"sparse multilabel-indicator for y is not supported; convert it with y.toarray\(\)"
    ):
        read_classes(csr_matrix([[0, 1], [1, 0]]))
