"""`treewright info`: what a model file contains."""

from __future__ import annotations

from typing import Any

from treewright.cli import options
from treewright.cli.errors import as_user_errors
from treewright.cli.saved_models import ModelArgument


def info(model: ModelArgument, json: options.JsonOption = False) -> None:
    """Print what a model file contains: the learner, its parameters, the columns and the classes."""
    from treewright.ship import describe_file

    with as_user_errors():
        described = describe_file(model)
    if json:
        from json import dumps

        print(dumps(described, indent=2))
        return
    _print(described)


def _print(described: dict[str, Any]) -> None:
    from treewright.cli.report import Report
    from treewright.insight.text_table import write_values

    report = Report()
    report.heading(f"{described['learner']}, saved {described['saved']} by treewright {described['library']}")
    report.blank()
    rows = [
        (
            column["name"],
            column["kind"],
            column["unit"],
            write_values([*map(str, column.get("categories", []))], ", ", 60),
        )
        for column in described["columns"]
    ]
    if rows:
        report.table(("column", "kind", "unit", "categories"), rows)
        report.blank()
    if described["classes"] is not None:
        report.paragraph(f"Classes: {', '.join(map(str, described['classes']))}.")
    if described.get("data_digest"):
        report.paragraph(f"Data digest: {described['data_digest']}.")
    chosen = ", ".join(f"{name}={value!r}" for name, value in described["parameters"].items() if value is not None)
    report.paragraph(f"Parameters: {chosen}.")
