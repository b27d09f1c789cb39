"""Kernels that sort a numeric column once and replace each value by its rank."""

from __future__ import annotations

import numpy as np

from treewright.encoding.keys import make_key
from treewright.runtime.kernels import entry, kernel
from treewright.runtime.signatures import Bytes, Indices, Indices2, Input, Reals, Shorts, Wholes, Words

DIGIT_BITS = 11
N_DIGITS = 6  # 6 x 11 bits cover 64
BUCKETS = 1 << DIGIT_BITS
SIGN = np.uint64(1 << 63)


@kernel
def sortable_bits(bits):
    """Transform the bits of a float64 so that they sort as the numbers do; -0.0 has been replaced by 0.0 before."""
    if bits & SIGN:
        return ~bits
    return bits | SIGN


@kernel
def count_digits(words, counts):
    """Count the values of each digit, for all digits in one pass."""
    for i in range(len(words)):
        word = words[i]
        for digit in range(N_DIGITS):
            value = (word >> np.uint64(digit * DIGIT_BITS)) & np.uint64(BUCKETS - 1)
            counts[digit, value] += np.uint32(1)


@kernel
def radix_sort(words, order, spare_words, spare_order, counts):
    """Sort words and their row numbers stably, least significant digit first.

    Digits in which all words agree are skipped, so numbers of low precision are sorted in a few passes. Returns whether
    the result is in the spare arrays.
    """
    n = np.uint64(len(words))
    count_digits(words, counts)
    in_spare = False
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
        in_spare = not in_spare
    return in_spare


@entry
def rank_values(
    column: Input[Reals],
    bits: Input[Words],
    words: Words,
    spare_words: Words,
    order: Indices,
    spare_order: Indices,
    counts: Indices2,
    codes: Indices,
    values: Reals,
) -> int:
    """Sort a column: row order (missing values last), the codes in that order, and the distinct values.

    `bits` is the column's memory as unsigned words. `words` and `spare_words` have one entry per row that is not NaN.
    Returns the number of distinct values.
    """
    n, n_known = len(column), len(words)
    known, missing = 0, n_known
    for row in range(n):
        if np.isnan(column[row]):
            order[missing] = row
            missing += 1
            continue
        words[known] = sortable_bits(bits[row]) if column[row] != 0.0 else SIGN
        order[known] = row
        known += 1
    if n_known > 0 and radix_sort(words, order, spare_words, spare_order, counts):
        for i in range(n_known):
            order[i] = spare_order[i]
    distinct = -1
    for i in range(n_known):
        if i == 0 or column[order[i]] != column[order[i - 1]]:
            distinct += 1
            values[distinct] = column[order[i]]
        codes[i] = distinct
    for i in range(n_known, n):
        codes[i] = distinct + 1
    return distinct + 1


@entry
def fill_keys(order: Input[Indices], codes: Input[Indices], labels: Input[Shorts], keys: Words) -> None:
    """Pack the sorted column: code, row and, if `labels` is not empty, the row's class."""
    for i in range(len(order)):
        row = order[i]
        keys[i] = make_key(codes[i], row, labels[row] if len(labels) else np.uint16(0))


@entry
def fill_codes(order: Input[Indices], codes: Input[Indices], narrow: Bytes) -> None:
    """Write the codes of a column with few values in row order, one byte each."""
    for i in range(len(order)):
        narrow[order[i]] = codes[i]


@entry
def order_by_code(codes: Input[Indices], start: Wholes, order: Indices, sorted_codes: Indices) -> None:
    """Sort the rows by code, stably, with the codes in that order (a counting sort).

    `start` is a zeroed array with one entry more than there are codes.
    """
    for row in range(len(codes)):
        start[codes[row] + 1] += 1
    for code in range(len(start) - 1):
        start[code + 1] += start[code]
    for row in range(len(codes)):
        at = start[codes[row]]
        start[codes[row]] = at + 1
        order[at] = row
        sorted_codes[at] = codes[row]


@entry
def code_small_integers(column: Input[Reals], seen: Bytes, codes: Bytes, values: Reals) -> int:
    """Encode a column of few whole numbers in a narrow range, by three fast passes instead of a sort.

    Writes the code of each row and the distinct values. The code of a missing value is the number of distinct values.
    Returns this number, or -1 if the column is not of this kind.
    """
    low, high = np.inf, -np.inf
    for number in column:
        if np.isnan(number):
            continue
        if number != np.floor(number):
            return -1
        low, high = min(low, number), max(high, number)
    if not (low <= high and high - low < len(seen)):
        return -1
    span = np.int64(high - low) + 1
    for place in range(span):
        seen[place] = 0
    for number in column:
        if not np.isnan(number):
            seen[np.int64(number - low)] = 1
    n_distinct = 0
    for place in range(span):
        if seen[place] > 0:
            if n_distinct == len(values):
                return -1
            values[n_distinct] = low + place
            seen[place] = n_distinct
            n_distinct += 1
    for row in range(len(column)):
        number = column[row]
        codes[row] = n_distinct if np.isnan(number) else seen[np.int64(number - low)]
    return n_distinct
