"""The absolute error of several targets at once: the mean over the targets of the distances to their medians.

Sums of distances do not follow from sums of targets. One target after the other is therefore made the current one of
`absolute`, and the figures of each cut are added up.
"""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import code_of, row_of
from treewright.engines.bits import NO, NONE, YES, ZERO, clear
from treewright.engines.chance import chance_share
from treewright.engines.exact.absolute import (
    absolute_of_sides,
    number_of,
    prepare_medians,
    sweep_absolute,
)
from treewright.engines.exact.categories import (
    MAX_EXHAUSTIVE,
    choose_at_random,
    choose_bits,
    choose_first,
    gains_only_by_chance,
    sort_groups,
)
from treewright.engines.exact.layout import ONE_VS_REST
from treewright.engines.exact.numbers import rate_position
from treewright.engines.exact.slots import keep_cut, keep_missing_apart, keep_subset, tie_width
from treewright.engines.exact.thresholds import draw_cut, heavy_enough, takes_a_side
from treewright.runtime.kernels import kernel


@kernel
def measure_several_absolute(work, node, targets):
    """Compute the medians of a node into its distribution; returns the mean over the targets of their distances."""
    distances = 0.0
    for target in range(work.n_outputs):
        median, of_target = prepare_medians(work, targets, target, work.node_lo[node], work.node_hi[node])
        work.node_distribution[node, target] = median
        distances += of_target
    return distances / work.n_outputs


@kernel
def search_several_absolute(work, targets, keys, column):
    """Rate the splits of one sorted column that the recipe allows."""
    n_groups = group_rows(work, keys)
    if n_groups > 1 and work.is_number[column]:
        search_thresholds(work, targets, keys, n_groups, column)
    elif n_groups > 1 and not gains_only_by_chance(work, n_groups, column):
        if work.adjusted[column]:
            work.chance = work.spread * chance_share(n_groups, len(keys) - work.n_missing)
        search_category_sets(work, targets, keys, n_groups, column)
        work.chance = 0.0
    if takes_a_side(work) and work.drawn_cut < 0 and n_groups > 0:
        rate_missing_apart_several(work, targets, keys, n_groups, column)


@kernel
def group_rows(work, keys):
    """Form a group of the rows with each value; returns their number; the missing rows are after them."""
    n_groups, known = ZERO, len(keys) - work.n_missing
    for i in range(len(keys)):
        code = code_of(keys[i]) if i < known else NONE
        if n_groups == 0 or work.group_code[n_groups - 1] != code:
            open_group(work, n_groups, i, code)
            n_groups += 1
        work.group_rows[n_groups - 1] += 1
        work.group_weight[n_groups - 1] += work.weights[row_of(keys[i])]
    if work.n_missing > 0:
        return n_groups - 1
    open_group(work, n_groups, len(keys), NONE)
    return n_groups


@kernel
def open_group(work, g, start, code):
    work.group_code[g] = code
    work.group_start[g] = start
    work.group_rows[g] = 0
    work.group_weight[g] = 0.0


@kernel
def sweep_targets(work, targets, keys, n_groups):
    """Fill `before` and `after` for all cuts in order with the mean over the targets; line 1 is with missing rows."""
    weight, n_lines = 0.0, 2 if takes_a_side(work) else 1
    for j in range(n_groups):
        weight += work.group_weight[work.order[j]]
        work.weight_before[j] = weight
    for with_missing in range(n_lines):
        clear(work.before[with_missing], n_groups)
        clear(work.after[with_missing], n_groups)
    of_target = work.group_squares  # no squares are needed here
    for target in range(work.n_outputs):
        prepare_medians(work, targets, target, work.lo, work.hi)
        for with_missing in range(n_lines):
            for backward in range(2):
                sweep_absolute(work, keys, n_groups, with_missing == 1, backward == 1, of_target)
                out = work.after[with_missing] if backward else work.before[with_missing]
                for j in range(n_groups):
                    out[j] += of_target[j] / work.n_outputs


@kernel
def search_thresholds(work, targets, keys, n_groups, column):
    """Rate the cuts between neighbouring values, or the one that is drawn."""
    if work.random_cuts:
        draw_cut(work, column, work.group_code[0], work.group_code[n_groups - 1])
    for g in range(n_groups):
        work.order[g] = g
    sweep_targets(work, targets, keys, n_groups)
    for j in range(n_groups - 1):
        cut, after = work.group_code[j], work.group_code[j + 1]
        if work.drawn_cut >= 0 and not cut <= work.drawn_cut < after:
            continue
        gain, missing_left, balance, allowed = rate_position(work, n_groups, j, work.group_start[j + 1])
        if allowed:
            keep_cut(work, gain, gain, column, cut, after, missing_left, balance)


