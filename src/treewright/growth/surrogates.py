"""Surrogate splits: other columns that tell the side of a row whose value the split asks for is missing.

The rules are those of rpart: a surrogate is judged by the weight of rows it sends the same way as the split itself,
must do better than sending all rows the way most go, and a threshold needs at least two rows on each side.
"""

from __future__ import annotations

import numpy as np

from treewright.growth.jit import kernel
from treewright.growth.layout import MOST_SURROGATES, NO, NONE, TIE, YES, ZERO, code_of, in_set, row_of

LEAST_ROWS = 2

# An adjusted agreement of no more than this is rounding.
NO_BETTER = 1e-10


@kernel
def tally_sides(work, node, column):
    """Weight on both sides of the split, and rows, per code of a narrow column; to be cleared after use."""
    counts, code_rows, codes, side = work.counts, work.code_rows, work.codes[column], work.side
    for i in range(work.node_lo[node], work.node_hi[node]):
        row = work.rows[i]
        if side[row] < 2:
            counts[codes[row], np.int64(side[row])] += work.weights[row]
            code_rows[codes[row]] += 1


@kernel
def clear_sides(work, column):
    for code in range(work.n_codes[column] + 1):
        work.counts[code, 0] = work.counts[code, 1] = 0.0
        work.code_rows[code] = 0


@kernel
def next_group(work, node, column, at):
    """The next value of a column that known rows have: its code, weight on both sides, rows, and where to go on.

    `at` is a position in a sorted column, or a code of a counted one; the code is negative when there is no more.
    """
    n_codes = work.n_codes[column]
    if not work.is_wide[column]:
        while at < n_codes and work.code_rows[at] == 0:
            at += 1
        if at == n_codes:
            return NONE, 0.0, 0.0, ZERO, at
        return at, work.counts[at, 0], work.counts[at, 1], work.code_rows[at], at + 1
    keys, side, hi = work.keys[column], work.side, work.node_hi[node]
    left = right = 0.0
    n_rows = ZERO
    code = n_codes
    while at < hi:
        here = code_of(keys[at])
        if here == n_codes or (n_rows > 0 and here != code):
            break
        row = row_of(keys[at])
        if side[row] < 2:
            code = here
            n_rows += 1
            if side[row] == 0:
                left += work.weights[row]
            else:
                right += work.weights[row]
        at += 1
    return code if n_rows > 0 else NONE, left, right, n_rows, at


@kernel
def first_group(work, node, column):
    """Where the walk through the values of a column begins."""
    return work.node_lo[node] if work.is_wide[column] else ZERO


@kernel
def judge_threshold(work, node, column):
    """The threshold of a column that agrees best with the split: agreeing weight, cut, code after it, and if turned.

    Turned means that small values go to the second branch. The cut is negative if nothing beats the majority.
    """
    ahead_left = ahead_right = 0.0
    ahead_rows = ZERO
    at = first_group(work, node, column)
    code, left, right, n_rows, at = next_group(work, node, column, at)
    while code >= 0:
        ahead_left += left
        ahead_right += right
        ahead_rows += n_rows
        code, left, right, n_rows, at = next_group(work, node, column, at)
    best, best_cut, best_after, turned = max(ahead_left, ahead_right), NONE, NONE, NO
    passed_left = passed_right = 0.0
    passed_rows, previous = ZERO, NONE
    at = first_group(work, node, column)
    code, left, right, n_rows, at = next_group(work, node, column, at)
    while code >= 0 and ahead_rows >= LEAST_ROWS:
        if passed_rows >= LEAST_ROWS:
            width = TIE * (best + 1.0)
            if ahead_left + passed_right > best + width:
                best, best_cut, best_after, turned = ahead_left + passed_right, previous, code, YES
            elif passed_left + ahead_right > best + width:
                best, best_cut, best_after, turned = passed_left + ahead_right, previous, code, NO
        ahead_left -= left
        ahead_right -= right
        ahead_rows -= n_rows
        passed_left += left
        passed_right += right
        passed_rows += n_rows
        previous = code
        code, left, right, n_rows, at = next_group(work, node, column, at)
    return best, best_cut, best_after, turned


@kernel
def goes_left(left, right, total_left, total_right):
    """The better side of a category; in a tie the side of the majority."""
    return left > right or (left == right and total_left > total_right)


@kernel
def side_totals(work, node, column):
    """Weight of the rows with a value in this column on both sides of the split."""
    total_left = total_right = 0.0
    code, left, right, _, at = next_group(work, node, column, first_group(work, node, column))
    while code >= 0:
        total_left += left
        total_right += right
        code, left, right, _, at = next_group(work, node, column, at)
    return total_left, total_right


