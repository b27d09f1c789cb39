"""Columns of many categories told by means of the target."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import TargetEncoder

from treewright import GradientBoostingClassifier, GradientBoostingRegressor
from treewright.ensembles.category_statistics import learn_statistics, means_of_other_folds, smoothed_means
from treewright.table.column import Column, Kind


def drawn(n_rows: int, n_categories: int, spread: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    categories = random.integers(0, n_categories, n_rows)
    return categories, spread * random.normal(size=n_categories)[categories] + random.normal(size=n_rows)


def test_means_are_about_those_of_scikit_learn_where_categories_have_many_rows():
    categories, y = drawn(20_000, 20, 1.0)
    ours = smoothed_means(categories, y[:, None], np.ones(len(y)), 20)[:, 0]
    theirs = TargetEncoder(target_type="continuous").fit(categories[:, None], y).encodings_[0]
    np.testing.assert_allclose(ours, theirs, atol=0.01)


def test_the_means_of_a_column_that_tells_nothing_are_all_about_the_same():
    categories, y = drawn(5000, 1000, 0.0)
    means = smoothed_means(categories, y[:, None], np.ones(len(y)), 1001)
    assert means.std() < 0.05
    telling = smoothed_means(
        *[part[:, None] if place else part for place, part in enumerate(drawn(5000, 1000, 2.0))], np.ones(5000), 1001
    )
    assert telling.std() > 1.0


def test_the_scale_of_weights_does_not_matter():
    categories, y = drawn(200, 9, 1.0)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    means = smoothed_means(categories, y[:, None], weights, 10)
    np.testing.assert_allclose(smoothed_means(categories, y[:, None], 1e-3 * weights, 10), means)
    assert means.std() > 0.5


def test_no_row_is_told_by_its_own_target():
    categories, y = drawn(300, 30, 1.0)
    fold = np.arange(300) % 10
    before = means_of_other_folds(categories, y[:, None], np.ones(300), 31, fold)
    y[7] += 1000.0
    after = means_of_other_folds(categories, y[:, None], np.ones(300), 31, fold)
    np.testing.assert_array_equal(after[fold == fold[7]], before[fold == fold[7]])
    assert (after != before).any()


@pytest.mark.parametrize(("n_categories", "n_seen"), [(5, 1), (40, 2), (700, 1)])
def test_columns_are_kept_beside_their_means_if_a_byte_can_tell_them(n_categories, n_seen):
    categories, y = drawn(2000, n_categories, 1.0)
    column = Column("kind", Kind.CATEGORICAL, tuple(map(str, range(n_categories))))
    statistics, seen = learn_statistics((column,), categories[:, None].astype(float), {"y": y}, np.ones(2000))
    assert len(statistics.columns) == seen.shape[1] == n_seen
    assert statistics.origin.tolist() == [0] * n_seen


@pytest.mark.parametrize("classifies", [False, True])
def test_many_categories_that_tell_are_learned_and_those_that_do_not_are_left_alone(classifies):
    random = np.random.default_rng(0)
    shop, effect = random.integers(0, 400, 6000), random.normal(size=400)
    hidden = effect[shop] + 0.5 * random.normal(size=6000)
    X = {"shop": [f"s{k}" for k in shop], "clerk": [f"c{k}" for k in random.integers(0, 900, 6000)]}
    y = np.digitize(hidden, [-0.5, 0.5]) if classifies else hidden
    learner = GradientBoostingClassifier if classifies else GradientBoostingRegressor
    new = {name: column[4000:] for name, column in X.items()}
    model = learner(random_state=0).fit({name: column[:4000] for name, column in X.items()}, y[:4000])
    assert model.score(new, y[4000:]) > 0.6
    assert model.feature_importances_.shape == (2,)
    assert model.feature_importances_[0] > 0.8
    unknown = model.predict({"shop": ["new"], "clerk": ["new"]})
    np.testing.assert_array_equal(unknown, model.predict({"shop": [None], "clerk": [None]}))


def test_the_choice_of_rounds_is_not_fooled_by_means_of_mere_noise():
    random = np.random.default_rng(0)
    noise = {name: [f"c{k}" for k in random.integers(0, 100, 1500)] for name in ("first", "second")}
    y = random.normal(size=1500)
    model = GradientBoostingRegressor(random_state=0).fit(noise, y)
    assert model.history_.min() > 0.97 * 0.5 * y.var()
    assert model.n_estimators_ < 30
