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
    prefix = _free_prefix(program)
    inner = ", ".join(f"{total} AS {prefix}{k}" for k, total in enumerate(sums))
    scored = f"SELECT *, {inner}\n  FROM {_quoted(table)}"
    return f"SELECT *, {_predictions(program, prefix)}\nFROM ({scored}) AS scored;\n"


def _free_prefix(program: Program) -> str:
    """The beginning of the names of scores, which no column has."""
    prefix, names = "score_", [column.name.lower() for column in program.columns]
    while any(name.startswith(prefix) for name in names):
        prefix = f"treewright_{prefix}"
    return prefix


def _predictions(program: Program, prefix: str) -> str:
    """The predictions from the scores."""
    first = f"{prefix}0"
    names = ["prediction"] if program.classes is None else [f"probability_{one}" for one in program.classes]
    scores = [f"{prefix}{k}" for k in range(program.n_sums)]
    if program.link == COMPLEMENT:
        found = [f"1.0 - {first}", first]
    elif program.link == LOGISTIC:
        found = [f"1.0 / (1.0 + exp({sign}{_number(program.scale)} * {first}))" for sign in ("", "-")]
    elif program.link == SOFTMAX:
        # The largest score is not subtracted: no dialect has a maximum of several columns under one name.
        total = " + ".join(f"exp({score})" for score in scores)
        found = [f"exp({score}) / ({total})" for score in scores]
    elif program.link == EXP:
        found = [f"exp({first})"]
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
    """One node; the text of each branch occurs once, so that the query grows with the tree only."""
    column = program.columns[program.column[node]]
    name = _quoted(column.name)
    missing = program.missing[node]
    if column.kind is Kind.NUMERIC:
        tests = [_below(name, program.threshold[node]), *([f"{name} IS NULL"] if missing == 0 else [])]
        return f"CASE WHEN {' OR '.join(tests)} THEN {branches[0]} ELSE {branches[1]} END"
    unseen = program.unseen[node]
    other = _number(program.values[program.value[node] + place]) if unseen == STOP else branches[unseen]
    chosen = _categories_by_branch(program, node, column)
    cases = []
    for branch, text in enumerate(branches):
        if branch == unseen:
            continue  # it is the ELSE
        categories = ", ".join(_literal(column, k) for k in chosen.get(branch, []))
        tests = [f"{name} IN ({categories})"] if categories else []
        tests += [f"{name} IS NULL"] if branch == missing else []
        cases += [f"WHEN {' OR '.join(tests)} THEN {text}"] if tests else []
    return f"CASE {' '.join(cases)} ELSE {other} END" if cases else other


def _below(name: str, threshold: float) -> str:
    """The test of a value; an infinite threshold separates known from missing values."""
    if math.isinf(threshold):
        return f"{name} IS NOT NULL" if threshold > 0 else "1 = 0"
    return f"{name} <= {_number(threshold)}"


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
