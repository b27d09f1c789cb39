"""Bagging, pasting and random subspaces: members refitted by hand, votes counted by hand, and tables as they are."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare
from sklearn import config_context
from sklearn import datasets as scikit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier as TheirBagging
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from expected_failures import weight_equivalence
from interruption import printed_by
from sample_tables import answers, target_of
from sample_tables import mixed_table as table_of_numbered_classes
from table_forms import FORMS, WITHOUT_NAMES, columns_of
from treewright import (
    BaggingClassifier,
    BaggingRegressor,
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    OneRClassifier,
    RandomForestClassifier,
    RandomSubspaceClassifier,
    RandomSubspaceRegressor,
    RandomTreeClassifier,
    TablePreparer,
    datasets,
    diversity,
)
from treewright.table.selection import take_columns, take_rows

mixed_table = partial(table_of_numbered_classes, class_names=("low", "middle", "top"))

BAGS = (BaggingClassifier, BaggingRegressor)
ALL = (*BAGS, RandomSubspaceClassifier, RandomSubspaceRegressor)


def number_table(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 5))
    hidden = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=n_rows) * 0.5
    return X, np.array(["a", "b", "c"])[np.digitize(hidden, [-0.5, 0.8])], hidden


def frames_of(frame: pd.DataFrame) -> dict[str, Any]:
    """The same table in every form that a user may have it in."""
    columns = columns_of(frame)
    return {form: make(columns) for form, make in FORMS.items()} | {"pandas": frame}


@pytest.mark.parametrize(
    ("size", "n_drawn"), [(None, 400), (1.0, 400), (0.25, 100), (1, 1), (37, 37), (2.5, 1000), (4000, 4000)]
)
def test_a_bootstrap_may_have_any_size(size, n_drawn):
    X, y, _ = number_table(400)
    model = BaggingClassifier(n_estimators=20, max_samples=size, random_state=0).fit(X, y)
    samples = model.estimators_samples_
    assert {len(sample) for sample in samples} == {n_drawn}
    # A row is missing from n draws out of m rows with a probability of (1 - 1/m)^n.
    share = np.mean([len(np.unique(sample)) / 400 for sample in samples])
    assert share == pytest.approx(1.0 - (1.0 - 1.0 / 400) ** n_drawn, abs=0.02)
    assert len({sample.tobytes() for sample in samples}) == 20


@pytest.mark.parametrize(("size", "n_drawn"), [(0.5, 150), (7, 7), (None, 300), (300, 300)])
def test_pasting_draws_no_row_twice(size, n_drawn):
    X, y, _ = number_table(300)
    model = BaggingClassifier(n_estimators=6, max_samples=size, replace=False, random_state=0).fit(X, y)
    for sample in model.estimators_samples_:
        assert len(sample) == len(np.unique(sample)) == n_drawn


@pytest.mark.parametrize("learner", BAGS)
def test_pasting_all_rows_is_the_estimator_itself(learner):
    table = number_table(100)
    y = target_of(learner, table)
    model = learner(n_estimators=3, replace=False, random_state=0).fit(table[0], y)
    alone = clone(model._base()).fit(table[0], y)
    np.testing.assert_allclose(answers(model, table[0]), answers(alone, table[0]), atol=1e-12)


@pytest.mark.parametrize(("size", "n_seen"), [(0.4, 2), (3, 3), (1.0, 5), (0.01, 1)])
@pytest.mark.parametrize("twice", [False, True])
def test_columns_are_drawn_with_or_without_replacement(size, n_seen, twice):
    X, y, _ = number_table(60)
    model = BaggingClassifier(n_estimators=30, max_features=size, replace_features=twice, random_state=0).fit(X, y)
    seen = np.concatenate(model.estimators_features_)
    assert {len(places) for places in model.estimators_features_} == {n_seen}
    assert set(seen.tolist()) == set(range(5))
    repeated = [len(np.unique(places)) < n_seen for places in model.estimators_features_]
    assert any(repeated) == (twice and n_seen > 1)
    assert [member.n_features_in_ for member in model.estimators_] == [n_seen] * 30


@pytest.mark.slow
def test_every_choice_of_columns_is_as_likely():
    X, y, _ = number_table(10)
    model = RandomSubspaceClassifier(DecisionTreeClassifier(max_depth=0), n_estimators=2000, random_state=0).fit(X, y)
    counts = np.unique(model.estimators_features_, axis=0, return_counts=True)[1]
    assert len(counts) == 10  # 2 of 5 columns
    assert chisquare(counts).pvalue > 0.001


BASES = {
    "tree": (BaggingClassifier, DecisionTreeClassifier()),
    "shallow": (BaggingClassifier, DecisionTreeClassifier(max_depth=3, criterion="information_gain")),
    "random tree": (BaggingClassifier, RandomTreeClassifier()),
    "one rule": (BaggingClassifier, OneRClassifier()),
    "numbers": (BaggingRegressor, DecisionTreeRegressor()),
    "absolute": (BaggingRegressor, DecisionTreeRegressor(criterion="absolute_error", max_depth=4)),
    "nearest": (BaggingClassifier, KNeighborsClassifier()),
    "bayes": (BaggingClassifier, GaussianNB()),
    "svm": (BaggingClassifier, SVC()),
    "line": (BaggingRegressor, LinearRegression()),
    "pipeline": (BaggingRegressor, make_pipeline(StandardScaler(), KNeighborsRegressor())),
    "forest": (BaggingClassifier, RandomForestClassifier(n_estimators=3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("sampling", [{}, {"max_samples": 60, "replace": False}, {"max_features": 3}], ids=str)
def test_members_are_what_the_rows_and_columns_that_they_tell_give(name, sampling):
    learner, base = BASES[name]
    table = number_table(150)
    X, y = table[0], target_of(learner, table)
    model = learner(base, n_estimators=4, random_state=1, **sampling).fit(X, y)
    by_hand = []
    for member, rows, places in zip(
        model.estimators_, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        again = clone(base)
        seeds = [seed for parameter, seed in member.get_params().items() if parameter.endswith("random_state")]
        if "random_state" in again.get_params():
            again.set_params(random_state=seeds[0])
        by_hand.append(refit_and_ask(again, X[:, places], y, rows))
    np.testing.assert_allclose(answers(model, X), np.mean(by_hand, axis=0), atol=1e-8)


def refit_and_ask(again: Any, X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What an estimator answers after a fit to these rows: as weights if it takes them, else as copies."""
    weights: dict[str, Any] = {}
    if isinstance(again, GaussianNB | SVC | LinearRegression | RandomForestClassifier):
        rows, counts = np.unique(rows, return_counts=True)
        weights = {"sample_weight": counts}
    again.fit(X[rows], y[rows], **weights)
    return votes(again.predict(X)) if isinstance(again, SVC) else answers(again, X)


