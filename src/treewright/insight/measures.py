"""The measures behind a split, as plain functions for checking a tree by hand.

Counts may be fractional, as they are when rows carry weights. Entropies are in bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

Measure = Callable[[Sequence[float]], float]


class ThresholdLine(NamedTuple):
    """One line of a table of thresholds: the class counts of both sides, their weighted impurity, and the gain."""

    threshold: float
    left: tuple[int, ...]
    right: tuple[int, ...]
    after: float
    gain: float


def entropy(counts: Iterable[float]) -> float:
    """Bits needed to name the class of one row drawn from `counts`.

    >>> round(entropy([9, 5]), 4)
    0.9403
    """
    return 0.0 - math.fsum(share * math.log2(share) for share in _shares(_as_counts(counts)) if share > 0.0)


def gini(counts: Iterable[float]) -> float:
    """Probability that two rows drawn from `counts`, with replacement, are of different classes.

    >>> round(gini([3, 7]), 4)
    0.42
    """
    return math.fsum(share * (1.0 - share) for share in _shares(_as_counts(counts)))


def error_rate(counts: Iterable[float]) -> float:
    """Share of the rows that the majority class gets wrong.

    >>> error_rate([160, 40])
    0.2
    """
    checked = sorted(_as_counts(counts))
    total = math.fsum(checked)
    return math.fsum(checked[:-1]) / total if total > 0.0 else 0.0


def information_gain(parent_counts: Iterable[float], children_counts: Iterable[Iterable[float]]) -> float:
    """Bits of entropy that a split removes: the parent's less the weighted mean of the children's.

    Parameters
    ----------
    parent_counts : weight of each class before the split.
    children_counts : the same for each branch; the branches must add up to the parent.

    >>> round(information_gain([9, 5], [[2, 3], [4, 0], [3, 2]]), 4)
    0.2467
    """
    return _decrease(entropy, *_as_split(parent_counts, children_counts))


def gini_decrease(parent_counts: Iterable[float], children_counts: Iterable[Iterable[float]]) -> float:
    """Gini impurity that a split removes; the parameters are those of `information_gain`.

    >>> round(gini_decrease([3, 7], [[3, 3], [0, 4]]), 4)
    0.12
    """
    return _decrease(gini, *_as_split(parent_counts, children_counts))


def split_info(children_counts: Iterable[float | Iterable[float]]) -> float:
    """Bits needed to name the branch of one row: the entropy of the branch sizes.

    Parameters
    ----------
    children_counts : for each branch its class counts, or just its size.

    >>> round(split_info([[2, 3], [4, 0], [3, 2]]), 4)
    1.5774
    >>> split_info([7, 7])
    1.0
    """
    return entropy(_size(child) for child in children_counts)


def gain_ratio(parent_counts: Iterable[float], children_counts: Iterable[Iterable[float]]) -> float:
    """Information gain per bit of split information, 0 where all rows follow one branch.

    >>> round(gain_ratio([9, 5], [[2, 3], [4, 0], [3, 2]]), 4)
    0.1564
    """
    parent, children = _as_split(parent_counts, children_counts)
    bits = split_info(children)
    return _decrease(entropy, parent, children) / bits if bits > 0.0 else 0.0


def sum_squared_error(values: Iterable[float]) -> float:
    """Sum of the squared distances of the values from their mean.

    >>> round(sum_squared_error([0.9, 0.8, 0.1, 0.85]), 6)
    0.426875
    """
    numbers = _as_numbers(values, "values")
    if not numbers:
        raise ValueError("values are empty; give at least one number")
    mean = math.fsum(numbers) / len(numbers)
    return math.fsum((number - mean) ** 2 for number in numbers)


def standard_deviation_reduction(values: Iterable[float], groups: Iterable[Hashable]) -> float:
    """Standard deviation that grouping removes: that of all values less the weighted mean of the groups'.

    The standard deviation is that of a population: squared distances are divided by the number of values.

    Parameters
    ----------
    values : the numbers to predict.
    groups : for each value the branch it falls into.

    >>> round(standard_deviation_reduction([0.9, 0.8, 0.1, 0.85], ["warm", "warm", "cold", "warm"]), 4)
    0.2961
    """
    numbers, labels = _as_numbers(values, "values"), list(groups)
    _check_lengths(numbers, "values", labels, "groups")
    if any(_is_missing(label) for label in labels):
        raise ValueError("groups have missing labels; name them or leave those rows out")
    branches: dict[Hashable, list[float]] = {}
    for number, label in zip(numbers, labels, strict=True):
        branches.setdefault(label, []).append(number)
    after = math.fsum(len(branch) * _standard_deviation(branch) for branch in branches.values())
    return max(0.0, _standard_deviation(numbers) - after / len(numbers))


def candidate_thresholds(
    values: Iterable[float], target: Iterable[Any], measure: Measure | str = "entropy"
) -> list[tuple[float, float]]:
    """Every midpoint between neighbouring distinct values, with the gain of splitting there.

    Rows whose value or target is missing are left out.

    Parameters
    ----------
    values : the numeric column.
    target : the class of each row, or its number for `sum_squared_error`.
    measure : `entropy`, `gini`, `error_rate`, `sum_squared_error`, one of these names, or a function of your
        own that takes class counts. The gain is the parent's measure less the weighted mean of the two
        sides', for `sum_squared_error` less their sum.

    >>> income, cheat = [60, 85, 95, 100, 220], ["no", "yes", "yes", "no", "no"]
    >>> for threshold, gain in candidate_thresholds(income, cheat, gini):
    ...     print(f"income <= {threshold}: {gain:.4f}")
    income <= 72.5: 0.0800
    income <= 90.0: 0.0133
    income <= 97.5: 0.2133
    income <= 160.0: 0.0800
    """
    chosen = _as_measure(measure)
    ascending, targets = _ascending_rows(list(values), list(target))
    gains = _squared_error_gains(targets) if chosen is sum_squared_error else _count_gains(targets, chosen)
    return [
        (_midpoint(lower, upper), gain)
        for (lower, upper), gain in zip(pairwise(ascending), gains, strict=True)
        if lower < upper
    ]


def threshold_table(
    values: Iterable[float], target: Iterable[Any], measure: Measure | str = "entropy"
) -> list[ThresholdLine]:
    """Every midpoint with the class counts of both sides and the weighted impurity, as textbooks print it.

    Parameters
    ----------
    values : the numeric column; rows whose value or target is missing are left out.
    target : the class of each row.
    measure : `entropy`, `gini`, `error_rate`, one of these names, or a function of your own that takes class counts.

    Returns
    -------
    list of `ThresholdLine`
        `threshold`, `left` and `right` (counts of the classes in ascending order), `after` (the weighted mean of the
        impurity of both sides) and `gain`.

    >>> income, cheat = [60, 85, 95, 100, 220], ["no", "yes", "yes", "no", "no"]
    >>> for line in threshold_table(income, cheat, "gini"):
    ...     print(line.threshold, line.left, line.right, f"{line.after:.4f}")
    72.5 (1, 0) (2, 2) 0.4000
    90.0 (1, 1) (2, 1) 0.4667
    97.5 (1, 2) (2, 0) 0.2667
    160.0 (2, 2) (1, 0) 0.4000
    """
    chosen = _as_measure(measure)
    if chosen is sum_squared_error:
        raise ValueError("a table of class counts needs classes; for numbers use candidate_thresholds")
    ascending, targets = _ascending_rows(list(values), list(target))
    classes = _in_order(targets)
    lines: list[ThresholdLine] = []
    left, right = [0] * len(classes), [targets.count(label) for label in classes]
    before = chosen(right) if right else 0.0
    for (lower, upper), label in zip(pairwise(ascending), targets, strict=False):
        place = classes.index(label)
        left[place], right[place] = left[place] + 1, right[place] - 1
        if lower < upper:
            after = (sum(left) * chosen(left) + sum(right) * chosen(right)) / len(targets)
            gain = max(0.0, before - after)
            lines.append(ThresholdLine(_midpoint(lower, upper), tuple(left), tuple(right), after, gain))
    return lines


def upper_error_bound(n: float, errors: float, confidence: float = 0.25, variant: str = "j48") -> float:
    """C4.5's upper bound of the errors of a leaf with n rows, of which so many are wrong (Quinlan 1993).

    It is the largest number of errors that is plausible at this confidence: of a binomial share, by the normal
    approximation with continuity correction, and exactly where no row is wrong. Pruning compares the bound of a leaf
    with the sum of the bounds of a subtree.

    Parameters
    ----------
    n : the weight of the rows.
    errors : the weight of those that are not of the predicted class.
    confidence : between 0 and 1; a smaller one gives a larger bound. Above 0.5 nothing is added.
    variant : "j48" for Weka's bound, "c4.5r8" for Quinlan's release 8, which interpolates the normal deviate.

    >>> round(upper_error_bound(6, 0), 4), round(upper_error_bound(14, 5), 4)
    (1.2378, 6.7611)
    """
    n, errors = _as_number(n, "n"), _as_number(errors, "errors")
    if not 0.0 <= errors <= n:
        raise ValueError(f"errors are a part of the rows, between 0 and {n:g}, not {errors:g}")
    share = _as_probability(confidence)
    if variant not in ("j48", "c4.5r8"):
        raise ValueError(f"variant is {variant!r}; give 'j48' or 'c4.5r8'")
    if n <= 0.0 or share > 0.5:
        return errors
    # Of a leaf with nearly only errors, all correct rows are added, or two thirds of them in release 8.
    z, all_wrong = (_interpolated_deviate(share), 0.67) if variant == "c4.5r8" else (_deviate(share), 1.0)
    if errors >= 1.0:
        return errors + _extra_errors(n, errors, z, all_wrong)
    none = n * (1.0 - (math.exp(math.log(share) / n) if share > 0.0 else 0.0))
    if errors < 1e-6:
        return errors + none
    return errors + none + errors * (_extra_errors(n, 1.0, z, all_wrong) - none)


def _deviate(confidence: float) -> float:
    """The normal deviate that is exceeded with this probability; very large for 0, where all may be wrong."""
    return NormalDist().inv_cdf(1.0 - confidence) if confidence > 0.0 else 1e9


def _interpolated_deviate(confidence: float) -> float:
    """The normal deviate as Quinlan's release 8 interpolates it between the entries of a table."""
    confidences = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00)
    deviates = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00)
    above = next(place for place, entry in enumerate(confidences) if entry >= confidence)
    if above == 0:
        return deviates[0]
    low, high = confidences[above - 1], confidences[above]
    return deviates[above - 1] + (deviates[above] - deviates[above - 1]) * (confidence - low) / (high - low)


