"""The compiled loops that open and grow the trees of a round of boosting, each tree by several threads.

Every thread has its own rows: blocks of `TURN` rows of the table are assigned to the threads in turn. A thread rounds
the gradients of its rows, adds the rows to its histograms and partitions them. The histograms of all threads are merged
column by column. One thread merges and searches a column. All threads keep the same record of the leaves, so they need
not communicate which leaf is split next.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import NO, YES, ZERO
from treewright.engines.boosting.rounding import (
    add_up_in_order,
    add_up_turns,
    clear_lines,
    clear_turns,
    copy_line,
    round_gradients,
)
from treewright.engines.boosting.search import (
    COLUMN,
    CUT,
    FIRST_SUM,
    IS_SET,
    L1,
    L2,
    MISSING_FIRST,
    N_PROPOSAL,
    fill_histograms,
    g_of,
    h_of,
    leaf_score,
    merge_histograms,
    partition_by_cut,
    partition_by_set,
    scan_categories,
    scan_numbers,
    undo_partition,
)
from treewright.engines.boosting.workspace import (
    DEPTH,
    GAIN,
    HI,
    LEAST,
    LEAVES_AT_ONCE,
    LO,
    MOST,
    N_COUNTS,
    N_ROWS,
    NODE,
    ROOT_ROWS,
    ROOT_SUM,
    SLOT,
    SUM,
    BoostSettings,
    BoostTable,
    Grown,
    SharedState,
    ThreadState,
)
from treewright.engines.packed.walk import pack_leaf, pack_set, pack_split, walk_tree
from treewright.runtime.barrier import ABANDONED, load_atomic, wait
from treewright.runtime.draws import draw_below, scramble
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes2, Indices, Input, Reals2, Wholes, Wholes2, Words


@entry
def open_trees(
    table: BoostTable,
    shared: SharedState,
    local: ThreadState,
    settings: BoostSettings,
    thread: int,
    n_threads: int,
    locks: Input[Wholes],
    layouts: Input[Wholes2],
    seeds: Input[Words],
) -> None:
    """Round the gradients of a set of trees, and fill the histograms of all their roots in one pass over the rows."""
    histograms = shared.histograms
    for tree in range(len(histograms)):
        # Columns that a tree may not use are added to the histograms with the others of their block, but never merged.
        clear_lines(histograms[tree, thread])
        round_gradients(shared, local, settings, layouts, tree, seeds[tree], thread, n_threads, locks)
    fill_given_histogram(table, shared, local, local.given, ZERO, len(local.given), thread)


@entry
def grow_trees(
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
) -> None:
    """Grow trees that have been opened, and add their predictions to the scores if there are any.

    The loop is a separate kernel, because an entry counts the references to each array, and the arrays of `shared` are
    borrowed.
    """
    grow_all(table, shared, local, settings, thread, n_threads, locks, seeds, scores, grown)


@kernel
def grow_all(table, shared, local, settings, thread, n_threads, locks, seeds, scores, grown):
    """Run the loop of `grow_trees`."""
    for tree in range(len(seeds)):
        one = tree_of(shared, tree)
        grow_tree(table, one, local, settings, seeds[tree], thread, n_threads, locks)
        finish_tree(one, local, thread, tree, scores, grown)


@kernel
def tree_of(shared, tree):
    """Return the shared state for one tree of a set."""
    end = tree + 1
    return SharedState(
        shared.gradients[tree:end],
        shared.hessians[tree:end],
        shared.packed[tree:end],
        shared.histograms[tree:end],
        shared.scale[tree:end],
        shared.layout[tree:end],
        shared.limits[tree:end],
        shared.roots[tree:end],
        shared.turn_sums,
        shared.pool,
        shared.gains,
        shared.proposals,
        shared.proposal_sets,
        shared.counts,
        shared.barrier,
        shared.allowed,
    )


@kernel
def grow_tree(table, shared, local, settings, seed, thread, n_threads, locks):
    """Grow a tree that has been opened."""
    begin_root(shared, local, n_threads)
    leaves, bounds = local.leaves, local.bounds
    n_leaves, n_nodes, n_sets = np.int64(1), np.int64(1), ZERO
    if settings.max_leaves > 1 and can_split(local, settings, ZERO):
        search(table, shared, local, settings, seed, ZERO, ZERO, NO, thread, n_threads, locks)
    n_partitions = ZERO
    # If a thread has failed, the others stop, and their results are discarded.
    while n_leaves < settings.max_leaves and load_atomic(shared.barrier, ABANDONED) == 0:
        leaf = next_leaf(leaves, bounds, n_leaves, settings.by_level)
        if leaf < 0:
            break
        middle = partition_leaf(table, local, leaf)
        n_partitions += 1
        place = n_partitions % N_COUNTS
        shared.counts[thread, place] = middle - leaves[leaf, LO]
        wait(shared.barrier, thread, n_threads, locks)
        n_first = sum_of_threads(shared.counts, place, n_threads)
        if min(n_first, leaves[leaf, N_ROWS] - n_first) < settings.min_rows:
            # If the number of rows is only estimated from the hessian, a side can turn out to be too small.
            undo_partition(local.rows, leaves[leaf, LO], middle, leaves[leaf, HI], local.spare)
            bounds[leaf, GAIN] = -np.inf
            continue
        local.column_gains[leaves[leaf, COLUMN]] += bounds[leaf, GAIN]
        n_sets = write_node(local, leaf, n_nodes, n_sets)
        add_children(table, local, settings, leaf, n_leaves, middle, n_first, n_nodes, len(shared.pool) - 1)
        n_nodes += 2
        n_leaves += 1
        if n_leaves < settings.max_leaves:
            search_children(table, shared, local, settings, seed, leaf, n_leaves - 1, thread, n_threads, locks)
    local.ends[0], local.ends[1], local.ends[2] = n_nodes, n_leaves, n_sets
    close_leaves(local, n_leaves)
    set_leaf_values(shared, local, settings, n_leaves, thread, n_threads, locks)


@kernel
def finish_tree(shared, local, thread, tree, scores, grown):
    """Add a tree's predictions to the scores of the thread's rows, if any, and copy it out of the workspace."""
    if len(scores) > 0:
        add_leaf_values(local, shared.packed[0], scores[tree])
    if thread > 0:
        return
    n_nodes, n_leaves, n_sets = local.ends[0], local.ends[1], local.ends[2]
    for k in range(3):
        grown.ends[tree, k] = local.ends[k]
    for node in range(n_nodes):
        grown.nodes[tree, node] = local.nodes[node]
    if len(local.node_set) > 0:
        for node in range(n_nodes):
            grown.node_set[tree, node] = local.node_set[node]
        for place in range(n_sets):
            for w in range(4):
                grown.node_sets[tree, place, w] = local.node_sets[place, w]
    for leaf in range(n_leaves):
        grown.leaf_rows[tree, leaf] = local.leaves[leaf, N_ROWS]
        grown.leaf_weight[tree, leaf] = local.leaf_sums[leaf, 0]
        grown.leaf_value[tree, leaf] = local.leaf_sums[leaf, 1]
    for column in range(len(local.column_gains)):
        grown.column_gains[tree, column] = local.column_gains[column]


@entry
def add_trees(
    codes: Input[Bytes2], first: int, last: int, grown: Grown, scores: Reals2, at: Indices, active: Indices
) -> None:
    """Add the predictions of trees to the scores of rows first to last-1, which have one line per tree."""
    for tree in range(len(scores)):
        node_set, sets = grown.node_set[tree], grown.node_sets[tree]
        walk_tree(codes, first, last, grown.nodes[tree], ZERO, node_set, sets, at, active)
        values, line = grown.leaf_value[tree], scores[tree]
        for k in range(np.uint64(last - first)):
            line[np.uint64(first) + k] += values[at[k]]


@kernel
def sum_of_threads(counts, place, n_threads):
    total = ZERO
    for thread in range(n_threads):
        total += counts[thread, place]
    return total


@kernel
def begin_root(shared, local, n_threads):
    """Initialise the record of the leaves with the root only."""
    copy_line(shared.scale[0], local.scale)
    copy_line(shared.layout[0], local.layout)
    copy_line(shared.limits[0], local.limits)
    for column in range(len(local.column_gains)):
        local.column_gains[column] = 0.0
    leaves = local.leaves
    for i in range(np.uint64(len(local.rows))):
        local.rows[i] = local.given[i]
    leaves[0, LO], leaves[0, HI], leaves[0, SLOT], leaves[0, DEPTH], leaves[0, NODE] = 0, len(local.rows), 0, 0, 0
    leaves[0, SUM] = sum_of_threads(shared.roots[0], ROOT_SUM, n_threads)
    leaves[0, N_ROWS] = sum_of_threads(shared.roots[0], ROOT_ROWS, n_threads)
    local.bounds[0, GAIN], local.bounds[0, LEAST], local.bounds[0, MOST] = -np.inf, -np.inf, np.inf
    for group in range(local.live_groups.shape[1]):
        local.live_groups[0, group] = True


@kernel
def can_split(local, settings, leaf):
    """Is this leaf large enough, and not too deep, to be split?"""
    leaves = local.leaves
    return leaves[leaf, N_ROWS] >= 2 * settings.min_rows and leaves[leaf, DEPTH] < settings.max_depth


@kernel
def next_leaf(leaves, bounds, n_leaves, by_level):
    """Return the leaf with the largest gain, on the highest level if `by_level`; -1 if no split gains enough."""
    best = np.int64(-1)
    for leaf in range(n_leaves):
        gain = bounds[leaf, GAIN]
        if gain == -np.inf:
            continue
        if best >= 0:
            if by_level and leaves[leaf, DEPTH] != leaves[best, DEPTH]:
                if leaves[leaf, DEPTH] > leaves[best, DEPTH]:
                    continue
            elif gain <= bounds[best, GAIN]:
                continue
        best = np.int64(leaf)
    return best


@kernel
def partition_leaf(table, local, leaf):
    """Partition the thread's rows of a leaf by its split."""
    leaves = local.leaves
    codes, step = table.codes[leaves[leaf, COLUMN] * table.column_step :], np.uint64(table.row_step)
    rows, spare, lo, hi = local.rows, local.spare, leaves[leaf, LO], leaves[leaf, HI]
    if leaves[leaf, IS_SET] != 0:
        return partition_by_set(codes, step, rows, lo, hi, spare, local.sets[leaf])
    return partition_by_cut(codes, step, rows, lo, hi, spare, leaves[leaf, CUT], leaves[leaf, MISSING_FIRST] != 0)