def votes(named: np.ndarray) -> np.ndarray:
    return (named[:, None] == np.array(["a", "b", "c"])).astype(float)


def test_a_pipeline_sees_the_very_rows():
    X, y, _ = number_table(120)
    base = make_pipeline(StandardScaler(), SVC())
    model = BaggingClassifier(base, n_estimators=5, max_features=0.6, random_state=0).fit(X, y)
    by_hand = [
        votes(clone(base).fit(X[rows][:, places], y[rows]).predict(X[:, places]))
        for rows, places in zip(model.estimators_samples_, model.estimators_features_, strict=True)
    ]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(by_hand, axis=0), atol=1e-12)


def test_trees_get_weights_in_place_of_copied_rows_and_are_the_same():
    frame, names, hidden = mixed_table(200)
    for base, y, learner in (
        (DecisionTreeClassifier(categorical="multiway"), names, BaggingClassifier),
        (C45Classifier(), names, BaggingClassifier),
        (DecisionTreeRegressor(), hidden, BaggingRegressor),
    ):
        model = learner(base, n_estimators=5, random_state=3).fit(frame, y)
        for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
            again = clone(base).fit(frame.iloc[rows], y[rows])
            assert member.tree_.n_nodes == again.tree_.n_nodes
            np.testing.assert_allclose(answers(member, frame), answers(again, frame), atol=1e-9)
            assert member.tree_.rows[0] == len(np.unique(rows))
            assert member.tree_.weight[0] == 200.0


def test_class_weights_of_trees_hold_for_each_bag():
    X, y, _ = number_table(150)
    for class_weight in ("balanced", {"a": 3.0, "b": 1.0, "c": 0.5}, {"c": 0.0}):
        base = DecisionTreeClassifier(class_weight=class_weight, min_samples_leaf=1, max_depth=3)
        model = BaggingClassifier(base, n_estimators=5, random_state=0).fit(X, y)
        by_hand = []
        for rows in model.estimators_samples_:
            kept, counts = np.unique(rows, return_counts=True)
            by_hand.append(clone(base).fit(X[kept], y[kept], sample_weight=counts).predict_proba(X))
        np.testing.assert_allclose(model.predict_proba(X), np.mean(by_hand, axis=0), atol=1e-12)


def test_costs_of_the_trees_decide_what_is_answered():
    X, y, _ = number_table(300)
    base = DecisionTreeClassifier(max_depth=3, misclassification_costs={("c", "a"): 10, ("c", "b"): 10})
    model = BaggingClassifier(base, n_estimators=10, random_state=0).fit(X, y)
    expected = np.array(["a", "b", "c"])[(model.predict_proba(X) @ [[0, 1, 1], [1, 0, 1], [10, 10, 0]]).argmin(axis=1)]
    assert model.predict(X).tolist() == expected.tolist()
    assert (model.predict(X) != np.array(["a", "b", "c"])[model.predict_proba(X).argmax(axis=1)]).any()
    voted = clone(model).set_params(voting="hard").fit(X, y)
    by_hand = np.mean([votes(member.predict(X)) for member in voted.estimators_], axis=0)
    np.testing.assert_allclose(voted.predict_proba(X), by_hand, atol=1e-12)


