"""Sorting a column of numbers once, at the door, and naming each value by its rank."""

from __future__ import annotations

import numpy as np

from treewright.growth.jit import entry, kernel
from treewright.growth.layout import make_key

DIGIT_BITS = 11
N_DIGITS = 6  # 6 x 11 bits cover 64
BUCKETS = 1 << DIGIT_BITS
SIGN = np.uint64(1 << 63)


@kernel
def sortable_bits(bits):
    """Bits of a float64, changed so that they sort as the numbers do; -0.0 has been made 0.0 before."""
    if bits & SIGN:
        return ~bits
    return bits | SIGN


@kernel
def count_digits(words, counts):
    """How often each digit value occurs, for all digit places in one pass."""
    for i in range(len(words)):
        word = words[i]
        for digit in range(N_DIGITS):
            value = (word >> np.uint64(digit * DIGIT_BITS)) & np.uint64(BUCKETS - 1)
            counts[digit, value] += np.uint32(1)


@kernel
def radix_sort(words, order, spare_words, spare_order):
    """Sort words and the row numbers beside them, stably, least significant digit first.

    Digit places where all words agree are passed over: numbers of low precision sort in a few passes.
    """
    n = np.uint64(len(words))
    counts = np.zeros((N_DIGITS, BUCKETS), np.uint32)
    count_digits(words, counts)
    for digit in range(N_DIGITS):
        shift = np.uint64(digit * DIGIT_BITS)
        if counts[digit, (words[0] >> shift) & np.uint64(BUCKETS - 1)] == n:
            continue
        position = np.uint32(0)
        for value in range(BUCKETS):
            count = counts[digit, value]
            counts[digit, value] = position
            position += count
        for i in range(n):
            value = (words[i] >> shift) & np.uint64(BUCKETS - 1)
            to = counts[digit, value]
            counts[digit, value] = to + np.uint32(1)
            spare_words[to] = words[i]
            spare_order[to] = order[i]
        words, spare_words = spare_words, words
        order, spare_order = spare_order, order
    return words, order


@entry
def rank_values(column, n_known):
    """Sort a column: the row order (missing rows last), each row's code in that order, the distinct values.

    `n_known` is the number of entries that are not NaN.
    """
    n = len(column)
    words = np.empty(n_known, np.uint64)
    order = np.empty(n, np.uint32)
    bits = column.view(np.uint64)
    known = 0
    missing = n_known
    for row in range(n):
        if np.isnan(column[row]):
            order[missing] = row
            missing += 1
            continue
        words[known] = sortable_bits(bits[row]) if column[row] != 0.0 else SIGN
        order[known] = row
        known += 1
    if n_known == 0:
        return order, np.zeros(n, np.uint32), np.empty(0)
    _, sorted_order = radix_sort(
        words, order[:n_known], np.empty(n_known, np.uint64), np.empty(n_known, np.uint32)
    )
    order[:n_known] = sorted_order
    codes = np.empty(n, np.uint32)
    distinct = 0
    for i in range(n_known):
        if i > 0 and column[order[i]] != column[order[i - 1]]:
            distinct += 1
        codes[i] = distinct
    values = np.empty(distinct + 1)
    for i in range(n_known):
        values[codes[i]] = column[order[i]]
    codes[n_known:] = distinct + 1
    return order, codes, values


@entry
def fill_keys(order, codes, labels, keys):
    """Pack the sorted column: code, row and, if `labels` is not empty, the row's class."""
    for i in range(len(order)):
        row = order[i]
        keys[i] = make_key(codes[i], row, labels[row] if len(labels) else np.uint16(0))


@entry
def fill_codes(order, codes, narrow):
    """Write the codes of a column with few values in row order, a byte each."""
    for i in range(len(order)):
        narrow[order[i]] = codes[i]


@entry
def order_by_code(codes, n_codes):
    """Rows in order of their code, stably, with the codes in that order (a counting sort)."""
    start = np.zeros(n_codes + 2, np.int64)
    for row in range(len(codes)):
        start[codes[row] + 1] += 1
    for code in range(n_codes + 1):
        start[code + 1] += start[code]
    order = np.empty(len(codes), np.uint32)
    sorted_codes = np.empty(len(codes), np.uint32)
    for row in range(len(codes)):
        at = start[codes[row]]
        start[codes[row]] = at + 1
        order[at] = row
        sorted_codes[at] = codes[row]
    return order, sorted_codes
