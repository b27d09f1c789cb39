"""The structs that kernels pass by reference, with the type and size of each field in one schema.

The schema defines the struct, the arrays that Python allocates for it, and the code that copies arrays and recipe into
it. A new field is one line.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from treewright.runtime.intrinsics import borrow
from treewright.runtime.kernels import inline
from treewright.runtime.signatures import annotations_of, kind_of


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
    ...     weight: float
    >>> [(field.name, field.kind) for field in fields_of(Choices)]
    [('max_depth', ('int64', 0)), ('weight', ('float64', 0))]
    """
    return [Field(name, kind_of(hint)) for name, hint in annotations_of(record).items()]


def record_of(name: str, fields: Sequence[Field], module: str) -> Any:
    """Make the record by which Python passes the arrays of these fields.

    `module` is where the record is assigned to its name: code that is cached for the type is found again by both.
    """
    record = namedtuple(name, [field.name for field in fields if field.is_array], module=module)  # type: ignore[misc]
    record.__annotations__ = {field.name: Annotated[np.ndarray, field.kind] for field in fields if field.is_array}
    return record


def write_take(name: str, fields: Sequence[Field]) -> Any:
    """Write the part of a kernel that copies fields of a record into a struct, one line each; arrays are borrowed."""
    lines = [
        f"    work.{field.name} = {f'borrow(given.{field.name})' if field.is_array else f'given.{field.name}'}"
        for field in fields
    ]
    scope: dict[str, Any] = {"__name__": __name__, "borrow": borrow}
    exec("\n".join([f"def {name}(work, given):", *lines]), scope)
    return inline(scope[name])


def make_fields(fields: Sequence[Field], sizes: Any) -> dict[str, np.ndarray]:
    """Allocate the arrays of all fields that have a size, by name; memory pages that are never touched cost nothing."""
    made = {field.name: np.empty(field.size(sizes), field.kind[0]) for field in fields if field.size is not None}
    for field in fields:
        if field.zeroed:
            made[field.name][:] = 0
    return made
