"""What decides when boosting stops: a score of scikit-learn or of the user, and which evaluation set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, check_scoring, get_scorer, log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import train_test_split

from treewright import GradientBoostingClassifier, GradientBoostingRegressor

X, y = load_breast_cancer(return_X_y=True)
TRAIN, TEST, Y_TRAIN, Y_TEST = train_test_split(X, np.array(["bad", "good"])[y], random_state=0)
FLOWERS, KINDS = load_iris(return_X_y=True)
FIXED = {"n_estimators": 40, "growth": "best", "learning_rate": 0.2, "n_iter_no_change": 8, "random_state": 0}


def staged(model, scorer, table, target):
    """The scores after each round, by the staged predictions."""
    shares = list(model.staged_predict_proba(table))
    if scorer == "roc_auc":
        return [roc_auc_score(target == "good", line[:, 1]) for line in shares]
    if scorer == "neg_log_loss":
        return [-log_loss(target, line, labels=model.classes_) for line in shares]
    return [accuracy_score(target, model.classes_[line.argmax(axis=1)]) for line in shares]


@pytest.mark.parametrize("name", ["accuracy", "roc_auc", "neg_log_loss", None])
def test_the_recorded_scores_are_those_of_scikit_learn(name):
    model = GradientBoostingClassifier(scoring=name, **FIXED).fit(TRAIN, Y_TRAIN, X_val=TEST, y_val=Y_TEST)
    recorded = model.evals_result_["validation"][name or "score"]
    expected = staged(model, name, TEST, Y_TEST)
    np.testing.assert_allclose(recorded[: len(expected)], expected, atol=1e-12)
    assert model.best_score_ == max(recorded)
    assert model.best_iteration_ == model.n_estimators_ == int(np.argmax(recorded)) + 1
    assert len(recorded) == min(40, model.best_iteration_ + 8)
    scorer = get_scorer("accuracy" if name is None else name)
    assert scorer(model, TEST, Y_TEST) == pytest.approx(model.best_score_)
    losses = model.validation_loss_
    assert losses[-1] == pytest.approx(model.evals_result_["validation"]["log_loss"][-1])
    assert (losses > 0.0).all()


def test_a_scorer_a_function_of_the_model_and_a_function_of_predictions_agree():
    def of_model(model, table, target):
        return accuracy_score(target, model.predict(table))

    def of_shares(target, share):
        return accuracy_score(target, np.where(share > 0.5, "good", "bad"))

    models = [
        GradientBoostingClassifier(scoring=scoring, **FIXED).fit(TRAIN, Y_TRAIN, X_val=TEST, y_val=Y_TEST)
        for scoring in ("accuracy", make_scorer(accuracy_score), of_model, of_shares)
    ]
    assert len({model.best_iteration_ for model in models}) == 1
    assert len({model.best_score_ for model in models}) == 1
    assert "of_shares" in models[3].evals_result_["validation"]


def test_the_score_of_the_model_itself_is_a_score():
    model = GradientBoostingClassifier(**FIXED)
    default = model.set_params(scoring=None).fit(TRAIN, Y_TRAIN, X_val=TEST, y_val=Y_TEST).best_score_
    model.set_params(scoring=check_scoring(model)).fit(TRAIN, Y_TRAIN, X_val=TEST, y_val=Y_TEST)
    assert model.best_score_ == default == accuracy_score(Y_TEST, model.predict(TEST))


def test_weights_of_the_validation_set_count_in_the_score():
    weights = np.where(Y_TEST == "bad", 5.0, 1.0)
    model = GradientBoostingClassifier(scoring="accuracy", **FIXED)
    model.fit(TRAIN, Y_TRAIN, X_val=TEST, y_val=Y_TEST, sample_weight_val=weights)
    assert model.best_score_ == pytest.approx(accuracy_score(Y_TEST, model.predict(TEST), sample_weight=weights))


def test_a_score_chooses_the_rounds_of_folds_too():
    model = GradientBoostingClassifier(
        scoring="balanced_accuracy", max_leaf_nodes=4, random_state=0, n_iter_no_change=5
    )
    model.fit(FLOWERS, KINDS)
    assert model.n_estimators_ == model.best_iteration_
    assert 0.9 < model.best_score_ <= 1.0
    model = GradientBoostingClassifier(scoring="accuracy", validation_fraction=0.2, **FIXED).fit(FLOWERS, KINDS)
    theirs = HistGradientBoostingClassifier(scoring="accuracy", early_stopping=True, random_state=0)
    assert abs(model.best_score_ - theirs.fit(FLOWERS, KINDS).validation_score_[-1]) < 0.15


def test_numbers_are_scored_and_several_targets_too():
    table, target = make_regression(200, 5, noise=20.0, random_state=0)
    model = GradientBoostingRegressor(scoring="neg_mean_absolute_error", **FIXED)
    model.fit(table[::2], target[::2], X_val=table[1::2], y_val=target[1::2])
    assert -model.best_score_ == pytest.approx(np.abs(model.predict(table[1::2]) - target[1::2]).mean())
    both = np.column_stack([target, -target])
    model = GradientBoostingRegressor(scoring="r2", **FIXED)
    model.fit(table[::2], both[::2], X_val=table[1::2], y_val=both[1::2])
    assert model.best_score_ == pytest.approx(model.score(table[1::2], both[1::2]))


def test_what_is_no_score_is_refused():
    for wrong in ("acuracy", 3, ["accuracy"]):
        with pytest.raises(ValueError, match=r"scoring is .*; give 'loss', the name of a scorer"):
            GradientBoostingClassifier(scoring=wrong, **FIXED).fit(FLOWERS, KINDS)


def test_the_last_of_several_evaluation_sets_decides():
    first, second = (TRAIN[:100], Y_TRAIN[:100]), (TEST, Y_TEST)
    model = GradientBoostingClassifier(eval_metric="accuracy_score", **FIXED)
    model.fit(TRAIN, Y_TRAIN, eval_set=[first, second])
    alone = GradientBoostingClassifier(eval_metric="accuracy_score", **FIXED)
    alone.fit(TRAIN, Y_TRAIN, X_val=TEST, y_val=Y_TEST)
    np.testing.assert_array_equal(model.validation_loss_, alone.validation_loss_)
    assert list(model.evals_result_) == ["validation_0", "validation_1"]
    assert model.evals_result_["validation_1"] == alone.evals_result_["validation"]
    recorded = model.evals_result_["validation_0"]["log_loss"][: model.n_estimators_]
    expected = [log_loss(first[1], line) for line in model.staged_predict_proba(first[0])]
    np.testing.assert_allclose(recorded, expected)
    weights = [None, np.ones(len(TEST))]
    model.fit(TRAIN, Y_TRAIN, eval_set=[first, second], sample_weight_val=weights)
    np.testing.assert_allclose(model.validation_loss_, alone.validation_loss_)
    single = GradientBoostingClassifier(**FIXED).fit(TRAIN, Y_TRAIN, eval_set=second)
    assert list(single.evals_result_) == ["validation"]


def test_evaluation_sets_that_make_no_sense_are_refused():
    model = GradientBoostingClassifier(**FIXED)
    with pytest.raises(ValueError, match="X_val and eval_set both name rows to validate on"):
        model.fit(TRAIN, Y_TRAIN, X_val=TEST, y_val=Y_TEST, eval_set=[(TEST, Y_TEST)])
    with pytest.raises(ValueError, match="eval_set must be a list of pairs"):
        model.fit(TRAIN, Y_TRAIN, eval_set=[TEST])
    with pytest.raises(ValueError, match="sample_weight_val must be a list with an entry for each of the 1 pairs"):
        model.fit(TRAIN, Y_TRAIN, eval_set=[(TEST, Y_TEST)], sample_weight_val=np.ones(len(TEST)))


def test_the_training_loss_is_that_of_the_stages():
    model = GradientBoostingClassifier(train_score=True, subsample=1.0, **FIXED).fit(TRAIN, Y_TRAIN)
    expected = [log_loss(Y_TRAIN, line) for line in model.staged_predict_proba(TRAIN)]
    np.testing.assert_allclose(model.train_score_, expected)
    assert not hasattr(model, "oob_improvement_")
    plain = GradientBoostingClassifier(subsample=1.0, **FIXED).fit(TRAIN, Y_TRAIN)
    np.testing.assert_array_equal(plain.predict_proba(TEST), model.predict_proba(TEST))
    assert not hasattr(plain, "train_score_")


def test_rows_that_were_not_drawn_estimate_the_improvement():
    model = GradientBoostingClassifier(train_score=True, subsample=0.5, **FIXED).fit(TRAIN, Y_TRAIN)
    assert model.oob_improvement_.shape == model.oob_scores_.shape == (40,)
    assert (model.oob_improvement_[:5] > 0.0).all()
    assert model.oob_score_ == model.oob_scores_[-1]
    # Each round has other rows, so the sum of the improvements follows the loss of new rows only roughly.
    new = [log_loss(Y_TEST, line) for line in model.staged_predict_proba(TEST)]
    assert np.corrcoef(np.cumsum(model.oob_improvement_), new)[0, 1] < -0.9
    grown = GradientBoostingClassifier(train_score=True, subsample=0.5, warm_start=True, **FIXED)
    grown.set_params(n_estimators=10).fit(TRAIN, Y_TRAIN).set_params(n_estimators=40).fit(TRAIN, Y_TRAIN)
    np.testing.assert_allclose(grown.oob_improvement_, model.oob_improvement_)
    np.testing.assert_allclose(grown.train_score_, model.train_score_)


def softmax_loss(scores, labels):
    """The log loss of several classes."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    truth = np.eye(scores.shape[1])[labels]
    return shares - truth, np.maximum(shares * (1.0 - shares), 1e-6)


