"""Kernels of boosting: histograms of gradients by code, and the search for the split of a leaf in them.

A row adds its gradient and its hessian, rounded to whole numbers and packed in one word, to one histogram per column.
Sums of whole numbers are the same in any order. The histogram of a leaf minus that of one child is that of the other
child. The codes of eight columns are in one word, so that one load reads eight codes. Eight histograms fit into the
first-level cache.
"""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import LOW_SIX, ONE, SIX, ZERO
from treewright.runtime.intrinsics import prefetch
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes2, Input, Words

MISSING = np.int64(255)
BYTE = np.uint64(255)

# Rows that are added to the histograms block by block, while their data remains in the first-level cache.
CHUNK = 1024

# Rows that are partitioned while the codes of as many others are prefetched.
ROWS_AHEAD = np.uint64(128)

# Words that are prefetched together.
WORDS_AT_ONCE = np.uint64(8)

# The layout of gradient, hessian and (for small tables) the number of rows in one word: the shifts of the first two and
# the masks of the last two. Large tables have no bits for the number of rows, which is then estimated from the hessian.
G_SHIFT, H_SHIFT, H_MASK, N_MASK = range(4)
SMALL_LAYOUT = np.array([37, 15, (1 << 22) - 1, (1 << 15) - 1], np.int64)
LARGE_LAYOUT = np.array([32, 0, (1 << 32) - 1, 0], np.int64)

# The limits of the search, in units of the rounded numbers. The last one is the expected gain of a row by chance.
LEAST_H, L1, L2, SMOOTHING, CATEGORY_L2, LEAST_ROWS, CHANCE = range(7)

# The best split of a leaf besides its gain, as whole numbers. The set of codes on the first side is stored separately.
COLUMN, CUT, MISSING_FIRST, IS_SET, FIRST_SUM = range(5)
N_PROPOSAL = 8

# Expected gain by chance of each category beyond a few, in units of the gain of a row.
CHANCE_SHARE, FEW_CATEGORIES = 0.4, np.int64(6)


@entry
def pack_codes(codes: Input[Bytes2], first: int, last: int, words: Words) -> None:
    """Pack the codes of eight columns into a word, for some rows."""
    n_blocks = (np.uint64(codes.shape[0]) + np.uint64(7)) >> np.uint64(3)
    for block in range(n_blocks):
        begin = np.uint64(8) * block
        n = min(np.uint64(8), np.uint64(codes.shape[0]) - begin)
        for row in range(np.uint64(first), np.uint64(last)):
            word = np.uint64(0)
            for k in range(n):
                word |= np.uint64(codes[begin + k, row]) << (np.uint64(8) * k)
            words[row * n_blocks + block] = word


