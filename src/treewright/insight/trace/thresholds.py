"""The candidate thresholds of the numeric and ordered columns of a node, all columns at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.encoding.midpoints import midpoint, midpoints
from treewright.insight.trace.rating import NodeRows, Rated, Sides, pick, rate_sides

# Weka's C4.5 has no threshold between two values that are this close.
NO_CUT_WITHIN = 1e-5

# Columns are sorted together as long as their figures have at most this many entries.
MOST_ENTRIES = 1 << 21

# The arrays of `Sides` and of `Rated`, with an entry for each cut.
_ARRAYS = ("left", "right", "left_rows", "right_rows", "missing", "n_missing", "base")
_RATES = tuple(Rated.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class Cuts:
    """The cuts of one column, in ascending order, and last the split of known from missing values if that is tried.

    Attributes
    ----------
    below, above : the values on both sides of each cut; both infinite for known from missing values.
    sides : the figures of both sides.
    rated : their rates.
    best : the cut that a scan chooses, -1 if none is allowed.
    order : the rows of the node in the order of the column, missing values last.
    left_rows : for each cut, how many of these are on the first side.
    known : the number of rows with a value.
    """

    column: int
    below: np.ndarray
    above: np.ndarray
    sides: Sides
    rated: Rated
    best: int
    order: np.ndarray
    left_rows: np.ndarray
    known: int

    def threshold_at(self, cut: int, fixed: bool) -> float:
        """The threshold of one cut."""
        below, above = float(self.below[cut]), float(self.above[cut])
        return below if fixed else float(midpoint(below, above))

    def thresholds_at(self, cuts: np.ndarray, fixed: bool) -> np.ndarray:
        """The thresholds of cuts: midpoints, or the values below where thresholds are fixed."""
        return self.below[cuts] if fixed else midpoints(self.below[cuts], self.above[cuts])


def cuts_of_columns(node: NodeRows, columns: list[int], class_boundaries: bool) -> Iterator[Cuts]:
    """The cuts of each of these columns."""
    size = max(1, MOST_ENTRIES // max(node.single.size, 1))
    for start in range(0, len(columns), size):
        yield from _cuts_together(node, columns[start : start + size], class_boundaries)


def _cuts_together(node: NodeRows, columns: list[int], class_boundaries: bool) -> Iterator[Cuts]:
    values = node.values[:, columns]
    order = np.argsort(values, axis=0, kind="stable")
    ascending = np.take_along_axis(values, order, axis=0)
    passed = np.cumsum(node.single[order], axis=0)
    known = len(values) - np.count_nonzero(np.isnan(values), axis=0)
    differs = ascending[:-1] < ascending[1:]
    is_cut = differs
    if node.recipe.quinlan:
        is_cut = ascending[:-1] + NO_CUT_WITHIN < ascending[1:]
    if class_boundaries:
        is_cut = is_cut.copy()
        for place in range(len(columns)):
            at = np.flatnonzero(is_cut[:, place])
            is_cut[at, place] = _at_boundaries(passed[:, place], at, int(known[place]))
    # The cuts of all columns one after the other: those of a column are a slice of each array.
    of_column, at = np.nonzero(is_cut.T)
    ends = np.searchsorted(of_column, np.arange(len(columns)), side="right").tolist()
    sides = _sides(node, passed, differs, known, of_column, at)
    limited = None
    if node.recipe.quinlan:
        weights = node.weights[order]
        limited = node.least_side(np.array([weights[:n, place].sum() for place, n in enumerate(known)]))
    rated = rate_sides(node, sides, None if limited is None else limited[of_column])
    below, above = ascending[at, of_column], ascending[at + 1, of_column]
    start = 0
    for place, (column, end) in enumerate(zip(columns, ends, strict=True)):
        own, n = slice(start, end), int(known[place])
        rates = _part(rated, _RATES, own)
        cuts = Cuts(
            column,
            below[own],
            above[own],
            _part(sides, _ARRAYS, own),
            rates,
            pick(node, rates),
            order[:, place],
            at[own] + 1,
            n,
        )
        if node.takes_a_side and 0 < n < len(values):
            cuts = _with_apart(node, cuts, None if limited is None else limited[place])
        yield cuts
        start = end


def _sides(
    node: NodeRows, passed: np.ndarray, differs: np.ndarray, known: np.ndarray, of_column: np.ndarray, at: np.ndarray
) -> Sides:
    """The sides of the cuts after row `at` of each column's order."""
    n_rows = len(passed)
    left = passed[at, of_column]
    has_missing = known < n_rows
    totals = np.where((known > 0)[:, None], passed[known - 1, np.arange(len(known))], 0.0)
    missing = np.where(has_missing[:, None], node.total - totals, 0.0)
    base = np.broadcast_to(node.base, len(known))
    if node.leaves_out and has_missing.any():
        base = np.where(has_missing, node.sums.impurity(totals), base)
    if node.spreads_values and has_missing.any():
        groups = np.cumsum(differs, axis=0)
        shares = groups[at, of_column] / (1 + groups[-1])[of_column]
        spread = has_missing[of_column]
        left[spread] += missing[of_column[spread]] * shares[spread, None]
        totals = np.where(has_missing[:, None], node.total, totals)
    return Sides(
        left,
        totals[of_column] - left,
        at + 1,
        known[of_column] - at - 1,
        missing[of_column],
        (n_rows - known)[of_column],
        base[of_column],
    )


