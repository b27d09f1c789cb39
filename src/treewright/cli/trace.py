"""`treewright trace`: the worked trace of a model, every figure behind its splits."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.errors import UserError, as_user_errors
from treewright.cli.fit import open_table, require_target, split_names
from treewright.cli.options import (
    MODEL,
    OUTPUT,
    CategoricalColumns,
    CriterionName,
    DropMissingTarget,
    IgnoredColumns,
    MaxDepth,
    MinLeaf,
    MissingName,
    NumberOfTrees,
    NumericColumns,
    PruningName,
    TableName,
    TargetName,
    TaskName,
)

if TYPE_CHECKING:
    from treewright.show.trace import Trace


class Form(StrEnum):
    """The forms of a trace."""

    TEXT = "text"
    HTML = "html"
    MARKDOWN = "markdown"
    LATEX = "latex"
    JSON = "json"


class NotationName(StrEnum):
    """The notations of a trace."""

    QUINLAN = "quinlan"
    BREIMAN = "breiman"


def trace(
    table: TableName,
    target: TargetName = None,
    task: TaskName = None,
    categorical: CategoricalColumns = None,
    numeric: NumericColumns = None,
    ignore: IgnoredColumns = None,
    drop_missing_target: DropMissingTarget = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="A tree: c45, cart, id3, tree, stump, random-tree or oblivious; or an ensemble: random-forest, "
            "extra-trees, bagging, adaboost or gradient-boosting; by default c45 for classes and cart for numbers.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    trees: NumberOfTrees = None,
    max_depth: MaxDepth = None,
    min_leaf: MinLeaf = None,
    criterion: CriterionName = None,
    prune: PruningName = None,
    missing: MissingName = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of random trees.", rich_help_panel=MODEL)] = 0,
    row: Annotated[
        int | None,
        typer.Option(
            min=0, help="Show only the way of this row down the tree; the first is 0.", rich_help_panel=OUTPUT
        ),
    ] = None,
    notation: Annotated[
        NotationName, typer.Option(help="Entropy and Gain, or i(t) and delta i.", rich_help_panel=OUTPUT)
    ] = NotationName.QUINLAN,
    exercise: Annotated[
        bool,
        typer.Option(
            "--exercise", help="Leave figures blank, with a solution sheet after them.", rich_help_panel=OUTPUT
        ),
    ] = False,
    rounds: Annotated[
        int, typer.Option(min=1, help="Rounds or members of an ensemble to show.", rich_help_panel=OUTPUT)
    ] = 5,
    max_depth_shown: Annotated[
        int | None, typer.Option(min=0, help="Show the nodes down to this depth.", rich_help_panel=OUTPUT)
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="The form of the trace.", rich_help_panel=OUTPUT)] = Form.TEXT,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.", rich_help_panel=OUTPUT)] = False,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; by default standard output.", rich_help_panel=OUTPUT)
    ] = None,
) -> None:
    """Replay a model: every impurity, gain and threshold behind its splits, as a lecturer writes them on the board."""
    frame, own_target = open_table(table)
    from treewright.cli.analysis import FitOptions

    options = FitOptions(
        target=target or own_target or require_target(table, frame),
        model=model,
        task=task,
        categorical=split_names(categorical, frame),
        numeric=split_names(numeric, frame),
        ignore=split_names(ignore, frame),
        drop_missing_target=drop_missing_target,
        seed=seed,
        parameters={
            "n_estimators": trees,
            "max_depth": max_depth,
            "min_samples_leaf": min_leaf,
            "criterion": criterion,
            "prune": prune,
            "missing": missing,
        },
    )
    shown = {
        "row": row,
        "notation": str(notation),
        "exercise": exercise,
        "n_rounds": rounds,
        "max_depth": max_depth_shown,
    }
    worked = _trace(frame, options, shown)
    _write(_in_form(worked, Form.JSON if json else form, to_file=out is not None), out)


def _trace(frame: Any, options: Any, shown: dict[str, Any]) -> Trace:
    from treewright.cli.analysis import fit_all, prepare
    from treewright.cli.report import progress_bar
    from treewright.show.trace import trace as work_out

    prepared = prepare(frame, options)
    with progress_bar("tracing", 2) as step:
        fitted = fit_all(prepared)
        step()
        with as_user_errors():
            worked = work_out(fitted, prepared.X, prepared.y, **shown)
        step()
    return worked


def _in_form(worked: Trace, form: Form, *, to_file: bool) -> str:
    if form is Form.JSON:
        import json

        return json.dumps(worked.to_dict(), indent=2, allow_nan=False)
    if form is Form.TEXT:
        from rich.console import Console

        return worked.to_text() if to_file else worked.to_text(max(40, Console().width))
    return {Form.HTML: worked.to_html, Form.MARKDOWN: worked.to_markdown, Form.LATEX: worked.to_latex}[form]()


def _write(text: str, out: Path | None) -> None:
    if out is None:
        print(text)
        return
    try:
        out.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out}: {error.strerror or error}; give another file with --out") from error
    print(f"wrote {out}")
