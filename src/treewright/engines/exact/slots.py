"""The best splits found so far at a node: one, or the k best if one of them is drawn."""

from __future__ import annotations

import numpy as np

from treewright.engines.bits import NO, NONE, ZERO, set_bit
from treewright.engines.criteria import ERROR, GAIN_RATIO, IS_CONCAVE, OWN
from treewright.engines.exact.layout import CLOSE, SUBSET_SPLIT, THRESHOLD_SPLIT, TIE
from treewright.runtime.kernels import kernel


@kernel
def uses_ratio(work):
    """Are cuts compared by gain ratio? C4.5 compares only columns by it, and cuts by gain (Quinlan 1996)."""
    return work.criterion == GAIN_RATIO and not work.quinlan


@kernel
def tie_width(work):
    """Return the largest difference of two tied scores; a gain ratio is already relative; Weka's C4.5 has more."""
    if work.quinlan:
        return CLOSE * work.weight
    if work.criterion == OWN:
        return TIE * abs(work.spread) + work.own_tie * work.weight
    return TIE if uses_ratio(work) else TIE * work.spread


@kernel
def slot_floor(work):
    """Return the score that a split must exceed to change the slots."""
    last = work.among - 1
    if work.filled <= last:
        return -np.inf
    return work.slot_score[last] + tie_width(work)


@kernel
def is_better(work, at, score, balance, column):
    """Is this split better than the one in the slot? In a tie the earlier one is.

    The error criterion has so many ties that the first of equal cuts would split off row after row. The more balanced
    cut of the same column is therefore preferred.
    """
    width = tie_width(work)
    if score > work.slot_score[at] + width:
        return True
    if work.criterion != ERROR or score < work.slot_score[at] - width:
        return False
    return work.slot_column[at] == column and balance > work.slot_balance[at]


@kernel
def move_slot(work, source, target):
    work.slot_score[target] = work.slot_score[source]
    work.slot_gain[target] = work.slot_gain[source]
    work.slot_bits[target] = work.slot_bits[source]
    work.slot_column[target] = work.slot_column[source]
    work.slot_kind[target] = work.slot_kind[source]
    work.slot_cut[target] = work.slot_cut[source]
    work.slot_after[target] = work.slot_after[source]
    work.slot_drawn[target] = work.slot_drawn[source]
    work.slot_missing[target] = work.slot_missing[source]
    work.slot_balance[target] = work.slot_balance[source]
    for w in range(work.n_words):
        work.slot_words[target * work.n_words + w] = work.slot_words[source * work.n_words + w]


@kernel
def open_slot(work, score, gain, column, kind, missing_branch, balance):
    """Insert a split into the slots and return its slot, or -1 if it is not among the best.

    By a criterion that is not concave, such as one of the user, a split can be worse than none. Many categories must
    gain more than by chance.
    """
    if not IS_CONCAVE[work.criterion] and gain < -tie_width(work):
        return NONE
    if work.chance > 0.0 and score <= tie_width(work):
        return NONE
    last = work.among - 1
    if work.filled > last and not is_better(work, last, score, balance, column):
        return NONE
    at = min(work.filled, last)
    while at > 0 and is_better(work, at - 1, score, balance, column):
        move_slot(work, at - 1, at)
        at -= 1
    work.slot_score[at] = score
    work.slot_gain[at] = gain
    work.slot_bits[at] = work.bits
    work.slot_column[at] = column
    work.slot_kind[at] = kind
    work.slot_missing[at] = missing_branch
    work.slot_balance[at] = balance
    work.filled = min(work.filled + 1, last + 1)
    return at


@kernel
def keep_cut(work, score, gain, column, cut, after, missing_left, balance):
    """Enter a threshold split between two neighbouring codes."""
    at = open_slot(work, score, gain, column, THRESHOLD_SPLIT, np.int64(not missing_left), balance)
    if at < 0:
        return
    work.slot_cut[at] = cut
    work.slot_after[at] = after
    work.slot_drawn[at] = work.drawn


@kernel
def keep_missing_apart(work, score, gain, column, balance):
    """Enter the split of known from missing values: a threshold above all numbers, or an empty set of categories."""
    if work.is_number[column]:
        n_codes = work.n_codes[column]
        keep_cut(work, score, gain, column, n_codes - 1, n_codes, NO, balance)
        return
    at = open_slot(work, score, gain, column, SUBSET_SPLIT, ZERO, balance)
    for w in range(work.n_words if at >= 0 else ZERO):
        work.slot_words[at * work.n_words + w] = 0


@kernel
def keep_subset(work, n_groups, score, gain, column, missing_with_chosen, lighter_first, balance):
    """Enter a split of the categories in two: the chosen groups and the others.

    The set is the lighter side, so that categories that do not occur here follow the heavier side. A single category
    that is separated from the others remains the set. Missing values are the last group, or `missing_with_chosen` is
    their side.
    """
    chosen_weight = other_weight = 0.0
    n_codes = work.n_codes[column]
    for g in range(n_groups):
        if work.chosen[g]:
            chosen_weight += work.group_weight[g]
        else:
            other_weight += work.group_weight[g]
        if work.group_code[g] == n_codes:
            missing_with_chosen = work.chosen[g]
    turned = lighter_first and chosen_weight >= other_weight
    if work.group_code[n_groups - 1] == n_codes:
        # If missing values are alone on a side, it is the (empty) set, so that every category is on the other side.
        n_with = 0
        for g in range(n_groups - 1):
            n_with += 1 if work.chosen[g] == work.chosen[n_groups - 1] else 0
        if n_with == 0:
            turned = not work.chosen[n_groups - 1]
    at = open_slot(work, score, gain, column, SUBSET_SPLIT, np.int64(missing_with_chosen == turned), balance)
    if at < 0:
        return
    for w in range(work.n_words):
        work.slot_words[at * work.n_words + w] = 0
    for g in range(n_groups):
        if work.chosen[g] != turned and work.group_code[g] < n_codes:
            set_bit(work.slot_words, at * work.n_words, work.group_code[g])
