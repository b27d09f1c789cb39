"""Missing-value strategies: what becomes of rows without a value in the column that a split tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# What a split does with rows that miss its value: the codes that kernels know.
LEARNED = np.int64(0)  # all go to the better side
FRACTIONAL = np.int64(1)  # left out of the rating; a fraction of each goes down every branch
EVERY_VALUE = np.int64(2)  # each counts as a row of every value that occurs
ALL_BRANCHES = np.int64(3)  # left out of the rating; whole down every branch
OWN_BRANCH = np.int64(4)  # missing is a value like any other
SURROGATE = np.int64(5)  # left out of the rating; another column decides the side
N_CODES = 6


@dataclass(frozen=True)
class MissingStrategy:
    """A row of the table of strategies.

    Parameters
    ----------
    name : str
        What users call it.
    code : int
        What a split does with rows that miss its value. Where none do, because they were imputed or refused, it is what
        happens at prediction.
    leaves_out : bool
        Whether splits are rated by the rows with a value only.
    spreads : bool
        Whether rows without a value go down several branches.
    imputes : bool
        Whether missing values are replaced before growth.
    refuses : bool
        Whether a table with missing values is refused.
    on_bins : bool
        Whether forests can use it on bins.
    """

    name: str
    code: np.int64 = LEARNED
    leaves_out: bool = False
    spreads: bool = False
    imputes: bool = False
    refuses: bool = False
    on_bins: bool = False


# The one table of strategies.
_TABLE = (
    MissingStrategy("learned", on_bins=True),
    MissingStrategy("fractional", FRACTIONAL, leaves_out=True, spreads=True),
    MissingStrategy("majority", imputes=True),
    MissingStrategy("class_majority", imputes=True),
    MissingStrategy("every_value", EVERY_VALUE, spreads=True),
    MissingStrategy("all_branches", ALL_BRANCHES, leaves_out=True, spreads=True),
    MissingStrategy("model", imputes=True),
    MissingStrategy("branch", OWN_BRANCH),
    MissingStrategy("surrogate", SURROGATE, leaves_out=True),
    MissingStrategy("error", refuses=True, on_bins=True),
)

STRATEGIES = {strategy.name: strategy for strategy in _TABLE}


def _by_code(flag: str) -> np.ndarray:
    """A flag of the strategies, by the code that kernels know."""
    found = np.zeros(N_CODES, dtype=bool)
    for strategy in _TABLE:
        found[strategy.code] |= getattr(strategy, flag)
    return found


LEAVES_OUT = _by_code("leaves_out")
SPREADS = _by_code("spreads")
