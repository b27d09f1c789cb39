"""The digest of the data that a model was fitted to, `data_digest_`: columns, values, target and weights."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from treewright.runtime.threads import usable_threads
from treewright.table import read_frame
from treewright.table.column import Column
from treewright.table.digest import digest_of_table


def digest_of_training(
    columns: tuple[Column, ...],
    values: Any,
    target: np.ndarray,
    weights: np.ndarray,
    *,
    classes: Any = (),
    n_jobs: Any = None,
) -> str:
    """The digest of training rows; `classes` are the names of the labels in `target`, none for numbers.

    Classes count by name, so that the order in which a learner keeps them does not matter.
    """
    n_threads = usable_threads(n_jobs) if n_jobs is None or (isinstance(n_jobs, int) and n_jobs != 0) else 1
    named = _hashes_of_names(classes)[target] if len(classes) else target
    return digest_of_table(columns, values, (named, weights), n_threads)


def digest_of_frame(X: Any, target: np.ndarray, weights: np.ndarray, classes: Any = ()) -> str | None:
    """The digest of a table as a user has it; None if only the members of an ensemble can read it."""
    try:
        table = read_frame(X, keep_sparse=True)
    except (ValueError, TypeError):
        return None
    return digest_of_training(table.columns, table.values, target, weights, classes=classes)


def _hashes_of_names(names: Any) -> np.ndarray:
    """A whole number of 64 bits for each name."""
    starts = b"".join(hashlib.sha256(str(name).encode()).digest()[:8] for name in names)
    return np.frombuffer(starts, dtype="<u8").astype(np.uint64)
