"""Searching the thresholds of one numeric column, for class targets.

A column arrives either sorted (keys) or counted (class weights per code). Both ways walk through its values from the
smallest up, moving weight from the right side to the left, and rate the cut between each two neighbouring values.
"""

from __future__ import annotations

import numpy as np

from treewright.growth.criteria import ERROR, GAIN_RATIO, class_disorder, split_bits, two_sides_disorder
from treewright.growth.draws import draw_below, draw_share
from treewright.growth.jit import kernel
from treewright.growth.layout import CLASS_MASK, NONE, YES, ZERO, clear, code_of, label_of, row_of
from treewright.growth.slots import keep_cut, slot_floor, uses_ratio


@kernel
def score_of(gain, left_weight, right_weight, ratio):
    """What two sides are compared by: the gain, or the gain per bit of split information."""
    if not ratio:
        return gain
    total = left_weight + right_weight
    bits = split_bits(left_weight, total) + split_bits(right_weight, total)
    return gain / bits if bits > 0.0 else 0.0


@kernel
def admits(work, left_rows, right_rows, left_weight, right_weight):
    """Are both sides large enough? Rows are counted; C4.5 looks at known weights instead."""
    if work.quinlan:
        return left_weight >= work.min_leaf_weight and right_weight >= work.min_leaf_weight
    return left_rows >= work.min_samples_leaf and right_rows >= work.min_samples_leaf


@kernel
def count_missing(keys, missing_code):
    """Rows without a value stand at the end of a sorted column."""
    n_missing = 0
    while n_missing < len(keys) and code_of(keys[len(keys) - 1 - n_missing]) == missing_code:
        n_missing += 1
    return n_missing


