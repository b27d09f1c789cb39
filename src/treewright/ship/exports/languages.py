"""Programs as source code: Python, JavaScript and C, each with the same tables and the same loop."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from string import Template
from typing import Any

from treewright.ship.exports.program import Program
from treewright.ship.exports.tree_sum import COMPLEMENT, EXP, LOGISTIC, SOFTMAX, ExportError
from treewright.table.column import Unit

_TABLES = (
    *("roots", "outputs", "kind", "column", "child", "n_children", "missing", "unseen"),
    *("members", "flags", "value"),
)
_REALS = ("threshold", "share", "values", "constant")

_UNITS = {Unit.DATE: "date", Unit.DATETIME: "datetime", Unit.UTC: "datetime"}

PYTHON = Template('''"""Predictions of a $learner. Written by treewright; needs no package.

`predict(row)` takes a dict of columns and returns the class or the number. None and NaN are missing.$dates
"""

import math

NAMES = $names
UNITS = $units
CATEGORIES = $categories
CLASSES = $classes
$tables


def read(row):
    """The cells as numbers: categories by index, -1 for one that did not occur in training, None for missing."""
    cells = []
    for name, unit, categories in zip(NAMES, UNITS, CATEGORIES):
        cell = row.get(name)
        if cell is None or cell != cell:
            cells.append(None)
        elif categories is not None:
            cells.append(categories.get(cell, -1))
        else:
            cells.append(count(cell, unit) if unit and hasattr(cell, "toordinal") else float(cell))
    return cells


def count(moment, unit):
    """A date as days since 1970-01-01, a moment as microseconds."""
    days = moment.toordinal() - 719163
    if unit == "date":
        return float(days)
    if not hasattr(moment, "hour"):
        return float(86400000000 * days)
    offset = moment.utcoffset() or moment - moment
    seconds = 86400 * days + 3600 * moment.hour + 60 * moment.minute + moment.second
    return float(1000000 * (seconds - 86400 * offset.days - offset.seconds) + moment.microsecond)


def branch_of(node, cells):
    """The branch of a row at a node; -1 if a fraction of it follows each, -2 if it stops."""
    cell = cells[COLUMN[node]]
    if cell is None:
        return MISSING[node]
    if CATEGORIES[COLUMN[node]] is not None and cell < 0:
        return UNSEEN[node]
    if KIND[node] == 1:
        return 0 if cell <= THRESHOLD[node] else 1
    return 1 - FLAGS[MEMBERS[node] + cell] if KIND[node] == 2 else cell


def outputs(row):
    """Class probabilities in the order of CLASSES, or one number."""
    cells = read(row)
    sums = [0.0] * $n_sums
    for root, output in zip(ROOTS, OUTPUTS):
        totals = [0.0] * $n_values
        waiting = [(root, 1.0)]
        while waiting:
            node, fraction = waiting.pop()
            branch = 0 if KIND[node] == 0 else branch_of(node, cells)
            while KIND[node] and branch >= 0:
                node = CHILD[node] + branch
                branch = 0 if KIND[node] == 0 else branch_of(node, cells)
            if branch == -1:
                children = range(CHILD[node] + N_CHILDREN[node] - 1, CHILD[node] - 1, -1)
                waiting += [(child, fraction * SHARE[child]) for child in children if SHARE[child] > 0.0]
                continue
            for k in range($n_values):
                totals[k] += fraction * VALUES[VALUE[node] + k]
        for k in range($n_values):
            sums[output + k] += totals[k]
    sums = [total / $divisor + constant for total, constant in zip(sums, CONSTANT)]
    return $link


def predict(row):
    """The class, or the number."""
    found = outputs(row)
    return found[0] if CLASSES is None else CLASSES[found.index(max(found))]


def _softmax(scores):
    most = max(scores)
    powers = [math.exp(score - most) for score in scores]
    return [power / sum(powers) for power in powers]


def _logistic(score):
    share = 0.5 * (1.0 + math.tanh(0.5 * score))
    return [1.0 - share, share]
''')

JAVASCRIPT = Template("""// Predictions of a $learner. Written by treewright; an ES module without dependencies.
// predict(row) takes an object of columns and returns the class or the number.
// null, undefined and NaN are missing.$dates

