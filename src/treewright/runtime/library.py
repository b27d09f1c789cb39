"""The machine code that is shipped with the package: shared libraries that are called without Numba.

There is one library for each level of processors. `kernels.json` contains the digest of the sources from which they
were compiled, and a checksum of each. A library of other sources, or one that has been damaged or that other users can
change, is never loaded.

An entry receives one word per argument: a number, or the address of an array object. It reads the array's data, shape
and type where NumPy keeps them, and returns before doing anything if the array is not what it was compiled for.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import CDLL, byref, c_char_p, c_double, c_int32, c_int64, c_void_p
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from treewright.runtime.kernels import kernel_sources_digest, list_entries, name_of
from treewright.runtime.permissions import is_protected_like
from treewright.runtime.signatures import (
    ARRAY_FLAGS,
    DATA,
    N_DIMENSIONS,
    REFUSED,
    SHAPE,
    STRIDES,
    TYPE,
    TYPE_NUMBER,
    Form,
    Group,
    forms_of,
    leaves_of,
    result_of,
    words_of,
)

DIRECTORY = Path(__file__).parent.parent / "machine_code"
INDEX = "kernels.json"

# The levels of processors, best first, each with the names by which NumPy knows what it needs (one of the sets).
X86_LEVELS: dict[str, tuple[set[str], ...]] = {
    "x86-64-v4": ({"X86_V4"}, {"AVX512F", "AVX512CD", "AVX512_SKX", "AVX2", "FMA3"}),
    "x86-64-v3": ({"X86_V3"}, {"AVX2", "FMA3", "F16C"}),
    "x86-64-v2": ({"X86_V2"}, {"SSE42", "SSSE3", "POPCNT"}),
}

# Python objects begin with a head of this size.
HEAD = object.__basicsize__

_FORMATS = {"int64": "q", "uint64": "Q", "float64": "d", "bool": "?7x"}


# How the result of an entry is read.
_RESULTS: dict[str | None, tuple[Any, Callable[[Any], Any]]] = {
    None: (c_int64, lambda result: None),
    "int64": (c_int64, lambda result: result.value),
    "float64": (c_double, lambda result: result.value),
    "bool": (c_int64, lambda result: result.value != 0),
}


class LibraryError(Exception):
    """A library cannot be used; the message says why."""


def levels() -> list[str]:
    """List the levels of machine code that this processor can run, best first; TREEWRIGHT_LEVEL allows one only."""
    only = os.environ.get("TREEWRIGHT_LEVEL")
    if platform.machine().lower() not in ("x86_64", "amd64"):
        found = [platform.machine().lower()]
    else:
        features = _processor_features()
        found = [level for level, needs in X86_LEVELS.items() if any(need <= features for need in needs)]
    return [level for level in found if only in (None, "", level)]


def _processor_features() -> set[str]:
    try:
        from numpy._core._multiarray_umath import __cpu_features__
    except ImportError:
        return set()
    return {name for name, is_there in __cpu_features__.items() if is_there}


def library_name(level: str) -> str:
    """Return the name of the file with the machine code for a level."""
    suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    return f"kernels-{level}{suffix}"


def symbol_of(function: Callable[..., Any], form: int) -> str:
    """Return the name of a form of an entry in the library."""
    return f"treewright_{name_of(function).replace('.', '_')}_{form}"


class Entry:
    """An entry of the library: one form, or several of which that is called whose parameters are None."""

    def __init__(self, function: Callable[..., Any], code: Any) -> None:
        forms = forms_of(function)
        self.name = name_of(function)
        self.n_parameters = len(forms[0])
        self.optional = [k for k in range(self.n_parameters) if any(form[k] is None for form in forms)]
        self.by_absence = {
            self._absence(form): CompiledForm(self.name, form, result_of(function), code(symbol_of(function, index)))
            for index, form in enumerate(forms)
        }

    def _absence(self, arguments: Any) -> tuple[bool, ...]:
        return tuple(arguments[k] is None for k in self.optional)

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != self.n_parameters:
            raise TypeError(f"{self.name} has {self.n_parameters} parameters, not {len(arguments)}")
        form = self.by_absence.get(self._absence(arguments))
        if form is None:
            raise TypeError(f"{self.name} has no form for these parameters that are None")
        return form(arguments)


class CompiledForm:
    """The machine code of an entry for one combination of types."""

    def __init__(self, name: str, form: Form, result: str | None, code: Any) -> None:
        self.name, self.code = name, code
        self.result, self.read = _RESULTS[result]
        self.leaves = leaves_of(form)
        self.groups = tuple(isinstance(argument, Group) for argument in form)
        self.words = words_of(form)
        self.take_arrays = _taker([k for k, leaf in enumerate(self.leaves) if leaf.n_dimensions])
        self.take_numbers = _taker([k for k, leaf in enumerate(self.leaves) if not leaf.n_dimensions])
        formats = ["Q" if leaf.n_dimensions else _FORMATS[leaf.dtype] for leaf in self.words]
        self.pack = struct.Struct("=" + "".join(formats)).pack

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        flat: list[Any] = []
        for argument, is_group in zip(arguments, self.groups, strict=True):
            if is_group:
                flat += argument
            elif argument is not None:
                flat.append(argument)
        if len(flat) != len(self.leaves):
            raise TypeError(f"{self.name} needs {len(self.leaves)} arrays and numbers, not {len(flat)}")
        arrays = self.take_arrays(flat)
        for array in arrays:
            if not isinstance(array, np.ndarray):
                raise TypeError(f"{self.name} was called with a {type(array).__name__} instead of an array")
        try:
            words = self.pack(*map(id, arrays), *self.take_numbers(flat))
        except struct.error as problem:
            raise TypeError(f"{self.name} was called with a number of another type ({problem})") from None
        result = self.result()
        status = self.code(words, HEAD, byref(result))
        if status == 0:
            return self.read(result)
        if status >= REFUSED:
            leaf = self.words[status - REFUSED]
            raise TypeError(f"{self.name} was compiled for {leaf.path} as {leaf}, and was called with something else")
        raise RuntimeError(f"{self.name} failed with status {status}")


def _taker(positions: list[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """Return a function that takes the entries at these positions of a list."""
    if len(positions) == 1:
        return lambda values: (values[positions[0]],)
    return itemgetter(*positions) if positions else lambda values: ()


class Library(Mapping[Callable[..., Any], Entry]):
    """The entries of a library, each of which is set up when it is first called."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._entries: dict[Callable[..., Any], Entry] = {}
        try:
            self._library = CDLL(str(path))
        except OSError as problem:
            raise LibraryError(f"{path.name} cannot be loaded: {problem}") from None

    def __getitem__(self, function: Callable[..., Any]) -> Entry:
        found = self._entries.get(function)
        if found is None:
            found = self._entries[function] = Entry(function, self._code)
        return found

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(list_entries())

    def __len__(self) -> int:
        return len(list_entries())

    def _code(self, symbol: str) -> Any:
        try:
            function = self._library[symbol]
        except AttributeError:
            raise LibraryError(f"{self.name} does not contain {symbol}") from None
        function.argtypes = [c_char_p, c_int64, c_void_p]
        return function


