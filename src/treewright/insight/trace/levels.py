"""Replay of an oblivious tree: a step per level, whose split has the largest total gain in all nodes of the level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treewright.engines.exact.layout import ONE_VS_REST
from treewright.engines.missing_values import LEARNED
from treewright.insight.trace.categories import chance_share
from treewright.insight.trace.growth import Growth, measure_node, node_rows
from treewright.insight.trace.rating import NodeRows, Sides, climb, rate_sides
from treewright.insight.trace.rows import Here, divide
from treewright.insight.trace.steps import Candidate, LevelStep, Limits, NodeStep, Thresholds
from treewright.insight.trace.sums import ClassSums, number_impurity
from treewright.insight.trace.thresholds import midpoints
from treewright.insight.trace.training import Replay, values_of_growth

# Totals closer than this share of the level's impurity are a tie.
TIE_OF_LEVEL = 1e-12


@dataclass(frozen=True, eq=False)
class LevelCuts:
    """The splits of one column for a whole level: their total gains, times the weight."""

    name_of: Callable[[int], str]
    thresholds: np.ndarray  # NaN for categories
    gains: np.ndarray
    chance: float
    lowest: float = np.nan
    highest: float = np.nan

    def best(self, tie: float) -> int:
        return climb(range(len(self.gains)), self.gains, tie)


def trace_levels(replay: Replay, limits: Limits) -> list[LevelStep]:
    """A step per level of an oblivious tree."""
    growth = Growth(replay, values_of_growth(replay), limits)
    tree, training = replay.tree, replay.training
    everything = Here(np.arange(len(training.y)), training.weights, np.ones(len(training.y)))
    level: list[tuple[int, Here, tuple[str, ...]]] = [(0, everything, ())]
    steps: list[LevelStep] = []
    while level:
        steps.append(_level_step(growth, level))
        depth = int(tree.depth_of[level[0][0]])
        if tree.node(level[0][0]).is_leaf or (limits.depth is not None and depth >= limits.depth):
            break
        below = []
        for index, here, path in level:
            children, _ = divide(tree, index, here, training.values, replay.recipe.strategy)
            first = int(tree.first_child[index])
            for place, (test, rows) in enumerate(zip(tree.node(index).tests, children, strict=True)):
                below.append((first + place, rows, (*path, str(test))))
        level = below
    return steps


def _level_step(growth: Growth, level: list[tuple[int, Here, tuple[str, ...]]]) -> LevelStep:
    replay, tree = growth.replay, growth.replay.tree
    nodes = tuple(_node_step(growth, index, here, path) for index, here, path in level)
    total = sum(node.weight for node in nodes)
    impurity = sum(node.weight * node.impurity for node in nodes) / max(total, 1e-300)
    step = LevelStep(nodes[0].depth, nodes, impurity)
    first = tree.node(level[0][0])
    is_pure = not any(node.impurity > 0.0 for node in nodes)
    if is_pure or (first.is_leaf and first.depth >= replay.recipe.max_depth):
        reason = "all nodes of the level are pure" if is_pure else f"max_depth={replay.recipe.max_depth} is reached"
        return replace(step, leaf_reason=reason)
    compares = replay.rates_splits and not _is_too_special(growth, level)
    candidates = _candidates(growth, level, total, impurity) if compares else ()
    if first.is_leaf:
        return replace(step, candidates=candidates, leaf_reason=_leaf_reason(growth, candidates))
    column = first.column
    assert column is not None
    taken = int(tree.column[level[0][0]])
    candidates = tuple(
        replace(one, wins=place == taken, reason=_reason(candidates, place, taken, impurity))
        for place, one in enumerate(candidates)
    )
    gain = candidates[taken].gain if candidates else sum(node.gain * node.weight for node in nodes) / total
    others = [one.score for place, one in enumerate(candidates) if place != taken and np.isfinite(one.score)]
    return replace(
        step,
        candidates=candidates,
        winner=column.name,
        tests=tuple(str(test) for test in first.tests),
        gain=gain,
        margin=candidates[taken].score - max(others) if candidates and others else None,
    )


def _is_too_special(growth: Growth, level: list[tuple[int, Here, tuple[str, ...]]]) -> bool:
    """Whether a side of missing values belongs to the split of the level, which is not rated again here."""
    rows = np.concatenate([here.rows for _, here, _ in level])
    strategy = growth.replay.plan.strategy.name
    return strategy in ("branch", "every_value") and bool(np.isnan(growth.values[rows]).any())


def _node_step(growth: Growth, index: int, here: Here, path: tuple[str, ...]) -> NodeStep:
    """The figures of one node of a level, and the gain of the level's split there."""
    replay, tree = growth.replay, growth.replay.tree
    node = tree.node(index)
    step = measure_node(growth, node, here, path)
    if node.is_leaf or not len(here.rows):
        return step
    children, missing = divide(tree, index, here, replay.training.values, replay.recipe.strategy)
    before, weight = step.impurity, step.weight
    if missing.any() and replay.plan.strategy.leaves_out:
        known = Here(here.rows[~missing], here.weights[~missing], here.shares[~missing])
        before, weight = _impurity(growth, known), float(known.weights.sum())
        lost = here.rows[missing]
        children = [_without(child, lost) for child in children]
    after = sum(float(child.weights.sum()) * _impurity(growth, child) for child in children)
    gain = max(before * weight - after, 0.0) / step.weight if step.weight > 0.0 else 0.0
    column = node.column
    assert column is not None
    return replace(step, gain=gain, winner=column.name, tests=tuple(str(test) for test in node.tests))


