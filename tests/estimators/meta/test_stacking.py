"""Stacking against scikit-learn's, and on tables as they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import ensemble as scikit
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils._mocking import CheckingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from expected_failures import FOLDS, NO_WEIGHTS
from sample_tables import NEW_COLOURS_AND_SIZES as NEW
from sample_tables import colours_and_sizes, targets_of_colours_and_sizes
from table_forms import FORMS, LIBRARIES
from treewright import DecisionTreeClassifier, DecisionTreeRegressor, datasets
from treewright.estimators.meta.combining import Deal
from treewright.estimators.meta.stacking import StackingClassifier, StackingRegressor

CLASSIFIERS = [
    ("bayes", make_pipeline(StandardScaler(), GaussianNB())),
    ("svm", make_pipeline(StandardScaler(), SVC())),
    ("tree", DecisionTreeClassifier(max_depth=3)),
]
REGRESSORS = [("ridge", make_pipeline(StandardScaler(), Ridge())), ("svm", make_pipeline(StandardScaler(), SVR()))]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_numbers_pass_through_as_they_are(form: Callable[[Any], Any]) -> None:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    options = {"cv": KFold(3), "passthrough": True, "final_estimator": Ridge()}
    members = [("ridge", Ridge()), ("other", Ridge(100.0))]
    ours = StackingRegressor(members, **options).fit(form(X), y)
    theirs = scikit.StackingRegressor(members, **options).fit(form(X), y)
    found, expected = ours.transform(form(X)), theirs.transform(form(X))
    assert type(found) is type(expected)
    if sparse.issparse(found):
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_allclose(found, expected)
    names = load_diabetes().feature_names
    np.testing.assert_array_equal(ours.get_feature_names_out(names), theirs.get_feature_names_out(names))


@pytest.mark.parametrize("passthrough", [True, False])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("method", ["auto", "predict"])
def test_rows_with_several_labels_are_stacked_as_in_scikit_learn(method: str, n_labels: int, passthrough: bool) -> None:
    X, y = make_multilabel_classification(n_samples=90, n_features=5, n_classes=n_labels, random_state=0)
    options = {"cv": KFold(3), "stack_method": method, "passthrough": passthrough}
    members = [("near", KNeighborsClassifier()), ("ridge", RidgeClassifier())]
    ours = StackingClassifier(members, KNeighborsClassifier(3), **options).fit(X, y)
    theirs = scikit.StackingClassifier(members, KNeighborsClassifier(3), **options).fit(X, y)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.stack_method_ == theirs.stack_method_
    # Of three neighbours, the majority decides; scikit-learn has the probability that a row lacks the label.
    np.testing.assert_array_equal(ours.predict_proba(X) > 0.5, ours.predict(X) == 1)
    np.testing.assert_allclose(ours.predict_proba(X), 1.0 - theirs.predict_proba(X))
    assert ours.score(X, y) == theirs.score(X, y)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert len(ours.get_feature_names_out()) == ours.transform(X).shape[1] == 2 * n_labels + 5 * passthrough


def test_labels_other_than_0_and_1_are_refused() -> None:
    X, y = make_multilabel_classification(60, n_features=4, n_classes=2, random_state=0)
    stack = StackingClassifier([("near", KNeighborsClassifier())], KNeighborsClassifier())
    with pytest.raises(ValueError, match=r"y has the values \[1, 2\]; give 0 and 1"):
        stack.fit(X, y + 1)


def test_the_score_of_a_stack_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(NotFittedError):
        StackingClassifier().score([[0.0]], [0])


def test_a_table_with_text_and_several_labels_is_stacked() -> None:
    rows = {"colour": ["red", "blue", None, "green"] * 10, "size": [1.0, None, 3.0, 4.0] * 10}
    y = pd.DataFrame({"ripe": [1, 0, 0, 1] * 10, "sweet": [0, 0, 1, 1] * 10})
    weights = np.arange(40) % 5 > 0
    model = StackingClassifier([("tree", DecisionTreeClassifier())], KNeighborsClassifier(1)).fit(rows, y)
    np.testing.assert_array_equal(model.predict(rows), y)
    assert model.fit(rows, y, sample_weight=weights).score(rows, y) == 1.0
    with pytest.raises(ValueError, match="default final_estimator is logistic regression, which predicts one label"):
        StackingClassifier([("tree", DecisionTreeClassifier())]).fit(rows, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["auto", "predict"])
def test_the_same_members_are_stacked_as_in_scikit_learn(method: str, n_classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    options = {"cv": StratifiedKFold(4), "stack_method": method, "final_estimator": LogisticRegression(C=0.5)}
    ours = StackingClassifier(CLASSIFIERS, **options).fit(X, y)
    theirs = scikit.StackingClassifier(CLASSIFIERS, **options).fit(X, y)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    names = np.array(["a", "b", "c"])
    named = StackingClassifier(CLASSIFIERS, **options).fit(X, names[y])
    np.testing.assert_allclose(named.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(named.predict(X), names[theirs.predict(X)])


def test_the_same_regressors_are_stacked_as_in_scikit_learn() -> None:
    X, y = load_diabetes(return_X_y=True)
    ours = StackingRegressor(REGRESSORS, LinearRegression(), cv=KFold(3)).fit(X, y)
    theirs = scikit.StackingRegressor(REGRESSORS, LinearRegression(), cv=KFold(3)).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y))


@pytest.mark.slow
def test_columns_pass_through_prepared() -> None:
    orchard = datasets.load_orchard()
    model = StackingClassifier(passthrough=True).fit(orchard.X, orchard.y)
    without = StackingClassifier().fit(orchard.X, orchard.y)
    assert model.transform(orchard.X).shape[1] > without.transform(orchard.X).shape[1]
    assert np.isfinite(model.transform(orchard.X)).all()
    assert set(model.predict(orchard.X)) <= set(model.classes_)


def test_members_that_are_fitted_already_are_taken_as_they_are() -> None:
    X, y = load_iris(return_X_y=True)
    members = [("near", KNeighborsClassifier().fit(X[::2], y[::2])), ("tree", DecisionTreeClassifier().fit(X, y))]
    model = StackingClassifier(members, cv="prefit").fit(X[1::2], y[1::2])
    assert model.estimators_[0] is members[0][1]
    assert model.score(X, y) > 0.9


def test_stacking_finds_the_member_that_knows() -> None:
    """One member sees everything, one is always wrong by the same factor; a linear final estimator undoes that."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = X @ [1.0, -2.0, 0.5] + random.normal(scale=0.01, size=200)
    members = [("line", LinearRegression()), ("stump", DecisionTreeRegressor(max_depth=1))]
    model = StackingRegressor(members).fit(X, y)
    line, stump = model.final_estimator_.coef_
    assert line == pytest.approx(1.0, abs=0.02)
    assert abs(stump) < 0.02


