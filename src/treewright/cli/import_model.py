"""`treewright import`: a model file of LightGBM or XGBoost as a model file of treewright."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewright.cli import options
from treewright.cli.errors import as_user_errors, print_message


def import_model(
    model: Annotated[str, typer.Argument(help="A text file of LightGBM, or a JSON or UBJSON file of XGBoost.")],
    out: Annotated[Path, typer.Option(help="The model file to write.", rich_help_panel=options.OUTPUT)],
    classes: Annotated[
        str | None,
        typer.Option(help="The names of the classes in ascending order, separated by commas; by default numbers."),
    ] = None,
) -> None:
    """Convert a model file of LightGBM or XGBoost to a model file of treewright."""
    from treewright.ship import save
    from treewright.ship.imports import import_model as read

    with as_user_errors():
        found = read(model, classes=None if classes is None else classes.split(","))
        save(found, out)
    print_message(f"wrote a {type(found).__name__} to {out}")
