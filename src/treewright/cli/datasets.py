"""`treewright datasets`: the tables that ship with the library."""

from __future__ import annotations


def datasets() -> None:
    """List the data sets that ship with treewright."""
    from treewright import datasets as shipped
    from treewright.cli.report import Report

    rows = []
    for name in shipped.names():
        one = shipped.load(name)
        rows.append((name, str(len(one.frame)), one.target, one.description))
    report = Report()
    report.table(("name", "rows", "target", "description"), rows, right=("rows",))
    report.blank()
    report.paragraph("Use a name instead of a file: treewright fit iris")
