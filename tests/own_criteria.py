"""Criteria that a user could write."""

from __future__ import annotations

from typing import Any


def tsallis(weights: Any) -> Any:
    """Tsallis entropy with q = 1.5."""
    return (1 - ((weights / weights.sum()) ** 1.5).sum()) / 0.5