@kernel
def write_node(local, leaf, child, n_sets):
    """Turn a leaf's node into a split; returns the new number of sets."""
    leaves = local.leaves
    node, column = leaves[leaf, NODE], leaves[leaf, COLUMN]
    if leaves[leaf, IS_SET] == 0:
        local.nodes[node] = pack_split(child, column, leaves[leaf, CUT], leaves[leaf, MISSING_FIRST] != 0)
        return n_sets
    local.nodes[node] = pack_set(child, column)
    local.node_set[node] = n_sets
    copy_line(local.sets[leaf], local.node_sets[n_sets])
    return n_sets + 1


@kernel
def add_children(table, local, settings, leaf, second, middle, n_first, child, n_slots):
    """Turn a leaf that was split into its first child, and add the second child."""
    leaves, bounds = local.leaves, local.bounds
    column, first_sum, slot = leaves[leaf, COLUMN], leaves[leaf, FIRST_SUM], leaves[leaf, SLOT]
    set_bounds(table, local, settings, leaf, second, column, first_sum)
    bounds[leaf, GAIN] = bounds[second, GAIN] = -np.inf
    leaves[second, LO], leaves[second, HI] = middle, leaves[leaf, HI]
    leaves[leaf, HI] = middle
    leaves[second, N_ROWS], leaves[second, SUM] = leaves[leaf, N_ROWS] - n_first, leaves[leaf, SUM] - first_sum
    leaves[leaf, N_ROWS], leaves[leaf, SUM] = n_first, first_sum
    leaves[leaf, DEPTH] += 1
    leaves[second, DEPTH] = leaves[leaf, DEPTH]
    leaves[leaf, NODE], leaves[second, NODE] = child, child + 1
    # The larger child inherits the parent's histogram. The smaller one gets a new slot if one is free.
    fresh = second if second < n_slots else np.int64(-1)
    first_is_large = leaves[leaf, N_ROWS] >= leaves[second, N_ROWS]
    leaves[leaf, SLOT] = slot if first_is_large else fresh
    leaves[second, SLOT] = fresh if first_is_large else slot
    for group in range(local.live_groups.shape[1]):
        local.live_groups[leaf, group] &= table.groups[group, column]
        local.live_groups[second, group] = local.live_groups[leaf, group]