def _without(here: Here, rows: np.ndarray) -> Here:
    kept = ~np.isin(here.rows, rows)
    return Here(here.rows[kept], here.weights[kept], here.shares[kept])


def _impurity(growth: Growth, here: Here) -> float:
    y, criterion = growth.replay.training.y[here.rows], growth.replay.criterion
    if not len(y):
        return 0.0
    if growth.is_classes:
        n_classes = len(growth.replay.training.target.classes)
        return ClassSums(y, n_classes, criterion).exact_impurity(np.bincount(y, here.weights, minlength=n_classes))
    return number_impurity(y, here.weights, criterion)


def _candidates(
    growth: Growth, level: list[tuple[int, Here, tuple[str, ...]]], total: float, impurity: float
) -> tuple[Candidate, ...]:
    nodes = [node_rows(growth, here) for _, here, _ in level if len(here.rows)]
    tie = TIE_OF_LEVEL * impurity * total
    found = []
    for place, column in enumerate(growth.replay.table.columns):
        cuts = _category_cuts(growth, nodes, place) if column.is_categorical else _number_cuts(growth, nodes, place)
        found.append(_candidate(column.name, cuts, total, impurity, tie, growth.limits.thresholds))
    return _with_best_thresholds(found, growth.limits.columns)


def _with_best_thresholds(candidates: list[Candidate], most: int | None) -> tuple[Candidate, ...]:
    """The candidates, with thresholds for the columns of the best scores only."""
    numeric = [place for place, one in enumerate(candidates) if one.thresholds is not None]
    best = sorted(numeric, key=lambda place: -candidates[place].score)[:most]
    return tuple(one if place in best else replace(one, thresholds=None) for place, one in enumerate(candidates))


def _candidate(name: str, cuts: LevelCuts, total: float, impurity: float, tie: float, most: int | None) -> Candidate:
    best = cuts.best(tie)
    thresholds = None if np.isnan(cuts.thresholds).all() else _thresholds(cuts, total, impurity, most)
    # Many categories must gain more than by chance; the split of known from missing values need not.
    chance = cuts.chance if best >= 0 and not cuts.name_of(best).endswith("is known") else 0.0
    if best < 0 or (chance > 0.0 and cuts.gains[best] <= chance + tie):
        reason = "all rows have the same value" if best < 0 else "no gain above that of chance for so many categories"
        return Candidate(name, thresholds=thresholds, reason=reason)
    gain = float(cuts.gains[best]) / total
    return Candidate(
        name,
        impurity_before=impurity,
        impurity_after=impurity - gain,
        gain=gain,
        chance=chance / total,
        score=gain - chance / total,
        n_candidates=len(cuts.gains),
        thresholds=thresholds,
        reason=cuts.name_of(best),
    )


