"""Shapley values of small trees on encoded rows, by a table for each leaf.

The path to a leaf tests k columns, and a row passes all tests of a column or not: there are 2^k patterns. The
contributions of the columns depend on the pattern only. A table holds them for each pattern, so that a row costs one
comparison per column and one addition per contribution (WOODELF 2026). Background rows only change how a table is
filled: their patterns are counted first, and then the rows to explain need not be compared with each of them.

A term of a leaf is one column, or for interactions one pair of columns. The table of a leaf holds term after term, and
the patterns of a term next to each other.
"""

from __future__ import annotations

import numpy as np

from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes, Bytes2, Input, Integers, Reals, Reals2, Shorts, Wholes, Words2

# Rows that are explained together, so that their codes, patterns and sums remain in the cache.
ROWS = 256

# Leaves with more columns on their path have tables that are too large.
MOST_COLUMNS = 14

# How the codes that pass are stored: an interval of codes, or a set.
INTERVAL, SET = np.uint8(0), np.uint8(1)


@entry
def write_paths(
    parent: Input[Integers],
    column: Input[Integers],
    end: Input[Wholes],
    ratio: Input[Reals],
    passing: Input[Words2],
    path_start: Wholes,
    path_column: Integers,
    path_ratio: Reals,
    path_passing: Words2,
) -> int:
    """List the columns of the path to each leaf, with the codes that pass all tests of a column; returns the leaves."""
    n_leaves = np.int64(0)
    size = path_start[0]
    for node in range(len(parent)):
        if end[node] != node + 1:
            continue
        first = size
        at = np.int64(node)
        while parent[at] >= 0:
            place = first
            while place < size and path_column[place] != column[at]:
                place += 1
            if place == size:
                path_column[place] = column[at]
                path_ratio[place] = 1.0
                for w in range(4):
                    path_passing[place, w] = np.uint64(0xFFFFFFFFFFFFFFFF)
                size += 1
            path_ratio[place] *= ratio[at]
            for w in range(4):
                path_passing[place, w] &= passing[at, w]
            at = np.int64(parent[at])
        n_leaves += 1
        path_start[n_leaves] = size
    return n_leaves


@entry
def fit_intervals(path_passing: Input[Words2], low: Bytes, width: Bytes, kind: Bytes) -> None:
    """Write each set of codes as an interval if it is one, where code 0 follows code 255."""
    for entry_ in range(np.uint64(len(path_passing))):
        n_starts = np.uint64(0)
        n_inside = np.uint64(0)
        low[entry_] = np.uint8(0)
        for code in range(np.uint64(256)):
            before = (code + np.uint64(255)) & np.uint64(255)
            inside = has_code(path_passing, entry_, code)
            n_inside += np.uint64(inside)
            if inside and not has_code(path_passing, entry_, before):
                n_starts += np.uint64(1)
                low[entry_] = np.uint8(code)
        kind[entry_] = SET if n_starts > 1 or n_inside == 0 else INTERVAL
        width[entry_] = np.uint8(n_inside - np.uint64(1)) if n_inside > 0 else np.uint8(0)


