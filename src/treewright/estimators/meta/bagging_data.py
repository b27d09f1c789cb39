"""The training data of the members of bagging: samples of rows and columns, for trees and for other estimators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline

from treewright.engines.forest.engine import Bagging, bag_of_tree, bag_seed_of_tree
from treewright.estimators.base import (
    Training,
)
from treewright.estimators.meta.preparing import PreparedMember, prepared, takes_weights
from treewright.estimators.meta.routing import take_metadata
from treewright.estimators.single.base import TreeLearner, adopt, specification
from treewright.runtime.forms import choose_compiled_form
from treewright.table import Frame, Table
from treewright.table.selection import distinct_names, open_table, take_columns, take_rows
from treewright.table.sparse import in_rows

# Columns are drawn from another random stream than rows.
COLUMN_STREAM = 0x2545F491

# Rows with whole weights are drawn as copies up to this total weight: 32 MB.
MOST_COPIES = 1 << 24

# The kinds of columns are declared once, for all members.
DECLARATIONS = ("categorical_features", "numeric_features")


@dataclass(frozen=True, eq=False)
class Draws:
    """How the rows and the columns of each member are drawn."""

    seed: int
    n_rows: int
    n_columns: int
    rows: Bagging
    columns: Bagging

    def counts(self, member: int) -> np.ndarray:
        """How often each row is drawn for a member."""
        return bag_of_tree(choose_compiled_form(), self.seed, member, self.rows, self.n_rows)

    def columns_of(self, member: int) -> np.ndarray:
        """The columns of a member, in the order of the table; a column may occur twice."""
        seed = self.seed ^ COLUMN_STREAM
        counts = bag_of_tree(choose_compiled_form(), seed, member, self.columns, self.n_columns)
        return np.repeat(np.arange(self.n_columns), counts)


@dataclass(frozen=True, eq=False)
class WeightedDraws(Draws):
    """Rows are drawn with replacement, each in proportion to its weight."""

    weights: np.ndarray

    def counts(self, member: int) -> np.ndarray:
        """How often each row is drawn for a member.

        If all weights are whole, it is drawn from as many copies of each row: a table with these copies next to each
        other has the same draws.
        """
        passed = np.cumsum(self.weights)
        are_whole = bool((self.weights == np.floor(self.weights)).all())
        if are_whole and passed[-1] <= MOST_COPIES:
            bag = bag_of_tree(choose_compiled_form(), self.seed, member, self.rows, int(passed[-1]))
            return np.add.reduceat(bag, (passed - self.weights).astype(np.intp), dtype=np.int64)
        random = np.random.Generator(np.random.PCG64(int(bag_seed_of_tree(self.seed, member))))
        places = np.searchsorted(passed, random.random(self.rows.n_draws) * passed[-1], side="right")
        return np.bincount(np.minimum(places, self.n_rows - 1), minlength=self.n_rows)


class TreeRows:
    """The training data of trees of this library: the table is read once, and weighted anew for each member."""

    def __init__(self, base: TreeLearner, table: Table, training: Training) -> None:
        specification(base, seed=0).check(training)
        self.table, self.training = table, training

    def fit(self, member: TreeLearner, counts: np.ndarray, places: np.ndarray) -> Any:
        training = self.training
        if len(places) != len(training.columns) or (np.diff(places) != 1).any():
            new_names = distinct_names([training.columns[place].name for place in places])
            columns = tuple(
                replace(training.columns[place], name=name) for name, place in zip(new_names, places, strict=True)
            )
            training = replace(training, columns=columns, values=training.values[:, places])
        spec = specification(member)
        spec = replace(spec, plan=replace(spec.plan, n_jobs=1))
        weights = training.weights * counts
        by_class = spec.weigh(training, weights)
        weights = by_class if by_class.any() else weights  # a bag may have only rows of a class of weight 0
        bag = replace(replace(training, weights=weights).rows(np.flatnonzero(weights)), whole=None)
        names = [column.name for column in training.columns] if self.table.named else None
        return adopt(member, spec.fit(bag), training.classes, names, len(places))

    def open(self, training: Training) -> Any:
        """The training table as members read it."""
        return in_rows(training.values)


class MemberFrames:
    """The training data of other estimators: a table with the rows and columns of each member."""

    def __init__(
        self, base: Any, X: Any, training: Training, declares_numbers: bool, metadata: Mapping[str, Any]
    ) -> None:
        member = prepared(base)
        self.takes_weights = takes_weights(member)
        if not self.takes_weights and (training.weights != training.weights[0]).any():
            raise ValueError(
                f"the rows have different weights, but {type(base).__name__} does not support sample_weight; "
                "set replace=True to draw rows by weight, or use another estimator"
            )
        table = open_table(X)
        kept = None if training.kept is None else np.flatnonzero(training.kept)
        self.X = table if kept is None else take_rows(table, kept)
        self.metadata = metadata if kept is None else take_metadata(table, metadata, kept)
        self.training, self.declares_numbers = training, declares_numbers
        self.y = training.y
        if training.target.is_classes:
            place = {name: place for place, name in enumerate(training.classes.tolist())}
            # A class that was only declared has no rows.
            places = np.array([place.get(name, 0) for name in training.target.classes])
            self.y = training.classes[places[training.y]]

    def fit(self, member: Any, counts: np.ndarray, places: np.ndarray) -> Any:
        member = self._declare(prepared(member), places)
        drawn = np.flatnonzero(counts)
        weights = (counts * self.training.weights)[drawn]
        if not self.takes_weights:
            drawn, weights = np.repeat(np.arange(len(counts)), counts), None
        X, y = for_member(member, take_columns(take_rows(self.X, drawn), places)), self.y[drawn]
        options = take_metadata(self.X, self.metadata, drawn)
        options |= {} if weights is None else {"sample_weight": weights}
        try:
            member.fit(X, y, **options)
        except ValueError:
            if not self.training.target.is_classes or (y != y[0]).any():
                raise
            # Many classifiers refuse to learn from one class.
            return DummyClassifier(strategy="most_frequent").fit(X, y)
        return member

    def open(self, training: Training) -> Any:
        """The training table as members read it."""
        return self.X

    def _declare(self, member: Any, places: np.ndarray) -> Any:
        """The member with the declared kinds of the columns: a bag may have no value that shows the kind."""
        columns = [self.training.columns[place] for place in places]
        kinds = {
            "categorical_features": [place for place, column in enumerate(columns) if column.is_categorical],
            "numeric_features": [
                place for place, column in enumerate(columns) if column.is_numeric and self.declares_numbers
            ],
        }
        wanted = {
            name: kinds[name.split("__")[-1]]
            for name, value in member.get_params().items()
            if name.split("__")[-1] in DECLARATIONS and value is None
        }
        return member.set_params(**{name: places for name, places in wanted.items() if places})


def for_member(member: Any, X: Any) -> Any:
    """The table in a form that the member reads: pipelines of scikit-learn cannot read the frame of this library."""
    is_foreign = isinstance(member, Pipeline) and not isinstance(member, PreparedMember)
    if not is_foreign or not isinstance(X, Frame):
        return X
    columns = [X[name] for name in X.columns]
    is_numeric = all(column.dtype.kind in "biuf" for column in columns)
    return np.column_stack([np.asarray(column, dtype=np.float64 if is_numeric else object) for column in columns])
