"""What was found, written for people: tables at the width of the terminal, plain text in a pipe."""

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

from treewright.cli.analysis import Question
from treewright.cli.ensembles import importances_of, members_sentence, out_of_bag_sentence
from treewright.insight.columns import ColumnSummary
from treewright.insight.scoring import Score
from treewright.insight.task import Task
from treewright.show import draw
from treewright.table.column import write_number

if TYPE_CHECKING:
    from treewright.tree import Tree

# More is no longer read from top to bottom.
MOST_LINES = 60
MOST_COLUMNS = 40
MOST_IMPORTANCES = 20
WIDEST_PROSE = 100
WIDEST_VALUES = 46
# Leaves with fewer rows than this on average, in a table that could fill them, look like noise.
ROWS_PER_LEAF = 10
ROWS_TO_PRUNE = 50


class Report:
    """Prints to standard output. Names and values come from the user, so nothing in them is taken as markup."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, markup=False, emoji=False)

    def heading(self, words: str) -> None:
        self.console.print(Text(words, style="bold"), soft_wrap=True)

    def say(self, words: str, style: str = "") -> None:
        """Prose, wrapped where reading becomes hard."""
        width = max(20, min(self.console.width, WIDEST_PROSE))
        self.console.print(Text(fill(words, width, break_on_hyphens=False), style=style), soft_wrap=True)

    def lines(self, lines: Sequence[str]) -> None:
        """Text that stays as it is, however wide."""
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

    def columns(self, question: Question) -> None:
        """What each column was taken for, with remarks on odd ones."""
        shown = question.columns[:MOST_COLUMNS]
        rows = [(one.name, one.word, str(one.missing or "-"), values_of(one)) for one in shown]
        rows.append((question.target, "target", "-", _target_values(question)))
        self.table(("column", "read as", "missing", "values"), rows, right=("missing",))
        if len(shown) < len(question.columns):
            self.say(f"... and {len(question.columns) - len(shown)} more columns; --json lists all.")
        odd = [one for one in question.columns if one.oddity]
        for one in odd[:5]:
            advice = f"; leave it out with --ignore {quote(one.name)}" if one.distinct > 1 else ""
            self.say(f"Column {one.name!r} {one.oddity}{advice}.")
        if len(odd) > 5:
            self.say(f"{len(odd) - 5} more columns are odd; --json tells of all.")

    def scores(self, question: Question, scores: Sequence[Score], tree: Tree | None) -> None:
        """The scores for unseen rows beside the simplest answer, and how the interval came about."""
        rows = [
            (score.measure, _figure(score.value), _range(score.interval), _figure(score.baseline)) for score in scores
        ]
        simplest = simplest_prediction(question)
        self.table(("measure", "this model", "95% interval", simplest), rows, right=("this model", simplest))
        self.say(_verdict(scores[0], tree, len(question.X), simplest))
        self.say(_how(question, "trees" if tree is not None else "models"), style="dim")
        if question.folds.note:
            self.say(f"{question.folds.note}.", style="dim")

    def tree(self, tree: Tree, *, max_depth: int | None = None, whole: bool = False) -> None:
        """The tree as text, cut where it becomes too long to read."""
        lines, note = cut_tree(tree, max_depth, whole=whole)
        self.lines(lines)
        if note:
            self.say(note, style="dim")

    def ensemble(self, fitted: Any, *, whole: bool = False) -> None:
        """What the members are, how they do on rows that they have not seen, and which columns they ask about."""
        self.say(members_sentence(fitted))
        if hasattr(fitted, "oob_score_"):
            self.say(out_of_bag_sentence(fitted))
        weights = getattr(fitted, "posterior_", None)
        if weights is not None:
            rows = [(name, _figure(share)) for name, share in zip(weights.names, weights.weights, strict=True)]
            self.blank()
            self.table(("member", "weight"), rows, right=("weight",))
        importances = importances_of(fitted)
        if not importances:
            return
        shown = importances if whole else importances[:MOST_IMPORTANCES]
        self.blank()
        self.table(("column", "importance"), [(name, _figure(share)) for name, share in shown], right=("importance",))
        if len(shown) < len(importances):
            self.say(f"... and {len(importances) - len(shown)} more columns; --whole shows all.")
        self.say("Importance: the share of a column in all that the splits of the trees gained.", style="dim")

    def rules(self, rules: Sequence[object], *, whole: bool = False) -> None:
        shown = rules if whole else rules[:MOST_LINES]
        self.lines([str(rule) for rule in shown])
        if len(shown) < len(rules):
            self.say(f"... and {len(rules) - len(shown)} more rules; --whole shows all.", style="dim")


def values_of(summary: ColumnSummary) -> str:
    """The range of a number or date, the first categories of others."""
    if not summary.distinct:
        return "none"
    if summary.column.is_numeric:
        return f"{summary.lowest} to {summary.highest}, {summary.distinct} different"
    mark = " < " if summary.column.kind == "ordered" else ", "
    return _some(summary.categories, mark)


def simplest_prediction(question: Question) -> str:
    """What to call the baseline: the class or the number that would be answered for every row."""
    if question.task is Task.NUMBERS:
        return f"always {write_number(float(f'{question.values.mean():.4g}'))}"
    classes, sizes = np.unique(question.values.astype(str), return_counts=True)
    most_common = str(classes[sizes.argmax()])
    return f"always {repr(most_common) if question.values.dtype.kind == 'O' else most_common}"


def cut_tree(tree: Tree, max_depth: int | None, *, whole: bool) -> tuple[list[str], str]:
    """The lines of a tree and, if some were left out, how to see them."""
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
    """The deepest level down to which the tree still fits, at least the first."""
    # A level shows every node of it in a line, and the root none.
    lines = np.cumsum(np.bincount(tree.depth_of)) - 1
    return max(1, int(np.count_nonzero(lines <= MOST_LINES)) - 1) if tree.depth else 0


@contextmanager
def progress_bar(words: str, steps: int) -> Iterator[Callable[[], object]]:
    """A bar on standard error while someone looks on, nothing in a pipe; gives a function to call per step."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=steps)
        yield lambda: bar.advance(task)


