"""The compiled loop that grows one oblivious tree: all leaves of a level are split by the same test.

A test is rated by the sum of its loss reductions over all leaves. If a test does not split a leaf, or makes one side
too small, the leaf remains as it is. The tests of the next levels are applied to it, too.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import LOW_SIX, NO, ONE, SIX, YES, ZERO, has_bit
from treewright.engines.boosting.loop import (
    add_children,
    begin_root,
    choose_columns,
    close_leaves,
    fill_leaf_histogram,
    finish_tree,
    partition_leaf,
    set_leaf_values,
    sum_of_threads,
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
    N_PROPOSAL,
    chance_gain,
    g_of,
    h_of,
    leaf_score,
    least_hessian,
    merge_histograms,
    order_categories,
    score_of_two,
    undo_partition,
)
from treewright.engines.boosting.workspace import (
    GAIN,
    HI,
    LO,
    N_COUNTS,
    N_ROWS,
    SLOT,
    SUM,
    BoostSettings,
    BoostTable,
    Grown,
    SharedState,
    ThreadState,
)
from treewright.runtime.barrier import ABANDONED, load_atomic, wait
from treewright.runtime.draws import GOLDEN
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Input, Reals2, Wholes, Wholes2, Words


@entry
def grow_oblivious_trees(
    table: BoostTable,
    shared: SharedState,
    local: ThreadState,
    settings: BoostSettings,
    thread: int,
    n_threads: int,
    locks: Input[Wholes],
    seeds: Input[Words],
    scores: Reals2,
    grown: Grown,
    totals: Reals2,
    orders: Wholes2,
) -> None:
    """Grow trees that have been opened as oblivious trees, and add their predictions to the scores if there are any."""
    grow_all_oblivious(table, shared, local, settings, thread, n_threads, locks, seeds, scores, grown, totals, orders)


@kernel
def grow_all_oblivious(table, shared, local, settings, thread, n_threads, locks, seeds, scores, grown, totals, orders):
    """Run the loop of `grow_oblivious_trees`, which is separate for the same reason as `grow_all`."""
    for tree in range(len(seeds)):
        one = tree_of(shared, tree)
        grow_oblivious(table, one, local, settings, seeds[tree], thread, n_threads, locks, totals, orders)
        finish_tree(one, local, thread, tree, scores, grown)


@kernel
def grow_oblivious(table, shared, local, settings, seed, thread, n_threads, locks, totals, orders):
    """Grow a tree that has been opened as an oblivious tree."""
    begin_root(shared, local, n_threads)
    n_leaves, n_nodes, n_sets = np.int64(1), np.int64(1), ZERO
    fill_and_subtract(table, shared, local, ZERO, ZERO, NO, thread, n_threads, locks)
    order_all(table, shared, local, orders, thread, n_threads)
    n_levels = min(settings.max_depth, np.int64(62))
    n_partitions = ZERO
    for level in range(n_levels):
        if load_atomic(shared.barrier, ABANDONED) != 0:
            break
        seed_here = seed + GOLDEN * np.uint64(level)
        gain = choose_test(
            table, shared, local, settings, seed_here, n_leaves, totals, orders, thread, n_threads, locks
        )
        if gain <= settings.min_split_gain:
            break
        column = local.leaves[0, COLUMN]
        local.column_gains[column] += gain
        n_old = n_leaves
        for leaf in range(n_old):
            middle = partition_leaf(table, local, leaf)
            n_partitions += 1
            place = n_partitions % N_COUNTS
            shared.counts[thread, place] = middle - local.leaves[leaf, LO]
            wait(shared.barrier, thread, n_threads, locks)
            n_first = sum_of_threads(shared.counts, place, n_threads)
            if min(n_first, local.leaves[leaf, N_ROWS] - n_first) < settings.min_rows:
                undo_partition(local.rows, local.leaves[leaf, LO], middle, local.leaves[leaf, HI], local.spare)
                for group in range(local.live_groups.shape[1]):
                    local.live_groups[leaf, group] &= table.groups[group, column]
                continue
            n_sets = write_node(local, leaf, n_nodes, n_sets)
            second = n_leaves
            add_children(table, local, settings, leaf, second, middle, n_first, n_nodes, len(shared.pool))
            n_nodes += 2
            n_leaves += 1
            first_is_large = local.leaves[leaf, N_ROWS] >= local.leaves[second, N_ROWS]
            small, large = (second, leaf) if first_is_large else (leaf, second)
            fill_and_subtract(table, shared, local, small, large, YES, thread, n_threads, locks)
    local.ends[0], local.ends[1], local.ends[2] = n_nodes, n_leaves, n_sets
    close_leaves(local, n_leaves)
    set_leaf_values(shared, local, settings, n_leaves, thread, n_threads, locks)


@kernel
def fill_and_subtract(table, shared, local, small, large, has_large, thread, n_threads, locks):
    """Fill the histogram of a leaf, and subtract it from its parent's to obtain that of its sibling."""
    leaves, pool = local.leaves, shared.pool
    fill_leaf_histogram(table, shared, local, small, thread)
    wait(shared.barrier, thread, n_threads, locks)
    slot, slot_large = leaves[small, SLOT], leaves[large, SLOT]
    for column in range(thread, len(table.n_codes), n_threads):
        if shared.allowed[column]:
            first, end = table.start[column], table.start[column + 1]
            histogram, other = pool[slot, first:end], pool[slot_large, first:end]
            merge_histograms(shared.histograms[0], column, table.n_codes[column], histogram, other, has_large)
    wait(shared.barrier, thread, n_threads, locks)


