"""The compiled loops that open and grow the trees of a round of boosting, each by several threads together.

Every thread has rows of its own: the table's rows go round in turns of `TURN` rows. A thread rounds, tallies and parts
its own rows. The tallies of all threads are brought together column by column, each column by one thread, which also
searches it. All threads keep the same account of the leaves, so that none need tell the others what to split next.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.boosting.rounding import add_up_in_order, add_up_turns, clear_turns, round_gradients
from treewright.engines.boosting.search import (
    COLUMN,
    CUT,
    FIRST_SUM,
    IS_SET,
    L1,
    L2,
    MISSING_FIRST,
    N_TOLD,
    g_of,
    h_of,
    join_again,
    merge_tallies,
    part_by_cut,
    part_by_set,
    scan_categories,
    scan_numbers,
    tally_rows,
    worth,
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
    Together,
)
from treewright.engines.exact.layout import NO, YES, ZERO
from treewright.engines.packed.walk import pack_leaf, pack_set, pack_split, walk_tree
from treewright.runtime.barrier import ABANDONED, look_at, meet
from treewright.runtime.draws import draw_below, scramble
from treewright.runtime.jit import entry, kernel


@entry
def open_trees(table, together, own, settings, thread, n_threads, give_way, layouts, seeds):
    """Round the gradients of a set of trees, and tally all their roots in one pass over the rows."""
    tallies = together.tallies
    for tree in range(len(tallies)):
        # Columns that a tree may not ask for are tallied with the others of their block, but never brought together.
        tallies[tree, thread, :, :] = 0
        round_gradients(together, own, settings, layouts, tree, seeds[tree], thread, n_threads, give_way)
    tally_given(table, together, own, own.given, ZERO, len(own.given), thread)


@entry
def grow_trees(table, together, own, settings, thread, n_threads, give_way, seeds, scores, grown):
    """Grow trees that have been opened, and add their answers to the scores if there are any.

    The loop is a kernel of its own, because an entry counts who uses each array, and the parts of `together` are lent.
    """
    grow_all(table, together, own, settings, thread, n_threads, give_way, seeds, scores, grown)


@kernel
def grow_all(table, together, own, settings, thread, n_threads, give_way, seeds, scores, grown):
    """The loop of `grow_trees`."""
    for tree in range(len(seeds)):
        one = tree_of(together, tree)
        grow_tree(table, one, own, settings, seeds[tree], thread, n_threads, give_way)
        finish_tree(one, own, thread, tree, scores, grown)


@kernel
def tree_of(together, tree):
    """What the threads share for one tree of a set."""
    end = tree + 1
    return Together(
        together.gradients[tree:end],
        together.hessians[tree:end],
        together.packed[tree:end],
        together.tallies[tree:end],
        together.scale[tree:end],
        together.layout[tree:end],
        together.limits[tree:end],
        together.roots[tree:end],
        together.leaf_of,
        together.turn_sums,
        together.pool,
        together.gains,
        together.told,
        together.told_sets,
        together.counts,
        together.gate,
        together.allowed,
    )


@kernel
def grow_tree(table, together, own, settings, seed, thread, n_threads, give_way):
    """Grow a tree that has been opened."""
    begin_root(together, own, n_threads)
    leaves, bounds = own.leaves, own.bounds
    n_leaves, n_nodes, n_sets = np.int64(1), np.int64(1), ZERO
    if settings.max_leaves > 1 and can_split(own, settings, ZERO):
        search(table, together, own, settings, seed, ZERO, ZERO, NO, thread, n_threads, give_way)
    n_parted = ZERO
    # If a thread has failed, the others stop; what they have found is thrown away.
    while n_leaves < settings.max_leaves and look_at(together.gate, ABANDONED) == 0:
        leaf = next_leaf(leaves, bounds, n_leaves, settings.by_level)
        if leaf < 0:
            break
        middle = part_leaf(table, own, leaf)
        n_parted += 1
        place = n_parted % N_COUNTS
        together.counts[thread, place] = middle - leaves[leaf, LO]
        meet(together.gate, n_threads, give_way)
        n_first = sum_of_threads(together.counts, place, n_threads)
        if min(n_first, leaves[leaf, N_ROWS] - n_first) < settings.min_rows:
            # Where the number of rows is only told from the hessian, a side may turn out to be too small.
            join_again(own.rows, leaves[leaf, LO], middle, leaves[leaf, HI], own.spare)
            bounds[leaf, GAIN] = -np.inf
            continue
        own.column_gains[leaves[leaf, COLUMN]] += bounds[leaf, GAIN]
        n_sets = write_node(own, leaf, n_nodes, n_sets)
        give_birth(table, own, settings, leaf, n_leaves, middle, n_first, n_nodes, len(together.pool) - 1)
        n_nodes += 2
        n_leaves += 1
        if n_leaves < settings.max_leaves:
            search_children(table, together, own, settings, seed, leaf, n_leaves - 1, thread, n_threads, give_way)
    own.ends[0], own.ends[1], own.ends[2] = n_nodes, n_leaves, n_sets
    close_leaves(own, n_leaves)
    answer_leaves(together, own, settings, n_leaves, thread, n_threads, give_way)


@kernel
def finish_tree(together, own, thread, tree, scores, grown):
    """Add a tree's answers to the scores of the thread's rows, if there are any, and copy it out of the room."""
    if len(scores) > 0:
        add_answers(own, together.leaf_of, scores[tree])
    if thread > 0:
        return
    n_nodes, n_leaves, n_sets = own.ends[0], own.ends[1], own.ends[2]
    for k in range(3):
        grown.ends[tree, k] = own.ends[k]
    for node in range(n_nodes):
        grown.nodes[tree, node] = own.nodes[node]
    if len(own.node_set) > 0:
        for node in range(n_nodes):
            grown.node_set[tree, node] = own.node_set[node]
        for place in range(n_sets):
            for w in range(4):
                grown.node_sets[tree, place, w] = own.node_sets[place, w]
    for leaf in range(n_leaves):
        grown.leaf_rows[tree, leaf] = own.leaves[leaf, N_ROWS]
        grown.leaf_weight[tree, leaf] = own.leaf_sums[leaf, 0]
        grown.leaf_value[tree, leaf] = own.leaf_sums[leaf, 1]
    for column in range(len(own.column_gains)):
        grown.column_gains[tree, column] = own.column_gains[column]


@entry
def add_trees(codes, first, last, grown, scores, at, active):
    """Add what trees answer to the scores of rows first to last-1, a line per tree."""
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
def begin_root(together, own, n_threads):
    """The account of leaves with the root alone."""
    own.scale[:], own.layout[:], own.limits[:] = together.scale[0], together.layout[0], together.limits[0]
    for column in range(len(own.column_gains)):
        own.column_gains[column] = 0.0
    leaves = own.leaves
    for i in range(np.uint64(len(own.rows))):
        own.rows[i] = own.given[i]
    leaves[0, LO], leaves[0, HI], leaves[0, SLOT], leaves[0, DEPTH], leaves[0, NODE] = 0, len(own.rows), 0, 0, 0
    leaves[0, SUM] = sum_of_threads(together.roots[0], ROOT_SUM, n_threads)
    leaves[0, N_ROWS] = sum_of_threads(together.roots[0], ROOT_ROWS, n_threads)
    own.bounds[0, GAIN], own.bounds[0, LEAST], own.bounds[0, MOST] = -np.inf, -np.inf, np.inf
    for group in range(own.live_groups.shape[1]):
        own.live_groups[0, group] = True


@kernel
def can_split(own, settings, leaf):
    """May this leaf be large and high enough to be split?"""
    leaves = own.leaves
    return leaves[leaf, N_ROWS] >= 2 * settings.min_rows and leaves[leaf, DEPTH] < settings.max_depth


@kernel
def next_leaf(leaves, bounds, n_leaves, by_level):
    """The leaf to be split: that of the largest gain, on the highest level if so asked; -1 if none is worth it."""
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
def part_leaf(table, own, leaf):
    """Part the thread's rows of a leaf by its split."""
    leaves = own.leaves
    codes = table.columns[leaves[leaf, COLUMN]]
    lo, hi = leaves[leaf, LO], leaves[leaf, HI]
    if leaves[leaf, IS_SET] != 0:
        return part_by_set(codes, own.rows, lo, hi, own.spare, own.sets[leaf])
    return part_by_cut(codes, own.rows, lo, hi, own.spare, leaves[leaf, CUT], leaves[leaf, MISSING_FIRST] != 0)


