"""The worked trace of pruning, of ensembles and of one row."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from treewright import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    cost_complexity_path,
    datasets,
    trace,
)
from treewright.insight.trace import BoostingStep, PruningStep, VoteStep
from treewright.insight.trace.training import read_replay
from weka_tables import load_weka_table


def pruning_of(model: Any, X: Any, y: Any) -> list[PruningStep]:
    return [step for step in trace(model, X, y, max_depth=0).steps if isinstance(step, PruningStep)]


def leaves_left(model: Any, X: Any, y: Any) -> int:
    """The leaves of the tree that grew, after the nodes that the steps of pruning make leaves."""
    tree = read_replay(model, X, y, None).tree
    cut = {step.node for step in pruning_of(model, X, y) if step.outcome == "leaf"}
    waiting, count = [0], 0
    while waiting:
        node = waiting.pop()
        if tree.n_children[node] == 0 or node in cut:
            count += 1
        else:
            waiting += [child.index for child in tree.node(node).children]
    return count


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("glass", C45Classifier(subtree_raising=False)),
        ("labor", C45Classifier(prune=None)),
        ("labor", C45Classifier(missing="surrogate")),
        ("diabetes", C45Classifier(variant="c4.5r8")),
        ("iris", CARTClassifier(ccp_alpha=0.02)),
        ("cpu", CARTRegressor(ccp_alpha=500.0)),
        ("glass", DecisionTreeClassifier(prune="reduced_error")),
        ("cpu", CARTRegressor(prune="reduced_error")),
        ("glass", DecisionTreeClassifier(prune="pessimistic")),
    ],
    ids=str,
)
def test_the_steps_of_pruning_lead_to_the_fitted_tree(name: str, model: Any) -> None:
    X, y = load_weka_table(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        if any(step.outcome == "raised" for step in pruning_of(model, X, y)):
            pytest.skip("raised subtrees are compared below")
        assert leaves_left(model, X, y) == model.tree_.n_leaves


def test_the_alpha_sequence_is_that_of_the_pruning_path() -> None:
    iris = datasets.load_iris()
    model = CARTClassifier(ccp_alpha=0.02).fit(iris.X, iris.y)
    full = DecisionTreeClassifier().fit(iris.X, iris.y)
    path = cost_complexity_path(full)
    steps = pruning_of(model, iris.X, iris.y)
    alphas = np.unique(np.round([dict(step.figures)["alpha"] for step in steps], 12))
    np.testing.assert_allclose(alphas, path.ccp_alphas[path.ccp_alphas > 0.0] if alphas[0] > 0 else path.ccp_alphas)
    assert dict(steps[-1].figures)["leaves"] == 1.0


def test_a_raised_subtree_is_shown_with_the_estimate_of_its_branch() -> None:
    X, y = load_weka_table("credit-g")
    model = C45Classifier().fit(X, y)
    raised = [step for step in pruning_of(model, X, y) if step.outcome == "raised"]
    assert raised
    for step in raised:
        assert step.as_branch is not None
        assert step.as_branch <= step.as_subtree + 0.1 + 1e-6
        assert step.as_leaf > min(step.as_subtree, step.as_branch) + 0.1


@pytest.mark.parametrize("learner", [AdaBoostClassifier, AdaBoostRegressor])
def test_the_weights_of_adaboost_are_those_of_its_stages(learner: Any) -> None:
    iris = datasets.load_iris()
    X, y = iris.X.drop("petal_width"), iris.y
    if learner is AdaBoostRegressor:
        y = [float(value) for value in iris.X["petal_width"]]
    model = learner(n_estimators=5, random_state=0).fit(X, y)
    steps = trace(model, X, y).steps
    assert len(steps) == len(model.stages_)
    for step, stage in zip(steps, model.stages_, strict=True):
        assert step.error == pytest.approx(stage.error, abs=1e-12)
        assert step.member_weight == pytest.approx(stage.weight, abs=1e-12)
        np.testing.assert_allclose(step.after, stage.weights, atol=1e-12)


def test_the_leaf_values_of_boosting_follow_from_the_residuals() -> None:
    iris = datasets.load_iris()
    width = [float(value) for value in iris.X["petal_width"]]
    cases = [
        (GradientBoostingRegressor, iris.X.drop("petal_width"), width),
        (GradientBoostingClassifier, iris.X, iris.y),
        (GradientBoostingClassifier, iris.X, [str(name) == "setosa" for name in iris.y]),
    ]
    for learner, X, y in cases:
        model = learner(n_estimators=3, subsample=1.0, random_state=0).fit(X, y)
        for step in trace(model, X, y, n_rounds=2).steps:
            assert isinstance(step, BoostingStep)
            for leaf in step.leaves:
                value = -model.learning_rate_ * leaf.gradient / (leaf.hessian + model.l2_regularization)
                assert leaf.value == pytest.approx(value, abs=1e-9)


def test_the_residuals_of_the_first_round_are_those_of_the_mean() -> None:
    X, y = {"x": list(range(40))}, [float(k % 7) for k in range(40)]
    model = GradientBoostingRegressor(n_estimators=2, subsample=1.0, random_state=0).fit(X, y)
    first, second = trace(model, X, y, n_rounds=2).steps
    np.testing.assert_allclose(first.residuals, np.array(y) - np.mean(y), atol=1e-12)
    np.testing.assert_allclose(second.residuals, np.array(y) - first.after, atol=1e-12)
    np.testing.assert_allclose(second.after, model.predict(X), atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(n_estimators=9, oob_score=True, random_state=0),
        RandomForestClassifier(n_estimators=9, oob_score=True, voting="hard", random_state=0),
        BaggingClassifier(n_estimators=9, oob_score=True, random_state=0),
    ],
    ids=str,
)
def test_the_out_of_bag_votes_are_those_of_the_forest(model: Any) -> None:
    iris = datasets.load_iris()
    model.fit(iris.X, iris.y)
    *members, votes = trace(model, iris.X, iris.y, n_rounds=3).steps
    assert isinstance(votes, VoteStep)
    assert votes.score == pytest.approx(model.oob_score_, abs=1e-12)
    np.testing.assert_allclose(votes.votes, model.oob_decision_function_, atol=1e-12)
    for step, sample in zip(members, model.estimators_samples_, strict=False):
        assert step.drawn.sum() == len(sample) == 150
        assert set(step.out_of_bag) == set(range(150)) - set(sample.tolist())


def test_the_out_of_bag_means_are_those_of_a_forest_for_numbers() -> None:
    iris = datasets.load_iris()
    X, y = iris.X.drop("petal_width"), [float(value) for value in iris.X["petal_width"]]
    model = RandomForestRegressor(n_estimators=9, oob_score=True, random_state=0).fit(X, y)
    votes = trace(model, X, y).steps[-1]
    assert votes.score == pytest.approx(model.oob_score_, abs=1e-12)


@pytest.mark.parametrize("missing", ["learned", "fractional", "surrogate", "majority"])
def test_the_way_of_every_row_ends_where_the_model_predicts(missing: str) -> None:
    X, y = load_weka_table("labor")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = C45Classifier(missing=missing).fit(X, y)
        worked = trace(model, X, y, max_depth=0)
        predictions, shares = model.predict(X), model.predict_proba(X)
    for row in range(0, len(predictions), 5):
        path = worked.path(row)
        assert path.prediction == predictions[row]
        assert sum(fraction for _, fraction, _ in path.leaves) == pytest.approx(1.0)
        np.testing.assert_allclose(path.shares, shares[row], atol=1e-12)


def test_a_row_of_its_own_is_followed() -> None:
    weather = datasets.load_weather()
    from treewright import ID3Classifier

    model = ID3Classifier().fit(weather.X, weather.y)
    row = {"outlook": "rainy", "temperature": "mild", "humidity": "normal", "wind": "strong"}
    path = trace(model, weather.X, weather.y).path(row)
    assert [one.words for one in path.comparisons] == ["rainy = rainy", "strong = strong"]
    assert path.prediction == "no"


def test_models_without_a_trace_are_refused() -> None:
    iris = datasets.load_iris()
    with pytest.raises(TypeError, match="VotingClassifier has no worked trace"):
        trace(VotingClassifier().fit(iris.X, iris.y), iris.X, iris.y)
    with pytest.raises(TypeError, match="not the class C45Classifier"):
        trace(C45Classifier, iris.X, iris.y)
    with pytest.raises(ValueError, match="not fitted"):
        trace(C45Classifier(), iris.X, iris.y)
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(iris.X, iris.y)
    with pytest.raises(TypeError, match="trace one of its members"):
        trace(forest, iris.X, iris.y, row=0)
