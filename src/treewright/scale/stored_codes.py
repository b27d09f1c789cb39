"""Codes of a table in mapped files of the workers, for tables in bytes that do not fit into the memory of a worker.

The system keeps as much of a mapped file in memory as there is room for. It counts as memory of the process, and Dask
ends workers that have too much of it, so that pages are released in time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from treewright.encoding.bins import BinnedTable, Bins
from treewright.scale.storage import Storage
from treewright.table.mapped import release_pages

# Bytes per code while a worker joins the parts of a table: the part, the whole, and the whole row by row.
BYTES_PER_CODE = 3

# The part of a worker's memory that codes may have, and the part above which pages are released. Dask's workers pause
# when 0.8 of their memory is used.
SHARE_FOR_CODES = 0.5
SHARE_IN_USE = 0.6

# How often the memory in use is measured, in seconds.
TIME_BETWEEN_CHECKS = 0.1

ADVICE = "set temporary-directory in Dask's configuration to a larger disk"


def fits_into_workers(client: Any, n_codes: int) -> bool:
    """Whether each worker has memory for so many codes."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [facts["memory_limit"] for facts in workers]
    return all(not limit or BYTES_PER_CODE * n_codes <= SHARE_FOR_CODES * limit for limit in limits)


def store_table(bins: Bins, keys: Sequence[Any], rows: Sequence[np.ndarray | None], n_rows: int) -> BinnedTable:
    """The table in bytes, whose codes are in mapped files; runs on a worker, and fetches one part after the other.

    `rows` are those taken of each part, None for all.
    """
    from distributed import Future, get_worker, worker_client

    storage = Storage(get_worker().local_directory, ADVICE)
    codes = storage.allocate((len(bins.n_codes), n_rows), np.uint8)
    table = BinnedTable(bins, codes, allocate=storage.allocate)
    first = 0
    with limited_memory(table), worker_client() as client:
        for key, taken in zip(keys, rows, strict=True):
            part: Any = Future(key, client=client).result()
            part = part if taken is None else part[:, taken]
            codes[:, first : first + part.shape[1]] = part
            first += part.shape[1]
    with limited_memory(table):
        table.codes_by_row  # noqa: B018  # stored now, before several threads need it
    return table


@contextmanager
def limited_memory(table: BinnedTable) -> Iterator[None]:
    """Release pages of the codes of a table whenever the worker uses much memory; runs on a worker."""
    import psutil
    from distributed import get_worker

    limit = get_worker().memory_manager.memory_limit
    if not limit:
        yield
        return
    done = threading.Event()
    process = psutil.Process()

    def release() -> None:
        while not done.wait(TIME_BETWEEN_CHECKS):
            if process.memory_info().rss > SHARE_IN_USE * limit:
                release_pages(table.codes)
                release_pages(table.__dict__.get("codes_by_row"))

    watch = threading.Thread(target=release, daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()
