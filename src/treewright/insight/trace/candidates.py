"""The description of the best split of each column, and in words why it won or lost."""

from __future__ import annotations

import numpy as np

from treewright.insight import measures
from treewright.insight.trace.categories import Sets
from treewright.insight.trace.choice import Option, TableView, chosen_side, tests_of
from treewright.insight.trace.rating import NodeRows
from treewright.insight.trace.steps import Branch, Candidate, Limits, Thresholds
from treewright.insight.trace.sums import ClassSums, moments, spread_of
from treewright.insight.trace.thresholds import Cuts
from treewright.insight.trace.training import Replay


def describe(
    replay: Replay, node: NodeRows, option: Option, thresholds: Thresholds | None, *, wins: bool, reason: str
) -> Candidate:
    """The best split of a column with its branches; the figures are computed by `treewright.measures`."""
    table, found = replay.table, option.found
    name = table.columns[option.column].name
    is_missing = _is_missing(node, table, option.column)
    has_missing = bool(is_missing.any())
    known = 1.0 - float(node.weights[is_missing].sum()) / node.weight if has_missing else 1.0
    if not option.has_split:
        return Candidate(name, thresholds=thresholds, known=known, n_candidates=0, wins=wins, reason=reason)
    members = _members(node, option, is_missing)
    tests = tests_of(node, table, option)
    branches = tuple(
        _branch(node, str(test), places, weights) for test, (places, weights) in zip(tests, members, strict=True)
    )
    if isinstance(found, Sets) and found.multiway:
        branches = _all_categories(replay, option.column, branches)
    rated = sum(branch.weight for branch in branches)
    before = _branch(node, "", *_rated_rows(members)).impurity if has_missing else node.impurity
    after = sum(branch.weight * branch.impurity for branch in branches) / rated
    gain = max(0.0, before - after) * rated / node.weight
    bits, ratio = None, None
    if node.criterion == "gain_ratio":
        sizes = [branch.weight for branch in branches]
        sizes += [node.weight - rated] if node.leaves_out and has_missing else []
        bits = measures.split_info(sizes)
        counted = gain - option.penalty / node.weight - option_chance(found) / node.weight
        ratio = counted / bits if bits > 1e-300 else 0.0
    return Candidate(
        column=name,
        branches=branches,
        impurity_before=before,
        impurity_after=after,
        gain=gain,
        split_info=bits,
        gain_ratio=ratio,
        penalty=option.penalty / node.weight,
        chance=option_chance(found) / node.weight,
        score=_compared_score(node, option),
        known=known,
        n_candidates=option.n_candidates,
        thresholds=thresholds,
        wins=wins,
        reason=reason,
    )


def _compared_score(node: NodeRows, option: Option) -> float:
    """The figure by which columns are compared, per row of the node unless it is a ratio."""
    if node.criterion != "gain_ratio":
        return option.score / node.weight
    return option.ratio if node.recipe.quinlan and np.isfinite(option.score) else option.score


def thresholds_of_best(
    node: NodeRows, table: TableView, options: list[Option], winner: int, limits: Limits
) -> dict[int, Thresholds]:
    """The candidate thresholds of the columns with the best scores, and always of the winner."""
    found = [(option, option.found) for option in options if isinstance(option.found, Cuts)]
    if limits.columns is not None and len(found) > limits.columns:
        found.sort(key=lambda pair: (pair[0].column != winner, -_compared_score(node, pair[0])))
        found = found[: limits.columns]
    return {option.column: _thresholds(node, table, cuts, limits.thresholds) for option, cuts in found}


def option_chance(found: Cuts | Sets) -> float:
    """The gain that the categories of a column have by chance, times the weight."""
    if isinstance(found, Cuts) or (found.apart and found.best == len(found.rated.gain) - 1):
        return 0.0
    return found.chance


def _is_missing(node: NodeRows, table: TableView, column: int) -> np.ndarray:
    line = node.values[:, column]
    return ~(line >= 0.0) if table.columns[column].is_categorical else np.isnan(line)


