"""The column names of a file."""

from __future__ import annotations

from treewright.table.categories import some


def check_names(names: list[str]) -> None:
    """Refuse names that are empty or occur more than once."""
    if "" in names:
        raise ValueError(f"column {names.index('') + 1} of the header has no name; name every column")
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"the column names {some(repeated)} occur more than once; name every column differently")
