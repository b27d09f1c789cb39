"""The choice of the column at a node: its best split of each column, which of them wins, and why the others lose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2

import numpy as np

from treewright.engines.exact.layout import ONE_VS_REST
from treewright.insight.trace.categories import Sets, sets_of_column
from treewright.insight.trace.rating import CLOSE, NodeRows, pick
from treewright.insight.trace.thresholds import Cuts, cuts_of_columns
from treewright.table.column import Column
from treewright.tree.tree import Test


@dataclass(frozen=True, eq=False)
class TableView:
    """What the choice needs to know of the columns.

    Attributes
    ----------
    columns : the columns of the table.
    orders : for each column of categories, their order during growth.
    adjusted : whether splits of a column must gain more than by chance.
    in_average : whether C4.5 counts the gain of a column in the average.
    fixed : whether thresholds are values themselves, not midpoints.
    scales : what C4.5 multiplies a column with very small differences by.
    class_boundaries : whether only thresholds between different classes are tried.
    """

    columns: tuple[Column, ...]
    orders: dict[int, np.ndarray]
    adjusted: np.ndarray
    in_average: np.ndarray
    fixed: np.ndarray
    scales: np.ndarray
    class_boundaries: bool


@dataclass(frozen=True, eq=False)
class Option:
    """The best split of one column at a node; gains are times the weight of the node."""

    column: int
    found: Cuts | Sets
    gain: float
    bits: float
    score: float
    penalty: float = 0.0
    n_candidates: int = 0
    ratio: float = 0.0

    @property
    def has_split(self) -> bool:
        return self.found.best >= 0

    @property
    def missing_left(self) -> bool:
        return bool(self.found.rated.missing_left[self.found.best])


def rate_columns(node: NodeRows, table: TableView) -> list[Option]:
    """The best split of each column, in the order of the table."""
    numeric = [place for place, column in enumerate(table.columns) if not column.is_categorical]
    found: dict[int, Cuts | Sets] = {
        cuts.column: cuts for cuts in cuts_of_columns(node, numeric, table.class_boundaries)
    }
    for place, column in enumerate(table.columns):
        if column.is_categorical:
            found[place] = sets_of_column(node, place, table.orders[place], bool(table.adjusted[place]))
    return [_option(node, found[place], place) for place in range(len(table.columns))]


def _option(node: NodeRows, found: Cuts | Sets, column: int) -> Option:
    rated, best = found.rated, found.best
    if best < 0:
        return Option(column, found, 0.0, 0.0, -np.inf)
    gain, bits = float(rated.gain[best]), float(rated.bits[best])
    score, count = float(rated.score[best]), int(np.count_nonzero(rated.allowed))
    if not node.recipe.quinlan:
        return Option(column, found, gain, bits, score, 0.0, count, gain / bits if bits > 0.0 else 0.0)
    return _as_quinlan(node, found, column, gain, bits)


def _as_quinlan(node: NodeRows, found: Cuts | Sets, column: int, gain: float, bits: float) -> Option:
    """C4.5: a numeric column pays log2(cuts) bits for the choice of its threshold (Quinlan 1996)."""
    values = node.values[:, column]
    known = float(node.weights[~np.isnan(values) & (values >= 0.0 if isinstance(found, Sets) else True)].sum())
    counted = 0.0 if gain * known / node.weight < CLOSE else gain
    if isinstance(found, Sets):
        ratio = counted / bits if bits > CLOSE else 0.0
        return Option(column, found, gain, bits, counted, 0.0, 1, ratio)
    n_rated = int(np.count_nonzero(found.rated.allowed & ~np.isinf(found.above)))
    penalty = log2(max(n_rated, 1))
    score = counted - penalty
    if score <= CLOSE * node.weight:
        return Option(column, found, gain, bits, -np.inf, penalty, n_rated, 0.0)
    return Option(column, found, gain, bits, score, penalty, n_rated, score / bits if bits > CLOSE else 0.0)


def choose(node: NodeRows, table: TableView, options: list[Option]) -> int:
    """The column with the best split, -1 if there is none; the first of equals."""
    if node.recipe.quinlan:
        return _choose_by_ratio(node, table, options)
    winner, best = -1, -np.inf
    for option in options:
        places = _contenders(option.found)
        scores = option.found.rated.score[places].tolist()
        if winner >= 0 and max(scores, default=-np.inf) <= best + node.tie:
            continue
        for score in scores:
            if score > best + node.tie or winner < 0:
                winner, best = option.column, score
    return winner


def _contenders(found: Cuts | Sets) -> np.ndarray:
    if isinstance(found, Sets):
        return found.contenders
    if found.best < 0:
        return np.empty(0, dtype=np.int64)
    # Only a split that is better than all before it in its column can be better than those of other columns.
    places = np.flatnonzero(found.rated.allowed)
    scores = found.rated.score[places]
    highest = np.maximum.accumulate(scores)
    return np.asarray(places[np.append(True, scores[1:] > highest[:-1])])


def _choose_by_ratio(node: NodeRows, table: TableView, options: list[Option]) -> int:
    average = average_gain(table, options)
    winner, best = -1, CLOSE
    for option in options:
        if average is None or option.score < 0.0 or option.score < average - 0.001 * node.weight:
            continue
        if option.ratio > best:
            winner, best = option.column, option.ratio + CLOSE
    return winner


def average_gain(table: TableView, options: list[Option]) -> float | None:
    """C4.5's average gain of the columns that have a split, times the weight; None if no column has one."""
    gains = [option.score for option in options if option.score >= 0.0 and table.in_average[option.column]]
    return sum(gains) / len(gains) if gains else None


