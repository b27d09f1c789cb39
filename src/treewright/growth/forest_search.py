"""Finding the split of one node of a forest's tree: a few columns, drawn at random, in bytes.

Two classes under gini, and numbers under the squared error, are the same search: with the class as 0 or 1, both want
the largest sum of (sum of targets)**2 / weight over the two sides. More classes, and entropy, keep each class's weight.
"""

from __future__ import annotations

from math import log2

import numpy as np

from treewright.growth.binning import MISSING_CODE
from treewright.growth.draws import draw_bits, draw_share
from treewright.growth.jit import kernel
from treewright.growth.layout import LOW_SIX, NO, NONE, ONE, SIX, YES, ZERO, has_bit, set_bit
from treewright.growth.search import DE_BRUIJN, FIFTY_EIGHT, PLACE_OF_BIT

# Up to this many rows, sorting a column by insertion is faster than counting its codes.
MAX_INSERTION = 32

MISSING = np.int64(MISSING_CODE)
SIXTEEN = np.uint32(16)
LOW_SIXTEEN = np.uint32(0xFFFF)
THIRTY_TWO = np.uint64(32)
LOW_HALF = np.int64(0xFFFFFFFF)


@kernel
def draw_place(state, limit):
    """A whole number from 0 to limit - 1, by a multiplication instead of a division."""
    return np.int64(((draw_bits(state) >> THIRTY_TWO) * np.uint64(limit)) >> THIRTY_TWO)


@kernel
def offer(work, column, weight, total, n_left, cut, missing_left):
    """Rate a split by the weight and sum of its first side, and keep it if it is the best; tells whether it was.

    With weights w and sums s of the two sides, and W and S of the node, what the split gains is
    (s W - S w)**2 / (w (W - w) W). Two such fractions are compared by multiplying, which is faster than dividing.
    """
    weight_right = work.weight - weight
    distance = total * work.weight - work.sum * weight
    above, below = distance * distance, weight * weight_right
    if not above * work.best_below > work.best_above * below:
        return NO
    if n_left < work.min_samples_leaf or work.hi - work.lo - n_left < work.min_samples_leaf or below <= 0.0:
        return NO
    direction = work.monotone[column]
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
def sort_codes(work, column):
    """The codes of a small node's rows in ascending order, each with its row's place in the node."""
    line, rows, keys = work.codes[column], work.rows, work.keys
    lo = np.uint64(work.lo)
    for i in range(np.uint64(work.hi - work.lo)):
        key = (np.uint32(line[rows[lo + i]]) << SIXTEEN) | np.uint32(i)
        j = i
        while j > np.uint64(0) and keys[j - np.uint64(1)] > key:
            keys[j] = keys[j - np.uint64(1)]
            j -= np.uint64(1)
        keys[j] = key


@kernel
def gather_stats(work):
    """Bring what the node's rows add to its sums next to each other, for all columns to be searched.

    Where all sums are whole numbers, one word has both; apart they are wanted for small nodes and categories only.
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
    """Rate the cuts of a column of numbers at a small node; False if all its codes are the same."""
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
    """Weight and sum per code, and the codes that occur in order; to be cleared after use. Returns how many occur.

    In a small node the codes are marked in a bit set on the way, so that the others need not be looked at.
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
    n_present = ZERO
    for w in range(4):
        bits = marks[w]
        marks[w] = 0
        while bits != 0:
            lowest = bits & (~bits + ONE)
            present[n_present] = 64 * w + PLACE_OF_BIT[(lowest * DE_BRUIJN) >> FIFTY_EIGHT]
            n_present += 1
            bits ^= lowest
    return n_present


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
    """Rate the cuts of a column of numbers at a larger node; False if all its codes are the same."""
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
def best_of_all_codes(work, column, lowest, highest, weight, total, missing_left):
    """Rate the cuts after the codes from `lowest` to before `highest`, given what is on the first side already.

    A code that does not occur rates as the one before it and so changes nothing; no step depends on what occurs.
    """
    histogram, whole, whole_sum = work.histogram, work.weight, work.sum
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
def best_of_packed_codes(work, column, lowest, highest, both, missing_left):
    """The same where weight and sum are whole numbers in one word."""
    histogram, whole, whole_sum = work.packed_histogram, work.weight, work.sum
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
def scan_packed_moments(work, column):
    """Rate the cuts of a column of numbers at a larger node, where weight and sum are whole numbers in one word."""
    line, rows, packed, histogram = work.codes[column], work.rows, work.near_packed, work.packed_histogram
    lo = np.uint64(work.lo)
    for i in range(np.uint64(work.hi) - lo):
        histogram[line[rows[lo + i]]] += packed[i]
    lowest, highest = ZERO, work.n_codes[column] - 1
    while lowest < highest and histogram[lowest] == 0:
        lowest += 1
    while highest > lowest and histogram[highest] == 0:
        highest -= 1
    missing = histogram[MISSING]
    best_of_packed_codes(work, column, lowest, highest, ZERO, NO)
    if missing > 0 and histogram[highest] > 0:
        known, sum_known = work.weight - np.float64(missing >> 32), work.sum - np.float64(missing & LOW_HALF)
        offer(work, column, known, sum_known, np.int64(1), highest, NO)
        best_of_packed_codes(work, column, lowest, highest, missing, YES)
    histogram[MISSING] = 0
    for code in range(np.uint64(lowest), np.uint64(highest) + ONE):
        histogram[code] = 0