@cache
def models_of_columns() -> tuple[Any, Any]:
    """A classifier and a regressor that were fitted to a dict of columns."""
    table = colours_and_sizes(90)
    classes, numbers = targets_of_colours_and_sizes(table)
    return StackingClassifier(cv=2).fit(table, classes), StackingRegressor(passthrough=True, cv=2).fit(table, numbers)


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_default_set_reads_mixed_tables_of_every_library(library: str) -> None:
    table = colours_and_sizes(90)
    classes, numbers = targets_of_colours_and_sizes(table)
    make = FORMS[library]
    models = [models_of_columns()[0], StackingClassifier(cv=2).fit(make(table), classes)]
    np.testing.assert_allclose(models[0].predict_proba(NEW), models[1].predict_proba(make(NEW)))
    regressors = [models_of_columns()[1], StackingRegressor(passthrough=True, cv=2).fit(make(table), numbers)]
    np.testing.assert_allclose(regressors[0].predict(NEW), regressors[1].predict(make(NEW)))


@pytest.mark.slow
def test_it_can_be_cross_validated() -> None:
    iris = datasets.load_iris()
    assert cross_val_score(StackingClassifier(), iris.X, iris.y, cv=3).mean() > 0.9


@pytest.mark.slow
def test_two_rows_and_rare_classes_are_learned() -> None:
    assert StackingClassifier().fit([[1.0], [2.0]], ["a", "b"]).predict([[0.0]]).shape == (1,)
    assert StackingRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).predict([[1.0]]).shape == (1,)
    X, y = load_iris(return_X_y=True)
    y[0] = 7
    assert StackingClassifier().fit(X, y).classes_.tolist() == [0, 1, 2, 7]


