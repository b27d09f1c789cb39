"""Search for the splits of one categorical column, for class targets.

The rows of the node are first put into groups, one per category that occurs. A split is a choice of groups.
"""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import code_of, row_of
from treewright.engines.bits import NO, NONE, ONE, YES, ZERO, clear
from treewright.engines.chance import chance_share
from treewright.engines.criteria import ORDERED, OWN, split_bits
from treewright.engines.exact.impurity import impurity_of_classes
from treewright.engines.exact.layout import CLOSE, MULTIWAY, MULTIWAY_SPLIT, ONE_VS_REST, SUBSET, label_of
from treewright.engines.exact.slots import keep_subset, open_slot, slot_floor, tie_width, uses_ratio
from treewright.engines.exact.thresholds import (
    begin_sides,
    leaves_missing_out,
    rate_missing_apart,
    rate_sides,
    score_of,
    takes_a_side,
)
from treewright.engines.missing_values import LEARNED, OWN_BRANCH
from treewright.runtime.draws import draw_below, draw_bits
from treewright.runtime.kernels import kernel

# Category means that differ by less, compared with the numbers themselves, differ by rounding errors.
SAME_NUMBER = 1e-13

# Up to this number of categories, all 2**(n-1) - 1 binary partitions are tried if no order is known to contain the
# best.
MAX_EXHAUSTIVE = 10
POWER_STEPS = 24


@kernel
def group_keys(work, keys):
    """Form the groups from a sorted column; returns their number."""
    known = len(keys) - work.n_missing
    clear(work.missing, work.n_classes)
    for i in range(known, len(keys)):
        work.missing[label_of(keys[i], work)] += work.weights[row_of(keys[i])]
    n_groups = ZERO
    for i in range(known):
        code = code_of(keys[i])
        if n_groups == 0 or work.group_code[n_groups - 1] != code:
            work.group_code[n_groups] = code
            work.group_rows[n_groups] = 0
            work.group_weight[n_groups] = 0.0
            for k in range(work.n_classes):
                work.group_counts[n_groups, k] = 0.0
            n_groups += 1
        weight = work.weights[row_of(keys[i])]
        work.group_rows[n_groups - 1] += 1
        work.group_weight[n_groups - 1] += weight
        work.group_counts[n_groups - 1, label_of(keys[i], work)] += weight
    return n_groups


@kernel
def group_counts(work, n_codes):
    """Form the groups from a counted column; returns their number."""
    for k in range(work.n_classes):
        work.missing[k] = work.counts[n_codes, k]
    for g in range(work.n_present):
        code = work.present[g]
        weight = 0.0
        for k in range(work.n_classes):
            work.group_counts[g, k] = work.counts[code, k]
            weight += work.counts[code, k]
        work.group_code[g] = code
        work.group_rows[g] = work.code_rows[code]
        work.group_weight[g] = weight
    return work.n_present


@kernel
def heaviest_group(work, n_groups):
    """Return the first of the groups with the largest weight, to which rows with missing values go."""
    best = ZERO
    for g in range(1, n_groups):
        if work.group_weight[g] > work.group_weight[best]:
            best = g
    return best


@kernel
def enough_branches(work, n_groups):
    """Do at least two branches have enough rows? This is Quinlan's rule for one branch per category."""
    enough = 0
    for g in range(n_groups):
        size = work.group_weight[g] + CLOSE if work.quinlan else np.float64(work.group_rows[g])
        if size >= work.min_samples_leaf and work.group_weight[g] >= work.min_weight_leaf:
            enough += 1
    return enough >= 2


@kernel
def keep_multiway(work, gain, column, missing_branch):
    """Enter a split with one branch per category; `work.bits` is its split information times the weight."""
    open_slot(work, score_of(work, gain), gain, column, MULTIWAY_SPLIT, missing_branch, ZERO)


