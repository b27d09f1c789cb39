"""Predictions by tiles and for few rows, against a walk over the raw values in plain Python."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest

from treewright import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from treewright.engines.packed import predict as packed_predict
from treewright.engines.packed.predict import FEW_ROWS, rows_of_tiles, sum_predictions
from treewright.engines.packed.tiles import GROUP, TILE
from treewright.engines.packed.walk import CHILD_SHIFT, IS_LEAF, IS_SET, MOVED_UP
from treewright.runtime.forms import choose_compiled_form
from treewright.tree.forest import MIN_ROWS_FOR_THREADS, Forest
from treewright.tree.tree import SplitKind, Tree

N_COLUMNS = 5


def table_of(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with missing values that belong to high targets in some columns and to low ones in others."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, N_COLUMNS))
    X[:, 3] = np.round(X[:, 3])
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    X[(y > 1.0) & (random.random(n_rows) < 0.5), 1] = np.nan
    X[(y < -1.0) & (random.random(n_rows) < 0.5), 2] = np.nan
    X[random.random(n_rows) < 0.1, 4] = np.nan
    return X, y


def new_rows(n_rows: int, seed: int = 5) -> np.ndarray:
    """Rows with missing values in any column, infinite values, and values far outside of the training table."""
    X, _ = table_of(n_rows, seed)
    random = np.random.default_rng(seed)
    X[random.random(X.shape) < 0.1] = np.nan
    X[random.random(X.shape) < 0.05] = np.inf
    X[random.random(X.shape) < 0.05] = -np.inf
    return X


NAMES = ("numbers", "two classes", "three classes", "one leaf", "boosted")


@cache
def forest_of(name: str) -> Forest:
    """A forest of each kind; fitted when a test first needs it."""
    X, y = table_of(600, 0)
    if name == "boosted":
        return GradientBoostingRegressor(n_estimators=17, random_state=0).fit(X, y).forests_[0]
    if name == "one leaf":
        model = RandomForestRegressor(n_estimators=3, random_state=0, min_samples_leaf=1).fit(X[:20], np.ones(20))
    elif name == "numbers":
        model = RandomForestRegressor(n_estimators=11, random_state=0, max_features=2, min_samples_leaf=1).fit(X, y)
    else:
        labels = y > 0.0 if name == "two classes" else np.digitize(y, [-0.5, 0.5])
        n_trees = 9 if name == "two classes" else 19
        model = RandomForestClassifier(n_estimators=n_trees, random_state=0, max_features=2, min_samples_leaf=3)
        model.fit(X, labels)
    return model.forest_


@cache
def trees_of(forest: Forest) -> list[Tree]:
    return list(forest)


def plain_leaf(forest: Forest, index: int, row: np.ndarray) -> int:
    """The leaf of a row, numbered in all trees, by thresholds on its raw values."""
    tree, node = trees_of(forest)[index], 0
    while tree.kind[node] != SplitKind.LEAF:
        value = row[tree.column[node]]
        side = tree.missing_branch[node] if np.isnan(value) else int(value > tree.threshold[node])
        node = tree.first_child[node] + side
    word = forest.nodes[forest.node_start[index] + node]
    assert word & IS_LEAF
    return int(forest.leaf_start[index]) + int(word >> CHILD_SHIFT)


def plain_sums(
    forest: Forest, rows: np.ndarray, majority: bool, bags: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the predictions in the order of the trees, and the number of trees."""
    n_outputs = len(forest.target.classes) if len(forest.leaf_end) else 1
    sums, counts = np.zeros((len(rows), n_outputs)), np.zeros(len(rows), np.int64)
    begins = np.append(0, forest.leaf_end)
    for index in range(len(forest)):
        for place, row in enumerate(rows):
            if bags is not None and bags[index, place // 8] >> (place % 8) & 1:
                continue
            counts[place] += 1
            leaf = plain_leaf(forest, index, row)
            if not len(forest.leaf_end):
                value = forest.leaf_value[leaf]
                sums[place, 0] += float(value > 0.5) if majority else value
                continue
            shares = np.zeros(n_outputs)
            entries = slice(begins[leaf], begins[leaf + 1])
            shares[forest.entry_class[entries]] = forest.entry_share[entries]
            sums[place] += np.eye(n_outputs)[shares.argmax()] if majority else shares
    return sums, counts


def test_the_tables_send_missing_values_to_both_sides():
    words = np.concatenate([forest.nodes for forest in map(forest_of, NAMES)])
    splits = words[(words & IS_LEAF) == 0]
    assert 0 < np.count_nonzero(splits & MOVED_UP) < len(splits)
    assert not (splits & IS_SET).any()
    assert all(len(forest.packed.tile_nodes) == len(forest.nodes) for forest in map(forest_of, NAMES))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "n_rows", [1, 2, FEW_ROWS, FEW_ROWS + 1, GROUP - 1, GROUP + 1, TILE - 1, TILE, TILE + 1, 2 * TILE + 3]
)
def test_any_number_of_rows_gets_the_sums_of_a_plain_walk(name, n_rows):
    forest, rows = forest_of(name), new_rows(n_rows)
    for majority in (False, True):
        found, counts = sum_predictions(choose_compiled_form(), forest.code(rows), forest.packed, majority, 1)
        expected, _ = plain_sums(forest, rows, majority)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(counts, len(forest))