@kernel
def order_all(table, shared, local, orders, thread, n_threads):
    """Compute from the root's histogram the order of the categories of each column for the whole tree."""
    for column in range(thread, len(table.n_codes), n_threads):
        if shared.allowed[column] and not table.is_number[column]:
            n_codes = table.n_codes[column]
            histogram = shared.pool[0, table.start[column] : table.start[column + 1]]
            n_present = order_categories(histogram, n_codes, local.layout, local.limits, local.present, local.along)
            orders[column, 256] = n_present
            for p in range(n_present):
                orders[column, p] = local.present[p]


@kernel
def choose_test(table, shared, local, settings, seed, n_leaves, totals, orders, thread, n_threads, locks):
    """Find the test that reduces the loss most, and write it into all leaves; returns the reduction."""
    choose_columns(table, shared, local, settings, seed, ZERO, local.masks[0])
    best = 0.0
    proposals = shared.proposals[thread, 0]
    proposals[COLUMN] = -1
    for column in range(thread, len(table.n_codes), n_threads):
        if not local.masks[0, column]:
            continue
        n_codes, first, end = table.n_codes[column], table.start[column], table.start[column + 1]
        is_number = table.is_number[column]
        has_missing = False
        n_tests = n_codes if is_number else orders[column, 256] - 1
        for test in range(n_tests):
            totals[0, test] = totals[1, test] = 0.0
        for leaf in range(n_leaves):
            has_missing |= shared.pool[local.leaves[leaf, SLOT], end - 1] != 0
        for leaf in range(n_leaves):
            histogram = shared.pool[local.leaves[leaf, SLOT], first:end]
            for side in range(2 if has_missing and is_number else 1):
                both = histogram[n_codes] if side == 1 else ZERO
                for test in range(n_tests):
                    both += histogram[test if is_number else orders[column, test]]
                    local.present[test] = both
                more_l2 = 0.0 if is_number else local.limits[CATEGORY_L2]
                add_gains(local, leaf, n_tests, table.monotonic_cst[column], more_l2, totals[side])
        if not is_number:
            chance = chance_gain(orders[column, 256], local.limits)
            for test in range(n_tests):
                totals[0, test] -= chance
        for side in range(2 if has_missing and is_number else 1):
            for test in range(n_tests):
                if totals[side, test] > best:
                    best = totals[side, test]
                    proposals[COLUMN], proposals[CUT], proposals[MISSING_FIRST], proposals[IS_SET] = (
                        column,
                        test,
                        side,
                        not is_number,
                    )
    shared.gains[thread, 0] = best
    if proposals[COLUMN] >= 0:
        first_is_heavier = choose_missing_side(table, shared, local, proposals, n_leaves, orders)
        write_set(proposals, table, orders, first_is_heavier, shared.proposal_sets[thread, 0])
    wait(shared.barrier, thread, n_threads, locks)
    winner = ZERO
    for other in range(1, n_threads):
        gain, most = shared.gains[other, 0], shared.gains[winner, 0]
        earlier = shared.proposals[other, 0, COLUMN] < shared.proposals[winner, 0, COLUMN]
        if gain > most or (gain == most and earlier):
            winner = np.int64(other)
    best = shared.gains[winner, 0]
    if best > 0.0:
        for leaf in range(n_leaves):
            take_test(table, shared, local, leaf, shared.proposals[winner, 0], shared.proposal_sets[winner, 0])
    wait(shared.barrier, thread, n_threads, locks)
    return 0.5 * best * local.scale[0] * (local.scale[0] / local.scale[1])


