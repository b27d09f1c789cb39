"""From a table to a Tree, and from rows to the leaves they reach: where the tree room meets the growth room."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from treewright.table.column import Column
from treewright.tree.tree import Target, Tree


def grow(
    columns: tuple[Column, ...],
    values: np.ndarray,
    target: Target,
    *,
    oblivious: bool = False,
    **options: Any,
) -> Tree:
    """Grow a tree; `options` are those of `growth.engine.grow_tree`."""
    if oblivious:
        from treewright.growth.oblivious import grow_oblivious

        grown = grow_oblivious(columns, values, **options)
    else:
        from treewright.growth.engine import grow_tree

        grown = grow_tree(columns, values, **options)
    arrays = {field.name: getattr(grown, field.name) for field in fields(grown)}
    return Tree(columns=columns, target=target, **arrays)


def leaves_of(tree: Tree, values: np.ndarray) -> np.ndarray:
    """The leaf each row reaches; `values` as `table.read_like` returns them."""
    from treewright.growth.descend import descend
    from treewright.growth.engine import choose_form

    leaves = np.empty(len(values), dtype=np.int64)
    n_categories = np.array([len(column.categories) for column in tree.columns], dtype=np.int64)
    choose_form(values.size)(descend)(
        np.ascontiguousarray(values, dtype=np.float64),
        tree.kind,
        tree.column,
        tree.threshold,
        tree.first_child,
        tree.missing_branch,
        tree.set_start,
        tree.category_sets,
        n_categories,
        leaves,
    )
    return leaves
