"""The disorder of a set of rows by the recipe's criterion, which may be a function of the user's.

Kernels of single trees ask here. A function of the user's is called by its address, so that it is compiled alone, and
the kernels need not be compiled for it.
"""

from __future__ import annotations

from typing import Any

from treewright.growth.criteria import OWN, class_disorder, moments_disorder
from treewright.growth.jit import kernel, replaced


def _build_ask() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def ask(typing_context: Any, address: Any, figures: Any, room: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given, kept = (
                context.make_array(kind)(context, builder, argument)
                for kind, argument in zip(signature.args[1:], arguments[1:], strict=True)
            )
            number, size = ir.DoubleType(), builder.extract_value(given.shape, 0)
            function_type = ir.FunctionType(number, [number.as_pointer(), number.as_pointer(), size.type])
            function = builder.inttoptr(arguments[0], function_type.as_pointer())
            return builder.call(function, [given.data, kept.data, size])

        return types.float64(types.int64, figures, room), write

    return ask


@replaced(_build_ask)
def ask(function: Any, figures: Any, room: Any) -> Any:
    """What a user's function says of these figures; compiled kernels know it by the address of its machine code."""
    return function(figures, room)


@kernel
def disorder_of_classes(work, counts, total):
    """Disorder of a set with these class weights."""
    if work.criterion == OWN:
        return total * ask(work.own, counts, work.room_of_own) if total > 0.0 else 0.0
    return class_disorder(counts, total, work.criterion)


@kernel
def own_disorder_of_sides(work, first_weight, second_weight):
    """Disorder of the two sides in `first` and `second`, by a criterion of the user's."""
    return disorder_of_classes(work, work.first, first_weight) + disorder_of_classes(work, work.second, second_weight)


@kernel
def disorder_of_moments(work, weight, mean, squares):
    """Disorder of numbers given their weight, mean and sum of squared deviations from it."""
    if work.criterion == OWN:
        if weight <= 0.0:
            return 0.0
        moments = work.moments
        moments[0], moments[1], moments[2] = weight, mean, squares / weight
        return weight * ask(work.own, moments, work.room_of_own)
    return moments_disorder(weight, mean, squares, work.mean, work.criterion)


@kernel
def has_refused(work):
    """Has a function of the user's given no finite number?"""
    return work.room_of_own[len(work.room_of_own) // 2] != 0.0
