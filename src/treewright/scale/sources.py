"""Where the chunks of a scanned table come from: Parquet and Arrow files, or frames that are stored as they come."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treewright.scale.storage import Storage, StoredChunks
from treewright.table import Frame

# Cells of a chunk: 4 MB as bytes of codes, 32 MB as numbers.
CELLS_OF_CHUNK = 1 << 22

# Bytes of a column that are read from a Parquet file together.
BYTES_READ = 1 << 18

NEEDS_ARROW = "tables in chunks need pyarrow; install it with pip install 'treewright[arrow]'"


class ChunkSource(ABC):
    """Chunks of a table as Arrow tables, which can be read any number of times."""

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    named: bool = True

    @abstractmethod
    def chunks(self, names: Sequence[str]) -> Iterator[Any]:
        """Some columns of each chunk, in order."""


def rows_of_chunk(n_columns: int) -> int:
    """The number of rows of a chunk."""
    return max(CELLS_OF_CHUNK // max(n_columns, 1), 1)


def chunk_lengths(n_rows: int, size: int) -> list[int]:
    """The lengths of the chunks of so many rows.

    >>> chunk_lengths(7, 3)
    [3, 3, 1]
    """
    return [min(size, n_rows - first) for first in range(0, n_rows, size)]


def regroup(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Arrow batches regrouped to tables of exactly so many rows, the last one with the rest."""
    import pyarrow as pa

    waiting: list[Any] = []
    n_waiting = 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += len(batch)
        while n_waiting >= size:
            whole = pa.Table.from_batches(waiting)
            yield whole.slice(0, size)
            rest = whole.slice(size)
            waiting, n_waiting = rest.to_batches(), rest.num_rows
    if n_waiting:
        yield pa.Table.from_batches(waiting)


