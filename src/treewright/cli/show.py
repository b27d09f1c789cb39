"""`treewright show`: the tree of a model file, or a summary of an ensemble."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors
from treewright.cli.saved_models import ModelArgument, open_model


def show(
    model: ModelArgument,
    tree: Annotated[
        int | None,
        typer.Option(min=0, help="Show this tree of an ensemble; the first is 0.", rich_help_panel=options.OUTPUT),
    ] = None,
    rules: options.RulesOption = False,
    max_depth_shown: options.MaxDepthShownOption = None,
    whole: options.WholeOption = False,
    json: options.JsonOption = False,
) -> None:
    """Print the tree of a model file; of an ensemble its members and the importances of the columns."""
    from treewright.cli.fit import is_ensemble

    fitted = open_model(model)
    if not is_ensemble(fitted) or tree is not None:
        _show_tree(fitted, tree, with_rules=rules, max_depth_shown=max_depth_shown, whole=whole, as_json=json)
        return
    if rules or max_depth_shown is not None:
        option = "--rules" if rules else "--max-depth-shown"
        raise UserError(f"{option} shows a single tree, and the model is made of many; choose one with --tree")
    _show_ensemble(fitted, whole=whole, as_json=json)


def _show_tree(
    fitted: Any, number: int | None, *, with_rules: bool, max_depth_shown: int | None, whole: bool, as_json: bool
) -> None:
    from treewright.cli.fit import describe_tree
    from treewright.cli.report import Report
    from treewright.show import rules
    from treewright.show.picture import plot_tree

    with as_user_errors():
        found = plot_tree(fitted, tree=number or 0).tree
    if as_json:
        _print_json({"learner": type(fitted).__name__, **describe_tree(found)}, found.depth)
        return
    report = Report()
    which = type(fitted).__name__ if number is None else f"Tree {number} of {type(fitted).__name__}"
    report.heading(f"{which}, predicting {found.target.name!r}" if found.target.name else which)
    report.blank()
    report.tree(found, max_depth=max_depth_shown, whole=whole)
    if with_rules:
        report.blank()
        report.heading("One rule per leaf")
        report.blank()
        report.rules(rules(found), whole=whole)


def _show_ensemble(fitted: Any, *, whole: bool, as_json: bool) -> None:
    from treewright.cli.ensembles import describe_ensemble
    from treewright.cli.report import Report

    if as_json:
        _print_json({"learner": type(fitted).__name__, **describe_ensemble(fitted)}, 0)
        return
    report = Report()
    report.heading(type(fitted).__name__)
    report.blank()
    report.ensemble(fitted, whole=whole)


def _print_json(described: dict[str, Any], depth: int) -> None:
    from json import dumps

    try:
        print(dumps(described, indent=2, allow_nan=False))
    except RecursionError:
        raise UserError(f"the tree is {depth} levels deep, too deep to nest in JSON; prune it first") from None
