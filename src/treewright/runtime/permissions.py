"""Who can write to a file: machine code is only loaded from places where no other user could have put it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


def is_private(directory: Path) -> bool:
    """Is this a directory (not a link) that belongs to this user and that nobody else can write to?"""
    try:
        found = directory.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return sys.platform == "win32" or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def is_protected_like(path: Path, source: Path) -> bool:
    """Can nobody write to a file but those who can write to `source`, this user, and the administrator?

    Python itself loads `source`, so its owner and its group are trusted in any case.
    """
    if sys.platform == "win32":
        return True
    try:
        found, trusted = path.stat(), source.stat()
    except OSError:
        return False
    writers = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    is_same_group = found.st_gid == trusted.st_gid
    allowed = trusted.st_mode if is_same_group else trusted.st_mode & ~stat.S_IWGRP
    return found.st_uid in (0, os.geteuid(), trusted.st_uid) and not writers & ~allowed
