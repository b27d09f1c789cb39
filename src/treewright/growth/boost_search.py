"""Kernels of boosting: tallying gradients by code, and finding the split of a leaf from the tallies.

A row adds its gradient and its hessian, rounded to whole numbers and packed in one word, to one tally per column. Sums
of whole numbers are the same in any order, and a leaf's tally less that of one child is that of the other. The codes of
eight columns stand in one word, so that one load brings eight codes, and eight tallies stay in the fastest memory.
"""

from __future__ import annotations

import numpy as np

from treewright.growth.draws import GOLDEN, scramble
from treewright.growth.jit import entry, kernel
from treewright.growth.layout import LOW_SIX, NO, ONE, SIX, YES, ZERO, has_bit

MISSING = np.int64(255)
LOW_HALF = np.int64(0xFFFFFFFF)
BYTE = np.uint64(255)

# What is told of a leaf's best split: one line of numbers, and the set of codes on the first side.
GAIN, COLUMN, CUT, MISSING_LEFT, IS_SET, G_LEFT, H_LEFT = range(7)
N_TOLD = 7


@entry
def pack_codes(codes, first, last, words):
    """Eight columns of codes, a word per row."""
    for row in range(np.uint64(first), np.uint64(last)):
        for block in range(np.uint64(len(words))):
            word = np.uint64(0)
            for k in range(np.uint64(8)):
                column = np.uint64(8) * block + k
                if column < np.uint64(codes.shape[0]):
                    word |= np.uint64(codes[column, row]) << (np.uint64(8) * k)
            words[block, row] = word


@entry
def round_gradients(gradients, hessians, g_scale, h_scale, seed, packed):
    """Gradients and hessians as whole numbers in one word, rounded up or down by chance so that the mean is kept.

    Chance is drawn from the row's number and the seed alone.
    """
    half = np.uint64(32)
    for row in range(np.uint64(len(gradients))):
        bits = scramble(seed + GOLDEN * (row + ONE))
        up = np.float64(bits >> half) * (1.0 / 4294967296.0)
        also_up = np.float64(bits & np.uint64(LOW_HALF)) * (1.0 / 4294967296.0)
        g = np.int64(np.floor(gradients[row] * g_scale + up))
        h = np.int64(np.floor(hessians[row] * h_scale + also_up))
        packed[row] = (g << 32) + h


@kernel
def tally_block(words, rows, lo, hi, near, tallies, first):
    """Add rows to the tallies of eight columns."""
    a, b, c, d = tallies[first], tallies[first + 1], tallies[first + 2], tallies[first + 3]
    e, f, g, h = tallies[first + 4], tallies[first + 5], tallies[first + 6], tallies[first + 7]
    for i in range(np.uint64(lo), np.uint64(hi)):
        word = words[rows[i]]
        both = near[i - np.uint64(lo)]
        a[word & BYTE] += both
        b[(word >> np.uint64(8)) & BYTE] += both
        c[(word >> np.uint64(16)) & BYTE] += both
        d[(word >> np.uint64(24)) & BYTE] += both
        e[(word >> np.uint64(32)) & BYTE] += both
        f[(word >> np.uint64(40)) & BYTE] += both
        g[(word >> np.uint64(48)) & BYTE] += both
        h[word >> np.uint64(56)] += both


@kernel
def gather(packed, rows, lo, hi, near):
    for i in range(np.uint64(lo), np.uint64(hi)):
        near[i - np.uint64(lo)] = packed[rows[i]]


@kernel
def g_of(both):
    return np.float64(both >> 32)


@kernel
def h_of(both):
    return np.float64(both & LOW_HALF)


@kernel
def worth(g, h, l1, l2):
    """What a leaf of this gradient and hessian is worth: twice what it takes off the loss."""
    if l1 > 0.0:
        g = max(abs(g) - l1, 0.0)
    return g * g / (h + l2)


@kernel
def offer(told, column, cut, missing_left, is_set, both, whole, size, scales, limits):
    """Rate a split by the sum of its first side, and keep it if it is the best so far; tells whether it was.

    The rows of a side are told from its share of the hessian, which is exact where all rows have the same.
    """
    rest = whole - both
    h, h_rest = h_of(both) * scales[1], h_of(rest) * scales[1]
    if h < limits[0] or h_rest < limits[0] or h <= 0.0 or h_rest <= 0.0:
        return NO
    if min(h, h_rest) * size < (limits[4] - 0.5) * (h + h_rest):
        return NO
    g, g_rest = g_of(both) * scales[0], g_of(rest) * scales[0]
    gain = worth(g, h, limits[1], limits[2]) + worth(g_rest, h_rest, limits[1], limits[2])
    if gain <= told[GAIN]:
        return NO
    direction = scales[2 + column]
    if direction != 0.0 and direction * (g / (h + limits[2]) - g_rest / (h_rest + limits[2])) < 0.0:
        return NO
    told[GAIN], told[COLUMN], told[CUT] = gain, column, cut
    told[MISSING_LEFT] = 1.0 if missing_left else 0.0
    told[IS_SET] = 1.0 if is_set else 0.0
    told[G_LEFT], told[H_LEFT] = g, h
    return YES


@kernel
def scan_numbers(tally, column, n_codes, whole, size, told, scales, limits):
    """Rate the cuts of a column of numbers, rows without a value on either side."""
    missing = tally[MISSING]
    both = ZERO
    for code in range(n_codes):
        if tally[code] == 0:
            continue
        both += tally[code]
        if both == whole:
            break
        offer(told, column, code, NO, NO, both, whole, size, scales, limits)
        if missing != 0 and both + missing != whole:
            offer(told, column, code, YES, NO, both + missing, whole, size, scales, limits)


