"""Groups of options that commands share: `takes` adds them to the signature of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from treewright.cli import options

Command = Callable[..., None]


def takes(*groups: Callable[..., Any]) -> Callable[[Command], Command]:
    """Add groups of options to a command.

    A group is a function whose keyword arguments are options. The command has an argument with the name of the group,
    and gets there what the function returns. The options are in the place of this argument.

    >>> def size(*, width: int = 2, height: int = 3) -> int:
    ...     return width * height
    >>> @takes(size)
    ... def draw(*, colour: str, size: int) -> None:
    ...     print(colour, size)
    >>> list(inspect.signature(draw).parameters)
    ['colour', 'width', 'height']
    >>> draw(colour="red", width=4, height=5)
    red 20
    """
    by_name = {group.__name__: group for group in groups}
    added = {name: inspect.signature(group, eval_str=True).parameters for name, group in by_name.items()}

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            for name, group in by_name.items():
                given[name] = group(**{option: given.pop(option) for option in added[name]})
            command(**given)

        own = inspect.signature(command, eval_str=True).parameters
        parameters = [one for name in own for one in added.get(name, {name: own[name]}).values()]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


def columns(
    *,
    task: options.TaskOption = None,
    categorical: options.CategoricalOption = None,
    numeric: options.NumericOption = None,
    ignore: options.IgnoreOption = None,
    drop_missing_target: options.DropMissingTargetOption = False,
) -> dict[str, Any]:
    """The options about the columns of a table, by name."""
    return locals()


def growth(
    *,
    trees: options.TreesOption = None,
    max_depth: options.MaxDepthOption = None,
    min_leaf: options.MinLeafOption = None,
    criterion: options.CriterionOption = None,
    prune: options.PruneOption = None,
    missing: options.MissingOption = None,
) -> dict[str, Any]:
    """The options about the trees of a model, by name."""
    return locals()
