"""The rows and columns that the trees of a round are grown from."""

from __future__ import annotations

import numpy as np


def draw_rows(random: np.random.Generator, n_rows: int, share: float) -> np.ndarray | None:
    """Some of the rows in order, or None for all."""
    if share >= 1.0:
        return None
    size = max(1, round(share * n_rows))
    return np.sort(random.choice(n_rows, size, replace=False)).astype(np.uint32)


def draw_by_gradient(
    random: np.random.Generator, gradients: np.ndarray, hessians: np.ndarray, large: float, small: float
) -> np.ndarray:
    """Gradient-based one-side sampling (Ke and others 2017).

    The rows with the largest gradients, and a sample of the others, weighted up for those not drawn.
    """
    n_rows = gradients.shape[1]
    sizes = np.abs(gradients).sum(axis=0)
    n_large = max(1, round(large * n_rows))
    n_small = min(max(1, round(small * n_rows)), n_rows - n_large)
    # In random order, so that of equal gradients not always the same rows are drawn.
    order = random.permutation(n_rows)
    if n_large < n_rows:
        order = order[np.argpartition(-sizes[order], n_large - 1)]
    rest = np.sort(order[n_large:])
    drawn = random.choice(rest, n_small, replace=False) if n_small else rest
    if n_small:
        gradients[:, drawn] *= len(rest) / n_small
        hessians[:, drawn] *= len(rest) / n_small
    return np.sort(np.append(order[:n_large], drawn)).astype(np.uint32)


def draw_columns(random: np.random.Generator, n_columns: int, share: float) -> np.ndarray:
    """Which columns a tree may split on."""
    allowed = np.ones(n_columns, dtype=bool)
    if share < 1.0:
        allowed[:] = False
        allowed[random.choice(n_columns, max(1, round(share * n_columns)), replace=False)] = True
    return allowed
