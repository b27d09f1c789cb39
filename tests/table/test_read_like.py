"""Coding new tables with the columns of a model."""

import warnings
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from treewright.table import matrix_of, read_frame, read_like

NAN = float("nan")
TRAINING = {
    "colour": ["red", "blue", None],
    "weight": [1.0, 2.0, 3.0],
    "fresh": [True, False, True],
    "day": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)],
}
TABLE = read_frame(TRAINING)


def read(X, **options):
    return read_like(X, TABLE.columns, named=True, **options)


@pytest.mark.parametrize("library", [dict, pd.DataFrame, pl.DataFrame])
def test_the_training_table_reads_like_itself(library):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = read(library(TRAINING))
    np.testing.assert_array_equal(values, TABLE.values)
    assert values.flags.c_contiguous
    assert values.dtype == np.float64


def test_columns_are_found_by_name_and_others_ignored():
    shuffled = {name: TRAINING[name] for name in ("day", "fresh", "weight", "colour")} | {"more": [1, 2, 3]}
    np.testing.assert_array_equal(read(shuffled), TABLE.values)


def test_an_unseen_category_differs_from_a_missing_one():
    row = {"colour": "green", "weight": None, "fresh": None, "day": None}
    np.testing.assert_array_equal(read([row, row | {"colour": None}])[:, 0], [-1, NAN])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_categories_are_matched_by_value_not_by_code(library):
    frame = library(TRAINING | {"colour": ["blue", "green", "red"]})
    np.testing.assert_array_equal(read(frame)[:, 0], [1, -1, 0])


def test_a_categorical_is_matched_by_value_though_declared_in_another_order():
    colours = pd.Categorical(["blue", "red", "red"], categories=["blue", "green", "red"])
    np.testing.assert_array_equal(read(pd.DataFrame(TRAINING | {"colour": colours}))[:, 0], [1, 0, 0])


def test_zero_and_one_match_booleans():
    np.testing.assert_array_equal(read(TRAINING | {"fresh": [0, 1, 2]})[:, 2], [0, 1, -1])


def test_whole_numbers_match_whatever_their_type():
    table = read_frame({"zip": [30, 7]}, categorical_features=["zip"])
    for zips in ([7.0, 30.0, 8.0], np.array([7, 30, 8], dtype=np.int8), pl.Series([7, 30, 8])):
        assert read_like({"zip": zips}, table.columns, named=True)[:, 0].tolist() == [0, 1, -1]


def test_days_and_moments_of_days_match():
    moments = [datetime(2024, 1, 1), datetime(2024, 1, 1, 12), None]
    np.testing.assert_array_equal(read(TRAINING | {"day": moments})[:, 3], [19723, 19723.5, NAN])
    table = read_frame({"t": [datetime(2024, 1, 1, 12)]})
    assert read_like({"t": [date(1970, 1, 2)]}, table.columns, named=True).tolist() == [[86_400e6]]


def test_a_column_of_missing_values_fits_every_kind():
    nothing = {name: [None, None] for name in TRAINING}
    assert np.isnan(read(nothing)).all()


def test_text_that_was_declared_numeric_is_parsed_again():
    table = read_frame({"age": ["12", "7"]}, numeric_features=["age"])
    new = read_like({"age": ["8.5", None]}, table.columns, named=True, numeric_features=["age"])
    np.testing.assert_array_equal(new[:, 0], [8.5, NAN])


def test_a_mixed_column_learned_as_categories_is_read_again():
    table = read_frame({"code": [1, "a"]}, categorical_features=["code"])
    for codes, expected in (([1, 2], [0, -1]), (["a", "b"], [1, -1]), (["a", 1], [1, 0])):
        assert read_like({"code": codes}, table.columns, named=True)[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        ("colour", [1, 2, 3], "column 'colour' was text in training, is numeric now"),
        ("weight", ["a", "b", None], "column 'weight' was numeric in training, is text now"),
        ("weight", ["1", "2", "3"], "spells numbers: convert it first"),
        ("weight", [date(2024, 1, 1)] * 3, "column 'weight' was numeric in training, is dates now"),
        ("day", [1, 2, 3], "column 'day' was dates in training, is numeric now"),
        ("day", ["2024-01-01"] * 3, "column 'day' was dates in training, is text now"),
        ("fresh", ["yes", "no", "no"], "column 'fresh' was boolean in training, is text now"),
    ],
)
def test_a_column_that_changed_its_type_is_refused(column, cells, message):
    with pytest.raises(ValueError, match=message):
        read(TRAINING | {column: cells})