@pytest.mark.parametrize("base", [None, KNeighborsClassifier(), SVC(), SVC(probability=True), GaussianNB()], ids=str)
def test_a_majority_counts_the_answers_of_the_members(base):
    X, y, _ = number_table(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # scikit-learn means to drop probability=True
        model = BaggingClassifier(base, n_estimators=7, max_features=0.6, voting="hard", random_state=0).fit(X, y)
    counted = np.zeros((200, 3))
    for member, places in zip(model.estimators_, model.estimators_features_, strict=True):
        counted += votes(member.predict(X[:, places]))
    np.testing.assert_allclose(model.predict_proba(X), counted / 7.0, atol=1e-12)
    assert model.predict(X).tolist() == np.array(["a", "b", "c"])[counted.argmax(axis=1)].tolist()


def test_the_mean_of_the_shares_is_answered():
    X, y, _ = number_table(200)
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=9, random_state=0).fit(X, y)
    shares = np.mean([member.predict_proba(X) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-12)


@pytest.mark.parametrize("base", [None, KNeighborsClassifier(3), SVC()], ids=str)
def test_the_out_of_bag_score_is_that_of_members_that_have_not_seen_a_row(base):
    X, y, _ = number_table(120)
    model = BaggingClassifier(base, n_estimators=15, oob_score=True, random_state=0).fit(X, y)
    sums, n_predictions = np.zeros((120, 3)), np.zeros(120)
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        unseen = np.setdiff1d(np.arange(120), rows)
        sums[unseen] += votes(member.predict(X[unseen])) if isinstance(base, SVC) else member.predict_proba(X[unseen])
        n_predictions[unseen] += 1
    np.testing.assert_allclose(model.oob_decision_function_, sums / n_predictions[:, None], atol=1e-12)
    named = np.array(["a", "b", "c"])[sums.argmax(axis=1)]
    assert model.oob_score_ == np.mean(named == y)
    measured = clone(model).set_params(oob_score=balanced_accuracy_score).fit(X, y)
    assert measured.oob_score_ == pytest.approx(balanced_accuracy_score(y, named))


def test_the_out_of_bag_score_of_numbers_leaves_out_rows_that_all_have_seen():
    X, _, y = number_table(80)
    model = BaggingRegressor(n_estimators=3, oob_score=True, random_state=0).fit(X, y)
    sums, n_predictions = np.zeros(80), np.zeros(80)
    for member, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        unseen = np.setdiff1d(np.arange(80), rows)
        sums[unseen] += member.predict(X[unseen])
        n_predictions[unseen] += 1
    known = n_predictions > 0
    assert 0 < np.count_nonzero(~known) < 80
    np.testing.assert_allclose(model.oob_prediction_[known], sums[known] / n_predictions[known], atol=1e-12)
    assert np.isnan(model.oob_prediction_[~known]).all()
    assert model.oob_score_ == pytest.approx(r2_score(y[known], model.oob_prediction_[known]))
    measured = clone(model).set_params(oob_score=mean_absolute_error).fit(X, y)
    assert measured.oob_score_ == pytest.approx(mean_absolute_error(y[known], model.oob_prediction_[known]))
    again = model.set_params(oob_score=False).fit(X, y)
    assert not hasattr(again, "oob_score_")
    assert not hasattr(again, "oob_prediction_")


def test_rows_without_weight_are_left_out_and_rows_are_numbered_as_in_the_table():
    frame, names, hidden = mixed_table(200)
    weights = np.ones(200)
    weights[::4] = 0.0
    kept = np.flatnonzero(weights)
    for learner, base, y in (
        (BaggingClassifier, None, names),
        (BaggingClassifier, KNeighborsClassifier(), names),
        (BaggingRegressor, LinearRegression(), hidden),
    ):
        model = learner(base, n_estimators=6, oob_score=True, random_state=0).fit(frame, y, sample_weight=weights)
        alone = learner(base, n_estimators=6, oob_score=True, random_state=0).fit(frame.iloc[kept], y[kept])
        np.testing.assert_array_equal(answers(model, frame), answers(alone, frame))
        for rows, rows_alone in zip(model.estimators_samples_, alone.estimators_samples_, strict=True):
            np.testing.assert_array_equal(rows, kept[rows_alone])
        assert model.oob_score_ == alone.oob_score_
        judged = model.oob_decision_function_[:, 0] if y is names else model.oob_prediction_
        assert np.isnan(judged[::4]).all()


@pytest.mark.parametrize("base", [None, GaussianNB()], ids=str)
def test_weights_of_rows_reach_the_members_without_replacement(base):
    X, y, _ = number_table(150)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 150)
    model = BaggingClassifier(base, n_estimators=4, replace=False, max_samples=0.6, random_state=0)
    model.fit(X, y, sample_weight=weights)
    by_hand = []
    for rows in model.estimators_samples_:
        kept, counts = np.unique(rows, return_counts=True)
        again = clone(base if base is not None else DecisionTreeClassifier())
        by_hand.append(again.fit(X[kept], y[kept], sample_weight=counts * weights[kept]).predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), np.mean(by_hand, axis=0), atol=1e-6)


