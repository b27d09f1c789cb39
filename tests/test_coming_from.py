"""The tables of equivalents in docs/coming_from.md: both columns run, and both models learn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.base import clone
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

import treewright
from documents import ROOT

PAGE = ROOT / "docs" / "coming_from.md"

X, y = load_iris(return_X_y=True)
TWO, NUMBERS = (y == 2).astype(int), X[:, 3] + 0.1


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of OpenMP spin while they wait, which takes long beside other tests."""
    with threadpool_limits(1):
        yield


def rows() -> list[Any]:
    """Pairs of code by section."""
    found, section = [], ""
    for line in PAGE.read_text(encoding="utf-8").split("\n"):
        section = line.removeprefix("## Coming from ") if line.startswith("## ") else section
        pair = re.fullmatch(r"\| `(.+)` \| `(.+)` \|", line)
        if pair:
            found.append(pytest.param(section, pair[1], pair[2], id=pair[1]))
    return found


def names_of(section: str) -> dict[str, Any]:
    if section == "scikit-learn":
        return {**vars(tree), **vars(ensemble)}
    return vars(pytest.importorskip(section.lower()))


def learns(model: Any) -> bool:
    """Whether the model is better than a constant; small forests and few rounds, because only the names matter."""
    known = model.get_params()
    if "n_estimators" in known and known["n_estimators"] != "auto":
        model.set_params(n_estimators=10)
    if known.get("growth") == "auto":
        model.set_params(n_estimators=10)
    target = NUMBERS if "Regressor" in type(model).__name__ else TWO
    predictions = np.asarray(model.fit(X, target).predict(X))
    return float(np.abs(predictions - target).mean()) < float(np.abs(target - np.median(target)).mean()) + 0.3


def test_there_are_rows_for_each_library() -> None:
    assert {row.values[0] for row in rows()} == {"scikit-learn", "LightGBM", "XGBoost"}


@pytest.mark.slow
@pytest.mark.parametrize(("section", "theirs", "ours"), rows())
@pytest.mark.filterwarnings("ignore")
def test_both_columns_of_a_row_run(section: str, theirs: str, ours: str) -> None:
    model = eval(ours, dict(vars(treewright), **{name: getattr(treewright, name) for name in treewright.__all__}))
    clone(model)
    assert learns(model)
    their_names = names_of(section)
    their_model = eval(theirs, dict(their_names))
    their_model.set_params(**{"verbose": -1} if section == "LightGBM" else {})
    if section == "LightGBM" and "early_stopping" in theirs:
        return  # needs a validation set
    assert learns(their_model)


@pytest.mark.parametrize(("section", "theirs", "ours"), rows())
def test_a_name_that_differs_is_an_error_that_gives_ours(section: str, theirs: str, ours: str) -> None:
    del section
    learner = getattr(treewright, ours.split("(")[0])
    known = set(learner().get_params())
    wanted = set(re.findall(r"(\w+)=", ours))
    for name in re.findall(r"(\w+)=", theirs):
        if name in known or name == "max_depth":
            continue
        with pytest.raises(TypeError, match=rf"has no parameter '{name}'") as caught:
            learner(**{name: 1})
        mentioned = set(re.findall(r"\w+", str(caught.value)))
        assert mentioned & wanted or "as LightGBM" in str(caught.value) or "stops early" in str(caught.value), name
