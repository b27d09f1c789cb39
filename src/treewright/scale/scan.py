"""`scan`: a table that is read chunk by chunk and never held in memory."""

from __future__ import annotations

import glob
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Full, Queue
from typing import Any

import numpy as np

from treewright.scale.sources import (
    NEEDS_ARROW,
    ArrowFiles,
    ChunkSource,
    Fragments,
    ParquetFiles,
    StoredFrames,
)
from treewright.scale.storage import Storage
from treewright.scale.text_files import frames_of_text
from treewright.table.chunked import ChunkedTable
from treewright.table.plain_frame import Domain, NamedColumn, as_array

FILES: dict[str, type[ParquetFiles] | type[ArrowFiles]] = {
    ".parquet": ParquetFiles,
    ".pq": ParquetFiles,
    ".arrow": ArrowFiles,
    ".feather": ArrowFiles,
}
TEXT_FILES = (".csv", ".tsv", ".txt")


def scan(source: Any, *, directory: Any = None, **reading: Any) -> Scan:
    """A table that is read chunk by chunk, for tables larger than memory.

    Forests and gradient boosting can be fitted to it, with the same result as to the whole table in memory: the table
    is read twice, and encoded in memory-mapped files. All learners predict it chunk by chunk.

    Parameters
    ----------
    source : path, pattern, list of paths, Arrow dataset, or iterable of frames
        Parquet, Arrow, CSV or TSV files, such as "data/*.parquet". Frames of pandas, polars or Arrow, arrays, and the
        rows of text files are stored in a temporary file as they come, because they are read more than once.
    directory : path or None
        Where temporary files are made; None for the directory of the system. They need a byte per cell for boosting,
        and twice that for forests, or if the validation set is taken from the table. They are removed when they are no
        longer used.
    **reading
        The options of `read_table` for text files, such as `sep` and `decimal`.

    Returns
    -------
    Scan
        `fit(scan, "y")` takes the target from the column "y"; `scan.drop("id")` and `scan[["a", "b"]]` choose columns.

    Examples
    --------
    >>> import numpy as np
    >>> from treewright import RandomForestRegressor, scan
    >>> frames = ({"x": np.arange(5.0) + first, "y": np.arange(5.0) + first} for first in (0, 5))
    >>> table = scan(frames)
    >>> table.shape
    (10, 2)
    >>> model = RandomForestRegressor(n_estimators=10, random_state=0).fit(table, "y")
    >>> [part.shape for part in model.predict(table.drop("y"))]
    [(5,), (5,)]
    """
    storage = Storage(None if directory is None else str(directory))
    return Scan(_open(source, storage, reading), storage)


def _open(source: Any, storage: Storage, reading: Mapping[str, Any]) -> ChunkSource:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(NEEDS_ARROW) from None
    if isinstance(source, str | Path):
        return _open_files(find_files(str(source)), storage, reading)
    if hasattr(source, "get_fragments"):
        return Fragments(source)
    if isinstance(source, list | tuple) and source and all(isinstance(path, str | Path) for path in source):
        return _open_files([path for each in source for path in find_files(str(each))], storage, reading)
    if isinstance(source, Iterable) and not hasattr(source, "columns") and not isinstance(source, np.ndarray):
        return StoredFrames(source, storage)
    raise TypeError(
        f"scan takes paths of files or an iterable of frames, not a {type(source).__name__}; "
        "a table in memory goes into fit as it is"
    )


def find_files(pattern: str) -> list[Path]:
    """The files that a path or pattern names, in the order of their names."""
    if "://" in pattern:
        raise ValueError(f"{pattern} is an address, but scan reads files; download it first")
    path = Path(pattern)
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.suffix.lower() in (*FILES, *TEXT_FILES))
    else:
        found = [path] if path.exists() else [Path(each) for each in sorted(glob.glob(pattern, recursive=True))]
    if not found:
        raise FileNotFoundError(f"there is no file {pattern}")
    return found


