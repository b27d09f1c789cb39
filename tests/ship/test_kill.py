"""A process that is killed while it saves models leaves a file that loads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from treewright import DecisionTreeRegressor, load, save

SAVING = """
import sys, numpy as np
from treewright import DecisionTreeRegressor, save
X = np.arange(4000.0)[:, None]
models = [DecisionTreeRegressor(max_depth=depth).fit(X, np.sin(X[:, 0])) for depth in (3, 11)]
number = 0
while True:
    print(number, flush=True)
    save(models[number % 2], sys.argv[1])
    number += 1
"""


def kill_while_saving(path: Path, times: int) -> None:
    draw = random.Random(0)
    for _ in range(times):
        process = subprocess.Popen([sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(draw.randrange(1, 20)):
            process.stdout.readline()
        process.kill()
        process.communicate()
        assert load(path).predict([[0.5]]).shape == (1,)


@pytest.mark.slow
def test_a_killed_process_leaves_a_file_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "model.tw"
    save(DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), path)
    kill_while_saving(path, 2)


@pytest.mark.soak
def test_two_hundred_killed_processes_leave_files_that_load(tmp_path: Path) -> None:
    path = tmp_path / "model.tw"
    save(DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), path)
    kill_while_saving(path, 200)
    assert os.path.getsize(path) > 0
