"""The application: its commands, and the one place where errors become sentences and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import treewright
from treewright.cli.compare import compare
from treewright.cli.datasets import datasets
from treewright.cli.demo import demo
from treewright.cli.errors import Interrupted, exit_code_of, wants_traceback
from treewright.cli.evaluate import evaluate
from treewright.cli.explain import explain
from treewright.cli.export import export
from treewright.cli.fit import fit
from treewright.cli.import_model import import_model
from treewright.cli.info import info
from treewright.cli.plot import plot
from treewright.cli.predict import predict
from treewright.cli.prune import prune
from treewright.cli.show import show
from treewright.cli.trace import trace


class OneSentenceGroup(TyperGroup):
    """Commands whose errors are one sentence, never a traceback."""

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        words = list(sys.argv[1:] if args is None else args)
        # Removed here, so that it may be anywhere on the line.
        rest = [word for word in words if word != "--debug"]
        run = partial(super().main, rest, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        _escape_unknown_letters()
        sys.exit(exit_code_of(run, with_traceback=wants_traceback(words)))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # versions of click and typer treat it differently
            raise Interrupted from None


def _escape_unknown_letters() -> None:
    """Write a letter that the terminal's encoding does not have as an escape rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


app = typer.Typer(
    name="treewright",
    cls=OneSentenceGroup,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)
app.command()(fit)
app.command()(predict)
app.command()(evaluate)
app.command()(info)
app.command()(show)
app.command()(prune)
app.command()(export)
app.command("import")(import_model)
app.command()(trace)
app.command()(plot)
app.command()(explain)
app.command()(compare)
app.command()(demo)
app.command()(datasets)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"treewright {treewright.__version__}")
        raise typer.Exit


@app.callback()
def treewright_command(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Decision trees on tables with text, dates and missing values: exact and readable."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


def main() -> None:
    """Run the command line; ends the process with its exit code."""
    app(prog_name="treewright")
