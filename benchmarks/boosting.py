"""Gradient boosting beside LightGBM, XGBoost, CatBoost and scikit-learn: `make bench-boosting`.

One run, two threads, warm: every contestant has fitted once before the clock starts, and they take turns. All grow
trees of 31 leaves, best leaf first, at a rate of 0.1. Binning and, for text, the coding of categories are included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score

from forests import report
from harness import Contestant, peak_extra_memory, race
from treewright import GradientBoostingClassifier

THREADS = 2
LEAVES = 31
RATE = 0.1


def ours(n_rounds: int) -> Any:
    return GradientBoostingClassifier(
        n_estimators=n_rounds,
        learning_rate=RATE,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=20,
        n_jobs=THREADS,
        random_state=0,
    )


def lightgbm(n_rounds: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=n_rounds, learning_rate=RATE, num_leaves=LEAVES, n_jobs=THREADS, verbose=-1, random_state=0
    )


def xgboost(n_rounds: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=n_rounds,
        learning_rate=RATE,
        max_leaves=LEAVES,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        enable_categorical=True,
        n_jobs=THREADS,
        random_state=0,
    )


def catboost(n_rounds: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        n_estimators=n_rounds,
        learning_rate=RATE,
        grow_policy="Lossguide",
        max_leaves=LEAVES,
        thread_count=THREADS,
        verbose=0,
        random_state=0,
        allow_writing_files=False,
    )


def scikit(n_rounds: int) -> Any:
    return HistGradientBoostingClassifier(
        max_iter=n_rounds, learning_rate=RATE, max_leaf_nodes=LEAVES, early_stopping=False, random_state=0
    )


MAKERS: dict[str, Callable[[int], Any]] = {
    "treewright": ours,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "scikit-learn": scikit,
}


def floats(n_rows: int, n_columns: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A table of numbers, the last tenth of which is for testing."""
    return make_classification(
        n_samples=n_rows,
        n_features=n_columns,
        n_informative=12,
        n_redundant=6,
        n_classes=n_classes,
        flip_y=0.05,
        random_state=0,
    )


def compare(title: str, X: Any, y: np.ndarray, n_test: int, rounds: int, n_trees: int = 100) -> dict[str, Any]:
    """Race all on the same rows; returns the fitted models."""
    n_rows = len(y) - n_test
    models = {name: make(n_trees) for name, make in MAKERS.items()}
    warm_rows = np.arange(min(n_rows, 3000))
    contestants = [
        Contestant(
            name,
            lambda model=model: model.fit(X[:n_rows], y[:n_rows]),
            lambda make=MAKERS[name]: make(2).fit(X[warm_rows], y[warm_rows]),
        )
        for name, model in models.items()
    ]
    timings = race(contestants, rounds)
    notes = {name: judged(model.predict_proba(X[n_rows:]), y[n_rows:]) for name, model in models.items()}
    report(title, timings, notes)
    return models


def judged(shares: np.ndarray, y: np.ndarray) -> str:
    if shares.shape[1] == 2:
        return f"AUC {roc_auc_score(y, shares[:, 1]):.4f}"
    return f"log loss {log_loss(y, shares):.4f}"


def compare_numbers(rounds: int) -> None:
    X, y = floats(350_000, 30)
    models = compare("300,000 x 30 floats, 100 trees of 31 leaves", X, y, 50_000, rounds)
    compare_prediction(models, X, rounds)


def compare_prediction(models: dict[str, Any], X: np.ndarray, rounds: int) -> None:
    """Answers for many rows of float32 at once, and for one row at a time."""
    many = np.ascontiguousarray(X[:100_000], dtype=np.float32)
    asks = [Contestant(name, lambda model=model: model.predict_proba(many)) for name, model in models.items()]
    for ask in asks:
        ask.work()
    report("Prediction of 100,000 rows of float32", race(asks, rounds + 4), {})
    one = np.ascontiguousarray(many[:1])

    def ask_often(model: Any) -> None:
        for _ in range(200):
            model.predict_proba(one)

    asks = [Contestant(name, lambda model=model: ask_often(model)) for name, model in models.items()]
    for ask in asks:
        ask.work()
    print("\n(seconds for 200 questions of one row each)")
    report("Prediction of one row at a time", race(asks, rounds), {})


