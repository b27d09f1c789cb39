"""`treewright explain`: why a model predicts what it predicts for one row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors
from treewright.cli.fit import open_fit

if TYPE_CHECKING:
    from treewright.show.explanation import RowExplanation


def explain(
    table: options.TableArgument,
    target: options.TargetOption = None,
    row: Annotated[
        int, typer.Option(min=0, help="The row to explain; the first is 0.", rich_help_panel=options.OUTPUT)
    ] = 0,
    task: options.TaskOption = None,
    categorical: options.CategoricalOption = None,
    numeric: options.NumericOption = None,
    ignore: options.IgnoreOption = None,
    drop_missing_target: options.DropMissingTargetOption = False,
    model: options.ModelOption = None,
    trees: options.TreesOption = None,
    max_depth: options.MaxDepthOption = None,
    min_leaf: options.MinLeafOption = None,
    criterion: options.CriterionOption = None,
    prune: options.PruneOption = None,
    missing: options.MissingOption = None,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
) -> None:
    """Fit a model to a table, and explain its prediction for one row: the path, or the vote and the contributions."""
    frame, given = open_fit(locals())
    found, truth = _explain(frame, given, row)
    if json:
        from json import dumps

        print(dumps({"table": table, "row": row, "target": str(truth), **found.to_dict()}, indent=2, allow_nan=False))
        return
    from rich.console import Console

    from treewright.show.sections import WIDTH, Section, write_sections

    width = max(40, min(Console().width, WIDTH))
    head = Section("", (f"Row {row} of {table}; its {given.target} is {truth}.",))
    print(write_sections([head, *found.sections()], width))


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
