"""The candidate splits of a column of categories at a node: a branch per category, or two sets of categories."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewright.engines.exact.layout import MULTIWAY, ONE_VS_REST, SUBSET
from treewright.engines.missing_values import LEARNED, OWN_BRANCH
from treewright.insight.trace.rating import CLOSE, NodeRows, Rated, Sides, climb, pick, rate_sides
from treewright.insight.trace.sums import split_bits
from treewright.insight.trace.thresholds import known_from_missing, rate_apart

# Category means that differ by less, compared with the numbers themselves, differ by rounding errors.
SAME_NUMBER = 1e-13

# Up to this number of categories all partitions in two are tried if no order is known to contain the best.
MAX_EXHAUSTIVE = 10
POWER_STEPS = 24


@dataclass(frozen=True, eq=False)
class Groups:
    """The categories that occur at a node, in the order of growth; `codes` has -1 for missing values as a category."""

    column: int
    codes: np.ndarray
    of_row: np.ndarray  # the group of each row, -1 if its value is missing
    sums: np.ndarray
    rows: np.ndarray
    missing: np.ndarray
    n_missing: int

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Sets:
    """The rated splits of a column of categories.

    Attributes
    ----------
    groups : the categories that occur.
    chosen : for each split, the groups on its first side; empty for a branch per category.
    rated : the rates.
    best : the split that is chosen, -1 if none is allowed.
    contenders : the splits that compete with those of other columns.
    multiway : whether the first split has a branch per category.
    apart : whether the last split is that of known from missing values.
    chance : the gain that the categories have by chance, times the weight.
    missing_group : the group that rows without a value join in a split with a branch per category, -1 if none.
    reason : why there is no split, else empty.
    """

    groups: Groups
    chosen: np.ndarray
    rated: Rated
    best: int
    contenders: np.ndarray
    multiway: bool = False
    apart: bool = False
    chance: float = 0.0
    missing_group: int = -1
    reason: str = ""


def group_rows(node: NodeRows, column: int, order: np.ndarray, random_cuts: bool) -> Groups:
    """The groups of a column; `order` lists its categories in the order of growth."""
    codes = node.values[:, column]
    is_missing = ~(codes >= 0.0)
    place_of = np.empty(len(order) + 1, dtype=np.int64)
    place_of[order] = np.arange(len(order))
    place_of[-1] = -1
    places = place_of[np.where(is_missing, len(order), codes).astype(np.intp)]
    present, of_row = np.unique(places[~is_missing], return_inverse=True)
    group_of = np.full(len(codes), -1)
    group_of[~is_missing] = of_row
    sums = np.zeros((len(present), node.single.shape[1]), dtype=node.single.dtype)
    np.add.at(sums, of_row, node.single[~is_missing])
    rows = np.bincount(of_row, minlength=len(present))
    missing = node.single[is_missing].sum(axis=0)
    found = Groups(column, order[present], group_of, sums, rows, missing, int(is_missing.sum()))
    as_group = node.recipe.strategy == OWN_BRANCH or (
        node.recipe.strategy == LEARNED and node.recipe.categorical == SUBSET and not random_cuts
    )
    if not (as_group and found.n_missing and len(found)):
        return found
    return replace(
        found,
        codes=np.append(found.codes, -1),
        of_row=np.where(is_missing, len(present), group_of),
        sums=np.vstack([sums, missing]),
        rows=np.append(rows, found.n_missing),
        missing=np.zeros_like(missing),
        n_missing=0,
    )


def sets_of_column(node: NodeRows, column: int, order: np.ndarray, adjusted: bool) -> Sets:
    """Rate the splits of a column of categories."""
    groups = group_rows(node, column, order, random_cuts=False)
    sided = node.takes_a_side and groups.n_missing > 0
    none = Rated(*(np.empty(0, dtype=bool if name in ("missing_left", "allowed") else float) for name in _NAMES))
    found = Sets(groups, np.empty((0, len(groups)), bool), none, -1, np.empty(0, np.int64))
    if len(groups) < (1 if sided else 2):
        return replace(found, reason="all rows have the same category")
    if len(groups) > 1:
        found = _rate_categories(node, groups, adjusted)
    return _with_apart(node, found) if sided else found


_NAMES = tuple(Rated.__dataclass_fields__)


def _rate_categories(node: NodeRows, groups: Groups, adjusted: bool) -> Sets:
    base = _base(node, groups)
    share = chance_share(len(groups), int(groups.rows.sum())) if adjusted else 0.0
    chance = base * share
    if share >= 1.0:
        nothing = Rated(*(np.empty(0, dtype=bool if name in ("missing_left", "allowed") else float) for name in _NAMES))
        reason = "its categories explain everything by chance, as nearly every row has one of its own"
        return Sets(groups, np.empty((0, len(groups)), bool), nothing, -1, np.empty(0, np.int64), reason=reason)
    if node.spreads_values and groups.n_missing:
        groups = replace(groups, sums=groups.sums + groups.missing / len(groups))
    if node.recipe.categorical == MULTIWAY:
        return _multiway(node, groups, base, chance)
    if node.recipe.categorical == ONE_VS_REST:
        count = len(groups) if len(groups) > 2 else 1
        return _two_sided(node, groups, np.eye(len(groups), dtype=bool)[:count], base, chance)
    return _subsets(node, groups, base, chance)


def _base(node: NodeRows, groups: Groups) -> float:
    if groups.n_missing and node.leaves_out:
        return float(node.sums.impurity(groups.sums.sum(axis=0)))
    return float(node.sums.impurity(node.total))


def chance_share(n_groups: int, n_rows: int) -> float:
    """The share of the impurity that so many categories explain by chance: the mean and a standard deviation.

    >>> chance_share(5, 5)
    1.0
    """
    if n_groups < 2:
        return 0.0
    k, n = float(n_groups), float(n_rows)
    return float((k - 1.0 + np.sqrt(2.0 * (k - 1.0) * (n - k) / (n - 1.0))) / (n - 1.0))


def _multiway(node: NodeRows, groups: Groups, base: float, chance: float) -> Sets:
    """The split with one branch per category; at least two branches must have enough rows."""
    weights = node.sums.weight(groups.sums)
    sizes = weights + CLOSE if node.recipe.quinlan else groups.rows
    enough = (sizes >= node.recipe.min_samples_leaf) & (weights >= node.recipe.min_weight_leaf)
    missing_group = -1
    if groups.n_missing and node.recipe.strategy == LEARNED:
        missing_group = _best_missing_group(node, groups, base, chance)
    sums = groups.sums.copy()
    if missing_group >= 0:
        sums[missing_group] += groups.missing
    gain = base - float(node.sums.impurity(sums).sum())
    bits = float(split_bits(node.sums.weight(sums), node.weight).sum())
    if groups.n_missing and node.leaves_out:
        bits += float(split_bits(node.sums.weight(groups.missing[None]), node.weight)[0])
    score = gain - chance
    if node.uses_ratio:
        score = score / bits if bits > 0.0 else 0.0
    allowed = int(enough.sum()) >= 2 and not (chance > 0.0 and score <= node.tie)
    figures = (gain, bits, score, False, allowed, 0)
    rated = Rated(*(np.array([figure]) for figure in figures))
    best = 0 if allowed else -1
    contenders = np.zeros(int(allowed), np.int64)
    return Sets(groups, np.empty((1, 0), bool), rated, best, contenders, True, False, chance, missing_group)


def _best_missing_group(node: NodeRows, groups: Groups, base: float, chance: float) -> int:
    """The best group for rows without a value in a split with a branch per category; of equal ones the heaviest."""
    weights = node.sums.weight(groups.sums)
    impurities, with_missing = node.sums.impurity(groups.sums), node.sums.impurity(groups.sums + groups.missing)
    scores = base - impurities.sum() - (with_missing - impurities) - chance
    if node.uses_ratio:
        joined = node.sums.weight(groups.sums + groups.missing)
        bits = split_bits(weights, node.weight)
        all_bits = bits.sum() + split_bits(joined, node.weight) - bits
        scores = np.where(all_bits > 0.0, scores / np.where(all_bits > 0.0, all_bits, 1.0), 0.0)
    best = int(np.argmax(weights))
    for place in range(len(groups)):
        if scores[place] > scores[best] + node.tie:
            best = place
    return best


def _two_sided(node: NodeRows, groups: Groups, chosen: np.ndarray, base: float, chance: float) -> Sets:
    """Rate splits in two sets of categories."""
    sides = sides_of(groups, chosen, base, chance)
    rated = rate_sides(node, sides)
    if chance > 0.0:
        rated = replace(rated, allowed=rated.allowed & (rated.score > node.tie))
    return Sets(groups, chosen, rated, pick(node, rated), np.flatnonzero(rated.allowed), chance=chance)


def sides_of(groups: Groups, chosen: np.ndarray, base: float, chance: float) -> Sides:
    """The figures of both sides of splits in two sets of categories."""
    left = (chosen[:, :, None] * groups.sums[None]).sum(axis=1)
    rows = chosen @ groups.rows
    count = len(chosen)
    return Sides(
        left,
        groups.sums.sum(axis=0) - left,
        rows,
        groups.rows.sum() - rows,
        np.broadcast_to(groups.missing, left.shape),
        np.full(count, groups.n_missing),
        np.full(count, base),
        chance,
    )


def _subsets(node: NodeRows, groups: Groups, base: float, chance: float) -> Sets:
    """The best partition of the categories in two: along an order if that is exact, else of all."""
    is_exact = node.n_classes == 2 and not node.uses_ratio
    if not node.n_classes:
        is_exact = node.criterion != "sdr"
    found = None
    if is_exact or len(groups) > MAX_EXHAUSTIVE:
        along = _class_order(groups) if node.n_classes else _mean_order(node, groups)
        first = np.arange(1, len(groups))[:, None] > np.argsort(along)[None]
        found = _along_order(node, groups, first, base, chance)
        best = climb(range(len(first)), found.rated.score, node.tie)
        if found.rated.allowed[best] or len(groups) > MAX_EXHAUSTIVE:
            return found
    patterns = np.arange(1, 1 << (len(groups) - 1))
    chosen = (patterns[:, None] >> np.arange(len(groups))) & 1 != 0
    everything = _two_sided(node, groups, chosen, base, chance)
    if found is None or found.best < 0:
        return everything
    # The best along the order is rated before the others.
    chosen = np.vstack([found.chosen[found.best], chosen])
    return _two_sided(node, groups, chosen, base, chance)


def _along_order(node: NodeRows, groups: Groups, first: np.ndarray, base: float, chance: float) -> Sets:
    """Rate the splits along an order of the categories; only the best competes with other columns."""
    rated = rate_sides(node, sides_of(groups, first, base, chance))
    best = climb(np.flatnonzero(rated.allowed), rated.score, node.tie)
    if chance > 0.0 and best >= 0 and rated.score[best] <= node.tie:
        best = -1
    contenders = np.array([best] if best >= 0 else [], dtype=np.int64)
    return Sets(groups, first, rated, best, contenders, chance=chance)


def _class_order(groups: Groups) -> np.ndarray:
    """The groups along the main direction in which their class shares differ (Coppersmith, Hong and Hosking 1999)."""
    counts = np.asarray(groups.sums, dtype=np.float64)
    known = counts.sum(axis=0)
    weight = counts.sum(axis=1, keepdims=True)
    total = known.sum()
    direction = np.where(np.arange(len(known)) == known.argmax(), 1.0, 0.0) - known / total
    along = np.zeros(len(counts))
    for _ in range(1 if len(known) == 2 else POWER_STEPS):
        along = (counts / weight - known / total) @ direction
        turned = along @ (counts - weight * known / total)
        squares = float(turned @ turned)
        if squares <= 0.0:
            break
        direction = turned / np.sqrt(squares)
    return _sorted_groups(along, 1.0)


def _mean_order(node: NodeRows, groups: Groups) -> np.ndarray:
    """The groups by the mean of the target (Fisher 1958)."""
    means = np.asarray(groups.sums[:, 1] / groups.sums[:, 0], dtype=np.float64)
    scale = float(np.abs(means + getattr(node.sums, "mean", 0.0)).max())
    return _sorted_groups(means, scale)


def _sorted_groups(along: np.ndarray, scale: float) -> np.ndarray:
    """The order of the groups by a number; those whose numbers differ by rounding only are in their own order."""
    order = np.lexsort((np.arange(len(along)), along)).tolist()
    start = 0
    for place in range(1, len(order)):
        if along[order[place]] - along[order[start]] > SAME_NUMBER * scale:
            order[start:place] = sorted(order[start:place])
            start = place
    order[start:] = sorted(order[start:])
    return np.array(order)


def _with_apart(node: NodeRows, found: Sets) -> Sets:
    """Add the split of known from missing values."""
    limited = node.least_side(node.weights.sum()) if node.recipe.quinlan else None
    rates = rate_apart(node, known_from_missing(node, found.groups.column), limited)
    rated = Rated(*(np.concatenate([getattr(found.rated, name), getattr(rates, name)]) for name in _NAMES))
    last = len(rated.gain) - 1
    # Of two equal splits of a column, the error criterion takes the more balanced one.
    two = np.zeros(last + 1, dtype=bool)
    two[last] = rates.allowed[0]
    if found.best >= 0:
        two[found.best] = True
    best = pick(node, replace(rated, allowed=two))
    contenders = np.append(found.contenders, last) if rates.allowed[0] else found.contenders
    chosen = np.vstack([found.chosen, np.zeros((1, found.chosen.shape[1]), bool)])
    return replace(found, rated=rated, best=best, contenders=contenders, apart=True, chosen=chosen)