@kernel
def set_bounds(table, local, settings, leaf, second, column, first_sum):
    """Set the bounds of the predictions of two children, so that all predictions below respect a monotonic column."""
    bounds = local.bounds
    bounds[second, LEAST], bounds[second, MOST] = bounds[leaf, LEAST], bounds[leaf, MOST]
    direction = table.monotonic_cst[column]
    if direction == 0.0:
        return
    rest = local.leaves[leaf, SUM] - first_sum
    middle = 0.5 * (leaf_value_of(local, settings, leaf, first_sum) + leaf_value_of(local, settings, leaf, rest))
    if direction > 0.0:
        bounds[leaf, MOST] = bounds[second, LEAST] = middle
    else:
        bounds[leaf, LEAST] = bounds[second, MOST] = middle


@kernel
def leaf_value_of(local, settings, leaf, both):
    """Return the value of a leaf with this sum, within the bounds of another leaf."""
    g, h = g_of(both, local.layout) * local.scale[0], h_of(both, local.layout) * local.scale[1]
    return min(
        max(best_leaf_value(g, h, settings.l1_regularization, settings.l2_regularization), local.bounds[leaf, LEAST]),
        local.bounds[leaf, MOST],
    )


@kernel
def best_leaf_value(g, h, l1_regularization, l2_regularization):
    """Return the value that reduces the loss of a leaf most."""
    shrunk = max(abs(g) - l1_regularization, 0.0)
    if h + l2_regularization <= 0.0:
        return 0.0
    return -shrunk / (h + l2_regularization) if g > 0.0 else shrunk / (h + l2_regularization)


