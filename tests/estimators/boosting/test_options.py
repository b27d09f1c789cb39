"""What shapes the trees of gradient boosting, and how its rounds are validated."""

from __future__ import annotations

import pickle
import re
import signal
import warnings
from functools import partial
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as scikit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError

from interruption import interrupts_not_ignored
from sample_tables import answers, mixed_table, target_of
from treewright import GradientBoostingClassifier, GradientBoostingRegressor, show
from treewright.encoding.bins import code_rows, place_bins
from treewright.engines.boosting import engine as boost_engine
from treewright.engines.boosting.engine import Booster, BoostRecipe
from treewright.engines.packed import predict as packed_predict
from treewright.engines.packed.walk import BYTE_MASK, COLUMN_MASK, COLUMN_SHIFT, CUT_SHIFT, MOVED_UP
from treewright.estimators.boosting.options import read_interaction_cst
from treewright.estimators.boosting.rounds import leaves_in
from treewright.estimators.boosting.rows import Rows
from treewright.estimators.boosting.sampling import draw_by_gradient
from treewright.estimators.boosting.validation_splits import validation_splits
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.interrupts import defer_interrupts
from treewright.table.column import Column, Kind

BOTH = (GradientBoostingClassifier, GradientBoostingRegressor)
GROWTHS = ("best", "level", "oblivious")


def paths_of(tree: Any) -> list[set[int]]:
    """The columns asked for on the way to each leaf."""
    found = []

    def visit(node: int, seen: set[int]) -> None:
        if tree.n_children[node] == 0:
            found.append(seen)
        for child in range(tree.first_child[node], tree.first_child[node] + tree.n_children[node]):
            visit(child, seen | {int(tree.column[node])})

    visit(0, set())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("learner", BOTH)
@pytest.mark.parametrize("growth", GROWTHS)
def test_every_growth_learns_and_is_the_same_for_any_number_of_threads(learner, growth, monkeypatch):
    monkeypatch.setattr(boost_engine, "MIN_CODES_FOR_THREADS", 0)
    table = mixed_table(9000, with_wet=False)
    y = target_of(learner, table)
    parameters = {
        "n_estimators": 12,
        "growth": growth,
        "colsample_bylevel": 0.9,
        "max_features": 0.9,
        "random_state": 1,
    }
    models = [learner(**parameters, n_jobs=n_jobs).fit(table[0], y) for n_jobs in (1, 2, 3)]
    assert models[0].score(table[0], y) > 0.6
    for model in models[1:]:
        np.testing.assert_array_equal(answers(model, table[0]), answers(models[0], table[0]))


def plain_best_split(g: np.ndarray, h: np.ndarray, X: np.ndarray, l2_regularization: float) -> tuple[float, int, float]:
    """Gain, column and threshold of the best split, by trying all."""
    best = (-np.inf, -1, 0.0)
    for column in range(X.shape[1]):
        for threshold in np.unique(X[:, column])[:-1]:
            left = X[:, column] <= threshold
            parts = [g[side].sum() ** 2 / (h[side].sum() + l2_regularization) for side in (left, ~left)]
            if sum(parts) > best[0] + 1e-9:
                best = (sum(parts), column, float(threshold))
    return best


def grow_one(X: np.ndarray, g: np.ndarray, h: np.ndarray, recipe: BoostRecipe, n_threads: int = 1) -> Any:
    columns = tuple(Column(f"x{place}", Kind.NUMERIC) for place in range(X.shape[1]))
    bins = place_bins(columns, X, 255, 1)
    run = choose_compiled_form()
    booster = Booster(run, code_rows(run, bins, X, 1, by_column=True), bins, recipe=recipe, n_threads=n_threads)
    (tree,) = booster.grow(g[None], h[None], recipe, seeds=np.array([1], np.uint64))
    booster.close()
    return tree, booster


@pytest.mark.parametrize("seed", range(5))
def test_the_first_split_is_the_best_of_all(seed):
    random = np.random.default_rng(seed)
    X = random.integers(0, 12, (200, 4)).astype(float)
    g, h = random.normal(size=200), random.uniform(0.1, 2.0, 200)
    recipe = BoostRecipe(
        max_leaf_nodes=2, min_samples_leaf=1, min_child_weight=0.0, l2_regularization=0.7, learning_rate=1.0
    )
    tree, _ = grow_one(X, g, h, recipe)
    gain, column, threshold = plain_best_split(g, h, X, 0.7)
    left = X[:, column] <= threshold
    expected = sorted(-g[side].sum() / (h[side].sum() + 0.7) for side in (left, ~left))
    np.testing.assert_allclose(sorted(tree.leaf_value), expected, rtol=1e-12)
    alone = g.sum() ** 2 / (h.sum() + 0.7)
    assert tree.gains.sum() == pytest.approx(0.5 * (gain - alone), rel=1e-3)


