"""One word for a code, its row and its class: an entry of a sorted column."""

from __future__ import annotations

import numpy as np

from treewright.runtime.kernels import kernel

# A key contains the code of a row in the upper 28 bits, the row in the middle 28, and its class in the lower 8 if there
# are few enough classes. A sorted column can then be scanned without look-ups.
CODE_SHIFT = np.uint64(36)
ROW_SHIFT = np.uint64(8)


ROW_MASK = np.uint64(0xFFFFFFF)
CLASS_MASK = np.uint64(0xFF)


MAX_ROWS = 1 << 28
MAX_PACKED_CLASSES = 256


# Columns with at most this many values are stored as one byte per row and counted in histograms.
MAX_NARROW_CODES = 255


@kernel
def code_of(key):
    return np.int64(key >> CODE_SHIFT)


@kernel
def row_of(key):
    return (key >> ROW_SHIFT) & ROW_MASK


@kernel
def make_key(code, row, label):
    return (np.uint64(code) << CODE_SHIFT) | (np.uint64(row) << ROW_SHIFT) | np.uint64(label)
