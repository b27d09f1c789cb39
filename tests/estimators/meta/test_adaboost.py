"""AdaBoost against scikit-learn's, against figures worked out by hand, and on tables as they are."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import ensemble as scikit
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from expected_failures import weight_equivalence
from sample_tables import NEW_COLOURS_AND_SIZES as NEW
from sample_tables import colours_and_sizes
from table_forms import WITH_NAMES
from treewright import C45Classifier, DecisionTreeClassifier, DecisionTreeRegressor, OneRClassifier, datasets
from treewright.estimators.meta.adaboost import AdaBoostClassifier, AdaBoostRegressor


class Recorder(scikit.AdaBoostClassifier):
    """scikit-learn's, with the weights that it hands from stage to stage written down."""

    def _boost(self, iboost: int, X: Any, y: Any, sample_weight: Any, *rest: Any) -> Any:
        written = self.__dict__.setdefault("written", [])
        written.append(sample_weight.copy())
        return super()._boost(iboost, X, y, sample_weight, *rest)


def make_classes(n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose values scikit-learn's trees, which keep four bytes of each, do not round."""
    X, y = make_classification(
        600, 8, n_informative=6, n_redundant=0, n_classes=n_classes, class_sep=0.8, random_state=seed
    )
    return X.astype(np.float32).astype(np.float64), y


def check_stages(ours: AdaBoostClassifier, theirs: Recorder) -> None:
    n_stages = len(theirs.estimators_)
    assert len(ours.stages_) == n_stages
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[:n_stages], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_[:n_stages], rtol=0, atol=1e-9)
    for stage, weights in zip(ours.stages_, theirs.written[1:], strict=False):
        np.testing.assert_allclose(stage.weights, weights, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("learning_rate", [0.3, 1.0])
def test_stumps_of_scikit_learn_give_its_weights_errors_and_answers(n_classes: int, learning_rate: float) -> None:
    X, y = make_classes(n_classes)
    options = {"n_estimators": 40, "learning_rate": learning_rate, "random_state": 3}
    ours = AdaBoostClassifier(TheirClassifier(max_depth=1), **options).fit(X, y)
    theirs = Recorder(TheirClassifier(max_depth=1), **options).fit(X, y)
    check_stages(ours, theirs)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(list(ours.staged_score(X, y)), list(theirs.staged_score(X, y)), atol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)
    for our_stage, their_stage in zip(ours.staged_predict_proba(X), theirs.staged_predict_proba(X), strict=True):
        np.testing.assert_allclose(our_stage, their_stage, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_our_stumps_give_the_weights_and_errors_of_scikit_learn(n_classes: int) -> None:
    X, y = make_classes(n_classes, seed=5)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    ours = AdaBoostClassifier(n_estimators=30).fit(X, y, sample_weight=weights)
    theirs = Recorder(n_estimators=30, random_state=0).fit(X, y, sample_weight=weights)
    check_stages(ours, theirs)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("base", [TheirRegressor(max_depth=3), Ridge()], ids=str)
def test_numbers_are_boosted_as_scikit_learn_does(loss: str, base: Any) -> None:
    X, y = make_regression(300, 5, noise=10.0, random_state=2)
    X = X.astype(np.float32).astype(np.float64)
    options = {"n_estimators": 20, "loss": loss, "learning_rate": 0.7, "random_state": 4}
    ours = AdaBoostRegressor(base, **options).fit(X, y)
    theirs = scikit.AdaBoostRegressor(base, **options).fit(X, y)
    n_stages = len(theirs.estimators_)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[:n_stages], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_[:n_stages], rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    np.testing.assert_allclose(list(ours.staged_score(X, y)), list(theirs.staged_score(X, y)), atol=1e-9)


def test_our_trees_are_boosted_as_those_of_scikit_learn_where_no_splits_tie() -> None:
    X, y = make_regression(3000, 5, noise=10.0, random_state=2)
    X = X.astype(np.float32).astype(np.float64)
    ours = AdaBoostRegressor(n_estimators=5, random_state=4).fit(X, y)
    theirs = scikit.AdaBoostRegressor(n_estimators=5, random_state=4).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_three_rounds_of_ten_points_are_those_worked_out_by_hand() -> None:
    """The example of the lecture notes: errors 3/10, 3/14, 2/11 of the weight, each as a fraction."""
    y = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    model = AdaBoostClassifier(n_estimators=3).fit({"x": list(range(10))}, y)
    errors = [3 / 10, 3 / 14, 2 / 11]
    assert model.estimator_errors_ == pytest.approx(errors, abs=1e-12)
    assert model.estimator_weights_ == pytest.approx([math.log((1 - e) / e) for e in errors], abs=1e-12)
    first, second, third = (stage.weights for stage in model.stages_)
    # 7 rows of 1/10 stay, 3 grow by 7/3 to 7/30; all add up to 1.4.
    assert first == pytest.approx([1 / 14] * 6 + [1 / 6] * 3 + [1 / 14], abs=1e-12)
    assert [stage.total for stage in model.stages_] == pytest.approx([14 / 10, 22 / 14, 18 / 11], abs=1e-12)
    assert second == pytest.approx([1 / 22] * 3 + [1 / 6] * 3 + [7 / 66] * 3 + [1 / 22], abs=1e-12)
    assert third == pytest.approx([1 / 8] * 3 + [11 / 108] * 3 + [7 / 108] * 3 + [1 / 8], abs=1e-12)
    assert model.score({"x": list(range(10))}, y) == 1.0
    assert list(model.staged_score({"x": list(range(10))}, y)) == [0.7, 0.7, 1.0]


def slow(base: Any) -> Any:
    """The same learner with a `fit` of its own, so that each stage reads the table for itself."""

    class Slow(type(base)):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            return super().fit(X, y, sample_weight)

    Slow.__init__ = type(base).__init__  # type: ignore[method-assign]
    return Slow(**base.get_params())


@pytest.mark.parametrize(
    "base",
    [
        DecisionTreeClassifier(max_depth=1),
        DecisionTreeClassifier(max_depth=3, missing="fractional"),
        DecisionTreeClassifier(max_depth=2, missing="majority", max_features=2),
        DecisionTreeClassifier(prune="cost_complexity", ccp_alpha=0.01),
        OneRClassifier(),
    ],
    ids=str,
)
def test_a_table_read_once_gives_the_stages_of_one_read_each_time(base: Any) -> None:
    orchard = datasets.load_orchard()
    weights = np.random.default_rng(0).integers(0, 3, len(orchard.y)).astype(float)
    once = AdaBoostClassifier(base, n_estimators=6, random_state=1).fit(orchard.X, orchard.y, weights)
    each = AdaBoostClassifier(slow(base), n_estimators=6, random_state=1).fit(orchard.X, orchard.y, weights)
    np.testing.assert_array_equal(once.estimator_errors_, each.estimator_errors_)
    for one, other in zip(once.estimators_, each.estimators_, strict=True):
        assert one.tree_.to_dict() == other.tree_.to_dict()
    np.testing.assert_array_equal(once.predict_proba(orchard.X), each.predict_proba(orchard.X))


def test_rows_drawn_twice_weigh_twice() -> None:
    X, y = make_regression(200, 4, noise=5.0, random_state=0)
    once = AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=8, random_state=1).fit(X, y)
    each = AdaBoostRegressor(slow(DecisionTreeRegressor(max_depth=3)), n_estimators=8, random_state=1).fit(X, y)
    np.testing.assert_allclose(once.estimator_errors_, each.estimator_errors_, atol=1e-12)
    np.testing.assert_allclose(once.predict(X), each.predict(X), rtol=1e-12)


@pytest.mark.parametrize("library", WITH_NAMES)
def test_every_library_gives_the_same_answers(library: str) -> None:
    columns = colours_and_sizes(150, seed=4)
    y = ["yes" if c == "red" or (s or 0) > 0.6 else "no" for c, s in zip(*columns.values(), strict=True)]
    make = WITH_NAMES[library]
    expected = AdaBoostClassifier(n_estimators=10).fit(columns, y)
    model = AdaBoostClassifier(n_estimators=10).fit(make(columns), y)
    np.testing.assert_array_equal(model.predict_proba(make(NEW)), expected.predict_proba(NEW))
    assert model.feature_names_in_.tolist() == ["colour", "size"]
    numbers = [float(value == "yes") for value in y]
    regressors = [
        AdaBoostRegressor(n_estimators=5, random_state=0).fit(table, numbers) for table in (columns, make(columns))
    ]
    np.testing.assert_array_equal(regressors[0].predict(NEW), regressors[1].predict(make(NEW)))


def test_rows_of_weight_zero_count_for_nothing() -> None:
    X, y = make_classes(3)
    weights = np.ones(len(y))
    weights[::3] = 0.0
    whole = AdaBoostClassifier(n_estimators=10).fit(X, y, weights)
    part = AdaBoostClassifier(n_estimators=10).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(whole.estimator_errors_, part.estimator_errors_, atol=1e-12)
    assert not whole.stages_[-1].weights[::3].any()


def test_boosting_ends_with_a_member_that_makes_no_error() -> None:
    model = AdaBoostClassifier().fit([[1], [2], [3], [4]], ["a", "a", "b", "b"])
    assert len(model.estimators_) == 1
    assert model.estimator_errors_.tolist() == [0.0]


def test_a_first_member_that_only_guesses_answers_alone_and_says_so() -> None:
    with pytest.warns(UserWarning, match=r"error of 0\.500, too large"):
        model = AdaBoostClassifier().fit([[0, 0], [0, 1], [1, 0], [1, 1]], ["a", "b", "b", "a"])
    assert len(model.estimators_) == 1
    deeper = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2)).fit([[0, 0], [0, 1], [1, 0], [1, 1]], list("abba"))
    assert deeper.predict([[0, 1], [1, 1]]).tolist() == ["b", "a"]