@kernel
def distances_of_sides(work, targets, keys, n_groups, missing_to, chosen_weight, other_weight):
    """Compute the weighted impurity of the chosen groups and the others; missing rows are chosen (0) or not (1)."""
    distances = 0.0
    for target in range(work.n_outputs):
        prepare_medians(work, targets, target, work.lo, work.hi)
        distances += absolute_of_sides(work, keys, n_groups, missing_to, chosen_weight, other_weight)
    return distances / work.n_outputs


@kernel
def rate_missing_apart_several(work, targets, keys, n_groups, column):
    """Rate the split of known from missing values."""
    known_rows, missing_weight = len(keys) - work.n_missing, work.group_weight[n_groups]
    smaller = min(known_rows, work.n_missing)
    if smaller < work.min_samples_leaf or not heavy_enough(work, work.weight - missing_weight, missing_weight):
        return
    for g in range(n_groups):
        work.chosen[g] = True
    distances = distances_of_sides(
        work, targets, keys, n_groups, np.int64(1), work.weight - missing_weight, missing_weight
    )
    keep_missing_apart(work, work.impurity - distances, work.impurity - distances, column, smaller)


@kernel
def rate_chosen_absolute(work, targets, keys, n_groups, column, lighter_first):
    """Rate the split with the chosen categories on one side, with missing values on the better side."""
    chosen_rows, chosen_weight, missing_weight = ZERO, 0.0, work.group_weight[n_groups]
    for g in range(n_groups):
        if work.chosen[g]:
            chosen_rows += work.group_rows[g]
            chosen_weight += work.group_weight[g]
    other_weight = work.weight - missing_weight - chosen_weight
    other_rows = work.hi - work.lo - work.n_missing - chosen_rows
    heavier = chosen_weight > other_weight
    gain, balance, to_chosen = -np.inf, ZERO, heavier
    for turn in range(2 if takes_a_side(work) else 1):
        with_chosen = heavier if turn == 0 else not heavier
        rows = chosen_rows + (work.n_missing if with_chosen else ZERO)
        first_weight = chosen_weight + (missing_weight if with_chosen else 0.0)
        second_weight = work.weight - first_weight
        smaller = min(rows, chosen_rows + other_rows + work.n_missing - rows)
        if smaller < work.min_samples_leaf or not heavy_enough(work, first_weight, second_weight):
            continue
        missing_to = np.int64(not with_chosen)
        found = work.impurity - distances_of_sides(
            work, targets, keys, n_groups, missing_to, first_weight, second_weight
        )
        if found > gain + tie_width(work):
            gain, balance, to_chosen = found, smaller, with_chosen
    if gain > -np.inf:
        keep_subset(work, n_groups, gain - work.chance, gain, column, to_chosen, lighter_first, balance)


@kernel
def search_category_sets(work, targets, keys, n_groups, column):
    """Rate the splits of the categories in two, in all ways if they are few, else by orders of their means."""
    if work.random_cuts:
        choose_at_random(work, n_groups)
        rate_chosen_absolute(work, targets, keys, n_groups, column, work.categorical != ONE_VS_REST)
    elif work.categorical == ONE_VS_REST:
        clear(work.chosen, n_groups)
        for g in range(n_groups if n_groups > 2 else 1):
            work.chosen[g] = True
            rate_chosen_absolute(work, targets, keys, n_groups, column, NO)
            work.chosen[g] = False
    elif n_groups <= MAX_EXHAUSTIVE:
        for pattern in range(1, 1 << (n_groups - 1)):
            choose_bits(work, n_groups, pattern)
            rate_chosen_absolute(work, targets, keys, n_groups, column, YES)
    else:
        for target in range(work.n_outputs):
            order_by_mean(work, targets, target, keys, n_groups)
            rate_order(work, targets, keys, n_groups, column)


@kernel
def order_by_mean(work, targets, target, keys, n_groups):
    """Order the categories by the mean of one target."""
    largest = 0.0
    for g in range(n_groups):
        total = 0.0
        for i in range(work.group_start[g], work.group_start[g + 1]):
            row = row_of(keys[i])
            total += work.weights[row] * number_of(targets, target, row)
        work.along[g] = total / work.group_weight[g]
        largest = max(largest, abs(work.along[g]))
    sort_groups(work.along, work.order, n_groups, largest)


@kernel
def rate_order(work, targets, keys, n_groups, column):
    """Rate the cuts of the categories in their order; the best of them is kept."""
    sweep_targets(work, targets, keys, n_groups)
    left_rows, best, best_gain = ZERO, NONE, -np.inf
    for j in range(n_groups - 1):
        left_rows += work.group_rows[work.order[j]]
        gain, _, _, allowed = rate_position(work, n_groups, j, left_rows)
        if allowed and gain > best_gain + tie_width(work):
            best, best_gain = np.int64(j), gain
    if best >= 0:
        choose_first(work, n_groups, best + 1)
        rate_chosen_absolute(work, targets, keys, n_groups, column, YES)
