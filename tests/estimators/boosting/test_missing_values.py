"""Missing values and categories that boosting meets only after training."""

from __future__ import annotations

import numpy as np
import pytest

from treewright import GradientBoostingClassifier, GradientBoostingRegressor
from treewright.estimators.boosting import rounds

GROWTHS = ("best", "level", "oblivious")


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("n_categories", [5, pytest.param(30, marks=pytest.mark.slow), 400])
def test_unseen_categories_and_missing_values_are_answered_like_most_rows(growth, n_categories):
    random = np.random.default_rng(n_categories)
    effect, kind, x = (
        random.normal(0, 10, n_categories),
        random.integers(0, n_categories, 4000),
        random.normal(size=4000),
    )
    y = effect[kind] + x + random.normal(size=4000)
    model = GradientBoostingRegressor(growth=growth, n_estimators=200, random_state=0)
    model.fit({"kind": [f"k{code}" for code in kind], "x": x}, y)
    unseen, missing = model.predict({"kind": ["never", None], "x": [0.0, 0.0]})
    assert unseen == missing
    assert abs(missing - y.mean()) < y.std()


@pytest.mark.parametrize("growth", GROWTHS)
def test_a_missing_value_in_a_number_that_had_none_is_answered_like_most_rows(growth):
    random = np.random.default_rng(0)
    x, z = random.normal(size=(2, 4000))
    y = 10 * x + z + random.normal(size=4000)
    model = GradientBoostingRegressor(growth=growth, n_estimators=200, random_state=0).fit({"x": x, "z": z}, y)
    assert abs(model.predict({"x": [None], "z": [0.0]})[0] - y.mean()) < y.std()
    model = GradientBoostingClassifier(growth=growth, n_estimators=100, random_state=0).fit({"x": x, "z": z}, y > 0)
    assert 0.1 < model.predict_proba({"x": [None], "z": [0.0]})[0, 1] < 0.9


@pytest.mark.parametrize("growth", GROWTHS)
def test_missing_values_go_to_the_heavier_side_of_the_only_split(growth):
    x = np.repeat([1.0, 2.0, 3.0], [20, 20, 10])
    y = np.where(x == 3.0, 5.0, 0.0)
    options = {"growth": growth, "n_estimators": 1, "max_depth": 1, "learning_rate": 1.0, "l2_regularization": 0.0}
    model = GradientBoostingRegressor(**options).fit({"x": x}, y)
    np.testing.assert_allclose(model.predict({"x": [None, 3.0, 1.0]}), [0.0, 5.0, 0.0], atol=1e-12)
    model = GradientBoostingRegressor(**options).fit({"x": -x}, y)
    np.testing.assert_allclose(model.predict({"x": [None, -3.0, -1.0]}), [0.0, 5.0, 0.0], atol=1e-12)
    words = [f"w{value:.0f}" for value in x]
    for sign in (1.0, -1.0):
        model = GradientBoostingRegressor(**options).fit({"x": words}, sign * y)
        np.testing.assert_allclose(
            model.predict({"x": ["w9", None, "w3", "w1"]}), sign * np.array([0, 0, 5, 0]), atol=1e-12
        )


@pytest.mark.slow
@pytest.mark.parametrize("by", ["validation", "share"])
def test_rows_to_judge_by_choose_the_shape_as_well(by):
    """A sum of columns suits oblivious trees; with a given number of rounds and nothing to judge by, none is tried."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 8))
    y = np.sin(X).sum(axis=1) + random.normal(size=3000)
    model = GradientBoostingRegressor(n_estimators=150, random_state=0)
    assert model.fit(X[:2000], y[:2000]).shape_.growth == "best"
    plain = model.score(X[2500:], y[2500:])
    if by == "validation":
        model.fit(X[:2000], y[:2000], X_val=X[2000:2500], y_val=y[2000:2500])
    else:
        model.set_params(validation_fraction=0.2).fit(X[:2000], y[:2000])
    assert model.shape_.growth == "oblivious"
    assert model.validation_loss_.argmin() + 1 == model.n_estimators_
    assert model.score(X[2500:], y[2500:]) > plain
    model.set_params(growth="best", subsample=1.0, max_features=1.0)
    assert model.fit(X[:2000], y[:2000]).shape_.growth == "best"


@pytest.mark.parametrize("keeps", [True, False])
def test_an_interrupt_while_a_second_shape_is_tried_keeps_the_first(monkeypatch, keeps):
    """The second shape has no round yet, so there is nothing of it to keep."""
    n_fits, add = [0], rounds.Rounds.add

    def interrupted(each, number):
        n_fits[0] += number == 0
        if n_fits[0] == 2:
            raise KeyboardInterrupt
        return add(each, number)

    monkeypatch.setattr(rounds.Rounds, "add", interrupted)
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = GradientBoostingRegressor(n_estimators=20, random_state=0, keep_on_interrupt=keeps)
    if not keeps:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:200], X[:200, 0], X_val=X[200:], y_val=X[200:, 0])
        assert not hasattr(model, "forests_")
        return
    model.fit(X[:200], X[:200, 0], X_val=X[200:], y_val=X[200:, 0])
    assert model.shape_.growth == "best"
    assert model.n_estimators_ == model.validation_loss_.argmin() + 1 > 10
