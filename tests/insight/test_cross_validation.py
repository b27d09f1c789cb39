"""Cross-validated scores, against scikit-learn and scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from treewright import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    cross_validate_score,
    datasets,
    infer_task,
)
from treewright.insight import cross_validation

IRIS = datasets.load_iris()
MEASURES = np.column_stack([IRIS.X[name] for name in IRIS.X.columns])


def test_the_accuracy_is_that_of_scikit_learn_on_the_same_folds() -> None:
    model = DecisionTreeClassifier(max_depth=2)
    found = cross_validate_score(model, IRIS.X, IRIS.y, folds=5, random_state=3)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    predictions = cross_val_predict(model, MEASURES, np.asarray(IRIS.y, dtype=str), cv=folds)
    assert found.predictions.tolist() == predictions.tolist()
    assert found.score.value == accuracy_score(IRIS.y, predictions)
    correct = int(np.count_nonzero(predictions == IRIS.y))
    interval = binomtest(correct, len(predictions)).proportion_ci(method="wilson")
    assert found.score.interval == pytest.approx((interval.low, interval.high), abs=1e-6)
    assert found.score.baseline == DummyClassifier().fit(MEASURES, IRIS.y).score(MEASURES, IRIS.y)
    assert not hasattr(model, "tree_")


def test_the_scores_of_numbers_are_those_of_scikit_learn_on_the_same_folds() -> None:
    X, y = MEASURES[:, :3], MEASURES[:, 3]
    model = DecisionTreeRegressor(max_depth=3)
    found = cross_validate_score(model, X, y, folds=4, random_state=1)
    predictions = cross_val_predict(model, X, y, cv=KFold(4, shuffle=True, random_state=1))
    r2, rmse = found.scores
    assert r2.value == pytest.approx(r2_score(y, predictions), abs=1e-12)
    assert rmse.value == pytest.approx(root_mean_squared_error(y, predictions), abs=1e-12)
    mean = DummyRegressor().fit(X, y).predict(X)
    assert (r2.baseline, rmse.baseline) == pytest.approx((0.0, root_mean_squared_error(y, mean)))
    assert found.baseline == "always 1.199"


@pytest.mark.parametrize("model", [LogisticRegression(max_iter=1000), LinearRegression()])
def test_models_of_scikit_learn_get_numbers_as_they_are(model: Any) -> None:
    is_classifier = isinstance(model, LogisticRegression)
    X, y = MEASURES[:, :3], IRIS.y if is_classifier else MEASURES[:, 3]
    folds = (StratifiedKFold if is_classifier else KFold)(3, shuffle=True, random_state=0)
    found = cross_validate_score(model, X, y, folds=3)
    expected = cross_val_predict(model, X, np.asarray(y), cv=folds)
    assert found.predictions.tolist() == expected.tolist()


def test_models_of_scikit_learn_can_read_text_and_missing_values() -> None:
    orchard = datasets.load_orchard()
    found = cross_validate_score(LogisticRegression(max_iter=1000), orchard.X, orchard.y, folds=3)
    assert found.score.value is not None
    assert found.score.value > found.score.baseline


def test_all_forms_of_a_table_have_the_same_score() -> None:
    orchard = datasets.load_orchard()
    columns = {name: orchard.X.to_dict()[name] for name in ("variety", "soil", "age_years", "sprays")}
    y = list(orchard.y)
    scores = {
        cross_validate_score(C45Classifier(), table, target, folds=3).score
        for table in (columns, pd.DataFrame(columns), pl.DataFrame(columns), pl.DataFrame(columns).to_dicts())
        for target in (y, np.array(y), pd.Series(y))
    }
    assert len(scores) == 1


def test_the_verdict_compares_the_interval_with_the_baseline() -> None:
    good = cross_validate_score(DecisionTreeClassifier(), IRIS.X, IRIS.y)
    assert good.verdict == "Better than the baseline (always 'setosa')."
    rng = np.random.default_rng(0)
    noise = cross_validate_score(DecisionTreeClassifier(), rng.random((60, 2)), rng.integers(0, 2, 60))
    assert noise.verdict.startswith(("No better than the baseline", "Not clearly better than the baseline"))
    constant = cross_validate_score(DecisionTreeRegressor(), [[1], [2], [3]], [5, 5, 5])
    assert constant.verdict == "The target has one value only, so there is nothing to learn."
    assert constant.score.value is None


def test_a_small_class_gives_fewer_folds_and_a_note() -> None:
    weather = datasets.load_weather()
    found = cross_validate_score(C45Classifier(), weather.X, weather.y)
    assert found.n_folds == 5
    assert str(found).splitlines()[-1] == "5 folds instead of 10, because the smallest class, 'no', has 5 rows."


@pytest.mark.parametrize(
    ("model", "choices", "sentence"),
    [
        (DecisionTreeClassifier, {}, "give a classifier or a regressor, such as"),
        (DecisionTreeClassifier(), {"folds": 1}, "folds is 1; give a whole number of 2 or more"),
        (DecisionTreeClassifier(), {"folds": 2.0}, "folds is 2.0; give a whole number of 2 or more"),
    ],
)
def test_wrong_arguments_are_refused(model: Any, choices: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        cross_validate_score(model, IRIS.X, IRIS.y, **choices)


def test_a_target_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="X has 150 rows, but y has 149 values; give one target value per row"):
        cross_validate_score(DecisionTreeClassifier(), IRIS.X, IRIS.y[:-1])


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", None], "classes"),
        (np.array([True, False]), "classes"),
        (pd.Series([1, 2, 3], dtype="category"), "classes"),
        (pl.Series(["a", "b"]), "classes"),
        ([0, 1, None, 1], "classes"),
        (np.arange(30), "numbers"),
        (pd.DataFrame({"price": [0.5, np.nan, 2.0]}), "numbers"),
    ],
)
def test_the_task_of_any_form_of_target_is_inferred(y: Any, task: str) -> None:
    assert infer_task(y).task == task


def test_a_target_without_values_has_no_task() -> None:
    with pytest.raises(ValueError, match="the target has no values, so it suggests no task"):
        infer_task([None, None])


@pytest.mark.parametrize(
    ("n_rows", "n_folds", "n_tested", "words"),
    [
        (400, 10, 400, ""),
        (1_500, 5, 1_500, "5 folds instead of 10, because there are 1,500 rows"),
        (3_000, 1, 600, "One validation set of 600 rows instead of 10 folds, because there are 3,000 rows"),
    ],
)
@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_large_tables_have_fewer_folds_unless_asked_for(monkeypatch, n_rows, n_folds, n_tested, words, task) -> None:
    monkeypatch.setattr(cross_validation, "MOST_ROWS_FOR_USUAL_FOLDS", 1_000)
    monkeypatch.setattr(cross_validation, "MOST_ROWS_FOR_FOLDS", 2_000)
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 2))
    y = X[:, 0] if task == "numbers" else X[:, 0] > 0.0
    model = DecisionTreeRegressor(max_depth=3) if task == "numbers" else DecisionTreeClassifier(max_depth=3)
    found = cross_validate_score(model, X, y, folds=None)
    assert (found.n_folds, found.note) == (n_folds, words)
    tested = np.array([prediction is not None for prediction in found.predictions])
    assert np.count_nonzero(tested) == n_tested
    expected = y[tested].astype(float)
    predicted = found.predictions[tested].astype(float)
    by_hand = r2_score(expected, predicted) if task == "numbers" else accuracy_score(expected, predicted)
    assert found.score.value == pytest.approx(by_hand, abs=1e-12)
    assert cross_validate_score(model, X, y, folds=3).n_folds == 3
