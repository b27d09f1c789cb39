"""Shapley values beside those of the packages shap and XGBoost, and in the plots of shap."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treewright import (
    CARTRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
    import_model,
    shap_values,
)

shap = pytest.importorskip("shap")
pytestmark = pytest.mark.slow


def table(n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n_rows, 5))
    return X, X[:, 0] * X[:, 1] + np.where(X[:, 2] > 0, X[:, 3], 1.0)


@pytest.mark.parametrize("with_background", [False, True])
@pytest.mark.parametrize(
    "learner", [CARTRegressor(prune=None, max_depth=5), RandomForestRegressor(n_estimators=5, random_state=0)]
)
def test_values_of_numbers_equal_those_of_shap(learner: Any, with_background: bool) -> None:
    X, y = table()
    model = learner.fit(X, y)
    background = X[:40] if with_background else None
    kind = "interventional" if with_background else "tree_path_dependent"
    theirs = shap.TreeExplainer(export(model, to="sklearn"), background, feature_perturbation=kind)
    ours = shap_values(model, X[50:90], background=background)
    # Against a background, shap computes in single precision.
    atol = 1e-6 if with_background else 1e-9
    np.testing.assert_allclose(ours.values, theirs.shap_values(X[50:90], check_additivity=False), rtol=0, atol=atol)
    np.testing.assert_allclose(ours.base_values, np.ravel(theirs.expected_value)[0], rtol=0, atol=atol)


def test_values_and_interactions_of_classes_equal_those_of_shap() -> None:
    X, y = table()
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, np.digitize(y, [-0.5, 0.8]))
    theirs = shap.TreeExplainer(export(model, to="sklearn"), feature_perturbation="tree_path_dependent")
    ours = shap_values(model, X[:30])
    np.testing.assert_allclose(ours.values, theirs.shap_values(X[:30], check_additivity=False), atol=1e-9)
    pairs = shap_values(model, X[:30], interactions=True)
    np.testing.assert_allclose(pairs.values, theirs.shap_interaction_values(X[:30]), atol=1e-9)


def test_values_of_an_imported_model_equal_those_of_xgboost(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    X, y = table()
    X[::7, 2] = np.nan
    rows = xgboost.DMatrix(X, y)
    booster = xgboost.train({"max_depth": 4, "eta": 0.3, "nthread": 1}, rows, num_boost_round=8)
    booster.save_model(tmp_path / "model.json")
    theirs = booster.predict(rows, pred_contribs=True)
    ours = shap_values(import_model(tmp_path / "model.json"), X)
    # XGBoost computes in single precision.
    np.testing.assert_allclose(ours.values, theirs[:, :-1], atol=2e-5)
    np.testing.assert_allclose(ours.base_values, theirs[:, -1], atol=2e-5)


@pytest.fixture(scope="module")
def explained() -> Any:
    X, y = table()
    return shap_values(CARTRegressor(prune=None, max_depth=4).fit(X, y), X[:60])


PLOTS = {
    "bar": lambda values: shap.plots.bar(values, show=False),
    "beeswarm": lambda values: shap.plots.beeswarm(values, show=False),
    "violin": lambda values: shap.plots.violin(values, show=False),
    "heatmap": lambda values: shap.plots.heatmap(values, show=False),
    "scatter": lambda values: shap.plots.scatter(values[:, 0], show=False),
    "waterfall": lambda values: shap.plots.waterfall(values[0], show=False),
    "force": lambda values: shap.plots.force(values[0], matplotlib=True, show=False),
}


@pytest.mark.parametrize("plot", PLOTS)
def test_the_values_go_into_plots_of_shap_as_they_are(explained: Any, plot: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    PLOTS[plot](explained)
    assert pyplot.gcf().axes
    pyplot.close("all")


def test_the_values_are_an_explanation_and_can_still_be_copied(explained: Any) -> None:
    assert isinstance(explained, shap.Explanation)
    assert explained.shape == (60, 5)
    np.testing.assert_array_equal(explained.abs.mean(0).values, np.abs(explained.values).mean(axis=0))
    for again in (copy.deepcopy(explained), pickle.loads(pickle.dumps(explained))):
        assert type(again) is type(explained)
        np.testing.assert_array_equal(again.values, explained.values)
    with pytest.raises(AttributeError):
        explained.no_such_attribute  # noqa: B018
