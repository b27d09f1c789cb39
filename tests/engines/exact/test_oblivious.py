"""Oblivious trees ask one question per level: the best one, as a search through all shows."""

from __future__ import annotations

import numpy as np
import pytest

from treewright.insight import measures
from treewright.table.column import Column, Kind
from treewright.tree import Target
from treewright.tree.descent import leaves_of
from treewright.tree.grow import grow

COLUMNS = (
    Column("x", Kind.NUMERIC),
    Column("z", Kind.NUMERIC),
    Column("c", Kind.CATEGORICAL, tuple("abcd")),
)


def table(seed, n_rows=60):
    random = np.random.default_rng(seed)
    values = np.column_stack(
        [random.integers(0, 8, n_rows), random.integers(0, 8, n_rows), random.integers(0, 4, n_rows)]
    ).astype(float)
    labels = (values[:, 0] + 2 * (values[:, 2] == 2) + random.standard_normal(n_rows) > 4).astype(np.uint16)
    return values, labels, random.uniform(0.5, 2.0, n_rows)


def questions_about(values, mode):
    """Every question: the rows it sends to the first side."""
    for column in (0, 1):
        for cut in np.unique(values[:, column])[:-1]:
            yield values[:, column] <= cut
    for category in range(4 if mode == "one_vs_rest" else 0):
        yield values[:, 2] == category


def leftover(nodes, labels, weights):
    """Gini impurity times weight, over all nodes."""
    total = 0.0
    for node in np.unique(nodes):
        here = nodes == node
        counts = [weights[here & (labels == k)].sum() for k in (0, 1)]
        total += sum(counts) * measures.gini(counts)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_each_level_asks_the_question_that_leaves_the_least_impurity(make_recipe, seed):
    values, labels, weights = table(seed)
    nodes = np.zeros(len(labels), dtype=int)
    for depth in range(1, 4):
        tree = grow(
            COLUMNS,
            values,
            Target("y", (0, 1)),
            oblivious=True,
            recipe=make_recipe("gini", "one_vs_rest", max_depth=depth),
            labels=labels,
            n_classes=2,
            weights=weights,
        )
        best = min(leftover(2 * nodes + first, labels, weights) for first in questions_about(values, "one_vs_rest"))
        nodes = leaves_of(tree, values)
        assert leftover(nodes, labels, weights) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("mode", ["subset", "one_vs_rest"])
def test_all_nodes_of_a_level_test_the_same_thing(make_recipe, mode):
    values, labels, weights = table(1, n_rows=300)
    values[::7, 0] = np.nan
    tree = grow(
        COLUMNS,
        values,
        Target("y", (0, 1)),
        oblivious=True,
        recipe=make_recipe("gini", mode, max_depth=4),
        labels=labels,
        n_classes=2,
        weights=weights,
    )
    assert tree.n_leaves == 2**tree.depth == 16
    for depth in range(tree.depth):
        asked = {node.tests for node in tree if node.depth == depth}
        assert len(asked) == 1
    leaves = leaves_of(tree, values)
    is_leaf = tree.kind == 0
    assert np.array_equal(np.bincount(leaves, minlength=tree.n_nodes)[is_leaf], tree.rows[is_leaf])


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_one_level_is_the_stump_of_the_ordinary_tree(make_recipe, criterion):
    values, _, weights = table(2, n_rows=200)
    numbers = values[:, 0] + (values[:, 2] == 1) + 1.0
    options = {
        "recipe": make_recipe(criterion, "subset", max_depth=1),
        "numbers": numbers,
        "weights": weights,
    }
    one = grow(COLUMNS, values, Target("y"), **options)
    other = grow(COLUMNS, values, Target("y"), oblivious=True, **options)
    assert one.column[0] == other.column[0]
    assert one.threshold[0] == other.threshold[0]
    assert one.gain[0] == pytest.approx(other.gain[0], rel=1e-9)


def test_oblivious_trees_are_the_same_in_both_forms_of_the_kernels(make_recipe, monkeypatch):
    values, labels, weights = table(3, n_rows=200)
    trees = []
    for form in ("plain", "compiled"):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        trees.append(
            grow(
                COLUMNS,
                values,
                Target("y", (0, 1)),
                oblivious=True,
                recipe=make_recipe("information_gain", max_depth=5),
                labels=labels,
                n_classes=2,
                weights=weights,
            )
        )
    assert trees[0].to_dict() == trees[1].to_dict()
