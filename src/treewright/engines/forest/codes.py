"""The codes of one column at a node of a forest's tree: sorted, listed, ordered, drawn."""

from __future__ import annotations

import numpy as np

from treewright.encoding.bins import MISSING_CODE
from treewright.engines.bits import DE_BRUIJN, FIFTY_EIGHT, LOW_SIX, ONE, PLACE_OF_BIT, SIX, ZERO, set_bit
from treewright.engines.chance import chance_share
from treewright.runtime.draws import draw_bits, draw_share
from treewright.runtime.kernels import kernel

# Up to this many rows, insertion sort is faster than a histogram.
MAX_INSERTION = 32

MISSING = np.int64(MISSING_CODE)
SIXTEEN = np.uint32(16)
LOW_SIXTEEN = np.uint32(0xFFFF)
THIRTY_TWO = np.uint64(32)


@kernel
def draw_place(state, limit):
    """Draw a whole number from 0 to limit - 1, by a multiplication instead of a division."""
    return np.int64(((draw_bits(state) >> THIRTY_TWO) * np.uint64(limit)) >> THIRTY_TWO)


@kernel
def sort_codes(work, column):
    """Sort the codes of a small node's rows, each with the position of its row in the node."""
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
def order_present(work, n_present):
    """Sort the codes that occur by their keys in `along`, and ties by code."""
    present, along = work.present, work.along
    for p in range(1, n_present):
        code = present[p]
        at = p
        while at > 0 and along[present[at - 1]] > along[code]:
            present[at] = present[at - 1]
            at -= 1
        present[at] = code


@kernel
def chance_gain(work, n_present, column):
    """Compute the gain that the categories of this column have by chance, 0 if it has few."""
    if not work.adjusted[column]:
        return 0.0
    return spread_of_node(work) * chance_share(n_present, work.hi - work.lo)


@kernel
def spread_of_node(work):
    """Compute the weighted impurity of the node: the gain of a split into pure sides."""
    if work.perfect < np.inf:
        return work.perfect - work.node_score
    stats, squares = work.near_stats, 0.0
    for i in range(np.uint64(work.hi - work.lo)):
        squares += stats[i, 1] * stats[i, 1] / stats[i, 0]
    return max(squares - work.node_score, 0.0)


@kernel
def write_set(work, column, n_present, n_first):
    """Write the set of the best split: the first codes of `present`; absent codes go to the heavier side."""
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
def gather_codes(work, column):
    """Copy the codes of the node's rows to consecutive memory; returns the lowest and the highest that are not missing.

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
def draw_point(work, column, lowest, highest):
    """Draw a threshold uniformly between the values of two codes, below that of the higher code."""
    values = work.code_values[column]
    least, most = values[lowest], values[highest]
    point = least + draw_share(work.state) * (most - least)
    if least <= point < most:
        return point
    return values[lowest + draw_place(work.state, highest - lowest)] if highest > lowest else most


@kernel
def last_code_below(work, column, point):
    """Return the highest code whose value is at most `point`, by eight steps without a branch.

    `point` is not below the value of the first code.
    """
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
def list_marked(work):
    """List the codes whose bits are set in `marks`, in order, and clear the bits; returns their number."""
    marks, present = work.marks, work.present
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
def mark_present(work, column):
    """List the codes that occur; returns their number."""
    line, rows, marks = work.codes[column], work.rows, work.marks
    for i in range(np.uint64(work.lo), np.uint64(work.hi)):
        code = np.uint64(line[rows[i]])
        marks[code >> SIX] |= ONE << (code & LOW_SIX)
    return list_marked(work)


@kernel
def draw_group(work, n_present):
    """Move codes to the front of `present`, each with probability 1/2, but not all or none; returns their number."""
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
