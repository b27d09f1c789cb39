"""Bayesian averaging against its formula worked out by hand, against known answers, and on tables as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from expected_failures import FOLDS, NO_WEIGHTS
from sample_tables import NEW_COLOURS_AND_SIZES as NEW
from sample_tables import colours_and_sizes, targets_of_colours_and_sizes
from table_forms import FORMS, LIBRARIES
from treewright import DecisionTreeClassifier, DecisionTreeRegressor, datasets
from treewright.estimators.meta.averaging import (
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    posterior_weights,
    read_prior,
)
from treewright.insight.diversity import diversity

BAYES = ("bayes", make_pipeline(StandardScaler(), GaussianNB()))
LINE = ("line", make_pipeline(StandardScaler(), LogisticRegression()))


def test_plain_weights_are_prior_times_likelihood() -> None:
    chances = np.array([[0.9, 0.5, 0.2], [0.8, 0.5, 0.9], [0.3, 0.5, 0.6]])
    prior = np.array([0.2, 0.3, 0.5])
    product = prior * chances.prod(axis=0)
    np.testing.assert_allclose(posterior_weights(np.log(chances), prior, bootstrap=False), product / product.sum())


def test_bootstrapped_weights_are_the_mean_over_dirichlet_samples() -> None:
    random = np.random.default_rng(5)
    by_row = np.log(random.uniform(0.2, 0.9, size=(30, 3)))
    samples = random.dirichlet(np.ones(30), size=40_000) * 30
    expected = np.exp(samples @ by_row)
    expected /= expected.sum(axis=1, keepdims=True)
    prior = np.full(3, 1 / 3)
    np.testing.assert_allclose(posterior_weights(by_row, prior), expected.mean(axis=0), atol=0.03)


def test_members_that_the_data_cannot_tell_apart_share_the_weight() -> None:
    """Two members that are better on rows of their own: the plain product bets on chance, the bootstrap does not."""
    random = np.random.default_rng(1)
    by_row = random.normal(scale=1.0, size=(2000, 2))
    prior = np.array([0.5, 0.5])
    assert posterior_weights(by_row, prior, bootstrap=False).max() > 0.999
    assert posterior_weights(by_row, prior).max() < 0.95


def test_a_member_without_prior_gets_no_weight() -> None:
    by_row = np.log([[0.9, 0.1]] * 5)
    assert posterior_weights(by_row, read_prior([0, 1], ["a", "b"])).tolist() == [0.0, 1.0]


def test_log_likelihoods_are_those_of_rows_left_out() -> None:
    X, y = load_iris(return_X_y=True)
    cv = StratifiedKFold(4)
    model = BayesianAveragingClassifier([BAYES, LINE], cv=cv, approximation="plain").fit(X, y)
    for (_, member), found in zip((BAYES, LINE), model.posterior_.log_likelihoods, strict=True):
        shares = cross_val_predict(member, X, y, cv=cv, method="predict_proba")[np.arange(150), y]
        assert found == pytest.approx(np.log((150 * shares + 1 / 3) / 151).sum())
    odds = math.exp(model.posterior_.log_likelihoods[0] - model.posterior_.log_likelihoods[1])
    assert model.weights_[0] == pytest.approx(odds / (1 + odds))
    expected = np.tensordot(model.weights_, [member.predict_proba(X) for member in model.estimators_], axes=1)
    np.testing.assert_allclose(model.predict_proba(X), expected)


def test_a_prior_moves_the_odds_by_its_own() -> None:
    X, y = load_iris(return_X_y=True)
    even = BayesianAveragingClassifier([BAYES, LINE], approximation="plain").fit(X, y).weights_
    weights = BayesianAveragingClassifier([BAYES, LINE], prior={"bayes": 4}, approximation="plain").fit(X, y).weights_
    assert weights[0] / weights[1] == pytest.approx(4 * even[0] / even[1])


def test_a_member_without_probabilities_is_taken_to_err_at_random() -> None:
    X, y = load_iris(return_X_y=True)
    svm = make_pipeline(StandardScaler(), SVC())
    model = BayesianAveragingClassifier([("svm", svm)], cv=StratifiedKFold(5)).fit(X, y)
    wrong = (cross_val_predict(svm, X, y, cv=StratifiedKFold(5)) != y).sum()
    error = (wrong + 1) / 152
    chances = [(150 * share + 1 / 3) / 151 for share in (1 - error, error / 2)]
    expected = (150 - wrong) * math.log(chances[0]) + wrong * math.log(chances[1])
    assert model.posterior_.log_likelihoods[0] == pytest.approx(expected)
    shares = model.predict_proba(X[:1])[0]
    assert sorted(shares) == pytest.approx([error / 2, error / 2, 1 - error])


def test_numbers_are_judged_by_normal_densities() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 2))
    y = X @ [1.0, 2.0] + random.normal(scale=0.5, size=80)
    members = [("line", make_pipeline(LinearRegression())), ("tree", DecisionTreeRegressor(max_depth=2))]
    model = BayesianAveragingRegressor(members, cv=4).fit(X, y)
    for (_, member), found in zip(members, model.posterior_.log_likelihoods, strict=True):
        errors = y - cross_val_predict(member, X, y, cv=4)
        spread = math.sqrt(np.mean(errors**2))
        assert found == pytest.approx(stats.norm.logpdf(errors, scale=spread).sum())
    answers = np.array([member.predict(X) for member in model.estimators_])
    np.testing.assert_allclose(model.predict(X), model.weights_ @ answers)


def test_the_deviation_covers_new_numbers_as_often_as_it_should() -> None:
    random = np.random.default_rng(4)
    X = random.normal(size=(2000, 2))
    y = X @ [1.0, 2.0] + random.normal(scale=0.5, size=2000)
    model = BayesianAveragingRegressor([("line", LinearRegression()), ("ridge", Ridge())]).fit(X[:1000], y[:1000])
    mean, deviation = model.predict(X[1000:], return_std=True)
    covered = np.mean(np.abs(y[1000:] - mean) < 1.96 * deviation)
    assert covered == pytest.approx(0.95, abs=0.02)


def test_weight_goes_to_the_member_that_knows() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    y = X[:, 0] > 0
    members = [("tree", DecisionTreeClassifier(max_depth=1)), ("noise", DecisionTreeClassifier(max_depth=0))]
    model = BayesianAveragingClassifier(members).fit(X, y)
    assert model.weights_[0] > 0.99
    assert model.score(X, y) > 0.98


def test_one_perfect_row_does_not_decide() -> None:
    """A full tree answers with shares of 0 and 1; one row that it gets wrong leaves it some weight."""
    X, y = load_iris(return_X_y=True)
    model = BayesianAveragingClassifier([("full", DecisionTreeClassifier()), BAYES]).fit(X, y)
    assert np.isfinite(model.posterior_.log_likelihoods).all()
    assert model.weights_.sum() == pytest.approx(1.0)


@cache
def models_of_columns() -> tuple[Any, Any]:
    """A classifier and a regressor that were fitted to a dict of columns."""
    table = colours_and_sizes(90)
    classes, numbers = targets_of_colours_and_sizes(table)
    return BayesianAveragingClassifier(cv=2).fit(table, classes), BayesianAveragingRegressor(cv=2).fit(table, numbers)


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_default_set_reads_mixed_tables_of_every_library(library: str) -> None:
    table = colours_and_sizes(90)
    classes, numbers = targets_of_colours_and_sizes(table)
    make = FORMS[library]
    models = [models_of_columns()[0], BayesianAveragingClassifier(cv=2).fit(make(table), classes)]
    np.testing.assert_allclose(models[0].weights_, models[1].weights_)
    np.testing.assert_allclose(models[0].predict_proba(NEW), models[1].predict_proba(make(NEW)))
    regressors = [models_of_columns()[1], BayesianAveragingRegressor(cv=2).fit(make(table), numbers)]
    np.testing.assert_allclose(regressors[0].predict(NEW), regressors[1].predict(make(NEW)))


@pytest.mark.slow
def test_the_posterior_prints_as_a_table_and_diversity_decomposes() -> None:
    orchard = datasets.load_orchard()
    model = BayesianAveragingClassifier().fit(orchard.X, orchard.y)
    lines = str(model.posterior_).splitlines()
    assert lines[0].split() == ["member", "prior", "log", "likelihood", "weight"]
    assert [line.split()[0] for line in lines[1:]] == ["nearest", "tree", "svm"]
    assert diversity(model, orchard.X, orchard.y).names == ("nearest", "tree", "svm")
    numbers = np.arange(len(orchard.y)) % 17 + 0.0
    regressor = BayesianAveragingRegressor().fit(orchard.X, numbers)
    found = diversity(regressor, orchard.X, numbers)
    assert found.joint_error == pytest.approx(found.mean_error - found.ambiguity)


@pytest.mark.slow
def test_two_rows_and_rare_classes_are_learned() -> None:
    assert BayesianAveragingClassifier().fit([[1.0], [2.0]], ["a", "b"]).predict([[0.0]]).shape == (1,)
    assert BayesianAveragingRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).predict([[1.0]]).shape == (1,)
    X, y = load_iris(return_X_y=True)
    y[0] = 7
    assert BayesianAveragingClassifier().fit(X, y).predict_proba(X).shape == (150, 4)


def test_weights_of_rows_count_in_the_likelihood() -> None:
    X, y = load_iris(return_X_y=True)
    members = [("tree", DecisionTreeClassifier(max_depth=1)), ("bayes", GaussianNB())]
    weights = np.where(y == 1, 5.0, 1.0)
    model = BayesianAveragingClassifier(members).fit(X, y, weights)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y, weights)
    np.testing.assert_allclose(model.estimators_[0].predict_proba(X), tree.predict_proba(X))
    assert model.posterior_.log_likelihoods[1] > model.posterior_.log_likelihoods[0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"approximation": "exact"}, "approximation is 'exact'; give 'bootstrap' or 'plain'"),
        ({"prior": [1, 2]}, "give a number for each of the 3 members"),
        ({"prior": [1, -2, 1]}, "prior is .*; give numbers of 0 or more"),
        ({"prior": {"forest": 2}}, "prior names 'forest', but the members are 'nearest', 'tree', 'svm'"),
    ],
)
def test_a_parameter_that_makes_no_sense_gets_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        BayesianAveragingClassifier(**options).fit([[1], [2], [3], [4]], [0, 1, 1, 0])


SMALL_SETS = [
    BayesianAveragingClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=4))]),
    BayesianAveragingRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=4))]),
]


@pytest.mark.slow
@parametrize_with_checks(SMALL_SETS, expected_failed_checks=lambda model: FOLDS)
def test_averaging_passes_the_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.soak
@parametrize_with_checks(
    [BayesianAveragingClassifier(), BayesianAveragingRegressor()],
    expected_failed_checks=lambda model: NO_WEIGHTS,
)
def test_the_default_set_passes_them_too(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
