"""The memory of arrays in mapped files."""

from __future__ import annotations

import mmap
from typing import Any


def release_pages(array: Any) -> None:
    """Let the system take back the memory of an array in a mapped file, which it reads again when it is used.

    Nothing happens to an array that is in no mapped file.
    """
    base = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
