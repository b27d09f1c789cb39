"""The compiled loop that grows one oblivious tree: all leaves of a level are split by the same test.

A test is rated by what it takes off the loss in all leaves together. A leaf that the test does not part, or of which a
side would be too small, stays as it is and meets the tests of the next levels.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.boosting.loop import (
    answer_leaves,
    begin_root,
    choose_columns,
    close_leaves,
    finish_tree,
    give_birth,
    part_leaf,
    sum_of_threads,
    tally_leaf,
    tree_of,
    write_node,
)
from treewright.engines.boosting.search import (
    BYTE,
    CATEGORY_L2,
    COLUMN,
    CUT,
    FIRST_SUM,
    IS_SET,
    L1,
    L2,
    LEAST_ROWS,
    MISSING_FIRST,
    N_MASK,
    N_TOLD,
    chance_gain,
    g_of,
    h_of,
    join_again,
    least_hessian,
    merge_tallies,
    order_categories,
    worth,
    worth_of_two,
)
from treewright.engines.boosting.workspace import GAIN, HI, LO, N_COUNTS, N_ROWS, SLOT, SUM
from treewright.engines.exact.layout import LOW_SIX, NO, ONE, SIX, YES, ZERO, has_bit
from treewright.runtime.barrier import ABANDONED, look_at, meet
from treewright.runtime.draws import GOLDEN
from treewright.runtime.jit import entry, kernel


@entry
def grow_oblivious_trees(
    table, together, own, settings, thread, n_threads, give_way, seeds, scores, grown, totals, orders
):
    """Grow trees that have been opened as oblivious ones, and add their answers to the scores if there are any."""
    grow_all_oblivious(
        table, together, own, settings, thread, n_threads, give_way, seeds, scores, grown, totals, orders
    )


@kernel
def grow_all_oblivious(
    table, together, own, settings, thread, n_threads, give_way, seeds, scores, grown, totals, orders
):
    """The loop of `grow_oblivious_trees`, apart from it as `grow_all` is."""
    for tree in range(len(seeds)):
        one = tree_of(together, tree)
        grow_oblivious(table, one, own, settings, seeds[tree], thread, n_threads, give_way, totals, orders)
        finish_tree(one, own, thread, tree, scores, grown)


@kernel
def grow_oblivious(table, together, own, settings, seed, thread, n_threads, give_way, totals, orders):
    """Grow a tree that has been opened as an oblivious one."""
    begin_root(together, own, n_threads)
    n_leaves, n_nodes, n_sets = np.int64(1), np.int64(1), ZERO
    tally_and_subtract(table, together, own, ZERO, ZERO, NO, thread, n_threads, give_way)
    order_all(table, together, own, orders, thread, n_threads)
    n_levels = min(settings.max_depth, np.int64(62))
    n_parted = ZERO
    for level in range(n_levels):
        if look_at(together.gate, ABANDONED) != 0:
            break
        seed_here = seed + GOLDEN * np.uint64(level)
        gain = choose_test(
            table, together, own, settings, seed_here, n_leaves, totals, orders, thread, n_threads, give_way
        )
        if gain <= settings.min_split_gain:
            break
        column = own.leaves[0, COLUMN]
        own.column_gains[column] += gain
        n_old = n_leaves
        for leaf in range(n_old):
            middle = part_leaf(table, own, leaf)
            n_parted += 1
            place = n_parted % N_COUNTS
            together.counts[thread, place] = middle - own.leaves[leaf, LO]
            meet(together.gate, n_threads, give_way)
            n_first = sum_of_threads(together.counts, place, n_threads)
            if min(n_first, own.leaves[leaf, N_ROWS] - n_first) < settings.min_rows:
                join_again(own.rows, own.leaves[leaf, LO], middle, own.leaves[leaf, HI], own.spare)
                for group in range(own.live_groups.shape[1]):
                    own.live_groups[leaf, group] &= table.groups[group, column]
                continue
            n_sets = write_node(own, leaf, n_nodes, n_sets)
            second = n_leaves
            give_birth(table, own, settings, leaf, second, middle, n_first, n_nodes, len(together.pool))
            n_nodes += 2
            n_leaves += 1
            first_is_large = own.leaves[leaf, N_ROWS] >= own.leaves[second, N_ROWS]
            small, large = (second, leaf) if first_is_large else (leaf, second)
            tally_and_subtract(table, together, own, small, large, YES, thread, n_threads, give_way)
    own.ends[0], own.ends[1], own.ends[2] = n_nodes, n_leaves, n_sets
    close_leaves(own, n_leaves)
    answer_leaves(together, own, settings, n_leaves, thread, n_threads, give_way)


@kernel
def tally_and_subtract(table, together, own, small, large, has_large, thread, n_threads, give_way):
    """Tally a leaf's rows, and take them from the tally that its sibling has from their parent."""
    leaves, pool = own.leaves, together.pool
    tally_leaf(table, together, own, small, thread)
    meet(together.gate, n_threads, give_way)
    slot, slot_large = leaves[small, SLOT], leaves[large, SLOT]
    for column in range(thread, len(table.n_codes), n_threads):
        if together.allowed[column]:
            first, end = table.start[column], table.start[column + 1]
            tally, other = pool[slot, first:end], pool[slot_large, first:end]
            merge_tallies(together.tallies[0], column, table.n_codes[column], tally, other, has_large)
    meet(together.gate, n_threads, give_way)


