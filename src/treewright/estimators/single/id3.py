"""ID3: information gain, and one branch per category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters
from treewright.estimators.single.base import TreeClassifier
from treewright.table import Kind, Table
from treewright.table.categories import some


@documented("single", "id3", "classes")
class ID3Classifier(TreeClassifier):
    """ID3 (Quinlan 1986): the split with the highest information gain, with one branch per category.

    ID3 needs categorical columns. Use `C45Classifier` for numeric columns, and
    `DecisionTreeRegressor(categorical="multiway")` for a numeric target. The tree is that of Weka's Id3, with two
    differences:

    - An empty branch predicts the class of its parent; Weka predicts nothing there.
    - The first of several columns with equal gain is chosen; in Weka this depends on rounding.

    Information gain prefers columns of many categories, and a name in each row to all others. Leave such columns out.

    Examples
    --------
    >>> from treewright import ID3Classifier, datasets, show
    >>> weather = datasets.load_weather()
    >>> model = ID3Classifier().fit(weather.X, weather.y)
    >>> show(model)
    outlook = sunny
    |   humidity = high: no (3.0)
    |   humidity = normal: yes (2.0)
    outlook = overcast: yes (4.0)
    outlook = rainy
    |   wind = weak: yes (3.0)
    |   wind = strong: no (2.0)
    <BLANKLINE>
    Number of leaves: 5
    Size of the tree: 8
    """

    _recipe: ClassVar[Mapping[str, Any]] = {
        "criterion": "information_gain",
        "categorical": "multiway",
        "textbook": True,
    }

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_split_gain: float = 0.0,
        max_p_value: float = 1.0,
        missing: Any = "learned",
        unseen: str = "as_missing",
        class_weight: Any = None,
        misclassification_costs: Any = None,
        smoothing: Any = None,
        categorical_features: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def _read_table(self, X: Any) -> Table:
        table = super()._read_table(X)
        # A column without any value has no kind, so it is not a number of the user.
        numeric = [
            column.name
            for place, column in enumerate(table.columns)
            if column.is_numeric and not np.isnan(table.values[:, place]).all()
        ]
        if numeric:
            words = ("column", "is", "it") if len(numeric) == 1 else ("columns", "are", "them")
            raise ValueError(
                f"{words[0]} {some(numeric, most=8)} {words[1]} numeric, and ID3 knows categories only; "
                f"use C45Classifier, or declare {words[2]} in categorical_features"
            )
        columns = tuple(
            column if column.is_numeric else replace(column, kind=Kind.CATEGORICAL) for column in table.columns
        )
        return replace(table, columns=columns)
