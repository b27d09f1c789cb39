"""The decorators of the kernels, and the digest of their sources.

A kernel is an ordinary Python function. Small tables are grown by the plain functions. Larger tables are grown by their
machine code, from the library that is shipped with the package (`library`) or compiled by Numba (`jit`). All forms have
the same source and give the same bits.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The packages whose modules may contain kernels, relative to the package. Their sources, without those that no machine
# code depends on, identify the machine code.
PACKAGE = Path(__file__).parent.parent
KERNEL_PACKAGES = ("runtime", "encoding", "engines", "tree/pruning")
WITHOUT_KERNELS = {
    *(
        f"runtime/{name}.py"
        for name in (
            "code_cache",
            "cpu_quota",
            "forms",
            "interrupts",
            "library",
            "progress",
            "sums",
            "threads",
            "user_functions",
        )
    ),
    "encoding/chunks.py",
    "engines/boosting/worker_engine.py",
}

roles: dict[Callable[..., Any], str] = {}
replacements: dict[Callable[..., Any], Callable[[], Any]] = {}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that only other kernels call.

    Numba compiles it once for each combination of argument types, and a literal in a call has its own type. Call
    kernels with the named constants of `layout`, not with 0, -1 or True.
    """
    roles[function] = "kernel"
    return function


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that is compiled as a part of its callers."""
    roles[function] = "inline"
    return function


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a kernel that Python calls. Its annotations are the types for which it is compiled (see `signatures`)."""
    roles[function] = "entry"
    return function


def replaced(build: Callable[[], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a plain function whose compiled form `build` returns."""

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        replacements[function] = build
        return function

    return mark


def kernel_sources(package: Path = PACKAGE) -> list[Path]:
    """List the files that may contain kernels, in subdirectories too; `__init__.py` files contain none."""
    found = (path for name in KERNEL_PACKAGES for path in (package / name).rglob("*.py"))
    return sorted(
        path
        for path in found
        if path.name != "__init__.py" and path.relative_to(package).as_posix() not in WITHOUT_KERNELS
    )


def kernel_sources_digest(package: Path = PACKAGE) -> str:
    """Compute a digest of all kernel sources: machine code of other sources has another digest and is never run."""
    digest = hashlib.sha256()
    for path in kernel_sources(package):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def import_kernels() -> None:
    """Import all modules that may contain kernels, so that all kernels are known."""
    for path in kernel_sources():
        importlib.import_module(".".join(("treewright", *path.relative_to(PACKAGE).with_suffix("").parts)))


def list_entries() -> list[Callable[..., Any]]:
    """List all kernels that Python calls, by module and name."""
    import_kernels()
    found = [function for function, role in roles.items() if role == "entry"]
    return sorted(found, key=name_of)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a kernel with its module, relative to the package.

    >>> from treewright.runtime.draws import scramble
    >>> name_of(scramble)
    'runtime.draws.scramble'
    """
    return f"{function.__module__}.{function.__name__}".removeprefix("treewright.")
