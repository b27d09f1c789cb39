"""Rating of two-sided splits: gain, split information and score of many splits at once, and which of them is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treewright.engines.exact.workspace import Recipe
from treewright.engines.missing_values import EVERY_VALUE, LEARNED, LEAVES_OUT, OWN_BRANCH
from treewright.insight.trace.sums import Sums, split_bits

# Scores closer than this share of the node's impurity are a tie; C4.5 has the tolerance of Weka.
TIE, CLOSE = 1e-13, 1e-6


@dataclass(frozen=True, eq=False)
class NodeRows:
    """The rows at a node, with all that decides its split.

    Attributes
    ----------
    rows : rows of the training table.
    target : the target of each of them.
    weights : their weights at this node.
    shares : the fraction of each row that is here.
    values : [row, column], of these rows.
    sums : the figures of the target.
    single : the figures of each row.
    total : the figures of all rows.
    """

    rows: np.ndarray
    target: np.ndarray
    weights: np.ndarray
    shares: np.ndarray
    values: np.ndarray
    sums: Sums
    single: np.ndarray
    total: np.ndarray
    recipe: Recipe
    criterion: str
    n_classes: int

    @cached_property
    def weight(self) -> float:
        return float(self.sums.weight(self.total))

    @cached_property
    def impurity(self) -> float:
        """The impurity by the functions of `treewright.measures`."""
        return self.sums.exact_impurity_of(self.target, self.weights)

    @cached_property
    def spread(self) -> float:
        """The impurity times the weight."""
        return float(self.base)

    @cached_property
    def base(self) -> np.ndarray:
        """The same, with all digits of the sums."""
        return self.sums.impurity(self.total)

    @cached_property
    def tie(self) -> float:
        """The largest difference of two tied scores."""
        if self.recipe.quinlan:
            return CLOSE * self.weight
        return TIE if self.uses_ratio else TIE * self.spread

    @cached_property
    def uses_ratio(self) -> bool:
        """Whether splits are compared by gain ratio; C4.5 compares only columns by it."""
        return self.criterion == "gain_ratio" and not self.recipe.quinlan

    @cached_property
    def takes_a_side(self) -> bool:
        """Whether all rows without a value go to one branch together."""
        return self.recipe.strategy in (LEARNED, OWN_BRANCH)

    @cached_property
    def leaves_out(self) -> bool:
        """Whether splits are rated on the rows with a value only."""
        return bool(LEAVES_OUT[self.recipe.strategy])

    @cached_property
    def spreads_values(self) -> bool:
        """Whether a row without a value counts as one row of each value that occurs."""
        return self.recipe.strategy == EVERY_VALUE

    def least_side(self, known: np.ndarray) -> np.ndarray:
        """C4.5's least weight of a side of a threshold: a tenth of the average class, between M and 25."""
        least = 0.1 * known / max(self.n_classes, 1)
        fixed = float(self.recipe.min_samples_leaf)
        return np.where(least <= fixed, fixed, np.minimum(least, 25.0))


@dataclass(frozen=True, eq=False)
class Sides:
    """Many splits in two sides: the figures of the known rows on both, and of the rows without a value."""

    left: np.ndarray
    right: np.ndarray
    left_rows: np.ndarray
    right_rows: np.ndarray
    missing: np.ndarray
    n_missing: np.ndarray
    base: np.ndarray  # the impurity from which that of the sides is subtracted, times the weight
    chance: float = 0.0


@dataclass(frozen=True, eq=False)
class Rated:
    """The rates of many splits; gains and bits are times the weight of the node."""

    gain: np.ndarray
    bits: np.ndarray
    score: np.ndarray
    missing_left: np.ndarray
    allowed: np.ndarray
    balance: np.ndarray


