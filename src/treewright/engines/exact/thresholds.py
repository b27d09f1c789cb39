"""Search for the thresholds of one numeric column, for class targets.

A column is either sorted (keys) or counted (class weights per code). Both forms are scanned from the smallest value up.
Weight moves from the right side to the left, and the cut between each two neighbouring values is rated.
"""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import CLASS_MASK, code_of, row_of
from treewright.engines.bits import NONE, YES, ZERO, clear
from treewright.engines.criteria import BY_SIDES, GAIN_RATIO, OWN, class_impurity, split_bits, two_sides_impurity
from treewright.engines.exact.impurity import impurity_of_classes, own_impurity_of_sides
from treewright.engines.exact.layout import CLOSE, label_of
from treewright.engines.exact.monotonic import classes_in_order
from treewright.engines.exact.slots import keep_cut, keep_missing_apart, slot_floor, tie_width, uses_ratio
from treewright.engines.missing_values import (
    EVERY_VALUE,
    LEARNED,
    LEAVES_OUT,
    OWN_BRANCH,
)
from treewright.runtime.draws import draw_below, draw_share
from treewright.runtime.kernels import kernel

# Weka's C4.5 has no threshold between two values that are this close.
NO_CUT_WITHIN = 1e-5


@kernel
def takes_a_side(work):
    """Do all missing values of the current column go to one branch together?"""
    return work.n_missing > 0 and (work.strategy == LEARNED or work.strategy == OWN_BRANCH)


@kernel
def leaves_missing_out(work):
    """Are splits rated on the rows with a value only?"""
    return work.n_missing > 0 and LEAVES_OUT[work.strategy]


@kernel
def spreads_over_values(work):
    """Does a row with a missing value count as one row of each value that occurs?"""
    return work.n_missing > 0 and work.strategy == EVERY_VALUE


@kernel
def two_sides_bits(work, left_weight, right_weight):
    """Compute the split information of two sides, in bits times the weight; excluded rows are a separate branch."""
    bits = split_bits(left_weight, work.weight) + split_bits(right_weight, work.weight)
    if leaves_missing_out(work):
        bits += split_bits(work.weight - left_weight - right_weight, work.weight)
    return bits


@kernel
def score_of(work, gain):
    """Return the score by which splits are compared: the gain, or the gain per bit of split information.

    Of many categories only the gain counts that they do not have by chance.
    """
    if not uses_ratio(work):
        return gain - work.chance
    return (gain - work.chance) / work.bits if work.bits > 0.0 else 0.0


@kernel
def admits(work, left_rows, right_rows, left_weight, right_weight):
    """Are both sides large enough? Rows are counted; C4.5 uses known weights instead."""
    if work.quinlan:
        least = work.min_leaf_weight - CLOSE
        return left_weight >= least and right_weight >= least
    return left_rows >= work.min_samples_leaf and right_rows >= work.min_samples_leaf


@kernel
def heavy_enough(work, left_weight, right_weight):
    """Do both sides have the least weight of a leaf?"""
    return work.min_weight_leaf <= 0.0 or min(left_weight, right_weight) >= work.min_weight_leaf


@kernel
def count_missing(keys, missing_code):
    """Count the missing values, which are at the end of a sorted column."""
    n_missing = 0
    while n_missing < len(keys) and code_of(keys[len(keys) - 1 - n_missing]) == missing_code:
        n_missing += 1
    return n_missing


@kernel
def count_values(keys, known):
    """Count the values that occur among the first `known` rows of a sorted column."""
    n_values = 0
    for i in range(known):
        if i == 0 or code_of(keys[i]) != code_of(keys[i - 1]):
            n_values += 1
    return n_values


@kernel
def draw_cut(work, column, first, last):
    """Draw a threshold uniformly between the smallest and the largest value, given by their codes.

    If thresholds are fixed, or the range is infinite, one of the cuts is drawn instead.
    """
    start = work.value_start[column]
    low = work.values[start + first]
    high = work.values[start + last]
    if work.fixed_cuts[column] or not np.isfinite(high - low):
        work.drawn_cut = first + draw_below(work.state, last - first)
        work.drawn = np.nan
        return
    threshold = low + draw_share(work.state) * (high - low)
    below, above = first, last
    while above - below > 1:
        middle = (below + above) // 2
        if work.values[start + middle] <= threshold:
            below = middle
        else:
            above = middle
    work.drawn_cut = below
    work.drawn = threshold if threshold < work.values[start + above] else work.values[start + below]