@kernel
def scan_all_moments(work, column):
    """Rate the cuts of a column of numbers at a larger node, where each side may be as small as one row."""
    line, rows, stats, histogram = work.codes[column], work.rows, work.near_stats, work.histogram
    lo = np.uint64(work.lo)
    for i in range(np.uint64(work.hi) - lo):
        code = line[rows[lo + i]]
        histogram[code, 0] += stats[i, 0]
        histogram[code, 1] += stats[i, 1]
    lowest, highest = ZERO, work.n_codes[column] - 1
    while lowest < highest and histogram[lowest, 0] == 0.0:
        lowest += 1
    while highest > lowest and histogram[highest, 0] == 0.0:
        highest -= 1
    missing_weight, missing_sum = histogram[MISSING, 0], histogram[MISSING, 1]
    best_of_all_codes(work, column, lowest, highest, 0.0, 0.0, NO)
    if missing_weight > 0.0 and histogram[highest, 0] > 0.0:
        known, sum_known = work.weight - missing_weight, work.sum - missing_sum
        offer(work, column, known, sum_known, np.int64(1), highest, NO)
        best_of_all_codes(work, column, lowest, highest, missing_weight, missing_sum, YES)
    histogram[MISSING, 0] = 0.0
    histogram[MISSING, 1] = 0.0
    for code in range(np.uint64(lowest), np.uint64(highest) + ONE):
        histogram[code, 0] = 0.0
        histogram[code, 1] = 0.0


@kernel
def order_present(work, n_present):
    """Sort the codes that occur by what stands in `along`, ties by code."""
    present, along = work.present, work.along
    for p in range(1, n_present):
        code = present[p]
        at = p
        while at > 0 and along[present[at - 1]] > along[code]:
            present[at] = present[at - 1]
            at -= 1
        present[at] = code


@kernel
def write_set(work, column, n_present, n_first):
    """Write the set of the best split: the first codes of `present`; those that do not occur go to the heavier side."""
    words, present = work.set_words, work.present
    with_first = 2.0 * work.best_weight >= work.weight
    fill = ~np.uint64(0) if with_first else np.uint64(0)
    for w in range(4):
        words[w] = fill
    for p in range(n_present):
        code = np.uint64(present[p])
        if p < n_first:
            words[code >> SIX] |= ONE << (code & LOW_SIX)
        else:
            words[code >> SIX] &= ~(ONE << (code & LOW_SIX))


