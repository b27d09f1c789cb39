"""Splits of a forest's nodes rated by the weight of each class: more than two classes, and entropy."""

from __future__ import annotations

from math import log2

import numpy as np

from treewright.encoding.bins import MISSING_CODE
from treewright.engines.bits import NO, NONE, YES, ZERO, has_bit
from treewright.engines.criteria import INFORMATION_GAIN
from treewright.engines.forest.codes import (
    LOW_SIXTEEN,
    MAX_INSERTION,
    MISSING,
    chance_gain,
    draw_group,
    draw_place,
    draw_point,
    gather_codes,
    last_code_below,
    mark_first,
    mark_present,
    order_present,
    sort_codes,
    write_set,
)
from treewright.runtime.kernels import kernel


@kernel
def impurity_term(work, weight):
    """Return the term of one class of this weight in the score of a side: the square, or w log w for entropy."""
    if work.criterion == INFORMATION_GAIN:
        return weight * log2(weight) if weight > 0.0 else 0.0
    return weight * weight


@kernel
def side_score(work, order, weight):
    """Compute the score of a side from the sum of the terms of its classes; higher is better."""
    if work.criterion == INFORMATION_GAIN:
        return order - (weight * log2(weight) if weight > 0.0 else 0.0)
    return order / weight


@kernel
def offer_classes(work, column, n_left, cut, missing_left):
    """Rate the split of the two current sides, and keep it if it is the best; was it kept?"""
    n_right = work.hi - work.lo - n_left
    if n_left < work.min_samples_leaf or n_right < work.min_samples_leaf:
        return NO
    if work.weight_left <= 0.0 or work.weight_right <= 0.0:
        return NO
    if min(work.weight_left, work.weight_right) < work.min_weight_leaf:
        return NO
    score = side_score(work, work.order_left, work.weight_left) + side_score(work, work.order_right, work.weight_right)
    score -= work.chance
    if score <= work.best_score or (work.chance > 0.0 and score <= work.node_score):
        return NO
    work.best_score = score
    work.best_column = column
    work.best_cut = cut
    work.best_missing_left = missing_left
    work.best_weight = work.weight_left
    return YES


@kernel
def order_rows(work, column, by_rank):
    """Sort the rows of a node by code, or by the rank of their category, into `order`."""
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
    """Initialise both sides without rows."""
    for k in range(work.n_present_classes):
        work.left[work.classes[k]] = 0.0
        work.right[work.classes[k]] = 0.0
    work.order_left, work.order_right = 0.0, 0.0
    work.weight_left, work.weight_right = 0.0, 0.0


@kernel
def add_to_first(work, row):
    """Add a row to the first side: only the term of its class changes."""
    left, label, weight = work.left, np.int64(work.targets[row]), work.stats[row, 0]
    work.order_left += impurity_term(work, left[label] + weight) - impurity_term(work, left[label])
    left[label] += weight
    work.weight_left += weight


@kernel
def add_to_second(work, row):
    """Do the same as `add_to_first` for the second side."""
    right, label, weight = work.right, np.int64(work.targets[row]), work.stats[row, 0]
    work.order_right += impurity_term(work, right[label] + weight) - impurity_term(work, right[label])
    right[label] += weight
    work.weight_right += weight


@kernel
def sum_second_sides(work, column, by_rank, n_known, missing_left):
    """Write the sum of terms and the weight of the rows after each code into its entry of `histogram`.

    The sums are computed from the last row on, because subtracting a heavy row from a sum loses digits.
    """
    line, sorted_rows, rank, histogram = work.codes[column], work.order, work.rank, work.histogram
    n_rows = work.hi - work.lo
    if not missing_left:
        for k in range(n_known, n_rows):
            add_to_second(work, sorted_rows[k])
    after = NONE
    for back in range(n_known):
        row = sorted_rows[n_known - 1 - back]
        code = np.int64(line[row])
        if code != after:
            place = np.int64(rank[code]) if by_rank else code
            histogram[place, 0], histogram[place, 1] = work.order_right, work.weight_right
            after = code
        add_to_second(work, row)


@kernel
def scan_classes(work, column, by_rank, n_known, missing_left):
    """Rate the cuts of a sorted column; returns the number of groups before the best cut, or 0.

    Rows with a missing value are last. With `by_rank`, the rows are sorted by the rank of their category. The time does
    not depend on the number of classes.
    """
    line, sorted_rows, rank, histogram = work.codes[column], work.order, work.rank, work.histogram
    n_rows = work.hi - work.lo
    begin_sides(work)
    sum_second_sides(work, column, by_rank, n_known, missing_left)
    n_left = ZERO
    if missing_left:
        for k in range(n_known, n_rows):
            add_to_first(work, sorted_rows[k])
        n_left = n_rows - n_known
    best = ZERO
    for k in range(n_known):
        row = sorted_rows[k]
        add_to_first(work, row)
        n_left += 1
        code = np.int64(line[row])
        if k + 1 < n_known and np.int64(line[sorted_rows[k + 1]]) == code:
            continue
        place = np.int64(rank[code]) if by_rank else code
        work.order_right, work.weight_right = histogram[place, 0], histogram[place, 1]
        histogram[place, 0], histogram[place, 1] = 0.0, 0.0
        if n_left == n_rows:
            break
        cut = NONE if by_rank else code
        if offer_classes(work, column, n_left, cut, missing_left):
            best = place + 1 if by_rank else n_left
    return best


@kernel
def search_sorted_classes(work, column):
    """Rate the cuts of a numeric column; False if all its codes are equal."""
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
    """Rate the splits of a categorical column in the order of the share of one class, which is drawn at random."""
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
    work.chance = chance_gain(work, n_present, column)
    n_first = scan_classes(work, column, YES, work.hi - work.lo, NO)
    if n_first > 0:
        write_set(work, column, n_present, n_first)
    return YES


@kernel
def offer_drawn_classes(work, column, n_left, cut, missing_left):
    """Rate a split for which `left` contains the class weights of the first side."""
    order = order_right = weight = weight_right = 0.0
    for k in range(work.n_present_classes):
        label = work.classes[k]
        here = work.left[label]
        there = max(work.totals[label] - here, 0.0)
        order += impurity_term(work, here)
        order_right += impurity_term(work, there)
        weight += here
        weight_right += there
    work.order_left, work.order_right = order, order_right
    work.weight_left, work.weight_right = weight, weight_right
    return offer_classes(work, column, n_left, cut, missing_left)


@kernel
def try_drawn_classes(work, column):
    """Rate one split drawn at random; False if all codes are equal."""
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
    if lowest == MISSING or (lowest == highest and not work.has_missing[column]):
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
    if work.has_missing[column] and lowest < highest:
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
    work.chance = 0.0
    if work.random_cuts:
        return try_drawn_classes(work, column)
    if work.is_number[column]:
        return search_sorted_classes(work, column)
    return search_category_classes(work, column)