def rate_sides(node: NodeRows, sides: Sides, limited: np.ndarray | None = None) -> Rated:
    """Rate splits; rows without a value that must join a side join the better one, in a tie the heavier.

    `limited` is C4.5's least weight of each side.
    """
    heavier = node.sums.weight(sides.left) > node.sums.weight(sides.right)
    if not (node.takes_a_side and (sides.n_missing > 0).any()):
        return _rate(node, sides, heavier, None, limited)
    to_left = _rate(node, sides, np.ones(len(heavier), bool), True, limited)
    to_right = _rate(node, sides, np.zeros(len(heavier), bool), False, limited)
    first_is_left = heavier
    first, second = (_choose(first_is_left, to_left, to_right), _choose(~first_is_left, to_left, to_right))
    turned = (second.allowed & ~first.allowed) | (
        (second.allowed == first.allowed) & (second.score > first.score + node.tie)
    )
    turned &= sides.n_missing > 0
    return _choose(turned, second, first)


def _choose(which: np.ndarray, yes: Rated, no: Rated) -> Rated:
    return Rated(*(np.where(which, getattr(yes, name), getattr(no, name)) for name in Rated.__dataclass_fields__))


def _rate(
    node: NodeRows, sides: Sides, missing_left: np.ndarray, to_left: bool | None, limited: np.ndarray | None
) -> Rated:
    left, right, left_rows, right_rows = sides.left, sides.right, sides.left_rows, sides.right_rows
    if to_left is True:
        left, left_rows = left + sides.missing, left_rows + sides.n_missing
    elif to_left is False:
        right, right_rows = right + sides.missing, right_rows + sides.n_missing
    gain = np.asarray(sides.base - (node.sums.impurity(left) + node.sums.impurity(right)), dtype=np.float64)
    weights = node.sums.weight(left), node.sums.weight(right)
    bits = np.zeros(len(gain))
    if node.criterion == "gain_ratio":
        bits = split_bits(weights[0], node.weight) + split_bits(weights[1], node.weight)
        if node.leaves_out:
            missing = node.weight - weights[0] - weights[1]
            bits = bits + np.where(sides.n_missing > 0, split_bits(missing, node.weight), 0.0)
    score = gain - sides.chance
    if node.uses_ratio:
        score = np.where(bits > 0.0, score / np.where(bits > 0.0, bits, 1.0), 0.0)
    balance = np.minimum(left_rows, right_rows)
    if limited is None:
        allowed = balance >= node.recipe.min_samples_leaf
    else:
        known = np.minimum(node.sums.weight(sides.left), node.sums.weight(sides.right))
        allowed = known >= limited - CLOSE
    if node.recipe.min_weight_leaf > 0.0:
        allowed = allowed & (np.minimum(*weights) >= node.recipe.min_weight_leaf)
    return Rated(gain, bits, score, missing_left, allowed, balance)


def pick(node: NodeRows, rated: Rated) -> int:
    """The split that a scan from first to last chooses: a later one must be better by more than a tie; -1 if none."""
    places = np.flatnonzero(rated.allowed)
    if not len(places):
        return -1
    scores = rated.score[places]
    if node.criterion == "error":
        return int(places[_pick_balanced(scores, rated.balance[places], node.tie)])
    highest = np.maximum.accumulate(scores)
    records = np.flatnonzero(np.append(True, scores[1:] > highest[:-1]))
    return int(places[climb(records, scores, node.tie)])


def climb(places: Iterable[int], scores: np.ndarray, tie: float) -> int:
    """The last of the places at which a score exceeds the one before it in this climb by more than a tie.

    >>> climb(range(3), np.array([1.0, 1.0 + 1e-15, 2.0]), 1e-13)
    2
    """
    best, floor = -1, -np.inf
    for place in places:
        if scores[place] > floor:
            best, floor = int(place), scores[place] + tie
    return best


def _pick_balanced(scores: np.ndarray, balance: np.ndarray, tie: float) -> int:
    """As `climb`, but of tied splits the more balanced one: the error criterion has many ties."""
    best = 0
    for place in range(1, len(scores)):
        tied = abs(scores[place] - scores[best]) <= tie
        if scores[place] > scores[best] + tie or (tied and balance[place] > balance[best]):
            best = place
    return best
