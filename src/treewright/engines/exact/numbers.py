"""Search for the splits of one column, for numeric targets.

The rows of the node are put into groups by the column's value, and each group is described by its moments (weight,
mean, squared deviations). The two hot loops for squared error need no groups.
"""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import code_of, row_of
from treewright.engines.bits import NO, NONE, ONE, TWO, YES, ZERO, clear
from treewright.engines.chance import chance_share
from treewright.engines.criteria import (
    ABSOLUTE_ERROR,
    ORDERED,
    OWN,
    POISSON,
    join_moments,
)
from treewright.engines.exact.absolute import absolute_of_groups, absolute_of_rows, absolute_of_sides, sweep_absolute
from treewright.engines.exact.categories import (
    MAX_EXHAUSTIVE,
    choose_at_random,
    choose_bits,
    choose_first,
    enough_branches,
    gains_only_by_chance,
    heaviest_group,
    keep_multiway,
    missing_as_group,
    sort_groups,
)
from treewright.engines.exact.impurity import has_refused, impurity_of_moments
from treewright.engines.exact.layout import MULTIWAY, ONE_VS_REST
from treewright.engines.exact.many_cuts import NO_ROWS, measure_sides, queue_side
from treewright.engines.exact.monotonic import needs_means, positions_in_order, sweep_means
from treewright.engines.exact.slots import keep_cut, keep_missing_apart, keep_subset, slot_floor, tie_width
from treewright.engines.exact.thresholds import (
    draw_cut,
    heavy_enough,
    leaves_missing_out,
    spreads_over_values,
    takes_a_side,
)
from treewright.runtime.kernels import kernel

# Absolute error: with more categories than this, missing values join the heaviest instead of the best.
MOST_MISSING_GROUPS = 64


@kernel
def begin_squared(work, missing_weight, missing_sum):
    """Return the term that the hot loops of squared error subtract, and whether missing values join a side.

    The term of a side is its squared sum over its weight. Targets are relative to the node's mean, so the sums of all
    rows cancel. Those of the known rows alone do not.
    """
    if not leaves_missing_out(work):
        return 0.0
    return missing_sum * missing_sum / (work.weight - missing_weight)


@kernel
def squared_gain(left_sum, left_weight, right_sum, right_weight):
    return left_sum * left_sum / left_weight + right_sum * right_sum / right_weight


@kernel
def rate_squared(work, column, previous, code, left, missing, rows, base, floor):
    """Rate a cut for squared error in a column with missing values; returns the gain that the next one must exceed.

    `left` and `missing` are weight and centred sum, `rows` the numbers of known rows on both sides.
    """
    left_weight, left_sum = left
    missing_weight, missing_sum = missing
    left_rows, right_rows = rows
    margin, n_missing = work.min_samples_leaf, work.n_missing
    right_weight, right_sum = work.weight - missing_weight - left_weight, -missing_sum - left_sum
    to_left = left_weight > right_weight
    if leaves_missing_out(work):
        gain = squared_gain(left_sum, left_weight, right_sum, right_weight) - base
        allowed = min(left_rows, right_rows) >= margin
    else:
        gain_left = gain_right = -np.inf
        if left_rows + n_missing >= margin and right_rows >= margin:
            gain_left = squared_gain(left_sum + missing_sum, left_weight + missing_weight, right_sum, right_weight)
        if left_rows >= margin and right_rows + n_missing >= margin:
            gain_right = squared_gain(left_sum, left_weight, right_sum + missing_sum, right_weight + missing_weight)
        if abs(gain_left - gain_right) > tie_width(work):
            to_left = gain_left > gain_right
        gain = gain_left if to_left else gain_right
        allowed = gain > -np.inf
    if not allowed or gain <= floor:
        return floor
    keep_cut(work, gain, gain, column, previous, code, to_left, ZERO)
    return slot_floor(work)


@kernel
def rate_missing_apart_squared(work, column, known_rows, known, missing):
    """Rate the split of known from missing values, for squared error, given weight and centred sum of both.

    The sum of the known values is not minus that of the others to the last digit. Both are needed for an exact tie.
    """
    if not takes_a_side(work) or min(known_rows, work.n_missing) < work.min_samples_leaf:
        return
    gain = squared_gain(known[1], known[0], missing[1], missing[0])
    if gain > slot_floor(work):
        keep_missing_apart(work, gain, gain, column, ZERO)


