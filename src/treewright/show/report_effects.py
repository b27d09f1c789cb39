"""Two sections of the report: the effect of single columns, and a tree that represents an ensemble."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.show.picture.colours import OKABE_ITO
from treewright.show.plots.effects import predict_along
from treewright.show.plots.tables import Given
from treewright.show.text import draw
from treewright.table.column import Column
from treewright.table.selection import open_table, take_rows
from treewright.tree.tree import Tree

# The columns whose effect is shown, the points of a curve, and the rows that members are compared on.
MOST_COLUMNS, N_POINTS, MOST_ROWS, MOST_MEMBERS = 4, 30, 300, 100
# Size of one curve, and the margin below it for the lowest and the highest value.
WIDTH, HEIGHT, MARGIN = 260, 120, 18
LEVELS_SHOWN = 3


def effects_section(model: Any, X: Any, importances: list[tuple[str, float]]) -> str:
    """The mean prediction along each of the most important columns (partial dependence), as HTML."""
    given = Given.of(X)
    curves = []
    for name, share in importances[:MOST_COLUMNS]:
        place = given.place(name)
        if share <= 0.0 or not np.isfinite(given.values[:, place]).any():
            continue
        grid = given.grid(place, N_POINTS)
        found, what = predict_along(model, given, place, grid, None)
        curves.append(_curve(given.columns[place], grid, found.mean(axis=0), what))
    if not curves:
        return ""
    words = "The mean prediction for all rows if one column has the same value in each of them (partial dependence)."
    return f"<section><h3>Effects of columns</h3><p>{words}</p>{''.join(curves)}</section>"


def _curve(column: Column, grid: np.ndarray, means: np.ndarray, what: str) -> str:
    """One small picture: a line for numbers, a dot for each category."""
    low, high = float(means.min()), float(means.max())
    span = high - low or 1.0
    across = (grid - grid[0]) / ((grid[-1] - grid[0]) or 1.0) * (WIDTH - 20) + 10
    down = HEIGHT - 10 - (means - low) / span * (HEIGHT - 30)
    if column.is_numeric:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
        marks = f'<polyline points="{points}" fill="none" stroke="{OKABE_ITO[0]}" stroke-width="2"/>'
        ends = (column.write(float(grid[0])), column.write(float(grid[-1])))
    else:
        marks = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{OKABE_ITO[0]}">'
            f"<title>{escape(column.write(code))}: {mean:.3g}</title></circle>"
            for x, y, code, mean in zip(across, down, grid, means, strict=True)
        )
        ends = (column.write(float(grid[0]))[:18], column.write(float(grid[-1]))[:18])
    label = escape(f"{what} by {column.name}, from {low:.3g} to {high:.3g}")
    texts = (
        f'<text x="4" y="12" font-size="11">{escape(column.name[:34])}: {low:.3g} to {high:.3g}</text>'
        f'<text x="4" y="{HEIGHT + MARGIN - 4}" font-size="10">{escape(ends[0])}</text>'
        f'<text x="{WIDTH - 4}" y="{HEIGHT + MARGIN - 4}" font-size="10" text-anchor="end">{escape(ends[1])}</text>'
    )
    size = f'width="{WIDTH}" height="{HEIGHT + MARGIN}" viewBox="0 0 {WIDTH} {HEIGHT + MARGIN}"'
    caption = f'<figcaption style="font-size:.8rem">{escape(what)}</figcaption>'
    picture = f'<svg {size} role="img" aria-label="{label}">{marks}{texts}</svg>'
    return f'<figure style="display:inline-block;margin:.3rem">{picture}{caption}</figure>'


def without_names(tree: Tree, secret: Set[str]) -> Tree:
    """The tree with numbers in place of the categories of some columns, by their names."""
    columns = tuple(
        replace(column, categories=tuple(f"value {k + 1}" for k in range(len(column.categories))))
        if column.name in secret and column.categories
        else column
        for column in tree.columns
    )
    return tree.replace(columns=columns)


def representative_section(model: Any, X: Any, secret: Set[str] = frozenset()) -> str:
    """The first levels of the member that predicts most like the ensemble; empty if no member is a tree.

    The categories of the `secret` columns are not named.
    """
    number = representative(model, X)
    if number is None:
        return ""
    tree = without_names(model.estimators_[number].tree_, secret)
    lines = [line[:200] for line in draw(tree, max_depth=LEVELS_SHOWN).split("\n")]
    shown = min(LEVELS_SHOWN, tree.depth)
    words = (
        f"Tree {number} predicts the rows most like the whole ensemble. Shown are {shown} of its {tree.depth} levels; "
        "it has no more say than any other member."
    )
    return f"<section><h3>A representative tree</h3><p>{words}</p><pre>{escape(chr(10).join(lines))}</pre></section>"


def representative(model: Any, X: Any) -> int | None:
    """The number of the tree whose predictions are nearest to those of the ensemble, of the first hundred."""
    members = getattr(model, "estimators_", None)
    if members is None or hasattr(model, "forests_") or not hasattr(model, "member_predictions"):
        return None
    if len(members) == 0 or getattr(members[0], "tree_", None) is None:
        return None
    table = open_table(X)
    n_rows = len(table)
    if n_rows > MOST_ROWS:
        table = take_rows(table, np.linspace(0, n_rows - 1, MOST_ROWS).astype(np.int64))
    by_member = np.asarray(model.member_predictions(table))[:MOST_MEMBERS]
    if by_member.dtype.kind not in "fiu":
        return None
    whole = np.asarray(model.predict_proba(table) if is_classifier(model) else model.predict(table), dtype=np.float64)
    by_member = by_member.reshape(len(by_member), -1)
    if by_member.shape[1] != whole.size:
        return None
    return int(((by_member - whole.ravel()) ** 2).mean(axis=1).argmin())
