"""`treewright prune`: a smaller tree from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors, print_message
from treewright.cli.option_groups import takes
from treewright.cli.saved_models import ModelArgument, open_model, open_rows_with_target
from treewright.cli.tables import reading


@takes(reading)
def prune(
    *,
    model: ModelArgument,
    table: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE",
            help="For reduced_error a validation set, for error_based the training rows; otherwise none.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The file to write the smaller model to.", rich_help_panel=options.OUTPUT)],
    method: Annotated[
        str,
        typer.Option(
            help="cost_complexity, reduced_error, error_based, pessimistic, minimum_description_length or collapse.",
            rich_help_panel=options.MODEL,
        ),
    ] = "cost_complexity",
    alpha: Annotated[
        float | None, typer.Option(help="For cost_complexity: the cost of a leaf.", rich_help_panel=options.MODEL)
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="For error_based: smaller means a smaller tree.", rich_help_panel=options.MODEL),
    ] = None,
    target: options.TargetOption = None,
    json: options.JsonOption = False,
    reading: dict[str, Any],
) -> None:
    """Prune the tree of a model file; the file itself stays as it is."""
    from treewright.estimators.single.pruning import prune as make_smaller
    from treewright.ship import save

    fitted = open_model(model)
    if not hasattr(fitted, "tree_"):
        raise UserError(f"{model} has a {type(fitted).__name__}, and only single trees are pruned")
    chosen: dict[str, Any] = {} if alpha is None else {"ccp_alpha": alpha}
    chosen |= {} if confidence is None else {"confidence": confidence}
    if table:
        frame, name = open_rows_with_target(fitted, table, reading, target)
        chosen |= {"X": frame.drop(name), "y": frame[[name]]}
    with as_user_errors():
        smaller = make_smaller(fitted, method, **chosen)
        save(smaller, out)
    _print(fitted.tree_, smaller.tree_, out, as_json=json)


def _print(before: Any, after: Any, out: Path, *, as_json: bool) -> None:
    if as_json:
        from json import dumps

        sizes = {"leaves_before": before.n_leaves, "leaves": after.n_leaves, "depth": after.depth}
        print(dumps({"out": str(out), **sizes}, indent=2))
        return
    print(f"{before.n_leaves} leaves became {after.n_leaves}, and the depth {before.depth} became {after.depth}.")
    print_message(f"wrote the model to {out}")
