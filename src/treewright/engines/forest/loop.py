"""Growing one tree of a forest: draw its rows, then split node after node, the smaller ones within the cache."""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import ONE, YES, ZERO, has_bit
from treewright.engines.criteria import INFORMATION_GAIN
from treewright.engines.forest.codes import THIRTY_TWO, last_code_below
from treewright.engines.forest.moments import LOW_HALF
from treewright.engines.forest.search import search_columns
from treewright.engines.forest.workspace import (
    END_OF_ENTRIES,
    END_OF_LEAVES,
    END_OF_NODES,
    END_OF_SETS,
    LARGE_TABLE,
    NODE_DEPTH,
    NODE_HI,
    NODE_INDEX,
    NODE_LEAST,
    NODE_LO,
    NODE_MOST,
    NODE_SUM,
    NODE_WEIGHT,
    ForestArrays,
    ForestRecipe,
    open_work,
)
from treewright.engines.packed.walk import pack_leaf, pack_set, pack_split
from treewright.runtime.draws import GOLDEN, scramble
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Indices, Input, Reals, Shorts, Word, Words

# A copy of a node's codes pays off if its columns are searched often enough below it.
MOST_COLUMNS_PER_DRAWN = 12


@entry
def draw_bag(seed: Word, n_draws: int, replace: bool, counts: Shorts, order: Indices) -> None:
    """Draw the bag of a tree: how often each row is in it."""
    fill_bag(seed, n_draws, replace, counts, order)


@kernel
def fill_bag(seed, n_draws, replace, counts, order):
    """Draw rows, or use each once if there are no draws; without replacement, `order` is the array to shuffle in.

    32 random bits are uniform enough, because a table has less than 2**28 rows.
    """
    n_rows = np.uint64(len(counts))
    state = np.uint64(seed)
    for i in range(n_rows):
        counts[i] = 1 if n_draws == 0 else 0
    if replace:
        for _ in range(n_draws):
            state += GOLDEN
            counts[((scramble(state) >> THIRTY_TWO) * n_rows) >> THIRTY_TWO] += np.uint16(1)
        return
    for i in range(np.uint64(len(order))):
        order[i] = i
    for i in range(np.uint64(n_draws)):
        state += GOLDEN
        other = i + (((scramble(state) >> THIRTY_TWO) * (n_rows - i)) >> THIRTY_TWO)
        order[i], order[other] = order[other], order[i]
        counts[order[i]] = 1


@kernel
def balance_classes(counts, weights, targets, factors):
    """Compute the factor for the weight of each class with which all classes of a bag have the same total."""
    for label in range(len(factors)):
        factors[label] = 0.0
    total = 0.0
    for row in range(len(counts)):
        weight = np.float64(counts[row]) * (weights[row] if len(weights) > 0 else 1.0)
        factors[np.int64(targets[row])] += weight
        total += weight
    n_present = 0
    for label in range(len(factors)):
        n_present += 1 if factors[label] > 0.0 else 0
    for label in range(len(factors)):
        if factors[label] > 0.0:
            factors[label] = total / (n_present * factors[label])


@kernel
def take_rows(work, counts, weights, factors, centre):
    """List the rows of the bag, and compute what each adds to the sums of a node; returns the number of rows."""
    rows, stats, targets, packed = work.all_rows, work.all_stats, work.all_targets, work.all_packed
    n_rows = np.uint64(0)
    for row in range(np.uint64(len(counts))):
        rows[n_rows] = row
        count = counts[row]
        n_rows += ONE if count > 0 else np.uint64(0)
        if work.exact:
            packed[row] = (np.int64(count) << 32) + np.int64(count) * np.int64(targets[row])
            continue
        weight = np.float64(count)
        if len(weights) > 0:
            weight *= weights[row]
        if len(factors) > 0:
            weight *= factors[np.int64(targets[row])]
        stats[row, 0] = weight
        stats[row, 1] = weight * (targets[row] - centre)
    return np.int64(n_rows)


@kernel
def push(work, node, lo, hi, depth, weight, total, least, most):
    """Push a node onto the stack of waiting nodes."""
    at = work.n_waiting
    work.n_waiting += 1
    work.waiting[at, NODE_INDEX] = node
    work.waiting[at, NODE_LO] = lo
    work.waiting[at, NODE_HI] = hi
    work.waiting[at, NODE_DEPTH] = depth
    work.waiting_sums[at, NODE_WEIGHT] = weight
    work.waiting_sums[at, NODE_SUM] = total
    work.waiting_sums[at, NODE_LEAST] = least
    work.waiting_sums[at, NODE_MOST] = most


