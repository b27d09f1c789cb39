"""The tree as text, line by line as a person would write it."""

from __future__ import annotations

import io
from collections.abc import Callable
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from treewright import DecisionTreeRegressor, GradientBoostingRegressor, ObliviousTreeRegressor, RandomForestRegressor
from treewright.show.text import draw, show
from treewright.table.column import Column, Kind
from treewright.tree import Target, Tree

Plant = Callable[..., Tree]


def text(block: str) -> str:
    return dedent(block).strip("\n")


def test_the_weather_tree_is_written_as_j48_writes_it(weather_tree: Tree) -> None:
    assert draw(weather_tree) == text("""
        outlook = sunny
        |   humidity = high: no (3.0)
        |   humidity = normal: yes (2.0)
        outlook = overcast: yes (4.0)
        outlook = rainy
        |   wind = weak: yes (3.0)
        |   wind = strong: no (2.0)

        Number of leaves: 5
        Size of the tree: 8
        """)


def test_the_drawn_weather_tree_is_the_one_of_the_lecture(weather_tree: Tree, lectures: Any) -> None:
    def branches(tests: Any, depth: int = 0) -> list[str]:
        ((column, below),) = tests.items()
        lines = []
        for value, answer in below.items():
            line = "|   " * depth + f"{column} = {value}"
            lines += [line, *branches(answer, depth + 1)] if isinstance(answer, dict) else [f"{line}: {answer}"]
        return lines

    drawn = draw(weather_tree).split("\n\n")[0].splitlines()
    assert [line.split(" (")[0] for line in drawn] == branches(lectures["weather"]["expected_id3_tree"])


def test_thresholds_are_written_with_counts_and_errors(iris_tree: Tree) -> None:
    assert draw(iris_tree) == text("""
        petal_length <= 2.45: setosa (50.0)
        petal_length > 2.45
        |   petal_length <= 5.05
        |   |   petal_length <= 4.75: versicolor (44.0)
        |   |   petal_length > 4.75
        |   |   |   petal_width <= 1.75: versicolor (7.0/2.0)
        |   |   |   petal_width > 1.75: virginica (11.0/1.0)
        |   petal_length > 5.05: virginica (38.0)

        Number of leaves: 5
        Size of the tree: 9
        """)


def test_a_tree_of_one_leaf_has_its_answer_alone(plant: Plant) -> None:
    tree = plant([], Target("play", ("no", "yes")), [5, 9])
    assert draw(tree) == ": yes (14.0/5.0)\n\nNumber of leaves: 1\nSize of the tree: 1"


def test_dates_are_written_as_dates(date_tree: Tree) -> None:
    assert draw(date_tree).splitlines()[:4] == [
        "picked <= 2000-01-01: yes (4.0)",
        "picked > 2000-01-01",
        "|   picked <= 2000-02-01: yes (3.0/1.0)",
        "|   picked > 2000-02-01: no (3.0)",
    ]


def test_ordered_categories_are_written_by_name(ordered_tree: Tree) -> None:
    assert draw(ordered_tree).splitlines()[:4] == [
        "size <= small: no (2.0)",
        "size > small",
        "|   size <= large: yes (4.0)",
        "|   size > large: no (3.0)",
    ]


def test_category_sets_are_written_as_sets(subset_tree: Tree) -> None:
    assert draw(subset_tree).splitlines()[:6] == [
        "color in {blue, black, grey}",
        "|   color = blue: yes (4.0/1.0)",
        "|   color != blue: no (6.0)",
        "color not in {blue, black, grey}",
        "|   color = green: yes (2.0)",
        "|   color != green: no (2.0)",
    ]


def test_an_empty_branch_shows_the_answer_of_its_parent(empty_branch_tree: Tree) -> None:
    assert "sky = cloudy: yes (0.0)" in draw(empty_branch_tree).splitlines()


def test_a_regression_tree_shows_its_numbers(regression_tree: Tree) -> None:
    assert draw(regression_tree).splitlines()[:3] == [
        "sky = sunny: 0.85 (3.0)",
        "sky = cloudy: 0.6625 (0.0)",
        "sky = rainy: 0.1 (1.0)",
    ]


def test_the_branch_of_missing_values_is_marked_on_request(iris_tree: Tree, subset_tree: Tree) -> None:
    lines = draw(iris_tree, missing=True).splitlines()
    assert lines[:3] == [
        "petal_length <= 2.45: setosa (50.0)",
        "petal_length > 2.45 (or missing)",
        "|   petal_length <= 5.05 (or missing)",
    ]
    assert "color not in {blue, black, grey} (or missing)" in draw(subset_tree, missing=True).splitlines()
    assert "missing" not in draw(iris_tree)


def test_a_long_category_set_is_shortened_with_a_count(plant: Plant) -> None:
    code = Column("code", Kind.CATEGORICAL, tuple(f"c{index}" for index in range(90)))
    chosen = {f"c{index}" for index in range(43)}
    tree = plant([code], Target("play", ("no", "yes")), ("code", chosen, [[1, 0], [0, 1]]))
    assert draw(tree).splitlines()[0] == "code in {c0, c1, c2, c3, c4, c5, ... 37 more}: no (1.0)"
    assert draw(tree, max_categories=2).splitlines()[1] == "code not in {c0, c1, ... 41 more}: yes (1.0)"
    assert draw(tree, max_categories=None).splitlines()[0].count(",") == 42


