"""Large CSV and TSV files in blocks of lines, each read as a table of its own."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from treewright.table import Frame, read_table

# Bytes of text that are read as one table.
BYTES_OF_BLOCK = 1 << 25


def frames_of_text(paths: list[Path], reading: Mapping[str, Any]) -> Iterator[Frame]:
    """The tables of the blocks of some files, which have the same columns.

    A column that is of numbers in one block and of text in another is an error, because the whole file would be read
    in another way.
    """
    kinds: dict[str, str] = {}
    decided: dict[str, Any] = {}
    for path in paths:
        n_rows = 0
        for block in blocks_of(path):
            try:
                frame = read_table(io.BytesIO(block), **reading)
            except ValueError as error:
                raise ValueError(f"{path.name}, from row {n_rows} on: {_without_name(error)}") from None
            for choice, value in frame.reading.items():
                if decided.setdefault(choice, value) != value:
                    raise ValueError(f"{path.name}: {choice} differs between rows of the file; give {choice}=")
            for name in frame.columns:
                kind = _kind_of(frame[name])
                if kind and kinds.setdefault(name, kind) != kind:
                    raise ValueError(
                        f"{path.name}: column {name!r} has {kinds[name]} first, and {kind} in the rows from {n_rows} "
                        "on; leave the column out, or read the file at once"
                    )
            n_rows += len(frame)
            yield frame


def _without_name(error: ValueError) -> str:
    return str(error).removeprefix("standard input: ").removeprefix("the table: ")


def _kind_of(values: Any) -> str:
    """The kind of the values of a block; empty if all are missing."""
    if values.dtype.kind == "O":
        return "text" if any(value is not None for value in values) else ""
    if values.dtype.kind == "f" and not (values == values).any():
        return ""
    return "dates" if values.dtype.kind == "M" else "numbers"


def blocks_of(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, each with the header of the file; quoted line ends do not end a line."""
    try:
        with path.open("rb") as file:
            header = file.readline()
            while block := file.read(BYTES_OF_BLOCK):
                lines = [block, file.readline()]
                is_open = sum(line.count(b'"') for line in lines) % 2 == 1
                n_more = 0
                while is_open and (line := file.readline()):
                    lines.append(line)
                    n_more += len(line)
                    is_open ^= line.count(b'"') % 2 == 1
                    if n_more > BYTES_OF_BLOCK:
                        raise ValueError(f"{path.name}: a quoted cell does not end; correct the quotes in the file")
                whole = b"".join(lines)
                if whole.strip():
                    yield header + whole
    except OSError as error:
        raise ValueError(f"{path.name}: the file cannot be read ({error.strerror or error})") from None