@kernel
def measure_moments(work):
    """Sum up the node's rows, unless differences already gave the exact sums; are all targets equal?"""
    rows, stats, targets = work.rows, work.stats, work.targets
    if work.exact:
        return work.sum == 0.0 or work.sum == work.weight
    weight = total = 0.0
    first = targets[rows[work.lo]]
    pure = YES
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        row = rows[i]
        weight += stats[row, 0]
        total += stats[row, 1]
        pure = pure and targets[row] == first
    work.weight, work.sum = weight, total
    return pure


@kernel
def measure_classes(work):
    """Sum up the weight of each class at the node, and list the classes; is there only one?"""
    rows, stats, targets, totals = work.rows, work.stats, work.targets, work.totals
    for k in range(work.n_present_classes):
        totals[work.classes[k]] = 0.0
    n_present = ZERO
    weight = 0.0
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        row = rows[i]
        label = np.int64(targets[row])
        if totals[label] == 0.0:
            work.classes[n_present] = label
            n_present += 1
        totals[label] += stats[row, 0]
        weight += stats[row, 0]
    work.n_present_classes = n_present
    work.weight = weight
    return n_present < 2


@kernel
def scores(work, by_class):
    """Return the score of the node without a split, and that of a split into pure sides."""
    if by_class is None:
        score = work.sum * work.sum / work.weight
        # Only the targets of two classes are known to be 0 and 1.
        return score, (work.sum if work.exact else np.inf)
    order = 0.0
    for k in range(work.n_present_classes):
        total = work.totals[work.classes[k]]
        order += total * np.log2(total) if work.criterion == INFORMATION_GAIN else total * total
    if work.criterion == INFORMATION_GAIN:
        return order - work.weight * np.log2(work.weight), 0.0
    return order / work.weight, work.weight


@kernel
def clip(value, least, most):
    return min(max(value, least), most)


@kernel
def mean_of_node(work):
    """Compute the mean of the node's targets, which is exact if all are equal."""
    if work.exact:
        return work.sum / work.weight
    rows, stats, targets = work.rows, work.stats, work.targets
    first = targets[rows[work.lo]]
    total = 0.0
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        total += stats[rows[i], 0] * (targets[rows[i]] - first)
    return first + total / work.weight


@kernel
def spread_around(work, centre):
    """Compute the weighted sum of squared deviations of the node's targets from this number."""
    rows, stats, targets = work.rows, work.stats, work.targets
    squares = 0.0
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        row = rows[i]
        squares += stats[row, 0] * (targets[row] - centre) ** 2
    return squares


@kernel
def add_leaf(work, node, by_class):
    """Turn the node into a leaf."""
    leaf = work.n_leaves
    work.n_leaves += 1
    work.nodes[node] = pack_leaf(leaf - work.leaf_base)
    work.leaf_weight[leaf] = work.weight
    work.leaf_rows[leaf] = work.hi - work.lo
    if by_class is None:
        work.leaf_value[leaf] = clip(mean_of_node(work), work.least, work.most)
        if len(work.leaf_spread) > 0:
            work.leaf_spread[leaf] = spread_around(work, work.leaf_value[leaf])
        return
    for k in range(work.n_present_classes):
        label = work.classes[k]
        work.entry_class[work.n_entries] = label
        work.entry_share[work.n_entries] = work.totals[label] / work.weight
        work.n_entries += 1
    work.leaf_end[leaf] = work.n_entries


@kernel
def partition_rows(work):
    """Move the rows of the first side to the front, in stable order; returns the start of the second side."""
    rows, spare, line = work.rows, work.spare_rows, work.codes[work.best_column]
    lo, hi = np.uint64(work.lo), np.uint64(work.hi)
    j, k = lo, np.uint64(0)
    if work.best_cut < 0:
        for i in range(lo, hi):
            row = rows[i]
            first = has_bit(work.set_words, ZERO, line[row])
            rows[j] = row
            spare[k] = row
            j += ONE if first else np.uint64(0)
            k += np.uint64(0) if first else ONE
    else:
        moved = np.uint8(1 if work.best_missing_left else 0)
        last = np.uint8(work.best_cut + np.int64(moved))
        for i in range(lo, hi):
            row = rows[i]
            first = np.uint8(line[row] + moved) <= last
            rows[j] = row
            spare[k] = row
            j += ONE if first else np.uint64(0)
            k += np.uint64(0) if first else ONE
    for i in range(k):
        rows[j + i] = spare[i]
    return np.int64(j)


@kernel
def child_bounds(work):
    """Compute the bounds of the predictions of both children under monotonic constraints."""
    direction = work.monotonic_cst[work.best_column]
    if direction == 0:
        return work.least, work.most, work.least, work.most
    left = clip(work.centre + work.best_sum / work.best_weight, work.least, work.most)
    right = work.centre + (work.sum - work.best_sum) / (work.weight - work.best_weight)
    middle = 0.5 * (left + clip(right, work.least, work.most))
    if direction > 0:
        return work.least, middle, middle, work.most
    return middle, work.most, work.least, middle


