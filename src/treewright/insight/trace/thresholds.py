"""The candidate thresholds of the numeric and ordered columns of a node, all columns at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.encoding.midpoints import midpoints
from treewright.insight.trace.rating import NodeRows, Rated, Sides, pick, rate_sides

# Weka's C4.5 has no threshold between two values that are this close.
NO_CUT_WITHIN = 1e-5

# Columns are sorted together as long as their figures have at most this many entries.
MOST_ENTRIES = 1 << 21

_ARRAYS = ("left", "right", "left_rows", "right_rows", "missing", "n_missing", "base")


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
        return below if fixed else float(midpoints(np.array([below]), np.array([above]))[0])

    def threshold(self, fixed: bool) -> np.ndarray:
        """The threshold of each cut: the midpoint, or the value below where thresholds are fixed."""
        if fixed:
            return np.where(np.isinf(self.above), np.inf, self.below)
        finite = ~np.isinf(self.above)
        found = np.full(len(self.below), np.inf)
        found[finite] = midpoints(self.below[finite], self.above[finite])
        return found


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
    for place, column in enumerate(columns):
        n = int(known[place])
        at = np.flatnonzero(is_cut[:, place])
        groups = np.cumsum(differs[:, place])[at] if node.spreads_values else at
        sides = _sides(node, passed[:, place], at, n, groups, 1 + int(differs[:, place].sum()))
        below, above = ascending[at, place], ascending[at + 1, place]
        if class_boundaries:
            kept = _at_boundaries(passed[:, place], at, n)
            sides, at, below, above = _take(sides, kept), at[kept], below[kept], above[kept]
        yield _rate_cuts(node, column, sides, at, below, above, order[:, place], n)


def _sides(node: NodeRows, passed: np.ndarray, at: np.ndarray, n: int, groups: np.ndarray, n_values: int) -> Sides:
    left, known = passed[at], passed[n - 1] if n else np.zeros_like(node.total)
    n_missing = len(passed) - n
    missing = node.total - known if n_missing else np.zeros_like(node.total)
    base = node.sums.impurity(known) if n_missing and node.leaves_out else node.base
    if n_missing and node.spreads_values:
        left = left + missing * (groups / n_values)[:, None]
        known = node.total
    count = len(at)
    return Sides(
        left,
        known - left,
        at + 1,
        n - at - 1,
        np.broadcast_to(missing, left.shape),
        np.full(count, n_missing),
        np.broadcast_to(base, count),
    )


def _take(sides: Sides, kept: np.ndarray) -> Sides:
    return replace(sides, **{name: getattr(sides, name)[kept] for name in _ARRAYS})


def _at_boundaries(passed: np.ndarray, at: np.ndarray, n: int) -> np.ndarray:
    """Whether the groups before and after a cut are not of the same single class (Fayyad and Irani 1992)."""
    ends = np.append(at, n - 1)
    groups = np.diff(passed[ends], axis=0, prepend=np.zeros((1, passed.shape[1])))
    single = np.count_nonzero(groups > 0.0, axis=1) == 1
    label = groups.argmax(axis=1)
    return ~(single[:-1] & single[1:] & (label[:-1] == label[1:]))


def _rate_cuts(
    node: NodeRows,
    column: int,
    sides: Sides,
    at: np.ndarray,
    below: np.ndarray,
    above: np.ndarray,
    order: np.ndarray,
    n: int,
) -> Cuts:
    limited = None
    if node.recipe.quinlan:
        limited = node.least_side(node.weights[order[:n]].sum())
    rated = rate_sides(node, sides, limited)
    n_missing = len(order) - n
    if node.takes_a_side and n_missing and n:
        apart = known_from_missing(node, column)
        rates = rate_apart(node, apart, limited)
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(sides, name), getattr(apart, name)]) for name in _ARRAYS
        }
        sides = replace(sides, **joined)
        rated = Rated(
            *(np.concatenate([getattr(rated, name), getattr(rates, name)]) for name in Rated.__dataclass_fields__)
        )
        at, below, above = np.append(at, n - 1), np.append(below, np.inf), np.append(above, np.inf)
    return Cuts(column, below, above, sides, rated, pick(node, rated), order, at + 1, n)


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