def test_a_loss_of_several_classes_is_a_function_of_all_scores():
    words = np.array(["a", "b", "c"])[KINDS]
    own = GradientBoostingClassifier(loss=softmax_loss, **FIXED).fit(FLOWERS, words, X_val=FLOWERS, y_val=words)
    assert own.score(FLOWERS, words) > 0.97
    # The recorded loss is the difference to that of scores of 0, which is log 3.
    expected = [log_loss(words, line) - np.log(3.0) for line in own.staged_predict_proba(FLOWERS)]
    np.testing.assert_allclose(own.validation_loss_[: len(expected)], expected, atol=1e-6)
    usual = GradientBoostingClassifier(init="zero", **FIXED).fit(FLOWERS, words)
    mine = GradientBoostingClassifier(loss=softmax_loss, **FIXED).fit(FLOWERS, words)
    assert np.abs(usual.predict_proba(FLOWERS) - mine.predict_proba(FLOWERS)).mean() < 0.05
    with pytest.raises(ValueError, match="the loss must return a pair: gradients and hessians"):
        GradientBoostingClassifier(loss=lambda scores, labels: scores, **FIXED).fit(FLOWERS, words)


@pytest.mark.parametrize(
    "scoring", ["neg_max_error", lambda model, X, y: -abs(model.predict(X) - y).max()], ids=["name", "own"]
)
def test_a_score_without_weights_is_computed_without_them(scoring: Any) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 2))
    model = GradientBoostingRegressor(n_estimators=5, scoring=scoring, random_state=0)
    weights = random.uniform(0.5, 2.0, 100)
    assert model.fit(X, X[:, 0], X_val=X, y_val=X[:, 0], sample_weight_val=weights).n_estimators_ >= 1