@pytest.mark.parametrize("base", [None, GaussianNB(), KNeighborsClassifier(3)], ids=str)
def test_members_are_fitted_to_rows_that_are_drawn_by_weight(base):
    X, y, _ = number_table(150)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 150)
    model = BaggingClassifier(base, n_estimators=4, random_state=0).fit(X, y, sample_weight=weights)
    by_hand = []
    for rows in model.estimators_samples_:
        assert len(rows) == 150
        again = clone(base if base is not None else DecisionTreeClassifier())
        by_hand.append(again.fit(X[rows], y[rows]).predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), np.mean(by_hand, axis=0), atol=1e-6)


@pytest.mark.parametrize("weights", [np.array([1, 0, 2, 5]), np.array([0.3, 0.0, 1.1, 0.6])], ids=["whole", "parts"])
def test_a_row_is_drawn_in_proportion_to_its_weight(weights):
    X, n_members = np.arange(4.0).reshape(-1, 1), 300
    model = BaggingRegressor(n_estimators=n_members, max_samples=20, random_state=0).fit(X, X[:, 0], weights)
    drawn = np.bincount(np.concatenate(model.estimators_samples_), minlength=4)
    assert drawn.sum() == 20 * n_members
    expected = 20 * n_members * weights / weights.sum()
    np.testing.assert_array_less(np.abs(drawn - expected), 5.0 * np.sqrt(expected + 1e-9) + 1e-9)


@pytest.mark.parametrize("base", [None, KNeighborsClassifier(3)], ids=str)
@pytest.mark.parametrize("max_samples", [40, 0.7])
def test_whole_weights_and_copies_of_the_rows_are_the_same(base, max_samples):
    X, y, _ = number_table(60)
    weights = np.random.default_rng(0).integers(1, 4, 60)
    model = BaggingClassifier(base, n_estimators=5, max_samples=max_samples, random_state=0)
    copied = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    weighted = model.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))
    for rows, copies in zip(weighted.estimators_samples_, copied.estimators_samples_, strict=True):
        np.testing.assert_array_equal(rows, np.repeat(np.arange(60), weights)[copies])


@pytest.mark.parametrize("learner", ALL)
@pytest.mark.parametrize("weights", [pytest.param("none", marks=pytest.mark.slow), "badly scaled"])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(learner, weights):
    table = mixed_table(500)
    y = target_of(learner, table)
    sample_weight = None if weights == "none" else np.random.default_rng(1).lognormal(0.0, 6.0, 500)
    models = [
        learner(n_estimators=9, random_state=3, n_jobs=n_jobs).fit(table[0], y, sample_weight) for n_jobs in (1, 2, 4)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(answers(model, table[0]), answers(models[0], table[0]))
        np.testing.assert_array_equal(answers(model, table[0][:1]), answers(models[0], table[0])[:1])
        np.testing.assert_array_equal(model.feature_importances_, models[0].feature_importances_)


@pytest.mark.parametrize(
    "base", [KNeighborsClassifier(), GaussianNB(), RandomForestClassifier(n_estimators=2)], ids=str
)
def test_other_members_do_not_depend_on_threads_either(base):
    frame, y, _ = mixed_table(200)
    first, *others = (
        BaggingClassifier(base, n_estimators=6, max_features=0.5, random_state=3, n_jobs=n_jobs)
        .fit(frame, y)
        .predict_proba(frame)
        for n_jobs in (1, 2, 4)
    )
    for other in others:
        np.testing.assert_array_equal(other, first)


@pytest.mark.slow
def test_another_process_fits_the_same_members():
    code = (
        "import numpy as np; from treewright import BaggingClassifier, datasets;"
        "iris = datasets.load_iris();"
        "weights = np.random.default_rng(1).lognormal(0.0, 6.0, 150);"
        "model = BaggingClassifier(n_estimators=20, max_features=2, random_state=5).fit(iris.X, iris.y, weights);"
        "print(model.predict_proba(iris.X).tobytes().hex())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    iris = datasets.load_iris()
    weights = np.random.default_rng(1).lognormal(0.0, 6.0, 150)
    here = BaggingClassifier(n_estimators=20, max_features=2, random_state=5).fit(iris.X, iris.y, weights)
    assert here.predict_proba(iris.X).tobytes().hex() == there


@pytest.mark.slow
@pytest.mark.parametrize("base", [None, KNeighborsClassifier(), RandomForestClassifier(n_estimators=2)], ids=str)
@pytest.mark.parametrize("twice", [False, True])
def test_all_forms_of_a_table_give_the_same_members(base, twice):
    frame, y, _ = mixed_table(150)
    options = {"n_estimators": 5, "max_features": 0.75, "replace_features": twice, "random_state": 0}
    tables = frames_of(frame)
    expected = BaggingClassifier(base, **options).fit(frame, y).predict_proba(frame)
    for form, table in tables.items():
        model = BaggingClassifier(base, **options).fit(table, y)
        np.testing.assert_allclose(model.predict_proba(table), expected, atol=1e-12, err_msg=form)
        assert hasattr(model, "feature_names_in_") == (form not in WITHOUT_NAMES)


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "dict"])
@pytest.mark.parametrize("base", [None, LinearRegression(), KNeighborsRegressor()], ids=str)
def test_columns_are_found_by_name_and_others_are_ignored(form, base):
    frame, _, y = mixed_table(120)
    model = BaggingRegressor(base, n_estimators=4, max_features=0.5, random_state=0).fit(frames_of(frame)[form], y)
    turned = frame[["wet", "kind", "age", "size"]].copy()
    turned.insert(1, "other", "nothing")
    np.testing.assert_allclose(model.predict(frames_of(turned)[form]), model.predict(frame), atol=1e-12)