@kernel
def search_children(table, shared, local, settings, seed, first, second, thread, n_threads, locks):
    """Find the best splits of the two children of a leaf."""
    leaves = local.leaves
    small, large = (second, first) if leaves[first, N_ROWS] >= leaves[second, N_ROWS] else (first, second)
    if not can_split(local, settings, large):
        return
    if leaves[large, SLOT] >= 0:
        search(table, shared, local, settings, seed, small, large, YES, thread, n_threads, locks)
        return
    # Without the parent's histogram, the histogram of each child is filled from its rows.
    for child in (small, large):
        if can_split(local, settings, child):
            search(table, shared, local, settings, seed, child, child, NO, thread, n_threads, locks)


@kernel
def search(table, shared, local, settings, seed, small, large, has_large, thread, n_threads, locks):
    """Fill the histogram of a leaf, subtract it from its parent's to obtain that of its sibling, and search both."""
    leaves, pool = local.leaves, shared.pool
    fill_leaf_histogram(table, shared, local, small, thread)
    choose_columns(table, shared, local, settings, seed, small, local.masks[0])
    if has_large:
        choose_columns(table, shared, local, settings, seed, large, local.masks[1])
    wait(shared.barrier, thread, n_threads, locks)
    search_small = can_split(local, settings, small)
    slot = np.int64(leaves[small, SLOT] if leaves[small, SLOT] >= 0 else len(pool) - 1)
    slot_large = np.int64(leaves[large, SLOT] if has_large else slot)
    best_small = best_large = -np.inf
    proposals, sets = shared.proposals[thread], shared.proposal_sets[thread]
    for column in range(thread, len(table.n_codes), n_threads):
        if not shared.allowed[column]:
            continue
        n_codes, first, end = table.n_codes[column], table.start[column], table.start[column + 1]
        histogram, large_histogram = pool[slot, first:end], pool[slot_large, first:end]
        merge_histograms(shared.histograms[0], column, n_codes, histogram, large_histogram, has_large)
        if search_small and local.masks[0, column]:
            best_small = scan(table, local, histogram, column, n_codes, small, best_small, proposals[0], sets[0])
        if has_large and local.masks[1, column]:
            best_large = scan(table, local, large_histogram, column, n_codes, large, best_large, proposals[1], sets[1])
    shared.gains[thread, 0], shared.gains[thread, 1] = best_small, best_large
    wait(shared.barrier, thread, n_threads, locks)
    take_best(shared, local, settings, small, ZERO, n_threads)
    if has_large:
        take_best(shared, local, settings, large, np.int64(1), n_threads)


