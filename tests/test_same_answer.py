"""The same model every time: bit for bit, for a seed, over threads, processes, forms of the table and chunks of rows.

The order of the columns matters in training: of splits that are equally good the one of the first column is taken, and
random forests draw columns by position. In prediction columns are found by name.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewright as tw
from interruption import printed_by
from model_digests import digest_of
from properties import examples
from sample_tables import answers, mixed_table, target_of
from table_forms import WITH_NAMES, columns_of

NAMES = sorted(name for name in tw.__all__ if name.endswith(("Classifier", "Regressor")))
IN_CHUNKS = [name for name in NAMES if name.startswith(("RandomForest", "ExtraTrees", "GradientBoosting"))]
FORMS = ("dict", "rows", "pandas nullable", "polars", "arrow", "frame")


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
    model = learner_of(name, seed, n_jobs).fit(X, y)
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=1)
    return digest_of(model)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(3)
@given(seed=st.integers(0, 10_000), form=st.sampled_from(FORMS), n_rows=st.integers(20, 120))
def test_a_seed_gives_one_model_for_threads_and_forms_of_the_table(
    name: str, seed: int, form: str, n_rows: int
) -> None:
    X, y = table_for(name, seed, n_rows)
    expected = digest(name, X, y, seed=seed)
    assert digest(name, X, y, seed=seed) == expected
    assert digest(name, WITH_NAMES[form](columns_of(X)), y, n_jobs=2, seed=seed) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_CHUNKS)
@examples(5)
@given(seed=st.integers(0, 10_000), edges=st.sets(st.integers(1, 89), max_size=5))
def test_chunks_of_rows_give_the_model_of_the_whole_table(name: str, seed: int, edges: set[int]) -> None:
    X, y = table_for(name, seed)
    places = [0, *sorted(edges), len(X)]
    chunks = [X[first:last] for first, last in pairwise(places)]
    assert digest(name, tw.scan(chunks), y, n_jobs=2) == digest(name, X, y)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_columns_are_found_by_name_in_prediction(name: str) -> None:
    X, y = table_for(name)
    model = learner_of(name).fit(X, y)
    for order in (list(X)[::-1], sorted(X)):
        assert np.array_equal(answers(model, X[order]), answers(model, X))


IN_ANOTHER_PROCESS = """
import warnings
warnings.simplefilter("ignore")
import sys
sys.path.insert(0, ".")
from test_same_answer import NAMES, digest, table_for
for name in NAMES:
    print(name, digest(name, *table_for(name), n_jobs=2))
"""


@pytest.mark.slow
def test_another_process_gives_the_same_models() -> None:
    found = dict(line.split() for line in printed_by(IN_ANOTHER_PROCESS))
    assert found == {name: digest(name, *table_for(name)) for name in NAMES}