@kernel
def write_node(own, leaf, child, n_sets):
    """Make a leaf's node a split; returns how many sets there are now."""
    leaves = own.leaves
    node, column = leaves[leaf, NODE], leaves[leaf, COLUMN]
    if leaves[leaf, IS_SET] == 0:
        own.nodes[node] = pack_split(child, column, leaves[leaf, CUT], leaves[leaf, MISSING_FIRST] != 0)
        return n_sets
    own.nodes[node] = pack_set(child, column)
    own.node_set[node] = n_sets
    own.node_sets[n_sets] = own.sets[leaf]
    return n_sets + 1


@kernel
def give_birth(table, own, settings, leaf, second, middle, n_first, child, n_slots):
    """Turn a leaf that was split into its first child, and add the second one."""
    leaves, bounds = own.leaves, own.bounds
    column, first_sum, slot = leaves[leaf, COLUMN], leaves[leaf, FIRST_SUM], leaves[leaf, SLOT]
    set_bounds(table, own, settings, leaf, second, column, first_sum)
    bounds[leaf, GAIN] = bounds[second, GAIN] = -np.inf
    leaves[second, LO], leaves[second, HI] = middle, leaves[leaf, HI]
    leaves[leaf, HI] = middle
    leaves[second, N_ROWS], leaves[second, SUM] = leaves[leaf, N_ROWS] - n_first, leaves[leaf, SUM] - first_sum
    leaves[leaf, N_ROWS], leaves[leaf, SUM] = n_first, first_sum
    leaves[leaf, DEPTH] += 1
    leaves[second, DEPTH] = leaves[leaf, DEPTH]
    leaves[leaf, NODE], leaves[second, NODE] = child, child + 1
    # The larger child takes over the parent's tally; the smaller one gets a new one, if there is room for it.
    fresh = second if second < n_slots else np.int64(-1)
    first_is_large = leaves[leaf, N_ROWS] >= leaves[second, N_ROWS]
    leaves[leaf, SLOT] = slot if first_is_large else fresh
    leaves[second, SLOT] = fresh if first_is_large else slot
    for group in range(own.live_groups.shape[1]):
        own.live_groups[leaf, group] &= table.groups[group, column]
        own.live_groups[second, group] = own.live_groups[leaf, group]


