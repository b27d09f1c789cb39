"""Measuring a node and searching its columns for its split."""

from __future__ import annotations

from math import log

import numpy as np

from treewright.encoding.keys import MAX_PACKED_CLASSES, code_of, make_key
from treewright.engines.bits import DE_BRUIJN, FIFTY_EIGHT, LOW_SIX, ONE, PLACE_OF_BIT, SIX, ZERO, clear
from treewright.engines.criteria import ABSOLUTE_ERROR, GAIN_RATIO, IS_CONCAVE, OWN, POISSON, SDR, SQUARED_ERROR
from treewright.engines.exact.absolute import prepare_medians
from treewright.engines.exact.categories import group_counts, group_keys, search_categories
from treewright.engines.exact.impurity import impurity_of_classes, impurity_of_moments
from treewright.engines.exact.layout import CLOSE, TIE
from treewright.engines.exact.many_cuts import (
    all_differ,
    rates_many_cuts,
    rates_roughly,
    scan_counts_many,
    scan_keys_many,
    scan_keys_moments,
    scan_keys_roughly,
)
from treewright.engines.exact.numbers import (
    group_numbers,
    scan_counts_squared,
    scan_keys_squared,
    search_number_categories,
    search_number_thresholds,
)
from treewright.engines.exact.quinlan import choose_column, known_weight, least_side, note_column, scan_two_classes
from treewright.engines.exact.several import search_several
from treewright.engines.exact.thresholds import (
    count_missing,
    has_hot_loop,
    leaves_missing_out,
    scan_counts_classes,
    scan_counts_two_classes,
    scan_keys_classes,
    scan_keys_two_classes,
    takes_a_side,
)
from treewright.engines.missing_values import EVERY_VALUE
from treewright.runtime.draws import draw_below
from treewright.runtime.kernels import kernel

# Up to this many rows, insertion sort of a column is faster than counting sort.
MAX_INSERTION = 32


@kernel
def measure_classes(work, lo, hi):
    """Compute the class weights of a node into `totals`, and copy its labels.

    Returns its weight, its weighted impurity, and whether it is pure.
    """
    rows, labels, classes, weights, totals = work.rows, work.labels, work.classes, work.weights, work.totals
    work.n_classes = work.all_classes
    clear(totals, work.n_classes)
    if work.n_classes == 2 and not work.weighted:
        # Without weights a sum in a register is faster than one in memory.
        of_class_1 = np.uint64(0)
        for i in range(np.uint64(lo), np.uint64(hi)):
            label = classes[rows[i]]
            labels[i] = label
            of_class_1 += np.uint64(label)
        totals[0], totals[1] = np.float64(hi - lo - np.int64(of_class_1)), np.float64(of_class_1)
    else:
        for i in range(np.uint64(lo), np.uint64(hi)):
            row = rows[i]
            label = classes[row]
            labels[i] = label
            totals[label] += weights[row]
    n_present = 0
    weight = largest = 0.0
    for k in range(work.n_classes):
        weight += totals[k]
        largest = max(largest, totals[k])
        n_present += 1 if totals[k] > 0.0 else 0
    pure = n_present < 2 or (work.quinlan and weight - largest < CLOSE)
    return weight, impurity_of_classes(work, totals, weight), pure