def _extra_errors(n: float, errors: float, z: float, all_wrong: float) -> float:
    """The errors to add to at least one error."""
    if errors + 0.5 >= n:
        return max(all_wrong * (n - errors), 0.0)
    share, square = (errors + 0.5) / n, z * z
    root = math.sqrt(share / n - share * share / n + square / (4.0 * n * n))
    return (share + square / (2.0 * n) + z * root) / (1.0 + square / n) * n - errors


def chi_squared(children_counts: Iterable[Iterable[float]]) -> float:
    """Pearson's chi-squared value of a split: how far the class counts of the branches are from independence.

    Parameters
    ----------
    children_counts : the class counts of each branch.

    >>> round(chi_squared([[2, 3], [4, 0], [3, 2]]), 4)
    3.5467
    """
    children = [_as_counts(child) for child in children_counts]
    if not children:
        raise ValueError("a split needs at least one branch; give the class counts of each")
    _, children = _as_split([math.fsum(line) for line in zip(*children, strict=False)], children)
    of_class = [math.fsum(line) for line in zip(*children, strict=True)]
    total = math.fsum(of_class)
    terms = []
    for child in children:
        for count, known in zip(child, of_class, strict=True):
            expected = math.fsum(child) * known / total if total > 0.0 else 0.0
            terms += [(count - expected) ** 2 / expected] if expected > 0.0 else []
    return math.fsum(terms)