const NAMES = $names;
const UNITS = $units;
const CATEGORIES = $categories;
const CLASSES = $classes;
$tables

function read(row) {
  return NAMES.map((name, k) => {
    const cell = Object.hasOwn(row, name) ? row[name] : null;
    if (cell === null || cell === undefined || Number.isNaN(cell)) return null;
    if (CATEGORIES[k] !== null) return CATEGORIES[k].indexOf(cell);
    if (!(cell instanceof Date)) return Number(cell);
    return UNITS[k] === "date" ? Math.floor(cell.getTime() / 86400000) : 1000 * cell.getTime();
  });
}

// The branch of a row at a node; -1 if a fraction of it follows each, -2 if it stops.
function branchOf(node, cells) {
  const cell = cells[COLUMN[node]];
  if (cell === null) return MISSING[node];
  if (CATEGORIES[COLUMN[node]] !== null && cell < 0) return UNSEEN[node];
  if (KIND[node] === 1) return cell <= THRESHOLD[node] ? 0 : 1;
  return KIND[node] === 2 ? 1 - FLAGS[MEMBERS[node] + cell] : cell;
}

// Class probabilities in the order of CLASSES, or one number.
export function outputs(row) {
  const cells = read(row);
  let sums = new Array($n_sums).fill(0);
  ROOTS.forEach((root, tree) => {
    const totals = new Array($n_values).fill(0);
    const waiting = [[root, 1]];
    while (waiting.length) {
      let [node, fraction] = waiting.pop();
      let branch = KIND[node] ? branchOf(node, cells) : 0;
      while (KIND[node] && branch >= 0) {
        node = CHILD[node] + branch;
        branch = KIND[node] ? branchOf(node, cells) : 0;
      }
      if (branch === -1) {
        for (let child = CHILD[node] + N_CHILDREN[node] - 1; child >= CHILD[node]; child--) {
          if (SHARE[child] > 0) waiting.push([child, fraction * SHARE[child]]);
        }
        continue;
      }
      for (let k = 0; k < $n_values; k++) totals[k] += fraction * VALUES[VALUE[node] + k];
    }
    for (let k = 0; k < $n_values; k++) sums[OUTPUTS[tree] + k] += totals[k];
  });
  sums = sums.map((total, k) => total / $divisor + CONSTANT[k]);
  return $link;
}

// The class, or the number.
export function predict(row) {
  const found = outputs(row);
  return CLASSES === null ? found[0] : CLASSES[found.indexOf(Math.max(...found))];
}

function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

function logistic(score) {
  const share = 0.5 * (1 + Math.tanh(0.5 * score));
  return [1 - share, share];
}
""")

C = Template("""/* Predictions of a $learner. Written by treewright; C99, no dependencies but the mathematics library.

   cells: one number per column; NAN is missing. A category is its index; any other number is a category that did not
   occur in training:
$columns
   out: $n_out numbers: $meaning */

#include <math.h>

#define TREEWRIGHT_COLUMNS $n_columns
#define TREEWRIGHT_OUTPUTS $n_out

/* The number of categories of each column, 0 for numbers. */
static const int N_CATEGORIES[] = {$n_categories};
$tables

/* The branch of a row at a node; -1 if a fraction of it follows each, -2 if it stops. */
static int branch_of(int node, const double *cells)
{
    double cell = cells[COLUMN[node]];
    if (isnan(cell))
        return MISSING[node];
    int n_categories = N_CATEGORIES[COLUMN[node]];
    if (n_categories > 0 && !(cell >= 0.0 && cell < n_categories && cell == floor(cell)))
        return UNSEEN[node];
    if (KIND[node] == 1)
        return cell <= THRESHOLD[node] ? 0 : 1;
    return KIND[node] == 2 ? 1 - FLAGS[MEMBERS[node] + (int)cell] : (int)cell;
}

