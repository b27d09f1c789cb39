"""Arrays between processes of one machine arrive as they were, whatever their sizes."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import numpy as np
import pytest

from treewright.scale.shared_memory import LEAST_BYTES, Listener, LocalPeer, SendBuffer, connect_to, is_available

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no memory without a name")


def make_pair() -> tuple[LocalPeer, LocalPeer]:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return LocalPeer(one, 0.05), LocalPeer(other, 0.05)


def send(buffer: SendBuffer, peer: LocalPeer, step: int, array: np.ndarray) -> None:
    places, descriptor = buffer.write(step, [array])
    peer.announce(step, places[id(array)], array.nbytes, descriptor)


def test_arrays_of_any_size_and_layout_arrive() -> None:
    buffer, (one, other) = SendBuffer(), make_pair()
    random = np.random.default_rng(0)
    shapes = [(3,), (0, 4), (7, 5, 2), (LEAST_BYTES, 2), (1, 1), (3 * LEAST_BYTES,)]
    for step, shape in enumerate(shapes):
        array = np.asfortranarray(random.integers(-(2**60), 2**60, shape))
        send(buffer, one, step, array)
        found = other.receive(step, array)
        assert found is not None
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)


def test_an_array_is_unchanged_while_the_next_one_is_written() -> None:
    buffer, (one, other) = SendBuffer(), make_pair()
    first, second = np.arange(1000), np.arange(1000, 2000)
    send(buffer, one, 1, first)
    found = other.receive(1, first)
    send(buffer, one, 2, second)
    assert found is not None
    assert np.array_equal(found, first)
    assert np.array_equal(other.receive(2, second), second)  # type: ignore[arg-type]


def test_nothing_arrives_from_a_process_that_is_slow_or_gone() -> None:
    one, other = make_pair()
    assert other.receive(1, np.zeros(3)) is None
    assert not other.is_gone
    one.close()
    assert other.receive(1, np.zeros(3)) is None
    assert other.is_gone
    send(SendBuffer(), other, 1, np.zeros(3))  # no error: whoever ends the fit sees that the process is gone


def test_a_listener_accepts_its_processes_and_leaves_no_file_behind() -> None:
    with Listener(2) as listener:
        connected = [connect_to(listener.path, rank, 0.05) for rank in (1, 2)]
        assert oct(Path(listener.path).parent.stat().st_mode)[-3:] == "700"
        found = listener.accept(2, 0.05)
    assert not Path(listener.path).parent.exists()
    assert sorted(found) == [1, 2]
    for rank, peer in zip((1, 2), connected, strict=True):
        assert peer is not None
        send(SendBuffer(), peer, 1, np.array([rank]))
        assert found[rank].receive(1, np.array([0])).item() == rank  # type: ignore[union-attr]
    assert connect_to(listener.path, 3, 0.05) is None


def test_a_listener_passes_over_connections_that_broke_and_does_not_wait_for_ever() -> None:
    with Listener(3) as listener:
        broken = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        broken.connect(listener.path)
        broken.close()
        peer = connect_to(listener.path, 1, 0.05)
        assert sorted(listener.accept(1, 0.05)) == [1]
        assert peer is not None
        with pytest.raises(ConnectionError, match="has not connected in time"):
            listener.accept(1, 0.05)


def test_closed_memory_is_returned_to_the_system() -> None:
    before = len(os.listdir("/proc/self/fd"))
    buffer, (one, other) = SendBuffer(), make_pair()
    for step in range(4):
        array = np.zeros(LEAST_BYTES << step, np.uint8)
        send(buffer, one, step, array)
        assert other.receive(step, array) is not None
    for each in (buffer, one, other):
        each.close()
    assert len(os.listdir("/proc/self/fd")) == before