def test_a_deal_leaves_each_row_out_once_and_no_class_unlearned() -> None:
    y = np.array(["a"] * 7 + ["b"] * 3 + ["c"] * 2 + ["d"])
    dealt = list(Deal(5).split(y, y))
    assert sorted(row for _, left_out in dealt for row in left_out.tolist()) == list(range(13))
    for learned, left_out in dealt:
        assert set(y[learned]) == {"a", "b", "c", "d"}
        assert set(learned) & set(left_out) <= {12}
    sizes = [len(left_out) for _, left_out in dealt]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (StackingClassifier(stack_method="guess"), "stack_method is 'guess'; give one of 'auto'"),
        (StackingClassifier(final_estimator=3), "final_estimator is 3; give an estimator"),
        (StackingRegressor([("a", SVC())]), "the member 'a' is a SVC, which should be a regressor"),
    ],
)
def test_a_parameter_that_makes_no_sense_gets_one_sentence(model: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model.fit([[1], [2], [3]], [0, 1, 1])


SMALL_SETS = [
    StackingClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=4))]),
    StackingRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=4))]),
]


@pytest.mark.slow
@parametrize_with_checks(SMALL_SETS, expected_failed_checks=lambda model: FOLDS)
def test_stacking_passes_the_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.soak
@parametrize_with_checks([StackingClassifier(), StackingRegressor()], expected_failed_checks=lambda model: NO_WEIGHTS)
def test_the_default_set_passes_them_too(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_equal_weights_reach_members_and_final_estimator_that_take_them() -> None:
    X, y = load_iris(return_X_y=True)
    checking = CheckingClassifier(expected_sample_weight=True)
    StackingClassifier([("one", checking)], final_estimator=checking).fit(X, y, np.ones(150))
    near = KNeighborsClassifier()
    model = StackingClassifier([("near", near)], final_estimator=near)
    np.testing.assert_array_equal(model.fit(X, y, np.full(150, 2.0)).predict(X), model.fit(X, y).predict(X))
    with pytest.raises(TypeError, match=r"KNeighborsClassifier does not support sample weights.*final_estimator"):
        StackingClassifier([("bayes", GaussianNB())], final_estimator=near).fit(X, y, np.arange(150.0))


def test_the_error_of_the_final_estimator_is_the_cause() -> None:
    X, y = load_iris(return_X_y=True)
    model = StackingClassifier([("bayes", GaussianNB())], final_estimator=GaussianNB()).fit(X, y)
    with pytest.raises(AttributeError, match="has no attribute 'decision_function'") as caught:
        model.decision_function(X)
    assert "'GaussianNB' object has no attribute 'decision_function'" in str(caught.value.__cause__)


def test_regressors_are_members_of_a_stack_of_classes_as_in_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["one", "three", "two"])[y]
    members = [("ridge", Ridge()), ("bayes", GaussianNB())]
    options = {"final_estimator": LogisticRegression(max_iter=1000), "cv": StratifiedKFold(3)}
    ours = StackingClassifier(members, **options).fit(X, names, np.ones(150))
    theirs = scikit.StackingClassifier(members, **options).fit(X, names)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.named_estimators_["ridge"].coef_, theirs.named_estimators_["ridge"].coef_)
    with pytest.raises(TypeError, match="KNeighborsRegressor does not support sample weights"):
        StackingClassifier([("near", KNeighborsRegressor())]).fit(X, y, np.arange(150.0))


def test_a_fold_without_a_class_does_not_change_the_numbers_of_the_others() -> None:
    X, y = np.arange(9.0)[:, None], np.repeat(["a", "b", "c"], 3)
    model = StackingClassifier([("line", LinearRegression())], GaussianNB(), cv=KFold(3)).fit(X, y)
    theirs = scikit.StackingClassifier([("line", LinearRegression())], GaussianNB(), cv=KFold(3)).fit(X, y)
    np.testing.assert_allclose(model.final_estimator_.theta_, theirs.final_estimator_.theta_)
