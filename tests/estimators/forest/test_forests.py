"""Random forests and extra trees: what they promise to any user."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn import datasets as scikit
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from expected_failures import weight_equivalence
from interruption import printed_by
from one_way import assert_first_column_moves_answers_one_way
from sample_tables import answers, mixed_table, target_of
from table_forms import FORMS, columns_of
from treewright import (
    AdaBoostRegressor,
    BaggingRegressor,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    datasets,
    diversity,
    show,
)
from treewright.engines.forest.engine import bag_of_tree
from treewright.estimators.forest import growth
from treewright.estimators.forest.growth import Bagging
from treewright.estimators.forest.proximity import proximity
from treewright.runtime.forms import choose_compiled_form
from treewright.tree.descent import predictions_of
from treewright.tree.forest import Forest
from treewright.tree.tree_list import TreeList

FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)


@pytest.mark.parametrize("learner", FORESTS)
@pytest.mark.parametrize("weights", [pytest.param("none", marks=pytest.mark.slow), "badly scaled"])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(learner, weights):
    table = mixed_table(3000)
    sample_weight = None if weights == "none" else np.random.default_rng(1).lognormal(0.0, 6.0, 3000)
    models = [
        learner(n_estimators=12, random_state=3, n_jobs=n_jobs).fit(table[0], target_of(learner, table), sample_weight)
        for n_jobs in (1, 2, 4)
    ]
    first = models[0]
    for model in models[1:]:
        for name in ("nodes", "sets", "leaf_value", "leaf_weight", "entry_share", "gains"):
            np.testing.assert_array_equal(getattr(model.forest_, name), getattr(first.forest_, name))
        np.testing.assert_array_equal(answers(model, table[0]), answers(first, table[0]))
        np.testing.assert_array_equal(answers(model, table[0][:7]), answers(first, table[0])[:7])


@pytest.mark.slow
def test_another_process_grows_the_same_forest():
    code = (
        "import numpy as np; from treewright import RandomForestClassifier, datasets;"
        "iris = datasets.load_iris();"
        "model = RandomForestClassifier(n_estimators=20, random_state=5).fit(iris.X, iris.y);"
        "print(model.predict_proba(iris.X).tobytes().hex())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    iris = datasets.load_iris()
    here = RandomForestClassifier(n_estimators=20, random_state=5).fit(iris.X, iris.y).predict_proba(iris.X)
    assert here.tobytes().hex() == there


@pytest.mark.parametrize("learner", FORESTS)
def test_each_tree_sends_rows_as_the_forest_does(learner):
    table, new = mixed_table(500), mixed_table(400, seed=9, missing_share=0.4)[0]
    new.loc[::7, "kind"] = "a kind nobody has seen"
    model = learner(n_estimators=5, random_state=0).fit(table[0], target_of(learner, table))
    assert isinstance(model.forest_, Forest)
    values = model._read_rows(new)
    by_trees = np.mean([predictions_of(tree, values) for tree in model.forest_], axis=0)
    np.testing.assert_allclose(model._predict_rows(values), by_trees, rtol=0, atol=1e-12)


@pytest.mark.parametrize("learner", FORESTS)
def test_the_trees_are_learners_of_their_own(learner):
    table = mixed_table(300)
    model = learner(n_estimators=7, random_state=0).fit(table[0], target_of(learner, table))
    assert len(model.estimators_) == 7
    by_members = np.mean([answers(member, table[0]) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(answers(model, table[0]), by_members, atol=1e-12)
    assert model.estimators_[-1].get_n_leaves() > 1


def test_bootstrap_samples_hold_the_share_of_rows_that_chance_tells():
    run = choose_compiled_form()
    shares = [np.mean(bag_of_tree(run, 0, tree, Bagging(20_000), 20_000) > 0) for tree in range(50)]
    assert np.mean(shares) == pytest.approx(1.0 - 1.0 / np.e, abs=0.001)
    counts = bag_of_tree(run, 1, 0, Bagging(20_000), 20_000)
    assert counts.sum() == 20_000
    np.testing.assert_allclose(np.bincount(counts, minlength=4)[:4] / 20_000, np.exp(-1) / [1, 1, 2, 6], atol=0.012)
    without = bag_of_tree(run, 1, 0, Bagging(5000, replace=False), 20_000)
    assert without.max() == 1
    assert without.sum() == 5000


@pytest.mark.slow
@pytest.mark.parametrize(
    "load", [scikit.load_breast_cancer, scikit.load_wine, scikit.load_digits, scikit.load_iris, scikit.load_diabetes]
)
def test_the_out_of_bag_error_is_that_of_new_rows_within_noise(load):
    X, y = load(return_X_y=True)
    learner = RandomForestRegressor if load is scikit.load_diabetes else RandomForestClassifier
    order = np.random.default_rng(0).permutation(len(y))
    folds = np.array_split(order, 5)
    out_of_bag, held_out = [], []
    for fold in folds:
        rest = np.setdiff1d(order, fold)
        model = learner(n_estimators=100, oob_score=True, random_state=0).fit(X[rest], y[rest])
        out_of_bag.append(model.oob_score_)
        held_out.append(model.score(X[fold], y[fold]))
    noise = 3.0 * np.std(held_out) / np.sqrt(5) + 0.01
    assert np.mean(out_of_bag) == pytest.approx(np.mean(held_out), abs=noise)


def test_the_out_of_bag_answers_come_from_trees_that_have_not_seen_the_row():
    table = mixed_table(200)
    model = RandomForestClassifier(n_estimators=30, oob_score=True, random_state=0).fit(table[0], table[1])
    run = choose_compiled_form()
    values = model._read_rows(table[0])
    sums, n_predictions = np.zeros((200, 3)), np.zeros((200, 1))
    for index, tree in enumerate(model.forest_):
        unseen = bag_of_tree(run, model.seed_, index, Bagging(200), 200) == 0
        sums[unseen] += predictions_of(tree, values)[unseen]
        n_predictions[unseen] += 1
    np.testing.assert_allclose(model.oob_decision_function_, sums / n_predictions, atol=1e-12)
    assert model.oob_score_ == np.mean(model.oob_decision_function_.argmax(axis=1) == table[1])


@pytest.mark.parametrize("learner", FORESTS)
def test_a_forest_can_grow_later_what_it_would_have_grown_at_once(learner):
    table = mixed_table(400)
    y = target_of(learner, table)
    whole = learner(n_estimators=15, random_state=1).fit(table[0], y)
    grown = learner(n_estimators=6, random_state=1, warm_start=True).fit(table[0], y)
    grown.set_params(n_estimators=15).fit(table[0], y)
    np.testing.assert_array_equal(grown.forest_.nodes, whole.forest_.nodes)
    np.testing.assert_array_equal(answers(grown, table[0]), answers(whole, table[0]))
    with pytest.raises(ValueError, match="it can only grow"):
        grown.set_params(n_estimators=3).fit(table[0], y)
    other = mixed_table(400, seed=77)
    with pytest.raises(ValueError, match="the same table"):
        grown.set_params(n_estimators=20).fit(other[0], target_of(learner, other))


@pytest.mark.parametrize("learner", FORESTS)
def test_a_pickled_forest_answers_the_same_and_a_damaged_one_is_refused(learner):
    table = mixed_table(300)
    model = learner(n_estimators=4, random_state=0).fit(table[0], target_of(learner, table))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(copy, table[0]), answers(model, table[0]))
    forest = model.forest_
    kind, parts = forest.__reduce__()
    damaged = forest.nodes.copy()
    damaged[0] |= np.uint64(0xFFFF) << np.uint64(48)
    parts = [damaged if part is forest.nodes else part for part in parts]
    with pytest.raises(ValueError, match="damaged"):
        kind(*parts)
    with pytest.raises(ValueError, match="read-only"):
        forest.nodes[0] = 0


@pytest.mark.parametrize("learner", FORESTS)
def test_plain_kernels_grow_the_same_forest_as_compiled_ones(learner, monkeypatch):
    table = mixed_table(60)
    grown = []
    for form in ("plain", "compiled"):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        model = learner(n_estimators=2, random_state=0, n_jobs=1).fit(table[0], target_of(learner, table))
        grown.append((model.forest_.nodes, answers(model, table[0])))
    np.testing.assert_array_equal(grown[0][0], grown[1][0])
    np.testing.assert_array_equal(grown[0][1], grown[1][1])


@pytest.mark.parametrize("learner", FORESTS)
def test_all_frame_libraries_give_the_same_forest(learner):
    frame, _, _ = table = mixed_table(200)
    y = target_of(learner, table)
    expected = answers(learner(n_estimators=3, random_state=0).fit(frame, y), frame)
    for form in ("polars", "arrow", "dict"):
        other = FORMS[form](columns_of(frame))
        model = learner(n_estimators=3, random_state=0).fit(other, y)
        np.testing.assert_array_equal(answers(model, other), expected)


def test_a_vote_counts_trees_and_an_average_their_shares():
    table = mixed_table(300)
    model = RandomForestClassifier(n_estimators=25, min_samples_leaf=10, voting="hard", random_state=0)
    model.fit(table[0], table[1])
    votes = np.mean([np.eye(3)[member.predict(table[0])] for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(table[0]), votes, atol=1e-12)
    two = model.fit(table[0], table[1] > 0)
    votes = np.mean([member.predict(table[0]) for member in two.estimators_], axis=0)
    np.testing.assert_allclose(two.predict_proba(table[0])[:, 1], votes, atol=1e-12)


@pytest.mark.parametrize("learner", FORESTS)
@pytest.mark.parametrize("direction", [1, -1])
def test_a_monotone_column_only_moves_the_answer_one_way(learner, direction):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    noisy = direction * X[:, 0] + np.sin(3.0 * X[:, 1]) + random.normal(size=400)
    y = noisy > 0.0 if "Classifier" in learner.__name__ else noisy
    model = learner(n_estimators=10, monotonic_cst=[direction, 0, 0], random_state=0).fit(X, y)
    assert_first_column_moves_answers_one_way(model, direction, random, slack=1e-12)


def test_balanced_bags_give_a_rare_class_its_say():
    random = np.random.default_rng(0)
    y = random.random(2000) < 0.05
    X = random.normal(size=(2000, 2)) + y[:, None]
    plain = RandomForestClassifier(n_estimators=30, min_samples_leaf=20, random_state=0).fit(X, y)
    balanced = clone(plain).set_params(class_weight="balanced_subsample").fit(X, y)
    assert plain.predict(X)[y].mean() < 0.3
    assert balanced.predict(X)[y].mean() > 0.6
    for tree in balanced.forest_:
        np.testing.assert_allclose(tree.distribution[0, 0], tree.distribution[0, 1])


@pytest.mark.parametrize(
    "parameters",
    [
        {"categorical": "multiway"},
        {"missing": "fractional", "max_depth": 4},
        {"missing": "majority"},
        {"criterion": "gain_ratio"},
        {"max_leaf_nodes": 8},
        {"unseen": "stop"},
    ],
    ids=str,
)
def test_recipes_that_do_not_fit_into_bytes_are_grown_tree_by_tree(parameters):
    table = mixed_table(300)
    models = [
        RandomForestClassifier(n_estimators=10, oob_score=True, random_state=0, n_jobs=n_jobs, **parameters).fit(
            table[0], table[1]
        )
        for n_jobs in (1, 2)
    ]
    assert isinstance(models[0].forest_, TreeList)
    np.testing.assert_array_equal(*(model.predict_proba(table[0]) for model in models))
    assert models[0].score(table[0], table[1]) > 0.7
    assert models[0].oob_score_ > 0.5


def test_more_categories_than_a_byte_holds_are_learned():
    random = np.random.default_rng(0)
    names = np.array([f"id{number}" for number in range(400)])[random.integers(0, 400, 3000)]
    y = np.array([hash_of(name) for name in names]) % 2
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit({"name": names.tolist()}, y)
    assert model.score({"name": names.tolist()}, y) > 0.95


def hash_of(name: str) -> int:
    return sum(map(ord, name))


@pytest.mark.parametrize("learner", FORESTS)
def test_the_smallest_tables(learner):
    model = learner(n_estimators=5, random_state=0).fit({"x": [1.0, 2.0]}, [0, 1])
    assert np.isfinite(answers(model, {"x": [1.5, None]})).all()
    alone = learner(n_estimators=5, random_state=0).fit({"x": ["only"]}, [3])
    assert alone.predict({"x": ["only", "new"]}).tolist() == [3, 3]


@pytest.mark.parametrize("learner", [RandomForestClassifier, ExtraTreesClassifier])
def test_three_hundred_classes(learner):
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(300), 5)
    X = np.column_stack([y % 20, y // 20]) + random.normal(size=(1500, 2)) * 0.1
    model = learner(n_estimators=20, random_state=0).fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (1500, 300)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("learner", FORESTS)
def test_rows_without_weight_are_as_good_as_gone(learner):
    table = mixed_table(300)
    y = target_of(learner, table)
    weights = np.ones(300)
    weights[200:] = 0.0
    kept = weights > 0.0
    model = learner(n_estimators=5, random_state=0).fit(table[0], y, weights)
    without = learner(n_estimators=5, random_state=0).fit(table[0][kept], y[kept])
    np.testing.assert_array_equal(answers(model, table[0]), answers(without, table[0]))


def test_out_of_bag_answers_stand_in_the_rows_of_the_users_table():
    table = mixed_table(300)
    weights = np.ones(300)
    weights[:30] = 0.0
    model = RandomForestRegressor(n_estimators=40, oob_score=True, random_state=0).fit(table[0], table[2], weights)
    assert np.isnan(model.oob_prediction_[:30]).all()
    assert np.isfinite(model.oob_prediction_[30:]).all()


@pytest.mark.slow
def test_fits_at_the_same_time_agree():
    table = mixed_table(2000)

    def fit(_: int) -> np.ndarray:
        return RandomForestClassifier(n_estimators=10, random_state=0).fit(table[0], table[1]).predict_proba(table[0])

    alone = fit(0)
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(fit, range(4)):
            np.testing.assert_array_equal(other, alone)
    in_workers = joblib.Parallel(n_jobs=2)(joblib.delayed(fit)(i) for i in range(2))
    for other in in_workers:
        np.testing.assert_array_equal(other, alone)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_worker_grows_the_same_forest():
    code = (
        "import os, sys; import numpy as np; from treewright import RandomForestClassifier, datasets\n"
        "iris = datasets.load_iris()\n"
        "fit = lambda: RandomForestClassifier(n_estimators=20, random_state=5).fit(iris.X, iris.y)\n"
        "here = fit().predict_proba(iris.X)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os._exit(0 if np.array_equal(fit().predict_proba(iris.X), here) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=120, check=False).returncode == 0


@pytest.mark.slow
def test_an_interrupt_stops_growth_soon_and_leaves_the_model_as_it_was():
    code = (
        "import numpy as np; from treewright import RandomForestRegressor\n"
        "from interruption import interrupt_when_told\n"
        "random = np.random.default_rng(0)\n"
        "X, y = random.normal(size=(100_000, 30)), random.normal(size=100_000)\n"
        "RandomForestRegressor(n_estimators=1).fit(X[:100], y[:100])\n"
        "model = RandomForestRegressor(n_estimators=200, max_features=10, min_samples_leaf=1, progress=True)\n"
        "screen = interrupt_when_told('growing trees: 0 of 200')\n"
        "try:\n"
        "    model.fit(X, y); print('finished')\n"
        "except KeyboardInterrupt:\n"
        "    print(screen.getvalue().splitlines(), hasattr(model, 'forest_'))\n"
    )
    assert printed_by(code) == ["['growing trees: 0 of 200'] False"]


def test_quantiles_are_those_of_the_training_rows_in_the_same_leaves():
    table = mixed_table(150)
    model = RandomForestRegressor(n_estimators=8, min_samples_leaf=5, quantiles=True, random_state=0)
    model.fit(table[0], table[2])
    wanted = [0.1, 0.5, 0.9]
    got = model.predict_quantiles(table[0][:5], wanted)
    leaves = model.apply(table[0])
    for row in range(5):
        shares = np.mean([same / same.sum() for same in (leaves == leaves[row]).T.astype(float)], axis=0)
        order = np.argsort(table[2], kind="stable")
        passed = np.cumsum(shares[order])
        expected = [table[2][order][np.searchsorted(passed, quantile - 1e-9)] for quantile in wanted]
        assert got[row].tolist() == expected
    with pytest.raises(ValueError, match="quantiles=True"):
        RandomForestRegressor(n_estimators=2).fit(table[0], table[2]).predict_quantiles(table[0])


def test_intervals_cover_new_rows_as_often_as_they_promise():
    train, new = mixed_table(2000), mixed_table(2000, seed=5)
    model = RandomForestRegressor(n_estimators=50, oob_score=True, random_state=0).fit(train[0], train[2])
    low, high = model.predict_interval(new[0], 0.8).T
    assert np.mean((low <= new[2]) & (new[2] <= high)) == pytest.approx(0.8, abs=0.03)


def test_proximity_is_the_share_of_trees_with_both_rows_in_one_leaf():
    table = mixed_table(60)
    model = RandomForestClassifier(n_estimators=12, random_state=0).fit(table[0], table[1])
    leaves = model.apply(table[0])
    expected = (leaves[:, None, :] == leaves[None, :, :]).mean(axis=2)
    np.testing.assert_allclose(model.proximity(table[0]), expected)
    np.testing.assert_allclose(model.proximity(table[0][:3], table[0]), expected[:3])


def test_what_cannot_be_worked_out_is_refused():
    table = mixed_table(60)
    model = RandomForestClassifier(n_estimators=2, random_state=0).fit(table[0], table[1])
    with pytest.raises(ValueError, match="X has 60 rows, but y has 3 values"):
        model.outlier_scores(table[0], table[1][:3])
    with pytest.raises(ValueError, match="give fewer rows"):
        proximity(np.zeros((40_000, 1), np.int64), np.zeros((40_000, 1), np.int64))
    with pytest.raises(TypeError, match="show one of them"):
        show(model)


def test_the_least_quantile_is_the_least_of_the_rows_in_the_same_leaves():
    X = {"x": list(range(100))}
    model = RandomForestRegressor(n_estimators=20, quantiles=True, min_samples_leaf=5, random_state=0)
    least, most = model.fit(X, X["x"]).predict_quantiles({"x": [90]}, [0, 1])[0]
    assert 50 < least < 90 <= most


def test_a_row_among_the_wrong_class_is_an_outlier():
    iris = scikit.load_iris()
    y = iris.target.copy()
    y[0] = 2  # a setosa that claims to be a virginica
    scores = RandomForestClassifier(random_state=0).fit(iris.data, y).outlier_scores(iris.data, y)
    assert scores.argmax() == 0
    assert scores[0] > 10.0


@pytest.mark.parametrize("learner", FORESTS)
def test_diversity_is_computed_of_forests(learner):
    table = mixed_table(100)
    y = target_of(learner, table)
    model = learner(n_estimators=5, random_state=0).fit(table[0], y)
    found = diversity(model, table[0], y)
    wrong = [np.mean((member.predict(table[0]) - y) ** 2) for member in model.estimators_]
    if "Classifier" in learner.__name__:
        wrong = [np.mean(member.predict(table[0]) != y) for member in model.estimators_]
    np.testing.assert_allclose(found.errors, wrong)


def test_importances_tell_the_column_that_matters():
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 4))
    model = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, 3.0 * X[:, 2])
    assert model.feature_importances_.argmax() == 2
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_estimators": 0}, "n_estimators is 0"),
        ({"voting": "loud"}, "voting is 'loud'"),
        ({"oob_score": "yes"}, "oob_score is 'yes'"),
        ({"bootstrap": "no"}, "bootstrap is 'no'"),
        ({"max_samples": 10**7}, "max_samples is 10000000"),
        ({"max_bins": 300}, "max_bins is 300"),
        ({"monotonic_cst": {"nothing": 1}}, "'nothing', which is not in the table"),
        ({"monotonic_cst": {"kind": 1}}, "cannot have monotonic constraints"),
        ({"monotonic_cst": [1]}, "has shape 1 but the input data X has 4 features"),
        ({"bootstrap": False, "oob_score": True}, "only available if bootstrap=True"),
        ({"max_samples": -1.0}, "max_samples is -1.0"),
        ({"progress": "yes"}, "progress is 'yes'"),
    ],
    ids=str,
)
def test_mistakes_are_named(parameters, words):
    table = mixed_table(30)
    with pytest.raises(ValueError, match=words) as caught:
        RandomForestClassifier(**({"n_estimators": 2} | parameters)).fit(table[0], table[1] > 0)
    assert "\n" not in str(caught.value)


def test_auto_draws_more_columns_where_that_errs_clearly_less():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (400, 9))
    parity = X[:, 0] ^ X[:, 1] ^ X[:, 2]
    usual = RandomForestClassifier(n_estimators=60, max_features="sqrt", min_samples_leaf=1, random_state=0)
    chosen = RandomForestClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X, parity)
    assert chosen.shape_.max_features == 9
    assert chosen.oob_score_ > usual.set_params(oob_score=True).fit(X, parity).oob_score_
    noise = RandomForestClassifier(n_estimators=60, random_state=0).fit(random.normal(size=(300, 16)), parity[:300])
    assert (noise.shape_.max_features, noise.shape_.min_samples_leaf) == (4, 1)
    assert RandomForestClassifier(n_estimators=5).fit(X, parity).shape_.max_features == 3


@pytest.mark.parametrize("bootstrap", [{}, {"max_samples": 0.5}])
def test_the_forest_of_a_chosen_shape_is_the_forest_of_that_shape_when_it_is_given(bootstrap):
    X = np.random.default_rng(0).integers(0, 2, (400, 9))
    parity = X[:, 0] ^ X[:, 1] ^ X[:, 2]
    model = RandomForestClassifier(n_estimators=60, oob_score=True, random_state=0, **bootstrap)
    chosen = clone(model).fit(X, parity)
    shape = chosen.shape_
    given = clone(model).set_params(max_features=shape.max_features, min_samples_leaf=shape.min_samples_leaf)
    given.fit(X, parity)
    assert chosen.oob_score_ == given.oob_score_
    assert len(chosen.forest_) == len(given.forest_)
    for name in ("nodes", "node_start", "leaf_value", "leaf_start", "gains"):
        np.testing.assert_array_equal(getattr(chosen.forest_, name), getattr(given.forest_, name))


def test_progress_is_reported_for_every_tree(monkeypatch):
    seen = []
    lock = threading.Lock()

    from treewright.estimators.forest import base as forest_base

    class Follow:
        def __enter__(self):
            return lambda n: [seen.append(n) for _ in [lock]]

        def __exit__(self, *_):
            return False

    monkeypatch.setattr(forest_base, "follow", lambda *_: Follow())
    table = mixed_table(50)
    RandomForestClassifier(n_estimators=9).fit(table[0], table[1])
    assert sum(seen) == 9


CHANCE = "a forest draws rows by their number, so a row of weight 2 is not drawn as two rows would be"


def not_applicable(model: Any) -> dict[str, str]:
    return weight_equivalence(CHANCE) if model.bootstrap else {}


@pytest.mark.slow
@parametrize_with_checks(
    [learner(n_estimators=10, random_state=0) for learner in FORESTS],
    expected_failed_checks=not_applicable,
)
def test_forests_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("learner", [RandomForestRegressor, DecisionTreeRegressor])
def test_importances_without_a_split_are_zeros(criterion, learner):
    X = np.random.default_rng(0).normal(size=(20, 3))
    options = {"n_estimators": 3} if learner is RandomForestRegressor else {}
    importances = learner(criterion=criterion, **options).fit(X, np.ones(20)).feature_importances_
    assert importances.dtype == np.float64
    np.testing.assert_array_equal(importances, np.zeros(3))


@pytest.mark.parametrize(
    "learner",
    [
        DecisionTreeRegressor(criterion="poisson"),
        RandomForestRegressor(criterion="poisson", n_estimators=3),
        ExtraTreesRegressor(criterion="poisson", n_estimators=3),
        BaggingRegressor(DecisionTreeRegressor(criterion="poisson"), n_estimators=3),
        AdaBoostRegressor(DecisionTreeRegressor(criterion="poisson"), n_estimators=3),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_poisson_refuses_a_target_that_is_no_count_but_no_sample_of_one(learner):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match="not allowed for Poisson regression: 20 of 20"):
        learner.fit(X, -np.ones(20))
    with pytest.raises(ValueError, match="necessary for Poisson regression: all values are 0"):
        learner.fit(X, np.zeros(20))
    one_count = np.eye(20)[3]
    assert (learner.fit(X, one_count).predict(X) >= 0.0).all()


@pytest.mark.slow
def test_two_halves_of_a_small_forest_tell_the_error_of_a_large_one():
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] + random.normal(size=1500) > 0.0).astype(int)

    def out_of_bag(n_trees: int, seed: int) -> np.ndarray:
        model = RandomForestClassifier(n_estimators=n_trees, max_features=2, min_samples_leaf=1, oob_score=True)
        return model.set_params(random_state=seed).fit(X, y).oob_decision_function_[:, 1] - y

    large = np.mean(out_of_bag(2000, 0) ** 2)
    halves = [np.nanmean(out_of_bag(20, 2 * seed + 1) * out_of_bag(20, 2 * seed + 2)) for seed in range(20)]
    whole = [np.mean(out_of_bag(40, seed + 50) ** 2) for seed in range(5)]
    assert abs(np.mean(halves) - large) < 0.25 * abs(np.mean(whole) - large)


def test_a_large_table_tries_shapes_on_a_sample(monkeypatch):
    monkeypatch.setattr(growth, "MOST_ROWS_TO_TRY", 800)
    monkeypatch.setattr(growth, "MOST_ROWS_FOR_ALL_COLUMNS", 800)
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 40))
    y = (X[:, 0] > 0.0) ^ (random.random(3000) < 0.1)
    models = [RandomForestClassifier(n_estimators=60, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2)]
    # Of 40 columns one is related to the class: six columns per node, the square root, are too few.
    assert models[0].shape_.max_features == 14
    assert models[0].shape_ == models[1].shape_
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
