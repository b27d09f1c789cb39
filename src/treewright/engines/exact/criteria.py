"""Criteria: how mixed the targets of a set of rows are.

A kernel's `disorder` is the impurity of a set times its weight, so that a split's gain is the parent's disorder
minus the children's. Each formula adds positive terms only, so that two splits with the same true value agree
to a few units in the last place and the tie rule (first column wins) holds.
"""

from __future__ import annotations

from math import log, log1p, log2, sqrt

import numpy as np

from treewright.runtime.jit import kernel

INFORMATION_GAIN = 0
GAIN_RATIO = 1
GINI = 2
ERROR = 3
SQUARED_ERROR = 4
SDR = 5
ABSOLUTE_ERROR = 6
POISSON = 7
OWN = 8  # a function of the user's, see `impurity` and `own_criterion`

CRITERIA = {
    "information_gain": INFORMATION_GAIN,
    "gain_ratio": GAIN_RATIO,
    "gini": GINI,
    "error": ERROR,
    "squared_error": SQUARED_ERROR,
    "sdr": SDR,
    "absolute_error": ABSOLUTE_ERROR,
    "poisson": POISSON,
}

LN2 = log(2.0)


# The entropy of a share of k / N_CHORDS. It is concave, so the chords between these points lie below it.
N_CHORDS = 4096
CHORDS = np.array([0.0] + [-(p * log2(p) + (1 - p) * log2(1 - p)) for p in np.arange(1, N_CHORDS) / N_CHORDS] + [0.0])


@kernel
def least_bits(one, other):
    """A lower bound, nearly exact, of the entropy of two class weights times their sum; it takes no logarithm."""
    if one <= 0.0 or other <= 0.0:
        return 0.0
    total = one + other
    place = min(one, other) / total * N_CHORDS
    chord = np.uint64(place)
    rise = CHORDS[chord + np.uint64(1)] - CHORDS[chord]
    return total * (CHORDS[chord] + (place - np.float64(chord)) * rise) * (1.0 - 1e-12)


@kernel
def two_class_disorder(one, other, criterion):
    """Disorder of a set with these two class weights."""
    if one <= 0.0 or other <= 0.0:
        return 0.0
    if criterion == GINI:
        return 2.0 * one * other / (one + other)
    if criterion == ERROR:
        return min(one, other)
    return (one * log1p(other / one) + other * log1p(one / other)) / LN2


@kernel
def two_sides_disorder(left_0, left_1, right_0, right_1, criterion, counted):
    """Disorder of two sides of two classes. Of counted rows, whose products cannot overflow, gini in one division."""
    if criterion == GINI and counted:
        left, right = left_0 + left_1, right_0 + right_1
        return 2.0 * (left_0 * left_1 * right + right_0 * right_1 * left) / (left * right)
    return two_class_disorder(left_0, left_1, criterion) + two_class_disorder(right_0, right_1, criterion)


@kernel
def class_disorder(counts, total, criterion):
    """Disorder of a set with these class weights."""
    disorder = 0.0
    if total <= 0.0:
        return disorder
    if criterion == GINI:
        for count in counts:
            if count > 0.0:
                disorder += count * max(total - count, 0.0)
        return disorder / total
    if criterion == ERROR:
        largest = 0.0
        for count in counts:
            largest = max(largest, count)
        return max(total - largest, 0.0)
    for count in counts:
        if count > 0.0 and count < total:
            disorder += count * log1p((total - count) / count)
    return disorder / LN2


@kernel
def split_bits(weight, total):
    """One branch's share in the split information, in bits times the total weight."""
    if weight <= 0.0 or weight >= total:
        return 0.0
    return weight * log2(total / weight)


@kernel
def moments_disorder(weight, mean, squares, node_mean, criterion):
    """Disorder of numbers given their weight, mean and sum of squared deviations from it.

    Poisson's is the half deviance less that of the whole node, so it is never positive; a side whose mean is not
    positive cannot be described by it and gets infinity.
    """
    if weight <= 0.0:
        return 0.0
    if criterion == SQUARED_ERROR:
        return squares
    if criterion == SDR:
        return sqrt(weight * squares)
    if mean <= 0.0:
        return np.inf
    return -weight * mean * log(mean / node_mean)


@kernel
def join_moments(weight, mean, squares, other_weight, other_mean, other_squares):
    """Weight, mean and squared deviations of two sets together (Chan, Golub and LeVeque 1979)."""
    if weight <= 0.0:
        return other_weight, other_mean, other_squares
    if other_weight <= 0.0:
        return weight, mean, squares
    total = weight + other_weight
    apart = other_mean - mean
    joint_mean = mean + apart * (other_weight / total)
    return total, joint_mean, squares + other_squares + apart * apart * (weight * other_weight / total)
