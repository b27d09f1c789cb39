"""The rules of C4.5 only: limits on the sides of a threshold, the cost of its choice, and the choice of the column."""

from __future__ import annotations

from math import log2

import numpy as np

from treewright.encoding.keys import CLASS_MASK, code_of, row_of
from treewright.engines.bits import NONE, ZERO, clear
from treewright.engines.criteria import least_bits, two_class_impurity
from treewright.engines.exact.layout import CLOSE
from treewright.engines.exact.slots import keep_cut, slot_floor
from treewright.engines.exact.thresholds import NO_CUT_WITHIN, begin_sides, two_sides_bits
from treewright.runtime.kernels import kernel


@kernel
def known_weight(work, column):
    """Compute the weight of the node's rows with a value in this column."""
    if not work.has_missing[column]:
        return work.weight
    known = 0.0
    n_codes, weights = work.n_codes[column], work.weights
    if work.is_wide[column]:
        # Missing values are at the end.
        keys = work.keys[column]
        last = work.hi
        while last > work.lo and code_of(keys[last - 1]) == n_codes:
            last -= 1
        for i in range(np.uint64(work.lo), np.uint64(last)):
            known += weights[row_of(keys[i])]
        return known
    rows, codes = work.rows, work.codes[column]
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        row = rows[i]
        if np.int64(codes[row]) < n_codes:
            known += weights[row]
    return known


@kernel
def least_side(work, known):
    """Return the least weight on each side of a threshold: a tenth of the average class, from M up to 25."""
    least = 0.1 * known / work.all_classes
    if least <= work.min_samples_leaf:
        return np.float64(work.min_samples_leaf)
    return min(least, 25.0)


@kernel
def scan_two_classes(work, keys, column):
    """Rate the cuts of a sorted column for two classes, without missing values.

    The entropy of a cut is computed only if a lower bound of it leaves the cut a chance to be the best.
    """
    known = len(keys) - work.n_missing
    weights, values = work.weights, work.values
    start = work.value_start[column]
    clear(work.missing, work.n_classes)
    for i in range(known, len(keys)):
        work.missing[keys[i] & CLASS_MASK] += weights[row_of(keys[i])]
    begin_sides(work, ZERO)
    base, total_0, total_1 = work.base, work.known[0], work.known[1]
    total, least, criterion = total_0 + total_1, work.min_leaf_weight - CLOSE, work.criterion
    floor = slot_floor(work)
    n_rated = ZERO
    left_0 = left_1 = 0.0
    previous = code_of(keys[0])
    for i in range(np.uint64(known)):
        key = keys[i]
        code = code_of(key)
        if code != previous:
            left = left_0 + left_1
            # The weights are tested first: most rows are between the limits, and most values differ.
            if (
                left >= least
                and total - left >= least
                and values[start + previous] + NO_CUT_WITHIN < values[start + code]
            ):
                n_rated += 1
                right_0, right_1 = max(total_0 - left_0, 0.0), max(total_1 - left_1, 0.0)
                if base - (least_bits(left_0, left_1) + least_bits(right_0, right_1)) > floor:
                    gain = base - (
                        two_class_impurity(left_0, left_1, criterion) + two_class_impurity(right_0, right_1, criterion)
                    )
                    if gain > floor:
                        work.bits = two_sides_bits(work, left, right_0 + right_1)
                        keep_cut(work, gain, gain, column, previous, code, left >= total - left, ZERO)
                        floor = slot_floor(work)
            previous = code
        weight = weights[row_of(key)]
        of_class_1 = weight * np.float64(key & CLASS_MASK)
        left_1 += of_class_1
        left_0 += weight - of_class_1
    work.n_rated = n_rated


@kernel
def note_column(work, column, known):
    """Record gain and gain ratio of the split just found; the gain is negative if there is none.

    A numeric column pays log2(cuts) bits for the choice of its threshold (Quinlan 1996).
    """
    work.column_gain[column] = -1.0
    if work.filled == 0:
        return
    gain, bits = work.slot_gain[0], work.slot_bits[0]
    if gain * known / work.weight < CLOSE:
        gain = 0.0
    if work.is_number[column]:
        gain -= log2(max(work.n_rated, 1))
        if gain <= CLOSE * work.weight:
            return
    work.column_gain[column] = gain
    work.column_ratio[column] = gain / bits if bits > CLOSE else 0.0


@kernel
def choose_column(work):
    """Return the column with the best gain ratio and at least average gain (Quinlan 1993); -1 if there is none.

    A column of very many categories does not count in the average, unless all columns are of that kind.
    """
    total = 0.0
    n_valid = 0
    for column in range(len(work.n_codes)):
        if work.column_gain[column] >= 0.0 and work.in_average[column]:
            total += work.column_gain[column]
            n_valid += 1
    if n_valid == 0:
        return NONE
    winner = NONE
    best = CLOSE
    for column in range(len(work.n_codes)):
        gain = work.column_gain[column]
        if gain < 0.0 or gain < total / n_valid - 0.001 * work.weight:
            continue
        if work.column_ratio[column] > best:
            winner = np.int64(column)
            best = work.column_ratio[column] + CLOSE
    return winner
