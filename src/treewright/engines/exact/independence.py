"""The chi-squared test: can the distribution of the classes over the branches of a split be due to chance?"""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np

from treewright.engines.bits import clear
from treewright.engines.exact.layout import MULTIWAY_SPLIT
from treewright.runtime.kernels import kernel

# The series and the fraction below are evaluated until a term changes nothing.
MOST_STEPS = 1000
NEGLIGIBLE = 1e-15


@kernel
def chance_of_more(statistic, freedom):
    """Compute the probability that a chi-squared variable of so many degrees of freedom exceeds the statistic.

    This is the regularised upper incomplete gamma function, computed by its series below the mean, and by its continued
    fraction above (Abramowitz and Stegun 6.5.29 and 6.5.31).
    """
    if statistic <= 0.0 or freedom < 1:
        return 1.0
    a, x = 0.5 * freedom, 0.5 * statistic
    front = exp(a * log(x) - x - lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for step in range(1, MOST_STEPS):
            term *= x / (a + step)
            total += term
            if term < total * NEGLIGIBLE:
                break
        return max(1.0 - front * total, 0.0)
    tiny = 1e-300
    b = x + 1.0 - a
    c, d = 1.0 / tiny, 1.0 / b
    fraction = d
    for step in range(1, MOST_STEPS):
        factor = step * (a - step)
        b += 2.0
        d = factor * d + b
        d = 1.0 / (d if abs(d) > tiny else tiny)
        c = b + factor / c
        c = c if abs(c) > tiny else tiny
        fraction *= d * c
        if abs(d * c - 1.0) < NEGLIGIBLE:
            break
    return min(front * fraction, 1.0)


@kernel
def chance_of_split(work, node):
    """Compute the p-value of Pearson's test for a node with marked branches; rows for all branches are excluded."""
    n_children, n_classes = np.int64(work.node_n_children[node]), work.all_classes
    many = work.node_kind[node] == MULTIWAY_SPLIT
    known, weights = work.known, work.branch_weight
    clear(known, n_classes)
    clear(weights, n_children + 1)
    for i in range(work.node_lo[node], work.node_hi[node]):
        row = work.rows[i]
        to = np.int64(work.branch[row]) if many else np.int64(work.side[row])
        if to < n_children:
            known[work.classes[row]] += work.weights[row]
            weights[to] += work.weights[row]
    total, n_present, n_used = 0.0, 0, 0
    for k in range(n_classes):
        total += known[k]
        n_present += 1 if known[k] > 0.0 else 0
    statistic = 0.0
    for b in range(n_children):
        if weights[b] <= 0.0:
            continue
        n_used += 1
        clear(work.first, n_classes)
        for i in range(work.node_lo[node], work.node_hi[node]):
            row = work.rows[i]
            to = np.int64(work.branch[row]) if many else np.int64(work.side[row])
            if to == b:
                work.first[work.classes[row]] += work.weights[row]
        for k in range(n_classes):
            if known[k] > 0.0:
                expected = weights[b] * known[k] / total
                statistic += (work.first[k] - expected) * (work.first[k] - expected) / expected
    return chance_of_more(statistic, (n_used - 1) * (n_present - 1))
