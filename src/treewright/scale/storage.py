"""Temporary storage on disk: arrays in memory-mapped files, and chunks of a table that can be read several times.

The files have no name once they are open, so nothing is left behind, however the process ends.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

# Smaller arrays are in memory.
LEAST_STORED_BYTES = 1 << 20


@dataclass(frozen=True)
class Storage:
    """A directory for temporary files; None for that of the system."""

    directory: str | None = None
    advice: str = "name another directory with directory=..."  # if its disk is full

    def __post_init__(self) -> None:
        if self.directory is not None and not os.path.isdir(self.directory):
            raise ValueError(f"there is no directory {self.directory}; create it, or name another one")

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array in a memory-mapped file, with undefined content; a small one is in memory."""
        n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if n_bytes < LEAST_STORED_BYTES:
            return np.empty(shape, dtype)
        with self.open_file() as file:
            self.reserve(file, n_bytes)
            mapped = mmap.mmap(file.fileno(), n_bytes)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def open_file(self) -> IO[bytes]:
        """A file without a name."""
        try:
            return tempfile.TemporaryFile(dir=self.directory)
        except OSError as error:
            raise OSError(f"no temporary file can be made in {self.place}: {error.strerror or error}") from None

    def reserve(self, file: IO[bytes], n_bytes: int) -> None:
        """Reserve space on the disk, so that a full disk is an error now, rather than a crash later."""
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            else:
                file.truncate(n_bytes)
        except OSError as error:
            raise self.full(error, n_bytes) from None

    def full(self, error: OSError, n_bytes: int) -> OSError:
        """The error for a disk without space."""
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return OSError(f"{self.place} cannot be written: {error.strerror or error}")
        return OSError(
            f"the disk of {self.place} has no room for {n_bytes / 1e9:.2f} GB of temporary data; {self.advice}"
        )

    @property
    def place(self) -> Path:
        return Path(self.directory or tempfile.gettempdir())


@dataclass(eq=False)
class StoredChunks:
    """Chunks of a table in one temporary file, in Arrow's format."""

    storage: Storage
    places: list[tuple[int, int]] = field(default_factory=list)  # start and end of each chunk
    lengths: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.file = self.storage.open_file()
        self._mapped: Any = None

    def append(self, table: Any) -> None:
        """Add a chunk, an Arrow table."""
        import pyarrow as pa

        start = self.places[-1][1] if self.places else 0
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        content = sink.getvalue()
        try:
            self.file.write(content)
            self.file.flush()
        except OSError as error:
            raise self.storage.full(error, len(content)) from None
        self.places.append((start, start + len(content)))
        self.lengths.append(table.num_rows)
        self._mapped = None

    def read(self, number: int, names: Sequence[str]) -> Any:
        """Some columns of a chunk."""
        import pyarrow as pa

        if self._mapped is None:
            self._mapped = pa.py_buffer(mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ))
        start, end = self.places[number]
        options = pa.ipc.IpcReadOptions(use_threads=False)
        with pa.ipc.open_stream(self._mapped.slice(start, end - start), options=options) as reader:
            return reader.read_all().select(list(names))
