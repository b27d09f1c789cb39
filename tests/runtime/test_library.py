"""The shipped machine code: it is complete, takes the right arrays only, and is never loaded if it is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treewright.engines.exact.level_search import lowest
from treewright.runtime import library
from treewright.runtime.build import FROM_OUTSIDE, write_libraries
from treewright.runtime.kernels import entry, kernel_sources_digest, list_entries, name_of
from treewright.runtime.library import (
    DIRECTORY,
    INDEX,
    Library,
    LibraryError,
    find_library,
    levels,
    library_name,
    open_library,
)
from treewright.runtime.signatures import Reals, forms_of


@pytest.fixture(scope="session")
def shipped() -> Library:
    return open_library(DIRECTORY)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the shipped libraries."""
    return Path(shutil.copytree(DIRECTORY, tmp_path / "machine_code"))


def change(path: Path, contents: bytes, *, also_checksum: bool) -> None:
    """Replace a library, and if asked its checksum."""
    path.write_bytes(contents)
    if also_checksum:
        write_libraries(path.parent, {path.name: contents})


def test_every_entry_has_code_for_each_of_its_forms(shipped: Library) -> None:
    entries = list_entries()
    assert len(entries) > 20
    assert [len(shipped[function].by_absence) for function in entries] == [len(forms_of(f)) for f in entries]


def test_the_libraries_use_nothing_but_the_mathematics_library() -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("needs nm")
    for path in DIRECTORY.glob("*.so"):
        listed = subprocess.run([nm, "-D", "--undefined-only", path], capture_output=True, text=True, check=True)
        used = {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}
        assert used <= FROM_OUTSIDE


def test_an_entry_gives_the_result_of_its_plain_form(shipped: Library) -> None:
    numbers = np.random.default_rng(0).normal(size=100)
    assert shipped[lowest](numbers, 0.0) == lowest(numbers, 0.0) == np.argmin(numbers)
    assert shipped[lowest](numbers, np.float32(0.5)) == lowest(numbers, 0.5)


def misaligned(numbers: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\0" + numbers.tobytes() + b"\0" * 7, np.uint8)[1 : 1 + numbers.nbytes].view(numbers.dtype)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda numbers: numbers.astype(np.float32),
        lambda numbers: numbers.view(np.int64),
        lambda numbers: numbers.view(np.complex128),
        lambda numbers: numbers[:, None],
        lambda numbers: numbers[::2],
        lambda numbers: numbers[::-1],
        lambda numbers: numbers.astype(">f8"),
        misaligned,
        list,
        lambda numbers: memoryview(numbers),
        lambda numbers: 0,
    ],
    ids=[
        "float32",
        "int64",
        "complex",
        "2-D",
        "step",
        "reversed",
        "big-endian",
        "misaligned",
        "list",
        "memory",
        "number",
    ],
)
def test_an_array_of_another_kind_is_refused(shipped: Library, wrong: Callable[[np.ndarray], Any]) -> None:
    with pytest.raises(TypeError, match="lowest"):
        shipped[lowest](wrong(np.arange(10.0)), 0.0)


def test_a_write_protected_array_is_refused_where_an_entry_writes(shipped: Library) -> None:
    from treewright.encoding.bins import code_line

    numbers, line = np.arange(4.0), np.zeros(4, np.uint8)
    for array in (numbers, line):
        array.flags.writeable = False
    with pytest.raises(TypeError, match="line as writable contiguous uint8 array of 1 dimension"):
        shipped[code_line](numbers, np.empty(0), 4, line)
    line = np.zeros(4, np.uint8)
    shipped[code_line](numbers, np.empty(0), 4, line)
    assert line.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("arguments", [(), (np.arange(3.0),), (np.arange(3.0), "x"), (np.arange(3.0), None)])
def test_other_arguments_are_refused(shipped: Library, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="lowest"):
        shipped[lowest](*arguments)


def test_a_subclass_of_an_array_is_accepted(shipped: Library, tmp_path: Path) -> None:
    np.save(tmp_path / "numbers.npy", np.array([3.0, 1.0, 2.0]))
    assert shipped[lowest](np.load(tmp_path / "numbers.npy", mmap_mode="r"), 0.0) == 1


