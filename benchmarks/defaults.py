"""Everything left to its default, beside scikit-learn and LightGBM: `make bench-defaults`.

Seconds to fit and the score on other rows, for trees, forests and boosting on 500, 5,000 and 50,000 rows x 20 columns.
The score is the log loss; single trees, whose class shares are often 0 or 1, have their accuracy.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss

from harness import Contestant, race

COLUMNS, TEST_ROWS = 20, 50_000


def draw(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers whose log odds are a smooth function, with interactions, of six of the columns."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, COLUMNS))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 + X[:, 4] * (X[:, 5] > 0)
    return X, (score + random.logistic(0.0, 0.5, n_rows) > 0).astype(int)


def ours(name: str) -> Any:
    import treewright

    return getattr(treewright, name)()


def scikit(module: str, name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"sklearn.{module}"), name)()


def lightgbm(**options: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, **options)


GROUPS: dict[str, dict[str, Callable[[], Any]]] = {
    "trees": {
        "treewright DecisionTree": partial(ours, "DecisionTreeClassifier"),
        "treewright CART": partial(ours, "CARTClassifier"),
        "treewright C4.5": partial(ours, "C45Classifier"),
        "scikit-learn": partial(scikit, "tree", "DecisionTreeClassifier"),
    },
    "forests": {
        "treewright": partial(ours, "RandomForestClassifier"),
        "treewright ExtraTrees": partial(ours, "ExtraTreesClassifier"),
        "scikit-learn": partial(scikit, "ensemble", "RandomForestClassifier"),
        "scikit-learn ExtraTrees": partial(scikit, "ensemble", "ExtraTreesClassifier"),
        "LightGBM": partial(lightgbm, boosting_type="rf", subsample=0.63, subsample_freq=1),
    },
    "boosting": {
        "treewright": partial(ours, "GradientBoostingClassifier"),
        "treewright, 100 rounds": lambda: ours("GradientBoostingClassifier").set_params(n_estimators=100),
        "scikit-learn": partial(scikit, "ensemble", "HistGradientBoostingClassifier"),
        "LightGBM": lightgbm,
    },
}


def fit(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> Any:
    return make().fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[500, 5_000, 50_000])
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    X_test, y_test = draw(TEST_ROWS, seed=1)
    print(f"load average {os.getloadavg()[0]:.1f}")
    for group, makers in GROUPS.items():
        for n_rows in options.rows:
            X, y = draw(n_rows, seed=0)
            small = draw(200, seed=2)
            fits = {name: (partial(fit, make, X, y), partial(fit, make, *small)) for name, make in makers.items()}
            timings = race([Contestant(name, *work) for name, work in fits.items()], options.rounds)
            slowest = max(timing.best for timing in timings if not timing.name.startswith("treewright"))
            print(f"{group}, {n_rows:,} rows")
            for timing in timings:
                score = f"log loss {log_loss(y_test, timing.result.predict_proba(X_test)):.4f}"
                if group == "trees":
                    score = f"accuracy {accuracy_score(y_test, timing.result.predict(X_test)):.4f}"
                ratio = f"  {timing.best / slowest:.2f} of the slowest peer" if timing.name.startswith("tree") else ""
                print(f"  {timing.name:26}{timing.best:9.3f} s  {score}{ratio}", flush=True)


if __name__ == "__main__":
    main()