def test_weights_that_become_infinite_stop_boosting_with_a_warning() -> None:
    X, y = make_classes(2)
    with pytest.warns(UserWarning, match="Sample weights have reached infinite values.*lower the learning rate"):
        model = AdaBoostClassifier(learning_rate=1e4).fit(X, y)
    assert len(model.estimators_) < 50
    assert np.isfinite(model.predict_proba(X)).all()


def test_one_class_two_rows_and_three_hundred_classes_are_learned() -> None:
    assert AdaBoostClassifier().fit([[1], [2]], ["a", "a"]).predict([[5]]).tolist() == ["a"]
    assert AdaBoostClassifier().fit([[1], [2]], ["a", "b"]).predict([[0], [3]]).tolist() == ["a", "b"]
    y = np.arange(900) % 300
    base = DecisionTreeClassifier(max_depth=12)
    model = AdaBoostClassifier(base, n_estimators=5).fit(y[:, None] + 0.0, y)
    assert model.predict_proba([[7.0]]).shape == (1, 300)
    assert AdaBoostRegressor(random_state=0).fit([[1], [2]], [1.0, 2.0]).predict([[1]]).shape == (1,)


def test_large_tables_do_not_keep_the_weights_of_all_stages() -> None:
    X = np.random.default_rng(0).normal(size=(30_000, 2))
    model = AdaBoostClassifier(n_estimators=40).fit(X, X[:, 0] + X[:, 1] > 0)
    assert model.stages_[0].weights is None
    assert model.stages_[0].total > 1.0


