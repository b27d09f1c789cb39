"""Several targets at once: measuring a node, and searching one column, by the mean impurity of all targets.

`targets` has one line per row. A target of numbers is one entry of the line. A target of classes is one entry for each
class, 1 for the class of the row. The impurity is then a sum over the entries: Gini's index and the entropy of all
targets are sums over their classes, and the squared error is a sum over the targets. The absolute error is computed in
`several_absolute`.
"""

from __future__ import annotations

from math import log, log2

import numpy as np

from treewright.encoding.keys import code_of, row_of
from treewright.engines.bits import NO, NONE, YES, ZERO, clear
from treewright.engines.chance import chance_share
from treewright.engines.criteria import ABSOLUTE_ERROR, GINI, INFORMATION_GAIN, POISSON, SQUARED_ERROR
from treewright.engines.exact.categories import (
    MAX_EXHAUSTIVE,
    choose_at_random,
    choose_bits,
    choose_first,
    gains_only_by_chance,
    sort_groups,
)
from treewright.engines.exact.layout import ONE_VS_REST
from treewright.engines.exact.several_absolute import measure_several_absolute, search_several_absolute
from treewright.engines.exact.slots import keep_cut, keep_missing_apart, keep_subset, tie_width
from treewright.engines.exact.thresholds import draw_cut, heavy_enough, takes_a_side
from treewright.runtime.kernels import kernel


@kernel
def term_of(criterion, total, weight):
    """Return the term of one entry in the rating of a side, given the sum of the entry there."""
    if criterion == SQUARED_ERROR:
        return total * total / weight
    if criterion == GINI:
        return -total * max(weight - total, 0.0) / weight
    if total <= 0.0:
        # A side where a count is 0 throughout has no deviance.
        return -np.inf if criterion == POISSON else 0.0
    if criterion == INFORMATION_GAIN:
        return -total * log2(weight / total)
    return total * log(total / weight)


@kernel
def rating_of(work, sums, weight):
    """Return minus the weighted impurity of a side, but for a constant: the mean over the targets."""
    rating = 0.0
    for k in range(len(sums)):
        rating += term_of(work.criterion, sums[k], weight)
    return rating / work.n_outputs


@kernel
def measure_several(work, node, targets):
    """Compute the statistics of a node; returns its weight, its weighted impurity, and whether it is pure."""
    rows, weights, totals, distribution = work.rows, work.weights, work.totals, work.node_distribution[node]
    lo, hi, criterion = work.node_lo[node], work.node_hi[node], work.criterion
    some, width = rows[lo], targets.shape[1]
    clear(totals, width)
    weight, pure = 0.0, True
    for i in range(lo, hi):
        row = rows[i]
        weight += weights[row]
        for k in range(width):
            totals[k] += weights[row] * (targets[row, k] - targets[some, k])
            pure = pure and targets[row, k] == targets[some, k]
    if criterion == ABSOLUTE_ERROR:
        return weight, measure_several_absolute(work, node, targets), pure
    spread = 0.0
    for k in range(width):
        mean = targets[some, k] + totals[k] / weight
        distribution[k] = mean
        if criterion == SQUARED_ERROR or criterion == POISSON:
            spread += spread_around(work, lo, hi, targets, k, mean)
    if criterion == GINI or criterion == INFORMATION_GAIN:
        for k in range(width):
            distribution[k] = min(max(distribution[k], 0.0), 1.0) * weight
            spread -= term_of(criterion, distribution[k], weight)
    return weight, max(spread, 0.0) / work.n_outputs, pure


@kernel
def spread_around(work, lo, hi, targets, k, mean):
    """Compute the squared deviations of a target from its mean, or its deviance."""
    rows, weights, spread = work.rows, work.weights, 0.0
    for i in range(lo, hi):
        row = rows[i]
        number = targets[row, k]
        if work.criterion == SQUARED_ERROR:
            spread += weights[row] * (number - mean) * (number - mean)
        elif number > 0.0:
            spread += weights[row] * number * log(number / mean)
    return spread