@kernel
def grow_node(work, by_class):
    """Pop the last waiting node, find its split and push its children, or make it a leaf."""
    work.n_waiting -= 1
    at = work.n_waiting
    node, depth = work.waiting[at, NODE_INDEX], work.waiting[at, NODE_DEPTH]
    work.lo, work.hi = work.waiting[at, NODE_LO], work.waiting[at, NODE_HI]
    work.weight, work.sum = work.waiting_sums[at, NODE_WEIGHT], work.waiting_sums[at, NODE_SUM]
    work.least, work.most = work.waiting_sums[at, NODE_LEAST], work.waiting_sums[at, NODE_MOST]
    pure = measure_moments(work) if by_class is None else measure_classes(work)
    n_rows = work.hi - work.lo
    too_small = n_rows < work.min_samples_split or n_rows < 2 * work.min_samples_leaf
    too_small = too_small or work.weight < 2.0 * work.min_weight_leaf
    if pure or too_small or depth >= work.max_depth:
        add_leaf(work, node, by_class)
        return
    score, perfect = scores(work, by_class)
    search_columns(work, score, perfect, by_class)
    gain = work.best_score - score
    if by_class is None and work.best_column >= 0:
        gain = work.best_above / (work.best_below * work.weight)
    if work.best_column < 0 or (work.min_split_gain > 0.0 and gain < work.min_split_gain * work.weight):
        add_leaf(work, node, by_class)
        return
    column = work.best_column
    work.gains[work.tree, column] += max(gain, 0.0)
    child = work.n_nodes
    work.n_nodes += 2
    if work.best_cut < 0:
        work.nodes[node] = pack_set(child - work.node_base, column)
        work.node_set[node] = work.n_sets
        for w in range(4):
            work.sets[work.n_sets, w] = work.set_words[w]
        work.n_sets += 1
    else:
        place_cut(work)
        work.nodes[node] = pack_split(child - work.node_base, column, work.best_cut, work.best_missing_left)
    middle = partition_rows(work)
    least, most, least_right, most_right = child_bounds(work)
    weight, total = work.best_weight, work.best_sum
    push(
        work,
        child + 1,
        middle,
        work.hi,
        depth + 1,
        work.weight - weight,
        work.sum - total,
        least_right,
        most_right,
    )
    push(work, child, work.lo, middle, depth + 1, weight, total, least, most)


@kernel
def place_cut(work):
    """Cut halfway to the next code that occurs; without missing values, later ones go to the heavier side.

    Between two codes that occur in the node there can be others that occur elsewhere.
    """
    column, cut = work.best_column, work.best_cut
    line, rows = work.codes[column], work.rows
    after, last = np.uint64(255), np.uint64(0)
    if work.has_missing[column] or not work.random_cuts:
        for i in range(np.uint64(work.lo), np.uint64(work.hi)):
            code = np.uint64(line[rows[i]])
            after = min(after, code if code > np.uint64(cut) else np.uint64(255))
            last = max(last, code)
    if last < np.uint64(255):
        work.best_missing_left = 2.0 * work.best_weight > work.weight
    if work.random_cuts or np.int64(after) >= work.n_codes[column] or np.int64(after) <= cut + 1:
        return
    point = 0.5 * work.code_values[column, cut] + 0.5 * work.code_values[column, after]
    if np.isfinite(point):
        work.best_cut = last_code_below(work, column, point)


@kernel
def open_block(work, lo, hi, recentre):
    """Copy the codes, targets and weights of some rows to consecutive memory, and continue with the copies.

    The codes are read from the table that is ordered by rows. This is one memory access per row, not one per column.
    """
    n_rows, n_columns = np.uint64(hi - lo), np.uint64(len(work.n_codes))
    rows, by_row, codes = work.all_rows, work.codes_by_row, work.block_codes
    first = np.uint64(lo)
    for i in range(n_rows):
        row = rows[first + i]
        for column in range(n_columns):
            codes[column, i] = by_row[row, column]
        work.block_rows[i] = i
    if work.exact:
        copy_packed(work, rows, first, n_rows)
    else:
        copy_stats(work, rows, first, n_rows, recentre)
    work.codes, work.rows, work.stats = work.block_codes, work.block_rows, work.block_stats
    work.packed, work.targets = work.block_packed, work.block_targets


@kernel
def copy_packed(work, rows, first, n_rows):
    """Copy what whole-numbered rows add to the sums of a node into the block."""
    for i in range(n_rows):
        work.block_packed[i] = work.all_packed[rows[first + i]]


