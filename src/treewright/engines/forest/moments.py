"""Splits of a forest's nodes rated by weight and sum: numbers by the squared error, and two classes by gini.

With the class as 0 or 1, both maximise the sum of (sum of targets)**2 / weight over the two sides.
"""

from __future__ import annotations

import numpy as np

from treewright.encoding.bins import MISSING_CODE
from treewright.engines.bits import LOW_SIX, NO, NONE, ONE, SIX, YES, ZERO, has_bit
from treewright.engines.forest.codes import (
    LOW_SIXTEEN,
    MAX_INSERTION,
    MISSING,
    SIXTEEN,
    chance_gain,
    draw_group,
    draw_point,
    gather_codes,
    last_code_below,
    list_marked,
    mark_first,
    mark_present,
    order_present,
    sort_codes,
    write_set,
)
from treewright.runtime.kernels import kernel

LOW_HALF = np.int64(0xFFFFFFFF)


@kernel
def offer(work, column, weight, total, n_left, cut, missing_left):
    """Rate a split by the weight and sum of its first side, and keep it if it is the best; was it kept?

    With weights w and sums s of the two sides, and W and S of the node, the gain of the split is (s W - S w)**2 / (w (W
    - w) W). Two such fractions are compared by multiplication, which is faster than division.
    """
    weight_right = work.weight - weight
    distance = total * work.weight - work.sum * weight
    above, below = distance * distance, weight * weight_right
    if not above * work.best_below > work.best_above * below:
        return NO
    if n_left < work.min_samples_leaf or work.hi - work.lo - n_left < work.min_samples_leaf or below <= 0.0:
        return NO
    if min(weight, weight_right) < work.min_weight_leaf:
        return NO
    direction = work.monotonic_cst[column]
    if direction != 0 and direction * ((work.sum - total) / weight_right - total / weight) < 0.0:
        return NO
    work.best_above, work.best_below = above, below
    work.best_column = column
    work.best_cut = cut
    work.best_missing_left = missing_left
    work.best_weight = weight
    work.best_sum = total
    return YES


@kernel
def offer_set(work, column, weight, total, n_left, chance):
    """Do the same as `offer` for a set of categories, without the gain that they have by chance."""
    if chance <= 0.0:
        return offer(work, column, weight, total, n_left, NONE, NO)
    distance = total * work.weight - work.sum * weight
    below = weight * (work.weight - weight)
    above = distance * distance - chance * work.weight * below
    if above <= 0.0 or not above * work.best_below > work.best_above * below:
        return NO
    best_above, best_below = work.best_above, work.best_below
    work.best_above, work.best_below = -1.0, 1.0
    if not offer(work, column, weight, total, n_left, NONE, NO):
        work.best_above, work.best_below = best_above, best_below
        return NO
    work.best_above = above
    return YES


@kernel
def gather_stats(work):
    """Copy what the node's rows add to its sums to consecutive memory, for the search of all columns.

    If all sums are whole numbers, one word has both. They are needed separately in small nodes, or if rows are counted.
    """
    rows, near, packed = work.rows, work.near_stats, work.near_packed
    lo = np.uint64(work.lo)
    n_rows = np.uint64(work.hi) - lo
    if not work.exact:
        for i in range(n_rows):
            row = rows[lo + i]
            near[i, 0] = work.stats[row, 0]
            near[i, 1] = work.stats[row, 1]
        return
    for i in range(n_rows):
        packed[i] = work.packed[rows[lo + i]]
    if work.random_cuts or (work.plain and n_rows > np.uint64(MAX_INSERTION)):
        return
    for i in range(n_rows):
        near[i, 0] = np.float64(packed[i] >> 32)
        near[i, 1] = np.float64(packed[i] & LOW_HALF)


