"""From the start of a process to its first prediction, beside scikit-learn, LightGBM and XGBoost: `make bench-start`.

A wheel is built and installed in a fresh virtual environment without Numba. Every contestant imports its library, fits
5,000 x 20 numbers and predicts, in a new process each time, with an empty home directory and with one that cannot be
written to. The first run after the installation is listed by itself; the later ones are the best of several, in turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PEERS = ["lightgbm", "xgboost"]

FIT = """
import numpy as np
{make}
random = np.random.default_rng(0)
X = random.normal(size=(5000, 20))
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
model.fit(X, y).predict(X[:10])
import sys
assert "numba" not in sys.modules
"""

# Groups of learners that do the same; scikit-learn's is the second of each.
GROUPS = {
    "tree": {
        "treewright": "from treewright import DecisionTreeClassifier\nmodel = DecisionTreeClassifier()",
        "scikit-learn": "from sklearn.tree import DecisionTreeClassifier\nmodel = DecisionTreeClassifier()",
    },
    "pruned tree": {
        "treewright C4.5": "from treewright import C45Classifier\nmodel = C45Classifier()",
        "scikit-learn": "from sklearn.tree import DecisionTreeClassifier\n"
        "model = DecisionTreeClassifier(ccp_alpha=1e-3)",
    },
    "forest of 100 trees": {
        "treewright": "from treewright import RandomForestClassifier\n"
        "model = RandomForestClassifier(n_estimators=100, max_features='sqrt', n_jobs=2)",
        "scikit-learn": "from sklearn.ensemble import RandomForestClassifier\n"
        "model = RandomForestClassifier(n_estimators=100, n_jobs=2)",
        "LightGBM": "from lightgbm import LGBMClassifier\n"
        "model = LGBMClassifier(boosting_type='rf', subsample=0.6, subsample_freq=1, n_jobs=2, verbose=-1)",
    },
    "boosting, 100 rounds": {
        "treewright": "from treewright import GradientBoostingClassifier\n"
        "model = GradientBoostingClassifier(n_estimators=100, learning_rate=0.1, max_leaf_nodes=31, n_jobs=2)",
        "scikit-learn": "from sklearn.ensemble import HistGradientBoostingClassifier\n"
        "model = HistGradientBoostingClassifier(max_iter=100)",
        "LightGBM": "from lightgbm import LGBMClassifier\nmodel = LGBMClassifier(n_jobs=2, verbose=-1)",
        "XGBoost": "from xgboost import XGBClassifier\nmodel = XGBClassifier(n_estimators=100, n_jobs=2)",
    },
}


def install(directory: Path) -> Path:
    """Build a wheel, install it with the peers in a fresh environment, and return that one's Python."""
    quiet = ["--quiet", "--disable-pip-version-check"]
    print("building a wheel", flush=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", str(PROJECT), "--no-deps", *quiet, "-w", directory], check=True
    )
    (wheel,) = directory.glob("*.whl")
    print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB; installing it and {', '.join(PEERS)}", flush=True)
    venv.create(directory / "fresh", with_pip=True)
    python = directory / "fresh" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", *quiet, str(wheel), *PEERS], check=True)
    return python


def run(python: Path, make: str, home: Path) -> float:
    """Return the wall time of a new process that fits and predicts."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    start = time.perf_counter()
    subprocess.run([python, "-c", FIT.format(make=make)], env=environment, cwd=home, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--python", type=Path, help="the Python of an environment that is already installed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        python = options.python or install(directory)
        homes = {"empty home": directory / "empty", "read-only home": directory / "read-only"}
        for home in homes.values():
            home.mkdir()
        homes["read-only home"].chmod(0o500)
        print(f"{'':34}{'first':>8}{'':>6}{'empty home':>14}{'':>6}{'read-only':>14}")
        for group, makers in GROUPS.items():
            first = {name: run(python, make, homes["empty home"]) for name, make in makers.items()}
            later: dict[tuple[str, str], list[float]] = {}
            for _ in range(options.rounds):
                for condition, home in homes.items():
                    for name, make in makers.items():
                        later.setdefault((name, condition), []).append(run(python, make, home))
            print(group)
            for name in makers:
                columns = [first, *({key: min(later[key, condition]) for key in makers} for condition in homes)]
                shown = "".join(
                    f"{seconds[name]:10.2f} s {seconds[name] / seconds['scikit-learn']:6.2f}x" for seconds in columns
                )
                print(f"  {name:28}{shown}", flush=True)
        written = [path.name for home in homes.values() for path in home.iterdir() if path.name != ".config"]
        print(f"written to the homes by all of them: {', '.join(written) or 'nothing'}")


if __name__ == "__main__":
    main()
