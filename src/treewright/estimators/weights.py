"""The weight of each row: the weight that the user gives, times the weight of its class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treewright.estimators.parameters import is_real, parameter_error
from treewright.table.argument_error import ArgumentError
from treewright.table.categories import some

# Products of larger weights with squares of targets may exceed the floats.
LARGEST_WEIGHT = 2.0**100


def read_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """One weight per row; a single number weighs every row the same.

    >>> read_weights(None, 3), read_weights([0, 1, 2], 3)
    (array([1., 1., 1.]), array([0., 1., 2.]))
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights = _as_numbers(sample_weight)
    if isinstance(sample_weight, np.ndarray) and weights.ndim == 0:
        raise ArgumentError(
            "Input should have at least 1 dimension i.e. satisfy `len(x.shape) > 0`, got scalar "
            f"`{weights!r}` instead. Give sample_weight one number per row"
        )
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has {weights.ndim} dimensions; give one weight per row, or a single number")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight.shape == ({len(weights)},), expected ({n_rows},); give one weight per row")
    _refuse(np.isnan(weights), "Input sample_weight contains NaN", "give 0 to leave a row out")
    _refuse(np.isinf(weights), "Input sample_weight contains infinity", "give finite weights")
    _refuse(weights < 0.0, "Negative values in data passed to `sample_weight`", "give 0 to leave a row out")
    return weights


def in_rows(weights: np.ndarray, total: float) -> np.ndarray:
    """The weights as numbers of rows, which learners compare with limits such as `min_samples_leaf`.

    Weights that sum to 1 or less are fractions of the table, and are scaled to a mean of 1. Weights so large that their
    products exceed the floats are divided by a power of two.

    >>> in_rows(np.array([0.25, 0.0, 0.75]), 1.0), bool(in_rows(np.array([2.0**120, 2.0**119]), 2.0**121)[1] == 2.0**99)
    (array([0.5, 0. , 1.5]), True)
    """
    largest = weights.max(initial=0.0)
    if largest > LARGEST_WEIGHT:
        return np.ldexp(weights, int(np.frexp(LARGEST_WEIGHT)[1] - np.frexp(largest)[1]))
    if 0.0 < total <= 1.0 + 1e-9 and (n_kept := np.count_nonzero(weights)) > 1:
        return (weights / total) * n_kept
    return weights


def read_class_weights(class_weight: Any, classes: list[Any], labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of a row of each class.

    "balanced" gives every class the same total weight. A row of weight 2 counts there as two rows.

    >>> labels, weights = np.array([0, 0, 0, 1]), np.ones(4)
    >>> read_class_weights("balanced", ["no", "yes"], labels, weights)
    array([0.66666667, 2.        ])
    >>> read_class_weights({"yes": 3}, ["no", "yes"], labels, weights)
    array([1., 3.])
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(labels, weights, minlength=len(classes))
        shares = np.zeros(len(classes))
        np.divide(totals.sum(), np.count_nonzero(totals) * totals, out=shares, where=totals > 0.0)
        return shares
    if not isinstance(class_weight, Mapping):
        raise parameter_error("class_weight", class_weight, "None, 'balanced' or a dict of class and weight")
    _check_class_weights(class_weight, classes)
    return np.array([float(class_weight.get(name, 1.0)) for name in classes])


def weigh_classes(class_weight: Any, classes: Sequence[Any], labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weights of the rows times the weights of their classes; None weights all classes the same."""
    if class_weight is None:
        return weights
    return weights * read_class_weights(class_weight, list(classes), labels, weights)[labels]


def read_costs(costs: Any, classes: list[Any]) -> np.ndarray | None:
    """The cost of each predicted class (a column) for rows of each class (a row); None if all errors cost the same.

    An error that is not named costs 1, a correct prediction nothing.

    >>> read_costs({("ill", "well"): 20}, ["ill", "well"])
    array([[ 0., 20.],
           [ 1.,  0.]])
    """
    if costs is None:
        return None
    if not isinstance(costs, Mapping) or not costs:
        raise parameter_error("misclassification_costs", costs, 'a dict such as {("actual", "predicted"): 5}, or None')
    matrix = 1.0 - np.eye(len(classes))
    place = {name: label for label, name in enumerate(classes)}
    for pair, cost in costs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"misclassification_costs has the key {pair!r}; give pairs of the actual and the predicted class"
            )
        if not is_real(cost) or cost < 0:
            raise ValueError(f"the cost of {pair!r} is {cost!r}; give a number of 0 or more")
        if pair[0] in place and pair[1] in place:
            matrix[place[pair[0]], place[pair[1]]] = float(cost)
    _check_names(list(dict.fromkeys(name for pair in costs for name in pair)), classes)
    if not matrix.any():
        raise ValueError("all misclassification_costs are 0, so every prediction is as good; give some error a cost")
    return matrix


def _check_names(named: list[Any], classes: list[Any]) -> None:
    """Refuse an unknown name if a class is left out, too: a typing error.

    A class alone may be absent, as in a fold.
    """
    unknown = [name for name in named if name not in classes]
    if unknown and any(name not in named for name in classes):
        raise ValueError(
            f"misclassification_costs names {unknown[0]!r}, which is no class of y; the classes are {some(classes)}"
        )


def altered_priors(costs: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of a row of each class during growth with unequal costs (Breiman et al. 1984); the total stays."""
    by_class = np.maximum(costs.sum(axis=1), 1e-9 * costs.sum())
    return np.asarray(by_class * (weights.sum() / (weights * by_class[labels]).sum()))


def _check_class_weights(class_weight: Mapping[Any, Any], classes: list[Any]) -> None:
    for name, weight in class_weight.items():
        if not is_real(weight) or weight < 0:
            raise ValueError(f"class_weight of {name!r} is {weight!r}; give a number of 0 or more")
    unknown = [name for name in class_weight if name not in classes]
    unweighted = [name for name in classes if name not in class_weight]
    # A class alone may be absent, as in a fold; an unknown name and an absent class are a typing error.
    if unknown and unweighted:
        raise ValueError(
            f"class_weight names {some(unknown)}, which is no class of y, and leaves out {some(unweighted)}"
        )


def _as_numbers(sample_weight: Any) -> np.ndarray:
    """An array of floats of its own, so that the kernels get memory they may read at full speed."""
    raw = np.asarray(sample_weight)
    if raw.dtype.kind not in "biufO":
        raise _not_numbers(raw)
    try:
        return np.array(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise _not_numbers(raw) from None


def _not_numbers(raw: np.ndarray) -> ValueError:
    return ValueError(f"sample_weight is not numeric (dtype {raw.dtype}); give one number per row")


def _refuse(wrong: np.ndarray, finding: str, advice: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        word = "row" if len(rows) == 1 else "rows"
        raise ValueError(f"{finding} ({word} {some(rows.tolist(), most=8)}); {advice}")