@kernel
def has_code(sets, line, code):
    word = sets[line, code >> np.uint64(6)]
    return (word >> (code & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@kernel
def find_patterns(near, size, first, last, path_column, low, width, kind, path_passing, patterns):
    """Write the pattern of each row at a leaf: bit j is set if the row passes all tests of the leaf's column j."""
    for row in range(np.uint64(size)):
        patterns[row] = np.uint16(0)
    for place in range(first, last):
        codes = near[path_column[place]]
        bit = np.uint16(1 << (place - first))
        if kind[place] == INTERVAL:
            mark_interval(codes, size, low[place], width[place], bit, patterns)
        else:
            mark_set(codes, size, path_passing, np.uint64(place), bit, patterns)


@kernel
def mark_interval(codes, size, low, width, bit, patterns):
    for row in range(np.uint64(size)):
        if np.uint8(codes[row] - low) <= width:
            patterns[row] |= bit


@kernel
def mark_set(codes, size, sets, place, bit, patterns):
    for row in range(np.uint64(size)):
        if has_code(sets, place, np.uint64(codes[row])):
            patterns[row] |= bit


@entry
def explain_rows(
    near: Input[Bytes2],
    size: int,
    path_start: Input[Wholes],
    path_column: Input[Integers],
    low: Input[Bytes],
    width: Input[Bytes],
    kind: Input[Bytes],
    path_passing: Input[Words2],
    term_start: Input[Wholes],
    term_output: Input[Integers],
    table_start: Input[Wholes],
    table: Input[Reals],
    patterns: Shorts,
    out: Reals2,
) -> None:
    """Add the contributions of all leaves for some rows: `out` has a line per output, and `near` a line per column."""
    for leaf in range(len(path_start) - 1):
        first, last = path_start[leaf], path_start[leaf + 1]
        find_patterns(near, size, first, last, path_column, low, width, kind, path_passing, patterns)
        n_patterns = np.int64(1) << (last - first)
        at = table_start[leaf]
        for term in range(term_start[leaf], term_start[leaf + 1]):
            add_term(table, np.uint64(at), patterns, size, out[term_output[term]])
            at += n_patterns


@kernel
def add_term(table, at, patterns, size, out):
    for row in range(np.uint64(size)):
        out[row] += table[at + np.uint64(patterns[row])]


@entry
def count_patterns(
    near: Input[Bytes2],
    size: int,
    path_start: Input[Wholes],
    path_column: Input[Integers],
    low: Input[Bytes],
    width: Input[Bytes],
    kind: Input[Bytes],
    path_passing: Input[Words2],
    count_start: Input[Wholes],
    patterns: Shorts,
    counts: Reals,
) -> None:
    """Count how often each pattern of each leaf occurs in some rows."""
    for leaf in range(len(path_start) - 1):
        first, last = path_start[leaf], path_start[leaf + 1]
        find_patterns(near, size, first, last, path_column, low, width, kind, path_passing, patterns)
        for row in range(np.uint64(size)):
            counts[np.uint64(count_start[leaf]) + np.uint64(patterns[row])] += 1.0


@entry
def fill_by_ratios(
    path_start: Input[Wholes],
    path_ratio: Input[Reals],
    leaf_value: Input[Reals],
    pairs: bool,
    points: Input[Reals],
    weights: Input[Reals],
    table_start: Input[Wholes],
    table: Reals,
    factors: Reals2,
    products: Reals,
) -> None:
    """Fill the tables of all leaves, where the training rows represent unknown columns."""
    n_points = np.uint64(len(points))
    for leaf in range(len(path_start) - 1):
        first = path_start[leaf]
        k = path_start[leaf + 1] - first
        for pattern in range(np.int64(1) << k):
            for q in range(n_points):
                products[q] = weights[q] * leaf_value[leaf]
                for j in range(k):
                    known = np.float64((pattern >> j) & 1)
                    factors[j, q] = points[q] * known + (1.0 - points[q]) * path_ratio[first + j]
                    products[q] *= factors[j, q]
            at = table_start[leaf] + pattern
            for j in range(k):
                if not pairs:
                    table[at] = contribution(pattern, j, j, path_ratio, first, factors, products, n_points)
                    at += np.int64(1) << k
                    continue
                for i in range(j):
                    table[at] = 0.5 * contribution(pattern, j, i, path_ratio, first, factors, products, n_points)
                    at += np.int64(1) << k


@kernel
def contribution(pattern, j, i, path_ratio, first, factors, products, n_points):
    """Return the contribution of column j (j = i), or of the pair j and i, of a leaf for one pattern."""
    effect = np.float64((pattern >> j) & 1) - path_ratio[first + j]
    if i != j:
        effect *= np.float64((pattern >> i) & 1) - path_ratio[first + i]
    if effect == 0.0:
        return 0.0
    mean = 0.0
    for q in range(n_points):
        without = products[q] / factors[j, q]
        mean += without / factors[i, q] if i != j else without
    return effect * mean


@entry
def fill_by_counts(
    path_start: Input[Wholes],
    leaf_value: Input[Reals],
    pairs: bool,
    points: Input[Reals],
    weights: Input[Reals],
    count_start: Input[Wholes],
    counts: Input[Reals],
    table_start: Input[Wholes],
    table: Reals,
    line: Reals,
) -> None:
    """Fill the tables of all leaves, where background rows represent unknown columns; `counts` are their fractions."""
    for leaf in range(len(path_start) - 1):
        k = path_start[leaf + 1] - path_start[leaf]
        n_patterns = np.int64(1) << k
        at = table_start[leaf]
        for j in range(k):
            for i in range(j if pairs else np.int64(1)):
                other = np.int64(i) if pairs else np.int64(j)
                scale = leaf_value[leaf] * (0.5 if pairs else 1.0)
                for pattern in range(n_patterns):
                    table[at + pattern] = 0.0
                for q in range(len(points)):
                    for pattern in range(n_patterns):
                        line[pattern] = counts[count_start[leaf] + pattern]
                    for bit in range(k):
                        mix(line, n_patterns, np.int64(1) << bit, points[q], bit == j or bit == other)
                    for pattern in range(n_patterns):
                        table[at + pattern] += scale * weights[q] * line[pattern]
                at += n_patterns


@kernel
def mix(line, n_patterns, bit, point, is_effect):
    """Turn one bit of the patterns of background rows into the same bit of the rows to explain.

    A column that only the row passes has the factor `point`, one that only the background row passes 1 - `point`. Of
    the column whose effect is computed it is 1 and -1, and 0 if both pass.
    """
    for pattern in range(n_patterns):
        if pattern & bit != 0:
            continue
        fails, passes = line[pattern], line[pattern | bit]
        if is_effect:
            line[pattern], line[pattern | bit] = -passes, fails
        else:
            line[pattern], line[pattern | bit] = (1.0 - point) * passes, point * fails + passes
