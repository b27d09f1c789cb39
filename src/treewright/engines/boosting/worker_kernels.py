"""Kernels that grow a tree whose rows are on several workers, which exchange sums between two calls.

Each entry is the work of one worker between two exchanges, with one thread. It calls the kernels of `loop`, `rounding`
and `oblivious`, so that the tree is the one that threads of a single process grow.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import NO, ONE, ZERO
from treewright.engines.boosting.loop import (
    add_children,
    begin_root,
    can_split,
    choose_columns,
    fill_given_histogram,
    finish_tree,
    partition_leaf,
    scan,
    set_leaf_value,
    take_best,
)
from treewright.engines.boosting.oblivious import choose_test, order_all
from treewright.engines.boosting.rounding import clear_lines, clear_turns, copy_line, measure_turns, round_on_scale
from treewright.engines.boosting.search import (
    COLUMN,
    CUT,
    IS_SET,
    MISSING_FIRST,
    merge_histograms,
    undo_partition,
)
from treewright.engines.boosting.workspace import (
    GAIN,
    HI,
    LEAVES_AT_ONCE,
    LO,
    N_ROWS,
    SLOT,
    TURN_BITS,
    BoostSettings,
    BoostTable,
    Grown,
    SharedState,
    ThreadState,
)
from treewright.engines.packed.walk import pack_leaf, pack_set, pack_split
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Flags, Input, Reals2, Reals3, Wholes, Wholes2, Word, Words2

ONE_THREAD = np.int64(1)


@entry
def measure_rows(shared: SharedState, local: ThreadState) -> None:
    """Compute the sums of gradients and hessians of each block of the worker's rows."""
    clear_turns(shared.turn_sums, ZERO, ONE_THREAD)
    measure_turns(shared.gradients[0], shared.hessians[0], local, shared.turn_sums)


@entry
def round_rows_apart(
    table: BoostTable,
    shared: SharedState,
    local: ThreadState,
    settings: BoostSettings,
    layouts: Input[Wholes2],
    seed: Word,
    sums: Input[Reals3],
    filled: Wholes,
) -> None:
    """Round the gradients on the scale of the blocks of all workers, and fill the histogram of the worker's rows.

    `filled` is the sum and the number of the rows, and then the histogram.
    """
    clear_lines(shared.histograms[0, 0])
    round_on_scale(shared, local, settings, layouts, ZERO, seed, sums, ZERO)
    fill_given_histogram(table, shared, local, local.given, ZERO, len(local.given), ZERO)
    copy_line(shared.roots[0, 0], filled[:2])
    take_histogram(table, shared, filled[2:])


@kernel
def take_histogram(table, shared, histogram):
    """Move the histograms of all columns that the tree may use into one line, and clear them; the others are zero."""
    for column in range(len(table.n_codes)):
        line = histogram[table.start[column] : table.start[column + 1]]
        if shared.allowed[column]:
            merge_histograms(shared.histograms[0], column, table.n_codes[column], line, line, NO)
            continue
        for code in range(np.uint64(len(line))):
            line[code] = 0


@entry
def begin_tree(table: BoostTable, shared: SharedState, local: ThreadState, orders: Wholes2) -> None:
    """Initialise the record of the leaves, after sums and histogram of the root have been added up."""
    begin_root(shared, local, ONE_THREAD)
    if len(orders) > 0:
        order_all(table, shared, local, orders, ZERO, ONE_THREAD)


@entry
def divide_leaves(
    table: BoostTable,
    shared: SharedState,
    local: ThreadState,
    leaves: Input[Wholes],
    fills_first: Input[Flags],
    middles: Wholes,
    filled: Wholes2,
) -> None:
    """Partition the worker's rows of some leaves, and fill the histogram of one child of each.

    A line of `filled` is the number of rows of the first child, and then the histogram.
    """
    for k in range(len(leaves)):
        leaf = leaves[k]
        lo, hi = local.leaves[leaf, LO], local.leaves[leaf, HI]
        middle = partition_leaf(table, local, leaf)
        middles[k] = middle
        if fills_first[k]:
            fill_given_histogram(table, shared, local, local.rows, lo, middle, ZERO)
        else:
            fill_given_histogram(table, shared, local, local.rows, middle, hi, ZERO)
        filled[k, 0] = middle - lo
        take_histogram(table, shared, filled[k, 1:])


@entry
def add_leaves(
    table: BoostTable,
    shared: SharedState,
    local: ThreadState,
    settings: BoostSettings,
    leaves: Input[Wholes],
    seconds: Input[Wholes],
    nodes: Input[Wholes],
    fills_first: Input[Flags],
    middles: Input[Wholes],
    filled: Input[Wholes2],
) -> None:
    """Add the children of some leaves, after the lines of `divide_leaves` have been added up.

    The slot of a leaf is its own. A leaf whose second child is -1 remains as it was, because a child is too small.
    """
    for k in range(len(leaves)):
        leaf, second = leaves[k], seconds[k]
        if second < 0:
            lo, hi = local.leaves[leaf, LO], local.leaves[leaf, HI]
            undo_partition(local.rows, lo, middles[k], hi, local.spare)
            continue
        add_children(table, local, settings, leaf, second, middles[k], filled[k, 0], nodes[k], len(shared.pool))
        local.leaves[leaf, SLOT], local.leaves[second, SLOT] = leaf, second
        parent, other = shared.pool[leaf], shared.pool[second]
        for at in range(np.uint64(len(parent))):
            one = filled[k, at + ONE]
            rest = parent[at] - one
            parent[at] = one if fills_first[k] else rest
            other[at] = rest if fills_first[k] else one


