"""Attributes and parameters of gradient boosting that scikit-learn has: leaves, members, stages, initial models."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn import ensemble
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss, HalfSquaredError
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

import treewright as tw
from treewright import GradientBoostingClassifier, GradientBoostingRegressor, permutation_importance

X, y = load_iris(return_X_y=True)
TABLE, NUMBERS = load_diabetes(return_X_y=True)
TWO = np.where(y == 1, "b", "a")
WORDS = np.array(["a", "b", "c"])[y]

# Least falls of the squared error of the target of diabetes that count.
TOLS = (0.0, 100.0, 1e6)

FIXED = {"n_estimators": 6, "growth": "best", "max_leaf_nodes": 5, "random_state": 0}


@pytest.mark.parametrize("target", [TWO, WORDS])
def test_leaves_and_stages_of_classes_have_the_shape_of_scikit_learn(target):
    ours = GradientBoostingClassifier(**FIXED).fit(X, target)
    theirs = ensemble.GradientBoostingClassifier(n_estimators=6).fit(X, target)
    assert ours.apply(X).shape == theirs.apply(X).shape
    assert ours.estimators_.shape == theirs.estimators_.shape
    stages = list(ours.staged_decision_function(X))
    assert len(stages) == 6
    np.testing.assert_allclose(stages[-1], ours.decision_function(X))
    if len(ours.classes_) == 2:
        assert theirs.decision_function(X).shape == ours.decision_function(X).shape


def test_the_trees_of_boosting_add_up_to_its_scores():
    model = GradientBoostingClassifier(**FIXED).fit(X, WORDS)
    sums = sum(np.column_stack([member.predict(X) for member in line]) for line in model.estimators_)
    np.testing.assert_allclose(sums + model.initial_, model.decision_function(X))
    nodes = model.apply(X)
    for number, line in enumerate(model.estimators_):
        for output, member in enumerate(line):
            np.testing.assert_array_equal(nodes[:, number, output], member.apply(X))
    model = GradientBoostingRegressor(**FIXED).fit(TABLE, NUMBERS)
    assert model.apply(TABLE).shape == (len(TABLE), 6)
    np.testing.assert_allclose(
        sum(line[0].predict(TABLE) for line in model.estimators_) + model.initial_[0], model.predict(TABLE)
    )


def test_an_initial_model_of_numbers_is_where_the_trees_start():
    line = LinearRegression().fit(TABLE, NUMBERS)
    given = GradientBoostingRegressor(**FIXED).fit(TABLE, NUMBERS, init_score=line.predict(TABLE))
    model = GradientBoostingRegressor(init=LinearRegression(), **FIXED).fit(TABLE, NUMBERS)
    np.testing.assert_allclose(model.predict(TABLE), given.predict(TABLE) + line.predict(TABLE))
    np.testing.assert_allclose(list(model.staged_predict(TABLE))[-1], model.predict(TABLE))
    np.testing.assert_allclose(model.init_.predict(TABLE), line.predict(TABLE))
    assert clone(model).init is not model.init
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(TABLE), model.predict(TABLE))
    found = permutation_importance(model, TABLE, NUMBERS, random_state=0)
    assert len(found.importances) == TABLE.shape[1]


def test_a_constant_initial_model_is_the_usual_start():
    for init, loss in ((DummyRegressor(), "squared_error"), (DummyRegressor(strategy="mean"), "poisson")):
        usual = GradientBoostingRegressor(loss=loss, **FIXED).fit(TABLE, NUMBERS)
        model = GradientBoostingRegressor(loss=loss, init=init, **FIXED).fit(TABLE, NUMBERS)
        np.testing.assert_allclose(model.predict(TABLE), usual.predict(TABLE))
    for target in (TWO, WORDS):
        usual = GradientBoostingClassifier(**FIXED).fit(X, target)
        model = GradientBoostingClassifier(init=DummyClassifier(), **FIXED).fit(X, target)
        np.testing.assert_allclose(model.predict_proba(X), usual.predict_proba(X))
    usual = GradientBoostingClassifier(loss="exponential", **FIXED).fit(X, TWO)
    model = GradientBoostingClassifier(loss="exponential", init=DummyClassifier(), **FIXED).fit(X, TWO)
    np.testing.assert_allclose(model.predict_proba(X), usual.predict_proba(X))


def test_zero_is_a_start_from_scores_of_zero():
    for model in (GradientBoostingRegressor(init="zero", **FIXED), GradientBoostingRegressor(**FIXED)):
        scores = None if model.init == "zero" else np.zeros(len(TABLE))
        model.fit(TABLE, NUMBERS, init_score=scores)
        assert model.initial_.tolist() == [0.0]
    np.testing.assert_array_equal(
        GradientBoostingRegressor(init="zero", **FIXED).fit(TABLE, NUMBERS).predict(TABLE), model.predict(TABLE)
    )


def test_an_initial_model_helps_where_trees_cannot_follow():
    line = np.arange(200.0)[:, None]
    target = 3.0 * line[:, 0]
    new = np.array([[500.0]])
    assert GradientBoostingRegressor(init=LinearRegression(), **FIXED).fit(line, target).predict(new) == pytest.approx(
        1500.0, rel=0.01
    )
    assert GradientBoostingRegressor(**FIXED).fit(line, target).predict(new)[0] < 700.0


def test_an_initial_model_reads_tables_with_text_and_takes_weights():
    table = {"kind": ["a", "b", None, "a"] * 20, "size": list(range(80))}
    target = np.arange(80.0)
    weights = np.where(np.arange(80) % 4 == 0, 0.0, 1.0)
    model = GradientBoostingRegressor(init=tw.CARTRegressor(), **FIXED).fit(table, target, sample_weight=weights)
    assert model.score(table, target, sample_weight=weights) > 0.8
    model = GradientBoostingRegressor(init=KNeighborsRegressor(), **FIXED)
    with pytest.raises(ValueError, match="KNeighborsRegressor does not support sample weights"):
        model.fit(TABLE, NUMBERS, sample_weight=NUMBERS)


def test_an_initial_model_is_kept_by_a_warm_start_and_used_for_validation():
    whole = GradientBoostingRegressor(init=LinearRegression(), **FIXED).fit(TABLE, NUMBERS)
    parts = GradientBoostingRegressor(init=LinearRegression(), warm_start=True, **FIXED).set_params(n_estimators=3)
    first = parts.fit(TABLE, NUMBERS).init_
    parts.set_params(n_estimators=6).fit(TABLE, NUMBERS)
    assert parts.init_ is first
    np.testing.assert_allclose(parts.predict(TABLE), whole.predict(TABLE))
    model = GradientBoostingRegressor(init=LinearRegression(), **FIXED)
    model.fit(TABLE[::2], NUMBERS[::2], X_val=TABLE[1::2], y_val=NUMBERS[1::2])
    by_hand = np.mean(0.5 * (model.predict(TABLE[1::2]) - NUMBERS[1::2]) ** 2)
    assert model.validation_loss_.min() == pytest.approx(by_hand)


def test_what_is_no_initial_model_is_refused():
    with pytest.raises(ValueError, match="It is 'one'; give a regressor, 'zero' or None"):
        GradientBoostingRegressor(init="one").fit(TABLE, NUMBERS)
    with pytest.raises(ValueError, match="give a classifier, 'zero' or None"):
        GradientBoostingClassifier(init=PoissonRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="init must have predict_proba"):
        GradientBoostingClassifier(init=LinearSVC()).fit(X, y)
    with pytest.raises(ValueError, match="init and init_score both set the initial scores"):
        GradientBoostingClassifier(init=LogisticRegression()).fit(X, TWO, init_score=np.zeros(len(X)))


@pytest.mark.parametrize("target", [TWO, WORDS])
def test_rounds_and_categories_have_the_names_of_scikit_learn(target):
    coded = np.column_stack([X, np.arange(len(X)) % 3])
    for categorical in (None, [4]):
        ours = GradientBoostingClassifier(**FIXED, categorical_features=categorical).fit(coded, target)
        theirs = ensemble.HistGradientBoostingClassifier(max_iter=6, categorical_features=categorical)
        theirs.fit(coded, target)
        assert (ours.n_iter_, ours.n_trees_per_iteration_) == (theirs.n_iter_, theirs.n_trees_per_iteration_)
        np.testing.assert_array_equal(ours.is_categorical_, theirs.is_categorical_)


def test_a_fall_of_the_loss_below_tol_does_not_count():
    choices = {"n_estimators": 60, "validation_fraction": 0.3, "n_iter_no_change": 4, "random_state": 0}
    rounds = [len(GradientBoostingRegressor(**choices, tol=tol).fit(TABLE, NUMBERS).validation_loss_) for tol in TOLS]
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[-1] == 1 + 4  # no round after the first is better
    model = GradientBoostingRegressor(**choices, tol=TOLS[1]).fit(TABLE, NUMBERS)
    best, waited = model.validation_loss_[0], 0
    for number, loss in enumerate(model.validation_loss_[1:], start=2):
        best, waited = (loss, 0) if loss < best - TOLS[1] else (best, waited + 1)
        assert (waited == 4) == (number == len(model.validation_loss_))
    with pytest.raises(ValueError, match="tol is -1; give a number of 0 or more"):
        GradientBoostingRegressor(tol=-1).fit(TABLE, NUMBERS)


@pytest.mark.parametrize(("given", "fraction"), [(None, 1.0), ("sqrt", 0.3), ("log2", 0.3), (3, 0.3), (1, 0.1)])
def test_columns_of_a_node_are_given_as_in_scikit_learn(given, fraction):
    by_name = GradientBoostingRegressor(**FIXED, max_features=given).fit(TABLE, NUMBERS)
    by_fraction = GradientBoostingRegressor(**FIXED, max_features=fraction).fit(TABLE, NUMBERS)
    np.testing.assert_array_equal(by_name.predict(TABLE), by_fraction.predict(TABLE))


@pytest.mark.parametrize("least", [0.0, 20.0, 100.0, 1e6])
def test_the_least_impurity_decrease_is_that_of_scikit_learn(least):
    table = np.round(TABLE[:, :4], 2)
    shape = {"n_estimators": 1, "learning_rate": 1.0, "max_depth": 3, "min_impurity_decrease": least}
    ours = GradientBoostingRegressor(
        **shape, growth="level", min_samples_leaf=1, l2_regularization=0.0, max_features=None, subsample=1.0
    )
    theirs = ensemble.GradientBoostingRegressor(**shape, random_state=0)
    found, expected = (model.fit(table, NUMBERS).predict(table) for model in (ours, theirs))
    assert len(np.unique(found)) == len(np.unique(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_an_initial_model_needs_no_classes():
    class Half(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.full(len(X), "c")

        def predict_proba(self, X):
            return np.full((len(X), 3), [0.2, 0.3, 0.5])

    model = GradientBoostingClassifier(**FIXED, init=Half()).fit(X, WORDS)
    first = next(iter(model.staged_decision_function(X)))
    trees = np.array([[member.predict(X) for member in line] for line in model.estimators_[:1]])[0].T
    np.testing.assert_allclose(first - trees, np.log([[0.2, 0.3, 0.5]] * len(X)))


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error"])
@pytest.mark.parametrize(("power", "n_estimators"), [(-900, 6), (-600, 6), (400, 6), (-900, "auto"), (400, "auto")])
def test_targets_of_extreme_magnitude_are_learned_like_others(loss, power, n_estimators):
    choices = FIXED | {"n_estimators": n_estimators, "loss": loss, "l2_regularization": 0.0}
    table, numbers = TABLE[:150, :3], np.round(NUMBERS[:150])
    ordinary = GradientBoostingRegressor(**choices).fit(table, numbers)
    scaled = GradientBoostingRegressor(**choices).fit(table, np.ldexp(numbers, power))
    np.testing.assert_allclose(np.ldexp(scaled.predict(table), -power), ordinary.predict(table), rtol=1e-9)
    assert len(np.unique(scaled.predict(table))) > 5
    assert scaled.n_estimators_ == ordinary.n_estimators_


def test_several_targets_and_validation_sets_of_extreme_magnitude_are_learned_like_others():
    several = np.column_stack([NUMBERS, NUMBERS[::-1]])
    fitted = [
        GradientBoostingRegressor(n_estimators=30, n_iter_no_change=3, random_state=0).fit(
            TABLE[:300], y_of[:300], X_val=TABLE[300:], y_val=y_of[300:]
        )
        for y_of in (several, np.ldexp(several, -400))
    ]
    ordinary, scaled = (model.predict(TABLE) for model in fitted)
    np.testing.assert_allclose(np.ldexp(scaled, 400), ordinary, rtol=1e-9)
    losses = [model.validation_loss_ for model in fitted]
    np.testing.assert_allclose(np.ldexp(losses[1], 800), losses[0], rtol=1e-9)


@pytest.mark.parametrize("given", [None, "sqrt", "log2", 0.4, 0.001])
def test_the_number_of_columns_of_a_node_is_that_of_scikit_learn(given):
    ours = GradientBoostingRegressor(n_estimators=2, max_features=given).fit(TABLE, NUMBERS)
    theirs = ensemble.GradientBoostingRegressor(n_estimators=2, max_features=given).fit(TABLE, NUMBERS)
    assert ours.max_features_ == theirs.max_features_


def test_the_trees_of_boosting_have_the_limits_of_their_model():
    model = GradientBoostingRegressor(n_estimators=3, max_depth=2, min_impurity_decrease=0.5).fit(TABLE, NUMBERS)
    limits = {(tree.max_depth, tree.min_impurity_decrease) for tree in model.estimators_.flat}
    assert limits == {(2, 0.5)}
    assert all(tree.get_depth() <= tree.max_depth for tree in model.estimators_.flat)


@pytest.mark.parametrize("library", [tw, ensemble])
def test_rounds_before_samples_were_drawn_have_no_improvement_out_of_bag(library):
    options = {"train_score": True} if library is tw else {}
    model = library.GradientBoostingClassifier(n_estimators=5, warm_start=True, random_state=0, **options).fit(X, y)
    assert not hasattr(model, "oob_improvement_")
    model.set_params(n_estimators=8, subsample=0.5).fit(X, y)
    for line in (model.oob_improvement_, model.oob_scores_):
        np.testing.assert_array_equal(line == 0.0, [True] * 5 + [False] * 3)
    assert len(model.train_score_) == 8
    assert model.oob_score_ == model.oob_scores_[-1]


def test_rounds_after_the_best_one_are_counted_in_n_iter():
    choices = {"n_estimators": 60, "validation_fraction": 0.3, "n_iter_no_change": 4, "random_state": 0}
    model = GradientBoostingRegressor(**choices).fit(TABLE, NUMBERS)
    assert model.n_iter_ == len(model.validation_loss_) >= model.n_estimators_
    model.set_params(n_iter_no_change=1000).fit(TABLE, NUMBERS)
    assert model.n_iter_ == 60 >= model.n_estimators_ == model.best_iteration_
    assert GradientBoostingRegressor(n_estimators=5).fit(TABLE, NUMBERS).n_iter_ == 5


def test_a_monitor_sees_the_model_after_each_round_and_ends_it() -> None:
    seen = []

    def monitor(number: int, model: Any, variables: dict[str, Any]) -> bool:
        seen.append((number, model.predict(X), variables))
        return number == 3

    model = GradientBoostingClassifier(n_estimators=10, random_state=0, train_score=True).fit(X, TWO, monitor=monitor)
    peer = ensemble.GradientBoostingClassifier(n_estimators=10).fit(X, TWO, monitor=lambda number, *_: number == 3)
    assert len(model.train_score_) == len(peer.train_score_) == model.n_estimators_ == len(seen) == 4
    for (number, predicted, variables), stage in zip(seen, model.staged_predict(X), strict=True):
        np.testing.assert_array_equal(predicted, stage)
        assert (number < 4, variables) == (True, {})
    with pytest.raises(TypeError, match="has no argument 'monitor' as scikit-learn; only boosting"):
        tw.RandomForestClassifier().fit(X, TWO, monitor=monitor)


def test_trees_keep_the_limits_of_the_fit_that_grew_them() -> None:
    choices = {"n_estimators": 3, "max_depth": 1, "random_state": 0, "warm_start": True}
    ours = GradientBoostingRegressor(**choices).fit(TABLE, NUMBERS)
    theirs = ensemble.GradientBoostingRegressor(**choices).fit(TABLE, NUMBERS)
    for model in (ours, theirs):
        model.set_params(n_estimators=5, max_depth=2).fit(TABLE, NUMBERS)
    depths = [[member.max_depth for member in model.estimators_[:, 0]] for model in (ours, theirs)]
    assert depths[0] == depths[1] == [1, 1, 1, 2, 2]
    assert [member.tree_.depth for member in ours.estimators_[:, 0]] == depths[0]


@pytest.mark.filterwarnings("ignore:the loss is called as plain Python")
def test_loss_objects_of_scikit_learn_are_losses() -> None:
    ours = GradientBoostingRegressor(**FIXED, loss=HalfSquaredError(sample_weight=None)).fit(TABLE, NUMBERS)
    same = GradientBoostingRegressor(**FIXED, loss="squared_error").fit(TABLE, NUMBERS)
    np.testing.assert_allclose(ours.predict(TABLE), same.predict(TABLE), rtol=1e-3)

    def binomial(score: float, target: float) -> tuple[float, float]:
        share = 1.0 / (1.0 + np.exp(-score))
        return share - target, share * (1.0 - share)

    ours = GradientBoostingClassifier(**FIXED, loss=HalfBinomialLoss(sample_weight=None)).fit(X, TWO)
    same = GradientBoostingClassifier(**FIXED, loss=binomial).fit(X, TWO)
    np.testing.assert_allclose(ours.predict_proba(X), same.predict_proba(X), atol=1e-3)
    three = GradientBoostingClassifier(**FIXED, loss=HalfMultinomialLoss(sample_weight=None, n_classes=3))
    assert three.fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("verbose", [1, 2])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_verbose_prints_the_rounds_that_scikit_learn_prints(
    verbose: int, subsample: float, capsys: pytest.CaptureFixture[str]
) -> None:
    choices = {"n_estimators": 23, "learning_rate": 0.1, "subsample": subsample, "verbose": verbose, "random_state": 0}
    printed = []
    for learner in (GradientBoostingRegressor, ensemble.GradientBoostingRegressor):
        model = learner(**choices).fit(TABLE, NUMBERS)
        printed.append([line.rstrip() for line in capsys.readouterr().out.splitlines()])
        losses = [float(line.split()[1]) for line in printed[-1][1:]]
        rounds = [int(line.split()[0]) - 1 for line in printed[-1][1:]]
        np.testing.assert_allclose(losses, model.train_score_[rounds], atol=1e-4)
    assert printed[0][0] == printed[1][0]
    assert [line[:10] for line in printed[0]] == [line[:10] for line in printed[1]]
    assert [len(line) for line in printed[0]] == [len(line) for line in printed[1]]
