"""The barrier at which the threads that grow one tree wait for each other, in compiled code.

A split takes a few ten-thousandths of a second, and its threads wait three times. Waking a thread can take longer than
the work between two waits. A thread therefore polls a counter first. If the others do not arrive soon, because they do
not run, it sleeps and leaves its core to them and to other processes.

A thread sleeps by acquiring a lock that is held already. The thread that arrives last releases it. The locks are those
of Python's C interface, because they work on all systems and without the interpreter lock. Kernels call them by
address, so that compiled code depends on no library.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from treewright.runtime.kernels import kernel, replaced

# Positions in a barrier: the number of arrivals, and whether threads stop waiting because one has failed. From
# `THREADS` on, each thread has its own cache line.
ARRIVED, ABANDONED, THREADS = np.int64(0), np.int64(8), np.int64(16)
LINE = np.int64(8)

# Positions in the line of a thread: whether it sleeps, and the number of polls before it sleeps.
ASLEEP, PATIENCE = np.int64(0), np.int64(1)
AWAKE, SLEEPING = np.int64(0), np.int64(1)

# Limits of the number of polls before a thread sleeps, at about 1 ns each. The larger limit takes as long as waking a
# thread. After polls in vain the number is halved, because the other threads probably have no core.
LEAST_PATIENCE, MOST_PATIENCE = np.int64(1 << 12), np.int64(1 << 17)

# Positions in the addresses of locks: the functions that acquire and release a lock, and the lock of the first thread.
ACQUIRE, RELEASE, LOCKS = np.int64(0), np.int64(1), np.int64(2)

# Longest sleep in microseconds. Nobody wakes the threads of a barrier that is abandoned.
LONGEST_SLEEP = np.int64(10_000)


def make_barrier(n_threads: int) -> np.ndarray:
    """Return a barrier at which no thread has arrived."""
    barrier = np.zeros(THREADS + LINE * n_threads, np.int64)
    barrier[THREADS + PATIENCE :: LINE] = MOST_PATIENCE
    return barrier


def reset_barrier(barrier: np.ndarray) -> None:
    """Prepare a barrier at which no thread waits for the next work; the patience of the threads is kept."""
    barrier[:THREADS] = 0


class SleepLocks:
    """The locks by which threads sleep, one for each thread. All are held.

    Kernels receive `addresses`, which are valid as long as this object exists.
    """

    def __init__(self, n_threads: int) -> None:
        import ctypes

        python, lock = ctypes.pythonapi, ctypes.c_void_p
        allocate = ctypes.PYFUNCTYPE(lock)(("PyThread_allocate_lock", python))
        acquire = ctypes.PYFUNCTYPE(ctypes.c_int, lock, ctypes.c_int)(("PyThread_acquire_lock", python))
        free = ctypes.PYFUNCTYPE(None, lock)(("PyThread_free_lock", python))
        functions = (python.PyThread_acquire_lock_timed, python.PyThread_release_lock)
        locks = [allocate() for _ in range(n_threads)]
        for held in locks:
            acquire(held, 1)
        self.addresses = np.array([*(ctypes.cast(function, lock).value for function in functions), *locks], np.int64)
        weakref.finalize(self, lambda: [free(held) for held in locks]).atexit = False


def _build_add_atomic() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def add_atomic(typing_context: Any, array: Any, place: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            address = builder.gep(view.data, [arguments[1]])
            one = ir.Constant(ir.IntType(64), 1)
            return builder.add(builder.atomic_rmw("add", address, one, "seq_cst"), one)

        return types.int64(array, types.int64), write

    return add_atomic


@replaced(_build_add_atomic)
def add_atomic(array: Any, place: Any) -> Any:
    """Add 1 to a number that other threads change as well; returns the sum."""
    array[place] += 1
    return array[place]


def _build_exchange_atomic() -> Any:
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def exchange_atomic(typing_context: Any, array: Any, place: Any, value: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.atomic_rmw("xchg", builder.gep(view.data, [arguments[1]]), arguments[2], "seq_cst")

        return types.int64(array, types.int64, types.int64), write

    return exchange_atomic


@replaced(_build_exchange_atomic)
def exchange_atomic(array: Any, place: Any, value: Any) -> Any:
    """Set a number that other threads change as well; returns what it was."""
    before = array[place]
    array[place] = value
    return before


def _build_load_atomic() -> Any:
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def load_atomic(typing_context: Any, array: Any, place: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.load_atomic(builder.gep(view.data, [arguments[1]]), "seq_cst", 8)

        return types.int64(array, types.int64), write

    return load_atomic


@replaced(_build_load_atomic)
def load_atomic(array: Any, place: Any) -> Any:
    """Read a number that other threads may have just changed."""
    return array[place]


def _build_acquire_lock() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def acquire_lock(typing_context: Any, address: Any, lock: Any, microseconds: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, number = ir.IntType(64), ir.IntType(32)
            pointer = ir.IntType(8).as_pointer()
            function = ir.FunctionType(number, [pointer, word, number]).as_pointer()
            lock = builder.inttoptr(arguments[1], pointer)
            builder.call(builder.inttoptr(arguments[0], function), [lock, arguments[2], number(0)])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), write

    return acquire_lock


@replaced(_build_acquire_lock)
def acquire_lock(address: Any, lock: Any, microseconds: Any) -> None:
    """Sleep until the lock is released, at most so long; `address` is that of the function that acquires a lock."""


def _build_release_lock() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def release_lock(typing_context: Any, address: Any, lock: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = ir.IntType(8).as_pointer()
            function = ir.FunctionType(ir.VoidType(), [pointer]).as_pointer()
            builder.call(builder.inttoptr(arguments[0], function), [builder.inttoptr(arguments[1], pointer)])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), write

    return release_lock


@replaced(_build_release_lock)
def release_lock(address: Any, lock: Any) -> None:
    """Release the lock; `address` is that of the function that releases a lock."""


@kernel
def wait(barrier, thread, n_threads, locks):
    """Wait until all threads have arrived; all threads then see what each wrote before."""
    if n_threads == 1:
        return
    came = add_atomic(barrier, ARRIVED)
    wanted = (came + n_threads - 1) // n_threads * n_threads
    if came == wanted:
        wake_all(barrier, n_threads, locks)
        return
    line = THREADS + LINE * thread
    patience, polls = barrier[line + PATIENCE], np.int64(0)
    while is_waiting(barrier, wanted):
        polls += 1
        if polls >= patience:
            sleep(barrier, line, wanted, locks[ACQUIRE], locks[LOCKS + thread])
    if polls >= patience:
        barrier[line + PATIENCE] = max(patience // 2, LEAST_PATIENCE)
    elif patience < MOST_PATIENCE:
        barrier[line + PATIENCE] = MOST_PATIENCE


@kernel
def is_waiting(barrier, wanted):
    """Is a thread still to arrive?"""
    return load_atomic(barrier, ARRIVED) < wanted and load_atomic(barrier, ABANDONED) == 0


@kernel
def sleep(barrier, line, wanted, acquire_address, lock):
    """Sleep until the thread that arrives last wakes this one, at most for `LONGEST_SLEEP`.

    A thread that wakes by itself may leave its lock released. Its next sleep then ends at once, and it sleeps again.
    """
    exchange_atomic(barrier, line + ASLEEP, SLEEPING)
    if is_waiting(barrier, wanted):
        acquire_lock(acquire_address, lock, LONGEST_SLEEP)
    exchange_atomic(barrier, line + ASLEEP, AWAKE)


@kernel
def wake_all(barrier, n_threads, locks):
    """Wake the threads that sleep."""
    for thread in range(n_threads):
        place = THREADS + LINE * thread + ASLEEP
        if load_atomic(barrier, place) == SLEEPING and exchange_atomic(barrier, place, AWAKE) == SLEEPING:
            release_lock(locks[RELEASE], locks[LOCKS + thread])