def _target_values(question: Question) -> str:
    values = question.values
    if question.task is Task.NUMBERS:
        distinct = len(np.unique(values))
        return f"{write_number(values.min())} to {write_number(values.max())}, {distinct} different"
    classes, sizes = np.unique(values.astype(str), return_counts=True)
    return _some([f"{name} ({size})" for name, size in zip(classes, sizes, strict=True)], ", ")


def _some(words: Sequence[str], mark: str) -> str:
    """As many words as fit in a cell, and how many there are if not all do."""
    shown = [_short(word) for word in words]
    if len(mark.join(shown)) <= WIDEST_VALUES:
        return mark.join(shown)
    ending = f"... ({len(words)})"
    while shown and len(mark.join([*shown, ending])) > WIDEST_VALUES:
        shown.pop()
    return mark.join([*shown, ending])


def _short(word: str) -> str:
    return word if len(word) <= 20 else f"{word[:17]}..."


def _figure(value: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.6g}"


def _range(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{_figure(interval[0])} to {_figure(interval[1])}"


def _verdict(score: Score, tree: Tree | None, n_rows: int, simplest: str) -> str:
    if score.value is None or score.interval is None or score.baseline == 1.0:
        return "The target has one value only, so there is nothing to learn."
    if score.interval[0] > score.baseline:
        return f"Better than answering {simplest}."
    words = "Not clearly better than" if score.value > score.baseline else "No better than"
    advice = ""
    if tree is not None and n_rows >= ROWS_TO_PRUNE and tree.n_leaves * ROWS_PER_LEAF > n_rows:
        noise = f"With {tree.n_leaves} leaves for {n_rows} rows the tree may have learned noise"
        advice = f" {noise}: try --prune cost_complexity, or --max-depth 3."
    return f"{words} answering {simplest}.{advice}"


def _how(question: Question, models: str) -> str:
    folds = f"{len(question.folds)}-fold cross-validation"
    if question.task is Task.CLASSES:
        right = f"the share of rows answered right by {models} fitted without them"
        return f"From {folds}: {right}; Wilson's interval."
    return f"From {folds}: {models} answered for rows they were fitted without; the interval is 1.96 standard errors."