def test_a_base_with_class_weights_weighs_them_at_each_stage() -> None:
    X, y = make_classes(2)
    ours = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, class_weight={0: 1.2}), n_estimators=5).fit(X, y)
    base = TheirClassifier(max_depth=1, class_weight={0: 1.2, 1: 1})
    theirs = scikit.AdaBoostClassifier(base, n_estimators=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, atol=1e-9)


def test_an_estimator_of_scikit_learn_is_boosted_too() -> None:
    X, y = make_classes(3)
    ours = AdaBoostClassifier(LogisticRegression(), n_estimators=5).fit(X, y)
    theirs = scikit.AdaBoostClassifier(LogisticRegression(), n_estimators=5).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[: len(ours.stages_)], atol=1e-9)
    assert len(theirs.estimators_) == len(ours.estimators_)
    assert not hasattr(ours, "feature_importances_")


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (AdaBoostClassifier(KNeighborsClassifier()), "doesn't support sample_weight"),
        (AdaBoostClassifier(DecisionTreeRegressor()), "AdaBoostClassifier boosts a classifier"),
        (AdaBoostClassifier(3), "estimator is 3; give an estimator"),
        (AdaBoostClassifier(n_estimators=0), "n_estimators is 0; give a whole number"),
        (AdaBoostClassifier(learning_rate=0), "learning_rate is 0; give a number above 0"),
        (AdaBoostRegressor(loss="cubic"), "loss is 'cubic'; give 'linear'"),
        (AdaBoostClassifier(progress="yes"), "progress is 'yes'; give True"),
    ],
)
def test_a_parameter_that_makes_no_sense_gets_one_sentence(model: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model.fit([[1], [2], [3]], [0, 1, 1])


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    class Breaks(TheirClassifier):
        fits = 0

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            type(self).fits += 1
            if type(self).fits > 3:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    X, y = make_classes(2)
    fresh = AdaBoostClassifier(Breaks(max_depth=1))
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert [name for name in vars(fresh) if name.endswith("_")] == []
    fitted = AdaBoostClassifier(n_estimators=3).fit(X, y)
    before = pickle.dumps(fitted.stages_)
    with pytest.raises(KeyboardInterrupt):
        fitted.set_params(estimator=Breaks(max_depth=1)).fit(X, y)
    assert pickle.dumps(fitted.stages_) == before


def test_the_same_seed_gives_the_same_model() -> None:
    X, y = make_classes(3)
    base = DecisionTreeClassifier(max_depth=2, max_features=2)
    models = [AdaBoostClassifier(base, n_estimators=8, random_state=5).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert clone(models[0]).get_params()["random_state"] == 5
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(models[0])).predict(X), models[0].predict(X))


