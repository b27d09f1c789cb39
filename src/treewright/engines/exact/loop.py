"""The growth loop: take a node, send its rows to the branches of its split, search the splits of the children."""

from __future__ import annotations

import numpy as np

from treewright.encoding.midpoints import midpoint
from treewright.engines.bits import ZERO, has_bit
from treewright.engines.criteria import ABSOLUTE_ERROR, OWN, POISSON
from treewright.engines.exact.absolute import prepare_medians
from treewright.engines.exact.impurity import has_refused
from treewright.engines.exact.independence import chance_of_split
from treewright.engines.exact.layout import (
    BIT_SET,
    CLOSE,
    LEAF_NODE,
    MANY_CLASSES,
    MOST_SURROGATES,
    MULTIWAY,
    MULTIWAY_SPLIT,
    SUBSET_SPLIT,
    THRESHOLD_SPLIT,
)
from treewright.engines.exact.monotonic import bound_children, enter_bounds
from treewright.engines.exact.partition import (
    divide_columns,
    divide_line,
    divide_rows,
    mark_branches,
    place_branches,
    share_out,
    take_shares,
)
from treewright.engines.exact.search import measure_classes, measure_numbers, search_node
from treewright.engines.exact.several import enter_several, measure_several
from treewright.engines.exact.surrogates import assign_missing, find_surrogates
from treewright.engines.exact.workspace import Arrays, Recipe, add_node, close_work, open_work
from treewright.engines.missing_values import OWN_BRANCH, SPREADS, SURROGATE
from treewright.runtime.draws import draw_below, seed_of_branch
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Input, Reals, Reals2, Word

# The mark of a measured node that may be split, instead of its kind, until it is searched.
OPEN_NODE = 255


@kernel
def measure(work, node, numbers):
    """Compute the statistics of a node from its rows; may it be split?"""
    lo, hi = work.node_lo[node], work.node_hi[node]
    if hi == lo:
        return False
    if numbers is None:
        weight, spread, pure = measure_classes(work, lo, hi)
        for k in range(work.n_classes):
            work.node_distribution[node, k] = work.totals[k]
    elif numbers.ndim == 2:
        weight, spread, pure = measure_several(work, node, numbers)
    else:
        weight, mean, spread, pure = measure_numbers(work, lo, hi)
        work.node_mean[node] = mean
        work.node_distribution[node, 0] = mean
    work.node_weight[node] = weight
    work.node_spread[node] = spread
    size = rows_in(work, lo, hi)
    return not (
        pure
        or work.node_depth[node] >= work.max_depth
        or size < work.min_samples_split
        or (weight if work.quinlan else size) < 2 * work.min_samples_leaf - CLOSE
        or weight < 2.0 * work.min_weight_leaf
    )


@kernel
def rows_in(work, lo, hi):
    """Return the number of rows in a range of the row list, where a fraction of a row counts as such."""
    if len(work.shares) == 0 or work.quinlan:
        return np.float64(hi - lo)
    size = 0.0
    for i in range(lo, hi):
        size += work.shares[i]
    return size + CLOSE


@kernel
def gather_classes(work, node):
    """Set the class weights of a node; if there are many classes, those that occur are numbered anew, in order.

    There are at least three of them, because the loops for two classes read the classes themselves. A function of the
    user gets the weights of all classes.
    """
    totals, distribution = work.totals, work.node_distribution
    work.n_classes = work.all_classes
    work.gathers = work.all_classes > MANY_CLASSES and work.criterion != OWN
    if not work.gathers:
        for k in range(work.n_classes):
            totals[k] = distribution[node, k]
        return
    rows, labels, classes, place, n_present = work.rows, work.labels, work.classes, work.class_place, ZERO
    for k in range(work.all_classes):
        place[k] = n_present
        if distribution[node, k] > 0.0:
            totals[n_present] = distribution[node, k]
            n_present += 1
    while n_present < 3:
        totals[n_present] = 0.0
        n_present += 1
    work.n_classes = n_present
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        labels[i] = np.uint16(place[classes[rows[i]]])


