"""The weighted impurity of a set of rows by the recipe's criterion, which may be a function of the user.

The kernels of single trees call these functions. A function of the user is called by its address. It is compiled alone,
and the kernels need not be compiled for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.engines.criteria import OWN, class_impurity, moments_impurity
from treewright.engines.exact.layout import LINE
from treewright.runtime.kernels import kernel, replaced


def _build_call_own() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def call_own(typing_context: Any, address: Any, figures: Any, workspace: Any, impurities: Any, count: Any) -> Any:
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

    return call_own


@replaced(_build_call_own)
def call_own(function: Any, figures: Any, workspace: Any, impurities: Any, count: Any) -> None:
    """Write the results of a user's function for `count` sets of figures; kernels call it by its address."""
    function(figures, workspace, impurities, count)


@kernel
def evaluate_all(work, figures, count):
    """Write the results of a user's function for `count` sets of figures into `impurities`.

    A function that is called as plain Python can be interrupted before its first line. It then has no result.
    """
    impurities, workspace = work.impurities, work.own_workspace
    impurities[0] = np.nan
    call_own(work.own, figures, workspace, impurities, count)
    if np.isnan(impurities[0]) and count > 0:
        workspace[len(workspace) // 2] = 1.0
        for place in range(count):
            impurities[place] = np.inf


@kernel
def evaluate_once(work, figures):
    """Return the result of a user's function for one set of figures."""
    evaluate_all(work, figures, np.int64(1))
    return work.impurities[0]


@kernel
def impurity_of_classes(work, counts, total):
    """Compute the weighted impurity of a set with these class weights."""
    if work.criterion == OWN:
        return total * evaluate_once(work, counts) if total > 0.0 else 0.0
    return class_impurity(counts[: work.n_classes], total, work.criterion)


@kernel
def own_impurity_of_sides(work, first_weight, second_weight):
    """Compute the weighted impurity of the two sides in `first` and `second`, by a criterion of the user."""
    return impurity_of_classes(work, work.first, first_weight) + impurity_of_classes(work, work.second, second_weight)


@kernel
def impurity_of_moments(work, weight, mean, squares):
    """Compute the weighted impurity of numbers from their weight, mean and sum of squared deviations from it."""
    if work.criterion == OWN:
        if weight <= 0.0:
            return 0.0
        figures = work.figures
        figures[0], figures[LINE], figures[2 * LINE] = weight, mean, squares / weight
        return weight * evaluate_once(work, figures)
    return moments_impurity(weight, mean, squares, work.mean, work.criterion)


@kernel
def has_refused(work):
    """Has a function of the user returned a number that is not finite?"""
    return work.own_workspace[len(work.own_workspace) // 2] != 0.0
