"""Commands on model files: show, prune, explain, plot and trace; completion; what is printed before a fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, log_loss, precision_score, recall_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import treewright
from treewright import datasets, explain, load, prune
from treewright.cli import analysis
from treewright.ship import is_model_file

Runner = Callable[..., Any]


@pytest.fixture(scope="module")
def weather(tmp_path_factory: Any) -> str:
    table = datasets.load_weather()
    path = tmp_path_factory.mktemp("models") / "weather.tw"
    treewright.save(treewright.ID3Classifier().fit(table.X, table.frame[[table.target]]), path)
    return str(path)


@pytest.fixture(scope="module")
def forest(tmp_path_factory: Any) -> str:
    table = datasets.load_iris()
    path = tmp_path_factory.mktemp("models") / "forest"  # no suffix: the file itself says what it is
    model = treewright.RandomForestClassifier(5, random_state=0)
    treewright.save(model.fit(table.X, table.frame[[table.target]]), path)
    return str(path)


def test_a_model_file_is_known_by_its_content(weather: str, forest: str, tmp_path: Path) -> None:
    (tmp_path / "table.tw").write_text("a,b\n1,2\n")
    assert is_model_file(weather)
    assert is_model_file(forest)
    assert not is_model_file(tmp_path / "table.tw")
    assert not is_model_file(tmp_path)


def test_the_tree_of_a_file_is_shown(run: Runner, weather: str) -> None:
    model = load(weather)
    shown = run("show", weather, "--rules")
    assert shown.code == 0
    for line in ("outlook = overcast: yes (4.0)", "Number of leaves: 5", "One rule per leaf"):
        assert line in shown.out
    assert run("show", weather, "--json").described()["tree"] == model.tree_.to_dict()


def test_an_ensemble_is_summarised_and_one_of_its_trees_shown(run: Runner, forest: str) -> None:
    assert "5 trees with" in run("show", forest).out
    assert run("show", forest, "--json").described()["n_members"] == 5
    first = load(forest).estimators_[3].tree_
    assert run("show", forest, "--tree", "3", "--json").described()["n_leaves"] == first.n_leaves
    assert "choose one with --tree" in run("show", forest, "--rules").err
    assert "has the trees 0 to 4" in run("show", forest, "--tree", "5").err


def test_a_pruned_copy_is_written(run: Runner, tmp_path: Path) -> None:
    iris = datasets.load_iris()
    model, out = str(tmp_path / "full.tw"), str(tmp_path / "small.tw")
    full = treewright.DecisionTreeClassifier().fit(iris.X, iris.frame[["species"]])
    treewright.save(full, model)
    pruned = run("prune", model, "--out", out, "--alpha", "0.02")
    assert "leaves became 3" in pruned.out
    assert load(out).tree_.to_dict() == prune(full, "cost_complexity", ccp_alpha=0.02).tree_.to_dict()
    described = run("prune", model, "iris", "--out", out, "--method", "reduced_error", "--json")
    by_hand = prune(full, "reduced_error", X=iris.X, y=iris.y)
    assert json.loads(described.out)["leaves"] == by_hand.tree_.n_leaves == load(out).tree_.n_leaves
    assert load(model).tree_.n_leaves == full.tree_.n_leaves


def test_one_row_is_explained_by_a_file(run: Runner, weather: str) -> None:
    table = datasets.load_weather()
    explained = run("explain", weather, "weather", "--row", "3", "--json").described()
    assert explained["prediction"] == explain(load(weather), table.X[[3]]).prediction
    assert explained["target"] == table.y[3]
    assert "Row 3 of weather; its play is yes." in run("explain", weather, "weather", "--row", "3").out


def test_a_file_is_drawn_with_and_without_a_table(run: Runner, weather: str, tmp_path: Path) -> None:
    out = tmp_path / "tree.svg"
    assert run("plot", weather, "--out", str(out)).code == 0
    assert "outlook" in out.read_text(encoding="utf-8")
    assert run("plot", weather, "weather", "--row", "3", "--out", str(out)).code == 0
    assert "--row needs a table; give it after the model file" in run("plot", weather, "--row", "3").err


def test_a_file_is_traced_on_its_table(run: Runner, weather: str) -> None:
    of_file = run("trace", weather, "weather", "--json").described()
    assert of_file == run("trace", "weather", "-m", "id3", "--json").described()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("explain", "{model}"), "give the table as well, after the model file"),
        (("explain", "{model}", "weather", "--row", "14"), "--row is 14, and the table has the rows 0 to 13"),
        (("explain", "{model}", "weather", "-m", "c45"), "--model is for fitting, and {model} is a fitted model"),
        (("trace", "{model}", "weather", "--max-depth", "2"), "--max-depth is for fitting"),
        (("prune", "{model}", "--out", "{out}", "--method", "shears"), "unknown pruning method 'shears'"),
        (("prune", "{model}", "--out", "{out}", "--alpha", "-1"), "--alpha=-1.0 must be a number"),
        (("prune", "{forest}", "--out", "{out}"), "only single trees are pruned"),
        (("show", "no.tw"), "no.tw: No such file or directory"),
        (("trace", "{model}", "iris"), "there is no column"),
    ],
)
def test_a_mistake_gets_one_sentence(
    run: Runner, weather: str, forest: str, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    places = {"model": weather, "forest": forest, "out": tmp_path / "out.tw"}
    result = run(*(word.format(**places) for word in words))
    assert (result.code, result.out) == (2, "")
    assert sentence.format(**places) in result.err
    assert result.err.count("\n") == 1


def test_cross_validated_measures_are_those_of_scikit_learn(run: Runner) -> None:
    described = run("fit", "edible", "-m", "id3", "--folds", "4", "--seed", "1", "--json").described()
    table = datasets.load("edible")
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    learner = treewright.ID3Classifier()
    predicted = cross_val_predict(learner, table.X, table.y, cv=folds)
    shares = cross_val_predict(learner, table.X, table.y, cv=folds, method="predict_proba")
    classes = sorted(set(table.y))
    is_second = np.array(table.y) == classes[1]
    assert described["measures"]["AUC"] == pytest.approx(roc_auc_score(is_second, shares[:, 1]))
    assert described["measures"]["log loss"] == pytest.approx(log_loss(is_second, shares))
    assert described["confusion"]["order"] == classes
    assert described["confusion"]["rows"] == confusion_matrix(table.y, predicted).tolist()
    for name in classes:
        scores = described["classes"][name]
        of_class = {"labels": [name], "average": None, "zero_division": 0.0}
        assert scores["recall"] == pytest.approx(recall_score(table.y, predicted, **of_class)[0])
        assert scores["precision"] == pytest.approx(precision_score(table.y, predicted, **of_class)[0])
    printed = run("fit", "edible", "-m", "id3", "--folds", "4", "--seed", "1").out
    assert "precision" in printed
    assert "Also log loss" in printed


def test_columns_and_warnings_of_ids_come_before_the_fit(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "large.csv"
    table.write_text("name,x,y\n" + "".join(f"row{k},{k % 7},{'ab'[k % 2]}\n" for k in range(2_500)))

    def fail(_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis, "fit_all", fail)
    stopped = run("fit", str(table), "-t", "y", "-m", "random-forest", "--trees", "3")
    assert stopped.code == 130
    assert "Column 'name' differs in every row" in stopped.out
    assert "random-forest (RandomForestClassifier)" in stopped.out


def test_a_wrong_parameter_is_the_only_output_also_for_a_large_table(run: Runner, tmp_path: Path) -> None:
    table = tmp_path / "large.csv"
    table.write_text("x,y\n" + "".join(f"{k % 7},{'ab'[k % 2]}\n" for k in range(2_500)))
    result = run("fit", str(table), "-t", "y", "-m", "bagging", "--criterion", "ginny")
    assert (result.code, result.out) == (2, "")
    assert "--criterion is 'ginny'" in result.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(run_process: Runner, shell: str) -> None:
    done = run_process(_TREEWRIGHT_COMPLETE=f"source_{shell}")
    assert done.code == 0
    assert "_TREEWRIGHT_COMPLETE" in done.out


def test_completion_offers_commands(run_process: Runner) -> None:
    words = {"_TREEWRIGHT_COMPLETE": "complete_bash", "COMP_WORDS": "treewright pru", "COMP_CWORD": "1"}
    assert run_process(**words).out.split() == ["prune"]