@kernel
def add_gains(local, leaf, n_tests, direction, more_l2, totals):
    """Add the gain of a leaf by each test, whose first side has the sum in `present`.

    The gain is 0 if the test does not split the leaf, and minus infinity if a constraint forbids the split. The loop
    has no branch, so that the compiler can vectorise it.
    """
    layout, limits, up_to = local.layout, local.limits, local.present
    whole, size = local.leaves[leaf, SUM], local.leaves[leaf, N_ROWS]
    all_g, all_h = g_of(whole, layout), h_of(whole, layout)
    least = least_hessian(whole, size, layout, limits)
    n_mask = layout[N_MASK]
    # If rows are not counted, this limit has no effect.
    least_rows = np.int64(limits[LEAST_ROWS]) if n_mask != 0 else -size
    l1_regularization, l2_regularization = limits[L1], limits[L2] + more_l2
    alone = leaf_score(all_g, all_h, l1_regularization, limits[L2])
    for test in range(np.uint64(n_tests)):
        both = up_to[test]
        g, h, n_rows = g_of(both, layout), h_of(both, layout), both & n_mask
        other_g, other_h = all_g - g, all_h - h
        gain = score_of_two(g, h, other_g, other_h, l1_regularization, l2_regularization) - alone
        gain = (
            gain
            if direction * (g * (other_h + l2_regularization) - other_g * (h + l2_regularization)) >= 0.0
            else -np.inf
        )
        is_split = (h >= least) & (other_h >= least) & (n_rows >= least_rows) & (size - n_rows >= least_rows)
        totals[test] += gain if is_split else 0.0


@kernel
def choose_missing_side(table, shared, local, proposals, n_leaves, orders):
    """Send missing values to the heavier side of a numeric test if there were none; is that the first side?"""
    column = proposals[COLUMN]
    n_codes, start, end = table.n_codes[column], table.start[column], table.start[column + 1]
    first = whole = missing = ZERO
    for leaf in range(n_leaves):
        histogram = shared.pool[local.leaves[leaf, SLOT], start:end]
        for p in range(proposals[CUT] + 1):
            first += histogram[orders[column, p] if proposals[IS_SET] != 0 else p]
        for code in range(n_codes + 1):
            whole += histogram[code]
        missing += histogram[n_codes]
    first_is_heavier = 2.0 * h_of(first, local.layout) > h_of(whole, local.layout)
    if proposals[IS_SET] == 0 and missing == 0:
        proposals[MISSING_FIRST] = np.int64(first_is_heavier)
    return first_is_heavier


@kernel
def write_set(proposals, table, orders, others_first, proposal_set):
    """Write the set of codes on the first side of a categorical test; absent codes go to the heavier side."""
    if proposals[IS_SET] == 0:
        return
    column = proposals[COLUMN]
    for w in range(4):
        proposal_set[w] = ~np.uint64(0) if others_first else np.uint64(0)
    for p in range(orders[column, 256]):
        place = orders[column, p]
        code = np.uint64(place) if place < table.n_codes[column] else BYTE
        if p <= proposals[CUT]:
            proposal_set[code >> SIX] |= ONE << (code & LOW_SIX)
        else:
            proposal_set[code >> SIX] &= ~(ONE << (code & LOW_SIX))


@kernel
def take_test(table, shared, local, leaf, proposals, proposal_set):
    """Write the test of a level into one of its leaves, with the sum of its first side there."""
    for k in range(N_PROPOSAL):
        local.leaves[leaf, k] = proposals[k]
    for w in range(4):
        local.sets[leaf, w] = proposal_set[w]
    column = proposals[COLUMN]
    n_codes = table.n_codes[column]
    histogram = shared.pool[local.leaves[leaf, SLOT], table.start[column] : table.start[column + 1]]
    both = ZERO
    for code in range(n_codes + 1):
        if proposals[IS_SET] != 0:
            is_first = has_bit(proposal_set, ZERO, code if code < n_codes else 255)
        else:
            is_first = proposals[MISSING_FIRST] != 0 if code == n_codes else code <= proposals[CUT]
        if is_first:
            both += histogram[code]
    local.leaves[leaf, FIRST_SUM] = both
    local.bounds[leaf, GAIN] = 0.0
