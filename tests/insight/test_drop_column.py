"""Drop-column importances against a plain loop over fits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from sample_tables import mixed_table
from treewright import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    datasets,
    drop_column_importance,
)


def test_the_drops_are_those_of_fits_without_each_column() -> None:
    X, y, _ = mixed_table(90, seed=4)
    model = DecisionTreeClassifier(max_depth=3)
    found = drop_column_importance(model, X, y, folds=3, random_state=1)
    names = list(X.columns)
    expected = np.empty((len(names), 3))
    bases = []
    splits = StratifiedKFold(3, shuffle=True, random_state=1).split(X, y)
    for fold, (training, tested) in enumerate(splits):
        base = DecisionTreeClassifier(max_depth=3).fit(X.iloc[training], y[training])
        bases.append(base.score(X.iloc[tested], y[tested]))
        for place, name in enumerate(names):
            less = X.drop(columns=name)
            fitted = DecisionTreeClassifier(max_depth=3).fit(less.iloc[training], y[training])
            expected[place, fold] = bases[-1] - fitted.score(less.iloc[tested], y[tested])
    assert found.names == tuple(names)
    np.testing.assert_allclose(found.importances, expected, atol=1e-12)
    assert found.score == pytest.approx(np.mean(bases))


def test_a_column_with_a_copy_adds_nothing() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=300), draw.normal(size=300)
    y = np.where(a > 0.2, 3.0, 0.0) + np.where(b > 0.0, 1.0, 0.0)
    X = {"a": a, "copy of a": a, "b": b}
    found = drop_column_importance(DecisionTreeRegressor(max_depth=3), X, y)
    drops = dict(zip(found.names, found.importances_mean.tolist(), strict=True))
    assert abs(drops["a"]) < 1e-9
    assert drops["b"] > 0.05


def test_a_validation_set_and_another_measure_are_used() -> None:
    iris = datasets.load_iris()
    X, X_val, y, y_val = iris.X[::2], iris.X[1::2], iris.y[::2], iris.y[1::2]
    found = drop_column_importance(C45Classifier(), X, y, X_val=X_val, y_val=y_val, scoring="balanced_accuracy")
    model = C45Classifier().fit(X, y)
    assert found.importances.shape == (4, 1)
    assert found.score == pytest.approx(balanced_accuracy_score(y_val, model.predict(X_val)))


def test_parameters_that_refer_to_columns_follow() -> None:
    X, _, y = mixed_table(60, seed=2)
    X["code"] = np.arange(60) % 4
    by_name = drop_column_importance(DecisionTreeRegressor(max_depth=3, categorical_features=["code"]), X, y, folds=2)
    by_place = drop_column_importance(DecisionTreeRegressor(max_depth=3, categorical_features=[4]), X, y, folds=2)
    mask = [name == "code" for name in X]
    by_mask = drop_column_importance(DecisionTreeRegressor(max_depth=3, categorical_features=mask), X, y, folds=2)
    np.testing.assert_array_equal(by_name.importances, by_place.importances)
    np.testing.assert_array_equal(by_name.importances, by_mask.importances)


def test_models_of_other_libraries_get_a_prepared_table() -> None:
    X, y, _ = mixed_table(60, seed=5)
    assert drop_column_importance(GaussianNB(), X, y, folds=2).importances.shape == (X.shape[1], 2)


def test_mistakes_are_one_sentence() -> None:
    X, y, _ = mixed_table(30, seed=5)
    with pytest.raises(ValueError, match="X has one column only, 'size'"):
        drop_column_importance(C45Classifier(), X[["size"]], y)
    with pytest.raises(ValueError, match="together"):
        drop_column_importance(C45Classifier(), X, y, X_val=X)
    with pytest.raises(ValueError, match="X has 30 rows, but y has 5 values"):
        drop_column_importance(C45Classifier(), X, y[:5])
    with pytest.raises(ValueError, match="folds"):
        drop_column_importance(C45Classifier(), X, y, folds=1)
    with pytest.raises(ValueError, match="a classifier or a regressor"):
        drop_column_importance("c45", X, y)
