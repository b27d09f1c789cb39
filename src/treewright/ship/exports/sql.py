"""A program as one SQL query: a CASE expression for each tree and output."""

from __future__ import annotations

import math
import sys
from datetime import date, datetime, timedelta
from typing import Any

from treewright.ship.exports.program import EVERY, STOP, Program, categories_by_branch
from treewright.ship.exports.tree_sum import COMPLEMENT, EXP, LOGISTIC, SOFTMAX, ExportError
from treewright.table.column import Column, Kind, Unit

# Databases limit how deeply expressions are nested.
MOST_LEVELS = 400

# Terms of a sum without parentheses.
GROUP = 100

# The largest number that is not infinite.
LARGEST = sys.float_info.max


def to_sql(program: Program, table: str = "data") -> str:
    """One SELECT that returns all columns of `table` and the predictions: probabilities, or a number."""
    if EVERY in program.missing:
        raise ExportError(
            "the model sends fractions of a row down several branches (missing='fractional', as in C4.5), which SQL "
            "cannot do; fit it with missing='learned'"
        )
    sums = []
    for output in range(program.n_sums):
        terms = []
        for root, first in zip(program.roots, program.outputs, strict=True):
            if first <= output < first + program.n_values:
                terms.append(_case(program, root, output - first))
        total = _sum(terms)
        sums.append(f"(({total}) / {_number(program.divisor)} + {_number(program.constant[output])})")
    prefix = _free_prefix(program)
    inner = ", ".join(f"{total} AS {prefix}{k}" for k, total in enumerate(sums))
    scored = f"SELECT *, {inner}\n  FROM {_quoted(table)}"
    return f"SELECT *, {_predictions(program, prefix)}\nFROM ({scored}) AS scored;\n"


def _sum(terms: list[str]) -> str:
    """The sum of terms; many terms in groups, because databases count each plus as a level of nesting."""
    groups = ["\n  + ".join(terms[first : first + GROUP]) for first in range(0, len(terms), GROUP)]
    return groups[0] if len(groups) == 1 else _sum([f"({group})" for group in groups])


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
        return _numeric_node(column, program.threshold[node], missing, branches)
    unseen = program.unseen[node]
    other = _number(program.values[program.value[node] + place]) if unseen == STOP else branches[unseen]
    chosen = categories_by_branch(program, node)
    cases = []
    for branch, text in enumerate(branches):
        if branch == unseen:
            continue  # it is the ELSE
        categories = ", ".join(_literal(column, k) for k in chosen.get(branch, []))
        tests = [f"{name} IN ({categories})"] if categories else []
        tests += [_is_missing(column)] if branch == missing else []
        cases += [(" OR ".join(tests), text)] if tests else []
    return _case_of(cases, other) if cases else other


def _numeric_node(column: Column, threshold: float, missing: int, branches: list[str]) -> str:
    """A node that tests a number or a date; NULL and NaN are missing.

    Databases hold NaN to be greater than all other numbers. It therefore fails the tests `x <= t` and `-x < -t`.
    """
    name, (low, high) = _quoted(column.name), branches
    if threshold == math.inf:
        return low if missing == 0 else _case_of([(_is_known(column), low)], high)
    if threshold == -math.inf:
        return _case_of([(_is_missing(column), low)], high) if missing == 0 else high
    if missing == 1:
        return _case_of([(f"{name} <= {_bound(column, threshold)}", low)], high)
    if _has_nan(column):
        return _case_of([(f"0e0 - {name} < {_number(0.0 - threshold)}", high)], low)
    return _case_of([(f"{name} > {_bound(column, threshold)}", high)], low)


def _case_of(pairs: list[tuple[str, str]], other: str) -> str:
    """A CASE of tests and texts; another CASE as its ELSE is continued, which databases compute faster."""
    cases = " ".join(f"WHEN {test} THEN {text}" for test, text in pairs)
    if other.startswith("CASE "):
        return f"CASE {cases} {other.removeprefix('CASE ')}"
    return f"CASE {cases} ELSE {other} END"


def _has_nan(column: Column) -> bool:
    """Whether a column of the table can contain NaN."""
    if column.categories:
        return all(isinstance(one, int | float) and not isinstance(one, bool) for one in column.categories)
    return column.unit in (Unit.PLAIN, Unit.UNKNOWN)


def _is_known(column: Column) -> str:
    """The test of a value that is neither NULL nor NaN; no name of a function for it exists in all databases."""
    name = _quoted(column.name)
    return f"({name} <= {LARGEST!r} OR 0e0 - {name} < 0.0)" if _has_nan(column) else f"{name} IS NOT NULL"


def _is_missing(column: Column) -> str:
    name = _quoted(column.name)
    return f"{name} IS NULL" + (f" OR ({name} > {LARGEST!r} AND 0e0 - {name} > 0.0)" if _has_nan(column) else "")


def _bound(column: Column, threshold: float) -> str:
    """A threshold as a number, a date or a moment; of moments the last one up to the threshold."""
    if column.unit in (Unit.PLAIN, Unit.UNKNOWN):
        return _number(threshold)
    try:
        if column.unit is Unit.DATE:
            return f"'{date(1970, 1, 1) + timedelta(days=math.floor(threshold))}'"
        moment = datetime(1970, 1, 1) + timedelta(microseconds=math.floor(threshold))
    except OverflowError:
        raise ExportError(
            f"column {column.name!r} has a threshold beyond the year 9999, which SQL cannot spell"
        ) from None
    return f"'{moment.isoformat(sep=' ')}{'+00' if column.unit is Unit.UTC else ''}'"


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ExportError(f"the model has the number {value}, which SQL cannot spell")
    # With an exponent, because a database may take 0.5 for a decimal number, whose arithmetic is slow.
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def _literal(column: Column, index: int) -> str:
    value: Any = column.categories[index]
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    raise ExportError(f"column {column.name!r} has categories of type {type(value).__name__}, which SQL cannot spell")