@kernel
def order_all(table, together, own, orders, thread, n_threads):
    """The order along which the categories of each column are parted in all of the tree, from the root's tally."""
    for column in range(thread, len(table.n_codes), n_threads):
        if together.allowed[column] and not table.is_number[column]:
            n_codes = table.n_codes[column]
            tally = together.pool[0, table.start[column] : table.start[column + 1]]
            n_present = order_categories(tally, n_codes, own.layout, own.limits, own.present, own.along)
            orders[column, 256] = n_present
            for p in range(n_present):
                orders[column, p] = own.present[p]


@kernel
def choose_test(table, together, own, settings, seed, n_leaves, totals, orders, thread, n_threads, give_way):
    """Find the test that takes the most off the loss, and write it into all leaves; returns what it takes off."""
    choose_columns(table, together, own, settings, seed, ZERO, own.masks[0])
    best = 0.0
    told = together.told[thread, 0]
    told[COLUMN] = -1
    for column in range(thread, len(table.n_codes), n_threads):
        if not own.masks[0, column]:
            continue
        n_codes, first, end = table.n_codes[column], table.start[column], table.start[column + 1]
        is_number = table.is_number[column]
        has_gaps = False
        n_tests = n_codes if is_number else orders[column, 256] - 1
        for test in range(n_tests):
            totals[0, test] = totals[1, test] = 0.0
        for leaf in range(n_leaves):
            has_gaps |= together.pool[own.leaves[leaf, SLOT], end - 1] != 0
        for leaf in range(n_leaves):
            tally = together.pool[own.leaves[leaf, SLOT], first:end]
            for side in range(2 if has_gaps and is_number else 1):
                both = tally[n_codes] if side == 1 else ZERO
                for test in range(n_tests):
                    both += tally[test if is_number else orders[column, test]]
                    own.present[test] = both
                more_l2 = 0.0 if is_number else own.limits[CATEGORY_L2]
                add_gains(own, leaf, n_tests, table.monotonic_cst[column], more_l2, totals[side])
        if not is_number:
            chance = chance_gain(orders[column, 256], own.limits)
            for test in range(n_tests):
                totals[0, test] -= chance
        for side in range(2 if has_gaps and is_number else 1):
            for test in range(n_tests):
                if totals[side, test] > best:
                    best = totals[side, test]
                    told[COLUMN], told[CUT], told[MISSING_FIRST], told[IS_SET] = column, test, side, not is_number
    together.gains[thread, 0] = best
    if told[COLUMN] >= 0:
        first_is_heavier = settle_gaps(table, together, own, told, n_leaves, orders)
        write_set(told, table, orders, first_is_heavier, together.told_sets[thread, 0])
    meet(together.gate, n_threads, give_way)
    winner = ZERO
    for other in range(1, n_threads):
        gain, most = together.gains[other, 0], together.gains[winner, 0]
        earlier = together.told[other, 0, COLUMN] < together.told[winner, 0, COLUMN]
        if gain > most or (gain == most and earlier):
            winner = np.int64(other)
    best = together.gains[winner, 0]
    if best > 0.0:
        for leaf in range(n_leaves):
            take_test(table, together, own, leaf, together.told[winner, 0], together.told_sets[winner, 0])
    meet(together.gate, n_threads, give_way)
    return 0.5 * best * own.scale[0] * (own.scale[0] / own.scale[1])