@pytest.mark.parametrize("leaves", [7, 40])
def test_trees_are_the_same_where_not_all_tallies_can_be_kept(leaves, monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 5))
    g, h = np.sin(3.0 * X[:, 0]) * X[:, 1] + random.normal(size=3000), random.uniform(0.5, 1.0, 3000)
    recipe = BoostRecipe(max_leaf_nodes=leaves, min_samples_leaf=5)
    whole, _ = grow_one(X, g, h, recipe)
    monkeypatch.setattr(boost_engine, "MOST_POOL_BYTES", 8 * 5 * 256 * 4)
    scarce, booster = grow_one(X, g, h, recipe)
    assert len(booster.shared.pool) < leaves
    np.testing.assert_array_equal(scarce.nodes, whole.nodes)
    np.testing.assert_array_equal(scarce.leaf_value, whole.leaf_value)


@pytest.mark.parametrize("n_columns", [3, pytest.param(8, marks=pytest.mark.slow), 13])
@pytest.mark.parametrize("growth", ["best", "oblivious"])
@pytest.mark.parametrize("share", [pytest.param(1.0, marks=pytest.mark.slow), 0.6])
def test_trees_that_are_opened_together_are_those_opened_one_by_one(n_columns, growth, share, monkeypatch):
    random = np.random.default_rng(0)
    n_rows = 20_000
    X = random.normal(size=(n_rows, n_columns))
    gradients = np.stack([np.sin(k * X[:, 0]) + X[:, k % 3] for k in range(1, 6)])
    hessians = random.uniform(0.5, 1.0, gradients.shape)
    rows = None if share == 1.0 else np.flatnonzero(random.random(n_rows) < share).astype(np.uint32)
    recipe = BoostRecipe(max_leaf_nodes=12, max_depth=4, growth=growth)
    columns = tuple(Column(f"x{place}", Kind.NUMERIC) for place in range(n_columns))
    bins, run = place_bins(columns, X, 255, 1), choose_compiled_form()
    codes = code_rows(run, bins, X, 1, by_column=True)

    monkeypatch.setattr(boost_engine, "MIN_CODES_FOR_THREADS", 0)

    def grow(n_threads: int, at_once: int) -> list[Any]:
        monkeypatch.setattr(Booster, "outputs_open", lambda self, n_outputs: at_once)
        booster = Booster(run, codes, bins, recipe=recipe, n_outputs=5, n_threads=n_threads)
        assert (booster.n_threads, booster.outputs_at_once) == (n_threads, at_once)
        parts = booster.grow(gradients, hessians, recipe, seeds=np.arange(5, dtype=np.uint64), rows=rows)
        booster.close()
        return parts

    together = grow(1, 5)
    for n_threads, at_once in ((1, 1), (1, 2), (2, 5), (2, 2), (2, 1)):
        for one, other in zip(together, grow(n_threads, at_once), strict=True):
            np.testing.assert_array_equal(one.nodes, other.nodes)
            np.testing.assert_array_equal(one.leaf_value, other.leaf_value)
    # All first splits against a search through all cuts.
    drawn = slice(None) if rows is None else rows
    for part, g, h in zip(together, gradients[:, drawn], hessians[:, drawn], strict=True):
        gains = np.array([gains_of_cuts(line, g, h, recipe.l2_regularization) for line in codes[:, drawn]])
        column = int((part.nodes[0] >> COLUMN_SHIFT) & COLUMN_MASK)
        cut = int((part.nodes[0] >> CUT_SHIFT) & BYTE_MASK) - int(part.nodes[0] & MOVED_UP)
        assert gains[column, cut] == pytest.approx(gains.max(), rel=1e-4)


def gains_of_cuts(codes: np.ndarray, g: np.ndarray, h: np.ndarray, l2_regularization: float) -> np.ndarray:
    """What the two sides of each cut of a column are worth."""
    left_g, left_h = (np.cumsum(np.bincount(codes, values, 256)) for values in (g, h))
    right_g, right_h = g.sum() - left_g, h.sum() - left_h
    return left_g**2 / (left_h + l2_regularization) + right_g**2 / (np.maximum(right_h, 0.0) + l2_regularization)


