"""Columns of many categories with target encoding."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import TargetEncoder

from treewright import GradientBoostingClassifier, GradientBoostingRegressor
from treewright.encoding.target_encoding import fit_target_encoding, means_of_other_folds, smoothed_means
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


def test_no_row_is_encoded_by_its_own_target():
    categories, y = drawn(300, 30, 1.0)
    fold = np.arange(300) % 10
    before = means_of_other_folds(categories, y[:, None], np.ones(300), 31, fold)
    y[7] += 1000.0
    after = means_of_other_folds(categories, y[:, None], np.ones(300), 31, fold)
    np.testing.assert_array_equal(after[fold == fold[7]], before[fold == fold[7]])
    assert (after != before).any()


@pytest.mark.parametrize(("n_categories", "n_rows", "n_seen"), [(5, 2000, 1), (40, 2000, 2), (2000, 3000, 1)])
def test_columns_are_kept_beside_their_means_if_there_are_rows_enough(n_categories, n_rows, n_seen):
    categories, y = np.arange(n_rows) % n_categories, np.random.default_rng(0).normal(size=n_rows)
    column = Column("kind", Kind.CATEGORICAL, tuple(map(str, range(n_categories))))
    statistics, seen = fit_target_encoding((column,), categories[:, None].astype(float), {"y": y}, np.ones(n_rows))
    assert len(statistics.columns) == seen.shape[1] == n_seen
    assert statistics.origin.tolist() == [0] * n_seen


@pytest.mark.parametrize(("n_categories", "n_parts"), [(256, 2), (700, 3), (254 * 40, 32)])
def test_more_categories_than_a_byte_holds_are_encoded_in_parts(n_categories, n_parts):
    random = np.random.default_rng(0)
    categories = random.permutation(np.repeat(np.arange(n_categories), random.integers(6, 9, n_categories)))
    values = np.column_stack([np.zeros(len(categories)), categories.astype(float)])
    values[7, 1] = np.nan
    names = tuple(f"c{k}" for k in range(n_categories))
    columns = (Column("number", Kind.NUMERIC), Column("kind", Kind.CATEGORICAL, names))
    statistics, seen = fit_target_encoding(
        columns, values, {"y": random.normal(size=len(values))}, np.ones(len(values))
    )
    parts, encoded = statistics.columns[2:], seen[:, 2:]
    assert len(parts) == n_parts == len({part.name for part in parts})
    assert statistics.origin.tolist() == [0, 1] + [1] * n_parts
    assert np.isnan(encoded[7]).all()
    found: set[object] = set()
    for part, codes in zip(parts, encoded.T, strict=True):
        assert len(part.categories) <= 255
        for row in random.choice(np.flatnonzero(np.isfinite(codes)), 200):
            name = part.categories[int(codes[row])]
            assert name == names[categories[row]] or name == "(any other)"
        own = set(part.categories[:-1])
        assert part.categories[-1] == "(any other)"
        assert not own & found
        found |= own
    assert len(found) >= min(n_categories - 1, 254 * n_parts)
    unknown = np.array([[0.0, -1.0], [0.0, np.nan]])
    assert np.isnan(statistics.apply(unknown)[:, 2:]).all()
    np.testing.assert_array_equal(statistics.apply(values[20:40])[:, 2:], encoded[20:40])


def test_categories_have_codes_by_how_common_they_are():
    rows = np.arange(600)
    values = np.repeat(rows, rows // 2)[:, None].astype(float)
    column = Column("kind", Kind.CATEGORICAL, tuple(map(str, rows)))
    statistics, _ = fit_target_encoding((column,), values, {"y": values[:, 0]}, np.ones(len(values)))
    commonest, next_ones, rare = (set(part.categories[:-1]) for part in statistics.columns[1:])
    assert commonest == {str(k) for k in range(346, 600)}
    assert next_ones == {str(k) for k in range(92, 346)}
    assert rare == {str(k) for k in range(10, 92)}


@pytest.mark.slow
@pytest.mark.parametrize("classifies", [False, True])
def test_hundreds_of_categories_can_be_grouped_where_their_means_tell_nothing(classifies):
    """A slope for each of 600 categories: the mean of the target is the same in all of them."""
    random = np.random.default_rng(0)
    kind, slope = random.integers(0, 600, 30_000), random.choice([-1.0, 1.0], 600)
    x = random.normal(size=30_000)
    y = slope[kind] * x + 0.3 * random.normal(size=30_000)
    X = {"x": x, "kind": [f"k{code}" for code in kind]}
    learner = GradientBoostingClassifier if classifies else GradientBoostingRegressor
    y = (y > 0) if classifies else y
    model = learner(n_estimators=100, random_state=0)
    model.fit({name: column[:20_000] for name, column in X.items()}, y[:20_000])
    # Without knowing the category, 0.5 of the classes and nothing of the numbers could be told.
    new = {name: column[20_000:] for name, column in X.items()}
    assert model.score(new, y[20_000:]) > (0.85 if classifies else 0.7)
    assert model.feature_importances_[1] > 0.3


@pytest.mark.slow
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
    assert model.validation_loss_.min() > 0.97 * 0.5 * y.var()
    assert model.n_estimators_ < 30


def test_rounds_are_not_added_to_a_model_with_other_codes():
    """Which categories have codes depends on the rows."""
    random = np.random.default_rng(0)
    names = [f"k{code}" for code in range(600)]
    kind = random.permutation(np.repeat(np.arange(600), np.arange(600) // 10))
    other = np.where(kind < 300, kind + 300, kind - 300)
    x, y = random.normal(size=len(kind)), np.zeros(len(kind))
    y[:2] = 1.0, -1.0
    first = {"kind": [*names, *(names[code] for code in kind)], "x": [*np.zeros(600), *x]}
    second = {"kind": [*names, *(names[code] for code in other)], "x": [*np.zeros(600), *x]}
    model = GradientBoostingRegressor(n_estimators=2, warm_start=True).fit(first, [*np.zeros(600), *y])
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_estimators=4).fit(second, [*np.zeros(600), *y])
    model.fit(first, [*np.zeros(600), *y])
    assert model.n_estimators_ == 4
