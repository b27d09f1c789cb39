"""Mixed tables made numbers: against scikit-learn's own steps, and for every kind of table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import AdaBoostClassifier as ScikitAdaBoost
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from table_forms import WITH_NAMES
from treewright import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BayesianAveragingClassifier,
    DecisionTreeClassifier,
    StackingClassifier,
    VotingClassifier,
)
from treewright.estimators.meta.preparing import TablePreparer, prepared, reads_tables, takes_weights
from treewright.table.selection import open_rows

TABLE: dict[str, list[Any]] = {
    "colour": ["red", None, "blue", "red", "green", "blue"],
    "size": [1.0, 2.5, None, 4.0, -3.0, 2.0],
    "ripe": [True, False, None, True, True, False],
}
NEW: dict[str, list[Any]] = {"colour": ["purple", None, "blue"], "size": [None, 1.0, 7.0], "ripe": [True, None, False]}


def test_numbers_are_filled_and_scaled_as_scikit_learn_does() -> None:
    X = np.random.default_rng(0).normal(5, 3, size=(50, 3))
    X[::7, 1] = np.nan
    theirs = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()).fit(X)
    ours = TablePreparer().fit(X)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-12)
    new = np.array([[1.0, np.nan, 2.0]])
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-12)


def test_categories_become_columns_as_scikit_learn_makes_them() -> None:
    words = [["b"], ["a"], ["c"], ["a"]]
    theirs = OneHotEncoder(categories=[["b", "a", "c"]], handle_unknown="ignore", sparse_output=False).fit(words)
    ours = TablePreparer().fit(words)
    new = [["c"], ["z"], ["b"]]
    np.testing.assert_array_equal(ours.transform(new), theirs.transform(new))
    assert ours.get_feature_names_out().tolist() == ["x0=b", "x0=a", "x0=c"]


@pytest.mark.parametrize("library", WITH_NAMES)
def test_every_library_gives_the_same_numbers(library: str) -> None:
    expected = TablePreparer().fit(TABLE).transform(NEW)
    make = WITH_NAMES[library]
    preparer = TablePreparer().fit(make(TABLE))
    np.testing.assert_array_equal(preparer.transform(make(NEW)), expected)
    assert preparer.feature_names_in_.tolist() == ["colour", "size", "ripe"]
    assert np.isfinite(expected).all()
    assert expected[0, :3].tolist() == [0.0, 0.0, 0.0]


def test_ordered_categories_count_as_numbers() -> None:
    sizes = pd.Categorical(["S", "L", "M", "S"], categories=["S", "M", "L"], ordered=True)
    prepared_sizes = TablePreparer().fit_transform(pd.DataFrame({"size": sizes}))
    expected = StandardScaler().fit_transform([[0], [2], [1], [0]])
    np.testing.assert_allclose(prepared_sizes, expected)


def test_rare_categories_share_a_column() -> None:
    words = ["a"] * 5 + ["b"] * 4 + ["c", "d", "e"]
    preparer = TablePreparer(max_categories=3).fit({"word": words})
    assert preparer.get_feature_names_out().tolist() == ["word=a", "word=b", "word=(others)"]
    assert preparer.transform({"word": ["d", "b", "never"]}).tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("numbers", [[1e308, -1e308, 0.0], [5.0, 5.0, 5.0], [0.1, 0.1, 0.1], [np.inf, 1.0, 2.0]])
def test_extreme_and_constant_numbers_stay_finite(numbers: list[float]) -> None:
    assert np.isfinite(TablePreparer().fit_transform({"x": numbers})).all()


def test_a_column_without_values_is_all_zero() -> None:
    assert not TablePreparer().fit_transform({"x": [None, None], "y": [1, 2]})[:, 0].any()


def test_it_works_in_a_pipeline_and_in_a_search() -> None:
    y = ["a", "b", "a", "b", "a", "b"]
    pipeline = make_pipeline(TablePreparer(), LogisticRegression()).fit(TABLE, y)
    assert set(pipeline.predict(NEW)) <= {"a", "b"}
    search = GridSearchCV(pipeline, {"tablepreparer__max_categories": [2, 5]}, cv=2).fit(pd.DataFrame(TABLE), y)
    assert search.best_params_


def test_what_reads_tables_is_left_as_it_is() -> None:
    tree = DecisionTreeClassifier()
    search = GridSearchCV(tree, {"max_depth": [1, 2]})
    pipeline = make_pipeline(StandardScaler(), SVC())
    for estimator in (tree, search, pipeline, TablePreparer()):
        assert prepared(estimator) is estimator
    assert not reads_tables(RandomForestClassifier())
    assert takes_weights(prepared(RandomForestClassifier()))
    assert takes_weights(tree)


def test_private_attributes_that_a_model_has_set_are_read_through_its_preparer() -> None:
    member = prepared(KNeighborsClassifier(1)).fit(TABLE, ["yes", "no", "yes", "no", "no", "yes"])
    assert member._fit_method == member.steps[-1][1]._fit_method
    assert not hasattr(member, "_validate_data_of_no_model")
    assert not hasattr(member, "_tree_of_no_model")


@pytest.mark.parametrize("library", WITH_NAMES)
def test_rows_can_be_taken_from_any_table(library: str) -> None:
    from sklearn.utils import _safe_indexing

    rows = _safe_indexing(open_rows(WITH_NAMES[library](TABLE)), np.array([0, 3]))
    expected = TablePreparer().fit(TABLE).transform({name: [cells[0], cells[3]] for name, cells in TABLE.items()})
    np.testing.assert_array_equal(TablePreparer().fit(TABLE).transform(rows), expected)


def test_a_wrong_number_of_categories_gets_one_sentence() -> None:
    with pytest.raises(ValueError, match="max_categories is 1; give a whole number of 2 or more"):
        TablePreparer(max_categories=1).fit([[1]])


@parametrize_with_checks([TablePreparer()])
def test_the_preparer_passes_the_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "combine",
    [
        lambda base: BaggingClassifier(base, n_estimators=1, replace=False),
        lambda base: VotingClassifier([("only", base)]),
    ],
    ids=["bagging", "voting"],
)
@pytest.mark.parametrize(
    "base", [KNeighborsClassifier(3), SVC(), LogisticRegression()], ids=lambda base: type(base).__name__
)
def test_members_see_numbers_in_their_own_units(combine, base):
    X, y = load_wine(return_X_y=True)  # columns between 0.1 and 1,700
    expected = clone(base).fit(X[::2], y[::2]).predict(X[1::2])
    np.testing.assert_array_equal(combine(base).fit(X[::2], y[::2]).predict(X[1::2]), expected)


def test_members_of_adaboost_see_numbers_in_their_own_units():
    X, y = load_wine(return_X_y=True)
    expected = ScikitAdaBoost(SVC(), n_estimators=3, random_state=0).fit(X, y).predict(X)
    np.testing.assert_array_equal(
        AdaBoostClassifier(SVC(), n_estimators=3, random_state=0).fit(X, y).predict(X), expected
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("combine", [BaggingClassifier, AdaBoostClassifier], ids=lambda combine: combine.__name__)
def test_members_that_refuse_such_values_get_them_prepared(combine, value):
    X, y = load_wine(return_X_y=True)
    model = combine(SVC(), n_estimators=2, random_state=0).fit(X, y)
    new = X[:3].copy()
    new[1, 2] = value
    assert set(model.predict(new)) <= set(y)


@pytest.mark.parametrize("scale", [True, False, "auto"])
def test_auto_scales_numbers_beside_other_columns_only(scale):
    numbers = {"x": [1.0, 2.0, 6.0]}
    mixed = {**numbers, "word": ["a", "b", "a"]}
    assert (TablePreparer(scale=scale).fit_transform(numbers)[:, 0].tolist() == numbers["x"]) is (scale is not True)
    assert (TablePreparer(scale=scale).fit_transform(mixed)[:, 0].tolist() == numbers["x"]) is (scale is False)


def test_an_infinite_value_is_ten_standard_deviations_from_the_mean():
    preparer = TablePreparer(scale=False).fit({"x": [1.0, 3.0]})
    assert preparer.transform({"x": [np.inf, -np.inf, np.nan]})[:, 0].tolist() == [12.0, -8.0, 2.0]


@pytest.mark.parametrize("combine", [VotingClassifier, StackingClassifier, BayesianAveragingClassifier])
def test_one_class_is_too_few_for_members(combine):
    with pytest.raises(ValueError, match="y has one class only, 'yes', and members need two or more"):
        combine().fit([[1], [2], [3]], ["yes"] * 3)


@pytest.mark.parametrize("combine", [AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, VotingClassifier])
def test_a_table_without_rows_is_refused(combine):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        combine().fit(np.empty((0, 3)), [])
