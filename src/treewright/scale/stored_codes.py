"""Codes of a table in mapped files of the workers, for tables in bytes that do not fit into the memory of a worker.

The system keeps as much of a mapped file in memory as there is room for. It counts as memory of the process, and Dask
ends workers that have too much of it, so that pages are released in time.

The table of a worker is not the result of a task, because Dask would copy it when it spills results to the disk. The
tasks pass on its name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
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

# By the address of a worker, because several can be in one process, and the name of the table.
_tables: dict[tuple[str, str], BinnedTable] = {}


def fits_into_workers(client: Any, n_codes: int) -> bool:
    """Whether each worker has memory for so many codes."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [facts["memory_limit"] for facts in workers]
    return all(not limit or BYTES_PER_CODE * n_codes <= SHARE_FOR_CODES * limit for limit in limits)


def open_table(name: str, bins: Bins, n_rows: int) -> str:
    """Make the files of a table with undefined codes; runs on a worker, and returns the name of the table."""
    from distributed import get_worker

    worker = get_worker()
    storage = Storage(worker.local_directory, ADVICE)
    codes = storage.allocate((len(bins.n_codes), n_rows), np.uint8)
    # The bins may be in memory that kernels do not take.
    bins = Bins(*(np.array(each) for each in bins))
    _tables[worker.address, name] = BinnedTable(bins, codes, allocate=storage.allocate)
    return name


def write_part(name: str, part: np.ndarray, rows: np.ndarray | None, first: int) -> None:
    """Write the codes of a part, or of some of its rows, to the rows of a table from `first` on; runs on a worker."""
    table = find_table(name)
    part = part if rows is None else part[:, rows]
    with limited_memory(table):
        table.codes[:, first : first + part.shape[1]] = part


def close_table(name: str, written: Sequence[None]) -> str:
    """Write the codes row by row, too, when all parts are written; runs on a worker."""
    del written
    table = find_table(name)
    with limited_memory(table):
        assert len(table.codes_by_row) == table.codes.shape[1]  # computed before several threads need it
    return name


def grow_stored_group(grow: Callable[..., Any], name: str, trees: Sequence[int], tick: Callable[[int], None]) -> Any:
    """Grow some trees from a stored table; runs on a worker."""
    table = find_table(name)
    with limited_memory(table):
        return grow(table, trees, tick)


def find_table(name: str) -> BinnedTable:
    """The stored table of this worker with a name; a KeyError if the worker is another one than it was."""
    from distributed import get_worker

    return _tables[get_worker().address, name]


def remove_table(name: str, dask_worker: Any) -> None:
    """Remove a table with its files, which have no name; runs on a worker, which Dask passes."""
    _tables.pop((dask_worker.address, name), None)


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
