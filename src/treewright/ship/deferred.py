"""Forests of large files, whose arrays are checked when they are first used.

A file of a gigabyte is mapped in milliseconds, while its checksum takes a second. No array of such a forest can be
read before the whole file has been checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from threading import Lock
from typing import Any

from treewright.ship.checks import check_fields
from treewright.ship.layout import damage_as_error
from treewright.tree.forest import Forest

_FIELDS = frozenset(field.name for field in fields(Forest))


class DeferredForest(Forest):
    """A forest that is checked when one of its fields is first read; from then on it is an ordinary `Forest`."""

    def __init__(self, found: Mapping[str, Any], check_file: Callable[[], None]) -> None:
        self.__dict__["_unchecked"] = (Lock(), found, check_file)

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"a Forest has no attribute {name!r}")
        self.settle()
        return getattr(self, name)

    def settle(self) -> None:
        """Check the file and the structure of the trees, unless another thread has done it."""
        unchecked = self.__dict__.get("_unchecked")
        if unchecked is None:
            return
        lock, found, check_file = unchecked
        with lock:
            if type(self) is Forest:
                return
            check_file()
            with damage_as_error():
                check_fields("Forest", found)
                checked = Forest(**found)
            self.__dict__.update(checked.__dict__)
            # From here on another thread finds all fields, and no longer calls `__getattr__`.
            self.__class__ = Forest  # type: ignore[assignment]
            del self.__dict__["_unchecked"]

    def __reduce__(self) -> tuple[Any, ...]:
        self.settle()
        return Forest.__reduce__(self)  # of the class that it has now
