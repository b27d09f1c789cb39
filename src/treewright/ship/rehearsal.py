"""One prediction of a model that has just been read, which finds what the checks of single values do not."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from treewright.ship.layout import ModelFileError, damage_as_error
from treewright.table.column import Column, Unit

# The sentence with which a learner, or a member of another library, refuses a row has one of these words.
_OF_REFUSALS = re.compile(r"\b(missing|NaN|infinity|None|categor)", re.IGNORECASE)

_EXAMPLES: dict[Unit, Any] = {
    Unit.PLAIN: 0.0,
    Unit.DATE: date(1970, 1, 1),
    Unit.DATETIME: datetime(1970, 1, 1),
    Unit.UTC: datetime(1970, 1, 1, tzinfo=UTC),
}


def rehearse(model: Any) -> None:
    """Raise an error if the model cannot predict a row of known values, or fails at one of missing values.

    The structure of trees and the arrays of kernels have been checked before, so a wrong model fails in Python. A model
    whose columns are not known predicts only the second row, which a learner may refuse.
    """
    with damage_as_error(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = _columns_of(model)
        if columns is not None:
            if len(columns) != model.n_features_in_:
                raise ModelFileError(f"the model in the file has {len(columns)} columns and claims another number")
            _predict(model, [_example_of(column) for column in columns])
        with _suppress_refusals():
            _predict(model, [None] * model.n_features_in_)


@contextmanager
def _suppress_refusals() -> Iterator[None]:
    """Suppress the sentence with which a learner refuses rows."""
    try:
        yield
    except NotFittedError:
        raise
    except ValueError as error:
        if not _OF_REFUSALS.search(str(error)):
            raise


def _columns_of(model: Any) -> Sequence[Column] | None:
    """The columns of the model, or those of its first member that has the table of the model."""
    if hasattr(model, "_columns"):
        return model._columns()
    members = [member for member in getattr(model, "estimators_", ()) if hasattr(member, "_columns")]
    shared = (member._columns() for member in members if member.n_features_in_ == model.n_features_in_)
    return next(shared, None)


def _example_of(column: Column) -> Any:
    """A value that the column had in training, or may have had."""
    return column.categories[0] if column.categories else _EXAMPLES.get(column.unit)


def _predict(model: Any, row: list[Any]) -> None:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        X: Any = np.empty((1, len(row)), dtype=object)
        X[0] = row
    else:
        X = {name: [value] for name, value in zip(names, row, strict=True)}
    for method in ("predict", "predict_proba"):
        found: Any = []
        # A prediction may need a function of the user that the file does not contain.
        with suppress(ModelFileError):
            found = getattr(model, method)(X) if hasattr(model, method) else []
        # The probabilities of several targets are a list of arrays.
        if not all(map(_is_one_line, found if isinstance(found, list) else [found])):
            raise ModelFileError(
                f"{method} of the model in the file does not return one line for one row; it is damaged"
            )


def _is_one_line(found: Any) -> bool:
    """Whether these are predictions of one row; arrays that do not fit each other can give others."""
    return len(found) == 1 and np.size(found) > 0 and np.ndim(found) <= 2