@kernel
def copy_stats(work, rows, first, n_rows, recentre):
    """Copy what rows add to the sums of a node into the block; `recentre` subtracts the mean target of the block."""
    weight = total = 0.0
    for i in range(n_rows):
        row = rows[first + i]
        work.block_stats[i, 0] = work.all_stats[row, 0]
        work.block_stats[i, 1] = work.all_stats[row, 1]
        work.block_targets[i] = work.all_targets[row]
        weight += work.all_stats[row, 0]
        total += work.all_stats[row, 1]
    if recentre:
        work.centre += total / weight
        for i in range(n_rows):
            work.block_stats[i, 1] = work.block_stats[i, 0] * (work.block_targets[i] - work.centre)


@kernel
def close_block(work, centre):
    work.codes, work.rows, work.stats = work.all_codes, work.all_rows, work.all_stats
    work.packed, work.targets = work.all_packed, work.all_targets
    work.centre = centre


@kernel
def sums_of_bag(work, n_rows):
    """Compute weight and sum of all rows of the bag."""
    if work.exact:
        both = ZERO
        for row in range(len(work.all_packed)):
            both += work.all_packed[row]
        return np.float64(both >> 32), np.float64(both & LOW_HALF)
    weight = total = 0.0
    for i in range(n_rows):
        weight += work.all_stats[work.rows[i], 0]
        total += work.all_stats[work.rows[i], 1]
    return weight, total


@kernel
def begin_tree(work, seed, n_rows, centre):
    """Initialise another tree behind the finished ones, and push its root."""
    work.state[0] = seed
    work.centre = centre
    work.node_base, work.leaf_base = work.n_nodes, work.n_leaves
    work.n_present_classes = 0
    for label in range(len(work.totals)):
        work.totals[label] = 0.0
    weight, total = sums_of_bag(work, n_rows)
    # A sum of weights can be below the limit because of rounding.
    work.min_weight_leaf = work.min_weight_fraction_leaf * weight * (1.0 - 1e-12)
    for column in range(len(work.columns)):
        work.columns[column] = column
    root = work.n_nodes
    work.n_nodes += 1
    push(work, root, ZERO, n_rows, ZERO, weight, total, -np.inf, np.inf)


@kernel
def grow_tree(work, centre, by_class):
    """Grow the tree whose root is waiting."""
    block = len(work.block_rows)
    pays = len(work.n_codes) <= MOST_COLUMNS_PER_DRAWN * work.max_features
    # A column of extra trees is read only twice, so that the copy pays off only for large tables.
    pays = pays and (not work.random_cuts or work.all_codes.size > LARGE_TABLE)
    recentre = by_class is None and not work.exact
    while work.n_waiting > 0 and work.stop[0] == 0:
        at = work.n_waiting - 1
        lo, hi = work.waiting[at, NODE_LO], work.waiting[at, NODE_HI]
        if not pays or hi - lo > block:
            grow_node(work, by_class)
            continue
        open_block(work, lo, hi, recentre)
        work.waiting[at, NODE_LO], work.waiting[at, NODE_HI] = 0, hi - lo
        while work.n_waiting > at:
            grow_node(work, by_class)
        close_block(work, centre)


@entry
def grow_forest_trees(
    arrays: ForestArrays,
    recipe: ForestRecipe,
    n_classes: int,
    exact: bool,
    seeds: Input[Words],
    bag_seeds: Input[Words],
    n_draws: int,
    replace: bool,
    counts: Shorts,
    order: Indices,
    weights: Input[Reals],
    factors: Reals,
    centre: float,
    by_class: bool | None,
) -> None:
    """Grow a tree for each of the seeds, one after the other.

    `weights` contains the row weights, or is empty. `factors` is empty unless the classes of each bag are balanced.
    `by_class` is None for two classes rated by gini and for numbers. `ends` receives the ends of the nodes, leaves,
    sets and entries of each tree.
    """
    work = open_work(arrays, recipe, n_classes, exact)
    work.plain = work.min_samples_leaf < 2 and work.min_weight_fraction_leaf <= 0.0
    for column in range(len(work.columns)):
        work.plain = work.plain and work.monotonic_cst[column] == 0
    for tree in range(len(seeds)):
        for column in range(len(work.columns)):
            work.gains[tree, column] = 0.0
        work.tree = tree
        fill_bag(bag_seeds[tree], n_draws, replace, counts, order)
        if len(factors) > 0:
            balance_classes(counts, weights, work.all_targets, factors)
        n_rows = take_rows(work, counts, weights, factors, centre)
        begin_tree(work, seeds[tree], n_rows, centre)
        grow_tree(work, centre, by_class)
        work.ends[tree, END_OF_NODES] = work.n_nodes
        work.ends[tree, END_OF_LEAVES] = work.n_leaves
        work.ends[tree, END_OF_SETS] = work.n_sets
        work.ends[tree, END_OF_ENTRIES] = work.n_entries
