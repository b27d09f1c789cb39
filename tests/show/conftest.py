"""Trees of each kind for the tests of text and rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from treewright.table.column import Column, Kind, Unit
from treewright.tree import Target, Tree

EDIBLE = Target("edible", ("no", "yes"))


@pytest.fixture
def iris_tree(plant: Callable[..., Tree]) -> Tree:
    """Thresholds on two columns, one of them tested three times on one path."""
    columns = [Column("petal_length", Kind.NUMERIC), Column("petal_width", Kind.NUMERIC)]
    inner = ("petal_length", 4.75, [[0, 44, 0], ("petal_width", 1.75, [[0, 5, 2], [0, 1, 10]])])
    long = ("petal_length", 5.05, [inner, [0, 0, 38]])
    target = Target("species", ("setosa", "versicolor", "virginica"))
    return plant(columns, target, ("petal_length", 2.45, [[50, 0, 0], long], 1))


@pytest.fixture
def date_tree(plant: Callable[..., Tree]) -> Tree:
    day = Column("picked", Kind.NUMERIC, unit=Unit.DATE)
    late = ("picked", 10988.5, [[1, 2], [3, 0]])
    return plant([day], EDIBLE, ("picked", 10957, [[0, 4], late]))


@pytest.fixture
def ordered_tree(plant: Callable[..., Tree]) -> Tree:
    size = Column("size", Kind.ORDERED, ("small", "medium", "large", "huge"))
    larger = ("size", 2, [[0, 4], [3, 0]])
    return plant([size], EDIBLE, ("size", 0, [[2, 0], larger]))


@pytest.fixture
def subset_tree(plant: Callable[..., Tree]) -> Tree:
    """Sets of categories, narrowed down along the path."""
    color = Column("color", Kind.CATEGORICAL, ("red", "green", "blue", "black", "white", "grey"))
    dark = ("color", {"blue"}, [[1, 3], [6, 0]])
    light = ("color", {"green"}, [[0, 2], [2, 0]])
    return plant([color], EDIBLE, ("color", {"blue", "black", "grey"}, [dark, light], 1))


@pytest.fixture
def empty_branch_tree(plant: Callable[..., Tree]) -> Tree:
    """The lecture's concept table: no row is cloudy."""
    sky = Column("sky", Kind.CATEGORICAL, ("sunny", "cloudy", "rainy"))
    return plant([sky], Target("enjoy", ("no", "yes")), ("sky", None, [[0, 3], [0, 0], [1, 0]]))


@pytest.fixture
def regression_tree(plant: Callable[..., Tree]) -> Tree:
    sky = Column("sky", Kind.CATEGORICAL, ("sunny", "cloudy", "rainy"))
    return plant([sky], Target("enjoyment"), ("sky", None, [[3, 0.85], [0, 0.0], [1, 0.1]]))


@pytest.fixture
def deep_tree(plant: Callable[..., Tree]) -> Tree:
    description: Any = [1, 0]
    for level in range(2000):
        description = ("width", level, [description, [0, 1]])
    return plant([Column("width", Kind.NUMERIC)], EDIBLE, description)
