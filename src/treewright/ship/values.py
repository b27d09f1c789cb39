"""Fitted models as JSON and arrays, and back.

A value that JSON does not have is an object with the key "#", which says what it is: an array, a tuple, a `Tree`, an
estimator. Values that occur in several places are written once; `ref` refers to them by number.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from treewright.ship.checks import check_fields, check_state
from treewright.ship.deferred import DeferredForest
from treewright.ship.layout import DTYPES, LARGE, ModelFileError
from treewright.ship.registry import name_of, object_classes, value_classes
from treewright.table.column import Column, Kind, Unit
from treewright.tree.forest import Forest

KEY = "#"


class MissingFunction:
    """A function of the user that a model was fitted with, and that a file cannot contain."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise ModelFileError(
            f"the model was fitted with your function {self.__name__!r}, which a file does not contain; "
            f"load it with functions={{{self.__name__!r}: the function}} to fit again"
        )

    def __repr__(self) -> str:
        return f"MissingFunction({self.__name__!r})"


class Writer:
    """Turns values into JSON; arrays are collected in `arrays`."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._written: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no number of `id` is used again

    def write(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, int) and not isinstance(value, np.generic):
            return int(value)
        if isinstance(value, float) and not isinstance(value, np.generic):
            return value if math.isfinite(value) else {KEY: "float", "text": repr(float(value))}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, list) and type(value) is list:
            return [self.write(item) for item in value]
        plain = _write_plain(value)
        if plain is not None:
            return plain
        if id(value) in self._written:
            return {KEY: "ref", "number": self._written[id(value)]}
        written = self._write_composite(value)
        self._written[id(value)] = len(self._written)
        self._kept.append(value)
        return written

    def _write_composite(self, value: Any) -> dict[str, Any]:
        if isinstance(value, np.generic):
            return {KEY: "scalar", "array": self._write_array(np.array(value))}
        if isinstance(value, np.ndarray):
            return self._write_array(value)
        if isinstance(value, Column):
            categories = [self.write(one) for one in value.categories]
            return {KEY: "Column", "name": value.name, "kind": value.kind, "unit": value.unit, "categories": categories}
        if isinstance(value, DeferredForest):
            value.settle()
        name = name_of(value_classes(), value)
        if name is not None:
            names = _field_names(type(value))
            return {KEY: name, "fields": {field: self.write(getattr(value, field)) for field in names}}
        if isinstance(value, tuple):
            return {KEY: "tuple", "items": [self.write(item) for item in value]}
        if isinstance(value, dict):
            kind = "bunch" if isinstance(value, Bunch) else "dict"
            return {KEY: kind, "items": [[self.write(key), self.write(item)] for key, item in value.items()]}
        return self._write_object(value)

    def _write_object(self, value: Any) -> dict[str, Any]:
        name = name_of(object_classes(), value)
        if name is not None:
            state = value.__getstate__() if hasattr(type(value), "__getstate__") else vars(value)
            state = dict(state or {}) if not isinstance(value, list) else dict(vars(value))
            state.pop("_sklearn_version", None)
            # In the order of their names, so that the file does not depend on the order in which they were set.
            written = {KEY: "object", "class": name, "state": {key: self.write(state[key]) for key in sorted(state)}}
            return {**written, "items": [self.write(item) for item in value]} if isinstance(value, list) else written
        if callable(value) and not isinstance(value, BaseEstimator | type):
            return {KEY: "function", "name": getattr(value, "__name__", type(value).__name__)}
        described = f"{type(value).__module__.split('.')[0]}'s {type(value).__name__}"
        raise ModelFileError(
            f"a model file cannot contain {described}; use members of treewright, or keep this model with joblib"
        )

    def _write_array(self, array: np.ndarray) -> dict[str, Any]:
        array = np.asarray(array)
        if array.dtype.kind in "OSU":
            items = [self.write(item) for item in array.ravel().tolist()]
            dtype = "O" if array.dtype.kind == "O" else array.dtype.str
            return {KEY: "cells", "dtype": dtype, "shape": list(array.shape), "items": items}
        stored, unit = (array.view(np.int64), array.dtype.str) if array.dtype.kind in "mM" else (array, None)
        if stored.dtype.newbyteorder("<").str not in DTYPES.values() and stored.dtype.str not in DTYPES.values():
            raise ModelFileError(f"a model file cannot contain an array of type {array.dtype}")
        name = str(len(self.arrays))
        self.arrays[name] = stored
        return {KEY: "array", "name": name, **({"unit": unit} if unit else {})}


def digest_of_value(value: Any) -> str:
    """The SHA-256 of a value as a file would contain it; of functions the names only.

    >>> digest_of_value({"a": [1, None]}) == digest_of_value({"a": [1, None]}) != digest_of_value({"a": [1, 0]})
    True
    """
    writer = Writer()
    digest = hashlib.sha256(json.dumps(writer.write(value), sort_keys=True).encode())
    for name, array in writer.arrays.items():
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _field_names(known: Any) -> list[str]:
    """The fields of a named tuple or a dataclass."""
    return list(known._fields) if issubclass(known, tuple) else [field.name for field in fields(known)]


def _write_plain(value: Any) -> dict[str, Any] | None:
    """Python's own values that JSON does not have."""
    if isinstance(value, bytes):
        return {KEY: "bytes", "text": base64.b64encode(value).decode()}
    if isinstance(value, datetime | date | time):
        return {
            KEY: type(value).__name__ if type(value) in (datetime, date, time) else "datetime",
            "text": value.isoformat(),
        }
    if isinstance(value, timedelta):
        return {KEY: "timedelta", "days": value.days, "seconds": value.seconds, "microseconds": value.microseconds}
    if isinstance(value, Decimal):
        return {KEY: "Decimal", "text": str(value)}
    return None