def _thresholds(cuts: LevelCuts, total: float, impurity: float, most: int | None) -> Thresholds:
    kept = np.flatnonzero(np.isfinite(cuts.thresholds))
    count = len(kept)
    if most is not None and count > most:
        kept = np.sort(kept[np.argsort(-cuts.gains[kept], kind="stable")[:most]])
    gains = cuts.gains[kept] / total
    none = np.empty((len(kept), 0))
    return Thresholds(
        cuts.thresholds[kept],
        none,
        none,
        impurity - gains,
        gains,
        np.ones(len(kept), bool),
        count,
        cuts.lowest,
        cuts.highest,
    )


def _number_cuts(growth: Growth, nodes: list[NodeRows], place: int) -> LevelCuts:
    column = growth.replay.table.columns[place]
    values = np.unique(np.concatenate([node.values[:, place] for node in nodes]))
    values = values[~np.isnan(values)]
    if not len(values):
        return LevelCuts(str, np.empty(0), np.empty(0), 0.0)
    thresholds = values[:-1] if growth.replay.table.fixed[place] else midpoints(values[:-1], values[1:])
    gains = np.zeros(len(values) - 1)
    for node in nodes:
        gains += _gains_at(node, place, values[:-1])

    def name_of(cut: int) -> str:
        return f"{column.name} <= {column.write(float(thresholds[cut]))}"

    cuts = LevelCuts(name_of, thresholds, gains, 0.0, float(values[0]), float(values[-1]))
    return _with_apart(growth, nodes, place, cuts)


def _gains_at(node: NodeRows, place: int, last_below: np.ndarray) -> np.ndarray:
    """The gain of one node for cuts after each of these values."""
    line = node.values[:, place]
    order = np.argsort(line, kind="stable")
    known = len(line) - int(np.isnan(line).sum())
    passed = np.vstack([np.zeros_like(node.total), np.cumsum(node.single[order], axis=0)])
    ends = np.searchsorted(line[order[:known]], last_below, side="right")
    return _gains(node, passed[ends], passed[known], node.total - passed[known], len(line) - known)


def _gains(node: NodeRows, left: np.ndarray, known: np.ndarray, missing: np.ndarray, n_missing: int) -> np.ndarray:
    count = len(left)
    base = node.sums.impurity(known if n_missing and node.leaves_out else node.total)
    everything = np.full(count, 1 << 30)
    missing = missing if n_missing else np.zeros_like(missing)
    sides = Sides(
        left,
        known - left,
        everything,
        everything,
        np.broadcast_to(missing, left.shape),
        np.full(count, n_missing),
        np.broadcast_to(base, count),
    )
    return rate_sides(node, sides).gain


