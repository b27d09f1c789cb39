"""Functions that kernels call and that Numba does not offer: borrowed arrays, prefetching, structs on the stack.

Each is a plain function with a compiled form that is written for LLVM. Numba is imported only when it is requested.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from treewright.runtime.kernels import replaced


def _build_borrow() -> Any:
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def borrow(typing_context: Any, array: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            view.meminfo = cgutils.get_null_value(view.meminfo.type)
            view.parent = cgutils.get_null_value(view.parent.type)
            return view._getvalue()

        return array(array), write

    return borrow


@replaced(_build_borrow)
def borrow(array: Any) -> Any:
    """Return the same array without a reference to its memory; the caller must keep the memory alive.

    Numba counts references whenever an array is taken out of a struct, by an atomic operation that blocks the counter's
    memory for all cores. In small nodes this took longer than the search. References to a borrowed array are not
    counted.
    """
    return array


def _build_prefetch() -> Any:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            address = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            # The arguments mean: for reading, with moderate locality, as data.
            builder.call(function, [address, number(0), number(2), number(1)])
            return context.get_dummy_value()

        return types.void(array, types.uint64), write

    return prefetch


@replaced(_build_prefetch)
def prefetch(array: Any, place: Any) -> None:
    """Start to load the entry `place` of an array, as if it were flat, into the cache, without waiting for it."""


def build_struct(name: str, fields: Sequence[tuple[str, tuple[str, int]]]) -> Any:
    """Compile a function that creates a struct with these fields (name, and type name with number of dimensions).

    Kernels pass the struct by reference. It lies on the stack of the entry that creates it, so the function must be
    inlined there, and no reference to the struct may be counted (see `jit`). The name of its type is part of every
    kernel's symbol, so it is short.
    """
    import numba
    from llvmlite import ir
    from numba.core import cgutils
    from numba.experimental import structref
    from numba.extending import intrinsic

    @structref.register
    class StructType(numba.types.StructRef):  # type: ignore[misc, unused-ignore]
        def __init__(self, typed: list[tuple[str, Any]]) -> None:
            super().__init__(typed)
            self.name = f"treewright.{name}.{hashlib.sha256(repr(typed).encode()).hexdigest()[:12]}"

    def numba_type(dtype: str, n_dimensions: int) -> Any:
        scalar = numba.from_dtype(np.dtype(dtype))
        return numba.types.Array(scalar, n_dimensions, "C") if n_dimensions else scalar

    struct = StructType([(field, numba_type(*kind)) for field, kind in fields])

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def new_on_stack(typing_context: Any, kind: Any) -> Any:
        made_type = kind.instance_type

        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            fields_type = context.data_model_manager[made_type.get_data_type()].get_value_type()
            word, byte = ir.IntType(64), ir.IntType(8).as_pointer()
            data = cgutils.alloca_once(builder, fields_type)
            cgutils.memset(builder, builder.bitcast(data, byte), word(context.get_abi_sizeof(fields_type)), 0)
            # Numba finds the fields through the fourth word of a header that otherwise serves to count references.
            header_type = ir.LiteralStructType([word, byte, byte, byte, word])
            header = cgutils.alloca_once(builder, header_type)
            builder.store(cgutils.get_null_value(header_type), header)
            builder.store(builder.bitcast(data, byte), cgutils.gep_inbounds(builder, header, 0, 3))
            made = context.make_helper(builder, made_type)
            made.meminfo = builder.bitcast(header, made.meminfo.type)
            return made._getvalue()

        return made_type(kind), write

    return numba.njit(inline="always")(lambda: new_on_stack(struct))
