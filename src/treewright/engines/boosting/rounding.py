"""Rounding gradients and hessians to whole numbers, and block-wise sums of those that are not rounded."""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import ONE, ZERO
from treewright.engines.boosting.search import (
    CATEGORY_L2,
    CHANCE,
    G_SHIFT,
    H_SHIFT,
    L1,
    L2,
    LEAST_H,
    LEAST_ROWS,
    N_MASK,
    SMOOTHING,
    are_consecutive,
)
from treewright.engines.boosting.workspace import ROOT_ROWS, ROOT_SUM, TURN, TURN_BITS
from treewright.runtime.barrier import wait
from treewright.runtime.draws import GOLDEN, scramble
from treewright.runtime.kernels import kernel


@kernel
def measure_turns(gradients, hessians, local, sums):
    """Compute for each block of the thread's rows the sums of absolute values, and the range of the hessians."""
    rows = local.given
    first, n_own = np.uint64(0), np.uint64(len(rows))
    while first < n_own:
        turn = np.uint64(rows[first]) >> np.uint64(TURN_BITS)
        last = end_of_turn(rows, first, n_own)
        g = contiguous_values(gradients, rows, first, last, local.near_turn[0])
        h = contiguous_values(hessians, rows, first, last, local.near_turn[1])
        sums[turn, 0, 0], sums[turn, 2, 1] = sum_magnitudes(g)
        sums[turn, 0, 1] = sum_magnitudes(h)[0]
        most, least = h[0], h[0]
        for k in range(np.uint64(len(h))):
            most, least = max(most, h[k]), min(least, h[k])
        sums[turn, 1, 0], sums[turn, 1, 1] = most, least
        sums[turn, 2, 0] = np.float64(last - first)
        first = last


@kernel
def contiguous_values(values, rows, first, last, near):
    """Return the values of some rows as one slice: a view if the rows are consecutive, or else a copy."""
    row, size = np.uint64(rows[first]), last - first
    if are_consecutive(rows, first, size):
        return values[row : row + size]
    for k in range(size):
        near[k] = values[rows[first + k]]
    return near[:size]


@kernel
def sum_magnitudes(values):
    """Sum up absolute values and squares, in four partial sums each, because an addition waits for the last one."""
    a = b = c = d = e = f = g = h = 0.0
    size = np.uint64(len(values))
    whole = size & ~np.uint64(3)
    for k in range(np.uint64(0), whole, np.uint64(4)):
        one, two, three, four = values[k], values[k + ONE], values[k + np.uint64(2)], values[k + np.uint64(3)]
        a += abs(one)
        b += abs(two)
        c += abs(three)
        d += abs(four)
        e += one * one
        f += two * two
        g += three * three
        h += four * four
    for k in range(whole, size):
        a += abs(values[k])
        e += values[k] * values[k]
    return (a + b) + (c + d), (e + f) + (g + h)


@kernel
def end_of_turn(rows, first, last):
    """Return the position of the first row of the next block."""
    turn = np.uint64(rows[first]) >> np.uint64(TURN_BITS)
    below, above = first, min(last, first + np.uint64(TURN))
    while below < above:
        middle = (below + above) >> ONE
        if np.uint64(rows[middle]) >> np.uint64(TURN_BITS) == turn:
            below = middle + ONE
        else:
            above = middle
    return below


@kernel
def copy_line(source, target):
    """Copy an array; an assignment of a slice would need Python at run time."""
    for k in range(np.uint64(len(target))):
        target[k] = source[k]


@kernel
def clear_lines(lines):
    """Set all entries of a two-dimensional array to zero."""
    for line in range(np.uint64(len(lines))):
        for k in range(np.uint64(lines.shape[1])):
            lines[line, k] = 0


@kernel
def clear_turns(sums, thread, n_threads):
    for turn in range(thread, len(sums), n_threads):
        clear_lines(sums[turn])


@kernel
def round_gradients(shared, local, settings, layouts, tree, seed, thread, n_threads, locks):
    """Round the gradients and hessians of the thread's rows, on a scale on which no sum can overflow."""
    sums = shared.turn_sums
    clear_turns(sums, thread, n_threads)
    measure_turns(shared.gradients[tree], shared.hessians[tree], local, sums)
    wait(shared.barrier, thread, n_threads, locks)
    round_on_scale(shared, local, settings, layouts, tree, seed, sums, thread)
    wait(shared.barrier, thread, n_threads, locks)


