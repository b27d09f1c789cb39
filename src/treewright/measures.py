"""The measures of the field as plain functions: what to call to check a split by hand.

>>> from treewright.measures import information_gain
>>> round(information_gain([9, 5], [[2, 3], [4, 0], [3, 2]]), 4)
0.2467
"""

from treewright.insight.measures import (
    ThresholdLine,
    candidate_thresholds,
    chi_squared,
    entropy,
    error_rate,
    gain_ratio,
    gini,
    gini_decrease,
    information_gain,
    majority_vote_error,
    split_info,
    standard_deviation_reduction,
    sum_squared_error,
    threshold_table,
    upper_error_bound,
)

__all__ = [
    "ThresholdLine",
    "candidate_thresholds",
    "chi_squared",
    "entropy",
    "error_rate",
    "gain_ratio",
    "gini",
    "gini_decrease",
    "information_gain",
    "majority_vote_error",
    "split_info",
    "standard_deviation_reduction",
    "sum_squared_error",
    "threshold_table",
    "upper_error_bound",
]