def test_a_damaged_library_is_never_loaded(copied: Path) -> None:
    path = find_library(copied)
    contents = bytearray(path.read_bytes())
    for place in np.random.default_rng(0).integers(0, len(contents), 20):
        damaged = contents.copy()
        damaged[place] ^= 0x10
        change(path, bytes(damaged), also_checksum=False)
        with pytest.raises(LibraryError, match="damaged"):
            open_library(copied)
    for end in (0, 100, len(contents) - 1):
        change(path, bytes(contents[:end]), also_checksum=False)
        with pytest.raises(LibraryError, match="damaged"):
            open_library(copied)
    path.unlink()
    with pytest.raises(LibraryError, match="cannot be read"):
        open_library(copied)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of files")
@pytest.mark.parametrize("place", ["", "kernels.json", "library"])
def test_a_library_that_other_users_can_change_is_never_loaded(copied: Path, place: str) -> None:
    path = find_library(copied) if place == "library" else copied / place
    path.chmod(path.stat().st_mode | 0o002)
    with pytest.raises(LibraryError, match="can be changed by other users"):
        find_library(copied)
    path.chmod(path.stat().st_mode & ~0o002)
    find_library(copied)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to give files away")
def test_a_library_of_another_user_is_never_loaded(copied: Path) -> None:
    os.chown(find_library(copied), 65534, 65534)
    with pytest.raises(LibraryError, match="can be changed by other users"):
        find_library(copied)


def test_a_file_that_is_no_library_of_this_system_is_refused(copied: Path) -> None:
    change(find_library(copied), b"MZ of another system", also_checksum=True)
    with pytest.raises(LibraryError, match="cannot be loaded"):
        open_library(copied)


def test_a_library_of_something_else_is_refused(copied: Path) -> None:
    import ctypes.util

    name = ctypes.util.find_library("m")
    other = next((path for path in Path("/").glob(f"*/lib*/*/{name}")), None) if name else None
    if other is None:
        pytest.skip("no other library was found")
    change(find_library(copied), other.read_bytes(), also_checksum=True)
    with pytest.raises(LibraryError, match="does not contain"):
        open_library(copied)[lowest]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"sources": 1}', '{"sources": "x", "libraries": 3}', "null"])
def test_a_damaged_index_is_noticed(copied: Path, text: str) -> None:
    (copied / INDEX).write_text(text)
    with pytest.raises(LibraryError, match=r"damaged|other sources"):
        open_library(copied)


def test_machine_code_of_other_sources_is_not_loaded(copied: Path) -> None:
    index = json.loads((copied / INDEX).read_text())
    assert index["sources"] == kernel_sources_digest()
    index["sources"] = kernel_sources_digest()[::-1]
    (copied / INDEX).write_text(json.dumps(index))
    with pytest.raises(LibraryError, match="other sources"):
        open_library(copied)


def test_no_library_is_no_error_until_it_is_demanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "DIRECTORY", tmp_path)
    assert library.load.__wrapped__() is None
    with pytest.raises(LibraryError, match="no machine code was shipped"):
        open_library(tmp_path)