@kernel
def scan_sorted_moments(work, column):
    """Rate the cuts of a numeric column at a small node; False if all its codes are equal."""
    keys, stats = work.keys, work.near_stats
    n_rows = np.uint64(work.hi - work.lo)
    sort_codes(work, column)
    if keys[0] >> SIXTEEN == keys[n_rows - ONE] >> SIXTEEN:
        return NO
    n_known = n_rows
    missing_weight = missing_sum = 0.0
    while n_known > np.uint64(0) and keys[n_known - ONE] >> SIXTEEN == MISSING:
        n_known -= ONE
        place = keys[n_known] & LOW_SIXTEEN
        missing_weight += stats[place, 0]
        missing_sum += stats[place, 1]
    n_missing = np.int64(n_rows - n_known)
    weight = total = 0.0
    code = np.int64(keys[0] >> SIXTEEN)
    for k in range(n_known):
        place = keys[k] & LOW_SIXTEEN
        weight += stats[place, 0]
        total += stats[place, 1]
        after = np.int64(keys[k + ONE] >> SIXTEEN) if k + ONE < n_rows else MISSING
        if after == code:
            continue
        n_left = np.int64(k) + 1
        if n_left < np.int64(n_rows):
            offer(work, column, weight, total, n_left, code, NO)
        if n_missing > 0 and after != MISSING:
            offer(work, column, weight + missing_weight, total + missing_sum, n_left + n_missing, code, YES)
        code = after
    return YES


@kernel
def count_moments(work, column):
    """Sum up weight and sum per code, and list the codes that occur in order; returns the number of codes.

    The sums are to be cleared after use. In a small node the codes are marked in a bit set at the same time, so that
    the others need not be visited.
    """
    line, rows, stats, histogram, marks = work.codes[column], work.rows, work.near_stats, work.histogram, work.marks
    code_rows, present = work.code_rows, work.present
    lo, n_rows = np.uint64(work.lo), np.uint64(work.hi - work.lo)
    n_codes = work.n_codes[column]
    few = 2 * (work.hi - work.lo) < n_codes
    if work.min_samples_leaf > 1:
        for i in range(n_rows):
            code_rows[line[rows[lo + i]]] += 1
    if not few:
        for i in range(n_rows):
            code = line[rows[lo + i]]
            histogram[code, 0] += stats[i, 0]
            histogram[code, 1] += stats[i, 1]
        n_present = ZERO
        for code in range(n_codes):
            present[n_present] = code
            n_present += 1 if histogram[code, 0] > 0.0 else 0
        if histogram[MISSING, 0] > 0.0:
            present[n_present] = MISSING
            n_present += 1
        return n_present
    for i in range(n_rows):
        code = np.uint64(line[rows[lo + i]])
        histogram[code, 0] += stats[i, 0]
        histogram[code, 1] += stats[i, 1]
        marks[code >> SIX] |= ONE << (code & LOW_SIX)
    return list_marked(work)


@kernel
def clear_moments(work, n_present):
    histogram, present, code_rows = work.histogram, work.present, work.code_rows
    for p in range(n_present):
        code = present[p]
        histogram[code, 0] = 0.0
        histogram[code, 1] = 0.0
        code_rows[code] = 0


@kernel
def scan_counted_moments(work, column):
    """Rate the cuts of a numeric column at a larger node; False if all its codes are equal."""
    histogram, present, code_rows = work.histogram, work.present, work.code_rows
    n_present = count_moments(work, column)
    if n_present < 2:
        clear_moments(work, n_present)
        return NO
    n_known = n_present
    missing_weight = missing_sum = 0.0
    n_missing = ZERO
    if present[n_present - 1] == MISSING:
        n_known -= 1
        missing_weight, missing_sum = histogram[MISSING, 0], histogram[MISSING, 1]
        n_missing = code_rows[MISSING]
    weight = total = 0.0
    n_left = ZERO
    for p in range(n_known):
        code = present[p]
        weight += histogram[code, 0]
        total += histogram[code, 1]
        n_left += code_rows[code] if work.min_samples_leaf > 1 else 1
        if p + 1 < n_present:
            offer(work, column, weight, total, n_left, code, NO)
        if n_known < n_present and p + 1 < n_known:
            offer(work, column, weight + missing_weight, total + missing_sum, n_left + n_missing, code, YES)
    clear_moments(work, n_present)
    return YES


