"""The trees and figures of the lectures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treewright import (
    C45Classifier,
    DecisionStumpClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    OneRClassifier,
    datasets,
)
from treewright.tree import Node, SplitKind

Lectures = dict[str, Any]


def table_of(lecture: Lectures) -> tuple[list[dict[str, str]], list[str]]:
    """The rows of a lecture's table without the target (and without the name of the day), and the target."""
    target = lecture["target"]
    rows = [{name: row[name] for name in row if name not in (target, "day")} for row in lecture["rows"]]
    return rows, [row[target] for row in lecture["rows"]]


def nested(node: Node) -> Any:
    """A multiway tree as the lectures write it down: columns, categories, answers."""
    if node.column is None:
        return node.prediction
    words = (test.write_operand() for test in node.tests)
    return {node.column.name: dict(zip(words, map(nested, node.children), strict=True))}


def test_id3_grows_the_weather_tree(lectures: Lectures) -> None:
    model = ID3Classifier().fit(*table_of(lectures["weather"]))
    assert nested(model.tree_.root) == lectures["weather"]["expected_id3_tree"]


def test_the_query_row_is_answered(lectures: Lectures) -> None:
    query = dict(lectures["weather"]["query"])
    expected = query.pop("expect")
    model = ID3Classifier().fit(*table_of(lectures["weather"]))
    assert model.predict([query]).tolist() == [expected]


def test_the_days_of_tennis_are_written_as_a_disjunction(lectures: Lectures) -> None:
    weather = datasets.load_weather()
    assert ID3Classifier().fit(weather.X, weather.y).rules("yes") == lectures["weather"]["disjunction"]


def test_every_node_of_the_weather_tree_has_the_figures_of_the_lecture(lectures: Lectures) -> None:
    root = ID3Classifier().fit(*table_of(lectures["weather"])).tree_.root
    exact, sunny = lectures["weather"]["exact"], lectures["weather"]["exact_within_outlook_sunny"]
    assert root.impurity == pytest.approx(exact["entropy"], abs=1e-9)
    assert root.gain == pytest.approx(exact["attributes"]["outlook"]["information_gain"], abs=1e-9)
    child = root.children[0]
    assert child.impurity == pytest.approx(sunny["entropy"], abs=1e-9)
    assert child.gain == pytest.approx(sunny["attributes"]["humidity"]["information_gain"], abs=1e-9)


def test_the_name_of_the_day_wins_by_information_gain(lectures: Lectures) -> None:
    weather = datasets.load_weather(with_day=True)
    root = ID3Classifier().fit(weather.X, weather.y).tree_.root
    assert root.column is not None
    assert root.column.name == "day"
    assert root.gain == pytest.approx(lectures["weather"]["exact"]["attributes"]["day"]["information_gain"], abs=1e-9)


@pytest.mark.parametrize("table", ["weather", "edible", "animals", "concept", "conditional_entropy"])
@pytest.mark.parametrize(
    ("criterion", "figure", "before"),
    [("information_gain", "information_gain", "entropy"), ("gini", "gini_decrease", "gini")],
)
def test_the_root_is_the_first_of_the_columns_with_the_best_figure(
    lectures: Lectures, table: str, criterion: str, figure: str, before: str
) -> None:
    rows, target = table_of(lectures[table])
    model = DecisionTreeClassifier(criterion=criterion, categorical="multiway").fit(rows, target)
    exact = lectures[table]["exact"]
    figures = {name: exact["attributes"][name][figure] for name in rows[0]}
    best = next(name for name in figures if figures[name] >= max(figures.values()) - 1e-12)
    root = model.tree_.root
    assert root.column is not None
    assert root.column.name == best
    assert root.gain == pytest.approx(figures[best], abs=1e-9)
    assert root.impurity == pytest.approx(exact[before], abs=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        ID3Classifier(),
        DecisionTreeClassifier(),
        DecisionTreeClassifier(criterion="information_gain", categorical="multiway"),
        DecisionTreeClassifier(criterion="error"),
        DecisionTreeClassifier(criterion="gain_ratio", categorical="one_vs_rest"),
    ],
    ids=str,
)
def test_xor_is_learned_although_no_split_gains(lectures: Lectures, model: Any) -> None:
    rows, target = table_of(lectures["xor"])
    model.fit(rows, target)
    assert model.predict(rows).tolist() == target
    assert model.tree_.root.gain == 0.0
    assert model.get_depth() == 2


def test_xor_stays_a_leaf_if_a_split_must_gain(lectures: Lectures) -> None:
    model = DecisionTreeClassifier(min_split_gain=1e-9).fit(*table_of(lectures["xor"]))
    assert model.tree_.n_nodes == 1