class Files(ChunkSource):
    """Files of one format with the same columns; a file that changes between two reads is an error."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.stamps = [_stamp(path) for path in self.paths]
        found = [self._describe(path) for path in self.paths]
        self.names = found[0][0]
        for path, (names, _) in zip(self.paths, found, strict=True):
            if set(names) != set(self.names):
                raise ValueError(_other_names(path, self.paths[0], names, self.names))
        self.size = rows_of_chunk(len(self.names))
        self.rows_of_file = [n_rows for _, n_rows in found]
        self.lengths = tuple(length for n_rows in self.rows_of_file for length in chunk_lengths(n_rows, self.size))

    def chunks(self, names: Sequence[str]) -> Iterator[Any]:
        for path, stamp, n_rows in zip(self.paths, self.stamps, self.rows_of_file, strict=True):
            if _stamp(path) != stamp:
                raise ValueError(f"{path.name}: the file has changed since it was first read; scan it again")
            n_read = 0
            try:
                for table in regroup(self._batches(path, names), self.size):
                    n_read += table.num_rows
                    yield table.select(list(names))
            except (OSError, ValueError) as error:  # Arrow's errors are both
                raise _broken(path, error) from None
            if n_read != n_rows or _stamp(path) != stamp:
                raise ValueError(f"{path.name}: the file has changed since it was first read; scan it again")

    @abstractmethod
    def _describe(self, path: Path) -> tuple[tuple[str, ...], int]:
        """The columns and the number of rows of a file."""

    @abstractmethod
    def _batches(self, path: Path, names: Sequence[str]) -> Iterator[Any]:
        """Some columns of a file in batches."""


class ParquetFiles(Files):
    """Parquet files."""

    def _describe(self, path: Path) -> tuple[tuple[str, ...], int]:
        from pyarrow import parquet

        from treewright.table.readers.arrow import is_index_of_pandas

        try:
            with parquet.ParquetFile(path) as file:
                names = tuple(name for name in file.schema_arrow.names if not is_index_of_pandas(name))
                return names, file.metadata.num_rows
        except (OSError, ValueError) as error:
            raise _broken(path, error) from None

    def _batches(self, path: Path, names: Sequence[str]) -> Iterator[Any]:
        from pyarrow import parquet

        # Without these options, the compressed columns of a whole row group are in memory.
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=BYTES_READ) as file:
            yield from file.iter_batches(batch_size=1 << 16, columns=list(names))


class ArrowFiles(Files):
    """Files in Arrow's own format, also called Feather."""

    def _describe(self, path: Path) -> tuple[tuple[str, ...], int]:
        import pyarrow as pa

        try:
            with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
                lengths = [len(file.get_batch(number)) for number in range(file.num_record_batches)]
                return tuple(file.schema.names), sum(lengths)
        except (OSError, ValueError) as error:
            raise _broken(path, error) from None

    def _batches(self, path: Path, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
            for number in range(file.num_record_batches):
                yield file.get_batch(number).select(list(names))


class Fragments(ChunkSource):
    """The fragments of an Arrow dataset."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.names = tuple(dataset.schema.names)
        self.size = rows_of_chunk(len(self.names))
        self.rows = [fragment.count_rows() for fragment in dataset.get_fragments()]
        self.lengths = tuple(length for n_rows in self.rows for length in chunk_lengths(n_rows, self.size))

    def chunks(self, names: Sequence[str]) -> Iterator[Any]:
        for fragment, n_rows in zip(self.dataset.get_fragments(), self.rows, strict=True):
            n_read = 0
            batches = fragment.to_batches(schema=self.dataset.schema, columns=list(names))
            for table in regroup((batch for batch in batches if len(batch)), self.size):
                n_read += table.num_rows
                yield table
            if n_read != n_rows:
                raise ValueError("the dataset has changed since it was first read; scan it again")


class StoredFrames(ChunkSource):
    """Frames that can be read only once; they are stored on disk as they come."""

    def __init__(self, frames: Iterable[Any], storage: Storage) -> None:
        self.stored = StoredChunks(storage)
        for number, frame in enumerate(frames):
            table, named = to_arrow(frame)
            if number == 0:
                self.names, self.named = tuple(table.column_names), named
            if set(table.column_names) != set(self.names):
                raise ValueError(_other_names(f"frame {number}", "the first one", table.column_names, self.names))
            self.stored.append(table)
        if not self.stored.lengths:
            raise ValueError("there are no frames; give an iterator of at least one frame")
        self.lengths = tuple(self.stored.lengths)

    def chunks(self, names: Sequence[str]) -> Iterator[Any]:
        return (self.stored.read(number, names) for number in range(len(self.lengths)))


def to_arrow(frame: Any) -> tuple[Any, bool]:
    """A frame of any library as an Arrow table, and whether its columns have names."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame, True
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame]), True
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise ValueError(f"a frame has rows and columns, but an array has {frame.ndim} dimensions")
        return pa.table({f"x{place}": frame[:, place] for place in range(frame.shape[1])}), False
    if isinstance(frame, Frame | dict):
        return pa.table({name: _arrow_column(frame, name) for name in frame}), True
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow(), True
    if type(frame).__module__.startswith("pandas"):
        return pa.Table.from_pandas(frame, preserve_index=False), True
    raise TypeError(f"an iterator must give frames of pandas, polars or Arrow, or arrays, not {type(frame).__name__}")


def _arrow_column(frame: Any, name: str) -> Any:
    """A column of a plain frame or a dict; declared categories are kept."""
    import pyarrow as pa

    values = frame[name]
    found = pa.array(np.asarray(values) if isinstance(values, np.ndarray) else list(values), from_pandas=True)
    domain = getattr(frame, "domains", {}).get(name)
    if domain is None:
        return found
    indices = pa.array([None if value is None else domain.categories.index(value) for value in found.to_pylist()])
    return pa.DictionaryArray.from_arrays(indices.cast("int32"), list(domain.categories), ordered=domain.ordered)


def _stamp(path: Path) -> tuple[int, int]:
    """What changes when a file is written."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise FileNotFoundError(f"{path}: {error.strerror or error}") from None
    return found.st_size, found.st_mtime_ns


def _broken(path: Path, error: Exception) -> ValueError:
    if str(error).startswith(path.name):
        return ValueError(str(error))
    first_line = (str(error).splitlines() or [type(error).__name__])[0]
    return ValueError(f"{path.name}: the file cannot be read ({first_line.rstrip('.')})")


def _other_names(this: Any, first: Any, names: Iterable[str], expected: Iterable[str]) -> str:
    from treewright.table.categories import some

    absent = [name for name in expected if name not in set(names)]
    strange = [name for name in names if name not in set(expected)]
    this, first = getattr(this, "name", this), getattr(first, "name", first)
    words = f"lacks the column {some(absent)}" if absent else f"has the column {some(strange)}"
    return f"{this} {words}, other than {first}; all parts of a table need the same columns"
