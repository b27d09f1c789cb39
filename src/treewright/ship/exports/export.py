"""`export`: a model as source code that predicts without treewright."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from treewright.ship.exports.languages import to_c, to_javascript, to_python
from treewright.ship.exports.program import Program, program_of
from treewright.ship.exports.sql import to_sql


def to_json(program: Program) -> str:
    """The tables of the program as JSON."""
    described = asdict(program)
    described["columns"] = [
        {"name": column.name, "kind": str(column.kind), "categories": [*map(str, column.categories)]}
        for column in program.columns
    ]
    described["classes"] = None if program.classes is None else [*map(str, program.classes)]
    return json.dumps(described)


FORMATS: dict[str, Callable[[Program], str]] = {
    "python": to_python,
    "javascript": to_javascript,
    "c": to_c,
    "sql": to_sql,
    "json": to_json,
}


def export(model: Any, to: str, path: Any = None) -> str:
    """Write a fitted model as source code that predicts without treewright.

    Single trees, forests and gradient boosting can be exported. What a format cannot represent is an error that names
    it: dates, fractional instances, surrogates, imputation, target-encoded columns.

    Parameters
    ----------
    model : fitted estimator of treewright
    to : {"python", "javascript", "c", "sql", "json"}
        A module without dependencies, an ES module, one C99 file, one SELECT on the table "data", or the tables of
        nodes as JSON.
    path : path or None
        The file to write.

    Returns
    -------
    str
        The source code.

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
    code = FORMATS[to](program_of(model))
    if path is not None:
        Path(path).write_text(code, encoding="utf-8")
    return code
