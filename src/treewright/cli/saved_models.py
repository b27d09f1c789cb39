"""Model files on the command line: opening them, and tables that are read as in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.errors import UserError, as_user_errors, choose
from treewright.cli.tables import open_table

if TYPE_CHECKING:
    from treewright.table import Frame

ModelArgument = Annotated[str, typer.Argument(help="A model file, as `treewright fit --out` writes it.")]

# The options of commands that fit a model, which mean nothing to a model that is fitted.
_OF_FITTING = {
    "task": "--task",
    "categorical": "--categorical",
    "numeric": "--numeric",
    "ignore": "--ignore",
    "drop_missing_target": "--drop-missing-target",
    "model": "--model",
    "trees": "--trees",
    "max_depth": "--max-depth",
    "min_leaf": "--min-leaf",
    "criterion": "--criterion",
    "prune": "--prune",
    "missing": "--missing",
}


def open_model(path: str) -> Any:
    """The model of a file, with a sentence about a file that has none."""
    from treewright.ship import load

    with as_user_errors():
        return load(path)


def take_model(words: Sequence[str], given: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """The model of the first file and the tables after it; None and all words if that is no model file."""
    from treewright.ship import is_model_file

    if not is_model_file(words[0]):
        return None, list(words)
    unused = next((option for name, option in _OF_FITTING.items() if given.get(name) not in (None, False)), None)
    if unused is not None:
        raise UserError(f"{unused} is for fitting, and {words[0]} is a fitted model; leave it out, or give a table")
    return open_model(words[0]), list(words[1:])


def open_rows(fitted: Any, tables: Sequence[str], reading: Mapping[str, Any]) -> tuple[Frame, str | None]:
    """The table of a model, with columns as in training, and the target of a data set of the library."""
    if not tables:
        raise UserError("give the table as well, after the model file")
    return open_table(tables, reading, like=fitted if hasattr(fitted, "_columns") else None)


def open_rows_with_target(
    fitted: Any, tables: Sequence[str], reading: Mapping[str, Any], target: str | None
) -> tuple[Frame, str]:
    """The table of a model, and the name of its column with the true values."""
    frame, own_target = open_rows(fitted, tables, reading)
    name = target or name_of_target(fitted) or own_target
    if not name:
        raise UserError("give the column with the true values with --target")
    return frame, choose("column", name, frame.columns)


def name_of_target(fitted: Any) -> str:
    """The name of the target that a model was fitted to; empty if it has none."""
    return str(fitted._target().name) if hasattr(fitted, "_target") else ""
