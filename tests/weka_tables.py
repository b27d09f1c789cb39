"""The tables that come with Weka, and how Weka counts answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from treewright import read_table

ORACLES = Path(__file__).parent / "oracles"


@cache
def load_weka_table(name: str) -> tuple[Any, Any]:
    """The table and its last column, which is the target."""
    frame = read_table(ORACLES / "weka" / f"{name}.arff.gz")
    target = frame.columns[-1]
    return frame.drop(target), frame[target]


def confusion_of(y: Any, answers: np.ndarray) -> list[list[int]]:
    """How often each declared class, a line each, was answered as each."""
    pairs = list(zip(np.asarray(y).tolist(), answers.tolist(), strict=True))
    classes = list(y.domain.categories)
    return [[pairs.count((actual, said)) for said in classes] for actual in classes]
