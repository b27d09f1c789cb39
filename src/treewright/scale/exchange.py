"""How the workers of a fit exchange arrays: messages between the workers of a Dask cluster.

Dask carries the messages, by a handler that is added to its workers. A message has the number of the fit, of the step
and of its sender, so that it reaches the right place although workers are not equally fast.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

# The name of the handler among those of Dask's workers.
OPERATION = "treewright_exchange"

# Up to this number of members, each sends its whole array to all others. More of them add up a part each first.
MOST_DIRECT = 4

# How often a member that waits checks whether another one is lost, in seconds.
PATIENCE = 0.5


class LostWorkerError(RuntimeError):
    """A worker of a fit is gone, or the fit was stopped."""


class Mailbox:
    """The messages that have arrived at a worker process, for all fits."""

    def __init__(self) -> None:
        self.arrived = threading.Condition()
        self.messages: dict[tuple[Any, ...], Any] = {}
        self.stopped: set[str] = set()

    def put(self, key: tuple[Any, ...], content: Any) -> None:
        with self.arrived:
            if key[0] not in self.stopped:
                self.messages[key] = content
                self.arrived.notify_all()

    def take(self, key: tuple[Any, ...], timeout: float) -> tuple[bool, Any]:
        """Whether the message has arrived in time, and its content."""
        with self.arrived:
            if key[0] not in self.stopped and key not in self.messages:
                self.arrived.wait(timeout)
            if key[0] in self.stopped:
                raise LostWorkerError("the fit was stopped")
            return (True, self.messages.pop(key)) if key in self.messages else (False, None)

    def stop(self, fit: str) -> None:
        """Forget the messages of a fit, and end its members."""
        with self.arrived:
            self.stopped.add(fit)
            self.messages = {key: content for key, content in self.messages.items() if key[0] != fit}
            self.arrived.notify_all()


MAILBOX = Mailbox()


async def receive(fit: str, step: int, sender: int, receiver: int, content: Any) -> str:
    """The handler of messages; it runs in the event loop of a worker."""
    MAILBOX.put((fit, step, sender, receiver), content)
    return "OK"


def add_handler(dask_worker: Any) -> None:
    """Add the handler to a worker of Dask, which calls this function by `Client.run`."""
    dask_worker.handlers[OPERATION] = receive


def stop_fit(fit: str) -> None:
    """End the members of a fit in this process."""
    MAILBOX.stop(fit)


def check_wanted(worker: Any, task: str) -> None:
    """Raise an error if nobody waits for the result of this task, because its client is gone or has cancelled it."""
    found = worker.state.tasks.get(task)
    if found is None or found.state == "cancelled":
        raise LostWorkerError("the fit was cancelled")


class WorkerExchange:
    """The exchange of one member of a fit with the others; `addresses` are the Dask workers of all members."""

    def __init__(self, fit: str, rank: int, addresses: Sequence[str]) -> None:
        from distributed import get_worker

        self.fit, self.rank, self.addresses = fit, rank, list(addresses)
        self.worker: Any = get_worker()
        self.task = self.worker.get_current_task()
        self.step = 0
        self.sent_bytes = 0
        self.n_steps = 0
        self.pending: list[Future[Any]] = []

    @property
    def size(self) -> int:
        return len(self.addresses)

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The arrays of all members, one after the other."""
        return np.concatenate(self._exchange([array] * self.size))

    def add_up(self, array: np.ndarray) -> np.ndarray:
        """The sum of the arrays of all members, which are whole numbers."""
        if self.size <= MOST_DIRECT:
            return _sum(self._exchange([array] * self.size))
        flat = array.ravel()
        edges = np.linspace(0, len(flat), self.size + 1).astype(int)
        own = _sum(self._exchange([flat[edges[k] : edges[k + 1]] for k in range(self.size)]))
        return np.concatenate(self._exchange([own] * self.size)).reshape(array.shape)

    def from_first(self, value: Any) -> Any:
        """The value of the first member, which is a number."""
        return self._exchange([np.array([value])] * self.size)[0][0].item()

    def _exchange(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send an array to each member; returns those that each has sent to this one."""
        self.step += 1
        self.n_steps += 1
        for other in range(self.size):
            if other != self.rank:
                self._send(other, arrays[other])
        found = [arrays[self.rank] if other == self.rank else self._take(other) for other in range(self.size)]
        self._check_sent()
        return found

    def _send(self, other: int, array: np.ndarray) -> None:
        content = (array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
        self.sent_bytes += len(content[2])
        message = {"fit": self.fit, "step": self.step, "sender": self.rank, "receiver": other, "content": content}
        if self.addresses[other] == self.worker.address:
            MAILBOX.put((self.fit, self.step, self.rank, other), content)
            return
        rpc = self.worker.rpc(self.addresses[other])
        call = getattr(rpc, OPERATION)(**message)
        self.pending.append(asyncio.run_coroutine_threadsafe(call, self.worker.loop.asyncio_loop))

    def _take(self, other: int) -> np.ndarray:
        while True:
            is_there, content = MAILBOX.take((self.fit, self.step, other, self.rank), PATIENCE)
            if is_there:
                dtype, shape, data = content
                return np.frombuffer(data, dtype).reshape(shape)
            self._check_sent()
            check_wanted(self.worker, self.task)

    def _check_sent(self) -> None:
        """Raise an error if a message could not be delivered."""
        waiting = []
        for call in self.pending:
            if not call.done():
                waiting.append(call)
            elif call.exception() is not None:
                raise LostWorkerError(f"a worker is lost: {call.exception()}")
        self.pending = waiting


def _sum(arrays: Sequence[np.ndarray]) -> np.ndarray:
    total = arrays[0] + arrays[1] if len(arrays) > 1 else arrays[0].copy()
    for array in arrays[2:]:
        total += array
    return total
