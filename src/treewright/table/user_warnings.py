"""Warnings that point at the line of the user, however deep in the library they are raised."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of this library that the current call came from."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