def test_an_own_loss_takes_a_class_without_rows() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    labels = np.array(["a", "c", "d"])[np.digitize(X[:, 0], [-0.5, 0.5])]

    def cross_entropy(scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares - np.eye(shares.shape[1])[y], shares * (1.0 - shares)

    declared = pd.Series(pd.Categorical(labels, categories=list("abcd")))
    model = GradientBoostingClassifier(loss=cross_entropy, n_estimators=20, random_state=0).fit(X, declared)
    assert model.score(X, labels) > 0.98


@pytest.mark.filterwarnings("ignore:Only one class")
def test_a_score_that_is_not_a_number_is_refused() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = GradientBoostingClassifier(n_estimators=3, scoring="roc_auc")
    with pytest.raises(ValueError, match="the score 'roc_auc' is not a number on the validation set"):
        model.fit(X, X[:, 0] > 0.0, X_val=X[:5], y_val=[True] * 5)


def test_a_warm_start_without_new_rounds_keeps_the_training_loss() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(
        n_estimators=10, warm_start=True, subsample=0.5, train_score=True, random_state=0
    ).fit(X, y)
    lines = model.train_score_, model.oob_scores_
    model.fit(X, y)
    for before, after in zip(lines, (model.train_score_, model.oob_scores_), strict=True):
        np.testing.assert_array_equal(before, after)
    model.set_params(n_estimators=20).fit(X, y)
    assert len(model.train_score_) == len(model.oob_scores_) == 20
    assert (model.oob_scores_ > 0.0).all()


def test_rounds_without_a_recorded_loss_do_not_get_zeros() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=10, warm_start=True, subsample=0.5, random_state=0).fit(X, y)
    model.set_params(n_estimators=20, train_score=True).fit(X, y)
    assert len(model.train_score_) == len(model.oob_scores_) == 10
    assert (model.oob_scores_ > 0.0).all()