def test_every_leaf_has_as_many_rows_as_asked_for():
    random = np.random.default_rng(0)
    X = random.normal(size=(50_000, 6))
    g, h = X[:, 0] * X[:, 1] + random.normal(size=50_000), random.lognormal(0.0, 2.0, 50_000)
    tree, booster = grow_one(X, g, h, BoostRecipe(max_leaf_nodes=200, min_samples_leaf=60))
    assert tree.leaf_rows.min() >= 60
    assert tree.leaf_rows.sum() == 50_000
    leaves = leaves_in(tree, booster.codes_by_row)
    for leaf, value in enumerate(tree.leaf_value):
        rows = leaves == leaf
        assert rows.sum() == tree.leaf_rows[leaf]
        assert value == pytest.approx(-0.1 * g[rows].sum() / (h[rows].sum() + 1.0), rel=1e-9)


def test_level_by_level_trees_finish_a_level_before_the_next():
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=3, growth="level", max_leaf_nodes=8, min_samples_leaf=5).fit(X, y)
    for tree in model.forests_[0]:
        assert len(paths_of(tree)) == 8
        assert tree.depth == 3


def test_all_nodes_of_a_level_of_an_oblivious_tree_ask_the_same():
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=5, growth="oblivious", max_depth=4, min_samples_leaf=1)
    for tree in model.fit(X, y).forests_[0]:
        tests = {
            (int(column), float(cut)) for column, cut in zip(tree.column, tree.threshold, strict=True) if column >= 0
        }
        assert 1 <= len(tests) <= 4
        assert tree.depth <= 4


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("learner", BOTH)
def test_columns_meet_only_where_they_may(learner, growth):
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 6))
    hidden = X[:, 0] * X[:, 3] + X[:, 1] * X[:, 4] + X[:, 2] * X[:, 5]
    y = np.digitize(hidden, [-0.5, 0.5]) if "Classifier" in learner.__name__ else hidden
    groups = [{0, 1}, {1, 2, 3}, {4}]
    model = learner(n_estimators=15, growth=growth, interaction_cst=[list(group) for group in groups]).fit(X, y)
    longest = 0
    for forest in model.forests_:
        for tree in forest:
            for path in paths_of(tree):
                assert any(path <= group for group in [*groups, {5}])
                longest = max(longest, len(path))
    assert longest > 1


def test_interactions_are_read_by_name_and_place():
    columns = tuple(Column(name, Kind.NUMERIC) for name in ("a", "b", "c"))
    found = read_interaction_cst([["a", 1]], columns)
    assert found is not None
    np.testing.assert_array_equal(found, [[True, True, False], [False, False, True]])
    np.testing.assert_array_equal(read_interaction_cst("no_interactions", columns), np.eye(3, dtype=bool))
    pairs = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=bool)
    np.testing.assert_array_equal(read_interaction_cst("pairwise", columns), pairs)
    with pytest.raises(ValueError, match="names the column 'd'"):
        read_interaction_cst([["a", "d"]], columns)


@pytest.mark.parametrize("wrong", [[0, 1], [{0, 9}], [{-1, 0}], [{0.5}]])
def test_interactions_that_make_no_sense_are_refused_in_the_words_of_scikit_learn(wrong):
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50.0)
    with pytest.raises(ValueError, match=r"Interaction constraints must \w+") as theirs:
        HistGradientBoostingRegressor(interaction_cst=wrong).fit(X, y)
    with pytest.raises(ValueError, match="interaction_cst") as ours:
        GradientBoostingRegressor(n_estimators=2, interaction_cst=wrong).fit(X, y)
    words = re.split(r", got|, or feature|features, or|, specifying", str(theirs.value))[0]
    assert len(words) > 50
    assert words in str(ours.value)


def test_categories_in_a_monotonic_constraint_are_refused_in_the_words_of_scikit_learn():
    X, y = np.random.default_rng(0).integers(3, size=(50, 2)), np.arange(50.0)
    wrong = {"categorical_features": [0], "monotonic_cst": [1, 0]}
    with pytest.raises(ValueError, match="monotonic") as theirs:
        HistGradientBoostingRegressor(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="names the column 'x0'; leave it out") as ours:
        GradientBoostingRegressor(n_estimators=2, **wrong).fit(X, y)
    assert str(theirs.value).rstrip(".") in str(ours.value)


@pytest.mark.parametrize("learner", BOTH)
def test_sampling_by_gradient_learns_about_as_well(learner):
    table, new = mixed_table(6000), mixed_table(3000, seed=9)
    y, y_new = target_of(learner, table), target_of(learner, new)
    all_rows = learner(n_estimators=60, random_state=0).fit(table[0], y)
    some = learner(n_estimators=60, goss=True, random_state=0).fit(table[0], y)
    assert some.score(new[0], y_new) > all_rows.score(new[0], y_new) - 0.03
    drawn = [forest.leaf_rows[forest.leaf_start[-2] :].sum() for forest in some.forests_]
    assert all(count == 1800 for count in drawn)