def _part(value: Any, names: tuple[str, ...], own: slice) -> Any:
    """A slice of each array of a data class."""
    return type(value)(*[getattr(value, name)[own] for name in names])


def _at_boundaries(passed: np.ndarray, at: np.ndarray, n: int) -> np.ndarray:
    """Whether the groups before and after a cut are not of the same single class (Fayyad and Irani 1992)."""
    ends = np.append(at, n - 1)
    groups = np.diff(passed[ends], axis=0, prepend=np.zeros((1, passed.shape[1])))
    single = np.count_nonzero(groups > 0.0, axis=1) == 1
    label = groups.argmax(axis=1)
    return ~(single[:-1] & single[1:] & (label[:-1] == label[1:]))


def _with_apart(node: NodeRows, cuts: Cuts, limited: np.ndarray | None) -> Cuts:
    """Add the split of known from missing values after the cuts of a column."""
    apart = known_from_missing(node, cuts.column)
    rated = _joined(cuts.rated, rate_apart(node, apart, limited), _RATES)
    return replace(
        cuts,
        sides=_joined(cuts.sides, apart, _ARRAYS),
        rated=rated,
        best=pick(node, rated),
        below=np.append(cuts.below, np.inf),
        above=np.append(cuts.above, np.inf),
        left_rows=np.append(cuts.left_rows, cuts.known),
    )


def _joined(first: Any, second: Any, names: tuple[str, ...]) -> Any:
    """The arrays of two data classes, each one after the other."""
    return type(first)(*(np.concatenate([getattr(first, name), getattr(second, name)]) for name in names))


def known_from_missing(node: NodeRows, column: int) -> Sides:
    """The sides of known and missing values of a column."""
    is_missing = np.isnan(node.values[:, column])
    missing = node.single[is_missing].sum(axis=0)
    n = int(is_missing.sum())
    return Sides(
        (node.total - missing)[None],
        missing[None],
        np.array([len(is_missing) - n]),
        np.array([n]),
        np.zeros((1, len(missing)), dtype=missing.dtype),
        np.array([0]),
        np.atleast_1d(node.sums.impurity(node.total)),
    )


def rate_apart(node: NodeRows, apart: Sides, limited: np.ndarray | None) -> Rated:
    """Rate the split of known from missing values, which are on the second side."""
    return replace(rate_sides(node, apart, limited), missing_left=np.zeros(1, dtype=bool))
