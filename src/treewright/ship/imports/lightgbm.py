"""Models of LightGBM: its text files, which its boosters also write."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from treewright.estimators.boosting.losses import Absolute, Loss, Quantile, Squared, Tweedie
from treewright.ship.imports.estimators import boosted, check_class_names, loss_of_classes
from treewright.ship.imports.source_tree import SourceTree
from treewright.ship.layout import ModelFileError
from treewright.table.categories import is_missing, plain_category
from treewright.table.column import Column, Kind

# Bits of the decision type of a node.
IS_CATEGORICAL, DEFAULT_LEFT = 1, 2
MISSING_NONE, MISSING_ZERO, MISSING_NAN = 0, 1, 2

# Objectives whose prediction is the score, and those whose prediction is its exponential, with their Tweedie power.
OF_SCORES = ("regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom", "regression")
OF_EXPONENTIALS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}

Fields = dict[str, str]


def import_lightgbm(text: str, classes: Any = None) -> Any:
    """The model of a LightGBM text file; `classes` are the names of its classes in order."""
    head, trees = _sections(text)
    n_outputs = _whole(head, "num_tree_per_iteration")
    n_classes, loss, name, scale = _objective(head)
    if n_outputs < 1 or n_outputs != (n_classes if n_classes > 2 else 1):
        raise ModelFileError("the file has another number of trees per round than its objective; it is damaged")
    if not trees or len(trees) % n_outputs:
        raise ModelFileError("the file has no trees, or a round without all of its trees; it is damaged")
    columns, in_pandas = _columns(head, trees, text)
    if "average_output" in head:
        scale /= len(trees) // n_outputs
    sources = [_tree(one, columns, in_pandas, scale) for one in trees]
    return boosted(
        [sources[output::n_outputs] for output in range(n_outputs)],
        columns,
        np.zeros(n_outputs),
        loss,
        named=_are_named(head),
        classes=check_class_names(classes, n_classes) if n_classes else None,
        loss_name=name,
    )


def _sections(text: str) -> tuple[Fields, list[Fields]]:
    """The fields of the head of a file and of its trees."""
    parts = text.split("\nTree=")
    last, is_complete, _ = parts[-1].partition("\nend of trees")
    if not text.startswith("tree\n") or not is_complete:
        raise ModelFileError("the file is cut off, or it is no model of LightGBM")
    parts[-1] = last
    return _fields(parts[0]), [_fields(part) for part in parts[1:]]


def _fields(section: str) -> Fields:
    return {key: value for key, _, value in (line.partition("=") for line in section.splitlines())}


def _whole(fields: Fields, name: str) -> int:
    try:
        return int(fields[name])
    except (KeyError, ValueError):
        raise ModelFileError(f"the file has no whole number {name!r}; it is damaged") from None


def _numbers(fields: Fields, name: str, dtype: type, size: int) -> np.ndarray:
    """A list of numbers of this length."""
    words = fields.get(name, "").split()
    if len(words) != size:
        raise ModelFileError(f"the list {name!r} of a tree has {len(words)} entries instead of {size}; it is damaged")
    try:
        return np.array(words, dtype=dtype)
    except (ValueError, OverflowError):
        raise ModelFileError(f"the list {name!r} of a tree has an entry that is no number; it is damaged") from None


def _objective(head: Fields) -> tuple[int, Loss, str, float]:
    """The number of classes (0 for numbers), the loss and its name, and the factor of the scores."""
    words = head.get("objective", "custom").split() or ["custom"]
    name, options = words[0], dict(word.partition(":")[::2] for word in words[1:])
    try:
        factor = float(options.get("sigmoid", 1.0))
        power = float(options.get("tweedie_variance_power", OF_EXPONENTIALS.get(name, 1.0)))
    except ValueError:
        raise ModelFileError("the objective of the file has an option that is no number; it is damaged") from None
    if not (np.isfinite(factor) and 1.0 <= power <= 2.0):
        raise ModelFileError("the objective of the file has an option out of range; it is damaged")
    if name == "binary":
        return 2, loss_of_classes(2), "log_loss", factor
    if name == "multiclass":
        return _whole(head, "num_class"), loss_of_classes(_whole(head, "num_class")), "log_loss", 1.0
    if name in OF_EXPONENTIALS:
        return 0, Tweedie(power), name, 1.0
    if name not in OF_SCORES or "sqrt" in words:
        raise ValueError(
            f"a LightGBM model with the objective {' '.join(words)!r} cannot be imported; binary, multiclass and "
            "those of numbers can"
        )
    losses: dict[str, tuple[Loss, str]] = {
        "regression_l1": (Absolute(), "absolute_error"),
        "quantile": (Quantile(0.5), "quantile"),
    }
    return 0, *losses.get(name, (Squared(), "squared_error")), 1.0


def _are_named(head: Fields) -> bool:
    names = head.get("feature_names", "").split(" ")
    return any(not re.fullmatch(r"Column_\d+", name) for name in names)


def _columns(head: Fields, trees: list[Fields], text: str) -> tuple[tuple[Column, ...], frozenset[int]]:
    """The columns, and the places of those whose categories pandas has numbered."""
    n_columns = _whole(head, "max_feature_idx") + 1
    names = head.get("feature_names", "").split(" ")
    infos = head.get("feature_infos", "").split(" ")
    if len(names) != n_columns or len(infos) != n_columns or len(set(names)) != n_columns:
        raise ModelFileError(f"the file names {len(names)} columns instead of {n_columns}; it is damaged")
    if not _are_named(head):
        names = [f"x{place}" for place in range(n_columns)]
    tested = set()
    for tree in trees:
        n_splits = max(_whole(tree, "num_leaves") - 1, 0)
        if n_splits:
            kinds = _numbers(tree, "decision_type", np.int64, n_splits)
            tested |= set(_numbers(tree, "split_feature", np.int64, n_splits)[kinds & IS_CATEGORICAL != 0].tolist())
    words = _pandas_categories(text)
    columns: list[Column] = []
    in_pandas: list[int] = []
    for place, (name, info) in enumerate(zip(names, infos, strict=True)):
        codes = _codes(info)
        if codes is None and place not in tested:
            columns.append(Column(name, Kind.NUMERIC))
            continue
        if words:
            # The lists of categories are in the order of the columns that have some.
            if len(in_pandas) == len(words):
                raise ModelFileError("the file has more columns of categories than lists of them; it is damaged")
            columns.append(Column(name, Kind.CATEGORICAL, tuple(words[len(in_pandas)])))
            in_pandas.append(place)
        else:
            columns.append(Column(name, Kind.CATEGORICAL, tuple(codes or [0])))
    return tuple(columns), frozenset(in_pandas)


def _codes(info: str) -> list[int] | None:
    """The codes of a column of categories that occurred in training, None for numbers."""
    if info == "none" or info.startswith("["):
        return None
    try:
        return sorted(code for code in map(int, info.split(":")) if code >= 0)
    except ValueError:
        raise ModelFileError("the file describes a column in a way that is not known; it is damaged") from None


def _pandas_categories(text: str) -> list[list[Any]]:
    """The categories of the columns of a pandas frame, by code; empty if the model was fitted without one."""
    _, found, line = text.rpartition("\npandas_categorical:")
    if not found:
        return []
    try:
        known = json.loads(line.splitlines()[0] if line else "null")
    except (ValueError, RecursionError):
        raise ModelFileError("the categories of pandas in the file are damaged") from None
    if known is None:
        return []
    if not isinstance(known, list) or not all(isinstance(one, list) for one in known):
        raise ModelFileError("the categories of pandas in the file are damaged")
    return [[plain_category(one) for one in words if not is_missing(one)] for words in known]


def _tree(fields: Fields, columns: tuple[Column, ...], in_pandas: frozenset[int], scale: float) -> SourceTree:
    """One tree; nodes with a split come first, then the leaves."""
    if fields.get("is_linear", "0") != "0":
        raise ValueError("a LightGBM model with linear trees cannot be imported; fit it with linear_tree=False")
    n_leaves = _whole(fields, "num_leaves")
    if n_leaves < 1 or n_leaves > 1 << 30:
        raise ModelFileError("a tree of the file has no leaves; it is damaged")
    n_splits = n_leaves - 1
    value = scale * _numbers(fields, "leaf_value", np.float64, n_leaves)
    counts = _numbers(fields, "leaf_count", np.float64, n_leaves) if n_splits else np.ones(1)

    def of_splits(name: str, dtype: type) -> np.ndarray:
        return _numbers(fields, name, dtype, n_splits) if n_splits else np.zeros(0, dtype=dtype)

    def padded(of_split: np.ndarray, of_leaf: float) -> np.ndarray:
        return np.append(of_split, np.full(n_leaves, of_leaf))

    kinds, column = of_splits("decision_type", np.int64), of_splits("split_feature", np.int64)
    if ((column < 0) | (column >= len(columns))).any():
        raise ModelFileError("a node of a tree tests a column that does not exist; the model is damaged")
    threshold = of_splits("threshold", np.float64)
    is_set = kinds & IS_CATEGORICAL != 0
    left, right = of_splits("left_child", np.int64), of_splits("right_child", np.int64)
    counts_inside = of_splits("internal_count", np.float64)
    nodes = [np.where(child < 0, n_splits + ~child, child) for child in (left, right)]
    return SourceTree(
        left=padded(nodes[0], -1).astype(np.int64),
        right=padded(nodes[1], -1).astype(np.int64),
        column=padded(column, 0).astype(np.int64),
        threshold=padded(np.where(is_set, 0.0, threshold), 0.0),
        missing_left=padded(_missing_left(kinds, threshold), 0).astype(bool),
        value=np.append(scale * of_splits("internal_value", np.float64), value)[:, None],
        weight=np.maximum(np.append(counts_inside, counts), 1.0),
        rows=np.maximum(np.append(counts_inside, counts), 1.0).astype(np.int64),
        gain=np.maximum(padded(of_splits("split_gain", np.float64), 0.0), 0.0),
        impurity=np.zeros(n_splits + n_leaves),
        sets=_sets(fields, np.flatnonzero(is_set), threshold, column, columns, in_pandas),
    )


def _missing_left(kinds: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Whether missing values go left: by the default, or as 0 where training had none."""
    is_set, default_left = kinds & IS_CATEGORICAL != 0, kinds & DEFAULT_LEFT != 0
    missing = (kinds >> 2) & 3
    zero_left = threshold >= 0.0
    # Zeros count as missing there; a node that sends them elsewhere than by its threshold is none of ours.
    if ((missing == MISSING_ZERO) & ~is_set & (zero_left != default_left)).any():
        raise ValueError(
            "a LightGBM model with zero_as_missing=True cannot be imported; fit it with zero_as_missing=False"
        )
    # Missing and unseen categories go right.
    return ~is_set & np.where(missing == MISSING_NONE, zero_left, default_left)


