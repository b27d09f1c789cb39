"""Codes may be stored column by column or row by row; the trees are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from treewright.encoding.bins import bin_table, make_codes_by_row
from treewright.engines.boosting.engine import Booster, BoostRecipe
from treewright.runtime.forms import choose_compiled_form
from treewright.table.column import Column, Kind

N_ROWS = 13_000

CASES: dict[str, dict[str, Any]] = {
    "best": {},
    "level": {"growth": "level"},
    "oblivious": {"growth": "oblivious", "max_depth": 5},
    "many leaves": {"max_leaf_nodes": 150, "min_samples_leaf": 5},
    "one leaf": {"max_leaf_nodes": 1},
    "large leaves": {"min_samples_leaf": 900},
}


def boosters(n_columns: int, recipe: BoostRecipe, n_outputs: int, n_threads: int) -> list[Booster]:
    """The same table with numbers, categories and missing values, by column and by row."""
    random = np.random.default_rng(0)
    values = random.normal(size=(N_ROWS, n_columns))
    values[:, 1] = random.integers(0, 40, N_ROWS)
    values[random.random(values.shape) < 0.1] = np.nan
    columns = [Column(f"x{k}", Kind.NUMERIC) for k in range(n_columns)]
    columns[1] = Column("x1", Kind.CATEGORICAL, tuple(range(40)))
    run = choose_compiled_form()
    table = bin_table(run, columns, values, 255, 1)
    by_row = make_codes_by_row(n_columns, N_ROWS, np.empty)
    by_row[:] = table.codes
    given: dict[str, Any] = {"recipe": recipe, "n_outputs": n_outputs, "n_threads": n_threads}
    return [Booster(run, codes, table.bins, **given) for codes in (table.codes, by_row)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("n_columns", "n_outputs", "n_threads"), [(7, 1, 1), (16, 1, 2), (10, 3, 2)])
def test_trees_and_scores_do_not_depend_on_how_codes_are_stored(
    name: str, n_columns: int, n_outputs: int, n_threads: int
) -> None:
    recipe = replace(BoostRecipe(), **CASES[name])
    random = np.random.default_rng(1)
    both = boosters(n_columns, recipe, n_outputs, n_threads)
    codes = both[0].codes_by_row
    signal = np.where(codes[:, 1] % 3 == 0, 1.0, -1.0) * codes[:, 0] / 100.0
    gradients = np.stack([signal + random.normal(size=N_ROWS) for _ in range(n_outputs)])
    hessians, seeds = random.random(gradients.shape) + 0.1, np.arange(n_outputs, dtype=np.uint64)
    found = []
    for booster in both:
        scores, walked = np.zeros_like(gradients), np.zeros_like(gradients)
        trees = booster.grow(gradients, hessians, recipe, seeds=seeds, scores=scores)
        booster.add_to(booster.codes_by_row, walked)
        booster.close()
        assert np.array_equal(scores, walked)
        found.append((trees, scores))
    assert np.array_equal(found[0][1], found[1][1])
    for one, other in zip(found[0][0], found[1][0], strict=True):
        for field in vars(one):
            assert np.array_equal(getattr(one, field), getattr(other, field)), field