def test_an_empty_branch_answers_with_the_majority_of_its_parent() -> None:
    concept = datasets.load_concept()
    others = [name for name in concept.X.columns if name != "sky"]
    model = ID3Classifier().fit(concept.X.drop(*others), concept.y)
    root = model.tree_.root
    cloudy = root.children[concept.frame.domains["sky"].categories.index("cloudy")]
    assert cloudy.rows == 0
    assert cloudy.prediction == root.prediction == "yes"
    assert model.predict([{"sky": "cloudy"}]).tolist() == ["yes"]


def test_a_declared_category_that_never_occurs_gets_the_majority() -> None:
    concept = datasets.load_concept()
    others = [name for name in concept.X.columns if name != "wind"]
    model = ID3Classifier().fit(concept.X.drop(*others), concept.y)
    assert model.predict([{"wind": "weak"}]).tolist() == ["yes"]


def test_the_concept_tree_branches_on_every_declared_category(lectures: Lectures) -> None:
    concept = datasets.load_concept()
    assert concept.frame.domains["sky"].categories == tuple(lectures["concept"]["domains"]["sky"])
    X = concept.X.drop("air_temp")  # as good as sky, and before it in the table
    assert nested(ID3Classifier().fit(X, concept.y).tree_.root) == {
        "sky": {"sunny": "yes", "cloudy": "yes", "rainy": "no"}
    }


@pytest.mark.parametrize("criterion", ["squared_error", "sdr"])
def test_the_regression_of_the_concept_table_splits_on_the_first_of_the_best(
    lectures: Lectures, criterion: str
) -> None:
    rows, _ = table_of(lectures["concept"])
    figures = lectures["concept_regression"]
    model = DecisionTreeRegressor(criterion=criterion, categorical="multiway", max_depth=1)
    root = model.fit(rows, figures["target_values"]).tree_.root
    assert root.column is not None
    assert root.column.name == "air_temp"
    if criterion == "sdr":
        assert root.gain == pytest.approx(figures["exact"]["air_temp"]["sdr"], abs=1e-9)
        return
    assert root.impurity * root.weight == pytest.approx(figures["sse_root"], abs=1e-9)
    after = sum(child.impurity * child.weight for child in root.children)
    assert after == pytest.approx(figures["exact"]["air_temp"]["sse_after"], abs=1e-9)


def test_the_error_criterion_sees_no_gain_where_gini_and_entropy_do(lectures: Lectures) -> None:
    figures = lectures["error_criterion"]
    (a_left, b_left), (a_right, b_right) = figures["after"]
    X = {"side": ["left"] * (a_left + b_left) + ["right"] * (a_right + b_right)}
    y = ["A"] * a_left + ["B"] * b_left + ["A"] * a_right + ["B"] * b_right
    exact = figures["exact"]
    gains = {
        "error": exact["error_before"] - exact["error_after"],
        "gini": exact["gini_before"] - exact["gini_after"],
        "information_gain": exact["entropy_before"] - exact["entropy_after"],
    }
    for criterion, gain in gains.items():
        root = DecisionStumpClassifier(criterion=criterion).fit(X, y).tree_.root
        assert root.gain == pytest.approx(gain, abs=1e-9)


def test_the_best_threshold_of_taxable_income(lectures: Lectures) -> None:
    figures = lectures["taxable_income"]
    model = DecisionStumpClassifier().fit({"income": figures["values"]}, figures["target"])
    best = max(figures["exact"], key=lambda candidate: candidate["gain"])
    assert best["threshold"] == 97.5
    assert model.tree_.threshold[0] == best["threshold"]
    assert model.tree_.root.gain == pytest.approx(best["gain"], abs=1e-9)


@pytest.mark.parametrize("table", ["weather_numeric_humidity", "temperature_numeric"])
def test_the_best_threshold_of_a_number_by_information_gain(lectures: Lectures, table: str) -> None:
    figures = lectures[table]
    model = DecisionStumpClassifier(criterion="information_gain")
    root = model.fit({"number": figures["values"]}, figures["target"]).tree_.root
    best = max(figures["exact"], key=lambda candidate: candidate["gain"])
    assert root.gain == pytest.approx(best["gain"], abs=1e-9)
    thresholds = [one["threshold"] for one in figures["exact"] if one["gain"] > best["gain"] - 1e-12]
    assert model.tree_.threshold[0] in thresholds


def test_c45_needs_no_name_of_the_day() -> None:
    weather = datasets.load_weather()
    model = C45Classifier().fit(weather.X, weather.y)
    assert nested(model.tree_.root) == nested(ID3Classifier().fit(weather.X, weather.y).tree_.root)


def test_one_rule_on_the_weather_is_the_outlook_with_four_errors() -> None:
    """The example of Witten and Frank's book on Weka."""
    weather = datasets.load_weather()
    model = OneRClassifier().fit(weather.X, weather.y)
    assert nested(model.tree_.root) == {"outlook": {"sunny": "no", "overcast": "yes", "rainy": "yes"}}
    assert model.score(weather.X, weather.y) == pytest.approx(10 / 14)
    assert model.tree_.kind[0] == SplitKind.MULTIWAY
    assert np.all(model.tree_.weight[1:] == [5, 4, 5])
