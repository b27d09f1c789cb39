"""A table is encoded once per fit, whatever a fit does with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from treewright import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from treewright.encoding import bins


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often bins are placed, and how many cells are coded."""
    found = {"placed": 0, "cells": 0}
    place, code = bins.place_bins, bins.code_rows

    def place_and_count(*arguments: Any, **options: Any) -> Any:
        found["placed"] += 1
        return place(*arguments, **options)

    def code_and_count(run: Any, with_bins: Any, values: Any, *arguments: Any, **options: Any) -> Any:
        found["cells"] += values.size
        return code(run, with_bins, values, *arguments, **options)

    monkeypatch.setattr(bins, "place_bins", place_and_count)
    monkeypatch.setattr(bins, "code_rows", code_and_count)
    return found


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(oob_score=True, random_state=0, n_estimators=20),
        RandomForestRegressor(oob_score=True, quantiles=True, random_state=0, n_estimators=20),
        ExtraTreesClassifier(random_state=0, n_estimators=20),
        GradientBoostingClassifier(random_state=0, n_estimators=5),
        GradientBoostingRegressor(random_state=0, n_estimators=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_places_bins_and_codes_every_cell_once(model: Any, counted: dict[str, int]) -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 6))
    model.fit(X, (X[:, 0] > 0).astype(int))
    assert counted == {"placed": 1, "cells": X.size}