@kernel
def set_bounds(table, own, settings, leaf, second, column, first_sum):
    """What the answers of two children must stay within, so that a monotonic column stays so below them."""
    bounds = own.bounds
    bounds[second, LEAST], bounds[second, MOST] = bounds[leaf, LEAST], bounds[leaf, MOST]
    direction = table.monotonic_cst[column]
    if direction == 0.0:
        return
    rest = own.leaves[leaf, SUM] - first_sum
    middle = 0.5 * (answer_of(own, settings, leaf, first_sum) + answer_of(own, settings, leaf, rest))
    if direction > 0.0:
        bounds[leaf, MOST] = bounds[second, LEAST] = middle
    else:
        bounds[leaf, LEAST] = bounds[second, MOST] = middle


@kernel
def answer_of(own, settings, leaf, both):
    """What a leaf of this sum answers, within the bounds of another one."""
    g, h = g_of(both, own.layout) * own.scale[0], h_of(both, own.layout) * own.scale[1]
    return min(
        max(best_answer(g, h, settings.l1_regularization, settings.l2_regularization), own.bounds[leaf, LEAST]),
        own.bounds[leaf, MOST],
    )


@kernel
def best_answer(g, h, l1_regularization, l2_regularization):
    """What takes the most off the loss of a leaf."""
    shrunk = max(abs(g) - l1_regularization, 0.0)
    if h + l2_regularization <= 0.0:
        return 0.0
    return -shrunk / (h + l2_regularization) if g > 0.0 else shrunk / (h + l2_regularization)


