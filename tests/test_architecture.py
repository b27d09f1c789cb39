"""The order of the packages: imports point to the left, values too, and compiled code stays where it belongs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import pytest

from treewright.tree import Tree
from treewright.tree.forest import Forest
from treewright.tree.tree_list import TreeList

PACKAGE = Path(__file__).parents[1] / "src" / "treewright"

# In the order in which data passes through them; runtime lies below all.
PACKAGES = (
    "runtime",
    "table",
    "encoding",
    "engines",
    "tree",
    "estimators",
    "insight",
    "show",
    "ship",
    "scale",
    "cli",
)

# Packages beside the line, with the packages they may use.
SIDE_PACKAGES = {"datasets": {"table"}}

# Engines beside each other, with the engines they may use. What all share lies in the modules above them.
ENGINES = {"packed": set(), "exact": set(), "forest": {"packed"}, "boosting": {"packed"}}

# A learner offers views of itself, `model.rules()`, and writes its checkpoints; it may look to the right, but only when
# asked.
ALLOWED_INSIDE_FUNCTIONS = {("estimators", "show"), ("estimators", "ship")}

# Modules that must stay usable alone.
FREE_OF_THE_PROJECT = ("insight/measures.py",)

KERNEL_PACKAGES = ("runtime/", "encoding/", "engines/", "tree/pruning/")

DECORATORS = {"jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc"}


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    in_function: bool


@cache
def syntax_of(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def import_statements(source: str) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    """All import statements of a source, and whether each is inside of a function."""
    found = []

    def visit(node: ast.AST, in_function: bool) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append((node, in_function))
        in_function = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):
                visit(child, in_function)

    visit(syntax_of(source), False)
    return found


def imports_of(source: str, package: str) -> list[Import]:
    """All modules that a source imports, relative ones resolved against its package."""
    return [
        Import(module, statement.lineno, in_function)
        for statement, in_function in import_statements(source)
        for module in imported_modules(statement, package)
    ]


def imported_modules(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        # `from treewright import show` names a package only in its second half.
        yield from (f"{base}.{alias.name}" if base == "treewright" else base for alias in node.names)


def package_of(module: str) -> str | None:
    """The package of a module of this project; '' for the public names above all packages."""
    parts = module.split(".")
    if parts[0] != "treewright":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in (*PACKAGES, *SIDE_PACKAGES) else ""


def may_import(package: str, other: str, in_function: bool) -> bool:
    if package == other or package == "cli":
        return True
    if package in SIDE_PACKAGES:
        return other in SIDE_PACKAGES[package]
    if in_function and (package, other) in ALLOWED_INSIDE_FUNCTIONS:
        return True
    return other in PACKAGES and PACKAGES.index(other) < PACKAGES.index(package)


def wrong_imports(source: str, package: str) -> list[str]:
    return [
        f"line {found.line}: {package} imports {found.module}"
        for found in imports_of(source, f"treewright.{package}")
        if (other := package_of(found.module)) is not None and not may_import(package, other, found.in_function)
    ]


def engine_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[2] if parts[:2] == ["treewright", "engines"] and len(parts) > 2 and parts[2] in ENGINES else None


def attributes_of_any(source: str) -> set[str]:
    """The attributes that functions read from parameters whose type is `Any`."""
    read: set[str] = set()
    for function in ast.walk(syntax_of(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        untyped = {
            argument.arg
            for argument in arguments
            if isinstance(argument.annotation, ast.Name) and argument.annotation.id == "Any"
        }
        read |= {
            node.attr
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in untyped
        }
    return read


@cache
def names_of_values() -> set[str]:
    """What only the values of the tree package have: fields, methods and properties of trees and forests."""
    own = {name for kind in (Tree, Forest, TreeList) for name in vars(kind) if not name.startswith("_")}
    return own | {field.name for kind in (Tree, Forest, TreeList) for field in fields(kind)}


def numba_decorators(source: str) -> list[str]:
    """Places where a source names one of Numba's decorators."""
    if "numba" not in source:
        return []
    names = []
    for node in ast.walk(syntax_of(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            names += [alias.name for alias in node.names if alias.name in DECORATORS]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names += [node.attr] if node.value.id in ("numba", "nb") and node.attr in DECORATORS else []
    return names


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def package_sources(*packages: str) -> list[Path]:
    wanted = packages or (*PACKAGES, *SIDE_PACKAGES)
    return [path for path in sources() if path.relative_to(PACKAGE).parts[0] in wanted]


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", package_sources(), ids=name_of)
def test_a_package_imports_only_itself_and_packages_to_its_left(path: Path) -> None:
    package = path.relative_to(PACKAGE).parts[0]
    assert wrong_imports(path.read_text(encoding="utf-8"), package) == []


@pytest.mark.parametrize("path", package_sources("engines"), ids=name_of)
def test_an_engine_imports_only_what_all_engines_share_and_the_packed_trees(path: Path) -> None:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    engine = engine_of(".".join(("treewright", *parts)))
    others = {engine_of(found.module) for found in imports_of(path.read_text(encoding="utf-8"), "treewright.engines")}
    assert others - {None, engine} <= (ENGINES[engine] if engine else set())


@pytest.mark.parametrize("path", package_sources("runtime", "table", "encoding", "engines"), ids=name_of)
def test_no_package_left_of_the_tree_reads_a_tree_or_forest_behind_any(path: Path) -> None:
    # Words that a frame or an array has as well.
    common = {"columns", "replace", "rows", "column", "kind", "values"}
    assert attributes_of_any(path.read_text(encoding="utf-8")) & (names_of_values() - common) == set()


def test_a_forest_behind_any_is_noticed() -> None:
    source = "def predict(run: Run, forest: Any) -> None:\n    walk(forest.nodes, forest.leaf_start)"
    assert attributes_of_any(source) & names_of_values() == {"nodes", "leaf_start"}


def test_every_folder_of_the_package_has_its_place_in_the_order() -> None:
    folders = {path.relative_to(PACKAGE).parts[0] for path in sources() if path.parent != PACKAGE}
    assert folders <= {*PACKAGES, *SIDE_PACKAGES}


@pytest.mark.parametrize("name", FREE_OF_THE_PROJECT)
def test_modules_for_use_alone_import_nothing_of_the_project(name: str) -> None:
    found = imports_of((PACKAGE / name).read_text(encoding="utf-8"), "treewright.insight")
    assert [one.module for one in found if package_of(one.module) is not None] == []


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_only_packages_with_kernels_import_numba_and_only_runtime_names_its_decorators(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    has_kernels = name_of(path).startswith(KERNEL_PACKAGES)
    modules = {found.module.split(".")[0] for found in imports_of(source, "treewright")}
    assert has_kernels or "numba" not in modules
    assert name_of(path).startswith("runtime/") or numba_decorators(source) == []


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("runtime", "from treewright.table.column import Column"),
        ("table", "from treewright.tree import Tree"),
        ("encoding", "from treewright.engines.exact import layout"),
        ("engines", "import treewright.estimators.base"),
        ("tree", "from ..estimators import base"),
        ("tree", "from treewright import show"),
        ("estimators", "from treewright.show.rules import rules"),
        ("estimators", "from treewright.insight.scoring import Score"),
        ("estimators", "def describe():\n    from treewright.cli import main"),
        ("table", "from treewright import DecisionTreeClassifier"),
        ("datasets", "from treewright.estimators import base"),
        ("insight", "if TYPE_CHECKING:\n    from treewright.ship import onnx"),
    ],
)
def test_an_import_to_the_right_is_noticed(package: str, source: str) -> None:
    assert len(wrong_imports(source, package)) == 1


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("estimators", "def describe():\n    from treewright.show.rules import rules"),
        ("estimators", "from ..tree import Tree"),
        ("engines", "from treewright.runtime.kernels import kernel"),
        ("tree", "from . import tree"),
        ("show", "from treewright.tree import Tree\nimport numpy"),
        ("datasets", "from treewright.table import read_table"),
        ("cli", "from treewright import DecisionTreeClassifier"),
    ],
)
def test_an_import_to_the_left_is_allowed(package: str, source: str) -> None:
    assert wrong_imports(source, package) == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from numba import njit", ["njit"]),
        ("import numba\n@numba.jit\ndef f(): ...", ["jit"]),
        ("from treewright.runtime.kernels import kernel", []),
        ("from numba import prange", []),
    ],
)
def test_a_decorator_of_numba_is_noticed_by_name(source: str, names: list[str]) -> None:
    assert numba_decorators(source) == names