@kernel
def scan_keys_squared(work, keys, column):
    """Rate all cuts of a sorted column for squared error."""
    floor = slot_floor(work)
    weighted, weights, numbers, mean = work.weighted, work.weights, work.numbers, work.mean
    total, missing_values = work.weight, work.n_missing > 0
    known = len(keys) - work.n_missing
    missing_weight = missing_sum = 0.0
    for i in range(known, len(keys)):
        row = row_of(keys[i])
        missing_weight += weights[row]
        missing_sum += weights[row] * (numbers[row] - mean)
    base = begin_squared(work, missing_weight, missing_sum)
    n = np.uint64(known)
    margin = np.uint64(work.min_samples_leaf)
    left_sum = left_weight = 0.0
    previous = code_of(keys[0])
    for i in range(n):
        key = keys[i]
        code = code_of(key)
        if code != previous:
            if missing_values:
                left, missing = (left_weight, left_sum), (missing_weight, missing_sum)
                rows = (np.int64(i), np.int64(n - i))
                floor = rate_squared(work, column, previous, code, left, missing, rows, base, floor)
            else:
                gain = left_sum * left_sum * (total / (left_weight * (total - left_weight)))
                if gain > floor and i >= margin and n - i >= margin:
                    keep_cut(work, gain, gain, column, previous, code, YES, ZERO)
                    floor = slot_floor(work)
            previous = code
        row = row_of(key)
        weight = weights[row] if weighted else 1.0
        left_weight += weight
        left_sum += weight * (numbers[row] - mean)
    if missing_values:
        rate_missing_apart_squared(work, column, known, (left_weight, left_sum), (missing_weight, missing_sum))


@kernel
def scan_counts_squared(work, column):
    """Rate all cuts of a counted column (weight and centred sum per code) for squared error."""
    floor = slot_floor(work)
    counts, rows, total, present = work.counts, work.code_rows, work.weight, work.present
    missing_values, n_codes = work.n_missing > 0, work.n_codes[column]
    missing_weight, missing_sum = counts[n_codes, 0], counts[n_codes, 1]
    base = begin_squared(work, missing_weight, missing_sum) if missing_values else 0.0
    n_rows, margin = work.hi - work.lo - work.n_missing, work.min_samples_leaf
    left_sum = left_weight = 0.0
    left_rows = ZERO
    previous = NONE
    for p in range(work.n_present):
        code = present[p]
        if previous >= 0 and missing_values:
            left, missing = (left_weight, left_sum), (missing_weight, missing_sum)
            both = (left_rows, n_rows - left_rows)
            floor = rate_squared(work, column, previous, code, left, missing, both, base, floor)
        elif previous >= 0:
            gain = left_sum * left_sum * (total / (left_weight * (total - left_weight)))
            if gain > floor and min(left_rows, n_rows - left_rows) >= margin:
                keep_cut(work, gain, gain, column, previous, code, YES, ZERO)
                floor = slot_floor(work)
        previous = code
        left_rows += rows[code]
        left_weight += counts[code, 0]
        left_sum += counts[code, 1]
    if missing_values:
        rate_missing_apart_squared(work, column, n_rows, (left_weight, left_sum), (missing_weight, missing_sum))


@kernel
def measure_group(work, keys, g, start, end, code):
    """Compute the moments of one group (Welford 1962: equal numbers have exactly no deviation)."""
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
    """Form the groups from a sorted column; returns their number; the missing rows are after them."""
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
def begin_groups(work, keys, n_groups):
    """Set the base of the gains of this column, and distribute missing rows that count for all values."""
    work.base = work.impurity
    work.missing_impurity = 0.0
    if spreads_over_values(work):
        weight, squares = work.group_weight[n_groups] / n_groups, work.group_squares[n_groups] / n_groups
        for g in range(n_groups):
            work.group_weight[g], work.group_mean[g], work.group_squares[g] = join_group(
                work, g, weight, work.group_mean[n_groups], squares
            )
    elif leaves_missing_out(work):
        work.base, work.missing_impurity = known_and_missing_impurity(work, keys, n_groups)


@kernel
def known_and_missing_impurity(work, keys, n_groups):
    """Compute the weighted impurity of the rows with a value, and of those without."""
    weight = mean = squares = 0.0
    for g in range(n_groups):
        weight, mean, squares = join_group(work, g, weight, mean, squares)
    if work.criterion == ABSOLUTE_ERROR:
        clear(work.chosen, n_groups)
        both = absolute_of_sides(work, keys, n_groups, ZERO, work.group_weight[n_groups], weight)
        alone = absolute_of_rows(work, keys, work.group_start[n_groups], len(keys), work.group_weight[n_groups])
        return both - alone, alone
    return impurity_of_moments(work, weight, mean, squares), 0.0


