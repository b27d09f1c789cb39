"""`treewright predict`: the predictions of a model file for a table."""

from __future__ import annotations

import csv
import sys
from json import dumps
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors
from treewright.cli.option_groups import takes
from treewright.cli.saved_models import ModelArgument, open_model, open_rows
from treewright.cli.tables import as_given, reading


@takes(reading)
def predict(
    *,
    model: ModelArgument,
    table: options.TableArgument,
    proba: Annotated[
        bool,
        typer.Option("--proba", help="Also write the probability of each class.", rich_help_panel=options.OUTPUT),
    ] = False,
    out: Annotated[
        str,
        typer.Option(
            help="The file to write: .csv, .parquet, or - for standard output as CSV.", rich_help_panel=options.OUTPUT
        ),
    ] = "-",
    json: options.JsonOption = False,
    reading: dict[str, Any],
) -> None:
    """Predict the rows of a table with a model file; writes one line per row, in the order of the table."""
    fitted = open_model(model)
    if json and out != "-":
        raise UserError("--json writes to standard output; leave out --out")
    frame, _ = open_rows(fitted, table, reading)
    with as_user_errors():
        columns = predicted_columns(fitted, frame, proba=proba)
    if json:
        print(
            dumps({"model": model, "table": as_given(table), **{name: one.tolist() for name, one in columns.items()}})
        )
        return
    write_columns(columns, out)


def predicted_columns(fitted: Any, frame: Any, *, proba: bool) -> dict[str, np.ndarray]:
    """The predictions by name: `prediction`, and the probability of each class."""
    predicted = np.asarray(fitted.predict(frame))
    if predicted.ndim == 1:
        predicted = predicted[:, None]
    names = ["prediction"] if predicted.shape[1] == 1 else [f"prediction_{k}" for k in range(predicted.shape[1])]
    columns = dict(zip(names, predicted.T, strict=True))
    if not proba:
        return columns
    if not hasattr(fitted, "predict_proba") or predicted.shape[1] > 1:
        raise UserError("--proba needs a model of classes with one target; leave it out")
    shares = fitted.predict_proba(frame)
    return columns | {f"probability_{name}": shares[:, k] for k, name in enumerate(fitted.classes_)}


def write_columns(columns: dict[str, np.ndarray], out: str) -> None:
    """Write named columns as CSV or Parquet."""
    if out == "-":
        _write_csv(columns, sys.stdout)
        return
    path = Path(out)
    with as_user_errors():
        if path.suffix == ".csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                _write_csv(columns, file)
        elif path.suffix == ".parquet":
            import pyarrow
            import pyarrow.parquet

            cells = {name: pyarrow.array(values.tolist()) for name, values in columns.items()}
            pyarrow.parquet.write_table(pyarrow.table(cells), path)
        else:
            raise UserError(f"--out is {out!r}; give a file that ends in .csv or .parquet, or - for standard output")


def _write_csv(columns: dict[str, np.ndarray], file: IO[str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
