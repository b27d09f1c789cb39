"""Work on a Dask cluster: tables whose chunks are on workers, and trees that the workers grow."""

from __future__ import annotations

import itertools
import pickle
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from itertools import pairwise
from time import monotonic, sleep
from typing import Any

import numpy as np

from treewright.encoding.bins import BinnedTable, Bins
from treewright.encoding.chunks import CodesElsewhere
from treewright.engines.boosting.worker_engine import Share, edges_of_shares
from treewright.scale.exchange import LostWorkerError, WorkerExchange, add_handler, check_wanted, stop_fit
from treewright.scale.stored_codes import (
    close_table,
    fits_into_workers,
    grow_stored_group,
    open_table,
    remove_table,
    write_part,
)
from treewright.table.chunked import ChunkedTable, MakeCodes, split_rows

NEEDS_DASK = "treewright.dask needs Dask; install it with pip install 'treewright[dask]'"

# How often the client looks for lost workers while it waits, in seconds.
PATIENCE = 0.2

# How often the client looks for workers if there are none: half a minute.
CHECKS_FOR_WORKERS = 150

# How long the client waits for the result of a task that is finished, in seconds.
TIME_FOR_RESULT = 60.0

# No number of an array has more bytes.
MOST_ALIGNMENT = 8

# How often a fit begins again after workers were lost.
MOST_ATTEMPTS = 20

# Tasks per thread of the cluster that grow trees: few, because each reports only when it is done, but enough to share
# the work evenly.
TASKS_PER_THREAD = 4

# Progress is sent to the client at most so often, in seconds.
TIME_BETWEEN_REPORTS = 0.2

LOST = (
    "workers of the cluster were lost together with their part of the table, which cannot be computed again; "
    "give the table as files or as a Dask collection that is read from files"
)
GIVEN_UP = f"workers of the cluster were lost {MOST_ATTEMPTS} times during the fit, which was given up"
FAILED = ("error", "cancelled", "lost")
NO_WORKERS = "the cluster has no workers; start some, or wait until they have joined"


