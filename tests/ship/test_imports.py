"""Imported models predict what the models of the other libraries predict, and damaged files are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import ensemble, tree
from sklearn.base import is_classifier
from threadpoolctl import threadpool_limits

import treewright
from treewright import ModelFileError, counterfactual, explain, export, import_model, load, save, shap_values, show
from treewright.ship.imports.source_tree import below_in_single_precision
from treewright.ship.imports.ubjson import read_ubjson

pandas = pytest.importorskip("pandas")
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

N_ROWS = 10_000
COLOURS = ["red", "blue", "green", "grey"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of OpenMP spin while they wait, which takes long beside other tests."""
    with threadpool_limits(1):
        yield


def matrix(n_rows: int, seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n_rows, 4))
    X[draw.random(X.shape) < 0.1] = np.nan
    return X


def numbers_of(X: np.ndarray) -> np.ndarray:
    known = np.nan_to_num(X)
    return known[:, 0] * known[:, 1] + np.abs(known[:, 2]) + np.isnan(X[:, 3])


def frame(n_rows: int, seed: int) -> Any:
    """Text and numbers as categories, and numbers with missing values."""
    draw = np.random.default_rng(seed)
    colours = draw.choice(COLOURS, n_rows).astype(object)
    colours[draw.random(n_rows) < 0.1] = None
    x = draw.normal(size=n_rows)
    x[draw.random(n_rows) < 0.1] = np.nan
    codes = pandas.Categorical(draw.integers(0, 9, n_rows) * 10, categories=range(0, 90, 10))
    return pandas.DataFrame({"colour": pandas.Categorical(colours, categories=COLOURS), "x": x, "code": codes})


def target_of(rows: Any) -> np.ndarray:
    mixed = np.nan_to_num(rows["x"]) * (rows["colour"] == "red") + rows["code"].astype(float) % 3
    return np.asarray(mixed + 2.0 * (rows["colour"] == "grey"))


def assert_same(theirs: Any, rows: Any, tolerance: float, **options: Any) -> Any:
    ours = import_model(theirs, **options)
    by_class = is_classifier(theirs)
    expected = theirs.predict_proba(rows) if by_class else theirs.predict(rows)
    found = ours.predict_proba(rows) if by_class else ours.predict(rows)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    if by_class:
        in_order = np.sort(expected, axis=1)
        clear = in_order[:, -1] - in_order[:, -2] > 1e-5
        np.testing.assert_array_equal(ours.predict(rows)[clear], theirs.predict(rows)[clear])
    return ours


SCIKIT = [
    tree.DecisionTreeClassifier(random_state=0),
    tree.DecisionTreeClassifier(criterion="entropy", max_depth=4),
    tree.DecisionTreeRegressor(random_state=0),
    tree.DecisionTreeRegressor(criterion="poisson", max_depth=5),
    tree.ExtraTreeClassifier(random_state=0),
    tree.ExtraTreeRegressor(random_state=0),
    ensemble.RandomForestClassifier(8, random_state=0),
    ensemble.RandomForestRegressor(8, random_state=0),
    ensemble.ExtraTreesClassifier(8, random_state=0),
    ensemble.ExtraTreesRegressor(8, random_state=0),
    ensemble.HistGradientBoostingClassifier(max_iter=15),
    ensemble.HistGradientBoostingRegressor(max_iter=15),
    ensemble.HistGradientBoostingRegressor(max_iter=15, loss="poisson"),
    ensemble.HistGradientBoostingRegressor(max_iter=15, loss="gamma"),
    ensemble.HistGradientBoostingRegressor(max_iter=15, loss="quantile", quantile=0.3),
    ensemble.HistGradientBoostingRegressor(max_iter=15, loss="absolute_error"),
]


CASES = [(model, n_classes) for model in SCIKIT for n_classes in (2, 3) if n_classes == 2 or is_classifier(model)]