@kernel
def enter_several(work, node):
    """Set the sums of a node: those of its squared error are relative to the means, and cancel."""
    if work.criterion == ABSOLUTE_ERROR:
        return
    totals, centre, distribution = work.totals, work.centre, work.node_distribution[node]
    by_mean = work.criterion == SQUARED_ERROR
    for k in range(len(totals)):
        centre[k] = distribution[k] if by_mean else 0.0
        totals[k] = 0.0 if by_mean else distribution[k] * (work.weight if work.criterion == POISSON else 1.0)
    work.impurity = rating_of(work, totals, work.weight)


@kernel
def add_row(work, targets, key, sums):
    """Add the targets of a row to the sums of a side; returns its weight."""
    row, centre = row_of(key), work.centre
    weight = work.weights[row]
    for k in range(len(centre)):
        sums[k] += weight * (targets[row, k] - centre[k])
    return weight


@kernel
def begin_several(work, targets, keys):
    """Sum up the rows with and without a value; returns the weight of those without."""
    known, missing_weight = len(keys) - work.n_missing, 0.0
    clear(work.missing, len(work.missing))
    clear(work.left, len(work.left))
    for i in range(known, len(keys)):
        missing_weight += add_row(work, targets, keys[i], work.missing)
    for k in range(len(work.totals)):
        work.known[k] = work.totals[k] - work.missing[k]
    return missing_weight


@kernel
def rate_one_way(work, left_rows, left_weight, missing_rows, missing_weight, to_left):
    """Rate the split with the sums in `left` on one side and the other rows on the other one.

    Returns its gain, the rows of its smaller side, and whether it is allowed.
    """
    first, second = work.first, work.second
    for k in range(len(work.left)):
        first[k] = work.left[k] + (work.missing[k] if to_left else 0.0)
        second[k] = work.known[k] - work.left[k] + (0.0 if to_left else work.missing[k])
    first_weight = left_weight + (missing_weight if to_left else 0.0)
    second_weight = work.weight - first_weight
    first_rows = left_rows + (missing_rows if to_left else ZERO)
    balance = min(first_rows, work.hi - work.lo - first_rows)
    if balance < work.min_samples_leaf or not heavy_enough(work, first_weight, second_weight):
        return -np.inf, balance, False
    if first_weight <= 0.0 or second_weight <= 0.0:
        return -np.inf, balance, False
    gain = rating_of(work, first, first_weight) + rating_of(work, second, second_weight) - work.impurity
    return gain, balance, gain > -np.inf


@kernel
def rate_left(work, left_rows, left_weight, missing_weight):
    """Rate the split, with missing values on the better side; on the heavier one if both are equally good.

    Returns its gain, whether missing values go left, the rows of its smaller side, and whether it is allowed.
    """
    heavier = 2.0 * left_weight > work.weight - missing_weight
    gain, balance, allowed = rate_one_way(work, left_rows, left_weight, work.n_missing, missing_weight, heavier)
    if not takes_a_side(work):
        return gain, heavier, balance, allowed
    other = rate_one_way(work, left_rows, left_weight, work.n_missing, missing_weight, not heavier)
    if other[2] and (not allowed or other[0] > gain + tie_width(work)):
        return other[0], not heavier, other[1], other[2]
    return gain, heavier, balance, allowed


@kernel
def search_several(work, targets, keys, column):
    """Rate the splits of one sorted column that the recipe allows."""
    if work.criterion == ABSOLUTE_ERROR:
        search_several_absolute(work, targets, keys, column)
        return
    missing_weight = begin_several(work, targets, keys)
    known = len(keys) - work.n_missing
    if known > 0 and code_of(keys[0]) != code_of(keys[known - 1]):
        if work.is_number[column]:
            search_several_thresholds(work, targets, keys, column, missing_weight)
        else:
            search_several_categories(work, targets, keys, column, missing_weight)
    if takes_a_side(work) and work.drawn_cut < 0 and known > 0:
        for k in range(len(work.left)):
            work.left[k] = work.known[k]
        gain, balance, allowed = rate_one_way(work, known, work.weight - missing_weight, ZERO, missing_weight, NO)
        if allowed:
            keep_missing_apart(work, gain, gain, column, balance)


