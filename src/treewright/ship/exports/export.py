"""`export`: a model in another form that predicts without treewright."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treewright.ship.exports.languages import to_c, to_javascript, to_python
from treewright.ship.exports.onnx import to_onnx
from treewright.ship.exports.pmml import to_pmml
from treewright.ship.exports.program import Program, program_of
from treewright.ship.exports.scikit_learn import to_scikit
from treewright.ship.exports.sql import to_sql
from treewright.ship.exports.treelite import to_treelite


def to_json(program: Program) -> str:
    """The tables of the program as JSON."""
    described = asdict(program)
    described["columns"] = [
        {
            "name": column.name,
            "kind": str(column.kind),
            "unit": str(column.unit),
            "categories": [*map(str, column.categories)],
        }
        for column in program.columns
    ]
    described["classes"] = None if program.classes is None else [*map(str, program.classes)]
    return json.dumps(described)


# The formats that are written from a program.
FROM_PROGRAM: dict[str, Callable[[Program], str | bytes]] = {
    "python": to_python,
    "javascript": to_javascript,
    "c": to_c,
    "sql": to_sql,
    "json": to_json,
    "onnx": to_onnx,
    "treelite": to_treelite,
}

FORMATS = (*FROM_PROGRAM, "pmml", "sklearn")


def export(model: Any, to: str, path: Any = None) -> Any:
    """Convert a fitted model to another form that predicts without treewright.

    Single trees, forests, gradient boosting, bagging of trees and `AdaBoostClassifier` can be exported. What a format
    cannot represent is an error that names it; see docs/exports.md.

    Parameters
    ----------
    model : fitted estimator of treewright
    to : {"python", "javascript", "c", "sql", "json", "onnx", "treelite", "pmml", "sklearn"}
        A module without dependencies, an ES module, one C99 file, one SELECT on the table "data", the tables of nodes
        as JSON, an ONNX model, a model of treelite, a PMML document, or a fitted estimator of scikit-learn.
    path : path or None
        The file to write; not for an estimator of scikit-learn.

    Returns
    -------
    str, bytes or estimator
        The source code or document, the bytes of an ONNX or treelite file, or the estimator of scikit-learn.

    Examples
    --------
    >>> from treewright import DecisionStumpClassifier, datasets, export
    >>> iris = datasets.load_iris()
    >>> code = export(DecisionStumpClassifier().fit(iris.X, iris.y), to="python")
    >>> module = {}
    >>> exec(code, module)
    >>> module["predict"]({"petal_length": 1.4, "petal_width": 0.2})
    'setosa'
    """
    if to not in FORMATS:
        raise ValueError(f"to is {to!r}; give one of {', '.join(map(repr, FORMATS))}")
    if to == "sklearn":
        if path is not None:
            raise ValueError("to='sklearn' returns an estimator; leave path out, and keep it with joblib")
        return to_scikit(model)
    written = to_pmml(model) if to == "pmml" else FROM_PROGRAM[to](program_of(model))
    if path is not None:
        _write(Path(path), written)
    return written


def _write(path: Path, written: str | bytes) -> None:
    path.write_bytes(written.encode("utf-8") if isinstance(written, str) else written)
