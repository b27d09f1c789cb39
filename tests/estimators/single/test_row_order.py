"""The order of the rows decides nothing: of several equal splits that of the first column and value is chosen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treewright import DecisionTreeClassifier, DecisionTreeRegressor, ObliviousTreeClassifier, ObliviousTreeRegressor
from treewright.tree import Node, Test

Rows = dict[str, list[Any]]

CLASSIFIERS = [("gini", DecisionTreeClassifier), ("information_gain", DecisionTreeClassifier)]
CLASSIFIERS += [("gain_ratio", DecisionTreeClassifier), ("error", DecisionTreeClassifier)]
REGRESSORS = [(name, DecisionTreeRegressor) for name in ("squared_error", "absolute_error", "sdr", "poisson")]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Rows, list[int], list[int]]:
    """Columns with many ties, a target, and another order of the rows."""
    n_rows = draw(st.integers(6, 24))
    kinds = [
        st.sampled_from("dacbe"),
        st.integers(0, 5),
        st.sampled_from(["z", "y", "x", None]),
        st.just(1) | st.none(),
    ]
    columns = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    table = {
        f"x{place}": draw(st.lists(cells, min_size=n_rows, max_size=n_rows)) for place, cells in enumerate(columns)
    }
    target = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    return table, target, draw(st.permutations(range(n_rows)))


def write(test: Test) -> str:
    if not isinstance(test.operand, tuple):
        return str(test)
    return f"{test.column.name} {test.relation} {sorted(str(test.column.categories[code]) for code in test.operand)}"


def describe(node: Node) -> Any:
    """A node and all below it, with categories by name; the branches of categories in the order of their names."""
    figures = (round(node.weight, 6), round(node.gain, 6), round(node.impurity, 6))
    branches = [
        (write(test), branch == node.missing_branch, round(child.share, 6), describe(child))
        for branch, (test, child) in enumerate(zip(node.tests, node.children, strict=True))
        if child.rows > 0
    ]
    return (*figures, sorted(branches))


def check(learner: Any, rows: tuple[Rows, list[int], list[int]]) -> None:
    table, target, order = rows
    moved = {name: [line[row] for row in order] for name, line in table.items()}
    one = learner.fit(table, target).tree_
    other = learner.fit(moved, [target[row] for row in order]).tree_
    assert describe(one.root) == describe(other.root)


@pytest.mark.slow
@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_vs_rest"])
@pytest.mark.parametrize("missing", ["learned", "fractional", "every_value", "all_branches", "branch", "surrogate"])
@pytest.mark.parametrize(("criterion", "learner"), CLASSIFIERS + REGRESSORS)
def test_rows_in_another_order_grow_the_same_tree(criterion: str, learner: Any, missing: str, categorical: str) -> None:
    @examples(5, derandomize=True)
    @given(tables(), st.integers(1, 3))
    def check_all(rows: tuple[Rows, list[int], list[int]], min_leaf: int) -> None:
        options = {"missing": missing, "categorical": categorical, "min_samples_leaf": min_leaf, "max_depth": 4}
        if criterion == "poisson":
            rows = rows[0], [value + 1 for value in rows[1]], rows[2]
        check(learner(criterion=criterion, **options), rows)

    check_all()


@pytest.mark.slow
@pytest.mark.parametrize("categorical", ["subset", "one_vs_rest"])
@pytest.mark.parametrize("missing", ["learned", "fractional", "branch", "surrogate"])
@pytest.mark.parametrize("learner", [ObliviousTreeClassifier, ObliviousTreeRegressor])
def test_rows_in_another_order_grow_the_same_oblivious_tree(learner: Any, missing: str, categorical: str) -> None:
    @examples(5, derandomize=True)
    @given(tables())
    def check_all(rows: tuple[Rows, list[int], list[int]]) -> None:
        check(learner(missing=missing, categorical=categorical, max_depth=3), rows)

    check_all()


def test_of_equal_categories_the_first_by_name_is_chosen() -> None:
    for colours in (["red", "blue", "green"], ["green", "red", "blue"], ["blue", "green", "red"]):
        target = [{"red": 0, "blue": 1, "green": 2}[colour] for colour in colours]
        model = DecisionTreeClassifier(categorical="one_vs_rest", max_depth=1).fit({"colour": colours}, target)
        assert str(model.tree_.root.tests[0]) == "colour = blue"