@kernel
def scan_category_moments(work, column):
    """Rate the splits of a column of categories in two groups along the order of their means; missing is a category.

    The best split in two groups is one of these (Fisher 1958, Breiman et al. 1984).
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
    weight = total = 0.0
    n_left = ZERO
    n_first = ZERO
    for p in range(n_present - 1):
        code = present[p]
        weight += histogram[code, 0]
        total += histogram[code, 1]
        n_left += code_rows[code] if work.min_samples_leaf > 1 else 1
        if offer(work, column, weight, total, n_left, NONE, NO):
            n_first = np.int64(p + 1)
    if n_first > 0:
        write_set(work, column, n_present, n_first)
    clear_moments(work, n_present)
    return YES


@kernel
def gather_codes(work, column):
    """Bring the codes of the node's rows next to each other; the lowest and the highest that are not missing.

    The lowest is 255 if all are missing.
    """
    line, rows, near = work.codes[column], work.rows, work.near_codes
    lo = np.uint64(work.lo)
    n_rows = np.uint64(work.hi) - lo
    for i in range(n_rows):
        near[i] = line[rows[lo + i]]
    lowest, highest = np.uint8(255), np.uint8(0)
    for i in range(n_rows):
        lowest = min(lowest, near[i])
        highest = max(highest, near[i])
    if highest == MISSING_CODE:
        highest = np.uint8(0)
        for i in range(n_rows):
            highest = max(highest, near[i] if near[i] < MISSING_CODE else np.uint8(0))
    return np.int64(lowest), np.int64(highest)


@kernel
def sum_packed(work, least, most):
    """Weight, sum and number of the rows whose codes lie between these; both are whole numbers in one word."""
    near, packed = work.near_codes, work.near_packed
    both = n_rows = np.int64(0)
    for i in range(np.uint64(work.hi - work.lo)):
        inside = least <= near[i] <= most
        both += packed[i] if inside else np.int64(0)
        n_rows += 1 if inside else 0
    return np.float64(both >> 32), np.float64(both & LOW_HALF), n_rows


@kernel
def sum_codes(work, least, most):
    """Weight, sum and number of the rows whose codes lie between these, in four strands, whose order is fixed."""
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
def draw_point(work, column, lowest, highest):
    """A threshold drawn evenly between the values of two codes, the higher of which is above it."""
    values = work.code_values[column]
    least, most = values[lowest], values[highest]
    point = least + draw_share(work.state) * (most - least)
    if least <= point < most:
        return point
    return values[lowest + draw_place(work.state, highest - lowest)] if highest > lowest else most


@kernel
def last_code_below(work, column, point):
    """The highest code whose value is no more than this point, which is not below the first: eight steps, no branch."""
    values = work.code_values[column]
    n_below = np.uint64(128) * np.uint64(values[127] <= point)
    n_below += np.uint64(64) * np.uint64(values[n_below + np.uint64(63)] <= point)
    n_below += np.uint64(32) * np.uint64(values[n_below + np.uint64(31)] <= point)
    n_below += np.uint64(16) * np.uint64(values[n_below + np.uint64(15)] <= point)
    n_below += np.uint64(8) * np.uint64(values[n_below + np.uint64(7)] <= point)
    n_below += np.uint64(4) * np.uint64(values[n_below + np.uint64(3)] <= point)
    n_below += np.uint64(2) * np.uint64(values[n_below + ONE] <= point)
    n_below += np.uint64(values[n_below] <= point)
    return min(np.int64(n_below), work.n_codes[column]) - 1


@kernel
def sum_between(work, least, most):
    return sum_packed(work, least, most) if work.exact else sum_codes(work, least, most)


@kernel
def try_drawn_cut(work, column):
    """Rate one threshold of a column of numbers, drawn at random; False if all its codes are the same."""
    lowest, highest = gather_codes(work, column)
    if lowest == MISSING or (lowest == highest and not work.has_gaps[column]):
        return NO
    point = draw_point(work, column, lowest, highest)
    cut = last_code_below(work, column, point)
    weight, total, n_left = sum_between(work, np.uint8(0), np.uint8(cut))
    if n_left < work.hi - work.lo:
        offer(work, column, weight, total, n_left, cut, NO)
    if work.has_gaps[column] and lowest < highest:
        missing_weight, missing_sum, n_missing = sum_between(work, MISSING_CODE, MISSING_CODE)
        if n_missing > 0:
            offer(work, column, weight + missing_weight, total + missing_sum, n_left + n_missing, cut, YES)
    return YES


@kernel
def mark_present(work, column):
    """List the codes that occur; returns how many."""
    line, rows, marks, present = work.codes[column], work.rows, work.marks, work.present
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        code = np.uint64(line[rows[i]])
        marks[code >> SIX] |= ONE << (code & LOW_SIX)
    n_present = ZERO
    for w in range(4):
        bits = marks[w]
        marks[w] = 0
        while bits != 0:
            lowest = bits & (~bits + ONE)
            present[n_present] = 64 * w + PLACE_OF_BIT[(lowest * DE_BRUIJN) >> FIFTY_EIGHT]
            n_present += 1
            bits ^= lowest
    return n_present


@kernel
def draw_group(work, n_present):
    """Move codes to the front of `present`, each with a chance of one half, but not all or none; returns how many."""
    present = work.present
    n_first = ZERO
    for p in range(n_present):
        if draw_bits(work.state) >> np.uint64(63) != 0:
            present[n_first], present[p] = present[p], present[n_first]
            n_first += 1
    if n_first == 0 or n_first == n_present:
        p = draw_place(work.state, n_present)
        present[0], present[p] = present[p], present[0]
        n_first = np.int64(1)
    return n_first


@kernel
def mark_first(work, n_first):
    """Set the bits of the first codes of `present`."""
    for w in range(4):
        work.marks[w] = 0
    for p in range(n_first):
        set_bit(work.marks, ZERO, work.present[p])


@kernel
def try_drawn_group(work, column):
    """Rate one split of a column of categories, drawn at random; False if only one occurs."""
    n_present = mark_present(work, column)
    if n_present < 2:
        return NO
    n_first = draw_group(work, n_present)
    mark_first(work, n_first)
    line, rows, stats = work.codes[column], work.rows, work.stats
    weight = total = 0.0
    n_left = ZERO
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        row = rows[i]
        if has_bit(work.marks, ZERO, line[row]):
            weight += stats[row, 0]
            total += stats[row, 1]
            n_left += 1
    if offer(work, column, weight, total, n_left, NONE, NO):
        write_set(work, column, n_present, n_first)
    for w in range(4):
        work.marks[w] = 0
    return YES


@kernel
def search_moments(work, column):
    """Rate the splits of one column by weights and sums; False if the column cannot be split."""
    if work.random_cuts:
        return try_drawn_cut(work, column) if work.is_number[column] else try_drawn_group(work, column)
    if not work.is_number[column]:
        return scan_category_moments(work, column)
    if work.hi - work.lo <= MAX_INSERTION:
        return scan_sorted_moments(work, column)
    if work.min_samples_leaf > 1 or work.monotone[column] != 0:
        return scan_counted_moments(work, column)
    if work.exact:
        scan_packed_moments(work, column)
    else:
        scan_all_moments(work, column)
    return YES


@kernel
def disorder_term(work, weight):
    """What one class of this weight adds to a side's order: the square, or for entropy w log w."""
    if work.by_entropy:
        return weight * log2(weight) if weight > 0.0 else 0.0
    return weight * weight