@kernel
def begin_sides(work, n_values):
    """Initialise an empty left side; the weights of the missing rows are already set, and `n_values` values occur."""
    known_weight = 0.0
    for k in range(work.n_classes):
        work.left[k] = 0.0
        work.known[k] = max(work.totals[k] - work.missing[k], 0.0)
        known_weight += work.known[k]
    work.base = work.impurity
    work.portion = 0.0
    if leaves_missing_out(work):
        work.base = impurity_of_classes(work, work.known, known_weight)
    elif spreads_over_values(work):
        work.portion = 1.0 / n_values
        for k in range(work.n_classes):
            work.known[k] = work.totals[k]


@kernel
def rate_sides(work, left_rows):
    """Rate the split of the known rows into those on the left and the others.

    Returns score, gain, whether missing values go left, the rows of the smaller side, and whether the split is
    admissible. Missing values that must join a side join the better one, and the heavier one if both are equally good.
    """
    first, second = work.first, work.second
    left_weight = right_weight = 0.0
    for k in range(work.n_classes):
        first[k] = work.left[k]
        second[k] = max(work.known[k] - work.left[k], 0.0)
        left_weight += first[k]
        right_weight += second[k]
    right_rows = work.hi - work.lo - work.n_missing - left_rows
    heavier = left_weight > right_weight
    if takes_a_side(work):
        return rate_with_missing(work, heavier, left_rows, right_rows, left_weight, right_weight)
    gain = gain_of_sides(work, left_weight, right_weight)
    admissible = admits(work, left_rows, right_rows, left_weight, right_weight)
    admissible = admissible and heavy_enough(work, left_weight, right_weight)
    admissible = admissible and classes_in_order(work, left_weight, right_weight)
    return score_of(work, gain), gain, heavier, min(left_rows, right_rows), admissible


@kernel
def gain_of_sides(work, first_weight, second_weight):
    """Compute the gain of the two sides in `first` and `second`; stores their split information if it is needed."""
    if work.criterion == GAIN_RATIO:
        work.bits = two_sides_bits(work, first_weight, second_weight)
    if work.criterion == OWN:
        return work.base - own_impurity_of_sides(work, first_weight, second_weight)
    # Separate from a criterion of the user, because a call by address between the two makes both slower.
    return work.base - (
        class_impurity(work.first[: work.n_classes], first_weight, work.criterion)
        + class_impurity(work.second[: work.n_classes], second_weight, work.criterion)
    )


@kernel
def rate_with_missing(work, heavier, left_rows, right_rows, left_weight, right_weight):
    """Do the same as `rate_sides`, with the missing rows first on the heavier side, then on the other."""
    missing_weight = 0.0
    for k in range(work.n_classes):
        missing_weight += work.missing[k]
    best_score, best_gain, best_left, best_balance, found = -np.inf, -np.inf, heavier, ZERO, False
    best_bits = 0.0
    for turn in range(2):
        to_left = heavier if turn == 0 else not heavier
        for k in range(work.n_classes):
            work.first[k] = work.left[k] + (work.missing[k] if to_left else 0.0)
            work.second[k] = max(work.known[k] - work.left[k], 0.0) + (0.0 if to_left else work.missing[k])
        first_weight = left_weight + (missing_weight if to_left else 0.0)
        second_weight = right_weight + (0.0 if to_left else missing_weight)
        gain = gain_of_sides(work, first_weight, second_weight)
        n_left = left_rows + (work.n_missing if to_left else ZERO)
        n_right = right_rows + (ZERO if to_left else work.n_missing)
        admissible = admits(work, n_left, n_right, left_weight, right_weight)
        admissible = admissible and heavy_enough(work, first_weight, second_weight)
        admissible = admissible and classes_in_order(work, first_weight, second_weight)
        score = score_of(work, gain)
        if turn == 0 or (admissible and not found) or (admissible == found and score > best_score + tie_width(work)):
            best_score, best_gain, best_left, best_balance = score, gain, to_left, min(n_left, n_right)
            best_bits, found = work.bits, admissible
    work.bits = best_bits
    return best_score, best_gain, best_left, best_balance, found


@kernel
def has_hot_loop(work):
    """Are there two classes, with every cut rated by its two sides? The two hot loops are for this case."""
    return (
        work.n_classes == 2
        and BY_SIDES[work.criterion]
        and work.criterion != OWN
        and work.min_weight_leaf <= 0.0
        and work.among == 1
        and not work.class_boundaries
        and not work.random_cuts
        and not spreads_over_values(work)
        and work.direction == 0
    )