@kernel
def add_missing_number_group(work, keys, n_groups, column):
    """Make the missing rows the last group, followed by an empty one; returns the new number of groups."""
    work.group_code[n_groups] = work.n_codes[column]
    measure_group(work, keys, n_groups + 1, len(keys), len(keys), NONE)
    work.n_missing = ZERO
    return n_groups + 1


@kernel
def join_group(work, g, weight, mean, squares):
    """Compute the moments of the union of a set and one group."""
    return join_moments(weight, mean, squares, work.group_weight[g], work.group_mean[g], work.group_squares[g])


@kernel
def sweep_moments(work, n_groups, with_missing, backward, out):
    """Compute the weighted impurity of the first 1, 2, .. groups (or the last), optionally with the missing rows."""
    weight = mean = squares = 0.0
    if with_missing:
        weight, mean, squares = join_group(work, n_groups, weight, mean, squares)
    workspace, waiting, at = np.uint64(len(work.impurities)), NO_ROWS, n_groups - 1 if backward else ZERO
    for step in range(n_groups):
        j = n_groups - 1 - step if backward else step
        weight, mean, squares = join_group(work, work.order[j], weight, mean, squares)
        queue_side(work.figures, waiting, weight, mean, squares)
        waiting += ONE
        if waiting == workspace or step == n_groups - 1:
            at = measure_sides(work, ZERO, waiting, out, at, backward)
            waiting = NO_ROWS


@kernel
def sweep_order(work, keys, n_groups):
    """Fill `before` and `after` for all cuts in order: line 0 without the missing rows, line 1 with them."""
    weight = 0.0
    for j in range(n_groups):
        weight += work.group_weight[work.order[j]]
        work.weight_before[j] = weight
    for with_missing in range(2 if takes_a_side(work) else 1):
        for backward in range(2):
            out = work.after[with_missing] if backward else work.before[with_missing]
            if work.criterion == ABSOLUTE_ERROR:
                sweep_absolute(work, keys, n_groups, with_missing == 1, backward == 1, out)
            else:
                sweep_moments(work, n_groups, with_missing == 1, backward == 1, out)
            if needs_means(work):
                values = work.value_after[with_missing] if backward else work.value_before[with_missing]
                sweep_means(work, keys, n_groups, with_missing == 1, backward == 1, values)


@kernel
def rate_position(work, n_groups, j, left_rows):
    """Rate the cut after position j.

    Returns its gain, whether missing values go left, the rows of its smaller side, and whether it is allowed.
    """
    left_weight = work.weight_before[j]
    right_weight = work.weight_before[n_groups - 1] - left_weight
    heavier = left_weight > right_weight
    right_rows = work.hi - work.lo - work.n_missing - left_rows
    margin = work.min_samples_leaf
    if not takes_a_side(work):
        gain = work.base - (work.before[0, j] + work.after[0, j + 1])
        balance = min(left_rows, right_rows)
        allowed = balance >= margin and gain > -np.inf and heavy_enough(work, left_weight, right_weight)
        allowed = allowed and positions_in_order(work, ZERO, ZERO, j)
        return gain, heavier, balance, allowed
    gain_left = work.base - (work.before[1, j] + work.after[0, j + 1])
    gain_right = work.base - (work.before[0, j] + work.after[1, j + 1])
    balance_left = min(left_rows + work.n_missing, right_rows)
    balance_right = min(left_rows, right_rows + work.n_missing)
    missing_weight = work.group_weight[n_groups]
    allowed_left = balance_left >= margin and gain_left > -np.inf
    allowed_left = allowed_left and heavy_enough(work, left_weight + missing_weight, right_weight)
    allowed_left = allowed_left and positions_in_order(work, np.int64(1), ZERO, j)
    allowed_right = balance_right >= margin and gain_right > -np.inf
    allowed_right = allowed_right and heavy_enough(work, left_weight, right_weight + missing_weight)
    allowed_right = allowed_right and positions_in_order(work, ZERO, np.int64(1), j)
    to_left = heavier
    if allowed_left != allowed_right:
        to_left = allowed_left
    elif abs(gain_left - gain_right) > tie_width(work):
        to_left = gain_left > gain_right
    if to_left:
        return gain_left, to_left, balance_left, allowed_left
    return gain_right, to_left, balance_right, allowed_right


