"""`treewright explain`: why a model predicts what it predicts for one row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors
from treewright.cli.fit import open_fit
from treewright.cli.option_groups import columns, growth, takes
from treewright.cli.saved_models import name_of_target, open_rows, take_model
from treewright.cli.tables import as_given, reading, title_of

if TYPE_CHECKING:
    from treewright.show.explanation import RowExplanation


@takes(columns, growth, reading)
def explain(
    *,
    table: options.ModelOrTableArgument,
    target: options.TargetOption = None,
    row: Annotated[
        int, typer.Option(min=0, help="The row to explain; the first is 0.", rich_help_panel=options.OUTPUT)
    ] = 0,
    columns: dict[str, Any],
    model: options.ModelOption = None,
    growth: dict[str, Any],
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
    reading: dict[str, Any],
) -> None:
    """Explain the prediction of a model file, or of a model fitted to the table, for one row of the table."""
    chosen = {**locals(), **columns, **growth}
    fitted, tables = take_model(table, chosen)
    if fitted is None:
        frame, given = open_fit(chosen)
        (found, truth), name = _explain(frame, given, row), given.target
    else:
        (found, truth), name = _explain_fitted(fitted, tables, reading, target, row)
    if json:
        from json import dumps

        described = {"table": as_given(tables), "row": row, "target": None if truth is None else str(truth)}
        print(dumps({**described, **found.to_dict()}, indent=2, allow_nan=False))
        return
    from rich.console import Console

    from treewright.show.sections import WIDTH, Section, write_sections

    width = max(40, min(Console().width, WIDTH))
    known = "" if truth is None else f"; its {name} is {truth}"
    head = Section("", (f"Row {row} of {title_of(tables)}{known}.",))
    print(write_sections([head, *found.sections()], width))


def _explain_fitted(
    fitted: Any, tables: list[str], reading: dict[str, Any], target: str | None, row: int
) -> tuple[tuple[RowExplanation, Any], str]:
    """The explanation, the target of the row if the table has it, and the name of the target."""
    from treewright.show.explanation import explain as explain_row

    frame, own_target = open_rows(fitted, tables, reading)
    name = target or name_of_target(fitted) or own_target or ""
    if row >= len(frame):
        raise UserError(f"--row is {row}, and the table has the rows 0 to {len(frame) - 1}")
    with as_user_errors():
        found = explain_row(fitted, frame[[row]])
    return (found, frame[name][row] if name in frame else None), name


def _explain(frame: Any, given: Any, row: int) -> tuple[RowExplanation, Any]:
    """The explanation, and the target of the row."""
    import numpy as np

    from treewright.cli.analysis import fit_all, prepare
    from treewright.cli.report import progress_bar
    from treewright.show.explanation import explain as explain_row
    from treewright.table.selection import take_rows

    prepared = prepare(frame, given)
    if row >= len(prepared.X):
        raise UserError(f"--row is {row}, and the table has the rows 0 to {len(prepared.X) - 1}")
    with progress_bar("explaining", 2) as step:
        fitted = fit_all(prepared)
        step()
        with as_user_errors():
            found = explain_row(fitted, take_rows(prepared.X, np.array([row])))
        step()
    return found, prepared.values[row]