@kernel
def search_children(table, together, own, settings, seed, first, second, thread, n_threads, give_way):
    """Find the best splits of the two children of a leaf."""
    leaves = own.leaves
    small, large = (second, first) if leaves[first, N_ROWS] >= leaves[second, N_ROWS] else (first, second)
    if not can_split(own, settings, large):
        return
    if leaves[large, SLOT] >= 0:
        search(table, together, own, settings, seed, small, large, YES, thread, n_threads, give_way)
        return
    # Without their parent's tally each child has to be tallied by itself.
    for child in (small, large):
        if can_split(own, settings, child):
            search(table, together, own, settings, seed, child, child, NO, thread, n_threads, give_way)


@kernel
def search(table, together, own, settings, seed, small, large, has_large, thread, n_threads, give_way):
    """Tally a leaf's rows, take them from the tally that its sibling has from their parent, and search both."""
    leaves, pool = own.leaves, together.pool
    tally_leaf(table, together, own, small, thread)
    choose_columns(table, together, own, settings, seed, small, own.masks[0])
    if has_large:
        choose_columns(table, together, own, settings, seed, large, own.masks[1])
    meet(together.gate, n_threads, give_way)
    search_small = can_split(own, settings, small)
    slot = np.int64(leaves[small, SLOT] if leaves[small, SLOT] >= 0 else len(pool) - 1)
    slot_large = np.int64(leaves[large, SLOT] if has_large else slot)
    best_small = best_large = -np.inf
    told, sets = together.told[thread], together.told_sets[thread]
    for column in range(thread, len(table.n_codes), n_threads):
        if not together.allowed[column]:
            continue
        n_codes, first, end = table.n_codes[column], table.start[column], table.start[column + 1]
        tally, tally_large = pool[slot, first:end], pool[slot_large, first:end]
        merge_tallies(together.tallies[0], column, n_codes, tally, tally_large, has_large)
        if search_small and own.masks[0, column]:
            best_small = scan(table, own, tally, column, n_codes, small, best_small, told[0], sets[0])
        if has_large and own.masks[1, column]:
            best_large = scan(table, own, tally_large, column, n_codes, large, best_large, told[1], sets[1])
    together.gains[thread, 0], together.gains[thread, 1] = best_small, best_large
    meet(together.gate, n_threads, give_way)
    take_best(together, own, settings, small, ZERO, n_threads)
    if has_large:
        take_best(together, own, settings, large, np.int64(1), n_threads)


@kernel
def tally_leaf(table, together, own, leaf, thread):
    """Tally the thread's rows of a leaf; those of the root have been tallied when the tree was opened."""
    if own.leaves[leaf, NODE] > 0:
        tally_given(table, together, own, own.rows, own.leaves[leaf, LO], own.leaves[leaf, HI], thread)


@kernel
def tally_given(table, together, own, rows, lo, hi, thread):
    """Add some of the thread's rows to its tallies."""
    n_columns, packed, tallies = len(table.n_codes), together.packed, together.tallies
    tally_rows(table.words, n_columns, rows, lo, hi, packed, own.near, own.near_words, tallies, thread)


@kernel
def scan(table, own, tally, column, n_codes, leaf, best, told, told_set):
    """Rate the splits of one leaf by one column."""
    whole, size = own.leaves[leaf, SUM], own.leaves[leaf, N_ROWS]
    if table.is_number[column]:
        direction = table.monotonic_cst[column]
        return scan_numbers(
            tally, column, n_codes, whole, size, direction, best, told, own.layout, own.limits, own.present, own.along
        )
    return scan_categories(
        tally, column, n_codes, whole, size, best, told, told_set, own.layout, own.limits, own.present, own.along
    )


