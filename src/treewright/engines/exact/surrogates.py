"""Surrogate splits: other columns that decide the branch of a row whose value of the split is missing.

The rules are those of rpart. A surrogate is rated by the weight of the rows that it sends to the same branch as the
split itself. It must be better than sending all rows to the largest branch. A threshold needs at least two rows on each
side. A split with more than two branches is treated in the same way: each category, and each side of a threshold, goes
to the branch of most of its rows.

`way` contains the branch of each row of the table, or `n_ways` if its value is missing.
"""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import code_of, row_of
from treewright.encoding.midpoints import midpoint
from treewright.engines.bits import NO, NONE, YES, ZERO, clear
from treewright.engines.exact.layout import MOST_SURROGATES, MULTIWAY_SPLIT, TIE, way_in_map
from treewright.engines.exact.search import sorted_column
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Flags, Indices, Input, Reals, Reals2, Wholes, Words, Words2

LEAST_ROWS = 2

# An adjusted agreement of at most this is a rounding error.
NO_BETTER = 1e-10


@kernel
def look_ahead(keys, way, weights, n_ways, way_weights, ahead_weight, ahead_way):
    """Find for each position of a sorted column the branch with most of the weight from there on, and that weight.

    In a tie it is the first branch. Returns the number of rows whose branch is known.
    """
    clear(way_weights, n_ways)
    most, most_way, n_rows = 0.0, ZERO, ZERO
    for i in range(len(keys) - 1, -1, -1):
        row = row_of(keys[i])
        to = np.int64(way[row])
        if to < n_ways:
            n_rows += 1
            way_weights[to] += weights[row]
            if way_weights[to] > most or (way_weights[to] == most and to < most_way):
                most, most_way = way_weights[to], to
        ahead_weight[i] = most
        ahead_way[i] = most_way
    return n_rows


@kernel
def rate_threshold(keys, way, weights, n_ways, way_weights, ahead_weight, ahead_way):
    """Find the threshold of a column that agrees best with the split, given its known rows in order.

    Returns the agreeing weight, the codes on both sides of the cut, and the branches of both sides. The first code is
    negative if no threshold is better than the majority.
    """
    best, cut, after, low, high = 0.0, NONE, NONE, ZERO, ZERO
    n_rows = look_ahead(keys, way, weights, n_ways, way_weights, ahead_weight, ahead_way)
    if n_rows < 2 * LEAST_ROWS:
        return best, cut, after, low, high
    best = ahead_weight[0]
    clear(way_weights, n_ways)
    most, most_way, passed, previous = 0.0, ZERO, ZERO, NONE
    for i in range(len(keys)):
        row = row_of(keys[i])
        to = np.int64(way[row])
        if to == n_ways:
            continue
        code = code_of(keys[i])
        large = passed >= LEAST_ROWS and n_rows - passed >= LEAST_ROWS
        if code != previous and large and most_way != ahead_way[i]:
            agreeing = most + ahead_weight[i]
            if agreeing > best + TIE * (best + 1.0):
                best, cut, after, low, high = agreeing, previous, code, most_way, np.int64(ahead_way[i])
        way_weights[to] += weights[row]
        if way_weights[to] > most or (way_weights[to] == most and to < most_way):
            most, most_way = way_weights[to], to
        passed += 1
        previous = code
    return best, cut, after, low, high


@kernel
def way_of_category(keys, start, end, way, weights, n_ways, way_weights, totals):
    """Return the branch of most rows of one category, and their weight; the branch is negative if none is known.

    In a tie it is the branch of most rows of the column, as in rpart.
    """
    for i in range(start, end):
        row = row_of(keys[i])
        if way[row] < n_ways:
            way_weights[way[row]] += weights[row]
    most, most_way = 0.0, NONE
    for i in range(start, end):
        to = np.int64(way[row_of(keys[i])])
        if to == n_ways or way_weights[to] < most:
            continue
        if most_way < 0 or way_weights[to] > most or (totals[to], to) > (totals[most_way], most_way):
            most, most_way = way_weights[to], to
    for i in range(start, end):
        if way[row_of(keys[i])] < n_ways:
            way_weights[way[row_of(keys[i])]] = 0.0
    return most, most_way


