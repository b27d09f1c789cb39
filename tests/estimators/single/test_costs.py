"""Costs of wrong answers and smoothed shares: against R's rpart, against always answering one class, and by hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from treewright import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    ID3Classifier,
    complexity_table,
    cost_complexity_path,
    datasets,
    prune,
    read_table,
)
from weka_tables import ORACLES

MISSED = 200  # what it costs to call an ill person well; a false alarm costs 1


@cache
def ward(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """20,000 people, the 100 with the highest score ill; two columns tell the score but for some noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((20_000, 5))
    score = 2.2 * X[:, 0] + 1.4 * X[:, 1] + 1.2 * random.standard_normal(len(X))
    return X, np.where(score >= np.sort(score)[-100], "ill", "well")


def cost_of(actual: np.ndarray, answers: np.ndarray) -> int:
    missed = np.count_nonzero((actual == "ill") & (answers == "well"))
    return int(MISSED * missed + np.count_nonzero((actual == "well") & (answers == "ill")))


def recall_of(actual: np.ndarray, answers: np.ndarray) -> float:
    return float((answers[actual == "ill"] == "ill").mean())


def shape(tree: Any) -> list[tuple[str, ...]]:
    """The questions of a tree in reading order."""
    return [tuple(map(str, node.tests)) for node in tree]


