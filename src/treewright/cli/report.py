"""The printed report: tables as wide as the terminal, plain text in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from shlex import quote
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from treewright.cli.analysis import PreparedFit
from treewright.cli.ensembles import importances_of, members_sentence, out_of_bag_sentence
from treewright.insight.columns import WIDEST_VALUES
from treewright.insight.cross_validation import CrossValidation
from treewright.insight.evaluation import Evaluation
from treewright.insight.importances import MANY_VALUES
from treewright.insight.task import Task
from treewright.insight.text_table import write_figure, write_values
from treewright.show import draw
from treewright.table.column import write_number

if TYPE_CHECKING:
    from treewright.tree import Tree

# Longer output is cut.
MOST_LINES = 60
MOST_COLUMNS = 40
MOST_IMPORTANCES = 20
MOST_CLASSES = 10
WIDEST_PROSE = 100
# Leaves with fewer rows on average, in a table with enough rows, may be noise.
ROWS_PER_LEAF = 10
ROWS_TO_PRUNE = 50


class Report:
    """Prints to standard output. Names and values come from the user, so they are never markup."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, markup=False, emoji=False)

    def heading(self, words: str) -> None:
        self.console.print(Text(words, style="bold"), soft_wrap=True)

    def paragraph(self, words: str, style: str = "") -> None:
        """Prose, wrapped at a readable width."""
        width = max(20, min(self.console.width, WIDEST_PROSE))
        self.console.print(Text(fill(words, width, break_on_hyphens=False), style=style), soft_wrap=True)

    def lines(self, lines: Sequence[str]) -> None:
        """Text without wrapping."""
        for line in lines:
            self.console.print(Text(line), soft_wrap=True)

    def blank(self) -> None:
        self.console.print()

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
        grid = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        for header in headers:
            grid.add_column(header, justify="right" if header in right else "left", overflow="fold")
        for row in rows:
            grid.add_row(*(Text(cell) for cell in row))
        self.console.print(grid)

    def columns(self, prepared: PreparedFit) -> None:
        """The kind and values of each column, with remarks on odd ones."""
        shown = prepared.columns[:MOST_COLUMNS]
        rows = [(one.name, one.word, str(one.missing or "-"), one.values) for one in shown]
        rows.append((prepared.target, "target", "-", _target_values(prepared)))
        self.table(("column", "kind", "missing", "values"), rows, right=("missing",))
        if len(shown) < len(prepared.columns):
            self.paragraph(f"... and {len(prepared.columns) - len(shown)} more columns; --json lists all.")
        odd = [one for one in prepared.columns if one.oddity]
        for one in odd[:5]:
            advice = f"; leave it out with --ignore {quote(one.name)}" if one.distinct > 1 else ""
            self.paragraph(f"Column {one.name!r} {one.oddity}{advice}.")
        if len(odd) > 5:
            self.paragraph(f"{len(odd) - 5} more columns are odd; --json lists all.")

    def scores(self, found: CrossValidation, n_rows: int, tree: Tree | None) -> None:
        """The cross-validated scores, the baseline, and how they are computed."""
        self.table(found.headers(), found.rows(), right=("this model", found.baseline))
        self.paragraph(f"{found.verdict}{_pruning_advice(found, tree, n_rows)}")
        self.paragraph(found.method, style="dim")
        if found.evaluation is not None and not found.has_one_value:
            self.classes(found.evaluation)
        if found.note:
            self.paragraph(f"{found.note}.", style="dim")

    def classes(self, evaluation: Evaluation) -> None:
        """Precision and recall of each class, log loss and AUC, in few lines."""
        shown = evaluation.classes[:MOST_CLASSES]
        rows = [(str(one.name), write_figure(one.precision), write_figure(one.recall), str(one.rows)) for one in shown]
        self.blank()
        self.table(("class", "precision", "recall", "rows"), rows, right=("precision", "recall", "rows"))
        if len(shown) < len(evaluation.classes):
            self.paragraph(f"... and {len(evaluation.classes) - len(shown)} more classes; --json lists all.")
        measures = [f"{name} {write_figure(value)}" for name, value in evaluation.measures.items()]
        if measures:
            self.paragraph(f"Also {'; '.join(measures)}. --json has the confusion matrix.", style="dim")

    def tree(self, tree: Tree, *, max_depth: int | None = None, whole: bool = False) -> None:
        """The tree as text, cut where it becomes too long to read."""
        lines, note = cut_tree(tree, max_depth, whole=whole)
        self.lines(lines)
        if note:
            self.paragraph(note, style="dim")

    def ensemble(self, fitted: Any, *, whole: bool = False) -> None:
        """The members, their out-of-bag score, and the importances of the columns."""
        self.paragraph(members_sentence(fitted))
        if hasattr(fitted, "oob_score_"):
            self.paragraph(out_of_bag_sentence(fitted))
        weights = getattr(fitted, "posterior_", None)
        if weights is not None:
            rows = [(name, write_figure(share)) for name, share in zip(weights.names, weights.weights, strict=True)]
            self.blank()
            self.table(("member", "weight"), rows, right=("weight",))
        importances = importances_of(fitted)
        if not importances:
            return
        shown = importances if whole else importances[:MOST_IMPORTANCES]
        self.blank()
        self.table(
            ("column", "importance"), [(name, write_figure(share)) for name, share in shown], right=("importance",)
        )
        if len(shown) < len(importances):
            self.paragraph(f"... and {len(importances) - len(shown)} more columns; --whole shows all.")
        self.paragraph(
            f"Importance: the fraction of a column in the total gain of all splits. {MANY_VALUES}", style="dim"
        )

    def rules(self, rules: Sequence[object], *, whole: bool = False) -> None:
        shown = rules if whole else rules[:MOST_LINES]
        self.lines([str(rule) for rule in shown])
        if len(shown) < len(rules):
            self.paragraph(f"... and {len(rules) - len(shown)} more rules; --whole shows all.", style="dim")