def test_columns_are_read_as_declared_by_members_of_any_kind():
    random = np.random.default_rng(0)
    codes = random.integers(0, 6, 300)
    y = np.isin(codes, [0, 3, 4])
    table = {"code": codes.tolist(), "price": [str(number) for number in random.normal(size=300).round(3)]}
    declared = {"categorical_features": ["code"], "numeric_features": ["price"], "random_state": 0, "n_estimators": 5}
    for base in (None, LogisticRegression(), RandomForestClassifier(n_estimators=3)):
        model = BaggingClassifier(base, **declared).fit(table, y)
        assert [column.is_categorical for column in model.columns_] == [True, False]
        assert model.score(table, y) == 1.0
        # As a quantity the code would not be told apart by a line.
    prepared = BaggingClassifier(LogisticRegression(), **declared).fit(table, y).estimators_[0][0]
    assert [column.is_categorical for column in prepared.columns_] == [True, False]
    with pytest.raises(ValueError, match="categorical_features is set on the estimator; set it on BaggingClassifier"):
        BaggingClassifier(DecisionTreeClassifier(categorical_features=["code"])).fit(table, y)


def test_a_pipeline_with_columns_by_name_gets_the_frame():
    frame, y, _ = mixed_table(150)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["size", "age"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), ["kind"]),
    )
    base = make_pipeline(columns, LogisticRegression())
    frame["kind"] = frame["kind"].astype(object).where(frame["kind"].notna(), np.nan)
    model = BaggingClassifier(base, n_estimators=5, random_state=0).fit(frame, y)
    by_hand = [clone(base).fit(frame.iloc[rows], y[rows]).predict_proba(frame) for rows in model.estimators_samples_]
    np.testing.assert_allclose(model.predict_proba(frame), np.mean(by_hand, axis=0), atol=1e-9)


def test_a_pipeline_gets_a_dict_as_an_array():
    X, _, y = number_table(60)
    base = make_pipeline(StandardScaler(), LinearRegression())
    table = {f"column {place}": X[:, place].tolist() for place in range(5)}
    model = BaggingRegressor(base, n_estimators=4, max_features=0.8, random_state=0)
    expected = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(table, y).predict(table), expected, atol=1e-9)