@kernel
def search_several_thresholds(work, targets, keys, column, missing_weight):
    """Rate the cuts between neighbouring values, or the one that is drawn."""
    known = len(keys) - work.n_missing
    if work.random_cuts:
        draw_cut(work, column, code_of(keys[0]), code_of(keys[known - 1]))
    left_weight, previous = 0.0, code_of(keys[0])
    for i in range(known):
        code = code_of(keys[i])
        if code != previous and (work.drawn_cut < 0 or previous <= work.drawn_cut < code):
            gain, to_left, balance, allowed = rate_left(work, np.int64(i), left_weight, missing_weight)
            if allowed:
                keep_cut(work, gain, gain, column, previous, code, to_left, balance)
        previous = code
        left_weight += add_row(work, targets, keys[i], work.left)


@kernel
def group_several(work, targets, keys):
    """Sum up the rows of each category that occurs; returns the number of categories."""
    n_groups = ZERO
    for i in range(len(keys) - work.n_missing):
        code = code_of(keys[i])
        if n_groups == 0 or work.group_code[n_groups - 1] != code:
            work.group_code[n_groups] = code
            work.group_rows[n_groups] = 0
            work.group_weight[n_groups] = 0.0
            clear(work.group_counts[n_groups], len(work.left))
            n_groups += 1
        work.group_rows[n_groups - 1] += 1
        work.group_weight[n_groups - 1] += add_row(work, targets, keys[i], work.group_counts[n_groups - 1])
    return n_groups


@kernel
def rate_chosen_several(work, n_groups, column, missing_weight, lighter_first):
    """Rate the split with the chosen categories on one side."""
    clear(work.left, len(work.left))
    left_rows, left_weight = ZERO, 0.0
    for g in range(n_groups):
        if work.chosen[g]:
            left_rows += work.group_rows[g]
            left_weight += work.group_weight[g]
            for k in range(len(work.left)):
                work.left[k] += work.group_counts[g, k]
    gain, to_chosen, balance, allowed = rate_left(work, left_rows, left_weight, missing_weight)
    if allowed:
        keep_subset(work, n_groups, gain - work.chance, gain, column, to_chosen, lighter_first, balance)


@kernel
def search_several_categories(work, targets, keys, column, missing_weight):
    """Rate the splits of the categories in two.

    Few categories are tried in all partitions. Otherwise they are ordered by the mean of one entry after the other, and
    the cuts of these orders are rated by all targets.
    """
    n_groups = group_several(work, targets, keys)
    if gains_only_by_chance(work, n_groups, column):
        return
    if work.adjusted[column]:
        work.chance = work.spread * chance_share(n_groups, len(keys) - work.n_missing)
    if work.random_cuts:
        choose_at_random(work, n_groups)
        rate_chosen_several(work, n_groups, column, missing_weight, work.categorical != ONE_VS_REST)
    elif work.categorical == ONE_VS_REST:
        clear(work.chosen, n_groups)
        for g in range(n_groups if n_groups > 2 else 1):
            work.chosen[g] = True
            rate_chosen_several(work, n_groups, column, missing_weight, NO)
            work.chosen[g] = False
    elif n_groups <= MAX_EXHAUSTIVE:
        for pattern in range(1, 1 << (n_groups - 1)):
            choose_bits(work, n_groups, pattern)
            rate_chosen_several(work, n_groups, column, missing_weight, YES)
    else:
        sweep_several_categories(work, n_groups, column, missing_weight)
    work.chance = 0.0


@kernel
def sweep_several_categories(work, n_groups, column, missing_weight):
    """Rate the cuts of the orders of the categories by each entry; the best cut of an order is kept."""
    for entry in range(len(work.left)):
        largest = 0.0
        for g in range(n_groups):
            work.along[g] = work.group_counts[g, entry] / work.group_weight[g]
            largest = max(largest, abs(work.along[g]))
        sort_groups(work.along, work.order, n_groups, largest)
        clear(work.left, len(work.left))
        left_rows, left_weight, best, best_gain = ZERO, 0.0, NONE, -np.inf
        for j in range(n_groups - 1):
            g = work.order[j]
            left_rows += work.group_rows[g]
            left_weight += work.group_weight[g]
            for k in range(len(work.left)):
                work.left[k] += work.group_counts[g, k]
            gain, _, _, allowed = rate_left(work, left_rows, left_weight, missing_weight)
            if allowed and gain > best_gain + tie_width(work):
                best, best_gain = np.int64(j), gain
        if best >= 0:
            choose_first(work, n_groups, best + 1)
            rate_chosen_several(work, n_groups, column, missing_weight, YES)