@cache
def load() -> Library | None:
    """Return the library for this processor, None if there is none that can be used."""
    try:
        return open_library(DIRECTORY)
    except LibraryError:
        return None


def open_library(directory: Path) -> Library:
    """Return the best library in a directory that this processor can run, after checking it."""
    path = find_library(directory)
    check_array_layout()
    return Library(path)


def find_library(directory: Path, among: Sequence[str] | None = None) -> Path:
    """Return the best library in a directory, after checking that it is what was built.

    It is one that this processor can run, or the first of the levels `among`.
    """
    try:
        index = json.loads((directory / INDEX).read_text())
        sources, checksums = index["sources"], index["libraries"]
    except FileNotFoundError:
        raise LibraryError("no machine code was shipped") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise LibraryError(f"{INDEX} is damaged") from None
    if sources != kernel_sources_digest():
        raise LibraryError("the machine code was compiled from other sources")
    candidates = [library_name(level) for level in (levels() if among is None else among)]
    name = next((name for name in candidates if name in checksums), None)
    if name is None:
        raise LibraryError("no machine code was shipped for this processor")
    for path in (directory, directory / INDEX, directory / name):
        if path.exists() and not is_protected_like(path, Path(__file__).parent if path.is_dir() else Path(__file__)):
            raise LibraryError(f"{path.name} can be changed by other users")
    try:
        contents = (directory / name).read_bytes()
    except OSError:
        raise LibraryError(f"{name} cannot be read") from None
    if hashlib.sha256(contents).hexdigest() != checksums[name]:
        raise LibraryError(f"{name} is damaged")
    return directory / name


def check_array_layout() -> None:
    """Check that this Python and this NumPy keep arrays where the machine code looks for them."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        raise LibraryError("the machine code is for CPython with 64-bit words, lowest byte first")
    array = np.zeros((3, 2, 5), np.uint16)[:, :, :4]

    def word(address: int, kind: Any = c_int64) -> int:
        return kind.from_address(address).value

    at = id(array) + HEAD
    shape, strides, dtype = word(at + SHAPE), word(at + STRIDES), word(at + TYPE)
    as_expected = (
        np.ndarray.__basicsize__ >= HEAD + ARRAY_FLAGS + 4
        and word(at + DATA) == array.ctypes.data
        and word(at + N_DIMENSIONS, c_int32) == 3
        and dtype == id(array.dtype)
        and word(at + ARRAY_FLAGS, c_int32) & 0xFFFF == array.flags.num & 0xFFFF
        and word(dtype + HEAD + TYPE_NUMBER, c_int32) == array.dtype.num
        and tuple(word(shape + 8 * k) for k in range(3)) == array.shape
        and tuple(word(strides + 8 * k) for k in range(3)) == array.strides
    )
    if not as_expected:
        raise LibraryError(f"NumPy {np.__version__} keeps arrays in another layout than the machine code expects")
