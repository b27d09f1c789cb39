"""Searching the splits of one column, for numeric targets.

The rows of the node are put into groups by the column's value, and each group is summed up by its moments (weight,
mean, squared deviations). The two hot loops for squared error on complete columns need no groups.
"""

from __future__ import annotations

import numpy as np

from treewright.growth.absolute import absolute_of_groups, absolute_of_sides, sweep_absolute
from treewright.growth.categories import (
    MAX_EXHAUSTIVE,
    choose_at_random,
    choose_bits,
    choose_first,
    enough_branches,
    heaviest_group,
    keep_multiway,
    sort_groups,
)
from treewright.growth.criteria import (
    ABSOLUTE_ERROR,
    POISSON,
    SQUARED_ERROR,
    join_moments,
    moments_disorder,
)
from treewright.growth.jit import kernel
from treewright.growth.layout import MULTIWAY, NO, NONE, ONE_VS_REST, YES, ZERO, clear, code_of, row_of
from treewright.growth.slots import keep_cut, keep_subset, slot_floor, tie_width
from treewright.growth.thresholds import draw_cut


@kernel
def scan_keys_squared(work, keys, column):
    """Rate all cuts of a complete sorted column for squared error."""
    floor = slot_floor(work)
    weighted, weights, numbers, mean = work.weighted, work.weights, work.numbers, work.mean
    total = work.weight
    n = np.uint64(len(keys))
    margin = np.uint64(work.min_samples_leaf)
    left_sum = left_weight = 0.0
    previous = code_of(keys[0])
    for i in range(n):
        key = keys[i]
        code = code_of(key)
        if code != previous:
            # Targets are taken from the node's mean, so the sums of the two sides cancel.
            gain = left_sum * left_sum * (total / (left_weight * (total - left_weight)))
            if gain > floor and i >= margin and n - i >= margin:
                keep_cut(work, gain, gain, column, previous, code, YES, ZERO)
                floor = slot_floor(work)
            previous = code
        row = row_of(key)
        weight = weights[row] if weighted else 1.0
        left_weight += weight
        left_sum += weight * (numbers[row] - mean)


@kernel
def scan_counts_squared(work, column):
    """Rate all cuts of a complete counted column (weight and centred sum per code) for squared error."""
    floor = slot_floor(work)
    counts, rows, total, present = work.counts, work.code_rows, work.weight, work.present
    n_rows, margin = work.hi - work.lo, work.min_samples_leaf
    left_sum = left_weight = 0.0
    left_rows = ZERO
    previous = NONE
    for p in range(work.n_present):
        code = present[p]
        if previous >= 0:
            gain = left_sum * left_sum * (total / (left_weight * (total - left_weight)))
            if gain > floor and min(left_rows, n_rows - left_rows) >= margin:
                keep_cut(work, gain, gain, column, previous, code, YES, ZERO)
                floor = slot_floor(work)
        previous = code
        left_rows += rows[code]
        left_weight += counts[code, 0]
        left_sum += counts[code, 1]


@kernel
def measure_group(work, keys, g, start, end, code):
    """Enter one group (Welford 1962: equal numbers have exactly no deviation)."""
    weight = mean = squares = 0.0
    for i in range(start, end):
        row = row_of(keys[i])
        weight, mean, squares = join_moments(weight, mean, squares, work.weights[row], work.numbers[row], 0.0)
    work.group_code[g] = code
    work.group_start[g] = start
    work.group_rows[g] = end - start
    work.group_weight[g] = weight
    work.group_mean[g] = mean
    work.group_squares[g] = squares


@kernel
def group_numbers(work, keys):
    """Form the groups from a sorted column; returns how many there are, the missing rows stand after them."""
    known = len(keys) - work.n_missing
    n_groups = start = ZERO
    while start < known:
        code = code_of(keys[start])
        end = start
        while end < known and code_of(keys[end]) == code:
            end += 1
        measure_group(work, keys, n_groups, start, end, code)
        n_groups += 1
        start = end
    measure_group(work, keys, n_groups, known, len(keys), NONE)
    return n_groups


@kernel
def join_group(work, g, weight, mean, squares):
    """Moments of a set together with one group."""
    return join_moments(weight, mean, squares, work.group_weight[g], work.group_mean[g], work.group_squares[g])