@kernel
def rate_branches(work, n_groups, missing_group):
    """Compute the gain of one branch per group, with missing values in `missing_group` unless it is negative."""
    impurity = bits = 0.0
    for g in range(n_groups):
        weight = 0.0
        for k in range(work.n_classes):
            work.first[k] = work.group_counts[g, k] + (work.missing[k] if g == missing_group else 0.0)
            weight += work.first[k]
        impurity += impurity_of_classes(work, work.first, weight)
        bits += split_bits(weight, work.weight)
    if leaves_missing_out(work):
        missing_weight = 0.0
        for k in range(work.n_classes):
            missing_weight += work.missing[k]
        bits += split_bits(missing_weight, work.weight)
    work.bits = bits
    return work.base - impurity


@kernel
def best_missing_group(work, n_groups):
    """Return the best group for missing values in a split with one branch per category; of equal ones, the heaviest."""
    missing_weight = 0.0
    for k in range(work.n_classes):
        missing_weight += work.missing[k]
    largest = heaviest_group(work, n_groups)
    gain_alone = rate_branches(work, n_groups, NONE)
    bits_alone = work.bits
    best, best_score = largest, -np.inf
    for turn in range(-1, n_groups):
        g = largest if turn < 0 else np.int64(turn)
        weight = work.group_weight[g]
        for k in range(work.n_classes):
            work.first[k] = work.group_counts[g, k]
            work.second[k] = work.group_counts[g, k] + work.missing[k]
        more = impurity_of_classes(work, work.second, weight + missing_weight)
        work.bits = bits_alone + split_bits(weight + missing_weight, work.weight) - split_bits(weight, work.weight)
        score = score_of(work, gain_alone - (more - impurity_of_classes(work, work.first, weight)))
        if score > best_score + tie_width(work):
            best, best_score = g, score
    return best


@kernel
def search_multiway(work, n_groups, column):
    """Rate the split with one branch per category."""
    if not enough_branches(work, n_groups):
        return
    missing_group = NONE
    if takes_a_side(work) and work.strategy == LEARNED:
        missing_group = best_missing_group(work, n_groups)
    gain = rate_branches(work, n_groups, missing_group)
    branch = work.group_code[missing_group] if missing_group >= 0 else work.group_code[heaviest_group(work, n_groups)]
    keep_multiway(work, gain, column, branch)


@kernel
def move_left(work, g):
    """Add a group to the left side; returns its number of rows."""
    for k in range(work.n_classes):
        work.left[k] += work.group_counts[g, k]
    return work.group_rows[g]


@kernel
def rate_chosen(work, n_groups, column, lighter_first):
    """Rate the split with the chosen groups on one side."""
    clear(work.left, work.n_classes)
    left_rows = ZERO
    for g in range(n_groups):
        if work.chosen[g]:
            left_rows += move_left(work, g)
    score, gain, missing_left, balance, admissible = rate_sides(work, left_rows)
    if admissible:
        keep_subset(work, n_groups, score, gain, column, missing_left, lighter_first, balance)


@kernel
def rate_singles(work, n_groups, column):
    """Rate each category against all others; of two categories, one is enough."""
    clear(work.chosen, n_groups)
    for g in range(n_groups if n_groups > 2 else 1):
        work.chosen[g] = True
        clear(work.left, work.n_classes)
        score, gain, missing_left, balance, admissible = rate_sides(work, move_left(work, g))
        if admissible:
            keep_subset(work, n_groups, score, gain, column, missing_left, NO, balance)
        work.chosen[g] = False


@kernel
def comes_before(along, a, b):
    return along[a] < along[b] or (along[a] == along[b] and a < b)


@kernel
def sift_down(along, order, start, size):
    """Sift an entry of a heap down to its position; the last of the order is at the top."""
    item = order[start]
    at = start
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and comes_before(along, order[child], order[child + 1]):
            child += 1
        if not comes_before(along, item, order[child]):
            break
        order[at] = order[child]
        at = child
    order[at] = item


@kernel
def sort_groups(along, order, n_groups, scale):
    """Sort the groups by a number, and those with equal numbers by their codes.

    Numbers that differ by rounding errors, compared with `scale`, are equal, so that the order of rows does not matter.
    """
    heap_sort(along, order, n_groups)
    start, least = 0, along[order[0]]
    for j in range(1, n_groups):
        g = order[j]
        if along[g] - least > SAME_NUMBER * scale:
            start, least = j, along[g]
        at = j
        while at > start and order[at - 1] > g:
            order[at] = order[at - 1]
            at -= 1
        order[at] = g


