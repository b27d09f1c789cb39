"""The light frame: taking rows and columns, keeping domains, and passing through scikit-learn."""

import copy
import pickle
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import _safe_indexing

from treewright.table import Frame, read_frame, read_table

FRAME = Frame(
    {
        "size": ["S", "L", None, "S"],
        "price": [1.5, None, 3.0, 4.0],
        "day": [date(2024, 1, 1), None, date(2024, 1, 3), date(2024, 1, 4)],
    }
).declare("size", ["S", "M", "L"], ordered=True)


def test_shape_and_names():
    assert FRAME.shape == (4, 3)
    assert len(FRAME) == 4
    assert FRAME.columns == list(FRAME) == ["size", "price", "day"]
    assert "price" in FRAME


@pytest.mark.parametrize("rows", [[0, 3], np.array([0, 3]), np.array([True, False, False, True]), slice(0, 4, 3)])
def test_scikit_learn_takes_rows_and_domains_stay(rows):
    taken = _safe_indexing(FRAME, rows)
    assert isinstance(taken, Frame)
    assert taken["price"].tolist() == [1.5, 4.0]
    assert taken.domains == FRAME.domains


def test_scikit_learn_splits_it():
    train, test = train_test_split(FRAME, test_size=1, random_state=0)
    assert len(train) == 3
    assert len(test) == 1
    assert [len(train) for train, _ in KFold(2).split(FRAME)] == [2, 2]


def test_one_row_is_a_dict():
    assert FRAME[0] == {"size": "S", "price": 1.5, "day": date(2024, 1, 1)}


def test_columns_are_taken_and_dropped():
    assert FRAME[["day", "size"]].columns == ["day", "size"]
    assert FRAME.drop("size", "day").columns == ["price"]
    assert FRAME.drop("size").domains == {}
    with pytest.raises(KeyError, match="no column 'colour'; the columns are 'size', 'price', 'day'"):
        FRAME.drop("colour")
    with pytest.raises(KeyError, match="no column 'colour'"):
        FRAME["colour"]


def test_no_rows_may_be_taken():
    assert len(FRAME[[]]) == 0


def test_declaring_or_assigning_leaves_the_frame_itself_unchanged():
    plain = Frame({"a": ["x"]})
    plain.declare("a", ["x", "y"])
    plain.assign("a", ["z"])
    assert plain.domains == {}
    assert plain["a"].tolist() == ["x"]


def test_values_outside_a_domain_are_refused():
    with pytest.raises(ValueError, match="column 'a': 'z' not among the declared categories"):
        Frame({"a": ["x", "z"]}).declare("a", ["x", "y"])


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        Frame({"a": [1], "b": [1, 2]})


def test_other_libraries_read_its_dict():
    plain = FRAME.drop("size")
    for library in (pd.DataFrame, pl.DataFrame):
        np.testing.assert_array_equal(read_frame(library(plain.to_dict())).values, read_frame(plain).values)
    assert FRAME.to_dict()["size"] == ["S", "L", None, "S"]


def test_it_shows_what_each_column_is():
    shown = repr(FRAME.assign("ripe", [True, None, False, True]))
    assert shown.splitlines()[0] == "Frame of 4 rows and 4 columns"
    assert [line.split()[:2] for line in shown.splitlines()[1:]] == [
        ["size", "ordered"],
        ["price", "numbers"],
        ["day", "dates"],
        ["ripe", "booleans"],
    ]


def test_other_libraries_read_a_frame_as_the_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("size,price,day\nS,1.5,2024-01-31\nL,,2024-02-01\n,3,\n", encoding="utf-8")
    frame = read_table(path)
    theirs = pd.DataFrame(frame)
    assert theirs.shape == frame.shape
    assert theirs.columns.tolist() == ["size", "price", "day"]
    assert theirs["price"].tolist()[::2] == [1.5, 3.0]
    assert theirs.isna().to_numpy().tolist() == [[False] * 3, [False, True, False], [True, False, True]]
    assert str(theirs["day"].iloc[0].date()) == "2024-01-31"
    np.testing.assert_array_equal(pd.DataFrame(frame[["price"]])["price"], frame["price"])
    assert pl.DataFrame(frame).columns == frame.columns
    assert len(frame) == 3
    for same in (copy.copy(frame), copy.deepcopy(frame), pickle.loads(pickle.dumps(frame))):
        assert same.to_dict() == frame.to_dict()
        assert same != frame


def test_a_frame_is_not_changed_as_a_dict_is():
    frame = Frame({"size": ["S", "L"]})
    for change in (
        lambda: frame.update(price=[1, 2]),
        lambda: frame.pop("size"),
        lambda: frame.__setitem__("size", [1, 2]),
        frame.clear,
    ):
        with pytest.raises(TypeError, match=r"a Frame does not change; frame\.assign"):
            change()
    assert frame.to_dict() == {"size": ["S", "L"]}
