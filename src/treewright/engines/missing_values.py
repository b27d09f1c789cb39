"""Missing-value strategies: how a split treats rows with a missing value in its column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# The codes by which kernels know how a split treats rows with a missing value.
LEARNED = np.int64(0)  # all go to the better side, or are alone on one side
FRACTIONAL = np.int64(1)  # excluded from the rating; a fraction of each goes down every branch
EVERY_VALUE = np.int64(2)  # each counts as one row of every value that occurs
ALL_BRANCHES = np.int64(3)  # excluded from the rating; each goes down every branch with its full weight
OWN_BRANCH = np.int64(4)  # missing is a value like any other
SURROGATE = np.int64(5)  # excluded from the rating; another column decides the side
N_CODES = 6


@dataclass(frozen=True)
class MissingStrategy:
    """A row of the table of strategies.

    Parameters
    ----------
    name : str
        Name for users.
    code : int
        How a split treats rows with a missing value. If there are none in training, because they were imputed or
        refused, it applies to prediction only.
    leaves_out : bool
        Whether splits are rated on the rows with a value only.
    spreads : bool
        Whether rows with a missing value go down several branches.
    imputes : bool
        Whether missing values are imputed before growth.
    refuses : bool
        Whether a table with missing values is refused.
    on_bins : bool
        Whether forests on bins support it.
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
    """Return a flag of the strategies, indexed by the code that kernels use."""
    found = np.zeros(N_CODES, dtype=bool)
    for strategy in _TABLE:
        found[strategy.code] |= getattr(strategy, flag)
    return found


LEAVES_OUT = _by_code("leaves_out")
SPREADS = _by_code("spreads")