@kernel
def fill_histograms(words, n_columns, rows, lo, hi, packed, near, near_words, histograms, thread):
    """Add rows to the histograms of all columns, for one tree or for several."""
    n_trees, n_blocks = len(packed), np.uint64(len(near_words) // CHUNK)
    for begin in range(np.uint64(lo), np.uint64(hi), np.uint64(CHUNK)):
        size = min(np.uint64(CHUNK), np.uint64(hi) - begin)
        row = np.uint64(rows[begin])
        if n_trees == 1 and are_consecutive(rows, begin, size):
            # Consecutive rows are read in place.
            for block in range(n_blocks):
                place = row * n_blocks + block
                fill_block_histogram(
                    words, place, n_blocks, packed[0], row, size, histograms[0, thread], block, n_columns
                )
            continue
        copy_chunk(words, rows, begin, size, np.uint64(hi), packed, near, near_words)
        for block in range(n_blocks):
            for tree in range(n_trees):
                place, first = block * np.uint64(CHUNK), np.uint64(0)
                fill_block_histogram(
                    near_words, place, ONE, near[tree], first, size, histograms[tree, thread], block, n_columns
                )


@kernel
def are_consecutive(rows, first, size):
    """Are these rows, which are in the order of the table, consecutive?"""
    return np.uint64(rows[first + size - ONE]) - np.uint64(rows[first]) == size - ONE


@kernel
def copy_chunk(words, rows, begin, size, end, packed, near, near_words):
    """Copy the data of some rows to consecutive memory, block by block.

    The rows are too far apart for the processor to predict the next addresses. The data of the next chunk is therefore
    prefetched at the same time.
    """
    n_blocks, step = np.uint64(len(near_words) // CHUNK), np.uint64(CHUNK)
    both, near_both = packed[0], near[0]
    for k in range(size):
        if begin + k + step < end:
            later = np.uint64(rows[begin + k + step])
            prefetch(both, later)
            for place in range(later * n_blocks, later * n_blocks + n_blocks, WORDS_AT_ONCE):
                prefetch(words, place)
        row = np.uint64(rows[begin + k])
        near_both[k] = both[row]
        to = k
        for place in range(row * n_blocks, row * n_blocks + n_blocks):
            near_words[to] = words[place]
            to += step
    for tree in range(1, len(packed)):
        both, near_both = packed[tree], near[tree]
        for k in range(size):
            near_both[k] = both[rows[begin + k]]


@kernel
def fill_block_histogram(words, place, step, packed, first, size, histograms, block, n_columns):
    """Add rows to the histograms of the columns of a block, which has eight columns, or fewer if it is the last."""
    at = np.uint64(8) * block
    if at + np.uint64(6) < np.uint64(n_columns):
        fill_eight_histograms(words, place, step, packed, first, size, histograms, at)
        return
    for pair in range(np.uint64(0), np.uint64(n_columns) - at, np.uint64(2)):
        fill_two_histograms(
            words, place, step, packed, first, size, histograms[at + pair], histograms[at + pair + ONE], pair
        )


@kernel
def fill_two_histograms(words, place, step, packed, first, size, one, other, pair):
    """Add rows to the histograms of two columns of a block."""
    shift = np.uint64(8) * pair
    for k in range(size):
        word = words[place + k * step] >> shift
        both = packed[first + k]
        one[word & BYTE] += both
        other[(word >> np.uint64(8)) & BYTE] += both


@kernel
def fill_eight_histograms(words, place, step, packed, first, size, histograms, at):
    """Add rows to the histograms of eight columns."""
    a, b, c, d = histograms[at], histograms[at + ONE], histograms[at + np.uint64(2)], histograms[at + np.uint64(3)]
    at += np.uint64(4)
    e, f, g, h = histograms[at], histograms[at + ONE], histograms[at + np.uint64(2)], histograms[at + np.uint64(3)]
    for k in range(size):
        word = words[place + k * step]
        both = packed[first + k]
        a[word & BYTE] += both
        b[(word >> np.uint64(8)) & BYTE] += both
        c[(word >> np.uint64(16)) & BYTE] += both
        d[(word >> np.uint64(24)) & BYTE] += both
        e[(word >> np.uint64(32)) & BYTE] += both
        f[(word >> np.uint64(40)) & BYTE] += both
        g[(word >> np.uint64(48)) & BYTE] += both
        h[word >> np.uint64(56)] += both


@kernel
def merge_histograms(histograms, column, n_codes, small, large, has_large):
    """Merge the threads' histograms of a column and clear them.

    Subtract the sum from the larger leaf's histogram.
    """
    n = np.uint64(n_codes)
    line = histograms[0, column]
    for code in range(n):
        small[code] = line[code]
        line[code] = 0
    small[n] = line[MISSING]
    line[MISSING] = 0
    for thread in range(1, len(histograms)):
        line = histograms[thread, column]
        for code in range(n):
            small[code] += line[code]
            line[code] = 0
        small[n] += line[MISSING]
        line[MISSING] = 0
    if has_large:
        for code in range(n + ONE):
            large[code] -= small[code]


@kernel
def g_of(both, layout):
    return np.float64(both >> layout[G_SHIFT])


@kernel
def h_of(both, layout):
    return np.float64((both >> layout[H_SHIFT]) & layout[H_MASK])


@kernel
def leaf_score(g, h, l1_regularization, l2_regularization):
    """Compute the score of a leaf with this gradient and hessian: twice the reduction of the loss."""
    if l1_regularization > 0.0:
        g = max(abs(g) - l1_regularization, 0.0)
    return g * g / (h + l2_regularization)


@kernel
def score_of_two(g, h, other_g, other_h, l1_regularization, l2_regularization):
    """Compute the sum of the scores of two leaves, with one division."""
    if l1_regularization > 0.0:
        g, other_g = max(abs(g) - l1_regularization, 0.0), max(abs(other_g) - l1_regularization, 0.0)
    h += l2_regularization
    other_h += l2_regularization
    return (g * g * other_h + other_g * other_g * h) / (h * other_h)


@kernel
def least_hessian(whole, size, layout, limits):
    """Return the least hessian of a side: the limit, or the estimated hessian of the least number of rows."""
    least = max(limits[LEAST_H], 1e-9)
    if layout[N_MASK] == 0:
        least = max(least, (limits[LEAST_ROWS] - 0.5) * h_of(whole, layout) / np.float64(size))
    return least


@kernel
def scan_numbers(histogram, column, n_codes, whole, size, direction, best, proposals, layout, limits, up_to, gains):
    """Rate the cuts of a numeric column, with missing values on either side; returns the best gain so far."""
    missing = histogram[n_codes]
    best_code, best_side, best_sum = np.int64(-1), ZERO, ZERO
    for side in range(2 if missing != 0 else 1):
        both = missing if side == 1 else ZERO
        for code in range(np.uint64(n_codes)):
            both += histogram[code]
            up_to[code] = both
        rate_cuts(up_to, n_codes, whole, size, direction, layout, limits, gains)
        for code in range(np.uint64(n_codes)):
            if gains[code] > best:
                best, best_code, best_side, best_sum = gains[code], np.int64(code), np.int64(side), up_to[code]
    if best_code >= 0:
        following = best_code + 1
        while following < n_codes and histogram[following] == 0:
            following += 1
        proposals[COLUMN] = column
        # The cut is halfway to the next value that occurs in the leaf.
        proposals[CUT] = (best_code + following - 1) // 2 if following < n_codes else best_code
        all_h = h_of(whole, layout)
        proposals[MISSING_FIRST] = best_side if missing != 0 else np.int64(2.0 * h_of(best_sum, layout) > all_h)
        proposals[IS_SET] = 0
        proposals[FIRST_SUM] = best_sum
    return best


@kernel
def rate_cuts(up_to, n_codes, whole, size, direction, layout, limits, gains):
    """Compute the score of the two leaves of each cut after a code; minus infinity if the cut is not allowed.

    The loop has no branch, so that the compiler can vectorise it.
    """
    all_g, all_h = g_of(whole, layout), h_of(whole, layout)
    least = least_hessian(whole, size, layout, limits)
    n_mask = layout[N_MASK]
    # If rows are not counted, this limit has no effect.
    least_rows = np.int64(limits[LEAST_ROWS]) if n_mask != 0 else -size
    l1_regularization, l2_regularization = limits[L1], limits[L2]
    for code in range(np.uint64(n_codes)):
        both = up_to[code]
        g, h, n_rows = g_of(both, layout), h_of(both, layout), both & n_mask
        other_g, other_h = all_g - g, all_h - h
        gain = score_of_two(g, h, other_g, other_h, l1_regularization, l2_regularization)
        may = (h >= least) & (other_h >= least) & (n_rows >= least_rows) & (size - n_rows >= least_rows)
        may &= direction * (g * (other_h + l2_regularization) - other_g * (h + l2_regularization)) >= 0.0
        gains[code] = gain if may else -np.inf


@kernel
def order_categories(histogram, n_codes, layout, limits, present, along):
    """List the codes that occur in a leaf, ordered by gradient, which is smoothed for rare categories."""
    n_present = ZERO
    for code in range(n_codes + 1):
        if histogram[code] != 0:
            along[code] = g_of(histogram[code], layout) / (h_of(histogram[code], layout) + limits[SMOOTHING])
            at = n_present
            while at > 0 and along[present[at - 1]] > along[code]:
                present[at] = present[at - 1]
                at -= 1
            present[at] = code
            n_present += 1
    return n_present


@kernel
def chance_gain(n_present, limits):
    """Return the expected gain by chance of splitting so many categories in the order of their gradients.

    Categories that are independent of the target also differ. The upper half of many normally distributed numbers has a
    mean of 0.8 standard deviations, which is a gain of 0.64 for each category. Less is subtracted, so that categories
    that matter are not lost. A few categories gain no more by chance than the cuts of a numeric column.
    """
    return CHANCE_SHARE * limits[CHANCE] * np.float64(max(n_present - FEW_CATEGORIES, ZERO))


@kernel
def scan_categories(
    histogram, column, n_codes, whole, size, best, proposals, proposal_set, layout, limits, present, along
):
    """Rate groups of categories in the order of their gradients; returns the best gain so far.

    Missing is a category like any other.
    """
    n_present = order_categories(histogram, n_codes, layout, limits, present, along)
    all_g, all_h = g_of(whole, layout), h_of(whole, layout)
    least = least_hessian(whole, size, layout, limits)
    n_mask, least_rows = layout[N_MASK], np.int64(limits[LEAST_ROWS])
    both = n_first = best_sum = ZERO
    l2_regularization = limits[L2] + limits[CATEGORY_L2]
    chance = chance_gain(n_present, limits)
    for p in range(n_present - 1):
        both += histogram[present[p]]
        h = h_of(both, layout)
        n_rows = both & n_mask
        if h < least or all_h - h < least:
            continue
        if n_mask != 0 and (n_rows < least_rows or size - n_rows < least_rows):
            continue
        g = g_of(both, layout)
        gain = score_of_two(g, h, all_g - g, all_h - h, limits[L1], l2_regularization) - chance
        if gain > best:
            best, n_first, best_sum = gain, np.int64(p + 1), both
    if n_first == 0:
        return best
    proposals[COLUMN], proposals[CUT], proposals[MISSING_FIRST], proposals[IS_SET], proposals[FIRST_SUM] = (
        column,
        0,
        0,
        1,
        best_sum,
    )
    # Categories that do not occur in the leaf go to the heavier side.
    others_first = 2.0 * h_of(best_sum, layout) >= all_h
    for w in range(4):
        proposal_set[w] = ~np.uint64(0) if others_first else np.uint64(0)
    for p in range(n_present):
        code = np.uint64(present[p]) if present[p] < n_codes else BYTE
        if p < n_first:
            proposal_set[code >> SIX] |= ONE << (code & LOW_SIX)
        else:
            proposal_set[code >> SIX] &= ~(ONE << (code & LOW_SIX))
    return best


@kernel
def append_rows(rows, end, spare, n_spare):
    """Copy the rows of the second side behind those of the first side."""
    for i in range(n_spare):
        rows[end + i] = spare[i]


@kernel
def prefetch_codes(codes, step, rows, first, last):
    """Prefetch the codes of the next rows, if those of different rows are in different cache lines."""
    if step > ONE:
        for i in range(first, min(first + ROWS_AHEAD, last)):
            prefetch(codes, np.uint64(rows[i]) * step)


@kernel
def partition_by_cut(codes, step, rows, lo, hi, spare, cut, missing_first):
    """Move the rows of the first side to the front, in stable order; returns the start of the second side.

    `codes` starts with the column of the split; `step` is the distance of the codes of two rows.
    """
    j, k = np.uint64(lo), np.uint64(0)
    moved = np.uint64(1 if missing_first else 0)
    last = np.uint64(cut) + moved
    for begin in range(np.uint64(lo), np.uint64(hi), ROWS_AHEAD):
        end = min(begin + ROWS_AHEAD, np.uint64(hi))
        prefetch_codes(codes, step, rows, end, np.uint64(hi))
        for i in range(begin, end):
            row = rows[i]
            first = np.uint64(((np.uint64(codes[np.uint64(row) * step]) + moved) & BYTE) <= last)
            rows[j] = row
            spare[k] = row
            j += first
            k += ONE - first
    append_rows(rows, j, spare, k)
    return np.int64(j)


@kernel
def partition_by_set(codes, step, rows, lo, hi, spare, codes_set):
    """Do the same as `partition_by_cut` for a set of categories."""
    j, k = np.uint64(lo), np.uint64(0)
    for begin in range(np.uint64(lo), np.uint64(hi), ROWS_AHEAD):
        end = min(begin + ROWS_AHEAD, np.uint64(hi))
        prefetch_codes(codes, step, rows, end, np.uint64(hi))
        for i in range(begin, end):
            row = rows[i]
            code = np.uint64(codes[np.uint64(row) * step])
            first = (codes_set[code >> SIX] >> (code & LOW_SIX)) & ONE
            rows[j] = row
            spare[k] = row
            j += first
            k += ONE - first
    append_rows(rows, j, spare, k)
    return np.int64(j)


@kernel
def undo_partition(rows, lo, middle, hi, spare):
    """Undo a partition: merge both sides back into the order of the table."""
    i, n_first = np.uint64(0), np.uint64(middle - lo)
    for k in range(n_first):
        spare[k] = rows[np.uint64(lo) + k]
    j, at = np.uint64(middle), np.uint64(lo)
    while i < n_first:
        if j < np.uint64(hi) and rows[j] < spare[i]:
            rows[at] = rows[j]
            j += ONE
        else:
            rows[at] = spare[i]
            i += ONE
        at += ONE
