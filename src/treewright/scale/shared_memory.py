"""Arrays between processes of one machine: a process writes them into memory that the others map.

The place of an array is sent through a socket. The memory has no name, so that nothing is left behind if a process is
killed.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np

# What a message contains: the step, and the first byte and the number of bytes of the array in the memory.
HEADER = struct.Struct("<QQQ")
RANK = struct.Struct("<Q")

# Arrays begin at multiples of so many bytes.
ALIGNMENT = 64

# The least size of the memory for the arrays of one step.
LEAST_BYTES = 1 << 20


@cache
def is_available() -> bool:
    """Does the system have memory without a name, and sockets that keep messages apart? Python has both on Linux."""
    if not hasattr(os, "memfd_create") or not hasattr(socket, "SOCK_SEQPACKET"):
        return False
    try:
        os.close(os.memfd_create("treewright"))
    except OSError:
        return False
    return True


class SendBuffer:
    """The memory that a process writes.

    The arrays of even and odd steps are in different halves. A process that sends its arrays of a step has read all
    arrays of the step before it. No half is therefore written while another process reads it.
    """

    def __init__(self) -> None:
        self.half = 0
        self.memory: mmap.mmap | None = None
        self.descriptor = -1

    def write(self, step: int, arrays: Iterable[np.ndarray]) -> tuple[dict[int, int], int | None]:
        """The first byte of each array, by its `id`, and the descriptor of the memory if it is new."""
        distinct = {id(array): array for array in arrays}
        n_bytes = sum(_aligned(array.nbytes) for array in distinct.values())
        is_new = n_bytes > self.half or self.memory is None
        if is_new:
            self._allocate(max(2 * n_bytes, LEAST_BYTES))
        places, first = {}, step % 2 * self.half
        for each, array in distinct.items():
            np.ndarray(array.shape, array.dtype, self.memory, first)[...] = array
            places[each] = first
            first += _aligned(array.nbytes)
        return places, self.descriptor if is_new else None

    def _allocate(self, half: int) -> None:
        self.close()
        self.descriptor, self.half = os.memfd_create("treewright"), half
        os.truncate(self.descriptor, 2 * half)
        self.memory = mmap.mmap(self.descriptor, 2 * half)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor, self.memory = -1, None


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


class LocalPeer:
    """Another process of this machine: the connection with it, and its memory."""

    def __init__(self, connection: socket.socket, patience: float) -> None:
        connection.settimeout(patience)
        self.connection = connection
        self.memory: mmap.mmap | None = None
        self.is_gone = False

    def announce(self, step: int, first: int, n_bytes: int, descriptor: int | None) -> None:
        """Send the other process the place of an array; the descriptor is that of new memory."""
        try:
            header = [HEADER.pack(step, first, n_bytes)]
            socket.send_fds(self.connection, header, [] if descriptor is None else [descriptor])
        except OSError:
            self.is_gone = True

    def receive(self, step: int, like: np.ndarray) -> np.ndarray | None:
        """The array of a step; None if it has not arrived in time, or if the other process is gone.

        It has the type of `like`, and its shape but for the first dimension. It is valid until the step after the next.
        """
        try:
            header, descriptors, _, _ = socket.recv_fds(self.connection, HEADER.size, 1)
        except TimeoutError:
            return None
        except OSError:
            header, descriptors = b"", []
        if not header:
            self.is_gone = True
            return None
        for descriptor in descriptors:
            try:
                self.memory = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
            finally:
                os.close(descriptor)
        found, first, n_bytes = HEADER.unpack(header)
        if found != step or self.memory is None:
            raise RuntimeError(f"an array of step {found} has arrived at step {step}")
        flat = np.ndarray((n_bytes // like.itemsize,), like.dtype, self.memory, first)
        return flat.reshape(-1, *like.shape[1:])

    def close(self) -> None:
        self.connection.close()
        self.memory = None


class Listener:
    """A socket to which other processes of this user connect, in a directory that only the user can open."""

    def __init__(self, n_others: int) -> None:
        self.directory: TemporaryDirectory[str] | None = None
        self.socket: socket.socket | None = None
        self.path = ""  # empty if the system has no such sockets
        if not is_available():
            return
        with suppress(OSError):
            self.directory = TemporaryDirectory(prefix="treewright-")
            path = str(Path(self.directory.name) / "socket")
            self.socket = _new_socket()
            self.socket.bind(path)
            self.socket.listen(n_others)
            self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.socket is not None:
            self.socket.close()
        if self.directory is not None:
            self.directory.cleanup()

    def accept(self, n_others: int, patience: float) -> dict[int, LocalPeer]:
        """The connections that other members have requested, by the rank of the member.

        Connections that broke at once do not count; a ConnectionError if some do not come in time.
        """
        found: dict[int, LocalPeer] = {}
        assert self.socket is not None
        self.socket.settimeout(patience)
        try:
            while len(found) < n_others:
                connection, _ = self.socket.accept()
                peer = LocalPeer(connection, patience)  # limits the time to wait for the rank, too
                rank = connection.recv(RANK.size)
                if len(rank) == RANK.size:
                    found[RANK.unpack(rank)[0]] = peer
                else:
                    connection.close()
        except OSError as error:
            raise ConnectionError("a worker of this machine has not connected in time") from error
        return found


def connect_to(path: str, rank: int, patience: float) -> LocalPeer | None:
    """Request a connection with the process that listens at a path; None if it is not on this machine."""
    if not is_available() or not path:
        return None
    connection = _new_socket()
    try:
        connection.connect(path)
        connection.send(RANK.pack(rank))
    except OSError:
        connection.close()
        return None
    return LocalPeer(connection, patience)


def _new_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
