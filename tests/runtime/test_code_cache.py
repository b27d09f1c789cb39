"""The cache of code that Numba compiles: private, checked, and never the reason that a fit fails."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treewright.runtime import code_cache
from treewright.runtime.build import _numba_type
from treewright.runtime.code_cache import CodeCache, cache_directory, read_checked, write_checked
from treewright.runtime.kernels import list_entries, name_of
from treewright.runtime.permissions import is_private
from treewright.runtime.signatures import forms_of

numba = pytest.importorskip("numba")

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of files")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def double(numbers: Any) -> Any:
    total = 0.0
    for number in numbers:
        total += 2.0 * number
    return total


def run_cached(directory: Path | None) -> int:
    """Run a compiled function with this cache, and return how often it had to be compiled."""
    from treewright.runtime.jit import make_compilers

    misses: list[int] = []
    form = numba.njit(pipeline_class=make_compilers()[1])(double)
    form._cache = CodeCache("double", directory, lambda: misses.append(1))
    assert form(np.arange(4.0)) == 12.0
    return len(misses)


@needs_modes
def test_the_directory_belongs_to_the_user_alone(base: Path) -> None:
    directory = cache_directory()
    assert directory is not None
    assert directory.is_relative_to(base)
    for path in (directory, directory.parent):
        assert path.stat().st_mode & 0o777 == 0o700


@needs_modes
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_directory_that_others_can_write_to_is_not_used(base: Path, mode: int) -> None:
    (base / "treewright").mkdir()
    (base / "treewright").chmod(mode)
    assert cache_directory() is None


@needs_modes
def test_a_directory_of_another_user_is_not_used(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = cache_directory()
    assert directory is not None
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert not is_private(directory)
    assert cache_directory() is None


@needs_modes
def test_a_link_in_place_of_the_directory_is_not_followed(base: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (base / "treewright").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    assert cache_directory() is None


def test_a_place_that_cannot_be_written_means_no_cache(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (base / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(base / "file"))
    assert cache_directory() is None
    assert run_cached(None) == 1


def test_code_is_compiled_once_and_then_read(tmp_path: Path) -> None:
    assert [run_cached(tmp_path) for _ in range(3)] == [1, 0, 0]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_damaged_file_is_compiled_again_and_replaced(tmp_path: Path) -> None:
    assert run_cached(tmp_path) == 1
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (b"", whole[:31], whole[:-1], b"garbage" * 100, bytes(flipped)):
        path.write_bytes(damaged)
        assert run_cached(tmp_path) == 1
        assert run_cached(tmp_path) == 0


def test_a_file_with_the_right_checksum_and_wrong_contents_is_compiled_again(tmp_path: Path) -> None:
    assert run_cached(tmp_path) == 1
    (path,) = tmp_path.iterdir()
    write_checked(path, b"not a pickle")
    assert run_cached(tmp_path) == 1


def test_nothing_is_unpickled_without_its_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_cached(tmp_path) == 1
    (path,) = tmp_path.iterdir()
    planted = path.read_bytes()[:32] + b"cos\nsystem\n(S'exit 1'\ntR."
    path.write_bytes(planted)
    monkeypatch.setattr(code_cache.pickle, "loads", lambda contents: pytest.fail("unpickled"))
    assert read_checked(path) is None
    assert run_cached(tmp_path) == 1


def test_a_full_disk_means_compiling_without_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(code_cache.os, "replace", full)
    assert [run_cached(tmp_path), run_cached(tmp_path)] == [1, 1]
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(code_cache.tempfile, "mkstemp", full)
    assert run_cached(tmp_path) == 1


@pytest.mark.parametrize("function", list_entries(), ids=name_of)
def test_the_types_of_every_entry_are_the_same_after_they_are_read(function: Any) -> None:
    from numba.core.serialize import dumps

    for form in forms_of(function):
        types = [_numba_type(argument) for argument in form]
        assert pickle.loads(dumps(types)) == types
