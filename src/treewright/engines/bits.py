"""Typed constants and bit sets that the kernels of all engines share."""

from __future__ import annotations

import numpy as np

from treewright.runtime.kernels import kernel

# Constants with a type, because for a literal in a call Numba would compile the callee once more.
ZERO = np.int64(0)
NONE = np.int64(-1)
TWO = np.int64(2)
THREE = np.int64(3)
YES = np.bool_(True)
NO = np.bool_(False)
ONE = np.uint64(1)
SIX = np.uint64(6)
LOW_SIX = np.uint64(63)


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
    """Set the first n entries to zero, because a slice assignment takes Numba much longer to compile."""
    for i in range(n):
        array[i] = 0


# For the position of the only set bit of a word: the upper six bits of its product with this constant are unique.
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
FIFTY_EIGHT = np.uint64(58)
PLACE_OF_BIT = np.empty(64, np.int64)
for _place in range(64):
    PLACE_OF_BIT[((0x03F79D71B4CB0A89 << _place) & 0xFFFFFFFFFFFFFFFF) >> 58] = _place
