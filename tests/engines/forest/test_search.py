"""The splits of a forest's trees, against a search through all splits of the rows that reach a node."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from treewright import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from treewright.tree.descent import descend_rows

CATEGORIES = np.array(["ash", "elm", "fir", "oak", "yew"])


def table(n_rows: int, seed: int, missing_share: float) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n_rows).round(1),
            "count": random.integers(0, 4, n_rows).astype(float),
            "kind": CATEGORIES[random.integers(0, 5, n_rows)],
        }
    )
    return frame.mask(random.random(frame.shape) < missing_share)


def impurity(target: np.ndarray, weights: np.ndarray, criterion: str) -> float:
    """Impurity times weight."""
    total = weights.sum()
    if criterion == "squared_error":
        return float((weights * (target - np.average(target, weights=weights)) ** 2).sum())
    shares = np.array([weights[target == label].sum() for label in np.unique(target)]) / total
    if criterion == "gini":
        return float(total * (1.0 - (shares**2).sum()))
    return float(-total * (shares * np.log2(shares)).sum())


def all_sides(values: np.ndarray, is_category: bool) -> list[np.ndarray]:
    """Every way to part rows by one column: which rows are on the first side."""
    missing = np.isnan(values)
    known = np.unique(values[~missing])
    sides = [~missing]
    if is_category:
        groups = [*known, *([np.nan] if missing.any() else [])]
        for size in range(1, len(groups)):
            for chosen in combinations(groups, size):
                sides.append(np.isin(values, chosen) | (missing & any(np.isnan(group) for group in chosen)))
        return sides
    for cut in known:
        sides += [values <= cut, (values <= cut) | missing]
    return sides


def best_gain(values: np.ndarray, target: np.ndarray, weights: np.ndarray, criterion: str, least: int) -> float:
    """The most that any split of these rows gains, per unit of weight."""
    whole = impurity(target, weights, criterion)
    best = -np.inf
    for place in range(values.shape[1]):
        for first in all_sides(values[:, place], place == 2):
            if least <= first.sum() <= len(first) - least:
                parts = [impurity(target[side], weights[side], criterion) for side in (first, ~first)]
                best = max(best, whole - sum(parts))
    return best / weights.sum()


def rows_at_nodes(tree, values: np.ndarray) -> list[np.ndarray]:
    """Which rows pass each node."""
    passed = [np.zeros(len(values), dtype=bool) for _ in range(tree.n_nodes)]
    for row, leaf in enumerate(descend_rows(tree, values).nodes):
        node = leaf
        while node >= 0:
            passed[node][row] = True
            node = tree.parent[node]
    return passed


def check_every_node(model, frame, target, weights, criterion, least=1, exhaustive=True):
    tree = model.forest_[0]
    values = model._read_rows(frame)
    for node, at_node in enumerate(rows_at_nodes(tree, values)):
        assert tree.rows[node] == at_node.sum()
        assert tree.weight[node] == pytest.approx(weights[at_node].sum())
        assert tree.impurity[node] * tree.weight[node] == pytest.approx(
            impurity(target[at_node], weights[at_node], criterion), abs=1e-9
        )
        if tree.n_children[node] == 0:
            continue
        best = best_gain(values[at_node], target[at_node], weights[at_node], criterion, least)
        if exhaustive:
            assert tree.gain[node] == pytest.approx(best, abs=1e-9)
        else:
            assert tree.gain[node] <= best + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("missing_share", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n_classes", "criterion"), [(2, "gini"), (3, "gini"), (2, "information_gain"), (0, "squared_error")]
)
@pytest.mark.parametrize("least", [1, 3])
def test_every_split_is_the_best_of_all(missing_share, weighted, n_classes, criterion, least):
    frame = table(120, seed=n_classes, missing_share=missing_share)
    random = np.random.default_rng(7)
    hidden = frame["size"].fillna(0.4).to_numpy() + (frame["kind"] == "elm") + random.normal(size=120)
    target = np.digitize(hidden, [0.3, 1.0][: n_classes - 1]) if n_classes else hidden.round(2)
    weights = random.uniform(0.5, 3.0, 120) if weighted else np.ones(120)
    learner = RandomForestClassifier if n_classes else RandomForestRegressor
    model = learner(
        n_estimators=1, bootstrap=False, max_features=None, criterion=criterion, min_samples_leaf=least, random_state=0
    ).fit(frame, target, sample_weight=weights)
    # Of several classes, or of entropy, groups of categories are only looked for along one class's share.
    by_class = n_classes > 2 or criterion == "information_gain"
    check_every_node(model, frame, target, weights, criterion, least, exhaustive=not by_class)


@pytest.mark.parametrize("criterion", ["gini", "information_gain"])
def test_every_split_of_numbers_is_the_best_for_many_classes(criterion):
    frame = table(150, seed=3, missing_share=0.2)[["size", "count"]]
    target = np.random.default_rng(1).integers(0, 5, 150)
    model = RandomForestClassifier(
        n_estimators=1, bootstrap=False, max_features=None, criterion=criterion, random_state=0
    ).fit(frame, target)
    check_every_node(model, frame, target, np.ones(150), criterion)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_drawn_split_parts_the_rows_and_gains_no_more_than_the_best(n_classes):
    frame = table(200, seed=5, missing_share=0.2)
    target = np.random.default_rng(2).integers(0, n_classes, 200)
    model = ExtraTreesClassifier(n_estimators=1, max_features=None, random_state=0).fit(frame, target)
    check_every_node(model, frame, target, np.ones(200), "gini", exhaustive=False)
    tree = model.forest_[0]
    inner = np.flatnonzero(tree.n_children)
    assert (tree.rows[tree.first_child[inner]] > 0).all()
    assert (tree.rows[tree.first_child[inner] + 1] > 0).all()


@pytest.mark.slow
def test_drawn_thresholds_are_spread_evenly_over_the_values():
    frame = pd.DataFrame({"x": np.linspace(0.0, 1.0, 201)})
    target = np.random.default_rng(0).integers(0, 2, 201)
    model = ExtraTreesClassifier(n_estimators=2000, max_depth=1, random_state=0).fit(frame, target)
    roots = np.array([tree.threshold[0] for tree in model.forest_])
    counts = np.histogram(roots, bins=10, range=(0.0, 1.0))[0]
    assert counts.min() > 140
    assert counts.max() < 260
