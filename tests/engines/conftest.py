"""Growing trees straight from arrays, without the learners."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from treewright.engines.criteria import CODES, OWN
from treewright.engines.exact.layout import MULTIWAY, ONE_VS_REST, SUBSET
from treewright.engines.exact.workspace import Recipe

CATEGORICAL = {"multiway": MULTIWAY, "subset": SUBSET, "one_vs_rest": ONE_VS_REST}


@pytest.fixture(scope="session")
def make_recipe():
    """A recipe from the names that users know, or from a criterion of their own."""

    def make(criterion: str | Callable = "gini", categorical: str = "subset", **choices) -> Recipe:
        own = callable(criterion)
        recipe = Recipe(
            criterion=OWN if own else CODES[criterion],
            categorical=int(CATEGORICAL[categorical]),
            class_boundaries=False,
            random_cuts=False,
            among=1,
            max_depth=1 << 30,
            min_samples_split=2,
            min_samples_leaf=1,
            min_split_gain=0.0,
            max_leaf_nodes=0,
            max_features=1 << 30,
            quinlan=False,
            own=criterion if own else 0,
        )
        return recipe._replace(**choices)

    return make