@pytest.mark.parametrize(("model", "n_classes"), CASES, ids=str)
def test_scikit_learn_is_imported_to_the_same_predictions(model: Any, n_classes: int) -> None:
    X = matrix(600, 0)
    y: Any = np.abs(numbers_of(X)) + 0.1
    if is_classifier(model):
        y = np.array(["high", "low", "medium"])[np.digitize(y, [0.7, 1.4][: n_classes - 1])]
    assert_same(model.fit(X, y), matrix(N_ROWS, 1), 1e-13)


@pytest.mark.parametrize(
    "objective", ["regression", "regression_l1", "poisson", "gamma", "tweedie", "quantile", "huber"]
)
def test_objectives_of_lightgbm(objective: str) -> None:
    X = matrix(600, 0)
    model = lightgbm.LGBMRegressor(n_estimators=12, verbose=-1, n_jobs=1, objective=objective)
    assert_same(model.fit(X, np.abs(numbers_of(X)) + 0.1), matrix(N_ROWS, 1), 1e-13)


@pytest.mark.parametrize("boosting", ["dart", "rf"])
def test_kinds_of_boosting_of_lightgbm(boosting: str) -> None:
    X = matrix(600, 0)
    options = {"bagging_freq": 1, "bagging_fraction": 0.5} if boosting == "rf" else {}
    model = lightgbm.LGBMRegressor(n_estimators=12, verbose=-1, n_jobs=1, boosting_type=boosting, **options)
    assert_same(model.fit(X, numbers_of(X)), matrix(N_ROWS, 1), 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_of_lightgbm(n_classes: int) -> None:
    X = matrix(600, 0)
    y = np.array(["high", "low", "medium"])[np.digitize(numbers_of(X), [0.5, 1.2][: n_classes - 1])]
    model = lightgbm.LGBMClassifier(n_estimators=12, verbose=-1, n_jobs=1).fit(X, y)
    assert_same(model, matrix(N_ROWS, 1), 1e-13)


def test_missing_values_follow_zero_where_lightgbm_saw_none() -> None:
    X = np.nan_to_num(matrix(600, 0))
    model = lightgbm.LGBMRegressor(n_estimators=12, verbose=-1, n_jobs=1).fit(X, numbers_of(X))
    assert_same(model, matrix(N_ROWS, 1), 1e-13)


OBJECTIVES = [
    "reg:squarederror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "count:poisson",
    "reg:gamma",
    "reg:tweedie",
]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_of_xgboost(objective: str) -> None:
    X = matrix(600, 0)
    model = xgboost.XGBRegressor(n_estimators=12, n_jobs=1, objective=objective)
    assert_same(model.fit(X, np.abs(numbers_of(X)) + 0.1), matrix(N_ROWS, 1), 1e-5)


@pytest.mark.parametrize(
    "options", [{"booster": "dart", "rate_drop": 0.3}, {"tree_method": "exact"}, {"num_parallel_tree": 3}], ids=str
)
def test_kinds_of_boosting_of_xgboost(options: dict[str, Any]) -> None:
    X = matrix(2000, 0)
    model = xgboost.XGBRegressor(n_estimators=25, n_jobs=1, **options).fit(X, numbers_of(X))
    assert_same(model, matrix(N_ROWS, 1), 1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_of_xgboost(n_classes: int) -> None:
    X = matrix(600, 0)
    model = xgboost.XGBClassifier(n_estimators=12, n_jobs=1, base_score=0.4 if n_classes == 2 else None)
    assert_same(model.fit(X, np.digitize(numbers_of(X), [0.5, 1.2][: n_classes - 1])), matrix(N_ROWS, 1), 1e-5)


def categorical_models() -> list[Any]:
    return [
        ensemble.HistGradientBoostingRegressor(max_iter=15, categorical_features="from_dtype"),
        lightgbm.LGBMRegressor(n_estimators=15, verbose=-1, n_jobs=1, min_data_per_group=5, cat_smooth=1),
        xgboost.XGBRegressor(n_estimators=15, n_jobs=1, enable_categorical=True),
    ]


@pytest.mark.parametrize("model", categorical_models(), ids=lambda model: type(model).__name__)
def test_categories_of_frames_are_imported(model: Any) -> None:
    rows = frame(1000, 0)
    ours = assert_same(model.fit(rows, target_of(rows)), frame(N_ROWS, 1), 1e-5)
    colour, x, code = ours.columns_
    assert set(colour.categories) == set(COLOURS)
    assert x.is_numeric
    assert code.categories == tuple(range(0, 90, 10))


def in_codes(rows: Any) -> np.ndarray:
    colour = rows["colour"].cat.codes.to_numpy().astype(float)
    colour[colour < 0] = np.nan
    return np.column_stack([colour, rows["x"], rows["code"].cat.codes])


def test_categories_as_numbers_are_imported() -> None:
    rows, new = frame(1000, 0), in_codes(frame(N_ROWS, 1))
    X, y = in_codes(rows), target_of(rows)
    theirs = ensemble.HistGradientBoostingRegressor(max_iter=15, categorical_features=[0, 2]).fit(X, y)
    assert_same(theirs, new, 1e-13)
    theirs = lightgbm.LGBMRegressor(n_estimators=15, verbose=-1, n_jobs=1, min_data_per_group=5, cat_smooth=1)
    assert_same(theirs.fit(X, y, categorical_feature=[0, 2]), new, 1e-13)
    theirs = xgboost.XGBRegressor(n_estimators=15, n_jobs=1, enable_categorical=True, feature_types=["c", "q", "c"])
    assert_same(theirs.fit(X, y), new, 1e-5)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
def test_early_stopping_keeps_the_rounds_that_the_estimator_predicts_with() -> None:
    X, held, new = matrix(800, 0), matrix(300, 5), matrix(1000, 1)
    noise = np.random.default_rng(3).normal(size=(2, 800))
    y, y_held = numbers_of(X) + noise[0], numbers_of(held) + noise[1, :300]
    theirs = xgboost.XGBRegressor(n_estimators=60, n_jobs=1, early_stopping_rounds=3)
    theirs.fit(X, y, eval_set=[(held, y_held)], verbose=False)
    assert theirs.best_iteration < 50
    assert len(assert_same(theirs, new, 1e-5).forests_[0]) == theirs.best_iteration + 1
    theirs = lightgbm.LGBMRegressor(n_estimators=60, verbose=-1, n_jobs=1)
    theirs.fit(X, y, eval_set=[(held, y_held)], callbacks=[lightgbm.early_stopping(3, verbose=False)])
    assert_same(theirs, new, 1e-13)


def files(folder: Path) -> dict[str, Path]:
    """A file of each format, of a model with classes and categories."""
    rows = frame(400, 0)
    y = np.digitize(target_of(rows), [1.0, 2.5])
    booster = lightgbm.LGBMClassifier(n_estimators=3, num_leaves=6, verbose=-1, n_jobs=1, min_data_per_group=5).fit(
        rows, y
    )
    booster.booster_.save_model(folder / "lightgbm.txt")
    other = xgboost.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1, enable_categorical=True).fit(rows, y)
    for suffix in ("json", "ubj"):
        other.save_model(folder / f"xgboost.{suffix}")
    return {name: folder / name for name in ("lightgbm.txt", "xgboost.json", "xgboost.ubj")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("models")
    files(found)
    return found


@pytest.mark.parametrize("name", ["lightgbm.txt", "xgboost.json", "xgboost.ubj"])
def test_files_are_imported_with_names_for_the_classes(folder: Path, name: str) -> None:
    new = frame(N_ROWS, 1)
    if name == "lightgbm.txt":
        expected = lightgbm.Booster(model_file=folder / name).predict(new)
    else:
        expected = xgboost.Booster(model_file=folder / name).predict(xgboost.DMatrix(new, enable_categorical=True))
    model = import_model(folder / name, classes=["high", "low", "medium"])
    np.testing.assert_allclose(model.predict_proba(new), expected, rtol=1e-5, atol=1e-6)
    assert set(model.predict(new)) <= {"high", "low", "medium"}
    again = import_model((folder / name).read_bytes())
    assert again.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="the model has 3 classes; name each once"):
        import_model(folder / name, classes=["a", "b"])


@pytest.mark.parametrize("name", ["lightgbm.txt", "xgboost.json", "xgboost.ubj"])
def test_a_damaged_file_gives_one_sentence(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    draw = np.random.default_rng(0)
    new = frame(50, 2)
    n_refused = 0
    for number in range(300):
        damaged = bytearray(data)
        kind = number % 3
        if kind == 0:
            del damaged[int(draw.integers(len(data))) :]
        for _ in range(1 if kind == 1 else 0):
            damaged[int(draw.integers(len(data)))] = int(draw.integers(256))
        if kind == 2:
            at = int(draw.integers(len(data) - 8))
            damaged[at : at + 8] = data[at + 1 : at + 2] * 8
        sentence, model = attempt(bytes(damaged))
        n_refused += model is None
        if model is None:
            assert sentence
            assert "\n" not in sentence
            continue
        with suppress(ValueError, AttributeError):  # other columns, or a model of numbers
            assert np.isfinite(np.asarray(model.predict_proba(new))).all()
    assert n_refused > 100


def attempt(data: bytes) -> tuple[str, Any]:
    """The model of a file, or the sentence of the refusal; anything but a refusal is an error of the test."""
    try:
        return "", import_model(data)
    except (ValueError, TypeError) as error:  # a ModelFileError is a ValueError
        return str(error), None


def changed(data: bytes, change: Callable[[Any], None]) -> bytes:
    found = json.loads(data)
    change(found["learner"])
    return json.dumps(found).encode()


def first_tree(learner: Any) -> Any:
    return learner["gradient_booster"]["model"]["trees"][0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda one: first_tree(one)["left_children"].__setitem__(0, 0), "a child that does not exist"),
        (lambda one: first_tree(one)["left_children"].__setitem__(0, 10**9), "a child that does not exist"),
        (lambda one: first_tree(one)["right_children"].__setitem__(0, 1), "has two parents"),
        (lambda one: first_tree(one)["split_indices"].__setitem__(0, 99), "tests a column that does not exist|damaged"),
        (lambda one: first_tree(one)["split_conditions"].pop(), "have different lengths"),
        (lambda one: one["learner_model_param"].__setitem__("num_feature", "1000000000"), "number of columns"),
        (lambda one: one["learner_model_param"].__setitem__("base_score", "NaN"), "base score"),
        (lambda one: one["gradient_booster"].__setitem__("name", "gblinear"), "linear model"),
        (
            lambda one: one["objective"].__setitem__("name", "survival:cox"),
            "objective 'survival:cox' cannot be imported",
        ),
        (lambda one: one.pop("gradient_booster"), "damaged, or it is no model of XGBoost"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, change: Callable[[Any], None], sentence: str) -> None:
    data = (folder / "xgboost.json").read_bytes()
    with pytest.raises(ValueError, match=sentence):
        import_model(changed(data, change))


def test_what_cannot_be_represented_is_refused(folder: Path) -> None:
    text = (folder / "lightgbm.txt").read_text()
    with pytest.raises(ValueError, match="linear trees"):
        import_model(text.replace("is_linear=0", "is_linear=1", 1).encode())
    with pytest.raises(ValueError, match="objective 'multiclassova num_class:3' cannot be imported"):
        import_model(text.replace("objective=multiclass ", "objective=multiclassova ").encode())
    X = np.nan_to_num(matrix(300, 0))
    X[X[:, 0] < 0.5, 0] = 0.0
    zeros = lightgbm.LGBMRegressor(n_estimators=9, verbose=-1, zero_as_missing=True, n_jobs=1).fit(X, X[:, 0] * X[:, 1])
    with pytest.raises(ValueError, match="zero_as_missing=True cannot be imported"):
        import_model(zeros)
    two = tree.DecisionTreeRegressor().fit(X, X[:, :2])
    with pytest.raises(ValueError, match="several targets"):
        import_model(two)
    with pytest.raises(TypeError, match="sklearn's AdaBoostRegressor cannot be imported"):
        import_model(ensemble.AdaBoostRegressor().fit(X, X[:, 0]))
    with pytest.raises(ModelFileError, match="no model of LightGBM"):
        import_model(b"PK\x03\x04")
    with pytest.raises(ValueError, match="classes are for files"):
        import_model(tree.DecisionTreeClassifier().fit(X, X[:, 0] > 0), classes=[0, 1])


def imported_models() -> dict[str, Any]:
    X = matrix(1500, 0)
    y = numbers_of(X)
    exact = xgboost.XGBRegressor(n_estimators=25, n_jobs=1, tree_method="exact").fit(X, y)
    found = {
        "tree": tree.DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y > 0.5),
        "forest": ensemble.RandomForestRegressor(4, max_depth=4, random_state=0).fit(X, y),
        "boosting": lightgbm.LGBMClassifier(n_estimators=5, num_leaves=7, verbose=-1, n_jobs=1).fit(X, y > 0.5),
        "many thresholds": exact,
    }
    return {name: import_model(model) for name, model in found.items()}


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "many thresholds"])
def test_all_else_works_with_an_imported_model(name: str, tmp_path: Path) -> None:
    model, new = imported_models()[name], matrix(200, 1)
    predict = model.predict_proba if is_classifier(model) else model.predict
    expected = predict(new)
    again = load(save(model))
    np.testing.assert_array_equal((again.predict_proba if is_classifier(again) else again.predict)(new), expected)
    found = shap_values(model, new)
    scores = getattr(model, "decision_function", predict)(new)
    total = np.asarray(found.values).sum(axis=1) + np.asarray(found.base_values)
    np.testing.assert_allclose(total, np.asarray(scores).reshape(total.shape), rtol=1e-9, atol=1e-9)
    assert str(explain(model, new[:1]))
    assert treewright.plot_tree(model.estimators_.ravel()[0] if name in ("boosting", "many thresholds") else model)
    assert len(model.feature_importances_) == 4
    module: dict[str, Any] = {}
    exec(export(model, to="python"), module)
    lines = [{f"x{k}": cell for k, cell in enumerate(line)} for line in new.tolist()]
    outputs = np.array([module["outputs"](line) for line in lines]).reshape(expected.shape)
    np.testing.assert_allclose(outputs, expected, rtol=1e-12)
    if hasattr(model, "staged_predict"):
        *_, last = model.staged_predict(new)
        np.testing.assert_allclose(last, model.predict(new), rtol=1e-12)
        assert model.apply(new).shape[0] == len(new)


