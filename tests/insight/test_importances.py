"""Permutation importances: the figures of scikit-learn's function, on tables that it does not take."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance as theirs
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, log_loss, make_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from sample_tables import target_of
from table_forms import FORMS, WITH_NAMES
from treewright import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    C45Classifier,
    CARTRegressor,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    datasets,
    permutation_importance,
)

MODELS = [
    C45Classifier(),
    CARTRegressor(),
    RandomForestClassifier(n_estimators=10, random_state=0),
    ExtraTreesRegressor(n_estimators=10, random_state=0),
    BaggingClassifier(n_estimators=5, random_state=0),
    BaggingRegressor(LinearRegression(), n_estimators=5, random_state=0),
    AdaBoostClassifier(n_estimators=5),
    VotingClassifier([("tree", DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB())]),
    GaussianNB(),
    TheirForest(n_estimators=5, random_state=0),
]


def additive_table(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    hidden = 2.0 * X[:, 0] + X[:, 1] + random.normal(size=n_rows) * 0.3
    return X, np.where(hidden > 0.0, "yes", "no"), hidden


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("named", [False, True])
def test_the_figures_are_those_of_scikit_learn(model, named):
    table = additive_table(120)
    X, y = table[0], target_of(model, table)
    rows = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=np.arange(120) % 7) if named else X
    model.fit(rows, y)
    ours = permutation_importance(model, rows, y, n_repeats=4, random_state=3)
    expected = theirs(model, rows, y, n_repeats=4, random_state=3)
    np.testing.assert_allclose(ours.importances, expected.importances, atol=1e-12)
    np.testing.assert_allclose(ours.importances_mean, expected.importances_mean, atol=1e-12)
    np.testing.assert_allclose(ours.importances_std, expected.importances_std, atol=1e-12)
    assert ours.score == pytest.approx(model.score(rows, y))
    assert ours.names == (("a", "b", "c", "d") if named else ("x0", "x1", "x2", "x3"))


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc", "neg_log_loss", "function", "scorer"])
def test_any_measure_of_scikit_learn_can_be_asked_for(scoring):
    X, y, _ = additive_table(150)
    measures = {
        "function": lambda model, X, y: -np.mean(model.predict(X) != y),
        "scorer": make_scorer(log_loss, response_method="predict_proba", greater_is_better=False),
    }
    model = RandomForestClassifier(n_estimators=20, min_samples_leaf=5, random_state=0).fit(X, y)
    given = measures.get(scoring, scoring)
    ours = permutation_importance(model, X, y, scoring=given, random_state=1)
    expected = theirs(model, X, y, scoring=given, random_state=1)
    np.testing.assert_allclose(ours.importances, expected.importances, atol=1e-12)


def test_a_column_that_the_model_does_not_use_is_worth_nothing():
    X, _, y = additive_table(400)
    new, _, truth = additive_table(400, seed=9)
    model = RandomForestRegressor(n_estimators=40, random_state=0).fit(X, y)
    found = permutation_importance(model, new, truth, random_state=0)
    assert found.importances_mean.argmax() == 0
    assert found.importances_mean[0] > 0.5
    assert np.abs(found.importances_mean[2:]).max() < 0.02
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y > 0.0)
    assert permutation_importance(tree, new, truth > 0.0, random_state=0).importances[1:].tolist() == [[0.0] * 5] * 3


def test_columns_that_say_the_same_share_what_they_are_worth():
    X, _, y = additive_table(500)
    alone = RandomForestRegressor(n_estimators=50, max_features=1, random_state=0).fit(X, y)
    twice = np.column_stack([X, X[:, 0]])
    both = RandomForestRegressor(n_estimators=50, max_features=1, random_state=0).fit(twice, y)
    by_itself = permutation_importance(alone, X, y, random_state=0).importances_mean
    shared = permutation_importance(both, twice, y, random_state=0).importances_mean
    assert shared[0] < 0.6 * by_itself[0]
    assert shared[4] == pytest.approx(shared[0], rel=0.4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(n_estimators=20, random_state=0),
        VotingClassifier(),
        BaggingClassifier(KNeighborsClassifier(), n_estimators=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_text_and_missing_values_are_shuffled_in_every_kind_of_frame(model):
    random = np.random.default_rng(0)
    kinds = np.array(["ash", "elm", "fir"])[random.integers(0, 3, 200)].tolist()
    table = {
        "noise": random.normal(size=200).tolist(),
        "kind": [None if random.random() < 0.1 else kind for kind in kinds],
        "size": [None if random.random() < 0.1 else float(size) for size in random.normal(size=200)],
    }
    y = ["elm or fir" if kind != "ash" else "ash" for kind in kinds]
    expected = permutation_importance(model.fit(table, y), table, y, random_state=2)
    assert expected.importances_mean.argmax() == 1
    for form in ("dict", "rows", "pandas", "polars", "polars lazy", "arrow", "lists"):
        frame = FORMS[form](table)
        found = permutation_importance(model.fit(frame, y), frame, y, random_state=2)
        np.testing.assert_allclose(found.importances, expected.importances, atol=1e-12, err_msg=form)
        assert found.names == (("noise", "kind", "size") if form in WITH_NAMES else ("x0", "x1", "x2"))


def test_a_drop_can_be_worked_out_by_hand():
    orchard = datasets.load_orchard()
    model = C45Classifier().fit(orchard.X, orchard.y)
    found = permutation_importance(model, orchard.X, orchard.y, n_repeats=1, random_state=7)
    seed = np.random.RandomState(7).randint(2**31)
    order = np.random.RandomState(seed).permutation(len(orchard.y))
    for place, name in enumerate(orchard.X.columns):
        shuffled = orchard.X.assign(name, orchard.X[name][order])
        drop = accuracy_score(orchard.y, model.predict(orchard.X)) - accuracy_score(orchard.y, model.predict(shuffled))
        assert found.importances[place, 0] == pytest.approx(drop, abs=1e-12)


def test_the_same_seed_gives_the_same_figures_for_any_number_of_threads():
    X, y, _ = additive_table(300)
    model = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    first, *others = (
        permutation_importance(model, X, y, random_state=5, n_jobs=n_jobs).importances for n_jobs in (1, 2, 4, None)
    )
    for other in others:
        np.testing.assert_array_equal(other, first)
    assert (permutation_importance(model, X, y, random_state=6).importances != first).any()


def test_the_model_and_the_table_stay_as_they_are():
    X, y, _ = additive_table(60)
    model = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    before, rows = model.predict_proba(X), X.copy()
    permutation_importance(model, X, y, random_state=0)
    np.testing.assert_array_equal(X, rows)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert "_read_rows" not in vars(model)


def test_the_table_is_printed_with_the_largest_drop_first():
    iris = datasets.load_iris()
    model = RandomForestClassifier(n_estimators=30, random_state=0).fit(iris.X, iris.y)
    found = permutation_importance(model, iris.X, iris.y, random_state=0)
    lines = str(found).splitlines()
    assert lines[0].split() == ["column", "mean", "drop", "deviation"]
    printed = [(line.split()[0], float(line.split()[1])) for line in lines[1:5]]
    by_mean = sorted(zip(found.names, found.importances_mean, strict=True), key=lambda pair: -pair[1])
    assert [name for name, _ in printed] == [name for name, _ in by_mean]
    np.testing.assert_allclose([drop for _, drop in printed], [drop for _, drop in by_mean], atol=1e-4)
    assert lines[-1] == "score without shuffling: 1.0000"
    assert len({len(line) for line in lines[:5]}) == 1


def test_a_long_table_is_cut_short_when_printed():
    X = np.random.default_rng(0).normal(size=(50, 45))
    model = DecisionTreeClassifier().fit(X, X[:, 3] > 0.0)
    lines = str(permutation_importance(model, X, X[:, 3] > 0.0, n_repeats=2, random_state=0)).splitlines()
    assert lines[1].startswith("x3 ")
    assert "... and 15 more" in lines


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_repeats": 0}, "n_repeats is 0; give a whole number of 1 or more"),
        ({"n_jobs": 0}, "n_jobs is 0; give a whole number other than 0"),
        ({"scoring": ["accuracy", "f1"]}, "give one measure at a time"),
    ],
    ids=str,
)
def test_mistakes_are_named(options, words):
    X, y, _ = additive_table(30)
    model = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match=words):
        permutation_importance(model, X, y, **options)


def test_what_does_not_fit_together_is_named():
    X, y, _ = additive_table(30)
    model = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="X has 30 rows, but y has 29 values"):
        permutation_importance(model, X, y[:-1])
    with pytest.raises(ValueError, match="X has 3 features"):
        permutation_importance(model, X[:, :3], y)
    with pytest.raises(NotFittedError):
        permutation_importance(DecisionTreeClassifier(), X, y)