def _members(node: NodeRows, option: Option, is_missing: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows of each branch of the best split as places in the node, with their weights."""
    found = option.found
    if isinstance(found, Cuts):
        n_left = int(found.left_rows[found.best])
        order, known = found.order, found.known
        sides = [order[:n_left], order[n_left:known]]
        if np.isinf(found.above[found.best]):
            return _weighed(node, [order[:known], order[known:]])
        shares = _value_shares(node, found, n_left) if node.spreads_values else np.zeros(2)
        return _with_missing(node, sides, order[known:], int(not option.missing_left), shares)
    groups = found.groups
    if found.apart and found.best == len(found.rated.gain) - 1:
        return _weighed(node, [np.flatnonzero(is_missing), np.flatnonzero(~is_missing)])
    missing = np.flatnonzero(groups.of_row < 0)
    if found.multiway:
        sides = [np.flatnonzero(groups.of_row == group) for group in range(len(groups))]
        shares = np.full(len(groups), 1.0 / len(groups))
        return _with_missing(node, sides, missing, found.missing_group, shares)
    inside = chosen_side(node, found)
    is_first = np.append(inside, False)[groups.of_row]
    sides = [np.flatnonzero(is_first), np.flatnonzero(~is_first & (groups.of_row >= 0))]
    turned = bool((inside != found.chosen[found.best]).any())
    to = int(option.missing_left == turned)
    shares = np.array([inside.sum(), (~inside).sum()]) / len(groups)
    return _with_missing(node, sides, missing, to, shares)


def _weighed(node: NodeRows, sides: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(side, node.weights[side]) for side in sides]


def _value_shares(node: NodeRows, found: Cuts, n_left: int) -> np.ndarray:
    values = node.values[found.order[: found.known], found.column]
    n_values, n_first = len(np.unique(values)), len(np.unique(values[:n_left]))
    return np.array([n_first, n_values - n_first]) / max(n_values, 1)


def _with_missing(
    node: NodeRows, sides: list[np.ndarray], missing: np.ndarray, to: int, shares: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The branches with the rows without a value, where these count in the rating."""
    members = _weighed(node, sides)
    if not len(missing) or node.leaves_out or (node.takes_a_side and to < 0):
        return members
    added = np.eye(len(sides))[to] if node.takes_a_side else shares
    return [
        (np.concatenate([rows, missing]), np.concatenate([weights, share * node.weights[missing]]))
        if share > 0.0
        else (rows, weights)
        for (rows, weights), share in zip(members, added, strict=True)
    ]


def _rated_rows(members: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([rows for rows, _ in members]), np.concatenate([weights for _, weights in members])


def _branch(node: NodeRows, test: str, places: np.ndarray, weights: np.ndarray) -> Branch:
    y = node.target[places]
    if isinstance(node.sums, ClassSums):
        counts = np.bincount(y, weights, minlength=node.n_classes)
        impurity = node.sums.exact_impurity(counts)
        return Branch(test, len(places), float(weights.sum()), tuple(counts.tolist()), None, impurity)
    if not len(y):
        return Branch(test, 0, 0.0, (), None, 0.0)
    weight, mean, squares = moments(y, weights)
    return Branch(test, len(places), weight, (), mean, spread_of(weight, squares, node.criterion))


def _all_categories(replay: Replay, column: int, branches: tuple[Branch, ...]) -> tuple[Branch, ...]:
    """The branches in the order of the column's categories, as the tree has them; empty ones are left out."""
    name, categories = replay.table.columns[column].name, replay.table.columns[column].categories
    place = {f"{name} = {replay.table.columns[column].write(code)}": code for code in range(len(categories))}
    return tuple(sorted(branches, key=lambda branch: place.get(branch.test, len(categories))))


def _thresholds(node: NodeRows, table: TableView, cuts: Cuts, most: int | None) -> Thresholds:
    """The candidate thresholds; of too many the best, in ascending order."""
    column = table.columns[cuts.column]
    kept = np.flatnonzero(~np.isinf(cuts.above))
    total = len(kept)
    gains = cuts.rated.gain / node.weight
    if most is not None and total > most:
        rank = np.where(cuts.rated.allowed[kept], gains[kept], gains[kept] - 1e300)
        kept = np.sort(kept[np.argsort(-rank, kind="stable")[:most]])
    left, right = _sides(node, cuts, kept)
    scale = float(table.scales[cuts.column]) if column.is_numeric else 1.0
    known = node.values[cuts.order[: cuts.known], cuts.column]
    base = np.asarray(cuts.sides.base[kept], dtype=np.float64) if len(kept) else np.empty(0)
    weight = left[1] + right[1]
    return Thresholds(
        values=cuts.thresholds_at(kept, bool(table.fixed[cuts.column])) / scale,
        left=left[0],
        right=right[0],
        after=np.divide(base - cuts.rated.gain[kept], weight, out=np.zeros(len(kept)), where=weight > 0.0),
        gains=gains[kept],
        allowed=cuts.rated.allowed[kept],
        total=total,
        lowest=float(known[0]) / scale if len(known) else np.nan,
        highest=float(known[-1]) / scale if len(known) else np.nan,
    )


def _sides(node: NodeRows, cuts: Cuts, kept: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """For both sides, class weights or weight and mean, and the weight; rows without a value on their side."""
    found = []
    to_left = cuts.rated.missing_left[kept]
    for side, with_missing in ((cuts.sides.left, to_left), (cuts.sides.right, ~to_left)):
        sums = side[kept]
        if node.takes_a_side:
            sums = sums + np.where(with_missing[:, None], cuts.sides.missing[kept], 0.0)
        weight = np.asarray(node.sums.weight(sums), dtype=np.float64)
        if node.n_classes:
            found.append((np.asarray(sums, dtype=np.float64), weight))
            continue
        mean = getattr(node.sums, "mean", 0.0) + np.asarray(sums[:, 1] / np.where(weight > 0.0, weight, 1.0), float)
        found.append((np.stack([weight, mean], axis=1), weight))
    return tuple(found)


def reasons(node: NodeRows, table: TableView, options: list[Option], winner: int, average: float | None) -> list[str]:
    """For each column, why it won or lost."""
    return [_reason(node, table, option, options, winner, average) for option in options]


def _reason(
    node: NodeRows, table: TableView, option: Option, options: list[Option], winner: int, average: float | None
) -> str:
    if option.column == winner:
        return "wins"
    if not option.has_split:
        return _no_split(node, table, option)
    if node.recipe.quinlan:
        return _reason_of_quinlan(node, option, options, winner, average)
    if winner < 0:
        return "its gain is not above that of chance"
    best = options[winner].score
    figure = "gain ratio" if node.uses_ratio else "gain"
    if option.column < winner and abs(option.score - best) <= 1e-9 * abs(best):
        return f"the same {figure}; the order of rounding decided"
    if abs(option.score - best) <= node.tie:
        return f"tie: the same {figure}, but {table.columns[winner].name} is the first column"
    if option.score > best:
        return f"a higher {figure}, but the column was not drawn"
    if option_chance(option.found) > 0.0 and option.gain > options[winner].gain:
        return "less than the winner after the gain that its many categories have by chance"
    return f"a lower {figure}"


def _no_split(node: NodeRows, table: TableView, option: Option) -> str:
    found = option.found
    if isinstance(found, Sets) and found.reason:
        return found.reason
    if not len(found.rated.gain):
        return "all rows have the same value"
    if not found.rated.allowed.any() and isinstance(found, Sets) and found.chance > 0.0:
        return "no gain above that of chance for so many categories"
    if isinstance(found, Sets) and found.multiway:
        return f"minimum rows: fewer than two branches have {node.recipe.min_samples_leaf} rows"
    if isinstance(found, Sets) and found.rated.allowed.any():
        return "no gain above that of chance for so many categories"
    return "minimum rows: every split leaves too few rows on a side"


def _reason_of_quinlan(
    node: NodeRows, option: Option, options: list[Option], winner: int, average: float | None
) -> str:
    if not np.isfinite(option.score):
        return f"penalty: its gain is not above log2({option.n_candidates})/n"
    if average is not None and option.score < average - 0.001 * node.weight:
        return "average-gain rule: its gain is below the average"
    if winner < 0:
        return "no gain ratio above 0"
    if option.ratio <= options[winner].ratio + 1e-6 and option.ratio >= options[winner].ratio - 1e-6:
        return "tie: the same gain ratio, but not the first column"
    return "a lower gain ratio"
