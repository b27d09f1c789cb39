"""Predictions of tables in chunks: an iterator over the chunks, or a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from treewright.table.chunked import ChunkedTable


def by_chunks(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of prediction that also takes a table in chunks.

    It then returns an iterator over the predictions of the chunks; with `out` it writes them to a Parquet file instead,
    and returns the number of rows.
    """

    @wraps(method)
    def predict(self: Any, X: Any, *arguments: Any, out: Any = None, **keywords: Any) -> Any:
        if not isinstance(X, ChunkedTable):
            if out is not None:
                raise TypeError(f"{method.__name__} writes to a file only for a table in chunks; see treewright.scan")
            return method(self, X, *arguments, **keywords)
        parts = X.map_chunks(lambda frame: method(self, frame, *arguments, **keywords))
        return (
            iter(parts)
            if out is None
            else write_predictions(parts, names_of_predictions(self, method.__name__), Path(out))
        )

    return predict


def names_of_predictions(model: Any, method: str) -> list[str]:
    """The names of the columns of predictions in a file."""
    if method == "predict":
        return ["prediction"]
    return [f"probability_{name}" for name in model.classes_.tolist()]


def write_predictions(parts: Any, names: list[str], path: Path) -> int:
    """Write predictions to a Parquet file; returns the number of rows. A file that is not complete is removed."""
    import pyarrow as pa
    from pyarrow import parquet

    unfinished = path.with_name(f".{path.name}.unfinished")
    n_rows, writer = 0, None
    try:
        for table in _as_tables(parts, names):
            if writer is None:
                writer = parquet.ParquetWriter(unfinished, table.schema)
            writer.write_table(table)
            n_rows += table.num_rows
        if writer is None:
            raise ValueError("the table has no rows, so there is nothing to predict")
        writer.close()
        unfinished.replace(path)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{path.name}: the predictions cannot be written ({str(error).splitlines()[0]})") from error
    finally:
        if writer is not None:
            writer.close()
        unfinished.unlink(missing_ok=True)
    return n_rows


def _as_tables(parts: Any, names: list[str]) -> Iterator[Any]:
    import pyarrow as pa

    for part in parts:
        columns = [part] if part.ndim == 1 else list(np.asarray(part).T)
        used = names if len(names) == len(columns) else [f"{names[0]}_{place}" for place in range(len(columns))]
        yield pa.table(dict(zip(used, (_as_array(column) for column in columns), strict=True)))


def _as_array(column: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.array(column.tolist() if column.dtype.kind in "OU" else np.ascontiguousarray(column))
