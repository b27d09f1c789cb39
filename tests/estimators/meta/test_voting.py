"""Voting against scikit-learn's, against the count of votes by hand, and on tables as they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import ensemble as scikit
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from expected_failures import NO_WEIGHTS
from sample_tables import NEW_COLOURS_AND_SIZES as NEW
from sample_tables import colours_and_sizes, targets_of_colours_and_sizes
from table_forms import FORMS, LIBRARIES
from treewright import DecisionTreeClassifier, DecisionTreeRegressor, datasets
from treewright.estimators.meta.voting import VotingClassifier, VotingRegressor

CLASSIFIERS = [
    ("bayes", make_pipeline(StandardScaler(), GaussianNB())),
    ("line", make_pipeline(StandardScaler(), LogisticRegression())),
    ("near", make_pipeline(StandardScaler(), KNeighborsClassifier(3))),
]
REGRESSORS = [
    ("ridge", make_pipeline(StandardScaler(), Ridge())),
    ("svm", make_pipeline(StandardScaler(), SVR())),
    ("tree", DecisionTreeRegressor(max_depth=4)),
]


@pytest.mark.parametrize("weights", [None, [1, 2, 4]])
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_the_same_members_vote_as_in_scikit_learn(voting: str, weights: Any) -> None:
    X, y = load_iris(return_X_y=True)
    ours = VotingClassifier(CLASSIFIERS, voting=voting, weights=weights).fit(X, y)
    theirs = scikit.VotingClassifier(CLASSIFIERS, voting=voting, weights=weights).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    if voting == "soft":
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("weights", [None, [0.5, 0.3, 0.2]])
def test_the_same_members_have_the_mean_of_scikit_learn(weights: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    ours = VotingRegressor(REGRESSORS, weights=weights).fit(X, y)
    theirs = scikit.VotingRegressor(REGRESSORS, weights=weights).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_members_predictions_are_flat_or_a_matrix_each_as_in_scikit_learn(voting: str, flat: bool) -> None:
    X, y = load_iris(return_X_y=True)
    options = {"voting": voting, "flatten_transform": flat}
    ours = VotingClassifier(CLASSIFIERS, **options).fit(X, y)
    theirs = scikit.VotingClassifier(CLASSIFIERS, **options).fit(X, y)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    if flat or voting == "hard":
        assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    else:
        with pytest.raises(ValueError, match="get_feature_names_out is not supported"):
            ours.get_feature_names_out()


def test_shares_of_a_hard_vote_are_counted_votes() -> None:
    iris = datasets.load_iris()
    model = VotingClassifier().fit(iris.X, iris.y)
    answers = [member.predict(iris.X) for member in model.estimators_]
    for row in range(0, 150, 7):
        votes = Counter(answer[row] for answer in answers)
        counted = [votes[name] / 3 for name in model.classes_]
        assert model.predict_proba(iris.X[[row]])[0] == pytest.approx(counted)


def test_members_are_called_by_name_and_answer_in_the_users_classes() -> None:
    iris = datasets.load_iris()
    for voting in ("hard", "soft"):
        model = VotingClassifier(voting=voting).fit(iris.X, iris.y)
        assert list(model.named_estimators_) == ["nearest", "tree", "svm"]
        assert set(model.named_estimators_["tree"].predict(iris.X)) == {"setosa", "versicolor", "virginica"}
        assert model.score(iris.X, iris.y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_the_default_set_reads_mixed_tables_of_every_library(library: str, voting: str) -> None:
    table = colours_and_sizes(120)
    classes, numbers = targets_of_colours_and_sizes(table)
    make = FORMS[library]
    expected = VotingClassifier(voting=voting).fit(table, classes)
    model = VotingClassifier(voting=voting).fit(make(table), classes)
    np.testing.assert_allclose(model.predict_proba(make(NEW)), expected.predict_proba(NEW))
    assert model.predict(make(NEW)).tolist() == expected.predict(NEW).tolist()
    regressors = [VotingRegressor().fit(one, numbers) for one in (table, make(table))]
    np.testing.assert_allclose(regressors[0].predict(NEW), regressors[1].predict(make(NEW)))


@pytest.mark.slow
def test_votes_of_three_different_kinds_are_better_than_their_mean() -> None:
    orchard = datasets.load_orchard()
    scores = [
        cross_val_score(VotingClassifier(), orchard.X, orchard.y, cv=5).mean(),
        *[
            cross_val_score(VotingClassifier([(name, one)]), orchard.X, orchard.y, cv=5).mean()
            for name, one in (("near", KNeighborsClassifier()), ("tree", DecisionTreeClassifier()))
        ],
    ]
    assert scores[0] > np.mean(scores[1:])


def test_members_can_be_set_and_dropped_by_name() -> None:
    X, y = load_iris(return_X_y=True)
    model = VotingClassifier(CLASSIFIERS, weights=[1, 2, 3]).set_params(bayes="drop", near__kneighborsclassifier__p=1)
    model.fit(X, y)
    assert set(model.named_estimators_) == {"line", "near", "bayes"}  # as in scikit-learn
    assert model.named_estimators_.bayes == "drop"
    assert len(model.estimators_) == 2
    assert all(name.endswith(("line", "near")) for name in model.get_feature_names_out())
    assert model.member_weights() == pytest.approx([0.4, 0.6])
    search = GridSearchCV(clone(model), {"near__kneighborsclassifier__n_neighbors": [1, 5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


def test_weights_of_rows_reach_members_that_take_them() -> None:
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 2, 3.0, 1.0)
    weights[:10] = 0.0
    members = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=1))]
    ours = VotingClassifier(members, voting="soft").fit(X, y, weights)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y, weights)
    np.testing.assert_allclose(ours.named_estimators_["tree"].predict_proba(X), tree.predict_proba(X))
    with pytest.raises(ValueError, match=r"KNeighborsClassifier does not support sample weights.*member 'nearest'"):
        VotingClassifier().fit(X, y, weights)
    uniform = VotingClassifier().fit(X, y, np.where(np.arange(150) < 10, 0.0, 2.0))
    np.testing.assert_array_equal(uniform.predict(X), VotingClassifier().fit(X[10:], y[10:]).predict(X))


@pytest.mark.slow
def test_two_rows_and_three_hundred_classes_are_learned() -> None:
    assert VotingClassifier().fit([[1.0], [2.0]], ["a", "b"]).predict([[0.0], [3.0]]).tolist() == ["a", "b"]
    assert VotingRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).predict([[1.0]]).shape == (1,)
    y = np.arange(900) % 300
    assert VotingClassifier().fit(y[:, None] + 0.0, y).predict_proba([[7.0]]).shape == (1, 300)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (VotingClassifier(voting="loud"), "voting is 'loud'; give 'hard' or 'soft'"),
        (VotingClassifier(weights=[1, 2]), "must be equal; got 2 weights, 3 estimators"),
        (VotingClassifier(weights=[0, 0, 0]), "weights is .*; give a number of 0 or more"),
        (VotingClassifier([]), "should be a non-empty list"),
        (VotingClassifier([("a", "drop")]), "All estimators are dropped"),
        (VotingClassifier([("a", Ridge())]), "the member 'a' is a Ridge, which should be a classifier"),
        (VotingClassifier([("a", GaussianNB()), ("a", GaussianNB())]), "not unique"),
    ],
)
def test_a_parameter_that_makes_no_sense_gets_one_sentence(model: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model.fit([[1], [2], [3]], [0, 1, 1])


def test_a_failed_fit_leaves_nothing_behind() -> None:
    class Breaks(GaussianNB):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            raise KeyboardInterrupt

    model = VotingClassifier([("tree", DecisionTreeClassifier()), ("breaks", Breaks())])
    with pytest.raises(KeyboardInterrupt):
        model.fit([[1], [2]], [0, 1])
    assert [name for name in vars(model) if name.endswith("_")] == []


@pytest.mark.slow
@parametrize_with_checks(
    [VotingClassifier(), VotingClassifier(voting="soft"), VotingRegressor()],
    expected_failed_checks=lambda model: NO_WEIGHTS,
)
def test_voting_passes_the_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize("ours", [VotingClassifier, VotingRegressor])
def test_verbose_prints_the_members_as_scikit_learn_does(ours: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    member = GaussianNB() if ours is VotingClassifier else Ridge()
    printed = []
    for learner in (ours, getattr(scikit, ours.__name__)):
        learner([("first", member), ("second", member)], verbose=True).fit(X, y)
        printed.append(re.sub(r"[.\d]+s$", "", capsys.readouterr().out, flags=re.MULTILINE))
    assert printed[0] == printed[1] != ""


def test_members_of_the_wrong_kind_are_refused_before_the_target_is_read() -> None:
    with pytest.raises(ValueError, match="the member 'line' is a Ridge, which should be a classifier"):
        VotingClassifier([("line", Ridge())]).fit([[0.0], [1.0]], [0.5, 1.5])


@pytest.mark.parametrize("error", [NotImplementedError, ValueError])
def test_several_labels_per_row_are_refused_by_the_error_of_scikit_learn(error: type[Exception]) -> None:
    with pytest.raises(error, match="Multilabel and multi-output classification is not supported"):
        VotingClassifier().fit([[0.0], [1.0]], [[0, 1], [1, 1]])
