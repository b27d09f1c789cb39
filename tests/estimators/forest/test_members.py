"""What the members of forests and bagging were fitted to, and where rows go in them: as in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier as TheirTree

import treewright as tw

X, y = load_iris(return_X_y=True)

FORESTS = [tw.RandomForestClassifier, tw.RandomForestRegressor, tw.ExtraTreesClassifier, tw.ExtraTreesRegressor]


@pytest.mark.parametrize("learner", FORESTS)
@pytest.mark.parametrize("shape", [{}, {"max_leaf_nodes": 5}])  # in bytes, and tree by tree
def test_the_nodes_of_a_forest_are_those_of_its_trees(learner, shape):
    model = learner(5, random_state=0, **shape).fit(X, y)
    nodes = model.apply(X)
    assert nodes.shape == (len(X), 5)
    for number, member in enumerate(model.estimators_):
        np.testing.assert_array_equal(nodes[:, number], member.apply(X))


@pytest.mark.parametrize("learner", FORESTS)
@pytest.mark.parametrize("shape", [{}, {"max_leaf_nodes": 5}])
def test_the_decision_path_of_a_forest_has_the_form_of_scikit_learn(learner, shape):
    model = learner(4, random_state=0, **shape).fit(X, y)
    theirs = getattr(ensemble, learner.__name__)(4, random_state=0, **shape).fit(X, y)
    path, starts = model.decision_path(X)
    their_path, their_starts = theirs.decision_path(X)
    assert issparse(path)
    assert path.format == their_path.format == "csr"
    assert starts.shape == their_starts.shape
    np.testing.assert_array_equal(np.diff(starts), [tree.n_nodes for tree in model.forest_])
    for number, member in enumerate(model.estimators_):
        own = path[:, starts[number] : starts[number + 1]]
        assert (own != member.decision_path(X)).nnz == 0
        at_leaf = own[np.arange(len(X)), model.apply(X)[:, number]]
        assert np.asarray(at_leaf).min() == 1  # the last node of a path is the leaf


@pytest.mark.parametrize("learner", FORESTS)
@pytest.mark.parametrize("bootstrap", [True, False])
def test_a_tree_grown_from_the_rows_of_a_member_predicts_as_the_member(learner, bootstrap):
    weights = np.where(np.arange(len(X)) % 10 == 3, 0.0, 1.0)
    model = learner(3, bootstrap=bootstrap, max_features=None, min_samples_leaf=1, random_state=0)
    model.fit(X, y, sample_weight=weights)
    samples = model.estimators_samples_
    assert [len(rows) for rows in samples] == [int(weights.sum())] * 3
    assert not np.isin(np.flatnonzero(weights == 0.0), np.concatenate(samples)).any()
    if learner is not tw.RandomForestClassifier:
        return
    for rows, member in zip(samples, model.estimators_, strict=True):
        counts = np.bincount(rows, minlength=len(X))
        assert member.tree_.weight[0] == counts.sum()
        # A full tree of the same rows predicts each of them correctly, but for copies with two classes.
        assert (member.predict(X[rows]) == y[rows]).mean() > 0.98


def test_out_of_bag_rows_are_those_that_are_not_among_the_samples():
    model = tw.RandomForestClassifier(10, oob_score=True, random_state=0).fit(X, y)
    out = ~np.array([np.isin(np.arange(len(X)), rows) for rows in model.estimators_samples_])
    shares = np.array([member.predict_proba(X) for member in model.estimators_])
    with np.errstate(invalid="ignore"):
        expected = (shares * out[:, :, None]).sum(axis=0) / out.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_decision_function_, expected)


def test_an_ensemble_is_counted_and_indexed_as_in_scikit_learn():
    for model in (tw.RandomForestClassifier(3), tw.BaggingClassifier(None, 3), tw.AdaBoostClassifier(n_estimators=3)):
        model.fit(X, y)
        assert len(model) == len(list(model)) == len(model.estimators_)
        np.testing.assert_array_equal(model[1].predict(X), model.estimators_[1].predict(X))
        assert type(clone(model.estimator_)) is type(model[0])


@pytest.mark.parametrize("base", [None, TheirTree(max_depth=3)])
def test_bagging_in_two_steps_is_bagging_at_once(base):
    whole = tw.BaggingClassifier(base, 10, max_features=0.5, oob_score=True, random_state=3).fit(X, y)
    grown = tw.BaggingClassifier(base, 4, max_features=0.5, oob_score=True, random_state=3, warm_start=True).fit(X, y)
    first = grown.estimators_[:4]
    grown.set_params(n_estimators=10).fit(X, y)
    assert grown.estimators_[:4] == first
    np.testing.assert_array_equal(grown.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(grown.oob_decision_function_, whole.oob_decision_function_)
    with pytest.warns(UserWarning, match="without increasing n_estimators does not fit new trees"):
        grown.fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=2 must be larger or equal to len"):
        grown.set_params(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="warm_start adds members of the same table"):
        grown.set_params(n_estimators=12).fit(X[:50, :2], y[:50])


def test_members_of_another_library_show_their_own_attributes():
    from sklearn.linear_model import LogisticRegression

    model = tw.BaggingClassifier(LogisticRegression(), 3, random_state=0).fit(X, y)
    assert model.estimators_[0].coef_.shape == (3, 4)
    assert not hasattr(model.estimators_[0], "feature_log_prob_")
    voting = tw.VotingClassifier([("line", LogisticRegression())]).fit(X, y)
    assert voting.named_estimators_["line"].n_iter_.shape == (1,)


def test_the_decision_function_of_bagging_is_the_mean_of_its_members():
    from sklearn.svm import LinearSVC

    model = tw.BaggingClassifier(LinearSVC(), 3, max_features=0.5, random_state=0).fit(X, y)
    expected = np.mean(
        [
            member.decision_function(X[:, places])
            for member, places in zip(model.estimators_, model.estimators_features_, strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(model.decision_function(X), expected)
    assert not hasattr(tw.BaggingClassifier(None, 3), "decision_function")


def test_the_pruning_path_is_that_of_scikit_learn():
    theirs = TheirTree(random_state=0).cost_complexity_pruning_path(X, y)
    ours = tw.DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(ours.impurities, theirs.impurities, atol=1e-12)
    assert tw.CARTClassifier().cost_complexity_pruning_path(X, y).ccp_alphas[0] == 0.0


def test_the_criterion_of_friedman_is_the_squared_error():
    table, target = load_diabetes(return_X_y=True)
    with pytest.warns(FutureWarning, match="criterion='friedman_mse' is deprecated.*'squared_error' is the same"):
        ours = tw.DecisionTreeRegressor(criterion="friedman_mse", max_depth=4).fit(table, target)
    same = tw.DecisionTreeRegressor(criterion="squared_error", max_depth=4).fit(table, target)
    np.testing.assert_array_equal(ours.predict(table), same.predict(table))
    with pytest.raises(ValueError, match="criterion is 'sdr'; give one of 'gini'"):
        tw.DecisionTreeClassifier(criterion="sdr").fit(X, y)


def test_rows_that_no_tree_left_out_are_counted_in_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"do not have OOB scores: \d+ of 150 rows are in every bag"):
        model = tw.RandomForestClassifier(2, oob_score=True, random_state=0).fit(X, y)
    assert np.isnan(model.oob_decision_function_).any()
    with pytest.warns(UserWarning, match=r"do not have OOB scores.* \d+ of 150 rows are in every bag"):
        tw.BaggingClassifier(None, 2, oob_score=True, random_state=0).fit(X, y)


def test_a_warm_start_that_adds_no_tree_is_a_warning() -> None:
    model = tw.RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="does not fit new trees. The forest has 3."):
        model.fit(X, y)
    assert model.n_estimators_ == 3


def test_a_forest_shows_its_kind_of_tree() -> None:
    assert tw.ExtraTreesRegressor().estimator.splitter == "random"
    assert tw.RandomForestClassifier().estimator.splitter == "best"