@kernel
def side_score(work, order, weight):
    """The order of a side, higher is better, given the sum of its classes' terms."""
    if work.by_entropy:
        return order - (weight * log2(weight) if weight > 0.0 else 0.0)
    return order / weight


@kernel
def offer_classes(work, column, n_left, cut, missing_left):
    """Rate the split whose two sides are summed up, and keep it if it is the best; tells whether it was."""
    n_right = work.hi - work.lo - n_left
    if n_left < work.min_samples_leaf or n_right < work.min_samples_leaf:
        return NO
    if work.weight_left <= 0.0 or work.weight_right <= 0.0:
        return NO
    score = side_score(work, work.order_left, work.weight_left) + side_score(work, work.order_right, work.weight_right)
    if score <= work.best_score:
        return NO
    work.best_score = score
    work.best_column = column
    work.best_cut = cut
    work.best_missing_left = missing_left
    work.best_weight = work.weight_left
    return YES


@kernel
def order_rows(work, column, by_rank):
    """The rows of a node sorted by code (or by the rank of their category) into `order`."""
    line, rows, order, starts, rank = work.codes[column], work.rows, work.order, work.code_rows, work.rank
    lo, hi = np.uint64(work.lo), np.uint64(work.hi)
    if hi - lo <= np.uint64(MAX_INSERTION) and not by_rank:
        sort_codes(work, column)
        for k in range(hi - lo):
            order[k] = rows[lo + np.uint64(work.keys[k] & LOW_SIXTEEN)]
        return
    for i in range(lo, hi):
        code = line[rows[i]]
        starts[rank[code] if by_rank else code] += 1
    position = ZERO
    for code in range(256):
        position, starts[code] = position + starts[code], position
    for i in range(lo, hi):
        code = line[rows[i]]
        place = rank[code] if by_rank else code
        order[starts[place]] = rows[i]
        starts[place] += 1
    for code in range(256):
        starts[code] = 0


