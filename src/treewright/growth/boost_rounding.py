"""Rounding gradients and hessians to whole numbers, and sums of those that are not rounded, turn by turn."""

from __future__ import annotations

import numpy as np

from treewright.growth.boost_room import N_ROWS, ROOT_SUM, TURN, TURN_BITS
from treewright.growth.boost_search import (
    CATEGORY_L2,
    G_SHIFT,
    H_SHIFT,
    L1,
    L2,
    LEAST_H,
    LEAST_ROWS,
    N_MASK,
    SMOOTHING,
)
from treewright.growth.draws import GOLDEN, scramble
from treewright.growth.gate import meet
from treewright.growth.jit import kernel
from treewright.growth.layout import ONE, ZERO


@kernel
def measure_turns(gradients, hessians, rows, sums):
    """For each turn of the thread's rows: the sizes of its gradients and hessians, and the ends of the latter."""
    first, n_own = np.uint64(0), np.uint64(len(rows))
    while first < n_own:
        turn = np.uint64(rows[first]) >> np.uint64(TURN_BITS)
        last = end_of_turn(rows, first, n_own)
        g_size = h_size = g_other = h_other = 0.0
        most, least = -np.inf, np.inf
        # Two sums of each kind, because an addition has to wait for the one before it.
        for i in range(first, last - ONE, np.uint64(2)):
            row, other = rows[i], rows[i + ONE]
            g_size += abs(gradients[row])
            g_other += abs(gradients[other])
            h_size += hessians[row]
            h_other += hessians[other]
            most, least = max(most, hessians[row]), min(least, hessians[row])
            most, least = max(most, hessians[other]), min(least, hessians[other])
        row = rows[last - ONE]
        if (last - first) & ONE:
            g_size += abs(gradients[row])
            h_size += hessians[row]
            most, least = max(most, hessians[row]), min(least, hessians[row])
        sums[turn, 0, 0], sums[turn, 0, 1] = g_size + g_other, h_size + h_other
        sums[turn, 1, 0], sums[turn, 1, 1] = most, least
        sums[turn, 2, 0] = np.float64(last - first)
        first = last


@kernel
def end_of_turn(rows, first, last):
    """Where the rows of the next turn begin."""
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
def clear_turns(sums, thread, n_threads):
    for turn in range(thread, len(sums), n_threads):
        sums[turn, :, :] = 0.0


@kernel
def round_gradients(together, own, settings, layouts, seed, thread, n_threads, give_way):
    """Round the gradients and hessians of the thread's rows, on a scale on which no sum can overflow."""
    gradients, hessians, sums = together.gradients, together.hessians, together.turn_sums
    clear_turns(sums, thread, n_threads)
    measure_turns(gradients, hessians, own.rows, sums)
    meet(together.gate, n_threads, give_way)
    g_size = h_size = n_rows = 0.0
    most, least = -np.inf, np.inf
    for turn in range(len(sums)):
        g_size += sums[turn, 0, 0]
        h_size += sums[turn, 0, 1]
        n_rows += sums[turn, 2, 0]
        if sums[turn, 2, 0] > 0.0:
            most, least = max(most, sums[turn, 1, 0]), min(least, sums[turn, 1, 1])
    alike = most == least
    own.layout[:] = layouts[0 if n_rows <= np.float64(layouts[0, N_MASK]) and not alike else 1]
    layout = own.layout
    # Rounding may add 1 for each row.
    g_room = 2.0 ** np.float64(63 - layout[G_SHIFT]) - n_rows - 2.0
    h_room = 2.0 ** np.float64(layout[G_SHIFT] - layout[H_SHIFT]) - n_rows - 2.0
    g_scale = g_room / max(g_size, 1e-290)
    h_scale = 1.0 / max(most, 1e-290) if alike else h_room / max(h_size, 1e-290)
    own.scale[0], own.scale[1] = 1.0 / g_scale, 1.0 / h_scale
    limits = own.limits
    limits[LEAST_H], limits[L1], limits[L2] = (
        settings.min_weight * h_scale,
        settings.l1 * g_scale,
        settings.l2 * h_scale,
    )
    limits[SMOOTHING], limits[CATEGORY_L2] = settings.smoothing * h_scale, settings.category_l2 * h_scale
    limits[LEAST_ROWS] = np.float64(settings.min_rows)
    own.leaves[0, N_ROWS] = np.int64(n_rows)
    together.counts[thread, ROOT_SUM] = round_rows(
        gradients, hessians, own.rows, g_scale, h_scale, alike, layout, seed, together.packed
    )
    meet(together.gate, n_threads, give_way)


@kernel
def round_rows(gradients, hessians, rows, g_scale, h_scale, alike, layout, seed, packed):
    """Gradients and hessians as whole numbers in one word, rounded up or down by chance so that the mean is kept.

    Chance is drawn from the row's number and the seed alone. Returns the sum.
    """
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    share = 1.0 / 4294967296.0
    g_shift, h_shift = layout[G_SHIFT], layout[H_SHIFT]
    n = np.int64(1 if layout[N_MASK] != 0 else 0)
    total = ZERO
    for i in range(np.uint64(len(rows))):
        row = np.uint64(rows[i])
        bits = scramble(seed + GOLDEN * (row + ONE))
        g = np.int64(np.floor(gradients[row] * g_scale + np.float64(bits >> half) * share))
        h = np.int64(1)
        if not alike:
            h = np.int64(np.floor(hessians[row] * h_scale + np.float64(bits & low) * share))
        both = (g << g_shift) + (h << h_shift) + n
        packed[row] = both
        total += both
    return total


@kernel
def add_up_turns(gradients, hessians, rows, lo, hi, sums, k):
    """Add the rows of a leaf, which stand in the order of the table, to the sums of their turns."""
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
