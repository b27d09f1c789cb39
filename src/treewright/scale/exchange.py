"""How the workers of a fit exchange arrays: in shared memory, or by messages between the workers of a Dask cluster.

Dask carries the messages, by a handler that is added to its workers. A message has the number of the fit, of the step
and of its sender, so that it reaches the right place although workers are not equally fast. Processes of one machine
use the memory of `shared_memory` instead, which takes a tenth of the time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from treewright.scale.shared_memory import Listener, LocalPeer, SendBuffer, connect_to

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
        self.messages: dict[tuple[Any, ...], np.ndarray] = {}
        self.stopped: set[str] = set()

    def put(self, key: tuple[Any, ...], content: np.ndarray) -> None:
        with self.arrived:
            if key[0] not in self.stopped:
                self.messages[key] = content
                self.arrived.notify_all()

    def take(self, key: tuple[Any, ...], timeout: float) -> np.ndarray | None:
        """The content of a message; None if it has not arrived in time."""
        with self.arrived:
            if key[0] not in self.stopped and key not in self.messages:
                self.arrived.wait(timeout)
            self.check(key[0])
            return self.messages.pop(key, None)

    def check(self, fit: str) -> None:
        """Raise an error if a fit was stopped."""
        if fit in self.stopped:
            raise LostWorkerError("the fit was stopped")

    def stop(self, fit: str) -> None:
        """Forget the messages of a fit, and end its members."""
        with self.arrived:
            self.stopped.add(fit)
            self.messages = {key: content for key, content in self.messages.items() if key[0] != fit}
            self.arrived.notify_all()


MAILBOX = Mailbox()


async def receive(fit: str, step: int, sender: int, receiver: int, content: np.ndarray) -> str:
    """The handler of messages; it runs in the event loop of a worker."""
    MAILBOX.put((fit, step, sender, receiver), content)
    return "OK"


def add_handler(dask_worker: Any) -> None:
    """Add the handler to a worker of Dask, which calls this function by `Client.run`."""
    dask_worker.handlers[OPERATION] = receive


def stop_fit(fit: str) -> None:
    """End the members of a fit in this process."""
    MAILBOX.stop(fit)


def check_wanted(worker: Any, task: Any) -> None:
    """Raise an error if nobody waits for the result of this task, because its client is gone or has cancelled it."""
    found = worker.state.tasks.get(task)
    if found is None or found.state == "cancelled":
        raise LostWorkerError("the fit was cancelled")


class WorkerExchange:
    """The exchange of one member of a fit with the others; `addresses` are the Dask workers of all members.

    Processes of one machine exchange arrays in memory that they share. Dask carries the messages to other machines.
    """

    def __init__(self, fit: str, rank: int, addresses: Sequence[str]) -> None:
        from distributed import get_worker

        self.fit, self.rank, self.addresses = fit, rank, list(addresses)
        self.others = [other for other in range(len(addresses)) if other != rank]
        self.worker: Any = get_worker()
        self.task = self.worker.get_current_task()
        self.step = 0
        self.sent_bytes = 0
        self.pending: list[Future[Any]] = []
        self.buffer = SendBuffer()
        self.local_peers: dict[int, LocalPeer] = {}
        self.is_quick = len(set(addresses)) == 1

    @property
    def size(self) -> int:
        return len(self.addresses)

    def connect(self) -> None:
        """Connect with the members in other processes of the same machine."""
        if len(set(self.addresses)) == 1:
            return
        with Listener(self.size) as listener:
            paths = self._exchange([np.frombuffer(listener.path.encode(), np.uint8)] * self.size)
            # A path leads nowhere if it is the one of another machine.
            before = [other for other in range(self.rank) if self.addresses[other] != self.worker.address]
            tried = {other: connect_to(paths[other].tobytes().decode(), self.rank, PATIENCE) for other in before}
            found = {other: peer for other, peer in tried.items() if peer is not None}
            is_connected = np.zeros((1, self.size), bool)
            is_connected[0, list(found)] = True
            all_connected = self.gather(is_connected)
            found |= listener.accept(int(all_connected[:, self.rank].sum()), PATIENCE)
        self.local_peers = found
        is_same = np.equal.outer(self.addresses, self.addresses)
        self.is_quick = bool((is_same | all_connected | all_connected.T).all())

    def close(self) -> None:
        """End the connections."""
        for peer in self.local_peers.values():
            peer.close()
        self.buffer.close()

    def gather(self, array: np.ndarray) -> np.ndarray:
        """The arrays of all members, one after the other."""
        return np.concatenate(self._exchange([array] * self.size))

    def add_up(self, array: np.ndarray) -> np.ndarray:
        """The sum of the arrays of all members, which are whole numbers; the array is overwritten."""
        if self.size <= MOST_DIRECT:
            return self._add_all([array] * self.size)
        flat = array.ravel()
        edges = np.linspace(0, len(flat), self.size + 1).astype(int)
        own = self._add_all([flat[edges[k] : edges[k + 1]] for k in range(self.size)])
        return np.concatenate(self._exchange([own] * self.size)).reshape(array.shape)

    def from_first(self, value: Any) -> Any:
        """The value of the first member, which is a number."""
        return self._exchange([np.array([value])] * self.size)[0][0].item()

    def _add_all(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The sum of what all members have sent to this one, in the place of its own array."""
        found, total = self._exchange(arrays), arrays[self.rank]
        for other in self.others:
            total += found[other]
        return total

    def _exchange(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send an array to each member; returns those that each has sent to this one, valid until the next exchange."""
        self.step += 1
        self.sent_bytes += sum(arrays[other].nbytes for other in self.others)
        self._announce({other: arrays[other] for other in self.local_peers})
        for other in self.others:
            if other not in self.local_peers:
                self._send(other, arrays[other])
        own = arrays[self.rank]
        found = [own if other == self.rank else self._take(other, own) for other in range(self.size)]
        self._check_sent()
        return found

    def _announce(self, arrays: dict[int, np.ndarray]) -> None:
        """Write the arrays for members in other processes of this machine."""
        if not arrays:
            return
        places, descriptor = self.buffer.write(self.step, arrays.values())
        for other, array in arrays.items():
            self.local_peers[other].announce(self.step, places[id(array)], array.nbytes, descriptor)

    def _send(self, other: int, array: np.ndarray) -> None:
        from distributed.protocol import to_serialize

        content = np.array(array)  # the caller may change its array before the other member has read it
        if self.addresses[other] == self.worker.address:
            MAILBOX.put((self.fit, self.step, self.rank, other), content)
            return
        call = getattr(self.worker.rpc(self.addresses[other]), OPERATION)(
            fit=self.fit, step=self.step, sender=self.rank, receiver=other, content=to_serialize(content)
        )
        self.pending.append(asyncio.run_coroutine_threadsafe(call, self.worker.loop.asyncio_loop))

    def _take(self, other: int, own: np.ndarray) -> np.ndarray:
        while True:
            found = self._receive(other, own)
            if found is not None:
                return found
            self._check_sent()
            check_wanted(self.worker, self.task)

    def _receive(self, other: int, own: np.ndarray) -> np.ndarray | None:
        """The array of another member; None if it has not arrived in time."""
        peer = self.local_peers.get(other)
        if peer is not None and not peer.is_gone:
            found = peer.receive(self.step, own)
            if found is None:
                MAILBOX.check(self.fit)
            return found
        # The client ends the fit if another process is gone; until then, nothing arrives here.
        return MAILBOX.take((self.fit, self.step, other, self.rank), PATIENCE)

    def _check_sent(self) -> None:
        """Raise an error if a message could not be delivered."""
        waiting = []
        for call in self.pending:
            if not call.done():
                waiting.append(call)
            elif call.exception() is not None:
                raise LostWorkerError(f"a worker is lost: {call.exception()}")
        self.pending = waiting