@kernel
def best_of_all_codes(work, histogram, column, lowest, highest, weight, total, missing_left):
    """Rate the cuts after the codes from `lowest` to before `highest`, given the initial sums of the first side.

    A code that does not occur has the same rating as the one before it and changes nothing. No step depends on which
    codes occur.
    """
    whole, whole_sum = work.weight, work.sum
    best_above, best_below = work.best_above, work.best_below
    best_weight = best_sum = 0.0
    best_code = NONE
    for code in range(np.uint64(lowest), np.uint64(highest)):
        weight += histogram[code, 0]
        total += histogram[code, 1]
        distance = total * whole - whole_sum * weight
        above, below = distance * distance, weight * (whole - weight)
        if above * best_below > best_above * below and below > 0.0:
            best_above, best_below = above, below
            best_weight, best_sum = weight, total
            best_code = np.int64(code)
    if best_code >= 0:
        work.best_above, work.best_below = best_above, best_below
        work.best_column = column
        work.best_cut = best_code
        work.best_missing_left = missing_left
        work.best_weight, work.best_sum = best_weight, best_sum


@kernel
def best_of_packed_codes(work, histogram, column, lowest, highest, both, missing_left):
    """Do the same as `best_of_all_codes` where weight and sum are whole numbers in one word."""
    whole, whole_sum = work.weight, work.sum
    best_above, best_below = work.best_above, work.best_below
    best, best_code = ZERO, NONE
    for code in range(np.uint64(lowest), np.uint64(highest)):
        both += histogram[code]
        weight, total = np.float64(both >> 32), np.float64(both & LOW_HALF)
        distance = total * whole - whole_sum * weight
        above, below = distance * distance, weight * (whole - weight)
        if above * best_below > best_above * below:
            best_above, best_below = above, below
            best, best_code = both, np.int64(code)
    if best_code >= 0:
        work.best_above, work.best_below = best_above, best_below
        work.best_column = column
        work.best_cut = best_code
        work.best_missing_left = missing_left
        work.best_weight, work.best_sum = np.float64(best >> 32), np.float64(best & LOW_HALF)


@kernel
def fill_packed_histogram(work, histogram, column, lo, n_rows):
    """Add rows of the node to the histogram of a column, where weight and sum are whole numbers in one word."""
    line, rows, packed = work.codes[column], work.rows, work.near_packed
    for i in range(n_rows):
        histogram[line[rows[lo + i]]] += packed[i]


@kernel
def scan_packed(work, histogram, column):
    """Rate the cuts of a column whose histogram has words of weight and sum, and clear the histogram."""
    lowest, highest = ZERO, work.n_codes[column] - 1
    while lowest < highest and histogram[lowest] == 0:
        lowest += 1
    while highest > lowest and histogram[highest] == 0:
        highest -= 1
    missing = histogram[MISSING]
    best_of_packed_codes(work, histogram, column, lowest, highest, ZERO, NO)
    if missing > 0 and histogram[highest] > 0:
        known, sum_known = work.weight - np.float64(missing >> 32), work.sum - np.float64(missing & LOW_HALF)
        offer(work, column, known, sum_known, np.int64(1), highest, NO)
        best_of_packed_codes(work, histogram, column, lowest, highest, missing, YES)
    histogram[MISSING] = 0
    for code in range(np.uint64(lowest), np.uint64(highest) + ONE):
        histogram[code] = 0


@kernel
def fill_histogram_of_sums(work, histogram, column, lo, n_rows):
    """Add rows of the node to the histogram of a column."""
    line, rows, stats = work.codes[column], work.rows, work.near_stats
    for i in range(n_rows):
        code = line[rows[lo + i]]
        histogram[code, 0] += stats[i, 0]
        histogram[code, 1] += stats[i, 1]


@kernel
def scan_stats(work, histogram, column):
    """Rate the cuts of a column whose histogram is filled, and clear the histogram."""
    lowest, highest = ZERO, work.n_codes[column] - 1
    while lowest < highest and histogram[lowest, 0] == 0.0:
        lowest += 1
    while highest > lowest and histogram[highest, 0] == 0.0:
        highest -= 1
    missing_weight, missing_sum = histogram[MISSING, 0], histogram[MISSING, 1]
    best_of_all_codes(work, histogram, column, lowest, highest, 0.0, 0.0, NO)
    if missing_weight > 0.0 and histogram[highest, 0] > 0.0:
        known, sum_known = work.weight - missing_weight, work.sum - missing_sum
        offer(work, column, known, sum_known, np.int64(1), highest, NO)
        best_of_all_codes(work, histogram, column, lowest, highest, missing_weight, missing_sum, YES)
    histogram[MISSING, 0] = 0.0
    histogram[MISSING, 1] = 0.0
    for code in range(np.uint64(lowest), np.uint64(highest) + ONE):
        histogram[code, 0] = 0.0
        histogram[code, 1] = 0.0


