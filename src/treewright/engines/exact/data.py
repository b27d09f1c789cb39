"""The data from which an exact tree grows: a table as ranks, with its rows, weights and target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewright.encoding.keys import MAX_PACKED_CLASSES
from treewright.encoding.ranks import Grid, rank_table
from treewright.engines.chance import has_many_categories
from treewright.engines.exact.workspace import Data
from treewright.runtime.forms import Run
from treewright.table.column import Column


def make_data(
    run: Run,
    columns: Sequence[Column],
    values: np.ndarray,
    *,
    labels: np.ndarray | None,
    numbers: np.ndarray | None,
    targets: np.ndarray | None = None,
    weights: np.ndarray,
    n_classes: int,
    grid: Grid = None,
    sort_target: bool = False,
    multiway: bool = False,
    n_threads: int = 1,
    all_sorted: bool = False,
    spreads: bool = False,
    rows_of_file: int | None = None,
    adjusts: bool = False,
    monotonic_cst: np.ndarray | None = None,
) -> Data:
    """Rank the columns of a table, and add its target (`labels` or `numbers`) and weights.

    If values are missing and the recipe `spreads` such rows, each row has a share, and a weight that changes from node
    to node. `rows_of_file` is the size of the table that contains the rows. If the recipe `adjusts`, splits of many
    categories are rated without the gain that these have by chance. `monotonic_cst` is 1 (rising), -1 (falling) or 0
    for each column.
    """
    n_rows = len(values)
    ranked = rank_table(
        run,
        columns,
        values,
        labels=labels if n_classes <= MAX_PACKED_CLASSES else None,
        sorted_targets=_targets_to_sort(numbers, targets) if sort_target else (),
        grid=grid,
        all_sorted=all_sorted,
        n_threads=n_threads,
    )
    divides = spreads and bool(ranked.has_missing.any())
    return Data(
        **ranked._asdict(),
        in_average=_counts_in_average(columns, rows_of_file or n_rows),
        adjusted=has_many_categories(columns, values) if adjusts else np.zeros(len(columns), dtype=bool),
        monotonic_cst=np.zeros(len(columns), np.int64) if monotonic_cst is None else monotonic_cst,
        rows=np.arange(n_rows, dtype=np.uint32),
        shares=np.ones(n_rows if divides else 0),
        full_weights=weights,
        weights=weights.copy() if divides else weights,
        weighted=divides or bool((weights != 1.0).any()),
        classes=labels if labels is not None else np.empty(0, np.uint16),
        n_classes=n_classes,
        numbers=numbers if numbers is not None else np.empty(0),
        targets=np.empty((0, 0)) if targets is None else targets,
        target_line=len(columns) if sort_target else -1,
        side=np.empty(n_rows, np.uint8),
        branch=np.empty(n_rows if multiway else 0, np.uint32),
    )


def _targets_to_sort(numbers: np.ndarray | None, targets: np.ndarray | None) -> list[np.ndarray]:
    """Return the targets, each as a contiguous array."""
    if targets is not None:
        return [np.ascontiguousarray(column) for column in targets.T]
    return [] if numbers is None else [numbers]


def _counts_in_average(columns: Sequence[Column], n_rows: int) -> np.ndarray:
    """Apply a rule of C4.5 (release 8): one category per three rows is too many, unless all columns have so many."""
    few = np.array([not column.is_categorical or 0.3 * n_rows - len(column.categories) > 1e-6 for column in columns])
    return few if few.any() else np.ones(len(columns), dtype=bool)
