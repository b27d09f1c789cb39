"""Models of every kind that can be exported, and rows to compare their predictions on."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright import (
    AdaBoostClassifier,
    BaggingClassifier,
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSubspaceRegressor,
)

N_ROWS = 10_000
# A name with all quotes.
COLOUR = "a name, with ' and \" signs"
COLOURS = ["red", "blue's", 'gre"en', "grey"]


def table(n_rows: int, seed: int, *, unseen: bool) -> dict[str, list[Any]]:
    """Numbers, text with quotes, and numbers as categories, with missing values and, in new rows, unseen categories."""
    draw = np.random.default_rng(seed)
    colours = [*COLOURS, "violet"] if unseen else COLOURS
    codes = [1, 2, 3, 7] if unseen else [1, 2, 3]
    columns = {
        "x": draw.normal(size=n_rows).tolist(),
        COLOUR: draw.choice(colours, n_rows).tolist(),
        "code": draw.choice(codes, n_rows).tolist(),
        "z": draw.normal(size=n_rows).round(1).tolist(),
    }
    return {name: [None if draw.random() < 0.1 else cell for cell in cells] for name, cells in columns.items()}


def target(columns: dict[str, list[Any]]) -> np.ndarray:
    x, colour, code, z = columns.values()
    numbers = [
        (0 if a is None else a) * (1 if b == "red" else -1) + (0 if c is None else c) + (0 if d is None else d) ** 2
        for a, b, c, d in zip(x, colour, code, z, strict=True)
    ]
    return np.array(numbers)


KINDS = {"categorical_features": ["code"]}
SMALL = {"n_estimators": 8, "random_state": 0, **KINDS}
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=7, **KINDS),
    "multiway": DecisionTreeClassifier(max_depth=5, categorical="multiway", unseen="stop", **KINDS),
    "majority": DecisionTreeClassifier(max_depth=6, unseen="majority", **KINDS),
    "fractional instances": DecisionTreeClassifier(missing="fractional", categorical="multiway", max_depth=5, **KINDS),
    "C4.5": C45Classifier(**KINDS),
    "forest, fractional": RandomForestClassifier(missing="fractional", max_depth=4, **SMALL),
    "numbers": DecisionTreeRegressor(max_depth=8, **KINDS),
    "forest of two classes": RandomForestClassifier(max_depth=6, **SMALL),
    "forest of three classes": RandomForestClassifier(max_depth=6, **SMALL),
    "forest of numbers": RandomForestRegressor(max_depth=6, **SMALL),
    "extra trees": ExtraTreesRegressor(max_depth=6, **SMALL),
    "boosting of two classes": GradientBoostingClassifier(**SMALL),
    "boosting of three classes": GradientBoostingClassifier(**SMALL),
    "boosting of numbers": GradientBoostingRegressor(**SMALL),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=5), n_estimators=4, random_state=0, **KINDS),
    "random subspaces": RandomSubspaceRegressor(
        DecisionTreeRegressor(max_depth=5), n_estimators=4, max_features=0.5, random_state=0, **KINDS
    ),
    "AdaBoost of two classes": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, **KINDS), n_estimators=6),
    "AdaBoost of three classes": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3, **KINDS), n_estimators=6),
    "boosting of counts": GradientBoostingRegressor(loss="poisson", **SMALL),
}


@cache
def fitted_models() -> dict[str, Any]:
    """All models, fitted to the same table."""
    rows = table(600, 0, unseen=False)
    numbers = target(rows)
    found = {}
    for name, model in MODELS.items():
        y: Any = np.abs(numbers).round() if "counts" in name else numbers
        if is_classifier(model):
            y = np.digitize(numbers, [1.5] if "two" in name else [0.5, 2.5])
        found[name] = model.fit(rows, y)
    return found


@cache
def new_rows() -> dict[str, list[Any]]:
    """New rows, with missing values and with categories that did not occur in training."""
    return table(N_ROWS, 1, unseen=True)


def expected_of(model: Any, rows: dict[str, list[Any]]) -> np.ndarray:
    found = model.predict_proba(rows) if is_classifier(model) else model.predict(rows)
    return np.asarray(found).reshape(N_ROWS, -1)


def columns_of(model: Any) -> Any:
    """The columns of a model; those of AdaBoost are in its trees."""
    return model._columns() if hasattr(model, "_columns") else model.estimators_[0].tree_.columns