@kernel
def scan_all_moments(work, column):
    """Rate the cuts of a numeric column at a larger node, where each side may be as small as one row."""
    lo, n_rows = np.uint64(work.lo), np.uint64(work.hi - work.lo)
    if work.exact:
        fill_packed_histogram(work, work.packed_histogram, column, lo, n_rows)
        scan_packed(work, work.packed_histogram, column)
    else:
        fill_histogram_of_sums(work, work.histogram, column, lo, n_rows)
        scan_stats(work, work.histogram, column)


@kernel
def scan_category_moments(work, column):
    """Rate the splits of a categorical column into two groups in the order of their means; missing is a category.

    The best split into two groups is one of these (Fisher 1958, Breiman et al. 1984).
    """
    histogram, present, along, code_rows = work.histogram, work.present, work.along, work.code_rows
    n_present = count_moments(work, column)
    if n_present < 2:
        clear_moments(work, n_present)
        return NO
    for p in range(n_present):
        code = present[p]
        along[code] = histogram[code, 1] / histogram[code, 0]
    order_present(work, n_present)
    chance = chance_gain(work, n_present, column)
    weight = total = 0.0
    n_left = ZERO
    n_first = ZERO
    for p in range(n_present - 1):
        code = present[p]
        weight += histogram[code, 0]
        total += histogram[code, 1]
        n_left += code_rows[code] if work.min_samples_leaf > 1 else 1
        if offer_set(work, column, weight, total, n_left, chance):
            n_first = np.int64(p + 1)
    if n_first > 0:
        write_set(work, column, n_present, n_first)
    clear_moments(work, n_present)
    return YES


@kernel
def list_counted(work, column):
    """Fill the histogram of a column with words of weight and sum, and list the codes; returns their number."""
    histogram, present, line, rows, packed = (
        work.packed_histogram,
        work.present,
        work.codes[column],
        work.rows,
        work.near_packed,
    )
    lo, n_rows = np.uint64(work.lo), np.uint64(work.hi - work.lo)
    if 4 * (work.hi - work.lo) < work.n_codes[column]:
        marks = work.marks
        for i in range(n_rows):
            code = np.uint64(line[rows[lo + i]])
            histogram[code] += packed[i]
            marks[code >> SIX] |= ONE << (code & LOW_SIX)
        return list_marked(work)
    fill_packed_histogram(work, histogram, column, lo, n_rows)
    n_present = ZERO
    for code in range(work.n_codes[column]):
        present[n_present] = code
        n_present += 1 if histogram[code] != 0 else 0
    present[n_present] = MISSING
    return n_present + (1 if histogram[MISSING] != 0 else 0)


@kernel
def scan_category_packed(work, column):
    """Do the same as `scan_category_moments` for whole numbers in one word, where a side may be as small as one row."""
    histogram, present, along = work.packed_histogram, work.present, work.along
    n_present = list_counted(work, column)
    if n_present > 1:
        for p in range(n_present):
            both = histogram[present[p]]
            along[present[p]] = np.float64(both & LOW_HALF) / np.float64(both >> 32)
        order_present(work, n_present)
        chance = chance_gain(work, n_present, column)
        both, n_first = ZERO, ZERO
        for p in range(n_present - 1):
            both += histogram[present[p]]
            if offer_set(work, column, np.float64(both >> 32), np.float64(both & LOW_HALF), np.int64(1), chance):
                n_first = np.int64(p + 1)
        if n_first > 0:
            write_set(work, column, n_present, n_first)
    for p in range(n_present):
        histogram[present[p]] = 0
    return n_present > 1


@kernel
def sum_packed(work, least, most):
    """Compute weight, sum and number of the rows with codes in a range, where both are whole numbers in one word."""
    near, packed = work.near_codes, work.near_packed
    both = n_rows = np.int64(0)
    for i in range(np.uint64(work.hi - work.lo)):
        inside = least <= near[i] <= most
        both += packed[i] if inside else np.int64(0)
        n_rows += 1 if inside else 0
    return np.float64(both >> 32), np.float64(both & LOW_HALF), n_rows


