"""The step of a wheel's build that compiles the kernels into shared libraries (see `treewright.runtime.build`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Compile the kernels for all levels of processors, and add the libraries to the wheel.

    Libraries that have been built already are taken from the directory TREEWRIGHT_MACHINE_CODE. An editable
    installation has its sources changed under the libraries, so it builds them by `make kernels`. Where the kernels
    cannot be compiled, or with TREEWRIGHT_BUILD_KERNELS=0, the wheel has none, and Numba compiles at run time.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or os.environ.get("TREEWRIGHT_BUILD_KERNELS") == "0":
            return
        given = os.environ.get("TREEWRIGHT_MACHINE_CODE")
        directory = Path(given or Path(self.directory) / "machine_code")
        if not given and not self.build(directory):
            self.app.display_warning("treewright is built without machine code; it needs the extra `jit` at run time")
            return
        files = sorted(directory.glob("kernels*"))
        for path in files:
            build_data["force_include"][str(path)] = f"treewright/machine_code/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(files)}"  # no Python symbols: any CPython 3

    def build(self, directory: Path) -> bool:
        """Build the libraries for all levels, unless they are up to date; returns whether that worked."""
        command = [sys.executable, "-m", "treewright.runtime.build", "--all-levels", "--if-needed"]
        environment = {**os.environ, "PYTHONPATH": str(Path(self.root) / "src")}
        return subprocess.run([*command, "--directory", str(directory)], env=environment, check=False).returncode == 0


def platform_tag(libraries: list[Path]) -> str:
    """Return the platform tag of a wheel with these libraries: on Linux by the newest glibc that they need.

    macOS takes wheels for its own and older versions.
    """
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    needed = [re.findall(rb"GLIBC_(\d+)\.(\d+)", path.read_bytes()) for path in libraries]
    versions = [(int(major), int(minor)) for found in needed for major, minor in found]
    if not platform.startswith("linux") or not versions:
        return platform
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{platform.removeprefix('linux_')}"
