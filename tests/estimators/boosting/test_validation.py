"""Validation sets: how they are given, when boosting stops, and what is recorded of each round."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, roc_auc_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from treewright import GradientBoostingClassifier, GradientBoostingRegressor
from treewright.estimators.boosting.rows import Rows
from treewright.estimators.boosting.validation_splits import hold_out, spread_rows


def noisy(n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((500, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.7 * random.standard_normal(500)
    if n_classes == 0:
        return X, score
    return X, np.array(list("cab"))[np.digitize(score, [0.0, 1.0][: n_classes - 1])]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_round_is_recorded_as_the_staged_predictions_have_it(n_classes: int) -> None:
    X, y = noisy(n_classes)
    model = GradientBoostingClassifier(
        n_estimators=30, n_iter_no_change=30, eval_metric=["accuracy_score", "log_loss"], random_state=0
    ).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    lists = model.evals_result_["validation"]
    assert set(lists) == {"log_loss", "accuracy_score"}
    assert len(lists["accuracy_score"]) == len(model.validation_loss_)
    stages = zip(model.staged_predict(X[300:]), model.staged_predict_proba(X[300:]), strict=True)
    for number, (classes, shares) in enumerate(stages):
        assert lists["accuracy_score"][number] == pytest.approx(accuracy_score(y[300:], classes))
        assert lists["log_loss"][number] == pytest.approx(log_loss(y[300:], shares, labels=model.classes_), rel=1e-9)
    assert number + 1 == model.n_estimators_ == model.best_iteration_
    assert model.best_score_ == min(model.validation_loss_)


def test_metrics_of_numbers_use_the_weights_of_the_validation_set() -> None:
    X, y = noisy(0)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, 200)
    model = GradientBoostingRegressor(n_estimators=10, eval_metric="mean_absolute_error", random_state=0)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:], sample_weight_val=weights)
    recorded = model.evals_result_["validation"]["mean_absolute_error"]
    for number, predictions in enumerate(model.staged_predict(X[300:])):
        assert recorded[number] == pytest.approx(mean_absolute_error(y[300:], predictions, sample_weight=weights))


def test_a_function_of_target_and_prediction_is_a_metric() -> None:
    X, y = noisy(2)

    def auc(target: np.ndarray, prediction: np.ndarray) -> float:
        return float(roc_auc_score(target, prediction))

    model = GradientBoostingClassifier(n_estimators=5, eval_metric=[auc, "roc_auc_score"], random_state=0)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    lists = model.evals_result_["validation"]
    assert lists["auc"] == pytest.approx(lists["roc_auc_score"])
    shares = list(model.staged_predict_proba(X[300:]))[-1]
    assert lists["auc"][model.n_estimators_ - 1] == pytest.approx(roc_auc_score(y[300:], shares[:, 1]))


def test_metrics_do_not_change_the_model() -> None:
    X, y = noisy(2)
    plain, measured = (
        GradientBoostingClassifier(n_estimators=20, eval_metric=metric, random_state=0).fit(
            X[:300], y[:300], X_val=X[300:], y_val=y[300:]
        )
        for metric in (None, "accuracy_score")
    )
    np.testing.assert_array_equal(plain.predict_proba(X), measured.predict_proba(X))


def test_without_validation_nothing_is_recorded() -> None:
    X, y = noisy(2)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert (model.evals_result_, model.best_iteration_, model.best_score_) == ({}, None, None)


@pytest.mark.slow
def test_folds_record_the_mean_of_their_metrics() -> None:
    X, y = noisy(0)
    model = GradientBoostingRegressor(eval_metric="r2_score", learning_rate=0.3, random_state=0).fit(X, y)
    assert len(model.evals_result_["validation"]["r2_score"]) == len(model.validation_loss_)
    assert model.best_iteration_ == model.n_estimators_


def test_a_pipeline_transforms_the_validation_set() -> None:
    X, y = noisy(2)
    X = 50.0 + 10.0 * X
    boosting = GradientBoostingClassifier(n_estimators=200, n_iter_no_change=5, random_state=0)
    scaler = StandardScaler().fit(X[:300])
    alone = sklearn.base.clone(boosting).fit(
        scaler.transform(X[:300]), y[:300], X_val=scaler.transform(X[300:]), y_val=y[300:]
    )
    assert alone.n_estimators_ < 200
    with sklearn.config_context(enable_metadata_routing=True):
        boosting.set_fit_request(X_val=True, y_val=True)
        pipeline = Pipeline([("scale", StandardScaler()), ("boost", boosting)], transform_input=["X_val"])
        pipeline.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert pipeline[-1].n_estimators_ == alone.n_estimators_
    np.testing.assert_array_equal(pipeline.predict_proba(X), alone.predict_proba(scaler.transform(X)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X_val": [[0.0] * 4]}, "X_val is provided, but y_val was not provided"),
        ({"y_val": ["a"]}, "y_val is provided, but X_val was not provided"),
        ({"sample_weight_val": [1.0]}, "describe rows of X_val, which is missing"),
        ({"X_val": [[0.0] * 4], "y_val": ["z"]}, "the validation set: it has the class 'z'"),
    ],
)
def test_half_of_a_validation_set_is_refused(given: dict[str, Any], message: str) -> None:
    X, y = noisy(2)
    with pytest.raises(ValueError, match=message):
        GradientBoostingClassifier(n_estimators=2).fit(X, y, **given)


@pytest.mark.parametrize("wrong", ["rmse", 3, ["accuracy_score", "accuracy_score"], "r2_score"])
def test_a_metric_that_is_not_known_is_refused(wrong: Any) -> None:
    X, y = noisy(2)
    with pytest.raises(ValueError, match="eval_metric"):
        GradientBoostingClassifier(n_estimators=2, eval_metric=wrong).fit(X, y)


def whole_numbers(n_rows: int = 800) -> tuple[np.ndarray, np.ndarray]:
    """Columns of few values, which are binned alike in all rows and in most of them."""
    random = np.random.default_rng(0)
    X = random.integers(0, 8, (n_rows, 5)).astype(float)
    return X, (X[:, 0] + X[:, 1] * (X[:, 2] > 3) + random.normal(0.0, 3.0, n_rows) > 6.0).astype(int)


def test_a_large_table_keeps_the_trees_of_its_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treewright.estimators.boosting.fitting.MOST_ROWS_TO_REFIT", 500)
    X, y = whole_numbers()
    split = []

    def hold_out(plan: Any, rows: Any) -> Any:
        split.append(spread_rows(plan, rows, 40))
        return rows.split(*split[0])

    monkeypatch.setattr("treewright.estimators.boosting.fitting.hold_out", hold_out)
    model = GradientBoostingClassifier(random_state=0).fit(X, y)
    (kept, held_out) = split[0]
    shape = model.shape_
    again = GradientBoostingClassifier(
        growth=shape.growth,
        min_samples_leaf=shape.min_samples_leaf,
        subsample=shape.subsample,
        max_features=shape.node_share,
        learning_rate=shape.learning_rate,
        random_state=0,
    ).fit(X[kept], y[kept], X_val=X[held_out], y_val=y[held_out])
    assert model.n_estimators_ == again.n_estimators_ == model.best_iteration_
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert model.best_score_ == pytest.approx(log_loss(y[held_out], model.predict_proba(X[held_out])))


def test_a_large_table_holds_out_a_twentieth_with_the_same_classes() -> None:
    plan = SimpleNamespace(seed=3)
    targets = np.repeat([0.0, 1.0], [30_000, 10_000])
    rows = Rows(np.zeros((1, 40_000), np.uint8), targets, np.ones(40_000))
    training, validation = hold_out(plan, rows)
    assert (len(training), len(validation)) == (38_000, 2_000)
    assert validation.targets.mean() == pytest.approx(0.25, abs=0.001)


@pytest.mark.parametrize("options", [{"validation_fraction": 0.2}, {"n_estimators": 20}])
def test_what_the_user_asks_for_is_not_replaced(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    X, y = whole_numbers()
    usual = GradientBoostingClassifier(random_state=0, **options).fit(X, y)
    monkeypatch.setattr("treewright.estimators.boosting.fitting.MOST_ROWS_TO_REFIT", 500)
    large = GradientBoostingClassifier(random_state=0, **options).fit(X, y)
    np.testing.assert_array_equal(usual.predict_proba(X), large.predict_proba(X))
