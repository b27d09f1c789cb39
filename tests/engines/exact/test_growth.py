"""How trees grow: threads, forms of the kernels, random choices, candidate thresholds, missing rows."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treewright.encoding.ranking import code_small_integers
from treewright.encoding.ranks import _rank
from treewright.engines.exact import engine, layout
from treewright.engines.exact.data import make_data
from treewright.engines.exact.workspace import make_arrays, with_more_capacity
from treewright.runtime.forms import run_plain
from treewright.table.column import Column, Kind
from treewright.tree import SplitKind, Target
from treewright.tree.descent import leaves_of
from treewright.tree.grow import grow
from treewright.tree.tree import BIT_SET


def numeric_columns(n):
    return tuple(Column(f"x{i}", Kind.NUMERIC) for i in range(n))


def coded_table(n_rows, seed, missing_share=0.1):
    """Wide and narrow numbers, few and many categories, an ordered column, and missing values."""
    random = np.random.default_rng(seed)
    columns = (
        *numeric_columns(2),
        Column("few", Kind.CATEGORICAL, tuple("abcd")),
        Column("many", Kind.CATEGORICAL, tuple(range(400))),
        Column("size", Kind.ORDERED, ("s", "m", "l")),
    )
    values = np.column_stack(
        [
            random.standard_normal(n_rows),
            random.integers(0, 30, n_rows),
            random.integers(0, 4, n_rows),
            random.integers(0, 400, n_rows),
            random.integers(0, 3, n_rows),
        ]
    )
    labels = values[:, 0] + (values[:, 2] == 1) + (values[:, 3] % 7 == 0) + random.standard_normal(n_rows) > 0.5
    values = np.where(random.random(values.shape) < missing_share, np.nan, values)
    return columns, np.asfortranarray(values), labels.astype(np.uint16), random


def same_tree(a, b):
    return all(
        np.array_equal(getattr(a, field.name), getattr(b, field.name), equal_nan=True)
        for field in fields(a)
        if isinstance(getattr(a, field.name), np.ndarray)
    )


def grow_mixed(table, make_recipe, monkeypatch=None, form=None, **options):
    columns, values, labels, _ = table
    choices = {name: options.pop(name) for name in list(options) if name in engine.Recipe._fields}
    criterion = options.pop("criterion_name", "gini")
    mode = options.pop("mode", "subset")
    if form is not None:
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
    options.setdefault("weights", np.ones(len(labels)))
    recipe = make_recipe(criterion, mode, **choices)
    if criterion in ("gini", "information_gain", "gain_ratio", "error"):
        return grow(columns, values, Target("y", (0, 1)), recipe=recipe, labels=labels, n_classes=2, **options)
    return grow(columns, values, Target("y"), recipe=recipe, **options)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["multiway", "subset", "one_vs_rest"])
def test_the_tree_does_not_depend_on_the_number_of_threads(make_recipe, mode):
    table = coded_table(110_000, seed=1)
    weights = np.exp(6.0 * table[3].standard_normal(110_000))
    assert table[1].size >= engine.MIN_CELLS_FOR_THREADS
    trees = [
        grow_mixed(table, make_recipe, weights=weights, mode=mode, n_jobs=n, min_samples_leaf=5) for n in (1, 2, 4)
    ]
    assert trees[0].n_nodes > 100
    assert same_tree(trees[0], trees[1])
    assert same_tree(trees[0], trees[2])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["multiway", "subset", "one_vs_rest"])
@pytest.mark.parametrize(
    "criterion",
    ["information_gain", "gain_ratio", "gini", "error", "squared_error", "sdr", "absolute_error", "poisson"],
)
def test_plain_and_compiled_kernels_give_the_same_bits(make_recipe, monkeypatch, criterion, mode):
    table = coded_table(200, seed=2, missing_share=0.15)
    random = table[3]
    options = {"weights": random.uniform(0.2, 3.0, 200), "criterion_name": criterion, "mode": mode}
    if criterion in ("squared_error", "sdr", "absolute_error", "poisson"):
        options["numbers"] = np.round(np.exp(random.standard_normal(200)), 2)
    plain = grow_mixed(table, make_recipe, monkeypatch, "plain", **options)
    fast = grow_mixed(table, make_recipe, monkeypatch, "compiled", **options)
    assert plain.n_nodes > 20
    assert same_tree(plain, fast)


@pytest.mark.parametrize("choices", [{"random_cuts": True}, {"among": 5}, {"max_features": 2}, {"quinlan": True}])
def test_random_choices_are_the_same_in_both_forms(make_recipe, monkeypatch, choices):
    table = coded_table(300, seed=3)
    criterion = "gain_ratio" if "quinlan" in choices else "gini"
    mode = "multiway" if "quinlan" in choices else "subset"
    trees = [
        grow_mixed(table, make_recipe, monkeypatch, form, seed=9, criterion_name=criterion, mode=mode, **choices)
        for form in ("plain", "compiled")
    ]
    assert same_tree(*trees)


@pytest.mark.parametrize("choices", [{"random_cuts": True}, {"among": 5}, {"max_features": 2}])
def test_the_seed_decides_random_choices(make_recipe, choices):
    table = coded_table(300, seed=4)
    first, again, other = (grow_mixed(table, make_recipe, seed=seed, **choices) for seed in (1, 1, 2))
    assert same_tree(first, again)
    assert not same_tree(first, other)


def test_random_thresholds_lie_between_the_values_of_their_node(make_recipe):
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 2))
    labels = random.integers(0, 2, 200).astype(np.uint16)
    seen = set()
    for seed in range(30):
        tree = grow(
            numeric_columns(2),
            X,
            Target("y", (0, 1)),
            recipe=make_recipe(random_cuts=True, max_depth=1),
            labels=labels,
            n_classes=2,
            weights=np.ones(200),
            seed=seed,
        )
        column = X[:, tree.column[0]]
        assert column.min() <= tree.threshold[0] < column.max()
        assert tree.rows[1] == (column <= tree.threshold[0]).sum()
        seen.add(float(tree.threshold[0]))
    assert len(seen) > 20


def test_one_of_the_k_best_splits_is_drawn(make_recipe):
    random = np.random.default_rng(1)
    X = random.standard_normal((100, 3))
    labels = (X[:, 0] > 0).astype(np.uint16)

    def root(among, seed):
        tree = grow(
            numeric_columns(3),
            X,
            Target("y", (0, 1)),
            recipe=make_recipe(among=among, max_depth=1),
            labels=labels,
            n_classes=2,
            weights=np.ones(100),
            seed=seed,
        )
        return float(tree.gain[0])

    gains = {round(root(4, seed), 12) for seed in range(60)}
    assert max(gains) == pytest.approx(root(1, 0))
    assert 2 <= len(gains) <= 4


@pytest.mark.parametrize("criterion", ["gini", "information_gain"])
def test_class_boundaries_give_the_same_tree_as_all_midpoints(make_recipe, criterion):
    random = np.random.default_rng(7)
    X = np.round(random.standard_normal((400, 4)), 1)
    labels = (X[:, 0] + X[:, 1] > 0).astype(np.uint16) + (X[:, 2] > 1).astype(np.uint16)
    options = {"labels": labels, "n_classes": 3, "weights": np.ones(400)}
    trees = [
        grow(
            numeric_columns(4),
            X,
            Target("y", (0, 1, 2)),
            recipe=make_recipe(criterion, class_boundaries=flag),
            **options,
        )
        for flag in (False, True)
    ]
    assert same_tree(*trees)


def test_bins_cut_at_quantiles_and_steps_at_multiples(make_recipe):
    random = np.random.default_rng(8)
    X = random.uniform(0, 100, (1_000, 1))
    labels = (X[:, 0] > 47).astype(np.uint16)
    options = {
        "labels": labels,
        "n_classes": 2,
        "weights": np.ones(1_000),
        "recipe": make_recipe(max_depth=1),
    }
    bins = grow(numeric_columns(1), X, Target("y", (0, 1)), grid=("bins", 4), **options)
    assert bins.rows[1] == 500
    step = grow(numeric_columns(1), X, Target("y", (0, 1)), grid=("step", 10.0), **options)
    assert step.threshold[0] == 50.0
    on_the_line = grow(
        numeric_columns(1),
        np.array([[10.0], [10.0], [20.0], [30.0]]),
        Target("y", (0, 1)),
        grid=("step", 10.0),
        recipe=make_recipe(max_depth=1),
        labels=np.array([0, 0, 1, 1], np.uint16),
        n_classes=2,
        weights=np.ones(4),
    )
    assert on_the_line.threshold[0] == 10.0
    assert on_the_line.rows[1] == 2


def test_xor_is_learned_although_no_split_gains(make_recipe):
    columns = (Column("a", Kind.CATEGORICAL, ("F", "T")), Column("b", Kind.CATEGORICAL, ("F", "T")))
    values = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    tree = grow(
        columns,
        values,
        Target("y", ("F", "T")),
        recipe=make_recipe("information_gain", "multiway"),
        labels=np.array([0, 1, 1, 0], np.uint16),
        n_classes=2,
        weights=np.ones(4),
    )
    assert tree.n_leaves == 4
    assert not tree.impurity[tree.kind == 0].any()
    assert tree.gain[0] == 0.0


def test_the_first_of_two_equal_columns_is_split_even_with_odd_weights(make_recipe):
    random = np.random.default_rng(10)
    x = random.standard_normal(500)
    weights = np.exp(3 * random.standard_normal(500))
    labels = (x + random.standard_normal(500) > 0).astype(np.uint16)
    # The second column is the first one mirrored: every cut parts the rows alike, the sums run the other way.
    X = np.column_stack([x, -x])
    for criterion in ("gini", "information_gain", "gain_ratio", "error"):
        tree = grow(
            numeric_columns(2),
            X,
            Target("y", (0, 1)),
            recipe=make_recipe(criterion, max_depth=3),
            labels=labels,
            n_classes=2,
            weights=weights,
        )
        assert set(tree.column[tree.kind != 0]) == {0}


def test_the_error_criterion_does_not_peel_off_row_after_row(make_recipe):
    random = np.random.default_rng(12)
    X = random.standard_normal((3_000, 2))
    labels = (random.random(3_000) < 0.1).astype(np.uint16)
    tree = grow(
        numeric_columns(2),
        X,
        Target("y", (0, 1)),
        recipe=make_recipe("error"),
        labels=labels,
        n_classes=2,
        weights=np.ones(3_000),
    )
    assert tree.depth < 60


@pytest.mark.parametrize("mode", ["multiway", "subset", "one_vs_rest"])
def test_training_rows_reach_in_prediction_the_leaf_they_were_trained_in(make_recipe, mode):
    table = coded_table(2_000, seed=5)
    tree = grow_mixed(table, make_recipe, mode=mode)
    leaves = leaves_of(tree, table[1])
    counted = np.bincount(leaves, minlength=tree.n_nodes)
    is_leaf = tree.kind == SplitKind.LEAF
    assert np.array_equal(counted[is_leaf], tree.rows[is_leaf])
    for k in (0, 1):
        weight = np.bincount(leaves[table[2] == k], minlength=tree.n_nodes)
        assert np.array_equal(weight[is_leaf], tree.distribution[is_leaf, k])


def test_missing_and_unseen_values_follow_the_heavier_branch(make_recipe):
    table = coded_table(2_000, seed=6)
    tree = grow_mixed(table, make_recipe, max_depth=1)
    heavier = 1 + int(np.argmax(tree.weight[1:3]))
    row = np.full((1, 5), np.nan)
    assert leaves_of(tree, row)[0] == heavier
    column = tree.column[0]
    if tree.columns[column].categories:
        row[0, column] = -1.0
        assert leaves_of(tree, row)[0] == heavier


def test_limits_on_growth_hold(make_recipe):
    table = coded_table(2_000, seed=7)
    tree = grow_mixed(table, make_recipe, min_samples_leaf=25, max_depth=6)
    assert tree.depth <= 6
    assert tree.rows[tree.kind == 0].min() >= 25
    split_rows = grow_mixed(table, make_recipe, min_samples_split=100)
    assert split_rows.rows[split_rows.kind != 0].min() >= 100
    gains = grow_mixed(table, make_recipe, min_split_gain=0.01)
    assert gains.gain[gains.kind != 0].min() >= 0.01


def test_infinities_are_ordinary_large_values(make_recipe):
    X = np.array([[-np.inf], [1.0], [2.0], [np.inf], [np.inf]])
    for labels in ([0, 1, 1, 1, 1], [0, 0, 0, 1, 1]):
        tree = grow(
            numeric_columns(1),
            X,
            Target("y", (0, 1)),
            recipe=make_recipe(),
            labels=np.array(labels, np.uint16),
            n_classes=2,
            weights=np.ones(5),
        )
        assert np.array_equal(np.argmax(tree.predictions[leaves_of(tree, X)], axis=1), labels)


@examples(80)
@given(st.lists(st.floats(allow_nan=True, width=64), min_size=1, max_size=80))
def test_ranks_are_those_of_a_stable_sort(values):
    numbers = np.array(values)
    known = ~np.isnan(numbers)
    order, codes, distinct = _rank(run_plain, numbers, int(known.sum()))
    assert np.array_equal(distinct, np.unique(numbers[known]))
    assert np.array_equal(order[: known.sum()], np.flatnonzero(known)[np.argsort(numbers[known], kind="stable")])
    assert np.array_equal(distinct[codes[: known.sum()]], np.sort(numbers[known]))
    assert (codes[known.sum() :] == len(distinct)).all()


def test_split_kinds_have_the_same_numbers_in_engine_and_tree():
    assert SplitKind.LEAF == layout.LEAF_NODE
    assert SplitKind.THRESHOLD == layout.THRESHOLD_SPLIT
    assert SplitKind.SUBSET == layout.SUBSET_SPLIT
    assert SplitKind.MULTIWAY == layout.MULTIWAY_SPLIT
    assert layout.BIT_SET == BIT_SET


def test_fits_in_several_threads_at_once_finish_and_agree(make_recipe):
    large, small = coded_table(110_000, seed=8), coded_table(60, seed=8)

    def grow_one(table):
        return grow_mixed(table, make_recipe, min_samples_leaf=20)

    tables = [large, small, large, small]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(grow_one, tables))
    for tree, table in zip(at_once, tables, strict=True):
        assert same_tree(tree, grow_one(table))


def test_a_forked_worker_grows_the_same_tree(make_recipe):
    table = coded_table(5_000, seed=9)
    here = grow_mixed(table, make_recipe)
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        there = pool.apply(grow_in_worker, (table, make_recipe("gini", "subset")))
    assert same_tree(here, there)


def grow_in_worker(table, recipe):
    columns, values, labels, _ = table
    weights = np.ones(len(labels))
    return grow(columns, values, Target("y", (0, 1)), recipe=recipe, labels=labels, n_classes=2, weights=weights)


def test_a_value_on_the_grid_stays_below_its_line_although_division_rounds(make_recipe):
    X = np.arange(1, 201)[:, None] * 0.01
    labels = (np.arange(200) % 2).astype(np.uint16)
    tree = grow(
        numeric_columns(1),
        X,
        Target("y", (0, 1)),
        grid=("step", 0.01),
        recipe=make_recipe(),
        labels=labels,
        n_classes=2,
        weights=np.ones(200),
    )
    assert tree.n_leaves == 200
    assert np.array_equal(np.argmax(tree.predictions[leaves_of(tree, X)], axis=1), labels)


def test_one_category_of_zeros_does_not_forbid_a_multiway_split_by_poisson(make_recipe):
    columns = (Column("a", Kind.CATEGORICAL, tuple("abc")),)
    values = np.repeat([0.0, 1.0, 2.0], 2)[:, None]
    tree = grow(
        columns,
        values,
        Target("y"),
        recipe=make_recipe("poisson", "multiway"),
        numbers=np.array([0.0, 0.0, 5.0, 5.0, 1.0, 1.0]),
        weights=np.ones(6),
    )
    assert tree.distribution[1:, 0].tolist() == [0.0, 5.0, 1.0]


def test_room_for_category_sets_grows_without_room_for_nodes(make_recipe):
    random = np.random.default_rng(4)
    columns = (Column("id", Kind.CATEGORICAL, tuple(range(5_000))), *numeric_columns(1))
    values = np.column_stack([random.integers(0, 5_000, 10_000), random.standard_normal(10_000)])
    labels = random.integers(0, 2, 10_000).astype(np.uint16)
    recipe, target = make_recipe(), Target("y", (0, 1))
    data = make_data(
        run_plain,
        columns,
        values,
        labels=labels,
        numbers=None,
        weights=np.ones(10_000),
        n_classes=2,
    )
    arrays = make_arrays(data, recipe, 10_000)
    before = len(arrays.node_kind)
    larger = with_more_capacity(arrays, 2, 10 * len(arrays.set_words))
    assert len(larger.node_kind) == before
    tree = grow(columns, values, target, recipe=recipe, labels=labels, n_classes=2, weights=np.ones(10_000))
    leaves = leaves_of(tree, values)
    assert np.array_equal(np.bincount(leaves, minlength=tree.n_nodes)[tree.kind == 0], tree.rows[tree.kind == 0])


@examples(80)
@given(st.lists(st.integers(-40, 300).map(float) | st.just(float("nan")) | st.just(-0.0), min_size=1, max_size=60))
def test_few_whole_numbers_get_the_codes_that_sorting_gives(values):
    numbers = np.array(values)
    codes, distinct = np.empty(len(numbers), np.uint8), np.empty(255)
    n_codes = run_plain(code_small_integers)(numbers, np.empty(1 << 16, np.uint8), codes, distinct)
    known = ~np.isnan(numbers)
    if not known.any():
        assert n_codes < 1
        return
    expected, places = np.unique(numbers[known], return_inverse=True)
    assert np.array_equal(distinct[:n_codes], expected)
    assert np.array_equal(codes[known], places)
    assert (codes[~known] == n_codes).all()


@pytest.mark.parametrize("values", [[0.5, 1.0], [0.0, 1e9], [np.inf, 1.0], list(range(256))])
def test_other_numbers_are_not_taken_for_few_whole_numbers(values):
    numbers = np.array(values, dtype=float)
    room = (np.empty(1 << 16, np.uint8), np.empty(len(numbers), np.uint8), np.empty(255))
    assert run_plain(code_small_integers)(numbers, *room) == -1
