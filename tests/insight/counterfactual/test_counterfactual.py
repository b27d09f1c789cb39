"""Counterfactuals against brute force: the predictions of the model for all combinations of values."""

from __future__ import annotations

import itertools
import json
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from treewright import (
    AdaBoostClassifier,
    BaggingClassifier,
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ObliviousTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    counterfactual,
    datasets,
)


def small_table(n_rows: int = 70, seed: int = 0, missing: float = 0.15) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Few values in each of four columns, so that all combinations can be tried."""
    draw = np.random.default_rng(seed)
    a, b = draw.integers(0, 6, n_rows).astype(float), draw.integers(0, 5, n_rows) * 2.5
    c, d = draw.choice(["red", "green", "blue"], n_rows), draw.choice(["yes", "no"], n_rows)
    y = a * (c == "red") + b * (d == "yes") / 3 + 2 * (c == "blue") + draw.normal(0, 0.3, n_rows)
    X = pd.DataFrame({"a": a, "b": b, "c": c, "d": d})
    X = X.mask(draw.random(X.shape) < missing)
    X["c"], X["d"] = X["c"].astype(object), X["d"].astype(object)
    return X, np.digitize(y, [1.2, 3.0]), y


def magnitude(X: pd.DataFrame, column: str, before: Any, after: Any) -> float:
    """The magnitude of a change by its definition."""
    if pd.isna(before) or isinstance(after, str):
        return 1.0
    return abs(after - before) / float(np.std(X[column].dropna()))


def same(before: Any, after: Any) -> bool:
    return (pd.isna(before) and pd.isna(after)) or before == after


def best_by_trying(
    model: Any, X: pd.DataFrame, row: dict[str, Any], reached: Any, allowed: Any = lambda name, value: True
) -> tuple[int, float] | None:
    """The nearest change by predicting all combinations of training values: columns and distance; None without any."""
    options = []
    for name in X:
        values = [value for value in sorted(X[name].dropna().unique()) if not same(row[name], value)]
        options.append([row[name], *(value for value in values if allowed(name, value))])
    grid = pd.DataFrame(list(itertools.product(*options)), columns=X.columns)
    for name in ("c", "d"):
        grid[name] = grid[name].astype(object)
    good = np.array([reached(one) for one in model.predict(grid)])
    if hasattr(model, "tree_"):
        used = set(np.asarray(model.apply(X)).tolist()) | set(np.flatnonzero(model.tree_.weight > 0).tolist())
        good &= np.array([leaf in used for leaf in model.apply(grid)])
    changed = np.array([[not same(row[name], value) for value in grid[name]] for name in X]).T
    sizes = np.array([[magnitude(X, name, row[name], value) for value in grid[name]] for name in X]).T
    found = [(int(changed[k].sum()), float(sizes[k][changed[k]].sum())) for k in np.flatnonzero(good)]
    return min(found, default=None)


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4),
    "C4.5, fractional instances": C45Classifier(),
    "surrogates": CARTClassifier(missing="surrogate", prune=None, max_depth=4),
    "imputation": DecisionTreeClassifier(missing="model", max_depth=4),
    "majority": DecisionTreeClassifier(missing="majority", max_depth=4),
    "multiway": DecisionTreeClassifier(categorical="multiway", criterion="information_gain", max_depth=4),
    "oblivious": ObliviousTreeClassifier(max_depth=4),
    "costs": DecisionTreeClassifier(misclassification_costs={(0, 2): 4.0}, max_depth=4),
    "forest": RandomForestClassifier(n_estimators=7, random_state=0),
    "forest of other trees": RandomForestClassifier(n_estimators=5, missing="fractional", random_state=0),
    "extra trees": ExtraTreesClassifier(n_estimators=7, random_state=0),
    "bagging": BaggingClassifier(n_estimators=5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "hard vote": RandomForestClassifier(n_estimators=5, voting="hard", random_state=0),
    "AdaBoost": AdaBoostClassifier(n_estimators=4, random_state=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_nearest_change_is_that_of_trying_all(name: str) -> None:
    X, y, _ = small_table()
    model = clone(MODELS[name]).fit(X, y)
    for place, target in ((0, None), (3, 2), (9, 0)):
        row = X.iloc[place].to_dict()
        own = model.predict(X.iloc[[place]])[0]
        found = counterfactual(model, row, target=target, X=X)
        reached = (lambda one, own=own: one != own) if target is None else (lambda one, target=target: one == target)
        expected = best_by_trying(model, X, row, reached)
        assert found.proven
        if expected is None:
            assert not found.found
            continue
        assert (len(found.changes), found.distance) == (expected[0], pytest.approx(expected[1]))
        assert reached(model.predict([found.row])[0])
        assert found.after == model.predict([found.row])[0]
        json.dumps(found.to_dict(), allow_nan=False)


NUMBER_MODELS = {
    "tree": DecisionTreeRegressor(max_depth=4),
    "CART": CARTRegressor(),
    "forest": RandomForestRegressor(n_estimators=6, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=12, random_state=0),
    "boosting with a logarithmic link": GradientBoostingRegressor(n_estimators=12, loss="poisson", random_state=0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBER_MODELS)
def test_an_interval_is_reached_by_the_nearest_change(name: str) -> None:
    X, _, y = small_table(seed=1)
    y = np.maximum(y, 0.01)
    model = clone(NUMBER_MODELS[name]).fit(X, y)
    predictions = model.predict(X)
    low, high = np.quantile(predictions, [0.85, 0.95])
    for place in np.argsort(predictions)[[0, 20]].tolist():
        row = X.iloc[place].to_dict()
        found = counterfactual(model, row, target=(low, high), X=X)
        expected = best_by_trying(model, X, row, lambda one: low <= one <= high)
        assert expected is not None
        assert found.proven
        assert (len(found.changes), found.distance) == (expected[0], pytest.approx(expected[1]))
        assert low <= model.predict([found.row])[0] <= high


@pytest.mark.parametrize("model", [DecisionTreeClassifier(max_depth=4), RandomForestClassifier(6, random_state=0)])
def test_frozen_columns_and_directions_are_respected(model: Any) -> None:
    X, y, _ = small_table(seed=2, missing=0.0)
    model.fit(X, y)
    for place in (0, 5):
        row = X.iloc[place].to_dict()
        own = model.predict(X.iloc[[place]])[0]
        found = counterfactual(model, row, frozen=["c"], only_increase=["a"], only_decrease="b", X=X)

        def allowed(name: str, value: Any, row: dict[str, Any] = row) -> bool:
            return {"a": lambda: value > row["a"], "b": lambda: value < row["b"], "c": lambda: False}.get(
                name, lambda: True
            )()

        expected = best_by_trying(model, X, row, lambda one, own=own: one != own, allowed)
        if expected is None:
            assert not found.found
        else:
            assert (len(found.changes), found.distance) == (expected[0], pytest.approx(expected[1]))


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), BaggingClassifier(n_estimators=3, random_state=0)])
def test_without_training_rows_the_crossed_thresholds_are_counted(model: Any) -> None:
    draw = np.random.default_rng(4)
    X = draw.normal(size=(60, 3)).round(2)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5) * 1 + (X[:, 2] > 1.0)
    model.fit(X, y)
    trees = [model.tree_] if hasattr(model, "tree_") else [member.tree_ for member in model.estimators_]
    cuts = [np.unique([t for tree in trees for t in tree.threshold[tree.column == k]]) for k in range(3)]
    # One point in each interval between thresholds; its number is the number of thresholds below.
    points = [np.concatenate([[cut[0] - 1], (cut[1:] + cut[:-1]) / 2, [cut[-1] + 1]]) for cut in cuts]
    grid = np.array(list(itertools.product(*points)))
    cells = np.array(list(itertools.product(*(range(len(one)) for one in points))))
    predicted = model.predict(grid)
    for row in X[:6]:
        found = counterfactual(model, row)
        own = np.array([np.searchsorted(cut, value, side="left") for cut, value in zip(cuts, row, strict=True)])
        crossed = np.abs(cells - own)
        sizes = (crossed / [len(cut) for cut in cuts]).sum(axis=1)
        other = predicted != model.predict(row[None])[0]
        expected = min(zip((crossed > 0).sum(axis=1)[other].tolist(), sizes[other].tolist(), strict=True))
        assert found.proven
        assert (len(found.changes), found.distance) == (expected[0], pytest.approx(expected[1]))
        assert model.predict([list(found.row.values())])[0] == found.after != found.before


def test_a_search_that_ends_early_states_a_valid_bound() -> None:
    X, y, _ = small_table(200, seed=3, missing=0.0)
    model = RandomForestClassifier(n_estimators=15, random_state=0).fit(X, y)
    seen = 0
    for place in range(12):
        best = counterfactual(model, X.iloc[place], target=2, X=X)
        if not best.found or len(best.changes) < 2:
            continue
        for max_nodes in (1, 4, 8):
            found = counterfactual(model, X.iloc[place], target=2, X=X, max_nodes=max_nodes)
            assert found.bound <= (len(best.changes), best.distance + 1e-9)
            if found.found:
                assert (len(found.changes), found.distance) >= (len(best.changes), best.distance - 1e-9)
                assert model.predict([found.row])[0] == 2
            if not found.proven:
                seen += 1
                assert "ot proven" in str(found) or "raise max_nodes" in str(found)
    assert seen > 0


def test_a_prediction_that_is_wanted_needs_no_change() -> None:
    iris = datasets.load_iris()
    model = CARTClassifier().fit(iris.X, iris.y)
    found = counterfactual(model, iris.X[:1], target="setosa")
    assert (found.changes, found.distance, found.proven) == ((), 0.0, True)
    assert "already" in str(found)


def test_a_change_that_does_not_exist_is_one_sentence() -> None:
    iris = datasets.load_iris()
    model = CARTClassifier().fit(iris.X, iris.y)
    found = counterfactual(model, iris.X[:1], target="virginica", frozen=["petal_length", "petal_width"])
    assert str(found) == "No allowed change leads to the prediction virginica; the prediction stays setosa."
    assert (found.found, found.proven, found.row) == (False, True, None)
    leaf = DecisionTreeClassifier().fit({"x": [1, 2]}, ["a", "a"])
    assert not counterfactual(leaf, [1]).found


def test_dates_and_ordered_categories_change_to_values_of_their_kind() -> None:
    size = pd.Categorical(["S", "M", "L", "S", "M", "L"], categories=["S", "M", "L"], ordered=True)
    X = pd.DataFrame({"size": size, "day": pd.to_datetime([f"2024-01-{k:02}" for k in (1, 2, 3, 4, 5, 6)])})
    model = DecisionTreeClassifier().fit(X[["size"]], ["a", "a", "b", "a", "a", "b"])
    assert [(one.after, one.magnitude) for one in counterfactual(model, X[["size"]][:1]).changes] == [("L", 1.0)]
    days = {"day": [date(2024, 1, k) for k in (1, 2, 5, 6)]}
    model = DecisionTreeClassifier().fit(days, ["a", "a", "b", "b"])
    found = counterfactual(model, {"day": date(2024, 1, 6)})
    assert found.row == {"day": date(2024, 1, 3)}
    assert model.predict([found.row])[0] == "a"


def test_models_that_are_no_sum_of_trees_need_training_rows() -> None:
    iris = datasets.load_iris()
    model = VotingClassifier().fit(iris.X, iris.y)
    with pytest.raises(ValueError, match="give training rows as X"):
        counterfactual(model, iris.X[:1])
    found = counterfactual(model, iris.X[:1], target="virginica", X=iris.X)
    assert model.predict([found.row])[0] == "virginica"
    assert not found.proven
    assert "values of each number were tried" in str(found)
    assert counterfactual(model, iris.X[:1], target="virginica", X=iris.X, max_nodes=5).after == "virginica"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": "rose"}, "target is 'rose', and the classes are"),
        ({"frozen": ["petal"]}, "frozen has 'petal', which is no column"),
        ({"max_nodes": 0}, "max_nodes"),
    ],
)
def test_a_wrong_option_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    iris = datasets.load_iris()
    model = CARTClassifier().fit(iris.X, iris.y)
    with pytest.raises(ValueError, match=sentence):
        counterfactual(model, iris.X[:1], **options)


def test_wrong_targets_of_numbers_and_directions_of_categories_are_one_sentence() -> None:
    X, y, number = small_table()
    with pytest.raises(ValueError, match="an interval"):
        counterfactual(CARTRegressor().fit(X, number), X[:1])
    with pytest.raises(ValueError, match="an interval"):
        counterfactual(CARTRegressor().fit(X, number), X[:1], target=(5, 1))
    with pytest.raises(ValueError, match="categories without an order"):
        counterfactual(CARTClassifier().fit(X, y), X[:1], only_increase=["c"])
    two = DecisionTreeRegressor().fit({"x": [1, 2, 3]}, np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 2.0]]))
    with pytest.raises(ValueError, match="several targets"):
        counterfactual(two, [1], target=(1, 2))
