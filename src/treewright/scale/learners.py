"""Forests and gradient boosting on a Dask cluster, with the parameters and the results of the local learners."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from treewright.estimators.chunks import names_of_predictions, write_predictions
from treewright.scale.cluster import NEEDS_DASK, DaskTable, concatenate, gather
from treewright.scale.scan import find_files
from treewright.table.readers.arrow import is_index_of_pandas

# Rows of a partition of a local table that is sent to a cluster.
ROWS_OF_PARTITION = 100_000


@contextmanager
def open_client(client: Any) -> Iterator[Any]:
    """The given client, the current one, or that of a local cluster which is closed afterwards."""
    try:
        from distributed import Client, LocalCluster, default_client
    except ImportError:
        raise ImportError(NEEDS_DASK) from None
    if client is not None:
        with client.as_current():
            yield client
        return
    try:
        found = default_client()
    except ValueError:
        from treewright.runtime.threads import usable_cores

        with (
            LocalCluster(n_workers=usable_cores(), threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as own,
        ):
            yield own
        return
    yield found


def is_dask(X: Any) -> bool:
    """Is this a dataframe, series or array of Dask?"""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def parts_of(client: Any, X: Any) -> list[Any] | None:
    """The partitions of a table as futures, in the order of the rows; None if it is not for a cluster."""
    from distributed import Future

    paths = [X] if isinstance(X, str) else list(X) if isinstance(X, list | tuple) else []
    if paths and all(isinstance(path, str) and path.lower().endswith((".parquet", ".pq")) for path in paths):
        return [part for path in paths for part in parts_of_files(client, path)]
    if is_dask(X):
        if getattr(X, "ndim", 2) == 2 and hasattr(X, "chunks") and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        return list(client.compute(list(np.ravel(X.to_delayed()))))
    if isinstance(X, list | tuple) and X and all(isinstance(part, Future) for part in X):
        return list(X)
    return None


def parts_of_files(client: Any, pattern: str) -> list[Any]:
    """The partitions of Parquet files in the order of `scan`, which is that of their names; an index is a column."""
    import dask.dataframe as dd

    parts: list[Any] = []
    for path in find_files(pattern):
        table = dd.read_parquet(str(path.absolute()), index=False)
        kept = [name for name in table.columns if not is_index_of_pandas(name)]
        parts += client.compute(list(np.ravel(table[kept].to_delayed())))
    return parts


def open_table(client: Any, X: Any) -> DaskTable:
    """A table on the cluster: a Dask collection, futures of frames, a pattern of Parquet files, or a local table."""
    if isinstance(X, DaskTable):
        return X
    parts = parts_of(client, X)
    if parts is None:
        from treewright.table.selection import open_table as open_local
        from treewright.table.selection import take_rows

        local = open_local(X)
        edges = range(0, len(local), ROWS_OF_PARTITION)
        pieces = [take_rows(local, np.arange(first, min(first + ROWS_OF_PARTITION, len(local)))) for first in edges]
        parts = client.scatter(pieces, hash=False)
    return DaskTable.of(client, parts)


def open_target(client: Any, y: Any) -> Any:
    """A target or weights in the memory of the client; the name of a column stays a name."""
    if y is None or isinstance(y, str):
        return y
    parts = parts_of(client, y)
    return y if parts is None else concatenate([part for part in gather(client, parts) if len(part)])


class OnCluster:
    """A learner that is fitted on a Dask cluster; it comes before the local learner among the base classes."""

    client: Any = None
    _local: ClassVar[type]  # the local learner

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Self:
        """Fit the model on the cluster; the result is that of the local learner, to the bit.

        Parameters
        ----------
        X : Dask dataframe or array, list of futures of frames, pattern of Parquet files, or a local table
        y : Dask series or array, or the name of a column of X
            The target.
        sample_weight : Dask series or array, the name of a column of X, or None
        **more
            The other arguments of the local learner, such as `X_val` and `y_val`.
        """
        with open_client(self.client) as client:
            table = open_table(client, X)
            given = {name: _compute(value) for name, value in more.items()}
            return super().fit(table, open_target(client, y), open_target(client, sample_weight), **given)  # type: ignore[misc]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        # A client is a connection, which can be neither copied nor kept with the parameters.
        return list(cls._local._get_param_names())  # type: ignore[attr-defined]

    def to_local(self) -> Any:
        """The same model as an ordinary estimator, which needs no cluster and can be saved."""
        local = copy(self)
        local.__class__ = self._local
        vars(local).pop("client", None)
        return local

    def predict(self, X: Any, *, out: Any = None) -> Any:
        """The predictions, lazily for a Dask collection.

        With `out` they are written to a Parquet file of the client instead, and the number of rows is returned.
        """
        return self._lazily(X, "predict", out)

    def _lazily(self, X: Any, method: str, out: Any) -> Any:
        local = self.to_local()
        if not is_dask(X):
            return getattr(local, method)(X, out=out)
        predict = predict_blocks if hasattr(X, "chunks") else predict_partitions
        lazy = predict(local, X, method)
        if out is None:
            return lazy
        with open_client(self.client) as client:
            return write_predictions(computed_parts(client, lazy), names_of_predictions(local, method), Path(out))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("client", None)
        return state


class OfClasses(OnCluster):
    """A classifier that is fitted on a Dask cluster."""

    def predict_proba(self, X: Any, *, out: Any = None) -> Any:
        """The probability of each class, lazily for a Dask collection; `out` is that of `predict`."""
        return self._lazily(X, "predict_proba", out)


def computed_parts(client: Any, lazy: Any) -> Iterator[Any]:
    """The parts of a lazy collection that have rows, in order.

    They are computed together, because they may need the same results of other tasks. The cluster keeps them until it
    is their turn: predictions are small beside the table.
    """
    futures = deque(client.compute(list(np.ravel(lazy.to_delayed()))))
    while futures:
        part = gather(client, [futures.popleft()])[0]
        if len(part):
            yield part


def _compute(value: Any) -> Any:
    return value.compute() if is_dask(value) else value


def _predict_frame(frame: Any, model: Any, method: str) -> Any:
    """The predictions of a partition, with its index."""
    import pandas as pd

    if method == "predict":
        predicted = model.predict(frame) if len(frame) else _nothing(model, method)
        return pd.Series(predicted, index=frame.index, name="prediction")
    shares = model.predict_proba(frame) if len(frame) else _nothing(model, method)
    return pd.DataFrame(shares, index=frame.index, columns=list(model.classes_))


def _nothing(model: Any, method: str) -> np.ndarray:
    """The predictions of no row."""
    if method == "predict_proba":
        return np.empty((0, len(model.classes_)))
    return model.classes_[:0] if hasattr(model, "classes_") else np.empty(0)


def predict_partitions(model: Any, X: Any, method: str) -> Any:
    """The predictions of a Dask dataframe, as a series or a dataframe of Dask."""
    meta = _predict_frame(X._meta.iloc[:0], model, method)
    return X.map_partitions(_predict_frame, model, method, meta=meta)


def _predict_block(block: np.ndarray, model: Any, method: str) -> np.ndarray:
    return getattr(model, method)(block) if len(block) else _nothing(model, method)


def predict_blocks(model: Any, X: Any, method: str) -> Any:
    """The predictions of a Dask array, as an array of Dask."""
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    nothing = _nothing(model, method)
    call = partial(_predict_block, model=model, method=method)
    if method == "predict":
        return X.map_blocks(call, drop_axis=1, dtype=nothing.dtype, meta=nothing)
    return X.map_blocks(call, chunks=(X.chunks[0], (nothing.shape[1],)), dtype=nothing.dtype, meta=nothing)


def on_cluster(local: type, *, of_classes: bool) -> type:
    """The learner for a cluster that corresponds to a local one: the same parameters, and `client`."""

    def start(self: Any, *, client: Any = None, **parameters: Any) -> None:
        local.__init__(self, **parameters)  # type: ignore[misc]
        self.client = client

    own = inspect.signature(local.__init__)  # type: ignore[misc]
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    start.__signature__ = own.replace(parameters=[*own.parameters.values(), client])  # type: ignore[attr-defined]
    start.__name__ = "__init__"
    documented = f"""{local.__name__} on a Dask cluster.

    The parameters are those of `treewright.{local.__name__}`. The fitted model is the same to the bit.

    Parameters
    ----------
    client : distributed.Client or None
        None is the current client, or else a cluster of this machine that is started for the fit and closed after it.
    """
    base = OfClasses if of_classes else OnCluster
    found = type(local.__name__, (base, local), {"__init__": start, "__doc__": documented, "_local": local})
    found.__module__ = "treewright.dask"
    return found


__all__: Sequence[str] = ("OnCluster", "on_cluster", "open_client", "open_table")