@kernel
def rate_missing_apart_numbers(work, keys, n_groups, column):
    """Rate the split of known from missing values."""
    known_rows = len(keys) - work.n_missing
    smaller = min(known_rows, work.n_missing)
    if not takes_a_side(work) or work.drawn_cut >= 0 or smaller < work.min_samples_leaf:
        return
    known, missing = known_and_missing_impurity(work, keys, n_groups)
    if work.criterion != ABSOLUTE_ERROR:
        missing = impurity_of_moments(
            work, work.group_weight[n_groups], work.group_mean[n_groups], work.group_squares[n_groups]
        )
    gain = work.impurity - (known + missing)
    missing_weight = work.group_weight[n_groups]
    if gain > -np.inf and heavy_enough(work, work.weight - missing_weight, missing_weight):
        keep_missing_apart(work, gain, gain, column, smaller)


@kernel
def search_number_thresholds(work, keys, n_groups, column):
    """Rate the cuts of a numeric column for any criterion, missing values allowed."""
    begin_groups(work, keys, n_groups)
    if work.random_cuts and n_groups > 1:
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
    rate_missing_apart_numbers(work, keys, n_groups, column)


@kernel
def impurity_with(work, keys, n_groups, chosen, others, missing_to):
    """Compute the weighted impurity of the chosen groups and the others.

    Missing values join the chosen (0), the others (1) or neither (2).
    """
    w1, m1, s1 = chosen
    w2, m2, s2 = others
    if missing_to == 0:
        w1, m1, s1 = join_group(work, n_groups, w1, m1, s1)
    elif missing_to == 1:
        w2, m2, s2 = join_group(work, n_groups, w2, m2, s2)
    if work.criterion == ABSOLUTE_ERROR:
        return absolute_of_sides(work, keys, n_groups, missing_to, w1, w2) - work.missing_impurity
    return impurity_of_moments(work, w1, m1, s1) + impurity_of_moments(work, w2, m2, s2)


@kernel
def rate_moments(work, keys, n_groups, column, chosen, others, chosen_rows, lighter_first):
    """Rate the split into the chosen groups and the others, given the moments of both."""
    heavier = chosen[0] > others[0]
    other_rows = work.hi - work.lo - work.n_missing - chosen_rows
    if not takes_a_side(work):
        missing_to = TWO if work.n_missing > 0 else ZERO
        gain = work.base - impurity_with(work, keys, n_groups, chosen, others, missing_to)
        balance = min(chosen_rows, other_rows)
        to_chosen = heavier
        if not heavy_enough(work, chosen[0], others[0]):
            return
    else:
        gain, balance, to_chosen = -np.inf, ZERO, heavier
        for turn in range(2):
            with_chosen = heavier if turn == 0 else not heavier
            n_chosen = chosen_rows + (work.n_missing if with_chosen else ZERO)
            n_others = other_rows + (ZERO if with_chosen else work.n_missing)
            missing_weight = work.group_weight[n_groups]
            chosen_weight = chosen[0] + (missing_weight if with_chosen else 0.0)
            other_weight = others[0] + (0.0 if with_chosen else missing_weight)
            if min(n_chosen, n_others) < work.min_samples_leaf or not heavy_enough(work, chosen_weight, other_weight):
                continue
            gains = work.base - impurity_with(work, keys, n_groups, chosen, others, np.int64(not with_chosen))
            if gains > gain + tie_width(work):
                gain, balance, to_chosen = gains, min(n_chosen, n_others), with_chosen
    if balance < work.min_samples_leaf or gain == -np.inf:
        return
    keep_subset(work, n_groups, gain - work.chance, gain, column, to_chosen, lighter_first, balance)


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
    """Rate each category against all others; of two categories, one is enough."""
    # Moments of all groups from g on. The arrays of the sweeps are not in use here.
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
def impurity_of_branches(work, keys, n_groups, missing_group):
    """Compute the weighted impurity of one branch per group, missing values in `missing_group` unless it is -1."""
    if work.criterion == ABSOLUTE_ERROR:
        return absolute_of_groups(work, keys, n_groups, missing_group) - work.missing_impurity
    impurity = 0.0
    for g in range(n_groups):
        impurity += branch_impurity(work, n_groups, g, g == missing_group)
    return impurity


@kernel
def branch_impurity(work, n_groups, g, with_missing):
    """Compute the weighted impurity of one group; a group of zeros has no deviance.

    A single category can therefore not forbid the whole split.
    """
    weight, mean, squares = join_group(work, g, 0.0, 0.0, 0.0)
    if with_missing:
        weight, mean, squares = join_group(work, n_groups, weight, mean, squares)
    if work.criterion == POISSON and mean <= 0.0:
        return 0.0
    return impurity_of_moments(work, weight, mean, squares)


