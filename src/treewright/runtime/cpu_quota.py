"""The share of CPU time that Linux grants this process by control groups, as containers and job schedulers set it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def cpu_quota(root: Path = Path("/")) -> float:
    """Return the number of CPUs whose whole time this process may use; infinite without a quota.

    Each group of the process and all groups above it can have a quota. `root` is the root of the file system.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return math.inf
    quotas = (_quota_of(folder) for line in lines for folder in _folders_of(line, root / "sys/fs/cgroup"))
    return min(quotas, default=math.inf)


def _folders_of(line: str, mounts: Path) -> Iterator[Path]:
    """Yield the folders that may contain a quota, given a line `number:controllers:group` of `/proc/self/cgroup`."""
    _, controllers, path = line.split(":", 2)
    if not controllers:
        hierarchies = (mounts, mounts / "unified")  # version 2, alone or next to version 1
    elif "cpu" in controllers.split(","):
        hierarchies = (mounts / controllers, mounts / "cpu")
    else:
        return
    group = PurePosixPath(path.lstrip("/"))
    for hierarchy in dict.fromkeys(hierarchies):
        # A container can see its own group as the root of the hierarchy, and the name that the group has outside.
        for folder in (group, *group.parents):
            if ".." not in folder.parts:
                yield hierarchy / folder


def _quota_of(folder: Path) -> float:
    """Return the quota of one group."""
    try:
        text = (folder / "cpu.max").read_text()
    except OSError:
        try:
            text = " ".join((folder / name).read_text() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
        except OSError:
            return math.inf
    try:
        quota, period = map(int, text.split())
    except ValueError:  # "max" in place of a quota
        return math.inf
    return quota / period if quota > 0 and period > 0 else math.inf