V2 = {"SSE", "SSE2", "SSE3", "SSSE3", "SSE41", "SSE42", "POPCNT"}
V3 = V2 | {"AVX", "F16C", "FMA3", "AVX2"}


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (set(), []),
        ({"SSE", "SSE2", "SSE3"}, []),
        (V2, ["x86-64-v2"]),
        (V2 | {"AVX"}, ["x86-64-v2"]),
        (V3, ["x86-64-v3", "x86-64-v2"]),
        (V3 | {"AVX512F", "AVX512CD"}, ["x86-64-v3", "x86-64-v2"]),
        (V3 | {"AVX512F", "AVX512CD", "AVX512_SKX"}, ["x86-64-v4", "x86-64-v3", "x86-64-v2"]),
        ({"X86_V2", "X86_V3"}, ["x86-64-v3", "x86-64-v2"]),
    ],
)
def test_the_level_follows_from_what_the_processor_can_do(
    monkeypatch: pytest.MonkeyPatch, features: set[str], expected: list[str]
) -> None:
    monkeypatch.delenv("TREEWRIGHT_LEVEL", raising=False)
    monkeypatch.setattr(library.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(library, "_processor_features", lambda: features)
    assert levels() == expected


def test_a_processor_without_a_library_is_told_so(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEWRIGHT_LEVEL", "x86-64-v1")
    with pytest.raises(LibraryError, match="for this processor"):
        open_library(copied)


@pytest.mark.parametrize("part", ["DATA", "N_DIMENSIONS", "SHAPE", "STRIDES", "TYPE", "ARRAY_FLAGS", "TYPE_NUMBER"])
def test_another_layout_of_arrays_is_noticed(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    library.check_array_layout()
    elsewhere = {"DATA": library.SHAPE, "SHAPE": library.STRIDES, "STRIDES": library.SHAPE, "TYPE": library.DATA}
    monkeypatch.setattr(library, part, elsewhere.get(part, getattr(library, part) + 4))
    monkeypatch.setattr(library, "TYPE_NUMBER", 0 if part == "TYPE" else library.TYPE_NUMBER)
    with pytest.raises(LibraryError, match="layout"):
        library.check_array_layout()


def test_an_entry_without_types_is_an_error_that_names_the_parameter() -> None:
    def unfinished(numbers: Reals, tie):  # type: ignore[no-untyped-def]
        """Do nothing."""

    with pytest.raises(TypeError, match="parameter tie of the entry unfinished"):
        forms_of(unfinished)


@pytest.mark.parametrize("function", list_entries(), ids=name_of)
def test_the_types_of_an_entry_are_complete(function: Callable[..., Any]) -> None:
    assert entry(function) is function
    assert len(forms_of(function)) in (1, 2, 4)


FIT = """
import sys
BLOCKED = {blocked!r}
for name in BLOCKED:
    sys.modules[name] = None
import numpy as np
from treewright import DecisionTreeClassifier
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0], [5.0, 0.0]])
model = DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1, 1])
print(model.predict(X).tolist(), model.tree_.threshold[0], "numba" in sys.modules and sys.modules["numba"] is not None)
"""


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("blocked", "environment"),
    [
        (["numba", "llvmlite"], {}),
        (["numba", "llvmlite"], {"TREEWRIGHT_LEVEL": "none"}),
        (["numba", "llvmlite"], {"TREEWRIGHT_LEVEL": "x86-64-v2"}),
        (["numba", "llvmlite"], {"NPY_DISABLE_CPU_FEATURES": "AVX2"}),
    ],
    ids=["library", "no library", "v2", "no AVX2"],
)
def test_a_small_table_is_fitted_without_numba(blocked: list[str], environment: dict[str, str]) -> None:
    done = run_python(FIT.format(blocked=blocked), TREEWRIGHT_FORM="", **environment)
    assert done.stdout.strip() == "[0, 0, 0, 1, 1, 1] 2.5 False"


@pytest.mark.slow
def test_a_large_table_without_library_and_numba_is_one_clear_sentence() -> None:
    code = """
import sys
sys.modules["numba"] = None
import numpy as np
from treewright import RandomForestClassifier
try:
    RandomForestClassifier(n_estimators=2).fit(np.zeros((10, 2)), [0, 1] * 5)
except ModuleNotFoundError as problem:
    print(problem)
"""
    done = run_python(code, TREEWRIGHT_FORM="", TREEWRIGHT_LEVEL="none")
    assert done.stdout.startswith("treewright without the machine code of its kernels")
    assert "pip install 'treewright[jit]'" in done.stdout


def test_an_unknown_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from treewright.runtime.forms import forced_form

    monkeypatch.setenv("TREEWRIGHT_FORM", "fast")
    with pytest.raises(ValueError, match="one of plain, compiled, library, jit"):
        forced_form()


def test_libraries_written_at_the_same_time_fit_together(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    files = {library_name(levels()[0]): b"code" * 100_000}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: write_libraries(tmp_path, files), range(40)))
    assert find_library(tmp_path).read_bytes() == files[library_name(levels()[0])]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*files, INDEX])


