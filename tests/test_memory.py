"""Fits and predictions in a loop keep no memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOOPING = """
import gc, sys, warnings
import numpy as np
import treewright as tw
from sample_tables import mixed_table, target_of

warnings.simplefilter("ignore")

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096

n_fits, n_predictions = map(int, sys.argv[1:])
table = mixed_table(400)
learners = [
    tw.DecisionTreeClassifier(), tw.C45Classifier(), tw.CARTRegressor(), tw.RandomForestClassifier(4),
    tw.GradientBoostingRegressor(n_estimators=4), tw.AdaBoostClassifier(n_estimators=3),
    tw.BaggingRegressor(n_estimators=3),
]
one_row = table[0][:1]

def work(fits, predictions):
    for number in range(fits):
        learner = learners[number % len(learners)]
        model = learner.fit(table[0], target_of(learner, table))
        tw.load(tw.save(model))
    for number in range(predictions):
        learners[number % len(learners)].predict(one_row)

work(5 * len(learners), 500)
before = resident()
work(n_fits, n_predictions)
print(resident() - before)
"""

# Bytes that the allocator may keep more after the loop than before it; a leak of one table per fit is far above.
SPARE = 24 << 20


def growth(n_fits: int, n_predictions: int) -> int:
    command = [sys.executable, "-c", LOOPING, str(n_fits), str(n_predictions)]
    ran = subprocess.run(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the resident memory is read from /proc")
def test_memory_does_not_grow_with_fits_and_predictions() -> None:
    assert growth(70, 500) < SPARE


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the resident memory is read from /proc")
def test_memory_does_not_grow_with_a_thousand_fits_and_a_hundred_thousand_predictions() -> None:
    assert growth(1_000, 100_000) < SPARE
