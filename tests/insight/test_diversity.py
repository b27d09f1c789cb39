"""Diversity against its definitions written out, for ensembles of this library and of scikit-learn; joint votes."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as scikit
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, cohen_kappa_score, mean_squared_error
from sklearn.naive_bayes import GaussianNB

from treewright import DecisionTreeClassifier, DecisionTreeRegressor, datasets
from treewright.estimators.base import Ensemble
from treewright.estimators.meta.adaboost import AdaBoostClassifier, AdaBoostRegressor
from treewright.estimators.meta.voting import VotingClassifier, VotingRegressor
from treewright.insight.diversity import diversity
from treewright.measures import majority_vote_error

NAMES = np.array(["setosa", "versicolor", "virginica"])


def yules_q(first: np.ndarray, second: np.ndarray) -> float:
    n11, n00 = np.sum(first & second), np.sum(~first & ~second)
    n10, n01 = np.sum(first & ~second), np.sum(~first & second)
    return (n11 * n00 - n01 * n10) / (n11 * n00 + n01 * n10)


def check_figures(found: Any, answers: list[np.ndarray], y: np.ndarray) -> None:
    """Everything from the definitions, pair by pair."""
    pairs = list(combinations(answers, 2))
    assert found.errors == pytest.approx([1 - accuracy_score(y, one) for one in answers])
    assert found.mean_error == pytest.approx(np.mean(found.errors))
    assert found.disagreement == pytest.approx(np.mean([np.mean(one != other) for one, other in pairs]))
    assert found.kappa == pytest.approx(np.mean([cohen_kappa_score(one, other) for one, other in pairs]))
    assert found.q_statistic == pytest.approx(np.mean([yules_q(one == y, other == y) for one, other in pairs]))


def iris_parts() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Half to learn from, half to judge by; columns with noise, so that every member errs."""
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1.0, size=X.shape)
    return X[::2], NAMES[y[::2]], X[1::2], NAMES[y[1::2]]


def test_figures_of_a_vote_follow_their_definitions() -> None:
    X, y, new, truth = iris_parts()
    members = [
        ("tree", DecisionTreeClassifier(max_depth=2)),
        ("bayes", GaussianNB()),
        ("line", LogisticRegression(max_iter=1000)),
    ]
    model = VotingClassifier(members).fit(X, y)
    found = diversity(model, new, truth)
    check_figures(found, [member.predict(new) for member in model.estimators_], truth)
    assert found.names == ("tree", "bayes", "line")
    assert found.joint_error == pytest.approx(1 - model.score(new, truth))


@pytest.mark.parametrize(
    "model",
    [
        scikit.RandomForestClassifier(5, random_state=0),
        scikit.BaggingClassifier(n_estimators=5, max_features=2, random_state=0),
        scikit.AdaBoostClassifier(n_estimators=5, random_state=0),
        scikit.VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression(max_iter=1000))]),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("as_frame", [False, True])
def test_ensembles_of_scikit_learn_are_understood(model: Any, as_frame: bool) -> None:
    X, y, new, truth = iris_parts()
    if as_frame:
        X, new = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(new, columns=list("abcd"))
    model.fit(X, y)
    found = diversity(model, new, truth)
    columns = getattr(model, "estimators_features_", [range(4)] * 9)
    answers = []
    for member, places in zip(model.estimators_, columns, strict=False):
        given = new if hasattr(member, "feature_names_in_") else np.asarray(new)[:, list(places)]
        raw = member.predict(given)
        answers.append(raw if raw.dtype.kind == "U" else NAMES[raw.astype(int)])
    check_figures(found, answers, truth)
    assert found.joint_error == pytest.approx(1 - model.score(new, truth))


def test_members_that_are_all_the_same_have_no_diversity() -> None:
    X, y, new, truth = iris_parts()
    model = VotingClassifier([(name, DecisionTreeClassifier(max_depth=2)) for name in "abc"]).fit(X, y)
    found = diversity(model, new, truth)
    assert found.disagreement == pytest.approx(0.0)
    assert found.kappa == pytest.approx(1.0)
    assert found.q_statistic == pytest.approx(1.0)
    assert found.joint_error == pytest.approx(found.mean_error)


class Independent(Ensemble):
    """An ensemble whose 25 members are wrong by chance, each on rows of its own."""

    classes_ = np.array([0, 1])

    def __init__(self, answers: np.ndarray) -> None:
        self.answers = answers
        self.estimators_ = list(answers)

    def __sklearn_tags__(self) -> Any:
        return GaussianNB().__sklearn_tags__()

    def fit(self) -> None: ...

    def member_predictions(self, X: Any) -> np.ndarray:
        return self.answers

    def predict(self, X: Any) -> np.ndarray:
        return (self.answers.mean(axis=0) > 0.5).astype(int)


def test_25_independent_members_err_together_as_the_formula_says() -> None:
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 60_000)
    wrong = random.random((25, len(y))) < 0.35
    found = diversity(Independent(np.where(wrong, 1 - y, y)), np.zeros((len(y), 1)), y)
    assert found.mean_error == pytest.approx(0.35, abs=0.002)
    assert found.joint_error == pytest.approx(majority_vote_error(25, 0.35), abs=0.003)
    assert found.joint_error == pytest.approx(majority_vote_error(found.errors.tolist()), abs=0.003)
    assert found.q_statistic == pytest.approx(0.0, abs=0.01)
    assert found.disagreement == pytest.approx(2 * 0.35 * 0.65, abs=0.005)


