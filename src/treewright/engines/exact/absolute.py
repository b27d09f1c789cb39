"""Absolute error: sums of distances to the median, for the sides of all cuts of a column.

The rows of a node are kept in the order of their target. A Fenwick tree over that order gives the median of any growing
set of rows, and the sums on both sides of it, in logarithmic time.
"""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import row_of
from treewright.engines.bits import THREE, TWO, ZERO, clear
from treewright.engines.exact.thresholds import spreads_over_values
from treewright.runtime.kernels import kernel


@kernel
def number_of(numbers, target, row):
    """Return the target of a row, of several the one with this number."""
    if numbers.ndim == 2:
        return numbers[row, target]
    return numbers[row]


@kernel
def prepare_medians(work, numbers, target, lo, hi):
    """Initialise the medians of a node whose rows are sorted by target; returns its median and weighted impurity.

    Of several targets, `target` becomes the current one, which the other kernels use.
    """
    keys = work.keys[work.target_line + target, lo:hi]
    total = 0.0
    for key in keys:
        total += work.weights[row_of(key)]
    median = median_of_sorted(work, numbers, target, keys, total)
    impurity = 0.0
    for i in range(len(keys)):
        row = row_of(keys[i])
        work.ranked_row[i] = row
        work.rank[row] = i
        work.ranked_number[i] = number_of(numbers, target, row) - median
        impurity += work.weights[row] * abs(work.ranked_number[i])
    return median, impurity


@kernel
def median_of_sorted(work, numbers, target, keys, total):
    """Compute the weighted median: the midpoint of the lower and the upper one if half the weight is on each side."""
    below = 0.0
    for i in range(len(keys)):
        below += work.weights[row_of(keys[i])]
        if 2.0 * below >= total * (1.0 - 1e-14):
            lower = number_of(numbers, target, row_of(keys[i]))
            if 2.0 * below <= total * (1.0 + 1e-14) and i + 1 < len(keys):
                return lower + 0.5 * (number_of(numbers, target, row_of(keys[i + 1])) - lower)
            return lower
    return number_of(numbers, target, row_of(keys[len(keys) - 1]))


@kernel
def add_rows(work, weights, sums, keys, start, end):
    """Add rows to a growing set, which two Fenwick trees represent; returns their weight and their sum."""
    size = work.hi - work.lo
    total = total_sum = 0.0
    for i in range(start, end):
        row = row_of(keys[i])
        at = np.int64(work.rank[row])
        weight = work.weights[row]
        product = weight * work.ranked_number[at]
        total += weight
        total_sum += product
        at += 1
        while at <= size:
            weights[at] += weight
            sums[at] += product
            at += at & -at
    return total, total_sum


@kernel
def forget_rows(work, weights, sums, keys, start, end):
    """Clear a growing set that contains these rows only."""
    size = work.hi - work.lo
    for i in range(start, end):
        at = np.int64(work.rank[row_of(keys[i])]) + 1
        while at <= size:
            weights[at] = sums[at] = 0.0
            at += at & -at


@kernel
def gather_missing(work, keys, n_groups):
    """Add the rows with missing values to a separate set, if a fraction of them belongs to every group.

    Returns their weight, their sum, and the fraction. All are 0 if missing values do not count for all values.
    """
    if not spreads_over_values(work):
        return 0.0, 0.0, 0.0
    clear(work.missing_weights, work.hi - work.lo + 1)
    clear(work.missing_sums, work.hi - work.lo + 1)
    start = work.group_start[n_groups]
    total, total_sum = add_rows(work, work.missing_weights, work.missing_sums, keys, start, len(keys))
    return total, total_sum, 1.0 / n_groups


@kernel
def absolute_so_far(work, total, total_sum, share):
    """Sum up the distances to the median of the growing set and this share of the rows with missing values."""
    size = work.hi - work.lo
    weights, sums = work.fenwick_weights, work.fenwick_sums
    step = 1
    while step * 2 <= size:
        step *= 2
    at = 0
    below = below_sum = 0.0
    while step > 0:
        to = at + step
        if to <= size:
            more = weights[to] + (share * work.missing_weights[to] if share > 0.0 else 0.0)
            if 2.0 * (below + more) < total:
                at = to
                below += more
                below_sum += sums[to] + (share * work.missing_sums[to] if share > 0.0 else 0.0)
        step //= 2
    median = work.ranked_number[min(at, size - 1)]
    return max((median * below - below_sum) + ((total_sum - below_sum) - median * (total - below)), 0.0)


@kernel
def median_so_far(work, total):
    """Compute the median of the growing set: the midpoint of the lower and the upper one if they differ."""
    size, weights = work.hi - work.lo, work.fenwick_weights
    median = 0.0
    for upper in range(2):
        step = 1
        while step * 2 <= size:
            step *= 2
        at, below = 0, 0.0
        while step > 0:
            to = at + step
            limit = total * (1.0 + 1e-14) if upper else total * (1.0 - 1e-14)
            if to <= size and (2.0 * (below + weights[to]) < limit):
                at = to
                below += weights[to]
            step //= 2
        median += 0.5 * work.numbers[work.ranked_row[min(at, size - 1)]]
    return median