def test_absent_columns_are_named():
    with pytest.raises(ValueError, match="X lacks columns that Forest was trained on: 'colour', 'day'"):
        read({"weight": [1], "fresh": [True]}, learner="Forest")


def test_an_unnamed_table_is_read_by_position_with_a_warning():
    rows = [list(row) for row in zip(*TRAINING.values(), strict=True)]
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Forest was fitted with feature"):
        np.testing.assert_array_equal(read(rows, learner="Forest"), TABLE.values)


def test_a_named_table_for_an_unnamed_model_is_read_by_position_with_a_warning():
    table = read_frame(np.eye(2))
    with pytest.warns(UserWarning, match="X has feature names, but Forest was fitted without feature names"):
        values = read_like({"b": [1], "a": [2]}, table.columns, named=False, learner="Forest")
    assert values.tolist() == [[1, 2]]


def test_a_wrong_number_of_columns_is_counted():
    table = read_frame(np.eye(2))
    with pytest.raises(ValueError, match="X has 3 features, but Forest is expecting 2 features as input"):
        read_like(np.eye(3), table.columns, named=False, learner="Forest")


def test_an_array_of_numbers_is_read_row_after_row():
    table = read_frame(np.eye(3))
    X = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    values = read_like(X, table.columns, named=False)
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(values, X)


NUMBERS = read_frame({"a": [1.0, 2.0], "b": [3.0, 4.0]})


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, NAN], "b": [3.0, -np.inf]}),
        pd.DataFrame({"a": [1, 2], "b": [3.5, 4.5]}),
        pd.DataFrame({"a": np.array([1, 2], np.float32), "b": [3.5, NAN]}),
        pd.DataFrame({"a": pd.Categorical([1.0, 2.0]), "b": pd.Categorical([2.0, NAN])}),
        pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["a", "b"])[::2],
    ],
)
def test_a_frame_of_numbers_is_the_same_matrix_as_read_column_by_column(frame):
    found = matrix_of(frame, ["a", "b"], 2)
    assert found is not None
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, read_like(frame, NUMBERS.columns, named=True))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"b": [1.0], "a": [2.0]}),
        pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]}),
        pd.DataFrame({"a": [1.0]}),
        pd.DataFrame({"a": [], "b": []}),
        pd.DataFrame({"a": [1.0], "b": ["2"]}),
        pd.DataFrame({"a": [1.0], "b": [True]}),
        pd.DataFrame({"a": [1.0], "b": [None]}, dtype=object),
        pd.DataFrame({"a": [datetime(2024, 1, 1)], "b": [datetime(2024, 1, 2)]}),
        pl.DataFrame({"a": [1.0], "b": [2.0]}),
        {"a": [1.0], "b": [2.0]},
        np.zeros((1, 2)),
        [[1.0, 2.0]],
    ],
)
def test_any_other_table_is_read_column_by_column(frame):
    assert matrix_of(frame, ["a", "b"], 2) is None


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((1, 3)),
        np.zeros((0, 2)),
        np.zeros(2),
        np.zeros((1, 2, 1)),
        np.zeros((1, 2), np.float32),
        np.zeros((1, 2), ">f8"),
        np.zeros((1, 2), object),
        np.ma.masked_array(np.zeros((1, 2)), mask=[[True, False]]),
        pd.DataFrame(np.zeros((1, 2))),
    ],
)
def test_an_array_of_another_shape_or_type_is_checked_and_converted(array):
    assert matrix_of(array, None, 2) is None
