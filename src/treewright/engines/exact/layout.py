"""How a row's place in a column is packed into one word, and the constants all kernels share."""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import CLASS_MASK, MAX_PACKED_CLASSES, row_of
from treewright.runtime.jit import kernel

# Typed constants, because a literal in a call would make Numba compile the callee once more.
ZERO = np.int64(0)
NONE = np.int64(-1)
TWO = np.int64(2)
THREE = np.int64(3)
YES = np.bool_(True)
NO = np.bool_(False)

# How a column of categories is split.
MULTIWAY = np.int64(0)
SUBSET = np.int64(1)
ONE_VS_REST = np.int64(2)

# A node keeps at most this many surrogate splits, as rpart does.
MOST_SURROGATES = 5

# Kinds of split in the finished tree; tree.SplitKind has the same numbers.
LEAF_NODE = np.int64(0)
THRESHOLD_SPLIT = np.int64(1)
SUBSET_SPLIT = np.int64(2)
MULTIWAY_SPLIT = np.int64(3)


# The sides of many cuts are measured at a time: so many, or fewer if their figures would not fit into fast memory. Of
# numbers the weights stand in a line, then the means, then the variances.
LINE = 512
MOST_FIGURES = 4096

# What Weka takes for equal in C4.5, where fractions of rows round.
CLOSE = 1e-6

# Gains closer than this share of the node's weighted impurity are a tie, and the first column wins.
TIE = 1e-13

ONE = np.uint64(1)
SIX = np.uint64(6)
LOW_SIX = np.uint64(63)


@kernel
def label_of(key, work):
    """The class of a key's row: in the key itself unless there are too many classes for that."""
    if work.n_classes <= MAX_PACKED_CLASSES:
        return np.int64(key & CLASS_MASK)
    return np.int64(work.classes[row_of(key)])


# A category set of the finished tree begins with a word that tells its form: after this one follows a bit per category;
# any other is the number of categories in the set, which follow in order. A few out of many categories are short so.
BIT_SET = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def in_set(words, start, code):
    """Is this category in the set that begins at `start`?"""
    first = np.uint64(start) + ONE
    if words[start] == BIT_SET:
        return has_bit(words, first, code)
    below, above = first, first + words[start]
    wanted = np.uint64(code)
    while below < above:
        middle = (below + above) >> ONE
        if words[middle] < wanted:
            below = middle + ONE
        else:
            above = middle
    return below < first + words[start] and words[below] == wanted


@kernel
def way_in_map(words, start, code):
    """The branch of this category in the map that begins at `start`, -1 if it has none.

    A map is the number of its categories, and then each of them, in order, with its branch.
    """
    first = np.uint64(start) + ONE
    below, above = np.uint64(0), words[start]
    wanted = np.uint64(code)
    while below < above:
        middle = (below + above) >> ONE
        if words[first + middle + middle] < wanted:
            below = middle + ONE
        else:
            above = middle
    at = first + below + below
    if below < words[start] and words[at] == wanted:
        return np.int64(words[at + ONE])
    return NONE


@kernel
def has_bit(words, start, code):
    """Is this category's bit set in the words from `start` on?"""
    bit = np.uint64(code)
    return (words[np.uint64(start) + (bit >> SIX)] >> (bit & LOW_SIX)) & ONE != 0


@kernel
def set_bit(words, start, code):
    bit = np.uint64(code)
    words[np.uint64(start) + (bit >> SIX)] |= ONE << (bit & LOW_SIX)


@kernel
def clear(array, n):
    """Set the first n entries to zero. (A slice assignment takes Numba much longer to compile.)"""
    for i in range(n):
        array[i] = 0
