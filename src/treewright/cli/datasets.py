"""`treewright datasets`: the tables that ship with the library."""

from __future__ import annotations

from treewright.cli import options


def datasets(json: options.JsonOption = False) -> None:
    """List the data sets that ship with treewright."""
    from treewright import datasets as shipped
    from treewright.cli.report import Report

    loaded = {name: shipped.load(name) for name in shipped.names()}
    if json:
        from json import dumps

        found = [
            {"name": name, "rows": len(one.frame), "target": one.target, "description": one.description}
            for name, one in loaded.items()
        ]
        print(dumps({"datasets": found}, indent=2))
        return
    report = Report()
    rows = [(name, str(len(one.frame)), one.target, one.description) for name, one in loaded.items()]
    report.table(("name", "rows", "target", "description"), rows, right=("rows",))
    report.blank()
    report.paragraph("Use a name instead of a file: treewright fit iris")