def test_a_search_over_trees_can_be_bagged():
    frame, y, _ = mixed_table(120)
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 4]}, cv=2)
    model = BaggingClassifier(search, n_estimators=2, random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.6
    assert all(member.best_params_["max_depth"] in (1, 4) for member in model.estimators_)


@pytest.mark.parametrize("base", [None, KNeighborsClassifier(1), SVC(), LogisticRegression(), GaussianNB()], ids=str)
def test_a_class_that_a_bag_misses_gets_no_share_of_its_member(base):
    X = np.arange(12.0)[:, None]
    y = np.array(["common"] * 10 + ["rare"] * 2)
    model = BaggingClassifier(base, n_estimators=12, max_samples=6, random_state=0).fit(X, y)
    one_class = ["rare" not in y[rows] for rows in model.estimators_samples_]
    assert any(one_class)
    assert not all(one_class)
    assert model.classes_.tolist() == ["common", "rare"]
    shares = model.member_predictions(X)
    assert (shares[one_class] == [1.0, 0.0]).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.predict([[0.0]]).tolist() == ["common"]


@pytest.mark.parametrize("learner", ALL)
def test_two_rows_are_enough(learner):
    y = ["no", "yes"] if "Classifier" in learner.__name__ else [0.0, 1.0]
    model = learner(n_estimators=5, random_state=0).fit({"x": [1.0, 2.0]}, y)
    assert len(answers(model, {"x": [1.5, None]})) == 2
    alone = learner(n_estimators=2, random_state=0).fit({"x": ["only"]}, [3])
    assert alone.predict({"x": ["only", "new"]}).tolist() == [3, 3]


@pytest.mark.slow
def test_three_hundred_classes():
    random = np.random.default_rng(0)
    y = np.arange(900) % 300
    X = np.column_stack([y + random.normal(size=900) * 0.01, random.normal(size=900)])
    for base in (None, GaussianNB()):
        model = BaggingClassifier(base, n_estimators=8, random_state=0).fit(X, y)
        assert model.predict_proba(X).shape == (900, 300)
        assert model.score(X, y) > 0.9


@pytest.mark.parametrize("base", [None, KNeighborsClassifier()], ids=str)
def test_unseen_categories_and_missing_values_are_answered(base):
    frame, y, _ = mixed_table(150)
    model = BaggingClassifier(base, n_estimators=5, random_state=0).fit(frame, y)
    new = pd.DataFrame({"size": [0.1, None], "age": [None, 3.0], "kind": ["baobab", None], "wet": [True, None]})
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


def test_what_a_tree_refuses_is_refused():
    frame, y, _ = mixed_table(100)
    whole = frame.dropna()
    known = y[whole.index]
    model = BaggingClassifier(DecisionTreeClassifier(missing="error", unseen="error"), n_estimators=2)
    with pytest.raises(ValueError, match="missing is 'error'"):
        model.fit(frame, y)
    model.fit(whole, known)
    with pytest.raises(ValueError, match="missing is 'error'"):
        model.predict(frame)
    with pytest.raises(ValueError, match=r"unseen is 'error'.*'baobab'"):
        model.predict(whole.assign(kind="baobab"))
    with pytest.raises(ValueError, match="ID3 knows categories only"):
        BaggingClassifier(ID3Classifier(), n_estimators=2).fit(whole, known)
    every = BaggingClassifier(ID3Classifier(), n_estimators=5, categorical_features="all", random_state=0)
    assert every.fit(whole, known).score(whole, known) > 0.8


def test_members_can_be_asked_by_themselves():
    frame, y, _ = mixed_table(150)
    model = BaggingClassifier(n_estimators=4, max_features=0.5, replace_features=True, random_state=1).fit(frame, y)
    shares = [
        member.predict_proba(take_columns(frame, places))
        for member, places in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    np.testing.assert_allclose(model.predict_proba(frame), np.mean(shares, axis=0), atol=1e-12)


def test_trees_prune_themselves_in_a_bag():
    frame, y, _ = mixed_table(150)
    full = BaggingClassifier(n_estimators=5, random_state=0).fit(frame, y)
    pruned = BaggingClassifier(CARTClassifier(), n_estimators=5, random_state=0).fit(frame, y)
    leaves = [[member.tree_.n_leaves for member in model.estimators_] for model in (pruned, full)]
    # Cross-validation may keep a whole tree.
    assert all(small <= large for small, large in zip(*leaves, strict=True))
    assert sum(leaves[0]) < 0.8 * sum(leaves[1])


def test_importances_are_those_of_the_members_by_column():
    X, _, _ = number_table(200)
    y = X[:, 3] > 0.0
    model = BaggingClassifier(n_estimators=10, max_features=3, random_state=0).fit(X, y)
    by_hand = np.zeros(5)
    for member, places in zip(model.estimators_, model.estimators_features_, strict=True):
        for place, share in zip(places, member.feature_importances_, strict=True):
            by_hand[place] += share
    np.testing.assert_allclose(model.feature_importances_, by_hand / by_hand.sum())
    assert model.feature_importances_.argmax() == 3
    assert not hasattr(BaggingClassifier(GaussianNB(), n_estimators=2).fit(X, y), "feature_importances_")
    assert not hasattr(BaggingClassifier(), "feature_importances_")


@pytest.mark.parametrize("learner", BAGS)
def test_diversity_tells_members_and_ensemble(learner):
    table, new = mixed_table(200), mixed_table(200, seed=7)
    model = learner(n_estimators=11, random_state=0).fit(table[0], target_of(learner, table))
    found = diversity(model, new[0], target_of(learner, new))
    y = target_of(learner, new)
    if learner is BaggingClassifier:
        errors = [np.mean(member.predict(new[0]) != y) for member in model.estimators_]
        joint = np.mean(model.predict(new[0]) != y)
        assert found.disagreement > 0.1
    else:
        errors = [np.mean((member.predict(new[0]) - y) ** 2) for member in model.estimators_]
        joint = np.mean((model.predict(new[0]) - y) ** 2)
    np.testing.assert_allclose(found.errors, errors)
    assert found.joint_error == pytest.approx(joint)
    assert found.joint_error < found.mean_error


def test_random_subspaces_see_all_rows_and_half_of_the_columns():
    X, y, hidden = number_table(100)
    for model in (
        RandomSubspaceClassifier(n_estimators=8, random_state=0).fit(X, y),
        RandomSubspaceRegressor(n_estimators=8, random_state=0).fit(X, hidden),
    ):
        assert all(sample.tolist() == list(range(100)) for sample in model.estimators_samples_)
        assert {len(places) for places in model.estimators_features_} == {2}
        assert "max_samples" not in model.get_params()
        base, target = model._base(), y if hasattr(model, "classes_") else hidden
        by_hand = [
            answers(clone(base).fit(X[:, places], target), X[:, places]) for places in model.estimators_features_
        ]
        np.testing.assert_allclose(answers(model, X), np.mean(by_hand, axis=0), atol=1e-9)


@pytest.mark.slow
def test_bagging_is_about_as_good_as_that_of_scikit_learn():
    X, y = scikit.load_breast_cancer(return_X_y=True)
    ours = cross_val_score(BaggingClassifier(n_estimators=30, random_state=0), X, y, cv=4).mean()
    theirs = cross_val_score(TheirBagging(n_estimators=30, random_state=0), X, y, cv=4).mean()
    alone = cross_val_score(DecisionTreeClassifier(), X, y, cv=4).mean()
    assert ours == pytest.approx(theirs, abs=0.02)
    assert ours > alone


@pytest.mark.parametrize("learner", ALL)
def test_a_pickled_model_answers_the_same(learner):
    table = mixed_table(100)
    model = learner(n_estimators=3, random_state=0).fit(table[0], target_of(learner, table))
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(loaded, table[0]), answers(model, table[0]))
    np.testing.assert_array_equal(loaded.estimators_samples_[2], model.estimators_samples_[2])


def test_settings_of_scikit_learn_hold_in_every_member():
    seen = []

    class Curious(ClassifierMixin, BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            from sklearn import get_config

            seen.append(get_config()["assume_finite"])
            self.classes_ = np.unique(y)
            return self

        def predict(self, X: Any) -> np.ndarray:
            return np.repeat(self.classes_[:1], len(X))

    X, y, _ = number_table(30)
    with config_context(assume_finite=True):
        BaggingClassifier(Curious(), n_estimators=3, random_state=0).fit(X, y)
    assert seen == [True] * 3


@pytest.mark.slow
def test_an_interrupt_stops_soon_and_leaves_the_model_as_it_was():
    code = (
        "import numpy as np; from treewright import BaggingClassifier, DecisionTreeClassifier\n"
        "from interruption import interrupt_when_told\n"
        "random = np.random.default_rng(0)\n"
        "X, y = random.normal(size=(50_000, 10)), random.integers(0, 2, 50_000)\n"
        "DecisionTreeClassifier().fit(X[:3000], y[:3000])\n"
        "model = BaggingClassifier(n_estimators=200, progress=True)\n"
        "before, screen = dict(vars(model)), interrupt_when_told('fitting members: 0 of 200')\n"
        "try:\n"
        "    model.fit(X, y); print('finished')\n"
        "except KeyboardInterrupt:\n"
        "    print(screen.getvalue().splitlines(), vars(model) == before)\n"
    )
    assert printed_by(code) == ["['fitting members: 0 of 200'] True"]


@pytest.mark.slow
def test_an_interrupt_does_not_wait_for_a_member_that_takes_long():
    code = """
import os, signal, threading
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from treewright import BaggingClassifier

interrupted = threading.Event()

class Endless(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        if not interrupted.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            interrupted.wait()
        self.classes_ = np.unique(y)
        return self
    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))

model = BaggingClassifier(Endless(), n_estimators=20)
before = dict(vars(model))
try:
    model.fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    print("finished")
except KeyboardInterrupt:
    print("stopped", vars(model) == before)
interrupted.set()
"""
    assert printed_by(code) == ["stopped True"]


def test_an_error_leaves_an_earlier_fit_as_it_was():
    X, y, _ = number_table(40)
    model = BaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(max_samples=4000, oob_score=True)
    with pytest.raises(ValueError, match="no row is out of bag"):
        model.fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert not hasattr(model, "oob_score_")
    with pytest.raises(NotFittedError):
        BaggingClassifier().predict(X)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_estimators": 0}, "n_estimators is 0; give a whole number"),
        ({"n_estimators": 2.5}, "n_estimators is 2.5"),
        ({"max_samples": -1.0}, "max_samples is -1.0; give a whole number of rows"),
        ({"max_samples": 0}, "max_samples is 0"),
        ({"max_samples": "all"}, "max_samples is 'all'"),
        ({"max_samples": 31, "replace": False}, "max_samples is 31 of 30 rows, which needs replace=True"),
        ({"max_samples": 10**6}, "at most 10000 draws per row"),
        ({"max_features": 0}, "max_features is 0; give a number of columns up to 4"),
        ({"max_features": 5}, "max_features is 5; give a number of columns up to 4"),
        ({"max_features": 1.5}, "max_features is 1.5"),
        ({"max_features": True}, "max_features is True"),
        ({"replace": "no"}, "replace is 'no'; give True or False"),
        ({"replace_features": 1}, "replace_features is 1; give True or False"),
        ({"voting": "loud"}, "voting is 'loud'; give 'soft' or 'hard'"),
        ({"voting": ["soft"]}, r"voting is \['soft'\]"),
        ({"oob_score": "yes"}, "oob_score is 'yes'; give True, False"),
        ({"oob_score": True, "replace": False}, "set replace=True or lower max_samples"),
        ({"estimator": LinearRegression()}, r"estimator is LinearRegression\(\); give a classifier"),
        ({"estimator": GaussianNB}, "give a classifier, such as DecisionTreeClassifier()"),
        ({"estimator": 3}, "estimator is 3; give a classifier"),
        ({"estimator": DecisionTreeClassifier(max_depth=-1)}, "max_depth is -1"),
        ({"progress": "yes"}, "progress is 'yes'"),
        ({"n_jobs": 0}, "n_jobs is 0; give a whole number other than 0"),
        ({"n_jobs": "two"}, "n_jobs is 'two'"),
    ],
    ids=str,
)
def test_mistakes_are_named(parameters, words):
    frame, y, _ = mixed_table(30)
    model = BaggingClassifier(**({"n_estimators": 2} | parameters))
    with pytest.raises(ValueError, match=words) as caught:
        model.fit(frame, y)
    assert "\n" not in str(caught.value)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_weights_that_a_member_cannot_take_are_refused():
    X, y, _ = number_table(30)
    model = BaggingClassifier(KNeighborsClassifier(), n_estimators=2, replace=False)
    with pytest.raises(ValueError, match="KNeighborsClassifier does not support sample_weight; set replace=True"):
        model.fit(X, y, sample_weight=np.arange(30.0))
    model.fit(X, y, sample_weight=np.full(30, 2.0))
    with pytest.raises(ValueError, match="every row has a weight of zero"):
        model.fit(X, y, sample_weight=0.0)


