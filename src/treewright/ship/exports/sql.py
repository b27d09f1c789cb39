"""A program as one SQL query: a CASE expression for each tree and output."""

from __future__ import annotations

import math
from typing import Any

from treewright.ship.exports.program import COMPLEMENT, EVERY, EXP, LOGISTIC, SOFTMAX, STOP, ExportError, Program
from treewright.table.column import Column, Kind

# Databases limit how deeply expressions are nested.
MOST_LEVELS = 400


def to_sql(program: Program, table: str = "data") -> str:
    """One SELECT that returns all columns of `table` and the predictions: probabilities, or a number."""
    if EVERY in program.missing:
        raise ExportError(
            "the model divides rows with missing values among branches (missing='fractional', as in C4.5), which SQL "
            "cannot do; fit it with missing='learned'"
        )
    sums = []
    for output in range(program.n_sums):
        terms = []
        for root, first in zip(program.roots, program.outputs, strict=True):
            if first <= output < first + program.n_values:
                terms.append(_case(program, root, output - first))
        total = "\n  + ".join(terms)
        sums.append(f"(({total}) / {_number(program.divisor)} + {_number(program.constant[output])})")
    inner = ", ".join(f"{total} AS score_{k}" for k, total in enumerate(sums))
    scored = f"SELECT *, {inner}\n  FROM {_quoted(table)}"
    return f"SELECT *, {_predictions(program)}\nFROM ({scored}) AS scored;\n"


def _predictions(program: Program) -> str:
    """The predictions from the scores."""
    names = ["prediction"] if program.classes is None else [f"probability_{one}" for one in program.classes]
    scores = [f"score_{k}" for k in range(program.n_sums)]
    if program.link == COMPLEMENT:
        found = ["1.0 - score_0", "score_0"]
    elif program.link == LOGISTIC:
        found = [f"1.0 / (1.0 + exp({sign}{_number(program.scale)} * score_0))" for sign in ("", "-")]
    elif program.link == SOFTMAX:
        # The largest score is not subtracted: no dialect has a maximum of several columns under one name.
        total = " + ".join(f"exp({score})" for score in scores)
        found = [f"exp({score}) / ({total})" for score in scores]
    elif program.link == EXP:
        found = ["exp(score_0)"]
    else:
        found = scores
    return ", ".join(f"{one} AS {_quoted(name)}" for one, name in zip(found, names, strict=True))


def _case(program: Program, root: int, place: int) -> str:
    """The value of a tree as nested CASE expressions; written without recursion."""
    written: dict[int, str] = {}
    waiting = [(root, 0)]
    while waiting:
        node, level = waiting[-1]
        if level > MOST_LEVELS:
            raise ExportError(f"a tree has more than {MOST_LEVELS} levels, too many for SQL; limit max_depth")
        if program.kind[node] == 0:
            written[node] = _number(program.values[program.value[node] + place])
            waiting.pop()
            continue
        children = [program.child[node] + branch for branch in range(_n_branches(program, node))]
        missing = [(child, level + 1) for child in children if child not in written]
        if missing:
            waiting += missing
            continue
        written[node] = _node(program, node, [written.pop(child) for child in children], place)
        waiting.pop()
    return written[root]


def _n_branches(program: Program, node: int) -> int:
    if program.kind[node] != 3:
        return 2
    n_categories = len(program.columns[program.column[node]].categories)
    return n_categories + (1 if program.missing[node] == n_categories else 0)


def _node(program: Program, node: int, branches: list[str], place: int) -> str:
    column = program.columns[program.column[node]]
    name = _quoted(column.name)
    missing = branches[program.missing[node]]
    if column.kind is Kind.NUMERIC:
        test = "TRUE" if math.isinf(program.threshold[node]) else f"{name} <= {_number(program.threshold[node])}"
        return f"CASE WHEN {name} IS NULL THEN {missing} WHEN {test} THEN {branches[0]} ELSE {branches[1]} END"
    unseen = program.unseen[node]
    other = _number(program.values[program.value[node] + place]) if unseen == STOP else branches[unseen]
    cases = [
        f"WHEN {name} IN ({', '.join(_literal(column, k) for k in chosen)}) THEN {branches[branch]}"
        for branch, chosen in _categories_by_branch(program, node, column).items()
        if chosen
    ]
    return f"CASE WHEN {name} IS NULL THEN {missing} {' '.join(cases)} ELSE {other} END"


def _categories_by_branch(program: Program, node: int, column: Column) -> dict[int, list[int]]:
    numbers = range(len(column.categories))
    if program.kind[node] == 3:
        return {k: [k] for k in numbers}
    if program.kind[node] == 2:
        start = program.members[node]
        return {branch: [k for k in numbers if program.flags[start + k] == 1 - branch] for branch in (0, 1)}
    return {branch: [k for k in numbers if (k > program.threshold[node]) == bool(branch)] for branch in (0, 1)}


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ExportError(f"the model has the number {value}, which SQL cannot spell")
    return repr(float(value))


def _literal(column: Column, index: int) -> str:
    value: Any = column.categories[index]
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise ExportError(f"column {column.name!r} has categories of type {type(value).__name__}, which SQL cannot spell")
