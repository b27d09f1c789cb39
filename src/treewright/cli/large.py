"""`treewright fit --low-memory` and `--dask`: models of tables that are never held in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

from treewright.cli.errors import UserError, as_user_errors, choose, print_message
from treewright.cli.tables import as_given, title_of

MODELS = ("gradient-boosting", "random-forest", "extra-trees")

# What only a table in memory can show.
NEEDS_MEMORY = ("folds", "rules", "max_depth_shown", "whole", "report", "drop_missing_target", "criterion", "prune")


def fit_large(given: Mapping[str, Any]) -> None:
    """Fit a forest or boosting to files that are read chunk by chunk, and print what is known about the model."""
    _check(given)
    start = perf_counter()
    with as_user_errors(), _cluster(given["dask"]) as client:
        table = _open(given, client)
        learner, target, reason = _learner(given, table, client)
        table = table.drop(*_names(given["ignore"], table))
        if not given["json"]:
            n_rows, n_columns = table.shape
            print(f"{title_of(given['table'])}: {n_rows} rows, {n_columns - 1} columns, predicting {target!r}")
            print(f"{reason}. Model: {type(learner).__name__}.")
        learner.fit(table, target)
    fitted = learner if client is None else learner.to_local()
    _print(given, fitted, table.shape[0], perf_counter() - start)
    if given["out"] is not None:
        from treewright.ship import save

        with as_user_errors():
            save(fitted, given["out"])
        print_message(f"wrote the model to {given['out']}")


def _check(given: Mapping[str, Any]) -> None:
    option = "--low-memory" if given["low_memory"] else "--dask"
    for name in NEEDS_MEMORY:
        if given[name] not in (None, False):
            raise UserError(
                f"--{name.replace('_', '-')} needs the table in memory; leave it out, or leave out {option}"
            )
    if given["target"] is None:
        raise UserError("give the column to predict with --target")
    if "-" in given["table"]:
        raise UserError(f"standard input can be read only once; give files with {option}")


def _cluster(address: str | None) -> AbstractContextManager[Any]:
    """The client of a cluster: None without one, that of an address, or that of a cluster of this machine."""
    if address is None:
        return nullcontext()
    from treewright.scale.learners import open_client

    if address == "local":
        return open_client(None)
    try:
        from distributed import Client
    except ImportError:
        from treewright.scale.cluster import NEEDS_DASK

        raise UserError(NEEDS_DASK) from None
    try:
        return Client(address, timeout="5s")
    except (OSError, ValueError) as error:
        raise UserError(f"there is no Dask cluster at {address}: {error}") from None


def _open(given: Mapping[str, Any], client: Any) -> Any:
    """The table in chunks: of this process, or of the workers."""
    paths: Sequence[str] = given["table"]
    if client is None:
        from treewright.scale import scan

        reading = {name: value for name, value in given["reading"].items() if value not in (None, ())}
        return scan.scan(paths if len(paths) > 1 else paths[0], **reading)
    from treewright.scale.learners import open_table

    if not all(path.lower().endswith((".parquet", ".pq")) for path in paths):
        raise UserError("workers read Parquet files only; convert the table, or fit it with --low-memory")
    found = [name for path in paths for name in _found(path)]
    return open_table(client, found)


def _found(pattern: str) -> list[str]:
    from treewright.scale.scan import find_files

    return [str(path.absolute()) for path in find_files(pattern)]


def _names(given: list[str] | None, table: Any) -> list[str]:
    words = [word.strip() for words in given or () for word in words.split(",") if word.strip()]
    return [choose("column", word, list(table.names)) for word in words]


def _learner(given: Mapping[str, Any], table: Any, client: Any) -> tuple[Any, str, str]:
    """The learner, the target, and why the target is treated as classes or as numbers."""
    import treewright
    from treewright.cli.models import build_learner
    from treewright.insight.task import task_of_column
    from treewright.table import Frame

    target = choose("column", given["target"], list(table.names))
    task, reason = task_of_column(Frame({target: table.column(target)}), target)
    task, reason = (task, reason) if given["task"] is None else (given["task"], "as given")
    model = choose("model", (given["model"] or MODELS[0]).lower(), MODELS)
    declared = {
        "categorical_features": _names(given["categorical"], table) or None,
        "numeric_features": _names(given["numeric"], table) or None,
    }
    parameters = {
        "n_estimators": given["trees"],
        "max_depth": given["max_depth"],
        "min_samples_leaf": given["min_leaf"],
        "missing": given["missing"],
    }
    learner = build_learner(model, task, {**parameters, **declared}, given["seed"]).set_params(progress=None)
    # Out-of-bag predictions would need the codes of all rows in this process.
    if client is None and "oob_score" in learner.get_params() and learner.get_params().get("bootstrap"):
        learner.set_params(oob_score=True)
    reason = f"The target is treated as {task}: {reason}"
    if client is None:
        return learner, target, reason
    from treewright import dask as on_dask

    found = getattr(on_dask, type(learner).__name__)(client=client, **learner.get_params())
    assert isinstance(found, getattr(treewright, type(learner).__name__))
    return found, target, reason


def _print(given: Mapping[str, Any], fitted: Any, n_rows: int, seconds: float) -> None:
    score = _score(fitted)
    importances = sorted(zip(fitted.feature_importances_.tolist(), fitted.feature_names_in_.tolist(), strict=True))
    if given["json"]:
        import json

        described = {
            "table": as_given(given["table"]),
            "rows": n_rows,
            "target": given["target"],
            "learner": type(fitted).__name__,
            "n_estimators": fitted.n_estimators_,
            "seconds": seconds,
            **({} if score is None else {score[0].replace(" ", "_").replace("-", "_"): score[1]}),
            "importances": {name: value for value, name in reversed(importances)},
        }
        print(json.dumps(described, indent=2))
        return
    print(
        f"{fitted.n_estimators_} trees in {seconds:.1f} s" + ("" if score is None else f"; {score[0]} {score[1]:.4f}")
    )
    print("Columns by importance:")
    for value, name in list(reversed(importances))[:10]:
        print(f"  {value:6.3f}  {name}")


def _score(fitted: Any) -> tuple[str, float] | None:
    """A score of rows that the trees were not fitted to."""
    if hasattr(fitted, "oob_score_"):
        return "out-of-bag score", float(fitted.oob_score_)
    best = getattr(fitted, "best_score_", None)
    return None if best is None else ("validation loss", float(best))


def write_parquet_of_demo(folder: Path, n_rows: int) -> None:
    """A table for the demonstration, in four files."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    for number in range(4):
        random = np.random.default_rng(number)
        size = n_rows // 4
        x = random.normal(size=(size, 8))
        colour = random.choice(["red", "green", "blue"], size)
        y = x[:, 0] + x[:, 1] * x[:, 2] + (colour == "red") + random.normal(size=size) > 0.3
        columns = {f"x{place}": x[:, place] for place in range(8)}
        table = pa.table({**columns, "colour": colour.tolist(), "y": np.where(y, "yes", "no").tolist()})
        parquet.write_table(table, folder / f"part-{number}.parquet")


__all__ = ["fit_large", "write_parquet_of_demo"]
