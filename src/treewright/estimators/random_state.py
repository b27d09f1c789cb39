"""The parameter `random_state`: a number, a RandomState, a Generator of NumPy, or None."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def check_random(random_state: Any) -> None:
    """Refuse what cannot be drawn from."""
    if not isinstance(random_state, np.random.Generator):
        check_random_state(random_state)


def draw_seed(random_state: Any) -> int:
    """A seed of 63 bits; a generator advances, so that the next seed is another.

    >>> draw_seed(0) == draw_seed(0), draw_seed(np.random.default_rng(0)) == draw_seed(np.random.default_rng(0))
    (True, True)
    >>> generator = np.random.default_rng(0)
    >>> draw_seed(generator) == draw_seed(generator)
    False
    """
    largest = np.iinfo(np.int64).max
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(largest))
    return int(check_random_state(random_state).randint(largest, dtype=np.int64))


def open_random_state(random_state: Any) -> np.random.RandomState:
    """A RandomState for code that draws as scikit-learn does; a Generator seeds a new one."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(1 << 32))
    found: np.random.RandomState = check_random_state(random_state)
    return found
