"""What missing values cost: the same table with and without them, in one run. Run with `make bench-missing values`."""

from __future__ import annotations

from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from harness import Contestant, race
from treewright import C45Classifier, DecisionTreeClassifier, prune

N_ROWS, N_COLUMNS = 100_000, 30
SHARES = (0.0, 0.1, 0.3)
LEARNERS = {
    "learned": partial(DecisionTreeClassifier, missing="learned"),
    "branch": partial(DecisionTreeClassifier, missing="branch"),
    "fractional": partial(C45Classifier, missing="fractional"),
    "fractional, unpruned": partial(C45Classifier, missing="fractional", prune=None),
}
MOST = {"learned": 2.0, "branch": 2.0, "fractional": 4.0, "fractional, unpruned": 4.0}
NODES_TO_PRUNE = 100_000


def make_tables() -> tuple[dict[float, np.ndarray], np.ndarray]:
    """Distinct floats and two classes; the missing values of the larger share contain those of the smaller."""
    rng = np.random.default_rng(0)
    full = rng.normal(size=(N_ROWS, N_COLUMNS))
    classes = (full[:, 0] + full[:, 1] * full[:, 2] + rng.normal(size=N_ROWS) > 0).astype(int)
    luck = rng.random(full.shape)
    return {share: np.where(luck < share, np.nan, full) for share in SHARES}, classes


def race_gaps(console: Console) -> None:
    tables, classes = make_tables()
    grid = Grid(
        "strategy", "missing values", "seconds", "times the table without", "at most", title=f"{N_ROWS} x {N_COLUMNS}"
    )
    for name, learner in LEARNERS.items():
        contestants = [
            Contestant(
                f"{share:.0%}",
                partial(learner().fit, table, classes),
                partial(learner().fit, table[:2000], classes[:2000]),
            )
            for share, table in tables.items()
        ]
        timings = race(contestants, rounds=3)
        for timing in timings:
            ratio = timing.best / timings[0].best
            grid.add_row(name, timing.name, f"{timing.best:.2f}", f"{ratio:.2f}", f"{MOST[name]:g}")
    console.print(grid)


def race_pruning(console: Console) -> None:
    """Every method that needs no more rows, on a tree of more than 100,000 nodes grown from noise."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300_000, 4))
    model = DecisionTreeClassifier().fit(rows, rng.integers(0, 2, len(rows)))
    console.print(f"a tree of {model.tree_.n_nodes:,} nodes")
    methods = ["cost_complexity", "error_based", "pessimistic", "minimum_description_length", "collapse"]
    grid = Grid("pruning", "seconds")
    for timing in race([Contestant(method, partial(prune, model, method)) for method in methods], rounds=2):
        grid.add_row(timing.name, f"{timing.best:.2f}")
    held = Contestant(
        "reduced_error", partial(prune, model, "reduced_error", X=rows[:100_000], y=rng.integers(0, 2, 100_000))
    )
    grid.add_row("reduced_error, 100,000 rows", f"{race([held], rounds=2)[0].best:.2f}")
    console.print(grid)


if __name__ == "__main__":
    race_gaps(Console())
    race_pruning(Console())
