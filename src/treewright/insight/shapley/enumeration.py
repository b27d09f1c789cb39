"""Exact Shapley values of a model that is not a sum of trees, by all sets of columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.table import Frame
from treewright.table.selection import names_of, open_table, take_columns

# The number of sets doubles with each column.
MOST_COLUMNS = 14

# Rows that the model predicts at a time.
ROWS_AT_ONCE = 50_000


def enumerate_sets(model: Any, X: Any, background: Any) -> tuple[np.ndarray, np.ndarray]:
    """The Shapley values [row, column, output] of a model, and its mean prediction for the background rows."""
    names, columns = _columns_of(X)
    others = _columns_of(background)[1]
    n_columns = len(columns)
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"the prediction of {type(model).__name__} is not a sum of trees, and its {n_columns} columns have too "
            f"many sets to try all; explain a model of at most {MOST_COLUMNS} columns, a forest or a boosted model"
        )
    if len(others) != n_columns:
        raise ValueError(f"X has {n_columns} columns, but background has {len(others)}; give the same columns")
    n_rows, n_others = len(columns[0]), len(others[0])
    sets = (np.arange(1 << n_columns)[:, None] >> np.arange(n_columns)) & 1 == 1
    size = max(ROWS_AT_ONCE // n_others, 1)
    found = []
    for row in range(n_rows):
        worth = []
        for first in range(0, len(sets), size):
            known = sets[first : first + size]
            worth.append(_mean_predictions(model, names, columns, others, row, known))
        found.append(shapley_of_game(np.concatenate(worth)))
    nothing = np.zeros((1, n_columns), dtype=bool)
    base = _mean_predictions(model, names, columns, others, 0, nothing)[0]
    return np.stack(found) if found else np.zeros((0, n_columns, len(base))), base


def _mean_predictions(
    model: Any,
    names: list[str] | None,
    columns: list[np.ndarray],
    others: list[np.ndarray],
    row: int,
    known: np.ndarray,
) -> np.ndarray:
    """The mean prediction of the background rows with the known columns taken from a row: [set, output]."""
    n_others = len(others[0])
    mixed = []
    for place, (own, other) in enumerate(zip(columns, others, strict=True)):
        cells = np.tile(other, len(known))
        cells[np.repeat(known[:, place], n_others)] = own[row]
        mixed.append(cells)
    predicted = predict_outputs(model, _table_of(names, mixed))
    return np.asarray(predicted.reshape(len(known), n_others, -1).mean(axis=1))


def predict_outputs(model: Any, X: Any) -> np.ndarray:
    """What is explained: class probabilities in the order of `classes_`, or the predicted number: [row, output]."""
    predicted = model.predict_proba(X) if is_classifier(model) else model.predict(X)
    return np.asarray(predicted, dtype=np.float64).reshape(len(predicted), -1)


def _table_of(names: list[str] | None, columns: list[np.ndarray]) -> Any:
    return np.column_stack(columns) if names is None else Frame(dict(zip(names, columns, strict=True)))


def _columns_of(X: Any) -> tuple[list[str] | None, list[np.ndarray]]:
    """The names of the columns, if it has any, and their cells."""
    X = open_table(X)
    names = names_of(X)
    if names is None:
        matrix = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        return None, [np.ascontiguousarray(matrix[:, place]) for place in range(matrix.shape[1])]
    return [str(name) for name in names], [_cells(take_columns(X, np.array([k]))) for k in range(len(names))]


def _cells(table: Any) -> np.ndarray:
    if isinstance(table, Frame):
        return np.asarray(table[table.columns[0]])
    import narwhals as nw

    series = nw.from_native(table)[:, 0]
    numbers = series.dtype.is_numeric() and not series.is_null().any()
    return np.array(series.to_numpy()) if numbers else np.array(series.to_list(), dtype=object)


def shapley_of_game(worth: np.ndarray) -> np.ndarray:
    """The Shapley values of a game, given the worth of each set of players, a line per set: [player, output].

    The set with the number s has the players whose bits in s are 1.

    >>> shapley_of_game(np.array([[0.0], [1.0], [1.0], [4.0]]))
    array([[2.],
           [2.]])
    """
    n_players = int(math.log2(len(worth)))
    sets = np.arange(len(worth))
    sizes = np.array([int(one).bit_count() for one in sets])
    values = np.zeros((n_players, worth.shape[1]))
    for player in range(n_players):
        without = sets[(sets >> player) & 1 == 0]
        weight = np.array([1.0 / (n_players * math.comb(n_players - 1, size)) for size in sizes[without]])
        values[player] = weight @ (worth[without | (1 << player)] - worth[without])
    return values