@kernel
def sweep_absolute(work, keys, n_groups, with_missing, backward, out):
    """Compute the weighted impurity of the first 1, 2, .. groups (or the last), optionally with the missing rows.

    If rows with missing values count for all values, a fraction of them is added with each group.
    """
    weights, sums = work.fenwick_weights, work.fenwick_sums
    clear(weights, work.hi - work.lo + 1)
    clear(sums, work.hi - work.lo + 1)
    missing_total, missing_sum, portion = gather_missing(work, keys, n_groups)
    total = total_sum = 0.0
    if with_missing:
        total, total_sum = add_rows(work, weights, sums, keys, work.group_start[n_groups], len(keys))
    for step in range(n_groups):
        j = n_groups - 1 - step if backward else step
        g = work.order[j]
        weight, group_sum = add_rows(work, weights, sums, keys, work.group_start[g], work.group_start[g + 1])
        total += weight
        total_sum += group_sum
        share = portion * (step + 1)
        out[j] = absolute_so_far(work, total + share * missing_total, total_sum + share * missing_sum, share)
        if work.direction != 0:
            values = work.value_after if backward else work.value_before
            values[np.int64(with_missing), j] = median_so_far(work, total)


@kernel
def absolute_by_side(work, n_sides):
    """Sum up the distances of all rows to the median of their side, given the weights of the sides."""
    totals, below, median = work.side_total, work.side_below, work.side_median
    clear(below, n_sides)
    size = work.hi - work.lo
    for i in range(size):
        row = work.ranked_row[i]
        side = work.row_side[row]
        if 2.0 * below[side] < totals[side]:
            median[side] = work.ranked_number[i]
        below[side] += work.weights[row]
    impurity = 0.0
    for i in range(size):
        row = work.ranked_row[i]
        impurity += work.weights[row] * abs(work.ranked_number[i] - median[work.row_side[row]])
    return impurity


@kernel
def set_side(work, keys, start, end, side):
    for i in range(start, end):
        work.row_side[row_of(keys[i])] = side


@kernel
def absolute_of_rows(work, keys, start, end, weight):
    """Sum up the distances of some rows of a sorted column to their median."""
    for i in range(work.hi - work.lo):
        work.row_side[work.ranked_row[i]] = 1
    set_side(work, keys, start, end, ZERO)
    below = median = 0.0
    for i in range(work.hi - work.lo):
        row = work.ranked_row[i]
        if work.row_side[row] == 0:
            if 2.0 * below < weight:
                median = work.ranked_number[i]
            below += work.weights[row]
    distances = 0.0
    for i in range(work.hi - work.lo):
        row = work.ranked_row[i]
        if work.row_side[row] == 0:
            distances += work.weights[row] * abs(work.ranked_number[i] - median)
    return distances


@kernel
def absolute_of_sides(work, keys, n_groups, missing_to, chosen_weight, other_weight):
    """Compute the weighted impurity of the chosen groups, the others, and missing rows that join neither (2)."""
    work.side_total[0], work.side_total[1] = chosen_weight, other_weight
    work.side_total[2] = work.group_weight[n_groups]
    for g in range(n_groups):
        set_side(work, keys, work.group_start[g], work.group_start[g + 1], np.int64(not work.chosen[g]))
    set_side(work, keys, work.group_start[n_groups], len(keys), missing_to)
    if spreads_over_values(work):
        return absolute_of_spread_sides(work, n_groups)
    return absolute_by_side(work, THREE)


@kernel
def absolute_of_spread_sides(work, n_groups):
    """Compute the weighted impurity of two sides; a missing row (side 2) is on both, by the number of their groups."""
    totals, below, median, share = work.side_total, work.side_below, work.side_median, work.branch_share
    share[0] = 0.0
    for g in range(n_groups):
        share[0] += (1.0 if work.chosen[g] else 0.0) / n_groups
    share[1] = 1.0 - share[0]
    clear(below, TWO)
    size = work.hi - work.lo
    impurity = 0.0
    for turn in range(2):
        for i in range(size):
            row = work.ranked_row[i]
            for side in range(2):
                here = work.row_side[row]
                row_weight = work.weights[row] * (share[side] if here == 2 else np.float64(here == side))
                if turn == 1:
                    impurity += row_weight * abs(work.ranked_number[i] - median[side])
                elif row_weight > 0.0:
                    if 2.0 * below[side] < totals[side]:
                        median[side] = work.ranked_number[i]
                    below[side] += row_weight
    return impurity


@kernel
def absolute_of_groups(work, keys, n_groups, missing_group):
    """Compute the weighted impurity of all groups; missing values join `missing_group`, or form one if it is -1.

    If they count for all values, a fraction of them is in every group.
    """
    if spreads_over_values(work):
        return absolute_of_spread_groups(work, keys, n_groups)
    for g in range(n_groups):
        work.side_total[g] = work.group_weight[g]
        set_side(work, keys, work.group_start[g], work.group_start[g + 1], g)
    joined = missing_group if missing_group >= 0 else n_groups
    work.side_total[n_groups] = 0.0
    work.side_total[joined] += work.group_weight[n_groups]
    set_side(work, keys, work.group_start[n_groups], len(keys), joined)
    return absolute_by_side(work, n_groups + 1)


@kernel
def absolute_of_spread_groups(work, keys, n_groups):
    """Compute the weighted impurity of all groups, each with its fraction of the rows with missing values."""
    weights, sums = work.fenwick_weights, work.fenwick_sums
    clear(weights, work.hi - work.lo + 1)
    clear(sums, work.hi - work.lo + 1)
    missing_total, missing_sum, portion = gather_missing(work, keys, n_groups)
    impurity = 0.0
    for g in range(n_groups):
        start, end = work.group_start[g], work.group_start[g + 1]
        total, total_sum = add_rows(work, weights, sums, keys, start, end)
        impurity += absolute_so_far(work, total + portion * missing_total, total_sum + portion * missing_sum, portion)
        forget_rows(work, weights, sums, keys, start, end)
    return impurity