def _open_files(paths: list[Path], storage: Storage, reading: Mapping[str, Any]) -> ChunkSource:
    suffixes = {path.suffix.lower() for path in paths}
    if len(suffixes) > 1:
        raise ValueError(f"the files have several types ({', '.join(sorted(suffixes))}); scan files of one type")
    suffix = next(iter(suffixes))
    if suffix in TEXT_FILES:
        separator = {"sep": "\t"} if suffix == ".tsv" else {}
        return StoredFrames(frames_of_text(paths, {**separator, **reading}), storage)
    if suffix not in FILES:
        known = ", ".join([*FILES, *TEXT_FILES])
        raise ValueError(f"files of type {suffix!r} cannot be scanned, but files of type {known} can")
    return FILES[suffix](paths)


class Scan(ChunkedTable):
    """A table that is read chunk by chunk from files; made by `treewright.scan`."""

    def __init__(self, source: ChunkSource, storage: Storage, names: Sequence[str] | None = None) -> None:
        self.source, self.storage = source, storage
        self._names = tuple(source.names if names is None else names)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.source.lengths

    def select(self, names: Sequence[str]) -> Scan:
        self._check_names(names)
        return Scan(self.source, self.storage, names)

    def __getitem__(self, key: Any) -> Any:
        """A column by its name, or the table of some columns by a list of names."""
        return self.column(key) if isinstance(key, str) else self.select(list(key))

    def __repr__(self) -> str:
        return f"Scan of {len(self)} rows and {len(self.names)} columns in {len(self.lengths)} chunks"

    def frames(self) -> Iterator[Any]:
        """The chunks in order, as Arrow tables, or as arrays if the columns have no names."""
        import pyarrow as pa

        for table in ahead(self.source.chunks(self.names)):
            yield table if self.source.named else np.column_stack([column.to_numpy() for column in table.columns])
        pa.default_memory_pool().release_unused()

    def collect(self) -> Any:
        """The whole table in memory, as a frame of pandas."""
        import pyarrow as pa

        return pa.concat_tables(self.source.chunks(self.names), promote_options="permissive").to_pandas()

    def map_chunks(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> Iterator[Any]:
        for frame, *given in zip(self.frames(), *arguments, strict=True):
            yield function(frame, *given)

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return self.storage.allocate(shape, dtype)

    def column(self, name: str) -> NamedColumn:
        """The values of one column, in memory."""
        self._check_names([name])
        import pyarrow as pa

        try:
            whole = pa.concat_tables(self.source.chunks([name]), promote_options="permissive")
        except pa.ArrowException:
            raise ValueError(f"column {name!r} has several types; give it one type in all parts of the table") from None
        return named_column(name, whole.column(0))


def named_column(name: str, column: Any) -> NamedColumn:
    """A column of Arrow as an array that knows its name."""
    import pyarrow as pa

    domain = None
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries().combine_chunks()
        domain = Domain(tuple(column.dictionary.to_pylist()), ordered=bool(column.type.ordered))
        column = column.cast(column.type.value_type)
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if is_number and not column.null_count:
        return NamedColumn.of(name, np.array(column), domain)
    return NamedColumn.of(name, as_array(column.to_pylist()), domain)


def ahead(chunks: Iterator[Any]) -> Iterator[Any]:
    """The same chunks, of which the next one is read by another thread while this one is used."""
    queue: Queue[tuple[Any, BaseException | None]] = Queue(maxsize=1)
    is_stopped = threading.Event()
    end = object()

    def put(item: Any, error: BaseException | None = None) -> None:
        while not is_stopped.is_set():
            with suppress(Full):
                queue.put((item, error), timeout=0.1)
                return

    def read() -> None:
        try:
            for chunk in chunks:
                put(chunk)
                if is_stopped.is_set():
                    return
            put(end)
        except BaseException as error:
            put(end, error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while True:
            item, error = queue.get()
            if error is not None:
                raise error
            if item is end:
                return
            yield item
    finally:
        is_stopped.set()
        reader.join()
