"""Explanations of one row, against the training rows themselves and against the model's own predictions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

import treewright
from sample_tables import mixed_table
from treewright import (
    AdaBoostClassifier,
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    datasets,
    explain,
)

LEARNERS = [name for name in treewright.__all__ if name.endswith(("Classifier", "Regressor"))]
FEW = {"n_estimators": 4, "random_state": 0}


def fitted(name: str) -> tuple[Any, pd.DataFrame]:
    """A learner with few members, fitted to a table with text and missing values; ID3 knows categories only."""
    X, classes, numbers = mixed_table(80, seed=3)
    if name == "ID3Classifier":
        X = X[["kind", "wet"]].astype(str)
    learner = getattr(treewright, name)()
    known = learner.get_params(deep=False)
    learner.set_params(**{key: value for key, value in FEW.items() if key in known})
    return learner.fit(X, classes if is_classifier(learner) else numbers), X


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_explains_what_it_predicts(name: str) -> None:
    model, X = fitted(name)
    for place in (0, 7):
        row = X.iloc[[place]]
        found = explain(model, row)
        assert found.prediction == model.predict(row)[0]
        assert "predicts" in str(found)
        assert "<table" in found._repr_html_() or "<p>" in found._repr_html_()
        json.dumps(found.to_dict(), allow_nan=False)
        if found.probabilities:
            assert [share for _, share in found.probabilities] == model.predict_proba(row)[0].tolist()
        assert bool(found.leaves) == hasattr(model, "tree_")
        for one in found.contributions:
            assert one.total == pytest.approx(expected_output(model, row, one.output), abs=1e-9)
        if not found.leaves:
            assert bool(found.contributions) == (found.note == "")


def expected_output(model: Any, row: Any, output: Any) -> float:
    """The probability of a class, or the score of boosting, by the model's own methods."""
    if not is_classifier(model):
        return float(model.predict(row)[0])
    if isinstance(model, GradientBoostingClassifier):
        scores = model.decision_function(row)[0]
        return float(scores[model.classes_.tolist().index(output)]) if np.ndim(scores) else float(scores)
    return float(model.predict_proba(row)[0][model.classes_.tolist().index(output)])


def rows_that_pass(X: pd.DataFrame, tests: list[str]) -> int:
    """The rows of a table that meet all tests, by pandas."""
    return len(X.query(" and ".join(test.replace(" = ", " == ") for test in tests))) if tests else len(X)


def test_the_training_rows_at_each_node_are_those_that_meet_the_tests() -> None:
    iris = datasets.load_iris()
    X = pd.DataFrame(iris.X)
    model = DecisionTreeClassifier(max_depth=4).fit(X, iris.y)
    for place in (0, 60, 110, 149):
        found = explain(model, X.iloc[place])
        tests = [one.test for one in found.path]
        for depth, one in enumerate(found.path, 1):
            assert one.weight == rows_that_pass(X, tests[:depth])
            assert one.share == one.weight / 150
        (leaf,) = found.leaves
        assert sum(weight for _, weight in leaf.distribution) == leaf.weight == found.path[-1].weight


@pytest.mark.parametrize(
    "row",
    [
        {"outlook": "rainy", "temperature": "mild", "humidity": "high", "wind": "weak"},
        {"outlook": ["rainy"], "temperature": ["mild"], "humidity": ["high"], "wind": ["weak"]},
        pd.DataFrame([{"wind": "weak", "outlook": "rainy", "temperature": "mild", "humidity": "high"}]),
        pd.Series({"wind": "weak", "outlook": "rainy", "temperature": "mild", "humidity": "high"}),
        ["rainy", "mild", "high", "weak"],
        [["rainy", "mild", "high", "weak"]],
        np.array(["rainy", "mild", "high", "weak"], dtype=object),
        np.array([["rainy", "mild", "high", "weak"]], dtype=object),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_row_may_have_any_form(row: Any) -> None:
    weather = datasets.load_weather()
    model = C45Classifier().fit(weather.X, weather.y)
    found = explain(model, row)
    assert [one.test for one in found.path] == ["outlook = rainy", "wind = weak"]
    assert (found.prediction, found.leaves[0].weight) == ("yes", 3.0)


def test_a_row_of_a_model_without_names_is_a_list_or_an_array() -> None:
    X = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 5.0], [4.0, 6.0]])
    model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    for row in ([4, 5], X[3], X[3:4], {"x0": 4, "x1": 5}, {"x1": 5, "x0": 4}):
        assert explain(model, row).prediction == 1


def test_fractions_of_a_row_are_those_of_the_known_training_rows() -> None:
    weather = datasets.load_weather()
    model = C45Classifier().fit(weather.X, weather.y)
    found = explain(model, [None, "mild", "high", "weak"])
    # Of 14 days 5 were sunny, 4 overcast and 5 rainy.
    assert {leaf.prediction: 0 for leaf in found.leaves} == {"yes": 0, "no": 0}
    assert sorted(leaf.fraction for leaf in found.leaves) == pytest.approx([4 / 14, 5 / 14, 5 / 14])
    assert dict(found.probabilities)["yes"] == pytest.approx(9 / 14)
    assert "no value" in found.path[0].reason
    assert [one.test for one in found.path][:2] == ["outlook = sunny", "humidity = high"]


def test_a_surrogate_is_named() -> None:
    size = [1, 2, 3, 4, 5, 6, 7, 8]
    X = {"size": size, "weight": [10, 20, 30, 40, 50, 60, 70, 80], "noise": [3, 1, 3, 1, 3, 1, 3, 1]}
    model = CARTClassifier(missing="surrogate", prune=None).fit(X, ["small"] * 4 + ["large"] * 4)
    found = explain(model, {"size": None, "weight": 70, "noise": 1})
    assert found.prediction == "large"
    assert found.path[0].reason == "no value: the surrogate weight > 45 decides"
    neither = explain(model, {"size": None, "weight": None, "noise": None})
    assert "the majority decides" in neither.path[0].reason


