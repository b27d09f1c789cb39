"""A small learner of each kind with a table for it, and the digest of its model."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from joblib import parallel_config

import treewright as tw
from model_digests import digest_of
from sample_tables import answers, mixed_table, target_of

NAMES = sorted(name for name in tw.__all__ if name.endswith(("Classifier", "Regressor")))


def learner_of(name: str, seed: int = 0, n_jobs: int = 1) -> Any:
    """A small learner of each kind."""
    learner = getattr(tw, name)()
    parameters = learner.get_params(deep=False)
    few = {"n_estimators": 3, "random_state": seed, "n_jobs": n_jobs, "progress": False}
    learner.set_params(**{key: value for key, value in few.items() if key in parameters})
    if "estimators" in parameters:
        tree = tw.DecisionTreeClassifier if name.endswith("Classifier") else tw.DecisionTreeRegressor
        learner.set_params(
            estimators=[("deep", tree(max_depth=4)), ("random", tree(max_features=1, random_state=seed))]
        )
    return learner


def table_for(name: str, seed: int = 0, n_rows: int = 90) -> tuple[Any, np.ndarray]:
    """A table with numbers, words and missing values; for ID3 words only."""
    table = mixed_table(n_rows, seed, missing_share=0.0 if name.startswith("ID3") else 0.2)
    frame = table[0][["kind", "wet"]].astype(str) if name.startswith("ID3") else table[0]
    return frame, target_of(getattr(tw, name), table)


def digest(name: str, X: Any, y: Any, n_jobs: int = 1, seed: int = 0) -> str:
    """The digest of a model, in which the number of threads is not a difference."""
    return digest_of(_fitted(name, X, y, n_jobs, seed))


def digests_of(name: str, X: Any, y: Any) -> tuple[str, str]:
    """The digests of a model and of its predictions of the training rows."""
    model = _fitted(name, X, y, n_jobs=1, seed=0)
    predictions = np.asarray(answers(model, X))
    plain = repr(predictions.tolist())  # shows every bit of a number
    return digest_of(model), hashlib.sha256(plain.encode()).hexdigest()


def _fitted(name: str, X: Any, y: Any, n_jobs: int, seed: int) -> Any:
    # Voting and stacking start processes otherwise, which takes seconds.
    with parallel_config(backend="threading"):
        model = learner_of(name, seed, n_jobs).fit(X, y)
    for part in (model, getattr(model, "ensemble_", None)):
        if hasattr(part, "n_jobs"):
            part.n_jobs = 1
    return model