@kernel
def take_best(together, own, settings, leaf, place, n_threads):
    """Keep the best split that any thread has found; of equal ones that of the first column."""
    best = np.int64(-1)
    for thread in range(n_threads):
        gain = together.gains[thread, place]
        if gain == -np.inf:
            continue
        if best >= 0:
            if gain < together.gains[best, place]:
                continue
            same = gain == together.gains[best, place]
            if same and together.told[thread, place, COLUMN] > together.told[best, place, COLUMN]:
                continue
        best = np.int64(thread)
    if best < 0:
        return
    for k in range(N_TOLD):
        own.leaves[leaf, k] = together.told[best, place, k]
    for w in range(4):
        own.sets[leaf, w] = together.told_sets[best, place, w]
    both = own.leaves[leaf, SUM]
    alone = worth(g_of(both, own.layout), h_of(both, own.layout), own.limits[L1], own.limits[L2])
    found = together.gains[best, place]
    gain = 0.5 * (found - alone) * own.scale[0] * (own.scale[0] / own.scale[1])
    if found - alone > 1e-12 * found and gain > settings.min_split_gain:
        own.bounds[leaf, GAIN] = gain


@kernel
def choose_columns(table, together, own, settings, seed, leaf, mask):
    """Which columns to search at a leaf: those that its level and it have drawn, of those that may meet its path's."""
    n_columns = len(mask)
    for column in range(n_columns):
        mask[column] = together.allowed[column]
    depth, node = own.leaves[leaf, DEPTH], own.leaves[leaf, NODE]
    if settings.level_share < 1.0:
        keep_some(mask, settings.level_share, seed ^ scramble(np.uint64(depth + 1)), own.order, own.state)
    n_groups = own.live_groups.shape[1]
    if n_groups > 0:
        for column in range(n_columns):
            lives = False
            for group in range(n_groups):
                lives |= own.live_groups[leaf, group] and table.groups[group, column]
            mask[column] &= lives
    if settings.node_share < 1.0:
        keep_some(mask, settings.node_share, scramble(seed) + np.uint64(node), own.order, own.state)


@kernel
def keep_some(mask, share, seed, order, state):
    """Keep a share of the columns of a mask, drawn at random, one at least."""
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
def answer_leaves(together, own, settings, n_leaves, thread, n_threads, give_way):
    """What each leaf answers, from the gradients and hessians of its rows in full precision, summed turn by turn."""
    gradients, hessians, sums = together.gradients[0], together.hessians[0], together.turn_sums
    note_leaves(own, n_leaves, together.leaf_of)
    for begin in range(0, n_leaves, LEAVES_AT_ONCE):
        n_now = min(LEAVES_AT_ONCE, n_leaves - begin)
        clear_turns(sums, thread, n_threads)
        if n_leaves <= LEAVES_AT_ONCE:
            add_up_in_order(gradients, hessians, own, together.leaf_of, sums)
        else:
            for k in range(n_now):
                lo, hi = own.leaves[begin + k, LO], own.leaves[begin + k, HI]
                add_up_turns(gradients, hessians, own.rows, lo, hi, sums, k)
        meet(together.gate, n_threads, give_way)
        for k in range(n_now):
            g = h = 0.0
            for turn in range(len(sums)):
                g += sums[turn, k, 0]
                h += sums[turn, k, 1]
            leaf = begin + k
            answer = best_answer(g, h, settings.l1_regularization, settings.l2_regularization)
            answer = min(max(answer, own.bounds[leaf, LEAST]), own.bounds[leaf, MOST])
            own.leaf_sums[leaf, 0], own.leaf_sums[leaf, 1] = h, settings.rate * answer
        meet(together.gate, n_threads, give_way)


@kernel
def note_leaves(own, n_leaves, leaf_of):
    """Write down the leaf of each of the thread's rows."""
    for leaf in range(n_leaves):
        for i in range(np.uint64(own.leaves[leaf, LO]), np.uint64(own.leaves[leaf, HI])):
            leaf_of[own.rows[i]] = leaf


@kernel
def close_leaves(own, n_leaves):
    """Write the nodes of what was not split."""
    for leaf in range(n_leaves):
        own.nodes[own.leaves[leaf, NODE]] = pack_leaf(leaf)


@kernel
def add_answers(own, leaf_of, scores):
    """Add what the leaves answer to the scores of the thread's rows."""
    for i in range(np.uint64(len(own.given))):
        row = own.given[i]
        scores[row] += own.leaf_sums[leaf_of[row], 1]
