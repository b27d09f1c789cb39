"""What the tests of several packages need: the lecture figures, and trees built by hand."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from treewright.table.column import Column, Kind
from treewright.tree import SplitKind, Target, Tree

# Compiling a kernel takes seconds, so no single example is timed; a build of a commit is the same each time.
settings.register_profile("full", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.register_profile("half", settings.get_profile("full"), max_examples=50)
settings.register_profile("fast", settings.get_profile("full"), max_examples=25)
settings.register_profile("soak", settings.get_profile("full"), max_examples=1000)

PROFILES = {"not slow and not soak": "fast", "not soak": "half"}


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("soak" if os.environ.get("TREEWRIGHT_SOAK") else PROFILES.get(config.option.markexpr, "full"))
    # Inherited by the worker processes: on busy cores, the threads of BLAS take 20 times the work of a small product.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _require_machine_code()


def _require_machine_code() -> None:
    """Tests run the shipped library unless TREEWRIGHT_FORM says otherwise, and never fall back to Numba unnoticed."""
    from treewright.runtime.forms import forced_form
    from treewright.runtime.library import DIRECTORY, LibraryError, open_library

    if forced_form() in ("", "library"):
        try:
            open_library(DIRECTORY)
        except LibraryError as problem:
            raise pytest.UsageError(f"{problem}; run `make kernels`, or set TREEWRIGHT_FORM=jit") from None
        os.environ["TREEWRIGHT_FORM"] = "library"


def pytest_collection_finish() -> None:
    """Keep the garbage collector from visiting thousands of tests and the imported libraries again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def lectures() -> dict[str, Any]:
    """Tables and worked figures of the lectures, see oracles/README.md."""
    path = Path(__file__).parent / "oracles" / "lectures.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def plant() -> Callable[..., Tree]:
    """A function that builds a tree from columns, a target and a nested description."""
    return _plant


@pytest.fixture(scope="session")
def weather_tree() -> Tree:
    """The tree that the lectures grow from the weather table with ID3."""
    columns = (
        Column("outlook", Kind.CATEGORICAL, ("sunny", "overcast", "rainy")),
        Column("temperature", Kind.CATEGORICAL, ("hot", "mild", "cool")),
        Column("humidity", Kind.CATEGORICAL, ("high", "normal")),
        Column("wind", Kind.CATEGORICAL, ("weak", "strong")),
    )
    sunny = ("humidity", None, [[3, 0], [0, 2]])
    rainy = ("wind", None, [[0, 3], [2, 0]])
    return _plant(columns, Target("play", ("no", "yes")), ("outlook", None, [sunny, [0, 4], rainy]))


def _plant(columns: Sequence[Column], target: Target, description: Any) -> Tree:
    """Build a tree from a nested description.

    A leaf is a list: the weight of each class, or for a number `[weight, value]`. A split is a tuple of a
    column's name, what it splits by (None: a branch per category; a number: a threshold; a set: these
    categories go first), its branches and, if it is not the first, the branch of missing values.
    """
    parts = [description]
    first_child = []
    for part in parts:  # grows while it is walked: level by level, children side by side
        first_child.append(len(parts) if isinstance(part, tuple) else -1)
        parts.extend(part[2] if isinstance(part, tuple) else ())
    n_nodes = len(parts)
    names = [column.name for column in columns]
    arrays: dict[str, np.ndarray] = {
        "kind": np.zeros(n_nodes, dtype=np.uint8),
        "column": np.full(n_nodes, -1, dtype=np.int32),
        "threshold": np.full(n_nodes, np.nan),
        "first_child": np.array(first_child, dtype=np.int32),
        "n_children": np.zeros(n_nodes, dtype=np.int32),
        "missing_branch": np.zeros(n_nodes, dtype=np.int32),
        "share": np.zeros(n_nodes),
        "set_start": np.full(n_nodes, -1, dtype=np.int32),
        "impurity": np.zeros(n_nodes),
        "gain": np.zeros(n_nodes),
    }
    words: list[int] = []
    for node, part in enumerate(parts):
        if isinstance(part, list):
            continue
        name, by, branches, *missing = part
        column = columns[names.index(name)]
        arrays["column"][node] = names.index(name)
        arrays["n_children"][node] = len(branches)
        arrays["missing_branch"][node] = missing[0] if missing else 0
        arrays["gain"][node] = 0.5
        arrays["kind"][node] = _split_kind(by)
        if isinstance(by, int | float):
            arrays["threshold"][node] = by
        if isinstance(by, set | frozenset):
            arrays["set_start"][node] = len(words)
            words += _bit_set([column.categories.index(category) for category in by], len(column.categories))
    return Tree(
        criterion="information_gain" if target.is_classes else "squared_error",
        columns=tuple(columns),
        target=target,
        category_sets=np.array(words, dtype=np.uint64),
        **arrays,
        **_sums(parts, first_child, len(target.classes)),
    )


def _split_kind(by: Any) -> SplitKind:
    if by is None:
        return SplitKind.MULTIWAY
    return SplitKind.SUBSET if isinstance(by, set | frozenset) else SplitKind.THRESHOLD


def _bit_set(members: list[int], size: int) -> list[int]:
    whole = sum(1 << member for member in members)
    return [2**64 - 1, *(whole >> (64 * word) & (2**64 - 1) for word in range(-(-size // 64)))]


def _sums(parts: list[Any], first_child: list[int], n_classes: int) -> dict[str, np.ndarray]:
    """Weights, rows and distributions: given at the leaves, added up above them."""
    width = n_classes or 1
    weight, totals = np.zeros(len(parts)), np.zeros((len(parts), width))
    for node in reversed(range(len(parts))):
        part = parts[node]
        if isinstance(part, tuple):
            children = slice(first_child[node], first_child[node] + len(part[2]))
            weight[node], totals[node] = weight[children].sum(), totals[children].sum(axis=0)
        elif n_classes:
            weight[node], totals[node] = sum(part), part
        else:
            weight[node], totals[node] = part[0], part[0] * part[1]
    distribution = totals if n_classes else totals / np.maximum(weight, 1e-300)[:, None]
    return {"weight": weight, "rows": np.ceil(weight).astype(np.int64), "distribution": distribution}