@entry
def search_leaves(
    table: BoostTable,
    shared: SharedState,
    local: ThreadState,
    settings: BoostSettings,
    seed: Word,
    leaves: Input[Wholes],
) -> None:
    """Find the best splits of some leaves in their histograms."""
    for k in range(len(leaves)):
        leaf = leaves[k]
        local.bounds[leaf, GAIN] = -np.inf
        if can_split(local, settings, leaf):
            search_leaf(table, shared, local, settings, seed, leaf)


@kernel
def search_leaf(table, shared, local, settings, seed, leaf):
    choose_columns(table, shared, local, settings, seed, leaf, local.masks[0])
    best = -np.inf
    proposals, sets = shared.proposals[0], shared.proposal_sets[0]
    for column in range(len(table.n_codes)):
        if local.masks[0, column]:
            histogram = shared.pool[leaf, table.start[column] : table.start[column + 1]]
            n_codes = table.n_codes[column]
            best = scan(table, local, histogram, column, n_codes, leaf, best, proposals[0], sets[0])
    shared.gains[0, 0] = best
    take_best(shared, local, settings, leaf, ZERO, ONE_THREAD)


@entry
def choose_level(
    table: BoostTable,
    shared: SharedState,
    local: ThreadState,
    settings: BoostSettings,
    seed: Word,
    n_leaves: int,
    totals: Reals2,
    orders: Wholes2,
    locks: Input[Wholes],
) -> float:
    """Find the test of a level of an oblivious tree, and write it into all leaves; returns the loss reduction."""
    return choose_test(table, shared, local, settings, seed, n_leaves, totals, orders, ZERO, ONE_THREAD, locks)


@entry
def note_leaves_of_rows(
    shared: SharedState, local: ThreadState, bounds_of_records: Input[Wholes2], leaf_of_record: Input[Wholes]
) -> None:
    """Record the leaf of each of the worker's rows; records that were divided in vain have the same leaf."""
    for record in range(len(leaf_of_record)):
        first, last = bounds_of_records[record, 0], bounds_of_records[record, 1]
        for i in range(np.uint64(first), np.uint64(last)):
            shared.packed[0, local.rows[i]] = leaf_of_record[record]


@entry
def sum_leaves(shared: SharedState, local: ThreadState, begin: int) -> None:
    """Add up gradients and hessians of some leaves, block by block, in the order of the table."""
    sums, gradients, hessians = shared.turn_sums, shared.gradients[0], shared.hessians[0]
    clear_turns(sums, ZERO, ONE_THREAD)
    rows = local.given
    for i in range(np.uint64(len(rows))):
        row = rows[i]
        leaf = shared.packed[0, row] - begin
        if leaf >= 0 and leaf < LEAVES_AT_ONCE:
            here = sums[np.uint64(row) >> np.uint64(TURN_BITS), leaf]
            here[0] += gradients[row]
            here[1] += hessians[row]


@entry
def set_values_of_leaves(
    local: ThreadState, settings: BoostSettings, begin: int, n_now: int, sums: Input[Reals3], limits: Input[Reals2]
) -> None:
    """Compute the values of some leaves from the sums of the blocks of all workers."""
    for k in range(n_now):
        set_leaf_value(local, settings, sums, begin + k, k, limits[begin + k])


@entry
def write_tree(
    shared: SharedState,
    local: ThreadState,
    splits: Input[Wholes2],
    sets: Input[Words2],
    node_of_split: Input[Wholes],
    node_of_leaf: Input[Wholes],
    rows_of_leaf: Input[Wholes],
    tree: int,
    scores: Reals2,
    grown: Grown,
) -> None:
    """Write the nodes of a tree in the order of its splits, and add its predictions to the scores if there are any."""
    write_all(shared, local, splits, sets, node_of_split, node_of_leaf, rows_of_leaf, tree, scores, grown)


@kernel
def write_all(shared, local, splits, sets, node_of_split, node_of_leaf, rows_of_leaf, tree, scores, grown):
    n_sets = ZERO
    for split in range(len(splits)):
        node, child, column = node_of_split[split], np.int64(2 * split + 1), splits[split, COLUMN]
        if splits[split, IS_SET] == 0:
            missing_first = splits[split, MISSING_FIRST] != 0
            local.nodes[node] = pack_split(child, column, splits[split, CUT], missing_first)
            continue
        local.nodes[node] = pack_set(child, column)
        local.node_set[node] = n_sets
        for w in range(4):
            local.node_sets[n_sets, w] = sets[split, w]
        n_sets += 1
    for leaf in range(len(node_of_leaf)):
        local.nodes[node_of_leaf[leaf]] = pack_leaf(leaf)
        local.leaves[leaf, N_ROWS] = rows_of_leaf[leaf]
    local.ends[0], local.ends[1], local.ends[2] = 2 * len(splits) + 1, len(node_of_leaf), n_sets
    finish_tree(shared, local, ZERO, tree, scores, grown)
