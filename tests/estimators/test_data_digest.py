"""`data_digest_` tells whether two models were fitted to the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix

import treewright as tw
from properties import examples
from sample_tables import mixed_table
from table_forms import WITH_NAMES, columns_of
from treewright.table.digest import MIN_CELLS_FOR_THREADS, sums_of_values
from treewright.table.hashes import sums_of_dense
from treewright.table.sparse import SparseValues

FRAME, CLASSES, NUMBERS = mixed_table(120)
TREE = tw.DecisionTreeClassifier(max_depth=2)
CLASSIFIERS = [
    TREE,
    tw.C45Classifier(),
    tw.OneRClassifier(),
    tw.RandomForestClassifier(2, random_state=0),
    tw.GradientBoostingClassifier(n_estimators=2),
    tw.BaggingClassifier(n_estimators=2, random_state=0),
    tw.AdaBoostClassifier(n_estimators=2),
    tw.VotingClassifier([("tree", TREE)]),
    tw.StackingClassifier([("tree", TREE)]),
    tw.BayesianAveragingClassifier([("tree", TREE)]),
]

cells = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 1e300, np.nan, np.inf])
matrices = st.tuples(st.integers(0, 40), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=cells)
)


def digest(X: Any, y: Any = CLASSES, weights: Any = None) -> str:
    return str(TREE.fit(X, y, weights).data_digest_)


@pytest.mark.parametrize("form", WITH_NAMES)
def test_the_form_of_a_table_does_not_matter(form: str) -> None:
    assert digest(WITH_NAMES[form](columns_of(FRAME))) == digest(FRAME)


def test_all_learners_have_the_digest_of_the_same_table() -> None:
    assert {learner.fit(FRAME, CLASSES).data_digest_ for learner in CLASSIFIERS} == {digest(FRAME)}


def test_chunks_do_not_matter() -> None:
    chunked = tw.scan([FRAME[:50], FRAME[50:51], FRAME[51:]])
    assert tw.GradientBoostingClassifier(n_estimators=1).fit(chunked, CLASSES).data_digest_ == digest(FRAME)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.rename(columns={"age": "years"}),
        lambda frame: frame[["age", "size", "kind", "wet"]],
        lambda frame: frame.iloc[::-1],
        lambda frame: frame.assign(age=frame["age"].where(frame.index != 7, 61.0)),
        lambda frame: frame.assign(age=frame["age"].where(frame.index != frame["age"].first_valid_index())),
        lambda frame: frame.assign(kind=frame["kind"].replace("elm", "beech")),
    ],
)
def test_another_table_has_another_digest(change: Any) -> None:
    assert digest(change(FRAME)) != digest(FRAME)


def test_another_target_or_weight_has_another_digest() -> None:
    other, weights = CLASSES.copy(), np.ones(len(FRAME))
    other[3], weights[3] = (other[3] + 1) % 3, 2.0
    assert len({digest(FRAME), digest(FRAME, other), digest(FRAME, CLASSES, weights)}) == 3
    assert digest(FRAME, CLASSES, np.ones(len(FRAME))) == digest(FRAME)


def test_the_order_in_which_classes_are_declared_does_not_matter() -> None:
    declared = pd.Series(pd.Categorical(CLASSES, categories=[2, 0, 1]))
    assert digest(FRAME, declared) == digest(FRAME)


@examples(100)
@given(matrices, st.integers(0, 40))
def test_parts_of_any_order_and_sparse_values_have_the_sums_of_the_whole(values: np.ndarray, at: int) -> None:
    whole = sums_of_dense(values, 0)
    parts = sums_of_dense(values[:at], 0) + sums_of_dense(values[at:], min(at, len(values)))
    assert (parts == whole).all()
    assert (sums_of_dense(np.asfortranarray(values), 0) == whole).all()
    assert (sums_of_values(SparseValues.of(csr_matrix(values))) == whole).all()


@examples(100)
@given(matrices.filter(len), st.data())
def test_a_changed_cell_and_exchanged_rows_change_the_sums(values: np.ndarray, data: st.DataObject) -> None:
    row, column = data.draw(st.integers(0, len(values) - 1)), data.draw(st.integers(0, values.shape[1] - 1))
    changed = values.copy()
    changed[row, column] = 7.0
    assert (sums_of_dense(changed, 0) != sums_of_dense(values, 0)).sum() == 1
    moved = np.roll(changed, 1, axis=0)
    is_same = np.array_equal(moved, changed, equal_nan=True)
    assert (sums_of_dense(moved, 0) == sums_of_dense(changed, 0)).all() == is_same


def test_threads_do_not_matter() -> None:
    values = np.random.default_rng(0).normal(size=(MIN_CELLS_FOR_THREADS // 3 + 5, 3))
    assert (sums_of_values(values, 1) == sums_of_values(values, 3)).all()


def test_a_file_shows_the_digest(tmp_path: Path) -> None:
    model = TREE.fit(FRAME, CLASSES)
    tw.save(model, tmp_path / "model.tw")
    assert tw.describe_file(tmp_path / "model.tw")["data_digest"] == model.data_digest_
    assert tw.load(tmp_path / "model.tw").data_digest_ == model.data_digest_
