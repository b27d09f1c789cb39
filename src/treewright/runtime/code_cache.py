"""The cache of the machine code that Numba compiles, in a directory that nobody else can write to.

Numba's own cache unpickles whatever it finds. Here a file is unpickled only if it lies in a directory of the user and
has the checksum that it was written with. Any fault in reading or writing means that code is compiled again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treewright.runtime.kernels import kernel_sources_digest
from treewright.runtime.permissions import is_private

CHECKSUM_SIZE = 32


def cache_directory() -> Path | None:
    """Return the directory of compiled kernels, below NUMBA_CACHE_DIR or the user's cache; None if it is not safe."""
    given = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(given) if given else Path.home() / ".cache"
        directory = base / "treewright" / kernel_sources_digest()[:16]
        base.mkdir(parents=True, exist_ok=True)
        for path in (directory.parent, directory):
            path.mkdir(mode=0o700, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return directory if is_private(directory.parent) and is_private(directory) else None


def read_checked(path: Path) -> bytes | None:
    """Return the contents of a file of the cache; None if there is none, or if it is not what was written."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    checksum, contents = stored[:CHECKSUM_SIZE], stored[CHECKSUM_SIZE:]
    return contents if hashlib.sha256(contents).digest() == checksum else None


def write_checked(path: Path, contents: bytes) -> None:
    """Write a file of the cache completely, or not at all."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(contents).digest() + contents)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
    except OSError:
        pass


class CodeCache:
    """The cache of one entry, with the methods that Numba calls; `on_miss` is called before the entry is compiled."""

    def __init__(self, name: str, directory: Path | None, on_miss: Callable[[], None]) -> None:
        self.name = name
        self.directory = directory
        self.on_miss = on_miss

    @property
    def cache_path(self) -> str:
        return str(self.directory or "")

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code that was stored for these types, or None if it has to be compiled."""
        from numba.core.compiler import CompileResult

        target.refresh()
        contents = None if self.directory is None else read_checked(self._path(signature, target.codegen()))
        try:
            if contents is not None:
                return CompileResult._rebuild(target, *pickle.loads(contents))
        except Exception:  # of another version: compile again
            pass
        self.on_miss()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store the code for these types."""
        from numba.core.serialize import dumps

        if self.directory is not None and not result.library.has_dynamic_globals:
            write_checked(self._path(signature, result.codegen), dumps(result._reduce()))

    def _path(self, signature: Any, codegen: Any) -> Path:
        import numba

        settings = (numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUG)
        parts = (self.name, signature, codegen.magic_tuple(), numba.__version__, sys.version, settings)
        assert self.directory is not None
        return self.directory / f"{self.name}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}.code"

    def enable(self) -> None:
        """Do nothing: the cache is always used."""

    def disable(self) -> None:
        """Do nothing: the cache is always used."""

    def flush(self) -> None:
        """Do nothing: files are written at once."""
