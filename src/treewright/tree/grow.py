"""Growth of a `Tree` from a table, by the engine of the exact trees."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.engines.criteria import NAMES
from treewright.engines.criteria import OWN as OWN_CODE
from treewright.engines.exact.own_criterion import name_of
from treewright.table.column import Column
from treewright.tree.tree import OWN, Surrogates, Target, Tree

if TYPE_CHECKING:
    from treewright.engines.exact.engine import GrownSurrogates
    from treewright.engines.exact.workspace import Recipe


def grow(
    columns: tuple[Column, ...],
    values: np.ndarray,
    target: Target,
    *,
    oblivious: bool = False,
    unseen: str = "as_missing",
    rows_of_file: int | None = None,
    recipe: Recipe,
    **options: Any,
) -> Tree:
    """Grow a tree; `options` are those of `engines.exact.engine.grow_tree`."""
    from treewright.engines.exact.category_order import orders_by_value, restore_categories, sort_categories

    # In C4.5 ties are decided by the order of the column, as in Weka.
    orders = {} if recipe.quinlan else orders_by_value(columns)
    values = sort_categories(values, orders)
    if oblivious:
        from treewright.engines.exact.oblivious import grow_oblivious

        grown = grow_oblivious(columns, values, recipe=recipe, **options)
    else:
        from treewright.engines.exact.engine import grow_tree

        grown = grow_tree(columns, values, recipe=recipe, rows_of_file=rows_of_file, **options)
    grown = restore_categories(grown, orders)
    arrays = {field.name: getattr(grown, field.name) for field in fields(grown)}
    found = arrays.pop("surrogates")
    if found is not None:
        arrays["surrogates"] = take_surrogates(found)
    if recipe.criterion == OWN_CODE:
        arrays |= {"criterion": OWN, "own_criterion": name_of(recipe.own)}
    else:
        arrays["criterion"] = NAMES[recipe.criterion]
    return Tree(columns=columns, target=target, unseen=unseen, **arrays)


def take_surrogates(found: GrownSurrogates) -> Surrogates:
    """Convert the surrogates of an engine to those of a tree."""
    return Surrogates(**{field.name: getattr(found, field.name) for field in fields(found)})
