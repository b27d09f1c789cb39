"""Sending the rows of a node to its branches, with every column kept sorted."""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import code_of, row_of
from treewright.engines.bits import NONE, ONE, ZERO, clear
from treewright.engines.exact.layout import CLOSE, MULTIWAY_SPLIT, SUBSET_SPLIT, THRESHOLD_SPLIT, TIE, in_set
from treewright.engines.missing_values import ALL_BRANCHES, EVERY_VALUE, SURROGATE
from treewright.runtime.kernels import kernel


@kernel
def branch_of(code, missing_code, kind, cut, inside, missing_branch):
    """Return the branch of a row with this code, by the rule of training.

    `inside` is whether the code is in the set of a subset split.
    """
    if code == missing_code:
        return missing_branch
    if kind == THRESHOLD_SPLIT:
        return np.int64(0) if code <= cut else np.int64(1)
    if kind == MULTIWAY_SPLIT:
        return code
    return np.int64(0) if inside else np.int64(1)


@kernel
def take_shares(work, node):
    """Set `weights` to the weights of the fractional instances in this node, if rows are divided.

    A row that goes down all branches with its full weight keeps its weight. Its share only decides when there is too
    little to split.
    """
    if len(work.shares) == 0:
        return
    rows, shares, weights, full, row_share = work.rows, work.shares, work.weights, work.full_weights, work.row_share
    whole = work.strategy == ALL_BRANCHES
    for i in range(np.uint64(work.node_lo[node]), np.uint64(work.node_hi[node])):
        row = rows[i]
        row_share[row] = shares[i]
        weights[row] = full[row] if whole else shares[i] * full[row]


@kernel
def mark_branches(work, node):
    """Write each row's branch and count the rows of each; rows for all branches are marked by the next number."""
    column = np.int64(work.node_column[node])
    kind, cut = np.int64(work.node_kind[node]), work.node_cut[node]
    n_children = np.int64(work.node_n_children[node])
    missing_branch = np.int64(work.node_missing[node])
    if missing_branch < 0 or work.strategy == SURROGATE:
        missing_branch = n_children
    missing_code = work.n_codes[column]
    words, set_start = work.set_words, max(work.node_set_start[node], ZERO)
    rows, sizes, side, branch = work.rows, work.sizes, work.side, work.branch
    wide, many = work.is_wide[column], kind == MULTIWAY_SPLIT
    keys, codes = work.keys[column], work.codes[column]
    for b in range(n_children + 1):
        sizes[b] = 0
    for i in range(np.uint64(work.node_lo[node]), np.uint64(work.node_hi[node])):
        row = row_of(keys[i]) if wide else np.uint64(rows[i])
        code = code_of(keys[i]) if wide else np.int64(codes[row])
        inside = kind == SUBSET_SPLIT and code != missing_code and in_set(words, set_start, code)
        to = branch_of(code, missing_code, kind, cut, inside, missing_branch)
        sizes[to] += 1
        if many:
            branch[row] = to
        else:
            side[row] = to
    work.n_missing_here = count_missing_rows(work, node, column) if work.has_missing[column] else ZERO


@kernel
def count_missing_rows(work, node, column):
    """Count the rows of a node with a missing value in this column."""
    n_missing = ZERO
    wide, missing_code = work.is_wide[column], work.n_codes[column]
    keys, codes, rows = work.keys[column], work.codes[column], work.rows
    for i in range(np.uint64(work.node_lo[node]), np.uint64(work.node_hi[node])):
        code = code_of(keys[i]) if wide else np.int64(codes[rows[i]])
        n_missing += 1 if code == missing_code else 0
    return n_missing


@kernel
def weigh_branches(work, node):
    """Compute the known weight of each branch, and for `every_value` the number of values that go there."""
    n_children = np.int64(work.node_n_children[node])
    weights, values, rows = work.branch_weight, work.branch_values, work.rows
    column = np.int64(work.node_column[node])
    many = work.node_kind[node] == MULTIWAY_SPLIT
    wide, n_codes = work.is_wide[column], work.n_codes[column]
    keys, codes, seen = work.keys[column], work.codes[column], work.code_rows
    for b in range(n_children + 1):
        weights[b] = 0.0
        values[b] = 0
    previous = n_codes
    for i in range(np.uint64(work.node_lo[node]), np.uint64(work.node_hi[node])):
        row = row_of(keys[i]) if wide else np.uint64(rows[i])
        code = code_of(keys[i]) if wide else np.int64(codes[row])
        to = np.int64(work.branch[row]) if many else np.int64(work.side[row])
        weights[to] += work.weights[row]
        if wide:
            values[to] += 1 if code != previous else 0
            previous = code
        else:
            values[to] += 1 if seen[code] == 0 else 0
            seen[code] = 1
    if not wide:
        clear(seen, n_codes + 1)


@kernel
def share_out(work, node):
    """Compute the fraction of a missing row that each branch gets; a branch without other rows gets none."""
    weigh_branches(work, node)
    n_children = np.int64(work.node_n_children[node])
    total, n_values = 0.0, 0
    for b in range(n_children):
        total += work.branch_weight[b]
        n_values += work.branch_values[b]
    for b in range(n_children):
        share = work.branch_weight[b] / total
        if work.strategy == EVERY_VALUE:
            share = work.branch_values[b] / n_values
        work.branch_share[b] = share if share > CLOSE else 0.0
    kept = 0.0
    for b in range(n_children):
        kept += work.branch_share[b]
    for b in range(n_children if kept < 1.0 - TIE else ZERO):
        work.branch_share[b] /= kept


