"""The worked trace: `trace(model, X, y)` replays growth and shows every figure behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from treewright.insight.trace import Limits, PathStep, Step, Thresholds, WorkedSteps, work_out
from treewright.insight.trace.replay import path_of
from treewright.show.trace.document import Document, document_of
from treewright.show.trace.html import write_html
from treewright.show.trace.latex import write_latex
from treewright.show.trace.markdown import write_markdown
from treewright.show.trace.notation import NOTATIONS
from treewright.show.trace.text import WIDTH, write_text


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """The worked trace of a fitted model; it prints as text.

    Attributes
    ----------
    worked : the steps as data, with the names of columns and classes.
    notation : "quinlan" or "breiman".
    exercise : whether figures are left blank, with a solution sheet after them.
    """

    worked: WorkedSteps
    notation: str
    exercise: bool
    _model: Any
    _table: Any

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in the order in which they were taken, as data."""
        return self.worked.steps

    @property
    def notes(self) -> tuple[str, ...]:
        """What the trace does not show, a sentence each."""
        return self.worked.notes

    def path(self, row: Any) -> PathStep:
        """The way of one row down the fitted tree: the number of a row of X, or a row itself."""
        if not hasattr(self._model, "tree_"):
            raise TypeError(f"the way of one row is that of a single tree, and {self.worked.learner} has many")
        return path_of(self._model, self._table, row)

    def to_text(self, width: int = WIDTH) -> str:
        """The trace as text, with tables of this width."""
        return write_text(self._document(), width)

    def to_markdown(self) -> str:
        """The trace as Markdown."""
        return write_markdown(self._document())

    def to_latex(self) -> str:
        """The trace as a LaTeX document."""
        return write_latex(self._document())

    def to_html(self, path: str | Path | None = None) -> str:
        """The trace as one HTML page with step buttons; it is also written to a file if a path is given."""
        page = write_html(self._document())
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def to_dict(self) -> dict[str, Any]:
        """All steps as plain values, ready for JSON."""
        return {
            "learner": self.worked.learner,
            "target": self.worked.target,
            "classes": list(self.worked.classes),
            "criterion": self.worked.criterion,
            "notes": list(self.notes),
            "steps": [{"step": type(step).__name__, **_plain(step)} for step in self.steps],
        }

    def _document(self) -> Document:
        return document_of(self.worked, self.notation, self.exercise)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Trace({self.worked.learner}, {len(self.steps)} steps)"

    def _repr_html_(self) -> str:
        return write_html(self._document(), whole_page=False)


def trace(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    row: Any = None,
    notation: str = "quinlan",
    exercise: bool = False,
    max_depth: int | None = None,
    max_thresholds: int | None = 50,
    max_columns: int | None = 6,
    n_rounds: int = 5,
) -> Trace:
    """Replay a fitted model on its training rows: every impurity, gain and threshold that led to its splits.

    Parameters
    ----------
    model : a fitted learner
        A tree; or AdaBoost, gradient boosting, a forest or bagging, whose rounds or members are shown.
    X, y : the table and the target that the model was fitted to
    sample_weight : the weights that it was fitted with, default=None
    row : int, a row or None, default=None
        Shows only the way of one row down the tree: the number of a row of X, or a row as a dict.
    notation : "quinlan" or "breiman", default="quinlan"
        Entropy, Gain and SplitInfo, or i(t) and delta i.
    exercise : bool, default=False
        Leaves the figures blank and adds a solution sheet.
    max_depth : int or None, default=None
        Shows the nodes down to this depth. None shows all of a tree of up to 300 nodes.
    max_thresholds : int or None, default=50
        Number of candidate thresholds to keep for each column of a node, the best of them. None keeps all.
    max_columns : int or None, default=6
        Number of columns whose candidate thresholds are listed at a node, those with the best scores. The best
        threshold of every other column is still compared. None lists those of all columns.
    n_rounds : int, default=5
        Number of rounds or members of an ensemble to show.

    Returns
    -------
    Trace
        It prints as text; `to_html`, `to_markdown` and `to_latex` write other forms, and `steps` has the data.

    Examples
    --------
    >>> from treewright import ID3Classifier, datasets, trace
    >>> weather = datasets.load_weather()
    >>> model = ID3Classifier().fit(weather.X, weather.y)
    >>> worked = trace(model, weather.X, weather.y)
    >>> root = worked.steps[0]
    >>> for candidate in root.candidates:
    ...     print(f"{candidate.column:12}{candidate.gain:.4f}  {candidate.reason}")
    outlook     0.2467  wins
    temperature 0.0292  a lower gain
    humidity    0.1518  a lower gain
    wind        0.0481  a lower gain
    """
    if notation not in NOTATIONS:
        raise ValueError(f"notation is {notation!r}; give 'quinlan' or 'breiman'")
    for name, value, least in (
        ("max_depth", max_depth, 0),
        ("max_thresholds", max_thresholds, 1),
        ("max_columns", max_columns, 1),
        ("n_rounds", n_rounds, 1),
    ):
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least
        if not is_whole and not (value is None and name != "n_rounds"):
            raise ValueError(f"{name} is {value!r}; give a whole number of {least} or more")
    worked = work_out(
        model,
        X,
        y,
        sample_weight=sample_weight,
        row=row,
        limits=Limits(max_depth, max_thresholds, max_columns),
        n_rounds=n_rounds,
    )
    return Trace(worked, notation, bool(exercise), model, X)


def _plain(value: Any) -> Any:
    """Data classes, arrays and tuples as plain values; figures that are not finite as None."""
    if isinstance(value, Thresholds):
        return [_plain(cut) for cut in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)
