"""The structs that kernels pass by reference, with the type and size of each field in one schema.

The schema defines the struct, the arrays that Python allocates for it, and the code that copies arrays and recipe into
it. A new field is one line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np

from treewright.runtime.jit import borrow, part

# Types of fields: a name that NumPy and Numba share, and the number of dimensions.
FLAG = ("bool", 0)
WHOLE = ("int64", 0)
REAL = ("float64", 0)
FLAGS = ("bool", 1)
BYTES = ("uint8", 1)
WHOLES = ("int64", 1)
REALS = ("float64", 1)
WORDS = ("uint64", 1)

# The same as annotations of a record whose fields become fields of a struct.
Flags = Annotated[np.ndarray, FLAGS]
Bytes = Annotated[np.ndarray, BYTES]
Wholes = Annotated[np.ndarray, WHOLES]
Reals = Annotated[np.ndarray, REALS]
Indices = Annotated[np.ndarray, ("uint32", 1)]

_SCALARS = {bool: FLAG, int: WHOLE, float: REAL, Any: WHOLE}


class Field(NamedTuple):
    """A field of a struct: name, type, and for arrays that Python allocates the size and whether they are zeroed."""

    name: str
    kind: tuple[str, int]
    size: Callable[[Any], int | tuple[int, ...]] | None = None
    zeroed: bool = False

    @property
    def is_array(self) -> bool:
        return self.kind[1] > 0


def fields_of(record: type) -> list[Field]:
    """List the fields of a record by its annotations.

    >>> class Choices(NamedTuple):
    ...     max_depth: int
    ...     codes: Flags
    >>> [(field.name, field.kind) for field in fields_of(Choices)]
    [('max_depth', ('int64', 0)), ('codes', ('bool', 1))]
    """
    hints = get_type_hints(record, include_extras=True)
    return [Field(name, _SCALARS[hint] if hint in _SCALARS else hint.__metadata__[0]) for name, hint in hints.items()]


def write_take(name: str, fields: Sequence[Field]) -> Any:
    """Write the part of a kernel that copies fields of a record into a struct, one line each; arrays are borrowed."""
    lines = [
        f"    work.{field.name} = {f'borrow(given.{field.name})' if field.is_array else f'given.{field.name}'}"
        for field in fields
    ]
    scope: dict[str, Any] = {"__name__": __name__, "borrow": borrow}
    exec("\n".join([f"def {name}(work, given):", *lines]), scope)
    return part(scope[name])


def make_fields(fields: Sequence[Field], sizes: Any) -> dict[str, np.ndarray]:
    """Allocate the arrays of all fields that have a size, by name; memory pages that are never touched cost nothing."""
    made = {field.name: np.empty(field.size(sizes), field.kind[0]) for field in fields if field.size is not None}
    for field in fields:
        if field.zeroed:
            made[field.name][:] = 0
    return made