def test_an_imported_tree_is_shown_and_has_counterfactuals(capsys: pytest.CaptureFixture[str]) -> None:
    models = imported_models()
    show(models["tree"])
    assert "x2 <=" in capsys.readouterr().out
    new = matrix(1, 1)
    for name in ("tree", "boosting"):
        own = models[name].predict(new)[0]
        found = counterfactual(models[name], new)
        assert found.row is not None
        assert models[name].predict(np.array([list(found.row.values())], dtype=float))[0] != own


@given(st.floats(width=32, allow_nan=False), st.floats(allow_nan=False), st.integers(-3, 3))
@settings(max_examples=300)
def test_thresholds_in_single_precision_send_doubles_the_same_way(single: float, number: float, steps: int) -> None:
    threshold = float(below_in_single_precision(np.array([single]))[0])
    near = threshold
    for _ in range(abs(steps)):
        near = float(np.nextafter(near, np.inf if steps > 0 else -np.inf))
    with np.errstate(over="ignore"):
        for value in (number, near):
            assert (np.float32(value) <= np.float32(single)) == (value <= threshold)


@given(st.binary(max_size=60))
@settings(max_examples=300)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for start in (b"{", b"{L\0\0\0\0\0\0\0\1a[$", b"tree\n", b'{"learner":'):
        with pytest.raises((ValueError, TypeError)):
            import_model(start + data)
    with suppress(ModelFileError):
        read_ubjson(data)