@kernel
def begin_sides(work):
    """All classes of the node on the second side."""
    order_right = 0.0
    for k in range(work.n_present_classes):
        label = work.classes[k]
        work.left[label] = 0.0
        work.right[label] = work.totals[label]
        order_right += disorder_term(work, work.totals[label])
    work.order_left, work.order_right = 0.0, order_right
    work.weight_left, work.weight_right = 0.0, work.weight


@kernel
def move_to_first(work, row):
    """Move a row to the first side: the terms of its class change, those of the others do not."""
    left, right = work.left, work.right
    label = np.int64(work.targets[row])
    weight = work.stats[row, 0]
    work.order_left += disorder_term(work, left[label] + weight) - disorder_term(work, left[label])
    work.order_right += disorder_term(work, right[label] - weight) - disorder_term(work, right[label])
    left[label] += weight
    right[label] -= weight
    work.weight_left += weight
    work.weight_right -= weight


@kernel
def scan_classes(work, column, by_rank, n_known, missing_left):
    """Rate the cuts of a sorted column, whose last rows have no value; the number of groups before the best, or 0.

    `by_rank` tells that the rows are sorted by the rank of their category. The number of classes does not matter for
    the time it takes.
    """
    line, sorted_rows, rank = work.codes[column], work.order, work.rank
    n_rows = work.hi - work.lo
    begin_sides(work)
    n_left = ZERO
    if missing_left:
        for k in range(n_known, n_rows):
            move_to_first(work, sorted_rows[k])
        n_left = n_rows - n_known
    best = ZERO
    for k in range(n_known):
        row = sorted_rows[k]
        move_to_first(work, row)
        n_left += 1
        if n_left == n_rows:
            break
        code = np.int64(line[row])
        if k + 1 < n_known and np.int64(line[sorted_rows[k + 1]]) == code:
            continue
        cut = NONE if by_rank else code
        if offer_classes(work, column, n_left, cut, missing_left):
            best = np.int64(rank[code]) + 1 if by_rank else n_left
    return best


@kernel
def search_sorted_classes(work, column):
    """Rate the cuts of a column of numbers; False if all its codes are the same."""
    order_rows(work, column, NO)
    line, order = work.codes[column], work.order
    n_rows = work.hi - work.lo
    if line[order[0]] == line[order[n_rows - 1]]:
        return NO
    n_known = n_rows
    while n_known > 0 and line[order[n_known - 1]] == MISSING_CODE:
        n_known -= 1
    scan_classes(work, column, NO, n_known, NO)
    if n_known < n_rows:
        scan_classes(work, column, NO, n_known, YES)
    return YES


@kernel
def search_category_classes(work, column):
    """Rate the splits of a column of categories along the order of one class's share, drawn at random."""
    line, rows, stats, targets = work.codes[column], work.rows, work.stats, work.targets
    histogram, present, along = work.histogram, work.present, work.along
    n_present = mark_present(work, column)
    if n_present < 2:
        return NO
    chosen = work.classes[draw_place(work.state, work.n_present_classes)]
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        row = rows[i]
        code = line[row]
        histogram[code, 0] += stats[row, 0]
        if np.int64(targets[row]) == chosen:
            histogram[code, 1] += stats[row, 0]
    for p in range(n_present):
        code = present[p]
        along[code] = histogram[code, 1] / histogram[code, 0]
        histogram[code, 0] = 0.0
        histogram[code, 1] = 0.0
    order_present(work, n_present)
    for p in range(n_present):
        work.rank[present[p]] = p
    order_rows(work, column, YES)
    n_first = scan_classes(work, column, YES, work.hi - work.lo, NO)
    if n_first > 0:
        write_set(work, column, n_present, n_first)
    return YES