@kernel
def fill_leaf_histogram(table, shared, local, leaf, thread):
    """Fill the histograms with the thread's rows of a leaf; those of the root were filled when the tree was opened."""
    if local.leaves[leaf, NODE] > 0:
        fill_given_histogram(table, shared, local, local.rows, local.leaves[leaf, LO], local.leaves[leaf, HI], thread)


@kernel
def fill_given_histogram(table, shared, local, rows, lo, hi, thread):
    """Add some of the thread's rows to its histograms."""
    n_columns, packed, histograms = len(table.n_codes), shared.packed, shared.histograms
    fill_histograms(table.words, n_columns, rows, lo, hi, packed, local.near, local.near_words, histograms, thread)


@kernel
def scan(table, local, histogram, column, n_codes, leaf, best, proposals, proposal_set):
    """Rate the splits of one leaf by one column."""
    whole, size = local.leaves[leaf, SUM], local.leaves[leaf, N_ROWS]
    if table.is_number[column]:
        direction = table.monotonic_cst[column]
        return scan_numbers(
            histogram,
            column,
            n_codes,
            whole,
            size,
            direction,
            best,
            proposals,
            local.layout,
            local.limits,
            local.present,
            local.along,
        )
    return scan_categories(
        histogram,
        column,
        n_codes,
        whole,
        size,
        best,
        proposals,
        proposal_set,
        local.layout,
        local.limits,
        local.present,
        local.along,
    )


@kernel
def take_best(shared, local, settings, leaf, place, n_threads):
    """Keep the best split found by any thread; among equal ones, that of the first column."""
    best = np.int64(-1)
    for thread in range(n_threads):
        gain = shared.gains[thread, place]
        if gain == -np.inf:
            continue
        if best >= 0:
            if gain < shared.gains[best, place]:
                continue
            same = gain == shared.gains[best, place]
            if same and shared.proposals[thread, place, COLUMN] > shared.proposals[best, place, COLUMN]:
                continue
        best = np.int64(thread)
    if best < 0:
        return
    for k in range(N_PROPOSAL):
        local.leaves[leaf, k] = shared.proposals[best, place, k]
    for w in range(4):
        local.sets[leaf, w] = shared.proposal_sets[best, place, w]
    both = local.leaves[leaf, SUM]
    alone = leaf_score(g_of(both, local.layout), h_of(both, local.layout), local.limits[L1], local.limits[L2])
    found = shared.gains[best, place]
    gain = 0.5 * (found - alone) * local.scale[0] * (local.scale[0] / local.scale[1])
    if found - alone > 1e-12 * found and gain > settings.min_split_gain:
        local.bounds[leaf, GAIN] = gain


