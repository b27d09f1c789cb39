"""The barrier at which the threads that grow one tree wait for each other, in compiled code.

A split takes a few ten-thousandths of a second, and its threads wait three times. Python's own primitives take longer
than the work between two waits. The threads therefore poll a counter until all have arrived. After some time a thread
yields its core between polls, so that more threads than cores only take longer.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from treewright.runtime.kernels import kernel, replaced

# Positions in a barrier: the number of arrivals, and whether threads stop waiting because one has failed.
ARRIVED, ABANDONED = np.int64(0), np.int64(8)
BARRIER_SIZE = 16

# Number of polls before a thread yields its core.
PATIENCE = 4000


def _build_count_up() -> Any:
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


@replaced(_build_count_up)
def add_atomic(array: Any, place: Any) -> Any:
    """Add 1 to a number that other threads change as well; returns the sum."""
    array[place] += 1
    return array[place]


def _build_look_at() -> Any:
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def load_atomic(typing_context: Any, array: Any, place: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.load_atomic(builder.gep(view.data, [arguments[1]]), "acquire", 8)

        return types.int64(array, types.int64), write

    return load_atomic


@replaced(_build_look_at)
def load_atomic(array: Any, place: Any) -> Any:
    """Read a number that other threads may have just changed."""
    return array[place]


def _build_give_way() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def yield_core(typing_context: Any, address: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            function = ir.FunctionType(ir.IntType(32), [])
            builder.call(builder.inttoptr(arguments[0], function.as_pointer()), [])
            return context.get_dummy_value()

        return types.void(types.int64), write

    return yield_core


@replaced(_build_give_way)
def yield_core(address: Any) -> Any:
    """Yield this core to other threads; `address` is that of the system's function for it."""


def address_of_yield() -> int:
    """Return the address of the system's function that yields this core to other threads, or 0 if there is none."""
    try:
        if sys.platform == "win32":
            function: Any = ctypes.windll.kernel32.SwitchToThread
        else:
            function = ctypes.CDLL(None).sched_yield
    except (OSError, AttributeError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@kernel
def wait(barrier, n_threads, yield_address):
    """Wait until all threads have arrived; all threads then see what each wrote before."""
    if n_threads == 1:
        return
    came = add_atomic(barrier, ARRIVED)
    wanted = (came + n_threads - 1) // n_threads * n_threads
    looks = 0
    while load_atomic(barrier, ARRIVED) < wanted and load_atomic(barrier, ABANDONED) == 0:
        looks += 1
        if looks >= PATIENCE:
            looks = 0
            if yield_address != 0:
                yield_core(yield_address)
