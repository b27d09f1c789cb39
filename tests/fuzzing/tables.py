"""Generated tables of every kind: a learner fits and predicts them, or refuses them in one sentence.

Predictions have the right form, are the same for one thread and two, and the same after the model was saved and loaded.
`python -m fuzzing.tables FIRST COUNT`, in the folder of the tests, runs the cases with these numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy.sparse import csr_matrix
from sklearn.base import clone

import treewright as tw
from fuzzing.harness import main, sentence_of
from treewright import ModelFileError

NAMES = [name for name in tw.__all__ if name.endswith(("Classifier", "Regressor"))]
FEW = {"n_estimators": 3, "random_state": 0, "n_jobs": 1}
REFUSALS = (ValueError, TypeError)

CELLS: dict[str, Callable[[random.Random], Any]] = {
    "numbers": lambda draw: draw.gauss(0.0, 1.0),
    "whole numbers": lambda draw: draw.randint(-3, 9),
    "huge numbers": lambda draw: draw.choice((1e308, -1e308, 1e-308, 5e-324, 0.0, -0.0, 2.0**53 + 1)),
    "infinite numbers": lambda draw: draw.choice((1.0, float("inf"), float("-inf"), float("nan"))),
    "large whole numbers": lambda draw: draw.choice((2**63 - 1, -(2**63), 2**62, 0, 7)),
    "very large whole numbers": lambda draw: draw.choice((10**30, -(10**40), 1)),
    "truth values": lambda draw: draw.random() < 0.5,
    "words": lambda draw: draw.choice(("ash", "elm", "ä€😀", "", " ", "a\nb", "NA", "1", "x" * 500)),
    "many words": lambda draw: f"w{draw.randrange(10_000)}",
    "days": lambda draw: date(2020, 1, 1) + timedelta(days=draw.randrange(3000)),
    "moments": lambda draw: (
        datetime(1, 1, 1) + timedelta(days=draw.randrange(3_000_000), microseconds=draw.randrange(9))
    ),
    "moments of a zone": lambda draw: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=draw.randrange(9000)),
    "times": lambda draw: time(draw.randrange(24), draw.randrange(60)),
    "durations": lambda draw: timedelta(seconds=draw.randrange(10**6)),
    "decimals": lambda draw: Decimal(draw.randrange(1000)) / 7,
    "bytes": lambda draw: draw.randbytes(2),
    "nothing": lambda draw: None,
    "one value": lambda draw: 3.5,
    "mixed": lambda draw: draw.choice((1, "one", 2.5, None, True, date(2020, 1, 1))),
    "lists": lambda draw: [draw.random()],
    "complex numbers": lambda draw: complex(draw.random(), 1.0),
}
USUAL = ("numbers", "whole numbers", "truth values", "words", "days", "one value", "huge numbers", "many words")
TARGETS = {
    "lassifier": ("words", "whole numbers", "truth values", "words", "one value"),
    "Regressor": ("numbers", "whole numbers", "numbers", "truth values", "huge numbers", "one value", "decimals"),
}


def kind_of(draw: random.Random) -> str:
    return draw.choice(USUAL if draw.random() < 0.9 else tuple(CELLS))


def column(draw: random.Random, n_rows: int, kind: str, missing: float | None = None) -> list[Any]:
    share = draw.choice((0.0, 0.0, 0.1, 0.6)) if missing is None else missing
    return [None if draw.random() < share else CELLS[kind](draw) for _ in range(n_rows)]


FORMS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "dict": lambda columns: columns,
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "arrow": lambda columns: pa.table(columns),
    "rows": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    "array": lambda columns: pd.DataFrame(columns).to_numpy(),
    "categories": lambda columns: pd.DataFrame({name: pd.Categorical(cells) for name, cells in columns.items()}),
    "sparse": lambda columns: csr_matrix(pd.DataFrame(columns).to_numpy(dtype=float)),
    "strings": lambda columns: pd.DataFrame(columns).astype(str),
}


def learner_of(draw: random.Random) -> Any:
    learner = getattr(tw, draw.choice(NAMES))()
    parameters = learner.get_params(deep=False)
    learner.set_params(**{name: value for name, value in FEW.items() if name in parameters})
    if "estimators" in parameters:
        kind = "Classifier" if type(learner).__name__.endswith("Classifier") else "Regressor"
        tree = getattr(tw, f"DecisionTree{kind}")
        learner.set_params(estimators=[("deep", tree(max_depth=3)), ("flat", tree(max_depth=1))])
    choices = {
        "missing": ("learned", "surrogate", "fractional", "majority", "error"),
        "unseen": ("as_missing", "error", "as_missing", "stop"),
        "max_depth": (None, 1, 3),
        "min_samples_leaf": (1, 5, 0.1),
        "max_features": (1, 0.5, None),
        "class_weight": ("balanced",),
        "growth": ("best", "oblivious"),
    }
    for name in sorted(choices):
        if name in parameters and draw.random() < 0.15:
            learner.set_params(**{name: draw.choice(choices[name])})
    return learner


def case(draw: random.Random) -> str:
    n_rows = 0 if draw.random() < 0.02 else draw.choice((1, 2, 3, 10, 40, 40, 40, 150))
    n_columns = 0 if draw.random() < 0.02 else draw.choice((1, 2, 3, 3, 5))
    names = draw.sample(
        ["size", "kind", "" if draw.random() < 0.05 else "z", "a b", "ä", "0", "x" * 200, "y"], n_columns
    )
    kinds = {name: kind_of(draw) for name in names}
    columns = {name: column(draw, n_rows, kinds[name]) for name in names}
    try:
        X = FORMS[draw.choice(list(FORMS))](columns)
    except Exception:
        return "no such table"
    learner = learner_of(draw)
    suited = TARGETS[type(learner).__name__[-9:]] if draw.random() < 0.9 else tuple(CELLS)
    y = column(
        draw, n_rows if draw.random() < 0.98 else n_rows + 1, draw.choice(suited), missing=0.1 * (draw.random() < 0.03)
    )
    weights = draw.choice(
        (None,) * 12 + ([draw.choice((0.0, 1.0, 2.5)) for _ in range(n_rows)], [1e-300] * n_rows, -1.0)
    )
    try:
        model = clone(learner).fit(X, y) if weights is None else clone(learner).fit(X, y, weights)
    except REFUSALS as error:
        sentence_of(error)
        return "fit refused"
    outcome = check_predictions(model, X, n_rows)
    if outcome == "predicted":
        check_copy(model, X)
    other = {name: column(draw, 5, kinds[name] if draw.random() < 0.8 else kind_of(draw)) for name in names}
    return outcome if check_predictions(model, other, 5) == "predicted" else f"{outcome}, other rows refused"


def check_predictions(model: Any, X: Any, n_rows: int) -> str:
    """The predictions have the right form, and probabilities are probabilities."""
    try:
        found = np.asarray(model.predict(X))
    except REFUSALS as error:
        sentence_of(error)
        return "rows refused"
    assert found.shape == (n_rows,), found.shape
    if hasattr(model, "classes_"):
        assert set(found.tolist()) <= set(model.classes_.tolist())
    else:
        assert not np.isnan(found).any()
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        assert shares.shape == (n_rows, len(model.classes_))
        assert (shares >= 0.0).all()
        assert np.allclose(shares.sum(axis=1), 1.0)
    return "predicted"


def check_copy(model: Any, X: Any) -> None:
    """The model predicts the same with other threads, and after it was saved and loaded."""
    predicted = np.asarray(model.predict(X)).tolist()
    try:
        copied = tw.load(tw.save(model) or b"")
    except ModelFileError as error:
        sentence_of(error)
        return
    if "n_jobs" in copied.get_params(deep=False):
        copied.set_params(n_jobs=2)
    again = np.asarray(copied.predict(X)).tolist()
    assert again == predicted, (again, predicted)


if __name__ == "__main__":
    main(case)