def compare_text(rounds: int) -> None:
    """20 text columns of 50 categories, 200,000 rows, from the raw frame: coding them is part of the work."""
    random = np.random.default_rng(0)
    n_rows, n_test = 220_000, 20_000
    names = np.array([f"category {k}" for k in range(50)], dtype=object)
    codes = random.integers(0, 50, (n_rows, 20))
    frame = pd.DataFrame({f"text {place}": names[codes[:, place]] for place in range(20)})
    effects = random.normal(size=(20, 50)) * (np.arange(20) < 8)[:, None]
    score = sum(effects[place, codes[:, place]] for place in range(20)) + random.logistic(size=n_rows)
    y = (score > 0.0).astype(int)
    train, test = frame[:-n_test], frame[-n_test:]

    def as_categories(table: pd.DataFrame) -> pd.DataFrame:
        return table.astype(pd.CategoricalDtype(sorted(names)))

    def as_is(table: pd.DataFrame) -> pd.DataFrame:
        return table

    forms = dict.fromkeys(MAKERS, as_categories) | {"treewright": as_is, "CatBoost": as_is}
    options: dict[str, dict[str, Any]] = {"CatBoost": {"cat_features": list(frame)}}
    models = {name: make(100) for name, make in MAKERS.items()}
    contestants = []
    for name, model in models.items():
        given, form = options.get(name, {}), forms[name]

        def fit(model: Any = model, given: Any = given, form: Any = form) -> None:
            model.fit(form(train), y[:-n_test], **given)

        def warm_up(make: Any = MAKERS[name], given: Any = given, form: Any = form) -> None:
            make(2).fit(form(train[:3000]), y[:3000], **given)

        contestants.append(Contestant(name, fit, warm_up))
    timings = race(contestants, rounds)
    notes = {name: judged(models[name].predict_proba(forms[name](test)), y[-n_test:]) for name in models}
    report("20 text columns of 50 categories, 200,000 rows, from the raw frame", timings, notes)


def measure_memory(name: str) -> None:
    """In a process of its own: peak memory beside the table, as one line of JSON."""
    X, y = floats(1_000_000, 100)
    make = MAKERS[name]
    make(2).fit(X[:3000], y[:3000])
    model = make(20)
    extra = peak_extra_memory(lambda: model.fit(X, y))
    print(json.dumps({"extra": extra, "table": X.nbytes}))


def compare_memory() -> None:
    print("\n1,000,000 x 100: peak memory beside the table's 0.75 GB, each in a process of its own")
    for name in MAKERS:
        ran = subprocess.run(
            [sys.executable, __file__, "--memory-of", name], capture_output=True, text=True, check=True
        )
        found = json.loads(ran.stdout.splitlines()[-1])
        print(f"  {name:<28} {found['extra'] / 2**30:8.2f} GB")


def main() -> None:
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parts = ["numbers", "large", "memory", "small", "classes", "text"]
    parser.add_argument("--only", choices=parts)
    parser.add_argument("--without", default="", help="contestants to leave out, separated by commas")
    parser.add_argument("--memory-of", choices=list(MAKERS), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.memory_of:
        measure_memory(chosen.memory_of)
        return
    for name in filter(None, chosen.without.split(",")):
        if name not in MAKERS:
            raise SystemExit(f"no contestant {name!r}; choose among {', '.join(MAKERS)}")
        del MAKERS[name]
    begin = time.perf_counter()
    for name in parts:
        if chosen.only not in (None, name):
            continue
        if name == "numbers":
            compare_numbers(chosen.rounds)
        elif name == "large":
            X, y = floats(1_050_000, 100)
            compare("1,000,000 x 100 floats, 100 trees of 31 leaves", X, y, 50_000, min(chosen.rounds, 2))
        elif name == "memory":
            compare_memory()
        elif name == "small":
            X, y = floats(60_000, 20)
            compare("10,000 x 20 floats, 100 trees of 31 leaves", X, y, 50_000, chosen.rounds + 7)
        elif name == "classes":
            X, y = floats(120_000, 30, n_classes=10)
            compare("10 classes, 100,000 x 30 floats, 100 rounds", X, y, 20_000, min(chosen.rounds, 2))
        else:
            compare_text(chosen.rounds)
    print(f"\nThe whole run took {time.perf_counter() - begin:.0f} seconds.")


if __name__ == "__main__":
    main()
