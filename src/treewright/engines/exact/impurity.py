"""The weighted impurity of a set of rows by the recipe's criterion, which may be a function of the user's.

Kernels of single trees ask here. A function of the user's is called by its address, so that it is compiled alone, and
the kernels need not be compiled for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.engines.criteria import OWN, class_impurity, moments_impurity
from treewright.engines.exact.layout import LINE
from treewright.runtime.jit import kernel, replaced


def _build_ask() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def ask(typing_context: Any, address: Any, figures: Any, workspace: Any, impurities: Any, count: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            places = [
                context.make_array(kind)(context, builder, argument).data
                for kind, argument in zip(signature.args[1:4], arguments[1:4], strict=True)
            ]
            function_type = ir.FunctionType(ir.VoidType(), [*(place.type for place in places), arguments[4].type])
            function = builder.inttoptr(arguments[0], function_type.as_pointer())
            builder.call(function, [*places, arguments[4]])
            return context.get_dummy_value()

        return types.void(types.int64, figures, workspace, impurities, types.int64), write

    return ask


@replaced(_build_ask)
def ask(function: Any, figures: Any, workspace: Any, impurities: Any, count: Any) -> None:
    """Write what a user's function says of so many sets of figures; kernels know it by the address of its code."""
    function(figures, workspace, impurities, count)


@kernel
def ask_all(work, figures, count):
    """Write what a user's function says of so many sets of figures into `impurities`.

    One that is called as plain Python may be interrupted before its first line. Then there is no answer.
    """
    impurities, workspace = work.impurities, work.own_workspace
    impurities[0] = np.nan
    ask(work.own, figures, workspace, impurities, count)
    if np.isnan(impurities[0]) and count > 0:
        workspace[len(workspace) // 2] = 1.0
        for place in range(count):
            impurities[place] = np.inf


@kernel
def ask_once(work, figures):
    """What a user's function says of one set of figures."""
    ask_all(work, figures, np.int64(1))
    return work.impurities[0]


@kernel
def impurity_of_classes(work, counts, total):
    """Weighted impurity of a set with these class weights."""
    if work.criterion == OWN:
        return total * ask_once(work, counts) if total > 0.0 else 0.0
    return class_impurity(counts, total, work.criterion)


@kernel
def own_impurity_of_sides(work, first_weight, second_weight):
    """Weighted impurity of the two sides in `first` and `second`, by a criterion of the user's."""
    return impurity_of_classes(work, work.first, first_weight) + impurity_of_classes(work, work.second, second_weight)


@kernel
def impurity_of_moments(work, weight, mean, squares):
    """Weighted impurity of numbers given their weight, mean and sum of squared deviations from it."""
    if work.criterion == OWN:
        if weight <= 0.0:
            return 0.0
        figures = work.figures
        figures[0], figures[LINE], figures[2 * LINE] = weight, mean, squares / weight
        return weight * ask_once(work, figures)
    return moments_impurity(weight, mean, squares, work.mean, work.criterion)


@kernel
def has_refused(work):
    """Has a function of the user's given no finite number?"""
    return work.own_workspace[len(work.own_workspace) // 2] != 0.0
