"""Shapley values beside XGBoost, LightGBM and shap: `make bench-shap`.

Each library explains a model of its own of the same size: 100 trees of 31 leaves on 30 columns of 40,000 rows, and
forests of full trees. Peers that would take minutes explain fewer rows; all figures are seconds for the stated rows,
scaled by the number of rows.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from harness import Contestant, race
from treewright import GradientBoostingClassifier, RandomForestRegressor, shap_values

THREADS = 2
N_TREES, N_LEAVES = 100, 31


def table(n_rows: int, n_columns: int = 30) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n_rows, n_columns))
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * X[:, 3] ** 2 + draw.normal(0, 0.5, n_rows)
    return X, (score > 0.3).astype(int)


def report(title: str, rows: dict[str, int], contestants: list[Contestant], rounds: int) -> None:
    """Print the seconds of each contestant for as many rows as treewright explained."""
    print(f"\n{title}")
    timings = race(contestants, rounds)
    ours = timings[0].best / rows[timings[0].name]
    for timing in timings:
        each = timing.best / rows[timing.name]
        ratio = "" if timing is timings[0] else f"  {each / ours:.1f} times our time"
        print(f"  {timing.name:<34} {timing.best:8.2f} s for {rows[timing.name]:>7,} rows{ratio}", flush=True)


def boosted_peers(X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    import lightgbm
    import xgboost

    options = {"objective": "binary", "num_leaves": N_LEAVES, "verbosity": -1, "num_threads": THREADS}
    of_lightgbm = lightgbm.train(options, lightgbm.Dataset(X, y), N_TREES)
    options = {
        "objective": "binary:logistic",
        "max_leaves": N_LEAVES,
        "grow_policy": "lossguide",
        "max_depth": 0,
        "tree_method": "hist",
        "nthread": THREADS,
    }
    return of_lightgbm, xgboost.train(options, xgboost.DMatrix(X, y), N_TREES)


def compare_boosting(n_rows: int, rounds: int) -> None:
    import xgboost

    X, y = table(max(n_rows, 40_000))
    ours = GradientBoostingClassifier(
        n_estimators=N_TREES, max_leaf_nodes=N_LEAVES, learning_rate=0.1, random_state=0, n_jobs=THREADS
    ).fit(X[:40_000], y[:40_000])
    of_lightgbm, of_xgboost = boosted_peers(X[:40_000], y[:40_000])
    few = n_rows // 10
    matrix = xgboost.DMatrix(X[:n_rows])
    rows = {"treewright": n_rows, "XGBoost pred_contribs": n_rows, "LightGBM pred_contrib": few}
    report(
        f"{N_TREES} trees of {N_LEAVES} leaves, 30 columns, path-dependent",
        rows,
        [
            Contestant("treewright", lambda: shap_values(ours, X[:n_rows], n_jobs=THREADS)),
            Contestant("XGBoost pred_contribs", lambda: of_xgboost.predict(matrix, pred_contribs=True)),
            Contestant("LightGBM pred_contrib", lambda: of_lightgbm.predict(X[:few], pred_contrib=True)),
        ],
        rounds,
    )
    background = X[-10_000:]
    report(
        "The same trees, 10,000 background rows",
        {"treewright": n_rows, "treewright, 10,000 background rows": n_rows},
        [
            Contestant("treewright", lambda: shap_values(ours, X[:n_rows], n_jobs=THREADS)),
            Contestant(
                "treewright, 10,000 background rows",
                lambda: shap_values(ours, X[:n_rows], background=background, n_jobs=THREADS),
            ),
        ],
        rounds,
    )
    pairs = max(n_rows // 20, 256)
    least = max(n_rows // 400, 64)
    matrix_of_pairs = xgboost.DMatrix(X[:least])
    report(
        "The same trees, interactions of pairs",
        {"treewright": pairs, "XGBoost pred_interactions": least},
        [
            Contestant("treewright", lambda: shap_values(ours, X[:pairs], interactions=True, n_jobs=THREADS)),
            Contestant(
                "XGBoost pred_interactions", lambda: of_xgboost.predict(matrix_of_pairs, pred_interactions=True)
            ),
        ],
        1,
    )


def compare_forest(rounds: int) -> None:
    """Forests of 100 full trees; shap explains a forest of scikit-learn, and few of the rows."""
    from shap import TreeExplainer
    from sklearn.ensemble import RandomForestRegressor as ScikitForest

    X, y = table(10_000)
    options = {"n_estimators": 100, "max_features": 1 / 3, "random_state": 0, "n_jobs": THREADS}
    ours = RandomForestRegressor(**options, min_samples_leaf=1).fit(X, y + 0.1 * X[:, 5])
    theirs = TreeExplainer(ScikitForest(**options).fit(X, y + 0.1 * X[:, 5]))
    report(
        "Forest of 100 full trees of 10,000 x 30",
        {"treewright": 1000, "shap, TreeExplainer": 20},
        [
            Contestant("treewright", lambda: shap_values(ours, X[:1000], n_jobs=THREADS)),
            Contestant("shap, TreeExplainer", lambda: theirs.shap_values(X[:20], check_additivity=False)),
        ],
        rounds,
    )


def compare_values() -> None:
    """The same figures as shap's for the same tree, which shap gets as arrays."""
    from shap import TreeExplainer

    from treewright import DecisionTreeRegressor

    X, y = table(500, 6)
    ours = DecisionTreeRegressor(max_depth=6).fit(X, X[:, 0] * X[:, 1] + y)
    tree = ours.tree_
    leaf = tree.n_children == 0
    arrays = {
        "children_left": np.where(leaf, -1, tree.first_child),
        "children_right": np.where(leaf, -1, tree.first_child + 1),
        "children_default": np.where(leaf, -1, tree.first_child),
        "features": np.where(leaf, -2, tree.column),
        "thresholds": np.where(leaf, -2.0, tree.threshold),
        "values": tree.predictions,
        "node_sample_weight": tree.weight,
    }
    differences = []
    for background in (None, X[:50]):
        explainer = TreeExplainer({"trees": [{name: array.copy() for name, array in arrays.items()}]}, background)
        found = shap_values(ours, X, background=background).values
        differences.append(float(np.abs(found - explainer.shap_values(X, check_additivity=False).squeeze()).max()))
    print(f"\nLargest difference to shap for the same tree: {differences[0]:.1e}, with background {differences[1]:.1e}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    compare_values()
    compare_boosting(given.rows, given.rounds)
    compare_forest(given.rounds)


if __name__ == "__main__":
    main()
