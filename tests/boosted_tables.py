"""Tables that the tests of gradient boosting learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from treewright import GradientBoostingClassifier, GradientBoostingRegressor

BOTH = (GradientBoostingClassifier, GradientBoostingRegressor)


def mixed_table(n_rows: int, seed: int = 0, gaps: float = 0.2) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, text and gaps; a class of three, and a number, that follow from them with noise."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n_rows),
            "age": random.integers(1, 60, n_rows).astype(float),
            "kind": np.array(["ash", "elm", "fir", "oak", "yew"])[random.integers(0, 5, n_rows)],
        }
    )
    hidden = frame["size"] + 0.03 * frame["age"] + 1.5 * (frame["kind"] == "elm") + random.normal(size=n_rows) * 0.5
    return frame.mask(random.random(frame.shape) < gaps), np.digitize(hidden, [0.5, 1.5]), hidden.to_numpy()


def target_of(learner: Any, table: tuple[pd.DataFrame, np.ndarray, np.ndarray]) -> np.ndarray:
    return table[1] if "Classifier" in learner.__name__ else table[2]


def answers(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
