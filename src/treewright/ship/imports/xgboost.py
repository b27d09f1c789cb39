"""Models of XGBoost: its files in JSON and UBJSON, which its boosters also write."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from treewright.estimators.boosting.losses import Absolute, Loss, Squared, Tweedie
from treewright.ship.imports.estimators import boosted, check_class_names, loss_of_classes, plain_columns
from treewright.ship.imports.source_tree import SourceTree, below_in_single_precision
from treewright.ship.imports.ubjson import read_ubjson
from treewright.ship.layout import ModelFileError
from treewright.table.categories import plain_category
from treewright.table.column import Column, Kind

# Objectives whose prediction is the score, and those whose prediction is its exponential, with their Tweedie power.
OF_SCORES = ("reg:squarederror", "reg:linear", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror")
OF_EXPONENTIALS = {"count:poisson": ("poisson", 1.0), "reg:gamma": ("gamma", 2.0), "reg:tweedie": ("tweedie", 1.5)}

MOST_COLUMNS, MOST_CATEGORIES = 1 << 20, 1 << 16


def import_xgboost(data: bytes, classes: Any = None, n_rounds: int | None = None) -> Any:
    """The model of an XGBoost file, of its first rounds if a number is given."""
    try:
        return _import(_read(data), classes, n_rounds)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(f"the file is damaged, or it is no model of XGBoost: {error!r}") from None


def _read(data: bytes) -> Any:
    if data[1:].lstrip()[:1] not in (b'"', b"}"):
        return read_ubjson(data)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ModelFileError("the file is cut off, or it is no JSON") from None


def _import(model: Mapping[str, Any], classes: Any, n_rounds: int | None) -> Any:
    learner = model["learner"]
    booster = learner["gradient_booster"]
    name = booster["name"]
    if name == "gblinear":
        raise ValueError("a linear model of XGBoost (gblinear) has no trees; import a model of booster='gbtree'")
    factors = None
    if name == "dart":
        factors, booster = np.asarray(booster["weight_drop"], dtype=np.float64), booster["gbtree"]
    forest = booster["model"]
    trees, groups = forest["trees"], np.asarray(forest["tree_info"], dtype=np.int64)
    parameters = learner["learner_model_param"]
    if int(parameters.get("num_target", 1)) > 1:
        raise ValueError("a model of several targets cannot be imported; fit one model for each of them")
    n_classes, loss, loss_name = _objective(learner["objective"]["name"], int(parameters.get("num_class", 0)))
    n_outputs = n_classes if n_classes > 2 else 1
    columns = _columns(learner, parameters, trees, forest)
    if not trees or len(groups) != len(trees) or ((groups < 0) | (groups >= n_outputs)).any():
        raise ModelFileError("the file has no trees, or trees of classes that do not exist; it is damaged")
    factors = np.ones(len(trees)) if factors is None else factors
    if len(factors) != len(trees):
        raise ModelFileError("the file has other weights than trees; it is damaged")
    n_trees = len(trees) if n_rounds is None else int(forest["iteration_indptr"][n_rounds])
    sources = [_tree(tree, columns, factor) for tree, factor in zip(trees[:n_trees], factors, strict=False)]
    by_output = [[tree for tree, own in zip(sources, groups, strict=False) if own == k] for k in range(n_outputs)]
    if len({len(one) for one in by_output}) != 1 or not by_output[0]:
        raise ModelFileError("the file has another number of trees for some classes; it is damaged")
    return boosted(
        by_output,
        columns,
        _initial(parameters["base_score"], loss, n_classes, n_outputs),
        loss,
        named=bool(len(learner.get("feature_names") or ())),
        classes=check_class_names(classes, n_classes) if n_classes else None,
        loss_name=loss_name,
    )


def _objective(name: str, n_classes: int) -> tuple[int, Loss, str]:
    if name in ("binary:logistic", "binary:logitraw"):
        return 2, loss_of_classes(2), "log_loss"
    if name in ("multi:softprob", "multi:softmax"):
        if not 2 <= n_classes <= 1 << 16:
            raise ModelFileError("the file has no number of classes; it is damaged")
        if n_classes == 2:
            raise ValueError(
                "an XGBoost model of two classes with one score for each cannot be imported; "
                "fit it with objective='binary:logistic'"
            )
        return n_classes, loss_of_classes(n_classes), "log_loss"
    if name in OF_EXPONENTIALS:
        loss_name, power = OF_EXPONENTIALS[name]
        return 0, Tweedie(power), loss_name
    if name not in OF_SCORES and not name.startswith("rank:"):
        raise ValueError(
            f"an XGBoost model with the objective {name!r} cannot be imported; binary:logistic, multi:softprob and "
            "those of numbers can"
        )
    return (0, Absolute(), "absolute_error") if name == "reg:absoluteerror" else (0, Squared(), "squared_error")


def _initial(base_score: Any, loss: Loss, n_classes: int, n_outputs: int) -> np.ndarray:
    """The initial scores: a file contains the prediction that corresponds to them."""
    found = json.loads(base_score) if isinstance(base_score, str) else base_score
    base = np.asarray(found, dtype=np.float64).ravel()
    base = np.repeat(base, n_outputs) if len(base) == 1 else base
    if len(base) != n_outputs or not np.isfinite(base).all():
        raise ModelFileError("the base score of the file is no number; it is damaged")
    is_share, is_mean = n_classes == 2, isinstance(loss, Tweedie)
    if (is_share and not 0.0 < base[0] < 1.0) or (is_mean and base[0] <= 0.0):
        raise ModelFileError("the base score of the file is out of range; it is damaged")
    if is_share:
        return np.array([math.log(base[0] / (1.0 - base[0]))])
    return np.log(base) if is_mean else base


def _columns(learner: Any, parameters: Any, trees: Any, forest: Any) -> tuple[Column, ...]:
    n_columns = int(parameters["num_feature"])
    names = [str(name) for name in learner.get("feature_names") or ()] or None
    if not 0 < n_columns <= MOST_COLUMNS or (names is not None and len(set(names)) != n_columns):
        raise ModelFileError("the file has another number of columns than names of them; it is damaged")
    columns = list(plain_columns(names, n_columns))
    most: dict[int, int] = {}
    for tree in trees:
        for node, codes in _sets(tree).items():
            place = int(tree["split_indices"][node])
            most[place] = max(most.get(place, 0), int(codes.max(initial=0)))
    kinds = list(learner.get("feature_types") or ())
    for place, kind in enumerate(kinds[:n_columns]):
        if kind == "c":
            most.setdefault(place, 0)
    words = _words(forest.get("cats"), n_columns)
    for place, last in most.items():
        if not 0 <= place < n_columns or last >= MOST_CATEGORIES:
            raise ModelFileError(f"a category of the file has a number of {MOST_CATEGORIES:,} or more; it is damaged")
        known = words.get(place)
        categories = tuple(range(last + 1)) if known is None or len(known) <= last else tuple(known)
        columns[place] = Column(columns[place].name, Kind.CATEGORICAL, categories)
    return tuple(columns)


def _words(cats: Any, n_columns: int) -> dict[int, list[Any]]:
    """The names of the categories of each column, where the file has them."""
    encodings = (cats or {}).get("enc") or []
    if len(encodings) != n_columns:
        return {}
    found = {}
    for place, one in enumerate(encodings):
        words = _list_of_words(one)
        if words and len(set(words)) == len(words):
            found[place] = words
    return found


def _list_of_words(encoding: Any) -> list[Any]:
    """Categories of text by their ends in one list of bytes, or of numbers."""
    values = encoding.get("values") if isinstance(encoding, Mapping) else None
    if values is None or not len(values):
        return []
    if "offsets" not in encoding:
        return [plain_category(float(one)) for one in values]
    ends = np.asarray(encoding["offsets"], dtype=np.int64)
    text = bytes(np.asarray(values, dtype=np.int64).astype(np.uint8))
    if not len(ends) or ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] > len(text):
        raise ModelFileError("the names of categories in the file are damaged")
    return [text[start:end].decode("utf-8", "replace") for start, end in pairwise(ends.tolist())]


def _sets(tree: Mapping[str, Any]) -> dict[int, np.ndarray]:
    """By node, the categories that go right."""
    nodes = np.asarray(tree.get("categories_nodes", ()), dtype=np.int64)
    if not len(nodes):
        return {}
    members = np.asarray(tree["categories"], dtype=np.int64)
    starts = np.asarray(tree["categories_segments"], dtype=np.int64)
    sizes = np.asarray(tree["categories_sizes"], dtype=np.int64)
    n_nodes = len(tree["left_children"])
    fits = len(nodes) == len(starts) == len(sizes) and ((nodes >= 0) & (nodes < n_nodes)).all()
    if (
        not fits
        or (starts < 0).any()
        or (sizes < 0).any()
        or (starts + sizes > len(members)).any()
        or (members < 0).any()
    ):
        raise ModelFileError("a tree of the file has sets of categories that do not exist; it is damaged")
    return {
        int(node): members[start : start + size]
        for node, start, size in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    }


def _tree(tree: Mapping[str, Any], columns: tuple[Column, ...], factor: float) -> SourceTree:
    if int(tree.get("tree_param", {}).get("size_leaf_vector", 1)) > 1:
        raise ValueError("an XGBoost model whose leaves have several values cannot be imported; fit one model for each")
    left = np.asarray(tree["left_children"], dtype=np.int64)
    right = np.asarray(tree["right_children"], dtype=np.int64)
    conditions = np.asarray(tree["split_conditions"], dtype=np.float32)
    weights = np.asarray(tree["base_weights"], dtype=np.float64)
    hessian = np.asarray(tree["sum_hessian"], dtype=np.float64)
    column = np.asarray(tree["split_indices"], dtype=np.int64)
    n_nodes = len(left)
    if any(len(one) != n_nodes for one in (right, conditions, weights, hessian, column, tree["default_left"])):
        raise ModelFileError("the arrays of a tree have different lengths; the model is damaged")
    leaf = left < 0
    sets = {
        node: np.setdiff1d(np.arange(len(columns[column[node]].categories)), codes)
        for node, codes in _sets(tree).items()
        if not leaf[node] and 0 <= column[node] < len(columns)
    }
    weight = np.maximum(np.where(np.isfinite(hessian), hessian, 0.0), 1e-16)
    # Values below the condition go left, and all others right.
    threshold = below_in_single_precision(np.nextafter(conditions, np.float32(-np.inf)))
    threshold[list(sets)] = 0.0
    gain = np.asarray(tree["loss_changes"], dtype=np.float64)
    return SourceTree(
        left=left,
        right=right,
        column=column * ~leaf,
        threshold=threshold,
        missing_left=np.asarray(tree["default_left"], dtype=np.int64).astype(bool),
        value=(factor * np.where(leaf, conditions.astype(np.float64), weights))[:, None],
        weight=weight,
        rows=np.clip(np.round(weight), 1, 1 << 40).astype(np.int64),
        gain=np.where(np.isfinite(gain), np.maximum(gain, 0.0), 0.0),
        impurity=np.zeros(n_nodes),
        sets=sets,
    )