@kernel
def sum_codes(work, least, most):
    """Compute weight, sum and number of the rows with codes in a range, as four partial sums in a fixed order."""
    near, stats = work.near_codes, work.near_stats
    n_all = np.uint64(work.hi - work.lo)
    w0 = w1 = w2 = w3 = s0 = s1 = s2 = s3 = 0.0
    n_rows = np.int64(0)
    for i in range(n_all):
        n_rows += 1 if least <= near[i] <= most else 0
    whole = n_all & ~np.uint64(3)
    for i in range(np.uint64(0), whole, np.uint64(4)):
        a, b, c, d = i, i + np.uint64(1), i + np.uint64(2), i + np.uint64(3)
        w0 += stats[a, 0] if least <= near[a] <= most else 0.0
        s0 += stats[a, 1] if least <= near[a] <= most else 0.0
        w1 += stats[b, 0] if least <= near[b] <= most else 0.0
        s1 += stats[b, 1] if least <= near[b] <= most else 0.0
        w2 += stats[c, 0] if least <= near[c] <= most else 0.0
        s2 += stats[c, 1] if least <= near[c] <= most else 0.0
        w3 += stats[d, 0] if least <= near[d] <= most else 0.0
        s3 += stats[d, 1] if least <= near[d] <= most else 0.0
    for i in range(whole, n_all):
        w0 += stats[i, 0] if least <= near[i] <= most else 0.0
        s0 += stats[i, 1] if least <= near[i] <= most else 0.0
    return (w0 + w1) + (w2 + w3), (s0 + s1) + (s2 + s3), n_rows


@kernel
def sum_between(work, least, most):
    return sum_packed(work, least, most) if work.exact else sum_codes(work, least, most)


@kernel
def try_drawn_cut(work, column):
    """Rate one threshold of a numeric column, drawn at random; False if all its codes are equal."""
    lowest, highest = gather_codes(work, column)
    if lowest == MISSING or (lowest == highest and not work.has_missing[column]):
        return NO
    point = draw_point(work, column, lowest, highest)
    cut = last_code_below(work, column, point)
    weight, total, n_left = sum_between(work, np.uint8(0), np.uint8(cut))
    if n_left < work.hi - work.lo:
        offer(work, column, weight, total, n_left, cut, NO)
    if work.has_missing[column] and lowest < highest:
        missing_weight, missing_sum, n_missing = sum_between(work, MISSING_CODE, MISSING_CODE)
        if n_missing > 0:
            offer(work, column, weight + missing_weight, total + missing_sum, n_left + n_missing, cut, YES)
    return YES


@kernel
def try_drawn_group(work, column):
    """Rate one split of a categorical column, drawn at random; False if only one category occurs."""
    n_present = mark_present(work, column)
    if n_present < 2:
        return NO
    n_first = draw_group(work, n_present)
    mark_first(work, n_first)
    line, rows, marks, stats, packed = work.codes[column], work.rows, work.marks, work.near_stats, work.near_packed
    lo = np.uint64(work.lo)
    weight = total = 0.0
    both = n_left = ZERO
    for i in range(np.uint64(work.hi) - lo):
        if not has_bit(marks, ZERO, line[rows[lo + i]]):
            continue
        n_left += 1
        if work.exact:
            both += packed[i]
        else:
            weight += stats[i, 0]
            total += stats[i, 1]
    if work.exact:
        weight, total = np.float64(both >> 32), np.float64(both & LOW_HALF)
    if offer(work, column, weight, total, n_left, NONE, NO):
        write_set(work, column, n_present, n_first)
    for w in range(4):
        marks[w] = 0
    return YES


@kernel
def search_moments(work, column):
    """Rate the splits of one column by weights and sums; False if the column cannot be split."""
    if work.random_cuts:
        return try_drawn_cut(work, column) if work.is_number[column] else try_drawn_group(work, column)
    if not work.is_number[column]:
        packed = work.exact and work.min_samples_leaf < 2
        return scan_category_packed(work, column) if packed else scan_category_moments(work, column)
    if work.hi - work.lo <= MAX_INSERTION:
        return scan_sorted_moments(work, column)
    if work.min_samples_leaf > 1 or work.min_weight_leaf > 0.0 or work.monotonic_cst[column] != 0:
        return scan_counted_moments(work, column)
    scan_all_moments(work, column)
    return YES
