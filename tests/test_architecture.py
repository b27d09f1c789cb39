"""The rule of the rooms: imports point to the left, and compiled code stays in one room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "treewright"

ROOMS = ("runtime", "table", "encoding", "engines", "tree", "estimators", "insight", "show", "ship", "cli")

# Rooms beside the line, with the rooms they may use.
SIDE_ROOMS = {"datasets": {"table"}}

# A learner offers views of itself, `model.rules()`; it may look to the right, but only when asked.
ALLOWED_INSIDE_FUNCTIONS = {("estimators", "show")}

# Modules that must stay usable alone.
FREE_OF_THE_PROJECT = ("insight/measures.py",)

KERNEL_PACKAGES = ("runtime/", "encoding/", "engines/", "tree/pruning/")

DECORATORS = {"jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc"}


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    in_function: bool


def imports_of(source: str, package: str) -> list[Import]:
    """All modules that a source imports, relative ones resolved against its package."""
    found = []
    tree = ast.parse(source)
    inside = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        for module in imported_modules(node, package):
            found.append(Import(module, node.lineno, id(node) in inside))  # type: ignore[attr-defined]
    return found


def imported_modules(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        # `from treewright import show` names a room only in its second half.
        yield from (f"{base}.{alias.name}" if base == "treewright" else base for alias in node.names)


def room_of(module: str) -> str | None:
    """The room a module of this project stands in; '' for the public names above all rooms."""
    parts = module.split(".")
    if parts[0] != "treewright":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in (*ROOMS, *SIDE_ROOMS) else ""


def may_import(room: str, other: str, in_function: bool) -> bool:
    if room == other or room == "cli":
        return True
    if room in SIDE_ROOMS:
        return other in SIDE_ROOMS[room]
    if in_function and (room, other) in ALLOWED_INSIDE_FUNCTIONS:
        return True
    return other in ROOMS and ROOMS.index(other) < ROOMS.index(room)


def wrong_imports(source: str, room: str) -> list[str]:
    return [
        f"line {found.line}: {room} imports {found.module}"
        for found in imports_of(source, f"treewright.{room}")
        if (other := room_of(found.module)) is not None and not may_import(room, other, found.in_function)
    ]


def numba_decorators(source: str) -> list[str]:
    """Places where a source names one of Numba's decorators."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            names += [alias.name for alias in node.names if alias.name in DECORATORS]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names += [node.attr] if node.value.id in ("numba", "nb") and node.attr in DECORATORS else []
    return names


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_sources() -> list[Path]:
    return [path for path in sources() if path.relative_to(PACKAGE).parts[0] in (*ROOMS, *SIDE_ROOMS)]


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", room_sources(), ids=name_of)
def test_a_room_imports_only_itself_and_rooms_to_its_left(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0]
    assert wrong_imports(path.read_text(encoding="utf-8"), room) == []


def test_every_folder_of_the_package_is_a_room() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in sources() if path.parent != PACKAGE}
    assert folders <= {*ROOMS, *SIDE_ROOMS}


@pytest.mark.parametrize("name", FREE_OF_THE_PROJECT)
def test_modules_for_use_alone_import_nothing_of_the_project(name: str) -> None:
    found = imports_of((PACKAGE / name).read_text(encoding="utf-8"), "treewright.insight")
    assert [one.module for one in found if room_of(one.module) is not None] == []


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_only_packages_with_kernels_import_numba_and_only_jit_names_the_decorator(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    has_kernels = name_of(path).startswith(KERNEL_PACKAGES)
    modules = {found.module.split(".")[0] for found in imports_of(source, "treewright")}
    assert has_kernels or "numba" not in modules
    assert name_of(path) == "runtime/jit.py" or numba_decorators(source) == []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("table", "from treewright.tree import Tree"),
        ("engines", "import treewright.estimators.single.base"),
        ("tree", "from ..estimators import base"),
        ("tree", "from treewright import show"),
        ("estimators", "from treewright.show.rules import rules"),
        ("estimators", "def tell():\n    from treewright.cli import main"),
        ("table", "from treewright import DecisionTreeClassifier"),
        ("datasets", "from treewright.estimators import base"),
        ("insight", "if TYPE_CHECKING:\n    from treewright.ship import onnx"),
    ],
)
def test_an_import_to_the_right_is_noticed(room: str, source: str) -> None:
    assert len(wrong_imports(source, room)) == 1


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("estimators", "def tell():\n    from treewright.show.rules import rules"),
        ("estimators", "from ..tree import Tree"),
        ("tree", "from . import tree"),
        ("show", "from treewright.tree import Tree\nimport numpy"),
        ("datasets", "from treewright.table import read_table"),
        ("cli", "from treewright import DecisionTreeClassifier"),
    ],
)
def test_an_import_to_the_left_is_allowed(room: str, source: str) -> None:
    assert wrong_imports(source, room) == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from numba import njit", ["njit"]),
        ("import numba\n@numba.jit\ndef f(): ...", ["jit"]),
        ("from treewright.runtime.jit import kernel", []),
        ("from numba import prange", []),
    ],
)
def test_a_decorator_of_numba_is_noticed_by_name(source: str, names: list[str]) -> None:
    assert numba_decorators(source) == names
