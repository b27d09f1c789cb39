"""Bad input: each case either works as a user would expect or raises one clear sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import treewright
from treewright import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ObliviousTreeClassifier,
    OneRClassifier,
)
from treewright.estimators import single

X = {"size": ["L", "S", "L", "S"], "price": [3.0, 1.0, 2.0, 2.5]}
y = ["yes", "no", "yes", "no"]

CLASSIFIERS = [name for name in single.__all__ if name.endswith("Classifier")]


def make(name: str) -> Any:
    """A learner that grows a full tree, however few the rows."""
    learner = getattr(treewright, name)(**({"categorical_features": "all"} if name == "ID3Classifier" else {}))
    return learner.set_params(prune=None) if "prune" in learner.get_params() else learner


def refuses(sentence: str, call: Callable[[], Any], error: type[Exception] = ValueError) -> None:
    """Assert that the call raises this sentence, and that it is one line."""
    with pytest.raises(error, match=re.escape(sentence)) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("empty", [[], pd.DataFrame({"a": []}), np.empty((0, 2)), {"a": []}], ids=type)
def test_a_table_without_rows_is_refused(empty: Any) -> None:
    refuses("Found array with 0 sample(s)", lambda: DecisionTreeClassifier().fit(empty, []))


@pytest.mark.parametrize("empty", [pd.DataFrame(index=[0, 1]), np.empty((2, 0)), {}], ids=type)
def test_a_table_without_columns_is_refused(empty: Any) -> None:
    refuses("Found array with 0 feature(s)", lambda: DecisionTreeClassifier().fit(empty, [0, 1]))


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(), DecisionTreeRegressor()], ids=str)
def test_no_target_is_refused(learner: Any) -> None:
    refuses("the target y is None", lambda: learner.fit(X, None))


def test_a_target_of_another_length_is_refused() -> None:
    refuses(
        "Found input variables with inconsistent numbers of samples: X has 4 rows, but y has 3 values; give one target",
        lambda: DecisionTreeClassifier().fit(X, y[:3]),
    )


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(), DecisionTreeRegressor()], ids=str)
def test_a_sparse_target_is_refused(learner: Any) -> None:
    refuses("y is sparse", lambda: learner.fit(X, csr_array([[0, 1, 0, 1]]).T))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class_makes_a_leaf(name: str) -> None:
    model = make(name).fit(X, ["yes"] * 4)
    assert model.tree_.n_nodes == 1
    assert model.classes_.tolist() == ["yes"]
    assert model.predict(X).tolist() == ["yes"] * 4
    assert model.predict_proba(X).tolist() == [[1.0]] * 4
    assert model.feature_importances_.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", single.__all__)
def test_columns_without_any_value_are_never_asked_about(name: str) -> None:
    empty_columns = {"none": [None] * 16, "nan": [np.nan] * 16, "size": X["size"] * 4}
    target = [1, 0, 1, 0] * 4
    model = make(name).fit(empty_columns, target)
    assert [node.column.name for node in model.tree_ if node.column] == ["size"]
    assert model.predict(empty_columns).tolist() == target


@pytest.mark.parametrize("name", single.__all__)
def test_a_table_of_nothing_but_missing_values_makes_a_leaf(name: str) -> None:
    model = make(name).fit({"a": [None, None, None], "b": [np.nan] * 3}, [1, 0, 1])
    assert model.tree_.n_nodes == 1


@pytest.mark.parametrize("name", single.__all__)
def test_constant_columns_are_never_asked_about(name: str) -> None:
    with_missing = ["b", None, "b", "b"]
    constant = {"one": [1.0] * 16, "word": ["a"] * 16, "some": with_missing * 4, "size": X["size"] * 4}
    # Other strategies can separate the missing values from the one that occurs.
    model = make(name).set_params(missing="majority").fit(constant, [1, 0, 1, 0] * 4)
    assert [node.column.name for node in model.tree_ if node.column] == ["size"]


@pytest.mark.parametrize(
    "learner",
    [DecisionTreeClassifier(), C45Classifier(min_samples_leaf=1, prune=None), OneRClassifier(min_bucket=1)],
    ids=str,
)
def test_infinities_are_the_smallest_and_the_largest_numbers(learner: Any) -> None:
    column = np.array([[-np.inf], [-1e308], [1e308], [np.inf]])
    target = ["a", "b", "c", "d"]
    if isinstance(learner, C45Classifier):  # it would rather not split four rows of four classes
        column, target = np.repeat(column, 8, axis=0), np.repeat(target, 8).tolist()
    model = learner.fit(column, target)
    assert model.predict(column).tolist() == target


def test_infinities_alone_can_be_separated() -> None:
    model = DecisionTreeRegressor().fit([[-np.inf], [np.inf]], [1.0, 2.0])
    assert model.predict([[-np.inf], [0.0], [np.inf]]).tolist() == [1.0, 2.0, 2.0]


def test_missing_values_in_the_target_are_refused() -> None:
    classifier, regressor = DecisionTreeClassifier(), DecisionTreeRegressor()
    refuses("the target has 1 missing value (row 1)", lambda: classifier.fit(X, ["a", None, "b", "a"]))
    refuses("the target has 2 missing values (rows 0, 3)", lambda: regressor.fit(X, [np.nan, 1, 2, np.nan]))
    nullable = pd.Series([1, None, 0, 1], dtype="Int64")
    refuses("the target has 1 missing value (row 1)", lambda: classifier.fit(X, nullable))


def test_an_infinite_target_is_refused() -> None:
    refuses("the target must be finite", lambda: DecisionTreeRegressor().fit(X, [1.0, np.inf, 0.0, 2.0]))


def test_a_target_of_the_wrong_kind_is_refused() -> None:
    refuses("use a classifier for classes", lambda: DecisionTreeRegressor().fit(X, y))
    refuses("Unknown label type: continuous", lambda: DecisionTreeClassifier().fit(X, [0.1, 0.2, 0.3, 0.4]))
    refuses("mixes text and numbers", lambda: DecisionTreeClassifier().fit(X, ["a", 1, "b", 2]))


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    arrow = pa.table([[1, 2], [3, 4]], names=["a", "a"])
    for table in (frame, arrow):
        refuses("'a' occur more than once", lambda table=table: DecisionTreeClassifier().fit(table, [0, 1]))


def test_a_column_without_a_name_is_refused() -> None:
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", None])
    refuses("column 1 of 2 has no name", lambda: DecisionTreeClassifier().fit(frame, [0, 1]))


def test_columns_are_matched_by_name_whatever_their_order() -> None:
    frame = pd.DataFrame(X)
    model = DecisionTreeClassifier().fit(frame, y)
    shuffled = frame.assign(extra="ignored")[["extra", "price", "size"]]
    assert model.predict(shuffled).tolist() == y


def test_an_absent_column_is_named() -> None:
    model = DecisionTreeClassifier().fit(X, y)
    refuses(
        "X lacks columns that DecisionTreeClassifier was trained on: 'price'",
        lambda: model.predict({"size": ["L"]}),
    )


def test_an_array_of_another_width_is_refused() -> None:
    model = DecisionTreeClassifier().fit([[1, 2], [3, 4]], [0, 1])
    refuses(
        "X has 3 features, but DecisionTreeClassifier is expecting 2 features",
        lambda: model.predict([[1, 2, 3]]),
    )


def test_a_column_that_changed_its_kind_is_named() -> None:
    model = DecisionTreeClassifier().fit(X, y)
    refuses(
        "column 'price' was numeric in training, is text now",
        lambda: model.predict({"size": ["L"], "price": ["cheap"]}),
    )
    refuses("column 'size' was text in training", lambda: model.predict({"size": [1], "price": [2]}))


def test_text_among_numbers_is_refused_unless_it_is_declared() -> None:
    mixed = {"age": [12, "12y", 14, "n/a"]}
    refuses("column 'age': 2 of 4 values are text ('12y', 'n/a')", lambda: DecisionTreeClassifier().fit(mixed, y))
    model = DecisionTreeClassifier(categorical_features=["age"]).fit(mixed, y)
    assert model.predict(mixed).tolist() == y


def test_a_category_never_seen_follows_the_heaviest_branch() -> None:
    colours = {"colour": ["red", "red", "red", "blue"]}
    for name in ("DecisionTreeClassifier", "ID3Classifier", "OneRClassifier"):
        model = make(name).fit(colours, ["a", "a", "a", "b"])
        assert model.predict({"colour": ["green", None, "blue"]}).tolist() == ["a", "a", "b"]


@pytest.mark.parametrize("name", single.__all__)
def test_negative_weights_are_refused(name: str) -> None:
    refuses(
        "Negative values in data passed to `sample_weight` (rows 0, 2); give 0 to leave a row out",
        lambda: make(name).fit(X, [0, 1, 0, 1], sample_weight=[-1, 1, -0.5, 1]),
    )


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1, 1, 1], "sample_weight.shape == (3,), expected (4,)"),
        ([[1], [1], [1], [1]], "sample_weight has 2 dimensions"),
        ([1, np.nan, 1, 1], "sample_weight contains NaN (row 1)"),
        ([1, None, 1, 1], "sample_weight contains NaN (row 1)"),
        ([1, 1, np.inf, 1], "sample_weight contains infinity (row 2)"),
        (["1", "2", "3", "4"], "sample_weight is not numeric"),
        ([0, 0, 0, 0], "every row has a weight of zero"),
        (0, "every row has a weight of zero"),
        ([1e308, 1e308, 1e308, 1e308], "the weights add up to infinity"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights: Any, sentence: str) -> None:
    refuses(sentence, lambda: DecisionTreeClassifier().fit(X, y, sample_weight=weights))


@pytest.mark.parametrize("name", single.__all__)
def test_rows_of_weight_zero_are_as_good_as_absent(name: str) -> None:
    rng = np.random.default_rng(2)
    table = {"word": rng.choice(["a", "b", "c"], 40).tolist(), "number": rng.integers(0, 6, 40).tolist()}
    target = rng.integers(0, 2, 40)
    weights = rng.integers(0, 3, 40).astype(float)
    table["word"][0], weights[0] = "only here", 0.0
    kept = {key: [cell for cell, weight in zip(cells, weights, strict=True) if weight] for key, cells in table.items()}
    names = {"random_state": 0} if "random_state" in make(name).get_params() else {}
    weighted = make(name).set_params(**names).fit(table, target, sample_weight=weights)
    absent = make(name).set_params(**names).fit(kept, target[weights > 0], sample_weight=weights[weights > 0])
    np.testing.assert_allclose(weighted.predict(table), absent.predict(table))
    assert weighted.tree_.n_nodes == absent.tree_.n_nodes


def test_a_class_of_weight_zero_is_known_but_never_answered() -> None:
    model = DecisionTreeClassifier().fit(X, ["a", "b", "c", "b"], sample_weight=[1, 1, 0, 1])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X)[:, 2].tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"criterion": "twoing"},
            "criterion is 'twoing'; give one of 'gini', 'information_gain', 'gain_ratio' or 'error'",
        ),
        ({"criterion": "squared_error"}, "criterion is 'squared_error'; give one of"),
        ({"criterion": None}, "criterion is None; give one of"),
        (
            {"categorical": "one-hot"},
            "categorical is 'one-hot'; give one of 'subset', 'multiway', 'one_vs_rest' or 'best_subset'",
        ),
        ({"categorical": ["subset"]}, "categorical is ['subset']; give one of"),
        ({"max_depth": -1}, "max_depth is -1; give a whole number of 0 or more, or None for no limit"),
        ({"max_depth": 2.5}, "max_depth is 2.5; give a whole number"),
        ({"max_depth": True}, "max_depth is True; give a whole number"),
        ({"max_depth": "3"}, "max_depth is '3'; give a whole number"),
        (
            {"min_samples_split": 1},
            "The 'min_samples_split' parameter must be an int in the range [2, inf) or a float in the range "
            "(0.0, 1.0], which is a share of the rows, but it is 1",
        ),
        (
            {"min_samples_split": 1.5},
            "a float in the range (0.0, 1.0], which is a share of the rows, but it is 1.5",
        ),
        (
            {"min_samples_split": np.nan},
            "a float in the range (0.0, 1.0], which is a share of the rows, but it is nan",
        ),
        ({"min_samples_leaf": 0}, "The 'min_samples_leaf' parameter must be an int in the range [1, inf)"),
        ({"min_samples_leaf": 1.0}, "The 'min_samples_leaf' parameter must be an int in the range [1, inf)"),
        (
            {"min_samples_leaf": False},
            "The 'min_samples_leaf' parameter must be an int in the range [1, inf)",
        ),
        ({"min_split_gain": -0.1}, "min_split_gain is -0.1; give a number of 0 or more"),
        ({"min_split_gain": np.inf}, "min_split_gain is inf; give a number of 0 or more"),
        ({"min_split_gain": "0"}, "min_split_gain is '0'; give a number of 0 or more"),
        (
            {"max_leaf_nodes": 1},
            "max_leaf_nodes is 1; give a whole number of 2 or more, or None for no limit",
        ),
        ({"max_features": 0}, "max_features is 0; give a number of columns, a share of them"),
        ({"max_features": 1.5}, "max_features is 1.5; give a number of columns, a share of them"),
        ({"max_features": "auto"}, "max_features is 'auto'; give a number of columns, a share of them"),
        ({"max_features": np.nan}, "max_features is nan; give a number of columns, a share of them"),
        (
            {"candidates": "quantiles"},
            "candidates is 'quantiles'; give 'midpoints', 'class_boundaries', ('bins', k)",
        ),
        ({"candidates": ("bins", 1)}, "candidates is ('bins', 1); give 'midpoints'"),
        ({"candidates": ("step", 0)}, "candidates is ('step', 0); give 'midpoints'"),
        ({"candidates": ("step", np.nan)}, "candidates is ('step', nan); give 'midpoints'"),
        ({"candidates": ("bins", 4, 5)}, "candidates is ('bins', 4, 5); give 'midpoints'"),
        ({"splitter": "worst"}, "splitter is 'worst'; give 'best', 'random' or ('among', k)"),
        ({"splitter": ("among", 0)}, "splitter is ('among', 0); give 'best', 'random' or ('among', k)"),
        ({"splitter": ("among", True)}, "splitter is ('among', True); give 'best', 'random' or ('among', k)"),
        ({"class_weight": "even"}, "class_weight is 'even'; give None, 'balanced' or a dict"),
        ({"class_weight": {"yes": -1}}, "class_weight of 'yes' is -1; give a number of 0 or more"),
        (
            {"class_weight": {"Yes": 2, "no": 1}},
            "class_weight names 'Yes', which is no class of y, and leaves out 'yes'",
        ),
        ({"class_weight": {"yes": 0, "no": 0}}, "every row has a weight of zero"),
        ({"n_jobs": 0}, "n_jobs is 0; give a number of threads"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5; give a number of threads"),
        ({"random_state": "seed"}, "'seed' cannot be used to seed"),
        ({"categorical_features": "size"}, "categorical_features must be a list of columns"),
        (
            {"categorical_features": ["colour"]},
            "categorical_features has an item value 'colour' which is not a valid feature name",
        ),
        ({"numeric_features": ["size"]}, "column 'size': 4 of 4 values are not numbers"),
        (
            {"numeric_features": [7]},
            "must be in [0, n_features - 1], but it has 7, and there are 2 columns",
        ),
    ],
    ids=str,
)
def test_absurd_parameters_are_refused(parameters: dict[str, Any], sentence: str) -> None:
    model = DecisionTreeClassifier(**parameters)
    refuses(sentence, lambda: model.fit(X, y))


def test_absurd_parameters_of_a_regressor_are_refused() -> None:
    numbers = [1.0, 2.0, 3.0, 4.0]
    refuses(
        "criterion is 'gini'; give one of 'squared_error', 'sdr', 'absolute_error' or 'poisson'",
        lambda: DecisionTreeRegressor(criterion="gini").fit(X, numbers),
    )
    refuses(
        "candidates is 'class_boundaries', but a regressor's target has no classes",
        lambda: DecisionTreeRegressor(candidates="class_boundaries").fit(X, numbers),
    )
    poisson = DecisionTreeRegressor(criterion="poisson")
    refuses("not allowed for Poisson regression: 1 of 4", lambda: poisson.fit(X, [1, 2, -3, 4]))
    refuses("for Poisson regression: all values are 0", lambda: poisson.fit(X, [0, 0, 0, 0]))
    refuses(
        "for Poisson regression: all values are 0",
        lambda: poisson.fit(X, [0, 0, 0, 4], sample_weight=[1, 1, 1, 0]),
    )
    assert poisson.fit(X, [0, 1, 0, 4]).predict(X).sum() == 5.0


def test_absurd_parameters_of_oblivious_trees_are_refused() -> None:
    for depth in (None, 17):
        refuses(
            f"max_depth is {depth}; give a whole number from 0 to 16",
            lambda depth=depth: ObliviousTreeClassifier(max_depth=depth).fit(X, y),
        )
    refuses(
        "categorical is 'multiway'; give one of 'subset', 'one_vs_rest' or 'best_subset'",
        lambda: ObliviousTreeClassifier(categorical="multiway").fit(X, y),
    )


def test_absurd_buckets_are_refused() -> None:
    for bucket in (0, np.nan, "6", True):
        refuses(
            f"min_bucket is {bucket!r}; give a number of 1 or more",
            lambda bucket=bucket: OneRClassifier(min_bucket=bucket).fit(X, y),
        )


def test_parameters_are_checked_at_fit_and_never_before() -> None:
    model = DecisionTreeClassifier(max_depth=-1, criterion=3, splitter=None)
    assert model.get_params()["max_depth"] == -1


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    model = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="Negative values"):
        model.fit([[1], [2]], ["a", "b"], sample_weight=-1)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(X).tolist() == y


def test_id3_names_numeric_columns_and_offers_c45() -> None:
    refuses(
        "column 'price' is numeric, and ID3 knows categories only; "
        "use C45Classifier, or declare it in categorical_features",
        lambda: ID3Classifier().fit(X, y),
    )
    refuses("columns 'x0', 'x1' are numeric", lambda: ID3Classifier().fit([[1, 2], [3, 4]], [0, 1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("categorical", "n_categories"),
    # If all categories are equally good, one against the rest takes quadratic time.
    [("best_subset", 100_000), ("id3", 100_000), ("one_vs_rest", 20_000)],
)
def test_very_many_categories_are_learned(categorical: str, n_categories: int) -> None:
    words = [f"id{number}" for number in range(n_categories)]
    target = np.arange(n_categories) % 2
    learner = ID3Classifier() if categorical == "id3" else DecisionTreeClassifier(categorical=categorical)
    with pytest.warns(UserWarning, match="column 'id' differs in every row"):
        model = learner.set_params(max_depth=1).fit({"id": words}, target)
    right = (model.predict({"id": words}) == target).mean()
    assert right == {"best_subset": 1.0, "id3": 1.0, "one_vs_rest": 0.5 + 1 / n_categories}[categorical]


@pytest.mark.slow
def test_a_hundred_thousand_categories_make_one_rule() -> None:
    words = [f"id{number}" for number in range(100_000)]
    target = np.arange(100_000) % 3
    assert OneRClassifier().fit({"id": words}, target).tree_.n_leaves == 100_000


def test_more_classes_than_can_be_numbered_are_refused() -> None:
    many = [str(number) for number in range(70_000)]
    refuses("y has 70000 classes", lambda: CARTClassifier().fit({"a": list(range(70_000))}, many))


@pytest.mark.parametrize("name", single.__all__)
def test_one_row_makes_a_leaf(name: str) -> None:
    model = make(name).fit({"size": ["L"], "price": [3.0]}, [7])
    assert model.tree_.n_nodes == 1
    assert model.predict({"size": ["S"], "price": [1.0]}).tolist() == [7]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "decision_path"])
def test_a_model_without_a_fit_says_so(method: str) -> None:
    from sklearn.exceptions import NotFittedError

    refuses("is not fitted yet", lambda: getattr(DecisionTreeClassifier(), method)(X), NotFittedError)
    refuses("is not fitted yet", lambda: DecisionTreeClassifier().rules(), NotFittedError)


def test_a_column_empty_in_training_may_hold_anything_later() -> None:
    model = DecisionTreeClassifier().fit({"t": [None, None], "x": [1, 2]}, ["a", "b"])
    assert model.predict({"t": ["w", "v"], "x": [1, 2]}).tolist() == ["a", "b"]
    assert model.predict({"t": [1.5, 2.5], "x": [1, 2]}).tolist() == ["a", "b"]