@kernel
def offer_drawn_classes(work, column, n_left, cut, missing_left):
    """Rate a split of which the class weights of the first side stand in `left`."""
    order = order_right = weight = weight_right = 0.0
    for k in range(work.n_present_classes):
        label = work.classes[k]
        here, there = work.left[label], work.totals[label] - work.left[label]
        order += disorder_term(work, here)
        order_right += disorder_term(work, there)
        weight += here
        weight_right += there
    work.order_left, work.order_right = order, order_right
    work.weight_left, work.weight_right = weight, weight_right
    return offer_classes(work, column, n_left, cut, missing_left)


@kernel
def try_drawn_classes(work, column):
    """Rate one split drawn at random; False if all codes are the same."""
    line, rows, stats, targets, left = work.codes[column], work.rows, work.stats, work.targets, work.left
    for k in range(work.n_present_classes):
        left[work.classes[k]] = 0.0
    n_left = n_missing = ZERO
    if not work.is_number[column]:
        n_present = mark_present(work, column)
        if n_present < 2:
            return NO
        n_first = draw_group(work, n_present)
        mark_first(work, n_first)
        for i in range(np.uint64(work.lo), np.uint64(work.hi)):
            row = rows[i]
            if has_bit(work.marks, ZERO, line[row]):
                left[np.int64(targets[row])] += stats[row, 0]
                n_left += 1
        for w in range(4):
            work.marks[w] = 0
        if offer_drawn_classes(work, column, n_left, NONE, NO):
            write_set(work, column, n_present, n_first)
        return YES
    lowest, highest = gather_codes(work, column)
    if lowest == MISSING or (lowest == highest and not work.has_gaps[column]):
        return NO
    point = draw_point(work, column, lowest, highest)
    cut = last_code_below(work, column, point)
    last = np.uint8(cut)
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        row = rows[i]
        if line[row] <= last:
            left[np.int64(targets[row])] += stats[row, 0]
            n_left += 1
    if n_left < work.hi - work.lo:
        offer_drawn_classes(work, column, n_left, cut, NO)
    if work.has_gaps[column] and lowest < highest:
        for i in range(np.uint64(work.lo), np.uint64(work.hi)):
            row = rows[i]
            if line[row] == MISSING_CODE:
                left[np.int64(targets[row])] += stats[row, 0]
                n_missing += 1
        if n_missing > 0:
            offer_drawn_classes(work, column, n_left + n_missing, cut, YES)
    return YES


@kernel
def search_classes(work, column):
    """Rate the splits of one column by class weights; False if the column cannot be split."""
    if work.random_cuts:
        return try_drawn_classes(work, column)
    if work.is_number[column]:
        return search_sorted_classes(work, column)
    return search_category_classes(work, column)


@kernel
def search_columns(work, score_of_node, perfect, by_class):
    """Search as many columns as the recipe asks for, drawn at random, and more while none could be split.

    `by_class` is None for the search by weights and sums, so that only one kind is compiled. Nothing beats a
    `perfect` split, so the search ends with one.
    """
    columns = work.columns
    n_columns = len(columns)
    work.best_score, work.best_above, work.best_below = -np.inf, -1.0, 1.0
    work.best_column = NONE
    if by_class is None:
        gather_stats(work)
    for c in range(n_columns):
        if c >= work.max_features and work.best_column >= 0:
            break
        other = c + draw_place(work.state, n_columns - c)
        columns[c], columns[other] = columns[other], columns[c]
        if by_class is None:
            search_moments(work, columns[c])
        else:
            search_classes(work, columns[c])
        if by_class is None and work.best_column >= 0 and perfect < np.inf:
            work.best_score = score_of_node + work.best_above / (work.best_below * work.weight)
        if work.best_score >= perfect:
            break
