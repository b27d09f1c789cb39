"""Forests beside scikit-learn, scikit-learn-intelex and YDF: `make bench-forests`.

One run, two threads, warm: every contestant has fitted once before the clock starts, and they take turns.
"""

from __future__ import annotations

import argparse
import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import ExtraTreesClassifier as ScikitExtraTrees
from sklearn.ensemble import RandomForestClassifier as ScikitForest
from sklearn.ensemble import RandomForestRegressor as ScikitRegressor
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from harness import Contestant, Timing, peak_extra_memory, race
from treewright import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

THREADS = 2


def floats(n_rows: int, n_columns: int = 30) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n_samples=n_rows, n_features=n_columns, n_informative=12, n_redundant=6, flip_y=0.05, random_state=0
    )


def people(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A table like the census income data: six numbers, eight text columns, some missing values, two classes."""
    random = np.random.default_rng(seed)

    def draw(name: str, n_categories: int) -> np.ndarray:
        shares = 1.0 / np.arange(1, n_categories + 1)
        return np.array([f"{name}-{k}" for k in range(n_categories)])[
            random.choice(n_categories, n_rows, p=shares / shares.sum())
        ]

    frame = pd.DataFrame(
        {
            "age": random.integers(17, 90, n_rows),
            "weight": random.lognormal(12.0, 0.5, n_rows).round(),
            "years_of_school": random.integers(1, 17, n_rows),
            "gain": np.where(random.random(n_rows) < 0.08, random.lognormal(8.0, 1.0, n_rows).round(), 0.0),
            "loss": np.where(random.random(n_rows) < 0.05, random.lognormal(7.0, 0.4, n_rows).round(), 0.0),
            "hours": random.integers(1, 99, n_rows),
            "work": draw("work", 9),
            "school": draw("school", 16),
            "marriage": draw("marriage", 7),
            "job": draw("job", 15),
            "family": draw("family", 6),
            "origin": draw("origin", 5),
            "sex": draw("sex", 2),
            "country": draw("country", 42),
        }
    )
    codes = {name: frame[name].str.split("-").str[1].astype(int) for name in ("marriage", "job", "school", "country")}
    score = (
        0.03 * (frame["age"] - 40)
        + 0.25 * (frame["years_of_school"] - 9)
        + 0.03 * (frame["hours"] - 50)
        + 1.5 * (frame["gain"] > 3000)
        + np.sin(codes["job"] * 2.0)
        + 1.2 * (codes["marriage"] % 3 == 0)
        + 0.5 * np.cos(codes["country"] * 1.0)
        + random.logistic(size=n_rows)
    )
    for name in ("work", "job", "country"):
        frame.loc[random.random(n_rows) < 0.05, name] = None
    return frame, np.where(score > 1.5, "above", "below")


def report(title: str, timings: list[Timing], notes: dict[str, str]) -> None:
    ours = timings[0].best
    print(f"\n{title}")
    for timing in timings:
        ratio = "" if timing is timings[0] else f"{timing.best / ours:6.1f} times our time"
        print(f"  {timing.name:<28} {timing.best:8.2f} s  {notes.get(timing.name, ''):<16} {ratio}")


def intelex() -> Any:
    """scikit-learn-intelex, or None where it cannot be installed."""
    try:
        from sklearnex import ensemble
    except ImportError:
        return None
    return ensemble


def compare_forests(rounds: int) -> None:
    X, y = floats(200_000)
    X_train, y_train, X_test, y_test = X[:100_000], y[:100_000], X[100_000:], y[100_000:]
    ours = RandomForestClassifier(50, max_features="sqrt", min_samples_leaf=1, n_jobs=THREADS, random_state=0)
    peers: list[tuple[str, Any]] = [("scikit-learn", ScikitForest(50, n_jobs=THREADS, random_state=0))]
    if intelex() is not None:
        peers.insert(0, ("scikit-learn-intelex", intelex().RandomForestClassifier(50, n_jobs=THREADS, random_state=0)))
    models = [("treewright", ours), *peers]
    fits = [
        Contestant(
            name, lambda model=model: model.fit(X_train, y_train), lambda model=model: model.fit(X[:2000], y[:2000])
        )
        for name, model in models
    ]
    timings = race(fits, rounds)
    aucs = {name: roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]) for name, model in models}
    report("Random forest, 100,000 x 30 floats, 50 full trees", timings, {k: f"AUC {v:.4f}" for k, v in aucs.items()})
    asks = [Contestant(name, lambda model=model: model.predict_proba(X_test)) for name, model in models]
    for contestant in asks:
        contestant.work()
    report("Prediction of 100,000 rows by these forests", race(asks, rounds + 2), {})

    models = [
        ("treewright", ExtraTreesClassifier(n_estimators=50, n_jobs=THREADS, random_state=0)),
        ("scikit-learn", ScikitExtraTrees(50, n_jobs=THREADS, random_state=0)),
    ]
    fits = [
        Contestant(
            name, lambda model=model: model.fit(X_train, y_train), lambda model=model: model.fit(X[:2000], y[:2000])
        )
        for name, model in models
    ]
    timings = race(fits, rounds)
    aucs = {name: roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]) for name, model in models}
    report("Extra trees, 100,000 x 30 floats, 50 full trees", timings, {k: f"AUC {v:.4f}" for k, v in aucs.items()})


def compare_regression(rounds: int) -> None:
    X, y = make_friedman1(n_samples=120_000, n_features=30, noise=2.0, random_state=0)
    X_train, y_train, X_test, y_test = X[:100_000], y[:100_000], X[100_000:], y[100_000:]
    for columns in (1.0, 1 / 3):
        options = {"n_estimators": 20, "max_features": columns, "n_jobs": THREADS, "random_state": 0}
        models: list[tuple[str, Any]] = [
            ("treewright", RandomForestRegressor(**options)),
            ("scikit-learn", ScikitRegressor(**options)),
        ]
        fits = [
            Contestant(
                name, lambda model=model: model.fit(X_train, y_train), lambda model=model: model.fit(X[:2000], y[:2000])
            )
            for name, model in models
        ]
        timings = race(fits, min(rounds, 2))
        scores = {name: f"R2 {r2_score(y_test, model.predict(X_test)):.4f}" for name, model in models}
        report(f"Regression forest, 100,000 x 30, 20 full trees, share of columns {columns:.2f}", timings, scores)


def compare_mixed(rounds: int) -> None:
    frame, y = people(60_000)
    train, y_train, test, y_test = frame[:40_000], y[:40_000], frame[40_000:], y[40_000:]
    text = [name for name in frame if frame[name].dtype.kind not in "iuf"]
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), remainder="passthrough")
    ours = RandomForestClassifier(n_estimators=100, n_jobs=THREADS, random_state=0)
    scikit = make_pipeline(encoder, ScikitForest(100, n_jobs=THREADS, random_state=0))
    contestants = [
        Contestant("treewright", lambda: ours.fit(train, y_train), lambda: ours.fit(train[:500], y_train[:500])),
        Contestant(
            "one-hot and scikit-learn",
            lambda: scikit.fit(train, y_train),
            lambda: scikit.fit(train[:500], y_train[:500]),
        ),
    ]
    answers: dict[str, Any] = {"treewright": lambda: ours.predict_proba(test)[:, 0]}
    answers["one-hot and scikit-learn"] = lambda: scikit.predict_proba(test)[:, 0]
    try:
        import ydf
    except ImportError:
        ydf = None
    if ydf is not None:
        ydf.verbose(0)
        learner = ydf.RandomForestLearner(
            label="target", num_trees=100, num_threads=THREADS, compute_oob_performances=False
        )
        found: dict[str, Any] = {}

        def fit_ydf(n_rows: int = len(train)) -> None:
            found["model"] = learner.train(train[:n_rows].assign(target=y_train[:n_rows]))

        contestants.append(Contestant("YDF", fit_ydf, lambda: fit_ydf(500)))
        answers["YDF"] = lambda: -np.asarray(found["model"].predict(test)).reshape(len(test), -1)[:, -1]
    timings = race(contestants, rounds)
    notes = {}
    for name, answer in answers.items():
        auc = roc_auc_score(y_test == "above", answer())
        notes[name] = f"AUC {max(auc, 1.0 - auc):.4f}"
    report("Mixed table, 40,000 x 14 with 8 text columns, from the raw frame, 100 trees", timings, notes)


def show_scaling() -> None:
    print("\nTime per tree from 10,000 to 1,000,000 rows, 20 columns, divided by n log n (1.00 at 100,000)")
    X, y = floats(1_000_000, 20)
    RandomForestClassifier(n_estimators=2, n_jobs=THREADS).fit(X[:2000], y[:2000])
    found = {}
    for n_rows, n_trees in ((10_000, 500), (30_000, 200), (100_000, 100), (300_000, 50), (1_000_000, 24)):
        best = math.inf
        for _ in range(2):
            model = RandomForestClassifier(
                n_estimators=n_trees, max_features="sqrt", min_samples_leaf=1, n_jobs=THREADS, random_state=0
            )
            best = min(best, race([Contestant("fit", partial(model.fit, X[:n_rows], y[:n_rows]))], 1)[0].best)
        found[n_rows] = best / n_trees
    unit = found[100_000] / (100_000 * math.log(100_000))
    for n_rows, seconds in found.items():
        print(
            f"  {n_rows:>9,} rows {1000 * seconds:9.1f} ms per tree {seconds / (n_rows * math.log(n_rows)) / unit:6.2f}"
        )


def show_memory() -> None:
    X, y = floats(1_000_000, 50)
    table = X.nbytes / 2**30
    model = RandomForestClassifier(n_estimators=100, n_jobs=THREADS, random_state=0)
    extra = peak_extra_memory(lambda: model.fit(X, y)) / 2**30
    print(
        f"\n1,000,000 x 50, 100 trees: {extra:.2f} GB beside the table's {table:.2f} GB, {extra + table:.2f} GB in all"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["forests", "regression", "mixed", "scaling", "memory"])
    chosen = parser.parse_args()
    parts = {
        "forests": lambda: compare_forests(chosen.rounds),
        "regression": lambda: compare_regression(chosen.rounds),
        "mixed": lambda: compare_mixed(chosen.rounds),
        "scaling": show_scaling,
        "memory": show_memory,
    }
    for name, part in parts.items():
        if chosen.only in (None, name):
            part()


if __name__ == "__main__":
    main()