@kernel
def enter_node(work, node, numbers):
    """Make a measured node the current one of the search."""
    lo, hi = work.node_lo[node], work.node_hi[node]
    work.lo, work.hi = lo, hi
    work.weight = work.node_weight[node]
    work.spread = work.node_spread[node]
    work.impurity = 0.0 if work.criterion == POISSON else work.spread
    work.mean = work.node_mean[node]
    work.min_leaf_weight = 0.0
    enter_bounds(work, node)
    if numbers is None:
        gather_classes(work, node)
        return
    if numbers.ndim == 2:
        enter_several(work, node)
        return
    if work.criterion == ABSOLUTE_ERROR:
        prepare_medians(work, work.numbers, ZERO, lo, hi)


@kernel
def threshold_in(work, slot):
    """Return the threshold of a split, between the last value of one side and the first of the other."""
    column, cut, after = work.slot_column[slot], work.slot_cut[slot], work.slot_after[slot]
    if after == work.n_codes[column]:
        return np.inf  # known values on one side, missing values on the other
    start = work.value_start[column]
    below = work.values[start + cut]
    if not np.isnan(work.slot_drawn[slot]):
        return work.slot_drawn[slot]
    if work.fixed_cuts[column]:
        return below
    above = work.values[start + after]
    return midpoint(below, above)


@kernel
def keep_set(work, node, slot):
    """Copy the category set of a slot to the tree, in the shorter of its two forms."""
    n_codes = work.n_codes[work.slot_column[slot]]
    n_words = (n_codes + 63) // 64
    words, first = work.slot_words, slot * work.n_words
    start = work.n_set_words
    at = start + 1
    for w in range(n_words):
        # In a small node few of many categories occur, so most words are empty.
        if words[first + w] == 0 or at - start > n_words:
            continue
        for code in range(64 * w, min(64 * w + 64, n_codes)):
            if has_bit(words, first, code):
                work.set_words[at] = code
                at += 1
    work.set_words[start] = np.uint64(at - start - 1)
    if at - start > n_words:
        work.set_words[start] = BIT_SET
        at = start + 1
        for w in range(n_words):
            work.set_words[at] = words[first + w]
            at += 1
    work.node_set_start[node] = start
    work.n_set_words = at


@kernel
def find_split(work, node, numbers, extras):
    """Search a measured node for its split and store it; False if it remains a leaf."""
    take_shares(work, node)
    enter_node(work, node, numbers)
    search_node(work, work.node_seed[node], numbers)
    if work.filled == 0:
        return False
    slot = draw_below(work.state, work.filled) if work.among > 1 else ZERO
    gain = work.slot_gain[slot] / work.weight
    if work.min_split_gain > 0.0 and gain < work.min_split_gain:
        return False
    if work.min_total_gain > 0.0 and work.slot_gain[slot] < work.min_total_gain:
        return False
    kind = work.slot_kind[slot]
    work.node_kind[node] = kind
    work.node_column[node] = work.slot_column[slot]
    work.node_missing[node] = work.slot_missing[slot]
    work.node_gain[node] = max(gain, 0.0)
    work.node_n_children[node] = 2
    if kind == THRESHOLD_SPLIT:
        work.node_cut[node] = work.slot_cut[slot]
        work.node_threshold[node] = threshold_in(work, slot)
    if kind == MULTIWAY_SPLIT:
        work.node_n_children[node] = work.n_codes[work.slot_column[slot]]
        if work.strategy == OWN_BRANCH and work.has_missing[work.slot_column[slot]]:
            work.node_missing[node] = work.node_n_children[node]
            work.node_n_children[node] += 1
    if kind == SUBSET_SPLIT:
        keep_set(work, node, slot)
    if spreads(work):
        work.node_missing[node] = -1
    if extras is not None and numbers is None and work.max_p_value < 1.0:
        mark_branches(work, node)
        if chance_of_split(work, node) > work.max_p_value:
            undo_split(work, node)
            return False
    return True


