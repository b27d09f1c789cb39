"""The one decorator of the compiled kernels, its options, and where their machine code is kept."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def kernel_sources_digest() -> str:
    """A short name for the state of all kernel sources and of what else shapes their machine code.

    Numba's own cache looks only at the file of the function it compiles, so a change in a helper of another
    file would leave stale code in use. A directory named by this digest cannot hold stale code.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    for setting in (numba.__version__, numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUG):
        digest.update(repr(setting).encode())
    return digest.hexdigest()[:16]


def cache_directory() -> str:
    """Where compiled kernels are kept: NUMBA_CACHE_DIR, or the user's cache, or the temporary directory."""
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    for base in (Path(home) if home else Path.home() / ".cache", Path(tempfile.gettempdir())):
        directory = base / "treewright" / kernel_sources_digest()
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return str(directory)
    return ""


_CACHE_DIRECTORY = cache_directory()


# Division follows IEEE (no exception inside a kernel) and fast-math is off: sums keep their written order, so that
# results are the same bits everywhere.
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that only other kernels call: no way in from Python, no copy in the cache."""
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)


def entry(function: Callable[..., Any]) -> Any:
    """Compile a kernel that Python calls, and keep its machine code with that of all kernels it calls."""
    usual_directory = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _CACHE_DIRECTORY
    try:
        return numba.njit(cache=True, no_cfunc_wrapper=True, **_OPTIONS)(function)
    finally:
        numba.config.CACHE_DIR = usual_directory
