"""What a monotonic column promises."""

from __future__ import annotations

from typing import Any

import numpy as np

from sample_tables import answers


def assert_first_column_moves_answers_one_way(
    model: Any, direction: int, random: np.random.Generator, slack: float
) -> None:
    """Along the first of three columns the answer goes up, or with -1 down, wherever the others are."""
    grid = np.sort(random.normal(size=60))
    for _ in range(20):
        probe = np.column_stack([grid, *(np.full(60, number) for number in random.normal(size=2))])
        answer = answers(model, probe)
        steps = np.diff(answer[:, 1] if answer.ndim == 2 else answer)
        assert (direction * steps >= -slack).all()