@pytest.mark.parametrize("name", NAMES)
def test_trees_with_the_row_in_their_bag_are_left_out(name):
    forest, rows = forest_of(name), new_rows(TILE + 9)
    bags = np.random.default_rng(1).integers(0, 256, (len(forest), -(-len(rows) // 8))).astype(np.uint8)
    for size in (3, len(rows)):
        codes = forest.code(rows[:size])
        found = sum_predictions(choose_compiled_form(), codes, forest.packed, False, 1, bags)
        for part, expected in zip(found, plain_sums(forest, rows[:size], False, bags), strict=True):
            np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_and_of_rows_in_a_call_does_not_change_a_bit(name, monkeypatch):
    forest, rows = forest_of(name), new_rows(MIN_ROWS_FOR_THREADS + 77)
    by_one = forest.sums(forest.code(rows, 1), 1)
    np.testing.assert_array_equal(forest.sums(forest.code(rows, 2), 2), by_one)
    monkeypatch.setattr(packed_predict, "MIN_ROWS_FOR_MASKS", len(rows) + 1)
    np.testing.assert_array_equal(forest.sums(forest.code(rows, 2), 2), by_one)
    in_parts = [forest.sums(forest.code(rows[first : first + 5])) for first in range(0, 200, 5)]
    np.testing.assert_array_equal(np.concatenate(in_parts), by_one[:200])


def test_blocks_are_whole_tiles_that_cover_all_rows():
    for n_rows in (1, 127, 128, 129, 5000, 20_000, 100_003):
        for n_columns in (1, 30, 5000):
            for n_threads in (1, 2, 7):
                size = rows_of_tiles(n_rows, n_columns, n_threads)
                assert size % TILE == 0
                assert size > 0


def test_a_copy_or_pickle_does_not_contain_what_prediction_derives():
    forest, rows = forest_of("numbers"), new_rows(3)
    expected = forest.sums(forest.code(rows))
    before = len(pickle.dumps(forest))
    assert "packed" in vars(forest)
    fresh = pickle.loads(pickle.dumps(forest))
    for other in (fresh, copy.copy(forest), copy.deepcopy(forest)):
        assert "packed" not in vars(other)
        np.testing.assert_array_equal(other.sums(other.code(rows)), expected)
    assert len(pickle.dumps(Forest(**{name: getattr(forest, name) for name in forest.__dataclass_fields__}))) == before


def test_sets_of_categories_are_walked_the_other_way():
    random = np.random.default_rng(0)
    letters = random.integers(0, 6, 400)
    frame = {"letter": [None if k == 5 else "abcde"[k] for k in letters], "x": random.normal(size=400)}
    y = np.isin(letters, (0, 3, 5)) * 2.0 + frame["x"]
    model = RandomForestRegressor(n_estimators=12, random_state=0, min_samples_leaf=1).fit(frame, y)
    assert len(model.forest_.packed.tile_nodes) == 0
    rows = {"letter": ["a", "e", None, "new"] * 30, "x": random.normal(size=120)}
    together = model.predict(rows)
    by_member = np.mean([member.predict(rows) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(together, by_member, rtol=1e-12)
    alone = [model.predict({"letter": [rows["letter"][k]], "x": rows["x"][k : k + 1]})[0] for k in range(120)]
    np.testing.assert_array_equal(together, alone)