@pytest.mark.parametrize("learner", BOTH)
def test_given_rows_stop_boosting_at_their_least_loss(learner):
    table, new = mixed_table(800), mixed_table(800, seed=5)
    y, y_new = target_of(learner, table), target_of(learner, new)
    model = learner(n_estimators=500, learning_rate=0.2, n_iter_no_change=10, random_state=0)
    model.fit(table[0], y, X_val=new[0], y_val=y_new)
    best = int(np.argmin(model.validation_loss_)) + 1
    assert model.n_estimators_ == best < len(model.validation_loss_) == best + 10
    shares = list(model.staged_predict(new[0]))
    assert len(shares) == best
    if learner is GradientBoostingRegressor:
        losses = [0.5 * np.mean((stage - y_new) ** 2) for stage in shares]
        np.testing.assert_allclose(losses, model.validation_loss_[:best], rtol=1e-9)


def test_a_validation_fraction_chooses_the_rounds_and_all_rows_are_learned_from():
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=300, validation_fraction=0.25, subsample=1.0, random_state=0).fit(
        X, y
    )
    assert model.n_estimators_ == int(np.argmin(model.validation_loss_)) + 1 < 300
    assert model.forests_[0].leaf_rows[: model.forests_[0].leaf_start[1]].sum() == len(y)


def test_validation_rows_come_from_all_of_the_target():
    plan = type("Plan", (), {"seed": 3})
    rows = Rows(np.zeros((1, 100), np.uint8), np.repeat([0.0, 1.0], [90, 10]), np.ones(100))
    for kept, held_out in validation_splits(plan, rows, None):
        assert rows.targets[held_out].sum() == 2.0
        assert sorted([*kept, *held_out]) == list(range(100))


@pytest.mark.parametrize("learner", BOTH)
def test_scores_to_begin_with_are_boosted_on_from(learner):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    hidden = 2.0 * X[:, 0] + X[:, 1]
    y = (hidden > 0.0).astype(int) if "Classifier" in learner.__name__ else hidden
    first = learner(n_estimators=20, random_state=0).fit(X, y)
    classifies = hasattr(first, "decision_function")
    score = first.decision_function(X) if classifies else first.predict(X)
    second = learner(n_estimators=20, random_state=0).fit(X, y, init_score=score)
    assert (second.initial_ == 0.0).all()
    more = second.decision_function(X) if classifies else second.predict(X)
    whole = learner(n_estimators=40, random_state=0).fit(X, y)
    expected = whole.decision_function(X) if classifies else whole.predict(X)
    np.testing.assert_allclose(score + more, expected, atol=0.3 * np.abs(expected).max())
    assert np.corrcoef(score + more, expected)[0, 1] > 0.99
    with pytest.raises(ValueError, match="one number per row"):
        learner(n_estimators=2).fit(X, y, init_score=[1.0])


def test_several_targets_are_each_learned_as_if_alone():
    X, y = scikit.load_diabetes(return_X_y=True)
    targets = np.column_stack([y, -2.0 * y, X[:, 2]])
    model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, targets)
    assert model.predict(X).shape == targets.shape
    assert model.score(X, targets) > 0.5
    for k in range(3):
        alone = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, targets[:, k])
        assert np.corrcoef(alone.predict(X), model.predict(X)[:, k])[0, 1] > 0.999
    auto = GradientBoostingRegressor(random_state=0).fit(X[:100], targets[:100])
    assert len(auto.forests_) == 3
    assert len(list(auto.staged_predict(X))) == auto.n_estimators_


def test_a_loss_of_ones_own_is_compiled():
    def fair(prediction: float, target: float) -> tuple[float, float]:
        error = prediction - target
        if abs(error) < 1e-3:  # a branch that works for one row only
            return error, 1.0
        return 20.0 * error / (abs(error) + 20.0), 400.0 / (abs(error) + 20.0) ** 2

    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(loss=fair, n_estimators=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.score(X, y) > 0.5
    assert clone(model).loss is fair


def logistic_loss(score: float, target: float) -> tuple[float, float]:
    share = 1.0 / (1.0 + np.exp(-score))
    return share - target, share * (1.0 - share)


def test_a_loss_of_ones_own_for_two_classes():
    X, y = scikit.load_breast_cancer(return_X_y=True)
    own = GradientBoostingClassifier(loss=logistic_loss, n_estimators=30, random_state=0).fit(X, y)
    assert own.score(X, y) > 0.97
    copy = pickle.loads(pickle.dumps(own))
    np.testing.assert_array_equal(copy.predict_proba(X), own.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"growth": "sideways"}, "growth is 'sideways'"),
        ({"goss": 0.3}, "goss is 0.3"),
        ({"goss": (0.9, 0.3)}, "add up to 1 at most"),
        ({"goss": True, "subsample": 0.5}, "both draw rows"),
        ({"colsample_bytree": 1.5}, "colsample_bytree is 1.5"),
        ({"colsample_bylevel": "auto"}, "colsample_bylevel is 'auto'"),
        ({"max_features": 0.0}, "max_features is 0.0"),
        ({"interaction_cst": "all"}, "interaction_cst is 'all'"),
        ({"validation_fraction": 1.0}, "validation_fraction is 1.0"),
        ({"n_iter_no_change": 0}, "n_iter_no_change is 0"),
        ({"growth": "oblivious", "max_depth": 40}, "16 at most"),
    ],
    ids=str,
)
def test_mistakes_are_named(parameters, words):
    with pytest.raises(ValueError, match=words) as caught:
        GradientBoostingRegressor(**parameters).fit({"x": list(range(40))}, [1.0, 2.0] * 20)
    assert "\n" not in str(caught.value)