NOT_APPLICABLE = {"AdaBoostRegressor": weight_equivalence("rows are drawn by weight: other rows, other draws")}


@pytest.mark.slow
@parametrize_with_checks(
    [AdaBoostClassifier(n_estimators=8), AdaBoostRegressor(n_estimators=8)],
    expected_failed_checks=lambda model: NOT_APPLICABLE.get(type(model).__name__, {}),
)
def test_boosting_passes_the_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the first member has an error", UserWarning)
        check(estimator)


def test_boosted_c45_grows_trees_although_weights_are_shares():
    orchard = datasets.load_orchard()
    model = AdaBoostClassifier(C45Classifier(), n_estimators=3).fit(orchard.X, orchard.y)
    assert min(member.tree_.n_leaves for member in model.estimators_) > 1
    assert model.score(orchard.X, orchard.y) > C45Classifier().fit(orchard.X, orchard.y).score(orchard.X, orchard.y)


def test_an_estimator_that_needs_numbers_gets_numbers():
    orchard = datasets.load_orchard()
    model = AdaBoostClassifier(LogisticRegression(), n_estimators=2).fit(orchard.X, orchard.y)
    assert set(model.predict(orchard.X)) <= set(orchard.y)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_single_member_decides_without_rounding_errors(n_classes):
    y = np.arange(30) % n_classes
    X = y[:, None].astype(float)
    ours = AdaBoostClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=1).fit(X, y)
    theirs = scikit.AdaBoostClassifier(TheirClassifier(max_depth=4), n_estimators=1).fit(X, y)
    found = ours.decision_function(X)
    assert set(np.unique(found)) == set(np.unique(np.round(theirs.decision_function(X), 12)))


def test_a_member_without_a_kind_needs_weights():
    class Wrapper(BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ValueError, match="Wrapper doesn't support sample_weight, which boosting needs"):
        AdaBoostClassifier(Wrapper()).fit([[0.0], [1.0]], [0, 1])
