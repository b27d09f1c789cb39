"""`treewright plot`: the picture of a model as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors
from treewright.cli.fit import open_fit
from treewright.cli.option_groups import columns, growth, takes
from treewright.cli.saved_models import open_rows, open_rows_with_target, take_model
from treewright.cli.tables import reading

if TYPE_CHECKING:
    from treewright.show.picture import TreePicture


@takes(columns, growth, reading)
def plot(
    *,
    table: options.ModelOrTableArgument,
    target: options.TargetOption = None,
    columns: dict[str, Any],
    model: options.ModelOption = None,
    growth: dict[str, Any],
    seed: options.SeedOption = 0,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="The file to write: .svg, .html (interactive), .png, .pdf, .dot or .mmd.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = Path("tree.svg"),
    tree: Annotated[
        int, typer.Option(min=0, help="Which tree of an ensemble to draw.", rich_help_panel=options.OUTPUT)
    ] = 0,
    row: Annotated[
        int | None,
        typer.Option(min=0, help="Highlight the path of this row; the first is 0.", rich_help_panel=options.OUTPUT),
    ] = None,
    histograms: Annotated[
        bool,
        typer.Option(
            "--histograms", help="Show the values at each split as a histogram.", rich_help_panel=options.OUTPUT
        ),
    ] = False,
    max_depth_shown: Annotated[
        int | None, typer.Option(min=0, help="Draw the nodes down to this depth.", rich_help_panel=options.OUTPUT)
    ] = None,
    reading: dict[str, Any],
) -> None:
    """Draw the tree of a model file, or of a model fitted to a table: a picture, or an interactive page."""
    from treewright.show.picture.picture import SUFFIXES

    if out.suffix.lower() not in SUFFIXES:
        raise UserError(f"--out {out} has no suffix of a picture; give one of {', '.join(SUFFIXES)}")
    chosen = {**locals(), **columns, **growth}
    fitted, tables = take_model(table, chosen)
    shown = {"tree": tree, "row": row, "max_depth": max_depth_shown}
    if fitted is not None:
        _write(_draw_fitted(fitted, tables, reading, target, shown, histograms=histograms), out)
        return
    frame, given = open_fit(chosen)
    _write(_draw(frame, given, shown, histograms=histograms), out)


def _draw_fitted(
    fitted: Any,
    tables: list[str],
    reading: dict[str, Any],
    target: str | None,
    shown: dict[str, Any],
    *,
    histograms: bool,
) -> TreePicture:
    """The picture of a model file; a row and histograms need its table, too."""
    from treewright.show.picture import plot_tree

    if not tables and (histograms or shown["row"] is not None):
        raise UserError(f"{'--histograms' if histograms else '--row'} needs a table; give it after the model file")
    X = y = None
    if histograms:
        frame, name = open_rows_with_target(fitted, tables, reading, target)
        X, y = frame.drop(name), frame[[name]]
    elif tables:
        X, _ = open_rows(fitted, tables, reading)
    with as_user_errors():
        return plot_tree(fitted, X=X, y=y, **shown)


def _draw(frame: Any, given: Any, shown: dict[str, Any], *, histograms: bool) -> TreePicture:
    from treewright.cli.analysis import fit_all, prepare
    from treewright.cli.report import progress_bar
    from treewright.show.picture import plot_tree

    prepared = prepare(frame, given)
    with progress_bar("drawing", 2) as step:
        fitted = fit_all(prepared)
        step()
        with as_user_errors():
            picture = plot_tree(fitted, X=prepared.X, y=prepared.y if histograms else None, **shown)
        step()
    return picture


def _write(picture: TreePicture, out: Path) -> None:
    try:
        picture.save(out)
    except OSError as error:
        raise UserError(f"{out}: {error.strerror or error}; give another file with --out") from error
    except ImportError as error:
        raise UserError(str(error)) from error
    print(f"wrote {out}")