@kernel
def better_side(work, left_0, left_1, left_rows, right_rows, counted):
    """Return the gain of a cut for two classes with missing values on the better admissible side; is that the left?"""
    missing_0, missing_1, criterion = work.missing[0], work.missing[1], work.criterion
    right_0, right_1 = work.known[0] - left_0, work.known[1] - left_1
    margin, n_missing = work.min_samples_leaf, work.n_missing
    gain_left = gain_right = -np.inf
    if left_rows + n_missing >= margin and right_rows >= margin:
        gain_left = work.base - two_sides_impurity(
            left_0 + missing_0, left_1 + missing_1, right_0, right_1, criterion, counted
        )
    if left_rows >= margin and right_rows + n_missing >= margin:
        gain_right = work.base - two_sides_impurity(
            left_0, left_1, right_0 + missing_0, right_1 + missing_1, criterion, counted
        )
    if abs(gain_left - gain_right) <= tie_width(work):
        to_left = left_0 + left_1 > right_0 + right_1
        return gain_left if to_left else gain_right, to_left
    return max(gain_left, gain_right), gain_left > gain_right


@kernel
def scan_keys_two_classes(work, keys, column):
    """Rate all cuts of a sorted column for two classes."""
    floor = slot_floor(work)
    criterion, weighted, weights = work.criterion, work.weighted, work.weights
    counted = not weighted
    known = len(keys) - work.n_missing
    if work.n_missing > 0:
        clear(work.missing, work.n_classes)
        for i in range(known, len(keys)):
            work.missing[keys[i] & CLASS_MASK] += weights[row_of(keys[i])]
        begin_sides(work, ZERO)
    sided = takes_a_side(work)
    base = work.base if work.n_missing > 0 else work.impurity
    total_0 = work.known[0] if work.n_missing > 0 else work.totals[0]
    total_1 = work.known[1] if work.n_missing > 0 else work.totals[1]
    missing_0, missing_1 = (work.missing[0], work.missing[1]) if sided else (0.0, 0.0)
    n = np.uint64(known)
    margin = np.uint64(work.min_samples_leaf)
    left_0 = left_1 = 0.0
    previous = code_of(keys[0])
    for i in range(n):
        key = keys[i]
        code = code_of(key)
        if code != previous:
            right_0, right_1 = total_0 - left_0, total_1 - left_1
            gain = base - two_sides_impurity(
                left_0, left_1, right_0 + missing_0, right_1 + missing_1, criterion, counted
            )
            if sided:
                with_left = base - two_sides_impurity(
                    left_0 + missing_0, left_1 + missing_1, right_0, right_1, criterion, counted
                )
                if max(gain, with_left) > floor:
                    gain, to_left = better_side(work, left_0, left_1, np.int64(i), np.int64(n - i), counted)
                    if gain > floor:
                        keep_cut(work, gain, gain, column, previous, code, to_left, ZERO)
                        floor = slot_floor(work)
            elif gain > floor and i >= margin and n - i >= margin:
                keep_cut(work, gain, gain, column, previous, code, YES, ZERO)
                floor = slot_floor(work)
            previous = code
        weight = weights[row_of(key)] if weighted else 1.0
        of_class_1 = weight * np.float64(key & CLASS_MASK)
        left_1 += of_class_1
        left_0 += weight - of_class_1
    if work.n_missing > 0:
        rate_missing_apart(work, column)


@kernel
def scan_counts_two_classes(work, column):
    """Rate all cuts of a counted column for two classes."""
    floor = slot_floor(work)
    criterion, counted = work.criterion, not work.weighted
    counts, code_rows, present, margin = work.counts, work.code_rows, work.present, work.min_samples_leaf
    if work.n_missing > 0:
        n_codes = work.n_codes[column]
        work.missing[0], work.missing[1] = counts[n_codes, 0], counts[n_codes, 1]
        begin_sides(work, ZERO)
    sided = takes_a_side(work)
    base = work.base if work.n_missing > 0 else work.impurity
    total_0 = work.known[0] if work.n_missing > 0 else work.totals[0]
    total_1 = work.known[1] if work.n_missing > 0 else work.totals[1]
    n_rows = work.hi - work.lo - work.n_missing
    left_0 = left_1 = 0.0
    left_rows = ZERO
    previous = NONE
    for p in range(work.n_present):
        code = present[p]
        if previous >= 0 and sided:
            gain, to_left = better_side(work, left_0, left_1, left_rows, n_rows - left_rows, counted)
            if gain > floor:
                keep_cut(work, gain, gain, column, previous, code, to_left, ZERO)
                floor = slot_floor(work)
        elif previous >= 0:
            gain = base - two_sides_impurity(left_0, left_1, total_0 - left_0, total_1 - left_1, criterion, counted)
            if gain > floor and min(left_rows, n_rows - left_rows) >= margin:
                keep_cut(work, gain, gain, column, previous, code, YES, ZERO)
                floor = slot_floor(work)
        previous = code
        left_rows += code_rows[code]
        left_0 += counts[code, 0]
        left_1 += counts[code, 1]
    if work.n_missing > 0 and work.n_present > 0:
        rate_missing_apart(work, column)


