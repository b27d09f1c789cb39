"""A Generator of NumPy as random_state, for every learner that has one."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import treewright
from treewright import permutation_importance

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(120, 5)).round(1)
NUMBERS = X[:, 0] + X[:, 1] ** 2 + RANDOM.normal(size=120)

OPTIONS = {
    "n_estimators": 3,
    "splitter": "random",
    "max_features": 2,
    "subsample": 0.5,
    "growth": "best",
    "min_samples_leaf": 3,
}


def random_learners() -> list[type]:
    found = [getattr(treewright, name) for name in treewright.__all__ if name.endswith(("Classifier", "Regressor"))]
    return [one for one in found if "random_state" in inspect.signature(one).parameters]


def build(learner: type, random_state: Any) -> Any:
    known = inspect.signature(learner).parameters
    options = {name: value for name, value in OPTIONS.items() if name in known}
    if learner.__name__.startswith("GradientBoosting"):
        options["max_features"] = 0.5
    return learner(**options, random_state=random_state)


@pytest.mark.parametrize("learner", random_learners())
def test_a_generator_makes_a_model_reproducible(learner: type) -> None:
    y = NUMBERS if learner.__name__.endswith("Regressor") else (NUMBERS > 1.0).astype(int)
    models = [build(learner, np.random.default_rng(seed)) for seed in (1, 1)]
    copied = clone(models[0])
    assert isinstance(copied.random_state, np.random.Generator)
    predictions = [model.fit(X, y).predict(X) for model in (*models, copied)]
    np.testing.assert_array_equal(predictions[0], predictions[1])
    np.testing.assert_array_equal(predictions[0], predictions[2])


def test_a_generator_advances_and_a_number_does_not() -> None:
    generator = np.random.default_rng(1)
    model = treewright.RandomForestRegressor(3, random_state=generator)
    first, second = model.fit(X, NUMBERS).predict(X), model.fit(X, NUMBERS).predict(X)
    assert (first != second).any()
    model = treewright.RandomForestRegressor(3, random_state=1)
    np.testing.assert_array_equal(model.fit(X, NUMBERS).predict(X), model.fit(X, NUMBERS).predict(X))


def test_importances_take_a_generator() -> None:
    model = treewright.DecisionTreeRegressor(max_depth=3).fit(X, NUMBERS)
    found = [permutation_importance(model, X, NUMBERS, random_state=np.random.default_rng(0)) for _ in range(2)]
    np.testing.assert_array_equal(found[0].importances, found[1].importances)


def test_what_is_no_random_state_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be used to seed"):
        treewright.DecisionTreeClassifier(random_state="chance").fit(X, NUMBERS > 1.0)