@kernel
def best_number_missing_group(work, keys, n_groups):
    """Return the best group for missing values in a split with one branch per category; of equal ones, the heaviest."""
    largest = heaviest_group(work, n_groups)
    if work.criterion == ABSOLUTE_ERROR and n_groups > MOST_MISSING_GROUPS:
        return largest
    best, least = largest, np.inf
    for turn in range(-1, n_groups):
        g = largest if turn < 0 else np.int64(turn)
        if work.criterion == ABSOLUTE_ERROR:
            more = impurity_of_branches(work, keys, n_groups, g)
        else:
            more = branch_impurity(work, n_groups, g, True) - branch_impurity(work, n_groups, g, False)
        if more < least - tie_width(work):
            best, least = g, more
    return best


@kernel
def search_number_multiway(work, keys, n_groups, column):
    """Rate the split with one branch per category."""
    if not enough_branches(work, n_groups):
        return
    missing_group = best_number_missing_group(work, keys, n_groups) if takes_a_side(work) else NONE
    impurity = impurity_of_branches(work, keys, n_groups, missing_group)
    branch = work.group_code[missing_group] if missing_group >= 0 else work.group_code[heaviest_group(work, n_groups)]
    if impurity < np.inf:
        keep_multiway(work, work.base - impurity, column, branch)


@kernel
def sweep_number_subsets(work, keys, n_groups, column):
    """Rate the cuts of the categories ordered by their mean; is the best of them allowed?"""
    largest = 0.0
    for g in range(n_groups):
        largest = max(largest, abs(work.group_mean[g]))
    sort_groups(work.group_mean, work.order, n_groups, largest)
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
        # Poisson forbids a side of zeros, however good. The best of the other splits is then perhaps not in the order.
        no_rate = no_rate or gain == -np.inf
        if allowed and work.among > 1 and gain - work.chance > slot_floor(work):
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
    """Find the best partition of the categories into two: in their order if that is exact, otherwise by trying all.

    The order by the mean contains the best split if the weighted impurity depends on a side's mean alone (Fisher 1958)
    and no limit on the sides interferes. This is not known for a criterion of the user. The order is then only rated
    first, so that the same one of several equal splits is chosen.
    """
    by_mean = ORDERED[work.criterion] and (work.criterion != OWN or work.among == 1)
    if by_mean or n_groups > MAX_EXHAUSTIVE:
        if sweep_number_subsets(work, keys, n_groups, column) and work.criterion != OWN:
            return
    if n_groups <= MAX_EXHAUSTIVE:
        for pattern in range(1, 1 << (n_groups - 1)):
            choose_bits(work, n_groups, pattern)
            rate_chosen_numbers(work, keys, n_groups, column, YES)


@kernel
def chance_number_gain(work, keys, n_groups, column):
    """Compute the gain that the categories of this column have by chance, 0 if it has few."""
    if not work.adjusted[column]:
        return 0.0
    n_rows = len(keys) - work.n_missing
    return number_spread(work, keys, n_rows) * chance_share(n_groups, n_rows)


@kernel
def number_spread(work, keys, n_rows):
    """Compute the gain of a split into single rows, whose impurity is 0 but for a function of the user."""
    if work.criterion == POISSON:
        return work.spread
    if work.criterion != OWN:
        return work.base
    refused = work.own_workspace[len(work.own_workspace) // 2]
    pure = 0.0
    for i in range(n_rows):
        row = row_of(keys[i])
        pure += impurity_of_moments(work, work.weights[row], work.numbers[row], 0.0)
    if has_refused(work) and refused == 0.0:
        # A function that has no result for one row is only an error if a leaf can have one row.
        work.own_workspace[len(work.own_workspace) // 2] = 0.0
        return max(work.base, 0.0)
    return max(work.base - pure, 0.0)


@kernel
def search_number_categories(work, keys, n_groups, column):
    """Rate the splits of a categorical column that the recipe allows."""
    if missing_as_group(work):
        n_groups = add_missing_number_group(work, keys, n_groups, column)
    if n_groups < (1 if takes_a_side(work) else 2):
        return
    begin_groups(work, keys, n_groups)
    if n_groups > 1:
        work.chance = chance_number_gain(work, keys, n_groups, column)
        if not gains_only_by_chance(work, n_groups, column):
            rate_number_categories(work, keys, n_groups, column)
        work.chance = 0.0
    if n_groups == 1 or not work.random_cuts:
        rate_missing_apart_numbers(work, keys, n_groups, column)


@kernel
def rate_number_categories(work, keys, n_groups, column):
    """Rate the splits that separate categories from each other."""
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
