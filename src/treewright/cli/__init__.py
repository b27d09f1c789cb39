"""The command line: `treewright fit`, `treewright demo` and `treewright datasets`."""

from treewright.cli.application import app, main

__all__ = ["app", "main"]
