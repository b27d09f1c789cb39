"""Digests of fitted models: run before and after a change that must not alter what a model computes.

    python benchmarks/digests.py --write before.json
    python benchmarks/digests.py --compare before.json

A digest is the SHA-256 of predictions, tree arrays and importances in a fixed order, without any Python name. Cases
whose name begins with "text " digest printed output; `--without "text "` leaves them out.

TREEWRIGHT_FORM chooses the form of the kernels, and `make compare-forms` compares all of them. The plain form takes
very long for large tables: `--seconds 20` leaves out cases that take longer, and says which.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

import treewright as tw

Random = np.random.Generator
Compute = Callable[[], Any]

FEW, MEDIUM, MANY = 60, 2500, 30_000

# Single trees use several threads from 2**19 cells on.
LARGE_SHAPE = (MANY, 20)

COLOURS = ("black", "blue", "green", "red", "white")
SIZES = ("XS", "S", "M", "L", "XL")
TOWNS = tuple(f"town {number}" for number in range(14))
CODES = tuple(f"code {number}" for number in range(400))

MISSING = (
    "learned",
    "fractional",
    "majority",
    "class_majority",
    "every_value",
    "all_branches",
    "model",
    "branch",
    "surrogate",
    "error",
)


@dataclass(frozen=True)
class Case:
    """A model to fit, and the case whose digest must be the same, if there is one."""

    name: str
    compute: Compute
    same_as: str | None = None


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to fit and rows to predict; those to predict have missing values and unseen categories."""

    X: Any
    y: np.ndarray
    weights: np.ndarray
    test: Any
    test_y: np.ndarray
    complete_X: Any
    complete_test: Any


def draw_columns(rng: Random, n_rows: int) -> dict[str, np.ndarray]:
    """Columns of all kinds, without missing values; ordered and wide columns as indices of their categories."""
    return {
        "temperature": np.round(rng.normal(20.0, 6.0, n_rows), 2),
        "humidity": rng.integers(20, 100, n_rows).astype(np.float64),
        "pressure": rng.gamma(2.0, 3.0, n_rows),
        "colour": rng.integers(0, len(COLOURS), n_rows),
        "town": rng.integers(0, len(TOWNS), n_rows),
        "member": rng.random(n_rows) < 0.4,
        "since": np.datetime64("2020-01-01") + rng.integers(0, 1500, n_rows).astype("timedelta64[D]"),
        "size": rng.integers(0, len(SIZES), n_rows),
    }


def score_of(columns: Mapping[str, np.ndarray], rng: Random) -> np.ndarray:
    """A number that depends on all columns, with noise."""
    day = (columns["since"] - np.datetime64("2020-01-01")).astype(np.float64)
    score = 0.15 * columns["temperature"] - 0.02 * columns["humidity"]
    score += np.where(columns["pressure"] > 6.0, 0.1 * columns["temperature"], 0.0)
    score += np.array([0.0, 1.5, -0.7, 0.4, 2.2])[columns["colour"]] + 0.3 * (columns["town"] * 5 % 14)
    score += columns["member"] * 1.1 + (day > 700) * 0.9 + 0.4 * columns["size"]
    return score + rng.normal(0.0, 0.7, len(score))


