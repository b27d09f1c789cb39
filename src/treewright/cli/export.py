"""`treewright export`: a model file as source code."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors, print_message
from treewright.cli.saved_models import ModelArgument, open_model


class Format(StrEnum):
    """The languages of an export."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    C = "c"
    SQL = "sql"
    JSON = "json"
    ONNX = "onnx"
    PMML = "pmml"
    TREELITE = "treelite"


BINARY = (Format.ONNX, Format.TREELITE)


def export(
    model: ModelArgument,
    to: Annotated[Format, typer.Option(help="The language of the program.", rich_help_panel=options.OUTPUT)],
    out: Annotated[
        Path | None, typer.Option(help="The file to write; by default standard output.", rich_help_panel=options.OUTPUT)
    ] = None,
) -> None:
    """Write a model file as source code that predicts without treewright."""
    from treewright.ship.exports import export as write

    fitted = open_model(model)
    if to in BINARY and out is None:
        raise UserError(f"--to {to} writes a file that is no text; give --out FILE")
    with as_user_errors():
        code = write(fitted, str(to), out)
    if out is None:
        print(code)
    else:
        print_message(f"wrote the program to {out}")