@kernel
def spreads(work):
    """Do rows with missing values go down several branches?"""
    return SPREADS[work.strategy]


@kernel
def undo_split(work, node):
    """Turn a node whose split was found but is not used into a leaf again."""
    work.node_kind[node] = LEAF_NODE
    work.node_column[node] = -1
    work.node_threshold[node] = np.nan
    work.node_missing[node] = 0
    work.node_n_children[node] = 0
    work.node_set_start[node] = -1
    work.node_gain[node] = 0.0


@kernel
def divide(work, node, numbers, extras):
    """Send a node's rows to its branches, which are marked, and measure the children; returns the first child.

    The sorted columns are only partitioned if some child may be split further.
    """
    n_children = np.int64(work.node_n_children[node])
    if extras is not None and work.strategy == SURROGATE:
        find_surrogates(work, node)
        assign_missing(work, node)
    n_missing = work.sizes[n_children]
    divide_rows(work, node)
    if work.target_line >= 0:
        for target in range(work.n_outputs):
            divide_line(work, node, work.target_line + target)
    first = work.n_nodes
    work.node_first_child[node] = first
    end = place_branches(work, node) if n_missing > 0 else work.node_hi[node]
    lo = work.starts[0] if n_missing > 0 else work.node_lo[node]
    some_open = False
    for b in range(n_children):
        size = work.sizes[b]
        if n_missing > 0 and work.branch_share[b] > 0.0:
            size += n_missing
        seed = seed_of_branch(work.node_seed[node], b)
        child = add_node(work, lo, lo + size, work.node_depth[node] + 1, seed)
        if spreads(work):
            work.node_share[child] = work.branch_share[b]
        lo += size
        take_shares(work, child)
        if measure(work, child, numbers):
            work.node_kind[child] = OPEN_NODE
            some_open = True
    if work.node_bounds.shape[1] > 0:
        bound_children(work, node, first, numbers)
    if some_open:
        divide_columns(work, node)
    binary = work.node_kind[node] != MULTIWAY_SPLIT
    if work.n_missing_here == 0 and binary and work.strategy != SURROGATE and not spreads(work):
        # No row decides which side is better for missing values, so they go to the heavier one.
        work.node_missing[node] = 0 if work.node_weight[first] > work.node_weight[first + 1] else 1
    work.n_positions = max(work.n_positions, end)
    return first


@kernel
def words_of_sets(work, n_children):
    """Return the number of words for the category sets of all children, and for a node's surrogate maps."""
    # With a branch per category the only set is the empty one of the split of known from missing values.
    n_words = n_children if work.categorical == MULTIWAY else n_children * (work.n_words + 66)
    if work.strategy == SURROGATE:
        # A map contains each category of its column, with its branch.
        n_words += MOST_SURROGATES * (2 * 64 * work.n_words + 1)
    return n_words


@kernel
def prepare_division(work, node):
    """Mark the branches of a node's rows; returns the length of the row list that its division needs."""
    take_shares(work, node)
    mark_branches(work, node)
    if not spreads(work):
        return ZERO
    share_out(work, node)
    return place_branches(work, node)


@kernel
def comes_first(work, a, b):
    """Is node `a` divided before `b`? With a limit on leaves the larger total gain is first, else the later found."""
    if work.max_leaf_nodes == 0:
        return a > b
    gain_a = work.node_gain[a] * work.node_weight[a]
    gain_b = work.node_gain[b] * work.node_weight[b]
    return gain_a > gain_b or (gain_a == gain_b and a < b)