def cut_tree(tree: Tree, max_depth: int | None, *, whole: bool) -> tuple[list[str], str]:
    """The lines of a tree, and how to see those that were left out."""
    if whole:
        return draw(tree, max_categories=None).split("\n"), ""
    if max_depth is None:
        max_depth = _readable_depth(tree)
    lines = draw(tree, max_depth=max_depth).split("\n")
    if len(lines) > MOST_LINES + 3:
        lines = [*lines[:MOST_LINES], f"... {len(lines) - MOST_LINES - 3} more lines", *lines[-3:]]
        return lines, "The tree is cut; --whole shows all of it."
    if max_depth < tree.depth:
        shown = f"{max_depth} of {tree.depth} levels"
        return lines, f"Shown are {shown}; --whole shows all, --max-depth {max_depth} grows no more than these."
    return lines, ""


def _readable_depth(tree: Tree) -> int:
    """The deepest level down to which the tree fits on the screen, at least the first."""
    # Every node but the root is a line.
    lines = np.cumsum(np.bincount(tree.depth_of)) - 1
    return max(1, int(np.count_nonzero(lines <= MOST_LINES)) - 1) if tree.depth else 0


@contextmanager
def progress_bar(words: str, steps: int) -> Iterator[Callable[[], object]]:
    """A progress bar on standard error if that is a terminal; yields a function to call per step."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=steps)
        yield lambda: bar.advance(task)


def _target_values(prepared: PreparedFit) -> str:
    values = prepared.values
    if prepared.task is Task.NUMBERS:
        distinct = len(np.unique(values))
        return f"{write_number(values.min())} to {write_number(values.max())}, {distinct} different"
    classes, sizes = np.unique(values.astype(str), return_counts=True)
    return write_values([f"{name} ({size})" for name, size in zip(classes, sizes, strict=True)], ", ", WIDEST_VALUES)


def _pruning_advice(found: CrossValidation, tree: Tree | None, n_rows: int) -> str:
    """How to get a smaller tree, if the tree is large and not clearly better than the baseline."""
    score = found.score
    is_better = score.interval is not None and score.interval[0] > score.baseline
    if tree is None or is_better or found.has_one_value:
        return ""
    if n_rows < ROWS_TO_PRUNE or tree.n_leaves * ROWS_PER_LEAF <= n_rows:
        return ""
    noise = f"With {tree.n_leaves} leaves for {n_rows} rows the tree may have learned noise"
    return f" {noise}: try --prune cost_complexity, or --max-depth 3."
