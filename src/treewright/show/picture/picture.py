"""`plot_tree` and the picture that it returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from treewright.show.picture.axes import draw_scene, require_matplotlib
from treewright.show.picture.boxes import draw_boxes
from treewright.show.picture.graph_text import write_dot, write_mermaid
from treewright.show.picture.icicle import draw_icicle, drawn_in_icicle
from treewright.show.picture.page import write_page
from treewright.show.picture.rows import histograms_of, path_fractions, read_row
from treewright.show.picture.scene import Scene
from treewright.show.picture.svg import write_svg
from treewright.show.picture.view import TreeView, drawn_to_depth, view_tree
from treewright.show.text import tree_of
from treewright.table.selection import take_columns
from treewright.tree import Tree

# Above this number of leaves, boxes would be too small to read, and the form is an icicle.
MOST_LEAVES = 200

FORMS = ("auto", "tree", "icicle", "dot", "mermaid", "html")
SUFFIXES = (".svg", ".html", ".htm", ".dot", ".gv", ".mmd", ".mermaid", ".png", ".pdf")


@dataclass(frozen=True, eq=False, repr=False)
class TreePicture:
    """The picture of a tree; notebooks show it, and `save` writes it to a file.

    Attributes
    ----------
    tree : the tree that it shows.
    form : "tree" or "icicle", the form of `svg`; or "dot", "mermaid" or "html", the form of `str(picture)`.
    """

    tree: Tree
    form: str
    max_depth: int | None = None
    path: np.ndarray | None = None
    histograms: dict[int, Any] | None = None
    row: np.ndarray | None = None  # the values of the row to follow, in the terms of the tree

    @cached_property
    def _view(self) -> TreeView:
        drawn = drawn_to_depth(self.tree, self.max_depth)
        if self._shape == "icicle":
            drawn = drawn & drawn_in_icicle(self.tree)
        return view_tree(self.tree, drawn, self.path, self.histograms)

    @property
    def _shape(self) -> str:
        if self.form in ("tree", "icicle"):
            return self.form
        leaves = self.tree.n_leaves if self.max_depth is None else _leaves_to(self.tree, self.max_depth)
        return "icicle" if leaves > MOST_LEAVES and self.form in ("auto", "html") else "tree"

    @cached_property
    def scene(self) -> Scene:
        """The rectangles, curves and words of the picture."""
        return draw_icicle(self._view) if self._shape == "icicle" else draw_boxes(self._view)

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return write_svg(self.scene)

    @property
    def dot(self) -> str:
        """The tree in the DOT language, for Graphviz."""
        return write_dot(self._view)

    @property
    def mermaid(self) -> str:
        """The tree as a Mermaid flowchart."""
        return write_mermaid(self._view)

    @property
    def html(self) -> str:
        """The tree as one interactive page, which needs no network."""
        return write_page(self.tree, self.histograms or {}, self.row)

    def draw(self, ax: Any = None) -> Any:
        """Draw the picture with matplotlib, into axes or a new figure, and return the axes."""
        plt = require_matplotlib()
        if ax is None:
            scale = min(100.0, max(self.scene.width / 40.0, self.scene.height / 40.0, 72.0))
            figure = plt.figure(figsize=(self.scene.width / scale, self.scene.height / scale))
            ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        return draw_scene(self.scene, ax)

    def save(self, path: str | Path) -> Path:
        """Write a file, whose suffix selects the form: .svg, .html, .dot, .mmd, or .png and .pdf by matplotlib."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{path.name!r} has no suffix of a picture; give one of {', '.join(SUFFIXES)}")
        if suffix in (".png", ".pdf"):
            self._save_figure(path)
            return path
        by_suffix = {".svg": "svg", ".html": "html", ".htm": "html", ".dot": "dot", ".gv": "dot"}
        path.write_text(getattr(self, by_suffix.get(suffix, "mermaid")), encoding="utf-8")
        return path

    def _save_figure(self, path: Path) -> None:
        plt = require_matplotlib()
        ax = self.draw()
        try:
            ax.figure.savefig(path, dpi=110)
        finally:
            plt.close(ax.figure)

    def __str__(self) -> str:
        return {"dot": lambda: self.dot, "mermaid": lambda: self.mermaid, "html": lambda: self.html}.get(
            self.form, lambda: self.svg
        )()

    def __repr__(self) -> str:
        return f"TreePicture(form={self.form!r}, n_leaves={self.tree.n_leaves}, depth={self.tree.depth})"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        if self.form == "html":
            return write_page(self.tree, self.histograms or {}, self.row, in_frame=True)
        return f'<div style="overflow-x:auto">{self.svg}</div>'


