"""Trees and forests as estimators of scikit-learn predict what the model predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.tree import export_text

from treewright import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    ModelFileError,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)

NAMES = ["a", "b", "c"]


def rows(n_rows: int, seed: int) -> np.ndarray:
    """Numbers in single precision, as scikit-learn reads them, with missing values."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n_rows, 3)).astype(np.float32).astype(np.float64)
    X[draw.random(X.shape) < 0.1] = np.nan
    return X


def target(X: np.ndarray) -> np.ndarray:
    known = np.nan_to_num(X)
    return known[:, 0] * known[:, 1] + np.abs(known[:, 2]) + np.isnan(X[:, 0])


MODELS = [
    DecisionTreeClassifier(max_depth=6),
    DecisionTreeRegressor(max_depth=8),
    CARTClassifier(missing="learned"),
    RandomForestClassifier(n_estimators=7, max_depth=6, random_state=0),
    RandomForestRegressor(n_estimators=7, max_depth=6, random_state=0),
    ExtraTreesClassifier(n_estimators=7, max_depth=6, random_state=0),
    ExtraTreesRegressor(n_estimators=7, max_depth=6, random_state=0),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_scikit_learn_predicts_the_same(model: Any, n_classes: int) -> None:
    X, new = rows(800, 0), rows(10_000, 1)
    y: Any = target(X)
    if is_classifier(model):
        words = np.array(["high", "low", "medium"])
        y = words[np.digitize(y, [0.5, 1.5][: n_classes - 1])]
    model.fit(X, y)
    theirs = export(model, to="sklearn")
    if is_classifier(model):
        np.testing.assert_allclose(theirs.predict_proba(new), model.predict_proba(new), rtol=1e-13, atol=1e-15)
        assert (theirs.predict(new) == model.predict(new)).mean() > 0.999  # ties aside
    else:
        np.testing.assert_allclose(theirs.predict(new), model.predict(new), rtol=1e-13)
    assert theirs.feature_importances_.sum() == pytest.approx(1.0)


def test_names_of_columns_are_kept() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows(300, 0), columns=NAMES)
    model = RandomForestRegressor(n_estimators=3, random_state=0).fit(frame, target(frame.to_numpy()))
    theirs = export(model, to="sklearn")
    np.testing.assert_allclose(theirs.predict(frame), model.predict(frame), rtol=1e-12)
    assert theirs.feature_names_in_.tolist() == NAMES
    single = DecisionTreeRegressor(max_depth=1).fit(frame, target(frame.to_numpy()))
    assert export_text(export(single, to="sklearn"), feature_names=NAMES).count("value") == 2


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (GradientBoostingRegressor(n_estimators=2), "GradientBoostingRegressor cannot be exported to scikit-learn"),
        (RandomForestClassifier(n_estimators=2, voting="hard"), "voting='hard' cannot be exported"),
        (C45Classifier(), "sends fractions of a row"),
        (CARTClassifier(missing="surrogate"), "surrogate splits"),
    ],
)
def test_what_scikit_learn_cannot_do_is_refused_by_name(model: Any, sentence: str) -> None:
    X = rows(200, 0)
    model.fit(X, np.digitize(target(X), [0.5]))
    with pytest.raises(ModelFileError, match=sentence):
        export(model, to="sklearn")


def test_categories_are_refused() -> None:
    model = DecisionTreeClassifier().fit({"colour": ["red", "blue"] * 10}, [0, 1] * 10)
    with pytest.raises(ModelFileError, match="column 'colour' has categories"):
        export(model, to="sklearn")
    with pytest.raises(ValueError, match="returns an estimator"):
        export(model, "sklearn", "model.pkl")
