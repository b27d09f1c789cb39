"""`shap_values`: how much each column contributes to the predictions of a model."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from treewright.insight.shapley.compute import explain_trees
from treewright.insight.shapley.enumeration import enumerate_sets
from treewright.insight.shapley.models import SumOfTrees, TreeGroup, sum_of_trees
from treewright.insight.text_table import write_figure
from treewright.runtime.threads import usable_threads
from treewright.table.sparse import in_full

# A table of more columns than this is cut short when it is printed.
MOST_LINES = 30


@dataclass(frozen=True, eq=False)
class ShapValues:
    """The contributions of the columns to predictions; prints as a table of their mean magnitudes.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_columns) or (n_rows, n_columns, n_outputs)
        The contributions. The last axis is left out if the model has one output. Interactions have one more axis of
        columns: the entry of a column with itself is its main effect, and those of two columns are half of their
        interaction each.
    base_values : ndarray, shape (n_rows,) or (n_rows, n_outputs)
        The prediction if no column is known. With the contributions of all columns it adds up to the prediction.
    data : ndarray or None
        The rows that are explained, as numbers and category names.
    feature_names : tuple of str
    output_names : tuple
        The classes, or the name of the target.
    """

    values: np.ndarray
    base_values: np.ndarray
    data: np.ndarray | None
    feature_names: tuple[str, ...]
    output_names: tuple[Any, ...]

    @property
    def has_interactions(self) -> bool:
        """Whether the values are those of pairs of columns."""
        n_axes = self.values.ndim - (1 if len(self.output_names) > 1 else 0)
        return n_axes == 3

    @property
    def predictions(self) -> np.ndarray:
        """The predictions that the values explain: the base values plus the contributions of all columns."""
        axes = (1, 2) if self.has_interactions else (1,)
        return np.asarray(self.base_values + self.values.sum(axis=axes))

    @property
    def importances(self) -> np.ndarray:
        """The mean magnitude of the contributions of each column, over rows and outputs."""
        by_column = self.values.sum(axis=2) if self.has_interactions else self.values
        sizes = np.abs(by_column)
        return np.asarray(sizes.mean(axis=tuple(axis for axis in range(sizes.ndim) if axis != 1)))

    def explanation(self) -> Any:
        """The values as a `shap.Explanation`, for the plots of the package shap."""
        try:
            from shap import Explanation
        except ImportError as missing:
            raise ImportError(
                "the plots of shap need the package shap; install it with `pip install shap`"
            ) from missing
        return Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=list(map(str, self.output_names)) if len(self.output_names) > 1 else None,
        )

    # The plots of shap insist on their own class. To them the values are one, by `isinstance`, attributes and indexing.
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        shap = sys.modules.get("shap")
        return ShapValues if shap is None else getattr(shap, "Explanation", ShapValues)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "shap" not in sys.modules:
            raise AttributeError(f"ShapValues has no attribute {name!r}")
        return getattr(self.explanation(), name)

    def __getitem__(self, item: Any) -> Any:
        return self.explanation()[item]

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapValues, tuple(getattr(self, field.name) for field in fields(ShapValues))

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype) if copy or dtype is not None else self.values

    def __str__(self) -> str:
        sizes = self.importances
        order = np.argsort(-sizes, kind="stable")[:MOST_LINES].tolist()
        width = max(len("column"), *(len(self.feature_names[place]) for place in order))
        lines = [f"{'column':<{width}}  mean |contribution|"]
        lines += [f"{self.feature_names[place]:<{width}}  {write_figure(float(sizes[place])):>19}" for place in order]
        left_out = len(sizes) - len(order)
        return "\n".join([*lines, f"... and {left_out} more"] if left_out else lines)

    __repr__ = __str__


def shap_values(
    model: Any, X: Any, *, background: Any = None, interactions: bool = False, n_jobs: int | None = None
) -> ShapValues:
    """The Shapley value of each column for each row: its contribution to the prediction, fairly divided.

    The contributions of a row and its base value add up to what the model predicts: class probabilities or the number
    of trees, forests and bagging; the score before the link function (log odds for classes) of gradient boosting.

    - Without `background`, a column that is not known follows the training rows at each split, as in the fractions of
      rows that the tree stores (path-dependent).
    - With `background`, a column that is not known has the values of each background row in turn (interventional).
    - A row with a missing value goes where the model sends it: by surrogates, in fractions, or by imputation. The
      effect counts for the column whose value is missing.
    - AdaBoost, voting, stacking, averaging and hard votes are not sums of trees. For them `background` must be given;
      all sets of columns are then tried, which takes long and needs few columns.

    Parameters
    ----------
    model : fitted estimator of treewright
    X : table
        The rows to explain.
    background : table or None
        Rows that represent columns that are not known.
    interactions : bool, default=False
        Whether to divide the contributions into main effects and interactions of pairs of columns.
    n_jobs : int or None
        The number of threads. The values do not depend on it.

    Returns
    -------
    ShapValues

    Examples
    --------
    >>> from treewright import RandomForestClassifier, datasets, shap_values
    >>> iris = datasets.load_iris()
    >>> model = RandomForestClassifier(n_estimators=20, max_depth=3, random_state=0).fit(iris.X, iris.y)
    >>> explained = shap_values(model, iris.X)
    >>> explained.values.shape
    (150, 4, 3)
    >>> bool(abs(explained.predictions - model.predict_proba(iris.X)).max() < 1e-12)
    True
    """
    check_is_fitted(model)
    found = sum_of_trees(model)
    if found is not None:
        return _explain_sum(found, X, background, interactions, usable_threads(n_jobs))
    if background is None:
        raise ValueError(
            f"the prediction of {type(model).__name__} is not a sum of trees, so its explanation needs background "
            "rows; give some training rows as background"
        )
    if interactions:
        raise ValueError(f"interactions are computed for sums of trees only, which {type(model).__name__} is not")
    values, base = enumerate_sets(model, X, background)
    names = tuple(map(str, getattr(model, "feature_names_in_", [f"x{k}" for k in range(values.shape[1])])))
    outputs = tuple(model.classes_.tolist()) if is_classifier(model) else ("prediction",)
    return _finished(values, np.repeat(base[None], len(values), axis=0), None, names, outputs)


def _explain_sum(found: SumOfTrees, X: Any, background: Any, pairs: bool, n_threads: int) -> ShapValues:
    rows = np.asarray(in_full(found.read(X)))
    others = None if background is None else np.asarray(in_full(found.read(background)))
    n_columns, n_outputs = len(found.names), len(found.output_names)
    shape = (len(rows), n_columns, n_columns, n_outputs) if pairs else (len(rows), n_columns, n_outputs)
    values = np.zeros(shape)
    base = np.repeat(found.constant[None, :], len(rows), axis=0)
    if found.of_row is not None:
        base = base + found.of_row(X)
    for group in found.groups:
        _add_group(group, rows, others, pairs, n_threads, values, base)
    return _finished(values, base, rows, found.names, found.output_names)


def _add_group(
    group: TreeGroup,
    rows: np.ndarray,
    others: np.ndarray | None,
    pairs: bool,
    n_threads: int,
    values: np.ndarray,
    base: np.ndarray,
) -> None:
    """Add the contributions of some trees to all outputs that they contribute to."""
    own = group.encode(rows)
    background = None if others is None else group.encode(others)
    by_output: dict[int, tuple[np.ndarray, float]] = {}
    for place, output in enumerate(group.outputs):
        if output is None:
            continue
        number, sign = output
        if number not in by_output:
            by_output[number] = _contributions(group, number, own, background, pairs, n_threads, values.shape[1])
        found, expected = by_output[number]
        values[..., place] += sign * group.weight * found
        base[:, place] += sign * group.weight * expected


def _contributions(
    group: TreeGroup,
    output: int,
    rows: np.ndarray,
    background: np.ndarray | None,
    pairs: bool,
    n_threads: int,
    n_columns: int,
) -> tuple[np.ndarray, float]:
    """The contributions by columns of the table, and the sum of the trees if no column is known.

    Those of columns of the trees that are computed from the same one are added up.
    """
    n_seen = len(group.origin)
    single, expected = explain_trees(group.trees, output, rows, background, n_seen, False, n_threads)
    if not pairs:
        return _by_origin(single, group.origin, n_columns), expected
    halves, _ = explain_trees(group.trees, output, rows, background, n_seen, True, n_threads)
    matrix = halves.reshape(len(rows), n_seen, n_seen)
    matrix += matrix.transpose(0, 2, 1).copy()
    diagonal = np.arange(n_seen)
    matrix[:, diagonal, diagonal] = single - matrix.sum(axis=2)
    by_one = _by_origin(matrix, group.origin, n_columns)
    return _by_origin(by_one.transpose(0, 2, 1), group.origin, n_columns), expected


def _by_origin(found: np.ndarray, origin: np.ndarray, n_columns: int) -> np.ndarray:
    """The sums over the last axis of all columns that come from the same column of the table."""
    if len(origin) == n_columns and (origin == np.arange(n_columns)).all():
        return found
    summed = np.zeros((*found.shape[:-1], n_columns))
    for place, column in enumerate(origin.tolist()):
        summed[..., column] += found[..., place]
    return summed


def _finished(
    values: np.ndarray, base: np.ndarray, data: np.ndarray | None, names: tuple[str, ...], outputs: tuple[Any, ...]
) -> ShapValues:
    if len(outputs) == 1:
        values, base = values[..., 0], base[:, 0]
    return ShapValues(np.ascontiguousarray(values), base, data, names, outputs)
