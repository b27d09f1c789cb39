"""Growing trees straight from arrays, without the learners."""

from __future__ import annotations

import pytest

from treewright.growth.criteria import CRITERIA
from treewright.growth.layout import MULTIWAY, ONE_VS_REST, SUBSET
from treewright.growth.workspace import Recipe

CATEGORICAL = {"multiway": MULTIWAY, "subset": SUBSET, "one_vs_rest": ONE_VS_REST}


@pytest.fixture(scope="session")
def make_recipe():
    """A recipe from the names that users know."""

    def make(criterion: str = "gini", categorical: str = "subset", **choices) -> Recipe:
        recipe = Recipe(
            criterion=CRITERIA[criterion],
            categorical=int(CATEGORICAL[categorical]),
            class_boundaries=False,
            random_cuts=False,
            among=1,
            max_depth=1 << 30,
            min_samples_split=2,
            min_samples_leaf=1,
            min_gain=0.0,
            max_leaf_nodes=0,
            max_features=1 << 30,
            quinlan=False,
        )
        return recipe._replace(**choices)

    return make
