"""One rule with missing values: errors and leaves counted row by row, strategy by strategy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from properties import examples
from treewright import OneRClassifier
from treewright.table import read_like
from treewright.tree import Tree
from treewright.tree.descent import descend_rows

LEFT_OUT = ("fractional", "all_branches", "surrogate")
SPREADS = ("fractional", "all_branches", "every_value")
STRATEGIES = (*SPREADS, "surrogate", "learned", "branch")

NUMBERS = [1.0, 2.0, 3.0, 4.0, None, None, None]
WORDS = ["S", "S", "L", "L", None, None, None]
ANSWERS = ["no", "no", "yes", "yes", "yes", "no", "no"]


def leaves(tree: Tree) -> list[list[float]]:
    return [node.distribution.tolist() for node in tree if node.is_leaf]


# Of the rows without a value one says yes and two no. With the first branch they make 1 error, with the second 2. Half
# of the rows with a value, and half of the values, are in each branch.
WORKED = {
    "learned": ([[4.0, 1.0], [0.0, 2.0]], 4 / 5),
    "fractional": ([[3.0, 0.5], [1.0, 2.5]], (3 / 3.5 + 1 / 3.5) / 2),
    "every_value": ([[3.0, 0.5], [1.0, 2.5]], (3 / 3.5 + 1 / 3.5) / 2),
    "all_branches": ([[4.0, 1.0], [2.0, 3.0]], (4 / 5 + 2 / 5) / 2),
}


@pytest.mark.parametrize("strategy", WORKED)
@pytest.mark.parametrize("line", [NUMBERS, WORDS], ids=["numbers", "words"])
def test_the_rule_is_the_one_worked_out_by_hand(line: list[Any], strategy: str) -> None:
    model = OneRClassifier(min_bucket=2, missing=strategy).fit({"size": line}, ANSWERS)
    distributions, no = WORKED[strategy]
    assert leaves(model.tree_) == pytest.approx(np.array(distributions))
    assert model.predict_proba({"size": [None]})[0, 0] == pytest.approx(no)


def test_every_value_counts_values_and_not_rows() -> None:
    table = {"size": [1.0, 1.0, 1.0, 1.0, 2.0, 3.0, None]}
    answers = ["no", "no", "no", "no", "yes", "yes", "yes"]
    for strategy, share in (("every_value", 1 / 3), ("fractional", 4 / 6)):
        model = OneRClassifier(min_bucket=2, missing=strategy).fit(table, answers)
        assert [child.share for child in model.tree_.root.children] == pytest.approx([share, 1 - share])
        assert leaves(model.tree_) == pytest.approx(np.array([[4.0, share], [0.0, 3.0 - share]]))


def test_a_column_with_many_missing_values_does_not_win_by_having_few_rows_to_err_in() -> None:
    # Both columns make one error among the rows with a value; the first has only three of these.
    table = {
        "rare": ["a", "a", "b", None, None, None, None, None],
        "full": ["a", "a", "a", "a", "b", "b", "b", "b"],
    }
    answers = ["no", "yes", "no", "no", "yes", "yes", "yes", "yes"]
    assert OneRClassifier(missing="fractional").fit(table, answers).tree_.root.column.name == "full"


def test_surrogates_of_a_rule_agree_as_counted() -> None:
    # By size the rule sends a to the first branch, b to the second and c to the third. Of the six rows with a size,
    # weight up to 20 is a, a, b: two agree; above it is b, c, c: two agree. Four of six, and the majority way has two.
    table = {
        "size": ["a", "a", "b", "b", "c", "c", None, None, None],
        "weight": [10, 15, 18, 22, 25, 30, 12, 28, None],
    }
    answers = ["p", "p", "q", "q", "r", "r", "p", "r", "q"]
    model = OneRClassifier(missing="surrogate", min_bucket=10).fit(table, answers)
    (surrogate,) = model.tree_.root.surrogates
    assert str(surrogate) == ("weight <= 16.5 as size = a, weight > 16.5 as size = b (agrees 0.667, adjusted 0.500)")
    assert model.predict({"size": [None, None], "weight": [12, 28]}).tolist() == ["p", "q"]
    # The last row knows nothing and goes with the first of the heaviest.
    assert leaves(model.tree_) == [[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]]


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[Any]], list[int]]:
    n_rows = draw(st.integers(6, 40))
    table = {
        "number": st.none() | st.integers(0, 8).map(float),
        "word": st.none() | st.sampled_from(["ash", "elm", "fir"]),
        "other": st.none() | st.sampled_from(["u", "v"]),
    }
    lines = {name: draw(st.lists(cells, min_size=n_rows, max_size=n_rows)) for name, cells in table.items()}
    assume(all(any(value is not None for value in line) for line in lines.values()))
    target = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    assume(len(set(target)) > 1)
    return lines, target


def wrong(counts: Counter[int]) -> float:
    return sum(counts.values()) - max(counts.values(), default=0.0)


def saved_by(line: list[Any], branch_of: Any, target: list[int], strategy: str) -> float:
    """The errors that branches save against one answer for all, counted row by row."""
    known = [value for value in line if value is not None]
    names = sorted({branch_of(value) for value in known}, key=str)
    branches = {name: Counter[int]() for name in names}
    of_missing = Counter[int]()
    for value, label in zip(line, target, strict=True):
        (of_missing if value is None else branches[branch_of(value)])[label] += 1
    whole = Counter[int]()
    for counts in branches.values():
        whole.update(counts)
    if strategy in LEFT_OUT:
        return wrong(whole) - sum(map(wrong, branches.values()))
    whole.update(of_missing)
    if strategy == "branch":
        branches["missing"] = of_missing
    elif strategy == "learned":
        tried = []
        for name in names:
            joined = {other: counts + of_missing if other == name else counts for other, counts in branches.items()}
            tried.append(sum(map(wrong, joined.values())))
        return wrong(whole) - min(tried)
    else:
        values = set(known)
        for name, counts in branches.items():
            share = sum(branch_of(value) == name for value in values) / len(values)
            for label, count in of_missing.items():
                counts[label] += share * count  # type: ignore[assignment]
    return wrong(whole) - sum(map(wrong, branches.values()))


def intervals_of(line: list[Any], target: list[int]) -> list[float]:
    """Where the intervals of a number end, from a model of that column's known rows alone."""
    kept = [(value, label) for value, label in zip(line, target, strict=True) if value is not None]
    tree = OneRClassifier(min_bucket=2).fit({"x": [value for value, _ in kept]}, [label for _, label in kept]).tree_
    return sorted(tree.threshold[tree.kind > 0].tolist())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_column_that_saves_the_most_errors_is_asked(strategy: str) -> None:
    @examples(50)
    @given(tables())
    def check(rows: tuple[dict[str, list[Any]], list[int]]) -> None:
        table, target = rows
        tree = OneRClassifier(min_bucket=2, missing=strategy).fit(table, target).tree_
        ends = intervals_of(table["number"], target)
        branch_of = {
            "number": lambda value: int(np.searchsorted(ends, value)),
            "word": lambda value: value,
            "other": lambda value: value,
        }
        saved = {name: saved_by(line, branch_of[name], target, strategy) for name, line in table.items()}
        most = max(saved.values())
        winner = next(name for name in table if saved[name] >= most - 1e-9)
        assert most >= -1e-9
        if tree.n_nodes > 1:
            assert tree.root.column is not None
            assert tree.root.column.name == winner
        else:
            # One interval, or one category: the column that saves the most has nothing to tell apart.
            known = {branch_of[winner](value) for value in table[winner] if value is not None}
            assert len(known) == 1

    check()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_land_where_the_rule_counted_them(strategy: str) -> None:
    @examples(50)
    @given(tables())
    def check(rows: tuple[dict[str, list[Any]], list[int]]) -> None:
        table, target = rows
        model = OneRClassifier(min_bucket=2, missing=strategy).fit(table, target)
        tree = model.tree_
        reached = descend_rows(tree, read_like(table, tree.columns, named=True, learner="OneRClassifier"))
        assert np.bincount(reached.rows, reached.fractions) == pytest.approx(1.0, abs=1e-9)
        labels = np.searchsorted(model.classes_, target)
        found = np.zeros_like(tree.distribution)
        parts = np.ones_like(reached.fractions) if strategy == "all_branches" else reached.fractions
        np.add.at(found, (reached.nodes, labels[reached.rows]), parts)
        leaf = tree.kind == 0
        assert found[leaf] == pytest.approx(tree.distribution[leaf], abs=1e-9)
        assert np.bincount(reached.nodes, minlength=tree.n_nodes)[leaf].tolist() == tree.rows[leaf].tolist()

    check()