def test_imputed_and_unseen_values_are_reported() -> None:
    X = {"kind": ["a", "a", "a", "b", "b", None], "size": [1, 2, 3, 4, 5, 6]}
    y = ["no", "no", "no", "yes", "yes", "yes"]
    imputing = DecisionTreeClassifier(missing="majority").fit({"kind": X["kind"]}, y)
    assert "imputed" in explain(imputing, {"kind": None}).path[0].reason
    stopping = DecisionTreeClassifier(categorical="multiway", unseen="stop").fit({"kind": X["kind"][:5]}, y[:5])
    found = explain(stopping, {"kind": "z"})
    assert "did not occur in training" in found.path[0].reason
    assert found.leaves[0].node == 0


def test_the_votes_are_those_of_the_members() -> None:
    iris = datasets.load_iris()
    model = RandomForestClassifier(n_estimators=15, max_depth=2, random_state=0).fit(iris.X, iris.y)
    for place in (70, 77, 133):
        found = explain(model, iris.X[place : place + 1])
        votes = [tree.predict(iris.X[place : place + 1])[0] for tree in model.estimators_]
        assert [member.prediction for member in found.members] == votes
        differing = [str(number) for number, vote in enumerate(votes) if vote != found.prediction]
        assert [member.name for member in found.differing] == differing


def test_members_far_from_the_mean_are_named_for_numbers() -> None:
    X, _, y = mixed_table(60, seed=1)
    model = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    found = explain(model, X.iloc[[4]])
    numbers = np.array([tree.predict(X.iloc[[4]])[0] for tree in model.estimators_])
    far = np.flatnonzero(abs(numbers - numbers.mean()) > 2 * numbers.std())
    assert [member.name for member in found.differing] == [str(place) for place in far]


def test_the_trees_of_boosting_add_up_to_its_score() -> None:
    X, y, _ = mixed_table(80, seed=2, class_names=("a", "b", "c"))
    model = GradientBoostingClassifier(n_estimators=6, random_state=0).fit(X, y)
    found = explain(model, X.iloc[[5]])
    scores = model.decision_function(X.iloc[[5]])[0]
    assert [one.score for one in found.sums] == pytest.approx(scores.tolist(), abs=1e-9)
    for one in found.sums:
        assert one.initial + one.raised + one.lowered == pytest.approx(one.score)
        assert one.n_raising + one.n_lowering <= 6


def test_background_rows_give_contributions_to_models_that_are_no_sum_of_trees() -> None:
    iris = datasets.load_iris()
    model = AdaBoostClassifier(n_estimators=3, random_state=0).fit(iris.X, iris.y)
    assert "background" in explain(model, iris.X[:1]).note
    found = explain(model, iris.X[:1], background=iris.X[::30])
    assert found.note == ""
    assert [one.total for one in found.contributions] == pytest.approx(model.predict_proba(iris.X[:1])[0].tolist())


def test_classes_that_are_numbers_are_counted_as_votes() -> None:
    members = [(f"depth {depth}", DecisionTreeClassifier(max_depth=depth)) for depth in (0, 1, 2)]
    model = VotingClassifier(members, voting="hard").fit({"x": [1, 2, 3, 4, 5]}, [0, 0, 0, 1, 1])
    assert "Members that differ: depth 0 (0)." in str(explain(model, [5]))


def test_several_targets_are_explained() -> None:
    y = np.array([[0.0, 1.0], [0.0, 1.0], [5.0, 1.0], [5.0, 2.0]])
    model = DecisionTreeRegressor().fit({"x": [1, 2, 3, 4]}, y)
    assert explain(model, [4]).prediction == (5.0, 2.0)
    forest = RandomForestRegressor(n_estimators=3, random_state=0).fit({"x": [1, 2, 3, 4]}, y)
    assert "several" in explain(forest, [4]).note


def test_a_tree_without_splits_is_explained() -> None:
    model = DecisionTreeClassifier().fit({"x": [1, 2, 3]}, ["a", "a", "a"])
    assert "It has no splits" in str(explain(model, [7]))


def test_markup_in_names_is_escaped() -> None:
    model = DecisionTreeClassifier().fit({"<b>x": [1, 2, 3, 4]}, ["<i>", "<i>", "b", "b"])
    page = explain(model, [1])._repr_html_()
    assert "&lt;b&gt;x" in page
    assert "<i>" not in page


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ([1, 2, 3], "row has 3 values, and the model has 2 columns"),
        ({"a": 1}, "row lacks columns that the model was trained on: 'b'"),
        (pd.DataFrame({"a": [1, 2], "b": [1, 2]}), "row has 2 rows; give one row"),
        ({"a": [1, 2], "b": [1, 2]}, "row has 2 rows"),
        (7, "must be a table"),
    ],
)
def test_a_wrong_row_is_one_sentence(row: Any, sentence: str) -> None:
    model = DecisionTreeClassifier().fit({"a": [1, 2, 3], "b": [1, 1, 2]}, [0, 0, 1])
    with pytest.raises(ValueError, match=sentence):
        explain(model, row)


def test_a_wrong_model_is_one_sentence() -> None:
    with pytest.raises(NotFittedError):
        explain(C45Classifier(), [1])
    with pytest.raises(ValueError, match="a fitted classifier or regressor of treewright"):
        explain("c45", [1])
