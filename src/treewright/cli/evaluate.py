"""`treewright evaluate`: the scores of a model file on a table."""

from __future__ import annotations

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors, choose
from treewright.cli.fit import open_table
from treewright.cli.predict import ModelArgument, open_model


def evaluate(
    model: ModelArgument,
    table: options.TableArgument,
    target: options.TargetOption = None,
    json: options.JsonOption = False,
) -> None:
    """Score a model file on a table: accuracy, log loss, AUC, precision, recall and confusion; or R2 and errors."""
    from treewright.cli.report import Report
    from treewright.insight.evaluation import evaluate as score

    fitted = open_model(model)
    frame, own_target = open_table(table)
    name = target or own_target or fitted._target().name
    if not name:
        raise UserError("give the column with the true values with --target")
    choose("column", name, frame.columns)
    with as_user_errors():
        found = score(fitted, frame.drop(name), frame[[name]])
    if json:
        from json import dumps

        print(dumps(found.to_dict(), indent=2))
        return
    report = Report()
    report.heading(f"{type(fitted).__name__} on {len(frame)} rows, predicting {name!r}")
    for headers, rows in found.tables():
        report.blank()
        report.table(headers, rows, right=headers[1:])
