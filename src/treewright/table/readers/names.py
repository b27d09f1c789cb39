"""The column names of a file, and columns that have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treewright.table.categories import some
from treewright.table.user_warnings import warn_user

# No header can have this character.
_NAMELESS = "\0"

# What pandas calls the index of a file that it reads and writes again.
_INDEX_OF_PANDAS = "Unnamed: 0"


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are empty or occur more than once."""
    if "" in names:
        raise _no_name(list(names).index("") + 1)
    repeated = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
    if repeated:
        raise ValueError(f"the column names {some(repeated)} occur more than once; name every column differently")


def name_columns(names: Sequence[str]) -> list[str]:
    """The checked names of a header, with a name that no header can have for columns without one."""
    named = [name or f"{_NAMELESS}{place + 1}" for place, name in enumerate(names)]
    check_names(named)
    return named


def is_nameless(name: str) -> bool:
    """Whether `name_columns` made this name."""
    return name.startswith(_NAMELESS)


def leave_out_nameless(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns without the index that pandas or R wrote, and without empty columns; others need a name."""
    kept = dict(columns)
    for place, (name, values) in enumerate(columns.items()):
        if not is_nameless(name) and (place or name != _INDEX_OF_PANDAS):
            continue
        if is_nameless(name) and values.dtype.kind == "f" and np.isnan(values).all():
            del kept[name]
        elif place == 0 and len(columns) > 1 and _numbers_rows(name, values):
            warn_user("the first column has no name and numbers the rows, as an index of pandas does; it is left out")
            del kept[name]
        elif is_nameless(name):
            raise _no_name(int(name.removeprefix(_NAMELESS)))
    return kept


def _numbers_rows(name: str, values: np.ndarray) -> bool:
    """Whole numbers, or in a column without a name words that all differ."""
    if values.dtype.kind in "iu":
        return True
    return is_nameless(name) and values.dtype.kind == "O" and len(set(values.tolist()) - {None}) == len(values)


def _no_name(place: int) -> ValueError:
    return ValueError(f"column {place} of the header has no name; name every column")
