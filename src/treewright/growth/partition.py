"""Sending the rows of a node to its branches, keeping every column sorted."""

from __future__ import annotations

import numpy as np

from treewright.growth.jit import kernel
from treewright.growth.layout import MULTIWAY_SPLIT, ONE, SUBSET_SPLIT, THRESHOLD_SPLIT, ZERO, code_of, in_set, row_of


@kernel
def branch_of(code, missing_code, kind, cut, inside, missing_branch):
    """The branch of a row with this code, `inside` the set of a subset split or not: the rule that training follows."""
    if code == missing_code:
        return missing_branch
    if kind == THRESHOLD_SPLIT:
        return np.int64(0) if code <= cut else np.int64(1)
    if kind == MULTIWAY_SPLIT:
        return code
    return np.int64(0) if inside else np.int64(1)


@kernel
def mark_branches(work, node):
    """Write down each row's branch and count the rows of each."""
    column = np.int64(work.node_column[node])
    kind, cut = np.int64(work.node_kind[node]), work.node_cut[node]
    missing_branch = np.int64(work.node_missing[node])
    missing_code = work.n_codes[column]
    words, set_start = work.set_words, max(work.node_set_start[node], ZERO)
    rows, sizes, side, branch = work.rows, work.sizes, work.side, work.branch
    wide, many = work.is_wide[column], kind == MULTIWAY_SPLIT
    keys, codes = work.keys[column], work.codes[column]
    for b in range(work.node_n_children[node]):
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


@kernel
def find_starts(work, n_branches):
    """Where each branch begins."""
    start = 0
    for b in range(n_branches):
        work.starts[b] = start
        start += work.sizes[b]


@kernel
def part_keys(line, lo, hi, side, spare):
    """Part one sorted column in two, keeping the order on both sides. Writing both ways avoids a jump."""
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
def part_rows(rows, lo, hi, side, spare):
    """Part the row list in two, keeping the order on both sides."""
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
    lo, hi = work.node_lo[node], work.node_hi[node]
    rows, spare = work.rows, work.spare
    if work.node_kind[node] != MULTIWAY_SPLIT:
        part_rows(rows, lo, hi, work.side, spare)
        return
    find_starts(work, work.node_n_children[node])
    for i in range(lo, hi):
        to = work.branch[rows[i]]
        spare[work.starts[to]] = rows[i]
        work.starts[to] += 1
    for i in range(lo, hi):
        rows[i] = np.uint32(spare[i - lo])


@kernel
def divide_line(work, node, index):
    """Send one sorted column of a node to its branches."""
    lo, hi = work.node_lo[node], work.node_hi[node]
    line, spare = work.keys[index], work.spare
    if work.node_kind[node] != MULTIWAY_SPLIT:
        part_keys(line, lo, hi, work.side, spare)
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
    """Send every sorted column of a node to its branches."""
    for column in range(len(work.is_wide)):
        if work.is_wide[column]:
            divide_line(work, node, column)
