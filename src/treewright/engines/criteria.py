"""Criteria, which measure the impurity of the targets of a set of rows; `CRITERIA` is the one table of them.

A formula returns the weighted impurity: the impurity of a set times its weight. The gain of a split is the parent's
weighted impurity minus the children's. Each formula adds positive terms only. Two splits with the same true value
therefore agree to a few units in the last place, and the tie rule (first column wins) holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, log1p, log2, sqrt
from typing import Any

import numpy as np

from treewright.runtime.kernels import kernel

LN2 = log(2.0)


# The entropy at shares of k / N_CHORDS. It is concave, so the chords between these points lie below it.
N_CHORDS = 4096
CHORDS = np.array([0.0] + [-(p * log2(p) + (1 - p) * log2(1 - p)) for p in np.arange(1, N_CHORDS) / N_CHORDS] + [0.0])


@kernel
def least_bits(one, other):
    """Return a close lower bound of the entropy of two class weights times their sum, computed without logarithms."""
    if one <= 0.0 or other <= 0.0:
        return 0.0
    total = one + other
    place = min(one, other) / total * N_CHORDS
    chord = np.uint64(place)
    rise = CHORDS[chord + np.uint64(1)] - CHORDS[chord]
    return total * (CHORDS[chord] + (place - np.float64(chord)) * rise) * (1.0 - 1e-12)


@kernel
def entropy(counts, total):
    """Number of bits that encode the class of every row of a set with these class weights."""
    bits = 0.0
    for count in counts:
        if count > 0.0 and count < total:
            bits += count * log1p((total - count) / count)
    return bits / LN2


@kernel
def entropy_of_two(one, other):
    return (one * log1p(other / one) + other * log1p(one / other)) / LN2


@kernel
def gini(counts, total):
    """Expected number of misclassified rows if classes are drawn with the frequencies of the set."""
    wrong = 0.0
    for count in counts:
        if count > 0.0:
            wrong += count * max(total - count, 0.0)
    return wrong / total


@kernel
def gini_of_two(one, other):
    return 2.0 * one * other / (one + other)


@kernel
def error(counts, total):
    """Number of rows that are not of the most common class."""
    largest = 0.0
    for count in counts:
        largest = max(largest, count)
    return max(total - largest, 0.0)


@kernel
def error_of_two(one, other):
    return min(one, other)


@kernel
def split_bits(weight, total):
    """Term of one branch in the split information, in bits times the total weight."""
    if weight <= 0.0 or weight >= total:
        return 0.0
    return weight * log2(total / weight)


@kernel
def squared_error(weight, mean, squares, node_mean):
    """Sum of squared deviations from the mean."""
    return squares


@kernel
def standard_deviation(weight, mean, squares, node_mean):
    """Standard deviation times the weight."""
    return sqrt(weight * squares)


@kernel
def poisson_deviance(weight, mean, squares, node_mean):
    """Half the deviance minus that of the whole node, so it is never positive.

    It is not defined for a side whose mean is not positive, and is then infinite.
    """
    if mean <= 0.0:
        return np.inf
    return -weight * mean * log(mean / node_mean)


@kernel
def join_moments(weight, mean, squares, other_weight, other_mean, other_squares):
    """Weight, mean and squared deviations of the union of two sets (Chan, Golub and LeVeque 1979)."""
    if weight <= 0.0:
        return other_weight, other_mean, other_squares
    if other_weight <= 0.0:
        return weight, mean, squares
    total = weight + other_weight
    apart = other_mean - mean
    joint_mean = mean + apart * (other_weight / total)
    return total, joint_mean, squares + other_squares + apart * apart * (weight * other_weight / total)


@dataclass(frozen=True)
class Criterion:
    """A row of the table of criteria.

    Parameters
    ----------
    name : str
        Name for users.
    of_classes : bool
        Whether the target has classes. Otherwise it is numeric.
    formula : kernel or None
        The weighted impurity. For classes, a function of the class weights and their sum. For numbers, a function of
        weight, mean, sum of squared deviations and the mean of the whole node. None where moments do not suffice.
    of_two : kernel or None
        The same for two classes, as a function of their two weights, where a shorter formula is faster.
    concave : bool
        Whether no split increases it. A split without gain is then allowed, and no split is better than a pure one.
    by_sides : bool
        Whether the rating of a cut depends on its two sides only, so that many cuts of a column can be rated at once.
    ordered : bool
        Whether the best subset of categories is found in the order of class share (two classes) or mean.
    on_bins : bool
        Whether forests on bins support it.
    monotonic : bool
        Whether forests on bins support monotonic constraints with it.
    by_level : bool
        Whether oblivious trees support it.
    effort : int
        Time relative to gini, which is larger if trees are deep or sides are not summed up in one step.
    """

    name: str
    of_classes: bool
    formula: Callable[..., Any] | None
    of_two: Callable[..., Any] | None = None
    concave: bool = True
    by_sides: bool = True
    ordered: bool = True
    on_bins: bool = False
    monotonic: bool = False
    by_level: bool = False
    effort: int = 1


# The code of a criterion in kernels is its position here. Each classifier and regressor offers the criteria of its kind
# of target in this order, the default first.
_TABLE = (
    Criterion("gini", True, gini, gini_of_two, on_bins=True, monotonic=True, by_level=True),
    Criterion("information_gain", True, entropy, entropy_of_two, on_bins=True, by_level=True),
    # Its rating depends on the split information, too.
    Criterion("gain_ratio", True, entropy, entropy_of_two, by_sides=False, ordered=False, effort=8),
    # It has so many ties that the most balanced cut is chosen among them, cut by cut.
    Criterion("error", True, error, error_of_two, by_sides=False, by_level=True, effort=4),
    Criterion("squared_error", False, squared_error, on_bins=True, monotonic=True, by_level=True),
    Criterion("sdr", False, standard_deviation, ordered=False, effort=4),
    # Medians are updated row by row.
    Criterion("absolute_error", False, None, by_sides=False, ordered=False, effort=16),
    Criterion("poisson", False, poisson_deviance, by_level=True, effort=4),
)

CRITERIA = {criterion.name: criterion for criterion in _TABLE}
CODES = {criterion.name: code for code, criterion in enumerate(_TABLE)}
NAMES = tuple(CRITERIA)

GINI, INFORMATION_GAIN, GAIN_RATIO, ERROR = (
    CODES[name] for name in ("gini", "information_gain", "gain_ratio", "error")
)
SQUARED_ERROR, SDR = CODES["squared_error"], CODES["sdr"]
ABSOLUTE_ERROR, POISSON = CODES["absolute_error"], CODES["poisson"]
OWN = len(_TABLE)  # a function of the user, see `exact.impurity` and `exact.own_criterion`
OWN_EFFORT = 2

# Kernels look up the flags of a criterion by its code. The last entry is for a function of the user.
IS_CONCAVE = np.array([*(criterion.concave for criterion in _TABLE), False])
BY_SIDES = np.array([*(criterion.by_sides for criterion in _TABLE), True])
ORDERED = np.array([*(criterion.ordered for criterion in _TABLE), True])


def criteria_of(classes: bool, **flags: bool) -> tuple[str, ...]:
    """Return the names of the criteria for classes, or for numbers, that have these flags.

    >>> criteria_of(classes=False, by_level=True)
    ('squared_error', 'poisson')
    """
    return tuple(
        criterion.name
        for criterion in _TABLE
        if criterion.of_classes == classes and all(getattr(criterion, flag) == value for flag, value in flags.items())
    )


def criterion_effort(code: int) -> int:
    """Return the time of a criterion relative to gini."""
    return OWN_EFFORT if code == OWN else _TABLE[code].effort


def _write_choice(name: str, arguments: str, guard: str, calls: list[tuple[int, str]]) -> Any:
    """Write the kernel that calls the formula of a criterion; the impurity by an unknown criterion is NaN."""
    lines = [f"def {name}({arguments}, criterion):", f"    if {guard}:", "        return 0.0"]
    for code, call in calls:
        lines += [f"    if criterion == {code}:", f"        return {call}"]
    made: dict[str, Any] = {}
    exec("\n".join([*lines, "    return np.nan"]), globals(), made)
    return kernel(made[name])


def _call_of_two(criterion: Criterion) -> str:
    if criterion.of_two is not None:
        return f"{criterion.of_two.__name__}(one, other)"
    assert criterion.formula is not None
    return f"{criterion.formula.__name__}((one, other), one + other)"


_of_classes = [(CODES[criterion.name], criterion) for criterion in _TABLE if criterion.of_classes]
_of_numbers = [(CODES[criterion.name], criterion) for criterion in _TABLE if not criterion.of_classes]

# Weighted impurity of a set with these class weights.
class_impurity = _write_choice(
    "class_impurity",
    "counts, total",
    "total <= 0.0",
    [(code, f"{criterion.formula.__name__}(counts, total)") for code, criterion in _of_classes],  # type: ignore[union-attr]
)

# The same for two classes.
two_class_impurity = _write_choice(
    "two_class_impurity",
    "one, other",
    "one <= 0.0 or other <= 0.0",
    [(code, _call_of_two(criterion)) for code, criterion in _of_classes],
)

# Weighted impurity of numbers, from their weight, mean and sum of squared deviations from it.
moments_impurity = _write_choice(
    "moments_impurity",
    "weight, mean, squares, node_mean",
    "weight <= 0.0",
    [
        (code, f"{criterion.formula.__name__}(weight, mean, squares, node_mean)")
        for code, criterion in _of_numbers
        if criterion.formula is not None
    ],
)


@kernel
def two_sides_impurity(left_0, left_1, right_0, right_1, criterion, counted):
    """Compute the weighted impurity of two sides of two classes.

    For counted rows, whose products cannot overflow, gini needs one division only.
    """
    if criterion == GINI and counted:
        left, right = left_0 + left_1, right_0 + right_1
        return 2.0 * (left_0 * left_1 * right + right_0 * right_1 * left) / (left * right)
    return two_class_impurity(left_0, left_1, criterion) + two_class_impurity(right_0, right_1, criterion)
