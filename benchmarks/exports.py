"""Time of an exported model in DuckDB: 100 trees of 31 leaves score a table of 1,000,000 rows.

Run with `make bench-exports`.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import duckdb
import numpy as np

from treewright import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor, export

N_COLUMNS = 10


def make_rows(n_rows: int, seed: int) -> np.ndarray:
    """Numbers with one percent of missing values."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n_rows, N_COLUMNS))
    X[draw.random(X.shape) < 0.01] = np.nan
    return X


def models() -> dict[str, Any]:
    shape = {"n_estimators": 100, "random_state": 0}
    return {
        "boosting, 100 trees of 31 leaves": GradientBoostingRegressor(max_leaf_nodes=31, **shape),
        "boosting of two classes, 100 trees of 31 leaves": GradientBoostingClassifier(max_leaf_nodes=31, **shape),
        "forest, 100 trees of 32 leaves": RandomForestRegressor(max_depth=5, **shape),
    }


def score(query: str, X: np.ndarray) -> tuple[float, np.ndarray]:
    """The seconds that a query takes in DuckDB, and its last column."""
    with duckdb.connect() as database:
        columns = {f"x{place}": np.ascontiguousarray(X[:, place]) for place in range(X.shape[1])}
        database.register("columns", columns)
        database.execute("CREATE TABLE data AS SELECT * FROM columns")
        start = time.perf_counter()
        database.execute(f"CREATE TABLE scored AS {query.rstrip().rstrip(';')}")
        seconds = time.perf_counter() - start
        name = database.execute("SELECT * FROM scored LIMIT 0").description[-1][0]
        found = database.execute(f'SELECT "{name}" FROM scored').fetchnumpy()[name]
    return seconds, np.asarray(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    X, new = make_rows(20_000, 0), make_rows(n_rows, 1)
    known = np.nan_to_num(X)
    y = known[:, 0] * known[:, 1] + np.abs(known[:, 2]) + known[:, 3] * (known[:, 4] > 0)
    for name, model in models().items():
        model.fit(X, y > 1.0 if "classes" in name else y)
        seconds, found = score(export(model, to="sql"), new)
        expected = model.predict_proba(new)[:, 1] if "classes" in name else model.predict(new)
        difference = float(np.abs(found - expected).max())
        print(f"{name}: {seconds:.1f} s for {n_rows:,} rows; largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
