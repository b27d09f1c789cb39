"""The measures against the lectures' figures, against definitions, and against simulation."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from treewright import measures
from treewright.measures import (
    candidate_thresholds,
    entropy,
    error_rate,
    gain_ratio,
    gini,
    gini_decrease,
    information_gain,
    majority_vote_error,
    split_info,
    standard_deviation_reduction,
    sum_squared_error,
)
from treewright.tree.pruning.methods import extra_errors

EXACT = 1e-9
TABLES_WITH_ATTRIBUTES = ["weather", "edible", "animals", "concept", "conditional_entropy"]


def exactly(figure: float) -> Any:
    return pytest.approx(figure, abs=EXACT, rel=0)


def count_classes(rows: list[dict[str, str]], target: str, classes: list[str]) -> list[int]:
    counts = Counter(row[target] for row in rows)
    return [counts[name] for name in classes]


def count_branches(rows: list[dict[str, str]], attribute: str, target: str) -> list[list[int]]:
    classes = sorted({row[target] for row in rows})
    values = dict.fromkeys(row[attribute] for row in rows)
    return [count_classes([row for row in rows if row[attribute] == value], target, classes) for value in values]


def check_worked_figures(rows: list[dict[str, str]], target: str, exact: dict[str, Any]) -> None:
    parent = count_classes(rows, target, sorted({row[target] for row in rows}))
    assert entropy(parent) == exactly(exact["entropy"])
    assert gini(parent) == exactly(exact["gini"])
    for attribute, figures in exact["attributes"].items():
        children = count_branches(rows, attribute, target)
        shares = [sum(child) / len(rows) for child in children]
        after = {
            measure: sum(share * measure(child) for share, child in zip(shares, children, strict=True))
            for measure in (entropy, gini)
        }
        assert after[entropy] == exactly(figures["entropy_after"])
        assert after[gini] == exactly(figures["gini_after"])
        assert information_gain(parent, children) == exactly(figures["information_gain"])
        assert split_info(children) == exactly(figures["split_info"])
        assert gain_ratio(parent, children) == exactly(figures["gain_ratio"])
        assert gini_decrease(parent, children) == exactly(figures["gini_decrease"])


@pytest.mark.parametrize("name", TABLES_WITH_ATTRIBUTES)
def test_every_attribute_of_a_lecture_table_has_the_worked_figures(name: str, lectures: Any) -> None:
    table = lectures[name]
    check_worked_figures(table["rows"], table["target"], table["exact"])


def test_the_figures_within_the_sunny_branch_are_the_worked_ones(lectures: Any) -> None:
    weather = lectures["weather"]
    sunny = [row for row in weather["rows"] if row["outlook"] == "sunny"]
    check_worked_figures(sunny, "play", weather["exact_within_outlook_sunny"])


@pytest.mark.parametrize(
    ("name", "measure"),
    [("weather_numeric_humidity", entropy), ("temperature_numeric", entropy), ("taxable_income", gini)],
)
def test_every_candidate_threshold_of_a_lecture_column_has_the_worked_gain(
    name: str, measure: Any, lectures: Any
) -> None:
    column = lectures[name]
    found = candidate_thresholds(column["values"], column["target"], measure)
    assert [threshold for threshold, _ in found] == [row["threshold"] for row in column["exact"]]
    before = measure(list(Counter(column["target"]).values()))
    for (_, gain), worked in zip(found, column["exact"], strict=True):
        assert gain == exactly(worked["gain"])
        assert before - gain == exactly(worked["after"])


def test_the_best_thresholds_are_those_the_slides_print(lectures: Any) -> None:
    humidity, income = lectures["weather_numeric_humidity"], lectures["taxable_income"]
    by_gain = candidate_thresholds(humidity["values"], humidity["target"], "entropy")
    assert max(by_gain, key=lambda pair: pair[1])[0] == humidity["printed"]["best_threshold"]
    by_gini = candidate_thresholds(income["values"], income["target"], "gini")
    assert math.floor(max(by_gini, key=lambda pair: pair[1])[0]) == income["printed"]["best_threshold"]


def test_the_gini_of_taxable_income_before_any_split_is_the_worked_one(lectures: Any) -> None:
    income = lectures["taxable_income"]
    assert gini(list(Counter(income["target"]).values())) == exactly(income["gini_before"])


def test_grouping_the_concept_numbers_removes_the_worked_deviation(lectures: Any) -> None:
    rows, figures = lectures["concept"]["rows"], lectures["concept_regression"]
    values = figures["target_values"]
    assert sum_squared_error(values) == exactly(figures["sse_root"])
    for attribute, worked in figures["exact"].items():
        groups = [row[attribute] for row in rows]
        assert standard_deviation_reduction(values, groups) == exactly(worked["sdr"])
        after = sum(
            sum_squared_error([value for value, group in zip(values, groups, strict=True) if group == name])
            for name in set(groups)
        )
        assert after == exactly(worked["sse_after"])


def test_error_is_too_weak_a_criterion_where_entropy_and_gini_see_a_gain(lectures: Any) -> None:
    example = lectures["error_criterion"]
    before, after, exact = example["before"], example["after"], example["exact"]
    assert error_rate(before) == exactly(exact["error_before"])
    assert sum(sum(child) * error_rate(child) for child in after) / sum(before) == exactly(exact["error_after"])
    assert gini(before) == exactly(exact["gini_before"])
    assert gini_decrease(before, after) == exactly(exact["gini_before"] - exact["gini_after"])
    assert entropy(before) == exactly(exact["entropy_before"])
    assert information_gain(before, after) == exactly(exact["entropy_before"] - exact["entropy_after"])


def test_the_entropies_worked_in_the_lectures_come_out(lectures: Any) -> None:
    for counts, bits in lectures["entropies"]["exact"].items():
        assert entropy([int(count) for count in counts.split("/")]) == exactly(bits)


def test_no_attribute_of_xor_gains_anything(lectures: Any) -> None:
    xor = lectures["xor"]
    for attribute in ("a", "b"):
        assert information_gain([2, 2], count_branches(xor["rows"], attribute, xor["target"])) == 0.0


def test_a_vote_of_25_members_has_the_error_of_the_lecture(lectures: Any) -> None:
    vote = lectures["vote_error"]
    assert majority_vote_error(vote["n"], vote["error"]) == exactly(vote["exact"])


@pytest.mark.parametrize("n", [1, 2, 5, 26, 999, 10_001])
@pytest.mark.parametrize("p", [0.001, 0.35, 0.49, 0.5, 0.51, 0.9])
def test_the_vote_error_is_the_tail_of_the_binomial_distribution(n: int, p: float) -> None:
    tie = stats.binom.pmf(n // 2, n, p) / 2 if n % 2 == 0 else 0.0
    assert majority_vote_error(n, p) == pytest.approx(stats.binom.sf(n // 2, n, p) + tie, rel=1e-9, abs=1e-300)


def test_the_vote_error_agrees_with_a_simulation() -> None:
    random = np.random.default_rng(7)
    for n, p in [(5, 0.3), (6, 0.4), (25, 0.35)]:
        wrong = (random.random((200_000, n)) < p).sum(axis=1)
        simulated = np.mean(wrong > n / 2) + np.mean(wrong == n / 2) / 2
        assert majority_vote_error(n, p) == pytest.approx(simulated, abs=0.005)


@given(st.integers(1, 60), st.floats(0, 1))
def test_votes_of_right_and_wrong_members_mirror_each_other(n: int, p: float) -> None:
    assert majority_vote_error(n, p) + majority_vote_error(n, 1 - p) == pytest.approx(1.0, abs=1e-9)


counts_of_classes = st.lists(st.just(0.0) | st.floats(1e-6, 1e6) | st.integers(0, 50), min_size=1, max_size=6).filter(
    any
)


@given(counts_of_classes)
def test_no_impurity_leaves_its_range(counts: list[float]) -> None:
    k = len(counts)
    assert 0.0 <= entropy(counts) <= math.log2(k) + 1e-12
    assert 0.0 <= gini(counts) <= 1 - 1 / k + 1e-12
    assert 0.0 <= error_rate(counts) <= 1 - 1 / k + 1e-12


@given(counts_of_classes, st.randoms())
def test_the_order_of_classes_does_not_matter(counts: list[float], random: Any) -> None:
    shuffled = random.sample(counts, len(counts))
    for measure in (entropy, gini, error_rate):
        assert measure(shuffled) == pytest.approx(measure(counts), abs=1e-12)


@given(counts_of_classes, st.floats(1e-3, 1e3))
def test_only_the_shares_of_classes_matter(counts: list[float], factor: float) -> None:
    for measure in (entropy, gini, error_rate):
        assert measure([count * factor for count in counts]) == pytest.approx(measure(counts), abs=1e-9)


splits = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 40), min_size=k, max_size=k), min_size=1, max_size=5)
)


@given(splits)
def test_no_split_loses_and_none_gains_more_than_there_is(children: list[list[int]]) -> None:
    parent = [sum(column) for column in zip(*children, strict=True)]
    assert 0.0 <= information_gain(parent, children) <= entropy(parent) + 1e-12
    assert 0.0 <= gini_decrease(parent, children) <= gini(parent) + 1e-12
    assert 0.0 <= gain_ratio(parent, children) <= 1.0 + 1e-9


@given(splits)
def test_split_info_of_class_counts_is_that_of_the_branch_sizes(children: list[list[int]]) -> None:
    assert split_info(children) == split_info([sum(child) for child in children])


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(-1e3, 1e3)), min_size=1, max_size=30))
def test_the_gain_in_squared_error_is_the_error_before_less_the_error_after(
    rows: list[tuple[int, float]],
) -> None:
    values, target = [value for value, _ in rows], [number for _, number in rows]
    for threshold, gain in candidate_thresholds(values, target, sum_squared_error):
        sides = [[number for value, number in rows if (value <= threshold) == side] for side in (True, False)]
        after = sum(sum_squared_error(side) for side in sides)
        assert gain == pytest.approx(sum_squared_error(target) - after, abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e3, 1e3)), min_size=1, max_size=30))
def test_the_standard_deviation_reduction_is_the_one_numpy_gives(rows: list[tuple[int, float]]) -> None:
    groups, values = np.array([group for group, _ in rows]), np.array([value for _, value in rows])
    after = sum(np.mean(groups == group) * values[groups == group].std() for group in set(groups))
    assert standard_deviation_reduction(values, groups) == pytest.approx(values.std() - after, abs=1e-6)


@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.booleans()), min_size=1, max_size=30))
def test_every_threshold_parts_its_neighbouring_values(rows: list[tuple[float, bool]]) -> None:
    values = [value for value, _ in rows]
    distinct = sorted(set(values))
    found = [threshold for threshold, _ in candidate_thresholds(values, [label for _, label in rows], gini)]
    assert len(found) == len(distinct) - 1
    for threshold, lower, upper in zip(found, distinct[:-1], distinct[1:], strict=True):
        assert lower <= threshold < upper


def test_a_threshold_between_neighbouring_floats_still_parts_them() -> None:
    upper = math.nextafter(1.0, 2.0)
    assert candidate_thresholds([1.0, upper], ["a", "b"], entropy) == [(1.0, 1.0)]


def test_rows_with_a_missing_value_or_target_are_left_out() -> None:
    complete = candidate_thresholds([1, 2, 3], ["a", "b", "b"], gini)
    values, target = [1, None, 2, float("nan"), 3, 9], ["a", "a", "b", "a", "b", None]
    assert candidate_thresholds(values, target, gini) == complete
    assert candidate_thresholds([None, None], ["a", "b"], gini) == []


def test_a_measure_may_be_a_name_or_a_function_of_ones_own() -> None:
    values, target = [1, 2, 3, 4], ["a", "a", "b", "a"]
    assert candidate_thresholds(values, target, "error_rate") == candidate_thresholds(values, target, error_rate)
    assert candidate_thresholds(values, target, lambda counts: 2 * gini(counts))[0][1] == pytest.approx(
        2 * candidate_thresholds(values, target, gini)[0][1]
    )


def test_empty_branches_and_an_empty_parent_gain_nothing() -> None:
    assert information_gain([1, 3], [[1, 0], [0, 3], [0, 0]]) == entropy([1, 3])
    assert information_gain([0, 0], [[0, 0]]) == gain_ratio([0, 0], [[0, 0]]) == 0.0
    assert gain_ratio([3, 1], [[3, 1], [0, 0]]) == 0.0


def test_numpy_arrays_and_fractional_counts_are_taken() -> None:
    assert entropy(np.array([0.25, 0.25])) == 1.0
    assert gini_decrease(np.array([1.5, 0.5]), np.array([[1.5, 0.0], [0.0, 0.5]])) == gini([3, 1])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: entropy([]), "counts are empty"),
        (lambda: entropy("ab"), "list with the weight of each class"),
        (lambda: gini([3, -1]), "cannot be negative, and -1"),
        (lambda: gini([3, float("nan")]), "finite numbers, and nan"),
        (lambda: error_rate(["3"]), "finite numbers, and '3'"),
        (lambda: entropy([10**400]), "finite numbers"),
        (lambda: information_gain([9, 5], [7, 7]), "list with the weight of each class, not 7"),
        (lambda: information_gain([9, 5], []), "at least one branch"),
        (lambda: information_gain([9, 5], [[9, 5, 0]]), "3 classes where its parent has 2"),
        (lambda: gini_decrease([9, 5], [[4, 5], [4, 0]]), "hold 8 of class 0, not 9"),
        (lambda: split_info([[3, -1]]), "cannot be negative"),
        (lambda: split_info([]), "counts are empty"),
        (lambda: sum_squared_error([]), "values are empty"),
        (lambda: sum_squared_error([1, None]), "finite numbers, and None"),
        (lambda: standard_deviation_reduction([1, 2], ["a"]), "same length, not 2 and 1"),
        (lambda: standard_deviation_reduction([1, 2], ["a", None]), "missing labels"),
        (lambda: candidate_thresholds([1], ["a", "b"], gini), "same length, not 1 and 2"),
        (lambda: candidate_thresholds([], [], gini), "values are empty"),
        (lambda: candidate_thresholds([1, math.inf], ["a", "b"], gini), "finite numbers, and inf"),
        (lambda: candidate_thresholds([1, 2], ["a", "b"], "twoing"), "unknown measure 'twoing'"),
        (
            lambda: candidate_thresholds([1, 2], ["a", "b"], sum_squared_error),
            "target must be finite numbers",
        ),
        (lambda: majority_vote_error(0, 0.5), "whole number of at least 1, not 0"),
        (lambda: majority_vote_error(2.5, 0.5), "whole number"),
        (lambda: majority_vote_error(3, 1.5), "between 0 and 1, not 1.5"),
        (lambda: majority_vote_error(3, float("nan")), "between 0 and 1"),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_the_upper_error_bound_is_that_of_c45() -> None:
    # Quinlan 1993, page 41: U25%(0, 6) = 0.206, U25%(0, 9) = 0.143, U25%(0, 1) = 0.750.
    for n, share in ((6, 0.206), (9, 0.143), (1, 0.750)):
        assert measures.upper_error_bound(n, 0) / n == pytest.approx(share, abs=5e-4)
    for variant in ("j48", "c4.5r8"):
        for n, errors in ((14, 5), (100, 10), (2.5, 0.3), (7, 6.8)):
            added = extra_errors(n, errors, 0.25, variant)
            assert measures.upper_error_bound(n, errors, 0.25, variant) == pytest.approx(errors + added, abs=1e-12)
    assert measures.upper_error_bound(5, 2, 0.9) == 2.0
    with pytest.raises(ValueError, match="between 0 and 5"):
        measures.upper_error_bound(5, 6)


def test_the_chi_squared_value_is_that_of_scipy() -> None:
    from scipy.stats import chi2_contingency

    for counts in ([[2, 3], [4, 0], [3, 2]], [[10.5, 3, 1], [2, 7, 9]]):
        expected = chi2_contingency(counts, correction=False).statistic
        assert measures.chi_squared(counts) == pytest.approx(expected, rel=1e-12)
    assert measures.chi_squared([[2, 0], [4, 0]]) == 0.0


def test_the_table_of_thresholds_has_counts_and_weighted_impurities(lectures: dict[str, Any]) -> None:
    lecture = lectures["weather_numeric_humidity"]
    lines = measures.threshold_table(lecture["values"], lecture["target"])
    assert [line.threshold for line in lines] == [line["threshold"] for line in lecture["exact"]]
    for line, exact in zip(lines, lecture["exact"], strict=True):
        assert line.after == pytest.approx(exact["after"], abs=1e-12)
        assert line.gain == pytest.approx(exact["gain"], abs=1e-12)
        assert sum(line.left) + sum(line.right) == 14
    with pytest.raises(ValueError, match="for numbers use candidate_thresholds"):
        measures.threshold_table([1, 2], [1.0, 2.0], "sum_squared_error")