@kernel
def round_on_scale(shared, local, settings, layouts, tree, seed, sums, thread):
    """Choose the scale by the sums of all blocks of rows, and round the gradients of the thread's rows on it."""
    gradients, hessians = shared.gradients[tree], shared.hessians[tree]
    g_size = h_size = n_rows = g_squares = 0.0
    most, least = -np.inf, np.inf
    for turn in range(len(sums)):
        g_size += sums[turn, 0, 0]
        h_size += sums[turn, 0, 1]
        n_rows += sums[turn, 2, 0]
        g_squares += sums[turn, 2, 1]
        if sums[turn, 2, 0] > 0.0:
            most, least = max(most, sums[turn, 1, 0]), min(least, sums[turn, 1, 1])
    alike = most == least
    layout = layouts[0 if n_rows <= np.float64(layouts[0, N_MASK]) and not alike else 1]
    # Rounding can add 1 per row.
    g_limit = 2.0 ** np.float64(63 - layout[G_SHIFT]) - n_rows - 2.0
    h_limit = 2.0 ** np.float64(layout[G_SHIFT] - layout[H_SHIFT]) - n_rows - 2.0
    g_scale = g_limit / max(g_size, 1e-290)
    h_scale = 1.0 / max(most, 1e-290) if alike else h_limit / max(h_size, 1e-290)
    if thread == 0:
        copy_line(layout, shared.layout[tree])
        shared.scale[tree, 0], shared.scale[tree, 1] = 1.0 / g_scale, 1.0 / h_scale
        set_limits(shared.limits[tree], settings, g_scale, h_scale)
        chance = g_squares * g_scale * (g_scale / max(h_size * h_scale, 1e-290))
        shared.limits[tree, CHANCE] = min(chance, 1e290)
    roots = shared.roots[tree, thread]
    roots[ROOT_ROWS] = len(local.given)
    if alike:
        h_scale = 0.0
    roots[ROOT_SUM] = round_turns(gradients, hessians, local, g_scale, h_scale, layout, seed, shared.packed[tree])


@kernel
def set_limits(limits, settings, g_scale, h_scale):
    """Compute the limits of the search on the scale of the rounded numbers."""
    limits[LEAST_H], limits[LEAST_ROWS] = settings.min_weight * h_scale, np.float64(settings.min_rows)
    limits[L1], limits[L2] = settings.l1_regularization * g_scale, settings.l2_regularization * h_scale
    limits[SMOOTHING], limits[CATEGORY_L2] = settings.smoothing * h_scale, settings.category_l2 * h_scale


@kernel
def round_turns(gradients, hessians, local, g_scale, h_scale, layout, seed, packed):
    """Write the rounded gradients and hessians of the thread's rows; returns their sum."""
    rows, total = local.given, ZERO
    first, n_own = np.uint64(0), np.uint64(len(rows))
    while first < n_own:
        last = end_of_turn(rows, first, n_own)
        row, size = np.uint64(rows[first]), last - first
        g = contiguous_values(gradients, rows, first, last, local.near_turn[0])
        h = contiguous_values(hessians, rows, first, last, local.near_turn[1])
        if are_consecutive(rows, first, size):
            total += round_rows(g, h, rows[first:last], g_scale, h_scale, layout, seed, packed[row : row + size])
        else:
            total += round_rows(g, h, rows[first:last], g_scale, h_scale, layout, seed, local.near_packed)
            for k in range(size):
                packed[rows[first + k]] = local.near_packed[k]
        first = last
    return total


@kernel
def round_rows(gradients, hessians, rows, g_scale, h_scale, layout, seed, packed):
    """Round gradients and hessians to whole numbers in one word, up or down at random, so that the mean is preserved.

    The random bits depend on the row number and the seed only. An `h_scale` of 0 means that all hessians are equal.
    Each is then 1. Returns the sum.
    """
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    share = 1.0 / 4294967296.0
    g_shift, h_shift = layout[G_SHIFT], layout[H_SHIFT]
    n = np.int64(1 if layout[N_MASK] != 0 else 0)
    at_least = np.int64(1 if h_scale == 0.0 else 0)
    total = ZERO
    for k in range(np.uint64(len(rows))):
        bits = scramble(seed + GOLDEN * (np.uint64(rows[k]) + ONE))
        g = np.int64(np.floor(gradients[k] * g_scale + np.float64(bits >> half) * share))
        h = np.int64(np.floor(hessians[k] * h_scale + np.float64(bits & low) * share)) + at_least
        both = (g << g_shift) + (h << h_shift) + n
        packed[k] = both
        total += both
    return total


@kernel
def add_up_in_order(gradients, hessians, local, leaf_of, sums):
    """Add the thread's rows in the order of the table to the sums of their blocks and leaves.

    The sums are those of `add_up_turns`, for all leaves at the same time. Each cache line is read only once.
    """
    rows = local.given
    for i in range(np.uint64(len(rows))):
        row = rows[i]
        here = sums[np.uint64(row) >> np.uint64(TURN_BITS), np.uint64(leaf_of[row])]
        here[0] += gradients[row]
        here[1] += hessians[row]


@kernel
def add_up_turns(gradients, hessians, rows, lo, hi, sums, k):
    """Add the rows of a leaf, which are in the order of the table, to the sums of their blocks."""
    first, end = np.uint64(lo), np.uint64(hi)
    while first < end:
        turn = np.uint64(rows[first]) >> np.uint64(TURN_BITS)
        last = end_of_turn(rows, first, end)
        g = h = 0.0
        for i in range(first, last):
            g += gradients[rows[i]]
            h += hessians[rows[i]]
        sums[turn, k, 0], sums[turn, k, 1] = g, h
        first = last
