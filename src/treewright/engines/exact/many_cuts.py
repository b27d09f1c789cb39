"""Rating many cuts of a column at a time, where no special loop is faster.

The figures of the cuts wait in a queue until there are enough of them. The loops are therefore short. A criterion of
the user rates many cuts in one call, because a call for a single cut would take as long as its computation.
"""

from __future__ import annotations

from math import log2

import numpy as np

from treewright.encoding.keys import code_of, row_of
from treewright.engines.bits import NO, ONE, ZERO, clear
from treewright.engines.criteria import (
    BY_SIDES,
    GINI,
    INFORMATION_GAIN,
    OWN,
    class_impurity,
    join_moments,
    moments_impurity,
)
from treewright.engines.exact.impurity import evaluate_all, impurity_of_moments
from treewright.engines.exact.layout import LINE, label_of
from treewright.engines.exact.slots import keep_cut, keep_missing_apart, slot_floor, tie_width
from treewright.engines.exact.thresholds import (
    begin_sides,
    leaves_missing_out,
    rate_missing_apart,
    spreads_over_values,
    takes_a_side,
)
from treewright.runtime.kernels import kernel

NO_ROWS = np.uint64(0)
TWO_SIDES = np.uint64(2)
FOUR_SIDES = np.uint64(4)
LINE_LENGTH = np.uint64(LINE)
TWO_LINES = np.uint64(2 * LINE)
# Largest rounding error of a rough gain, as a share of the weight of the node.
ROUGH = 1e-7
QUARTER, TWO_QUARTERS, THREE_QUARTERS = (np.uint64(quarters * LINE // 4) for quarters in (1, 2, 3))


@kernel
def rates_many_cuts(work):
    """Are all cuts of the column rated, by their two sides alone?"""
    counts_all = not (work.class_boundaries or work.random_cuts or spreads_over_values(work))
    return BY_SIDES[work.criterion] and counts_all and work.min_weight_leaf <= 0.0 and work.direction == 0


@kernel
def queue_sides(figures, place, left, known, n_classes):
    """Write the class weights of both sides of a cut into the queue; returns the weights of the sides."""
    right_place = place + n_classes
    left_weight = right_weight = 0.0
    for k in range(n_classes):
        of_left, of_right = left[k], max(known[k] - left[k], 0.0)
        figures[place + k] = of_left
        figures[right_place + k] = of_right
        left_weight += of_left
        right_weight += of_right
    return left_weight, right_weight


@kernel
def add_missing(figures, place, missing, n_classes):
    """Add the missing rows to a side; returns their weight."""
    weight = 0.0
    for k in range(n_classes):
        figures[place + k] += missing[k]
        weight += missing[k]
    return weight


@kernel
def queue_cut(queue, place, cut, sides, n_classes, sided):
    """Append a cut to the queue; returns the position of the next one.

    `cut` contains the codes before and after it and the number of rows before it. `sides` contains the class weights
    before it, those of all known rows and those of the missing rows. If the latter join a side, there are two variants:
    first on the left, then on the right.
    """
    figures, weights, codes = queue
    left, known, missing = sides
    codes[place], codes[place + ONE] = cut[0], cut[1]
    weights[place], weights[place + ONE] = queue_sides(figures, place * n_classes, left, known, n_classes)
    if not sided:
        return place + TWO_SIDES
    weights[place] += add_missing(figures, place * n_classes, missing, n_classes)
    place += TWO_SIDES
    codes[place] = cut[2]
    weights[place], weights[place + ONE] = queue_sides(figures, place * n_classes, left, known, n_classes)
    weights[place + ONE] += add_missing(figures, (place + ONE) * n_classes, missing, n_classes)
    return place + TWO_SIDES


@kernel
def measure_queue(work, n_sides):
    """Write the weighted impurity of each side in the queue into `impurities`."""
    figures, weights, impurities, totals = work.figures, work.side_weights, work.impurities, work.totals
    n_classes, criterion = np.uint64(work.n_classes), work.criterion
    if criterion != OWN:
        for side in range(n_sides):
            start = side * n_classes
            impurities[side] = class_impurity(figures[start : start + n_classes], weights[side], criterion)
        return
    if work.weighted:
        for side in range(n_sides):
            if weights[side] <= 0.0:
                # The side has no weight, so its result does not matter. The function is called with the whole node
                # instead.
                for k in range(n_classes):
                    figures[side * n_classes + k] = totals[k]
    evaluate_all(work, figures, np.int64(n_sides))
    for side in range(n_sides):
        impurities[side] *= weights[side]


@kernel
def rate_queue(work, column, n_sides, known_rows, sided):
    """Rate the cuts in the queue, in their order."""
    measure_queue(work, n_sides)
    impurities, weights, codes, base, floor = (
        work.impurities,
        work.side_weights,
        work.cut_codes,
        work.base,
        slot_floor(work),
    )
    for left in range(NO_ROWS, n_sides, FOUR_SIDES if sided else TWO_SIDES):
        right = left + ONE
        gain = base - (impurities[left] + impurities[right])
        to_left = weights[left] > weights[right]
        if sided:
            gain, to_left = better_way(work, left, gain, known_rows)
        if gain > floor:
            keep_cut(work, gain, gain, column, codes[left], codes[right], to_left, ZERO)
            floor = slot_floor(work)


@kernel
def better_way(work, place, gain_left, known_rows):
    """Return the gain of a cut in the queue with the missing rows on the better side; is that the left?"""
    impurities, weights = work.impurities, work.side_weights
    left, right = place + TWO_SIDES, place + TWO_SIDES + ONE
    gain_right = work.base - (impurities[left] + impurities[right])
    left_rows = work.cut_codes[left]
    heavier = weights[left] > weights[place + ONE]
    return choose_side(work, gain_left, gain_right, left_rows, known_rows - left_rows, heavier)


@kernel
def choose_side(work, gain_left, gain_right, left_rows, right_rows, left_is_heavier):
    """Return the gain with the missing rows on the better side, and whether that is the left.

    If both are equally good, they go to the heavier side. A side that is too small without them is not admissible.
    """
    margin, n_missing = work.min_samples_leaf, work.n_missing
    allowed_left = left_rows + n_missing >= margin and right_rows >= margin
    allowed_right = left_rows >= margin and right_rows + n_missing >= margin
    if not allowed_left and not allowed_right:
        return -np.inf, left_is_heavier
    to_left = left_is_heavier
    if allowed_left != allowed_right:
        to_left = allowed_left
    elif abs(gain_left - gain_right) > tie_width(work):
        to_left = gain_left > gain_right
    return gain_left if to_left else gain_right, to_left


@kernel
def scan_keys_many(work, keys, column):
    """Rate all cuts of a sorted column."""
    known_rows, sided = len(keys) - work.n_missing, takes_a_side(work)
    clear(work.missing, work.n_classes)
    for i in range(known_rows, len(keys)):
        work.missing[label_of(keys[i], work)] += work.weights[row_of(keys[i])]
    begin_sides(work, ZERO)
    n, n_classes, workspace = np.uint64(known_rows), np.uint64(work.n_classes), np.uint64(len(work.cut_codes))
    margin, more = np.uint64(work.min_samples_leaf), np.uint64(work.n_missing if sided else ZERO)
    weighted, weights, left = work.weighted, work.weights, work.left
    queue, sides = (work.figures, work.side_weights, work.cut_codes), (left, work.known, work.missing)
    previous, place = code_of(keys[0]), NO_ROWS
    for i in range(n):
        key = keys[i]
        code = code_of(key)
        if code != previous:
            if i + more >= margin and n - i + more >= margin:
                place = queue_cut(queue, place, (previous, code, np.int64(i)), sides, n_classes, sided)
                if place == workspace:
                    rate_queue(work, column, place, known_rows, sided)
                    place = NO_ROWS
            previous = code
        left[label_of(key, work)] += weights[row_of(key)] if weighted else 1.0
    rate_queue(work, column, place, known_rows, sided)
    rate_missing_apart(work, column)


@kernel
def rates_roughly(work):
    """Are there so many classes that cuts are rated roughly first, in a time that does not depend on their number?"""
    return work.gathers and (work.criterion == GINI or work.criterion == INFORMATION_GAIN)


@kernel
def term_of(criterion, weight):
    """Return the term of one class in the rough impurity of a side."""
    if criterion == GINI:
        return weight * weight
    return weight * log2(weight) if weight > 0.0 else 0.0


@kernel
def rough_impurity(criterion, terms, weight):
    """Return the weighted impurity of a side, but for rounding, from the sum of the terms of its classes."""
    if weight <= 0.0:
        return 0.0
    return weight - terms / weight if criterion == GINI else weight * log2(weight) - terms


@kernel
def scan_keys_roughly(work, keys, column):
    """Do the same as `scan_keys_many`, but rate only those cuts exactly that may be the best.

    A row changes the terms of one class only. The sums of terms have rounding errors, which ROUGH exceeds by far.
    """
    known_rows, sided, criterion = len(keys) - work.n_missing, takes_a_side(work), work.criterion
    clear(work.missing, work.n_classes)
    for i in range(known_rows, len(keys)):
        work.missing[label_of(keys[i], work)] += work.weights[row_of(keys[i])]
    begin_sides(work, ZERO)
    left, known, missing = work.left, work.known, work.missing
    right_weight = missing_weight = right_terms = right_with = left_with = 0.0
    for k in range(work.n_classes):
        right_weight += known[k]
        missing_weight += missing[k]
        right_terms += term_of(criterion, known[k])
        right_with += term_of(criterion, known[k] + missing[k])
        left_with += term_of(criterion, missing[k])
    left_weight = left_terms = 0.0
    n, n_classes, margin = np.uint64(known_rows), np.uint64(work.n_classes), np.uint64(work.min_samples_leaf)
    more, queue = np.uint64(work.n_missing if sided else ZERO), (work.figures, work.side_weights, work.cut_codes)
    previous, slack, floor = code_of(keys[0]), ROUGH * work.weight, slot_floor(work)
    for i in range(n):
        key = keys[i]
        code = code_of(key)
        if code != previous:
            if i + more >= margin and n - i + more >= margin:
                low = rough_impurity(criterion, left_terms, left_weight)
                high = rough_impurity(criterion, right_terms, right_weight)
                impurity = low + high
                if sided:
                    impurity = min(
                        rough_impurity(criterion, left_with, left_weight + missing_weight) + high,
                        low + rough_impurity(criterion, right_with, right_weight + missing_weight),
                    )
                if work.base - impurity > floor - slack:
                    cut = (previous, code, np.int64(i))
                    rate_queue(
                        work,
                        column,
                        queue_cut(queue, NO_ROWS, cut, (left, known, missing), n_classes, sided),
                        known_rows,
                        sided,
                    )
                    floor = slot_floor(work)
            previous = code
        weight, k = work.weights[row_of(key)], label_of(key, work)
        here, there = left[k], known[k] - left[k]
        left[k] += weight
        left_terms += term_of(criterion, left[k]) - term_of(criterion, here)
        right_terms += term_of(criterion, known[k] - left[k]) - term_of(criterion, there)
        left_weight += weight
        right_weight -= weight
        if sided:
            left_with += term_of(criterion, left[k] + missing[k]) - term_of(criterion, here + missing[k])
            right_with += term_of(criterion, known[k] - left[k] + missing[k]) - term_of(criterion, there + missing[k])
    rate_missing_apart(work, column)


@kernel
def scan_counts_many(work, column):
    """Rate all cuts of a counted column."""
    counts, left, present = work.counts, work.left, work.present
    queue, sides = (work.figures, work.side_weights, work.cut_codes), (left, work.known, work.missing)
    known_rows, margin, sided = work.hi - work.lo - work.n_missing, work.min_samples_leaf, takes_a_side(work)
    for k in range(work.n_classes):
        work.missing[k] = counts[work.n_codes[column], k] if work.n_missing > 0 else 0.0
    begin_sides(work, ZERO)
    n_classes, workspace = np.uint64(work.n_classes), np.uint64(len(work.cut_codes))
    more = work.n_missing if sided else ZERO
    left_rows, place = ZERO, NO_ROWS
    for p in range(work.n_present):
        code = present[p]
        if p > 0 and left_rows + more >= margin and known_rows - left_rows + more >= margin:
            place = queue_cut(queue, place, (present[p - 1], code, left_rows), sides, n_classes, sided)
            if place == workspace:
                rate_queue(work, column, place, known_rows, sided)
                place = NO_ROWS
        left_rows += work.code_rows[code]
        for k in range(n_classes):
            left[k] += counts[code, k]
    rate_queue(work, column, place, known_rows, sided)
    rate_missing_apart(work, column)


@kernel
def queue_side(figures, place, weight, mean, squares):
    """Append a side of a cut to the queue of sides to measure."""
    figures[place], figures[LINE_LENGTH + place], figures[TWO_LINES + place] = weight, mean, squares


@kernel
def measure_sides(work, start, n_waiting, out, at, backward):
    """Write the weighted impurities of the queued sides from `start` on into `out`, from `at` on.

    Returns the next position.
    """
    impurities, side_weights, moments, criterion = work.impurities, work.side_weights, work.moments, work.criterion
    weights, means = work.figures[start:LINE], work.figures[LINE + start : 2 * LINE]
    squares = work.figures[2 * LINE + start :]
    n, step = np.int64(n_waiting), np.int64(-1 if backward else 1)
    if criterion != OWN:
        for c in range(n):
            out[at + step * c] = moments_impurity(weights[c], means[c], squares[c], work.mean, criterion)
        return at + step * n
    for c in range(n):
        side_weights[c] = weights[c]
    if work.weighted:
        for c in range(n):
            if weights[c] <= 0.0:
                # The side has no weight, so its result does not matter. The function is called with the whole node
                # instead.
                weights[c], means[c], squares[c] = moments[0], moments[1], moments[2]
    for c in range(n):
        squares[c] /= weights[c]
    evaluate_all(work, work.figures[start:], n)
    for c in range(n):
        out[at + step * c] = side_weights[c] * impurities[c]
    return at + step * n


@kernel
def all_differ(keys, known):
    """Do the known rows of a sorted column have different values?"""
    for i in range(ONE, np.uint64(known)):
        if code_of(keys[i]) == code_of(keys[i - ONE]):
            return False
    return True


@kernel
def moments_of(work, keys, start, end):
    """Compute weight, mean and squared deviations of the targets of some rows of a sorted column."""
    weight = mean = squares = 0.0
    for i in range(start, end):
        row = row_of(keys[i])
        weight, mean, squares = join_moments(weight, mean, squares, work.weights[row], work.numbers[row], 0.0)
    return weight, mean, squares


@kernel
def scan_keys_moments(work, keys, column):
    """Rate all cuts of a sorted column of different values.

    For equal values the sums would depend on the order of their rows, and a column and its mirror image would not be a
    tie. The sides before the cuts are computed from the first row on and those after them from the last, alternately,
    so that neither waits for the other's sums (Welford 1962: equal numbers have exactly no deviation). If missing rows
    join a side, each side is measured with them as well.
    """
    known_rows, sided = len(keys) - work.n_missing, takes_a_side(work)
    missing_values = moments_of(work, keys, known_rows, len(keys))
    n, margin, more = np.uint64(known_rows), np.uint64(work.min_samples_leaf), np.uint64(work.n_missing if sided else 0)
    weighted, weights, numbers, figures = work.weighted, work.weights, work.numbers, work.figures
    weight_before = work.weight_before
    low_weight = low_mean = low_squares = high_weight = high_mean = high_squares = 0.0
    n_before = n_after = ZERO
    low_waiting = high_waiting = NO_ROWS
    for i in range(ONE, n):
        j = n - i
        low, high = row_of(keys[i - ONE]), row_of(keys[j])
        low_apart, high_apart = numbers[low] - low_mean, numbers[high] - high_mean
        if weighted:
            low_total, high_total = low_weight + weights[low], high_weight + weights[high]
            low_share = weights[low] / low_total if low_total > 0.0 else 0.0
            high_share = weights[high] / high_total if high_total > 0.0 else 0.0
        else:
            low_total = high_total = low_weight + 1.0
            low_share = high_share = 1.0 / low_total
        low_squares += low_apart * low_apart * (low_weight * low_share)
        high_squares += high_apart * high_apart * (high_weight * high_share)
        low_mean += low_apart * low_share
        high_mean += high_apart * high_share
        low_weight, high_weight = low_total, high_total
        if i + more >= margin and j + more >= margin:
            if code_of(keys[i]) != code_of(keys[i - ONE]):
                queue_side(figures, low_waiting, low_weight, low_mean, low_squares)
                weight_before[n_before + np.int64(low_waiting)] = low_weight
                if sided:
                    joined = join_moments(low_weight, low_mean, low_squares, *missing_values)
                    queue_side(figures, TWO_QUARTERS + low_waiting, *joined)
                low_waiting += ONE
            if code_of(keys[j]) != code_of(keys[j - ONE]):
                queue_side(figures, QUARTER + high_waiting, high_weight, high_mean, high_squares)
                if sided:
                    joined = join_moments(high_weight, high_mean, high_squares, *missing_values)
                    queue_side(figures, THREE_QUARTERS + high_waiting, *joined)
                high_waiting += ONE
        if max(low_waiting, high_waiting) == QUARTER or j == ONE:
            if sided:
                measure_sides(work, np.int64(TWO_QUARTERS), low_waiting, work.before[1], n_before, NO)
                measure_sides(work, np.int64(THREE_QUARTERS), high_waiting, work.after[1], n_after, NO)
            n_before = measure_sides(work, ZERO, low_waiting, work.before[0], n_before, NO)
            n_after = measure_sides(work, np.int64(QUARTER), high_waiting, work.after[0], n_after, NO)
            low_waiting = high_waiting = NO_ROWS
    last = row_of(keys[known_rows - 1])
    known = join_moments(low_weight, low_mean, low_squares, weights[last], numbers[last], 0.0)
    if leaves_missing_out(work):
        work.base = impurity_of_moments(work, *known)
    rate_cuts_between(work, keys, column, n_before, known[0])
    if sided and min(known_rows, work.n_missing) >= work.min_samples_leaf:
        gain = work.impurity - (impurity_of_moments(work, *known) + impurity_of_moments(work, *missing_values))
        if gain > -np.inf:
            keep_missing_apart(work, gain, gain, column, ZERO)


@kernel
def rate_cuts_between(work, keys, column, n_cuts, known_weight):
    """Rate the cuts, given the weighted impurity of one side in `before`, of the other (backwards) in `after`."""
    n, margin, sided = np.uint64(len(keys) - work.n_missing), np.uint64(work.min_samples_leaf), takes_a_side(work)
    floor, base, more = slot_floor(work), work.base, np.uint64(work.n_missing if sided else 0)
    before, after, before_with, after_with = work.before[0], work.after[0], work.before[1], work.after[1]
    weight_before, cut, other = work.weight_before, ZERO, n_cuts - 1
    for i in range(ONE, n):
        previous, code = code_of(keys[i - ONE]), code_of(keys[i])
        if previous != code and i + more >= margin and n - i + more >= margin:
            gain, to_left = base - (before[cut] + after[other]), weight_before[cut] > known_weight - weight_before[cut]
            if sided:
                gain_left, gain_right = (
                    base - (before_with[cut] + after[other]),
                    base - (before[cut] + after_with[other]),
                )
                gain, to_left = choose_side(work, gain_left, gain_right, np.int64(i), np.int64(n - i), to_left)
            cut, other = cut + 1, other - 1
            if gain > floor:
                keep_cut(work, gain, gain, column, previous, code, to_left, ZERO)
                floor = slot_floor(work)
