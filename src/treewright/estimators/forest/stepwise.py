"""Growing a forest some trees at a time: with callbacks, with checkpoints, or added to earlier trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from treewright.encoding.bins import BinnedTable
from treewright.estimators.base import (
    Training,
)
from treewright.estimators.callbacks import Steps
from treewright.estimators.checkpoints import Checkpoint
from treewright.tree.forest import Forest
from treewright.tree.tree_list import TreeList

# Grows the trees with these numbers.
Grow = Callable[[Sequence[int]], Forest | TreeList]

OTHER_TABLE = (
    "warm_start adds trees to a forest of the same table, grown by the same criterion; "
    "set warm_start=False to begin anew"
)


def grow_in_steps(
    grow: Grow,
    earlier: Forest | TreeList | None,
    trees: Sequence[int],
    steps: Steps,
    described: dict[str, Any],
) -> Forest | TreeList:
    """Grow the same trees one after the other, until a callback asks to stop."""
    parts: list[Forest | TreeList] = [] if earlier is None else [earlier]

    def attributes() -> dict[str, Any]:
        forest = join_all(parts)
        return {"forest_": forest, "n_estimators_": len(forest), **described}

    for tree in trees:
        steps.begin()
        parts.append(grow(range(tree, tree + 1)))
        if steps.end(attributes):
            break
    return join_all(parts)


def grow_with_checkpoints(
    grow: Grow,
    n_trees: int,
    checkpoint: Checkpoint,
    known: dict[str, Any],
    training: Training,
    binned: BinnedTable | None,
) -> Forest | TreeList:
    """Grow the trees that the checkpoint does not have, some at a time; each time it is written anew."""
    forest: Forest | TreeList | None = None
    if checkpoint.found is not None:
        forest = _of_this_table(checkpoint.found.forest_, training, binned)
        if forest is None or len(forest) > n_trees:
            raise checkpoint.refusal("other trees than its parameters say")
    first = 0 if forest is None else len(forest)
    for number in range(first, n_trees, checkpoint.every):
        grown = grow(range(number, min(number + checkpoint.every, n_trees)))
        forest = grown if forest is None else joined(forest, grown)
        partial = checkpoint.unfitted()
        vars(partial).update(known, forest_=forest, n_estimators_=len(forest), data_digest_=training.digest)
        checkpoint.write(partial, {"seed": known["seed_"]})
    assert forest is not None
    return forest


def joined(earlier: Forest | TreeList, later: Forest | TreeList) -> Forest | TreeList:
    """A forest with more trees; both must be from the same table."""
    if earlier.columns == later.columns and earlier.target == later.target:
        if isinstance(earlier, TreeList) and isinstance(later, TreeList):
            return earlier.with_more(later)
        if isinstance(earlier, Forest) and isinstance(later, Forest) and earlier.can_take(later):
            return earlier.with_more(later)
    raise ValueError(OTHER_TABLE)


def join_all(parts: Sequence[Forest | TreeList]) -> Forest | TreeList:
    """All trees in one forest; halves are joined first, so that no tree is copied more than a few times."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return joined(join_all(parts[:middle]), join_all(parts[middle:]))


def _of_this_table(forest: Any, training: Training, table: BinnedTable | None) -> Forest | TreeList | None:
    """Trees from a checkpoint with the columns and the encoding of the training table, None if theirs are others."""
    columns, target = training.columns, training.target
    if not isinstance(forest, Forest | TreeList) or forest.columns != columns or forest.target != target:
        return None
    if isinstance(forest, TreeList):
        return TreeList(tuple(replace(tree, columns=columns, target=target) for tree in forest))
    if table is None or not np.array_equal(forest.bins.cuts, table.bins.cuts):
        return None
    return replace(forest, columns=columns, target=target, bins=table.bins)