def call_on_part(part: Any, names: tuple[str, ...], number: int, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function with some columns of a partition; runs on a worker."""
    if isinstance(part, np.ndarray):
        places = [int(name[1:]) for name in names]
        is_whole = places == list(range(part.shape[1]))
        return function(part if is_whole else np.ascontiguousarray(part[:, places]), *given)
    absent = [name for name in names if name not in part.columns]
    if absent:
        raise ValueError(f"partition {number} lacks the column {absent[0]!r}; all partitions need the same columns")
    # A selection of columns is a copy.
    return function(part if list(part.columns) == list(names) else part[list(names)], *given)


def shape_of_part(part: Any) -> tuple[int, tuple[str, ...]]:
    """The number of rows of a partition, and the names of its columns; runs on a worker."""
    if not isinstance(part, np.ndarray):
        return len(part), tuple(map(str, part.columns))
    if part.ndim != 2:
        raise ValueError(f"a table has rows and columns, but a block of the array has {part.ndim} dimensions")
    return len(part), tuple(f"x{place}" for place in range(part.shape[1]))


class DaskTable(ChunkedTable):
    """A table whose chunks are on the workers of a cluster."""

    def __init__(self, client: Any, parts: Sequence[Any], lengths: Sequence[int], names: Sequence[str]) -> None:
        self.client, self.parts = client, list(parts)
        self._lengths, self._names = tuple(lengths), tuple(names)

    @classmethod
    def of(cls, client: Any, parts: Sequence[Any]) -> DaskTable:
        """The table of some futures of frames or arrays."""
        shapes = gather(client, [client.submit(shape_of_part, part, pure=False) for part in parts])
        full = [(part, length, names) for part, (length, names) in zip(parts, shapes, strict=True) if length]
        if not full:
            raise ValueError("Found array with 0 sample(s): all partitions of the table are empty.")
        return cls(client, [part for part, _, _ in full], [length for _, length, _ in full], full[0][2])

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def lengths(self) -> tuple[int, ...]:
        return self._lengths

    def select(self, names: Sequence[str]) -> DaskTable:
        return DaskTable(self.client, self.parts, self.lengths, names)

    def map_chunks(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> Iterable[Any]:
        return gather(self.client, self._submit(function, arguments))

    def store_chunks(
        self,
        n_columns: int,
        lengths: Sequence[int],
        function: Callable[..., Any],
        *arguments: Sequence[Any],
        make: MakeCodes,
    ) -> DaskCodes:
        """The results stay where they are, so that nothing is made."""
        del make
        return DaskCodes(self.client, self._submit(function, arguments), lengths, n_columns)

    def _submit(self, function: Callable[..., Any], arguments: tuple[Sequence[Any], ...]) -> list[Any]:
        given = zip(*arguments, strict=True) if arguments else itertools.repeat(())
        calls = zip(self.parts, itertools.count(), given, strict=False)
        submit = partial(self.client.submit, call_on_part, pure=False)
        return [submit(part, self.names, number, function, *more) for part, number, more in calls]

    def column(self, name: str) -> Any:
        narrow = self.select([name])
        return concatenate(list(narrow.map_chunks(first_of)))


def first_of(frame: Any) -> Any:
    """The only column of a frame or an array."""
    return frame[:, 0] if isinstance(frame, np.ndarray) else frame[frame.columns[0]]


def concatenate(parts: Sequence[Any]) -> Any:
    """Parts of a target as one column."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def gather(client: Any, futures: Sequence[Any]) -> list[Any]:
    """The results of futures, in order; lost data is an error in one sentence."""
    from distributed import CancelledError, KilledWorker

    waiting = list(futures)
    while waiting:
        wait_a_moment(waiting)
        waiting = [future for future in waiting if future.status == "pending"]
        if waiting:
            threads_of(client)
    try:
        return list(client.gather(list(futures)))
    except (CancelledError, KilledWorker) as error:
        raise RuntimeError(LOST) from error


def join_codes(parts: Sequence[np.ndarray], rows: Sequence[np.ndarray | None], n_columns: int) -> np.ndarray:
    """The codes of some rows of consecutive chunks; runs on a worker."""
    taken = [part if which is None else part[:, which] for part, which in zip(parts, rows, strict=True)]
    return np.ascontiguousarray(np.concatenate(taken, axis=1)) if taken else np.empty((n_columns, 0), np.uint8)


def join_table(bins: Bins, parts: Sequence[np.ndarray], rows: Sequence[np.ndarray | None]) -> BinnedTable:
    """The whole table in bytes; runs on a worker."""
    return BinnedTable(bins, join_codes(parts, rows, len(bins.n_codes)))


class DaskCodes(CodesElsewhere):
    """The codes of a table on the workers of a cluster, chunk by chunk."""

    def __init__(
        self,
        client: Any,
        parts: Sequence[Any],
        lengths: Sequence[int] | np.ndarray,
        n_columns: int,
        rows: np.ndarray | None = None,
    ) -> None:
        self.client, self.parts, self.lengths = client, list(parts), np.array(lengths, dtype=np.int64)
        self.rows = rows  # of all rows of the chunks, in ascending order, if not all
        self.shape = (n_columns, int(self.lengths.sum()) if rows is None else len(rows))

    def take(self, rows: np.ndarray) -> DaskCodes:
        taken = rows if self.rows is None else self.rows[rows]
        return DaskCodes(self.client, self.parts, self.lengths, self.shape[0], np.asarray(taken))

    def gather(self) -> np.ndarray:
        parts, rows = self._between(0, self.shape[1])
        submit = partial(self.client.submit, join_codes, pure=False)
        futures = [submit([part], [which], self.shape[0]) for part, which in zip(parts, rows, strict=True)]
        return np.ascontiguousarray(np.concatenate(gather(self.client, futures), axis=1))

    def _between(self, first: int, last: int) -> tuple[list[Any], list[np.ndarray | None]]:
        """The chunks that have some consecutive rows, and the places of these rows in each; None for all."""
        rows = np.arange(first, last) if self.rows is None else self.rows[first:last]
        found = []
        for part, places, length in zip(self.parts, split_rows(rows, self.lengths), self.lengths, strict=True):
            if len(places):
                found.append((part, None if len(places) == length else places))
        return [part for part, _ in found], [places for _, places in found]

    def grow_trees(
        self, bins: Bins, grow: Callable[..., Any], trees: Sequence[int], tick: Callable[[int], None]
    ) -> list[Any]:
        client = self.client
        parts, rows = self._between(0, self.shape[1])
        size = max(1, -(-len(trees) // (TASKS_PER_THREAD * max(sum(threads_of(client).values()), 1))))
        groups = [trees[first : first + size] for first in range(0, len(trees), size)]
        is_stored, name = not fits_into_workers(client, self.size), uuid.uuid4().hex

        def start(places: Sequence[int], sent: Any) -> list[Any]:
            if not is_stored:
                table = client.submit(join_table, bins, parts, rows, pure=False)
                return [client.submit(grow_group, sent, table, groups[place], pure=False) for place in places]
            # Each worker has files of its own, and keeps the groups that it was given.
            threads = [address for address, n_threads in threads_of(client).items() for _ in range(n_threads)]
            tables = {address: self._store(address, name, bins, parts, rows) for address in set(threads)}
            addresses = [threads[place % len(threads)] for place in places]
            return [
                client.submit(grow_group_from_file, sent, tables[address], groups[place], **only_on(address))
                for place, address in zip(places, addresses, strict=True)
            ]

        def count(place: int) -> None:
            tick(len(groups[place]))

        try:
            return [tree for group in complete(client, grow, start, len(groups), count) for tree in group]
        finally:
            if is_stored:
                client.run(remove_table, name, on_error="ignore")

    def _store(
        self, address: str, name: str, bins: Bins, parts: Sequence[Any], rows: Sequence[np.ndarray | None]
    ) -> Any:
        """Submit the tasks that write the codes to files of a worker, part by part; returns the last one."""
        submit = partial(self.client.submit, **only_on(address))
        of_part = {id(part): int(length) for part, length in zip(self.parts, self.lengths, strict=True)}
        lengths = [of_part[id(part)] if taken is None else len(taken) for part, taken in zip(parts, rows, strict=True)]
        table = submit(open_table, name, bins, self.shape[1])
        places = zip(parts, rows, np.cumsum([0, *lengths]).tolist(), strict=False)
        written = [submit(write_part, table, part, taken, first) for part, taken, first in places]
        return submit(close_table, table, written)

    def run(self, function: Callable[..., Any], tick: Callable[..., None]) -> Any:
        client = self.client
        parts, rows = self._between(0, self.shape[1])
        topic = f"treewright-{uuid.uuid4().hex}"

        def start(places: Sequence[int], sent: Any) -> list[Any]:
            codes = client.submit(join_codes, parts, rows, self.shape[0], pure=False)
            return [client.submit(run_alone, sent, codes, topic, pure=False) for _ in places]

        with reports(client, topic, tick):
            return complete(client, function, start, 1, lambda place: None)[0]

    def boost(self, rows: Any, boost: Callable[..., Any], tick: Callable[..., None]) -> Any:
        for _ in range(MOST_ATTEMPTS):
            found = Gang(self, rows, boost, tick).run()
            if found is not None:
                return found[0]
        raise RuntimeError(GIVEN_UP)


def on_usable_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a worker whose arguments get new arrays in place of those that Dask has read from a disk.

    These are write-protected and begin at any byte, which kernels refuse.
    """

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*map(with_usable_arrays, arguments))

    return call


def with_usable_arrays(argument: Any) -> Any:
    """The same value, or a copy if kernels do not take its arrays."""
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    try:
        cloudpickle.dumps(argument, protocol=5, buffer_callback=buffers.append)
    except (TypeError, pickle.PicklingError):
        return argument  # of a client in this process, so it has never been on a disk
    if all(map(is_usable, buffers)):
        return argument
    # With its arrays in buffers of their own, they would be write-protected again.
    return pickle.loads(cloudpickle.dumps(argument, protocol=4))


def is_usable(buffer: pickle.PickleBuffer) -> bool:
    """Whether kernels take an array in this memory."""
    raw = buffer.raw()
    try:
        alignment = memoryview(buffer).itemsize
    except ValueError:  # an array of a type without a code in this protocol, such as moments
        alignment = MOST_ALIGNMENT
    return not raw.readonly and np.frombuffer(raw, np.uint8).ctypes.data % alignment == 0


def only_on(address: str) -> dict[str, Any]:
    """The options of a task that one worker must run."""
    return {"workers": [address], "allow_other_workers": False, "pure": False}


@on_usable_arrays
def grow_group(grow: Callable[..., Any], table: BinnedTable, trees: Sequence[int]) -> Any:
    """Grow some trees; runs on a worker."""
    from distributed import get_worker

    worker: Any = get_worker()
    task = worker.get_current_task()
    return grow(table, trees, lambda n_trees: check_wanted(worker, task))


@on_usable_arrays
def grow_group_from_file(grow: Callable[..., Any], name: str, trees: Sequence[int]) -> Any:
    """Grow some trees from a table in files of the worker; runs on a worker."""
    from distributed import get_worker

    worker: Any = get_worker()
    task = worker.get_current_task()
    return grow_stored_group(grow, name, trees, lambda n_trees: check_wanted(worker, task))


@on_usable_arrays
def run_alone(function: Callable[..., Any], codes: np.ndarray, topic: str) -> Any:
    """Call a function with all codes; runs on a worker."""
    return function(codes, Reporter(topic))


def threads_of(client: Any) -> dict[str, int]:
    """The number of threads of each worker, by its address; an error if there is none for half a minute."""
    for _ in range(CHECKS_FOR_WORKERS):
        workers = client.scheduler_info(n_workers=-1)["workers"]
        if workers:
            return {address: int(facts["nthreads"]) for address, facts in sorted(workers.items())}
        sleep(PATIENCE)
    raise RuntimeError(NO_WORKERS)


def complete(
    client: Any,
    work: Any,
    start: Callable[[Sequence[int], Any], list[Any]],
    n_tasks: int,
    finished: Callable[[int], None],
) -> list[Any]:
    """The results of some tasks, in order; those that are not finished when a worker is lost begin again.

    `start(places, sent)` submits the tasks of some places, where `sent` is the work on the cluster.
    """
    results: dict[int, Any] = {}
    for _ in range(MOST_ATTEMPTS):
        left = [place for place in range(n_tasks) if place not in results]
        if not left:
            return [results[place] for place in range(n_tasks)]
        addresses = set(threads_of(client))
        futures: dict[Any, int] = {}
        try:
            sent = client.scatter(work, broadcast=True, hash=False)
            futures = dict(zip(start(left, sent), left, strict=True))
            for future, value in results_until_lost(client, list(futures), addresses):
                results[futures[future]] = value
                finished(futures[future])
        except lost_errors():
            pass
        finally:
            client.cancel(list(futures), force=True)
    if len(results) == n_tasks:
        return [results[place] for place in range(n_tasks)]
    raise RuntimeError(GIVEN_UP)


def lost_errors() -> tuple[type[Exception], ...]:
    """The errors that mean that a worker is lost; one of an unknown address is a KeyError of Dask."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    return LostWorkerError, KilledWorker, CommClosedError, CancelledError, ConnectionError, TimeoutError, KeyError


def results_until_lost(client: Any, futures: Sequence[Any], addresses: set[str]) -> Iterator[tuple[Any, Any]]:
    """Futures with their results as they are done, until all are done or one of the workers is lost."""
    waiting = list(futures)
    while waiting:
        wait_a_moment(waiting)
        for future in [future for future in waiting if future.status == "finished"]:
            yield future, future.result(timeout=TIME_FOR_RESULT)
            waiting.remove(future)
        failed = [future for future in waiting if future.status in FAILED]
        raise_other_errors(failed)
        if failed or (waiting and not addresses <= set(threads_of(client))):
            return


def wait_a_moment(futures: Sequence[Any]) -> None:
    """Wait until one of the futures is done, but not for long."""
    from distributed import CancelledError, wait
    from distributed.utils import TimeoutError as WaitedTooLong

    with suppress(WaitedTooLong, TimeoutError, CancelledError):
        wait(list(futures), timeout=PATIENCE, return_when="FIRST_COMPLETED")


@contextmanager
def reports(client: Any, topic: str, tick: Callable[..., None]) -> Iterator[None]:
    """Show the progress that a worker reports."""
    lock = threading.Lock()

    def show(event: tuple[Any, Any]) -> None:
        steps, note = event[1]
        with lock:
            tick(steps, note)

    client.subscribe_topic(topic, show)
    try:
        yield
    finally:
        client.unsubscribe_topic(topic)


class Reporter:
    """Reports progress from a worker to the client."""

    def __init__(self, topic: str) -> None:
        from distributed import get_worker

        self.topic, self.worker, self.key = topic, get_worker(), get_worker().get_current_task()
        self.steps, self.last = 0, monotonic()

    def __call__(self, steps: int = 1, note: str = "") -> None:
        check_wanted(self.worker, self.key)
        self.steps += steps
        if monotonic() - self.last >= TIME_BETWEEN_REPORTS:
            self.worker.log_event(self.topic, (self.steps, note))
            self.steps, self.last = 0, monotonic()


class Gang:
    """Workers that boost together: a member for each thread of the cluster, each with consecutive rows."""

    def __init__(self, codes: DaskCodes, rows: Any, boost: Callable[..., Any], tick: Callable[..., None]) -> None:
        self.codes, self.client, self.tick = codes, codes.client, tick
        self.fit = uuid.uuid4().hex
        self.edges: list[int] = []
        self.addresses: list[str] = []
        self.rows, self.boost = rows, boost
        self.kept: list[Any] = []

    def run(self) -> tuple[Any] | None:
        """The result of the first member; None if a worker was lost."""
        from distributed import Semaphore

        futures: list[Any] = []
        # Members of two fits that wait for each other's threads would wait for ever.
        with Semaphore(max_leases=1, name="treewright-fit"), reports(self.client, self.fit, self.tick):
            try:
                self._choose_members()
                futures += self._start()
                return self._watch(futures)
            except lost_errors():
                return None
            finally:
                self._stop(futures)

    def _choose_members(self) -> None:
        places = [address for address, n_threads in threads_of(self.client).items() for _ in range(n_threads)]
        self.edges = edges_of_shares(len(self.rows), len(places))
        self.addresses = places[: len(self.edges) - 1]

    def _start(self) -> list[Any]:
        """Send the rows to the members, and start them when all have their codes.

        A member that waits for others must not occupy the thread that computes their codes.
        """
        client, n_rows = self.client, len(self.rows)
        here = [only_on(address) for address in self.addresses]
        shares = list(pairwise(self.edges))
        pieces = [self.codes._between(*share) for share in shares]
        n_columns = self.codes.shape[0]
        self.kept = codes = [  # data is removed from the workers when the client forgets it
            client.submit(join_codes, *piece, n_columns, **where) for piece, where in zip(pieces, here, strict=True)
        ]
        # The rest is sent while the workers compute the codes.
        client.run(add_handler)
        work = client.scatter(self.boost, broadcast=True, hash=False)
        nothing = np.empty((0, 0), np.uint8)
        rows = [
            client.scatter(self.rows.between(*share, nothing, None), workers=[address], hash=False)
            for share, address in zip(shares, self.addresses, strict=True)
        ]
        self.kept = [work, *codes, *rows]
        self._wait_for(codes)
        return [
            client.submit(
                run_member,
                work,
                rows[rank],
                codes[rank],
                (self.fit, rank, self.addresses, self.edges[rank], n_rows),
                **here[rank],
                retries=0,
            )
            for rank in range(len(self.addresses))
        ]

    def _wait_for(self, codes: Sequence[Any]) -> None:
        waiting = list(codes)
        while waiting:
            wait_a_moment(waiting)
            failed = [future for future in waiting if future.status in FAILED]
            raise_other_errors(failed)
            waiting = [future for future in waiting if future.status != "finished"]
            if failed or not set(self.addresses) <= set(threads_of(self.client)):
                raise LostWorkerError("a worker is lost")

    def _watch(self, futures: list[Any]) -> tuple[Any] | None:
        """Wait for the members; None if one is lost."""
        for future, value in results_until_lost(self.client, futures, set(self.addresses)):
            if future is futures[0]:
                return (value,)
        return None

    def _stop(self, futures: list[Any]) -> None:
        """End the members, wherever they wait."""
        with suppress(OSError, RuntimeError):
            remaining = [address for address in threads_of(self.client) if address in self.addresses]
            self.client.run(stop_fit, self.fit, workers=remaining, on_error="ignore")
        self.client.cancel(futures, force=True)


def raise_other_errors(failed: Sequence[Any]) -> None:
    """Raise the error of a member if it is not that a worker was lost."""
    for future in failed:
        error = future.exception() if future.status == "error" else None
        if error is not None and (isinstance(error, KeyError) or not isinstance(error, lost_errors())):
            raise error


@on_usable_arrays
def run_member(
    boost: Callable[..., Any], rows: Any, codes: np.ndarray, member: tuple[str, int, list[str], int, int]
) -> Any:
    """Boost with the rows of one member; runs on a worker."""
    fit, rank, addresses, first, n_rows = member
    exchange = WorkerExchange(fit, rank, addresses)
    rows = rows.between(0, codes.shape[1], codes, Share(exchange, first, n_rows))
    try:
        exchange.connect()
        found = boost(rows, rank == 0, Reporter(fit) if rank == 0 else _no_report)
    except BaseException:
        stop_fit(fit)  # messages that have arrived are not needed any more
        raise
    finally:
        exchange.close()
    return found if rank == 0 else None


def _no_report(steps: int = 1, note: str = "") -> None:
    pass
