"""A tree as one interactive HTML page: the data as compact arrays, beside a script and a style that never change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from treewright.show.picture.colours import OKABE_ITO, choose_palette
from treewright.show.picture.rows import Histogram
from treewright.show.picture.words import clean, write_value
from treewright.table.column import Column
from treewright.tree import SplitKind, Tree
from treewright.tree.imputation import Imputation

TEMPLATES = Path(__file__).parents[1] / "templates"

# Up to this number of classes each node has the weights of all; above, those of its heaviest classes.
MOST_CLASSES = len(OKABE_ITO)
HEAVIEST = 6
# Nodes that are visible at first.
VISIBLE_AT_FIRST = 60


def write_page(
    tree: Tree, histograms: Mapping[int, Histogram], row: np.ndarray | None = None, *, in_frame: bool = False
) -> str:
    """The page as text; or as a frame for a notebook, which keeps its script and style apart from others."""
    title = f"Decision tree for {clean(str(tree.target.name)) or 'the target'}"
    # A name that closes the script element would end it; JSON can write the letter otherwise.
    data = json.dumps(describe_tree(tree, histograms, row), separators=(",", ":"), allow_nan=False)
    parts = {
        "TITLE": escape(title),
        "STYLE": _template("tree.css"),
        "SCRIPT": _template("tree.js"),
        "DATA": data.replace("<", "\\u003c"),
    }
    page = _template("tree.html")
    for name, text in parts.items():
        page = page.replace(f"@@{name}@@", text, 1)
    if not in_frame:
        return page
    return f'<iframe srcdoc="{escape(page)}" title="{escape(title)}" style="width:100%;height:640px;border:0"></iframe>'


@cache
def _template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def describe_tree(tree: Tree, histograms: Mapping[int, Histogram], row: np.ndarray | None) -> dict[str, Any]:
    """What the page needs to know of a tree, in arrays with an entry per node and short names."""
    used = _columns_in_use(tree)
    place_of = {column: place for place, column in enumerate(used)}
    described = {
        "target": clean(str(tree.target.name)) or "the target",
        "columns": [_describe_column(tree.columns[column]) for column in used],
        "first": tree.first_child.tolist(),
        "n": tree.n_children.tolist(),
        "kind": tree.kind.tolist(),
        "column": [place_of.get(column, -1) for column in tree.column.tolist()],
        "cut": [float(cut) if np.isfinite(cut) else None for cut in tree.threshold.tolist()],
        "missing": tree.missing_branch.tolist(),
        "weight": _short(tree.weight),
        "impurity": _short(tree.impurity, 4),
        "gain": _short(tree.gain, 4),
        "risk": _short(_risks(tree), 9),
        **({"rows": tree.rows.tolist()} if tree.criterion == "gradient" else {}),
        "total": float(tree.weight[0]),
        "criterion": tree.own_criterion or tree.criterion,
        "tolerance": tree.tolerance,
        "unseen": tree.unseen,
        "sets": _sets(tree),
        "visible": VISIBLE_AT_FIRST,
        "histograms": {str(node): _describe_histogram(found) for node, found in histograms.items()},
        **_describe_predictions(tree),
        **_describe_missing(tree, place_of),
    }
    if row is not None:
        described["row"] = [None if np.isnan(row[column]) else float(row[column]) for column in used]
    return described


def _columns_in_use(tree: Tree) -> list[int]:
    """The columns that splits or surrogates test."""
    columns = tree.column[tree.column >= 0]
    if tree.surrogates is not None:
        columns = np.concatenate([columns, tree.surrogates.column[tree.surrogates.column >= 0]])
    return np.unique(columns).tolist()


def _describe_column(column: Column) -> list[Any]:
    """Name, kind, unit and categories."""
    return [clean(str(column.name)), str(column.kind), str(column.unit), [clean(str(one)) for one in column.categories]]


def _short(numbers: np.ndarray, digits: int = 6) -> list[float | int | None]:
    """Numbers with few digits; whole numbers without a point."""
    rounded = [float(f"{number:.{digits}g}") for number in np.asarray(numbers, dtype=np.float64).tolist()]
    return [None if not np.isfinite(number) else int(number) if number == int(number) else number for number in rounded]


def _risks(tree: Tree) -> np.ndarray:
    """What each node adds to the training error if it is a leaf: the weight of errors, or weight times impurity."""
    if tree.target.is_classes:
        errors = np.array([node.errors for node in map(tree.node, range(tree.n_nodes))])
        return errors * tree.scale
    return np.nan_to_num(tree.weight * tree.impurity * tree.scale)


def _sets(tree: Tree) -> dict[str, tuple[int, ...]]:
    return {str(node): tree.category_set(int(node)) for node in np.flatnonzero(tree.kind == SplitKind.SUBSET)}


def _describe_predictions(tree: Tree) -> dict[str, Any]:
    nodes = [tree.node(index) for index in range(tree.n_nodes)]
    if tree.target.outputs:
        names = [clean(str(output.name)) for output in tree.target.outputs]
        texts = [[value if isinstance(value, str) else _write(value) for value in node.prediction] for node in nodes]
        return {"outputs": names, "predictions": texts}
    if not tree.target.is_classes:
        return {"value": _short(tree.predictions[:, 0], 7)}
    classes = tree.target.classes
    label_of = {name: label for label, name in enumerate(classes)}
    if len(classes) <= MOST_CLASSES:
        weights: list[Any] = [_short(line) for line in tree.distribution]
    else:
        weights = [_heaviest(line) for line in tree.distribution]
    costs = tree.misclassification_costs
    return {
        "classes": [clean(str(name)) for name in classes],
        "colours": {str(label): OKABE_ITO[k] for k, label in enumerate(choose_palette(tree.distribution[0]).shown)},
        "dense": len(classes) <= MOST_CLASSES,
        "weights": weights,
        "label": [label_of[node.prediction] for node in nodes],
        "added": _short(tree._added_rows(), 12) if tree.smoothing is not None else None,
        "costs": None if costs is None else costs.tolist(),
    }


def _write(value: Any) -> str:
    return write_value(value) if isinstance(value, float) else clean(str(value))


def _heaviest(line: np.ndarray) -> list[float | int | None]:
    """Labels and weights of the heaviest classes in turn."""
    order = [int(label) for label in np.argsort(-line, kind="stable")[:HEAVIEST] if line[label] > 0.0]
    weights = _short(line[order])
    return [part for pair in zip(order, weights, strict=True) for part in pair]


def _describe_histogram(found: Histogram) -> list[Any]:
    return [found.low, found.high, _short(found.counts.sum(axis=1), 4)]


def _describe_missing(tree: Tree, place_of: dict[int, int]) -> dict[str, Any]:
    """How a row with missing values goes down: shares of branches, surrogates and imputed values, if there are any."""
    described: dict[str, Any] = {}
    if (tree.missing_branch[tree.n_children > 0] < 0).any():
        described["share"] = _short(tree.share, 12)
    if tree.surrogates is not None:
        described["surrogates"] = _describe_surrogates(tree, place_of)
    if tree.imputation is not None:
        described |= _describe_imputation(tree.imputation, place_of)
    return described


def _describe_surrogates(tree: Tree, place_of: dict[int, int]) -> dict[str, list[Any]]:
    """For each node its surrogates: column, threshold, low and high branch; or column and the branch by category."""
    found = tree.surrogates
    assert found is not None
    described: dict[str, list[Any]] = {}
    for node, place in np.argwhere(found.column >= 0).tolist():
        column = int(found.column[node, place])
        entry: list[Any] = [place_of[column]]
        if tree.columns[column].is_categorical:
            codes, ways = tree.category_map(int(found.map_start[node, place]))
            entry.append(dict(zip(map(str, codes.tolist()), ways.tolist(), strict=True)))
        else:
            branches = (found.low_branch[node, place], found.high_branch[node, place])
            entry += [float(found.threshold[node, place]), *map(int, branches)]
        described.setdefault(str(node), []).append(entry)
    return described


def _describe_imputation(imputation: Imputation, place_of: dict[int, int]) -> dict[str, Any]:
    usual = {str(place): float(imputation.usual[column]) for column, place in place_of.items()}
    return {
        "usual": {place: value for place, value in usual.items() if np.isfinite(value)},
        "guessed": [place_of[column] for column, _ in imputation.guesses if column in place_of],
    }