def _sets(
    fields: Fields,
    nodes: np.ndarray,
    threshold: np.ndarray,
    column: np.ndarray,
    columns: tuple[Column, ...],
    in_pandas: frozenset[int],
) -> dict[int, np.ndarray]:
    """The categories that go left at the nodes of categories."""
    if not len(nodes):
        return {}
    n_sets = _whole(fields, "num_cat")
    if n_sets < 1 or n_sets > len(threshold):
        raise ModelFileError("a tree of the file has sets of categories that do not exist; it is damaged")
    bounds = _numbers(fields, "cat_boundaries", np.int64, n_sets + 1)
    n_words = len(fields.get("cat_threshold", "").split())
    words = _numbers(fields, "cat_threshold", np.int64, n_words)
    numbers = threshold[nodes].astype(np.int64)
    fits = ((numbers >= 0) & (numbers < n_sets)).all() and (np.diff(bounds) >= 0).all() and bounds[0] == 0
    if not fits or bounds[-1] > n_words or ((words < 0) | (words >= 1 << 32)).any():
        raise ModelFileError("a tree of the file has sets of categories that do not exist; it is damaged")
    found = {}
    for node, number in zip(nodes.tolist(), numbers.tolist(), strict=True):
        own = words[bounds[number] : bounds[number + 1]].astype("<u4")
        codes = np.flatnonzero(np.unpackbits(own.view(np.uint8), bitorder="little"))
        categories = columns[column[node]].categories
        if int(column[node]) in in_pandas:
            found[node] = codes[codes < len(categories)]
            continue
        place = {one: k for k, one in enumerate(categories)}
        found[node] = np.array([place[code] for code in codes.tolist() if code in place], dtype=np.int64)
    return found
