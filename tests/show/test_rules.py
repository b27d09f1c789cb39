"""Rules and disjunctions: as the lectures write them, and true to the rows they speak of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.show.rules import RuleList, disjunction, merge_tests, rules
from treewright.table.column import Column, Kind
from treewright.tree import Target, Test, Tree

Plant = Callable[..., Tree]

WIDTH = Column("width", Kind.NUMERIC)
COLOR = Column("color", Kind.CATEGORICAL, ("red", "green", "blue", "black", "white"))


def lines(tree: Tree) -> list[str]:
    return str(rules(tree)).splitlines()


def test_the_weather_rules_are_one_per_leaf_in_reading_order(weather_tree: Tree) -> None:
    assert lines(weather_tree) == [
        "outlook = sunny and humidity = high: no (3.0)",
        "outlook = sunny and humidity = normal: yes (2.0)",
        "outlook = overcast: yes (4.0)",
        "outlook = rainy and wind = weak: yes (3.0)",
        "outlook = rainy and wind = strong: no (2.0)",
    ]


def test_the_weather_disjunction_is_the_one_of_the_lecture(weather_tree: Tree, lectures: Any) -> None:
    assert rules(weather_tree, "yes") == lectures["weather"]["disjunction"]
    assert disjunction(weather_tree, "yes") == lectures["weather"]["disjunction"]


def test_a_rule_carries_its_answer_weight_and_errors(iris_tree: Tree) -> None:
    rule = rules(iris_tree)[2]
    assert (rule.prediction, rule.weight, rule.errors) == ("versicolor", 7.0, 2.0)
    assert [test.relation for test in rule.tests] == [">", "<=", "<="]


def test_bounds_on_one_column_become_one_interval(iris_tree: Tree) -> None:
    assert lines(iris_tree) == [
        "petal_length <= 2.45: setosa (50.0)",
        "2.45 < petal_length <= 4.75: versicolor (44.0)",
        "4.75 < petal_length <= 5.05 and petal_width <= 1.75: versicolor (7.0/2.0)",
        "4.75 < petal_length <= 5.05 and petal_width > 1.75: virginica (11.0/1.0)",
        "petal_length > 5.05: virginica (38.0)",
    ]
    assert disjunction(iris_tree, "versicolor") == (
        "species=versicolor: (2.45<petal_length<=4.75) or (4.75<petal_length<=5.05 and petal_width<=1.75)"
    )


def test_intervals_of_dates_and_of_ordered_categories_are_in_the_users_words(
    date_tree: Tree, ordered_tree: Tree
) -> None:
    assert lines(date_tree)[1] == "2000-01-01 < picked <= 2000-02-01: yes (3.0/1.0)"
    assert lines(ordered_tree)[1] == "small < size <= large: yes (4.0)"


def test_sets_on_one_column_become_what_is_left(subset_tree: Tree) -> None:
    assert lines(subset_tree) == [
        "color = blue: yes (4.0/1.0)",
        "color in {black, grey}: no (6.0)",
        "color = green: yes (2.0)",
        "color in {red, white}: no (2.0)",
    ]
    assert disjunction(subset_tree, "no") == "edible=no: (color in {black, grey}) or (color in {red, white})"


def test_exclusions_stay_exclusions_where_that_is_shorter(plant: Plant) -> None:
    many = Column("code", Kind.CATEGORICAL, tuple("abcdefgh"))
    below = ("code", {"b"}, [[1, 0], [0, 9]])
    tree = plant([many], Target("y", ("no", "yes")), ("code", {"a"}, [[1, 0], below]))
    assert lines(tree)[2] == "code not in {a, b}: yes (9.0)"


def test_a_single_test_is_left_as_the_tree_writes_it(plant: Plant) -> None:
    tree = plant([COLOR], Target("y", ("no", "yes")), ("color", {"red", "green", "blue"}, [[1, 0], [0, 1]]))
    assert lines(tree)[1] == "color not in {red, green, blue}: yes (1.0)"


def test_tests_that_only_missing_values_can_meet_are_not_merged_away() -> None:
    bounds = (Test(WIDTH, "<=", 2.0), Test(WIDTH, ">", 5.0))
    sets = (Test(COLOR, "in", (0, 1)), Test(COLOR, "in", (2, 3)))
    assert merge_tests(bounds) == bounds
    assert merge_tests(sets) == sets


def meets(test: Test, value: float) -> bool:
    if test.relation in ("<=", ">"):
        return (value <= test.operand) == (test.relation == "<=")
    return (value in test.operand) == (test.relation in ("=", "in"))


thresholds = st.tuples(st.sampled_from(["<=", ">"]), st.integers(-5, 5))
sets = st.tuples(
    st.sampled_from(["in", "not in"]), st.sets(st.integers(0, 4), min_size=1).map(lambda codes: tuple(codes))
)


@given(st.lists(thresholds, max_size=6), st.lists(sets, max_size=4))
def test_merged_tests_are_met_by_exactly_the_same_rows(numeric: Any, categorical: Any) -> None:
    path = [Test(WIDTH, relation, bound + 0.5) for relation, bound in numeric]
    path += [Test(COLOR, relation, codes) for relation, codes in categorical]
    merged = merge_tests(path)
    for width in range(-7, 8):
        for color in range(5):
            value = {"width": width, "color": color}
            assert all(meets(test, value[test.column.name]) for test in path) == all(
                meets(test, value[test.column.name]) for test in merged
            )


def test_an_empty_leaf_is_a_rule_but_no_part_of_a_disjunction(empty_branch_tree: Tree) -> None:
    assert lines(empty_branch_tree) == [
        "sky = sunny: yes (3.0)",
        "sky = cloudy: yes (0.0)",
        "sky = rainy: no (1.0)",
    ]
    assert disjunction(empty_branch_tree, "yes") == "enjoy=yes: (sky=sunny)"


def test_a_tree_of_one_leaf_answers_always_or_never(plant: Plant) -> None:
    tree = plant([], Target("play", ("no", "yes")), [5, 9])
    assert lines(tree) == [": yes (14.0/5.0)"]
    assert disjunction(tree, "yes") == "play=yes: always"
    assert disjunction(tree, "no") == "play=no: never"


def test_a_regression_tree_has_rules_but_no_disjunction(regression_tree: Tree) -> None:
    assert lines(regression_tree)[0] == "sky = sunny: 0.85 (3.0)"
    with pytest.raises(ValueError, match="'enjoyment' is a number and has no classes"):
        rules(regression_tree, 0.85)


def test_an_error_about_an_unknown_class_lists_the_classes(weather_tree: Tree) -> None:
    with pytest.raises(ValueError, match="'maybe' is none of the classes of 'play': 'no', 'yes'"):
        rules(weather_tree, "maybe")


def test_classes_that_are_falsy_have_a_disjunction(plant: Plant) -> None:
    tree = plant([WIDTH], Target("y", (0, 1)), ("width", 1.5, [[4, 0], [0, 2]]))
    assert rules(tree, 0) == "y=0: (width<=1.5)"


def test_a_rule_list_is_a_sequence_whose_parts_print_alike(weather_tree: Tree) -> None:
    found = rules(weather_tree)
    assert isinstance(found, RuleList)
    assert len(found) == 5
    assert [str(rule) for rule in found] == str(found).splitlines() == repr(found).splitlines()
    assert str(found[1:3]) == "\n".join(str(found).splitlines()[1:3])
    assert found == rules(weather_tree)


@pytest.mark.slow
def test_the_rules_of_a_very_deep_tree_stay_short(deep_tree: Tree) -> None:
    found = rules(deep_tree)
    assert len(found) == 2001
    assert str(found[1]) == "0 < width <= 1: yes (1.0)"
