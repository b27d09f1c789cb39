"""Constants that the kernels of exact trees share, and the category sets of a finished tree."""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import CLASS_MASK, MAX_PACKED_CLASSES, row_of
from treewright.engines.bits import NONE, ONE, has_bit
from treewright.runtime.kernels import kernel

# How a column of categories is split.
MULTIWAY = np.int64(0)
SUBSET = np.int64(1)
ONE_VS_REST = np.int64(2)

# A node has at most this many surrogate splits, as in rpart.
MOST_SURROGATES = 5

# Kinds of split in the finished tree; tree.SplitKind has the same numbers.
LEAF_NODE = np.int64(0)
THRESHOLD_SPLIT = np.int64(1)
SUBSET_SPLIT = np.int64(2)
MULTIWAY_SPLIT = np.int64(3)


# Number of sides of cuts that are measured at a time, or fewer if their figures would not fit into the cache. For
# numbers, the weights are in one line, then the means, then the variances.
LINE = 512
MOST_FIGURES = 4096

# With more classes than this, those that occur at a node are numbered anew, so that no loop visits the others.
MANY_CLASSES = 16

# Weka's tolerance for equality in C4.5, where fractions of rows have rounding errors.
CLOSE = 1e-6

# Gains closer than this share of the node's weighted impurity are a tie, and the first column wins.
TIE = 1e-13


@kernel
def label_of(key, work):
    """Return the class of a key's row, which is in the key itself unless there are too many classes."""
    if work.all_classes <= MAX_PACKED_CLASSES:
        label = np.int64(key & CLASS_MASK)
    else:
        label = np.int64(work.classes[row_of(key)])
    return work.class_place[label] if work.gathers else label


# A category set of the finished tree starts with a word for its form. After this word there is one bit per category.
# Any other word is the number of categories in the set, which follow in order. This form is shorter for a few out of
# many categories.
BIT_SET = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def in_set(words, start, code):
    """Is this category in the set that starts at `start`?"""
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
    """Return the branch of this category in the map that starts at `start`, -1 if it has none.

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
