"""A reader of UBJSON, the binary form of JSON in which XGBoost writes its models."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from treewright.ship.layout import ModelFileError

# The types of numbers, by marker: the format of `struct` and of NumPy; all have the most significant byte first.
NUMBERS = {
    "i": (">b", ">i1"),
    "U": (">B", ">u1"),
    "I": (">h", ">i2"),
    "l": (">i", ">i4"),
    "L": (">q", ">i8"),
    "d": (">f", ">f4"),
    "D": (">d", ">f8"),
}

MOST_LEVELS = 100


def read_ubjson(data: bytes) -> Any:
    """The value of a file; lists of numbers of one type are arrays.

    >>> read_ubjson(b'{i\\x01a[$i#i\\x02\\x05\\x06i\\x01bSi\\x02ok}')
    {'a': array([5, 6], dtype=int8), 'b': 'ok'}
    """
    try:
        reader = _Reader(data)
        return reader.value(reader.marker(), 0)
    except (struct.error, IndexError, UnicodeDecodeError):
        raise ModelFileError("the file is cut off, or it is damaged") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise ModelFileError("the file is cut off, or it is damaged")
        found = self.data[self.at : self.at + size]
        self.at += size
        return found

    def marker(self) -> str:
        """The next marker; N is there only to fill."""
        found = "N"
        while found == "N":
            found = chr(self.take(1)[0])
        return found

    def value(self, marker: str, level: int) -> Any:
        if level > MOST_LEVELS:
            raise ModelFileError("the file has too many levels; it is damaged")
        if marker in NUMBERS:
            return self.number(marker)
        if marker in "ZTF":
            return {"Z": None, "T": True, "F": False}[marker]
        if marker in "SH":
            return self.text()
        if marker == "C":
            return chr(self.take(1)[0])
        if marker == "[":
            return self.items(level)
        if marker == "{":
            return self.pairs(level)
        raise ModelFileError(f"the file has the marker {marker!r}, which UBJSON does not have; it is damaged")

    def number(self, marker: str) -> Any:
        code = NUMBERS[marker][0]
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def length(self) -> int:
        marker = self.marker()
        if marker not in "iUIlL":
            raise ModelFileError("a length in the file is no whole number; it is damaged")
        return int(self.number(marker))

    def text(self) -> str:
        return self.take(self.length()).decode("utf-8")

    def header(self) -> tuple[str | None, int | None]:
        """The type and the number of entries that a container declares."""
        kind, size = None, None
        if self.data[self.at] == ord("$"):
            self.at += 1
            kind = self.marker()
        if self.data[self.at] == ord("#"):
            self.at += 1
            size = self.length()
        if kind is not None and size is None:
            raise ModelFileError("a list of the file has a type, but no length; it is damaged")
        return kind, size

    def items(self, level: int) -> Any:
        kind, size = self.header()
        if kind in NUMBERS and size is not None:
            dtype = np.dtype(NUMBERS[kind][1])
            return np.frombuffer(self.take(size * dtype.itemsize), dtype=dtype).astype(dtype.newbyteorder("="))
        found: list[Any] = []
        while self.goes_on("]", size, len(found)):
            found.append(self.value(kind or self.marker(), level + 1))
        return found

    def pairs(self, level: int) -> dict[str, Any]:
        kind, size = self.header()
        found: dict[str, Any] = {}
        n_read = 0
        while self.goes_on("}", size, n_read):
            key = self.text()
            found[key] = self.value(kind or self.marker(), level + 1)
            n_read += 1
        return found

    def goes_on(self, end: str, size: int | None, n_read: int) -> bool:
        """Whether a container has another entry."""
        if size is not None:
            # Entries without bytes, such as null, could be claimed without end.
            if size > len(self.data):
                raise ModelFileError("the file claims more entries than it has bytes; it is damaged")
            return n_read < size
        while self.data[self.at] == ord("N"):
            self.at += 1
        if self.data[self.at] != ord(end):
            return True
        self.at += 1
        return False
