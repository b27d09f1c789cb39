"""Gauss-Legendre rules on the interval from 0 to 1."""

from __future__ import annotations

import numpy as np


def quadrature(n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights that integrate the product of so many linear factors, without one of them, exactly.

    >>> points, weights = quadrature(4)
    >>> bool(abs((weights * points**3).sum() - 1 / 4) < 1e-15)
    True
    """
    points, weights = np.polynomial.legendre.leggauss(max(-(-n_columns // 2), 1))
    return (points + 1.0) / 2.0, weights / 2.0