def targets_of(score: np.ndarray, rng: Random) -> dict[str, np.ndarray]:
    """Targets of every kind."""
    n_rows = len(score)
    rank = np.empty(n_rows, dtype=np.int64)
    rank[np.argsort(score, kind="stable")] = np.arange(n_rows)
    scaled = (score - score.mean()) / score.std()
    return {
        "two": np.array(["no", "yes"])[rank * 2 // n_rows],
        "three": np.array(["low", "middle", "high"])[rank * 3 // n_rows],
        "thirty": np.array([f"class {number}" for number in range(30)])[rank * 30 // n_rows],
        "number": score,
        "count": rng.poisson(np.exp(scaled)).astype(np.float64),
        "positive": np.exp(scaled),
        "pair": np.column_stack([score, rank / n_rows]),
    }


def as_table(columns: Mapping[str, np.ndarray], missing: np.ndarray, unseen: np.ndarray) -> dict[str, Any]:
    """The columns as a user has them; `missing` and `unseen` mark cells, a row each."""

    def texts(name: str, categories: tuple[str, ...], place: int) -> list[str | None]:
        known = [categories[index] for index in columns[name]]
        known = [f"new {name}" if new else value for value, new in zip(known, unseen[:, place], strict=True)]
        return [None if gone else value for value, gone in zip(known, missing[:, place], strict=True)]

    size = [None if gone else SIZES[index] for index, gone in zip(columns["size"], missing[:, 7], strict=True)]
    return {
        "temperature": np.where(missing[:, 0], np.nan, columns["temperature"]),
        "humidity": np.where(missing[:, 1], np.nan, columns["humidity"]).tolist(),
        "pressure": np.where(missing[:, 2], np.nan, columns["pressure"]),
        "colour": texts("colour", COLOURS, 3),
        "town": texts("town", TOWNS, 4),
        "member": [None if gone else bool(value) for value, gone in zip(columns["member"], missing[:, 5], strict=True)],
        "since": np.where(missing[:, 6], np.datetime64("NaT"), columns["since"]),
        "size": pd.Series(pd.Categorical(size, categories=SIZES, ordered=True)),
    }


@cache
def mixed(n_rows: int, target: str) -> Data:
    """Numbers, text, booleans, dates and ordered categories."""
    rng = np.random.default_rng(n_rows)
    n_test = 500
    columns = draw_columns(rng, n_rows + n_test)
    y = targets_of(score_of(columns, rng), rng)[target]
    missing = rng.random((n_rows + n_test, len(columns))) < 0.06
    unseen = rng.random(missing.shape) < 0.05
    unseen[:n_rows] = False
    nothing = np.zeros_like(missing)
    table, complete = as_table(columns, missing, unseen), as_table(columns, nothing, nothing)
    return Data(
        X=take_rows(table, slice(0, n_rows)),
        y=y[:n_rows],
        weights=rng.integers(0, 4, n_rows) + np.where(rng.random(n_rows) < 0.3, 0.37, 0.0),
        test=take_rows(table, slice(n_rows, None)),
        test_y=y[n_rows:],
        complete_X=take_rows(complete, slice(0, n_rows)),
        complete_test=take_rows(complete, slice(n_rows, None)),
    )


@cache
def categories_only(n_rows: int, target: str) -> Data:
    """The categorical columns alone."""
    whole = mixed(n_rows, target)

    def select(table: Any) -> dict[str, Any]:
        return {name: table[name] for name in ("colour", "town", "member")}

    return Data(
        select(whole.X),
        whole.y,
        whole.weights,
        select(whole.test),
        whole.test_y,
        select(whole.complete_X),
        select(whole.complete_test),
    )


@cache
def wide_categories(target: str) -> Data:
    """A column with more categories than a byte can tell apart, beside the mixed columns."""
    whole = mixed(MEDIUM, target)
    rng = np.random.default_rng(255)
    rank = np.unique(whole.y, return_inverse=True)[1].astype(np.float64)
    shifted = (rank / rank.max() * 200 + rng.integers(0, 200, len(rank))).astype(np.int64)
    codes = [CODES[index] for index in shifted.clip(0, len(CODES) - 1)]
    test_codes = [f"code {number}" for number in rng.integers(0, len(CODES) + 20, len(whole.test_y))]
    return Data(
        {**whole.X, "code": codes},
        whole.y,
        whole.weights,
        {**whole.test, "code": test_codes},
        whole.test_y,
        {**whole.complete_X, "code": codes},
        {**whole.complete_test, "code": test_codes},
    )


@cache
def large(target: str, share_missing: float = 0.0) -> Data:
    """An array of numbers that is large enough for several threads."""
    rng = np.random.default_rng(19)
    n_rows, n_columns = LARGE_SHAPE
    X = rng.normal(size=(n_rows + 1000, n_columns))
    X[:, ::3] = np.round(X[:, ::3], 1)
    score = X[:, 0] + np.abs(X[:, 1]) * X[:, 2] + 0.5 * (X[:, 5] > 0.3) + rng.normal(0.0, 0.5, len(X))
    y = targets_of(score, rng)[target]
    complete = X.copy()
    X[rng.random(X.shape) < share_missing] = np.nan
    weights = rng.random(n_rows) + 0.5
    return Data(X[:n_rows], y[:n_rows], weights, X[n_rows:], y[n_rows:], complete[:n_rows], complete[n_rows:])


def take_rows(table: Mapping[str, Any], rows: slice) -> dict[str, Any]:
    """Some rows of a dict of columns."""
    return {
        name: values.iloc[rows].reset_index(drop=True) if isinstance(values, pd.Series) else values[rows]
        for name, values in table.items()
    }


def update_digest(digest: Any, value: Any) -> None:
    """Add a value: shape and little-endian bytes of arrays, text as UTF-8, sequences item by item."""
    if value is None:
        digest.update(b"none;")
    elif isinstance(value, str):
        encoded = value.encode()
        digest.update(b"text %d;" % len(encoded) + encoded)
    elif isinstance(value, list | tuple | Iterator):
        items = list(value)
        digest.update(b"items %d;" % len(items))
        for item in items:
            update_digest(digest, item)
    else:
        update_with_array(digest, np.asarray(value))


def update_with_array(digest: Any, array: np.ndarray) -> None:
    """Add an array: integers and booleans as 64-bit integers, floats as doubles, all else as text."""
    if array.dtype.kind in "biu":
        tag, normal = b"integers", array.astype(np.int64 if array.dtype.kind != "u" else np.uint64).view(np.int64)
    elif array.dtype.kind == "f":
        tag, normal = b"floats", array.astype(np.float64)
        # The sign and payload of NaN are no part of a result.
        normal = np.where(np.isnan(normal), np.nan, normal)
    else:
        update_digest(digest, [str(value) for value in array.ravel().tolist()])
        return
    digest.update(tag + str(array.shape).encode() + b";")
    digest.update(normal.astype(normal.dtype.newbyteorder("<")).tobytes())


def digest_of(value: Any) -> str:
    """The SHA-256 of a value, in hexadecimal."""
    digest = hashlib.sha256()
    update_digest(digest, value)
    return str(digest.hexdigest())


def tree_arrays(tree: Any) -> list[Any]:
    """The arrays of a tree that determine its predictions, and its statistics."""
    return [
        *(tree.kind, tree.column, tree.threshold, tree.first_child, tree.n_children),
        *(tree.missing_branch, tree.share, tree.set_start, tree.category_sets),
        *(tree.weight, tree.rows, tree.impurity, tree.gain, tree.distribution, tree.misclassification_costs),
        surrogate_arrays(tree.surrogates),
        imputation_arrays(tree.imputation),
    ]


def surrogate_arrays(surrogates: Any) -> list[Any] | None:
    """The arrays of surrogate splits."""
    if surrogates is None:
        return None
    return [
        *(surrogates.column, surrogates.threshold, surrogates.low_branch, surrogates.high_branch),
        *(surrogates.map_start, surrogates.agreement, surrogates.majority),
    ]


def imputation_arrays(filling: Any) -> list[Any] | None:
    """The values and trees that impute missing values."""
    if filling is None:
        return None
    return [filling.usual, [[column, tree_arrays(tree)] for column, tree in filling.guesses]]


def forest_arrays(forest: Any) -> list[Any]:
    """All trees of a forest, and its packed arrays if it has them.

    The array that maps nodes to category sets is left out: its entries are undefined at nodes of other kinds. The trees
    have the sets of the nodes that use one.
    """
    trees = [tree_arrays(tree) for tree in forest]
    if not hasattr(forest, "nodes"):
        return trees
    return [
        *(forest.nodes, forest.node_start, forest.sets),
        *(forest.leaf_start, forest.leaf_weight, forest.leaf_rows, forest.leaf_value, forest.leaf_spread),
        *(forest.leaf_end, forest.entry_class, forest.entry_share, forest.gains),
        bin_arrays(forest.bins),
        trees,
    ]


def bin_arrays(bins: Any) -> list[Any]:
    """The arrays that map values to bins."""
    return [bins.is_number, bins.n_codes, bins.cuts, bins.cut_start, bins.code_values]


def model_arrays(model: Any) -> list[Any]:
    """What a fitted model consists of; members of other libraries are known by their predictions alone."""
    if hasattr(model, "tree_"):
        return tree_arrays(model.tree_)
    if hasattr(model, "forest_"):
        return forest_arrays(model.forest_)
    if hasattr(model, "forests_"):
        losses = model.validation_loss_
        return [[forest_arrays(forest) for forest in model.forests_], model.initial_, losses, model.learning_rate_]
    weights = [getattr(model, name, None) for name in ("estimator_weights_", "estimator_errors_", "weights_")]
    return [weights, [model_arrays(member) for member in getattr(model, "estimators_", ())]]


def outputs_of(model: Any, test: Any) -> list[Any]:
    """Predictions, leaf indices, importances and arrays of a fitted model."""
    shares = model.predict_proba(test) if hasattr(model, "predict_proba") else None
    leaves = model._leaves(test) if hasattr(model, "forest_") else None
    leaves = model.apply(test) if hasattr(model, "tree_") else leaves
    return [model.predict(test), shares, leaves, getattr(model, "feature_importances_", None), model_arrays(model)]


def build(learner: str, **parameters: Any) -> Any:
    """A learner by its public name."""
    return getattr(tw, learner)(**parameters)


def fit(learner: str, data: Data, *, weighted: bool = False, complete: bool = False, **parameters: Any) -> Compute:
    """A case that fits a learner and returns its outputs for the rows to predict."""

    def compute() -> list[Any]:
        model = build(learner, **parameters)
        model.fit(data.complete_X if complete else data.X, data.y, data.weights if weighted else None)
        return outputs_of(model, data.complete_test if complete else data.test)

    return compute


def with_kernels(form: str, compute: Compute) -> Compute:
    """The same case with "plain" or "compiled" kernels, whatever the size of the table."""

    def run() -> Any:
        before = os.environ.get("TREEWRIGHT_FORM")
        os.environ["TREEWRIGHT_FORM"] = "plain" if form == "plain" else before or "compiled"
        try:
            return compute()
        finally:
            if before is None:
                del os.environ["TREEWRIGHT_FORM"]
            else:
                os.environ["TREEWRIGHT_FORM"] = before

    return run


def both_kernels(name: str, compute: Compute) -> Iterator[Case]:
    """Two cases that must agree: plain and compiled kernels."""
    yield Case(f"{name}, plain kernels", with_kernels("plain", compute))
    yield Case(f"{name}, compiled kernels", with_kernels("compiled", compute), f"{name}, plain kernels")


def both_threads(name: str, learner: str, data: Data, **parameters: Any) -> Iterator[Case]:
    """Two cases that must agree: one thread and two."""
    yield Case(f"{name}, one thread", fit(learner, data, n_jobs=1, **parameters))
    yield Case(f"{name}, two threads", fit(learner, data, n_jobs=2, **parameters), f"{name}, one thread")


def own_class_criterion(weights: np.ndarray) -> float:
    """The square root of Gini's index."""
    shares = weights / weights.sum()
    return float(np.sqrt(1.0 - (shares * shares).sum()))


def own_number_criterion(weight: float, mean: float, variance: float) -> float:
    """A criterion between the variance and the standard deviation."""
    return float(variance**0.75)


def own_loss(prediction: float, target: float) -> tuple[float, float]:
    """Gradient and hessian of a squared error that counts three times where the prediction is too low."""
    error = prediction - target
    factor = 3.0 if error < 0.0 else 1.0
    return factor * error, factor


def criterion_cases() -> Iterator[Case]:
    """Every criterion, on tables for plain and for compiled kernels."""
    class_criteria: tuple[Any, ...] = ("gini", "information_gain", "gain_ratio", "error", own_class_criterion)
    for criterion in class_criteria:
        name = criterion if isinstance(criterion, str) else "own function"
        few = fit("DecisionTreeClassifier", mixed(FEW, "three"), criterion=criterion)
        yield from both_kernels(f"classes by {name}, few rows", few)
        medium = fit("DecisionTreeClassifier", mixed(MEDIUM, "three"), criterion=criterion)
        yield Case(f"classes by {name}", medium)
    number_criteria: tuple[Any, ...] = ("squared_error", "sdr", "absolute_error", "poisson", own_number_criterion)
    for criterion in number_criteria:
        name = criterion if isinstance(criterion, str) else "own function"
        few = fit("DecisionTreeRegressor", mixed(FEW, "count"), criterion=criterion)
        yield from both_kernels(f"numbers by {name}, few rows", few)
        medium = fit("DecisionTreeRegressor", mixed(MEDIUM, "count"), criterion=criterion, min_samples_leaf=2)
        yield Case(f"numbers by {name}", medium)


def missing_cases() -> Iterator[Case]:
    """Every strategy for missing values, and for unseen categories."""
    for missing in MISSING:
        complete = missing == "error"
        shape: dict[str, Any] = {"missing": missing, "max_depth": 8, "min_samples_leaf": 5, "complete": complete}
        yield Case(f"missing {missing}, classes", fit("DecisionTreeClassifier", mixed(MEDIUM, "two"), **shape))
        yield Case(f"missing {missing}, numbers", fit("DecisionTreeRegressor", mixed(MEDIUM, "number"), **shape))
        multiway = {**shape, "categorical": "multiway", "max_depth": 4}
        yield Case(f"missing {missing}, multiway", fit("DecisionTreeClassifier", mixed(MEDIUM, "three"), **multiway))
        few = fit("DecisionTreeClassifier", mixed(FEW, "two"), **{**shape, "min_samples_leaf": 1})
        yield from both_kernels(f"missing {missing}, few rows", few)
    for missing in ("majority", "class_majority"):
        mean = fit("DecisionTreeClassifier", mixed(MEDIUM, "two"), missing=(missing, "mean"), max_depth=6)
        yield Case(f"missing {missing} by mean", mean)
    for unseen in ("as_missing", "stop", "majority"):
        for categorical in ("subset", "multiway"):
            shape = {"unseen": unseen, "categorical": categorical, "max_depth": 6}
            name = f"unseen {unseen}, {categorical}"
            yield Case(name, fit("DecisionTreeClassifier", mixed(MEDIUM, "three"), **shape))
    yield Case("unseen error", fit("DecisionTreeClassifier", mixed(MEDIUM, "two"), unseen="error", complete=True))


def split_cases() -> Iterator[Case]:
    """How splits are searched and drawn."""
    two, number = mixed(MEDIUM, "two"), mixed(MEDIUM, "number")
    for categorical in ("subset", "multiway", "one_vs_rest"):
        shape: dict[str, Any] = {"categorical": categorical, "max_depth": 7}
        yield Case(f"categories by {categorical}, classes", fit("DecisionTreeClassifier", two, **shape))
        yield Case(f"categories by {categorical}, numbers", fit("DecisionTreeRegressor", number, **shape))
    for candidates in ("class_boundaries", ("bins", 12), ("step", 2.5)):
        name = candidates if isinstance(candidates, str) else candidates[0]
        yield Case(f"candidates {name}, classes", fit("DecisionTreeClassifier", two, candidates=candidates))
        if not isinstance(candidates, str):
            yield Case(f"candidates {name}, numbers", fit("DecisionTreeRegressor", number, candidates=candidates))
    for splitter in ("random", ("among", 3)):
        name = splitter if isinstance(splitter, str) else splitter[0]
        shape = {"splitter": splitter, "random_state": 4}
        yield Case(f"splitter {name}, classes", fit("DecisionTreeClassifier", two, **shape))
        yield Case(f"splitter {name}, numbers", fit("DecisionTreeRegressor", number, **shape))
    for max_features in (3, 0.4, "sqrt", "log2"):
        shape = {"max_features": max_features, "random_state": 5}
        yield Case(f"max_features {max_features}", fit("DecisionTreeClassifier", two, **shape))


def growth_limit_cases() -> Iterator[Case]:
    """What stops growth."""
    two, number = mixed(MEDIUM, "two"), mixed(MEDIUM, "number")
    yield Case("max_leaf_nodes, classes", fit("DecisionTreeClassifier", two, max_leaf_nodes=20))
    yield Case("max_leaf_nodes, numbers", fit("DecisionTreeRegressor", number, max_leaf_nodes=20))
    yield Case("max_p_value", fit("DecisionTreeClassifier", two, max_p_value=0.01))
    yield Case("min_gain, classes", fit("DecisionTreeClassifier", two, min_split_gain=0.002))
    yield Case("min_gain, numbers", fit("DecisionTreeRegressor", number, min_split_gain=0.01))
    yield Case("minimum rows as shares", fit("DecisionTreeClassifier", two, min_samples_split=0.05))


def weight_cases() -> Iterator[Case]:
    """Weights, costs and smoothing."""
    two, three, number = mixed(MEDIUM, "two"), mixed(MEDIUM, "three"), mixed(MEDIUM, "number")
    yield Case("weights, classes", fit("DecisionTreeClassifier", three, weighted=True))
    yield Case("weights, numbers", fit("DecisionTreeRegressor", number, weighted=True))
    yield Case("weights, absolute error", fit("CARTRegressor", number, weighted=True, criterion="absolute_error"))
    yield Case("class weights balanced", fit("DecisionTreeClassifier", three, weighted=True, class_weight="balanced"))
    yield Case("class weights given", fit("DecisionTreeClassifier", two, class_weight={"no": 1.0, "yes": 2.5}))
    costs = {("low", "high"): 5.0, ("high", "low"): 3.0}
    yield Case("costs", fit("DecisionTreeClassifier", three, misclassification_costs=costs, max_depth=6))
    yield Case("costs, pruned by error bounds", fit("C45Classifier", three, misclassification_costs=costs))
    yield Case("laplace smoothing", fit("DecisionTreeClassifier", three, smoothing="laplace"))
    yield Case("m-estimate smoothing", fit("DecisionTreeClassifier", three, smoothing=("m_estimate", 2.5)))


def column_cases() -> Iterator[Case]:
    """Many classes, many categories and declared column kinds."""
    yield Case("thirty classes", fit("DecisionTreeClassifier", mixed(MEDIUM, "thirty")))
    yield Case(
        "thirty classes by gain ratio",
        fit("DecisionTreeClassifier", mixed(MEDIUM, "thirty"), criterion="gain_ratio", max_depth=8),
    )
    yield Case("thirty classes, c45", fit("C45Classifier", mixed(MEDIUM, "thirty")))
    yield Case("four hundred categories, classes", fit("DecisionTreeClassifier", wide_categories("two")))
    yield Case("four hundred categories, three classes", fit("CARTClassifier", wide_categories("three")))
    yield Case("four hundred categories, numbers", fit("DecisionTreeRegressor", wide_categories("number")))
    yield Case("four hundred categories, c45", fit("C45Classifier", wide_categories("two")))
    declared: dict[str, Any] = {"categorical_features": ["humidity"], "max_depth": 6}
    yield Case("table as a dict", lambda: fit_table(dict))
    yield Case("table as a frame", lambda: fit_table(pd.DataFrame), "table as a dict")
    yield Case("number declared categorical", fit("DecisionTreeClassifier", mixed(MEDIUM, "two"), **declared))


def fit_table(form: Callable[[Any], Any]) -> list[Any]:
    """Outputs of a tree whose table and rows to predict have another form."""
    data = mixed(MEDIUM, "two")
    return outputs_of(build("DecisionTreeClassifier").fit(form(data.X), data.y), form(data.test))


def learner_cases() -> Iterator[Case]:
    """Every learner of single trees with its defaults."""
    for learner in ("CART", "DecisionStump", "RandomTree", "ObliviousTree", "DecisionTree"):
        seed: dict[str, Any] = {"random_state": 1} if learner == "RandomTree" else {}
        for target in ("two", "three", "number"):
            kind = f"{learner}{'Regressor' if target == 'number' else 'Classifier'}"
            yield Case(f"{learner} defaults, {target}", fit(kind, mixed(MEDIUM, target), **seed))
    for target in ("two", "three"):
        yield Case(f"ID3 defaults, {target}", fit("ID3Classifier", categories_only(MEDIUM, target)))
        yield Case(f"OneR defaults, {target}", fit("OneRClassifier", mixed(MEDIUM, target)))
        yield Case(f"c45 defaults, {target}", fit("C45Classifier", mixed(MEDIUM, target)))
    yield Case("c45 fractional weights", fit("C45Classifier", mixed(MEDIUM, "three"), weighted=True))
    yield Case("c45 release 8", fit("C45Classifier", mixed(MEDIUM, "three"), variant="c4.5r8", confidence=0.1))
    yield Case("c45 without raising", fit("C45Classifier", mixed(MEDIUM, "three"), subtree_raising=False))
    yield Case("OneR with missing values as learned", fit("OneRClassifier", mixed(MEDIUM, "three"), missing="learned"))
    for missing in ("fractional", "branch", "surrogate"):
        data = mixed(MEDIUM, "three")
        yield Case(f"ObliviousTree missing {missing}", fit("ObliviousTreeClassifier", data, missing=missing))
    yield from both_kernels("c45, few rows", fit("C45Classifier", mixed(FEW, "three")))
    yield from both_kernels("OneR, few rows", fit("OneRClassifier", mixed(FEW, "three")))
    yield from both_kernels("ObliviousTree, few rows", fit("ObliviousTreeRegressor", mixed(FEW, "number")))


def thread_cases() -> Iterator[Case]:
    """Single trees of tables that are large enough for threads."""
    classes, numbers = "DecisionTreeClassifier", "DecisionTreeRegressor"
    yield from both_threads("large gini", classes, large("two"))
    yield from both_threads("large gini, missing values", classes, large("three", 0.05), max_depth=10)
    yield from both_threads(
        "large information gain, weights",
        classes,
        large("three"),
        weighted=True,
        max_depth=10,
        criterion="information_gain",
    )
    yield from both_threads("large squared error", numbers, large("number"), min_samples_leaf=5)
    yield from both_threads("large squared error, missing values", numbers, large("number", 0.05), max_depth=10)
    yield from both_threads("large absolute error", numbers, large("number"), criterion="absolute_error", max_depth=6)
    yield from both_threads("large max_leaf_nodes", numbers, large("number"), max_leaf_nodes=50)
    yield from both_threads("large fractional", classes, large("two", 0.05), missing="fractional", max_depth=5)
    yield from both_threads("large surrogate", classes, large("two", 0.05), missing="surrogate", max_depth=4)
    yield from both_threads("large c45", "C45Classifier", large("two"), max_depth=8)
    yield from both_threads("large oblivious", "ObliviousTreeClassifier", large("two"))


def pruning_cases() -> Iterator[Case]:
    """Every pruning method, while fitting and afterwards."""
    two, number = mixed(MEDIUM, "two"), mixed(MEDIUM, "number")
    methods = ("reduced_error", "error_based", "pessimistic", "minimum_description_length", "collapse")
    for method in methods:
        yield Case(f"prune {method}, classes", fit("DecisionTreeClassifier", two, prune=method))
    for method in ("reduced_error", "collapse"):
        yield Case(f"prune {method}, numbers", fit("DecisionTreeRegressor", number, prune=method))
    for alpha in (0.002, "cv", "1se"):
        shape: dict[str, Any] = {"prune": "cost_complexity", "ccp_alpha": alpha}
        yield Case(f"prune cost_complexity {alpha}, classes", fit("DecisionTreeClassifier", two, **shape))
        yield Case(f"prune cost_complexity {alpha}, numbers", fit("DecisionTreeRegressor", number, **shape))
    yield Case(
        "prune reduced_error of a quarter", fit("C45Classifier", two, prune="reduced_error", validation_fraction=0.25)
    )
    yield Case("prune with few rows", fit("CARTClassifier", mixed(FEW, "three")))
    yield Case("prune a fitted tree", prune_fitted_tree)
    yield Case("cost complexity path", compute_path)
    yield Case("complexity table", compute_complexity_table)
    yield Case("cross validation of alpha", compute_cross_validation)


def prune_fitted_tree() -> Iterator[Any]:
    """Outputs after `treewright.prune` by each method."""
    data = mixed(MEDIUM, "three")
    model = build("DecisionTreeClassifier").fit(data.X, data.y)
    for method in ("error_based", "pessimistic", "minimum_description_length", "collapse"):
        yield outputs_of(tw.prune(model, method), data.test)
    yield outputs_of(tw.prune(model, "cost_complexity", ccp_alpha=0.003), data.test)
    yield outputs_of(tw.prune(model, "cost_complexity", ccp_alpha=0.003, risk="impurity"), data.test)
    yield outputs_of(tw.prune(model, "reduced_error", X=data.test, y=data.test_y), data.test)
    yield outputs_of(tw.prune(model, "error_based", confidence=0.1, X=data.X, y=data.y), data.test)


def compute_path() -> Iterator[Any]:
    """Cost-complexity paths of a classifier and a regressor, with and without validation rows."""
    for learner, target in (("DecisionTreeClassifier", "three"), ("DecisionTreeRegressor", "number")):
        data = mixed(MEDIUM, target)
        model = build(learner).fit(data.X, data.y)
        for path in (tw.cost_complexity_path(model), tw.cost_complexity_path(model, data.test, data.test_y)):
            yield [path.ccp_alphas, path.leaves, path.risks, path.validation]


def compute_complexity_table() -> Iterator[Any]:
    """Complexity tables of a classifier and a regressor with rpart's limits."""
    for learner, target in (("CARTClassifier", "three"), ("CARTRegressor", "number")):
        data = mixed(MEDIUM, target)
        model = build(learner, min_samples_split=20, min_samples_leaf=7, prune=None, missing="surrogate")
        table = tw.complexity_table(model.fit(data.X, data.y), 0.001)
        yield [table.cp, table.splits, table.relative_error]


def compute_cross_validation() -> Iterator[Any]:
    """Cross-validation of the pruning sequence of a classifier and a regressor."""
    for learner, target in (("DecisionTreeClassifier", "three"), ("DecisionTreeRegressor", "number")):
        data = mixed(MEDIUM, target)
        trees = tw.cross_validate_ccp_alpha(build(learner), data.X, data.y, sample_weight=data.weights)
        yield [trees.ccp_alphas, trees.leaves, trees.risks, trees.losses, trees.deviations, trees.chosen]


def forest_cases() -> Iterator[Case]:
    """Random forests and extra trees."""
    two, three, number = mixed(MEDIUM, "two"), mixed(MEDIUM, "three"), mixed(MEDIUM, "number")
    some: dict[str, Any] = {"n_estimators": 25, "random_state": 3}
    fixed = {**some, "max_features": "sqrt", "min_samples_leaf": 1}
    for kind in ("RandomForest", "ExtraTrees"):
        yield from both_threads(f"{kind} auto, two", f"{kind}Classifier", two, **some)
        yield from both_threads(f"{kind} auto, number", f"{kind}Regressor", number, **some)
        yield Case(f"{kind} auto, thirty classes", fit(f"{kind}Classifier", mixed(MEDIUM, "thirty"), **some))
        yield Case(f"{kind} weights, three", fit(f"{kind}Classifier", three, weighted=True, **fixed))
        yield Case(f"{kind} weights, number", fit(f"{kind}Regressor", number, weighted=True, **fixed))
        yield Case(f"{kind} four hundred categories", fit(f"{kind}Classifier", wide_categories("two"), **fixed))
        yield from both_threads(
            f"{kind} large, two", f"{kind}Classifier", large("two", 0.03), **{**fixed, "n_estimators": 6}
        )
        yield from both_threads(
            f"{kind} large, number", f"{kind}Regressor", large("number"), **{**fixed, "n_estimators": 4}
        )
    yield Case("RandomForest auto number of trees", fit("RandomForestClassifier", mixed(FEW, "three"), random_state=3))
    yield from forest_strategy_cases(fixed)
    yield from forest_option_cases(fixed)


def forest_strategy_cases(fixed: dict[str, Any]) -> Iterator[Case]:
    """Criteria and strategies for missing and unseen values in forests."""
    two, three = mixed(MEDIUM, "two"), mixed(MEDIUM, "three")
    for criterion in ("information_gain", "gain_ratio", "error"):
        yield Case(f"RandomForest by {criterion}", fit("RandomForestClassifier", three, criterion=criterion, **fixed))
    for criterion in ("sdr", "absolute_error", "poisson"):
        data = mixed(MEDIUM, "count")
        yield Case(f"RandomForest by {criterion}", fit("RandomForestRegressor", data, criterion=criterion, **fixed))
    for missing in MISSING[1:]:
        shape = {**fixed, "n_estimators": 4, "missing": missing, "max_depth": 6, "complete": missing == "error"}
        yield Case(f"RandomForest missing {missing}", fit("RandomForestClassifier", two, **shape))
    for unseen in ("stop", "majority"):
        yield Case(f"RandomForest unseen {unseen}", fit("RandomForestClassifier", three, unseen=unseen, **fixed))
    for categorical in ("multiway", "one_vs_rest"):
        yield Case(
            f"RandomForest categories by {categorical}",
            fit("RandomForestClassifier", three, categorical=categorical, **fixed),
        )
    tiny = {**fixed, "n_estimators": 3}
    yield from both_kernels("RandomForest, few rows", fit("RandomForestClassifier", mixed(FEW, "three"), **tiny))
    yield from both_kernels("ExtraTrees, few rows", fit("ExtraTreesRegressor", mixed(FEW, "number"), **tiny))


def forest_option_cases(fixed: dict[str, Any]) -> Iterator[Case]:
    """Options of forests, one at a time."""
    two, three, number = mixed(MEDIUM, "two"), mixed(MEDIUM, "three"), mixed(MEDIUM, "number")
    for name, voting in {"average": "soft", "majority": "hard"}.items():
        yield Case(f"RandomForest vote {name}", fit("RandomForestClassifier", three, voting=voting, **fixed))
    for balance in ("balanced", "balanced_subsample"):
        yield Case(
            f"RandomForest class weights {balance}", fit("RandomForestClassifier", three, class_weight=balance, **fixed)
        )
    directions = {"temperature": 1, "humidity": -1}
    yield Case("RandomForest monotonic, two", fit("RandomForestClassifier", two, monotonic_cst=directions, **fixed))
    yield Case(
        "RandomForest monotonic, number", fit("RandomForestRegressor", number, monotonic_cst=directions, **fixed)
    )
    yield Case("RandomForest max_leaf_nodes", fit("RandomForestRegressor", number, max_leaf_nodes=30, **fixed))
    yield Case("RandomForest max_samples", fit("RandomForestClassifier", three, max_samples=0.4, **fixed))
    yield Case("RandomForest few bins", fit("RandomForestRegressor", number, max_bins=16, **fixed))
    yield Case("RandomForest out of bag, classes", out_of_bag("RandomForestClassifier", three, **fixed))
    yield Case("RandomForest out of bag, numbers", out_of_bag("RandomForestRegressor", number, **fixed))
    yield Case("Bagging out of bag, classes", out_of_bag("BaggingClassifier", three, n_estimators=8, random_state=2))
    yield Case("Bagging out of bag, numbers", out_of_bag("BaggingRegressor", number, n_estimators=8, random_state=2))
    yield Case("RandomForest quantiles", forest_quantiles)
    yield Case("RandomForest proximities", forest_proximities)
    yield Case(
        "RandomForest warm start",
        warm_start("RandomForestClassifier", three, max_features=3, min_samples_leaf=1),
    )
    yield Case("ExtraTrees warm start", warm_start("ExtraTreesRegressor", number))


def out_of_bag(learner: str, data: Data, **parameters: Any) -> Compute:
    """A case that returns the out-of-bag score and predictions as well."""

    def compute() -> list[Any]:
        model = build(learner, oob_score=True, **parameters).fit(data.X, data.y)
        names = ("oob_score_", "oob_decision_function_", "oob_prediction_")
        return [outputs_of(model, data.test), [getattr(model, name, None) for name in names]]

    return compute


def forest_quantiles() -> list[Any]:
    """Quantiles and prediction intervals of a forest."""
    data = mixed(MEDIUM, "number")
    model = build("RandomForestRegressor", n_estimators=20, quantiles=True, oob_score=True, random_state=1)
    model.fit(data.X, data.y, data.weights)
    return [model.predict_quantiles(data.test), model.predict_interval(data.test)]


def forest_proximities() -> list[Any]:
    """Proximities, outlier scores and leaf indices of a forest."""
    data = mixed(FEW, "three")
    model = build("RandomForestClassifier", n_estimators=20, random_state=1).fit(data.X, data.y)
    return [
        *(model.proximity(data.X), model.proximity(data.X, data.test)),
        *(model.outlier_scores(data.X, data.y), model._leaves(data.test)),
    ]


def warm_start(learner: str, data: Data, **parameters: Any) -> Compute:
    """A case that fits a model twice, the second time with more trees."""

    def compute() -> list[Any]:
        model = build(learner, n_estimators=10, warm_start=True, random_state=6, **parameters).fit(data.X, data.y)
        before = outputs_of(model, data.test)
        model.set_params(n_estimators=16).fit(data.X, data.y)
        return [before, outputs_of(model, data.test)]

    return compute


def ensemble_cases() -> Iterator[Case]:
    """Ensembles of other learners."""
    two, three, number = mixed(MEDIUM, "two"), mixed(MEDIUM, "three"), mixed(MEDIUM, "number")
    some: dict[str, Any] = {"n_estimators": 8, "random_state": 2}
    for kind in ("Bagging", "RandomSubspace"):
        yield from both_threads(f"{kind} three", f"{kind}Classifier", three, weighted=True, **some)
        yield from both_threads(f"{kind} number", f"{kind}Regressor", number, **some)
    vote = {**some, "voting": "hard", "max_features": 0.6, "replace_features": True, "max_samples": 0.5}
    yield Case("Bagging by majority", fit("BaggingClassifier", three, **vote))
    yield Case("Bagging of c45", fit_copies("BaggingClassifier", two, "C45Classifier", 6, **some))
    for name, data in (("two", two), ("three", three)):
        yield Case(f"AdaBoost {name}", fit("AdaBoostClassifier", data, weighted=True, **some))
    yield Case(
        "AdaBoost of trees",
        fit_copies("AdaBoostClassifier", three, "DecisionTreeClassifier", 3, **some),
    )
    for loss in ("linear", "square", "exponential"):
        yield Case(f"AdaBoost number, {loss}", fit("AdaBoostRegressor", number, loss=loss, **some))
    yield Case("Voting classes", combine("VotingClassifier", three, voting="hard", weights=[2, 1, 1]))
    yield Case("Voting class shares", combine("VotingClassifier", three, voting="soft"))
    yield Case("Voting numbers", combine("VotingRegressor", number))
    yield Case("Stacking classes", combine("StackingClassifier", three, final_estimator=GaussianNB()))
    yield Case("Stacking defaults", fit("StackingClassifier", mixed(FEW, "three")))
    yield Case("Voting defaults", fit("VotingRegressor", number))
    yield Case("Stacking numbers", combine("StackingRegressor", number, passthrough=True))
    for approximation in ("bootstrap", "plain"):
        yield Case(
            f"BayesianAveraging classes, {approximation}",
            combine("BayesianAveragingClassifier", three, approximation=approximation),
        )
        yield Case(
            f"BayesianAveraging numbers, {approximation}",
            combine("BayesianAveragingRegressor", number, approximation=approximation),
        )


def fit_copies(learner: str, data: Data, member: str, depth: int, **parameters: Any) -> Compute:
    """A case that fits an ensemble of trees of one kind."""
    return lambda: fit(learner, data, estimator=build(member, max_depth=depth), **parameters)()


def combine(learner: str, data: Data, **parameters: Any) -> Compute:
    """A case that fits an ensemble of three different members."""
    members = class_members if learner.endswith("Classifier") else number_members
    return lambda: fit(learner, data, estimators=members(), **parameters)()


def class_members() -> list[tuple[str, Any]]:
    """Three classifiers."""
    tree = build("DecisionTreeClassifier", max_depth=5)
    return [("tree", tree), ("c45", build("C45Classifier")), ("bayes", GaussianNB())]


def number_members() -> list[tuple[str, Any]]:
    """Three regressors."""
    tree = build("DecisionTreeRegressor", max_depth=5)
    return [("tree", tree), ("stump", build("DecisionStumpRegressor")), ("ridge", Ridge())]


def boosting_cases() -> Iterator[Case]:
    """Every loss and growth of gradient boosting, and its options."""
    some: dict[str, Any] = {"n_estimators": 20, "random_state": 7}
    losses = {"squared_error": "number", "absolute_error": "number", "huber": "number", "quantile": "number"}
    losses |= {"poisson": "count", "gamma": "positive", "tweedie": "count"}
    for loss, target in losses.items():
        name = loss.removesuffix("_error")
        yield Case(f"boosting {name}", fit("GradientBoostingRegressor", mixed(MEDIUM, target), loss=loss, **some))
    low = fit("GradientBoostingRegressor", mixed(MEDIUM, "number"), loss="quantile", quantile=0.2, **some)
    yield Case("boosting low quantile", low)
    yield Case(
        "boosting tweedie power",
        fit("GradientBoostingRegressor", mixed(MEDIUM, "count"), loss="tweedie", tweedie_power=1.2, **some),
    )
    yield Case("boosting own loss", fit("GradientBoostingRegressor", mixed(MEDIUM, "number"), loss=own_loss, **some))
    for target in ("two", "three", "thirty"):
        yield Case(f"boosting log loss, {target}", fit("GradientBoostingClassifier", mixed(MEDIUM, target), **some))
    yield Case(
        "boosting exponential", fit("GradientBoostingClassifier", mixed(MEDIUM, "two"), loss="exponential", **some)
    )
    yield Case("boosting several targets", fit("GradientBoostingRegressor", mixed(MEDIUM, "pair"), **some))
    for growth in ("best", "level", "oblivious"):
        shape = {**some, "growth": growth}
        yield from both_threads(
            f"boosting {growth}, three", "GradientBoostingClassifier", mixed(MEDIUM, "three"), **shape
        )
        yield from both_threads(
            f"boosting {growth}, number", "GradientBoostingRegressor", mixed(MEDIUM, "number"), weighted=True, **shape
        )
        yield from both_threads(f"boosting {growth}, large", "GradientBoostingClassifier", large("two", 0.03), **shape)
        yield Case(
            f"boosting {growth}, four hundred categories",
            fit("GradientBoostingClassifier", wide_categories("two"), **shape),
        )
        deep = {**shape, "max_depth": 3, "subsample": 0.6, "loss": "absolute_error"}
        yield Case(f"boosting {growth}, sampled", fit("GradientBoostingRegressor", mixed(MEDIUM, "number"), **deep))
        few = fit("GradientBoostingRegressor", mixed(FEW, "number"), **{**shape, "n_estimators": 3})
        yield from both_kernels(f"boosting {growth}, few rows", few)
    yield from boosting_option_cases(some)
    yield from boosting_round_cases(some)


def boosting_option_cases(some: dict[str, Any]) -> Iterator[Case]:
    """Options of gradient boosting, one at a time."""
    options: dict[str, dict[str, Any]] = {
        "goss": {"goss": True},
        "goss shares": {"goss": (0.3, 0.2)},
        "subsample": {"subsample": 0.5},
        "columns per tree": {"colsample_bytree": 0.5, "max_features": 1.0},
        "columns per level and node": {"colsample_bylevel": 0.7, "max_features": 0.6},
        "monotonic": {"monotonic_cst": {"temperature": 1, "humidity": -1}},
        "interactions": {"interaction_cst": [("temperature", "pressure"), ("colour", "town", "size")]},
        "regularized": {"l1_regularization": 0.5, "l2_regularization": 4.0, "min_split_gain": 0.1},
        "small leaves": {"min_samples_leaf": 1, "min_child_weight": 2.0, "max_leaf_nodes": 12},
        "few bins": {"max_bins": 20, "learning_rate": 0.3},
    }
    for name, option in options.items():
        parameters = {**some, **option}
        yield Case(f"boosting {name}, two", fit("GradientBoostingClassifier", mixed(MEDIUM, "two"), **parameters))
        yield Case(f"boosting {name}, number", fit("GradientBoostingRegressor", mixed(MEDIUM, "number"), **parameters))
        level = {**parameters, "growth": "oblivious"}
        yield Case(f"boosting {name}, oblivious", fit("GradientBoostingRegressor", mixed(MEDIUM, "number"), **level))
    balanced = {**some, "class_weight": "balanced", "weighted": True}
    yield Case("boosting class weights", fit("GradientBoostingClassifier", mixed(MEDIUM, "three"), **balanced))


def boosting_round_cases(some: dict[str, Any]) -> Iterator[Case]:
    """How the number of rounds is chosen."""
    two, number = mixed(MEDIUM, "two"), mixed(MEDIUM, "number")
    judged: dict[str, Any] = {"n_estimators": 60, "random_state": 7, "validation_fraction": 0.25, "n_iter_no_change": 5}
    yield from both_threads("boosting validation fraction, two", "GradientBoostingClassifier", two, **judged)
    yield from both_threads("boosting validation fraction, number", "GradientBoostingRegressor", number, **judged)
    yield Case("boosting validation set", boost_with_validation_set)
    yield Case("boosting initial score", boost_from_initial_score)
    quick: dict[str, Any] = {"random_state": 7, "n_iter_no_change": 5, "learning_rate": 0.3}
    yield from both_threads("boosting auto rounds, two", "GradientBoostingClassifier", two, **quick)
    yield from both_threads("boosting auto rounds, number", "GradientBoostingRegressor", number, **quick)
    yield Case("boosting auto rounds, few rows", fit("GradientBoostingClassifier", mixed(FEW, "three"), **quick))
    yield Case("boosting defaults, few rows", fit("GradientBoostingRegressor", mixed(FEW, "number"), random_state=7))
    yield Case("boosting warm start", warm_start("GradientBoostingRegressor", number))
    yield Case("boosting stages", boost_in_stages)


def boost_with_validation_set() -> list[Any]:
    """Boosting with early stopping on a given validation set."""
    data = mixed(MEDIUM, "three")
    model = build("GradientBoostingClassifier", n_estimators=60, n_iter_no_change=5, random_state=1)
    model.fit(data.X, data.y, X_val=data.test, y_val=data.test_y)
    return outputs_of(model, data.test)


def boost_from_initial_score() -> list[Any]:
    """Boosting from given scores."""
    data = mixed(MEDIUM, "number")
    model = build("GradientBoostingRegressor", n_estimators=20, random_state=1)
    model.fit(data.X, data.y, init_score=0.5 * data.y)
    return outputs_of(model, data.test)


def boost_in_stages() -> list[Any]:
    """Predictions after each round."""
    data = mixed(MEDIUM, "three")
    model = build("GradientBoostingClassifier", n_estimators=8, random_state=1).fit(data.X, data.y)
    return [model.staged_predict(data.test), model.staged_predict_proba(data.test), model.decision_function(data.test)]


def analysis_cases() -> Iterator[Case]:
    """What is computed from fitted models and tables."""
    yield Case("table preparer", prepare_table)
    yield Case("diversity", lambda: [diversity_figures("classes"), diversity_figures("numbers")])
    yield Case("permutation importance", permute_columns)


def prepare_table() -> list[Any]:
    """Prepared tables and the names of their columns."""
    data = wide_categories("two")
    preparer = build("TablePreparer", max_categories=20).fit(data.X)
    return [preparer.transform(data.X), preparer.transform(data.test), preparer.get_feature_names_out()]


def diversity_figures(target: str) -> list[Any]:
    """Diversity of the members of a bagging ensemble."""
    learner, name = {"classes": ("BaggingClassifier", "three"), "numbers": ("BaggingRegressor", "number")}[target]
    data = mixed(MEDIUM, name)
    found = tw.diversity(build(learner, n_estimators=6, random_state=1).fit(data.X, data.y), data.test, data.test_y)
    return [
        *(found.errors, found.mean_error, found.joint_error, found.disagreement, found.q_statistic),
        *(found.kappa, found.ambiguity, found.correlation),
    ]


def permute_columns() -> list[Any]:
    """Permutation importances of a tree."""
    data = mixed(MEDIUM, "three")
    model = build("DecisionTreeClassifier", max_depth=6).fit(data.X, data.y)
    found = tw.permutation_importance(model, data.test, data.test_y, random_state=0)
    return [found.importances, found.score]


def text_cases() -> Iterator[Case]:
    """Printed output."""
    yield Case("text of trees", print_trees)
    yield Case("text of rules", print_rules)
    yield Case("text of pruning tables", print_pruning_tables)
    yield Case("text of analyses", print_analyses)


def print_trees() -> Iterator[str]:
    """Text of trees, with the default and with other options."""
    for learner, target in (("CARTClassifier", "three"), ("C45Classifier", "two"), ("CARTRegressor", "number")):
        data = mixed(MEDIUM, target)
        model = build(learner).fit(data.X, data.y)
        yield shown(model)
        yield shown(model, max_depth=2, max_categories=None, missing=True)
    forest = build("RandomForestClassifier", n_estimators=2, max_depth=3, random_state=0)
    yield shown(forest.fit(data.X, mixed(MEDIUM, "two").y).estimators_[0])


def shown(model: Any, **options: Any) -> str:
    """What `show` prints."""
    file = io.StringIO()
    tw.show(model, file, **options)
    return file.getvalue()


def print_rules() -> Iterator[str]:
    """Rules of trees, as a list and for one class."""
    data = mixed(MEDIUM, "two")
    for learner in ("C45Classifier", "CARTClassifier", "OneRClassifier", "ObliviousTreeClassifier"):
        model = build(learner).fit(data.X, data.y)
        yield str(model.rules())
        yield model.rules("yes")


def print_pruning_tables() -> Iterator[str]:
    """Tables of pruning sequences."""
    data = mixed(MEDIUM, "two")
    model = build("DecisionTreeClassifier", max_depth=5).fit(data.X, data.y)
    yield str(tw.cost_complexity_path(model))
    yield str(tw.complexity_table(model))
    yield str(tw.cross_validate_ccp_alpha(model, data.X, data.y))


def print_analyses() -> Iterator[str]:
    """Tables of diversity and of permutation importances."""
    data = mixed(MEDIUM, "three")
    model = build("BaggingClassifier", n_estimators=4, random_state=1).fit(data.X, data.y)
    yield str(tw.diversity(model, data.test, data.test_y))
    yield str(tw.permutation_importance(model, data.test, data.test_y, n_repeats=2, random_state=0))


GROUPS: tuple[Callable[[], Iterator[Case]], ...] = (
    criterion_cases,
    missing_cases,
    split_cases,
    growth_limit_cases,
    weight_cases,
    column_cases,
    learner_cases,
    thread_cases,
    pruning_cases,
    forest_cases,
    ensemble_cases,
    boosting_cases,
    analysis_cases,
    text_cases,
)


@dataclass(frozen=True)
class Outcome:
    """The digests by case, the error messages of failed cases, the pairs that disagree, and cases over the limit."""

    digests: dict[str, str]
    failed: dict[str, str]
    disagreements: list[str]
    too_long: list[str]


class TookTooLongError(BaseException):
    """A case took longer than the limit; no code of the library catches it."""


@contextmanager
def limited_to(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer than this; 0 is no limit."""

    def interrupt(*_: Any) -> None:
        raise TookTooLongError

    earlier = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


def all_cases() -> list[Case]:
    """The cases of all groups; two cases with the same name are an error."""
    cases = [case for group in GROUPS for case in group()]
    names = [case.name for case in cases]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"several cases have the name {twice[0]!r}; give each case a name of its own")
    return cases


def show_progress(line: str) -> None:
    """Rewrite the current line of a terminal, or print one line per case elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line[:100]}", end="", file=sys.stderr, flush=True)
    else:
        print(line, file=sys.stderr, flush=True)


def run_cases(cases: list[Case], seconds: float) -> Outcome:
    """Compute all digests, with a progress line per case on standard error."""
    outcome = Outcome({}, {}, [], [])
    digests = outcome.digests
    for number, case in enumerate(cases, start=1):
        start = time.perf_counter()
        try:
            with limited_to(seconds):
                digests[case.name] = digest_of(case.compute())
        except TookTooLongError:
            outcome.too_long.append(case.name)
        except Exception as error:
            outcome.failed[case.name] = f"{type(error).__name__}: {error}"
        if case.name in digests and case.same_as in digests and digests[case.name] != digests[case.same_as]:
            outcome.disagreements.append(f"disagrees: {case.name} and {case.same_as}")
        show_progress(f"{number:4d}/{len(cases)} {time.perf_counter() - start:6.2f} s  {case.name}")
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return outcome


def problems_of(outcome: Outcome, before: Mapping[str, str] | None) -> Iterator[str]:
    """One line per case that failed, disagrees, differs from `before`, is new or is missing."""
    yield from (f"failed: {name}: {message}" for name, message in outcome.failed.items())
    yield from outcome.disagreements
    if before is None:
        return
    for name, digest in outcome.digests.items():
        if name not in before:
            yield f"new: {name}"
        elif before[name] != digest:
            yield f"differs: {name}"
    known = {*outcome.digests, *outcome.failed, *outcome.too_long}
    yield from (f"missing: {name}" for name in before if name not in known)


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write or compare digests of fitted models.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", type=Path, metavar="FILE", help="fit all models and write their digests")
    action.add_argument("--compare", type=Path, metavar="FILE", help="fit all models and compare with a file")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="cases whose name contains this")
    parser.add_argument("--without", default=None, metavar="PREFIX", help="no cases whose name begins with this")
    parser.add_argument("--seconds", type=float, default=0.0, help="leave out cases that take longer; 0 is no limit")
    return parser.parse_args()


def main() -> int:
    """Run the selected cases; return the exit code."""
    arguments = read_arguments()
    warnings.simplefilter("ignore")

    def is_selected(name: str) -> bool:
        left_out = arguments.without is not None and name.startswith(arguments.without)
        return arguments.only in name and not left_out

    start = time.perf_counter()
    before = None
    if arguments.compare is not None:
        stored = json.loads(arguments.compare.read_text())
        before = {name: digest for name, digest in stored.items() if is_selected(name)}
    print(f"treewright from {Path(tw.__file__).parent}", file=sys.stderr)
    outcome = run_cases([case for case in all_cases() if is_selected(case.name)], arguments.seconds)
    if arguments.write is not None:
        arguments.write.write_text(json.dumps(outcome.digests, indent=1) + "\n")
    problems = list(problems_of(outcome, before))
    print("".join(f"{line}\n" for line in problems), end="")
    print("".join(f"took too long: {name}\n" for name in outcome.too_long), end="")
    print(f"{len(outcome.digests)} cases, {len(problems)} problems, {time.perf_counter() - start:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
