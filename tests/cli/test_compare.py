"""`treewright compare`: several learners on one table."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from treewright import DecisionTreeClassifier, datasets
from treewright.cli.compare import _read_models
from treewright.cli.models import MODELS
from treewright.insight.scoring import wilson_interval

Runner = Callable[..., Any]


def test_the_scores_are_those_of_scikit_learns_folds(run: Runner) -> None:
    described = run("compare", "iris", "--models", "tree,stump", "--folds", "3", "--seed", "5", "--json").described()
    iris = datasets.load_iris()
    X, y = np.array(list(iris.X.to_dict().values())).T, np.array(iris.y)
    by_name = {one["model"]: one for one in described["models"]}
    for name, depth in (("tree", None), ("stump", 1)):
        correct = 0
        for training, tested in StratifiedKFold(3, shuffle=True, random_state=5).split(X, y):
            model = DecisionTreeClassifier(max_depth=depth).fit(X[training], y[training])
            correct += int((model.predict(X[tested]) == y[tested]).sum())
        assert by_name[name]["score"] == correct / 150
        assert by_name[name]["interval"] == list(wilson_interval(correct, 150))
    full = DecisionTreeClassifier().fit(X, y)
    assert (by_name["tree"]["n_trees"], by_name["tree"]["n_leaves"]) == (1, full.get_n_leaves())
    assert [one["model"] for one in described["models"]] == ["tree", "stump"]


def test_a_model_that_cannot_fit_the_table_has_a_reason(run: Runner) -> None:
    result = run("compare", "iris", "--models", "id3,stump", "--folds", "2")
    assert (result.code, result.err) == (0, "")
    assert "id3: columns 'sepal_length'" in result.out
    assert "always 'setosa'" in result.out
    described = run("compare", "iris", "--models", "id3,stump", "--folds", "2", "--json").described()
    assert ["reason" in one for one in described["models"]] == [False, True]


def test_numbers_have_an_error_beside_r2(run: Runner, write: Callable[[str, str], str]) -> None:
    rows = "".join(f"{k},{k % 3},{2 * k + k % 3}\n" for k in range(40))
    table = write("sums.csv", f"a,b,y\n{rows}")
    result = run("compare", table, "-t", "y", "--task", "numbers", "--models", "tree,c45,bagging", "--folds", "2")
    assert result.code == 0
    assert "RMSE" in result.out
    assert "c45: model 'c45' learns classes only" in result.out


@pytest.mark.slow
def test_models_of_all_kinds_are_compared_in_a_process_of_its_own(run_process: Runner) -> None:
    result = run_process("compare", "weather", "--folds", "2", "--models", "id3,random-tree,voting")
    assert result.code == 0
    for name in ("id3", "random-tree", "voting"):
        assert name in result.out


def test_all_models_are_compared_by_default() -> None:
    assert _read_models(None) == list(MODELS)


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_a_picture_is_written(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "scores.png"
    result = run("compare", "weather", "--models", "id3,stump", "--folds", "2", "--plot", str(path))
    assert result.code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("weather", "--models", "c54"), "there is no model 'c54'; did you mean 'c45'?"),
        (("weather", "--models", ","), "--models is empty"),
        (("weather", "--target", "sky"), "there is no column 'sky'"),
    ],
)
def test_a_mistake_is_one_sentence(run: Runner, words: tuple[str, ...], sentence: str) -> None:
    result = run("compare", *words)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