@kernel
def measure_numbers(work, lo, hi):
    """Compute weight, mean (or median) and spread of a node, and whether all its targets are equal."""
    rows, numbers, weights, centred = work.rows, work.numbers, work.weights, work.centred
    weight = total = 0.0
    some = numbers[rows[lo]]
    pure = True
    for i in range(np.uint64(lo), np.uint64(hi)):
        row = rows[i]
        weight += weights[row]
        total += weights[row] * (numbers[row] - some)
        pure = pure and numbers[row] == some
    mean = some + total / weight
    squares = deviance = 0.0
    for i in range(np.uint64(lo), np.uint64(hi)):
        row = rows[i]
        centred[i] = numbers[row] - mean
        squares += weights[row] * centred[i] * centred[i]
        if work.criterion == POISSON and numbers[row] > 0.0:
            deviance += weights[row] * numbers[row] * log(numbers[row] / mean)
    if work.criterion == SDR:
        return weight, mean, np.sqrt(weight * squares), pure
    if work.criterion == POISSON:
        return weight, mean, max(deviance, 0.0), pure
    if work.criterion == ABSOLUTE_ERROR:
        median, distances = prepare_medians(work, work.numbers, ZERO, lo, hi)
        return weight, median, distances, pure
    if work.criterion == OWN:
        work.moments[0], work.moments[1], work.moments[2] = weight, mean, squares
        return weight, mean, impurity_of_moments(work, weight, mean, squares), pure
    return weight, mean, squares, pure


@kernel
def rows_with(counts, code_rows, n_classes, code):
    """Count the rows with this code; without weights (`n_classes` is not 0) it follows from the class counts."""
    if n_classes == 2:
        code_rows[code] = np.int64(counts[code, 0] + counts[code, 1])
    elif n_classes > 0:
        total = 0.0
        for k in range(n_classes):
            total += counts[code, k]
        code_rows[code] = np.int64(total)
    return code_rows[code]


@kernel
def list_present(work, n_codes, marked):
    """List the codes that occur, in order: from the marks of a small node, or by a scan of all codes."""
    present, marks, counts, code_rows = work.present, work.marks, work.counts, work.code_rows
    n_classes = ZERO if work.weighted else work.n_classes
    n_present = ZERO
    if not marked:
        for code in range(n_codes):
            present[n_present] = code
            n_present += 1 if rows_with(counts, code_rows, n_classes, code) > 0 else 0
    else:
        for w in range(len(marks)):
            bits = marks[w]
            marks[w] = 0
            while bits != 0:
                lowest = bits & (~bits + ONE)
                code = 64 * w + PLACE_OF_BIT[(lowest * DE_BRUIJN) >> FIFTY_EIGHT]
                bits ^= lowest
                if code < n_codes:
                    rows_with(counts, code_rows, n_classes, code)
                    present[n_present] = code
                    n_present += 1
    work.n_present = n_present
    work.n_missing = rows_with(counts, code_rows, n_classes, n_codes)


@kernel
def count_classes(work, column):
    """Fill the histogram of one narrow column: class weights and rows per code, missing rows after the last code.

    In a small node the codes that occur are marked in a bit set at the same time, so that the others need not be
    visited. The histogram must be cleared after use.
    """
    counts, code_rows, labels, rows, weights = work.counts, work.code_rows, work.labels, work.rows, work.weights
    line, marks = work.codes[column], work.marks
    n_codes = work.n_codes[column]
    lo, hi = np.uint64(work.lo), np.uint64(work.hi)
    small = 2 * (work.hi - work.lo) < n_codes
    if work.weighted:
        for i in range(lo, hi):
            row = rows[i]
            code = np.uint64(line[row])
            counts[code, labels[i]] += weights[row]
            code_rows[code] += 1
            marks[code >> SIX] |= ONE << (code & LOW_SIX)
    elif small:
        for i in range(lo, hi):
            code = np.uint64(line[rows[i]])
            counts[code, labels[i]] += 1.0
            marks[code >> SIX] |= ONE << (code & LOW_SIX)
    else:
        for i in range(lo, hi):
            counts[line[rows[i]], labels[i]] += 1.0
    list_present(work, n_codes, small or work.weighted)


@kernel
def clear_histogram(work, column, width):
    """Clear the histogram."""
    counts, code_rows, present, n_present = work.counts, work.code_rows, work.present, work.n_present
    present[n_present] = work.n_codes[column]
    for p in range(n_present + 1):
        code = present[p]
        code_rows[code] = 0
        for k in range(width):
            counts[code, k] = 0.0


