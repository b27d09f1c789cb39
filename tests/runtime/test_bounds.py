"""A share of `make test-bounds`: kernels that Numba compiles with every index checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Descent reads nodes, sets and leaves by indices that come from files.
DESCENDING = """
import numba
import numpy as np
import treewright as tw

assert numba.config.BOUNDSCHECK == 1
modelfiles = sorted(__import__("pathlib").Path("tests/modelfiles").glob("*Forest*.tw"))
rows = {"size": [1.0, None, 5.5], "colour": ["red", None, "violet"], "weight": [10.0, 30.0, None]}
print(len([tw.load(path).predict(rows) for path in modelfiles]))
"""


@pytest.mark.slow
def test_forests_of_files_descend_with_every_index_checked() -> None:
    checked = {**os.environ, "TREEWRIGHT_FORM": "jit", "NUMBA_BOUNDSCHECK": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", DESCENDING], cwd=ROOT, env=checked, stdout=subprocess.PIPE, text=True, check=True
    )
    assert int(ran.stdout.splitlines()[-1]) >= 2