def test_progress_is_reported_for_every_member(monkeypatch):
    from treewright.estimators.meta import bagging

    seen = []

    class Follow:
        def __enter__(self):
            return seen.append

        def __exit__(self, *_):
            return False

    monkeypatch.setattr(bagging, "follow", lambda *_: Follow())
    X, y, _ = number_table(30)
    BaggingClassifier(n_estimators=9).fit(X, y)
    assert sum(seen) == 9


def test_the_table_that_members_get_keeps_declared_categories():
    orchard = datasets.load_orchard()
    model = BaggingClassifier(KNeighborsClassifier(), n_estimators=3, max_features=0.8, random_state=0)
    model.fit(orchard.X, orchard.y)
    for member, places in zip(model.estimators_, model.estimators_features_, strict=True):
        learned = {column.name: column for column in member[0].columns_}
        assert list(learned) == [model.columns_[place].name for place in places]
        if "vigour" in learned:
            assert learned["vigour"].categories == ("weak", "medium", "strong")


def test_rows_and_columns_are_taken_alike_from_every_form():
    frame, _, _ = mixed_table(20)
    rows, places = np.array([3, 3, 0, 7]), np.array([0, 2, 2])
    expected = TablePreparer().fit(frame.iloc[:8]).transform(frame.iloc[:8])
    for form, table in frames_of(frame.iloc[:8]).items():
        if form in ("polars lazy", "dict", "dict of series", "rows"):
            continue
        assert len(take_rows(table, rows)) == 4
        taken = take_columns(table, places)
        prepared = TablePreparer().fit(taken).transform(taken)
        np.testing.assert_allclose(prepared[:, 0], expected[:, 0], err_msg=form)