@kernel
def count_numbers(work, column):
    """Fill the histogram of one narrow column: weight, centred sum and rows per code; it must be cleared after use."""
    counts, code_rows, rows, weights, centred = (
        work.counts,
        work.code_rows,
        work.rows,
        work.weights,
        work.centred,
    )
    line, marks, n_codes = work.codes[column], work.marks, work.n_codes[column]
    small = 2 * (work.hi - work.lo) < n_codes
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        row = rows[i]
        code = np.uint64(line[row])
        counts[code, 0] += weights[row]
        counts[code, 1] += weights[row] * centred[i]
        code_rows[code] += 1
        if small:
            marks[code >> SIX] |= ONE << (code & LOW_SIX)
    list_present(work, n_codes, small)


@kernel
def sort_narrow(work, column):
    """Sort one narrow column of a node as keys: by insertion if there are few rows, else by counting."""
    keys, rows, labels, starts = work.sorted_keys, work.rows, work.labels, work.code_starts
    line = work.codes[column]
    lo, hi = work.lo, work.hi
    pack = 0 < work.all_classes <= MAX_PACKED_CLASSES
    gathers, classes = work.gathers, work.classes
    if hi - lo <= MAX_INSERTION:
        for i in range(hi - lo):
            row = rows[lo + i]
            label = classes[row] if pack and gathers else labels[lo + i] if pack else np.uint16(0)
            key = make_key(line[row], row, label)
            j = i
            while j > 0 and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return keys[: hi - lo]
    n_codes = work.n_codes[column] + 1
    clear(starts, n_codes)
    for i in range(lo, hi):
        starts[line[rows[i]]] += 1
    position = 0
    for code in range(n_codes):
        position, starts[code] = position + starts[code], position
    for i in range(lo, hi):
        row = rows[i]
        code = line[row]
        label = classes[row] if pack and gathers else labels[i] if pack else np.uint16(0)
        keys[starts[code]] = make_key(code, row, label)
        starts[code] += 1
    return keys[: hi - lo]


@kernel
def sorted_column(work, column):
    """Return the node's rows of one column as sorted keys, and count the missing values."""
    keys = work.keys[column, work.lo : work.hi] if work.is_wide[column] else sort_narrow(work, column)
    work.n_missing = count_missing(keys, work.n_codes[column]) if work.has_missing[column] else 0
    return keys


@kernel
def is_constant(work, keys):
    """Do all rows have the same value? Missing values count as one if they may be separated from the others."""
    last = len(keys) - work.n_missing - 1
    if takes_a_side(work) and last >= 0:
        return False
    return last < 1 or code_of(keys[0]) == code_of(keys[last])


@kernel
def begin_column(work, column):
    work.direction = work.monotonic_cst[column]
    work.drawn_cut = -1
    work.drawn = np.nan
    work.n_rated = 0
    work.base = work.impurity
    work.portion = 0.0
    work.missing_impurity = 0.0
    work.bits = 0.0
    work.chance = 0.0


@kernel
def search_classes(work, column):
    """Rate the splits of one column for a class target."""
    begin_column(work, column)
    if not work.is_wide[column]:
        count_classes(work, column)
        if not work.is_number[column]:
            search_categories(work, group_counts(work, work.n_codes[column]), column)
        elif has_hot_loop(work):
            scan_counts_two_classes(work, column)
        elif not work.quinlan and rates_many_cuts(work):
            scan_counts_many(work, column)
        else:
            scan_counts_classes(work, column)
        clear_histogram(work, column, work.n_classes)
        return
    keys = sorted_column(work, column)
    if is_constant(work, keys):
        return
    if not work.is_number[column]:
        search_categories(work, group_keys(work, keys), column)
    elif has_hot_loop(work):
        scan_keys_two_classes(work, keys, column)
    elif work.quinlan and work.n_classes == 2 and (work.n_missing == 0 or leaves_missing_out(work)):
        scan_two_classes(work, keys, column)
    elif not work.quinlan and rates_many_cuts(work):
        if rates_roughly(work):
            scan_keys_roughly(work, keys, column)
        else:
            scan_keys_many(work, keys, column)
    else:
        scan_keys_classes(work, keys, column)