@kernel
def map_categories(keys, way, weights, n_ways, way_weights, totals, writes, words, at):
    """Send each category to the branch of most of its rows; returns the agreeing weight.

    With `writes`, the map is written from `at` on: the number of its categories, and then each one with its branch.
    """
    clear(way_weights, n_ways)
    clear(totals, n_ways)
    for key in keys:
        row = row_of(key)
        if way[row] < n_ways:
            totals[way[row]] += weights[row]
    agreeing, n_proposal, start = 0.0, ZERO, ZERO
    while start < len(keys):
        code, end = code_of(keys[start]), start
        while end < len(keys) and code_of(keys[end]) == code:
            end += 1
        weight, to = way_of_category(keys, start, end, way, weights, n_ways, way_weights, totals)
        start = end
        if to < 0:
            continue
        agreeing += weight
        if writes:
            words[at + 1 + 2 * n_proposal] = np.uint64(code)
            words[at + 2 + 2 * n_proposal] = np.uint64(to)
        n_proposal += 1
    if writes:
        words[at] = np.uint64(n_proposal)
    return agreeing


@kernel
def weigh_ways(rows, way, weights, n_ways, totals):
    """Return the weight of all rows with a known branch, and the weight and index of the first heaviest branch."""
    clear(totals, n_ways)
    for row in rows:
        if way[row] < n_ways:
            totals[way[row]] += weights[row]
    total, heaviest = 0.0, ZERO
    for to in range(n_ways):
        total += totals[to]
        if totals[to] > totals[heaviest]:
            heaviest = np.int64(to)
    return total, totals[heaviest], heaviest


@kernel
def beats_majority(agreeing, majority, total):
    """Is a surrogate better than sending all rows to the largest branch?"""
    return (agreeing - majority) / (total - majority) > NO_BETTER


@entry
def rate_surrogates(
    lines: Input[Words2],
    known: Input[Wholes],
    is_number: Input[Flags],
    tested: int,
    rows: Input[Wholes],
    way: Input[Indices],
    weights: Input[Reals],
    n_ways: int,
    way_weights: Reals,
    totals: Reals,
    ahead_weight: Reals,
    ahead_way: Wholes,
    words: Words,
    found: Reals2,
) -> int:
    """Rate every column except `tested` as a surrogate, for rows that are sorted in every line.

    `known` is the number of rows with a value in each line. `found` receives one line per column: the share of
    agreement (-1 if it is not better than the majority), both codes of the cut, both branches, and the start of its
    map. The first entries of the line after the last receive the heaviest branch and its share. Returns the number of
    words written.
    """
    total, majority, heaviest = weigh_ways(rows, way, weights, n_ways, totals)
    found[len(known), 0] = heaviest
    found[len(known), 1] = majority / total if total > 0.0 else 0.0
    n_words = ZERO
    for column in range(len(known)):
        found[column, 0] = -1.0
        if column == tested or majority >= total:
            continue
        keys = lines[column, : known[column]]
        cut, after, low, high = NONE, NONE, ZERO, ZERO
        if is_number[column]:
            agreeing, cut, after, low, high = rate_threshold(
                keys, way, weights, n_ways, way_weights, ahead_weight, ahead_way
            )
        else:
            agreeing = map_categories(keys, way, weights, n_ways, way_weights, totals, YES, words, n_words)
        if not beats_majority(agreeing, majority, total) or (is_number[column] and cut < 0):
            continue
        found[column, 0] = agreeing / total
        found[column, 1], found[column, 2] = cut, after
        found[column, 3], found[column, 4] = low, high
        found[column, 5] = n_words
        if not is_number[column]:
            n_words += 1 + 2 * np.int64(words[n_words])
    return n_words


@kernel
def enter_surrogate(work, node, column, agreement, cut, after, low, high):
    """Enter a surrogate among the best of its node, in descending order; of equal ones, the first column is first."""
    columns, agreements = work.node_surrogate_column[node], work.node_surrogate_agreement[node]
    at = np.int64(MOST_SURROGATES)
    while at > 0 and (columns[at - 1] < 0 or agreement > agreements[at - 1] + TIE):
        at -= 1
    if at == MOST_SURROGATES:
        return
    for k in range(MOST_SURROGATES - 1, at, -1):
        columns[k] = columns[k - 1]
        agreements[k] = agreements[k - 1]
        work.node_surrogate_cut[node, k] = work.node_surrogate_cut[node, k - 1]
        work.node_surrogate_after[node, k] = work.node_surrogate_after[node, k - 1]
        work.node_surrogate_low[node, k] = work.node_surrogate_low[node, k - 1]
        work.node_surrogate_high[node, k] = work.node_surrogate_high[node, k - 1]
    columns[at] = column
    agreements[at] = agreement
    work.node_surrogate_cut[node, at] = cut
    work.node_surrogate_after[node, at] = after
    work.node_surrogate_low[node, at] = low
    work.node_surrogate_high[node, at] = high


@kernel
def known_keys(work, column):
    """Return the rows of the current node with a value in this column, as sorted keys."""
    keys = sorted_column(work, column)
    return keys[: len(keys) - work.n_missing]