@kernel
def sweep_moments(work, n_groups, with_missing, backward, out):
    """Disorder of the first 1, 2, .. groups in order (or the last ones), joined by the missing rows if asked."""
    weight = mean = squares = 0.0
    if with_missing:
        weight, mean, squares = join_group(work, n_groups, weight, mean, squares)
    for step in range(n_groups):
        j = n_groups - 1 - step if backward else step
        weight, mean, squares = join_group(work, work.order[j], weight, mean, squares)
        out[j] = moments_disorder(weight, mean, squares, work.mean, work.criterion)


@kernel
def sweep_order(work, keys, n_groups):
    """Fill `before` and `after` for all cuts in order: line 0 without the missing rows, line 1 with them."""
    weight = 0.0
    for j in range(n_groups):
        weight += work.group_weight[work.order[j]]
        work.weight_before[j] = weight
    for with_missing in range(2 if work.n_missing > 0 else 1):
        for backward in range(2):
            out = work.after[with_missing] if backward else work.before[with_missing]
            if work.criterion == ABSOLUTE_ERROR:
                sweep_absolute(work, keys, n_groups, with_missing == 1, backward == 1, out)
            else:
                sweep_moments(work, n_groups, with_missing == 1, backward == 1, out)


@kernel
def rate_position(work, n_groups, j, left_rows):
    """Gain of the cut after position j, whether the left is the heavier side, its smaller side, and if allowed."""
    left_weight = work.weight_before[j]
    missing_left = left_weight >= work.weight_before[n_groups - 1] - left_weight
    with_left = 1 if work.n_missing > 0 and missing_left else 0
    with_right = 1 if work.n_missing > 0 and not missing_left else 0
    gain = work.disorder - (work.before[with_left, j] + work.after[with_right, j + 1])
    if missing_left:
        left_rows += work.n_missing
    balance = min(left_rows, work.hi - work.lo - left_rows)
    return gain, missing_left, balance, balance >= work.min_samples_leaf and gain > -np.inf


@kernel
def search_number_thresholds(work, keys, n_groups, column):
    """Rate the cuts of a numeric column for any criterion, gaps allowed."""
    if work.random_cuts:
        draw_cut(work, column, work.group_code[0], work.group_code[n_groups - 1])
    for g in range(n_groups):
        work.order[g] = g
    sweep_order(work, keys, n_groups)
    for j in range(n_groups - 1):
        cut, after = work.group_code[j], work.group_code[j + 1]
        if work.drawn_cut >= 0 and not cut <= work.drawn_cut < after:
            continue
        gain, missing_left, balance, allowed = rate_position(work, n_groups, j, work.group_start[j + 1])
        if allowed:
            keep_cut(work, gain, gain, column, cut, after, missing_left, balance)


@kernel
def rate_moments(work, keys, n_groups, column, chosen, others, chosen_rows, lighter_first):
    """Rate the split into the chosen groups and the others, given the moments of both."""
    w1, m1, s1 = chosen
    w2, m2, s2 = others
    heavier = w1 >= w2
    if work.n_missing > 0 and heavier:
        w1, m1, s1 = join_group(work, n_groups, w1, m1, s1)
        chosen_rows += work.n_missing
    elif work.n_missing > 0:
        w2, m2, s2 = join_group(work, n_groups, w2, m2, s2)
    balance = min(chosen_rows, work.hi - work.lo - chosen_rows)
    if balance < work.min_samples_leaf:
        return
    if work.criterion == ABSOLUTE_ERROR:
        disorder = absolute_of_sides(work, keys, n_groups, heavier, w1, w2)
    else:
        disorder = moments_disorder(w1, m1, s1, work.mean, work.criterion) + moments_disorder(
            w2, m2, s2, work.mean, work.criterion
        )
    gain = work.disorder - disorder
    if gain > -np.inf:
        keep_subset(work, n_groups, gain, gain, column, heavier, lighter_first, balance)


@kernel
def rate_chosen_numbers(work, keys, n_groups, column, lighter_first):
    """Rate the split with the chosen groups on one side."""
    w1 = m1 = s1 = w2 = m2 = s2 = 0.0
    chosen_rows = ZERO
    for g in range(n_groups):
        if work.chosen[g]:
            w1, m1, s1 = join_group(work, g, w1, m1, s1)
            chosen_rows += work.group_rows[g]
        else:
            w2, m2, s2 = join_group(work, g, w2, m2, s2)
    rate_moments(work, keys, n_groups, column, (w1, m1, s1), (w2, m2, s2), chosen_rows, lighter_first)