def plot_tree(
    model: Any,
    *,
    X: Any = None,
    y: Any = None,
    row: Any = None,
    tree: int = 0,
    max_depth: int | None = None,
    form: str = "auto",
    ax: Any = None,
) -> TreePicture:
    """Draw the tree of a fitted learner.

    Parameters
    ----------
    model : a fitted learner, or a `Tree`
    X, y : a table and its target, default=None
        With them, each split of a number shows a histogram of the rows that reach it. X is also the table of `row`.
    row : int, a row or None, default=None
        Highlights the path of one row: the number of a row of X, or a row as a dict.
    tree : int, default=0
        Which tree of an ensemble is drawn.
    max_depth : int or None, default=None
        Draws the nodes down to this depth. None draws all.
    form : "auto", "tree", "icicle", "dot", "mermaid" or "html", default="auto"
        "auto" is a tree of boxes, and above 200 leaves an icicle. The last three choose what `str` of the picture is.
    ax : matplotlib axes or None, default=None
        Also draws the picture there.

    Returns
    -------
    TreePicture
        Notebooks show it. `svg`, `html`, `dot` and `mermaid` have it as text, and `save` writes a file.

    Examples
    --------
    >>> from treewright import ID3Classifier, datasets, plot_tree
    >>> weather = datasets.load_weather()
    >>> model = ID3Classifier().fit(weather.X, weather.y)
    >>> picture = plot_tree(model)
    >>> picture
    TreePicture(form='tree', n_leaves=5, depth=2)
    >>> picture.svg[:4]
    '<svg'
    >>> print(plot_tree(model, form="mermaid", max_depth=1))
    flowchart TD
      n0["outlook<br/>14 rows"]
      n1["humidity<br/>… 2 leaves<br/>5 rows, 2 wrong"]
      n0 -->|"= sunny"| n1
      n2(["yes<br/>4 rows"])
      n0 -->|"= overcast"| n2
      n3["wind<br/>… 2 leaves<br/>5 rows, 2 wrong"]
      n0 -->|"= rainy"| n3
    <BLANKLINE>
    """
    _check(tree, max_depth, form)
    found, owner = _pick(model, tree)
    X = _columns_of_member(model, tree, X) if X is not None and owner is not model else X
    leaves = found.n_leaves if max_depth is None else _leaves_to(found, max_depth)
    if form == "auto":
        form = "icicle" if leaves > MOST_LEAVES else "tree"
    values = None if row is None else read_row(found, owner, X, row)
    path = None if values is None else path_fractions(found, values)
    histograms = None
    if X is not None and y is not None and form in ("tree", "html"):
        histograms = histograms_of(found, owner, X, y, drawn_to_depth(found, max_depth))
    picture = TreePicture(found, form, max_depth, path, histograms, None if values is None else values[0])
    if ax is not None:
        picture.draw(ax)
    return picture


def _check(tree: Any, max_depth: Any, form: Any) -> None:
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; give one of {', '.join(map(repr, FORMS))}")
    for name, value in (("tree", tree), ("max_depth", max_depth)):
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0
        if not is_whole and not (value is None and name == "max_depth"):
            raise ValueError(f"{name} is {value!r}; give a whole number of 0 or more")


def _pick(model: Any, place: int) -> tuple[Tree, Any]:
    """The tree to draw, and the learner that reads its tables: one member of an ensemble."""
    members: Any = None if isinstance(model, Tree) or hasattr(model, "tree_") else _members(model)
    if members is None or not len(members):
        return tree_of(model), model
    if place >= len(members):
        raise ValueError(f"tree is {place}, and this {type(model).__name__} has the trees 0 to {len(members) - 1}")
    member = members[place]
    if not isinstance(member, Tree) and not isinstance(getattr(member, "tree_", None), Tree):
        kind = type(member).__name__
        raise TypeError(f"member {place} of this {type(model).__name__} is a {kind}, which has no tree to draw")
    return tree_of(member), model if isinstance(member, Tree) else member


def _columns_of_member(model: Any, place: int, X: Any) -> Any:
    """The columns of a table without names that a member was fitted to; with names, it finds them itself."""
    places = getattr(model, "estimators_features_", None)
    return X if places is None or hasattr(model, "feature_names_in_") else take_columns(X, np.asarray(places[place]))


def _members(model: Any) -> Any:
    forests: Any = getattr(model, "forests_", ())
    return forests[0] if len(forests) else getattr(model, "estimators_", None)


def _leaves_to(tree: Tree, max_depth: int) -> int:
    """The number of leaves of the tree that ends at a depth."""
    last = (tree.depth_of == max_depth) | ((tree.n_children == 0) & (tree.depth_of < max_depth))
    return int(np.count_nonzero(last))
