"""Scores, intervals and folds, against scikit-learn, scipy and resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from treewright.insight.cross_validation import split_folds
from treewright.insight.scoring import score_numbers, wilson_interval
from treewright.insight.task import Task, task_of_column
from treewright.table import Frame


@given(st.integers(1, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_of_a_share_is_wilsons(counts: tuple[int, int]) -> None:
    expected = binomtest(*counts).proportion_ci(method="wilson")
    assert wilson_interval(*counts) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_the_intervals_for_numbers_are_as_wide_as_resampling_says() -> None:
    rng = np.random.default_rng(0)
    y = rng.gamma(2.0, size=400)
    predictions = y + rng.normal(scale=0.7, size=400)
    resampled = []
    for _ in range(2000):
        rows = rng.integers(400, size=400)
        errors, spread = (y[rows] - predictions[rows]) ** 2, (y[rows] - y[rows].mean()) ** 2
        resampled.append((1 - errors.mean() / spread.mean(), np.sqrt(errors.mean())))
    for score, values in zip(score_numbers(y, predictions), np.transpose(resampled), strict=True):
        assert score.interval is not None
        half = (score.interval[1] - score.interval[0]) / 2
        assert half == pytest.approx(1.96 * values.std(), rel=0.1)


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=60), st.integers(2, 12))
def test_every_row_is_tested_once(labels: list[str], wanted: int) -> None:
    y = np.array(labels, dtype=object)
    assume(max(labels.count(label) for label in labels) >= 2)
    folds = split_folds(y, Task.CLASSES, wanted, seed=0)
    assert 2 <= len(folds) <= wanted
    assert sorted(np.concatenate(folds.tested).tolist()) == list(range(len(y)))
    assert bool(folds.note) == (len(folds) < wanted)


def test_a_table_for_numbers_has_no_more_folds_than_rows() -> None:
    folds = split_folds(np.arange(4.0), Task.NUMBERS, 10, seed=0)
    assert len(folds) == 4
    assert folds.note == "4 folds instead of 10, because there are 4 rows"


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"] * 5, Task.CLASSES),
        ([True, False] * 5, Task.CLASSES),
        ([0, 1] * 2, Task.CLASSES),
        ([0.0, 1.0] * 5, Task.CLASSES),
        ([0, 1, 2] * 5, Task.CLASSES),
        ([0, 1, 2] * 4, Task.NUMBERS),
        (list(range(20)) * 5, Task.CLASSES),
        (list(range(21)) * 9, Task.NUMBERS),
        ([0.5, 1.0] * 50, Task.NUMBERS),
    ],
)
def test_the_task_follows_from_the_values(values: list[object], task: Task) -> None:
    assert task_of_column(Frame({"y": values}), "y")[0] is task