@kernel
def rate_single_numbers(work, keys, n_groups, column):
    """Rate each category against all others; of two categories, one says it all."""
    # Moments of all groups from g on; the arrays of the sweeps are free here.
    weight, mean, squares = work.before[0], work.before[1], work.after[0]
    weight[n_groups] = mean[n_groups] = squares[n_groups] = 0.0
    for g in range(n_groups - 1, -1, -1):
        weight[g], mean[g], squares[g] = join_group(work, g, weight[g + 1], mean[g + 1], squares[g + 1])
    clear(work.chosen, n_groups)
    w0 = m0 = s0 = 0.0
    for g in range(n_groups if n_groups > 2 else 1):
        work.chosen[g] = True
        others = join_moments(w0, m0, s0, weight[g + 1], mean[g + 1], squares[g + 1])
        chosen = (work.group_weight[g], work.group_mean[g], work.group_squares[g])
        rate_moments(work, keys, n_groups, column, chosen, others, work.group_rows[g], NO)
        work.chosen[g] = False
        w0, m0, s0 = join_group(work, g, w0, m0, s0)


@kernel
def search_number_multiway(work, keys, n_groups, column):
    """Rate the split with a branch per category."""
    if not enough_branches(work, n_groups):
        return
    largest = heaviest_group(work, n_groups)
    disorder = 0.0
    if work.criterion == ABSOLUTE_ERROR:
        disorder = absolute_of_groups(work, keys, n_groups, largest)
    else:
        for g in range(n_groups):
            weight, mean, squares = join_group(work, g, 0.0, 0.0, 0.0)
            if work.n_missing > 0 and g == largest:
                weight, mean, squares = join_group(work, n_groups, weight, mean, squares)
            # A branch of zeros has no deviance; one category cannot forbid the whole split.
            if mean > 0.0 or work.criterion != POISSON:
                disorder += moments_disorder(weight, mean, squares, work.mean, work.criterion)
    if disorder < np.inf:
        keep_multiway(work, work.disorder - disorder, 0.0, column, work.group_code[largest])


@kernel
def sweep_number_subsets(work, keys, n_groups, column):
    """Rate the cuts of the categories ordered by their mean; is the best of them allowed?"""
    sort_groups(work.group_mean, work.order, n_groups)
    order = work.order
    sweep_order(work, keys, n_groups)
    width = tie_width(work)
    best, best_is_allowed, floor, no_rate = -np.inf, True, -np.inf, False
    best_cut, left_rows = NONE, ZERO
    for j in range(n_groups - 1):
        left_rows += work.group_rows[order[j]]
        gain, _, _, allowed = rate_position(work, n_groups, j, left_rows)
        if gain > best + width:
            best, best_is_allowed = gain, allowed
        # Poisson forbids a side of zeros, however good; then the best that is left need not be in the ordering.
        no_rate = no_rate or gain == -np.inf
        if allowed and work.among > 1 and gain > slot_floor(work):
            choose_first(work, n_groups, j + 1)
            rate_chosen_numbers(work, keys, n_groups, column, YES)
        elif allowed and work.among == 1 and gain > floor:
            floor, best_cut = gain + width, j
    if best_cut >= 0:
        choose_first(work, n_groups, best_cut + 1)
        rate_chosen_numbers(work, keys, n_groups, column, YES)
    return best_is_allowed and not no_rate


@kernel
def search_number_subsets(work, keys, n_groups, column):
    """Find the best way to part the categories in two: by ordering them where that is exact, else by trying all.

    Ordering by the mean holds the best split where the disorder depends on a side's mean alone (Fisher 1958) and
    no limit on the sides and no missing rows interfere.
    """
    by_mean = work.criterion == SQUARED_ERROR or work.criterion == POISSON
    if (by_mean and work.n_missing == 0) or n_groups > MAX_EXHAUSTIVE:
        if sweep_number_subsets(work, keys, n_groups, column):
            return
    if n_groups <= MAX_EXHAUSTIVE:
        for pattern in range(1, 1 << (n_groups - 1)):
            choose_bits(work, n_groups, pattern)
            rate_chosen_numbers(work, keys, n_groups, column, YES)


@kernel
def search_number_categories(work, keys, n_groups, column):
    """Rate the splits of a column of categories that the recipe allows."""
    one_vs_rest = work.categorical == ONE_VS_REST
    if work.categorical == MULTIWAY:
        search_number_multiway(work, keys, n_groups, column)
    elif work.random_cuts:
        choose_at_random(work, n_groups)
        rate_chosen_numbers(work, keys, n_groups, column, not one_vs_rest)
    elif one_vs_rest:
        rate_single_numbers(work, keys, n_groups, column)
    else:
        search_number_subsets(work, keys, n_groups, column)
