"""The same model every time: bit for bit, for a seed, over threads, processes, processors, forms and chunks of a table.

The order of the columns matters in training: of splits that are equally good the one of the first column is taken, and
random forests draw columns by position. In prediction columns are found by name.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewright as tw
from interruption import printed_by
from properties import examples
from sample_tables import answers
from small_models import NAMES, digest, digests_of, learner_of, table_for
from table_forms import WITH_NAMES, columns_of
from treewright.runtime.library import levels

IN_CHUNKS = [name for name in NAMES if name.startswith(("RandomForest", "ExtraTrees", "GradientBoosting"))]
FORMS = ("dict", "rows", "pandas nullable", "polars", "arrow", "frame")


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
from small_models import NAMES, digest, table_for
for name in NAMES:
    print(name, digest(name, *table_for(name), n_jobs=2))
"""
AS_ANOTHER_PROCESSOR = """
import sys, warnings
warnings.simplefilter("ignore")
from treewright.runtime import library
library.levels = lambda: sys.argv[1:]  # the machine code that was built, whatever NumPy says of the processor
from small_models import NAMES, digests_of, table_for
for name in NAMES:
    print(name, *digests_of(name, *table_for(name)))
"""
# The final model of these is a linear one of scikit-learn, which uses BLAS.
LINEAR = ("StackingClassifier", "StackingRegressor")


@pytest.mark.slow
def test_another_process_gives_the_same_models() -> None:
    found = dict(line.split() for line in printed_by(IN_ANOTHER_PROCESS))
    assert found == {name: digest(name, *table_for(name)) for name in NAMES}


@pytest.mark.slow
def test_an_older_processor_gives_the_same_models_and_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy and BLAS add and compute functions otherwise with other vectors; the library must not depend on that."""
    from numpy._core._multiarray_umath import __cpu_baseline__, __cpu_dispatch__, __cpu_features__

    optional = [one for one in __cpu_dispatch__ if __cpu_features__[one] and one not in __cpu_baseline__]
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", " ".join(optional))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    lines = [line.split() for line in printed_by(AS_ANOTHER_PROCESSOR, *levels())]
    found = {name: tuple(digests) for name, *digests in lines if name not in LINEAR}
    assert found == {name: digests_of(name, *table_for(name)) for name in NAMES if name not in LINEAR}