@kernel
def search_numbers(work, column):
    """Rate the splits of one column for a numeric target."""
    begin_column(work, column)
    plain = work.criterion == SQUARED_ERROR and work.among == 1 and not work.random_cuts and work.is_number[column]
    plain = plain and (work.strategy != EVERY_VALUE or not work.has_missing[column]) and work.min_weight_leaf <= 0.0
    plain = plain and work.direction == 0
    if plain and not work.is_wide[column]:
        count_numbers(work, column)
        if work.n_present > 0:
            scan_counts_squared(work, column)
        clear_histogram(work, column, np.int64(2))
        return
    keys = sorted_column(work, column)
    if is_constant(work, keys):
        return
    if plain:
        scan_keys_squared(work, keys, column)
        return
    if work.is_number[column] and rates_many_cuts(work) and all_differ(keys, len(keys) - work.n_missing):
        scan_keys_moments(work, keys, column)
        return
    n_groups = group_numbers(work, keys)
    if work.is_number[column]:
        search_number_thresholds(work, keys, n_groups, column)
    else:
        search_number_categories(work, keys, n_groups, column)


@kernel
def search_targets(work, column, targets):
    """Rate the splits of one column for several targets."""
    begin_column(work, column)
    keys = sorted_column(work, column)
    if not is_constant(work, keys):
        search_several(work, targets, keys, column)


@kernel
def draw_columns(work):
    """Draw the columns that are searched first, in the order of the table, and the others in random order."""
    columns = work.columns
    n_columns = len(columns)
    for c in range(n_columns):
        columns[c] = c
    if work.max_features >= n_columns:
        return
    for c in range(n_columns - 1):
        other = c + draw_below(work.state, n_columns - c)
        columns[c], columns[other] = columns[other], columns[c]
    for c in range(1, work.max_features):
        column = columns[c]
        at = c
        while at > 0 and columns[at - 1] > column:
            columns[at] = columns[at - 1]
            at -= 1
        columns[at] = column


@kernel
def is_perfect(work):
    """Is the split found so far pure, so that no later column can be better? This is common in small nodes.

    The minimum of a criterion of the user is not known.
    """
    if not IS_CONCAVE[work.criterion]:
        return False
    if work.quinlan or work.among > 1 or work.filled == 0 or work.criterion == GAIN_RATIO:
        return False
    return work.slot_score[0] >= work.spread * (1.0 - TIE)


@kernel
def search_node(work, seed, numbers):
    """Find the node's split; the slots contain it, or the k best, or nothing.

    `numbers` is None for a class target, so that only one kind of search is compiled. As many columns are searched as
    the recipe requires, and more if those cannot be split. C4.5 rates all columns and then searches the best again.
    """
    work.filled = 0
    work.state[0] = seed
    draw_columns(work)
    n_columns = len(work.columns)
    for c in range(n_columns + 1):
        if c == n_columns and not work.quinlan:
            break
        column = work.columns[c] if c < n_columns else choose_column(work)
        known = work.weight
        if work.quinlan:
            work.filled = 0
            if column < 0:
                break
            known = known_weight(work, column)
            work.min_leaf_weight = least_side(work, known)
        elif c >= work.max_features and work.filled > 0:
            break
        if numbers is None:
            search_classes(work, column)
        elif numbers.ndim == 2:
            search_targets(work, column, numbers)
        else:
            search_numbers(work, column)
        if work.quinlan and c < n_columns:
            note_column(work, column, known)
        if is_perfect(work):
            break
