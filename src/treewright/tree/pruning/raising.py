"""C4.5's pruning with subtree raising: can a node be replaced by its largest branch?

Rows are stored in a stack of segments. Those of a node stay in place while its branches are pruned above them. A row
with a missing value is in several branches, with a fraction in each.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from treewright.engines.bits import NO, NONE, YES, ZERO
from treewright.engines.exact.descent import way_out
from treewright.engines.exact.layout import CLOSE, LEAF_NODE
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes, Input, Integers, Reals, Reals2, Wholes, Words


class GrowingTree(NamedTuple):
    """The arrays of a `tree.Tree` while it is pruned, as the descent takes them, and the estimated errors of each node.

    It is a type of this module, because machine code is cached by the types of its arguments.
    """

    kind: Bytes
    column: Integers
    threshold: Reals  # that of the tree plus its tolerance: values up to it go to the first child
    first_child: Integers
    n_children: Integers
    missing_branch: Integers
    share: Reals
    set_start: Wholes
    category_sets: Words
    weight: Reals
    rows: Wholes
    impurity: Reals
    gain: Reals
    distribution: Reals2
    tree_threshold: Reals  # without the tolerance
    n_categories: Input[Wholes]  # [column]: 0 for a number
    unseen: int
    estimate: Reals
    counts: Reals  # class weights of the current segment


# A smaller tree is preferred up to this increase of the estimated errors (Quinlan's C4.5, release 8).
SLACK = 0.1


@kernel
def extra_errors(n, errors, confidence, z, all_wrong):
    """Return the errors to add to those observed among n rows for an upper bound at this confidence.

    `z` is the normal deviate of the confidence. `all_wrong` is the share of the correct predictions that is added if
    nearly every prediction is wrong.
    """
    if n <= CLOSE or confidence > 0.5:
        return 0.0
    if errors < 1.0:
        none = n * (1.0 - (exp(log(confidence) / n) if confidence > 0.0 else 0.0))
        if errors < CLOSE:
            return none
        return none + errors * (extra_of_many(n, 1.0, z, all_wrong) - none)
    return extra_of_many(n, errors, z, all_wrong)


@kernel
def extra_of_many(n, errors, z, all_wrong):
    """Compute `extra_errors` for at least one error: the upper bound of a binomial share."""
    if errors + 0.5 >= n:
        return max(all_wrong * (n - errors), 0.0)
    share = (errors + 0.5) / n
    squares = z * z
    bound = share + squares / (2.0 * n) + z * sqrt(share / n - share * share / n + squares / (4.0 * n * n))
    return bound / (1.0 + squares / n) * n - errors


@kernel
def estimate(counts, bounds):
    """Compute the upper bound of the errors of a leaf with these class weights."""
    confidence, z, all_wrong = bounds
    total = largest = 0.0
    for count in counts:
        total += count
        largest = max(largest, count)
    if total <= CLOSE:
        return 0.0
    return total - largest + extra_errors(total, total - largest, confidence, z, all_wrong)


@kernel
def send(node, lo, hi, top, table, tree, arena, branches):
    """Copy a node's rows to segments of its branches above `top`; returns the end of the last, -1 if they do not fit.

    `branches` receives, for each branch, its known weight, the start of its segment and its fraction of rows with
    missing values.
    """
    values = table[0]
    rows, fractions, marks = arena
    branch_weight, branch_start, branch_share, branch_size = branches
    n_children = np.int64(tree.n_children[node])
    tested = tree.column[node]
    for b in range(n_children + 1):
        branch_weight[b] = 0.0
        branch_size[b] = 0
    for i in range(lo, hi):
        to = way_out(node, values[rows[i], tested], tree)
        to = n_children if to < 0 else to
        marks[i] = to
        branch_weight[to] += fractions[i]
        branch_size[to] += 1
    known = 0.0
    for b in range(n_children):
        known += branch_weight[b]
    end = top
    for b in range(n_children):
        branch_share[b] = branch_weight[b] / known if known > CLOSE else 1.0 / n_children
        if branch_share[b] <= CLOSE:
            branch_share[b] = 0.0
        branch_start[b] = end
        end += branch_size[b] + (branch_size[n_children] if branch_share[b] > 0.0 else ZERO)
    branch_start[n_children] = end
    if end > len(rows):
        return NONE
    for b in range(n_children):
        branch_size[b] = branch_start[b]
    for i in range(lo, hi):
        to = np.int64(marks[i])
        for b in range(to if to < n_children else ZERO, to + 1 if to < n_children else n_children):
            if to == n_children and branch_share[b] == 0.0:
                continue
            at = branch_size[b]
            rows[at] = rows[i]
            fractions[at] = fractions[i] * (branch_share[b] if to == n_children else 1.0)
            branch_size[b] += 1
    return end


@kernel
def count_classes(lo, hi, labels, rows, fractions, counts):
    """Compute the class weights of a segment."""
    for k in range(len(counts)):
        counts[k] = 0.0
    for i in range(lo, hi):
        counts[labels[rows[i]]] += fractions[i]


@kernel
def pass_down(node, lo, hi, top, table, tree, arena, branches, stack, bounds, refill, enough, adds):
    """Send the rows lo..hi-1 down the subtree of a node; returns the estimated errors, -1 if the rows do not fit.

    With `refill`, the class weights, shares and estimates of all visited nodes are replaced by those of these rows.
    Otherwise more rows can only add errors to the estimates, so the descent stops as soon as their sum exceeds
    `enough`. With `adds`, the rows are added to those already there.
    """
    labels = table[1]
    rows, fractions, _ = arena
    waiting_node, waiting_lo, waiting_hi = stack
    errors, so_far = 0.0, tree.estimate[node]
    n_waiting = np.int64(1)
    waiting_node[0], waiting_lo[0], waiting_hi[0] = node, lo, hi
    while n_waiting > 0:
        if not refill and so_far > enough:
            return so_far
        n_waiting -= 1
        here, start, end = waiting_node[n_waiting], waiting_lo[n_waiting], waiting_hi[n_waiting]
        if adds and start == end:
            continue
        # The segments above the last one are no longer needed.
        free = end if start >= top else top
        count_classes(start, end, labels, rows, fractions, tree.counts)
        if refill:
            weight = 0.0
            for k in range(len(tree.counts)):
                tree.distribution[here, k] = tree.counts[k]
                weight += tree.counts[k]
            tree.weight[here] = weight
            tree.rows[here] = end - start
        if tree.kind[here] == LEAF_NODE:
            if adds:
                for k in range(len(tree.counts)):
                    tree.counts[k] += tree.distribution[here, k]
            estimated = estimate(tree.counts, bounds)
            errors += estimated
            so_far += estimated - tree.estimate[here]
            if refill:
                tree.estimate[here] = estimated
            continue
        if send(here, start, end, free, table, tree, arena, branches) < 0:
            return -1.0
        first = np.int64(tree.first_child[here])
        for b in range(tree.n_children[here]):
            if refill:
                tree.share[first + b] = branches[2][b]
            waiting_node[n_waiting] = first + b
            waiting_lo[n_waiting] = branches[1][b]
            waiting_hi[n_waiting] = branches[1][b + 1]
            n_waiting += 1
    return so_far if adds else errors


@kernel
def errors_if_raised(child, lo, hi, top, table, tree, arena, branches, stack, bounds, enough, ranges):
    """Estimate the errors of a child's subtree if it replaces its parent.

    Without missing values, only the rows of the other branches are added. They are from first to last, around the
    child's own rows. Otherwise all rows are sent down again, because the shares of missing values change.
    """
    if not ranges[0]:
        return pass_down(child, lo, hi, top, table, tree, arena, branches, stack, bounds, NO, enough, NO)
    rows, fractions, _ = arena
    _, first, own_start, own_end, last = ranges
    end = top
    if top + (own_start - first) + (last - own_end) > len(rows):
        return -1.0
    for i in range(first, last):
        if own_start <= i < own_end:
            continue
        rows[end] = rows[i]
        fractions[end] = fractions[i]
        end += 1
    return pass_down(child, top, end, top, table, tree, arena, branches, stack, bounds, NO, enough, YES)


@kernel
def largest_branch(tree, node):
    """Return the branch with the largest weight, and the last of equal ones."""
    first = np.int64(tree.first_child[node])
    best = ZERO
    for b in range(1, tree.n_children[node]):
        if tree.weight[first + b] >= tree.weight[first + best] - CLOSE:
            best = np.int64(b)
    return best


@kernel
def make_leaf(tree, node, estimated):
    tree.kind[node] = LEAF_NODE
    tree.n_children[node] = 0
    tree.estimate[node] = estimated


@kernel
def take_over(tree, node, child):
    """Replace the split of a node by that of a child."""
    tree.kind[node] = tree.kind[child]
    tree.column[node] = tree.column[child]
    tree.threshold[node] = tree.threshold[child]
    tree.tree_threshold[node] = tree.tree_threshold[child]
    tree.first_child[node] = tree.first_child[child]
    tree.n_children[node] = tree.n_children[child]
    tree.missing_branch[node] = tree.missing_branch[child]
    tree.set_start[node] = tree.set_start[child]
    tree.gain[node] = tree.gain[child]


@entry
def prune_and_raise(
    table: tuple[Input[Reals2], Input[Wholes]],
    tree: GrowingTree,
    arena: tuple[Wholes, Reals, Integers],
    branches: tuple[Reals, Wholes, Reals, Wholes],
    stack: tuple[Wholes, Wholes, Wholes],
    frames: tuple[Wholes, Wholes, Wholes, Wholes, Wholes],
    starts: Wholes,
    bounds: tuple[float, float, float],
    complete: bool,
    n_rows: int,
) -> bool:
    """Prune from the leaves up: make a node a leaf, or replace it by its largest branch, if the bound allows.

    Changes the arrays of `tree`. `complete` means that no row has missing values. Returns False if the arena is too
    small. The caller must then start again.
    """
    frame_node, frame_lo, frame_hi, frame_next, frame_start = frames
    depth = np.int64(0)
    frame_node[0], frame_lo[0], frame_hi[0], frame_next[0], frame_start[0] = 0, 0, n_rows, -1, 0
    while depth >= 0:
        node, lo, hi = frame_node[depth], frame_lo[depth], frame_hi[depth]
        first_start = frame_start[depth]
        n_children = np.int64(tree.n_children[node])
        if n_children == 0:
            tree.estimate[node] = estimate(tree.distribution[node], bounds)
            depth -= 1
            continue
        if frame_next[depth] < 0:
            top = hi if depth == 0 else max(hi, starts[first_start - 1])
            if send(node, lo, hi, top, table, tree, arena, branches) < 0:
                return False
            for b in range(n_children + 1):
                starts[first_start + b] = branches[1][b]
            frame_next[depth] = 0
        if frame_next[depth] < n_children:
            b = frame_next[depth]
            frame_next[depth] += 1
            depth += 1
            frame_node[depth] = tree.first_child[node] + b
            frame_lo[depth], frame_hi[depth] = starts[first_start + b], starts[first_start + b + 1]
            frame_next[depth] = -1
            frame_start[depth] = first_start + n_children + 1
            continue
        top = starts[first_start + n_children]
        first = np.int64(tree.first_child[node])
        as_tree = 0.0
        for b in range(n_children):
            as_tree += tree.estimate[first + b]
        as_leaf = estimate(tree.distribution[node], bounds)
        child = first + largest_branch(tree, node)
        # Raising is not useful unless its errors are below these. The bounds of leaves with nearly only errors are not
        # quite monotonic.
        enough = max(as_tree + SLACK, as_leaf - SLACK) + 1.0
        own = first_start + child - first
        ranges = (complete, starts[first_start], starts[own], starts[own + 1], top)
        as_branch = errors_if_raised(child, lo, hi, top, table, tree, arena, branches, stack, bounds, enough, ranges)
        if as_branch < 0.0:
            return False
        tree.estimate[node] = as_tree
        if as_leaf <= min(as_tree, as_branch) + SLACK + CLOSE:
            make_leaf(tree, node, as_leaf)
        elif as_branch <= as_tree + SLACK + CLOSE:
            take_over(tree, node, child)
            if pass_down(node, lo, hi, top, table, tree, arena, branches, stack, bounds, YES, np.inf, NO) < 0.0:
                return False
            frame_next[depth] = -1
            continue
        depth -= 1
    return True