def majority_vote_error(n_members: int | Iterable[float], error: float | None = None) -> float:
    """Probability that a majority of independent members is wrong.

    A tie, possible when their number is even, is decided by a coin: it counts as half an error.

    Parameters
    ----------
    n_members : how many members vote; or, where they differ, the error of each.
    error : the probability that a member is wrong, the same for all; left out where each has its own.

    >>> round(majority_vote_error(25, 0.35), 4)
    0.0604
    >>> majority_vote_error(2, 0.5)
    0.5
    >>> round(majority_vote_error([0.1, 0.2, 0.3]), 3)    # 0.1*0.2 + 0.1*0.3 + 0.2*0.3 - 2*0.1*0.2*0.3
    0.098
    """
    if isinstance(n_members, Iterable) and not isinstance(n_members, str):
        if error is not None:
            raise ValueError("the members' errors are a list, so `error` is not used; give one of them")
        return _share_of_wrong_votes(_number_of_wrong([_as_probability(one) for one in n_members]))
    if isinstance(n_members, bool) or not hasattr(n_members, "__index__") or n_members < 1:
        raise ValueError(f"n_members is a list of errors, or a whole number of at least 1, not {n_members!r}")
    share = _as_probability(error)
    return share if share in (0.0, 1.0) else _share_of_wrong_votes(_relative_likelihoods(int(n_members), share))