@kernel
def draw_cut(work, column, first, last):
    """Draw a threshold evenly between the smallest and the largest value, given by their codes.

    Where thresholds are fixed, or the range is infinite, one of the cuts is drawn instead.
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
def begin_sides(work):
    """Nothing on the left yet; the weights of the missing rows have been filled in."""
    for k in range(work.n_classes):
        work.left[k] = 0.0
        work.known[k] = max(work.totals[k] - work.missing[k], 0.0)


@kernel
def rate_sides(work):
    """Score, gain, whether missing rows go left, and the known weight of both sides.

    Rows without a value follow the heavier side, the left one when both weigh the same.
    """
    first, second = work.first, work.second
    left_weight = right_weight = missing_weight = 0.0
    for k in range(work.n_classes):
        first[k] = work.left[k]
        second[k] = max(work.known[k] - work.left[k], 0.0)
        left_weight += first[k]
        right_weight += second[k]
    missing_left = left_weight >= right_weight
    if work.n_missing > 0:
        for k in range(work.n_classes):
            missing_weight += work.missing[k]
            if missing_left:
                first[k] += work.missing[k]
            else:
                second[k] += work.missing[k]
    first_weight = left_weight + (missing_weight if missing_left else 0.0)
    second_weight = right_weight + (0.0 if missing_left else missing_weight)
    gain = work.disorder - (
        class_disorder(first, first_weight, work.criterion) + class_disorder(second, second_weight, work.criterion)
    )
    score = score_of(gain, first_weight, second_weight, uses_ratio(work))
    return score, gain, missing_left, left_weight, right_weight


@kernel
def can_hurry(work):
    """Two classes, nothing missing, every cut rated by gini or entropy: the case the two hot loops are for."""
    return (
        work.n_classes == 2
        and work.n_missing == 0
        and work.criterion != ERROR
        and work.criterion != GAIN_RATIO
        and work.among == 1
        and not work.class_boundaries
        and not work.random_cuts
    )


@kernel
def scan_keys_two_classes(work, keys, column):
    """Rate all cuts of a sorted column for two classes."""
    floor = slot_floor(work)
    criterion, disorder, weighted, weights = work.criterion, work.disorder, work.weighted, work.weights
    counted = not weighted
    total_0, total_1 = work.totals[0], work.totals[1]
    n = np.uint64(len(keys))
    margin = np.uint64(work.min_samples_leaf)
    left_0 = left_1 = 0.0
    previous = code_of(keys[0])
    for i in range(n):
        key = keys[i]
        code = code_of(key)
        if code != previous:
            gain = disorder - two_sides_disorder(left_0, left_1, total_0 - left_0, total_1 - left_1, criterion, counted)
            if gain > floor and i >= margin and n - i >= margin:
                keep_cut(work, gain, gain, column, previous, code, YES, ZERO)
                floor = slot_floor(work)
            previous = code
        weight = weights[row_of(key)] if weighted else 1.0
        of_class_1 = weight * np.float64(key & CLASS_MASK)
        left_1 += of_class_1
        left_0 += weight - of_class_1


@kernel
def scan_counts_two_classes(work, column):
    """Rate all cuts of a counted column for two classes."""
    floor = slot_floor(work)
    criterion, disorder, counted = work.criterion, work.disorder, not work.weighted
    counts, code_rows, present, margin = work.counts, work.code_rows, work.present, work.min_samples_leaf
    total_0, total_1 = work.totals[0], work.totals[1]
    n_rows = work.hi - work.lo
    left_0 = left_1 = 0.0
    left_rows = ZERO
    previous = NONE
    for p in range(work.n_present):
        code = present[p]
        if previous >= 0:
            gain = disorder - two_sides_disorder(left_0, left_1, total_0 - left_0, total_1 - left_1, criterion, counted)
            if gain > floor and min(left_rows, n_rows - left_rows) >= margin:
                keep_cut(work, gain, gain, column, previous, code, YES, ZERO)
                floor = slot_floor(work)
        previous = code
        left_rows += code_rows[code]
        left_0 += counts[code, 0]
        left_1 += counts[code, 1]


@kernel
def single_class(group):
    """The only class with weight in this group, -1 if there are several."""
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
    score, gain, missing_left, left_weight, right_weight = rate_sides(work)
    if missing_left:
        left_rows += work.n_missing
    right_rows = work.hi - work.lo - left_rows
    if admits(work, left_rows, right_rows, left_weight, right_weight):
        work.n_rated += 1
        keep_cut(work, score, gain, column, previous, code, missing_left, min(left_rows, right_rows))


@kernel
def step_right(work, column, previous, code, left_rows, class_before):
    """Rate the cut before the group of rows with this code, then move the group to the left side.

    Between two groups of one and the same class no cut can be best (Fayyad and Irani 1992). Returns the only class
    of the group, -1 if there are several.
    """
    class_here = single_class(work.group) if work.class_boundaries else NONE
    if previous >= 0 and (class_here < 0 or class_here != class_before):
        rate_cut(work, column, previous, code, left_rows)
    for k in range(work.n_classes):
        work.left[k] += work.group[k]
    return class_here


@kernel
def scan_keys_classes(work, keys, column):
    """Rate the cuts of a sorted column for any number of classes."""
    known = len(keys) - work.n_missing
    clear(work.missing, work.n_classes)
    for i in range(known, len(keys)):
        work.missing[label_of(keys[i], work)] += work.weights[row_of(keys[i])]
    begin_sides(work)
    if work.random_cuts:
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


@kernel
def scan_counts_classes(work, column):
    """Rate the cuts of a counted column for any number of classes."""
    if work.n_present < 2:
        return
    n_codes = work.n_codes[column]
    for k in range(work.n_classes):
        work.missing[k] = work.counts[n_codes, k]
    begin_sides(work)
    if work.random_cuts:
        draw_cut(work, column, work.present[0], work.present[work.n_present - 1])
    previous, class_before, left_rows = NONE, NONE, ZERO
    for p in range(work.n_present):
        code = work.present[p]
        for k in range(work.n_classes):
            work.group[k] = work.counts[code, k]
        class_before = step_right(work, column, previous, code, left_rows, class_before)
        previous = code
        left_rows += work.code_rows[code]