@kernel
def find_surrogates(work, node):
    """Find the surrogates of a node whose rows are marked by branch, or by the next number if the value is missing."""
    work.lo, work.hi = work.node_lo[node], work.node_hi[node]
    n_ways = np.int64(work.node_n_children[node])
    rows, way, weights = work.rows[work.lo : work.hi], work.branch, work.weights
    way_weights, totals = work.branch_share, work.branch_weight
    if work.node_kind[node] != MULTIWAY_SPLIT:
        for row in rows:
            way[row] = work.side[row]
    total, majority, heaviest = weigh_ways(rows, way, weights, n_ways, totals)
    work.node_missing[node] = heaviest
    work.node_majority[node] = majority / total
    for k in range(MOST_SURROGATES):
        work.node_surrogate_column[node, k] = -1
    for column in range(len(work.n_codes)):
        if column == work.node_column[node]:
            continue
        keys = known_keys(work, column)
        cut, after, low, high = NONE, NONE, ZERO, ZERO
        if work.is_number[column]:
            agreeing, cut, after, low, high = rate_threshold(
                keys, way, weights, n_ways, way_weights, work.ahead_weight, work.ahead_way
            )
        else:
            agreeing = map_categories(keys, way, weights, n_ways, way_weights, totals, NO, work.set_words, ZERO)
        found = cut >= 0 or not work.is_number[column]
        if found and beats_majority(agreeing, majority, total):
            enter_surrogate(work, node, column, agreeing / total, cut, after, low, high)
    write_maps(work, node)


@kernel
def write_maps(work, node):
    """Write the maps of categorical surrogates from categories to branches."""
    n_ways = np.int64(work.node_n_children[node])
    for k in range(MOST_SURROGATES):
        column = np.int64(work.node_surrogate_column[node, k])
        if column < 0:
            break
        if work.is_number[column]:
            continue
        at = work.n_set_words
        map_categories(
            known_keys(work, column),
            work.branch,
            work.weights,
            n_ways,
            work.branch_share,
            work.branch_weight,
            YES,
            work.set_words,
            at,
        )
        work.node_surrogate_map[node, k] = at
        work.n_set_words = at + 1 + 2 * np.int64(work.set_words[at])


@kernel
def assign_missing(work, node):
    """Send missing rows to the branch by the first surrogate that can decide it, else to the majority."""
    n_ways = np.int64(work.node_n_children[node])
    n_left = work.sizes[n_ways]
    for k in range(MOST_SURROGATES):
        column = np.int64(work.node_surrogate_column[node, k])
        if column < 0 or n_left == 0:
            break
        n_left -= assign_by(work, node, column, k)
    heaviest = np.int64(work.node_missing[node])
    for i in range(work.node_lo[node], work.node_hi[node]):
        row = work.rows[i]
        if work.branch[row] == n_ways:
            work.branch[row] = heaviest
            work.sizes[heaviest] += 1
        if work.node_kind[node] != MULTIWAY_SPLIT:
            work.side[row] = work.branch[row]
    work.sizes[n_ways] = 0


@kernel
def threshold_of(work, node, column, k):
    """Return the threshold of a surrogate; rows that were not used to rate it may have values between both codes."""
    start = work.value_start[column]
    below = work.values[start + work.node_surrogate_cut[node, k]]
    if work.fixed_cuts[column]:
        return below
    return midpoint(below, work.values[start + work.node_surrogate_after[node, k]])


@kernel
def assign_by(work, node, column, k):
    """Send missing rows by one surrogate; returns the number of rows for which it has a branch."""
    n_assigned = ZERO
    wide, number, n_codes = work.is_wide[column], work.is_number[column], work.n_codes[column]
    n_ways = np.int64(work.node_n_children[node])
    threshold = threshold_of(work, node, column, k) if number else 0.0
    low, high = work.node_surrogate_low[node, k], work.node_surrogate_high[node, k]
    for i in range(work.node_lo[node], work.node_hi[node]):
        row = row_of(work.keys[column, i]) if wide else np.uint64(work.rows[i])
        if work.branch[row] != n_ways:
            continue
        code = code_of(work.keys[column, i]) if wide else np.int64(work.codes[column, row])
        if code == n_codes:
            continue
        if number:
            to = low if work.values[work.value_start[column] + code] <= threshold else high
        else:
            to = way_in_map(work.set_words, work.node_surrogate_map[node, k], code)
        if to < 0:
            continue
        work.branch[row] = to
        work.sizes[to] += 1
        n_assigned += 1
    return n_assigned