CHANCE = "rows are drawn at random by their place in the table, where a row of weight 2 has one place"


def not_applicable(model: Any) -> dict[str, str]:
    """Random subspaces draw no rows."""
    draws_rows = type(model) in BAGS
    return weight_equivalence(CHANCE) if draws_rows else {}


@pytest.mark.slow
@parametrize_with_checks(
    [learner(n_estimators=5, random_state=0) for learner in ALL], expected_failed_checks=not_applicable
)
def test_learners_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("others", [["b"] * 19, ["b"] * 10 + ["c"] * 9], ids=["two classes", "three classes"])
def test_decision_functions_of_samples_without_a_class_are_refused(others: list[str]) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = BaggingClassifier(LogisticRegression(), n_estimators=20, random_state=0).fit(X, ["r", *others])
    with pytest.raises(ValueError, match=r"samples without rows of a class.*use predict_proba"):
        model.decision_function(X)
    assert model.predict_proba(X).shape == (20, len(set(others)) + 1)


def test_a_member_that_predicts_other_classes_is_named() -> None:
    class Zeros(KNeighborsClassifier):
        predict_proba = property()

        def predict(self, X: Any) -> np.ndarray:
            return np.zeros(len(X))

    X, y, _ = number_table(30)
    with pytest.raises(ValueError, match=r"Zeros predicts .*, which is none of the classes of y"):
        BaggingClassifier(Zeros(), n_estimators=2, random_state=0).fit(X, y).predict(X)