def test_a_strange_class_among_the_given_rows_is_named():
    model = GradientBoostingClassifier(n_estimators=2)
    with pytest.raises(ValueError, match="the class 'c'"):
        model.fit({"x": [1, 2, 3, 4]}, ["a", "b", "a", "b"], X_val={"x": [1]}, y_val=["c"])


@pytest.mark.parametrize("leaves", [2, 31, 64])
def test_small_trees_answer_alike_with_and_without_walking(leaves, monkeypatch):
    table = mixed_table(3000)
    model = GradientBoostingClassifier(n_estimators=20, max_leaf_nodes=leaves, min_samples_leaf=1, random_state=0)
    model.fit(table[0], table[1])
    strange = mixed_table(2000, seed=3, missing_share=0.5)[0]
    strange.loc[:50, "kind"] = "nobody has seen this"
    by_masks = model.predict_proba(strange)
    monkeypatch.setattr(packed_predict, "MIN_ROWS_FOR_MASKS", 1 << 40)
    np.testing.assert_array_equal(model.predict_proba(strange), by_masks)


@pytest.mark.parametrize("form", ["C", "F", "float32", "reversed"])
def test_a_matrix_is_learned_alike_however_it_lies_in_memory(form):
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 5)).astype(np.float32).astype(np.float64)
    y = X[:, 0] * X[:, 1] + random.normal(size=4000)
    forms = {"C": X, "F": np.asfortranarray(X), "float32": X.astype(np.float32), "reversed": X[:, ::-1][:, ::-1]}
    expected = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(np.asfortranarray(X), y).predict(X)
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(forms[form], y)
    np.testing.assert_array_equal(model.predict(forms[form]), expected)


def test_scores_to_begin_with_follow_the_order_of_the_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    for declared, edges in ((["b", "a"], [0.0]), (["c", "a", "b"], [-0.5, 0.5])):
        y = np.array(sorted(declared))[np.digitize(X[:, 0], edges)]
        target = pd.Categorical(y, categories=declared)
        first = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(X, target)
        scores = first.decision_function(X)
        more = GradientBoostingClassifier(n_estimators=1, random_state=0).fit(X, target, init_score=scores)
        assert np.abs(more.decision_function(X)).mean() < 0.1


def test_scores_to_begin_with_are_needed_for_the_rows_to_judge_by():
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=50, random_state=0)
    start = np.full(len(y), 150.0)
    with pytest.raises(ValueError, match="init_score"):
        model.fit(X, y, init_score=start, X_val=X, y_val=y)
    model.fit(X, y, init_score=start, X_val=X, y_val=y, init_score_val=start)
    assert (np.diff(model.validation_loss_) < 0.0).all()


@pytest.mark.parametrize("loss", ["huber", "quantile", "poisson"])
def test_rounds_are_added_with_any_loss(loss):
    X, y = scikit.load_diabetes(return_X_y=True)
    whole = GradientBoostingRegressor(loss=loss, n_estimators=9, random_state=0).fit(X, 50.0 * y)
    grown = GradientBoostingRegressor(loss=loss, n_estimators=4, random_state=0, warm_start=True).fit(X, 50.0 * y)
    grown.set_params(n_estimators=9).fit(X, 50.0 * y)
    np.testing.assert_allclose(grown.predict(X), whole.predict(X), rtol=1e-6)