@kernel
def single_class(group):
    """Return the only class with weight in this group, -1 if there are several."""
    found = NONE
    for k in range(len(group)):
        if group[k] > 0.0:
            if found >= 0:
                return NONE
            found = np.int64(k)
    return found


@kernel
def rate_cut(work, column, previous, code, left_rows):
    """Rate the cut between two neighbouring values, unless another one has been drawn."""
    if work.drawn_cut >= 0 and not previous <= work.drawn_cut < code:
        return
    start = work.value_start[column]
    if work.quinlan and work.values[start + previous] + NO_CUT_WITHIN >= work.values[start + code]:
        return
    score, gain, missing_left, balance, admissible = rate_sides(work, left_rows)
    if admissible:
        work.n_rated += 1
        keep_cut(work, score, gain, column, previous, code, missing_left, balance)


@kernel
def rate_missing_apart(work, column):
    """Rate the split of known from missing values; all known rows are on one side."""
    if not takes_a_side(work) or work.drawn_cut >= 0:
        return
    known_rows = work.hi - work.lo - work.n_missing
    left_weight = right_weight = 0.0
    for k in range(work.n_classes):
        work.first[k], work.second[k] = work.known[k], work.missing[k]
        left_weight += work.known[k]
        right_weight += work.missing[k]
    gain = gain_of_sides(work, left_weight, right_weight)
    large_enough = admits(work, known_rows, work.n_missing, left_weight, right_weight)
    if large_enough and heavy_enough(work, left_weight, right_weight):
        keep_missing_apart(work, score_of(work, gain), gain, column, min(known_rows, work.n_missing))


@kernel
def step_right(work, column, previous, code, left_rows, class_before):
    """Rate the cut before the group of rows with this code, then move the group to the left side.

    Between two groups of the same single class no cut can be best (Fayyad and Irani 1992). Returns the only class of
    the group, -1 if there are several.
    """
    class_here = single_class(work.group[: work.n_classes]) if work.class_boundaries else NONE
    if previous >= 0 and (class_here < 0 or class_here != class_before):
        rate_cut(work, column, previous, code, left_rows)
    for k in range(work.n_classes):
        work.left[k] += work.group[k] + work.portion * work.missing[k]
    return class_here


@kernel
def scan_keys_classes(work, keys, column):
    """Rate the cuts of a sorted column for any number of classes."""
    known = len(keys) - work.n_missing
    clear(work.missing, work.n_classes)
    for i in range(known, len(keys)):
        work.missing[label_of(keys[i], work)] += work.weights[row_of(keys[i])]
    begin_sides(work, count_values(keys, known) if spreads_over_values(work) else ZERO)
    if work.random_cuts and code_of(keys[0]) < code_of(keys[known - 1]):
        draw_cut(work, column, code_of(keys[0]), code_of(keys[known - 1]))
    previous, class_before, start = NONE, NONE, ZERO
    while start < known:
        code = code_of(keys[start])
        clear(work.group, work.n_classes)
        end = start
        while end < known and code_of(keys[end]) == code:
            work.group[label_of(keys[end], work)] += work.weights[row_of(keys[end])]
            end += 1
        class_before = step_right(work, column, previous, code, start, class_before)
        previous, start = code, end
    rate_missing_apart(work, column)


@kernel
def scan_counts_classes(work, column):
    """Rate the cuts of a counted column for any number of classes."""
    if work.n_present < (1 if takes_a_side(work) else 2):
        return
    n_codes = work.n_codes[column]
    for k in range(work.n_classes):
        work.missing[k] = work.counts[n_codes, k]
    begin_sides(work, work.n_present)
    if work.random_cuts and work.n_present > 1:
        draw_cut(work, column, work.present[0], work.present[work.n_present - 1])
    previous, class_before, left_rows = NONE, NONE, ZERO
    for p in range(work.n_present):
        code = work.present[p]
        for k in range(work.n_classes):
            work.group[k] = work.counts[code, k]
        class_before = step_right(work, column, previous, code, left_rows, class_before)
        previous = code
        left_rows += work.code_rows[code]
    rate_missing_apart(work, column)