@kernel
def judge_categories(work, node, column):
    """Agreeing weight when each category goes to its better side."""
    total_left, total_right = side_totals(work, node, column)
    agreeing = 0.0
    code, left, right, _, at = next_group(work, node, column, first_group(work, node, column))
    while code >= 0:
        agreeing += left if goes_left(left, right, total_left, total_right) else right
        code, left, right, _, at = next_group(work, node, column, at)
    return agreeing


@kernel
def write_set(work, node, column, wants_left):
    """Write the set of categories that go to one side; returns where it begins."""
    total_left, total_right = side_totals(work, node, column)
    start = work.n_set_words
    end = start + 1
    code, left, right, _, at = next_group(work, node, column, first_group(work, node, column))
    while code >= 0:
        if goes_left(left, right, total_left, total_right) == wants_left:
            work.set_words[end] = np.uint64(code)
            end += 1
        code, left, right, _, at = next_group(work, node, column, at)
    work.set_words[start] = np.uint64(end - start - 1)
    work.n_set_words = end
    return start


@kernel
def enter_surrogate(work, node, column, agreement, cut, after, turned):
    """Keep a surrogate among the best of its node, in falling order; of equals the first column."""
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
        work.node_surrogate_turned[node, k] = work.node_surrogate_turned[node, k - 1]
    columns[at] = column
    agreements[at] = agreement
    work.node_surrogate_cut[node, at] = cut
    work.node_surrogate_after[node, at] = after
    work.node_surrogate_turned[node, at] = turned


@kernel
def find_surrogates(work, node):
    """Find the surrogates of a node whose rows are marked by side, 2 where the value is missing."""
    left = right = 0.0
    for i in range(work.node_lo[node], work.node_hi[node]):
        row = work.rows[i]
        if work.side[row] == 0:
            left += work.weights[row]
        elif work.side[row] == 1:
            right += work.weights[row]
    work.node_missing[node] = 0 if left >= right else 1
    total, majority = left + right, max(left, right)
    work.node_majority[node] = majority / total
    for k in range(MOST_SURROGATES):
        work.node_surrogate_column[node, k] = -1
    for column in range(len(work.n_codes)):
        if column == work.node_column[node]:
            continue
        if not work.is_wide[column]:
            tally_sides(work, node, column)
        cut, after, turned = NONE, NONE, NO
        if work.is_number[column]:
            agreeing, cut, after, turned = judge_threshold(work, node, column)
        else:
            agreeing = judge_categories(work, node, column)
        if not work.is_wide[column]:
            clear_sides(work, column)
        found = cut >= 0 or not work.is_number[column]
        if found and (agreeing - majority) / (total - majority) > NO_BETTER:
            enter_surrogate(work, node, column, agreeing / total, cut, after, turned)


@kernel
def settle_gaps(work, node):
    """Send the rows without a value to the side that the first surrogate with a value tells, else with the majority.

    Writes down the surrogates' thresholds and sets on the way.
    """
    n_left = work.sizes[2]
    for k in range(MOST_SURROGATES):
        column = np.int64(work.node_surrogate_column[node, k])
        if column < 0:
            break
        if not work.is_number[column]:
            if not work.is_wide[column]:
                tally_sides(work, node, column)
            work.node_surrogate_left[node, k] = write_set(work, node, column, YES)
            work.node_surrogate_right[node, k] = write_set(work, node, column, NO)
            if not work.is_wide[column]:
                clear_sides(work, column)
    for k in range(MOST_SURROGATES):
        column = np.int64(work.node_surrogate_column[node, k])
        if column < 0 or n_left == 0:
            break
        n_left -= settle_by(work, node, column, k)
    if n_left > 0:
        for i in range(work.node_lo[node], work.node_hi[node]):
            row = work.rows[i]
            if work.side[row] == 2:
                work.side[row] = work.node_missing[node]
                work.sizes[work.node_missing[node]] += 1
    work.sizes[2] = 0


@kernel
def settle_by(work, node, column, k):
    """Send the rows without a value by one surrogate; returns how many it could tell."""
    told = ZERO
    wide, number, n_codes = work.is_wide[column], work.is_number[column], work.n_codes[column]
    cut, turned = work.node_surrogate_cut[node, k], work.node_surrogate_turned[node, k]
    for i in range(work.node_lo[node], work.node_hi[node]):
        row = row_of(work.keys[column, i]) if wide else np.uint64(work.rows[i])
        if work.side[row] != 2:
            continue
        code = code_of(work.keys[column, i]) if wide else np.int64(work.codes[column, row])
        if code == n_codes:
            continue
        to = np.int64((code <= cut) == (turned != 0))
        if not number:
            if in_set(work.set_words, work.node_surrogate_left[node, k], code):
                to = ZERO
            elif in_set(work.set_words, work.node_surrogate_right[node, k], code):
                to = np.int64(1)
            else:
                continue
        work.side[row] = to
        work.sizes[to] += 1
        told += 1
    return told