def test_rounds_are_added_in_the_shape_that_was_chosen():
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(warm_start=True, random_state=0).fit(X, y)
    first, shape = model.n_estimators_, model.shape_
    model.set_params(n_estimators=first + 5).fit(X, y)
    assert model.n_estimators_ == first + 5
    assert model.shape_ == shape
    assert model.learning_rate_ == 0.05


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("options", [{"l1_regularization": 3.0}, {"loss": "huber"}, {"subsample": 0.6}], ids=str)
def test_a_monotone_column_stays_so_in_every_growth(growth, options):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    y = X[:, 0] + np.sin(3.0 * X[:, 1]) + random.normal(size=600)
    model = GradientBoostingRegressor(
        n_estimators=30, growth=growth, monotonic_cst=[1, 0, 0], random_state=0, **options
    )
    model.fit(X, y)
    grid = np.sort(random.normal(size=60))
    for _ in range(10):
        probe = np.column_stack([grid, *(np.full(60, number) for number in random.normal(size=2))])
        assert (np.diff(model.predict(probe)) >= -1e-9).all()


@pytest.mark.parametrize(
    ("name", "options"),
    [("exponential", {"class_weight": "balanced"}), ("log_loss", {"class_weight": {0: 5.0, 1: 1.0}})],
)
def test_class_weights_move_the_answers(name, options):
    X, y = scikit.load_breast_cancer(return_X_y=True)
    X, y = X[:, :2], y
    plain = GradientBoostingClassifier(loss=name, n_estimators=30, random_state=0).fit(X, y)
    weighed = GradientBoostingClassifier(loss=name, n_estimators=30, random_state=0, **options).fit(X, y)
    assert (weighed.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"min_split_gain": 1e9}, 1), ({"min_child_weight": 1e9}, 1), ({"l1_regularization": 1e9}, 1)],
    ids=str,
)
def test_limits_keep_trees_small(limits, words):
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=2, **limits).fit(X, y)
    assert np.diff(model.forests_[0].leaf_start).max() == words


@pytest.mark.parametrize(
    ("own", "built_in"),
    [
        (lambda prediction, target: (prediction - target, 1.0), "squared_error"),
        (lambda prediction, target: (1.0 if prediction > target else -1.0, 1.0), "absolute_error"),
    ],
    ids=["squared", "absolute"],
)
def test_a_loss_of_ones_own_is_judged_by_how_it_falls(own, built_in):
    X, y = scikit.load_diabetes(return_X_y=True)
    shape = {"n_estimators": 60, "learning_rate": 1.0 if built_in == "absolute_error" else 0.1, "random_state": 0}
    mine = GradientBoostingRegressor(loss=own, **shape).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    start = np.full(142, mine.initial_[0])
    sizes = {"squared_error": lambda error: 0.5 * error**2, "absolute_error": np.abs}
    first = sizes[built_in](start - y[300:]).mean()
    stages = [sizes[built_in](stage - y[300:]).mean() - first for stage in mine.staged_predict(X[300:])]
    np.testing.assert_allclose(mine.validation_loss_[: len(stages)], stages, rtol=0.1, atol=0.1)
    assert mine.n_estimators_ > 5


def test_a_loss_with_a_negative_hessian_is_refused():
    with pytest.raises(ValueError, match="hessian that is negative"):
        GradientBoostingRegressor(loss=lambda prediction, target: (prediction - target, -1.0), n_estimators=3).fit(
            {"x": list(range(40))}, np.arange(40.0)
        )


def test_rounds_of_another_loss_are_not_added():
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=2, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="of the same loss"):
        model.set_params(n_estimators=4, loss="poisson").fit(X, y)


def test_what_is_wrong_is_reported_before_work_begins():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0)
    with pytest.raises(NotFittedError):
        GradientBoostingRegressor().staged_predict(X)
    with pytest.raises(ValueError, match="one of them only"):
        GradientBoostingRegressor(n_estimators=2, validation_fraction=0.2).fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match=r"^the validation set: X lacks columns"):
        GradientBoostingRegressor(n_estimators=2).fit({"a": y}, y, X_val={"b": y}, y_val=y)
    text = {"a": ["x", "y"] * 30}
    model = GradientBoostingRegressor(n_estimators=2, unseen="error").fit(text, y)
    with pytest.raises(ValueError, match=r"choose unseen='as_missing'$"):
        model.predict({"a": ["z"]})
    with pytest.raises(TypeError, match=r"show\(model.forests_\[0\]\[0\]\)"):
        show(model)


def test_monotone_columns_may_be_named_by_position():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0] + np.random.default_rng(1).normal(size=300)
    common = GradientBoostingRegressor(n_estimators=9, random_state=0)
    models = [clone(common).set_params(monotonic_cst=asked).fit(X, y) for asked in ({0: 1}, [1, 0])]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    with pytest.raises(ValueError, match="names the column 2, which is not in the table"):
        GradientBoostingRegressor(monotonic_cst={2: 1}).fit(X, y)


