"""`treewright trace`: the worked trace of a model, every figure behind its splits."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors
from treewright.cli.fit import open_fit
from treewright.cli.option_groups import columns, growth, takes
from treewright.cli.saved_models import open_rows_with_target, take_model
from treewright.cli.tables import reading

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


@takes(columns, growth, reading)
def trace(
    *,
    table: options.ModelOrTableArgument,
    target: options.TargetOption = None,
    columns: dict[str, Any],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="A tree: c45, cart, id3, tree, stump, random-tree or oblivious; or an ensemble: random-forest, "
            "extra-trees, bagging, adaboost or gradient-boosting; by default c45 for classes and cart for numbers.",
            rich_help_panel=options.MODEL,
        ),
    ] = None,
    growth: dict[str, Any],
    seed: options.SeedOption = 0,
    row: Annotated[
        int | None,
        typer.Option(
            min=0, help="Show only the way of this row down the tree; the first is 0.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    notation: Annotated[
        NotationName, typer.Option(help="Entropy and Gain, or i(t) and delta i.", rich_help_panel=options.OUTPUT)
    ] = NotationName.QUINLAN,
    exercise: Annotated[
        bool,
        typer.Option(
            "--exercise", help="Leave figures blank, with a solution sheet after them.", rich_help_panel=options.OUTPUT
        ),
    ] = False,
    rounds: Annotated[
        int, typer.Option(min=1, help="Rounds or members of an ensemble to show.", rich_help_panel=options.OUTPUT)
    ] = 5,
    max_depth_shown: Annotated[
        int | None, typer.Option(min=0, help="Show the nodes down to this depth.", rich_help_panel=options.OUTPUT)
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="The form of the trace.", rich_help_panel=options.OUTPUT)
    ] = Form.TEXT,
    json: Annotated[
        bool, typer.Option("--json", help="The same as --format json.", rich_help_panel=options.OUTPUT)
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; by default standard output.", rich_help_panel=options.OUTPUT)
    ] = None,
    reading: dict[str, Any],
) -> None:
    """Replay a model file, or a model fitted to the table: every impurity, gain and threshold behind its splits."""
    chosen = {**locals(), **columns, **growth}
    fitted, tables = take_model(table, chosen)
    shown = {
        "row": row,
        "notation": str(notation),
        "exercise": exercise,
        "n_rounds": rounds,
        "max_depth": max_depth_shown,
    }
    if fitted is None:
        worked = _trace(*open_fit(chosen), shown)
    else:
        worked = _trace_fitted(fitted, tables, reading, target, shown)
    _write(_in_form(worked, Form.JSON if json else form, to_file=out is not None), out)


def _trace_fitted(
    fitted: Any, tables: list[str], reading: dict[str, Any], target: str | None, shown: dict[str, Any]
) -> Trace:
    """The trace of a model file on the table that it was fitted to."""
    from treewright.show.trace import trace as work_out

    frame, name = open_rows_with_target(fitted, tables, reading, target)
    with as_user_errors():
        return work_out(fitted, frame.drop(name), frame[[name]], **shown)


def _trace(frame: Any, given: Any, shown: dict[str, Any]) -> Trace:
    from treewright.cli.analysis import fit_all, prepare
    from treewright.cli.report import progress_bar
    from treewright.show.trace import trace as work_out

    prepared = prepare(frame, given)
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
