"""`treewright evaluate`: the scores of a model file on a table."""

from __future__ import annotations

from typing import Any

from treewright.cli import options
from treewright.cli.errors import as_user_errors
from treewright.cli.option_groups import takes
from treewright.cli.saved_models import ModelArgument, open_model, open_rows_with_target
from treewright.cli.tables import reading


@takes(reading)
def evaluate(
    *,
    model: ModelArgument,
    table: options.TableArgument,
    target: options.TargetOption = None,
    json: options.JsonOption = False,
    reading: dict[str, Any],
) -> None:
    """Score a model file on a table: accuracy, log loss, AUC, precision, recall and confusion; or R2 and errors."""
    from treewright.cli.report import Report
    from treewright.insight.evaluation import evaluate as score

    fitted = open_model(model)
    frame, name = open_rows_with_target(fitted, table, reading, target)
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