def test_rounds_added_later_stay_only_if_they_help_the_validation_set():
    X, y = scikit.load_diabetes(return_X_y=True)
    plain = {"growth": "best", "subsample": 1.0, "max_features": 1.0, "min_samples_leaf": 3}
    model = GradientBoostingRegressor(n_estimators=300, warm_start=True, n_iter_no_change=10, random_state=0, **plain)
    held = {"X_val": X[300:], "y_val": y[300:]}
    best = model.fit(X[:300], y[:300], **held).n_estimators_
    answers_at_best = model.predict(held["X_val"])
    for n_rounds in (400, 500):
        model.set_params(n_estimators=n_rounds).fit(X[:300], y[:300], **held)
        assert model.n_estimators_ == best == model.validation_loss_.argmin() + 1
        np.testing.assert_array_equal(model.predict(held["X_val"]), answers_at_best)


@pytest.mark.parametrize("changed", [{"monotonic_cst": {2: 1}}, {"interaction_cst": "no_interactions"}], ids=str)
def test_rounds_are_not_added_under_other_constraints(changed):
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=3, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst or interaction_cst are not those of the model"):
        model.set_params(n_estimators=5, **changed).fit(X, y)


class Half:
    """Losses that are no plain functions."""

    def __call__(self, prediction, target):
        return prediction - target, np.ones_like(prediction)

    def loss(self, prediction, target):
        return self(prediction, target)


def with_import(prediction, target):
    import math

    return prediction - target, math.pi * 0.0 + np.ones_like(prediction)


def by_strings(prediction, target):
    return np.array([str(number) for number in prediction - target]).astype(float), np.ones(len(target))


@pytest.mark.parametrize(
    "loss",
    [Half(), Half().loss, partial(Half().loss), with_import, by_strings],
    ids=["object", "method", "partial", "with an import", "by strings"],
)
def test_a_loss_that_cannot_be_compiled_is_called_with_columns(loss):
    X, y = scikit.load_diabetes(return_X_y=True)
    common = GradientBoostingRegressor(n_estimators=5, random_state=0)
    with pytest.warns(UserWarning, match="called as plain Python"):
        own = clone(common).set_params(loss=loss).fit(X, y)
    np.testing.assert_array_equal(own.predict(X), clone(common).fit(X, y).predict(X))


def test_a_loss_that_is_compiled_already_is_taken_as_it_is():
    X, y = scikit.load_diabetes(return_X_y=True)
    loss = numba.njit(lambda prediction, target: (prediction - target, 1.0))
    common = GradientBoostingRegressor(n_estimators=5, random_state=0)
    own = common.set_params(loss=loss).fit(X, y).predict(X)
    np.testing.assert_array_equal(own, common.set_params(loss="squared_error").fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (lambda prediction: (prediction, 1.0), "raises TypeError"),
        (lambda prediction, target: [prediction if prediction > target else {}, 1.0], "ambiguous"),
    ],
)
def test_a_loss_that_fails_is_reported_in_a_sentence(loss, words):
    with pytest.raises(ValueError, match=words) as caught:
        GradientBoostingRegressor(loss=loss, n_estimators=2).fit({"x": list(range(40))}, np.arange(40.0))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("loss", "y", "held", "words"),
    [
        ("poisson", np.arange(40.0), -np.arange(40.0), "the validation set: loss='poisson' requires non-negative y"),
        (
            "gamma",
            np.arange(40.0) + 1.0,
            np.arange(40.0),
            "loss='gamma' requires strictly positive y",
        ),
        ("poisson", np.zeros(40), None, "but all are 0"),
        ("squared_error", np.arange(40.0), np.full(40, np.nan), "the validation set: .* missing values"),
    ],
)
def test_targets_that_a_loss_is_not_defined_for_are_refused(loss, y, held, words):
    X = {"x": list(range(40))}
    validation = {} if held is None else {"X_val": X, "y_val": held}
    with pytest.raises(ValueError, match=words):
        GradientBoostingRegressor(loss=loss, n_estimators=2).fit(X, y, **validation)


def test_the_history_of_the_absolute_loss_is_the_absolute_error():
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(loss="absolute_error", n_estimators=9).fit(X, y, X_val=X, y_val=y)
    error = np.abs(model.predict(X) - y).mean()
    assert model.validation_loss_[model.n_estimators_ - 1] == pytest.approx(error, rel=1e-12)