@kernel
def add_gains(own, leaf, n_tests, direction, more_l2, totals):
    """Add what a leaf gains by each test, whose first side has the sum in `present`.

    That is 0 if the leaf is not parted, minus infinity if it may not be. There is no branch within the loop, so that
    the compiler can rate several tests at a time.
    """
    layout, limits, up_to = own.layout, own.limits, own.present
    whole, size = own.leaves[leaf, SUM], own.leaves[leaf, N_ROWS]
    all_g, all_h = g_of(whole, layout), h_of(whole, layout)
    least = least_hessian(whole, size, layout, limits)
    n_mask = layout[N_MASK]
    # Where rows are not counted, none are too few.
    least_rows = np.int64(limits[LEAST_ROWS]) if n_mask != 0 else -size
    l1_regularization, l2_regularization = limits[L1], limits[L2] + more_l2
    alone = worth(all_g, all_h, l1_regularization, limits[L2])
    for test in range(np.uint64(n_tests)):
        both = up_to[test]
        g, h, n_rows = g_of(both, layout), h_of(both, layout), both & n_mask
        other_g, other_h = all_g - g, all_h - h
        gain = worth_of_two(g, h, other_g, other_h, l1_regularization, l2_regularization) - alone
        gain = (
            gain
            if direction * (g * (other_h + l2_regularization) - other_g * (h + l2_regularization)) >= 0.0
            else -np.inf
        )
        parts = (h >= least) & (other_h >= least) & (n_rows >= least_rows) & (size - n_rows >= least_rows)
        totals[test] += gain if parts else 0.0


@kernel
def settle_gaps(table, together, own, told, n_leaves, orders):
    """Send gaps to the heavier side of a test of numbers if there were none; returns whether that is the first."""
    column = told[COLUMN]
    n_codes, start, end = table.n_codes[column], table.start[column], table.start[column + 1]
    first = whole = gaps = ZERO
    for leaf in range(n_leaves):
        tally = together.pool[own.leaves[leaf, SLOT], start:end]
        for p in range(told[CUT] + 1):
            first += tally[orders[column, p] if told[IS_SET] != 0 else p]
        for code in range(n_codes + 1):
            whole += tally[code]
        gaps += tally[n_codes]
    first_is_heavier = 2.0 * h_of(first, own.layout) > h_of(whole, own.layout)
    if told[IS_SET] == 0 and gaps == 0:
        told[MISSING_FIRST] = np.int64(first_is_heavier)
    return first_is_heavier


@kernel
def write_set(told, table, orders, others_first, told_set):
    """The set of codes on the first side of a test of categories; what did not occur goes with the heavier side."""
    if told[IS_SET] == 0:
        return
    column = told[COLUMN]
    for w in range(4):
        told_set[w] = ~np.uint64(0) if others_first else np.uint64(0)
    for p in range(orders[column, 256]):
        place = orders[column, p]
        code = np.uint64(place) if place < table.n_codes[column] else BYTE
        if p <= told[CUT]:
            told_set[code >> SIX] |= ONE << (code & LOW_SIX)
        else:
            told_set[code >> SIX] &= ~(ONE << (code & LOW_SIX))


@kernel
def take_test(table, together, own, leaf, told, told_set):
    """Write the test of a level into one of its leaves, with the sum of its first side there."""
    for k in range(N_TOLD):
        own.leaves[leaf, k] = told[k]
    for w in range(4):
        own.sets[leaf, w] = told_set[w]
    column = told[COLUMN]
    n_codes = table.n_codes[column]
    tally = together.pool[own.leaves[leaf, SLOT], table.start[column] : table.start[column + 1]]
    both = ZERO
    for code in range(n_codes + 1):
        if told[IS_SET] != 0:
            is_first = has_bit(told_set, ZERO, code if code < n_codes else 255)
        else:
            is_first = told[MISSING_FIRST] != 0 if code == n_codes else code <= told[CUT]
        if is_first:
            both += tally[code]
    own.leaves[leaf, FIRST_SUM] = both
    own.bounds[leaf, GAIN] = 0.0
