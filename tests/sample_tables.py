"""Tables that the tests of several learners fit, and what belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

Columns = dict[str, list[Any]]

KINDS = ("ash", "elm", "fir", "oak", "yew")

# Rows with a missing value in either column, and a colour that `colours_and_sizes` does not have.
NEW_COLOURS_AND_SIZES: Columns = {"colour": ["red", "purple", None], "size": [None, 0.9, 0.2]}


def mixed_table(
    n_rows: int,
    seed: int = 0,
    missing_share: float = 0.2,
    *,
    with_wet: bool = True,
    class_names: Sequence[Any] = (0, 1, 2),
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, text, truth values and missing values.

    A class of three, and a number, that follow from them with noise.
    """
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n_rows),
            "age": random.integers(1, 60, n_rows).astype(float),
            "kind": np.array(KINDS)[random.integers(0, len(KINDS), n_rows)],
        }
    )
    if with_wet:
        frame["wet"] = pd.array(random.random(n_rows) < 0.4, dtype="boolean")
    hidden = frame["size"] + 0.03 * frame["age"] + 1.5 * (frame["kind"] == "elm") + random.normal(size=n_rows) * 0.5
    classes = np.array(class_names)[np.digitize(hidden, [0.5, 1.5])]
    return frame.mask(random.random(frame.shape) < missing_share), classes, hidden.to_numpy()


def colours_and_sizes(n_rows: int, seed: int = 8) -> Columns:
    """A column of words and one of numbers, both with missing values."""
    random = np.random.default_rng(seed)
    colours = random.choice(["red", "green", "blue", "?"], n_rows)
    return {
        "colour": [None if colour == "?" else str(colour) for colour in colours],
        "size": [None if size < 0.1 else float(size) for size in random.random(n_rows)],
    }


def targets_of_colours_and_sizes(columns: Columns) -> tuple[list[str], list[float]]:
    """Two classes and a number that follow from both columns."""
    numbers = [
        (2.0 if colour == "red" else 0.0) + (size or 0.0) for colour, size in zip(*columns.values(), strict=True)
    ]
    return ["big" if number > 1.2 else "small" for number in numbers], numbers


def target_of(learner: Any, table: tuple[Any, np.ndarray, np.ndarray]) -> np.ndarray:
    """The numbers of the table for a regressor or its class, the classes for anything else."""
    name = learner.__name__ if isinstance(learner, type) else type(learner).__name__
    return table[2] if "Regress" in name else table[1]


def answers(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