def test_as_many_trees_are_opened_together_as_there_is_room_for():
    X = np.random.default_rng(0).normal(size=(500, 3))
    _, booster = grow_one(X, X[:, 0], np.ones(500), BoostRecipe(max_leaf_nodes=2))
    bytes_of_one = 8 * 500 + 8 * 256 * 8
    assert booster.outputs_open(7) == 7
    assert booster.outputs_open(10**6) == boost_engine.MOST_OPEN_BYTES // bytes_of_one


def test_columns_left_out_of_one_tree_are_whole_in_the_next():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 6))
    g, h = (X[:, 0] + X[:, 5] + random.normal(size=2000))[None], random.uniform(0.5, 1.0, (1, 2000))
    recipe, seeds = BoostRecipe(max_leaf_nodes=8), np.array([1], np.uint64)
    fresh, _ = grow_one(X, g[0], h[0], recipe)
    _, booster = grow_one(X, g[0], h[0], recipe)
    booster.grow(g, h, recipe, seeds=seeds, allowed=np.array([False, True, True, True, True, False]))
    (again,) = booster.grow(g, h, recipe, seeds=seeds)
    np.testing.assert_array_equal(again.nodes, fresh.nodes)
    np.testing.assert_array_equal(again.leaf_value, fresh.leaf_value)


def test_large_trees_are_the_same_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(boost_engine, "MIN_CODES_FOR_THREADS", 0)
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 5))
    g, h = np.sin(3.0 * X[:, 0]) * X[:, 1] + random.normal(size=20_000), random.lognormal(0.0, 2.0, 20_000)
    trees = [grow_one(X, g, h, BoostRecipe(max_leaf_nodes=90), n_threads)[0] for n_threads in (1, 2, 3)]
    assert len(trees[0].leaf_value) > 64
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.nodes, trees[0].nodes)
        np.testing.assert_array_equal(tree.leaf_value, trees[0].leaf_value)


def of_all_rows(prediction, target):
    """A loss that looks at all rows, and so must be given all of them."""
    error = prediction - target
    width = 1.5 * float(np.median(np.abs(error)))
    return np.clip(error, -width, width), np.ones(len(error)) if len(error) else {}


def test_a_loss_of_ones_own_sees_all_rows_with_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(boost_engine, "MIN_CODES_FOR_THREADS", 0)
    X, y = scikit.load_diabetes(return_X_y=True)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    with pytest.warns(UserWarning, match="called as plain Python"):
        models = [
            GradientBoostingRegressor(loss=of_all_rows, n_estimators=4, random_state=0, n_jobs=n_jobs).fit(X, y)
            for n_jobs in (1, 2)
        ]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_scores_to_begin_with_stay_in_order_when_rows_are_taken():
    rows = Rows(np.zeros((2, 9), np.uint8), np.zeros(9), np.ones(9), np.arange(27.0).reshape(3, 9))
    taken = rows.take(np.array([1, 4, 7])).start
    assert taken.flags.c_contiguous
    np.testing.assert_array_equal(taken, [[1.0, 4.0, 7.0], [10.0, 13.0, 16.0], [19.0, 22.0, 25.0]])


def test_rows_of_equal_gradients_are_drawn_at_random():
    random = np.random.default_rng(0)
    draws = [draw_by_gradient(random, np.ones((1, 1000)), np.ones((1, 1000)), 0.2, 0.1) for _ in range(30)]
    often = np.bincount(np.concatenate(draws), minlength=1000)
    assert often.max() < 25
    assert np.count_nonzero(often) > 990


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"n_estimators": 100}, {}], ids=["given rounds", "auto"])
def test_a_column_of_many_categories_that_tell_nothing_does_little_harm(parameters):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(2000, 3)), columns=list("abc"))
    y = X["a"] + np.sin(2.0 * X["b"]) + 0.7 * random.normal(size=2000)
    noisy = X.assign(noise=random.integers(0, 250, 2000).astype(str))
    plain, spoiled = (
        GradientBoostingRegressor(random_state=0, **parameters).fit(part[:1500], y[:1500]).score(part[1500:], y[1500:])
        for part in (X, noisy)
    )
    assert spoiled > plain - 0.03


@pytest.mark.slow
def test_steps_are_larger_for_many_classes():
    X, y = scikit.load_iris(return_X_y=True)
    many = GradientBoostingClassifier(random_state=0).fit(X, y)
    two = GradientBoostingClassifier(random_state=0).fit(X[:100], y[:100])
    assert (many.learning_rate_, two.learning_rate_) == (0.1, 0.05)


def test_an_interrupt_waits_for_the_end_of_a_round():
    steps = []

    def work() -> None:
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            steps.append("the rest of the round")
        steps.append("another round")

    with interrupts_not_ignored():
        with pytest.raises(KeyboardInterrupt):
            work()
        assert steps == ["the rest of the round"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