@kernel
def scan_categories(tally, column, n_codes, whole, size, told, told_set, scales, limits, present, along):
    """Rate groups of categories along the order of their gradients, smoothed where a category is rare."""
    n_present = ZERO
    for code in range(256):
        if tally[code] != 0 and (code < n_codes or code == MISSING):
            present[n_present] = code
            along[code] = g_of(tally[code]) * scales[0] / (h_of(tally[code]) * scales[1] + limits[3])
            n_present += 1
    for p in range(1, n_present):
        code = present[p]
        at = p
        while at > 0 and along[present[at - 1]] > along[code]:
            present[at] = present[at - 1]
            at -= 1
        present[at] = code
    both = n_first = ZERO
    for p in range(n_present - 1):
        both += tally[present[p]]
        if offer(told, column, ZERO, NO, YES, both, whole, size, scales, limits):
            n_first = np.int64(p + 1)
    if n_first == 0:
        return
    with_first = 2.0 * told[H_LEFT] >= h_of(whole) * scales[1]
    for w in range(4):
        told_set[w] = ~np.uint64(0) if with_first else np.uint64(0)
    for p in range(n_present):
        code = np.uint64(present[p])
        if p < n_first:
            told_set[code >> SIX] |= ONE << (code & LOW_SIX)
        else:
            told_set[code >> SIX] &= ~(ONE << (code & LOW_SIX))


@kernel
def search_leaf(
    tallies, first, last, whole, size, is_number, n_codes, allowed, told, told_set, scales, limits, present, along
):
    """The best split of a leaf among some columns."""
    told[GAIN] = -np.inf
    told[COLUMN] = -1.0
    for column in range(first, last):
        if not allowed[column]:
            continue
        n = n_codes[column]
        if is_number[column]:
            scan_numbers(tallies[column], column, n, whole, size, told, scales, limits)
        else:
            scan_categories(tallies[column], column, n, whole, size, told, told_set, scales, limits, present, along)


@entry
def evaluate(
    words,
    first_block,
    last_block,
    rows,
    lo,
    hi,
    packed,
    near,
    pool,
    small,
    large,
    sums,
    sizes,
    is_number,
    n_codes,
    allowed,
    scales,
    limits,
    told,
    told_sets,
    present,
    along,
):
    """Tally the rows lo to hi-1 in some blocks of columns, take them from their parent's tally, and search both.

    `small` and `large` are the places of the two tallies in the pool; `large` is negative for the root. `sums` has the
    packed sum of both leaves, `sizes` their rows.
    """
    last = min(8 * last_block, len(n_codes))
    gather(packed, rows, lo, hi, near)
    for block in range(first_block, last_block):
        for k in range(8):
            for code in range(256):
                pool[small, 8 * block + k, code] = 0
        tally_block(words[block], rows, lo, hi, near, pool[small], 8 * block)
        if large >= 0:
            for k in range(8):
                for code in range(256):
                    pool[large, 8 * block + k, code] -= pool[small, 8 * block + k, code]
    search_leaf(
        pool[small],
        8 * first_block,
        last,
        sums[0],
        sizes[0],
        is_number,
        n_codes,
        allowed,
        told[0],
        told_sets[0],
        scales,
        limits,
        present,
        along,
    )
    if large >= 0:
        search_leaf(
            pool[large],
            8 * first_block,
            last,
            sums[1],
            sizes[1],
            is_number,
            n_codes,
            allowed,
            told[1],
            told_sets[1],
            scales,
            limits,
            present,
            along,
        )


@entry
def part_leaf(words, rows, lo, hi, spare, column, cut, missing_left, is_set, codes_set, packed):
    """Bring the rows of the first side to the front, in their order; where the second begins, and the first's sum."""
    shift = np.uint64(8 * (column & 7))
    j, k = np.uint64(lo), np.uint64(0)
    both = ZERO
    moved = np.uint64(1 if missing_left else 0)
    last = np.uint64(cut) + moved
    for i in range(np.uint64(lo), np.uint64(hi)):
        row = rows[i]
        code = (words[row] >> shift) & BYTE
        if is_set:
            first = np.uint64(1 if has_bit(codes_set, ZERO, code) else 0)
        else:
            first = np.uint64(1 if ((code + moved) & BYTE) <= last else 0)
        rows[j] = row
        spare[k] = row
        both += packed[row] if first != np.uint64(0) else ZERO
        j += first
        k += ONE - first
    for i in range(k):
        rows[j + i] = spare[i]
    return np.int64(j), both


@entry
def sum_packed(packed, rows, n_rows):
    both = ZERO
    for i in range(n_rows):
        both += packed[rows[i]]
    return both


@entry
def sum_leaf(gradients, hessians, rows, lo, hi):
    """Gradient and hessian of a leaf in full precision, in the order of its rows."""
    g = h = 0.0
    for i in range(np.uint64(lo), np.uint64(hi)):
        g += gradients[rows[i]]
        h += hessians[rows[i]]
    return g, h


@entry
def add_to_rows(scores, rows, lo, hi, value):
    for i in range(np.uint64(lo), np.uint64(hi)):
        scores[rows[i]] += value


@entry
def log_loss_gradients(scores, targets, weights, gradients, hessians):
    """Of two classes: the share of the second class less the target, and its variance."""
    weighted = len(weights) > 0
    for i in range(np.uint64(len(scores))):
        share = 1.0 / (1.0 + np.exp(-scores[i]))
        weight = weights[i] if weighted else 1.0
        gradients[i] = weight * (share - targets[i])
        hessians[i] = weight * max(share * (1.0 - share), 1e-16)
