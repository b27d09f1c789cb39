"""The digest that names compiled code, and the sources that it covers."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from treewright.runtime.kernels import KERNEL_PACKAGES, PACKAGE, kernel_sources, kernel_sources_digest


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the packages that hold kernels."""
    for name in KERNEL_PACKAGES:
        shutil.copytree(PACKAGE / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(
    "changed",
    [
        "runtime/draws.py",
        "runtime/signatures.py",
        "runtime/build.py",
        "encoding/ranking.py",
        "engines/criteria.py",
        "engines/exact/thresholds.py",
        "engines/boosting/search.py",
        "tree/pruning/raising.py",
    ],
)
def test_a_change_of_a_kernel_source_in_any_folder_changes_the_digest(copied: Path, changed: str) -> None:
    before = kernel_sources_digest(copied)
    assert before == kernel_sources_digest()
    with (copied / changed).open("a") as source:
        source.write("# a change\n")
    assert kernel_sources_digest(copied) != before


def test_a_moved_kernel_source_changes_the_digest(copied: Path) -> None:
    before = kernel_sources_digest(copied)
    (copied / "engines/exact/slots.py").rename(copied / "engines/forest/slots.py")
    assert kernel_sources_digest(copied) != before


def test_every_module_with_kernels_is_among_the_sources() -> None:
    marks = {"kernel", "entry", "inline"}

    def has_kernels(path: Path) -> bool:
        functions = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))
        return any(isinstance(mark, ast.Name) and mark.id in marks for f in functions for mark in f.decorator_list)

    with_kernels = {path for path in PACKAGE.rglob("*.py") if has_kernels(path)}
    assert len(with_kernels) > 20
    assert with_kernels <= set(kernel_sources())
