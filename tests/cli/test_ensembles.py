"""`treewright fit` with ensembles: figures of the learners, and no hundred trees on the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import treewright
from treewright import datasets

Runner = Callable[..., Any]
COMPILED = {"TREEWRIGHT_FORM": "compiled"}


def joined(out: str) -> str:
    return " ".join(out.split())


@pytest.mark.parametrize(
    ("model", "learner"),
    [
        ("random-forest", treewright.RandomForestClassifier),
        pytest.param("extra-trees", treewright.ExtraTreesClassifier, marks=pytest.mark.slow),
        pytest.param("bagging", treewright.BaggingClassifier, marks=pytest.mark.slow),
        pytest.param("random-subspace", treewright.RandomSubspaceClassifier, marks=pytest.mark.slow),
        ("adaboost", treewright.AdaBoostClassifier),
    ],
)
def test_figures_are_those_of_the_learner(run: Runner, model: str, learner: Any) -> None:
    words = ("fit", "iris", "-m", model, "--trees", "7", "--folds", "3", "--seed", "5", "--json")
    described = run(*words, **COMPILED).described()
    iris = datasets.load_iris()
    one = learner(n_estimators=7, random_state=5)
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    assert described["score"] == accuracy_score(iris.y, cross_val_predict(one, iris.X, iris.y, cv=folds))
    fitted = one.fit(iris.X, iris.y)
    assert described["n_members"] == len(fitted.estimators_)
    shares = {entry["column"]: entry["importance"] for entry in described["importances"]}
    names = fitted.feature_names_in_.tolist()
    assert [shares[name] for name in names] == pytest.approx(fitted.feature_importances_.tolist())
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    leaves = [member.tree_.n_leaves for member in fitted.estimators_]
    assert described["mean_n_leaves"] == pytest.approx(np.mean(leaves))
    assert "tree" not in described


@pytest.mark.parametrize(
    ("model", "learner"),
    [
        ("random-forest", treewright.RandomForestClassifier),
        pytest.param("bagging", treewright.BaggingClassifier, marks=pytest.mark.slow),
    ],
)
def test_the_out_of_bag_score_is_printed_where_rows_are_drawn(run: Runner, model: str, learner: Any) -> None:
    words = ("fit", "orchard", "-m", model, "--trees", "20", "--folds", "2")
    described = run(*words, "--json", **COMPILED).described()
    orchard = datasets.load_orchard()
    fitted = learner(n_estimators=20, oob_score=True, random_state=0).fit(orchard.X, orchard.frame[["scab"]])
    assert described["out_of_bag_score"] == fitted.oob_score_
    assert f"Out of bag: accuracy {fitted.oob_score_:.3f}," in run(*words, **COMPILED).out
    others = ("fit", "orchard", "-m", "extra-trees", "--trees", "3", "--folds", "2")
    assert "Out of bag" not in run(*others, **COMPILED).out


def test_members_and_importances_are_printed_but_no_tree(run: Runner) -> None:
    out = run("fit", "orchard", "-m", "random-forest", "--trees", "12", "--folds", "2", **COMPILED).out
    assert "The ensemble fitted on all 400 rows" in out
    assert "12 trees with " in out
    assert "predicted correctly by models fitted without them" in joined(out)
    lines = out.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("column") and "importance" in line)
    figures = [line.split() for line in lines[first + 2 : first + 10]]
    assert {name for name, _ in figures} == set(datasets.load_orchard().X.columns)
    assert sum(float(share) for _, share in figures) == pytest.approx(1.0, abs=0.005)
    assert "|   " not in out
    assert "Number of leaves" not in out


def test_numbers_are_predicted_with_an_interval_and_out_of_bag(run: Runner) -> None:
    words = ("fit", "iris", "-t", "petal_width", "-m", "random-forest", "--trees", "20", "--folds", "3")
    out = run(*words, **COMPILED).out
    assert "RandomForestRegressor" in out
    assert "Out of bag: R2 0.9" in out


@pytest.mark.slow
@pytest.mark.parametrize("model", ["voting", "stacking", "averaging"])
def test_members_of_different_kinds_are_named(run: Runner, model: str) -> None:
    words = ("fit", "iris", "-m", model, "--folds", "2")
    assert "nearest (KNeighborsClassifier), tree (CARTClassifier), svm" in joined(run(*words, **COMPILED).out)
    described = run(*words, "--json", **COMPILED).described()
    assert list(described["members"]) == ["nearest", "tree", "svm"]
    assert ("weights" in described) == (model == "averaging")
    if model == "averaging":
        assert sum(described["weights"].values()) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["adaboost", "bagging"])
def test_options_reach_the_trees_of_an_ensemble(run: Runner, model: str) -> None:
    words = ("fit", "orchard", "-m", model, "--trees", "4", "--folds", "2", "--json")
    for depth in (1, 2):
        described = run(*words, "--max-depth", str(depth), "--missing", "majority").described()
        assert 2**depth - 1 <= described["mean_n_leaves"] <= 2**depth


@pytest.mark.slow
def test_boosted_trees_are_stumps_for_classes_and_deeper_for_numbers(run: Runner) -> None:
    words = ("fit", "iris", "-m", "adaboost", "--trees", "3", "--folds", "2", "--criterion")
    assert run(*words, "information_gain", "--json").described()["mean_n_leaves"] == 2.0
    described = run(*words, "absolute_error", "-t", "petal_width", "--json").described()
    assert 4.0 < described["mean_n_leaves"] <= 8.0


@pytest.mark.parametrize(
    "model",
    ["adaboost", *(pytest.param(name, marks=pytest.mark.slow) for name in ("voting", "random-forest", "bagging"))],
)
def test_columns_are_treated_as_declared(run: Runner, write: Callable[[str, str], str], model: str) -> None:
    rows = "".join(f"{row % 6},{row}.5,{'ab'[row % 6 in (0, 2, 3)]}\n" for row in range(60))
    table = write("zones.csv", f"zone,weight,y\n{rows}")
    trees = () if model == "voting" else ("--trees", "5")
    described = run(
        "fit", table, "-t", "y", "-m", model, "--categorical", "zone", "--folds", "3", "--json", *trees
    ).described()
    kinds = {column["name"]: column["kind"] for column in described["columns"]}
    assert kinds == {"zone": "categorical", "weight": "numeric"}
    assert described["score"] > (0.7 if model == "voting" else 0.9)


def test_the_same_seed_gives_the_same_answer(run: Runner) -> None:
    words = ("fit", "orchard", "-m", "random-forest", "--trees", "3", "--folds", "2", "--json", "--seed")
    first = run(*words, "1", **COMPILED).out
    assert run(*words, "1", **COMPILED).out == first
    assert run(*words, "2", **COMPILED).out != first


@pytest.mark.slow
def test_a_wide_table_shows_the_columns_that_matter(run: Runner, write: Callable[[str, str], str]) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 30))
    names = ",".join(f"c{place}" for place in range(30))
    rows = "\n".join(",".join(f"{cell:.3f}" for cell in row) + f",{'ab'[int(row[7] > 0)]}" for row in X)
    table = write("wide.csv", f"{names},y\n{rows}\n")
    words = ("fit", table, "-t", "y", "-m", "bagging", "--trees", "3", "--folds", "2")
    cut, whole = run(*words).out, run(*words, "--whole").out
    assert "... and 10 more columns; --whole shows all." in cut
    assert "--whole" not in whole
    importances = whole.split("importance\n")[1].splitlines()
    assert importances[1].split()[0] == "c7"
