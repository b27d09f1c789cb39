"""The wheel: it carries the machine code, and works in a fresh environment without Numba that cannot write anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from treewright.runtime.library import DIRECTORY

PROJECT = Path(__file__).parents[2]

USE = """
import sys
import numpy as np
import treewright
from treewright.runtime.forms import compiled
from treewright.runtime.library import Library, load
random = np.random.default_rng(0)
X = random.normal(size=(2000, 5))
y = X[:, 0] + X[:, 1] * X[:, 2] > 0
for name in ("DecisionTreeClassifier", "C45Classifier", "CARTClassifier", "ObliviousTreeClassifier"):
    assert getattr(treewright, name)().fit(X, y).score(X, y) > 0.7, name
for name in ("RandomForestClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier", "BaggingClassifier"):
    assert getattr(treewright, name)(n_estimators=10).fit(X, y).score(X, y) > 0.7, name
assert isinstance(load(), Library)
assert "numba" not in sys.modules
try:
    import numba
except ImportError:
    print("used", treewright.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of these sources, with the libraries that have been built for the tests."""
    directory = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check", "-w", str(directory)]
    environment = {**os.environ, "TREEWRIGHT_MACHINE_CODE": str(DIRECTORY)}
    subprocess.run([sys.executable, "-m", "pip", "wheel", str(PROJECT), *options], env=environment, check=True)
    (path,) = directory.glob("*.whl")
    return path


@pytest.mark.slow
def test_the_wheel_is_for_every_python_and_one_platform(wheel: Path) -> None:
    _, _, python, abi, platform = wheel.stem.split("-")
    assert (python, abi) == ("py3", "none")
    assert platform != "any"
    assert wheel.stat().st_size < 6_000_000


@pytest.mark.slow
def test_the_wheel_carries_the_libraries_and_their_index(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    carried = {name.rsplit("/", 1)[1] for name in names if "/machine_code/" in name}
    assert carried == {path.name for path in DIRECTORY.iterdir()}
    assert not any(name.startswith(("tests", "benchmarks")) for name in names)


@pytest.mark.slow
def test_the_wheel_works_without_numba_and_without_a_home(wheel: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(fresh)], check=True)
    python = fresh / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-compile", str(wheel)], check=True, capture_output=True)
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [str(python), "-c", USE], env=environment, cwd=home, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("used")
    assert done.stderr == ""
    assert list(home.iterdir()) == []
