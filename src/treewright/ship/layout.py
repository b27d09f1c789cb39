"""The layout of a model file: a JSON header and arrays one after the other, as in safetensors.

The first eight bytes are the length of the header, a little-endian whole number. The header is a JSON object with an
entry for each array (`dtype`, `shape`, `data_offsets` from the end of the header) and `__metadata__`, an object of
texts. The arrays follow, without a space between them. The package safetensors reads such files, too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np

# The types of arrays, by their names in the header.
DTYPES = {
    "BOOL": "|b1",
    "U8": "|u1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
    "I8": "|i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}

# Arrays begin at multiples of this in the file, as far as their sizes allow: larger elements come first.
ALIGNMENT = 8

# The checksum of the whole file, and that of all but its large arrays.
CHECKSUM = "sha256"
HEAD_CHECKSUM = "head_sha256"

# Arrays of at least so many bytes are large: they remain views of the file, and may be checked when first used.
LARGE = 1 << 20

# Characters of the reason why a file is refused, which may contain a part of the file.
LONGEST_REASON = 300


class ModelFileError(ValueError):
    """A file that is no model file, or is damaged; the message is one sentence."""


@contextmanager
def damage_as_error() -> Iterator[None]:
    """Turn any error that the contents of a file cause into a `ModelFileError`."""
    try:
        yield
    except ModelFileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        words = shorten(" ".join(str(error).split()) or type(error).__name__, LONGEST_REASON, placeholder=" ...")
        raise ModelFileError(f"the model in the file is damaged: {words}") from error


def pack(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file with these arrays and texts, and a checksum of all of it."""
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    header: dict[str, Any] = {}
    offset = 0
    for name in order:
        array = arrays[name]
        header[name] = {
            "dtype": NAMES[array.dtype.newbyteorder("<") if array.dtype.itemsize > 1 else array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    data = b"".join(
        np.ascontiguousarray(arrays[name]).astype(arrays[name].dtype.newbyteorder("<")).tobytes() for name in order
    )
    texts = {name: text for name, text in metadata.items() if name != HEAD_CHECKSUM}
    texts[HEAD_CHECKSUM] = checksum_of_head(header, texts, data)
    texts[CHECKSUM] = checksum(header, texts, data)
    written = json.dumps({"__metadata__": texts, **header}, separators=(",", ":"), ensure_ascii=False).encode()
    written += b" " * (-len(written) % ALIGNMENT)
    return len(written).to_bytes(8, "little") + written + data


def checksum(header: Mapping[str, Any], metadata: Mapping[str, str], data: Any) -> str:
    """The SHA-256 of the descriptions of the arrays, the texts and the arrays."""
    described = json.dumps([header, metadata], sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(described)
    digest.update(data)
    return digest.hexdigest()


def checksum_of_head(header: Mapping[str, Any], metadata: Mapping[str, str], data: Any) -> str:
    """The SHA-256 of the descriptions of the arrays, the texts and the arrays that are not large."""
    spans = sorted(entry["data_offsets"] for entry in header.values())
    return checksum(header, metadata, b"".join(data[first:last] for first, last in spans if last - first < LARGE))


@dataclass(frozen=True)
class Contents:
    """The arrays and texts of a file, whose sizes are checked; the arrays are views of the file."""

    arrays: dict[str, np.ndarray]
    metadata: dict[str, str]
    header: dict[str, Any]
    data: memoryview
    checksum: str | None

    def check(self) -> None:
        """Raise an error if the checksum of the file is wrong."""
        if self.checksum != checksum(self.header, self.metadata, self.data):
            raise ModelFileError("the file is damaged: its checksum is wrong; use a copy, or save the model again")

    def has_valid_head(self) -> bool:
        """Whether all but the large arrays is as it was written; False for files without this checksum."""
        texts = {name: text for name, text in self.metadata.items() if name != HEAD_CHECKSUM}
        return self.metadata.get(HEAD_CHECKSUM) == checksum_of_head(self.header, texts, self.data)


def unpack(file: memoryview) -> Contents:
    """The contents of a file, after all sizes are checked."""
    header, start = _read_header(file)
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise ModelFileError("the file has no description of a model; it was not written by treewright")
    data = file[start:]
    return Contents(_read_arrays(header, data), metadata, header, data, metadata.pop(CHECKSUM, None))


def _read_header(file: memoryview) -> tuple[dict[str, Any], int]:
    if len(file) < 8:
        raise ModelFileError(f"the file has {len(file)} bytes, which is too short for a model file")
    length = int.from_bytes(file[:8], "little")
    if length > len(file) - 8:
        raise ModelFileError("the file is cut off, or it is no model file: its header is longer than the file")
    try:
        header = json.loads(bytes(file[8 : 8 + length]).decode(), object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise ModelFileError("the header of the file is not valid JSON; the file is damaged or no model file") from None
    if not isinstance(header, dict):
        raise ModelFileError("the header of the file is not a JSON object; the file is no model file")
    return header, 8 + length


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has the same key twice")
    return found


def _read_arrays(header: Mapping[str, Any], data: memoryview) -> dict[str, np.ndarray]:
    """The arrays, which must fill the rest of the file exactly."""
    arrays, spans = {}, []
    for name, entry in header.items():
        try:
            dtype, shape, (first, last) = np.dtype(DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
            sizes = [first, last, *(shape if isinstance(shape, list) else [None])]
        except (KeyError, TypeError, ValueError):
            raise ModelFileError(f"array {name[:50]!r} of the file has no valid description; it is damaged") from None
        if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes):
            raise ModelFileError(f"array {name[:50]!r} of the file has an invalid size; the file is damaged")
        if last > len(data) or last - first != math.prod(shape) * dtype.itemsize:
            raise ModelFileError(f"array {name[:50]!r} does not fit into the file; the file is cut off or damaged")
        try:
            array = np.frombuffer(data[first:last], dtype=dtype).reshape(shape)
        except ValueError:
            raise ModelFileError(f"array {name[:50]!r} of the file has an invalid shape; the file is damaged") from None
        arrays[name] = array.astype(dtype.newbyteorder("="), copy=False)
        spans.append((first, last))
    spans.sort()
    ends = [0, *(last for _, last in spans)]
    if [first for first, _ in spans] != ends[:-1] or ends[-1] != len(data):
        raise ModelFileError("the arrays do not fill the file; it is damaged")
    return arrays
