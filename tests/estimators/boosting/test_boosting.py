"""Gradient boosting: losses, trees, and what it promises to any user."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn import datasets as scikit
from sklearn.ensemble import GradientBoostingRegressor as SklearnBoosting
from sklearn.utils.estimator_checks import parametrize_with_checks

from interruption import printed_by
from one_way import assert_first_column_moves_answers_one_way
from sample_tables import answers, mixed_table, target_of
from treewright import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from treewright.estimators.boosting.losses import (
    Exponential,
    Huber,
    LogLoss,
    Loss,
    ManyClasses,
    Quantile,
    Squared,
    Tweedie,
    weighted_quantile,
)

BOTH = (GradientBoostingClassifier, GradientBoostingRegressor)

SMOOTH: list[tuple[Loss, np.ndarray]] = [
    (Squared(), np.array([1.5, -2.0, 0.3])),
    (Tweedie(1.0), np.array([0.0, 2.0, 5.0])),
    (Tweedie(2.0), np.array([0.5, 2.0, 5.0])),
    (Tweedie(1.5), np.array([0.0, 2.0, 5.0])),
    (LogLoss(), np.array([0.0, 1.0, 1.0])),
    (Exponential(), np.array([0.0, 1.0, 1.0])),
    (ManyClasses(3), np.array([0.0, 2.0, 1.0])),
]


@pytest.mark.parametrize(("loss", "targets"), SMOOTH, ids=lambda value: type(value).__name__)
def test_gradients_and_hessians_are_those_of_the_loss(loss, targets):
    scores = np.random.default_rng(0).normal(size=(loss.n_outputs, 3)) * 0.7
    gradients, hessians = loss.derive(scores, targets)
    factor = loss.n_outputs / (loss.n_outputs - 1.0) if loss.n_outputs > 1 else 1.0
    for k in range(loss.n_outputs):
        for row in range(3):
            only = np.eye(3)[row]

            def at(shift: float, k: int = k, row: int = row, only: np.ndarray = only) -> float:
                moved = scores.copy()
                moved[k, row] += shift
                return loss.value(moved, targets, only)

            assert gradients[k, row] == pytest.approx((at(1e-5) - at(-1e-5)) / 2e-5, rel=1e-5, abs=1e-7)
            curve = (at(1e-3) - 2.0 * at(0.0) + at(-1e-3)) / 1e-6
            assert hessians[k, row] == pytest.approx(factor * curve, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("loss", [Quantile(0.3), Quantile(0.5)], ids=lambda loss: str(loss.parameter))
def test_gradients_of_losses_with_kinks_are_right_away_from_them(loss):
    targets = np.array([1.0, -3.0, 0.2, 8.0])
    loss.begin(targets, np.ones(4))
    scores = np.array([[0.3, 0.1, 0.5, 0.7]])
    gradients, _ = loss.derive(scores, targets)
    for row in range(4):
        moved = [scores + shift * np.eye(4)[row] for shift in (1e-6, -1e-6)]
        steps = [loss.value(line, targets, np.eye(4)[row]) for line in moved]
        assert gradients[0, row] == pytest.approx((steps[0] - steps[1]) / 2e-6, abs=1e-6)


def test_gradients_of_the_huber_loss_are_clipped_at_a_quantile_of_the_errors():
    targets, scores = np.array([1.0, -3.0, 0.2, 8.0]), np.array([[0.3, 0.1, 0.5, 0.7]])
    loss = Huber(0.75)
    loss.adapt(scores, targets, np.ones(4))
    # The absolute errors are 0.3, 0.7, 3.1 and 7.3; the quantile of 0.75 is halfway between the last two.
    gradients, hessians = loss.derive(scores, targets)
    np.testing.assert_allclose(gradients, [[-0.7, 3.1, 0.3, -5.2]], atol=1e-12)
    np.testing.assert_array_equal(hessians, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"n_estimators": 100}, {"n_estimators": 100, "subsample": 0.5}], ids=str)
def test_huber_is_as_robust_as_in_scikit_learn(options):
    random = np.random.default_rng(0)
    X = random.uniform(0.0, 10.0, (2000, 1))
    truth = 10.0 * X[:, 0]
    y = truth + random.normal(size=2000) + 40.0 * (random.random(2000) < 0.08)
    peer = SklearnBoosting(loss="huber", random_state=0).fit(X, y)
    error_of_peer = np.abs(peer.predict(X) - truth).mean()
    squared = GradientBoostingRegressor(random_state=0, **options).fit(X, y)
    assert np.abs(squared.predict(X) - truth).mean() > 4.0 * error_of_peer
    huber = GradientBoostingRegressor(loss="huber", random_state=0, **options).fit(X, y)
    assert np.abs(huber.predict(X) - truth).mean() < error_of_peer


@pytest.mark.parametrize("n_rows", [1, 2, 3, 10, 101])
@pytest.mark.parametrize("quantile", [0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
def test_a_quantile_of_rows_without_weights_is_that_of_equal_weights(n_rows, quantile):
    numbers = np.random.default_rng(n_rows).integers(0, 20, n_rows).astype(float)
    assert weighted_quantile(numbers, np.ones(n_rows), quantile) == weighted_quantile(
        numbers, np.full(n_rows, 2.0), quantile
    )


@pytest.mark.parametrize(("loss", "targets"), SMOOTH, ids=lambda value: type(value).__name__)
def test_the_first_score_is_the_best_that_is_the_same_for_all(loss, targets):
    weights = np.array([1.0, 2.0, 1.5])
    start = loss.begin(targets, weights)
    gradients, _ = loss.derive(np.repeat(start[:, None], 3, axis=1), targets)
    np.testing.assert_allclose((gradients * weights).sum(axis=1), 0.0, atol=1e-9)


def test_the_first_tree_by_hand():
    # The mean of 1, 2, 6, 7 is 4; the residuals -3, -2, 2, 3 are split between 2 and 3. With l2_regularization=1 the
    # value of a leaf of two rows is the sum of its residuals divided by three.
    model = GradientBoostingRegressor(n_estimators=1, learning_rate=0.5, max_leaf_nodes=2, min_samples_leaf=1)
    model.fit({"x": [1, 2, 3, 4]}, [1.0, 2.0, 6.0, 7.0])
    np.testing.assert_allclose(model.predict({"x": [1, 4]}), [4.0 - 0.5 * 5.0 / 3.0, 4.0 + 0.5 * 5.0 / 3.0])


@pytest.mark.parametrize("weighted", [False, True])
def test_one_tree_of_squared_loss_is_the_regression_tree_of_the_same_shape(weighted):
    random = np.random.default_rng(3)
    X = random.integers(0, 40, (300, 4)).astype(float)
    y = np.sin(X[:, 0]) + X[:, 1] / 10.0 + random.normal(size=300) * 0.1
    weights = random.uniform(0.5, 2.0, 300) if weighted else None
    least = 1 if weighted else 5
    boosted = GradientBoostingRegressor(
        n_estimators=1,
        learning_rate=1.0,
        l2_regularization=0.0,
        max_leaf_nodes=12,
        min_samples_leaf=least,
        min_child_weight=0.0,
    ).fit(X, y, weights)
    tree = DecisionTreeRegressor(max_leaf_nodes=12, min_samples_leaf=least).fit(X, y, weights)
    np.testing.assert_allclose(boosted.predict(X), tree.predict(X), atol=1e-9)


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_leaves_of_the_quantile_loss_answer_quantiles(quantile):
    random = np.random.default_rng(0)
    X = {"x": [0] * 50 + [1] * 50}
    y = random.normal(size=100) + np.repeat([0.0, 5.0], 50)
    model = GradientBoostingRegressor(
        loss="quantile", quantile=quantile, n_estimators=1, learning_rate=1.0, max_leaf_nodes=2
    ).fit(X, y)
    expected = [np.quantile(part, quantile, method="averaged_inverted_cdf") for part in (y[:50], y[50:])]
    np.testing.assert_allclose(model.predict({"x": [0, 1]}), expected, atol=1e-9)


def weighted_median(numbers: np.ndarray, weights: np.ndarray) -> float:
    """Halfway between the first and the last of the numbers with the least weighted sum of distances to all."""
    distances = (np.abs(numbers[:, None] - numbers) * weights).sum(axis=1)
    best = numbers[np.isclose(distances, distances.min(), rtol=1e-12, atol=0.0)]
    return (best.min() + best.max()) / 2


@pytest.mark.parametrize("options", [{"subsample": 0.5}, {"goss": (0.2, 0.2)}, {"growth": "oblivious"}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_answer_medians_of_all_their_rows_however_they_were_grown(options, weighted):
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 3))
    y = X[:, 0] * X[:, 1] + random.normal(size=800)
    weights = random.uniform(0.5, 2.0, 800) if weighted else np.ones(800)
    model = GradientBoostingRegressor(
        loss="absolute_error", n_estimators=4, learning_rate=0.5, max_leaf_nodes=6, random_state=0, **options
    ).fit(X, y, weights)
    scores = np.full(800, model.initial_[0])
    forest = model.forests_[0]
    leaves = forest.leaves(forest.code(X))
    for number in range(4):
        predictions_of_tree = forest.leaf_value[forest.leaf_start[number] + leaves[:, number]]
        for leaf in np.unique(leaves[:, number]):
            inside = leaves[:, number] == leaf
            expected = 0.5 * weighted_median((y - scores)[inside], weights[inside])
            np.testing.assert_allclose(predictions_of_tree[inside], expected, atol=1e-12)
        scores += predictions_of_tree


@pytest.mark.slow
@pytest.mark.parametrize("learner", BOTH)
@pytest.mark.parametrize("weights", ["none", "badly scaled"])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(learner, weights):
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 30))
    hidden = X[:, 0] + np.sin(2.0 * X[:, 9]) + X[:, 17] * X[:, 25]
    y = np.digitize(hidden, [0.0, 1.0]) if "Classifier" in learner.__name__ else hidden
    sample_weight = None if weights == "none" else random.lognormal(0.0, 6.0, 20_000)
    models = [
        learner(
            n_estimators=5, subsample=0.8, colsample_bytree=0.8, max_features=1.0, random_state=3, n_jobs=n_jobs
        ).fit(X, y, sample_weight)
        for n_jobs in (1, 2, 4)
    ]
    for model in models[1:]:
        for mine, first in zip(model.forests_, models[0].forests_, strict=True):
            np.testing.assert_array_equal(mine.nodes, first.nodes)
            np.testing.assert_array_equal(mine.leaf_value, first.leaf_value)
        np.testing.assert_array_equal(answers(model, X), answers(models[0], X))


def test_rounds_chosen_by_held_back_rows_stop_at_the_least_loss():
    X, y = scikit.load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(random_state=0).fit(X, y)
    assert model.n_estimators_ == int(np.argmin(model.validation_loss_)) + 1
    assert 1 < model.n_estimators_ < len(model.validation_loss_)


@pytest.mark.parametrize("learner", BOTH)
def test_stages_end_with_the_whole_model(learner):
    table = mixed_table(300)
    model = learner(n_estimators=7).fit(table[0], target_of(learner, table))
    stages = list(model.staged_predict(table[0]))
    assert len(stages) == 7
    np.testing.assert_allclose(np.asarray(stages[-1], dtype=float), model.predict(table[0]).astype(float))


@pytest.mark.parametrize("learner", BOTH)
def test_rounds_can_be_added_later(learner):
    table = mixed_table(400)
    y = target_of(learner, table)
    whole = learner(n_estimators=9, random_state=0).fit(table[0], y)
    grown = learner(n_estimators=4, random_state=0, warm_start=True).fit(table[0], y)
    grown.set_params(n_estimators=9).fit(table[0], y)
    np.testing.assert_allclose(answers(grown, table[0]), answers(whole, table[0]), atol=1e-6)


@pytest.mark.parametrize("learner", BOTH)
def test_rounds_are_not_added_to_the_model_of_another_table(learner):
    table, other = mixed_table(400), mixed_table(400, seed=9)
    model = learner(n_estimators=2, warm_start=True).fit(table[0], target_of(learner, table))
    with pytest.raises(ValueError, match="of the same table"):
        model.set_params(n_estimators=4).fit(other[0], target_of(learner, other))
    assert model.n_estimators_ == 2


@pytest.mark.parametrize("learner", BOTH)
def test_text_missing_values_and_unseen_categories_are_taken_as_they_are(learner):
    train, new = mixed_table(1500), mixed_table(600, seed=5)
    model = learner(random_state=0).fit(train[0], target_of(learner, train))
    assert model.score(new[0], target_of(learner, new)) > 0.6
    strange = new[0].assign(kind="a kind nobody has seen")
    assert np.isfinite(answers(model, strange)).all()
    no_kind = new[0].assign(kind=None)
    np.testing.assert_array_equal(answers(model, strange), answers(model, no_kind))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(copy, new[0]), answers(model, new[0]))


def test_a_column_of_more_categories_than_a_byte_holds_is_learned():
    random = np.random.default_rng(0)
    names = np.array([f"id{number}" for number in range(600)])
    effect = random.normal(size=600)
    drawn = np.minimum(random.geometric(0.01, 8000), 599)
    y = effect[drawn] + random.normal(size=8000) * 0.1
    X = {"name": names[drawn].tolist()}
    model = GradientBoostingRegressor(n_estimators=200, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert np.isfinite(model.predict({"name": ["id599", "new", None]})).all()


@pytest.mark.parametrize(
    ("learner", "parameters"),
    [
        (GradientBoostingClassifier, {}),
        (GradientBoostingRegressor, {}),
        (GradientBoostingRegressor, {"loss": "absolute_error"}),
        (GradientBoostingRegressor, {"loss": "quantile", "quantile": 0.8, "subsample": 0.7}),
        (GradientBoostingRegressor, {"loss": "absolute_error", "growth": "oblivious"}),
    ],
)
@pytest.mark.parametrize("direction", [1, -1])
def test_a_monotone_column_only_moves_the_answer_one_way(learner, parameters, direction):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    noisy = direction * X[:, 0] + np.sin(3.0 * X[:, 1]) + random.normal(size=600)
    y = noisy > 0.0 if "Classifier" in learner.__name__ else noisy
    model = learner(n_estimators=40, monotonic_cst=[direction, 0, 0], random_state=0, **parameters).fit(X, y)
    assert_first_column_moves_answers_one_way(model, direction, random, slack=1e-9)


def test_a_loss_of_ones_own_does_what_the_built_in_one_does():
    X, y = scikit.load_diabetes(return_X_y=True)
    own = GradientBoostingRegressor(loss=lambda prediction, target: (prediction - target, 1.0), n_estimators=20)
    built_in = GradientBoostingRegressor(n_estimators=20)
    np.testing.assert_array_equal(
        own.set_params(random_state=0).fit(X, y).predict(X), built_in.set_params(random_state=0).fit(X, y).predict(X)
    )


def test_two_fits_at_once_agree():
    table = mixed_table(3000)

    def fit(_: int) -> np.ndarray:
        return answers(GradientBoostingClassifier(n_estimators=5, random_state=0).fit(table[0], table[1]), table[0])

    alone = fit(0)
    with ThreadPoolExecutor(2) as pool:
        for other in pool.map(fit, range(4)):
            np.testing.assert_array_equal(other, alone)


@pytest.mark.slow
@pytest.mark.parametrize(("choice", "expected"), [("keep", "kept True"), ("drop", "stopped False")])
def test_an_interrupt_keeps_the_trees_so_far_if_asked(choice, expected):
    code = (
        "import sys, numpy as np; from treewright import GradientBoostingRegressor\n"
        "from interruption import interrupt_when_told\n"
        "random = np.random.default_rng(0)\n"
        "X, y = random.normal(size=(20_000, 20)), random.normal(size=20_000)\n"
        "model = GradientBoostingRegressor(n_estimators=1000, progress=True, keep_on_interrupt=sys.argv[1] == 'keep')\n"
        "interrupt_when_told(' 100 of 1000')\n"
        "try:\n"
        "    print('kept', 100 <= model.fit(X, y).n_estimators_ < 1000)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', hasattr(model, 'forests_'))\n"
    )
    assert printed_by(code, choice) == [expected]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_estimators": 0}, "n_estimators is 0"),
        ({"learning_rate": -1}, "learning_rate is -1"),
        ({"loss": "nothing"}, "loss is 'nothing'"),
        ({"subsample": 0.0}, "subsample is 0.0"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes is 1"),
        ({"l2_regularization": -1.0}, "l2_regularization is -1.0"),
        ({"max_bins": 256}, "max_bins is 256"),
        ({"unseen": "stop"}, "unseen is 'stop'"),
        ({"loss": "gamma"}, "requires strictly positive y"),
        ({"loss": lambda prediction, target: 3}, "must return a pair: gradient and hessian"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_mistakes_are_named(parameters, words):
    with pytest.raises(ValueError, match=words) as caught:
        GradientBoostingRegressor(**parameters).fit({"x": list(range(40))}, [-1.0, 2.0] * 20)
    assert "\n" not in str(caught.value)


@parametrize_with_checks([learner(n_estimators=10, min_samples_leaf=1, random_state=0) for learner in BOTH])
def test_boosting_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_huber_of_several_numbers_is_that_of_each_alone():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    targets = 1000.0 * np.column_stack([X[:, 0], X[:, 1] + 0.1 * random.normal(size=200)])
    options = {"n_estimators": 20, "loss": "huber", "random_state": 0}
    together = GradientBoostingRegressor(**options).fit(X, targets).predict(X)
    for k in (0, 1):
        alone = GradientBoostingRegressor(**options).fit(X, targets[:, k]).predict(X)
        np.testing.assert_allclose(together[:, k], alone, rtol=1e-9)


def test_an_initial_model_of_one_class_is_sure_of_it():
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = GradientBoostingClassifier(n_estimators=2, init=DecisionTreeClassifier()).fit(X, ["q"] * 50)
    np.testing.assert_allclose(model.predict_proba(X), 1.0, atol=1e-9)