void treewright_predict(const double *cells, double *out)
{
    int nodes[$n_waiting];
    double fractions[$n_waiting], sums[$n_sums] = {0.0};
    for (int tree = 0; tree < $n_trees; tree++) {
        double totals[$n_values] = {0.0};
        int n_waiting = 1;
        nodes[0] = ROOTS[tree];
        fractions[0] = 1.0;
        while (n_waiting > 0) {
            int node = nodes[--n_waiting];
            double fraction = fractions[n_waiting];
            int branch = KIND[node] ? branch_of(node, cells) : 0;
            while (KIND[node] && branch >= 0) {
                node = CHILD[node] + branch;
                branch = KIND[node] ? branch_of(node, cells) : 0;
            }
            if (branch == -1) {
                for (int child = CHILD[node] + N_CHILDREN[node] - 1; child >= CHILD[node]; child--)
                    if (SHARE[child] > 0.0) {
                        nodes[n_waiting] = child;
                        fractions[n_waiting++] = fraction * SHARE[child];
                    }
                continue;
            }
            for (int k = 0; k < $n_values; k++)
                totals[k] += fraction * VALUES[VALUE[node] + k];
        }
        for (int k = 0; k < $n_values; k++)
            sums[OUTPUTS[tree] + k] += totals[k];
    }
    for (int k = 0; k < $n_sums; k++)
        sums[k] = sums[k] / $divisor + CONSTANT[k];
$link}
""")


def to_python(program: Program) -> str:
    """The program as a Python module."""
    categories = [{one: k for k, one in enumerate(column.categories)} or None for column in program.columns]
    tables = "\n".join(
        f"{name.upper()} = {_listed(getattr(program, name), _python_number)}" for name in (*_TABLES, *_REALS)
    )
    links = {
        COMPLEMENT: "[1.0 - sums[0], sums[0]]",
        LOGISTIC: f"_logistic({program.scale!r} * sums[0])",
        SOFTMAX: "_softmax(sums)",
        EXP: "[math.exp(sums[0])]",
    }
    _check_literals(program)
    return PYTHON.substitute(
        learner=program.learner,
        names=repr([column.name for column in program.columns]),
        units=repr(_units(program)),
        dates=_python_dates(program),
        categories=repr(categories),
        classes=repr(None if program.classes is None else list(program.classes)),
        tables=tables,
        n_sums=program.n_sums,
        n_values=program.n_values,
        divisor=repr(program.divisor),
        link=links.get(program.link, "sums"),
    )


def to_javascript(program: Program) -> str:
    """The program as an ES module."""
    tables = "\n".join(
        f"const {name.upper()} = {_listed(getattr(program, name), _javascript_number)};" for name in (*_TABLES, *_REALS)
    )
    links = {
        COMPLEMENT: "[1 - sums[0], sums[0]]",
        LOGISTIC: f"logistic({program.scale!r} * sums[0])",
        SOFTMAX: "softmax(sums)",
        EXP: "[Math.exp(sums[0])]",
    }
    _check_literals(program)
    return JAVASCRIPT.substitute(
        learner=program.learner,
        names=json.dumps([column.name for column in program.columns]),
        units=json.dumps(_units(program)),
        dates=_javascript_dates(program),
        categories=json.dumps([list(column.categories) or None for column in program.columns]),
        classes=json.dumps(None if program.classes is None else list(program.classes)),
        tables=tables,
        n_sums=program.n_sums,
        n_values=program.n_values,
        divisor=repr(program.divisor),
        link=links.get(program.link, "sums"),
    )


def to_c(program: Program) -> str:
    """The program as one C file."""
    is_two = program.link in (COMPLEMENT, LOGISTIC)
    n_out = 2 if is_two else program.n_sums
    tables = [f"static const int {name.upper()}[] = {{{_joined(getattr(program, name), str)}}};" for name in _TABLES]
    tables += [
        f"static const double {name.upper()}[] = {{{_joined(getattr(program, name), _c_number)}}};" for name in _REALS
    ]
    columns = [
        f"   {k}: {_c_comment(column.name)}{_unit(column)}{_categories(column)}"
        for k, column in enumerate(program.columns)
    ]
    meaning = "the prediction"
    if program.classes is not None:
        meaning = f"the probabilities of {_c_comment(', '.join(map(str, program.classes)))}"
    return C.substitute(
        learner=program.learner,
        columns="\n".join(columns),
        meaning=meaning,
        n_out=n_out,
        n_columns=len(program.columns),
        n_categories=_joined([len(column.categories) for column in program.columns], str),
        tables="\n".join(tables),
        n_sums=program.n_sums,
        n_trees=len(program.roots),
        n_waiting=program.n_waiting,
        n_values=program.n_values,
        divisor=repr(program.divisor),
        link=_c_link(program),
    )


def _c_link(program: Program) -> str:
    if program.link == COMPLEMENT:
        return "    out[0] = 1.0 - sums[0];\n    out[1] = sums[0];\n"
    if program.link == LOGISTIC:
        share = f"    out[1] = 0.5 * (1.0 + tanh(0.5 * ({program.scale!r} * sums[0])));\n"
        return f"{share}    out[0] = 1.0 - out[1];\n"
    if program.link == EXP:
        return "    out[0] = exp(sums[0]);\n"
    if program.link != SOFTMAX:
        return f"    for (int k = 0; k < {program.n_sums}; k++)\n        out[k] = sums[k];\n"
    return (
        "    double most = sums[0], total = 0.0;\n"
        f"    for (int k = 1; k < {program.n_sums}; k++)\n        most = sums[k] > most ? sums[k] : most;\n"
        f"    for (int k = 0; k < {program.n_sums}; k++)\n        total += out[k] = exp(sums[k] - most);\n"
        f"    for (int k = 0; k < {program.n_sums}; k++)\n        out[k] /= total;\n"
    )


def _check_literals(program: Program) -> None:
    """Categories and classes must be values that source code can spell."""
    for column in program.columns:
        strange = next((one for one in column.categories if not _is_literal(one)), None)
        if strange is not None:
            kind = type(strange).__name__
            raise ExportError(f"column {column.name!r} has categories of type {kind}, which source code cannot spell")
    strange = next((one for one in program.classes or () if not _is_literal(one)), None)
    if strange is not None:
        raise ExportError(f"the classes are of type {type(strange).__name__}, which source code cannot spell")


def _is_literal(value: Any) -> bool:
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def _units(program: Program) -> list[str | None]:
    """The unit of each column of dates or moments, None for all others."""
    return [_UNITS.get(column.unit) if column.is_numeric else None for column in program.columns]


def _python_dates(program: Program) -> str:
    kinds = "a datetime.date or datetime.datetime, or the number of days or microseconds since 1970-01-01"
    return f"\nA date is {kinds}." if any(_units(program)) else ""


def _javascript_dates(program: Program) -> str:
    kinds = "a Date, or the number of days (of moments: microseconds) since 1970-01-01"
    return f"\n// A date is {kinds}." if any(_units(program)) else ""


def _unit(column: Any) -> str:
    words = {"date": "days", "datetime": "microseconds"}
    unit = _UNITS.get(column.unit) if column.is_numeric else None
    return f" in {words[unit]} since 1970-01-01" if unit else ""


def _joined(items: Iterable[Any], write: Callable[[Any], str]) -> str:
    return ", ".join(map(write, items)) or "0"


def _listed(items: Iterable[Any], write: Callable[[Any], str]) -> str:
    return f"[{', '.join(map(write, items))}]"


def _python_number(value: Any) -> str:
    return repr(value) if not isinstance(value, float) or math.isfinite(value) else f"float('{value}')"


def _javascript_number(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _c_number(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else ("HUGE_VAL" if value > 0 else "-HUGE_VAL")


def _c_comment(text: str) -> str:
    """Text that cannot end a comment."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "\\\\").replace("\n", " ")


def _categories(column: Any) -> str:
    words = [f"{k} = {_c_comment(str(one))}" for k, one in enumerate(column.categories[:50])]
    more = f", ... {len(column.categories) - 50} more" if len(column.categories) > 50 else ""
    return f" ({', '.join(words)}{more})" if words else ""
