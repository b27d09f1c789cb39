"""PMML documents predict what the model predicts, by an evaluator from the specification and by JPMML."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.base import is_classifier

from export_models import KINDS, MODELS, expected_of, fitted_models, new_rows, table, target
from pmml_evaluator import Evaluator
from treewright import (
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ModelFileError,
    export,
)

OTHERS = {
    "surrogates": CARTClassifier(missing="surrogate", prune=None, max_depth=7, **KINDS),
    "surrogates of numbers": CARTRegressor(missing="surrogate", prune=None, max_depth=7, **KINDS),
    "surrogates, unseen stop": DecisionTreeClassifier(missing="surrogate", max_depth=6, unseen="stop", **KINDS),
    "surrogates of many branches": DecisionTreeClassifier(
        missing="surrogate", categorical="multiway", max_depth=4, unseen="majority", **KINDS
    ),
    "mode": DecisionTreeClassifier(missing="majority", max_depth=6, **KINDS),
    "mean": DecisionTreeRegressor(missing=("majority", "mean"), max_depth=6, **KINDS),
    "every value": DecisionTreeClassifier(missing="every_value", max_depth=6, **KINDS),
}
DIVIDED = ("fractional instances", "C4.5", "forest, fractional", "every value")
ALIKE = ("bagging", "random subspaces", "AdaBoost of two classes", "AdaBoost of three classes", "extra trees")


@cache
def models() -> dict[str, Any]:
    rows = table(600, 0, unseen=False)
    numbers = target(rows)
    classes = np.digitize(numbers, [0.5, 2.5])
    others = {name: model.fit(rows, classes if is_classifier(model) else numbers) for name, model in OTHERS.items()}
    return {**fitted_models(), **others}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_the_specification_predicts_the_same(name: str) -> None:
    model, rows = models()[name], new_rows()
    evaluator = Evaluator(export(model, to="pmml"))
    found = [evaluator.predict(dict(zip(rows, cells, strict=True))) for cells in zip(*rows.values(), strict=True)]
    if is_classifier(model):
        found = [[one[str(name)] for name in model.classes_] for one in found]
    outputs = np.array(found).reshape(len(found), -1)
    np.testing.assert_allclose(outputs, expected_of(model, rows), rtol=1e-12, atol=1e-14)


JPMML = """
import sys
import numpy, pandas
from jpmml_evaluator import make_evaluator
from jpmml_evaluator.jpype import JPypeBackend

backend, frame = JPypeBackend(), pandas.read_pickle("rows.pkl")
for number in range(int(sys.argv[1])):
    evaluator = make_evaluator(f"model{number}.pmml", backend=backend).verify()
    is_tree = "<Segmentation" not in open(f"model{number}.pmml", encoding="utf-8").read()
    found = evaluator.evaluateAll(frame if is_tree else frame.head(2000))
    names = [name for name in found.columns if name == "prediction" or name.startswith("probability(")]
    numpy.save(f"found{number}.npy", found[names].to_numpy(float))
"""


@pytest.mark.slow
def test_jpmml_predicts_the_same(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("jpmml_evaluator")
    pytest.importorskip("jpype")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    rows = new_rows()
    # JPMML does not have weightedConfidence. Of ensembles, those with different link functions are enough.
    chosen = {name: model for name, model in models().items() if name not in (*DIVIDED, *ALIKE)}
    for number, model in enumerate(chosen.values()):
        export(model, "pmml", tmp_path / f"model{number}.pmml")
    frame = pandas.DataFrame({name: pandas.Series(cells, dtype=object) for name, cells in rows.items()})
    frame.to_pickle(tmp_path / "rows.pkl")
    subprocess.run([sys.executable, "-c", JPMML, str(len(chosen))], cwd=tmp_path, check=True, capture_output=True)
    for number, (name, model) in enumerate(chosen.items()):
        found = np.load(tmp_path / f"found{number}.npy")
        expected = expected_of(model, rows)[: len(found)]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14, err_msg=name)


# The order of the children by the schema of PMML 4.4, for the elements that are written.
ORDER = {
    "PMML": ["Header", "DataDictionary", "TreeModel", "MiningModel"],
    "TreeModel": ["MiningSchema", "Output", "LocalTransformations", "Node"],
    "MiningModel": ["MiningSchema", "Output", "Targets", "Segmentation"],
    "RegressionModel": ["MiningSchema", "Output", "RegressionTable"],
    "Segment": ["True", "TreeModel", "MiningModel", "RegressionModel"],
    "Node": [
        "SimplePredicate",
        "SimpleSetPredicate",
        "CompoundPredicate",
        "True",
        "False",
        "ScoreDistribution",
        "Node",
    ],
}


@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_elements_are_in_the_order_of_the_schema(name: str) -> None:
    root = ElementTree.fromstring(export(models()[name], to="pmml").encode())
    for element in root.iter():
        order = ORDER.get(element.tag.split("}")[1])
        if order is not None:
            places = [order.index(child.tag.split("}")[1]) for child in element]
            assert places == sorted(places)
    for tree in (one for one in root.iter() if one.tag.endswith("TreeModel")):
        names = [node.get("id") for node in tree.iter() if node.tag.endswith("Node")]
        assert len(set(names)) == len(names)
        assert {node.get("defaultChild") for node in tree.iter()} - {None} <= set(names)


def test_surrogates_and_fractions_are_written_as_the_standard_names_them() -> None:
    assert 'booleanOperator="surrogate"' in export(models()["surrogates"], to="pmml")
    assert 'missingValueStrategy="weightedConfidence"' in export(models()["C4.5"], to="pmml")
    assert "missingValueReplacement" in export(models()["mean"], to="pmml")


def test_what_pmml_cannot_do_is_refused_by_name() -> None:
    rows = table(200, 0, unseen=False)
    numbers = target(rows)
    with pytest.raises(ModelFileError, match=r"sends fractions of a row.*for\s+classes only"):
        export(DecisionTreeRegressor(missing="fractional", **KINDS).fit(rows, numbers), to="pmml")
    with pytest.raises(ModelFileError, match="an imputation by trees"):
        export(DecisionTreeClassifier(missing="model", **KINDS).fit(rows, np.digitize(numbers, [1])), to="pmml")
    mixed = DecisionTreeClassifier(categorical_features=["a"]).fit({"a": [True, "x"] * 10}, [0, 1] * 10)
    if {type(one) for one in mixed.tree_.columns[0].categories} == {bool, str}:
        with pytest.raises(ModelFileError, match="categories of column 'a'"):
            export(mixed, to="pmml")