def _category_cuts(growth: Growth, nodes: list[NodeRows], place: int) -> LevelCuts:
    replay = growth.replay
    column, order = replay.table.columns[place], replay.table.orders[place]
    lines = np.concatenate([node.values[:, place] for node in nodes])
    present = np.unique(lines[lines >= 0.0]).astype(np.int64)
    codes = order[np.isin(order, present)]
    alone = replay.recipe.categorical == ONE_VS_REST
    if not len(codes):
        return LevelCuts(str, np.empty(0), np.empty(0), 0.0)
    codes = codes if alone else codes[_order_of_groups(growth, nodes, place, codes)]
    n_cuts = len(codes) if alone and len(codes) > 2 else len(codes) - 1
    gains = np.zeros(n_cuts)
    for node in nodes:
        sums = _sums_of(node, place, codes)
        left = sums[:n_cuts] if alone else np.cumsum(sums, axis=0)[:n_cuts]
        known = sums.sum(axis=0)
        n_missing = int((~(node.values[:, place] >= 0.0)).sum())
        gains += _gains(node, left, known, node.total - known, n_missing)

    def name_of(cut: int) -> str:
        inside = codes[[cut]] if alone else np.sort(codes[: cut + 1])
        words = ", ".join(column.write(code) for code in inside.tolist())
        return f"{column.name} = {words}" if len(inside) == 1 else f"{column.name} in {{{words}}}"

    chance = 0.0
    if replay.table.adjusted[place]:
        spread = sum(node.spread for node in nodes)
        chance = spread * chance_share(len(codes), int((lines >= 0.0).sum()))
    cuts = LevelCuts(name_of, np.full(n_cuts, np.nan), gains, chance)
    return _with_apart(growth, nodes, place, cuts)


def _sums_of(node: NodeRows, place: int, codes: np.ndarray) -> np.ndarray:
    """The figures of each category at a node."""
    line = node.values[:, place]
    place_of = np.full(int(codes.max()) + 2, -1)
    place_of[codes] = np.arange(len(codes))
    known = line >= 0.0
    sums = np.zeros((len(codes), node.single.shape[1]), dtype=node.single.dtype)
    np.add.at(sums, place_of[line[known].astype(np.intp)], node.single[known])
    return sums


def _order_of_groups(growth: Growth, nodes: list[NodeRows], place: int, codes: np.ndarray) -> np.ndarray:
    """Categories by the mean of the target, or by the share of the last class, over all nodes."""
    training = growth.replay.training
    goal = training.y
    if growth.is_classes:
        goal = (training.y == len(training.target.classes) - 1).astype(float)
    weight, total = np.zeros(len(codes)), np.zeros(len(codes))
    for node in nodes:
        line = node.values[:, place]
        for group, code in enumerate(codes.tolist()):
            here = line == code
            weight[group] += node.weights[here].sum()
            total[group] += (node.weights[here] * goal[node.rows[here]]).sum()
    means = total / weight
    return np.argsort(np.round(means / (np.abs(means).max() or 1.0), 12), kind="stable")


def _with_apart(growth: Growth, nodes: list[NodeRows], place: int, cuts: LevelCuts) -> LevelCuts:
    """Add the split of known from missing values."""
    missing = [~(node.values[:, place] >= -np.inf) for node in nodes]
    if growth.replay.recipe.strategy != LEARNED or not any(here.any() for here in missing):
        return cuts
    gain = 0.0
    for node, here in zip(nodes, missing, strict=True):
        lost = node.single[here].sum(axis=0)
        after = node.sums.impurity(node.total - lost) + node.sums.impurity(lost)
        gain += float(node.sums.impurity(node.total) - after)
    name, last = f"{growth.replay.table.columns[place].name} is known", len(cuts.gains)
    return replace(
        cuts,
        name_of=lambda cut: name if cut == last else cuts.name_of(cut),
        thresholds=np.append(cuts.thresholds, np.inf),
        gains=np.append(cuts.gains, gain),
    )


def _reason(candidates: tuple[Candidate, ...], place: int, taken: int, impurity: float) -> str:
    one, winner = candidates[place], candidates[taken]
    if place == taken:
        return "wins"
    if not np.isfinite(one.score):
        return one.reason
    if abs(one.score - winner.score) <= TIE_OF_LEVEL * impurity:
        return f"tie: the same total gain, but {winner.column} is the first column"
    return "a lower total gain"


def _leaf_reason(growth: Growth, candidates: tuple[Candidate, ...]) -> str:
    least = growth.replay.recipe.min_split_gain
    best = max((one.gain for one in candidates if np.isfinite(one.score)), default=None)
    if best is None:
        return "no column can be split"
    return f"the best total gain, {best:.4g} per row, is below min_split_gain={least:g}"