@kernel
def heap_sort(along, order, n_groups):
    """Sort the groups by a number, and those with the same number by their codes."""
    for g in range(n_groups):
        order[g] = g
    for start in range(n_groups // 2 - 1, -1, -1):
        sift_down(along, order, start, n_groups)
    for last in range(n_groups - 1, 0, -1):
        order[0], order[last] = order[last], order[0]
        sift_down(along, order, ZERO, last)


@kernel
def principal_order(work, n_groups):
    """Order the categories along the main direction in which their class shares differ.

    For two classes this is the order by the share of one class, which contains the best split (Breiman et al. 1984).
    For more classes it is the heuristic of Coppersmith, Hong and Hosking (1999).
    """
    n_classes, known, along, counts = work.n_classes, work.known, work.along, work.group_counts
    total = 0.0
    largest = 0
    for k in range(n_classes):
        total += known[k]
        largest = k if known[k] > known[largest] else largest
    direction, turned = work.first, work.second
    for k in range(n_classes):
        direction[k] = (1.0 if k == largest else 0.0) - known[k] / total
    for _ in range(1 if n_classes == 2 else POWER_STEPS):
        clear(turned, n_classes)
        for g in range(n_groups):
            along[g] = 0.0
            for k in range(n_classes):
                along[g] += (counts[g, k] / work.group_weight[g] - known[k] / total) * direction[k]
            for k in range(n_classes):
                turned[k] += along[g] * (counts[g, k] - work.group_weight[g] * known[k] / total)
        squares = 0.0
        for k in range(n_classes):
            squares += turned[k] * turned[k]
        if squares <= 0.0:
            break
        for k in range(n_classes):
            direction[k] = turned[k] / np.sqrt(squares)
    sort_groups(along, work.order, n_groups, 1.0)


@kernel
def sweep_subsets(work, n_groups, column):
    """Rate the cuts of the categories in their order; is the best of them admissible?"""
    order, width = work.order, tie_width(work)
    clear(work.left, work.n_classes)
    left_rows, best_cut = ZERO, NONE
    best_score, best_is_admissible, floor = -np.inf, True, -np.inf
    for j in range(n_groups - 1):
        left_rows += move_left(work, order[j])
        score, gain, missing_left, balance, admissible = rate_sides(work, left_rows)
        if score > best_score + width:
            best_score, best_is_admissible = score, admissible
        if not admissible:
            continue
        if work.among > 1 and score > slot_floor(work):
            choose_first(work, n_groups, j + 1)
            keep_subset(work, n_groups, score, gain, column, missing_left, YES, balance)
        elif work.among == 1 and score > floor:
            floor, best_cut = score + width, j
    if best_cut >= 0:
        choose_first(work, n_groups, best_cut + 1)
        rate_chosen(work, n_groups, column, YES)
    return best_is_admissible


@kernel
def choose_first(work, n_groups, n_chosen):
    """Choose the first groups of their order."""
    clear(work.chosen, n_groups)
    for j in range(n_chosen):
        work.chosen[work.order[j]] = True


@kernel
def choose_bits(work, n_groups, pattern):
    """Choose the groups whose bit is set in the pattern."""
    for g in range(n_groups):
        work.chosen[g] = (pattern >> g) & 1 != 0


@kernel
def choose_at_random(work, n_groups):
    """Choose some of the groups but not all, with equal probability; or only one, if the recipe requires it."""
    if work.categorical == ONE_VS_REST:
        clear(work.chosen, n_groups)
        work.chosen[draw_below(work.state, n_groups)] = True
        return
    n_chosen = 0
    while n_chosen == 0 or n_chosen == n_groups:
        n_chosen = 0
        for g in range(n_groups):
            work.chosen[g] = draw_bits(work.state) & ONE != 0
            n_chosen += 1 if work.chosen[g] else 0


@kernel
def missing_as_group(work):
    """Do the rows with missing values form a group like the others, so that an order of the groups remains exact?"""
    if not takes_a_side(work):
        return False
    return work.strategy == OWN_BRANCH or not (work.categorical != SUBSET or work.random_cuts)


@kernel
def add_missing_group(work, n_groups, column):
    """Append the rows with missing values as the last group; returns the new number of groups."""
    weight = 0.0
    for k in range(work.n_classes):
        work.group_counts[n_groups, k] = work.missing[k]
        weight += work.missing[k]
        work.missing[k] = 0.0
    work.group_code[n_groups] = work.n_codes[column]
    work.group_rows[n_groups] = work.n_missing
    work.group_weight[n_groups] = weight
    work.n_missing = ZERO
    return n_groups + 1


@kernel
def spread_missing(work, n_groups):
    """Count each row with a missing value as one row of every category that occurs."""
    for g in range(n_groups):
        for k in range(work.n_classes):
            share = work.portion * work.missing[k]
            work.group_counts[g, k] += share
            work.group_weight[g] += share


@kernel
def chance_gain(work, n_groups, column):
    """Compute the gain that the categories of this column have by chance, 0 if it has few."""
    if not work.adjusted[column]:
        return 0.0
    return class_spread(work) * chance_share(n_groups, work.hi - work.lo - work.n_missing)


@kernel
def gains_only_by_chance(work, n_groups, column):
    """Do the categories of this column explain everything by chance, so that no split can be better?"""
    return work.adjusted[column] and chance_share(n_groups, work.hi - work.lo - work.n_missing) >= 1.0


@kernel
def class_spread(work):
    """Compute the gain of a split into pure branches, whose impurity is 0 but for a function of the user."""
    if work.criterion != OWN:
        return work.base
    clear(work.first, work.n_classes)
    pure = 0.0
    for k in range(work.n_classes):
        work.first[k] = work.known[k]
        pure += impurity_of_classes(work, work.first, work.known[k])
        work.first[k] = 0.0
    return max(work.base - pure, 0.0)


@kernel
def search_categories(work, n_groups, column):
    """Rate the splits of a categorical column that the recipe allows."""
    if missing_as_group(work) and n_groups > 0:
        n_groups = add_missing_group(work, n_groups, column)
    if n_groups < (1 if takes_a_side(work) else 2):
        return
    begin_sides(work, n_groups)
    if n_groups > 1:
        work.chance = chance_gain(work, n_groups, column)
        if not gains_only_by_chance(work, n_groups, column):
            rate_categories(work, n_groups, column)
        work.chance = 0.0
    if n_groups == 1 or not work.random_cuts:
        rate_missing_apart(work, column)


@kernel
def rate_categories(work, n_groups, column):
    """Rate the splits that separate categories from each other."""
    if work.portion > 0.0:
        spread_missing(work, n_groups)
    one_vs_rest = work.categorical == ONE_VS_REST
    if work.categorical == MULTIWAY:
        search_multiway(work, n_groups, column)
    elif work.random_cuts:
        choose_at_random(work, n_groups)
        rate_chosen(work, n_groups, column, not one_vs_rest)
    elif one_vs_rest:
        rate_singles(work, n_groups, column)
    else:
        search_subsets(work, n_groups, column)


@kernel
def search_subsets(work, n_groups, column):
    """Find the best partition of the categories into two: in their order if that is exact, otherwise by trying all.

    The order contains the best split if no limit on the sides interferes and the criterion is concave. This is not
    known for a criterion of the user. The order is still rated first, so that the same one of several equal splits is
    chosen.
    """
    ordered_is_exact = work.n_classes == 2 and (ORDERED[work.criterion] or not uses_ratio(work))
    ordered_is_exact = ordered_is_exact and (work.criterion != OWN or work.among == 1)
    if ordered_is_exact or n_groups > MAX_EXHAUSTIVE:
        principal_order(work, n_groups)
        if sweep_subsets(work, n_groups, column) and work.criterion != OWN:
            return
    if n_groups <= MAX_EXHAUSTIVE:
        for pattern in range(1, 1 << (n_groups - 1)):
            choose_bits(work, n_groups, pattern)
            rate_chosen(work, n_groups, column, YES)