def test_a_cut_subtree_counts_its_leaves(iris_tree: Tree) -> None:
    assert draw(iris_tree, max_depth=2) == text("""
        petal_length <= 2.45: setosa (50.0)
        petal_length > 2.45
        |   petal_length <= 5.05: ... (3 leaves)
        |   petal_length > 5.05: virginica (38.0)

        Number of leaves: 5
        Size of the tree: 9
        """)
    assert draw(iris_tree, max_depth=0).splitlines()[0] == ": ... (5 leaves)"
    assert draw(iris_tree, max_depth=4) == draw(iris_tree)


def test_a_very_deep_tree_is_drawn_whole(deep_tree: Tree) -> None:
    lines = draw(deep_tree).splitlines()
    assert len(lines) == 4000 + 3
    assert lines[1999] == "|   " * 1999 + "width <= 0: no (1.0)"
    assert draw(deep_tree, max_depth=1).splitlines()[0] == "width <= 1999: ... (2000 leaves)"


@pytest.mark.parametrize("option", [{"max_depth": -1}, {"max_categories": 0}])
def test_a_limit_that_shows_nothing_is_refused(option: dict[str, int], weather_tree: Tree) -> None:
    ((name, value),) = option.items()
    with pytest.raises(ValueError, match=f"{name} is .*, not {value}"):
        draw(weather_tree, **option)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [(), ("text",)])
def test_show_prints_the_tree_of_a_fitted_learner(form: tuple[str, ...], weather_tree: Tree, capsys: Any) -> None:
    show(SimpleNamespace(tree_=weather_tree), *form)
    assert capsys.readouterr().out == draw(weather_tree) + "\n"


def test_show_prints_a_tree_itself_into_a_file(weather_tree: Tree) -> None:
    file = io.StringIO()
    show(weather_tree, file, max_depth=1)
    assert file.getvalue() == draw(weather_tree, max_depth=1) + "\n"


class Unfitted(BaseEstimator):
    def fit(self, X: Any, y: Any = None) -> Unfitted:
        return self


def test_show_asks_to_fit_a_learner_first() -> None:
    with pytest.raises(NotFittedError, match="this Unfitted has no tree yet; call its fit method first"):
        show(Unfitted())


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("a tree", "a value of type str"),
        (None, "a value of type NoneType"),
        (Unfitted, "the class Unfitted"),
        (LinearRegression().fit([[0], [1]], [0, 1]), "a value of type LinearRegression"),
        (DecisionTreeClassifier().fit([[0], [1]], [0, 1]), "a value of type DecisionTreeClassifier"),
    ],
)
def test_show_refuses_what_is_no_tree(model: Any, named: str) -> None:
    with pytest.raises(TypeError, match=f"needs a fitted treewright learner or a Tree, not {named}"):
        show(model)


def named(words: str) -> set[str]:
    """The categories that a test names."""
    return set(words.split("{")[1].split("}")[0].split(", ")) if "{" in words else {words.split()[-1]}


def check_that_named_categories_can_arrive(drawn: str, categories: str) -> None:
    """Follow the lines of a drawn tree of one column, and the categories that are left on each path."""
    path: list[set[str]] = [set(categories)]
    n_below = 0
    for line in drawn.split("\n\n")[0].splitlines():
        depth = line.count("|   ")
        words = line.replace("|   ", "").split(":")[0]
        left = path[depth]
        inside = named(words)
        if left & inside:
            assert inside <= left, drawn
            n_below += depth > 0
        excludes = " not in " in words or " != " in words
        path[depth + 1 :] = [left - inside if excludes else left & inside]
    assert n_below > 0


@pytest.mark.parametrize("seed", range(5))
def test_only_categories_are_named_that_can_arrive(seed: int) -> None:
    draws = np.random.default_rng(seed)
    categories = "abcdefghij"
    table = {"c": draws.choice(list(categories), 120).tolist()}
    y = draws.normal(size=10)[[categories.index(category) for category in table["c"]]]
    forest = RandomForestRegressor(n_estimators=3, random_state=seed).fit(table, y)
    boosted = GradientBoostingRegressor(n_estimators=2, min_samples_leaf=1, random_state=seed).fit(table, y)
    oblivious = ObliviousTreeRegressor(max_depth=3).fit(table, y)
    single = DecisionTreeRegressor(max_depth=4).fit(table, y)
    for tree in (
        *(member.tree_ for member in forest.estimators_),
        boosted.forests_[0][0],
        oblivious.tree_,
        single.tree_,
    ):
        drawn = draw(tree, max_categories=None)
        check_that_named_categories_can_arrive(drawn, categories)
        tests = [words.split(":")[0].replace("|   ", "") for words in drawn.split("\n\n")[0].splitlines()]
        waiting = [*tree.to_dict()["branches"]]
        described = []
        while waiting:
            branch = waiting.pop(0)
            described.append(branch["test"])
            waiting = [*branch.get("branches", []), *waiting]
        assert described == tests