def rows_by_leaf(model: Any, X: Any, y: Any, weights: Any = None) -> dict[int, np.ndarray]:
    """The weight of each of the model's classes among the rows of each leaf."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    leaves, actual = model.apply(X), np.asarray(y)
    return {
        int(leaf): np.array([weights[(leaves == leaf) & (actual == name)].sum() for name in model.classes_])
        for leaf in np.unique(leaves)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [(CARTClassifier, {}), (DecisionTreeClassifier, {"min_samples_leaf": 50})],
    ids=["CART", "DecisionTree"],
)
@pytest.mark.parametrize(
    "care", [{"class_weight": "balanced"}, {"misclassification_costs": {("ill", "well"): MISSED}}], ids=str
)
def test_a_rare_class_is_found_once_its_errors_count(learner: tuple[Any, dict[str, Any]], care: dict[str, Any]) -> None:
    make, limits = learner
    X, y = ward(1)
    X_new, actual = ward(2)
    plain = make(**limits).fit(X, y).predict(X_new)
    careful = make(**limits, **care).fit(X, y).predict(X_new)
    # Accuracy praises the tree that misses two of three ill people.
    assert (plain == actual).mean() > 0.99
    assert recall_of(actual, plain) < 0.45
    assert (careful == actual).mean() < (plain == actual).mean()
    assert recall_of(actual, careful) > 0.85
    always = [cost_of(actual, np.full(len(actual), name)) for name in ("ill", "well")]
    assert cost_of(actual, careful) < min(cost_of(actual, plain), *always) / 2


@pytest.mark.parametrize("method", [None, "cost_complexity"])
def test_two_classes_grow_by_costs_as_by_weights(method: str | None) -> None:
    X, y = ward(3)
    by_cost = CARTClassifier(misclassification_costs={("ill", "well"): 7}, prune=method).fit(X, y)
    by_weight = CARTClassifier(class_weight={"ill": 7}, prune=method).fit(X, y)
    assert shape(by_cost.tree_) == shape(by_weight.tree_)
    assert by_cost.tree_.n_leaves > 1
    assert (by_cost.predict(X) == by_weight.predict(X)).all()


# rpart 4.1.19, rpart(class ~ ., parms = list(loss = ...)): CP, nsplit and rel error; how often each class is answered
# for the training rows; how many of the answers are wrong.
LOSSES: dict[str, tuple[dict[tuple[str, str], float], str, dict[str, int], int]] = {
    "diabetes": (
        {("tested_positive", "tested_negative"): 5},
        """0.10400000000000001  0 1.0000000000000000
           0.10200000000000001  1 0.8960000000000000
           0.02600000000000000  3 0.6920000000000001
           0.02400000000000000  5 0.6400000000000000
           0.01933333333333333  6 0.6160000000000000
           0.01133333333333333  9 0.5580000000000001
           0.01100000000000000 15 0.4780000000000000
           0.01000000000000000 17 0.4560000000000000""",
        {"tested_negative": 290, "tested_positive": 478},
        216,
    ),
    "glass": (
        {
            ("headlamps", "containers"): 4,
            ("containers", "tableware"): 3,
            ("build wind float", "vehic wind float"): 0.5,
            ("vehic wind float", "build wind float"): 2,
        },
        """0.18115942028985507 0 1.0000000000000000
           0.13768115942028986 1 0.8188405797101449
           0.08152173913043478 2 0.6811594202898551
           0.06521739130434782 4 0.5181159420289855
           0.04347826086956522 5 0.4528985507246377
           0.01449275362318841 6 0.4094202898550725
           0.01000000000000000 9 0.3659420289855073""",
        {
            "build wind float": 46,
            "build wind non-float": 88,
            "containers": 16,
            "headlamps": 29,
            "vehic wind float": 35,
        },
        58,
    ),
    "breast-cancer": (
        {("recurrence-events", "no-recurrence-events"): 3},
        """0.20398009950248755  0 1.0000000000000000
           0.04228855721393035  1 0.7960199004975124
           0.02653399668325041  3 0.7114427860696517
           0.02487562189054726  8 0.5721393034825870
           0.01741293532338309  9 0.5472636815920398
           0.01000000000000000 11 0.5124378109452736""",
        {"no-recurrence-events": 122, "recurrence-events": 164},
        91,
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_costs_are_the_loss_matrix_of_rpart(name: str) -> None:
    costs, printed, answered, errors = LOSSES[name]
    frame = read_table(ORACLES / "weka" / f"{name}.arff.gz")
    target = frame.columns[-1]
    X, y = frame.drop(target), frame[target]
    limits = {"min_samples_split": 20, "min_samples_leaf": 7, "min_split_gain": 1e-10}
    model = CARTClassifier(missing="surrogate", prune=None, misclassification_costs=costs, **limits).fit(X, y)
    table = complexity_table(model, cp=0.01)
    expected = np.array(printed.split(), dtype=float).reshape(-1, 3)
    np.testing.assert_allclose(np.column_stack([table.cp, table.splits, table.relative_error]), expected, atol=1e-9)
    root = cost_complexity_path(model).risks[-1]
    answers = prune(model, "cost_complexity", ccp_alpha=0.01 * root).predict(X)
    assert dict(zip(*np.unique(answers, return_counts=True), strict=True)) == answered
    assert np.count_nonzero(answers != np.asarray(y)) == errors


def test_answers_have_the_least_expected_cost_and_shares_stay_true() -> None:
    iris = datasets.load_iris()
    X, y = iris.X, np.asarray(iris.y)
    costs = {("virginica", "versicolor"): 10, ("setosa", "virginica"): 0.5, ("versicolor", "setosa"): 3}
    model = DecisionTreeClassifier(misclassification_costs=costs, max_depth=2, min_samples_leaf=5).fit(X, y)
    # Rows are the actual class, columns the answer: setosa, versicolor, virginica.
    by_hand = np.array([[0.0, 1.0, 0.5], [3.0, 0.0, 1.0], [1.0, 10.0, 0.0]])
    shares = model.predict_proba(X)
    assert (model.predict(X) == model.classes_[np.argmin(shares @ by_hand, axis=1)]).all()
    assert (model.predict(X) != model.classes_[np.argmax(shares, axis=1)]).any()
    counts = rows_by_leaf(model, X, y)
    for leaf, share in zip(model.apply(X), shares, strict=True):
        np.testing.assert_allclose(share, counts[leaf] / counts[leaf].sum(), atol=1e-12)
        np.testing.assert_allclose(model.tree_.distribution[leaf], counts[leaf], atol=1e-9)
    for node in model.tree_:
        assert node.weight == pytest.approx(node.rows)
        if node.is_leaf:
            assert node.prediction == model.classes_[np.argmin(counts[node.index] @ by_hand)]


def test_weights_of_rows_and_costs_go_together() -> None:
    X, y = ward(4)
    X, y = X[:4_000], y[:4_000]
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    often = np.repeat(np.arange(len(y)), weights)
    # Three rows can be told apart by `min_samples_leaf`, weights of three cannot.
    learner = DecisionTreeClassifier(misclassification_costs={("ill", "well"): 30}, max_depth=4)
    weighted = learner.fit(X, y, sample_weight=weights)
    shares = weighted.predict_proba(X)
    repeated = DecisionTreeClassifier(**learner.get_params()).fit(X[often], y[often])
    assert shape(weighted.tree_) == shape(repeated.tree_)
    np.testing.assert_allclose(shares, repeated.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("learner", [DecisionTreeClassifier, CARTClassifier, ID3Classifier])
def test_costs_of_one_change_nothing(learner: Any) -> None:
    table = datasets.load_concept() if learner is ID3Classifier else datasets.load_orchard()
    X, y = table.X, np.asarray(table.y)
    names = sorted(set(y.tolist()))
    plain = learner().fit(X, y)
    alike = learner(misclassification_costs={(one, other): 1 for one in names for other in names if one != other}).fit(
        X, y
    )
    assert shape(alike.tree_) == shape(plain.tree_)
    assert (alike.predict(X) == plain.predict(X)).all()
    np.testing.assert_allclose(alike.predict_proba(X), plain.predict_proba(X), atol=1e-9)


def test_a_cost_of_nothing_makes_an_answer_free() -> None:
    X, y = [[1], [2], [3], [4]], ["a", "b", "b", "b"]
    model = DecisionTreeClassifier(max_depth=0, misclassification_costs={("b", "a"): 0}).fit(X, y)
    assert model.predict(X).tolist() == ["a"] * 4
    assert model.predict_proba(X).tolist() == [[0.25, 0.75]] * 4


@pytest.mark.parametrize("variant", ["j48", "c4.5r8"])
@pytest.mark.parametrize(
    "raises",
    [
        True,
        False,
    ],
)
def test_c45_takes_costs(variant: str, raises: bool) -> None:
    X, y = ward(1)
    model = C45Classifier(
        misclassification_costs={("ill", "well"): MISSED}, variant=variant, subtree_raising=raises
    ).fit(X, y)
    counts = rows_by_leaf(model, X, y)
    by_hand = np.array([[0.0, MISSED], [1.0, 0.0]])
    for leaf, answer in zip(model.apply(X), model.predict(X), strict=True):
        assert answer == model.classes_[np.argmin(counts[leaf] @ by_hand)]


def test_a_class_that_never_occurred_is_no_answer() -> None:
    # Calling either class "c" would cost less than taking one for the other.
    y = pd.Series(pd.Categorical(list("aabbab"), categories=["b", "a", "c"]))
    model = DecisionTreeClassifier(max_depth=0, misclassification_costs={("a", "b"): 20, ("b", "a"): 20}).fit(
        [[k] for k in range(6)], y
    )
    assert model.tree_.root.prediction in ("a", "b")
    assert model.predict([[0]])[0] == model.tree_.root.prediction


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ({}, r"costs is \{\}; give a dict such as"),
        ([[0, 1], [5, 0]], r"costs is \[\[0, 1\], \[5, 0\]\]; give a dict"),
        ("balanced", "costs is 'balanced'; give a dict"),
        (5, "costs is 5; give a dict"),
        (
            {("ill", "dead"): 5},
            "misclassification_costs names 'dead', which is no class of y; the classes are 'ill', 'well'",
        ),
        ({("dead", "ill"): 5}, "misclassification_costs names 'dead', which is no class of y"),
        ({("ill", "well"): -1}, r"the cost of \('ill', 'well'\) is -1; give a number of 0 or more"),
        ({("ill", "well"): "5"}, r"the cost of \('ill', 'well'\) is '5'; give a number"),
        ({("ill", "well"): float("nan")}, r"the cost of \('ill', 'well'\) is nan; give a number"),
        ({("ill", "well"): float("inf")}, r"the cost of \('ill', 'well'\) is inf; give a number"),
        ({("ill", "well"): True}, r"the cost of \('ill', 'well'\) is True; give a number"),
        ({"ill": 5}, "misclassification_costs has the key 'ill'; give pairs of the actual and the predicted class"),
        ({("ill", "well", "ill"): 5}, "misclassification_costs has the key .*; give pairs"),
    ],
)
@pytest.mark.parametrize("learner", [DecisionTreeClassifier, CARTClassifier, C45Classifier])
def test_costs_that_make_no_sense_are_refused_in_a_sentence(learner: Any, costs: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        learner(misclassification_costs=costs).fit([[1], [2], [3], [4]], ["ill", "well", "ill", "well"])
    assert "\n" not in str(refused.value)


def test_costs_that_are_all_zero_are_refused() -> None:
    costs = {("ill", "well"): 0, ("well", "ill"): 0}
    with pytest.raises(ValueError, match="misclassification_costs"):
        DecisionTreeClassifier(misclassification_costs=costs).fit([[1], [2], [3], [4]], ["ill", "well", "ill", "well"])


SMOOTHED = [
    ("laplace", lambda counts, prior: (counts + 1) / (counts.sum() + len(counts))),
    (("m_estimate", 2), lambda counts, prior: (counts + 2 * prior) / (counts.sum() + 2)),
    (("m_estimate", 0.5), lambda counts, prior: (counts + 0.5 * prior) / (counts.sum() + 0.5)),
]


@pytest.mark.parametrize(("smoothing", "by_hand"), SMOOTHED, ids=[str(smoothing) for smoothing, _ in SMOOTHED])
@pytest.mark.parametrize("learner", [DecisionTreeClassifier, CARTClassifier, C45Classifier])
def test_smoothed_shares_are_those_worked_out_by_hand(smoothing: Any, by_hand: Any, learner: Any) -> None:
    iris = datasets.load_iris()
    some = np.arange(150) >= 10  # 40, 50 and 50 rows
    X, y = iris.X[some], np.asarray(iris.y)[some]
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    plain = learner().fit(X, y, sample_weight=weights)
    model = learner(smoothing=smoothing).fit(X, y, sample_weight=weights)
    assert shape(model.tree_) == shape(plain.tree_)
    prior = np.array([weights[y == name].sum() for name in model.classes_]) / weights.sum()
    counts = rows_by_leaf(model, X, y, weights)
    shares = model.predict_proba(X)
    for leaf, share in zip(model.apply(X), shares, strict=True):
        np.testing.assert_allclose(share, by_hand(counts[leaf], prior), atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert shares.min() > 0.0
    assert shares.max() < 1.0
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_smoothing_by_hand_in_a_leaf_of_three() -> None:
    X, y = [[1], [2], [3], [4], [5]], ["a", "a", "a", "b", "b"]
    laplace = DecisionTreeClassifier(smoothing="laplace").fit(X, y)
    # 3 of a and 0 of b: 4/5 and 1/5; 0 and 2: 1/4 and 3/4.
    np.testing.assert_allclose(laplace.predict_proba([[1], [5]]), [[0.8, 0.2], [0.25, 0.75]])
    estimate = DecisionTreeClassifier(smoothing=("m_estimate", 5)).fit(X, y)
    # The prior is 3/5 and 2/5, so five rows more are 3 and 2: 6/8 and 2/8; 3/7 and 4/7.
    np.testing.assert_allclose(estimate.predict_proba([[1], [5]]), [[0.75, 0.25], [3 / 7, 4 / 7]])


def test_an_empty_branch_answers_with_the_smoothed_shares_of_its_parent() -> None:
    X = pd.DataFrame({"sky": pd.Categorical(["sun", "sun", "rain"], categories=["sun", "rain", "fog"])})
    model = ID3Classifier(smoothing="laplace").fit(X, ["yes", "no", "no"])
    fog = pd.DataFrame({"sky": pd.Categorical(["fog"], categories=["sun", "rain", "fog"])})
    # At the root 2 of no and 1 of yes: 3/5 and 2/5.
    np.testing.assert_allclose(model.predict_proba(fog), [[0.6, 0.4]])


def test_shares_are_smoothed_before_costs_choose() -> None:
    X, y = [[1], [2], [3], [4], [5]], ["a", "a", "a", "b", "b"]
    model = DecisionTreeClassifier(smoothing="laplace", misclassification_costs={("b", "a"): 10}).fit(X, y)
    # In the leaf of three, b has a share of 1/5: a costs 10/5, b only 4/5.
    np.testing.assert_allclose(model.predict_proba([[1]]), [[0.8, 0.2]])
    assert model.predict([[1]]).tolist() == ["b"]


def test_smoothed_shares_of_the_classes_that_occur_add_up_to_one() -> None:
    y = pd.Series(pd.Categorical(list("aabbab"), categories=["b", "a", "c"]))
    model = DecisionTreeClassifier(max_depth=1, smoothing="laplace").fit([[k] for k in range(6)], y)
    np.testing.assert_allclose(model.predict_proba([[0], [5]]).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "smoothing",
    [
        "yes",
        True,
        1.0,
        ("laplace", 2),
        ("m_estimate",),
        "m_estimate",
        ("m_estimate", 0),
        ("m_estimate", -1),
        ("m_estimate", "2"),
        ("m_estimate", float("nan")),
        ("m_estimate", True),
    ],
)
def test_smoothing_that_makes_no_sense_is_refused_in_a_sentence(smoothing: Any) -> None:
    with pytest.raises(ValueError, match=r"smoothing is .*; give None, 'auto', 'laplace' or") as refused:
        DecisionTreeClassifier(smoothing=smoothing).fit([[1], [2]], ["a", "b"])
    assert "\n" not in str(refused.value)


def test_the_probabilities_of_cart_are_smoothed_without_changing_a_class() -> None:
    X, y = load_wine(return_X_y=True)
    plain, smooth = CARTClassifier(smoothing=None).fit(X, y), CARTClassifier().fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), smooth.predict(X))
    counts = smooth.tree_.distribution[smooth.apply(X)]
    expected = (counts + 1.0) / (counts.sum(axis=1, keepdims=True) + 3.0)
    np.testing.assert_allclose(smooth.predict_proba(X), expected, rtol=1e-12)


def test_costs_are_compared_with_the_very_shares_of_cart() -> None:
    X, y = load_wine(return_X_y=True)
    costs = {(0, 1): 20.0}
    priced = CARTClassifier(misclassification_costs=costs).fit(X, y)
    as_it_was = CARTClassifier(misclassification_costs=costs, smoothing=None).fit(X, y)
    np.testing.assert_array_equal(priced.predict_proba(X), as_it_was.predict_proba(X))