def retake(node: NodeRows, option: Option, options: list[Option]) -> Option:
    """The split of the winning column, given the scores of the columns before it.

    A split that ties with an earlier column does not count, so the first split of the winning column that is better
    than those columns can come after its own best one by less than a tie.
    """
    if node.recipe.quinlan or isinstance(option.found, Sets):
        return option
    before = [other.score for other in options[: option.column] if other.has_split]
    floor = max(before, default=-np.inf)
    rated = option.found.rated
    better = replace(rated, allowed=rated.allowed & (rated.score > floor + node.tie))
    best = pick(node, better) if better.allowed.any() else option.found.best
    if best == option.found.best:
        return option
    return _option(node, replace(option.found, best=best), option.column)


def tests_of(node: NodeRows, table: TableView, option: Option) -> tuple[Test, ...]:
    """The conditions of the branches of the best split of a column."""
    column, found, best = table.columns[option.column], option.found, option.found.best
    if isinstance(found, Cuts):
        if np.isinf(found.above[best]):
            return Test(column, "is known", ()), Test(column, "is missing", ())
        threshold = found.threshold_at(best, bool(table.fixed[option.column]))
        if column.is_numeric:
            threshold /= float(table.scales[option.column])
        return Test(column, "<=", threshold), Test(column, ">", threshold)
    codes = found.groups.codes
    if found.apart and best == len(found.rated.gain) - 1:
        return Test(column, "is missing", ()), Test(column, "is known", ())
    if found.multiway:
        return tuple(Test(column, "=", (int(code),)) if code >= 0 else Test(column, "is missing", ()) for code in codes)
    inside = tuple(sorted(codes[chosen_side(node, found)].tolist()))
    known = tuple(code for code in inside if code >= 0)
    if not known:
        return Test(column, "is missing", ()), Test(column, "is known", ())
    if len(known) == 1:
        return Test(column, "=", known), Test(column, "!=", known)
    return Test(column, "in", known), Test(column, "not in", known)


def chosen_side(node: NodeRows, found: Sets) -> np.ndarray:
    """The groups of the first branch of a split in two sets: the lighter side, or a single category."""
    chosen = found.chosen[found.best]
    if found.groups.codes[-1] < 0 and (chosen == chosen[-1]).sum() == 1:
        return chosen if chosen[-1] else ~chosen
    if node.recipe.categorical == ONE_VS_REST:
        return chosen
    weights = node.sums.weight(found.groups.sums)
    return chosen if weights[chosen].sum() < weights[~chosen].sum() else ~chosen