@kernel
def place_branches(work, node):
    """Compute the start of each branch if rows go down several branches; returns the end of the last one.

    The branches use the space of the node and what is behind it, or new space behind all that is in use.
    """
    n_children = np.int64(work.node_n_children[node])
    n_missing = work.sizes[n_children]
    start = work.node_lo[node] if work.in_place or n_missing == 0 else work.n_positions
    for b in range(n_children):
        work.starts[b] = start
        start += work.sizes[b] + (n_missing if work.branch_share[b] > 0.0 else ZERO)
    return start


@kernel
def spread_rows(work, node):
    """Send the row list of a node to its branches, missing rows to all that get a fraction of them."""
    lo, hi = work.node_lo[node], work.node_hi[node]
    n_children = np.int64(work.node_n_children[node])
    rows, spare, shares, spare_shares = work.rows, work.spare, work.shares, work.spare_shares
    many = work.node_kind[node] == MULTIWAY_SPLIT
    for i in range(lo, hi):
        spare[i - lo] = rows[i]
        spare_shares[i - lo] = shares[i]
    place_branches(work, node)
    starts, branch_share = work.starts, work.branch_share
    for i in range(hi - lo):
        row = np.uint32(spare[i])
        to = np.int64(work.branch[row]) if many else np.int64(work.side[row])
        first = ZERO if to == n_children else to
        last = n_children if to == n_children else to + 1
        for b in range(first, last):
            if to == n_children and branch_share[b] == 0.0:
                continue
            rows[starts[b]] = row
            shares[starts[b]] = spare_shares[i] * (branch_share[b] if to == n_children else 1.0)
            starts[b] += 1


@kernel
def spread_line(work, node, index):
    """Send one sorted column of a node to its branches, missing rows to all that get a fraction of them."""
    lo, hi = work.node_lo[node], work.node_hi[node]
    n_children = np.int64(work.node_n_children[node])
    line, spare, starts, branch_share = work.keys[index], work.spare, work.starts, work.branch_share
    many = work.node_kind[node] == MULTIWAY_SPLIT
    for i in range(lo, hi):
        spare[i - lo] = line[i]
    place_branches(work, node)
    for i in range(hi - lo):
        row = row_of(spare[i])
        to = np.int64(work.branch[row]) if many else np.int64(work.side[row])
        if to < n_children:
            line[starts[to]] = spare[i]
            starts[to] += 1
            continue
        for b in range(n_children):
            if branch_share[b] > 0.0:
                line[starts[b]] = spare[i]
                starts[b] += 1


@kernel
def find_starts(work, n_branches):
    """Compute the start of each branch."""
    start = 0
    for b in range(n_branches):
        work.starts[b] = start
        start += work.sizes[b]


@kernel
def partition_keys(line, lo, hi, side, spare):
    """Partition one sorted column in two, stably; writing to both sides avoids a branch."""
    left, right = np.uint64(lo), np.uint64(0)
    for i in range(np.uint64(lo), np.uint64(hi)):
        key = line[i]
        second = np.uint64(side[row_of(key)])
        line[left] = key
        spare[right] = key
        left += ONE - second
        right += second
    for i in range(right):
        line[left + i] = spare[i]


@kernel
def partition_rows(rows, lo, hi, side, spare):
    """Partition the row list in two, stably."""
    left, right = np.uint64(lo), np.uint64(0)
    for i in range(np.uint64(lo), np.uint64(hi)):
        row = rows[i]
        second = np.uint64(side[row])
        rows[left] = row
        spare[right] = row
        left += ONE - second
        right += second
    for i in range(right):
        rows[left + i] = np.uint32(spare[i])


@kernel
def divide_rows(work, node):
    """Send the row list of a node to its branches."""
    if work.sizes[work.node_n_children[node]] > 0:
        spread_rows(work, node)
        return
    lo, hi = work.node_lo[node], work.node_hi[node]
    rows, spare = work.rows, work.spare
    if work.node_kind[node] != MULTIWAY_SPLIT:
        partition_rows(rows, lo, hi, work.side, spare)
        reorder_shares(work, lo, hi)
        return
    find_starts(work, work.node_n_children[node])
    for i in range(lo, hi):
        to = work.branch[rows[i]]
        spare[work.starts[to]] = rows[i]
        work.starts[to] += 1
    for i in range(lo, hi):
        rows[i] = np.uint32(spare[i - lo])
    reorder_shares(work, lo, hi)


@kernel
def reorder_shares(work, lo, hi):
    """Restore the shares to the order of the rows."""
    if len(work.shares) == 0:
        return
    rows, shares, row_share = work.rows, work.shares, work.row_share
    for i in range(np.uint64(lo), np.uint64(hi)):
        shares[i] = row_share[rows[i]]


@kernel
def divide_line(work, node, index):
    """Send one sorted column of a node to its branches."""
    if work.sizes[work.node_n_children[node]] > 0:
        spread_line(work, node, index)
        return
    lo, hi = work.node_lo[node], work.node_hi[node]
    line, spare = work.keys[index], work.spare
    if work.node_kind[node] != MULTIWAY_SPLIT:
        partition_keys(line, lo, hi, work.side, spare)
        return
    find_starts(work, work.node_n_children[node])
    for i in range(lo, hi):
        to = work.branch[row_of(line[i])]
        spare[work.starts[to]] = line[i]
        work.starts[to] += 1
    for i in range(lo, hi):
        line[i] = spare[i - lo]


@kernel
def divide_columns(work, node):
    """Send every sorted column of a node to its branches.

    The column of a threshold is already in the right order, unless missing values, which are last, go to the first
    branch.
    """
    in_order = np.int64(work.node_column[node])
    if work.node_kind[node] != THRESHOLD_SPLIT or work.n_missing_here > 0:
        in_order = NONE
    for column in range(len(work.is_wide)):
        if work.is_wide[column] and column != in_order:
            divide_line(work, node, column)