def _as_probability(error: Any) -> float:
    try:
        share = float(error)
    except (TypeError, ValueError):
        share = math.nan
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"the error is the probability that a member is wrong, between 0 and 1, not {error!r}")
    return share


def _share_of_wrong_votes(likelihoods: list[float]) -> float:
    """The share of votes with more than half of the members wrong, given how likely 0, 1, .. errors are."""
    n = len(likelihoods) - 1
    wrong = likelihoods[n // 2 + 1 :]
    if n % 2 == 0:
        wrong.append(likelihoods[n // 2] / 2.0)
    return math.fsum(wrong) / math.fsum(likelihoods)


def _number_of_wrong(errors: list[float]) -> list[float]:
    """The probabilities of 0, 1, .. n errors of members that differ (the Poisson binomial distribution)."""
    if not errors:
        raise ValueError("the list of errors is empty; give at least one member")
    likelihoods = [1.0]
    for error in errors:
        right, wrong = [*likelihoods, 0.0], [0.0, *likelihoods]
        likelihoods = [(1.0 - error) * without + error * one for without, one in zip(right, wrong, strict=True)]
    return likelihoods


def _relative_likelihoods(n: int, p: float) -> list[float]:
    """How likely 0, 1, .. n errors are, relative to the likeliest number of errors.

    Neighbouring binomial probabilities differ by a simple factor, so that walking away from the likeliest one
    needs no factorial, which would overflow, and no logarithm of one, which would lose digits.
    """
    odds = p / (1.0 - p)
    likeliest = min(n, int((n + 1) * p))
    likelihoods = [0.0] * (n + 1)
    likelihoods[likeliest] = 1.0
    for errors in range(likeliest, n):
        likelihoods[errors + 1] = likelihoods[errors] * ((n - errors) / (errors + 1)) * odds
    for errors in range(likeliest, 0, -1):
        likelihoods[errors - 1] = likelihoods[errors] * (errors / (n - errors + 1)) / odds
    return likelihoods


def _decrease(measure: Measure, parent: list[float], children: list[list[float]]) -> float:
    """The parent's impurity less the weighted mean of its children's."""
    total = math.fsum(parent)
    if total == 0.0:
        return 0.0
    after = math.fsum(math.fsum(child) / total * measure(child) for child in children)
    # A concave measure never rises by a split; what falls below zero is rounding.
    return max(0.0, measure(parent) - after)


def _ascending_rows(values: list[Any], target: list[Any]) -> tuple[list[float], list[Any]]:
    """Rows without missing values in ascending order of their value: the values and the targets."""
    _check_lengths(values, "values", target, "target")
    rows = [
        (_as_number(value, "values"), known)
        for value, known in zip(values, target, strict=True)
        if not _is_missing(value) and not _is_missing(known)
    ]
    rows.sort(key=lambda row: row[0])
    return [value for value, _ in rows], [known for _, known in rows]


def _in_order(targets: list[Any]) -> list[Any]:
    """The classes in ascending order, or in order of appearance if they cannot be compared."""
    classes = list(dict.fromkeys(targets))
    try:
        return sorted(classes)
    except TypeError:
        return classes


def _count_gains(targets: list[Any], measure: Measure) -> list[float]:
    """Gain of cutting after the first row, after the second, .. of rows in ascending order."""
    index = {label: position for position, label in enumerate(dict.fromkeys(targets))}
    left, right = [0.0] * len(index), [0.0] * len(index)
    for label in targets:
        right[index[label]] += 1.0
    parent = list(right)
    gains = []
    for label in targets[:-1]:
        left[index[label]] += 1.0
        right[index[label]] -= 1.0
        gains.append(_decrease(measure, parent, [left, right]))
    return gains


def _squared_error_gains(targets: list[Any]) -> list[float]:
    """The same for numbers: sides of a and b rows gain ab/(a+b) times the squared distance of means."""
    numbers = _as_numbers(targets, "target")
    n = len(numbers)
    mean = math.fsum(numbers) / n if n else 0.0
    gains, left = [], 0.0
    for size, number in enumerate(numbers[:-1], start=1):
        left += number - mean
        gains.append(left * left * n / (size * (n - size)))
    return gains


def _midpoint(lower: float, upper: float) -> float:
    """The middle, halved before adding so that it cannot overflow; below `upper` even between neighbours."""
    middle = 0.5 * lower + 0.5 * upper
    return middle if lower <= middle < upper else lower


def _standard_deviation(values: list[float]) -> float:
    return math.sqrt(sum_squared_error(values) / len(values))


def _shares(counts: list[float]) -> list[float]:
    total = math.fsum(counts)
    return [count / total for count in counts] if total > 0.0 else []


def _size(child: float | Iterable[float]) -> float:
    if isinstance(child, Iterable) and not isinstance(child, str):
        return math.fsum(_as_counts(child))
    return _as_number(child, "branch sizes")


def _as_counts(counts: Iterable[float]) -> list[float]:
    """Counts as floats, refused with one sentence where they are none."""
    if isinstance(counts, str) or not isinstance(counts, Iterable):
        raise ValueError(f"counts are a list with the weight of each class, not {counts!r}")
    checked = _as_numbers(counts, "counts")
    if not checked:
        raise ValueError("counts are empty; give the weight of each class")
    if min(checked) < 0.0:
        raise ValueError(f"counts cannot be negative, and {min(checked):g} is among them")
    return checked


def _as_split(
    parent_counts: Iterable[float], children_counts: Iterable[Iterable[float]]
) -> tuple[list[float], list[list[float]]]:
    """Parent and children as floats; the children must have the parent's classes and add up to it."""
    parent = _as_counts(parent_counts)
    children = [_as_counts(child) for child in children_counts]
    if not children:
        raise ValueError("a split needs at least one branch; give the class counts of each")
    for child in children:
        if len(child) != len(parent):
            raise ValueError(f"a branch has {len(child)} classes where its parent has {len(parent)}")
    for position, (before, after) in enumerate(zip(parent, zip(*children, strict=True), strict=True)):
        if not math.isclose(before, math.fsum(after), rel_tol=1e-9, abs_tol=1e-9 * math.fsum(parent)):
            raise ValueError(f"the branches hold {math.fsum(after):g} of class {position}, not {before:g}")
    return parent, children


def _as_numbers(values: Iterable[Any], what: str) -> list[float]:
    return [_as_number(value, what) for value in values]


def _as_number(value: Any, what: str) -> float:
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{what} must be finite numbers, and {value!r} is among them")
    return number


def _as_measure(measure: Measure | str) -> Measure:
    by_name: dict[str, Measure] = {
        "entropy": entropy,
        "gini": gini,
        "error_rate": error_rate,
        "sum_squared_error": sum_squared_error,
    }
    if callable(measure):
        return measure
    if measure not in by_name:
        raise ValueError(f"unknown measure {measure!r}; give a function or one of {', '.join(by_name)}")
    return by_name[measure]


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and NA: the values that are not equal to themselves, or whose comparison fails."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def _check_lengths(first: Sequence[Any], name: str, second: Sequence[Any], other: str) -> None:
    if len(first) != len(second):
        raise ValueError(f"{name} and {other} must be of the same length, not {len(first)} and {len(second)}")
    if not first:
        raise ValueError(f"{name} are empty; give at least one row")