@kernel
def choose_columns(table, shared, local, settings, seed, leaf, mask):
    """Choose the columns of a leaf: those drawn by its level and node that may share a path with its ancestors."""
    n_columns = len(mask)
    for column in range(n_columns):
        mask[column] = shared.allowed[column]
    depth, node = local.leaves[leaf, DEPTH], local.leaves[leaf, NODE]
    if settings.level_share < 1.0:
        keep_some(mask, settings.level_share, seed ^ scramble(np.uint64(depth + 1)), local.order, local.state)
    n_groups = local.live_groups.shape[1]
    if n_groups > 0:
        for column in range(n_columns):
            lives = False
            for group in range(n_groups):
                lives |= local.live_groups[leaf, group] and table.groups[group, column]
            mask[column] &= lives
    if settings.node_share < 1.0:
        keep_some(mask, settings.node_share, scramble(seed) + np.uint64(node), local.order, local.state)


@kernel
def keep_some(mask, share, seed, order, state):
    """Keep a random share of the columns of a mask, at least one."""
    n = ZERO
    for column in range(len(mask)):
        if mask[column]:
            order[n] = column
            n += 1
            mask[column] = False
    state[0] = scramble(seed)
    n_kept = max(np.int64(np.floor(share * np.float64(n) + 0.5)), min(n, np.int64(1)))
    for k in range(n_kept):
        other = k + draw_below(state, n - k)
        order[k], order[other] = order[other], order[k]
        mask[order[k]] = True


@kernel
def set_leaf_values(shared, local, settings, n_leaves, thread, n_threads, locks):
    """Compute the leaf values from gradients and hessians in full precision, which are summed block by block."""
    gradients, hessians, sums, leaf_of = shared.gradients[0], shared.hessians[0], shared.turn_sums, shared.packed[0]
    note_leaves(local, n_leaves, leaf_of)
    for begin in range(0, n_leaves, LEAVES_AT_ONCE):
        n_now = min(LEAVES_AT_ONCE, n_leaves - begin)
        clear_turns(sums, thread, n_threads)
        if n_leaves <= LEAVES_AT_ONCE:
            add_up_in_order(gradients, hessians, local, leaf_of, sums)
        else:
            for k in range(n_now):
                lo, hi = local.leaves[begin + k, LO], local.leaves[begin + k, HI]
                add_up_turns(gradients, hessians, local.rows, lo, hi, sums, k)
        wait(shared.barrier, thread, n_threads, locks)
        for k in range(n_now):
            set_leaf_value(local, settings, sums, begin + k, k, local.bounds[begin + k])
        wait(shared.barrier, thread, n_threads, locks)


@kernel
def set_leaf_value(local, settings, sums, leaf, k, bounds):
    """Compute the value of a leaf from the sums of all blocks of rows, which are added up in the order of the table."""
    g = h = 0.0
    for turn in range(len(sums)):
        g += sums[turn, k, 0]
        h += sums[turn, k, 1]
    leaf_value = best_leaf_value(g, h, settings.l1_regularization, settings.l2_regularization)
    leaf_value = min(max(leaf_value, bounds[LEAST]), bounds[MOST])
    local.leaf_sums[leaf, 0], local.leaf_sums[leaf, 1] = h, settings.rate * leaf_value


@kernel
def note_leaves(local, n_leaves, leaf_of):
    """Record the leaf of each of the thread's rows, in place of its rounded gradient and hessian."""
    for leaf in range(n_leaves):
        for i in range(np.uint64(local.leaves[leaf, LO]), np.uint64(local.leaves[leaf, HI])):
            leaf_of[local.rows[i]] = leaf


@kernel
def close_leaves(local, n_leaves):
    """Write the nodes of the leaves that were not split."""
    for leaf in range(n_leaves):
        local.nodes[local.leaves[leaf, NODE]] = pack_leaf(leaf)


@kernel
def add_leaf_values(local, leaf_of, scores):
    """Add the leaf values to the scores of the thread's rows."""
    for i in range(np.uint64(len(local.given))):
        row = local.given[i]
        scores[row] += local.leaf_sums[np.uint64(leaf_of[row]), 1]
