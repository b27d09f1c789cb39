"""The same table gives the same tree, whichever library holds it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import treewright
from table_forms import WITH_NAMES, Columns, as_object_array
from treewright import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor, OneRClassifier, datasets
from treewright.table import Frame

SIZES = ("small", "medium", "large")


def make_columns(n_rows: int = 120) -> tuple[Columns, list[str]]:
    """Every kind of column but ordered ones, each with missing values, and a target that depends on all of them."""
    rng = np.random.default_rng(5)
    columns: Columns = {
        "colour": [str(word) for word in rng.choice(["red", "green", "blue"], n_rows)],
        "ripe": [bool(flag) for flag in rng.random(n_rows) < 0.5],
        "weight": [float(x) for x in np.round(rng.normal(100, 20, n_rows), 1)],
        "count": [int(x) for x in rng.integers(0, 9, n_rows)],
        "picked": [date(2024, 5, 1) + timedelta(days=int(x)) for x in rng.integers(0, 90, n_rows)],
    }
    target = [
        "yes" if (ripe and weight > 95) or (colour == "red" and count > 4) or day > date(2024, 7, 15) else "no"
        for colour, ripe, weight, count, day in zip(*columns.values(), strict=True)
    ]
    columns_with_missing = {
        name: [None if is_missing else cell for is_missing, cell in zip(rng.random(n_rows) < 0.07, cells, strict=True)]
        for name, cells in columns.items()
    }
    return columns_with_missing, target


MODELS = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(categorical="multiway", criterion="information_gain"),
    C45Classifier(),
    OneRClassifier(),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("library", WITH_NAMES)
def test_every_library_gives_the_same_tree(library: str, model: Any) -> None:
    columns, target = make_columns()
    expected = model.fit(columns, target).tree_.to_dict()
    frame = WITH_NAMES[library](columns)
    assert model.fit(frame, target).tree_.to_dict() == expected
    assert model.feature_names_in_.tolist() == list(columns)


@pytest.mark.parametrize("library", WITH_NAMES)
def test_a_model_predicts_the_same_from_every_library(library: str) -> None:
    columns, target = make_columns()
    model = DecisionTreeClassifier(max_depth=4).fit(pd.DataFrame(columns), target)
    expected = model.predict_proba(columns)
    np.testing.assert_array_equal(model.predict_proba(WITH_NAMES[library](columns)), expected)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_an_object_array_gives_the_same_tree_with_numbered_names(model: Any) -> None:
    columns, target = make_columns()
    numbered = {f"x{place}": cells for place, cells in enumerate(columns.values())}
    expected = model.fit(numbered, target).tree_.to_dict()
    assert model.fit(as_object_array(columns), target).tree_.to_dict() == expected
    assert not hasattr(model, "feature_names_in_")


def test_an_array_of_numbers_and_a_frame_of_them_give_the_same_tree() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X) @ [1.0, -2.0, 0.5]
    names = ["x0", "x1", "x2"]
    trees = [
        DecisionTreeRegressor(max_depth=5).fit(table, y).tree_.to_dict()
        for table in (
            X,
            np.asfortranarray(X),
            X.tolist(),
            pd.DataFrame(X, columns=names),
            pl.DataFrame(X, schema=names),
            pa.table(dict(zip(names, X.T, strict=True))),
        )
    ]
    assert all(tree == trees[0] for tree in trees)


def ordered_tables() -> dict[str, Any]:
    """One column whose categories have an order, declared in three libraries."""
    words = ["large", "small", None, "medium", "small", "large", "medium", "small"] * 3
    codes = [None if word is None else SIZES.index(word) for word in words]
    dictionary = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), list(SIZES), ordered=True)
    return {
        "pandas": pd.DataFrame({"size": pd.Categorical(words, categories=SIZES, ordered=True)}),
        "arrow": pa.table({"size": dictionary}),
        "frame": Frame({"size": words}).declare("size", SIZES, ordered=True),
    }


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["DecisionTreeRegressor", "RandomForestRegressor", "GradientBoostingRegressor"])
def test_arrays_that_begin_at_any_byte_give_the_same_model(name: str, order: str) -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 4)), random.normal(size=300)
    model = getattr(treewright, name)(random_state=0, max_depth=3).fit(X, y)
    memory = np.zeros(X.nbytes + 1, np.uint8)[1:]
    unaligned = np.ndarray(X.shape, X.dtype, memory.data, order=order)
    unaligned[:] = X
    assert not unaligned.flags.aligned
    other = getattr(treewright, name)(random_state=0, max_depth=3).fit(unaligned, y)
    assert other.predict(unaligned).tolist() == model.predict(X).tolist()


def test_ordered_categories_are_cut_in_their_order_in_every_library() -> None:
    tables = ordered_tables()
    target = [0 if word in ("small", "medium", None) else 1 for word in tables["pandas"]["size"].tolist()]
    trees = {library: DecisionTreeClassifier(max_depth=1).fit(table, target).tree_ for library, table in tables.items()}
    assert trees["pandas"].root.tests[0].relation == "<="
    assert str(trees["pandas"].root.tests[0]) == "size <= medium"
    for tree in trees.values():
        assert tree.to_dict() == trees["pandas"].to_dict()


def test_declared_categories_make_branches_in_every_library() -> None:
    words = ["sunny", "rainy", "sunny", "rainy"]
    domain = ["sunny", "cloudy", "rainy"]
    codes = pa.array([domain.index(word) for word in words], pa.int8())
    tables = [
        pd.DataFrame({"sky": pd.Categorical(words, categories=domain)}),
        pl.DataFrame({"sky": pl.Series(words, dtype=pl.Enum(domain))}),
        pa.table({"sky": pa.DictionaryArray.from_arrays(codes, domain)}),
        Frame({"sky": words}).declare("sky", domain),
    ]
    for table in tables:
        model = DecisionTreeClassifier(categorical="multiway").fit(table, ["yes", "no", "yes", "no"])
        tests = [str(test) for test in model.tree_.root.tests]
        assert tests == ["sky = sunny", "sky = cloudy", "sky = rainy"]


@pytest.mark.parametrize(
    "as_series",
    [list, np.array, pd.Series, pl.Series, pa.array, lambda y: pa.chunked_array([y])],
    ids=["list", "numpy", "pandas", "polars", "arrow array", "arrow"],
)
def test_target_and_weights_may_come_from_any_library(as_series: Callable[[Any], Any]) -> None:
    columns, target = make_columns()
    weights = np.random.default_rng(1).integers(0, 4, len(target)).astype(float)
    expected = DecisionTreeClassifier().fit(columns, target, weights)
    model = DecisionTreeClassifier().fit(columns, as_series(target), sample_weight=as_series(weights.tolist()))
    assert model.tree_.to_dict() == expected.tree_.to_dict()
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(columns, as_series(target)) == expected.score(columns, target)


def test_the_tree_names_its_target_as_the_table_does() -> None:
    columns, target = make_columns()
    for y in (pd.Series(target, name="sweet"), pl.Series("sweet", target), pd.DataFrame({"sweet": target})):
        assert DecisionTreeClassifier().fit(columns, y).tree_.target.name == "sweet"


def test_the_columns_of_the_orchard_are_printed_in_their_own_words() -> None:
    orchard = datasets.load_orchard()
    only = [name for name in orchard.X.columns if name not in ("vigour", "irrigated", "last_pruned")]
    model = DecisionTreeClassifier().fit(orchard.X.drop(*only), orchard.y)
    words = {str(test) for node in model.tree_ for test in node.tests}
    assert {"vigour <= weak", "vigour <= medium", "irrigated = True"} <= words
    assert any(re.fullmatch(r"last_pruned <= \d{4}-\d\d-\d\d", word) for word in words)


def test_the_input_is_not_changed() -> None:
    columns, target = make_columns()
    frame = pd.DataFrame(columns)
    before = frame.copy(deep=True)
    DecisionTreeClassifier().fit(frame, target).predict(frame)
    pd.testing.assert_frame_equal(frame, before)
