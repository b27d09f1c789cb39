"""`treewright demo`: the main job on tables that ship with the library, step by step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from treewright.cli.errors import choose

if TYPE_CHECKING:
    from treewright.cli.report import Report
    from treewright.datasets import Dataset


def demo(
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Show another data set; `treewright datasets` lists them."),
    ] = None,
) -> None:
    """See trees grow: ID3 on a small table by hand, C4.5 on a real-looking one with missing values."""
    from treewright import datasets
    from treewright.cli.report import Report

    report = Report()
    with _without_compiling():
        if data is not None:
            _show_any(report, datasets.load(choose("data set", data, datasets.names())))
        else:
            _show_id3(report, datasets.load_weather())
            report.blank()
            _show_c45(report, datasets.load_orchard())
    report.blank()
    _say_what_next(report)


@contextmanager
def _without_compiling() -> Iterator[None]:
    """Grow with the plain kernels: on a fresh machine, compiling would take longer than the whole demo."""
    before = os.environ.get("TREEWRIGHT_COMPILE")
    os.environ["TREEWRIGHT_COMPILE"] = before or "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TREEWRIGHT_COMPILE"]
        else:
            os.environ["TREEWRIGHT_COMPILE"] = before


def _show_id3(report: Report, dataset: Dataset) -> None:
    from treewright import ID3Classifier

    report.heading("1. Fourteen days of weather: was tennis played?")
    report.blank()
    report.table(dataset.frame.columns, [list(map(str, row.values())) for row in _rows(dataset, 4)])
    report.say(f"... and {len(dataset.frame) - 4} more days.")
    report.blank()
    model = ID3Classifier().fit(dataset.X, dataset.frame[[dataset.target]])
    root = model.tree_.root
    report.say(
        "ID3 asks first about the column with the highest information gain, then likewise in each branch. "
        f"Here it begins with {root}, which gains {root.gain:.3f} of the {root.impurity:.3f} bits that the "
        "answer is worth:"
    )
    report.blank()
    report.tree(model.tree_)
    report.blank()
    report.say('"yes (4.0)": the answer is yes, and four days got there. The same tree as one sentence:')
    report.blank()
    report.lines([model.rules("yes")])


def _show_c45(report: Report, dataset: Dataset) -> None:
    from treewright.cli.analysis import Wishes, fit_all, prepare, score_unseen
    from treewright.cli.report import progress_bar

    report.heading("2. Four hundred apple trees: how bad is the scab?")
    report.say("The table is invented, but as tables are: text, numbers, dates, an order, and missing values.")
    report.blank()
    options = {"min_samples_leaf": 20}
    question = prepare(dataset.frame, Wishes(dataset.target, model="c45", options=options))
    report.columns(question)
    report.blank()
    report.say(
        "C4.5 takes these columns as they are. To keep the tree readable, at least two branches of every "
        "question must get twenty rows. How good is it for rows it has not seen?"
    )
    report.blank()
    fitted = fit_all(question)
    with progress_bar("cross-validating", len(question.folds)) as step:
        scores = score_unseen(question, step)
    report.scores(question, scores, fitted.tree_)
    report.blank()
    report.say("And this is what it says, fitted on all rows:")
    report.blank()
    report.tree(fitted.tree_)
    report.blank()
    leaf = next(node for node in fitted.tree_ if node.is_leaf and node.errors)
    report.say(f'"{leaf}": {leaf.weight:.0f} rows got there, and for {leaf.errors:.0f} of them the answer is wrong.')


def _show_any(report: Report, dataset: Dataset) -> None:
    from treewright.cli.analysis import Wishes, fit_all, prepare, score_unseen
    from treewright.cli.fit import task_sentence
    from treewright.cli.report import progress_bar

    report.heading(dataset.description)
    report.blank()
    question = prepare(dataset.frame, Wishes(dataset.target))
    report.columns(question)
    report.blank()
    report.say(task_sentence(question))
    report.blank()
    fitted = fit_all(question)
    with progress_bar("cross-validating", len(question.folds)) as step:
        scores = score_unseen(question, step)
    report.scores(question, scores, fitted.tree_)
    report.blank()
    report.say("The tree, fitted on all rows:")
    report.blank()
    report.tree(fitted.tree_)


def _rows(dataset: Dataset, count: int) -> list[dict[str, object]]:
    return [dataset.frame[place] for place in range(count)]


def _say_what_next(report: Report) -> None:
    report.heading("What to try next")
    report.lines(
        [
            "  treewright demo --data iris                        another table",
            "  treewright fit orchard --model cart --max-depth 3  another model, with your own limits",
            "  treewright fit your_table.csv --target a_column    your own table",
            "  treewright fit --help                              all choices",
        ]
    )
