"""Forests on what is large, small, rare or badly scaled, and forests that are asked for what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from interruption import printed_by
from treewright import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

WHOLE = {"n_estimators": 1, "bootstrap": False, "max_features": None, "min_samples_leaf": 1, "random_state": 0}


def numbers(n_rows: int, n_columns: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n_rows, n_columns)).round(1)


@pytest.mark.parametrize("criterion", ["gini", "information_gain"])
def test_the_first_split_of_badly_scaled_rows_gains_as_much_as_that_of_a_single_tree(criterion):
    random = np.random.default_rng(1)
    for _ in range(20):
        X = random.normal(size=(500, 4)).round(1)
        y = (X[:, 0] + random.normal(size=500) > 0).astype(int) + (X[:, 1] > 0.5)
        weights = np.exp(6.0 * random.normal(size=500))
        stump = {**WHOLE, "max_depth": 1}
        forest = RandomForestClassifier(criterion=criterion, **stump).fit(X, y, sample_weight=weights)
        single = DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(X, y, sample_weight=weights)
        assert forest.forest_[0].gain[0] == pytest.approx(single.tree_.gain[0], rel=1e-6)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("power", [-1060, -700, 700, 1000])
def test_the_unit_of_weights_does_not_matter(n_classes, power):
    X = numbers(300)
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.5, 1.5][: max(n_classes - 1, 1)])
    learner = RandomForestClassifier if n_classes else RandomForestRegressor
    weights = np.random.default_rng(2).integers(1, 5, 300).astype(np.float64)
    usual = learner(n_estimators=5, random_state=0).fit(X, y, sample_weight=weights)
    scaled = learner(n_estimators=5, random_state=0).fit(X, y, sample_weight=np.ldexp(weights, power))
    np.testing.assert_array_equal(usual.forest_.nodes, scaled.forest_.nodes)
    np.testing.assert_array_equal(usual.predict(X), scaled.predict(X))
    assert scaled.forest_[0].weight[0] == np.ldexp(usual.forest_[0].weight[0], power)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("power", [-900, -600, 500, 1000])
@pytest.mark.filterwarnings("error")
def test_the_unit_of_the_target_does_not_matter(learner, power):
    X = numbers(300)
    y = X[:, 0] + X[:, 1] ** 2
    usual = learner(n_estimators=50, random_state=0).fit(X, y)
    scaled = learner(n_estimators=50, random_state=0).fit(X, np.ldexp(y, power))
    np.testing.assert_array_equal(usual.forest_.nodes, scaled.forest_.nodes)
    np.testing.assert_array_equal(np.ldexp(usual.predict(X), power), scaled.predict(X))
    np.testing.assert_allclose(usual.feature_importances_, scaled.feature_importances_)


def test_weights_too_small_to_be_halved_do_no_harm():
    X, y = numbers(120), np.arange(120) % 3
    model = RandomForestClassifier(n_estimators=5, class_weight="balanced_subsample", random_state=0)
    weights = np.where(np.arange(120) % 2, 5e-324, 1e300)
    assert np.isfinite(model.fit(X, y, sample_weight=weights).predict_proba(X)).all()


def test_a_leaf_of_equal_targets_answers_just_that_beside_a_huge_one():
    X = np.arange(50.0)[:, None]
    y = X[:, 0] % 7 / 7
    y[20] = 1e12
    answered = ExtraTreesRegressor(**WHOLE).fit(X, y).predict(X)
    np.testing.assert_array_equal(answered, y)


@pytest.mark.parametrize("learner", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("turned", [1, -1])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_missing_values_that_training_did_not_have_go_to_the_heavier_side(learner, turned, n_classes):
    X = turned * np.arange(100.0)[:, None]
    y = np.where(np.arange(100) < 90, 0, 1 + np.arange(100) % (n_classes - 1))
    model = learner(**{**WHOLE, "max_depth": 1}).fit(X, y)
    tree = model.forest_[0]
    heavier = tree.first_child[0] + int(tree.weight[1] < tree.weight[2])
    expected = tree.distribution[heavier] / tree.weight[heavier]
    np.testing.assert_allclose(model.predict_proba([[np.nan]])[0], expected)


def test_a_value_that_a_single_row_of_many_has_can_be_asked_for():
    X = np.zeros((200_000, 1))
    X[7] = 1.0
    assert RandomForestRegressor(**WHOLE).fit(X, X[:, 0]).predict([[0.0], [1.0]]).tolist() == [0.0, 1.0]


def test_draws_beyond_what_a_word_can_count_are_summed_up_as_numbers(monkeypatch):
    from treewright.engines.forest import engine as forest_engine

    X, y = numbers(100), np.arange(100) % 2
    packed = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    monkeypatch.setattr(forest_engine, "MOST_PACKED", 99)
    apart = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert apart.forest_.leaf_weight.sum() == packed.forest_.leaf_weight.sum() == 500.0
    assert apart.score(X, y) > 0.8


def test_shares_of_two_weighed_classes_lie_between_nothing_and_all():
    X, y = numbers(300), np.arange(300) % 2
    weights = np.random.default_rng(2).random(300)
    shares = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y, sample_weight=weights).predict_proba(X)
    assert 0.0 <= shares.min() <= shares.max() <= 1.0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"monotonic_cst": 5}, "monotonic_cst is 5"),
        ({"monotonic_cst": "x0"}, "monotonic_cst is 'x0'"),
        ({"class_weight": np.array([1, 2])}, "class_weight is array"),
    ],
)
def test_what_cannot_be_is_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        RandomForestClassifier(n_estimators=2, **parameters).fit(numbers(50), np.arange(50) % 2)


def test_quantiles_are_wanted_or_not():
    with pytest.raises(ValueError, match="quantiles is 'x'"):
        RandomForestRegressor(n_estimators=2, quantiles="x").fit(numbers(50), np.arange(50))


def test_trees_that_are_added_have_the_shape_that_is_asked_for():
    X, y = numbers(200), np.arange(200) % 2
    model = RandomForestClassifier(n_estimators=3, warm_start=True, min_samples_leaf=1, random_state=0).fit(X, y)
    model.set_params(n_estimators=6, min_samples_leaf=20).fit(X, y)
    smallest = [tree.rows[tree.n_children == 0].min() for tree in model.forest_]
    assert max(smallest[:3]) < 20 <= min(smallest[3:])


@pytest.mark.parametrize(
    ("change", "n_trees"), [("classes", 3), ("classes", 6), ("columns", 3), ("columns", 6), ("criterion", 6)]
)
def test_trees_are_only_added_to_a_forest_of_the_same_kind(change, n_trees):
    X, y = numbers(60), np.arange(60) % 2
    model = RandomForestClassifier(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    before = model.predict(X)
    model.set_params(n_estimators=n_trees)
    if change == "criterion":
        model.set_params(criterion="information_gain")
    with pytest.raises(ValueError, match="warm_start adds trees to a forest of the same table"):
        model.fit(X[:, :2] if change == "columns" else X, np.array(["a", "b", "c"])[y] if change == "classes" else y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_another_criterion_is_no_matter_where_no_tree_is_added():
    X, y = numbers(60), np.arange(60) % 2
    model = RandomForestClassifier(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    shares = [tree.distribution.copy() for tree in model.forest_]
    model.set_params(criterion="information_gain").fit(X, y)
    assert len(model.forest_) == 3
    for tree, before in zip(model.forest_, shares, strict=True):
        np.testing.assert_array_equal(tree.distribution, before)


@pytest.mark.slow
def test_an_interrupt_does_not_wait_for_a_tree_that_is_not_grown_in_bytes():
    code = (
        "import os, numpy as np; from treewright import RandomForestClassifier\n"
        "from interruption import interrupt_when_told\n"
        "random = np.random.default_rng(0)\n"
        "X, y = random.normal(size=(60_000, 20)), random.integers(0, 2, 60_000)\n"
        "options = {'criterion': 'gain_ratio', 'max_features': None, 'min_samples_leaf': 1}\n"
        "model = RandomForestClassifier(n_estimators=10, **options).fit(X[:100], y[:100])\n"
        "first, screen = model.forest_, interrupt_when_told('growing trees: 0 of 10')\n"
        "try:\n"
        "    model.set_params(progress=True).fit(X, y); print('finished')\n"
        "except KeyboardInterrupt:\n"
        "    print(screen.getvalue().splitlines(), model.forest_ is first, flush=True)\n"
        "os._exit(0)\n"
    )
    assert printed_by(code) == ["['growing trees: 0 of 10'] True"]


@pytest.mark.parametrize(
    "learner", [RandomForestRegressor(3, missing="fractional"), GradientBoostingRegressor(n_estimators=3)]
)
def test_targets_whose_squares_are_too_large_are_refused(learner) -> None:
    # Sums of these targets are infinite, and the means of leaves were not a number.
    with pytest.raises(ValueError, match="whose squares are too large; divide y by a constant"):
        learner.fit(np.arange(40.0)[:, None], np.tile([1e308, -1e308], 20))