def test_a_python_without_ctypes_has_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    from treewright.runtime import forms

    monkeypatch.delitem(sys.modules, "treewright.runtime.library")
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert forms._library() is None


@pytest.mark.slow
def test_a_criterion_of_the_user_without_numba_is_called_as_it_is_with_one_sentence() -> None:
    code = """
import sys, warnings
sys.modules["numba"] = None
import numpy as np
from treewright import DecisionTreeClassifier
X = np.random.default_rng(0).normal(size=(2000, 3))
y = (X[:, 0] > 0).astype(int)
def gini(weights):
    return 1.0 - ((weights / weights.sum()) ** 2).sum()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    own = DecisionTreeClassifier(criterion=gini).fit(X, y)
known = DecisionTreeClassifier(criterion="gini").fit(X, y)
print((own.tree_.threshold[0] == known.tree_.threshold[0]), *(str(warning.message) for warning in caught))
"""
    done = run_python(code, TREEWRIGHT_FORM="library")
    assert done.stdout.startswith("True")
    assert "pip install 'treewright[jit]'" in done.stdout


@pytest.mark.slow
def test_a_fit_imports_only_what_it_uses() -> None:
    code = """
import sys
import numpy as np
import treewright
X = np.random.default_rng(0).normal(size=(300, 3))
for name in ("DecisionTreeClassifier", "RandomForestClassifier", "GradientBoostingClassifier"):
    getattr(treewright, name)().fit(X, X[:, 0] > 0).predict(X)
unused = ("numba", "llvmlite", "typer", "rich", "sklearn.svm", "sklearn.calibration", "sklearn.neighbors")
unused += ("sklearn.pipeline", "sklearn.linear_model", "sklearn.tree", "sklearn.ensemble", "sklearn.metrics")
print([name for name in unused if name in sys.modules])
"""
    assert run_python(code).stdout.strip() == "[]"


OWN = """
import logging
logging.basicConfig(level=logging.DEBUG)
import numpy as np
from treewright import DecisionTreeClassifier, GradientBoostingRegressor
X = np.random.default_rng(0).normal(size=(400, 3))
y = X[:, 0] > 0.0
def errors(counts):
    return counts.sum() - counts.max()
def squared(score, target):
    return score - target, 1.0
tree = DecisionTreeClassifier(criterion=errors, max_depth=2).fit(X, y)
boosted = GradientBoostingRegressor(loss=squared, n_estimators=2).fit(X, y * 1.0)
print(tree.tree_.threshold[0].hex(), boosted.predict(X[:1])[0].hex())
"""


@pytest.mark.slow
def test_with_numba_disabled_own_functions_run_as_plain_python() -> None:
    usual = run_python(OWN, TREEWRIGHT_FORM="")
    disabled = run_python(OWN, TREEWRIGHT_FORM="", NUMBA_DISABLE_JIT="1")
    assert disabled.returncode == 0, disabled.stderr[-500:]
    assert disabled.stdout == usual.stdout
    # The root logger is at DEBUG, but the steps of Numba's compiler are not logged.
    assert usual.stderr.count("\n") < 20


@pytest.mark.slow
def test_with_numba_disabled_and_no_library_the_kernels_run_as_plain_python() -> None:
    done = run_python(FIT.format(blocked=[]), TREEWRIGHT_FORM="jit", NUMBA_DISABLE_JIT="1")
    assert done.stdout.startswith("[0, 0, 0, 1, 1, 1] 2.5")


def test_code_of_sources_that_changed_meanwhile_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from treewright.runtime import build

    digests = iter(["before", "after"])
    monkeypatch.setattr(build, "kernel_sources_digest", lambda: next(digests))
    monkeypatch.setattr(build, "_largest_first", list)
    monkeypatch.setattr(build, "link", lambda objects, directory: b"code")
    with pytest.raises(LibraryError, match="a source was changed while the kernels were compiled"):
        build.build(tmp_path, levels()[:1], 1, print)
    assert not list(tmp_path.iterdir())