@pytest.mark.slow
@given(tables(), st.integers(0, 3), st.sampled_from(STRATEGIES))
def test_a_column_of_nothing_but_missing_values_changes_nothing(
    rows: tuple[dict[str, list[Any]], list[int]], place: int, strategy: str
) -> None:
    table, target = rows
    names = list(table)
    names.insert(place, "empty")
    learner = OneRClassifier(min_bucket=2, missing=strategy)
    without = learner.fit(table, target).tree_.to_dict()
    assert (
        learner.fit({name: table.get(name, [None] * len(target)) for name in names}, target).tree_.to_dict() == without
    )


@pytest.mark.slow
@given(tables(), st.sampled_from(STRATEGIES))
def test_without_missing_values_all_strategies_write_the_same_rule(
    rows: tuple[dict[str, list[Any]], list[int]], strategy: str
) -> None:
    table, target = rows
    filled = {
        name: [next(known for known in line if known is not None) if value is None else value for value in line]
        for name, line in table.items()
    }
    models = [OneRClassifier(min_bucket=2, missing=missing).fit(filled, target) for missing in ("branch", strategy)]
    one, other = (model.tree_ for model in models)
    assert [str(test) for node in one for test in node.tests] == [str(test) for node in other for test in node.tests]
    assert np.array_equal(one.distribution, other.distribution)
    assert np.array_equal(one.gain, other.gain)


@pytest.mark.parametrize("weights", [[1e16] * 12, [1e16] * 6 + [7.0] * 6, [7.0] * 6 + [1e25] * 6], ids=str)
def test_next_to_large_weights_each_row_fills_an_interval(weights):
    X, y = [[i] for i in range(12)], [0, 1] * 6
    with_weights = OneRClassifier(min_bucket=6).fit(X, y, weights)
    one_by_one = OneRClassifier(min_bucket=1).fit(X, y)
    np.testing.assert_array_equal(with_weights.predict(X), one_by_one.predict(X))