def test_the_ambiguity_is_what_the_mean_gains_over_its_members() -> None:
    X, y = load_diabetes(return_X_y=True)
    members = [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3)), ("deep", DecisionTreeRegressor())]
    for weights in (None, [5, 2, 1]):
        model = VotingRegressor(members, weights=weights).fit(X[::2], y[::2])
        found = diversity(model, X[1::2], y[1::2])
        answers = np.array([member.predict(X[1::2]) for member in model.estimators_])
        assert found.errors == pytest.approx([mean_squared_error(y[1::2], one) for one in answers])
        assert found.joint_error == pytest.approx(found.mean_error - found.ambiguity)
        assert found.joint_error == pytest.approx(mean_squared_error(y[1::2], model.predict(X[1::2])))
        correlations = np.corrcoef(answers - y[1::2])[np.triu_indices(3, k=1)]
        assert found.correlation == pytest.approx(correlations.mean())
        assert np.isnan(found.kappa)


def test_a_forest_of_numbers_of_scikit_learn_decomposes_too() -> None:
    X, y = load_diabetes(return_X_y=True)
    found = diversity(scikit.RandomForestRegressor(8, random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2])
    assert found.joint_error == pytest.approx(found.mean_error - found.ambiguity)


def test_weights_of_rows_count_as_repeated_rows() -> None:
    X, y, new, truth = iris_parts()
    model = AdaBoostClassifier(n_estimators=4).fit(X, y)
    weights = np.random.default_rng(1).integers(0, 3, len(truth))
    weighted = diversity(model, new, truth, weights)
    repeated = diversity(model, np.repeat(new, weights, axis=0), np.repeat(truth, weights))
    for name in ("mean_error", "joint_error", "disagreement", "q_statistic", "kappa"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name))


def test_boosted_trees_with_text_and_missing_values_are_judged_on_their_table() -> None:
    orchard = datasets.load_orchard()
    model = AdaBoostClassifier(n_estimators=5).fit(orchard.X, orchard.y)
    found = diversity(model, orchard.X, orchard.y)
    assert found.errors[0] == pytest.approx(model.estimator_errors_[0])
    assert found.disagreement > 0.0
    numbers = AdaBoostRegressor(n_estimators=3, random_state=0).fit(orchard.X, np.arange(len(orchard.y)))
    assert diversity(numbers, orchard.X, np.arange(len(orchard.y))).ambiguity > 0.0


def test_it_prints_as_a_table_and_cuts_a_long_one() -> None:
    X, y, new, truth = iris_parts()
    text = str(diversity(scikit.RandomForestClassifier(30, random_state=0).fit(X, y), new, truth))
    lines = text.splitlines()
    assert lines[0].split() == ["member", "error"]
    assert lines[21] == "... and 10 more"
    assert [line.rsplit(maxsplit=1)[0] for line in lines[23:]] == [
        "mean of the members",
        "ensemble",
        "mean pairwise disagreement",
        "mean Q statistic",
        "mean kappa",
    ]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: diversity(GaussianNB().fit([[1], [2]], [0, 1]), [[1]], [0]), "give a fitted ensemble"),
        (
            lambda: diversity(scikit.GradientBoostingClassifier(n_estimators=2).fit([[1], [2]], [0, 1]), [[1]], [0]),
            "predict terms of a sum",
        ),
        (
            lambda: diversity(scikit.RandomForestClassifier(2).fit([[1], [2]], [0, 1]), [[1]], [0, 1]),
            "X has 1 rows, but y has 2 values",
        ),
    ],
)
def test_what_cannot_be_judged_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize("errors", [[0.3], [0.1, 0.4], [0.1, 0.2, 0.3], [0.5, 0.05, 0.9, 0.2], [0.0, 1.0, 0.3]])
def test_the_vote_error_of_different_members_is_the_sum_over_all_outcomes(errors: list[float]) -> None:
    expected = 0.0
    for outcome in product([False, True], repeat=len(errors)):
        chances = [p if is_wrong else 1 - p for p, is_wrong in zip(errors, outcome, strict=True)]
        wrong = sum(outcome)
        expected += np.prod(chances) * (1.0 if 2 * wrong > len(errors) else 0.5 if 2 * wrong == len(errors) else 0.0)
    assert majority_vote_error(errors) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [1, 4, 25, 60])
def test_the_vote_error_of_equal_members_can_be_computed_either_way(n: int) -> None:
    assert majority_vote_error([0.35] * n) == pytest.approx(majority_vote_error(n, 0.35), abs=1e-12)


def test_the_vote_error_of_different_members_agrees_with_a_simulation() -> None:
    random = np.random.default_rng(11)
    errors = random.uniform(0.1, 0.6, 12)
    wrong = (random.random((200_000, 12)) < errors).sum(axis=1)
    simulated = np.mean(wrong > 6) + np.mean(wrong == 6) / 2
    assert majority_vote_error(errors) == pytest.approx(simulated, abs=0.005)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: majority_vote_error([]), "list of errors is empty"),
        (lambda: majority_vote_error([0.2, 1.2]), "between 0 and 1, not 1.2"),
        (lambda: majority_vote_error([0.2], 0.3), "`error` is not used"),
        (lambda: majority_vote_error(3), "between 0 and 1, not None"),
        (lambda: majority_vote_error("ab", 0.3), "whole number of at least 1, not 'ab'"),
    ],
)
def test_votes_that_make_no_sense_get_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()