class Reader:
    """Turns JSON back into values; every value is checked before it is created.

    With `check_later`, forests with large arrays are created unchecked. They call it before their first use.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        functions: Mapping[str, Callable[..., Any]],
        n_bytes: int,
        check_later: Callable[[], None] | None = None,
    ) -> None:
        self.arrays, self.functions, self.check_later = dict(arrays), functions, check_later
        # Large arrays that are in use although the file has not been checked.
        self.n_unchecked = 0
        # Bytes that cells may take: a small file cannot ask for much memory.
        self._n_left = (1 << 20) + 64 * n_bytes
        self._read: list[Any] = []

    def read(self, written: Any) -> Any:
        if isinstance(written, list):
            return [self.read(item) for item in written]
        if not isinstance(written, dict):
            return written
        kind = written.get(KEY)
        if kind == "ref":
            number = _whole(written.get("number"))
            if number >= len(self._read):
                raise ModelFileError("the file refers to a value that it does not contain; it is damaged")
            return self._read[number]
        plain = _READERS.get(kind) if isinstance(kind, str) else None
        if plain is not None:
            return plain(written)
        value = self._read_composite(kind, written)
        self._read.append(value)
        return value

    def _read_composite(self, kind: Any, written: Mapping[str, Any]) -> Any:
        if kind == "array":
            return self._read_array(written)
        if kind == "scalar":
            array = self._read_array(written["array"])
            if array.ndim:
                raise ModelFileError("a number of the file is an array; the file is damaged")
            return array[()]
        if kind == "cells":
            return self._read_cells(written)
        if kind == "tuple":
            return tuple(self.read(item) for item in written["items"])
        if kind in ("dict", "bunch"):
            items = {_plain_key(self.read(key)): self.read(item) for key, item in written["items"]}
            return Bunch(**items) if kind == "bunch" else items
        if kind == "Column":
            categories = tuple(_plain_cell(self.read(one)) for one in written["categories"])
            return Column(_text(written["name"]), Kind(written["kind"]), categories, Unit(written["unit"]))
        if kind == "object":
            return self._read_object(written)
        if kind == "function":
            name = _text(written["name"])
            return self.functions.get(name) or MissingFunction(name)
        if kind in value_classes():
            return self._read_value(value_classes()[kind], written["fields"])
        raise ModelFileError(f"the file contains {str(kind)[:50]!r}, which this version of treewright does not know")

    def _read_array(self, written: Mapping[str, Any]) -> np.ndarray:
        # Each array has one place, so that a file cannot repeat a large one.
        array = self.arrays.pop(_text(written["name"]))
        # Small arrays are copied, so that they do not keep the file open and can be written to.
        if array.nbytes < LARGE:
            array = array.copy()
        else:
            self.n_unchecked += 1
        unit = written.get("unit")
        if unit is None:
            return array
        dtype = np.dtype(_text(unit))
        if dtype.kind not in "mM" or array.dtype != np.int64:
            raise ModelFileError("an array of moments of the file has another type; the file is damaged")
        return array.view(dtype)

    def _read_cells(self, written: Mapping[str, Any]) -> np.ndarray:
        dtype = np.dtype(_text(written["dtype"]))
        items = [self.read(item) for item in written["items"]]
        if dtype.kind not in "OSU":
            raise ModelFileError("a list of cells of the file has an unknown type; the file is damaged")
        self._n_left -= dtype.itemsize * len(items)
        if self._n_left < 0:
            raise ModelFileError("a list of cells of the file is too large; the file is damaged")
        cells = np.empty(len(items), dtype=dtype)
        for place, item in enumerate(items):
            cells[place] = item
        return cells.reshape([_whole(size) for size in written["shape"]])

    def _read_value(self, known: type, written: Mapping[str, Any]) -> Any:
        names = _field_names(known)
        if sorted(written) != sorted(names):
            raise ModelFileError(f"a {known.__name__} of the file has other fields than expected; the file is damaged")
        n_before = self.n_unchecked
        found = {name: self.read(written[name]) for name in written}
        if known is Forest and self.check_later is not None and self.n_unchecked > n_before:
            self.n_unchecked = n_before
            return DeferredForest(found, self.check_later)
        check_fields(known.__name__, found)
        return known(**found)

    def _read_object(self, written: Mapping[str, Any]) -> Any:
        known = object_classes().get(_text(written["class"]))
        if known is None:
            raise ModelFileError(
                f"the file contains {written['class'][:50]!r}, which this version of treewright does not know"
            )
        value: Any = list.__new__(known) if issubclass(known, list) else object.__new__(known)
        state = {_text(key): self.read(item) for key, item in written["state"].items()}
        check_state(known.__name__, state)
        # Files of another version, of treewright or of scikit-learn, may lack parameters.
        value.__dict__.update({**_defaults(known), **state} if issubclass(known, BaseEstimator) else state)
        if issubclass(known, list):
            value.extend(self.read(item) for item in written.get("items", []))
        return value


@cache
def _defaults(known: type) -> dict[str, Any]:
    """The parameters of an estimator with their defaults."""
    parameters = inspect.signature(known).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}


_CELLS = (str, bool, int, float, bytes, date, time, timedelta, Decimal, type(None))


def _plain_cell(value: Any) -> Any:
    """A category: a value without parts, which is compared at once."""
    if not isinstance(value, _CELLS):
        raise ModelFileError("a category of the file is not a plain value; the file is damaged")
    return value


def _plain_key(value: Any) -> Any:
    """A key: a plain value, or a tuple of them."""
    for part in value if isinstance(value, tuple) else (value,):
        _plain_cell(part)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ModelFileError("the file has another value where a text is expected; it is damaged")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ModelFileError("the file has another value where a whole number is expected; it is damaged")
    return value


_READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "float": lambda written: float(_text(written["text"])),
    "bytes": lambda written: base64.b64decode(_text(written["text"]), validate=True),
    "datetime": lambda written: datetime.fromisoformat(_text(written["text"])),
    "date": lambda written: date.fromisoformat(_text(written["text"])),
    "time": lambda written: time.fromisoformat(_text(written["text"])),
    "timedelta": lambda written: timedelta(written["days"], written["seconds"], written["microseconds"]),
    "Decimal": lambda written: Decimal(_text(written["text"])),
}
