"""`treewright fit --json`: figures that agree with scikit-learn's own tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

import treewright
from treewright import datasets

Runner = Callable[..., Any]
COMPILED = {"TREEWRIGHT_FORM": "compiled"}


@pytest.mark.parametrize(
    ("data", "model", "learner"),
    [pytest.param("iris", "cart", "CARTClassifier", marks=pytest.mark.slow), ("edible", "id3", "ID3Classifier")],
)
def test_the_accuracy_is_that_of_a_direct_cross_validation(run: Runner, data: str, model: str, learner: str) -> None:
    described = run("fit", data, "--model", model, "--folds", "5", "--seed", "3", "--json", **COMPILED).described()
    table = datasets.load(data)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    answers = cross_val_predict(getattr(treewright, learner)(), table.X, table.y, cv=folds)
    assert described["score"] == accuracy_score(table.y, answers)
    right = int(np.count_nonzero(answers == table.y))
    interval = binomtest(right, len(answers)).proportion_ci(method="wilson")
    assert described["interval"] == pytest.approx([interval.low, interval.high], abs=1e-6)
    assert (described["measure"], described["folds"]) == ("accuracy", 5)


@pytest.mark.parametrize("data", datasets.names())
def test_the_baseline_is_that_of_the_most_frequent_class(run: Runner, data: str) -> None:
    described = run("fit", data, "--model", "oner", "--folds", "2", "--json").described()
    table = datasets.load(data)
    rows = np.zeros((len(table.y), 1))
    dummy = DummyClassifier(strategy="most_frequent").fit(rows, table.y)
    assert described["baseline"] == dummy.score(rows, table.y)


def test_the_figures_for_numbers_are_those_of_a_direct_cross_validation(run: Runner) -> None:
    options = ("--target", "petal_width", "--max-depth", "3", "--folds", "4", "--seed", "1", "--json")
    described = run("fit", "iris", *options, **COMPILED).described()
    frame = datasets.load_iris().frame
    X, y = frame.drop("petal_width"), frame["petal_width"]
    folds = KFold(4, shuffle=True, random_state=1)
    answers = cross_val_predict(treewright.CARTRegressor(max_depth=3), X, y, cv=folds)
    assert described["score"] == pytest.approx(r2_score(y, answers), abs=1e-12)
    (other,) = described["other_scores"]
    assert other["score"] == pytest.approx(root_mean_squared_error(y, answers), abs=1e-12)
    dummy = DummyRegressor().fit(X, y)
    assert described["baseline"] == pytest.approx(dummy.score(X, y), abs=1e-12)
    assert other["baseline"] == pytest.approx(root_mean_squared_error(y, dummy.predict(X)), abs=1e-12)


def test_the_tree_is_that_of_the_learner_on_all_rows(run: Runner) -> None:
    described = run("fit", "iris", "--model", "c45", "--min-leaf", "5", "--json").described()
    iris = datasets.load_iris()
    model = treewright.C45Classifier(min_samples_leaf=5).fit(iris.X, iris.frame[["species"]])
    assert described["tree"] == model.tree_.to_dict()
    assert described["n_leaves"] == model.tree_.n_leaves


def test_columns_are_described_with_kind_missing_values_and_categories(run: Runner) -> None:
    described = run("fit", "orchard", "--model", "stump", "--folds", "2", "--json").described()
    columns = {column["name"]: column for column in described["columns"]}
    assert columns["vigour"]["kind"] == "ordered"
    assert columns["vigour"]["categories"] == ["weak", "medium", "strong"]
    assert columns["last_pruned"]["unit"] == "date"
    assert columns["sprays"]["missing"] == 38
    assert "scab" not in columns
    assert (described["target"], described["task"], described["rows"]) == ("scab", "classes", 400)


def test_rules_come_as_a_list(run: Runner) -> None:
    described = run("fit", "weather", "--json", "--rules").described()
    assert "outlook = overcast: yes (4.0)" in described["rules"]


def test_the_same_seed_gives_the_same_answer(run: Runner) -> None:
    words = ("fit", "iris", "--model", "random-tree", "--json", "--folds", "2", "--seed")
    first = run(*words, "1")
    assert run(*words, "1").out == first.out
    assert run(*words, "2").described()["tree"] != first.described()["tree"]


@pytest.mark.slow
def test_the_process_prints_the_object_and_nothing_else(run_process: Runner) -> None:
    assert run_process("fit", "concept", "--json").described()["notes"]


@pytest.mark.slow
def test_a_tree_too_deep_to_nest_is_refused(run: Runner, write: Callable[[str, str], str]) -> None:
    table = write("comb.csv", "x,y\n" + "".join(f"{row},{'ab'[row % 2]}\n" for row in range(1500)))
    result = run("fit", table, "-t", "y", "--model", "tree", "--folds", "2", "--json", TREEWRIGHT_FORM="compiled")
    assert result.code == 2
    assert result.out == ""
    assert "too deep to nest in JSON; limit it with --max-depth" in result.err