@kernel
def push(work, node):
    """Push a node onto the binary heap of waiting nodes, with the next node at its top."""
    heap = work.heap
    at = work.n_waiting
    while at > 0 and comes_first(work, node, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = node
    work.n_waiting += 1


@kernel
def pop(work):
    """Pop the next node from the heap."""
    heap = work.heap
    work.n_waiting -= 1
    size = work.n_waiting
    top, last = heap[0], heap[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and comes_first(work, heap[child + 1], heap[child]):
            child += 1
        if not comes_first(work, heap[child], last):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    return top


@kernel
def defer(work, node):
    work.deferred[work.n_deferred] = node
    work.n_deferred += 1


@kernel
def search_or_defer(work, node, defer_above, defer_below, numbers, extras):
    """Find the split of a node and push it onto the heap, or defer it if its size is in the range."""
    work.node_kind[node] = LEAF_NODE
    if defer_above < work.node_hi[node] - work.node_lo[node] <= defer_below:
        defer(work, node)
    elif find_split(work, node, numbers, extras):
        push(work, node)


@kernel
def begin(work, lo, hi, depth, seed, defer_below, numbers, extras):
    """Add the root, unless growth continues."""
    work.in_place = work.max_leaf_nodes == 0 and defer_below == 0
    if work.n_nodes > 0:
        return
    work.n_positions = hi
    root = add_node(work, lo, hi, depth, seed)
    work.n_leaves = 1
    for k in range(len(work.root_bounds)):
        work.node_bounds[root, k] = work.root_bounds[k]
    take_shares(work, root)
    if measure(work, root, numbers):
        search_or_defer(work, root, ZERO, ZERO, numbers, extras)


@entry
def grow(
    arrays: Arrays,
    recipe: Recipe,
    weighted: bool,
    n_classes: int,
    target_line: int,
    lo: int,
    hi: int,
    depth: int,
    seed: Word,
    defer_above: int,
    defer_below: int,
    numbers: Input[Reals] | None,
    extras: bool | None,
) -> None:
    """Grow the tree of the rows lo..hi-1 of the row list; `numbers` is None for a class target.

    `extras` is None unless surrogates or the chi-squared test are used, because code for None is not compiled.

    Nodes with more than `defer_above` and at most `defer_below` rows that could be split are recorded in `deferred`.
    Each can then be grown as a separate tree, at the same time as the others. When the arrays are full, `progress`
    contains the required sizes, and a second call continues from there.
    """
    work = open_work(arrays, recipe, weighted, n_classes, target_line)
    begin(work, lo, hi, depth, seed, defer_below, numbers, extras)
    grow_waiting(work, defer_above, defer_below, numbers, extras)


@entry
def grow_several(
    arrays: Arrays,
    recipe: Recipe,
    weighted: bool,
    n_classes: int,
    target_line: int,
    lo: int,
    hi: int,
    depth: int,
    seed: Word,
    defer_above: int,
    defer_below: int,
    targets: Input[Reals2],
) -> None:
    """Grow the tree of several targets, which `several` describes; the other arguments are those of `grow`."""
    work = open_work(arrays, recipe, weighted, n_classes, target_line)
    begin(work, lo, hi, depth, seed, defer_below, targets, None)
    grow_waiting(work, defer_above, defer_below, targets, None)


@kernel
def grow_waiting(work, defer_above, defer_below, numbers, extras):
    """Divide the waiting nodes and search their children, until none waits or the arrays are full."""
    while work.n_waiting > 0 and not has_refused(work):
        node = work.heap[0]
        n_children = np.int64(work.node_n_children[node])
        n_words = words_of_sets(work, n_children)
        is_full = work.n_nodes + n_children > len(work.node_kind)
        rows_wanted = prepare_division(work, node) - len(work.rows)
        if is_full or work.n_set_words + n_words > len(work.set_words) or rows_wanted > 0:
            close_work(work, n_children, n_words, rows_wanted)
            return
        node = pop(work)
        if work.max_leaf_nodes > 0 and work.n_leaves + n_children - 1 > work.max_leaf_nodes:
            undo_split(work, node)
            continue
        work.n_leaves += n_children - 1
        first = divide(work, node, numbers, extras)
        for child in range(first, first + n_children):
            if work.node_kind[child] == OPEN_NODE:
                search_or_defer(work, child, defer_above, defer_below, numbers, extras)
    close_work(work, ZERO, ZERO, ZERO)
